/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule_udp.c - datagrams: where they were lost, by the packet ledger, and what held the rate down.
 *
 * Share of a loss: of everything that was not delivered (refused by the sender's kernel, or sent and missing) the part
 * that this stage dropped; below 1 % of what was offered it falls in proportion, so that a handful of lost datagrams does
 * not stand before the CPU that limits the rate.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "explain/say.h"

#define FULL_WEIGHT 0.01 /* of the datagrams: so much loss weighs fully */
#define RATE_MET    0.99 /* of the rate asked for */
#define RATE_PARTLY 0.5
#define LATE_SHARE  0.005 /* of the datagrams that fell due: not sent, because the thread was late */
#define BLOCKED_PCT 10.0
#define RESTS_PCT   90.0 /* a receiver below it has time to spare */

/* ---- what the ledger says of this direction ---------------------------------------------------- */

struct loss {
	double offered, lost; /* with what was refused; lost never below 0 */
	double refused, missing;
};

static struct wp_num over_flows(const struct wp_facts *f, bool sent, size_t offset)
{
	struct wp_num sum = wp_absent("no flow of this direction");

	for (size_t i = 0; i < f->run->n_flows; i++) {
		const struct wp_flow *flow = &f->run->flows[i];
		const char *end = (const char *)(sent ? &flow->sent : &flow->received);
		struct wp_num v = *(const struct wp_num *)(const void *)(end + offset);

		if (wp_flow_sender(f->run, flow) != f->sender.host)
			continue;
		if (!wp_has(v))
			return v;
		sum = wp_num(wp_num_or(sum, 0) + v.v);
	}
	return sum;
}

#define SENT(field)     over_flows(f, true, offsetof(struct wp_flow_end, field))
#define RECEIVED(field) over_flows(f, false, offsetof(struct wp_flow_end, field))

/* False when an end did not tell: `why` is then absent with the reason. */
static bool gather_loss(const struct wp_facts *f, struct loss *ret, struct wp_num *why)
{
	struct wp_num sent = SENT(all_packets), arrived = RECEIVED(all_packets);

	*why = wp_has(sent) ? arrived : sent;
	if (!wp_has(*why))
		return false;
	ret->refused = wp_num_or(SENT(all_send_drops), 0);
	ret->missing = sent.v - arrived.v + wp_num_or(RECEIVED(all_duplicated), 0) +
		       wp_num_or(RECEIVED(all_late), 0);
	ret->missing = ret->missing > 0 ? ret->missing : 0;
	ret->offered = sent.v + ret->refused;
	ret->lost = ret->missing + ret->refused;
	return true;
}

/* What stages of that name took at one host; NULL = either. `ret_source` (may be NULL) gets the largest one's. */
static double stage(const struct wp_facts *f, const char *name, const struct wp_side *at,
		    const char **ret_source)
{
	double sum = 0, most = 0;

	for (size_t i = 0; i < f->run->ledger.n_stages; i++) {
		const struct wp_stage *s = &f->run->ledger.stages[i];

		if (strcmp(s->stage, name) || !s->host || !at->host || !at->host->role ||
		    strcmp(s->host, at->host->role))
			continue;
		sum += wp_num_or(s->packets, 0);
		if (ret_source && wp_num_or(s->packets, 0) > most)
			*ret_source = s->source;
		most = wp_num_or(s->packets, 0) > most ? s->packets.v : most;
	}
	return sum;
}

static double share_of_loss(const struct loss *l, double packets)
{
	double weight = l->offered > 0 ? l->lost / l->offered / FULL_WEIGHT : 0;

	if (l->lost <= 0)
		return 0;
	return 100 * packets / l->lost * (weight < 1 ? weight : 1);
}

static double pct_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Decimals that leave three figures or so. */
static int places(double pct)
{
	return pct >= 10 ? 1 : pct >= 1 ? 2 : pct >= 0.01 ? 3 : 5;
}

/* "610 of 1000 datagrams (61.0 %)" */
#define OF_FORMAT "%.0f of %.0f datagrams (%.*f %%)"
#define OF_ARGS(packets, l) \
	(packets), (l).offered, places(pct_of(packets, (l).offered)), pct_of(packets, (l).offered)

static enum wp_rule_answer no_loss_known(const struct wp_facts *f, struct wp_finding *ret,
					 struct wp_num why)
{
	return wp_lacks(f, ret, "how many of the datagrams that were sent have arrived", why);
}

/* A counter of the host's way, as evidence. */
static void count_evidence(const struct wp_facts *f, struct wp_finding *ret,
			   const struct wp_side *s, const char *name)
{
	for (size_t i = 0; s->host && i < s->host->n_path_counts; i++) {
		const struct wp_count *c = &s->host->path_counts[i];

		if (c->name && !strcmp(c->name, name))
			wp_evidence_count(f, ret, s->word, c);
	}
}

static void thread_evidence(const struct wp_facts *f, struct wp_finding *ret,
			    const struct wp_side *s)
{
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "run_delay_pct", s->delay_pct);
}

static const char *device_of(const struct wp_side *s)
{
	return s->host && s->host->path_device ? s->host->path_device : "IFACE";
}

double wp_facts_socket_loss(const struct wp_facts *f)
{
	struct wp_num why;
	struct loss l;

	if (!gather_loss(f, &l, &why) || l.offered <= 0)
		return 0;
	return stage(f, "socket buffer", &f->receiver, NULL) / l.offered;
}

double wp_facts_datagram_loss(const struct wp_facts *f)
{
	struct wp_num why;
	struct loss l;

	return gather_loss(f, &l, &why) && l.offered > 0 ? l.lost / l.offered : 0;
}

/* ---- losses ------------------------------------------------------------------------------------ */

/* Why the buffer was full. */
static void buffer_reason(const struct wp_facts *f, char *out, size_t size)
{
	const struct wp_side *r = &f->receiver;

	if (!wp_has(r->on_cpu_pct))
		out[0] = '\0';
	else if (f->one_cpu)
		snprintf(out, size, "; its thread has to share CPU %d with the sender's",
			 (int)r->cpu.v);
	else if (wp_num_or(r->delay_pct, 0) >= WP_DELAY_PCT)
		snprintf(out, size, "; its thread waited %.0f %% of the time for a CPU",
			 r->delay_pct.v);
	else if (r->runnable_pct.v >= RESTS_PCT)
		snprintf(
			out, size,
			"; its thread never rested (%.0f %% on its CPU), so no buffer is large enough",
			r->on_cpu_pct.v);
	else
		snprintf(out, size,
			 "; its thread ran only %.0f %% of the time, so a larger one helps",
			 r->on_cpu_pct.v);
}

static void buffer_advice(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *r = &f->receiver;
	struct wp_num asked = f->run->test.window_bytes, got = f->rcvbuf_bytes;
	struct wp_num most = r->host ? r->host->inventory.rmem_max_bytes : wp_absent(NULL);
	int cpu = wp_side_free_cpu(r, wp_has(r->cpu) ? (int)r->cpu.v : -1,
				   f->same_machine && wp_has(f->sender.cpu) ? (int)f->sender.cpu.v
									    : -1);
	const char *option = r->host == &f->run->hosts[0] ? "cpu" : "peer-cpu";

	if (f->one_cpu || wp_num_or(r->delay_pct, 0) >= WP_DELAY_PCT) {
		if (cpu >= 0)
			wp_advise_command(f, ret, option, "--%s %d", option, cpu);
	} else if (wp_num_or(r->runnable_pct, 0) >= RESTS_PCT) {
		if (wp_num_or(f->run->test.gro, 0) <= 0)
			wp_advise_command(f, ret, "", "--gro");
		wp_advise_command(f, ret, "parallel P cpu peer-cpu", "-P %.0f",
				  2 * wp_num_or(f->run->test.streams, 1));
	}
	if (wp_has(asked))
		wp_advise_command(f, ret, "window w", "%s", "");
	/* SO_RCVBUF reads as twice what was granted. */
	if (wp_has(most) && wp_has(got) && got.v <= 2 * most.v && !wp_has(asked))
		wp_advise(f, ret, "sysctl -w net.core.rmem_max=%.0f on the receiver (it is %.0f)",
			  most.v > 8388608 ? 4 * most.v : 33554432.0, most.v);
	else if (wp_has(got) && !wp_has(asked))
		wp_advise_command(f, ret, "window w", "-w %.0f", got.v);
	wp_advise_command(f, ret, "bitrate b", "--find-rate 'loss<0.1%%'");
}

enum wp_rule_answer wp_rule_socket_buffer(const struct wp_facts *f, struct wp_finding *ret)
{
	char buffer[32] = "of unknown size", asked[64] = "", reason[128];
	struct wp_num why, want = f->run->test.window_bytes;
	struct loss l;
	double packets;

	if (!gather_loss(f, &l, &why))
		return no_loss_known(f, ret, why);
	packets = stage(f, "socket buffer", &f->receiver, NULL);
	if (packets <= 0)
		return WP_RULE_NO;
	if (wp_has(f->rcvbuf_bytes))
		wp_format_bytes(f->rcvbuf_bytes.v / 2, buffer, sizeof(buffer)); /* as -w has it */
	if (wp_has(want)) {
		wp_format_bytes(want.v, asked + sizeof("asked for: ") - 1,
				sizeof(asked) - sizeof("asked for: "));
		memcpy(asked, "asked for: ", sizeof("asked for: ") - 1);
	} else {
		snprintf(asked, sizeof(asked), "none was asked for");
	}
	buffer_reason(f, reason, sizeof(reason));
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_END, "all_socket_drops",
		    RECEIVED(all_socket_drops));
	count_evidence(f, ret, &f->receiver, "UdpRcvbufErrors");
	count_evidence(f, ret, &f->receiver, "Udp6RcvbufErrors");
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "rcvbuf_bytes", f->rcvbuf_bytes);
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "window_bytes", want);
	thread_evidence(f, ret, &f->receiver);
	buffer_advice(f, ret);
	return wp_find(f, ret, share_of_loss(&l, packets), "high",
		       OF_FORMAT " were lost in the receiver's own socket buffer, not on the way: "
				 "it holds %s (%s)%s",
		       OF_ARGS(packets, l), buffer, asked, reason);
}

/* Did the sender's kernel refuse datagrams because the receiving side of veth had no room? */
static bool refused_by_backlog(const struct wp_facts *f)
{
	return f->run->ledger.refused_by && strstr(f->run->ledger.refused_by, "backlog");
}

enum wp_rule_answer wp_rule_backlog(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num why, limit = f->receiver.host ? f->receiver.host->inventory.netdev_max_backlog
						    : wp_absent(NULL);
	struct loss l;
	double packets;
	char of[48] = "";

	if (!gather_loss(f, &l, &why))
		return no_loss_known(f, ret, why);
	packets = stage(f, "backlog", &f->receiver, NULL);
	if (refused_by_backlog(f))
		packets += l.refused;
	if (packets <= 0)
		return WP_RULE_NO;
	if (wp_has(limit))
		snprintf(of, sizeof(of), " of %.0f packets", limit.v);
	count_evidence(f, ret, &f->receiver, "dropped");
	count_evidence(f, ret, &f->receiver, "rx_dropped");
	count_evidence(f, ret, &f->sender, "tx_dropped");
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_INVENTORY, "netdev_max_backlog", limit);
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_FLOW, "receive_softirq_cpu",
		    f->receiver.rx_cpu);
	wp_advise(f, ret, "sysctl -w net.core.netdev_max_backlog=%.0f on the receiver",
		  wp_num_or(limit, 1000) < 10000 ? 10000.0 : 2 * limit.v);
	wp_advise(
		f, ret,
		"spread the receive work over more CPUs: RPS (queues/rx-0/rps_cpus) or more queues");
	return wp_find(f, ret, share_of_loss(&l, packets), "high",
		       OF_FORMAT " found the receive backlog%s of a CPU full, before any socket "
				 "was asked",
		       OF_ARGS(packets, l), of);
}

enum wp_rule_answer wp_rule_local_drops(const struct wp_facts *f, struct wp_finding *ret)
{
	const char *source = NULL;
	double after, refused;
	struct wp_num why;
	struct loss l;

	if (!gather_loss(f, &l, &why))
		return no_loss_known(f, ret, why);
	refused = refused_by_backlog(f) ? 0 : l.refused;
	after = stage(f, "qdisc", &f->sender, &source) + stage(f, "device", &f->sender, &source);
	if (source && strstr(source, "rx_")) /* the other direction's */
		after = 0;
	if (refused + after <= 0)
		return WP_RULE_NO;
	if (refused > 0 && f->run->ledger.refused_by)
		source = f->run->ledger.refused_by;
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_END, "all_send_drops", SENT(all_send_drops));
	count_evidence(f, ret, &f->sender, "qdisc_drops");
	count_evidence(f, ret, &f->sender, "tx_dropped");
	count_evidence(f, ret, &f->sender, "tx_errors");
	count_evidence(f, ret, &f->sender, "UdpSndbufErrors");
	wp_advise(f, ret, "look at what waits before the interface: tc -s qdisc show dev %s",
		  device_of(&f->sender));
	wp_advise_command(f, ret, "bitrate b", "--find-rate 'loss<0.1%%'");
	return wp_find(f, ret, share_of_loss(&l, refused + after), "high",
		       OF_FORMAT " never left the sender's machine: dropped by %s%s",
		       OF_ARGS(refused + after, l), source ? source : "the local device",
		       refused > 0 ? ", and send() said so" : ", though send() had taken them");
}

/* What of the receiver's host drops before a socket is asked. */
static const struct {
	const char *stage, *says;
	const char *advice, *behind; /* around the interface's name; `behind` NULL: without it */
} host_stages[] = {
	{ "device", "by its interface", "see the interface's counters and rings: ethtool -S ", "" },
	{ "ingress filter", "by a filter that somebody put there", "tc -s filter show dev ",
	  " ingress" },
	{ "IP", "by its IP layer", "nstat -az | grep -i ipin", NULL },
	{ "fragments", "because not all of their fragments came",
	  "send datagrams that need no fragments: -l 1400", NULL },
	{ "no socket", "because no socket was there for them any more", "nstat -az UdpNoPorts",
	  NULL },
	{ "socket error", "by its socket, as damaged or for want of memory",
	  "nstat -az | grep -i udpin; sysctl net.ipv4.udp_mem", NULL },
};

enum wp_rule_answer wp_rule_host_loss(const struct wp_facts *f, struct wp_finding *ret)
{
	double packets = 0, most = 0;
	size_t worst = 0;
	const char *source = "", *behind;
	struct wp_num why;
	struct loss l;

	if (!gather_loss(f, &l, &why))
		return no_loss_known(f, ret, why);
	for (size_t i = 0; i < WP_ARRAY_SIZE(host_stages); i++) {
		const char *from = NULL;
		double n = stage(f, host_stages[i].stage, &f->receiver, &from);

		if (from && strstr(from, "tx_")) /* the other direction's */
			continue;
		packets += n;
		if (n > most) {
			most = n;
			worst = i;
			source = from;
		}
	}
	if (packets <= 0)
		return WP_RULE_NO;
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_END, "all_packets", RECEIVED(all_packets));
	count_evidence(f, ret, &f->receiver, "rx_dropped");
	count_evidence(f, ret, &f->receiver, "rx_missed_errors");
	count_evidence(f, ret, &f->receiver, "filter_drops");
	count_evidence(f, ret, &f->receiver, "UdpInErrors");
	count_evidence(f, ret, &f->receiver, "UdpNoPorts");
	count_evidence(f, ret, &f->receiver, "IpReasmFails");
	behind = host_stages[worst].behind;
	wp_advise(f, ret, "%s%s%s", host_stages[worst].advice,
		  behind ? device_of(&f->receiver) : "", behind ? behind : "");
	return wp_find(f, ret, share_of_loss(&l, packets), "high",
		       OF_FORMAT " reached the receiver's machine and were dropped "
				 "there, most of them %s (%s)",
		       OF_ARGS(packets, l), host_stages[worst].says, source);
}

enum wp_rule_answer wp_rule_path_loss(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num rest = f->run->ledger.unexplained_packets, why;
	struct loss l;
	double packets;

	if (!gather_loss(f, &l, &why))
		return no_loss_known(f, ret, why);
	if (!wp_has(rest))
		return wp_lacks(f, ret, "what no counter explains", rest);
	packets = rest.v < l.missing ? rest.v : l.missing;
	if (packets <= 0)
		return WP_RULE_NO;
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_END, "all_packets", SENT(all_packets));
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_END, "all_packets", RECEIVED(all_packets));
	wp_evidence(f, ret, "ledger", WP_SCOPE_LEDGER, "unexplained_packets", rest);
	count_evidence(f, ret, &f->sender, "tx_packets");
	count_evidence(f, ret, &f->receiver, "rx_packets");
	wp_advise_command(f, ret, "bitrate b", "--find-rate 'loss<0.1%%'");
	wp_advise(
		f, ret,
		"no counter that is read here sees drops of a firewall: nft list ruleset, iptables -vnL");
	return wp_find(f, ret, share_of_loss(&l, packets), f->same_machine ? "medium" : "high",
		       OF_FORMAT " vanished %s: no interface, queue or socket of %s counted them",
		       OF_ARGS(packets, l),
		       f->same_machine ? "within this machine" : "between the two machines",
		       f->same_machine ? "it" : "either");
}

/* ---- the rate ---------------------------------------------------------------------------------- */

/* Sent of what was asked for, 0..1; -1 = no rate was asked for, or not known. */
static double rate_met(const struct wp_facts *f)
{
	struct wp_num bytes = SENT(bytes), target = f->run->test.target_bps;

	if (!wp_has(target) || target.v <= 0 || !wp_has(bytes) || f->seconds <= 0 || !f->n_flows)
		return -1;
	return bytes.v * 8 / f->seconds / (double)f->n_flows / target.v;
}

bool wp_facts_paced(const struct wp_facts *f)
{
	return rate_met(f) >= RATE_MET;
}

static bool spins(const struct wp_facts *f)
{
	return wp_num_or(f->run->test.spin, 0) > 0;
}

static bool never_rests(const struct wp_facts *f)
{
	return !spins(f) && wp_num_or(f->sender.runnable_pct, 0) >= WP_FULL_PCT;
}

enum wp_rule_answer wp_rule_paced_rate(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num target = f->run->test.target_bps;
	double met = rate_met(f), pps;
	char asked[32];

	if (!wp_has(target) || target.v <= 0)
		return WP_RULE_NO;
	if (met < 0)
		return wp_lacks(f, ret, "the rate that was sent", SENT(bytes));
	if (met < RATE_PARTLY || (met < RATE_MET && never_rests(f)))
		return WP_RULE_NO;
	pps = wp_num_or(f->run->test.target_pps, 0);
	wp_format_bps(target.v, asked, sizeof(asked));
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "target_bps", target);
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "target_pps", f->run->test.target_pps);
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_END, "packets", SENT(packets));
	thread_evidence(f, ret, &f->sender);
	wp_advise_command(f, ret, "bitrate b", "-b 0");
	if (met < RATE_MET)
		return wp_find(
			f, ret, 100 * met, "medium",
			"the rate asked for, %s (%.0f datagrams/s) a stream, was reached to %.0f %%",
			asked, pps, 100 * met);
	return wp_find(
		f, ret, 100, "high",
		"it sends as fast as asked and no faster: %s (%.0f datagrams/s) a stream; the sender's thread ran "
		"%.0f %% of the time%s",
		asked, pps, wp_num_or(f->sender.on_cpu_pct, 0),
		spins(f) ? ", in a busy loop because of --spin" : "");
}

enum wp_rule_answer wp_rule_pacing_shortfall(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num late = SENT(shortfall_packets), sent = SENT(packets);
	double due, steal = f->sender.use ? wp_num_or(f->sender.use->steal_pct, 0) : 0;
	char stolen[64] = "";

	if (!wp_has(f->run->test.target_bps))
		return WP_RULE_NO;
	if (!wp_has(late) || !wp_has(sent))
		return wp_lacks(f, ret, "how many datagrams fell due and were not sent",
				wp_has(late) ? sent : late);
	due = late.v + sent.v;
	if (late.v < LATE_SHARE * due || never_rests(f)) /* sender_cpu says that */
		return WP_RULE_NO;
	if (steal >= WP_STEAL_PCT)
		snprintf(stolen, sizeof(stolen), ", and the hypervisor took %.1f %% of it", steal);
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_END, "shortfall_packets", late);
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_END, "packets", sent);
	thread_evidence(f, ret, &f->sender);
	if (f->sender.use)
		wp_evidence(f, ret, f->sender.word, WP_SCOPE_CPU, "steal_pct",
			    f->sender.use->steal_pct);
	if (!spins(f))
		wp_advise_command(f, ret, "", "--spin");
	wp_advise(f, ret, "give the sender a CPU of its own (--cpu), without other work");
	return wp_find(
		f, ret, pct_of(late.v, due), "high",
		"%.0f datagrams (%.1f %% of those that fell due) were not sent: the sender's thread was late for "
		"them, and nothing is caught up; it waited %.0f %% of the time for a CPU%s",
		late.v, pct_of(late.v, due), wp_num_or(f->sender.delay_pct, 0), stolen);
}

enum wp_rule_answer wp_rule_device_rate(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *s = &f->sender;
	struct wp_num packets = SENT(packets);
	char rate[32];

	if (wp_has(f->run->test.target_bps))
		return WP_RULE_NO; /* it was asked to */
	if (!wp_has(f->wait_pct))
		return wp_lacks(f, ret, "the CPU use of the sender's threads", s->on_cpu_pct);
	if (!wp_has(packets) || f->wait_pct.v < BLOCKED_PCT)
		return WP_RULE_NO;
	wp_format_bps(f->rate_bps, rate, sizeof(rate));
	thread_evidence(f, ret, s);
	wp_evidence(f, ret, s->word, WP_SCOPE_END, "packets", packets);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "sndbuf_bytes", f->sndbuf_bytes);
	count_evidence(f, ret, s, "tx_packets");
	wp_advise(f, ret, "see what holds the packets: tc -s qdisc show dev %s; ethtool %s",
		  device_of(s), device_of(s));
	return wp_find(
		f, ret, f->wait_pct.v, wp_confidence(f->wait_pct.v >= 50, -1),
		"the interface %s or its queue takes no more than %s: the sender's socket buffer was full and its "
		"thread had to wait %.0f %% of the time",
		device_of(s), rate, f->wait_pct.v);
}
