/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/limits.h"

#include <string.h>

#include "sys/text.h"

#define CORE(x)                                       \
	{                                             \
		"net.core." x, "proc/sys/net/core/" x \
	}
#define IPV4(x)                                       \
	{                                             \
		"net.ipv4." x, "proc/sys/net/ipv4/" x \
	}

const struct wp_limit_row wp_limit_rows[WP_LIMIT_COUNT] = {
	[WP_LIMIT_RMEM_MAX] = CORE("rmem_max"),
	[WP_LIMIT_RMEM_DEFAULT] = CORE("rmem_default"),
	[WP_LIMIT_WMEM_MAX] = CORE("wmem_max"),
	[WP_LIMIT_WMEM_DEFAULT] = CORE("wmem_default"),
	[WP_LIMIT_OPTMEM_MAX] = CORE("optmem_max"),
	[WP_LIMIT_NETDEV_MAX_BACKLOG] = CORE("netdev_max_backlog"),
	[WP_LIMIT_NETDEV_BUDGET] = CORE("netdev_budget"),
	[WP_LIMIT_NETDEV_BUDGET_USECS] = CORE("netdev_budget_usecs"),
	[WP_LIMIT_DEV_WEIGHT] = CORE("dev_weight"),
	[WP_LIMIT_BUSY_POLL] = CORE("busy_poll"),
	[WP_LIMIT_BUSY_READ] = CORE("busy_read"),
	[WP_LIMIT_DEFAULT_QDISC] = CORE("default_qdisc"),
	[WP_LIMIT_SOMAXCONN] = CORE("somaxconn"),
	[WP_LIMIT_RPS_SOCK_FLOW_ENTRIES] = CORE("rps_sock_flow_entries"),
	[WP_LIMIT_TCP_RMEM] = IPV4("tcp_rmem"),
	[WP_LIMIT_TCP_WMEM] = IPV4("tcp_wmem"),
	[WP_LIMIT_TCP_MEM] = IPV4("tcp_mem"),
	[WP_LIMIT_UDP_MEM] = IPV4("udp_mem"),
	[WP_LIMIT_TCP_CONGESTION] = IPV4("tcp_congestion_control"),
	[WP_LIMIT_TCP_CONGESTION_AVAILABLE] = IPV4("tcp_available_congestion_control"),
	[WP_LIMIT_TCP_CONGESTION_ALLOWED] = IPV4("tcp_allowed_congestion_control"),
	[WP_LIMIT_TCP_MODERATE_RCVBUF] = IPV4("tcp_moderate_rcvbuf"),
	[WP_LIMIT_TCP_NO_METRICS_SAVE] = IPV4("tcp_no_metrics_save"),
	[WP_LIMIT_TCP_SLOW_START_AFTER_IDLE] = IPV4("tcp_slow_start_after_idle"),
	[WP_LIMIT_TCP_TIMESTAMPS] = IPV4("tcp_timestamps"),
	[WP_LIMIT_TCP_SACK] = IPV4("tcp_sack"),
	[WP_LIMIT_TCP_WINDOW_SCALING] = IPV4("tcp_window_scaling"),
	[WP_LIMIT_TCP_MTU_PROBING] = IPV4("tcp_mtu_probing"),
	[WP_LIMIT_PORT_RANGE] = IPV4("ip_local_port_range"),
};

void wp_limits_read(int rootfd, struct wp_pool *pool, struct wp_limits *ret)
{
	for (int i = 0; i < WP_LIMIT_COUNT; i++)
		ret->text[i] = wp_read_text(rootfd, pool, "%s", wp_limit_rows[i].path);
}

struct wp_maybe_int wp_limit_int(const struct wp_limits *l, enum wp_limit which)
{
	return wp_limit_part(l, which, 0);
}

struct wp_maybe_int wp_limit_part(const struct wp_limits *l, enum wp_limit which, unsigned index)
{
	const struct wp_maybe_text *t = &l->text[which];
	struct wp_text rest, word;
	uint64_t v;

	if (t->state != WP_VALUE)
		return (struct wp_maybe_int) { .state = t->state, .why = t->why };
	rest = wp_text(t->v, strlen(t->v));
	for (unsigned i = 0; wp_text_word(&rest, &word); i++)
		if (i == index)
			return wp_text_u64(word, &v) || v > INT64_MAX ? wp_bad_int("not a number")
								      : wp_some_int((int64_t)v);
	return wp_bad_int("fewer numbers than expected");
}

bool wp_limit_has_word(const struct wp_limits *l, enum wp_limit which, const char *word)
{
	const struct wp_maybe_text *t = &l->text[which];
	struct wp_text rest, w;

	if (t->state != WP_VALUE)
		return false;
	rest = wp_text(t->v, strlen(t->v));
	while (wp_text_word(&rest, &w))
		if (wp_text_is(w, word))
			return true;
	return false;
}
