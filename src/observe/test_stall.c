/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls from recorded series of readings, and on sockets whose reader stops for a known time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "observe/stall_episode.h"
#include "observe/stall_watch.h"

#define MS       WP_NS_PER_MS
#define STALL_NS (500 * MS)

/* ---- a track ---------------------------------------------------------------------------------- */

struct reading {
	int64_t t_ms;
	uint64_t position;
	uint32_t rto_us, backoff;
};

static struct wp_stall_seen seen_of(const struct reading *r)
{
	return (struct wp_stall_seen) {
		.t_ns = r->t_ms * MS,
		.position = r->position,
		.has_info = true,
		.info = { .state = TCP_ESTABLISHED,
			  .rto_us = r->rto_us,
			  .backoff = (uint8_t)r->backoff,
			  .retransmits = (uint8_t)r->backoff,
			  .unacked = 7,
			  .snd_mss_bytes = 1448,
			  .snd_cwnd = 10 },
	};
}

/* As recorded when a link was down from 100 to 2100 ms, every 50 ms in part. */
static const struct reading link_down[] = {
	{ 0, 0, 204000, 0 },        { 50, 5000, 204000, 0 },    { 100, 9000, 204000, 0 },
	{ 150, 9000, 204000, 0 },   { 400, 9000, 408000, 1 },   { 599, 9000, 408000, 1 },
	{ 601, 9000, 408000, 1 },   { 1200, 9000, 816000, 2 },  { 2050, 9000, 1632000, 3 },
	{ 2100, 9000, 1632000, 3 }, { 2150, 12000, 384000, 0 }, { 2200, 15000, 384000, 0 },
};

static void a_stall_is_told_with_its_times(void **state)
{
	static const enum wp_stall_step steps[] = {
		WP_STALL_QUIET,  WP_STALL_MOVES,  WP_STALL_MOVES,  WP_STALL_QUIET,
		WP_STALL_QUIET,  WP_STALL_QUIET,  WP_STALL_STANDS, WP_STALL_STANDS,
		WP_STALL_STANDS, WP_STALL_STANDS, WP_STALL_OVER,   WP_STALL_MOVES,
	};
	struct wp_stall_seen first = seen_of(&link_down[0]);
	struct wp_stall_view view = { 0 };
	struct wp_stall_track t;

	(void)state;
	wp_stall_track_start(&t, &first);
	for (size_t i = 0; i < WP_ARRAY_SIZE(link_down); i++) {
		struct wp_stall_seen seen = seen_of(&link_down[i]);

		assert_int_equal(wp_stall_track_take(&t, &seen, STALL_NS), steps[i]);
		if (steps[i] != WP_STALL_OVER)
			continue;
		assert_int_equal(t.before.t_ns, 100 * MS);
		assert_int_equal(t.still.t_ns, 2100 * MS);
		wp_stall_track_view(&t, true, &view);
	}
	assert_int_equal((int)view.backoff.v, 3);
	assert_int_equal((int)view.timeouts.v, 3);
	assert_int_equal((int)view.rto_us.v, 1632000);
	assert_int_equal((int)view.rto_before_us.v, 204000);
	assert_int_equal((int)view.unacked.v, 7);
	assert_string_equal(view.tcp_state, "established");
	assert_false(wp_has(view.unread_bytes));
	assert_false(wp_stall_track_end(&t));
}

static void progress_just_in_time_is_no_stall(void **state)
{
	struct wp_stall_track t;
	struct wp_stall_seen seen = { .t_ns = 0 };

	(void)state;
	wp_stall_track_start(&t, &seen);
	/* A byte each 499 ms, read every 49 or 51 ms. */
	for (int64_t at = 0, i = 0; at < 20000; at += 49 + i++ % 2 * 2) {
		seen.t_ns = at * MS;
		seen.position = (uint64_t)at / 499;
		assert_in_range(wp_stall_track_take(&t, &seen, STALL_NS), WP_STALL_MOVES,
				WP_STALL_QUIET);
	}
}

/* The reader was away for a second, and the stream was not: what is known says nothing of a stall. */
static void a_late_reading_is_no_stall(void **state)
{
	struct wp_stall_track t;
	struct wp_stall_seen seen = { .t_ns = 0 };

	(void)state;
	wp_stall_track_start(&t, &seen);
	seen = (struct wp_stall_seen) { .t_ns = 1000 * MS, .position = 1 };
	assert_int_equal(wp_stall_track_take(&t, &seen, STALL_NS), WP_STALL_MOVES);
	/* But a second in which nothing moved is one, however few looked. */
	seen.t_ns = 2000 * MS;
	assert_int_equal(wp_stall_track_take(&t, &seen, STALL_NS), WP_STALL_STANDS);
	assert_true(wp_stall_track_end(&t));
	assert_int_equal(t.still.t_ns - t.before.t_ns, 1000 * MS);
	assert_false(wp_stall_track_end(&t));
}

static void the_grain_is_a_tenth(void **state)
{
	(void)state;
	assert_int_equal(wp_stall_grain_ns(WP_MIN_STALL_NS), 5 * MS);
	assert_int_equal(wp_stall_grain_ns(500 * MS), 50 * MS);
	assert_int_equal(wp_stall_grain_ns(1000 * MS), 100 * MS);
	assert_int_equal(wp_stall_grain_ns(WP_MAX_STALL_NS), 100 * MS);
}

/* ---- an episode ------------------------------------------------------------------------------- */

/* Reading number i, 100 ms each, in which line 3 fires on CPU 1 `count` times. */
static void add(struct wp_stall_episode *e, int64_t i, uint64_t count, bool still)
{
	const struct wp_stall_cell cell = { 3, 1, count };
	struct wp_stall_row row = {
		.moment = { .from_ns = i * 100 * MS,
			    .to_ns = (i + 1) * 100 * MS,
			    .has_stats = true,
			    .has_link = true,
			    .has_changes = true,
			    .has_queue = true,
			    .carrier = !still,
			    .down_ns = still ? 100 * MS : 0,
			    .tx_packets = count,
			    .least_queued = still ? 5 : 0,
			    .most_queued = still ? 9 : 0 },
		.moved_bytes = count * 1000,
	};

	wp_stall_episode_add(e, &row, &cell, count ? 1 : 0, still);
}

static void before_during_and_after_are_kept_apart(void **state)
{
	_cleanup_free_ struct wp_stall_episode *e = calloc(1, sizeof(*e));
	struct wp_stall_reading r[WP_MAX_STALL_READINGS];
	struct wp_stall_view v = { 0 };
	size_t n;

	(void)state;
	for (int64_t i = 0; i < 20; i++)
		add(e, i, 100, false);
	/* Nothing moves since 1.9 s; that is seen at 2.3 s. */
	for (int64_t i = 20; i < 23; i++)
		add(e, i, 0, false);
	wp_stall_episode_begin(e, 1950 * MS);
	for (int64_t i = 23; i < 40; i++)
		add(e, i, 0, true);
	for (int64_t i = 40; i < 45; i++)
		add(e, i, 50, false);
	assert_int_equal(e->after, WP_STALL_AROUND);
	n = wp_stall_episode_readings(e, 0, true, r);
	assert_int_equal(n, 2 + 3 + 17 + 5);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(r[i].phase, i < 2 ? "before" : i < 22 ? "during" : "after");
	assert_int_equal(e->n_sums, 1);
	assert_int_equal(e->sums[0].count[WP_STALL_BEFORE], 200);
	assert_int_equal(e->sums[0].count[WP_STALL_DURING], 0);
	assert_int_equal(e->sums[0].count[WP_STALL_AFTER], 250);
	wp_stall_episode_view(e, 1950 * MS, 4000 * MS, &v);
	assert_true(v.tx_packets.v == 0);
	assert_true(v.carrier_down_s.v > 1.69 && v.carrier_down_s.v < 1.71);
	assert_true(v.least_queued_packets.v == 0 && v.most_queued_packets.v == 9);
	/* What flows again when it is over is no part of it. */
	wp_stall_episode_view(e, 1950 * MS, 4500 * MS, &v);
	assert_true(v.tx_packets.v == 0);
	wp_stall_episode_view(e, 2300 * MS, 4000 * MS, &v);
	assert_true(v.least_queued_packets.v == 5);
	wp_stall_episode_end(e);
	assert_int_equal(e->n_rows, 0);
}

static void a_long_stall_is_folded_and_loses_nothing(void **state)
{
	_cleanup_free_ struct wp_stall_episode *e = calloc(1, sizeof(*e));
	struct wp_stall_reading r[WP_MAX_STALL_READINGS];
	double packets = 0, last = 0;
	size_t n;

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		add(e, i, 100, false);
	wp_stall_episode_begin(e, 1000 * MS);
	for (int64_t i = 10; i < 36010; i++) /* an hour */
		add(e, i, 1, true);
	for (int64_t i = 36010; i < 36015; i++)
		add(e, i, 100, false);
	n = wp_stall_episode_readings(e, 0, false, r);
	assert_true(n > 15 && n <= WP_MAX_STALL_READINGS);
	for (size_t i = 0; i < n; i++) {
		packets += r[i].tx_packets.v;
		if (i)
			assert_true(r[i].start_s.v == last);
		last = r[i].end_s.v;
	}
	assert_int_equal((int)packets, 500 + 36000 + 500);
	assert_string_equal(r[0].phase, "before");
	assert_string_equal(r[n - 1].phase, "after");
}

/* Stalls that come and go without an end of the episode do not overflow it. */
static void flicker_is_bounded(void **state)
{
	_cleanup_free_ struct wp_stall_episode *e = calloc(1, sizeof(*e));

	(void)state;
	wp_stall_episode_begin(e, 0);
	for (int64_t i = 0; i < 1000; i++) {
		add(e, i, 1, i % 3 == 0);
		assert_true(e->n_rows <= WP_MAX_STALL_READINGS);
	}
}

/* ---- a socket whose reader stops -------------------------------------------------------------- */

struct reader {
	int fd;
	int64_t stop_ns, go_ns, end_ns; /* it does not read in between */
	int64_t stopped_ns, went_on_ns; /* when that was */
};

static void *read_with_a_pause(void *arg)
{
	static char sink[1 << 20];
	struct reader *r = arg;

	for (;;) {
		int64_t now_ns = wp_now_ns();

		if (!r->stopped_ns && now_ns >= r->stop_ns) {
			r->stopped_ns = now_ns;
			wp_sleep_until_ns(r->go_ns);
			r->went_on_ns = wp_now_ns();
		}
		if (now_ns >= r->end_ns || recv(r->fd, sink, sizeof(sink), 0) <= 0)
			return NULL;
	}
}

static void connect_pair(int *ret_client, int *ret_server)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM, 0);
	int small = 65536;

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	*ret_client = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(*ret_client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	assert_int_equal(connect(*ret_client, (struct sockaddr *)&a, sizeof(a)), 0);
	*ret_server = accept(listener, NULL, NULL);
	assert_true(*ret_server >= 0);
}

/* Sends for `run_ns` to a reader that pauses for `pause_ns` after 300 ms (0 = never). */
static void send_and_watch(int64_t stall_ns, int64_t pause_ns, int64_t run_ns, struct reader *r,
			   int64_t *ret_zero_ns, struct wp_host *host, struct wp_pool *pool)
{
	const struct wp_plan plan = { .kind = "tcp",
				      .streams = 1,
				      .duration_ns = run_ns,
				      .length_bytes = 65536,
				      .stall_ns = stall_ns };
	struct wp_stream_spec stream = { .fd = -1, .role = WP_STREAM_SENDS };
	struct wp_load_spec spec = {
		.engine = wp_engine_find("tcp"), .plan = &plan, .streams = &stream, .n_streams = 1
	};
	struct wp_stall_watch_config config = {
		.plan = &plan, .streams = &stream, .n_streams = 1, .one_flow = true
	};
	_cleanup_close_ int reading = -1;
	struct wp_stall_watch *w = NULL;
	struct wp_load *load = NULL;
	pthread_t thread;

	connect_pair(&stream.fd, &reading);
	assert_int_equal(wp_load_new(&spec, &load, NULL), 0);
	config.load = load;
	assert_int_equal(wp_stall_watch_new(&config, &w, NULL), 0);
	*ret_zero_ns = wp_now_ns();
	*r = (struct reader) { .fd = reading,
			       .stop_ns = pause_ns ? *ret_zero_ns + 300 * MS : INT64_MAX,
			       .go_ns = *ret_zero_ns + 300 * MS + pause_ns,
			       .end_ns = INT64_MAX };
	assert_int_equal(wp_stall_watch_start(w, *ret_zero_ns), 0);
	assert_int_equal(wp_stall_watch_start(w, *ret_zero_ns), -EALREADY);
	wp_load_go(load, *ret_zero_ns);
	assert_int_equal(pthread_create(&thread, NULL, read_with_a_pause, r), 0);
	wp_sleep_until_ns(*ret_zero_ns + run_ns);
	wp_stall_watch_senders_stop(w);
	wp_load_stop(load);
	wp_stall_watch_stop(w);
	(void)!wp_load_join(load, wp_now_ns() + 10 * WP_NS_PER_S);
	assert_int_equal(wp_stall_watch_result(w, host, pool), 0);
	wp_stall_watch_free(w);
	wp_load_free(load);
	wp_close_p(&stream.fd);
	pthread_join(thread, NULL);
}

static void a_reader_that_pauses_is_a_stall(void **state)
{
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	const struct wp_stall_view *v = NULL;
	struct reader r;
	int64_t zero_ns;
	double slack;

	(void)state;
	send_and_watch(200 * MS, 1000 * MS, 1800 * MS, &r, &zero_ns, &host, &pool);
	for (size_t i = 0; i < host.n_stalls; i++)
		if (strcmp(host.stalls[i].role, "process"))
			v = v && v->length_s.v > host.stalls[i].length_s.v ? v : &host.stalls[i];
	assert_non_null(v);
	assert_string_equal(v->role, "sender");
	assert_string_equal(v->flow, "1");
	assert_string_equal(v->ended, "progress");
	/* The buffers fill a moment after the reader has stopped; then it is the grain, or what the reader of the
	 * positions was late by. */
	slack = v->gap_s.v + 0.15 + (double)(r.went_on_ns - r.go_ns) / 1e9;
	assert_true(v->start_s.v > (double)(r.stopped_ns - zero_ns) / 1e9 - slack);
	assert_true(v->start_s.v < (double)(r.stopped_ns - zero_ns) / 1e9 + slack);
	assert_true(v->start_s.v + v->length_s.v > (double)(r.went_on_ns - zero_ns) / 1e9 - slack);
	/* No room for another segment: the window counts from the oldest that is not acknowledged. */
	if (wp_has(v->snd_wnd_bytes))
		assert_true(v->snd_wnd_bytes.v - v->unacked.v * v->mss_bytes.v < v->mss_bytes.v);
	assert_true(v->n_readings > 5 && v->n_readings <= WP_MAX_STALL_READINGS);
	assert_true(wp_has(host.stall_cpu_pct));
	assert_int_equal((int)host.stalls_left_out.v, 0);
	wp_pool_done(&pool);
}

static void a_healthy_stream_has_no_stall(void **state)
{
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	struct reader r;
	int64_t zero_ns;

	(void)state;
	/* Much longer than any pause that a busy machine makes. */
	send_and_watch(5000 * MS, 0, 700 * MS, &r, &zero_ns, &host, &pool);
	assert_int_equal(host.n_stalls, 0);
	wp_pool_done(&pool);
}

/* It ends while nothing moves: told as it was until then. */
static void a_stall_at_the_end_is_told(void **state)
{
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	struct reader r;
	int64_t zero_ns;

	(void)state;
	send_and_watch(100 * MS, 1500 * MS, 1200 * MS, &r, &zero_ns, &host, &pool);
	assert_true(host.n_stalls >= 1);
	assert_string_equal(host.stalls[host.n_stalls - 1].ended, "test ended");
	wp_pool_done(&pool);
}

static void the_machine_is_read(void **state)
{
	struct wp_addr local = { .v4 = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
				 .len = sizeof(struct sockaddr_in) };
	struct wp_pool pool = WP_POOL(1 << 16);
	struct wp_stall_machine *m = NULL;
	struct wp_stall_moment moment;
	size_t n;

	(void)state;
	assert_int_equal(wp_stall_machine_new(&local, -1, &m, NULL), 0);
	wp_stall_machine_read(m, &moment);
	assert_true(moment.from_ns == moment.to_ns);
	assert_int_equal(moment.interrupts + moment.net_rx, 0);
	wp_stall_machine_mark(m);
	wp_sleep_until_ns(wp_now_ns() + 20 * MS);
	wp_stall_machine_read(m, &moment);
	assert_true(moment.to_ns - moment.from_ns >= 20 * MS);
	wp_stall_machine_cells(m, &n);
	assert_true(n <= WP_STALL_CELLS);
	if (wp_stall_machine_interface(m)) {
		assert_string_equal(wp_stall_machine_interface(m), "lo");
		assert_true(moment.has_link);
		assert_null(wp_stall_machine_stuck(m, &pool));
	}
	wp_stall_machine_free(m);
	/* An address that nobody has: everything but the interface. */
	local.v4.sin_addr.s_addr = htonl(0xc0000201);
	assert_int_equal(wp_stall_machine_new(&local, -1, &m, NULL), 0);
	wp_stall_machine_read(m, &moment);
	assert_null(wp_stall_machine_interface(m));
	assert_false(moment.has_link);
	wp_stall_machine_free(m);
	wp_stall_machine_free(NULL);
	wp_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_told_with_its_times),
		cmocka_unit_test(progress_just_in_time_is_no_stall),
		cmocka_unit_test(a_late_reading_is_no_stall),
		cmocka_unit_test(the_grain_is_a_tenth),
		cmocka_unit_test(before_during_and_after_are_kept_apart),
		cmocka_unit_test(a_long_stall_is_folded_and_loses_nothing),
		cmocka_unit_test(flicker_is_bounded),
		cmocka_unit_test(a_reader_that_pauses_is_a_stall),
		cmocka_unit_test(a_healthy_stream_has_no_stall),
		cmocka_unit_test(a_stall_at_the_end_is_told),
		cmocka_unit_test(the_machine_is_read),
	};

	return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
