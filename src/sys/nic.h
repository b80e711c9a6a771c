/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nic.h - network interfaces: driver, speed, queues, their CPU masks, interrupts and which CPUs take them; with a
 * live machine also ring sizes, channels, coalescing and offloads through ethtool's netlink family (or its ioctl on
 * kernels before 5.6). Everything lives in the pool. What an interface doesn't have is absent and says why.
 *
 * sys/class/net shows the network namespace that mounted sysfs, ethtool the one of the calling thread: read in one.
 *
 * Sources: Documentation/ABI/testing/sysfs-class-net*, Documentation/networking/scaling.rst,
 * Documentation/networking/ethtool-netlink.rst, Documentation/core-api/irq/irq-affinity.rst.
 */
#ifndef WP_SYS_NIC_H
#define WP_SYS_NIC_H

#include "sys/maybe.h"

#define WP_NICS_MAX       256 /* interfaces of one namespace that are described */
#define WP_NIC_QUEUES_MAX 256 /* queues of one kind; hardware has up to 128 or so */
#define WP_NIC_IRQS_MAX   512

struct wp_nic_queue {
	int index;
	struct wp_maybe_text cpus;      /* RPS (rx) or XPS (tx) CPUs as a list; "" = off */
	struct wp_maybe_int flow_count; /* rx: rps_flow_cnt */
};

struct wp_nic_irq {
	int irq;
	struct wp_maybe_text name;      /* "eth0-TxRx-0", "virtio2-input.0" */
	struct wp_maybe_text affinity;  /* allowed CPUs as a list */
	struct wp_maybe_text effective; /* CPUs that really take it */
};

/* Offloads that change what a measurement measures, one row each in wp_nic_feature_rows. */
enum wp_nic_feature {
	WP_NIC_RX_CHECKSUM,
	WP_NIC_TX_CHECKSUM,
	WP_NIC_SCATTER_GATHER,
	WP_NIC_TSO,
	WP_NIC_TSO6,
	WP_NIC_GSO,
	WP_NIC_UDP_SEGMENTATION,
	WP_NIC_GRO,
	WP_NIC_GRO_HW,
	WP_NIC_GRO_LIST,
	WP_NIC_GRO_UDP_FORWARDING,
	WP_NIC_LRO,
	WP_NIC_RX_HASH,
	WP_NIC_NTUPLE,
	WP_NIC_NOCACHE_COPY,
	WP_NIC_FEATURES,
};

struct wp_nic_feature_state {
	enum wp_maybe state;
	bool on, fixed; /* fixed: cannot be changed on this interface */
};

struct wp_nic_feature_row {
	const char *kernel_name; /* "tx-tcp-segmentation" */
	const char *short_name;  /* "tso", as ethtool -K takes it */
};

extern const struct wp_nic_feature_row wp_nic_feature_rows[WP_NIC_FEATURES];

struct wp_nic_rings {
	struct wp_maybe_int rx, rx_max, tx, tx_max;
};

struct wp_nic_channels {
	struct wp_maybe_int rx, rx_max, tx, tx_max, combined, combined_max;
};

struct wp_nic_coalesce {
	struct wp_maybe_int rx_usecs, rx_frames, tx_usecs, tx_frames, adaptive_rx, adaptive_tx;
};

/* What ethtool says. */
struct wp_nic_ethtool {
	const char *source; /* "netlink", "ioctl"; NULL: nothing was asked or answered */
	struct wp_nic_rings rings;
	struct wp_nic_channels channels;
	struct wp_nic_coalesce coalesce;
	struct wp_nic_feature_state features[WP_NIC_FEATURES];
	const char *features_why; /* NULL when features[] was read */
};

struct wp_nic {
	const char *name;
	int ifindex;    /* 0 when not told */
	bool is_device; /* a device stands behind it (a virtio NIC counts) */
	bool is_loopback;
	struct wp_maybe_text
		driver; /* "ixgbe"; for virtual links their kind ("veth", "bridge") when known */
	struct wp_maybe_text device; /* "0000:3b:00.0" */
	struct wp_maybe_text operstate, duplex;
	struct wp_maybe_int carrier, speed_mbps, mtu, tx_queue_len, numa_node;
	struct wp_maybe_int gro_flush_timeout_ns, napi_defer_hard_irqs, threaded_napi;
	struct wp_nic_queue *rx, *tx;
	size_t n_rx, n_tx;
	const char *queues_why;  /* why there are none; NULL otherwise */
	struct wp_nic_irq *irqs; /* ascending */
	size_t n_irqs;
	const char *irqs_why;
	struct wp_nic_ethtool ethtool;
};

struct wp_nics {
	struct wp_nic *v; /* devices first, then virtual links, by name */
	size_t n;
	const char *why; /* why there are none */
	size_t left_out; /* beyond WP_NICS_MAX */
};

/* `live`: ask ethtool too. */
void wp_nics_read(int rootfd, bool live, struct wp_pool *pool, struct wp_nics *ret);
/* One interface; its name is not checked against the directory. */
void wp_nic_read(int rootfd, const char *name, struct wp_pool *pool, struct wp_nic *ret);
/* A bound for doctor and tests: RPS is on for some rx queue. */
bool wp_nic_has_rps(const struct wp_nic *nic);

#endif
