/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/writer_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "observe/beside.h"
#include "observe/cpu_tasks.h"
#include "observe/writer_reading.h"

#define LOOK_NS      (10 * WP_NS_PER_MS)
#define LOOK_MAX_NS  (200 * WP_NS_PER_MS)
#define COST_SHARE   100  /* a look may take a hundredth of the time between two */
#define COST_WEIGHT  8    /* of a new look in the running mean */
#define READINGS     4096 /* 41 s at the usual pace */
#define MACHINE_NS   (100 * WP_NS_PER_MS)
#define TASKS_NS     WP_NS_PER_S          /* all tasks, while nothing happens */
#define TASKS_MIN_NS (100 * WP_NS_PER_MS) /* ... while pauses come */
#define TASKS_COST   200                  /* a reading of all tasks: a 200th of the time */
#define TAKER_NS     (50 * WP_NS_PER_MS)  /* the other side, while it keeps the writer waiting */
#define TAKER_OLD_NS (150 * WP_NS_PER_MS)
#define SEARCH_NS    WP_NS_PER_S /* ... and who it is */
#define POOL_BYTES   (1u << 20)

struct wp_writer_watch {
	struct wp_writer_watch_config config;
	struct wp_cpulist avoid; /* owned */
	int64_t origin_ns;

	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock, as the next */
	/* The newest look; waiting_since_ns: able to run but not running since about then, 0 = no. */
	int64_t waiting_since_ns, steal_ns;
	struct wp_writer_times waiting;

	/* The thread's alone until it has ended. */
	struct wp_writer_files files;
	struct wp_cpu_tasks tasks;
	struct wp_pipe_taker taker;
	struct wp_writer_reading *ring; /* of READINGS */
	uint64_t n_readings;            /* taken; the newest is [(n - 1) % READINGS] */
	struct wp_writer_reading *scratch;
	int64_t look_ns, mean_cost_ns, own_delay_ns;
	int64_t next_machine_ns, next_tasks_ns, next_taker_ns, next_search_ns;
	int64_t taker_clock_ns; /* of the load, at the look before */
	struct wp_pause_view pauses[WP_MAX_PAUSES];
	size_t n_pauses;
	struct wp_pool pool; /* of their texts; what was replaced stays in it */
	int status;
};

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0
		       ? 0
		       : (int64_t)t.tv_sec * WP_NS_PER_S + t.tv_nsec;
}

/* ---- looking ---------------------------------------------------------------------------------- */

static int64_t clock_of(struct wp_num seconds)
{
	/* Nobody has read it yet; or it can't be read, and says why. */
	if (!wp_has(seconds))
		return seconds.why ? -1 : 0;
	return (int64_t)(seconds.v * 1e9);
}

static struct wp_writer_times own_clocks(const struct wp_load *load)
{
	struct wp_thread_use use;

	wp_load_thread_use(load, 0, &use);
	return (struct wp_writer_times) { .run_ns = clock_of(use.cpu_s),
					  .delay_ns = clock_of(use.run_delay_s) };
}

static struct wp_writer_reading *reading_at(struct wp_writer_watch *w, uint64_t i)
{
	return &w->ring[i % READINGS];
}

/* schedstat tells of a wait when it is over: one that goes on is seen by a clock that stands while the state is R. */
static void note_waiting(struct wp_writer_watch *w, const struct wp_writer_reading *last,
			 const struct wp_writer_reading *now)
{
	bool waits = last && now->state == 'R' && last->state == 'R' &&
		     now->run_ns == last->run_ns && now->delay_ns == last->delay_ns;

	pthread_mutex_lock(&w->lock);
	if (waits && !w->waiting_since_ns) {
		w->waiting_since_ns = last->t_ns;
		w->waiting = (struct wp_writer_times) { .run_ns = now->run_ns,
							.delay_ns = now->delay_ns };
	} else if (!waits) {
		w->waiting_since_ns = 0;
	}
	w->steal_ns = now->steal_ns;
	pthread_mutex_unlock(&w->lock);
}

static int64_t unseen(struct wp_writer_watch *w, const struct wp_writer_reading *last,
		      int64_t now_ns)
{
	int64_t delay_ns = wp_writer_files_own_delay(&w->files), waited = 0, late;

	if (delay_ns >= 0 && w->own_delay_ns >= 0)
		waited = delay_ns - w->own_delay_ns;
	w->own_delay_ns = delay_ns;
	late = last ? now_ns - last->t_ns - w->look_ns - waited : 0;
	return late > 0 ? late : 0;
}

/* The other side keeps the writer waiting: who is it, and what does it do? */
static void look_at_taker(struct wp_writer_watch *w, const struct wp_writer_reading *last,
			  struct wp_writer_reading *now)
{
	struct wp_stream_count count;
	int64_t waited;

	wp_load_count(w->config.load, 0, &count);
	waited = count.taker_ns - w->taker_clock_ns;
	w->taker_clock_ns = count.taker_ns;
	/* Carried on for a while: a pause may lie between two looks at it. */
	if (last && now->t_ns - last->taker.seen_ns < TAKER_OLD_NS)
		now->taker = last->taker;
	if (!last || count.ended || waited < (now->t_ns - last->t_ns) / 2 ||
	    now->t_ns < w->next_taker_ns)
		return;
	w->next_taker_ns = now->t_ns + TAKER_NS;
	if (!w->taker.pid && now->t_ns >= w->next_search_ns) {
		w->next_search_ns = now->t_ns + SEARCH_NS;
		if (wp_pipe_taker_find(w->config.fd, &w->taker))
			w->taker.pid = 0;
	}
	if (!w->taker.pid)
		return;
	wp_pipe_taker_state(&w->taker, &now->taker);
	if (now->taker.state == '?')
		w->taker.pid = 0; /* the next search finds its heir */
}

static struct wp_writer_reading *look(struct wp_writer_watch *w)
{
	struct wp_writer_reading *last = w->n_readings ? reading_at(w, w->n_readings - 1) : NULL;
	struct wp_writer_reading now = { .t_ns = wp_now_ns() };
	struct wp_writer_times own = own_clocks(w->config.load);
	bool machine_too = now.t_ns >= w->next_machine_ns;

	now.run_ns = own.run_ns;
	now.delay_ns = own.delay_ns;
	now.unseen_ns = unseen(w, last, now.t_ns);
	if (machine_too)
		w->next_machine_ns = now.t_ns + MACHINE_NS;
	/* One that sleeps in the kernel may wait for just that. */
	wp_writer_files_read(&w->files, last, machine_too || (last && last->state == 'D'), &now);
	look_at_taker(w, last, &now);
	note_waiting(w, last, &now);
	*reading_at(w, w->n_readings++) = now;
	return reading_at(w, w->n_readings - 1);
}

/* ---- pauses ----------------------------------------------------------------------------------- */

static void read_tasks(struct wp_writer_watch *w, int64_t now_ns)
{
	int64_t every_ns;

	if (!w->tasks.proc || wp_cpu_tasks_read(&w->tasks))
		return;
	every_ns = w->tasks.cost_ns * TASKS_COST;
	w->next_tasks_ns = now_ns + (every_ns > TASKS_NS ? every_ns : TASKS_NS);
}

/* The looks around a pause, copied into a row: the ring may end between them. */
static size_t readings_around(struct wp_writer_watch *w, const struct wp_pause *p)
{
	uint64_t from = w->n_readings > READINGS ? w->n_readings - READINGS : 0;
	uint64_t to = w->n_readings;
	size_t n = 0;

	while (from + 2 < to && reading_at(w, from + 1)->t_ns <= p->start_ns)
		from++;
	while (to > from + 2 && reading_at(w, to - 2)->t_ns >= p->end_ns)
		to--;
	for (uint64_t i = from; i < to; i++)
		w->scratch[n++] = *reading_at(w, i);
	return n;
}

/* The thread was off its CPU, or nobody knows: then who was on it? */
static void find_others(struct wp_writer_watch *w, const struct wp_pause *p, int64_t now_ns,
			struct wp_pause_view *v)
{
	int64_t length_us = (p->end_ns - p->start_ns) / 1000;
	double delay = wp_num_or(v->run_delay_us, 0), pct = 0, all_pct = 0;
	struct wp_task_run task;

	if (p->cpu < 0 || delay < .3 * (double)length_us)
		return;
	/* A reading since the end of the pause covers it already. */
	if (w->tasks.now.read_ns < p->end_ns &&
	    now_ns - w->tasks.now.read_ns >= (w->tasks.cost_ns * TASKS_COST / 10 > TASKS_MIN_NS
						      ? w->tasks.cost_ns * TASKS_COST / 10
						      : TASKS_MIN_NS))
		read_tasks(w, now_ns);
	v->ran_there_pct = v->others_pct = wp_absent("nothing else was seen on that CPU");
	if (!wp_cpu_tasks_most(&w->tasks, p->cpu, (int)wp_load_thread_id(w->config.load, 0), &task,
			       &pct, &all_pct))
		return;
	v->ran_there = wp_pool_printf(&w->pool, "%s (pid %d)", task.name, task.pid);
	v->ran_there_pct = wp_num(pct);
	v->others_pct = wp_num(all_pct);
}

static void keep_longest(struct wp_writer_watch *w, const struct wp_pause_view *v)
{
	size_t at = w->n_pauses < WP_MAX_PAUSES ? w->n_pauses++ : WP_MAX_PAUSES - 1;

	if (at == WP_MAX_PAUSES - 1 && w->pauses[at].what &&
	    w->pauses[at].length_us.v >= v->length_us.v)
		return;
	for (; at > 0 && w->pauses[at - 1].length_us.v < v->length_us.v; at--)
		w->pauses[at] = w->pauses[at - 1];
	w->pauses[at] = *v;
}

/* Texts of pauses that are not among the longest any more are forgotten with the pool. */
static int renew_pool(struct wp_writer_watch *w)
{
	struct wp_pool fresh = WP_POOL(POOL_BYTES);

	if (w->pool.used_bytes < POOL_BYTES / 2)
		return 0;
	for (size_t i = 0; i < w->n_pauses; i++) {
		struct wp_pause_view *v = &w->pauses[i];
		const char **const texts[] = { &v->state, &v->waited_in,   &v->ran_there,
					       &v->taker, &v->taker_state, &v->taker_waited_in };

		for (size_t k = 0; k < WP_ARRAY_SIZE(texts); k++)
			*texts[k] = wp_pool_strdup(&fresh, *texts[k]);
	}
	wp_pool_done(&w->pool);
	w->pool = fresh;
	return 0;
}

static void describe(struct wp_writer_watch *w, const struct wp_pause *p, int64_t now_ns)
{
	struct wp_pause_view v;
	size_t n = readings_around(w, p);
	int r = n < 2 ? -ENODATA : wp_writer_describe(p, w->scratch, n, w->origin_ns, &v, &w->pool);

	if (!r)
		r = renew_pool(w);
	if (r) {
		w->status = w->status ? w->status : r;
		return;
	}
	if (v.taker_state && w->taker.pid)
		v.taker = wp_pool_printf(&w->pool, "%s (pid %d)", w->taker.name, w->taker.pid);
	find_others(w, p, now_ns, &v);
	keep_longest(w, &v);
}

/* ---- the thread ------------------------------------------------------------------------------- */

static void one_round(struct wp_writer_watch *w)
{
	struct wp_pause_log *log = wp_load_pauses(w->config.load, 0);
	struct wp_pause pauses[16];
	int64_t before_ns = thread_cpu_ns(), cost_ns, now_ns;
	size_t n;

	now_ns = look(w)->t_ns;
	cost_ns = thread_cpu_ns() - before_ns;
	if (now_ns >= w->next_tasks_ns)
		read_tasks(w, now_ns);
	while ((n = wp_pause_take(log, pauses, WP_ARRAY_SIZE(pauses))) > 0)
		for (size_t i = 0; i < n; i++)
			describe(w, &pauses[i], now_ns);
	w->mean_cost_ns += (cost_ns - w->mean_cost_ns) / COST_WEIGHT;
	w->look_ns = w->mean_cost_ns * COST_SHARE;
	w->look_ns = w->look_ns < LOOK_NS       ? LOOK_NS
		     : w->look_ns > LOOK_MAX_NS ? LOOK_MAX_NS
						: w->look_ns;
}

/* True when it was the stop. */
static bool wait_until(struct wp_writer_watch *w, int64_t until_ns)
{
	struct timespec until = wp_ns_to_timespec(until_ns);
	bool stop;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&w->wake, &w->lock, &until);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

static void *thread_main(void *arg)
{
	struct wp_writer_watch *w = arg;
	bool stop = false;

	pthread_setname_np(pthread_self(), "wp-watch");
	/* Where every CPU is under test it runs on them too. */
	(void)!wp_run_beside(&w->avoid, NULL);
	wp_writer_files_open_own(&w->files);
	w->own_delay_ns = wp_writer_files_own_delay(&w->files);
	while (!stop) {
		stop = wait_until(w, wp_now_ns() + w->look_ns);
		one_round(w);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------------- */

static int init_wait(struct wp_writer_watch *w)
{
	pthread_condattr_t attr;
	int r = pthread_mutex_init(&w->lock, NULL);

	if (!r)
		r = pthread_condattr_init(&attr);
	if (r)
		return -r;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	r = pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	return -r;
}

int wp_writer_watch_new(const struct wp_writer_watch_config *config, struct wp_writer_watch **ret,
			struct wp_err *err)
{
	struct wp_writer_watch *w = calloc(1, sizeof(*w));
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (!w)
		return wp_err_set(err, -ENOMEM, "no memory");
	w->config = *config;
	w->pool = WP_POOL(POOL_BYTES);
	w->look_ns = LOOK_NS;
	r = init_wait(w);
	if (r) {
		free(w);
		return wp_err_sys(err, r, "cannot make a lock");
	}
	wp_writer_files_open(&w->files, wp_load_thread_id(config->load, 0));
	w->ring = calloc(READINGS, sizeof(*w->ring));
	w->scratch = calloc(READINGS, sizeof(*w->scratch));
	if (!w->ring || !w->scratch)
		r = -ENOMEM;
	if (!r && config->avoid)
		r = wp_cpulist_copy(config->avoid, &w->avoid);
	if (!r && wp_cpu_tasks_open(&w->tasks, root))
		w->tasks.proc = NULL; /* then nobody is named */
	if (r) {
		wp_writer_watch_free(w);
		return wp_err_set(err, r, "no memory to watch the writer");
	}
	*ret = w;
	return 0;
}

int wp_writer_watch_start(struct wp_writer_watch *w, int64_t start_ns)
{
	sigset_t all, old;
	int r;

	w->origin_ns = start_ns;
	one_round(w); /* what all differences count from */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&w->thread, NULL, thread_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->started = !r;
	return r;
}

void wp_writer_watch_stop(struct wp_writer_watch *w)
{
	if (!w || !w->started || w->stopped)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->stopped = true;
}

struct wp_writer_times wp_writer_watch_times(struct wp_writer_watch *w)
{
	struct wp_writer_times t = own_clocks(w->config.load);

	pthread_mutex_lock(&w->lock);
	if (w->waiting_since_ns && t.delay_ns >= 0 && t.run_ns == w->waiting.run_ns &&
	    t.delay_ns == w->waiting.delay_ns)
		t.delay_ns += wp_now_ns() - w->waiting_since_ns;
	t.steal_ns = w->steal_ns;
	pthread_mutex_unlock(&w->lock);
	return t;
}

int64_t wp_writer_watch_longest_ns(struct wp_writer_watch *w)
{
	return wp_load_longest_ns(w->config.load, 0);
}

int wp_writer_watch_result(struct wp_writer_watch *w, struct wp_flow *f, struct wp_pool *pool)
{
	uint64_t dropped = atomic_load(&wp_load_pauses(w->config.load, 0)->dropped);

	f->pauses_left_out = wp_num((double)dropped);
	f->pauses = wp_pool_calloc(pool, w->n_pauses, sizeof(*f->pauses));
	if (w->n_pauses && !f->pauses)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_pauses; i++) {
		struct wp_pause_view *v = &f->pauses[i];
		const char **const texts[] = { &v->state, &v->waited_in,   &v->ran_there,
					       &v->taker, &v->taker_state, &v->taker_waited_in };

		*v = w->pauses[i];
		for (size_t k = 0; k < WP_ARRAY_SIZE(texts); k++)
			*texts[k] = wp_pool_strdup(pool, *texts[k]);
	}
	f->n_pauses = w->n_pauses;
	return w->status == -ENOMEM ? -ENOMEM : 0;
}

void wp_writer_watch_free(struct wp_writer_watch *w)
{
	if (!w)
		return;
	wp_writer_watch_stop(w);
	wp_writer_files_done(&w->files);
	wp_cpu_tasks_done(&w->tasks);
	wp_cpulist_done(&w->avoid);
	wp_pool_done(&w->pool);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w->ring);
	free(w->scratch);
	free(w);
}
