/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The write engine: exact bytes into every kind of file, stops while the other side is full, errors, pauses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/fill.h"
#include "load/load.h"

#define SECONDS(n)  (wp_now_ns() + (n)*WP_NS_PER_S)
#define LONG_ENOUGH 60 /* s: for what must end by itself, on any machine */
#define MS          WP_NS_PER_MS

static struct wp_plan plan_of(uint64_t length)
{
	return (struct wp_plan) { .kind = "write", .streams = 1, .length_bytes = length };
}

static struct wp_load *begin(const struct wp_plan *plan, int fd, uint64_t limit)
{
	const struct wp_stream_spec stream = { .fd = fd,
					       .role = WP_STREAM_SENDS,
					       .limit_bytes = limit };
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("write"), .plan = plan, .streams = &stream, .n_streams = 1
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	wp_load_go(l, wp_now_ns());
	return l;
}

static struct wp_stream_count count_of(const struct wp_load *l)
{
	struct wp_stream_count c;

	wp_load_count(l, 0, &c);
	return c;
}

/* Until it ends by itself. */
static struct wp_stream_count end(struct wp_load *l)
{
	struct pollfd p = { .fd = wp_load_done_fd(l), .events = POLLIN };

	assert_int_equal(poll(&p, 1, LONG_ENOUGH * 1000), 1);
	assert_int_equal(wp_load_join(l, SECONDS(LONG_ENOUGH)), 0);
	return count_of(l);
}

static uint64_t hist_count(const struct wp_load *l, enum wp_load_hist which, uint64_t *ret_max)
{
	struct wp_hist h;
	uint64_t n;

	assert_int_equal(wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL), 0);
	wp_load_hist(l, which, &h);
	n = h.n;
	if (ret_max)
		*ret_max = h.max;
	wp_hist_done(&h);
	return n;
}

static int memory_file(void)
{
	int fd = memfd_create("writer", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

static void check_pattern(int fd, uint64_t size)
{
	char *data = malloc(size);

	assert_int_equal(pread(fd, data, size, 0), size);
	assert_int_equal(wp_fill_verify(data, size, 0), size);
	free(data);
}

static void limits_are_exact(void **state)
{
	static const struct {
		uint64_t length, limit;
	} cases[] = { { 1, 1 },         { 65536, 1 },        { 4096, 4096 },
		      { 4096, 4097 },   { 1000, 12345678 },  { 65536, 50 << 20 },
		      { 7, 7 * 10001 }, { 1 << 20, 3000001 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_plan plan = plan_of(cases[i].length);
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		struct wp_load *l = begin(&plan, fd, cases[i].limit);
		struct wp_stream_count c = end(l);
		uint64_t blocks = (cases[i].limit + cases[i].length - 1) / cases[i].length;

		assert_int_equal(c.error, 0);
		assert_int_equal(c.bytes, cases[i].limit);
		assert_int_equal(c.calls, blocks);
		assert_int_equal(hist_count(l, WP_HIST_WRITE, NULL), blocks);
		assert_true(c.first_ns > 0 && c.last_ns >= c.first_ns);
		assert_string_equal(wp_load_method(l, WP_STREAM_SENDS), "write");
		wp_load_free(l);
		close(fd);
	}
}

static void a_file_holds_what_was_counted(void **state)
{
	struct wp_plan plan = plan_of(10007);
	int fd = memory_file();
	struct wp_load *l;

	(void)state;
	plan.fill = WP_FILL_PATTERN;
	l = begin(&plan, fd, 3000000);
	assert_int_equal(end(l).bytes, 3000000);
	assert_int_equal(size_of(fd), 3000000);
	check_pattern(fd, 3000000);
	wp_load_free(l);
	close(fd);
}

static void a_file_is_begun_again(void **state)
{
	struct wp_plan plan = plan_of(4096);
	int fd = memory_file();
	struct wp_load *l;

	(void)state;
	plan.wrap_bytes = 10 * 4096 + 100;
	l = begin(&plan, fd, 1000 * 4096);
	assert_int_equal(end(l).bytes, 1000 * 4096);
	assert_int_equal(size_of(fd), 10 * 4096);
	wp_load_free(l);
	close(fd);
}

static void syncs_are_counted(void **state)
{
	static const struct {
		enum wp_sync sync;
		uint64_t bytes, syncs;
	} cases[] = { { WP_SYNC_NEVER, 0, 0 },
		      { WP_SYNC_END, 0, 1 },
		      { WP_SYNC_EACH, 0, 100 },
		      { WP_SYNC_BYTES, 30 * 1000, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_plan plan = plan_of(1000);
		int fd = memory_file();
		struct wp_stream_count c;
		struct wp_load *l;

		plan.sync = cases[i].sync;
		plan.sync_bytes = cases[i].bytes;
		l = begin(&plan, fd, 100000);
		c = end(l);
		assert_int_equal(c.error, 0);
		assert_int_equal(c.bytes, 100000);
		assert_int_equal(c.syncs, cases[i].syncs);
		assert_int_equal(hist_count(l, WP_HIST_SYNC, NULL), cases[i].syncs);
		assert_int_equal(hist_count(l, WP_HIST_WRITE, NULL), 100);
		assert_true(c.syncs ? c.sync_ns > 0 : c.sync_ns == 0);
		wp_load_free(l);
		close(fd);
	}
}

/* ---- pipes and sockets ------------------------------------------------------------------------ */

struct reader {
	int fd;
	uint64_t pause_at; /* sleeps once, when it has so much */
	int64_t pause_ns;
	uint64_t bytes, wrong;
	pthread_t thread;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	static _Thread_local char data[65536];
	ssize_t n;

	while ((n = read(r->fd, data, sizeof(data))) > 0) {
		if (wp_fill_verify(data, (size_t)n, r->bytes) != (size_t)n)
			r->wrong++;
		r->bytes += (uint64_t)n;
		if (r->pause_ns && r->bytes >= r->pause_at) {
			wp_sleep_until_ns(wp_now_ns() + r->pause_ns);
			r->pause_ns = 0;
		}
	}
	return NULL;
}

static void open_pipe(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
}

static void open_sockets(int fds[2])
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	fds[0] = pair[0];
	fds[1] = pair[1];
}

static void a_reader_gets_what_was_counted(void **state)
{
	void (*const open_fds[])(int fds[2]) = { open_pipe, open_sockets };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct wp_plan plan = plan_of(100000);
		struct reader r = { 0 };
		struct wp_stream_count c;
		struct wp_load *l;
		int fds[2];

		open_fds[i](fds);
		plan.fill = WP_FILL_PATTERN;
		r.fd = fds[0];
		assert_int_equal(pthread_create(&r.thread, NULL, read_all, &r), 0);
		l = begin(&plan, fds[1], 20000001);
		c = end(l);
		close(fds[1]);
		pthread_join(r.thread, NULL);
		assert_int_equal(c.bytes, 20000001);
		assert_int_equal(r.bytes, 20000001);
		assert_int_equal(r.wrong, 0);
		assert_int_equal(hist_count(l, WP_HIST_WRITE, NULL), 201);
		assert_string_equal(wp_load_method(l, WP_STREAM_SENDS), i ? "send" : "write");
		wp_load_free(l);
		close(fds[0]);
	}
}

static void a_slow_reader_shows_as_a_pause(void **state)
{
	struct wp_plan plan = plan_of(4096);
	struct reader r = { .pause_at = 1 << 20, .pause_ns = 200 * MS };
	struct wp_pause pauses[WP_PAUSE_QUEUE], longest = { 0 };
	struct wp_stream_count c;
	struct wp_load *l;
	uint64_t max;
	size_t n;
	int fds[2];

	(void)state;
	open_pipe(fds);
	r.fd = fds[0];
	plan.fill = WP_FILL_PATTERN;
	assert_int_equal(pthread_create(&r.thread, NULL, read_all, &r), 0);
	l = begin(&plan, fds[1], 4 << 20);
	c = end(l);
	close(fds[1]);
	pthread_join(r.thread, NULL);
	assert_int_equal(r.bytes, 4 << 20);
	n = wp_pause_take(wp_load_pauses(l, 0), pauses, WP_PAUSE_QUEUE);
	for (size_t i = 0; i < n; i++)
		if (pauses[i].end_ns - pauses[i].start_ns > longest.end_ns - longest.start_ns)
			longest = pauses[i];
	/* The writer fills the pipe first, a moment after the reader went to sleep. */
	assert_true(longest.end_ns - longest.start_ns > 100 * MS);
	assert_true(longest.taker_ns > (longest.end_ns - longest.start_ns) / 2);
	assert_true(longest.taker_ns <= c.taker_ns);
	assert_int_equal(longest.kind, WP_PAUSE_WRITE);
	assert_true(longest.since_ns <= longest.start_ns);
	assert_true(longest.voluntary > 0);
	assert_true(longest.offset_bytes >= 1 << 20);
	hist_count(l, WP_HIST_WRITE, &max);
	assert_true(max >= (uint64_t)(longest.end_ns - longest.start_ns));
	assert_true(wp_load_longest_ns(l, 0) >= longest.end_ns - longest.start_ns);
	assert_int_equal(wp_load_longest_ns(l, 0), 0); /* taken */
	wp_load_free(l);
	close(fds[0]);
}

static void a_stop_ends_the_wait_for_a_reader(void **state)
{
	struct wp_plan plan = plan_of(65536);
	struct wp_stream_count c;
	struct wp_load *l;
	int fds[2];

	(void)state;
	open_pipe(fds);
	l = begin(&plan, fds[1], 0);
	while (count_of(l).taker_ns < 50 * MS)
		wp_sleep_until_ns(wp_now_ns() + MS);
	assert_true(wp_load_longest_ns(l, 0) >= 50 * MS); /* and it goes on */
	wp_load_stop(l);
	c = end(l);
	assert_int_equal(c.error, 0);
	assert_int_equal(c.bytes, fcntl(fds[1], F_GETPIPE_SZ));
	wp_load_free(l);
	close(fds[0]);
	close(fds[1]);
}

static void a_reader_that_leaves_is_an_error(void **state)
{
	struct wp_plan plan = plan_of(65536);
	struct wp_stream_count c;
	struct wp_load *l;
	int fds[2];

	(void)state;
	/* Before it begins: the writer has its own copies of all descriptors, this one too. */
	open_pipe(fds);
	close(fds[0]);
	l = begin(&plan, fds[1], 0);
	c = end(l);
	assert_int_equal(c.error, -EPIPE);
	assert_int_equal(c.bytes, 0);
	wp_load_free(l);
	close(fds[1]);
}

static void a_full_device_is_an_error(void **state)
{
	struct wp_plan plan = plan_of(65536);
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct wp_stream_count c;
	struct wp_load *l;

	(void)state;
	if (fd < 0)
		skip();
	l = begin(&plan, fd, 0);
	c = end(l);
	assert_int_equal(c.error, -ENOSPC);
	assert_int_equal(c.bytes, 0);
	wp_load_free(l);
	close(fd);
}

/* ---- time ------------------------------------------------------------------------------------- */

static void a_rate_is_kept_in_whole_writes(void **state)
{
	static const struct {
		uint64_t rate_bps, length, limit;
	} cases[] = { { 8000000, 10000, 200000 }, { 80000000, 1000, 2000500 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct wp_plan plan = plan_of(cases[i].length);
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		int64_t start_ns = wp_now_ns(), least_ns;
		struct wp_stream_count c;
		struct wp_load *l;

		plan.rate_bps = cases[i].rate_bps;
		l = begin(&plan, fd, cases[i].limit);
		c = end(l);
		assert_int_equal(c.bytes, cases[i].limit);
		assert_int_equal(c.calls, (cases[i].limit + cases[i].length - 1) / cases[i].length);
		/* Never faster, but for a burst. */
		least_ns = (int64_t)(cases[i].limit * 8 * 1000 / (cases[i].rate_bps / 1000000));
		assert_true(c.last_ns - start_ns > least_ns - 30 * MS);
		assert_true(c.pace_ns > 0);
		assert_true(hist_count(l, WP_HIST_WRITE, NULL) == c.calls);
		wp_load_free(l);
		close(fd);
	}
}

static void a_stop_ends_the_wait_for_the_pace(void **state)
{
	struct wp_plan plan = plan_of(65536);
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct wp_load *l;

	(void)state;
	plan.rate_bps = 1;
	l = begin(&plan, fd, 0);
	while (count_of(l).pace_ns < MS)
		wp_sleep_until_ns(wp_now_ns() + MS);
	wp_load_stop(l);
	assert_int_equal(end(l).bytes, 0);
	wp_load_free(l);
	close(fd);
}

static void the_thread_is_told(void **state)
{
	struct wp_plan plan = plan_of(4096);
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct wp_load *l = begin(&plan, fd, 0);
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)wp_load_thread_id(l, 0));
	assert_int_equal(access(path, F_OK), 0);
	while (!count_of(l).bytes)
		wp_sleep_until_ns(wp_now_ns() + MS);
	wp_load_stop(l);
	assert_int_equal(end(l).error, 0);
	wp_load_free(l);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(a_file_holds_what_was_counted),
		cmocka_unit_test(a_file_is_begun_again),
		cmocka_unit_test(syncs_are_counted),
		cmocka_unit_test(a_reader_gets_what_was_counted),
		cmocka_unit_test(a_slow_reader_shows_as_a_pause),
		cmocka_unit_test(a_stop_ends_the_wait_for_a_reader),
		cmocka_unit_test(a_reader_that_leaves_is_an_error),
		cmocka_unit_test(a_full_device_is_an_error),
		cmocka_unit_test(a_rate_is_kept_in_whole_writes),
		cmocka_unit_test(a_stop_ends_the_wait_for_the_pace),
		cmocka_unit_test(the_thread_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
