/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/beside.h"

/* A reading allocates and faults in its memory at first: those are not typical. */
#define COLD_SAMPLES 2
/* Weight of a new sample in the running mean of the cost. */
#define COST_WEIGHT 8

struct wp_sampler {
	struct wp_sampler_config config;
	struct wp_cpulist avoid, on; /* owned copies */
	struct wp_sources sources;
	unsigned user_hz;
	int64_t start_ns, window_ns; /* of the first reading; of the measured window */

	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */

	/* The thread's alone until it has ended. */
	struct wp_snapshot snap[2];
	unsigned now; /* index of the newest snapshot */
	struct wp_cpu_span total_cpus;
	struct wp_net_span total_net;
	struct wp_sampler_row *rows;
	size_t n_rows, max_rows;
	struct wp_sampler_row pending; /* open row */
	unsigned pending_samples;
	struct wp_sampler_cost cost;
	int64_t mean_cost_ns; /* CPU time of one sample, running mean */
	int64_t file_sum_ns[WP_SOURCES];
	int status; /* first failure */

	struct wp_cpu_span step;  /* newest sample */
	struct wp_cpu_span shown; /* for wp_sampler_latest(); under lock */
};

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		return 0;
	return t.tv_sec * WP_NS_PER_S + t.tv_nsec;
}

int64_t wp_sampler_affordable_ns(int64_t asked_ns, int64_t cost_ns)
{
	double least_ns = (double)cost_ns / WP_SAMPLER_COST_MAX;
	int64_t times;

	if (asked_ns <= 0 || least_ns <= (double)asked_ns)
		return asked_ns;
	if (least_ns >= (double)WP_SAMPLER_INTERVAL_MAX_NS)
		least_ns = (double)WP_SAMPLER_INTERVAL_MAX_NS;
	times = (int64_t)(least_ns / (double)asked_ns);
	return asked_ns * ((double)(times * asked_ns) < least_ns ? times + 1 : times);
}

static void keep(struct wp_sampler *s, int r)
{
	if (r < 0 && s->status == 0)
		s->status = r;
}

/* Rows */

static void row_done(struct wp_sampler_row *row)
{
	wp_cpu_span_done(&row->cpus);
	*row = (struct wp_sampler_row) { 0 };
}

/* Halves the rows: each takes in its right neighbour, unless the warm-up ends between them. */
static void fold_rows(struct wp_sampler *s)
{
	size_t to = 0;

	for (size_t from = 0; from < s->n_rows; to++) {
		struct wp_sampler_row row = s->rows[from];
		struct wp_sampler_row *next = from + 1 < s->n_rows ? &s->rows[from + 1] : NULL;

		from++;
		if (next && next->omitted == row.omitted) {
			keep(s, wp_cpu_span_merge(&row.cpus, &next->cpus));
			row_done(next);
			from++;
		}
		s->rows[to] = row;
	}
	s->n_rows = to;
	s->cost.folds++;
}

static void close_row(struct wp_sampler *s)
{
	if (s->pending_samples == 0)
		return;
	s->pending_samples = 0;
	if (s->max_rows == 0) {
		row_done(&s->pending);
		return;
	}
	if (s->n_rows == s->max_rows)
		fold_rows(s);
	s->rows[s->n_rows++] = s->pending;
	s->pending = (struct wp_sampler_row) { 0 };
}

static int choose_rows(struct wp_sampler *s)
{
	size_t n_cpus = s->snap[s->now].stat.n, max = s->config.max_rows;

	if (s->config.interval_ns == 0 || !(s->sources.wanted & WP_SOURCE_BIT(WP_SOURCE_STAT)))
		return 0; /* no rows */
	if (max == 0 || max > WP_SAMPLER_ROWS_MAX)
		max = WP_SAMPLER_ROWS_MAX;
	if (n_cpus && max > WP_MAX_CPU_SAMPLE_ROWS / n_cpus)
		max = WP_MAX_CPU_SAMPLE_ROWS / n_cpus;
	if (max < WP_SAMPLER_ROWS_MIN)
		max = WP_SAMPLER_ROWS_MIN;
	s->rows = calloc(max, sizeof(*s->rows));
	s->max_rows = s->rows ? max : 0;
	return s->rows ? 0 : -ENOMEM;
}

/* Samples */

static void add_file_costs(struct wp_sampler *s, const struct wp_snapshot *snap)
{
	for (size_t i = 0; i < WP_SOURCES; i++) {
		if (snap->why[i])
			continue;
		s->file_sum_ns[i] += snap->cost_ns[i];
		if (snap->cost_ns[i] > s->cost.file_max_ns[i])
			s->cost.file_max_ns[i] = snap->cost_ns[i];
	}
	s->cost.bytes += snap->bytes;
}

/* Makes the interval larger when the readings are too expensive for it; never smaller again. */
static void guard_cost(struct wp_sampler *s, int64_t cost_ns)
{
	int64_t affordable_ns;

	if (s->cost.samples <= COLD_SAMPLES || s->config.interval_ns == 0)
		return;
	s->mean_cost_ns = s->mean_cost_ns == 0
				  ? cost_ns
				  : s->mean_cost_ns + (cost_ns - s->mean_cost_ns) / COST_WEIGHT;
	affordable_ns = wp_sampler_affordable_ns(s->config.interval_ns, s->mean_cost_ns);
	if (affordable_ns > s->cost.interval_ns) {
		s->cost.interval_ns = affordable_ns;
		s->cost.slowdowns++;
	}
}

/* The stop cuts the last sample short: a sliver of it goes to its neighbour instead of standing alone. */
static void join_tail(struct wp_sampler *s)
{
	struct wp_sampler_row *last = s->n_rows ? &s->rows[s->n_rows - 1] : NULL;

	if (!last || s->pending_samples == 0 || last->omitted != s->pending.omitted)
		return;
	keep(s, wp_cpu_span_merge(&last->cpus, &s->pending.cpus));
	row_done(&s->pending);
	s->pending_samples = 0;
}

static void add_step(struct wp_sampler *s, bool omitted, bool tail)
{
	const struct wp_snapshot *before = &s->snap[!s->now], *after = &s->snap[s->now];

	wp_cpu_span_reset(&s->step);
	keep(s, wp_cpu_span_step(&s->step, before, after));
	pthread_mutex_lock(&s->lock);
	if (!tail)
		wp_cpu_span_reset(&s->shown);
	keep(s, wp_cpu_span_merge(&s->shown, &s->step));
	pthread_mutex_unlock(&s->lock);
	if (!omitted) {
		keep(s, wp_cpu_span_merge(&s->total_cpus, &s->step));
		keep(s, wp_net_span_step(&s->total_net, before, after));
	}
	if (s->max_rows == 0)
		return;
	s->pending.omitted = omitted;
	keep(s, wp_cpu_span_merge(&s->pending.cpus, &s->step));
	s->pending_samples++;
	if (tail)
		join_tail(s);
	else if (s->pending_samples >> (s->cost.folds < 31 ? s->cost.folds : 31) != 0)
		close_row(s);
}

/* One reading; from the second on it adds the step since the one before. */
static void sample(struct wp_sampler *s, bool omitted, bool tail)
{
	int64_t before_ns = thread_cpu_ns();

	s->now = !s->now;
	wp_sources_read(&s->sources, &s->snap[s->now]);
	add_file_costs(s, &s->snap[s->now]);
	if (s->cost.samples++ > 0)
		add_step(s, omitted, tail);
	guard_cost(s, thread_cpu_ns() - before_ns);
}

/* The thread */

static void place(struct wp_sampler *s)
{
	int r = wp_run_beside(&s->avoid, &s->on);

	if (r == -ENOENT)
		s->cost.note =
			s->on.n ? "the sampler could not be pinned where it was to run"
				: "every allowed CPU is under test, so the sampler runs on them";
	else if (r < 0)
		s->cost.note = "the sampler could not be kept off the CPUs under test";
}

/* Waits for the time or the stop; true when it was the stop. */
static bool wait_until(struct wp_sampler *s, int64_t until_ns)
{
	struct timespec until = wp_ns_to_timespec(until_ns);
	bool stop;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->stop && r != ETIMEDOUT) {
		if (until_ns == INT64_MAX)
			r = pthread_cond_wait(&s->wake, &s->lock);
		else
			r = pthread_cond_timedwait(&s->wake, &s->lock, &until);
	}
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/* The next multiple of the interval after now, counted from the start. */
static int64_t next_tick(const struct wp_sampler *s, int64_t now_ns)
{
	int64_t interval_ns = s->cost.interval_ns;

	if (interval_ns == 0)
		return INT64_MAX;
	return s->start_ns + ((now_ns - s->start_ns) / interval_ns + 1) * interval_ns;
}

static void run(struct wp_sampler *s)
{
	bool omitted = s->window_ns > s->start_ns, stop = false;
	int64_t due_ns = next_tick(s, s->start_ns), sampled_ns = s->start_ns;

	while (!stop) {
		bool window = omitted && s->window_ns <= due_ns;
		int64_t until_ns = window ? s->window_ns : due_ns, now_ns;

		stop = wait_until(s, until_ns);
		now_ns = wp_now_ns();
		if (!stop && s->cost.interval_ns && now_ns - until_ns > s->cost.interval_ns / 5)
			s->cost.late++;
		sample(s, omitted, stop && now_ns - sampled_ns < s->cost.interval_ns / 2);
		sampled_ns = now_ns;
		if (window && !stop) {
			close_row(s);
			omitted = false;
		}
		if (!stop && until_ns == due_ns)
			due_ns = next_tick(s, wp_now_ns());
	}
	close_row(s);
	s->cost.wall_ns = wp_now_ns() - s->start_ns;
}

static void first_sample(struct wp_sampler *s)
{
	sample(s, true, false);
	keep(s, choose_rows(s));
}

static void *thread_main(void *arg)
{
	struct wp_sampler *s = arg;

	place(s);
	if (s->cost.samples == 0 && !wait_until(s, s->start_ns))
		first_sample(s);
	/* Stopped before the start: nothing was measured. */
	if (s->cost.samples > 0)
		run(s);
	s->cost.cpu_ns += thread_cpu_ns();
	return NULL;
}

/* Life */

static int init_wait(struct wp_sampler *s)
{
	pthread_condattr_t attr;
	int r = pthread_mutex_init(&s->lock, NULL);

	if (r != 0)
		return -r;
	r = pthread_condattr_init(&attr);
	if (r == 0) {
		r = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		if (r == 0)
			r = pthread_cond_init(&s->wake, &attr);
		pthread_condattr_destroy(&attr);
	}
	if (r != 0)
		pthread_mutex_destroy(&s->lock);
	return -r;
}

int wp_sampler_new(const struct wp_sampler_config *config, struct wp_sampler **ret,
		   struct wp_err *err)
{
	struct wp_sampler *s;
	long hz = sysconf(_SC_CLK_TCK);
	int64_t interval_ns = config->interval_ns;
	int r;

	if (interval_ns < 0 || interval_ns > WP_SAMPLER_INTERVAL_MAX_NS)
		return wp_err_set(err, -EINVAL, "the sampling interval must be at most one hour");
	if (interval_ns > 0 && interval_ns < WP_SAMPLER_INTERVAL_MIN_NS)
		interval_ns = WP_SAMPLER_INTERVAL_MIN_NS;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	r = init_wait(s);
	if (r < 0) {
		free(s);
		return r;
	}
	s->config = *config;
	s->config.avoid = s->config.on = NULL;
	s->config.interval_ns = interval_ns;
	s->user_hz = hz > 0 ? (unsigned)hz : 100;
	s->cost.asked_interval_ns = config->interval_ns;
	s->cost.interval_ns = interval_ns;
	if (config->avoid)
		r = wp_cpulist_copy(config->avoid, &s->avoid);
	if (r == 0 && config->on)
		r = wp_cpulist_copy(config->on, &s->on);
	if (r == 0)
		r = wp_sources_open(&s->sources, config->root_fd < 0 ? AT_FDCWD : config->root_fd,
				    config->cpus ? WP_SOURCES_ALL : WP_SOURCES_NET, err);
	if (r < 0) {
		wp_sampler_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int wp_sampler_start(struct wp_sampler *s, int64_t start_ns)
{
	int64_t now_ns = wp_now_ns(), cpu_ns = thread_cpu_ns();
	sigset_t all, old;
	int r;

	if (s->started)
		return -EALREADY;
	s->start_ns = start_ns;
	s->window_ns = start_ns + (s->config.omit_ns > 0 ? s->config.omit_ns : 0);
	if (s->start_ns <= now_ns) {
		/* Here, so that nothing of what the caller starts next comes before it. */
		first_sample(s);
		s->cost.cpu_ns = thread_cpu_ns() - cpu_ns;
	}
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&s->thread, NULL, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->started = r == 0;
	return r;
}

void wp_sampler_stop(struct wp_sampler *s)
{
	if (!s->started || s->stopped)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->stopped = true;
}

void wp_sampler_free(struct wp_sampler *s)
{
	if (!s)
		return;
	wp_sampler_stop(s);
	for (size_t i = 0; i < s->n_rows; i++)
		row_done(&s->rows[i]);
	free(s->rows);
	row_done(&s->pending);
	wp_cpu_span_done(&s->step);
	wp_cpu_span_done(&s->shown);
	wp_cpu_span_done(&s->total_cpus);
	wp_net_span_done(&s->total_net);
	wp_snapshot_done(&s->snap[0]);
	wp_snapshot_done(&s->snap[1]);
	wp_sources_done(&s->sources);
	wp_cpulist_done(&s->avoid);
	wp_cpulist_done(&s->on);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Results */

size_t wp_sampler_latest(struct wp_sampler *s, struct wp_cpu_sample *out, size_t max)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->shown.steps ? s->shown.n : 0;
	if (n > max)
		n = max;
	for (size_t i = 0; i < n; i++)
		wp_cpu_sample_get(&s->shown, i, s->user_hz, s->start_ns, &out[i]);
	pthread_mutex_unlock(&s->lock);
	return n;
}

const struct wp_cpu_span *wp_sampler_cpus(const struct wp_sampler *s)
{
	return &s->total_cpus;
}

const struct wp_net_span *wp_sampler_net(const struct wp_sampler *s)
{
	return &s->total_net;
}

const struct wp_sampler_row *wp_sampler_rows(const struct wp_sampler *s, size_t *ret_n)
{
	*ret_n = s->n_rows;
	return s->rows;
}

void wp_sampler_cost(const struct wp_sampler *s, struct wp_sampler_cost *ret)
{
	*ret = s->cost;
	for (size_t i = 0; i < WP_SOURCES; i++)
		ret->file_mean_ns[i] = s->cost.samples ? s->file_sum_ns[i] / s->cost.samples : 0;
	for (size_t i = 0; i < s->total_net.n; i++)
		ret->reset_counters += s->total_net.v[i].reset;
}

static int add_cpus(const struct wp_sampler *s, struct wp_host *host, struct wp_pool *pool)
{
	const struct wp_cpu_span *span = &s->total_cpus;
	struct wp_cpu_use *cpus = wp_pool_calloc(pool, span->n ? span->n : 1, sizeof(*cpus));

	if (!cpus)
		return -ENOMEM;
	for (size_t i = 0; i < span->n; i++)
		wp_cpu_use_get(span, i, s->user_hz, &cpus[i]);
	host->cpus = cpus;
	host->n_cpus = span->n;
	host->wall_s =
		span->steps ? wp_num((double)(span->end_ns - span->start_ns) / (double)WP_NS_PER_S)
			    : wp_absent("the measured window was never reached");
	return 0;
}

static int add_samples(const struct wp_sampler *s, struct wp_host *host, struct wp_pool *pool)
{
	struct wp_cpu_sample *samples;
	size_t n = 0;

	for (size_t i = 0; i < s->n_rows; i++)
		n += s->rows[i].cpus.n;
	samples = wp_pool_calloc(pool, n ? n : 1, sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	host->cpu_samples = samples;
	host->n_cpu_samples = n;
	for (size_t i = 0; i < s->n_rows; i++)
		for (size_t c = 0; c < s->rows[i].cpus.n; c++)
			wp_cpu_sample_get(&s->rows[i].cpus, c, s->user_hz, s->start_ns, samples++);
	return 0;
}

int wp_sampler_result(const struct wp_sampler *s, struct wp_host *host, struct wp_pool *pool)
{
	const struct wp_net_select moved = { 0 };
	int r = s->status;

	if (r == 0 && s->sources.wanted & WP_SOURCES_CPU) {
		r = add_cpus(s, host, pool);
		if (r == 0)
			r = add_samples(s, host, pool);
	}
	if (r == 0)
		r = wp_net_use_list(&s->total_net, &moved, pool, &host->counts, &host->n_counts,
				    NULL);
	if (r < 0)
		return r;
	host->sample_interval_s =
		s->cost.interval_ns ? wp_num((double)s->cost.interval_ns / (double)WP_NS_PER_S)
				    : wp_absent("sampling was off: read at start and end only");
	host->samples_folded = wp_num(s->cost.folds);
	host->self_cpu_pct =
		s->cost.wall_ns > 0 ? wp_num(100 * (double)s->cost.cpu_ns / (double)s->cost.wall_ns)
				    : wp_absent("the sampler did not run");
	return 0;
}
