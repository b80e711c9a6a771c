/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nic.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/units.h"
#include "sys/cpumask.h"
#include "sys/ethtool.h"

#define NET_DIR "sys/class/net"

const struct wp_nic_feature_row wp_nic_feature_rows[WP_NIC_FEATURES] = {
	[WP_NIC_RX_CHECKSUM] = { "rx-checksum", "rx" },
	[WP_NIC_TX_CHECKSUM] = { "tx-checksum-ip-generic", "tx" },
	[WP_NIC_SCATTER_GATHER] = { "tx-scatter-gather", "sg" },
	[WP_NIC_TSO] = { "tx-tcp-segmentation", "tso" },
	[WP_NIC_TSO6] = { "tx-tcp6-segmentation", "tx-tcp6-segmentation" },
	[WP_NIC_GSO] = { "tx-generic-segmentation", "gso" },
	[WP_NIC_UDP_SEGMENTATION] = { "tx-udp-segmentation", "tx-udp-segmentation" },
	[WP_NIC_GRO] = { "rx-gro", "gro" },
	[WP_NIC_GRO_HW] = { "rx-gro-hw", "rx-gro-hw" },
	[WP_NIC_GRO_LIST] = { "rx-gro-list", "rx-gro-list" },
	[WP_NIC_GRO_UDP_FORWARDING] = { "rx-udp-gro-forwarding", "rx-udp-gro-forwarding" },
	[WP_NIC_LRO] = { "rx-lro", "lro" },
	[WP_NIC_RX_HASH] = { "rx-hashing", "rxhash" },
	[WP_NIC_NTUPLE] = { "rx-ntuple-filter", "ntuple" },
	[WP_NIC_NOCACHE_COPY] = { "tx-nocache-copy", "tx-nocache-copy" },
};

static DIR *open_dir(int rootfd, const char *path)
{
	int fd = openat(rootfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir)
		wp_close_p(&fd);
	return dir;
}

/* The decimal number behind `prefix` ("rx-12"), or -1. */
static int number_behind(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	int64_t v;

	if (strncmp(name, prefix, n) || !isdigit((unsigned char)name[n]) ||
	    wp_parse_i64(name + n, &v) || v > INT32_MAX)
		return -1;
	return (int)v;
}

/* A mask file as a CPU list. */
static struct wp_maybe_text read_mask(int rootfd, struct wp_pool *pool, const char *path)
{
	struct wp_maybe_text t = wp_read_text(rootfd, pool, "%s", path);
	_cleanup_cpulist_ struct wp_cpulist l = { 0 };
	char list[512];

	if (t.state != WP_VALUE)
		return t;
	if (wp_cpumask_parse(t.v, strlen(t.v), &l))
		return wp_bad_text("not a CPU mask");
	wp_cpulist_format(&l, list, sizeof(list));
	return wp_some_text(wp_pool_strdup(pool, l.n ? list : ""));
}

static int by_index(const void *a, const void *b)
{
	return ((const struct wp_nic_queue *)a)->index - ((const struct wp_nic_queue *)b)->index;
}

static void read_queue(int rootfd, struct wp_pool *pool, const char *name, bool rx, int index,
		       struct wp_nic_queue *q)
{
	char path[WP_PATH_MAX];

	q->index = index;
	snprintf(path, sizeof(path), NET_DIR "/%s/queues/%s-%d/%s", name, rx ? "rx" : "tx", index,
		 rx ? "rps_cpus" : "xps_cpus");
	q->cpus = read_mask(rootfd, pool, path);
	/* the file is there, but reading it gives ENOENT */
	if (!rx && q->cpus.state == WP_ABSENT && wp_path_exists(rootfd, "%s", path))
		q->cpus = wp_no_text("the kernel has no XPS for an interface with one queue");
	if (rx)
		q->flow_count = wp_read_int(rootfd, pool, NET_DIR "/%s/queues/rx-%d/rps_flow_cnt",
					    name, index);
	else
		q->flow_count = wp_no_int("a transmit queue has none");
}

static void read_queues(int rootfd, struct wp_pool *pool, struct wp_nic *nic)
{
	char path[WP_PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), NET_DIR "/%s/queues", nic->name);
	dir = open_dir(rootfd, path);
	if (!dir) {
		nic->queues_why = wp_why(pool, -errno, path);
		return;
	}
	nic->rx = wp_pool_calloc(pool, WP_NIC_QUEUES_MAX, sizeof(*nic->rx));
	nic->tx = wp_pool_calloc(pool, WP_NIC_QUEUES_MAX, sizeof(*nic->tx));
	for (struct dirent *e; nic->rx && nic->tx && (e = readdir(dir));) {
		int rx = number_behind(e->d_name, "rx-"), tx = number_behind(e->d_name, "tx-");

		if (rx >= 0 && nic->n_rx < WP_NIC_QUEUES_MAX)
			read_queue(rootfd, pool, nic->name, true, rx, &nic->rx[nic->n_rx++]);
		if (tx >= 0 && nic->n_tx < WP_NIC_QUEUES_MAX)
			read_queue(rootfd, pool, nic->name, false, tx, &nic->tx[nic->n_tx++]);
	}
	closedir(dir);
	if (nic->n_rx)
		qsort(nic->rx, nic->n_rx, sizeof(*nic->rx), by_index);
	if (nic->n_tx)
		qsort(nic->tx, nic->n_tx, sizeof(*nic->tx), by_index);
	if (!nic->n_rx && !nic->n_tx)
		nic->queues_why = nic->rx && nic->tx ? "the interface has no queue directories"
						     : "out of memory";
}

/* The action's name is the one directory under proc/irq/N; sys/kernel/irq has it as text (4.9). */
static struct wp_maybe_text irq_name(int rootfd, struct wp_pool *pool, int irq)
{
	struct wp_maybe_text t = wp_read_text(rootfd, pool, "sys/kernel/irq/%d/actions", irq);
	char path[64];
	DIR *dir;

	if (t.state == WP_VALUE && t.v[0])
		return t;
	snprintf(path, sizeof(path), "proc/irq/%d", irq);
	dir = open_dir(rootfd, path);
	if (!dir)
		return wp_no_text(wp_why(pool, -errno, path));
	t = wp_no_text("no handler is registered");
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.' &&
		    wp_path_exists(rootfd, "proc/irq/%d/%s/.", irq, e->d_name)) {
			t = wp_some_text(wp_pool_strdup(pool, e->d_name));
			break;
		}
	closedir(dir);
	return t;
}

static struct wp_maybe_text irq_cpus(int rootfd, struct wp_pool *pool, int irq, const char *list,
				     const char *mask)
{
	struct wp_maybe_text t = wp_read_text(rootfd, pool, "proc/irq/%d/%s", irq, list), m;
	char path[64];

	if (t.state == WP_VALUE)
		return t;
	snprintf(path, sizeof(path), "proc/irq/%d/%s", irq, mask);
	m = read_mask(rootfd, pool, path);
	return m.state == WP_ABSENT ? t : m;
}

static void add_irq(int rootfd, struct wp_pool *pool, struct wp_nic *nic, int irq)
{
	struct wp_nic_irq *q;

	if (nic->n_irqs == WP_NIC_IRQS_MAX)
		return;
	q = &nic->irqs[nic->n_irqs++];
	q->irq = irq;
	q->name = irq_name(rootfd, pool, irq);
	q->affinity = irq_cpus(rootfd, pool, irq, "smp_affinity_list", "smp_affinity");
	q->effective = irq_cpus(rootfd, pool, irq, "effective_affinity_list", "effective_affinity");
}

static int by_irq(const void *a, const void *b)
{
	return ((const struct wp_nic_irq *)a)->irq - ((const struct wp_nic_irq *)b)->irq;
}

/* Message-signalled interrupts of the device, or of its parent (virtio sits on a PCI device). */
static bool msi_irqs(int rootfd, struct wp_pool *pool, struct wp_nic *nic, const char *where)
{
	char path[WP_PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), NET_DIR "/%s/%s/msi_irqs", nic->name, where);
	dir = open_dir(rootfd, path);
	if (!dir)
		return false;
	for (struct dirent *e; (e = readdir(dir));) {
		int irq = number_behind(e->d_name, "");

		if (irq > 0)
			add_irq(rootfd, pool, nic, irq);
	}
	closedir(dir);
	return nic->n_irqs > 0;
}

/* Wired interrupts whose handler is named after the interface ("eth0", "eth0-rx-1"): proc/irq/N/eth0. */
static void named_irqs(int rootfd, struct wp_pool *pool, struct wp_nic *nic)
{
	DIR *dir = open_dir(rootfd, "proc/irq");
	size_t len = strlen(nic->name);

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		int irq = number_behind(e->d_name, "");
		struct wp_maybe_text name;

		if (irq <= 0)
			continue;
		name = irq_name(rootfd, pool, irq);
		if (name.state == WP_VALUE && !strncmp(name.v, nic->name, len) &&
		    !isalnum((unsigned char)name.v[len]))
			add_irq(rootfd, pool, nic, irq);
	}
	closedir(dir);
}

static void read_irqs(int rootfd, struct wp_pool *pool, struct wp_nic *nic)
{
	struct wp_maybe_int wired;

	if (!nic->is_device) {
		nic->irqs_why = "no device behind the interface";
		return;
	}
	nic->irqs = wp_pool_calloc(pool, WP_NIC_IRQS_MAX, sizeof(*nic->irqs));
	if (!nic->irqs) {
		nic->irqs_why = "out of memory";
		return;
	}
	if (!msi_irqs(rootfd, pool, nic, "device") && !msi_irqs(rootfd, pool, nic, "device/.."))
		named_irqs(rootfd, pool, nic);
	wired = wp_read_int(rootfd, pool, NET_DIR "/%s/device/irq", nic->name);
	if (!nic->n_irqs && wired.state == WP_VALUE && wired.v > 0 && wired.v < INT32_MAX)
		add_irq(rootfd, pool, nic, (int)wired.v);
	if (nic->n_irqs)
		qsort(nic->irqs, nic->n_irqs, sizeof(*nic->irqs), by_irq);
	else
		nic->irqs_why = "no interrupt of this device is listed under /sys or /proc/irq";
}

/* A value that is only meaningful when positive: speed is -1 (or unreadable) without a link. */
static struct wp_maybe_int positive(struct wp_maybe_int v, const char *why)
{
	return v.state == WP_VALUE && v.v > 0 ? v : wp_no_int(why);
}

void wp_nic_read(int rootfd, const char *name, struct wp_pool *pool, struct wp_nic *ret)
{
	struct wp_nic nic = { .name = wp_pool_strdup(pool, name) };
	struct wp_maybe_int type, index;

	if (!nic.name)
		nic.name = "?";
#define NUMBER(file) wp_read_int(rootfd, pool, NET_DIR "/%s/" file, nic.name)
	type = NUMBER("type");
	index = NUMBER("ifindex");
	nic.ifindex =
		index.state == WP_VALUE && index.v > 0 && index.v < INT32_MAX ? (int)index.v : 0;
	nic.is_loopback = type.state == WP_VALUE && type.v == 772; /* ARPHRD_LOOPBACK */
	nic.is_device = wp_path_exists(rootfd, NET_DIR "/%s/device", nic.name);
	if (nic.is_device) {
		nic.driver = wp_read_link_name(rootfd, pool, NET_DIR "/%s/device/driver", nic.name);
		nic.device = wp_read_link_name(rootfd, pool, NET_DIR "/%s/device", nic.name);
		nic.numa_node = NUMBER("device/numa_node");
		if (nic.numa_node.state != WP_VALUE)
			nic.numa_node = NUMBER("device/../numa_node");
		if (nic.numa_node.state == WP_VALUE && nic.numa_node.v < 0)
			nic.numa_node = wp_no_int("the firmware does not tell the node");
	} else {
		nic.driver = nic.device = wp_no_text("a virtual link: no device behind it");
		nic.numa_node = wp_no_int("a virtual link: no device behind it");
	}
	nic.operstate = wp_read_text(rootfd, pool, NET_DIR "/%s/operstate", nic.name);
	nic.duplex = wp_read_text(rootfd, pool, NET_DIR "/%s/duplex", nic.name);
	nic.carrier = NUMBER("carrier");
	nic.speed_mbps = positive(NUMBER("speed"), "no link, or the driver does not tell a speed");
	nic.mtu = NUMBER("mtu");
	nic.tx_queue_len = NUMBER("tx_queue_len");
	nic.gro_flush_timeout_ns = NUMBER("gro_flush_timeout");
	nic.napi_defer_hard_irqs = NUMBER("napi_defer_hard_irqs");
	nic.threaded_napi = NUMBER("threaded");
#undef NUMBER
	read_queues(rootfd, pool, &nic);
	read_irqs(rootfd, pool, &nic);
	nic.ethtool.features_why = "ethtool is asked on a live machine only";
	*ret = nic;
}

static int devices_first(const void *a, const void *b)
{
	const struct wp_nic *x = a, *y = b;

	if (x->is_device != y->is_device)
		return x->is_device ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void ask_ethtool(struct wp_nics *nics, struct wp_pool *pool)
{
	int code;
	struct wp_ethtool *e = wp_ethtool_open(&code);

	for (size_t i = 0; i < nics->n; i++) {
		struct wp_nic *nic = &nics->v[i];

		if (!e) {
			nic->ethtool.features_why = strerror(-code);
			continue;
		}
		wp_ethtool_read(e, nic->name, pool, &nic->ethtool);
		if (nic->driver.state != WP_VALUE && !nic->is_loopback) {
			struct wp_maybe_text d = wp_ethtool_driver(e, nic->name, pool);

			if (d.state == WP_VALUE)
				nic->driver = d;
		}
	}
	wp_ethtool_close(e);
}

void wp_nics_read(int rootfd, bool live, struct wp_pool *pool, struct wp_nics *ret)
{
	struct wp_nics nics = { 0 };
	DIR *dir = open_dir(rootfd, NET_DIR);

	if (!dir) {
		nics.why = wp_why(pool, -errno, NET_DIR);
		*ret = nics;
		return;
	}
	nics.v = wp_pool_calloc(pool, WP_NICS_MAX, sizeof(*nics.v));
	for (struct dirent *e; nics.v && (e = readdir(dir));) {
		/* plain files such as bonding_masters stand here too */
		if (e->d_name[0] == '.' || !wp_path_exists(rootfd, NET_DIR "/%s/mtu", e->d_name))
			continue;
		if (nics.n == WP_NICS_MAX)
			nics.left_out++;
		else
			wp_nic_read(rootfd, e->d_name, pool, &nics.v[nics.n++]);
	}
	closedir(dir);
	if (nics.n)
		qsort(nics.v, nics.n, sizeof(*nics.v), devices_first);
	else
		nics.why = nics.v ? "no interface under /" NET_DIR : "out of memory";
	if (live)
		ask_ethtool(&nics, pool);
	*ret = nics;
}

bool wp_nic_has_rps(const struct wp_nic *nic)
{
	for (size_t i = 0; i < nic->n_rx; i++)
		if (nic->rx[i].cpus.state == WP_VALUE && nic->rx[i].cpus.v[0])
			return true;
	return false;
}
