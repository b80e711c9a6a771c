/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net_counters.h - the protocol counters of a network namespace: /proc/net/snmp and netstat (pairs
 * of header and value lines), snmp6 ("name value" lines) and dev (a table).
 *
 * All of them become one list of (name, value), because names, their number and their order change
 * from kernel to kernel: nothing goes by position. Names are as nstat has them: "IpInReceives",
 * "TcpExtTCPBacklogDrop", "Ip6InReceives"; of a device "rx_dropped" with the device beside it.
 * Gauges (Tcp CurrEstab, ...), for which a difference means nothing, are marked. IcmpMsg lines come
 * only after traffic, vary in their columns and split every
 * 16. MaxConn is signed (-1). Lines exceed 4 KB.
 *
 * In dev the colon may touch the first number; `drop` is rx_dropped + rx_missed_errors, `frame` a
 * sum of four, `carrier` a sum of four (net/core/net-procfs.c), so names of the sums end in "_sum".
 *
 * The caller owns the struct (zeroed before its first use) and frees with wp_net_counters_done(); a
 * second parse into the same struct uses its memory again.
 */
#ifndef WP_SYS_NET_COUNTERS_H
#define WP_SYS_NET_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A kernel of today has about 450 protocol counters; a host with 1,000 interfaces has 16,000 device
 * counters. */
#define WP_NET_COUNTERS_MAX 131072
/* Bytes of names kept for one file. */
#define WP_NET_NAMES_MAX (4u << 20)

struct wp_net_counter {
	uint32_t name;   /* offset in `names` */
	uint32_t device; /* offset in `names`; 0 = none */
	uint64_t value;  /* two's complement where `negative` */
	bool negative;
	bool gauge; /* a level or a setting, not a count of events */
};

struct wp_net_counters {
	struct wp_net_counter *v; /* owned */
	size_t n, cap;
	char *names; /* owned; NUL-terminated strings; names[0] is the empty one */
	size_t names_len, names_cap;
};

/* Each replaces the content. -EBADMSG when the text is not of that kind (named in err), -E2BIG
 * beyond the limits, -ENOMEM. An empty file is an empty list. */
int wp_net_snmp_parse(const char *data, size_t len, struct wp_net_counters *c,
		      struct wp_err *err) WP_MUST_USE; /* snmp, netstat */
int wp_net_snmp6_parse(const char *data, size_t len, struct wp_net_counters *c,
		       struct wp_err *err) WP_MUST_USE;
int wp_net_dev_parse(const char *data, size_t len, struct wp_net_counters *c,
		     struct wp_err *err) WP_MUST_USE;

static inline const char *wp_net_counter_name(const struct wp_net_counters *c, size_t i)
{
	return c->names + c->v[i].name;
}

/* "" for a protocol counter. */
static inline const char *wp_net_counter_device(const struct wp_net_counters *c, size_t i)
{
	return c->names + c->v[i].device;
}

/* The counter of that name (and device; "" = none), or n when there is none. `hint`: where it was
 * last time. */
size_t wp_net_counters_find(const struct wp_net_counters *c, const char *device, const char *name,
			    size_t hint);
void wp_net_counters_done(struct wp_net_counters *c);

#endif
