/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h - the network sysctls that bound a measurement, as one table. Values live in the pool.
 * Sources: Documentation/admin-guide/sysctl/net.rst, Documentation/networking/ip-sysctl.rst.
 */
#ifndef WP_SYS_LIMITS_H
#define WP_SYS_LIMITS_H

#include "sys/maybe.h"

enum wp_limit {
	WP_LIMIT_RMEM_MAX,
	WP_LIMIT_RMEM_DEFAULT,
	WP_LIMIT_WMEM_MAX,
	WP_LIMIT_WMEM_DEFAULT,
	WP_LIMIT_OPTMEM_MAX,
	WP_LIMIT_NETDEV_MAX_BACKLOG,
	WP_LIMIT_NETDEV_BUDGET,
	WP_LIMIT_NETDEV_BUDGET_USECS,
	WP_LIMIT_DEV_WEIGHT,
	WP_LIMIT_BUSY_POLL,
	WP_LIMIT_BUSY_READ,
	WP_LIMIT_DEFAULT_QDISC,
	WP_LIMIT_SOMAXCONN,
	WP_LIMIT_RPS_SOCK_FLOW_ENTRIES,
	WP_LIMIT_TCP_RMEM,
	WP_LIMIT_TCP_WMEM,
	WP_LIMIT_TCP_MEM,
	WP_LIMIT_UDP_MEM,
	WP_LIMIT_TCP_CONGESTION,
	WP_LIMIT_TCP_CONGESTION_AVAILABLE,
	WP_LIMIT_TCP_CONGESTION_ALLOWED,
	WP_LIMIT_TCP_MODERATE_RCVBUF,
	WP_LIMIT_TCP_NO_METRICS_SAVE,
	WP_LIMIT_TCP_SLOW_START_AFTER_IDLE,
	WP_LIMIT_TCP_TIMESTAMPS,
	WP_LIMIT_TCP_SACK,
	WP_LIMIT_TCP_WINDOW_SCALING,
	WP_LIMIT_TCP_MTU_PROBING,
	WP_LIMIT_PORT_RANGE,
	WP_LIMIT_COUNT,
};

struct wp_limit_row {
	const char *name; /* as sysctl(8) has it: "net.core.rmem_max" */
	const char *path; /* under the root */
};

struct wp_limits {
	struct wp_maybe_text text[WP_LIMIT_COUNT];
};

extern const struct wp_limit_row wp_limit_rows[WP_LIMIT_COUNT];

void wp_limits_read(int rootfd, struct wp_pool *pool, struct wp_limits *ret);
/* The first number of the value. */
struct wp_maybe_int wp_limit_int(const struct wp_limits *l, enum wp_limit which);
/* Number `index` (0 minimum, 1 default, 2 maximum) of tcp_rmem and its like. */
struct wp_maybe_int wp_limit_part(const struct wp_limits *l, enum wp_limit which, unsigned index);
/* Whether `word` is one of the words of the value (a congestion control in the list of available ones). */
bool wp_limit_has_word(const struct wp_limits *l, enum wp_limit which, const char *word);

#endif
