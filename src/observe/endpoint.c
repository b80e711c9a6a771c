/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/end_inside.h"

#define MAX_FDS 4
#define PROBE_NS \
	(100 * WP_NS_PER_MS) /* between rows: CPUs, round trips, application-limited or not */
#define TELL_DELAY_MAX_NS  (20 * WP_NS_PER_MS) /* a twentieth of the interval, at most this */
#define PROBED_FLOWS       16                  /* a probe costs 3 us a flow */
#define INFO_FLOWS_PER_ROW 200 /* TCP_INFO costs 2 us a flow: above this, rows take turns */
#define MAX_FLOW_ROWS      4096
#define DEFAULT_SAMPLE_NS  WP_NS_PER_S

static void saw(struct wp_seen_cpus *s, int cpu)
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

static int make_watch(struct wp_end *e, size_t i)
{
	struct wp_flow_spec spec = { .plan = e->plan,
				     .caps = e->spec.engine->caps,
				     .stream = &e->spec.streams[i],
				     .n_streams = e->n_flows == 1 ? e->spec.n_streams : 1,
				     .rows = wp_end_rows_per_flow(e->n_flows) };

	return wp_flow_watch_init(&e->flows[i], &spec);
}

static int make_watches(struct wp_end *e, struct wp_err *err)
{
	int r = 0;

	e->flows = calloc(e->n_flows, sizeof(*e->flows));
	e->rows = calloc(e->n_flows, sizeof(*e->rows));
	if (!e->flows || !e->rows)
		r = -ENOMEM;
	for (size_t i = 0; i < e->n_flows && !r; i++)
		r = make_watch(e, i);
	if (r)
		return wp_err_set(err, r, "no memory for %zu flows", e->n_flows);
	for (size_t i = 0; i < e->spec.n_streams; i++) {
		if (e->spec.streams[i].role == WP_STREAM_SENDS)
			e->sends = true;
		else
			e->receives = true;
	}
	return 0;
}

static int make_hists(struct wp_end *e, struct wp_err *err)
{
	int r = 0;

	for (int i = 0; i < WP_LOAD_HIST_N && !r; i++)
		if (e->spec.engine->hists & 1u << i)
			r = wp_hist_init(&e->warm_up[i], WP_RECORD_HIST_BITS, NULL);
	if (!r && e->spec.engine->hists & 1u << WP_HIST_LATENCY)
		r = wp_hist_init(&e->latency, WP_RECORD_HIST_BITS, NULL);
	return r ? wp_err_set(err, r, "no memory for the latencies") : 0;
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

static int make_path(struct wp_end *e, struct wp_err *err)
{
	const struct wp_stream_spec *first = e->spec.streams;
	struct wp_addr other_end = first->remote;
	int r;

	if (e->plan->transport != WP_UDP)
		return 0;
	if (!other_end.len && wp_addr_remote(first->fd, &other_end))
		return 0;
	r = wp_path_watch_new(&other_end, &e->path);
	return r ? wp_err_sys(err, r, "cannot watch the counters of the packets' way") : 0;
}

static int make_load(struct wp_end *e, struct wp_err *err)
{
	struct wp_load_spec spec = { .engine = e->spec.engine,
				     .plan = e->plan,
				     .cpus = e->spec.cpus,
				     .streams = e->spec.streams,
				     .n_streams = e->spec.n_streams };
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

static int make_stall_watch(struct wp_end *e, struct wp_err *err)
{
	struct wp_stall_watch_config config = { .plan = e->plan,
						.load = e->load,
						.streams = e->spec.streams,
						.n_streams = e->spec.n_streams,
						.one_flow = e->n_flows == 1,
						.avoid = e->spec.cpus };

	return e->plan->stall_ns ? wp_stall_watch_new(&config, &e->stalls, err) : 0;
}

static int make_writer_watch(struct wp_end *e, struct wp_err *err)
{
	struct wp_writer_watch_config config = { .load = e->load,
						 .fd = e->spec.streams[0].fd,
						 .avoid = e->spec.cpus };
	int r;

	if (!(e->spec.engine->caps & WP_ENGINE_WRITES))
		return 0;
	r = wp_writer_watch_new(&config, &e->writer, err);
	e->flows[0].writes.watch = e->writer;
	return r;
}

int wp_end_new(const struct wp_end_spec *spec, struct wp_end **ret, struct wp_err *err)
{
	struct wp_end *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return wp_err_set(err, -ENOMEM, "no memory");
	e->spec = *spec;
	wp_soak_off(&e->soak);
	e->plan = spec->plan;
	e->n_flows = spec->engine->caps & WP_ENGINE_TRANSACTIONS ? 1 : spec->n_streams;
	r = make_watches(e, err);
	if (!r)
		r = make_hists(e, err);
	if (!r)
		r = make_sampler(e, err);
	if (!r)
		r = make_path(e, err);
	if (!r)
		r = make_load(e, err);
	if (!r)
		r = make_stall_watch(e, err);
	if (!r)
		r = make_writer_watch(e, err);
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
	wp_hogs_free(e->hogs);
	wp_stall_watch_free(e->stalls);
	wp_writer_watch_free(e->writer);
	wp_load_free(e->load);
	wp_sampler_free(e->sampler);
	wp_path_watch_free(e->path);
	for (size_t i = 0; e->flows && i < e->n_flows; i++)
		wp_flow_watch_done(&e->flows[i]);
	for (int i = 0; i < WP_LOAD_HIST_N; i++)
		wp_hist_done(&e->warm_up[i]);
	wp_hist_done(&e->latency);
	free(e->flows);
	free(e->rows);
	free(e->cpu_rows);
	free(e->thread_cpu);
	free(e->migrations);
	free(e);
}

/* ---- running ---------------------------------------------------------------------------------- */

static void add_count(struct wp_stream_count *sum, const struct wp_stream_count *c)
{
	sum->bytes += c->bytes;
	sum->calls += c->calls;
	sum->packets += c->packets;
	sum->transactions += c->transactions;
	sum->timeouts += c->timeouts;
	sum->unanswered += c->unanswered;
	if (c->first_ns && (!sum->first_ns || c->first_ns < sum->first_ns))
		sum->first_ns = c->first_ns;
	if (c->last_ns > sum->last_ns)
		sum->last_ns = c->last_ns;
	if (!sum->error)
		sum->error = c->error;
	sum->ended &= c->ended;
}

void wp_end_count(const struct wp_end *e, size_t flow, struct wp_stream_count *ret)
{
	wp_load_count(e->load, flow, ret);
	if (e->n_flows > 1)
		return;
	for (size_t i = 1; i < e->spec.n_streams; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		add_count(ret, &count);
	}
}

static void read_flow(struct wp_end *e, size_t flow, int64_t now_ns, struct wp_flow_reading *ret)
{
	*ret = (struct wp_flow_reading) { .now_ns = now_ns };
	wp_end_count(e, flow, &ret->count);
	if (!e->latency.bucket)
		return;
	wp_hist_reset(&e->latency);
	wp_load_hist(e->load, WP_HIST_LATENCY, &e->latency);
	ret->latency = &e->latency;
}

int wp_end_go(struct wp_end *e)
{
	const struct wp_plan *p = e->plan;
	int r = 0;

	e->hogs_ns = -wp_now_ns();
	if (p->hog_cpus.n)
		r = wp_hogs_start(&p->hog_cpus, &e->hogs, NULL);
	if (r)
		return r;
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
		struct wp_flow_reading first;

		read_flow(e, i, e->start_ns, &first);
		wp_flow_watch_start(&e->flows[i], &first);
	}
	r = e->stalls ? wp_stall_watch_start(e->stalls, e->start_ns) : 0;
	if (r)
		return r;
	r = e->writer ? wp_writer_watch_start(e->writer, e->start_ns) : 0;
	if (r)
		return r;
	if (p->soak)
		wp_soak_start(&e->soak, p->omit_ns + p->duration_ns, e->start_ns);
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
		struct wp_flow_reading now;

		read_flow(e, i, now_ns, &now);
		e->rows[i] = wp_flow_watch_row(&e->flows[i], &now, omitted, last || has_turn(e, i));
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
	for (int i = 0; i < WP_LOAD_HIST_N; i++)
		if (i == WP_HIST_LATENCY && e->latency.bucket) /* as the row before has it */
			(void)!wp_hist_merge(&e->warm_up[i], &e->latency);
		else if (e->warm_up[i].bucket)
			wp_load_hist(e->load, (enum wp_load_hist)i, &e->warm_up[i]);
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
	wp_soak_due(&e->soak, now_ns);
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
		wp_end_stop(e);
	}
}

static int64_t next_event(const struct wp_end *e)
{
	int64_t t = e->next_probe_ns < e->next_row_ns ? e->next_probe_ns : e->next_row_ns;

	if (e->tell_ns < t)
		t = e->tell_ns;
	if (e->soak.next_ns < t)
		t = e->soak.next_ns;
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
	if (!e->stopped_ns)
		e->stopped_ns = wp_now_ns();
	e->stopping = true;
	wp_stall_watch_senders_stop(e->stalls);
	wp_load_stop(e->load);
}

/* Time of the last byte of any stream; INT64_MAX while one has not ended. */
static int64_t last_moved_ns(const struct wp_end *e)
{
	int64_t last = e->last_row_ns;

	for (size_t i = 0; i < e->spec.n_streams; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		if (!count.ended)
			return INT64_MAX;
		if (count.last_ns > last)
			last = count.last_ns;
	}
	return last;
}

/* Datagrams have no end of stream: behind the last of them come end markers, or a silence, which are not the test's. */
static bool has_no_end_of_stream(const struct wp_end *e)
{
	return e->spec.engine->caps & (WP_ENGINE_DATAGRAMS | WP_ENGINE_TRANSACTIONS);
}

/*
 * When this end's part was over. A test of so many bytes ends with the last one; a timed test ends with its time (at a
 * receiver: with the end of the stream), though nothing may have moved for a while before.
 */
static int64_t end_time(const struct wp_end *e, int64_t now_ns)
{
	int64_t last = last_moved_ns(e), over = now_ns;

	if (e->done_ns && e->done_ns < over)
		over = e->done_ns;
	if (e->plan->duration_ns && !has_no_end_of_stream(e))
		return over;
	if (e->plan->duration_ns) {
		if (e->stop_ns < over)
			over = e->stop_ns;
		if (e->stopped_ns && e->stopped_ns < over)
			over = e->stopped_ns;
		last = last > over ? last : over;
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
	wp_stall_watch_stop(e->stalls);
	e->result = wp_load_join(e->load, wp_now_ns() + grace_ns);
	now = wp_now_ns();
	wp_writer_watch_stop(e->writer);
	wp_sampler_stop(e->sampler);
	e->hogs_ns += now;
	wp_hogs_stop(e->hogs);
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

static uint64_t progress(const struct wp_end *e, bool heard_only)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->spec.n_streams; i++) {
		struct wp_stream_count c;

		wp_load_count(e->load, i, &c);
		sum += c.transactions;
		if (!heard_only || e->spec.streams[i].role == WP_STREAM_RECEIVES)
			sum += c.bytes;
	}
	return sum;
}

uint64_t wp_end_heard(const struct wp_end *e)
{
	return progress(e, true);
}

uint64_t wp_end_moved(const struct wp_end *e)
{
	return progress(e, false);
}

int wp_end_error(const struct wp_end *e)
{
	for (size_t i = 0; i < e->spec.n_streams; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		if (count.error)
			return count.error;
	}
	return 0;
}

bool wp_end_senders_done(const struct wp_end *e)
{
	return wp_load_senders_done(e->load);
}

const char *wp_end_method(const struct wp_end *e, enum wp_stream_role role)
{
	return wp_load_method(e->load, role);
}
