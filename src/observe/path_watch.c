/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/path_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "observe/net_use.h"
#include "sys/delta.h"
#include "sys/nl_qdisc.h"
#include "sys/nl_route.h"

#define SOURCES                                                             \
	(WP_SOURCE_BIT(WP_SOURCE_SOFTNET) | WP_SOURCE_BIT(WP_SOURCE_SNMP) | \
	 WP_SOURCE_BIT(WP_SOURCE_SNMP6))
#define TC_PARENT_INGRESS 0xfffffff1u /* TC_H_INGRESS and TC_H_CLSACT */

/* Beside what was dropped, what came through: to compare with. */
static const struct {
	enum wp_source source;
	const char *name;
} protocol_counters[] = {
	{ WP_SOURCE_SNMP, "IpInDiscards" },      { WP_SOURCE_SNMP, "IpInHdrErrors" },
	{ WP_SOURCE_SNMP, "IpInAddrErrors" },    { WP_SOURCE_SNMP, "IpReasmFails" },
	{ WP_SOURCE_SNMP, "IpOutDiscards" },     { WP_SOURCE_SNMP, "IpOutNoRoutes" },
	{ WP_SOURCE_SNMP, "IpFragFails" },       { WP_SOURCE_SNMP, "UdpInDatagrams" },
	{ WP_SOURCE_SNMP, "UdpNoPorts" },        { WP_SOURCE_SNMP, "UdpInErrors" },
	{ WP_SOURCE_SNMP, "UdpOutDatagrams" },   { WP_SOURCE_SNMP, "UdpRcvbufErrors" },
	{ WP_SOURCE_SNMP, "UdpSndbufErrors" },   { WP_SOURCE_SNMP, "UdpInCsumErrors" },
	{ WP_SOURCE_SNMP, "UdpMemErrors" },      { WP_SOURCE_SNMP6, "Ip6InDiscards" },
	{ WP_SOURCE_SNMP6, "Ip6InHdrErrors" },   { WP_SOURCE_SNMP6, "Ip6InAddrErrors" },
	{ WP_SOURCE_SNMP6, "Ip6ReasmFails" },    { WP_SOURCE_SNMP6, "Ip6OutDiscards" },
	{ WP_SOURCE_SNMP6, "Ip6OutNoRoutes" },   { WP_SOURCE_SNMP6, "Ip6FragFails" },
	{ WP_SOURCE_SNMP6, "Udp6InDatagrams" },  { WP_SOURCE_SNMP6, "Udp6NoPorts" },
	{ WP_SOURCE_SNMP6, "Udp6InErrors" },     { WP_SOURCE_SNMP6, "Udp6OutDatagrams" },
	{ WP_SOURCE_SNMP6, "Udp6RcvbufErrors" }, { WP_SOURCE_SNMP6, "Udp6SndbufErrors" },
	{ WP_SOURCE_SNMP6, "Udp6InCsumErrors" }, { WP_SOURCE_SNMP6, "Udp6MemErrors" },
	{ WP_SOURCE_SOFTNET, "dropped" },
};

#define DEVICE_COUNTER(field)                                     \
	{                                                         \
#field, offsetof(struct rtnl_link_stats64, field) \
	}

static const struct {
	const char *name;
	size_t offset;
} device_counters[] = {
	DEVICE_COUNTER(rx_packets),       DEVICE_COUNTER(tx_packets),   DEVICE_COUNTER(rx_errors),
	DEVICE_COUNTER(tx_errors),        DEVICE_COUNTER(rx_dropped),   DEVICE_COUNTER(tx_dropped),
	DEVICE_COUNTER(rx_missed_errors), DEVICE_COUNTER(rx_nohandler),
};

#define MAX_COUNTS (WP_ARRAY_SIZE(protocol_counters) + WP_ARRAY_SIZE(device_counters) + 2)

struct reading {
	struct wp_snapshot snap;
	struct rtnl_link_stats64 device;
	struct wp_nl_qdiscs qdiscs;
	bool has_device, has_qdiscs;
};

struct wp_path_watch {
	struct wp_sources sources;
	struct wp_nl nl;
	int ifindex; /* 0 = not known */
	char name[IF_NAMESIZE];
	struct reading before, after;
};

/* IPv4 within IPv6 is routed as IPv4; a link-local address names its interface. */
static int find_device(struct wp_path_watch *p, const struct wp_addr *to)
{
	const struct in6_addr *six = &to->v6.sin6_addr;

	if (to->sa.sa_family == AF_INET)
		return wp_nl_route_ifindex(&p->nl, AF_INET, &to->v4.sin_addr, &p->ifindex, NULL);
	if (to->sa.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (IN6_IS_ADDR_V4MAPPED(six))
		return wp_nl_route_ifindex(&p->nl, AF_INET, &six->s6_addr[12], &p->ifindex, NULL);
	if (IN6_IS_ADDR_LINKLOCAL(six) && to->v6.sin6_scope_id) {
		p->ifindex = (int)to->v6.sin6_scope_id;
		return 0;
	}
	return wp_nl_route_ifindex(&p->nl, AF_INET6, six, &p->ifindex, NULL);
}

static void open_device(struct wp_path_watch *p, const struct wp_addr *to)
{
	struct wp_nl_link link;

	if (wp_nl_open(&p->nl, NULL))
		return;
	if (find_device(p, to))
		p->ifindex = 0;
	if (p->ifindex && wp_nl_link_get_by_index(&p->nl, p->ifindex, &link, NULL))
		p->ifindex = 0;
	if (p->ifindex)
		memcpy(p->name, link.name, sizeof(p->name));
}

static void take(struct wp_path_watch *p, struct reading *r)
{
	wp_sources_read(&p->sources, &r->snap);
	if (!p->ifindex)
		return;
	r->has_device = !wp_nl_link_stats_by_index(&p->nl, p->ifindex, &r->device, NULL);
	r->has_qdiscs = !wp_nl_qdisc_list(&p->nl, p->ifindex, &r->qdiscs, NULL);
}

int wp_path_watch_new(const struct wp_addr *other_end, struct wp_path_watch **ret)
{
	struct wp_path_watch *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = wp_sources_open(&p->sources, AT_FDCWD, SOURCES, NULL);
	if (r) {
		free(p);
		return r;
	}
	open_device(p, other_end);
	take(p, &p->before);
	*ret = p;
	return 0;
}

static void reading_done(struct reading *r)
{
	wp_snapshot_done(&r->snap);
	wp_nl_qdiscs_done(&r->qdiscs);
}

void wp_path_watch_free(struct wp_path_watch *p)
{
	if (!p)
		return;
	wp_sources_done(&p->sources);
	wp_nl_done(&p->nl);
	reading_done(&p->before);
	reading_done(&p->after);
	free(p);
}

/* ---- the result ------------------------------------------------------------------------------- */

struct list {
	struct wp_count *v;
	size_t n;
	struct wp_pool *pool;
	bool failed; /* a text found no memory */
};

static void put(struct list *l, const char *name, const char *source, double delta)
{
	if (delta <= 0)
		return;
	l->failed |= !source;
	l->v[l->n++] = (struct wp_count) { name, source, delta };
}

static int put_protocols(const struct wp_path_watch *p, struct list *l)
{
	struct wp_net_span span = { 0 };
	int r = wp_net_span_step(&span, &p->before.snap, &p->after.snap);

	for (size_t i = 0; i < WP_ARRAY_SIZE(protocol_counters) && !r; i++) {
		enum wp_source source = protocol_counters[i].source;

		put(l, protocol_counters[i].name, wp_source_name(source),
		    wp_num_or(wp_net_use_get(&span, source, "", protocol_counters[i].name), 0));
	}
	wp_net_span_done(&span);
	return r;
}

/* Some drivers keep these in 32 bits: they may wrap. A counter that was reset counts for nothing. */
static double moved(uint64_t before, uint64_t after)
{
	uint64_t delta;

	return wp_counter_delta(before, after, WP_WIDTH_32, &delta) < 0 ? 0 : (double)delta;
}

static void put_device(const struct wp_path_watch *p, struct list *l)
{
	const char *source = wp_pool_printf(l->pool, "rtnetlink:%s", p->name);

	for (size_t i = 0; i < WP_ARRAY_SIZE(device_counters); i++) {
		uint64_t a, b;

		memcpy(&a, (const char *)&p->before.device + device_counters[i].offset, sizeof(a));
		memcpy(&b, (const char *)&p->after.device + device_counters[i].offset, sizeof(b));
		put(l, device_counters[i].name, source, moved(a, b));
	}
}

/* The discipline with that parent, if it was the same before and after. */
static const struct wp_nl_qdisc *same_qdisc(const struct reading *before,
					    const struct reading *after, uint32_t parent,
					    const struct wp_nl_qdisc **ret_before)
{
	for (size_t i = 0; i < after->qdiscs.n; i++)
		for (size_t k = 0; k < before->qdiscs.n; k++) {
			const struct wp_nl_qdisc *a = &before->qdiscs.v[k],
						 *b = &after->qdiscs.v[i];

			if (b->parent != parent || a->parent != parent || a->handle != b->handle ||
			    strcmp(a->kind, b->kind) != 0)
				continue;
			*ret_before = a;
			return b;
		}
	return NULL;
}

static void put_qdisc(const struct wp_path_watch *p, struct list *l, uint32_t parent,
		      const char *name, const char *prefix)
{
	const struct wp_nl_qdisc *a, *b = same_qdisc(&p->before, &p->after, parent, &a);

	if (b)
		put(l, name, wp_pool_printf(l->pool, "%s%s of %s", prefix, b->kind, p->name),
		    moved(a->drops, b->drops));
}

static const char *note(const struct wp_path_watch *p)
{
	if (!p->ifindex)
		return "the interface that leads to the other end is not known";
	if (!p->before.has_device || !p->after.has_device)
		return "the interface's counters could not be read";
	if (!p->before.has_qdiscs || !p->after.has_qdiscs)
		return "the counters of the interface's queues could not be read";
	for (size_t i = 0; i < WP_SOURCES; i++)
		if (SOURCES & WP_SOURCE_BIT(i) && i != WP_SOURCE_SNMP6 && p->after.snap.why[i])
			return p->after.snap.why[i];
	return NULL;
}

int wp_path_watch_result(struct wp_path_watch *p, struct wp_host *host, struct wp_pool *pool)
{
	struct list l = { .v = wp_pool_calloc(pool, MAX_COUNTS, sizeof(*l.v)), .pool = pool };
	const char *name = p->ifindex ? wp_pool_strdup(pool, p->name) : NULL;
	int r;

	if (!l.v || (p->ifindex && !name))
		return -ENOMEM;
	p->after.has_device = p->after.has_qdiscs = false;
	take(p, &p->after);
	r = put_protocols(p, &l);
	if (p->before.has_device && p->after.has_device)
		put_device(p, &l);
	if (p->before.has_qdiscs && p->after.has_qdiscs) {
		put_qdisc(p, &l, TC_H_ROOT, "qdisc_drops", "qdisc ");
		put_qdisc(p, &l, TC_PARENT_INGRESS, "filter_drops", "");
	}
	if (r || l.failed)
		return r ? r : -ENOMEM;
	host->path_counts = l.v;
	host->n_path_counts = l.n;
	host->path_device = name;
	host->path_note = note(p);
	return 0;
}
