/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/load.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/fill.h"
#include "load/thread_meter.h"

#define MIN_BUFFER_BYTES 4096

enum gate {
	GATE_CLOSED,
	GATE_OPEN,
	GATE_QUIT,
};

/* One worker thread. */
struct slot {
	struct wp_worker worker;
	struct wp_load *load;
	pthread_t thread;
	pid_t id;
	bool created, joined;
	int cpu; /* to pin to; -1 = none */
	char name[32];
	const char *role; /* for reports */
	struct wp_err err;
	struct wp_thread_meter meter; /* under load->lock */
};

struct wp_load {
	const struct wp_engine *engine;
	const struct wp_plan *plan;
	struct wp_stream *streams;
	struct wp_stream_counters *counters;
	unsigned char *contexts;
	size_t n_streams, n_opened;
	struct wp_stream **order; /* the workers' stream arrays, one behind the other */
	struct slot *slots;
	size_t n_slots;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum gate gate;
	size_t n_ready; /* workers that are ready or have failed */
	size_t n_living;
	int status; /* first failure of a worker's preparation */
	int64_t start_ns;

	int wake_fd, abort_fd, done_fd;
	bool cut; /* streams were cut off at a deadline */
	_Atomic bool stop, abort;
	_Atomic size_t streams_left, senders_left;
	_Atomic(const char *) method[2];
};

static void signal_event(int fd)
{
	uint64_t one = 1;

	/* Fails only when the counter is about to overflow, and then the fd is readable anyway. */
	(void)!write(fd, &one, sizeof(one));
}

void wp_stream_end(struct wp_stream *s, int error)
{
	struct wp_load *l = s->load;

	if (wp_stream_ended(s))
		return;
	atomic_store_explicit(&s->count->error, error, memory_order_relaxed);
	atomic_store_explicit(&s->count->ended, true, memory_order_release);
	if (s->role == WP_STREAM_SENDS)
		atomic_fetch_sub(&l->senders_left, 1);
	if (atomic_fetch_sub(&l->streams_left, 1) == 1)
		signal_event(l->done_fd);
}

void wp_worker_method(struct wp_worker *w, enum wp_stream_role role, const char *method)
{
	atomic_store(&w->load->method[role], method);
}

/* ---- the worker thread ---- */

static int buffer_new(size_t bytes, void **ret)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int hists_new(const struct wp_engine *e, struct wp_worker *w)
{
	for (int i = 0; i < WP_LOAD_HIST_N; i++) {
		void *p = NULL;
		int r;

		if (!(e->hists & 1u << i))
			continue;
		r = buffer_new(sizeof(struct wp_live_hist), &p);
		if (r < 0)
			return r;
		w->hist[i] = p;
	}
	return 0;
}

/* Pins first, so that the pages come from the CPU's own NUMA node. */
static int slot_prepare(struct slot *s)
{
	struct wp_worker *w = &s->worker;
	bool both = s->load->engine->caps & WP_ENGINE_TRANSACTIONS;
	bool sends = both, receives = both;
	int r;

	pthread_setname_np(pthread_self(), s->name);
	if (s->cpu >= 0) {
		r = wp_pin_self(s->cpu);
		if (r < 0)
			return wp_err_sys(&s->err, r, "cannot run a thread on CPU %d", s->cpu);
	}
	for (size_t i = 0; i < w->n_streams; i++) {
		sends |= w->streams[i]->role == WP_STREAM_SENDS;
		receives |= w->streams[i]->role == WP_STREAM_RECEIVES;
	}
	r = sends ? buffer_new(w->buffer_bytes, &w->buffer) : 0;
	if (r == 0 && receives)
		r = buffer_new(w->buffer_bytes, &w->sink);
	if (r < 0)
		return wp_err_sys(&s->err, r, "cannot allocate a buffer of %zu bytes",
				  w->buffer_bytes);
	r = hists_new(s->load->engine, w);
	if (r < 0)
		return wp_err_sys(&s->err, r, "cannot allocate a histogram");
	if (s->load->engine->caps & WP_ENGINE_WRITES) {
		void *log = NULL;

		r = buffer_new(sizeof(*w->pauses), &log);
		if (r < 0)
			return wp_err_sys(&s->err, r, "cannot allocate a log");
		w->pauses = log;
	}
	if (sends)
		wp_fill(w->plan->fill, w->buffer, w->buffer_bytes);
	if (receives)
		wp_fill(WP_FILL_ZERO, w->sink, w->buffer_bytes);
	return 0;
}

/* Tells the outcome of the preparation and waits for the gate: true = go. */
static bool slot_wait(struct slot *s, int status)
{
	struct wp_load *l = s->load;
	bool go;

	pthread_mutex_lock(&l->lock);
	l->n_ready++;
	if (status < 0 && l->status == 0)
		l->status = status;
	pthread_cond_broadcast(&l->changed);
	while (l->gate == GATE_CLOSED)
		pthread_cond_wait(&l->changed, &l->lock);
	go = l->gate == GATE_OPEN && status == 0;
	s->worker.start_ns = l->start_ns;
	pthread_mutex_unlock(&l->lock);
	return go;
}

/* Sleeps until the start time; a stop or an abort ends the sleep. */
static void wait_for_start(const struct wp_worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };

	for (;;) {
		int64_t left = w->start_ns - wp_now_ns();
		struct timespec ts = wp_ns_to_timespec(left);

		if (left <= 0 || ppoll(&p, 1, &ts, NULL) > 0)
			return;
	}
}

static void slot_run(struct slot *s)
{
	struct wp_worker *w = &s->worker;
	int r;

	wait_for_start(w);
	pthread_mutex_lock(&s->load->lock);
	wp_thread_meter_start(&s->meter);
	pthread_mutex_unlock(&s->load->lock);
	r = s->load->engine->run(w);
	pthread_mutex_lock(&s->load->lock);
	wp_thread_meter_stop(&s->meter);
	pthread_mutex_unlock(&s->load->lock);
	for (size_t i = 0; i < w->n_streams; i++)
		wp_stream_end(w->streams[i], r < 0 ? r : -ECANCELED);
}

static void *slot_main(void *arg)
{
	struct slot *s = arg;
	struct wp_load *l = s->load;

	s->id = gettid();
	if (slot_wait(s, slot_prepare(s)))
		slot_run(s);
	pthread_mutex_lock(&l->lock);
	l->n_living--;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- making and freeing ---- */

static int count_threads(const struct wp_load_spec *spec, size_t *ret)
{
	size_t n = spec->cpus ? spec->cpus->n : 0;

	if (n == 0) {
		struct wp_cpulist allowed _cleanup_cpulist_ = { 0 };
		int r = wp_cpulist_allowed(&allowed);

		if (r < 0)
			return r;
		n = allowed.n;
	}
	*ret = n < spec->n_streams ? n : spec->n_streams;
	return 0;
}

static int check_spec(const struct wp_load_spec *spec, struct wp_err *err)
{
	const struct wp_engine *e = spec->engine;

	if (spec->n_streams == 0 || spec->n_streams > WP_MAX_CONNECTIONS)
		return wp_err_set(err, -EINVAL, "%zu streams; 1 to %d are possible",
				  spec->n_streams, WP_MAX_CONNECTIONS);
	if (spec->plan->length_bytes == 0 || spec->plan->length_bytes > WP_MAX_LENGTH_BYTES)
		return wp_err_set(err, -EINVAL, "a length of %llu bytes; 1 to %u are possible",
				  (unsigned long long)spec->plan->length_bytes,
				  WP_MAX_LENGTH_BYTES);
	for (size_t i = 0; i < spec->n_streams; i++) {
		unsigned need = spec->streams[i].role == WP_STREAM_SENDS ? WP_ENGINE_SEND
									 : WP_ENGINE_RECEIVE;

		if (!(e->caps & need))
			return wp_err_set(err, -EINVAL, "engine %s cannot %s", e->name,
					  need == WP_ENGINE_SEND ? "send" : "receive");
	}
	return e->probe ? e->probe(err) : 0;
}

static int open_fds(struct wp_load *l)
{
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return l->wake_fd < 0 || l->abort_fd < 0 || l->done_fd < 0 ? -errno : 0;
}

static int open_streams(struct wp_load *l, const struct wp_load_spec *spec, struct wp_err *err)
{
	size_t size = l->engine->stream_size;
	int r;

	for (size_t i = 0; i < l->n_streams; i++) {
		struct wp_stream *s = &l->streams[i];

		*s = (struct wp_stream) { .fd = spec->streams[i].fd,
					  .role = spec->streams[i].role,
					  .limit_bytes = spec->streams[i].limit_bytes,
					  .remote = spec->streams[i].remote,
					  .count = &l->counters[i],
					  .index = (unsigned)i,
					  .load = l,
					  .ctx = size ? l->contexts + i * size : NULL };
		if (s->role == WP_STREAM_SENDS)
			l->senders_left++;
		r = l->engine->open ? l->engine->open(s, l->plan, err) : 0;
		if (r < 0)
			return r;
		l->n_opened++;
	}
	l->streams_left = l->n_streams;
	return 0;
}

/* Deals the streams out: thread t moves streams t, t + threads, ... */
static void deal(struct wp_load *l, const struct wp_load_spec *spec)
{
	struct wp_stream **at = l->order;
	size_t bytes = wp_plan_buffer_bytes(l->plan);

	if (bytes < MIN_BUFFER_BYTES)
		bytes = MIN_BUFFER_BYTES;
	for (size_t t = 0; t < l->n_slots; t++) {
		struct slot *s = &l->slots[t];
		unsigned roles = 0;

		s->load = l;
		s->cpu = spec->cpus && spec->cpus->n > 0 ? spec->cpus->cpu[t] : -1;
		s->worker = (struct wp_worker) { .plan = l->plan,
						 .streams = at,
						 .stop = &l->stop,
						 .abort = &l->abort,
						 .wake_fd = l->wake_fd,
						 .abort_fd = l->abort_fd,
						 .buffer_bytes = bytes,
						 .load = l };
		wp_thread_meter_init(&s->meter);
		for (size_t i = t; i < l->n_streams; i += l->n_slots) {
			*at++ = &l->streams[i];
			roles |= 1u << spec->streams[i].role;
		}
		s->worker.n_streams = (size_t)(at - s->worker.streams);
		s->role = roles == 1u << WP_STREAM_SENDS      ? "sender"
			  : roles == 1u << WP_STREAM_RECEIVES ? "receiver"
							      : "sender and receiver";
		snprintf(s->name, sizeof(s->name), "wp-%s-%zu",
			 roles == 1u << WP_STREAM_SENDS      ? "tx"
			 : roles == 1u << WP_STREAM_RECEIVES ? "rx"
							     : "io",
			 t);
	}
}

/* Signals are the main thread's: workers block them all. */
static int start_threads(struct wp_load *l, struct wp_err *err)
{
	sigset_t all, before;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&l->lock);
	for (size_t t = 0; t < l->n_slots && r == 0; t++) {
		l->n_living++;
		r = -pthread_create(&l->slots[t].thread, NULL, slot_main, &l->slots[t]);
		if (r < 0)
			l->n_living--;
		else
			l->slots[t].created = true;
	}
	pthread_mutex_unlock(&l->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return wp_err_sys(err, r, "cannot start a thread");
	pthread_mutex_lock(&l->lock);
	while (l->n_ready < l->n_slots)
		pthread_cond_wait(&l->changed, &l->lock);
	r = l->status;
	pthread_mutex_unlock(&l->lock);
	for (size_t t = 0; t < l->n_slots && r < 0; t++)
		if (l->slots[t].err.msg[0])
			wp_err_set(err, r, "%s", l->slots[t].err.msg);
	return r;
}

static struct wp_load *load_alloc(const struct wp_load_spec *spec, size_t n_threads)
{
	struct wp_load *l = calloc(1, sizeof(*l));
	size_t n = spec->n_streams;
	pthread_condattr_t attr;

	if (!l)
		return NULL;
	l->wake_fd = l->abort_fd = l->done_fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	l->engine = spec->engine;
	l->plan = spec->plan;
	l->n_streams = n;
	l->n_slots = n_threads;
	l->streams = calloc(n, sizeof(*l->streams));
	l->counters = aligned_alloc(_Alignof(struct wp_stream_counters), n * sizeof(*l->counters));
	l->contexts = calloc(n, spec->engine->stream_size + 1);
	l->order = calloc(n, sizeof(struct wp_stream *));
	l->slots = calloc(n_threads, sizeof(*l->slots));
	if (!l->streams || !l->counters || !l->contexts || !l->order || !l->slots) {
		l->n_slots = 0;
		wp_load_free(l);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		l->counters[i] = (struct wp_stream_counters) { 0 };
	return l;
}

int wp_load_new(const struct wp_load_spec *spec, struct wp_load **ret, struct wp_err *err)
{
	struct wp_load *l;
	size_t n_threads;
	int r;

	r = check_spec(spec, err);
	if (r < 0)
		return r;
	r = count_threads(spec, &n_threads);
	if (r < 0)
		return wp_err_sys(err, r, "cannot find out which CPUs may be used");
	l = load_alloc(spec, n_threads);
	if (!l)
		return wp_err_sys(err, -ENOMEM, "cannot make %zu streams", spec->n_streams);
	r = open_fds(l);
	if (r < 0)
		wp_err_sys(err, r, "cannot make an eventfd");
	if (r == 0) {
		deal(l, spec);
		r = open_streams(l, spec, err);
	}
	if (r == 0)
		r = start_threads(l, err);
	if (r < 0) {
		wp_load_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static void open_gate(struct wp_load *l, enum gate gate, int64_t start_ns)
{
	pthread_mutex_lock(&l->lock);
	if (l->gate == GATE_CLOSED) {
		l->gate = gate;
		l->start_ns = start_ns;
	}
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void wp_load_go(struct wp_load *l, int64_t start_ns)
{
	open_gate(l, GATE_OPEN, start_ns);
}

void wp_load_stop(struct wp_load *l)
{
	atomic_store(&l->stop, true);
	signal_event(l->wake_fd);
}

static void abort_all(struct wp_load *l)
{
	open_gate(l, GATE_QUIT, 0);
	atomic_store(&l->abort, true);
	signal_event(l->abort_fd);
	signal_event(l->wake_fd);
}

/* The other ends of streams that were cut off learn of it. */
static void hang_up(struct wp_load *l)
{
	for (size_t i = 0; i < l->n_streams; i++)
		if (atomic_load_explicit(&l->counters[i].error, memory_order_relaxed) == -ECANCELED)
			shutdown(l->streams[i].fd, SHUT_RDWR);
}

int wp_load_join(struct wp_load *l, int64_t deadline_ns)
{
	struct timespec until = wp_ns_to_timespec(deadline_ns);
	bool late = false;

	open_gate(l, GATE_QUIT, 0);
	pthread_mutex_lock(&l->lock);
	while (l->n_living > 0 && !late)
		late = pthread_cond_timedwait(&l->changed, &l->lock, &until) == ETIMEDOUT;
	late = l->n_living > 0;
	pthread_mutex_unlock(&l->lock);
	if (late) {
		l->cut = true;
		abort_all(l);
	}
	for (size_t t = 0; t < l->n_slots; t++) {
		struct slot *s = &l->slots[t];

		if (s->created && !s->joined)
			pthread_join(s->thread, NULL);
		s->joined = true;
	}
	if (l->cut && (l->engine->caps & WP_ENGINE_SOCKETS))
		hang_up(l);
	return l->cut ? -ETIMEDOUT : 0;
}

void wp_load_free(struct wp_load *l)
{
	if (!l)
		return;
	for (size_t t = 0; t < l->n_slots; t++)
		if (l->slots[t].created && !l->slots[t].joined) {
			(void)!wp_load_join(l, 0);
			break;
		}
	for (size_t i = 0; i < l->n_opened && l->engine->close; i++)
		l->engine->close(&l->streams[i]);
	for (size_t t = 0; t < l->n_slots; t++) {
		struct wp_worker *w = &l->slots[t].worker;

		if (w->buffer)
			munmap(w->buffer, w->buffer_bytes);
		if (w->sink)
			munmap(w->sink, w->buffer_bytes);
		for (int i = 0; i < WP_LOAD_HIST_N; i++)
			if (w->hist[i])
				munmap(w->hist[i], sizeof(*w->hist[i]));
		if (w->pauses)
			munmap(w->pauses, sizeof(*w->pauses));
		if (l->slots[t].load)
			wp_thread_meter_done(&l->slots[t].meter);
	}
	wp_close_p(&l->wake_fd);
	wp_close_p(&l->abort_fd);
	wp_close_p(&l->done_fd);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l->streams);
	free(l->counters);
	free(l->contexts);
	free(l->order);
	free(l->slots);
	free(l);
}

/* ---- reading ---- */

int wp_load_done_fd(const struct wp_load *l)
{
	return l->done_fd;
}

bool wp_load_senders_done(const struct wp_load *l)
{
	return atomic_load(&l->senders_left) == 0;
}

void wp_load_count(const struct wp_load *l, size_t stream, struct wp_stream_count *ret)
{
	struct wp_stream_counters *c = &l->counters[stream];

#define GET(field) .field = atomic_load_explicit(&c->field, memory_order_relaxed)
	/* `ended` first: when it is true, all that follows is final. */
	bool ended = atomic_load_explicit(&c->ended, memory_order_acquire);

	*ret = (struct wp_stream_count) {
		GET(bytes),
		GET(calls),
		GET(zerocopy_sends),
		GET(zerocopy_copied),
		GET(corrupt_blocks),
		GET(corrupt_at),
		GET(shortfall_bytes),
		GET(first_ns),
		GET(last_ns),
		GET(error),
		GET(packets),
		GET(expected),
		GET(out_of_order),
		GET(duplicated),
		GET(late),
		GET(socket_drops),
		GET(send_drops),
		GET(shortfall_packets),
		GET(jitter_ns),
		GET(transactions),
		GET(timeouts),
		GET(unanswered),
		GET(response_bytes),
		GET(syncs),
		.taker_ns = wp_live_clock_read(&c->taker),
		.sync_ns = wp_live_clock_read(&c->sync),
		.pace_ns = wp_live_clock_read(&c->pace),
		.ended = ended,
		.thread = (unsigned)(stream % l->n_slots),
	};
#undef GET
}

void wp_load_hist(const struct wp_load *l, enum wp_load_hist which, struct wp_hist *ret)
{
	for (size_t t = 0; t < l->n_slots; t++)
		if (l->slots[t].worker.hist[which])
			wp_live_hist_read(l->slots[t].worker.hist[which], ret);
}

int64_t wp_load_longest_ns(const struct wp_load *l, size_t stream)
{
	struct wp_stream_counters *c = &l->counters[stream];
	int64_t longest = atomic_exchange_explicit(&c->longest_ns, 0, memory_order_relaxed);
	int64_t last = atomic_load_explicit(&c->last_ns, memory_order_relaxed);
	bool paced = wp_live_clock_runs(&c->pace);
	int64_t open = last && !paced && !atomic_load(&c->ended) ? wp_now_ns() - last : 0;

	return open > longest ? open : longest;
}

struct wp_pause_log *wp_load_pauses(const struct wp_load *l, size_t i)
{
	return l->slots[i].worker.pauses;
}

pid_t wp_load_thread_id(const struct wp_load *l, size_t i)
{
	return l->slots[i].id;
}

size_t wp_load_threads(const struct wp_load *l)
{
	return l->n_slots;
}

void wp_load_thread_use(const struct wp_load *load, size_t i, struct wp_thread_use *ret)
{
	struct wp_load *l = (struct wp_load *)load; /* the lock is not part of its value */
	struct slot *s = &l->slots[i];

	pthread_mutex_lock(&l->lock);
	wp_thread_meter_read(&s->meter, ret);
	pthread_mutex_unlock(&l->lock);
	ret->name = s->role;
	ret->asked_cpu = s->cpu >= 0 ? wp_num(s->cpu) : wp_absent("not pinned");
}

int wp_load_thread_cpu(const struct wp_load *load, size_t i)
{
	struct wp_load *l = (struct wp_load *)load;
	int cpu;

	pthread_mutex_lock(&l->lock);
	cpu = wp_thread_meter_cpu(&l->slots[i].meter);
	pthread_mutex_unlock(&l->lock);
	return cpu;
}

const char *wp_load_method(const struct wp_load *l, enum wp_stream_role role)
{
	return atomic_load(&l->method[role]);
}
