/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/stall_watch.h"

#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "observe/beside.h"
#include "observe/sampler.h"
#include "observe/stall_episode.h"

#define GRAIN_MIN_NS     (5 * WP_NS_PER_MS)
#define GRAIN_MAX_NS     (100 * WP_NS_PER_MS)
#define INFOS_A_LOOK     200 /* TCP_INFO costs 2 us: 0.4 ms in 100 ms */
#define INFOS_A_LOOK_MIN 16
#define QUIET_GRAINS     3 /* without progress: readings are kept from here */
#define COST_WEIGHT      8
#define COLD_READINGS    2
/* Of a gap between two looks: below it our process did not run, above it only this thread waited. */
#define RAN_SHARE   0.05
#define GAPS        16
#define DETAIL_POOL (8u << 20)

/* A stall, or a gap, as it will be told. */
struct told {
	struct wp_stall_view view;
	size_t stream;
	bool sends;
	int64_t from_ns, to_ns;
	unsigned episode;
};

struct gap {
	int64_t from_ns, to_ns;
};

struct wp_stall_watch {
	const struct wp_plan *plan;
	const struct wp_load *load;
	const struct wp_stream_spec *streams;
	size_t n_streams;
	bool one_flow, transactions, datagrams;
	struct wp_cpulist avoid; /* owned */
	struct wp_stall_machine *machine;
	int64_t grain_ns, rest_ns; /* rest_ns: that a stream may be quiet because of its pace */
	int64_t zero_ns, started_ns, stopped_ns;

	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */
	_Atomic bool senders_stop;

	/* The thread's alone until it has ended. */
	struct wp_stall_track *tracks;
	bool *over;                       /* stream i is watched no more */
	uint64_t *moved;                  /* bytes of stream i at the newest look */
	uint64_t moved_bytes;             /* of all since the newest row */
	size_t turn;                      /* next stream whose TCP_INFO is read */
	size_t n_threads, lead;           /* lead: the stream that stood still first */
	int64_t *cpu_ns, *delay_ns;       /* of each thread */
	int64_t row_cpu_ns, row_delay_ns; /* of the lead's thread at the newest row */
	int64_t looked_ns, process_ns;    /* newest look; CPU time of the process then */
	int64_t machine_due_ns, machine_every_ns, machine_cost_ns;
	unsigned readings;
	bool quiet; /* at the newest look something stood still */
	struct gap gaps[GAPS];
	size_t n_gaps;
	struct wp_stall_episode episode;
	unsigned n_episodes; /* begun */
	struct told told[WP_MAX_STALLS];
	size_t n_told, n_detailed;
	unsigned left_out;
	struct wp_pool pool; /* readings and lines */
	int64_t thread_cpu_ns;
};

int64_t wp_stall_grain_ns(int64_t stall_ns)
{
	int64_t grain_ns = stall_ns / 10;

	return grain_ns < GRAIN_MIN_NS   ? GRAIN_MIN_NS
	       : grain_ns > GRAIN_MAX_NS ? GRAIN_MAX_NS
					 : grain_ns;
}

static int64_t clock_of(clockid_t id)
{
	struct timespec t;

	return clock_gettime(id, &t) < 0 ? 0 : t.tv_sec * WP_NS_PER_S + t.tv_nsec;
}

/* ---- one stream ------------------------------------------------------------------------------- */

static bool sends(const struct wp_stall_watch *w, size_t i)
{
	return w->streams[i].role == WP_STREAM_SENDS;
}

/* The answering end of transactions has no progress of its own. */
static bool is_watched(const struct wp_stall_watch *w, size_t i)
{
	if (w->over[i] || (w->transactions && !sends(w, i)))
		return false;
	return !sends(w, i) || !atomic_load_explicit(&w->senders_stop, memory_order_relaxed);
}

static bool is_plain_tcp(const struct wp_stall_watch *w)
{
	return !w->transactions && !w->datagrams;
}

/* How far it got, by the program's count. */
static uint64_t position_of(const struct wp_stall_watch *w, const struct wp_stream_count *c)
{
	return w->transactions ? c->transactions : w->datagrams ? c->packets : c->bytes;
}

static struct wp_stall_seen see(const struct wp_stall_watch *w, size_t i,
				const struct wp_stream_count *c, bool info)
{
	int fd = w->streams[i].fd, unread = 0;
	struct wp_stall_seen s = { .t_ns = wp_now_ns(),
				   .position = position_of(w, c),
				   .called_bytes = c->bytes,
				   .cpu_ns = w->cpu_ns[c->thread],
				   .delay_ns = w->delay_ns[c->thread] };

	s.has_info = info && !w->datagrams && fd >= 0 && !wp_tcp_info_read(fd, &s.info);
	/* Handed to the kernel is not yet through: what counts is what the other end has acknowledged. */
	if (sends(w, i) && is_plain_tcp(w) && s.has_info && s.info.has_bytes)
		s.position = s.info.bytes_acked;
	if (!sends(w, i) && fd >= 0 && !ioctl(fd, SIOCINQ, &unread) && unread > 0)
		s.unread_bytes = (uint64_t)unread;
	return s;
}

/* ---- what is told ----------------------------------------------------------------------------- */

static double longest_gap_s(const struct wp_stall_watch *w, int64_t from_ns, int64_t to_ns)
{
	int64_t longest_ns = w->grain_ns;

	for (size_t i = 0; i < w->n_gaps && i < GAPS; i++) {
		const struct gap *g = &w->gaps[i];

		if (g->from_ns < to_ns && g->to_ns > from_ns && g->to_ns - g->from_ns > longest_ns)
			longest_ns = g->to_ns - g->from_ns;
	}
	return (double)longest_ns / 1e9;
}

static struct told *room(struct wp_stall_watch *w)
{
	if (w->n_told < WP_MAX_STALLS)
		return &w->told[w->n_told++];
	w->left_out++;
	return NULL;
}

static void set_times(const struct wp_stall_watch *w, struct told *t, int64_t from_ns,
		      int64_t to_ns)
{
	t->from_ns = from_ns;
	t->to_ns = to_ns;
	t->view.start_s = wp_num((double)(from_ns - w->zero_ns) / 1e9);
	t->view.length_s = wp_num((double)(to_ns - from_ns) / 1e9);
	t->view.grain_s = wp_num((double)w->grain_ns / 1e9);
	t->view.gap_s = wp_num(longest_gap_s(w, from_ns, to_ns));
}

/* Streams that stop together are one stall, told by the one that stood longest. */
static struct told *same_stall(struct wp_stall_watch *w, bool sender, int64_t from_ns)
{
	for (size_t i = w->n_told; i-- > 0;) {
		struct told *t = &w->told[i];
		int64_t apart_ns = t->from_ns - from_ns;

		if (t->episode != w->n_episodes)
			break;
		if (t->view.flow && t->sends == sender && llabs(apart_ns) <= w->plan->stall_ns / 2)
			return t;
	}
	return NULL;
}

static void tell(struct wp_stall_watch *w, size_t i, int64_t to_ns, const char *ended)
{
	const struct wp_stall_track *track = &w->tracks[i];
	struct told *t = same_stall(w, sends(w, i), track->before.t_ns);
	double flows = t ? t->view.flows.v + 1 : 1;

	if (t && to_ns - track->before.t_ns <= t->to_ns - t->from_ns) {
		t->view.flows = wp_num(flows);
		return;
	}
	if (!t)
		t = room(w);
	if (!t)
		return;
	*t = (struct told) { .stream = i, .sends = sends(w, i), .episode = w->n_episodes };
	t->view.role = t->sends ? "sender" : "receiver";
	t->view.flow = ""; /* named with the result */
	t->view.ended = ended;
	t->view.flows = wp_num(flows);
	set_times(w, t, track->before.t_ns, to_ns);
	wp_stall_track_view(track, t->sends, &t->view);
}

/* This process did not run. No stall by itself, but it explains what the other end sees. */
static void tell_gap(struct wp_stall_watch *w, int64_t from_ns, int64_t to_ns)
{
	struct told *t = room(w);

	if (!t)
		return;
	*t = (struct told) { .view = { .role = "process", .ended = "progress" } };
	set_times(w, t, from_ns, to_ns);
	t->view.gap_s = t->view.length_s;
}

/* ---- looking at the streams ------------------------------------------------------------------- */

static void look_at_one(struct wp_stall_watch *w, size_t i, bool info)
{
	struct wp_stall_track *track = &w->tracks[i];
	struct wp_stream_count count;
	struct wp_stall_seen seen;

	wp_load_count(w->load, i, &count);
	if (count.ended) {
		if (wp_stall_track_end(track))
			tell(w, i, track->still.t_ns, "stream ended");
		w->over[i] = true;
		return;
	}
	/* Without TCP_INFO nothing is known of the acknowledgements; a count that moves is all that others need. */
	if (!info && is_plain_tcp(w) && sends(w, i))
		return;
	seen = see(w, i, &count, info || wp_stall_track_quiet_ns(track) > 0);
	if (track->newest.has_info && is_plain_tcp(w) && sends(w, i) && !seen.has_info)
		return;
	w->moved_bytes += is_plain_tcp(w) && sends(w, i) ? seen.position - track->newest.position
							 : count.bytes - w->moved[i];
	w->moved[i] = count.bytes;
	if (wp_stall_track_take(track, &seen, w->plan->stall_ns + w->rest_ns) == WP_STALL_OVER)
		tell(w, i, seen.t_ns, "progress");
}

static size_t infos_a_look(const struct wp_stall_watch *w)
{
	size_t n = (size_t)(INFOS_A_LOOK * w->grain_ns / GRAIN_MAX_NS);

	return n < INFOS_A_LOOK_MIN ? INFOS_A_LOOK_MIN : n;
}

/* The test, or a sender's part of it, is over: what stands still until then is told. */
static bool end_one(struct wp_stall_watch *w, size_t i)
{
	struct wp_stall_track *track = &w->tracks[i];

	if (w->over[i] || !wp_stall_track_end(track))
		return false;
	tell(w, i, track->still.t_ns, "test ended");
	return true;
}

/* True when some stream stands still, or is about to. */
static bool look(struct wp_stall_watch *w, bool last)
{
	size_t infos = infos_a_look(w), first = w->turn;
	bool quiet = false;

	for (size_t i = 0; i < w->n_streams; i++) {
		size_t behind = (i + w->n_streams - first) % w->n_streams;

		if (!is_watched(w, i)) {
			quiet |= end_one(w, i);
			continue;
		}
		look_at_one(w, i, last || behind < infos);
		if (w->over[i] || wp_stall_track_quiet_ns(&w->tracks[i]) <
					  QUIET_GRAINS * w->grain_ns + w->rest_ns)
			continue;
		if (!quiet && !w->episode.open)
			w->lead = i;
		quiet = true;
	}
	for (size_t i = 0; last && i < w->n_streams; i++)
		quiet |= end_one(w, i);
	w->turn = (first + infos) % w->n_streams;
	return quiet;
}

/* ---- looking at the machine ------------------------------------------------------------------- */

static void read_threads(struct wp_stall_watch *w)
{
	for (size_t i = 0; i < w->n_threads; i++) {
		struct wp_thread_use use;

		wp_load_thread_use(w->load, i, &use);
		w->cpu_ns[i] = wp_has(use.cpu_s) ? (int64_t)(use.cpu_s.v * 1e9) : -1;
		w->delay_ns[i] = wp_has(use.run_delay_s) ? (int64_t)(use.run_delay_s.v * 1e9) : -1;
	}
}

static int64_t since(int64_t now_ns, int64_t then_ns)
{
	return now_ns < 0 || then_ns < 0 ? -1 : now_ns - then_ns;
}

/* Makes readings rarer when they are too expensive; never more frequent again. */
static void guard_cost(struct wp_stall_watch *w, int64_t cost_ns)
{
	int64_t every_ns;

	if (++w->readings <= COLD_READINGS)
		return;
	w->machine_cost_ns =
		!w->machine_cost_ns
			? cost_ns
			: w->machine_cost_ns + (cost_ns - w->machine_cost_ns) / COST_WEIGHT;
	every_ns = wp_sampler_affordable_ns(w->grain_ns, w->machine_cost_ns);
	if (every_ns > w->machine_every_ns)
		w->machine_every_ns = every_ns;
}

static void read_machine(struct wp_stall_watch *w, bool quiet)
{
	int64_t before_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	const struct wp_stall_track *lead = &w->tracks[w->lead];
	struct wp_stall_row row = { .moved_bytes = w->moved_bytes };
	const struct wp_stall_cell *cells;
	struct wp_stream_count count;
	size_t n;

	read_threads(w);
	wp_stall_machine_read(w->machine, &row.moment);
	cells = wp_stall_machine_cells(w->machine, &n);
	wp_load_count(w->load, w->lead, &count);
	row.cpu_ns = since(w->cpu_ns[count.thread], w->row_cpu_ns);
	row.delay_ns = since(w->delay_ns[count.thread], w->row_delay_ns);
	w->row_cpu_ns = w->cpu_ns[count.thread];
	w->row_delay_ns = w->delay_ns[count.thread];
	w->moved_bytes = 0;
	if (quiet && !w->episode.open) {
		w->n_episodes++;
		wp_stall_episode_begin(&w->episode, lead->progress.t_ns);
	}
	if (w->episode.open && lead->newest.has_info) {
		row.has_info = true;
		row.info = lead->newest.info;
	}
	wp_stall_episode_add(&w->episode, &row, cells, n, quiet);
	/* The queues are compared with how they were when all was well. */
	if (!w->episode.open)
		wp_stall_machine_mark(w->machine);
	else if (quiet)
		wp_stall_machine_compare(w->machine);
	guard_cost(w, clock_of(CLOCK_THREAD_CPUTIME_ID) - before_ns);
}

/* Readings and lines go to the longest stall of the episode. */
static void detail(struct wp_stall_watch *w, struct told *t)
{
	struct wp_stall_view *v = &t->view;

	if (w->n_detailed >= WP_STALLS_IN_DETAIL)
		return;
	v->readings = wp_pool_calloc(&w->pool, WP_MAX_STALL_READINGS, sizeof(*v->readings));
	v->lines = wp_pool_calloc(&w->pool, WP_MAX_STALL_LINES, sizeof(*v->lines));
	if (!v->readings || !v->lines)
		return;
	v->n_readings = wp_stall_episode_readings(&w->episode, w->zero_ns, t->sends, v->readings);
	v->n_lines = wp_stall_episode_lines(&w->episode, w->machine, v->lines);
	w->n_detailed++;
}

/* All is well again, or the test is over: completes the stalls of the episode. */
static void close_episode(struct wp_stall_watch *w)
{
	struct told *longest = NULL;
	int64_t timeouts = -1;
	const char *stuck = NULL;

	for (size_t i = w->n_told; i-- > 0;) {
		struct told *t = &w->told[i];
		struct wp_stall_view *v = &t->view;

		if (!v->flow)
			continue;
		if (t->episode != w->n_episodes)
			break;
		if (!longest) {
			timeouts = wp_stall_machine_timeouts(w->machine);
			stuck = wp_stall_machine_stuck(w->machine, &w->pool);
		}
		if (!longest || t->to_ns - t->from_ns > longest->to_ns - longest->from_ns)
			longest = t;
		wp_stall_episode_view(&w->episode, t->from_ns, t->to_ns, v);
		v->interface = wp_stall_machine_interface(w->machine);
		v->qdisc = wp_pool_strdup(&w->pool, wp_stall_machine_qdisc(w->machine));
		v->stuck_queue = stuck;
		v->tx_timeouts = timeouts >= 0 ? wp_num((double)timeouts)
					       : wp_absent("sysfs does not show the interface");
	}
	if (longest)
		detail(w, longest);
	wp_stall_episode_end(&w->episode);
}

/* ---- the thread ------------------------------------------------------------------------------- */

static void note_gap(struct wp_stall_watch *w, int64_t now_ns)
{
	int64_t gap_ns = now_ns - w->looked_ns, process_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);

	if (gap_ns > QUIET_GRAINS * w->grain_ns)
		w->gaps[w->n_gaps++ % GAPS] = (struct gap) { w->looked_ns, now_ns };
	if (gap_ns >= w->plan->stall_ns - w->grain_ns && gap_ns > QUIET_GRAINS * w->grain_ns &&
	    (double)(process_ns - w->process_ns) < RAN_SHARE * (double)gap_ns)
		tell_gap(w, w->looked_ns, now_ns);
	w->looked_ns = now_ns;
	w->process_ns = process_ns;
}

static void tick(struct wp_stall_watch *w, bool last)
{
	int64_t now_ns = wp_now_ns();
	bool quiet;

	note_gap(w, now_ns);
	quiet = look(w, last);
	/* Where readings are rare there is one all the same when something changes. */
	if (last || now_ns >= w->machine_due_ns || quiet != w->quiet) {
		read_machine(w, quiet);
		while (w->machine_due_ns <= now_ns)
			w->machine_due_ns += w->machine_every_ns;
	}
	w->quiet = quiet;
	if (w->episode.open && (last || w->episode.after >= WP_STALL_AROUND))
		close_episode(w);
}

/* False when it was told to stop. */
static bool wait_until(struct wp_stall_watch *w, int64_t until_ns)
{
	struct timespec until = wp_ns_to_timespec(until_ns);
	bool stop;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&w->wake, &w->lock, &until);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return !stop;
}

static void *thread_main(void *arg)
{
	struct wp_stall_watch *w = arg;
	int64_t due_ns = w->started_ns;

	(void)!wp_run_beside(&w->avoid, NULL); /* where there is no other CPU it runs on these */
	do {
		int64_t now_ns = wp_now_ns();

		tick(w, false);
		due_ns += ((now_ns - due_ns) / w->grain_ns + 1) * w->grain_ns;
	} while (wait_until(w, due_ns));
	tick(w, true);
	w->stopped_ns = wp_now_ns();
	w->thread_cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------------- */

/* How long a stream is quiet at most because it keeps to a rate: its sends are so far apart. */
static int64_t rest_of(const struct wp_plan *p, size_t n_streams)
{
	double seconds = 0;

	if (p->rate_mhz) /* due over all connections; arrivals at random come in lumps */
		seconds =
			(p->poisson ? 10.0 : 2.0) * (double)n_streams * 1000 / (double)p->rate_mhz;
	else if (p->rate_bps)
		seconds = 8.0 * (p->transport == WP_UDP ? (double)p->length_bytes : 1) /
			  (double)p->rate_bps;
	return seconds > 3600 ? 3600 * WP_NS_PER_S : (int64_t)(seconds * 1e9);
}

static int init_wait(struct wp_stall_watch *w)
{
	pthread_condattr_t attr;
	int r = -pthread_mutex_init(&w->lock, NULL);

	if (r)
		return r;
	r = -pthread_condattr_init(&attr);
	if (!r) {
		r = -pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		if (!r)
			r = -pthread_cond_init(&w->wake, &attr);
		pthread_condattr_destroy(&attr);
	}
	if (r)
		pthread_mutex_destroy(&w->lock);
	return r;
}

static int allocate(struct wp_stall_watch *w)
{
	w->n_threads = wp_load_threads(w->load);
	w->tracks = calloc(w->n_streams, sizeof(*w->tracks));
	w->over = calloc(w->n_streams, sizeof(*w->over));
	w->moved = calloc(w->n_streams, sizeof(*w->moved));
	w->cpu_ns = calloc(w->n_threads, sizeof(*w->cpu_ns));
	w->delay_ns = calloc(w->n_threads, sizeof(*w->delay_ns));
	return w->tracks && w->over && w->moved && w->cpu_ns && w->delay_ns ? 0 : -ENOMEM;
}

int wp_stall_watch_new(const struct wp_stall_watch_config *config, struct wp_stall_watch **ret,
		       struct wp_err *err)
{
	const struct wp_plan *p = config->plan;
	struct wp_stall_watch *w = calloc(1, sizeof(*w));
	struct wp_addr local;
	int r = w ? init_wait(w) : -ENOMEM;

	if (r) {
		free(w);
		return wp_err_sys(err, r, "cannot watch for stalls");
	}
	w->plan = p;
	w->load = config->load;
	w->streams = config->streams;
	w->n_streams = config->n_streams;
	w->one_flow = config->one_flow;
	w->transactions = !strcmp(p->kind, "rr");
	w->datagrams = p->transport == WP_UDP;
	w->grain_ns = w->machine_every_ns = wp_stall_grain_ns(p->stall_ns);
	w->rest_ns = rest_of(p, w->n_streams);
	w->pool = WP_POOL(DETAIL_POOL);
	r = allocate(w);
	if (!r && config->avoid)
		r = wp_cpulist_copy(config->avoid, &w->avoid);
	if (r)
		wp_err_sys(err, r, "cannot watch for stalls");
	else
		r = wp_stall_machine_new(
			w->streams[0].fd >= 0 && !wp_addr_local(w->streams[0].fd, &local) ? &local
											  : NULL,
			-1, &w->machine, err);
	if (r) {
		wp_stall_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

int wp_stall_watch_start(struct wp_stall_watch *w, int64_t zero_ns)
{
	sigset_t all, old;
	int r;

	if (w->started)
		return -EALREADY;
	w->zero_ns = zero_ns;
	w->started_ns = w->looked_ns = w->machine_due_ns = wp_now_ns();
	w->process_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < w->n_threads; i++)
		w->cpu_ns[i] = w->delay_ns[i] = 0;
	for (size_t i = 0; i < w->n_streams; i++) {
		struct wp_stream_count count;
		struct wp_stall_seen first;

		wp_load_count(w->load, i, &count);
		first = see(w, i, &count, true);
		first.t_ns = zero_ns;
		wp_stall_track_start(&w->tracks[i], &first);
	}
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&w->thread, NULL, thread_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->started = !r;
	return r;
}

void wp_stall_watch_senders_stop(struct wp_stall_watch *w)
{
	if (w)
		atomic_store(&w->senders_stop, true);
}

void wp_stall_watch_stop(struct wp_stall_watch *w)
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

void wp_stall_watch_free(struct wp_stall_watch *w)
{
	if (!w)
		return;
	wp_stall_watch_stop(w);
	wp_stall_machine_free(w->machine);
	wp_cpulist_done(&w->avoid);
	wp_pool_done(&w->pool);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w->tracks);
	free(w->over);
	free(w->moved);
	free(w->cpu_ns);
	free(w->delay_ns);
	free(w);
}

/* ---- the result ------------------------------------------------------------------------------- */

/* Everything that the view points to moves into the record's pool. */
static int put_view(const struct wp_stall_watch *w, const struct told *t, struct wp_stall_view *ret,
		    struct wp_pool *pool)
{
	struct wp_stall_view v = t->view;

	v.readings = wp_pool_calloc(pool, v.n_readings, sizeof(*v.readings));
	v.lines = wp_pool_calloc(pool, v.n_lines, sizeof(*v.lines));
	if (!v.readings || !v.lines)
		return -ENOMEM;
	if (v.n_readings)
		memcpy(v.readings, t->view.readings, v.n_readings * sizeof(*v.readings));
	for (size_t i = 0; i < v.n_lines; i++) {
		v.lines[i] = t->view.lines[i];
		v.lines[i].name = wp_pool_strdup(pool, v.lines[i].name);
		if (!v.lines[i].name)
			return -ENOMEM;
	}
	if (v.flow)
		v.flow = wp_pool_printf(pool, "%zu", w->one_flow ? 1 : t->stream + 1);
	v.interface = wp_pool_strdup(pool, v.interface);
	v.qdisc = wp_pool_strdup(pool, v.qdisc);
	v.stuck_queue = wp_pool_strdup(pool, v.stuck_queue);
	*ret = v;
	return 0;
}

int wp_stall_watch_result(struct wp_stall_watch *w, struct wp_host *host, struct wp_pool *pool)
{
	int64_t wall_ns = w->stopped_ns - w->started_ns;
	int r = 0;

	host->stalls = wp_pool_calloc(pool, w->n_told, sizeof(*host->stalls));
	if (!host->stalls)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_told && !r; i++)
		r = put_view(w, &w->told[i], &host->stalls[i], pool);
	if (r)
		return r;
	host->n_stalls = w->n_told;
	host->stalls_left_out = wp_num(w->left_out);
	host->stall_cpu_pct = wall_ns > 0
				      ? wp_num(100.0 * (double)w->thread_cpu_ns / (double)wall_ns)
				      : wp_absent("not started");
	return 0;
}
