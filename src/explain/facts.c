/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/facts.h"

#include <string.h>

#define LARGE_BUFFER       4.0 /* times rate x round trip: the buffer is not the reason */
#define LARGE_BUFFER_BYTES (1024.0 * 1024)

/* Collects a figure over flows or rows. */
struct gather {
	double sum, min;
	size_t n;
	const char *why; /* of the first that is absent */
};

static void take(struct gather *g, struct wp_num v)
{
	if (!wp_has(v)) {
		if (!g->why)
			g->why = v.why;
		return;
	}
	g->min = g->n && g->min < v.v ? g->min : v.v;
	g->sum += v.v;
	g->n++;
}

static struct wp_num mean_of(const struct gather *g)
{
	return g->n ? wp_num(g->sum / (double)g->n) : wp_absent(g->why);
}

static struct wp_num sum_of(const struct gather *g)
{
	return g->n ? wp_num(g->sum) : wp_absent(g->why);
}

static struct wp_num min_of(const struct gather *g)
{
	return g->n ? wp_num(g->min) : wp_absent(g->why);
}

static struct wp_num field(const void *base, size_t offset)
{
	return *(const struct wp_num *)(const void *)((const char *)base + offset);
}

static bool is_forward(const struct wp_flow *f)
{
	return !f->role || strcmp(f->role, "receiver");
}

static const struct wp_interval *sender_rows(const struct wp_flow *f, size_t *ret_n)
{
	*ret_n = is_forward(f) ? f->n_intervals : f->n_peer_intervals;
	return is_forward(f) ? f->intervals : f->peer_intervals;
}

/* ---- one end ---------------------------------------------------------------------------------- */

static struct wp_num add(struct wp_num a, struct wp_num b)
{
	return wp_has(a) && wp_has(b) ? wp_num(a.v + b.v) : a;
}

static void pick_thread(struct wp_side *s)
{
	double most = -1;

	for (size_t i = 0; i < s->host->n_threads; i++) {
		const struct wp_thread_use *t = &s->host->threads[i];
		double runnable = wp_num_or(t->cpu_pct, 0) + wp_num_or(t->run_delay_pct, 0);

		if (!wp_has(t->cpu_pct))
			continue;
		s->n_threads++;
		s->n_full += runnable >= WP_NEAR_FULL_PCT;
		if (runnable > most) {
			most = runnable;
			s->thread = t;
		}
	}
}

static bool thread_stays(const struct wp_side *s)
{
	const struct wp_thread_use *t = s->thread;

	if (!t)
		return s->host->observed_app_cpus.n == 1;
	return wp_has(t->migrations) ? t->migrations.v == 0 : wp_has(t->asked_cpu);
}

/* `flow_cpu`, `flow_rx_cpu`: what the first flow says of this side. */
static void look_at_side(const struct wp_run *run, const struct wp_host *host, const char *word,
			 struct wp_num flow_cpu, struct wp_num flow_rx_cpu, struct wp_side *s)
{
	static const char not_there[] = "the other end gave no figures of its own";

	*s = (struct wp_side) { .host = host, .word = word };
	if (!host) {
		s->on_cpu_pct = s->delay_pct = s->runnable_pct = wp_absent(not_there);
		s->cpu = s->call_bytes = s->rx_cpu = wp_absent(not_there);
		return;
	}
	s->cpus = host;
	if (!host->n_cpus && host->same_machine_as)
		s->cpus = &run->hosts[host == &run->hosts[0]];
	pick_thread(s);
	s->on_cpu_pct = s->thread ? s->thread->cpu_pct : wp_absent("no thread was measured");
	s->delay_pct = s->thread ? s->thread->run_delay_pct : wp_absent("no thread was measured");
	s->runnable_pct = wp_has(s->delay_pct) ? add(s->on_cpu_pct, s->delay_pct) : s->on_cpu_pct;
	s->cpu = s->thread && wp_has(s->thread->last_cpu) ? s->thread->last_cpu : flow_cpu;
	s->stays = thread_stays(s);
	if (wp_has(s->cpu) && s->stays)
		s->use = wp_host_cpu(s->cpus, (int)s->cpu.v);
	s->rx_cpu = flow_rx_cpu;
	if (!wp_has(s->rx_cpu) && host->observed_rx_cpus.n == 1)
		s->rx_cpu = wp_num(host->observed_rx_cpus.v[0]);
}

/* ---- the flows -------------------------------------------------------------------------------- */

/* Mean, sum or smallest of one field over the flows of the direction. */
static struct gather over_flows(const struct wp_facts *f, bool forward, size_t offset)
{
	struct gather g = { 0 };

	for (size_t i = 0; i < f->run->n_flows; i++)
		if (is_forward(&f->run->flows[i]) == forward)
			take(&g, field(&f->run->flows[i], offset));
	return g;
}

#define OVER(field) over_flows(f, forward, offsetof(struct wp_flow, field))

static struct wp_num over_rows(const struct wp_facts *f, bool forward, size_t offset)
{
	struct gather g = { 0 };

	for (size_t i = 0; i < f->run->n_flows; i++) {
		const struct wp_interval *rows;
		size_t n;

		if (is_forward(&f->run->flows[i]) != forward)
			continue;
		rows = sender_rows(&f->run->flows[i], &n);
		for (size_t k = 0; k < n; k++)
			if (wp_num_or(rows[k].omitted, 0) == 0)
				take(&g, field(&rows[k], offset));
	}
	return mean_of(&g);
}

#define ROWS(field) over_rows(f, forward, offsetof(struct wp_interval, field))

static struct wp_num share_of(struct wp_num part_pct, struct wp_num whole_pct)
{
	if (!wp_has(part_pct))
		return part_pct;
	if (!wp_has(whole_pct))
		return whole_pct;
	return wp_num(part_pct.v * whole_pct.v / 100);
}

static void gather_flows(struct wp_facts *f, bool forward)
{
	struct gather received = OVER(received.bits_per_second), sent = OVER(sent.bits_per_second),
		      got = OVER(received.bytes), gave = OVER(sent.bytes),
		      seconds = OVER(sent.seconds), receiver_seconds = OVER(received.seconds),
		      calls = OVER(sent.mean_call_bytes), reads = OVER(received.mean_call_bytes);
	struct gather g;

	f->flow_bps = mean_of(received.n ? &received : &sent);
	f->rate_bps = received.n ? received.sum : sent.sum;
	f->bytes = got.n ? got.sum : gave.sum;
	g = OVER(received.all_bytes), f->all_bytes = g.n ? g.sum : f->bytes;
	f->seconds = wp_num_or(mean_of(seconds.n ? &seconds : &receiver_seconds), 0);
	f->sender.call_bytes = mean_of(&calls);
	f->receiver.call_bytes = mean_of(&reads);
	g = OVER(busy_pct), f->busy_pct = mean_of(&g);
	g = OVER(rwnd_limited_pct), f->rwnd_limited_pct = mean_of(&g);
	g = OVER(sndbuf_limited_pct), f->sndbuf_limited_pct = mean_of(&g);
	g = OVER(app_limited_pct), f->app_limited_pct = mean_of(&g);
	g = OVER(min_rtt_us), f->min_rtt_us = min_of(&g);
	g = OVER(mean_rtt_us), f->mean_rtt_us = mean_of(&g);
	g = OVER(sndbuf_bytes), f->sndbuf_bytes = min_of(&g);
	g = OVER(rcvbuf_bytes), f->rcvbuf_bytes = min_of(&g);
	g = OVER(mss_bytes), f->mss_bytes = min_of(&g);
	g = OVER(sent.packets), f->packets = sum_of(&g);
	g = OVER(sent.retransmits), f->retransmits = sum_of(&g);
	g = OVER(dsacks), f->dsacks = sum_of(&g);
	f->cwnd_bytes = ROWS(cwnd_bytes);
	f->unacked = ROWS(unacked);
	f->notsent_bytes = ROWS(notsent_bytes);
	f->pacing_bps = ROWS(pacing_bps);
	f->rwnd_wall_pct = share_of(f->rwnd_limited_pct, f->busy_pct);
	f->sndbuf_wall_pct = share_of(f->sndbuf_limited_pct, f->busy_pct);
}

/* Busy time that neither a window nor the application explains, and in which the sending thread really waited. */
static struct wp_num network_share(const struct wp_facts *f)
{
	double pct;

	if (!wp_has(f->busy_pct))
		return f->busy_pct;
	pct = f->busy_pct.v - wp_num_or(f->rwnd_wall_pct, 0) - wp_num_or(f->sndbuf_wall_pct, 0);
	pct *= 1 - wp_num_or(f->app_limited_pct, 0) / 100;
	if (wp_has(f->wait_pct) && pct > f->wait_pct.v)
		pct = f->wait_pct.v;
	return wp_num(pct > 0 ? pct : 0);
}

static size_t count_rows(const struct wp_facts *f, bool forward, const struct wp_flow **ret_first)
{
	size_t rows = 0;

	*ret_first = NULL;
	for (size_t i = 0; i < f->run->n_flows; i++) {
		const struct wp_flow *flow = &f->run->flows[i];
		size_t n;

		if (is_forward(flow) != forward)
			continue;
		(void)sender_rows(flow, &n);
		rows += n;
		if (!*ret_first)
			*ret_first = flow;
	}
	return rows;
}

static void excuse(struct wp_side *s, const struct wp_side *other)
{
	double blocked = wp_has(s->runnable_pct) ? 100 - s->runnable_pct.v : 0;
	double delay = wp_num_or(other->delay_pct, 0);

	if (delay < WP_DELAY_PCT || blocked < 0)
		return;
	s->excused_pct = blocked < delay ? blocked : delay;
}

struct wp_num wp_facts_bdp_bytes(const struct wp_facts *f)
{
	struct wp_num rtt = wp_has(f->mean_rtt_us) ? f->mean_rtt_us : f->min_rtt_us;

	if (!wp_has(f->flow_bps))
		return f->flow_bps;
	if (!wp_has(rtt))
		return rtt;
	return wp_num(f->flow_bps.v / 8 * rtt.v / 1e6);
}

bool wp_facts_large_buffer(const struct wp_facts *f)
{
	/* The smallest round trip is the path's own; longer ones hold the reader's delays. */
	double bdp = wp_num_or(f->flow_bps, 0) / 8 * wp_num_or(f->min_rtt_us, 0) / 1e6;

	return wp_has(f->rcvbuf_bytes) && wp_has(f->flow_bps) && wp_has(f->min_rtt_us) &&
	       f->rcvbuf_bytes.v >= LARGE_BUFFER_BYTES && f->rcvbuf_bytes.v >= LARGE_BUFFER * bdp;
}

bool wp_facts_delayed_reader(const struct wp_facts *f)
{
	double delay = wp_num_or(f->receiver.delay_pct, 0);

	/* A window that the kernel sizes, and a reader that is behind all the time for want of a CPU. */
	if (!wp_has(f->run->test.window_bytes) && delay >= WP_DELAY_MAIN_PCT &&
	    f->receiver.runnable_pct.v >= WP_FULL_PCT)
		return true;
	return wp_facts_large_buffer(f) &&
	       (delay >= WP_DELAY_MAIN_PCT ||
		(delay >= WP_DELAY_PCT && delay >= wp_num_or(f->rwnd_wall_pct, 0)));
}

bool wp_facts_small_writes(const struct wp_facts *f)
{
	const struct wp_side *s = &f->sender;

	return wp_has(s->call_bytes) && s->call_bytes.v < WP_SMALL_CALL_BYTES &&
	       wp_has(s->on_cpu_pct) && s->runnable_pct.v + s->excused_pct >= WP_NEAR_FULL_PCT;
}

struct wp_num wp_facts_lost(const struct wp_facts *f)
{
	double lost;

	if (!wp_has(f->retransmits))
		return f->retransmits;
	lost = f->retransmits.v - wp_num_or(f->dsacks, 0);
	return wp_num(lost > 0 ? lost : 0);
}

bool wp_facts_held(const struct wp_facts *f)
{
	struct wp_num lost = wp_facts_lost(f);

	if (wp_has(f->run->test.target_bps))
		return true;
	if (f->congestion && !strncmp(f->congestion, "bbr", 3))
		return true;
	if (wp_has(lost) && wp_has(f->packets) && lost.v > WP_LOSS_SHARE * f->packets.v)
		return true;
	if (wp_num_or(f->sndbuf_limited_pct, 0) >= WP_LIMITED_PCT)
		return true;
	return wp_num_or(f->rwnd_limited_pct, 0) >= WP_LIMITED_PCT && !wp_facts_delayed_reader(f);
}

/* A record without a kind is of a version that knew TCP only. */
static unsigned kind_of(const struct wp_run *run)
{
	const char *kind = run->test.kind;

	if (!kind || !strcmp(kind, "tcp"))
		return WP_KIND_TCP;
	if (!strcmp(kind, "write"))
		return WP_KIND_WRITE;
	return !strcmp(kind, "udp") ? WP_KIND_UDP : !strcmp(kind, "rr") ? WP_KIND_RR : 0;
}

bool wp_facts_gather(const struct wp_run *run, bool forward, struct wp_pool *pool,
		     struct wp_facts *ret)
{
	struct wp_facts *f = ret;
	const struct wp_flow *first;

	*f = (struct wp_facts) { .run = run, .pool = pool, .kind = kind_of(run) };
	f->n_rows = count_rows(f, forward, &first);
	if (!first)
		return false;
	for (size_t i = 0; i < run->n_flows; i++)
		f->n_flows += is_forward(&run->flows[i]) == forward;
	look_at_side(run, wp_flow_sender(run, first),
		     f->kind == WP_KIND_RR      ? "client"
		     : f->kind == WP_KIND_WRITE ? "writer"
						: "sender",
		     first->send_cpu, wp_absent("the CPU of the acknowledgements is not recorded"),
		     &f->sender);
	look_at_side(run, wp_flow_receiver(run, first),
		     f->kind == WP_KIND_RR ? "server" : "receiver", first->receive_cpu,
		     first->receive_softirq_cpu, &f->receiver);
	f->congestion = first->congestion;
	f->same_machine = run->n_hosts == 2 &&
			  (run->hosts[0].same_machine_as || run->hosts[1].same_machine_as);
	f->local_delivery =
		f->same_machine && run->test.target &&
		(!strncmp(run->test.target, "lab", 3) || !strcmp(run->test.target, "loopback") ||
		 !strncmp(run->test.target, "127.", 4) || !strcmp(run->test.target, "localhost") ||
		 !strcmp(run->test.target, "::1"));
	gather_flows(f, forward);
	f->one_cpu = f->same_machine && f->sender.stays && f->receiver.stays &&
		     wp_has(f->sender.cpu) && wp_has(f->receiver.cpu) &&
		     f->sender.cpu.v == f->receiver.cpu.v;
	/* A sender of datagrams waits for nobody; of requests and responses always one waits for the other. */
	if (f->kind == WP_KIND_TCP) {
		excuse(&f->sender, &f->receiver);
		excuse(&f->receiver, &f->sender);
	}
	f->sender.polls =
		f->kind == WP_KIND_RR && run->test.wait && !strcmp(run->test.wait, "spin");
	f->receiver.polls =
		f->sender.polls ||
		(run->test.receive_method && !strncmp(run->test.receive_method, "discard", 7) &&
		 (!run->test.direction || strcmp(run->test.direction, "both")));
	f->wait_pct = f->sender.runnable_pct;
	if (wp_has(f->wait_pct))
		f->wait_pct.v = f->wait_pct.v < 100 ? 100 - f->wait_pct.v : 0;
	f->network_pct = network_share(f);
	return f->rate_bps > 0;
}

double wp_facts_rows_above(const struct wp_facts *f, size_t offset, double threshold)
{
	bool forward = f->sender.host == &f->run->hosts[0];
	size_t rows = 0, above = 0;

	for (size_t i = 0; i < f->run->n_flows; i++) {
		const struct wp_interval *v;
		size_t n;

		if (is_forward(&f->run->flows[i]) != forward)
			continue;
		v = sender_rows(&f->run->flows[i], &n);
		for (size_t k = 0; k < n; k++) {
			struct wp_num x = field(&v[k], offset);

			if (!wp_has(x) || wp_num_or(v[k].omitted, 0) != 0)
				continue;
			rows++;
			above += x.v >= threshold;
		}
	}
	return rows >= 3 ? (double)above / (double)rows : -1;
}

struct wp_num wp_facts_count(const struct wp_facts *f, const char *name)
{
	struct wp_num sum = wp_absent("the counter did not move");

	for (size_t h = 0; h < f->run->n_hosts; h++)
		for (size_t i = 0; i < f->run->hosts[h].n_counts; i++) {
			const struct wp_count *c = &f->run->hosts[h].counts[i];

			if (c->name && !strcmp(c->name, name))
				sum = wp_num(wp_num_or(sum, 0) + c->delta);
		}
	return sum;
}

int wp_side_free_cpu(const struct wp_side *s, int not_this, int nor_this)
{
	double least = 50;
	int best = -1;

	for (size_t i = 0; s->cpus && i < s->cpus->n_cpus; i++) {
		const struct wp_cpu_use *u = &s->cpus->cpus[i];

		if (!wp_has(u->cpu) || (int)u->cpu.v == not_this || (int)u->cpu.v == nor_this)
			continue;
		if (wp_num_or(u->busy_pct, 100) < least) {
			least = u->busy_pct.v;
			best = (int)u->cpu.v;
		}
	}
	return best;
}
