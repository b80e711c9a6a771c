/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/ledger.h"
#include "run/sums.h"

#define MAX_STAGES 16 /* of one direction */

struct stage {
	const char *name, *source;
	const struct wp_host *host;
	double counted; /* by its counter, without what another one saw too */
	bool exact;     /* of the test's own sockets: comes before the counters that others share */
	double taken;
};

/* One direction of the traffic. */
struct way {
	struct wp_run *run;
	const struct wp_host *from, *to;
	struct wp_num sent, delivered, refused;
	double missing; /* that no stage has taken yet */
	struct stage stages[MAX_STAGES];
	size_t n;
};

/* How far a counter went; 0 where it did not move or is not there. */
static double counted(const struct wp_host *h, const char *name)
{
	double sum = 0;

	for (size_t i = 0; h && i < h->n_path_counts; i++)
		if (!strcmp(h->path_counts[i].name, name))
			sum += h->path_counts[i].delta;
	return sum;
}

/* A protocol's counter over both families: "UdpInErrors" and "Udp6InErrors". */
static double counted_ip(const struct wp_host *h, const char *protocol, const char *name)
{
	char four[64], six[64];

	snprintf(four, sizeof(four), "%s%s", protocol, name);
	snprintf(six, sizeof(six), "%s6%s", protocol, name);
	return counted(h, four) + counted(h, six);
}

static const char *source_of(const struct wp_host *h, const char *name)
{
	for (size_t i = 0; h && i < h->n_path_counts; i++)
		if (!strcmp(h->path_counts[i].name, name))
			return h->path_counts[i].source;
	return "";
}

static double at_least_0(double v)
{
	return v > 0 ? v : 0;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

static void put(struct way *w, const char *name, const struct wp_host *host, double packets,
		bool exact, const char *source)
{
	if (packets > 0 && w->n < MAX_STAGES)
		w->stages[w->n++] = (struct stage) { name, source, host, packets, exact, 0 };
}

/* "tx_dropped of tpva": a counter of the path's device. */
static const char *of_device(const struct way *w, const struct wp_host *h, const char *name)
{
	return wp_pool_printf(&w->run->pool, "%s of %s", name,
			      h->path_device ? h->path_device : "the device");
}

static bool one_machine(const struct way *w)
{
	return w->from->same_machine_as || w->to->same_machine_as;
}

/* ---- the stages -------------------------------------------------------------------------------- */

static struct wp_num sum_of(const struct way *w, bool sent, size_t offset)
{
	return wp_sum_from(w->run, w->from, sent, offset);
}

/*
 * What the sender's side dropped after it had accepted it. A discipline hides from send() what the device drops behind
 * it; where there is none, the device's drops were refused. Returns what the device's counter holds in all.
 */
static double sender_stages(struct way *w)
{
	double refused = wp_num_or(w->refused, 0), queue = counted(w->from, "qdisc_drops");
	double device = counted(w->from, "tx_dropped") + counted(w->from, "tx_errors");
	double backlog = one_machine(w) ? counted(w->to, "dropped") : 0, after;

	put(w, "qdisc", w->from, at_least_0(queue - refused), false,
	    source_of(w->from, "qdisc_drops"));
	after = at_least_0(device - at_least_0(refused - queue));
	/* The receiver's backlog, where the device hands packets straight to it. */
	backlog = smaller(after, backlog);
	put(w, "device", w->from, after - backlog, false, of_device(w, w->from, "tx_dropped"));
	put(w, "backlog", w->to, backlog, false, "softnet_stat dropped");
	return device;
}

static void receiver_device_stages(struct way *w, double senders_device)
{
	double backlog = counted(w->to, "dropped"), local = one_machine(w) ? senders_device : 0;
	double device = counted(w->to, "rx_dropped"), seen = greater(device, local);

	put(w, "device", w->to, counted(w->to, "rx_missed_errors") + counted(w->to, "rx_errors"),
	    false, of_device(w, w->to, "rx_missed_errors and rx_errors"));
	put(w, "device", w->to, at_least_0(device - greater(local, backlog)), false,
	    of_device(w, w->to, "rx_dropped"));
	/* Within the device's count, and not what the sender's device has counted as well. */
	backlog = local > 0 ? at_least_0(smaller(backlog, seen) - local) : backlog;
	put(w, "backlog", w->to, backlog, false, "softnet_stat dropped");
	put(w, "ingress filter", w->to, counted(w->to, "filter_drops"), false,
	    source_of(w->to, "filter_drops"));
}

/*
 * Datagrams in a train beyond its first, for so many trains: the kernel counts a train that finds the buffer full as one
 * when the socket takes trains (UDP_GRO), and counts those that were taken in the same way.
 */
static double within_trains(const struct way *w, double trains)
{
	double taken = counted_ip(w->to, "Udp", "InDatagrams");
	double datagrams =
		wp_num_or(sum_of(w, false, offsetof(struct wp_flow_end, all_packets)), 0);

	if (wp_num_or(w->run->test.gro, 0) <= 0 || taken <= 0 || datagrams <= taken)
		return 0;
	return trains * (ceil(datagrams / taken) - 1);
}

static void receiver_stack_stages(struct way *w)
{
	double own = wp_num_or(sum_of(w, false, offsetof(struct wp_flow_end, all_socket_drops)), 0);
	double late = wp_num_or(sum_of(w, false, offsetof(struct wp_flow_end, all_late)), 0);
	double full = counted_ip(w->to, "Udp", "RcvbufErrors");
	double errors = counted_ip(w->to, "Udp", "InErrors");
	double ip = counted_ip(w->to, "Ip", "InDiscards") + counted_ip(w->to, "Ip", "InHdrErrors") +
		    counted_ip(w->to, "Ip", "InAddrErrors");
	bool checked = w->to->n_path_counts > 0; /* else the sockets' own word is all there is */
	double buffer = checked ? smaller(own, full) : own;

	put(w, "IP", w->to, ip, false, "IpInDiscards, IpInHdrErrors, IpInAddrErrors");
	put(w, "fragments", w->to, counted_ip(w->to, "Ip", "ReasmFails"), false, "IpReasmFails");
	put(w, "no socket", w->to, counted_ip(w->to, "Udp", "NoPorts"), false, "UdpNoPorts");
	put(w, "socket error", w->to, own - buffer, true, "SO_RXQ_OVFL without UdpRcvbufErrors");
	put(w, "socket error", w->to, at_least_0(errors - greater(full, own)), false,
	    "UdpInErrors without UdpRcvbufErrors");
	put(w, "socket buffer", w->to, buffer, true, "SO_RXQ_OVFL");
	put(w, "socket buffer", w->to, at_least_0(full - own), false, "UdpRcvbufErrors");
	put(w, "socket buffer", w->to, within_trains(w, greater(buffer, full)), false,
	    "counted in trains (UDP_GRO), of a length as the others");
	put(w, "too late to place", w->to, late, true, "sequence numbers");
}

static void take(struct way *w, bool exact)
{
	for (size_t i = 0; i < w->n; i++) {
		struct stage *s = &w->stages[i];

		if (s->exact != exact)
			continue;
		s->taken = smaller(s->counted, at_least_0(w->missing));
		w->missing -= s->taken;
	}
}

static void follow(struct way *w)
{
	struct wp_num arrived = sum_of(w, false, offsetof(struct wp_flow_end, all_packets));
	struct wp_num twice = sum_of(w, false, offsetof(struct wp_flow_end, all_duplicated));
	struct wp_num late = sum_of(w, false, offsetof(struct wp_flow_end, all_late));

	w->sent = sum_of(w, true, offsetof(struct wp_flow_end, all_packets));
	w->refused = sum_of(w, true, offsetof(struct wp_flow_end, all_send_drops));
	/* Datagrams without numbers can't be told from their duplicates. */
	w->delivered = arrived;
	if (wp_has(arrived))
		w->delivered.v -= wp_num_or(twice, 0) + wp_num_or(late, 0);
	if (!wp_has(w->sent) || !wp_has(w->delivered))
		return;
	w->missing = w->sent.v - w->delivered.v;
	receiver_device_stages(w, sender_stages(w));
	receiver_stack_stages(w);
	take(w, true);
	take(w, false);
}

/* ---- the ledger -------------------------------------------------------------------------------- */

static const char *refused_by(const struct way *w)
{
	const char *device = w->from->path_device ? w->from->path_device : "the device";

	if (counted(w->from, "qdisc_drops") > 0)
		return source_of(w->from, "qdisc_drops");
	if (counted(w->from, "filter_drops") > 0)
		return source_of(w->from, "filter_drops");
	if (counted(w->from, "tx_dropped") <= 0)
		return "not counted";
	if (one_machine(w) && counted(w->to, "dropped") > 0)
		return wp_pool_printf(&w->run->pool,
				      "%s: the receiver's backlog was full (softnet_stat dropped)",
				      device);
	return of_device(w, w->from, "tx_dropped");
}

/* Two counters may have seen parts of one stage. */
static void add_stage(struct wp_ledger *l, const struct stage *s, struct wp_pool *pool)
{
	struct wp_stage *last = l->n_stages ? &l->stages[l->n_stages - 1] : NULL;

	if (last && !strcmp(last->stage, s->name) && !strcmp(last->host, s->host->role)) {
		last->packets.v += s->taken;
		last->source = wp_pool_printf(pool, "%s; %s", last->source, s->source);
		return;
	}
	l->stages[l->n_stages++] = (struct wp_stage) { .stage = s->name,
						       .host = s->host->role,
						       .source = s->source,
						       .packets = wp_num(s->taken) };
}

static void add_way(struct wp_ledger *l, const struct way *w)
{
	l->sent_packets = wp_sum(l->sent_packets, w->sent);
	l->delivered_packets = wp_sum(l->delivered_packets, w->delivered);
	l->refused_packets = wp_sum(l->refused_packets, w->refused);
	l->unexplained_packets =
		wp_has(w->sent) && wp_has(w->delivered)
			? wp_sum(l->unexplained_packets, wp_num(w->missing))
			: wp_sum(l->unexplained_packets, wp_has(w->sent) ? w->delivered : w->sent);
	if (wp_num_or(w->refused, 0) > 0 && !l->refused_by)
		l->refused_by = refused_by(w);
	for (size_t i = 0; i < w->n && l->stages; i++)
		if (w->stages[i].taken > 0)
			add_stage(l, &w->stages[i], &w->run->pool);
}

void wp_ledger_udp(struct wp_run *run)
{
	struct wp_ledger *l = &run->ledger;
	const struct wp_num none =
		wp_absent(run->n_flows ? "the other end gave no figures" : "no flow was opened");

	l->sent_packets = l->delivered_packets = l->unexplained_packets = l->refused_packets = none;
	if (run->n_hosts < 2 || !run->n_flows)
		return;
	l->sent_packets = l->delivered_packets = l->unexplained_packets = l->refused_packets =
		wp_num(0);
	l->stages = wp_pool_calloc(&run->pool, 2 * MAX_STAGES, sizeof(*l->stages));
	for (int from = 0; from < 2; from++) {
		struct way w = { .run = run, .from = &run->hosts[from], .to = &run->hosts[!from] };
		bool used = false;

		for (size_t i = 0; i < run->n_flows; i++)
			used |= wp_flow_sender(run, &run->flows[i]) == w.from;
		if (!used)
			continue;
		follow(&w);
		add_way(l, &w);
	}
}
