/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "observe/flow_watch.h"
#include "observe/sampler.h"
#include "sys/cpufreq.h"
#include "sys/topo.h"

#define MAX_FDS 4
#define PROBE_NS \
	(100 * WP_NS_PER_MS) /* between rows: CPUs, round trips, application-limited or not */
#define TELL_DELAY_MAX_NS  (20 * WP_NS_PER_MS) /* a twentieth of the interval, at most this */
#define PROBED_FLOWS       16                  /* a probe costs 3 us a flow */
#define INFO_FLOWS_PER_ROW 200 /* TCP_INFO costs 2 us a flow: above this, rows take turns */
#define MAX_FLOW_ROWS      4096
#define DEFAULT_SAMPLE_NS  WP_NS_PER_S
#define SEEN_CPUS          64 /* different CPUs remembered as observed */

struct seen {
	int cpu[SEEN_CPUS];
	size_t n;
};

struct wp_end {
	const struct wp_plan *plan;
	struct wp_end_spec spec;
	struct wp_load *load;
	struct wp_sampler *sampler;
	struct wp_flow_watch *flows;
	struct wp_interval *rows; /* of the newest tick */
	struct wp_cpu_sample *cpu_rows;
	size_t n_flows, info_turn, next_probed;
	bool sends, receives, in_window, stopping, finished;
	int64_t start_ns, window_ns,
		stop_ns; /* window_ns: end of the warm-up; stop_ns: senders end, 0 = never */
	int64_t next_row_ns, next_probe_ns, last_row_ns;
	int64_t tell_ns; /* when the newest row is told: the sampler reads at the same moment and needs a little */
	int64_t done_ns; /* every stream was seen to have ended; 0 = not yet */
	struct seen app_cpus, rx_cpus;
	int *thread_cpu; /* newest of each thread, to count migrations */
	unsigned *migrations;
	int result; /* of finish */
};

static void saw(struct seen *s, int cpu)
{
	if (cpu < 0)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->cpu[i] == cpu)
			return;
	if (s->n < SEEN_CPUS)
		s->cpu[s->n++] = cpu;
}

/* ---- making ----------------------------------------------------------------------------------- */

size_t wp_end_rows_per_flow(size_t n_flows)
{
	size_t rows = WP_MAX_INTERVAL_ROWS / 2 / n_flows; /* both ends' rows share a record */

	return rows < MAX_FLOW_ROWS ? rows : MAX_FLOW_ROWS;
}

static int make_watches(struct wp_end *e, struct wp_err *err)
{
	e->flows = calloc(e->n_flows, sizeof(*e->flows));
	e->rows = calloc(e->n_flows, sizeof(*e->rows));
	if (!e->flows || !e->rows)
		return wp_err_set(err, -ENOMEM, "no memory for %zu flows", e->n_flows);
	for (size_t i = 0; i < e->n_flows; i++) {
		int r = wp_flow_watch_init(&e->flows[i], &e->spec.streams[i], e->plan->rate_bps > 0,
					   wp_end_rows_per_flow(e->n_flows));

		if (r)
			return wp_err_set(err, r, "no memory for %zu flows", e->n_flows);
		if (e->spec.streams[i].role == WP_STREAM_SENDS)
			e->sends = true;
		else
			e->receives = true;
	}
	return 0;
}

static int make_sampler(struct wp_end *e, struct wp_err *err)
{
	struct wp_sampler_config config = {
		.interval_ns = e->plan->sample_ns     ? e->plan->sample_ns
			       : e->plan->interval_ns ? e->plan->interval_ns
						      : DEFAULT_SAMPLE_NS,
		.omit_ns = e->plan->omit_ns,
		.avoid = e->spec.cpus,
		.cpus = e->spec.record_cpus,
		.root_fd = -1,
	};

	return wp_sampler_new(&config, &e->sampler, err);
}

static int make_load(struct wp_end *e, struct wp_err *err)
{
	struct wp_load_spec spec = { .engine = e->spec.engine,
				     .plan = e->plan,
				     .cpus = e->spec.cpus,
				     .streams = e->spec.streams,
				     .n_streams = e->n_flows };
	int r = wp_load_new(&spec, &e->load, err);
	size_t threads;

	if (r)
		return r;
	threads = wp_load_threads(e->load);
	e->thread_cpu = calloc(threads, sizeof(*e->thread_cpu));
	e->migrations = calloc(threads, sizeof(*e->migrations));
	if (!e->thread_cpu || !e->migrations)
		return wp_err_set(err, -ENOMEM, "no memory for %zu threads", threads);
	for (size_t i = 0; i < threads; i++)
		e->thread_cpu[i] = -1;
	return 0;
}

int wp_end_new(const struct wp_end_spec *spec, struct wp_end **ret, struct wp_err *err)
{
	struct wp_end *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return wp_err_set(err, -ENOMEM, "no memory");
	e->spec = *spec;
	e->plan = spec->plan;
	e->n_flows = spec->n_streams;
	r = make_watches(e, err);
	if (!r)
		r = make_sampler(e, err);
	if (!r)
		r = make_load(e, err);
	if (r) {
		wp_end_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void wp_end_free(struct wp_end *e)
{
	if (!e)
		return;
	wp_load_free(e->load);
	wp_sampler_free(e->sampler);
	for (size_t i = 0; e->flows && i < e->n_flows; i++)
		wp_flow_watch_done(&e->flows[i]);
	free(e->flows);
	free(e->rows);
	free(e->cpu_rows);
	free(e->thread_cpu);
	free(e->migrations);
	free(e);
}

/* ---- running ---------------------------------------------------------------------------------- */

int wp_end_go(struct wp_end *e)
{
	const struct wp_plan *p = e->plan;
	int r;

	e->start_ns = e->last_row_ns = wp_now_ns();
	r = wp_sampler_start(e->sampler, e->start_ns);
	if (r)
		return r;
	/* "Before" has been read: now the traffic, and the zero of all times. */
	e->start_ns = e->last_row_ns = wp_now_ns();
	e->window_ns = e->start_ns + p->omit_ns;
	e->in_window = !p->omit_ns;
	e->stop_ns = p->duration_ns ? e->window_ns + p->duration_ns : 0;
	e->next_row_ns = p->interval_ns ? e->start_ns + p->interval_ns : INT64_MAX;
	e->next_probe_ns = e->start_ns + PROBE_NS / 2;
	e->tell_ns = INT64_MAX;
	for (size_t i = 0; i < e->n_flows; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		wp_flow_watch_start(&e->flows[i], &count, e->start_ns);
	}
	wp_load_go(e->load, e->start_ns);
	return 0;
}

static bool has_turn(const struct wp_end *e, size_t flow)
{
	size_t turns = (e->n_flows + INFO_FLOWS_PER_ROW - 1) / INFO_FLOWS_PER_ROW;

	return flow % turns == e->info_turn % turns;
}

static void tell(struct wp_end *e)
{
	struct wp_end_tick tick = { .rows = e->rows, .n_rows = e->n_flows };

	e->tell_ns = INT64_MAX;
	if (!e->spec.on_tick)
		return;
	if (!e->cpu_rows)
		e->cpu_rows = calloc(WP_CPU_MAX, sizeof(*e->cpu_rows));
	if (e->cpu_rows)
		tick.n_cpus = wp_sampler_latest(e->sampler, e->cpu_rows, WP_CPU_MAX);
	tick.cpus = e->cpu_rows;
	e->spec.on_tick(e->spec.arg, &tick);
}

static void take_row(struct wp_end *e, int64_t now_ns, bool last)
{
	bool omitted = !e->in_window;

	if (e->tell_ns != INT64_MAX) /* the row before is still untold */
		tell(e);
	for (size_t i = 0; i < e->n_flows; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		e->rows[i] = wp_flow_watch_row(&e->flows[i], &count, now_ns, omitted,
					       last || has_turn(e, i));
		saw(&e->rx_cpus, e->flows[i].incoming_cpu);
	}
	e->info_turn++;
	e->last_row_ns = now_ns;
	e->tell_ns =
		now_ns + (e->plan->interval_ns / 20 < TELL_DELAY_MAX_NS ? e->plan->interval_ns / 20
									: TELL_DELAY_MAX_NS);
}

static void probe(struct wp_end *e, int64_t now_ns)
{
	size_t threads = wp_load_threads(e->load);

	for (size_t i = 0; i < e->n_flows && i < PROBED_FLOWS; i++) {
		struct wp_flow_watch *w = &e->flows[e->next_probed++ % e->n_flows];

		wp_flow_watch_probe(w);
		saw(&e->rx_cpus, w->incoming_cpu);
	}
	for (size_t i = 0; i < threads; i++) {
		int cpu = wp_load_thread_cpu(e->load, i);

		if (cpu >= 0 && e->thread_cpu[i] >= 0 && cpu != e->thread_cpu[i])
			e->migrations[i]++;
		if (cpu >= 0)
			e->thread_cpu[i] = cpu;
		saw(&e->app_cpus, cpu);
	}
	e->next_probe_ns = now_ns + PROBE_NS;
}

static void open_window(struct wp_end *e)
{
	for (size_t i = 0; i < e->n_flows; i++)
		wp_flow_watch_open_window(&e->flows[i]);
	e->in_window = true;
}

/*
 * What is due at now_ns. Rows end at exact multiples of the interval counted from the start of their phase. The row that
 * would end together with the run is left open: finish() closes it when the last byte has moved, so that there is no
 * sliver of a row behind it.
 */
static void do_due(struct wp_end *e, int64_t now_ns)
{
	if (now_ns >= e->next_probe_ns)
		probe(e, now_ns);
	if (now_ns >= e->tell_ns)
		tell(e);
	if (!e->in_window && now_ns >= e->window_ns) {
		take_row(e, now_ns, false);
		open_window(e);
		e->next_row_ns =
			e->plan->interval_ns ? e->window_ns + e->plan->interval_ns : INT64_MAX;
	} else if (now_ns >= e->next_row_ns) {
		int64_t to_stop_ns = e->stop_ns - e->next_row_ns;
		bool ends_run =
			e->stop_ns && to_stop_ns < WP_NS_PER_MS && to_stop_ns > -WP_NS_PER_MS;

		if (!ends_run)
			take_row(e, now_ns, false);
		/* After a long stall the late row says so by its bounds; no burst of empty rows follows it. */
		do
			e->next_row_ns += e->plan->interval_ns;
		while (e->next_row_ns <= now_ns);
	}
	if (e->stop_ns && now_ns >= e->stop_ns && e->sends && !e->stopping) {
		wp_load_stop(e->load);
		e->stopping = true;
	}
}

static int64_t next_event(const struct wp_end *e)
{
	int64_t t = e->next_probe_ns < e->next_row_ns ? e->next_probe_ns : e->next_row_ns;

	if (e->tell_ns < t)
		t = e->tell_ns;
	if (!e->in_window && e->window_ns < t)
		t = e->window_ns;
	if (e->stop_ns && e->sends && !e->stopping && e->stop_ns < t)
		t = e->stop_ns;
	return t;
}

/* A receiver that sees no end of stream does not wait for ever: its senders had to stop at stop_ns. */
static bool overdue(const struct wp_end *e, int64_t now_ns)
{
	return e->stop_ns && now_ns > e->stop_ns + 30 * WP_NS_PER_S;
}

int wp_end_wait(struct wp_end *e, const int *fds, size_t n)
{
	struct pollfd p[MAX_FDS + 1];

	if (n > MAX_FDS)
		return -EINVAL;
	for (;;) {
		int64_t now = wp_now_ns(), left;
		struct timespec ts;
		int r, mask = 0;

		do_due(e, now);
		if (overdue(e, now))
			return 0;
		left = next_event(e) - wp_now_ns();
		ts = wp_ns_to_timespec(left > 0 ? left : 0);
		p[0] = (struct pollfd) { .fd = wp_load_done_fd(e->load), .events = POLLIN };
		for (size_t i = 0; i < n; i++)
			p[i + 1] = (struct pollfd) { .fd = fds[i], .events = POLLIN };
		r = ppoll(p, (nfds_t)(n + 1), &ts, NULL);
		if (r < 0)
			return -errno;
		if (p[0].revents) {
			e->done_ns = wp_now_ns();
			return 0;
		}
		for (size_t i = 0; i < n; i++)
			mask |= p[i + 1].revents ? 1 << i : 0;
		if (mask)
			return mask;
	}
}

void wp_end_stop(struct wp_end *e)
{
	e->stopping = true;
	wp_load_stop(e->load);
}

/*
 * When this end's part was over. A test of so many bytes ends with the last one; a timed test ends with its time (at a
 * receiver: with the end of the stream), though nothing may have moved for a while before.
 */
static int64_t end_time(const struct wp_end *e, int64_t now_ns)
{
	int64_t last = e->last_row_ns;

	if (e->plan->duration_ns)
		return e->done_ns && e->done_ns < now_ns ? e->done_ns : now_ns;
	for (size_t i = 0; i < e->n_flows; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		if (!count.ended)
			return now_ns;
		if (count.last_ns > last)
			last = count.last_ns;
	}
	return last < now_ns ? last : now_ns;
}

int wp_end_finish(struct wp_end *e, int64_t grace_ns)
{
	int64_t now;

	if (e->finished)
		return e->result;
	probe(e, wp_now_ns());
	wp_end_stop(e);
	e->result = wp_load_join(e->load, wp_now_ns() + grace_ns);
	now = wp_now_ns();
	wp_sampler_stop(e->sampler);
	if (!e->in_window)
		open_window(e);
	now = end_time(e, now);
	if (now > e->last_row_ns) {
		take_row(e, now, true);
		tell(e);
	}
	e->finished = true;
	return e->result;
}

const char *wp_end_method(const struct wp_end *e, enum wp_stream_role role)
{
	return wp_load_method(e->load, role);
}

/* ---- the result ------------------------------------------------------------------------------- */

static int put_seen(const struct seen *s, struct wp_ints *ret, struct wp_pool *pool)
{
	ret->v = wp_pool_calloc(pool, s->n, sizeof(int));
	if (s->n && !ret->v)
		return -ENOMEM;
	if (s->n)
		memcpy(ret->v, s->cpu, s->n * sizeof(int));
	ret->n = s->n;
	return 0;
}

const char *wp_cpu_distance(int a, int b)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum wp_topo_distance d = WP_TOPO_UNKNOWN;
	struct wp_topo topo;

	if (root < 0 || wp_topo_read(root, true, &topo, NULL))
		return NULL;
	d = wp_topo_distance(&topo, a, b);
	wp_topo_done(&topo);
	return d == WP_TOPO_UNKNOWN ? NULL : wp_topo_distance_name(d);
}

static int put_placement(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	const struct wp_cpulist *asked = e->spec.cpus;
	int r = put_seen(&e->app_cpus, &host->observed_app_cpus, pool);

	if (!r)
		r = put_seen(&e->rx_cpus, &host->observed_rx_cpus, pool);
	if (!r && e->app_cpus.n && e->rx_cpus.n)
		host->app_to_rx = wp_cpu_distance(e->app_cpus.cpu[0], e->rx_cpus.cpu[0]);
	if (r || !asked || !asked->n)
		return r;
	host->asked_app_cpus.v = wp_pool_calloc(pool, asked->n, sizeof(int));
	if (!host->asked_app_cpus.v)
		return -ENOMEM;
	memcpy(host->asked_app_cpus.v, asked->cpu, asked->n * sizeof(int));
	host->asked_app_cpus.n = asked->n;
	return 0;
}

static int put_threads(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	size_t n = wp_load_threads(e->load);
	struct wp_num cpu_s = wp_num(0);

	host->threads = wp_pool_calloc(pool, n, sizeof(*host->threads));
	if (!host->threads)
		return -ENOMEM;
	host->n_threads = n;
	for (size_t i = 0; i < n; i++) {
		struct wp_thread_use *t = &host->threads[i];
		struct wp_num wall = wp_num((double)(e->last_row_ns - e->start_ns) / 1e9);

		wp_load_thread_use(e->load, i, t);
		t->migrations = wp_num(e->migrations[i]);
		t->cpu_pct = wp_num_ratio(t->cpu_s, wall, 100);
		t->run_delay_pct = wp_num_ratio(t->run_delay_s, wall, 100);
		cpu_s = wp_has(cpu_s) && wp_has(t->cpu_s) ? wp_num(cpu_s.v + t->cpu_s.v) : t->cpu_s;
		if (wp_has(t->asked_cpu) && e->thread_cpu[i] >= 0 &&
		    (int)t->asked_cpu.v != e->thread_cpu[i] && !host->placement_note)
			host->placement_note = wp_pool_printf(
				pool, "CPU %d was asked for but thread %zu ran on CPU %d",
				(int)t->asked_cpu.v, i, e->thread_cpu[i]);
	}
	host->app_cpu_s = cpu_s;
	return 0;
}

/* The CPUs of the thread that moved flow `i`. */
static void put_flow_cpu(struct wp_end *e, size_t i, const struct wp_stream_count *count,
			 struct wp_flow *f)
{
	int cpu = e->thread_cpu[count->thread];
	struct wp_num n = cpu >= 0 ? wp_num(cpu) : wp_absent("the run was too short to look");

	if (e->flows[i].role == WP_STREAM_SENDS) {
		f->send_cpu = n;
		return;
	}
	f->receive_cpu = n;
	f->receive_softirq_cpu = e->flows[i].incoming_cpu >= 0
					 ? wp_num(e->flows[i].incoming_cpu)
					 : wp_absent("SO_INCOMING_CPU knows none");
}

static int put_flows(struct wp_end *e, struct wp_flow *flows, struct wp_pool *pool,
		     double *ret_bytes)
{
	*ret_bytes = 0;
	for (size_t i = 0; i < e->n_flows; i++) {
		struct wp_stream_count count;
		int r;

		wp_load_count(e->load, i, &count);
		r = wp_flow_watch_result(&e->flows[i], &count, &flows[i], pool);
		if (r)
			return r;
		put_flow_cpu(e, i, &count, &flows[i]);
		*ret_bytes += (double)count.bytes;
	}
	return 0;
}

/* Read just after the run, while the CPUs are still at the speed of the run. */
static void put_frequencies(struct wp_host *host)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < host->n_cpus; i++) {
		uint64_t khz;
		int r = root < 0 ? -ENOENT
				 : wp_cpufreq_now_khz(root, (int)host->cpus[i].cpu.v, &khz);

		if (!r)
			host->cpus[i].frequency_mhz = wp_num((double)khz / 1000);
		else
			host->cpus[i].frequency_mhz =
				wp_absent(r == -ENOENT ? "this kernel has no cpufreq for the CPU"
						       : "scaling_cur_freq can't be read");
	}
}

static void put_sampling_note(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	struct wp_sampler_cost cost;

	wp_sampler_cost(e->sampler, &cost);
	if (cost.slowdowns)
		host->sampling_note = wp_pool_printf(
			pool,
			"reading the kernel's counters is slow here: every %.0f ms instead of every %.0f ms",
			(double)cost.interval_ns / 1e6, (double)cost.asked_interval_ns / 1e6);
	else if (cost.reset_counters)
		host->sampling_note = wp_pool_printf(
			pool, "%u network counters were reset during the run and left out",
			cost.reset_counters);
	else
		host->sampling_note = cost.note;
}

int wp_end_result(struct wp_end *e, struct wp_host *host, struct wp_flow *flows,
		  struct wp_pool *pool)
{
	double bytes;
	int r = put_flows(e, flows, pool, &bytes);

	if (!r)
		r = put_threads(e, host, pool);
	if (!r)
		r = put_placement(e, host, pool);
	if (!r)
		r = wp_sampler_result(e->sampler, host, pool);
	if (r)
		return r;
	put_frequencies(host);
	put_sampling_note(e, host, pool);
	host->cost_us_per_kb = bytes > 0 ? wp_num_ratio(host->app_cpu_s, wp_num(bytes / 1024), 1e6)
					 : wp_absent("no byte was moved");
	host->cost_us_per_transaction = wp_absent("not a request/response test");
	return 0;
}
