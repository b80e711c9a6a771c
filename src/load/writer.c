/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine that writes a file of any kind: /dev/null, files, pipes, sockets, terminals.
 *
 * A write to /dev/null takes less time than reading a clock twice, so writes are timed in groups that take GROUP_NS by the
 * usual time of a write; writes that take longer than half of that are timed one by one. A group that took longer than it
 * should was held up once: its writes count with their usual time but for one, which took the rest. So the histogram is
 * exact for slow writes, and the longest pause is known to the length of a group.
 *
 * What can make room wait (pipes, sockets, terminals) is not blocking, so that a stop ends the wait; the time spent
 * waiting is the other side's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/engines.h"
#include "load/fill.h"
#include "load/thread_meter.h"
#include "net/pacer.h"

#define GROUP_NS        INT64_C(25000)
#define GROUP_MAX       1024
#define OUTLIER_NS      2000 /* a group this much over twice its usual time was held up */
#define PAUSE_FACTOR    4    /* times the usual write: below it, it is no pause */
#define USE_INTERVAL_NS (10 * WP_NS_PER_MS)

/* What the thread had used at a moment. */
struct use {
	int64_t at_ns;
	int64_t run_ns, delay_ns; /* -1 = not known */
	int64_t voluntary, involuntary;
};

struct writer {
	struct wp_worker *w;
	struct wp_stream *s;
	const struct wp_plan *plan;
	int fd;
	bool socket;
	size_t length;   /* of a whole block */
	uint64_t left;   /* of the limit */
	uint64_t at;     /* in the file, where it wraps */
	size_t block;    /* length of the block under way */
	size_t part;     /* of it, written */
	size_t filled;   /* the pattern of so much of it is in the buffer */
	size_t group;    /* writes that are timed together */
	size_t in_group; /* of them, done since mark_ns */
	int64_t usual_ns;
	int64_t mark_ns;  /* end of the last timed write, or when this one could begin */
	int64_t taker_ns; /* waited since then */
	uint64_t unsynced_bytes, bytes, calls;
	struct wp_pacer pacer;
	struct use before;
	int schedstat_fd;
};

/* ---- what the thread uses --------------------------------------------------------------------- */

static int64_t read_delay_ns(const struct writer *x)
{
	char text[128];
	ssize_t n = x->schedstat_fd < 0 ? -1 : pread(x->schedstat_fd, text, sizeof(text) - 1, 0);
	int64_t v;

	if (n < 0)
		return -1;
	text[n] = '\0';
	return wp_parse_schedstat_delay(text, &v) ? -1 : v;
}

static struct use use_now(const struct writer *x, int64_t now_ns)
{
	struct use u = { .at_ns = now_ns, .run_ns = -1, .delay_ns = read_delay_ns(x) };
	struct timespec cpu;
	struct rusage r;

	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu))
		u.run_ns = cpu.tv_sec * WP_NS_PER_S + cpu.tv_nsec;
	if (!getrusage(RUSAGE_THREAD, &r)) {
		u.voluntary = r.ru_nvcsw;
		u.involuntary = r.ru_nivcsw;
	}
	return u;
}

/* Nothing was completed from start_ns to now. */
static void pause_over(struct writer *x, enum wp_pause_kind kind, int64_t start_ns, int64_t now_ns,
		       int64_t blur_ns)
{
	struct wp_stream_counters *c = x->s->count;
	int64_t length_ns = now_ns - start_ns;
	struct use now;

	if (length_ns > atomic_load_explicit(&c->longest_ns, memory_order_relaxed))
		atomic_store_explicit(&c->longest_ns, length_ns, memory_order_relaxed);
	if (length_ns < PAUSE_FACTOR * x->usual_ns || length_ns <= wp_pause_floor_ns(x->w->pauses))
		return;
	now = use_now(x, now_ns);
	wp_pause_add(x->w->pauses,
		     &(struct wp_pause) {
			     .kind = kind,
			     .start_ns = start_ns,
			     .end_ns = now_ns,
			     .blur_ns = blur_ns,
			     .taker_ns = x->taker_ns,
			     .since_ns = x->before.at_ns,
			     .run_ns = now.run_ns < 0 ? -1 : now.run_ns - x->before.run_ns,
			     .delay_ns = now.delay_ns < 0 ? -1 : now.delay_ns - x->before.delay_ns,
			     .voluntary = now.voluntary - x->before.voluntary,
			     .involuntary = now.involuntary - x->before.involuntary,
			     .cpu = sched_getcpu(),
			     .offset_bytes = x->bytes,
		     });
	x->before = now;
}

/* ---- counting --------------------------------------------------------------------------------- */

static void moved(struct writer *x, size_t calls, size_t bytes)
{
	x->calls += calls;
	x->bytes += bytes;
	x->at += bytes;
	x->unsynced_bytes += bytes;
	if (x->left != UINT64_MAX)
		x->left -= bytes;
	if (x->plan->rate_bps)
		wp_pacer_sent(&x->pacer, bytes);
}

static void publish(struct writer *x, int64_t now_ns)
{
	struct wp_stream_counters *c = x->s->count;

	if (!atomic_load_explicit(&c->first_ns, memory_order_relaxed) && x->bytes)
		atomic_store_explicit(&c->first_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&c->bytes, x->bytes, memory_order_relaxed);
	atomic_store_explicit(&c->calls, x->calls, memory_order_relaxed);
	atomic_store_explicit(&c->last_ns, now_ns, memory_order_relaxed);
}

/* The usual time follows slowly, and what is out of all proportion hardly at all. */
static void learn(struct writer *x, int64_t each_ns)
{
	size_t group;

	if (!x->usual_ns)
		x->usual_ns = each_ns > 1 ? each_ns : 1;
	if (each_ns > 2 * x->usual_ns)
		each_ns = 2 * x->usual_ns;
	/* Rounded up when it grows: a usual time of some ns must be able to. */
	x->usual_ns += (each_ns - x->usual_ns + (each_ns > x->usual_ns ? 7 : 0)) / 8;
	if (x->usual_ns < 1)
		x->usual_ns = 1;
	group = (size_t)(GROUP_NS / x->usual_ns);
	x->group = group < 1 ? 1 : group > GROUP_MAX ? GROUP_MAX : group;
}

/* The writes since mark_ns are done. */
static void timed(struct writer *x, int64_t now_ns)
{
	struct wp_live_hist *h = x->w->hist[WP_HIST_WRITE];
	size_t n = x->in_group;
	int64_t took_ns = now_ns - x->mark_ns, longest_ns = took_ns / (int64_t)n;
	int64_t usual_ns = (int64_t)n * x->usual_ns;

	if (n > 1 && took_ns > 2 * usual_ns + OUTLIER_NS) {
		longest_ns = took_ns - usual_ns + x->usual_ns;
		wp_live_hist_add_n(h, (uint64_t)x->usual_ns, n - 1);
		wp_live_hist_add(h, (uint64_t)longest_ns);
	} else {
		wp_live_hist_add_n(h, (uint64_t)longest_ns, n);
	}
	learn(x, took_ns / (int64_t)n);
	pause_over(x, WP_PAUSE_WRITE, now_ns - longest_ns, now_ns, took_ns - longest_ns);
	if (now_ns - x->before.at_ns >= USE_INTERVAL_NS)
		x->before = use_now(x, now_ns);
	x->mark_ns = now_ns;
	x->in_group = 0;
	x->taker_ns = 0;
	publish(x, now_ns);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void finish(struct writer *x, int error)
{
	int64_t now_ns = wp_now_ns();

	/* A block that was not completed is a pause, but no write. */
	if (x->in_group)
		timed(x, now_ns);
	else
		pause_over(x, WP_PAUSE_WRITE, x->mark_ns, now_ns, 0);
	publish(x, now_ns);
	wp_stream_end(x->s, error);
}

static bool may_sync(const struct writer *x)
{
	return x->plan->sync != WP_SYNC_NEVER && x->unsynced_bytes > 0;
}

static void sync_file(struct writer *x)
{
	struct wp_stream_counters *c = x->s->count;
	int64_t start_ns = wp_now_ns(), end_ns;
	int r;

	if (x->in_group)
		timed(x, start_ns);
	wp_live_clock_start(&c->sync, start_ns);
	r = fsync(x->fd) < 0 ? -errno : 0;
	end_ns = wp_now_ns();
	wp_live_clock_stop(&c->sync, end_ns);
	atomic_store_explicit(&c->syncs, atomic_load_explicit(&c->syncs, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	wp_live_hist_add(x->w->hist[WP_HIST_SYNC], (uint64_t)(end_ns - start_ns));
	pause_over(x, WP_PAUSE_SYNC, start_ns, end_ns, 0);
	x->unsynced_bytes = 0;
	x->mark_ns = end_ns;
	publish(x, end_ns);
	if (r < 0)
		finish(x, r);
}

/* The last, shorter block of a file that was opened with O_DIRECT, or what a write left of one, fits no sector. */
static int leave_direct(const struct writer *x)
{
	int flags = fcntl(x->fd, F_GETFL);

	if (flags < 0 || !(flags & O_DIRECT))
		return 0;
	return fcntl(x->fd, F_SETFL, flags & ~O_DIRECT) < 0 ? -errno : 0;
}

/* write(2) without being a point at which a thread may be cancelled, which costs two atomic operations a call. */
static inline ssize_t plain_write(int fd, const void *data, size_t len)
{
	return syscall(SYS_write, fd, data, len);
}

static ssize_t write_once(const struct writer *x, const void *data, size_t len)
{
	ssize_t n = x->socket ? send(x->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL)
			      : plain_write(x->fd, data, len);

	return n < 0 ? -errno : n;
}

/* Up to `n` whole blocks; *ret is what the last write gave. */
static size_t write_many(const struct writer *x, size_t n, ssize_t *ret)
{
	const void *data = x->w->buffer;
	const size_t len = x->length;
	const int fd = x->fd;
	ssize_t r = (ssize_t)len;
	size_t i = 0;

	if (x->socket) {
		for (; i < n && (r = write_once(x, data, len)) == (ssize_t)len; i++)
			;
	} else {
		for (; i < n && (r = plain_write(fd, data, len)) == (ssize_t)len; i++)
			;
		if (r < 0)
			r = -errno;
	}
	*ret = r;
	return i;
}

/* Waits until the other side takes something, or for a stop. */
static void wait_for_taker(struct writer *x)
{
	struct pollfd p[2] = {
		{ .fd = x->fd, .events = POLLOUT },
		{ .fd = x->w->wake_fd, .events = POLLIN },
	};
	struct wp_stream_counters *c = x->s->count;
	int64_t start_ns = wp_now_ns(), end_ns;

	/* What is done was not held up: the wait is that of the block under way. */
	if (x->in_group)
		timed(x, start_ns);
	wp_live_clock_start(&c->taker, start_ns);
	publish(x, x->mark_ns);
	(void)!poll(p, 2, -1); /* what it found, the next write says */
	end_ns = wp_now_ns();
	wp_live_clock_stop(&c->taker, end_ns);
	x->taker_ns += end_ns - start_ns;
}

/* One call for what is left of the block under way. */
static void write_block(struct writer *x)
{
	char *data = x->w->buffer;
	ssize_t n;
	int r = 0;

	if (!x->part) {
		x->block = x->left < x->length ? (size_t)x->left : x->length;
		if (x->plan->fill == WP_FILL_PATTERN)
			wp_fill_pattern(data, x->block, x->bytes);
	}
	if (x->part || x->block < x->length)
		r = leave_direct(x);
	n = r < 0 ? r : write_once(x, data + x->part, x->block - x->part);
	if (n == -EAGAIN) {
		wait_for_taker(x);
		return;
	}
	if (n == -EINTR)
		return;
	if (n <= 0) {
		finish(x, n < 0 ? (int)n : -EIO);
		return;
	}
	moved(x, 1, (size_t)n);
	x->part += (size_t)n;
	if (x->part < x->block)
		return;
	x->part = 0;
	x->in_group++;
	if (x->in_group >= x->group)
		timed(x, wp_now_ns());
}

static void write_group(struct writer *x, size_t n)
{
	ssize_t last;
	size_t done = write_many(x, n, &last);

	moved(x, done, done * x->length);
	x->in_group += done;
	if (done == n) {
		timed(x, wp_now_ns());
		return;
	}
	if (last == -EAGAIN) {
		wait_for_taker(x);
		return;
	}
	if (last == -EINTR)
		return;
	if (last <= 0) {
		finish(x, last < 0 ? (int)last : -EIO);
		return;
	}
	moved(x, 1, (size_t)last);
	x->block = x->length;
	x->part = (size_t)last;
}

/* ---- the loop --------------------------------------------------------------------------------- */

/* Whole blocks that may be written before something else is to be done; 0: the pace says wait. */
static size_t blocks_now(struct writer *x)
{
	uint64_t n = x->plan->fill == WP_FILL_PATTERN ? 1 : x->group;
	uint64_t fit = x->left / x->length;

	if (n > fit)
		n = fit > 1 ? fit : 1;
	if (x->plan->sync == WP_SYNC_EACH)
		n = 1;
	if (x->plan->sync == WP_SYNC_BYTES) {
		fit = (x->plan->sync_bytes - x->unsynced_bytes + x->length - 1) / x->length;
		n = n < fit ? n : fit;
	}
	if (x->plan->wrap_bytes) {
		fit = (x->plan->wrap_bytes - x->at) / x->length;
		n = n < fit ? n : fit;
	}
	if (x->plan->rate_bps) {
		fit = wp_pacer_due(&x->pacer, wp_now_ns(), n * x->length) / x->length;
		n = n < fit ? n : fit;
	}
	return (size_t)n;
}

/* Sleeps until the next block is due, or a stop. */
static void wait_for_pace(struct writer *x)
{
	struct pollfd p = { .fd = x->w->wake_fd, .events = POLLIN };
	struct wp_stream_counters *c = x->s->count;
	int64_t now_ns = wp_now_ns(), due_ns;
	struct timespec ts;

	if (x->in_group)
		timed(x, now_ns);
	due_ns = wp_pacer_next_ns(&x->pacer, x->length);
	atomic_store_explicit(&c->shortfall_bytes, x->pacer.shortfall_bytes, memory_order_relaxed);
	if (due_ns <= now_ns)
		return;
	ts = wp_ns_to_timespec(due_ns - now_ns);
	wp_live_clock_start(&c->pace, now_ns);
	(void)!ppoll(&p, 1, &ts, NULL);
	now_ns = wp_now_ns();
	wp_live_clock_stop(&c->pace, now_ns);
	x->mark_ns = now_ns;
	publish(x, now_ns);
	if (now_ns > due_ns)
		pause_over(x, WP_PAUSE_LATE, due_ns, now_ns, 0);
}

static void rewind_file(struct writer *x)
{
	if (lseek(x->fd, 0, SEEK_SET) < 0) {
		finish(x, -errno);
		return;
	}
	x->at = 0;
}

static bool sync_due(const struct writer *x)
{
	return may_sync(x) &&
	       (x->plan->sync == WP_SYNC_EACH ||
		(x->plan->sync == WP_SYNC_BYTES && x->unsynced_bytes >= x->plan->sync_bytes));
}

static void turn(struct writer *x)
{
	size_t n;

	if (x->part) { /* due already */
		write_block(x);
		return;
	}
	if (sync_due(x)) {
		sync_file(x);
		return;
	}
	if (x->plan->wrap_bytes && x->plan->wrap_bytes - x->at < x->length) {
		rewind_file(x);
		return;
	}
	n = blocks_now(x);
	if (n == 0) {
		wait_for_pace(x);
		return;
	}
	if (n > 1 && x->in_group == 0)
		write_group(x, n);
	else
		write_block(x);
}

static void run(struct writer *x)
{
	while (!wp_stream_ended(x->s)) {
		if (wp_worker_aborting(x->w)) {
			finish(x, -ECANCELED);
		} else if (x->left == 0 || wp_worker_stopping(x->w)) {
			if (may_sync(x))
				sync_file(x);
			finish(x, 0);
		} else {
			turn(x);
		}
	}
}

/* Whole writes fall due, however large they are against the rate. */
static void start_pacer(struct writer *x)
{
	wp_pacer_init(&x->pacer, x->plan->rate_bps, x->length, x->mark_ns);
	x->pacer.grain_bytes = x->length;
	if (x->pacer.burst_bytes < 2 * x->length)
		x->pacer.burst_bytes = 2 * x->length;
	/* The default slack of 50 us would be a twentieth of a burst. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

static const char *method(const struct writer *x)
{
	int flags = fcntl(x->fd, F_GETFL);

	if (x->socket)
		return "send";
	if (flags < 0 || !(flags & (O_DIRECT | O_DSYNC)))
		return "write";
	if (!(flags & O_DSYNC)) /* O_SYNC holds it too */
		return "write (O_DIRECT)";
	return flags & O_DIRECT ? "write (O_DIRECT, O_SYNC)" : "write (O_SYNC)";
}

static int writer_run(struct wp_worker *w)
{
	_cleanup_close_ int schedstat_fd =
		open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct wp_stream *s = w->streams[0];
	struct writer x = { .w = w,
			    .s = s,
			    .plan = w->plan,
			    .fd = s->fd,
			    .length = w->plan->length_bytes,
			    .left = s->limit_bytes ? s->limit_bytes : UINT64_MAX,
			    .group = 1,
			    .schedstat_fd = schedstat_fd };
	struct stat st;

	/* In a table of descriptors that threads share, each call takes and gives back a reference to the file: a quarter
	 * of what a write to /dev/null costs. A copy of its own lasts as long as the thread. Where it is refused it is
	 * merely slower. */
	(void)unshare(CLONE_FILES);
	x.socket = !fstat(s->fd, &st) && S_ISSOCK(st.st_mode);
	wp_worker_method(w, WP_STREAM_SENDS, method(&x));
	x.mark_ns = wp_now_ns();
	x.before = use_now(&x, x.mark_ns);
	if (x.plan->rate_bps)
		start_pacer(&x);
	publish(&x, x.mark_ns);
	run(&x);
	return 0;
}

static int writer_open(struct wp_stream *s, const struct wp_plan *plan, struct wp_err *err)
{
	(void)plan;
	if (s->index > 0)
		return wp_err_set(err, -EINVAL, "one writer writes one file");
	return fcntl(s->fd, F_GETFL) < 0 ? wp_err_sys(err, -errno, "cannot write") : 0;
}

const struct wp_engine wp_engine_write = {
	.abi = WP_ENGINE_ABI,
	.name = "write",
	.summary = "writes a device, file, pipe, socket or terminal",
	.caps = WP_ENGINE_SEND | WP_ENGINE_PACED | WP_ENGINE_CONTENT | WP_ENGINE_WRITES,
	.hists = 1u << WP_HIST_WRITE | 1u << WP_HIST_SYNC,
	.open = writer_open,
	.run = writer_run,
};
