/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of doctor: one interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/units.h"
#include "explain/doctor_check.h"

#define RING_WANTED         1024 /* packets: 0.7 ms at 10 Gbit/s with 1500 bytes */
#define COALESCE_NOTE_USECS 50
#define IRQS_SHOWN          8

/* The carrier of an interface that is switched off cannot be read. */
static bool is_up(const struct wp_nic *n)
{
	if (n->carrier.state == WP_VALUE)
		return n->carrier.v != 0;
	return !wp_maybe_is(&n->operstate, "down");
}

static void check_link(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	char speed[32] = "speed unknown";

	if (!is_up(n)) {
		wp_doctor_say(c, l, "%s",
			      n->carrier.state == WP_VALUE ? "no link" : "switched off");
		return;
	}
	if (n->speed_mbps.state == WP_VALUE)
		wp_format_bps((double)n->speed_mbps.v * 1e6, speed, sizeof(speed));
	if (n->is_loopback) {
		wp_doctor_say(c, l, "MTU %lld", (long long)wp_maybe_int_or(&n->mtu, 0));
		return;
	}
	wp_doctor_say(c, l, "%s, %s, MTU %lld", wp_maybe_text_or(&n->operstate, "state unknown"),
		      speed, (long long)wp_maybe_int_or(&n->mtu, 0));
	if (wp_maybe_is(&n->duplex, "half"))
		wp_doctor_mark(l, WP_DOCTOR_BAD,
			       "half duplex: both directions share the wire and collide",
			       "switch autonegotiation on at both ends");
}

static void check_driver(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;

	if (n->is_loopback)
		return;
	if (!wp_doctor_say_text(c, l, &n->driver))
		return;
	if (n->device.state == WP_VALUE)
		wp_doctor_say(c, l, "%s at %s", n->driver.v, n->device.v);
}

static void check_node(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	char cpus[64];

	if (!n->is_device || c->f->topo.nodes < 2)
		return;
	if (!wp_doctor_say_int(c, l, &n->numa_node, ""))
		return;
	wp_topo_format_node(&c->f->topo, (int)n->numa_node.v, cpus, sizeof(cpus));
	wp_doctor_say(c, l, "%lld (CPUs %s)", (long long)n->numa_node.v, cpus);
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		"packets that are read or written on another node cross the link between sockets",
		wp_doctor_format(c, "keep applications and interrupts on CPUs %s", cpus));
}

static void check_queues(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	const struct wp_nic_channels *ch = &n->ethtool.channels;
	int64_t most;

	if (n->is_loopback || !is_up(n))
		return;
	if (n->queues_why) {
		wp_doctor_missing(l, n->queues_why);
		return;
	}
	wp_doctor_say(c, l, "%zu receive, %zu transmit", n->n_rx, n->n_tx);
	if (!n->is_device || n->n_rx != 1 || wp_doctor_cpus(c) < 2 || wp_nic_has_rps(n))
		return;
	most = wp_maybe_int_or(&ch->combined_max, 0);
	if (most < wp_maybe_int_or(&ch->rx_max, 0))
		most = ch->rx_max.v;
	wp_doctor_mark(l, WP_DOCTOR_WARN,
		       "one receive queue and RPS off: one CPU processes everything that arrives",
		       most > 1 ? wp_doctor_format(c, "ethtool -L %s combined %lld, or RPS",
						   n->name, (long long)most)
				: wp_doctor_format(c,
						   "RPS: a mask of CPUs into "
						   "/sys/class/net/%s/queues/rx-0/rps_cpus",
						   n->name));
}

/* "0: 0-3; 1: 0-3", or one value when all queues agree. */
static void say_masks(struct wp_doctor_ctx *c, struct wp_doctor_line *l,
		      const struct wp_nic_queue *q, size_t n)
{
	char out[256] = "";
	size_t at = 0;
	bool same = true;

	for (size_t i = 0; i < n; i++) {
		if (q[i].cpus.state != WP_VALUE) {
			wp_doctor_missing(l, q[i].cpus.why);
			return;
		}
		same = same && !strcmp(q[i].cpus.v, q[0].cpus.v);
	}
	if (same) {
		wp_doctor_say(c, l, "%s%s", q[0].cpus.v[0] ? "CPUs " : "off", q[0].cpus.v);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int len = snprintf(out + at, sizeof(out) - at, "%squeue %d: %s", i ? "; " : "",
				   q[i].index, q[i].cpus.v[0] ? q[i].cpus.v : "off");

		if (len < 0 || (size_t)len >= sizeof(out) - at)
			break;
		at += (size_t)len;
	}
	wp_doctor_say(c, l, "%s", out);
}

static void check_rps(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;

	if (n->n_rx && is_up(n) && !n->is_loopback)
		say_masks(c, l, n->rx, n->n_rx);
}

static void check_xps(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;

	if (n->n_tx > 1 && is_up(n) && n->is_device)
		say_masks(c, l, n->tx, n->n_tx);
}

/* Where an interrupt goes: the effective CPUs where the kernel tells, the allowed ones else. */
static const char *irq_cpus(const struct wp_nic_irq *irq)
{
	if (irq->effective.state == WP_VALUE && irq->effective.v[0])
		return irq->effective.v;
	return wp_maybe_text_or(&irq->affinity, "?");
}

/* Queue interrupts carry a number ("eth0-TxRx-3", "virtio2-input.0"); others are for link changes and errors. */
static bool is_queue_irq(const struct wp_nic_irq *irq)
{
	size_t n;

	if (irq->name.state != WP_VALUE)
		return false;
	n = strlen(irq->name.v);
	return n > 2 && irq->name.v[n - 1] >= '0' && irq->name.v[n - 1] <= '9' &&
	       (strchr(irq->name.v, '-') || strchr(irq->name.v, '.'));
}

/* How the queues' interrupts are spread. */
struct spread {
	size_t queues, remote; /* remote: those on CPUs of another node than the interface */
	const char *first;
	bool all_same;
};

static bool is_remote(const struct wp_doctor_ctx *c, const char *cpus)
{
	_cleanup_cpulist_ struct wp_cpulist l = { 0 };

	if (c->nic->numa_node.state != WP_VALUE || c->f->topo.nodes < 2 ||
	    wp_cpulist_parse(cpus, &l) || !l.n)
		return false;
	for (size_t i = 0; i < l.n; i++) {
		const struct wp_topo_cpu *t = wp_topo_find(&c->f->topo, l.cpu[i]);

		if (!t || t->node == c->nic->numa_node.v)
			return false;
	}
	return true;
}

static struct spread spread_of(const struct wp_doctor_ctx *c)
{
	struct spread s = { .all_same = true };

	for (size_t i = 0; i < c->nic->n_irqs; i++) {
		const char *cpus = irq_cpus(&c->nic->irqs[i]);

		if (!is_queue_irq(&c->nic->irqs[i]))
			continue;
		s.queues++;
		s.remote += is_remote(c, cpus);
		s.first = s.first ? s.first : cpus;
		s.all_same = s.all_same && !strcmp(s.first, cpus);
	}
	return s;
}

static void say_irqs(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	char out[512] = "";
	size_t at = 0, shown = 0;

	for (; shown < n->n_irqs && shown < IRQS_SHOWN; shown++) {
		int len = snprintf(out + at, sizeof(out) - at, "%s%d %s: CPU %s", shown ? "; " : "",
				   n->irqs[shown].irq, wp_maybe_text_or(&n->irqs[shown].name, "?"),
				   irq_cpus(&n->irqs[shown]));

		if (len < 0 || (size_t)len >= sizeof(out) - at) {
			out[at] = '\0';
			break;
		}
		at += (size_t)len;
	}
	if (shown < n->n_irqs)
		wp_doctor_say(c, l, "%s; %zu more", out, n->n_irqs - shown);
	else
		wp_doctor_say(c, l, "%s", out);
}

static void check_irqs(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	struct spread s;
	char node_cpus[64];

	if (!n->is_device || !is_up(n))
		return;
	if (!n->n_irqs) {
		wp_doctor_missing(l, n->irqs_why);
		return;
	}
	say_irqs(c, l);
	s = spread_of(c);
	if (s.queues > 1 && s.all_same && n->n_rx > 1 && !strpbrk(s.first, ",-?")) {
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			wp_doctor_format(c, "all queues interrupt CPU %s: more queues do not help",
					 s.first),
			"give each queue a CPU: /proc/irq/N/smp_affinity_list");
	} else if (s.remote) {
		wp_topo_format_node(&c->f->topo, (int)n->numa_node.v, node_cpus, sizeof(node_cpus));
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			wp_doctor_format(
				c,
				"%zu of %zu queues interrupt CPUs of another node: their packets "
				"cross the link between sockets",
				s.remote, s.queues),
			wp_doctor_format(c, "put CPUs %s into /proc/irq/N/smp_affinity_list",
					 node_cpus));
	}
}

static void check_rings(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	const struct wp_nic_rings *r = &n->ethtool.rings;

	if (!n->is_device || !c->f->live || !is_up(n))
		return;
	if (r->rx.state != WP_VALUE || r->tx.state != WP_VALUE) {
		wp_doctor_missing(l, r->rx.why);
		return;
	}
	wp_doctor_say(c, l, "receive %lld of %lld, transmit %lld of %lld", (long long)r->rx.v,
		      (long long)wp_maybe_int_or(&r->rx_max, 0), (long long)r->tx.v,
		      (long long)wp_maybe_int_or(&r->tx_max, 0));
	if (r->rx.v < RING_WANTED && wp_maybe_int_or(&r->rx_max, 0) > r->rx.v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"a short receive ring overflows when its CPU is away for a millisecond "
			"(rx_missed_errors)",
			wp_doctor_format(c, "ethtool -G %s rx %lld", n->name,
					 (long long)r->rx_max.v));
}

static void check_coalescing(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	const struct wp_nic_coalesce *k = &n->ethtool.coalesce;

	if (!n->is_device || !c->f->live || !is_up(n))
		return;
	if (k->rx_usecs.state != WP_VALUE) {
		wp_doctor_missing(l, k->rx_usecs.why);
		return;
	}
	wp_doctor_say(c, l, "receive %lld us or %lld frames, transmit %lld us or %lld frames%s",
		      (long long)k->rx_usecs.v, (long long)wp_maybe_int_or(&k->rx_frames, 0),
		      (long long)wp_maybe_int_or(&k->tx_usecs, 0),
		      (long long)wp_maybe_int_or(&k->tx_frames, 0),
		      wp_maybe_int_or(&k->adaptive_rx, 0) ? ", adaptive" : "");
	if (wp_maybe_int_or(&k->adaptive_rx, 0))
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"the delay of interrupts changes with the load: latency at low and at high rate are two things",
			wp_doctor_format(
				c, "ethtool -C %s adaptive-rx off rx-usecs 8 for latency tests",
				n->name));
	else if (k->rx_usecs.v > COALESCE_NOTE_USECS)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE, "this much is added to every round trip",
			wp_doctor_format(c, "ethtool -C %s rx-usecs 8 for latency tests", n->name));
}

static void check_offloads(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	static const enum wp_nic_feature shown[] = {
		WP_NIC_TX_CHECKSUM, WP_NIC_RX_CHECKSUM, WP_NIC_SCATTER_GATHER,
		WP_NIC_TSO,         WP_NIC_GSO,         WP_NIC_GRO,
		WP_NIC_LRO
	};
	const struct wp_nic_ethtool *e = &c->nic->ethtool;
	const struct wp_nic_feature_state *f = e->features;
	char on[128] = "", off[128] = "", missing[32] = "";
	size_t on_at = 0, off_at = 0;

	if (!c->f->live || !is_up(c->nic))
		return;
	if (e->features_why) {
		wp_doctor_missing(l, e->features_why);
		return;
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(shown); i++) {
		const char *name = wp_nic_feature_rows[shown[i]].short_name;

		if (f[shown[i]].state != WP_VALUE)
			continue;
		if (f[shown[i]].on)
			on_at += (size_t)snprintf(on + on_at, sizeof(on) - on_at, " %s", name);
		else
			off_at += (size_t)snprintf(off + off_at, sizeof(off) - off_at, " %s", name);
	}
	wp_doctor_say(c, l, "on:%s%s%s", on_at ? on : " none", off_at ? "; off:" : "", off);
	if (c->nic->is_loopback)
		return;
	if (f[WP_NIC_TSO].state == WP_VALUE && !f[WP_NIC_TSO].on)
		snprintf(missing, sizeof(missing), "tso");
	else if (f[WP_NIC_GSO].state == WP_VALUE && !f[WP_NIC_GSO].on)
		snprintf(missing, sizeof(missing), "gso");
	else if (c->nic->is_device && f[WP_NIC_GRO].state == WP_VALUE && !f[WP_NIC_GRO].on)
		snprintf(missing, sizeof(missing), "gro");
	if (missing[0])
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"without it the stack handles every frame by itself: TCP costs several times the CPU",
			wp_doctor_format(c, "ethtool -K %s %s on", c->nic->name, missing));
	else if (f[WP_NIC_LRO].state == WP_VALUE && f[WP_NIC_LRO].on)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"LRO merges packets in the device: packet counts and ACK ratios are not the wire's",
			wp_doctor_format(c, "ethtool -K %s lro off to see single packets",
					 c->nic->name));
}

static void check_napi(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_nic *n = c->nic;
	int64_t flush = wp_maybe_int_or(&n->gro_flush_timeout_ns, 0);
	int64_t defer = wp_maybe_int_or(&n->napi_defer_hard_irqs, 0);
	int64_t threaded = wp_maybe_int_or(&n->threaded_napi, 0);

	if (!flush && !defer && !threaded)
		return;
	wp_doctor_say(c, l, "gro_flush_timeout %lld ns, napi_defer_hard_irqs %lld%s",
		      (long long)flush, (long long)defer, threaded ? ", threaded" : "");
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		threaded
			? "packets are processed by kernel threads: their time is `system`, not `softirq`"
			: "interrupts are deferred: latency at low rates rises by the timeout",
		"say so beside the figures");
}

const struct wp_doctor_check wp_doctor_nic_checks[] = {
	{ "NIC", "link", check_link },
	{ "NIC", "driver", check_driver },
	{ "NIC", "NUMA node", check_node },
	{ "NIC", "queues", check_queues },
	{ "NIC", "RPS", check_rps },
	{ "NIC", "XPS", check_xps },
	{ "NIC", "interrupts", check_irqs },
	{ "NIC", "rings", check_rings },
	{ "NIC", "coalescing", check_coalescing },
	{ "NIC", "offloads", check_offloads },
	{ "NIC", "NAPI", check_napi },
};

const size_t wp_n_doctor_nic_checks = WP_ARRAY_SIZE(wp_doctor_nic_checks);
