/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live display and the event stream, fed with made-up ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/live.h"
#include "report/stream.h"

static void to_buf(void *arg, const char *text, size_t len)
{
	assert_true(len > 0 && text[len - 1] == '\n');
	wp_buf_append(arg, text, len);
}

static struct wp_interval row(double start_s, double bits_per_second)
{
	return (struct wp_interval) {
		.start_s = wp_num(start_s),
		.end_s = wp_num(start_s + 1),
		.bytes = wp_num(bits_per_second / 8),
		.bits_per_second = wp_num(bits_per_second),
		.retransmits = wp_num(0),
		.cwnd_bytes = wp_num(1488977),
		.rtt_us = wp_num(48),
	};
}

struct fixture {
	struct wp_run run;
	struct wp_interval rows[2];
	struct wp_cpu_sample cpus[2];
	struct wp_end_tick tick;
	struct wp_buf out;
	struct wp_live *live;
};

/* `n` flows that hosts[0] sends. */
static void set_up(struct fixture *f, size_t n, struct wp_plan *plan)
{
	struct wp_live_config config = {
		.plan = plan, .n_online = 2, .same_machine = true, .write = to_buf, .arg = &f->out
	};

	memset(f, 0, sizeof(*f));
	f->out = WP_BUF(1 << 20);
	wp_run_init(&f->run);
	f->run.version = "0.1.0";
	f->run.id = "00112233445566aa";
	f->run.test.kind = plan->kind;
	f->run.test.streams = wp_num((double)n);
	f->run.flows = wp_pool_calloc(&f->run.pool, n, sizeof(*f->run.flows));
	f->run.n_flows = n;
	for (size_t i = 0; i < n; i++) {
		f->run.flows[i].id = wp_pool_printf(&f->run.pool, "%zu", i + 1);
		f->run.flows[i].role = "sender";
		f->run.flows[i].local = "10.0.0.1:1000";
		f->run.flows[i].remote = "10.0.0.2:9497";
	}
	for (size_t i = 0; i < 2; i++)
		f->cpus[i] = (struct wp_cpu_sample) { .cpu = wp_num((double)i),
						      .busy_pct = wp_num(99.6 - 2 * (double)i) };
	f->tick = (struct wp_end_tick) { f->rows, n, f->cpus, 2 };
	assert_int_equal(wp_live_new(&config, &f->live), 0);
	wp_live_start(f->live, &f->run);
}

static void tear_down(struct fixture *f)
{
	wp_live_free(f->live);
	wp_buf_done(&f->out);
	wp_run_done(&f->run);
}

static void test_heading_then_rows_then_the_report_as_one_screen(void **state)
{
	static const char want[] =
		"whyperf 0.1.0  TCP bulk  10.0.0.1:1000 -> 10.0.0.2:9497  1 stream\n"
		"[ ID] Interval           Transfer     Bitrate          Retr  Cwnd         RTT  CPU0  CPU1\n"
		"[  1]   0.00-1.00   sec   119 MBytes  1.00 Gbits/sec      0  1.42 MB    48 us  100%   98%\n"
		"[  1]   1.00-2.00   sec   238 MBytes  2.00 Gbits/sec      0  1.42 MB    48 us  100%   98%\n"
		/* From the record: the row that came too late for the screen, and the closing lines. */
		"[  1]   2.00-3.00   sec  11.9 MBytes   100 Mbits/sec      0  1.42 MB    48 us     -     -\n"
		"[  1]   0.00-2.00   sec   358 MBytes  1.50 Gbits/sec      0                      sender\n"
		"[  1]                 -            -               -                             receiver\n"
		"\n"
		"CPUs      - (no figures about CPUs in this run)\n"
		"Packets   sent -   received -   retransmitted 0\n"
		"Limits    last cwnd 1.42 MBytes\n"
		"Stored    00112233445566aa (whyperf report 001122)\n";
	struct wp_plan plan = { .kind = "tcp", .interval_ns = 1000000000 };
	struct wp_interval all[3] = { row(0, 1e9), row(1, 2e9), row(2, 1e8) };
	const struct wp_text_opts text = { 0 };
	struct wp_run_doc_opts opts = { 0 };
	struct fixture f;
	struct wp_doc doc;

	(void)state;
	set_up(&f, 1, &plan);
	for (size_t i = 0; i < 2; i++) {
		f.rows[0] = all[i];
		wp_live_tick(f.live, &f.tick);
	}
	f.run.flows[0].intervals = all;
	f.run.flows[0].n_intervals = 3;
	f.run.flows[0].sent = (struct wp_flow_end) { .bytes = wp_num(375e6),
						     .seconds = wp_num(2),
						     .bits_per_second = wp_num(1.5e9),
						     .retransmits = wp_num(0) };
	wp_live_doc_opts(f.live, &opts);
	assert_int_equal(opts.rows_printed, 2);
	wp_doc_init(&doc);
	wp_run_doc(&doc, &f.run, &opts);
	assert_int_equal(wp_doc_to_text(&doc, &text, &f.out), 0);
	assert_string_equal(wp_buf_text(&f.out), want);
	wp_doc_done(&doc);
	tear_down(&f);
}

static void test_without_ticks_the_report_has_the_tables_heading(void **state)
{
	struct wp_plan plan = { .kind = "tcp" };
	const struct wp_text_opts text = { 0 };
	struct wp_run_doc_opts opts = { 0 };
	struct fixture f;
	struct wp_doc doc;

	(void)state;
	set_up(&f, 1, &plan);
	wp_live_doc_opts(f.live, &opts);
	wp_doc_init(&doc);
	wp_run_doc(&doc, &f.run, &opts);
	assert_int_equal(wp_doc_to_text(&doc, &text, &f.out), 0);
	assert_non_null(strstr(wp_buf_text(&f.out), "\n[ ID] Interval"));
	wp_doc_done(&doc);
	tear_down(&f);
}

static void test_two_streams_have_a_sum(void **state)
{
	struct wp_plan plan = { .kind = "tcp", .streams = 2 };
	struct fixture f;

	(void)state;
	set_up(&f, 2, &plan);
	f.rows[0] = row(0, 1e9);
	f.rows[1] = row(0, 2e9);
	wp_live_tick(f.live, &f.tick);
	assert_non_null(strstr(wp_buf_text(&f.out),
			       "\n[  2]   0.00-1.00   sec   238 MBytes  2.00 Gbits/sec"));
	assert_non_null(strstr(wp_buf_text(&f.out),
			       "\n[SUM]   0.00-1.00   sec   358 MBytes  3.00 Gbits/sec"));
	tear_down(&f);
}

static void test_many_streams_only_a_sum(void **state)
{
	struct wp_plan plan = { .kind = "tcp", .streams = 17 };
	struct wp_interval rows[17];
	struct fixture f;

	(void)state;
	set_up(&f, 17, &plan);
	for (size_t i = 0; i < 17; i++)
		rows[i] = row(0, 1e9);
	f.tick.rows = rows;
	wp_live_tick(f.live, &f.tick);
	assert_null(strstr(wp_buf_text(&f.out), "[  1]"));
	assert_non_null(strstr(wp_buf_text(&f.out), "17.0 Gbits/sec"));
	tear_down(&f);
}

/* Narrow terminals lose columns, not alignment. */
static void test_narrow_terminal(void **state)
{
	struct wp_plan plan = { .kind = "tcp" };
	struct fixture f;
	struct wp_live_config config = {
		.plan = &plan, .n_online = 2, .text = { .width = 80 }, .write = to_buf
	};
	struct wp_live *live;

	(void)state;
	set_up(&f, 1, &plan);
	config.arg = &f.out;
	assert_int_equal(wp_live_new(&config, &live), 0);
	wp_live_start(live, &f.run);
	wp_buf_reset(&f.out);
	f.rows[0] = row(0, 1e9);
	wp_live_tick(live, &f.tick);
	for (const char *s = wp_buf_text(&f.out); *s; s += strcspn(s, "\n") + 1)
		assert_in_range(strcspn(s, "\n"), 40, 80);
	wp_live_free(live);
	tear_down(&f);
}

static struct wp_interval datagrams(double start_s, double packets, bool sent)
{
	struct wp_interval r = {
		.start_s = wp_num(start_s),
		.end_s = wp_num(start_s + 1),
		.bytes = wp_num(packets * 100),
		.bits_per_second = wp_num(packets * 800),
		.packets = wp_num(packets),
	};

	if (sent) {
		r.send_drops = wp_num(0);
		return r;
	}
	r.lost = wp_num(10);
	r.out_of_order = wp_num(3);
	r.duplicated = wp_num(2);
	r.jitter_us = wp_num(12);
	r.socket_drops = wp_num(4);
	return r;
}

/* While it runs each end knows its own side; afterwards all rows come again with both. */
static void test_datagrams_of_one_end_and_then_of_both(void **state)
{
	static const char live[] =
		"[ ID] Interval              Sent/s  Refused         Bitrate  CPU0  CPU1\n"
		"[  1]   0.00-1.00   sec      1,000        0   800 Kbits/sec  100%   98%\n"
		"[  1]   1.00-2.00   sec      1,000        0   800 Kbits/sec  100%   98%\n";
	static const char report[] =
		"The same at both ends:\n"
		"[ ID] Interval              Sent/s  Received/s         Bitrate    Lost      %  Order  Twice   Jitter  Socket\n"
		"[  1]   0.00-1.00   sec      1,000         990   792 Kbits/sec      10  1.00%      3      2    12 us       4\n"
		"[  1]   1.00-2.00   sec      1,000         995   796 Kbits/sec      20  1.98%      6      4    12 us       8\n"
		"- - - - - - - - - - - - - - - - - - - - - - - - -\n"
		"[  1]   0.00-2.00   sec      1,000         993   794 Kbits/sec       -      -      -      -        -       -\n";
	struct wp_plan plan = { .kind = "udp", .transport = WP_UDP, .interval_ns = 1000000000 };
	/* The last one is what was still on its way. */
	struct wp_interval mine[2] = { datagrams(0, 1000, true), datagrams(1, 1000, true) };
	struct wp_interval theirs[3] = { datagrams(0, 990, false), datagrams(1, 990, false),
					 datagrams(2, 5, false) };
	const struct wp_text_opts text = { 0 };
	struct wp_run_doc_opts opts = { 0 };
	struct fixture f;
	struct wp_doc doc;

	(void)state;
	theirs[2].end_s = wp_num(2);
	theirs[2].start_s = wp_num(1.99);
	theirs[1].end_s = wp_num(1.99);
	set_up(&f, 1, &plan);
	wp_buf_reset(&f.out);
	for (size_t i = 0; i < 2; i++) {
		f.rows[0] = mine[i];
		wp_live_tick(f.live, &f.tick);
	}
	assert_string_equal(wp_buf_text(&f.out), live);
	f.run.flows[0].intervals = mine;
	f.run.flows[0].n_intervals = 2;
	f.run.flows[0].peer_intervals = theirs;
	f.run.flows[0].n_peer_intervals = 3;
	f.run.flows[0].sent = (struct wp_flow_end) { .bytes = wp_num(200000),
						     .packets = wp_num(2000),
						     .seconds = wp_num(2),
						     .bits_per_second = wp_num(800000) };
	f.run.flows[0].received = (struct wp_flow_end) { .bytes = wp_num(198500),
							 .packets = wp_num(1985),
							 .seconds = wp_num(2),
							 .bits_per_second = wp_num(794000) };
	wp_live_doc_opts(f.live, &opts);
	wp_buf_reset(&f.out);
	wp_doc_init(&doc);
	wp_run_doc(&doc, &f.run, &opts);
	assert_int_equal(wp_doc_to_text(&doc, &text, &f.out), 0);
	if (strncmp(wp_buf_text(&f.out), report, strlen(report)) != 0)
		fail_msg("%s", wp_buf_text(&f.out));
	wp_doc_done(&doc);
	tear_down(&f);
}

static void test_transactions_have_no_stream_number(void **state)
{
	static const char want[] =
		"Interval             Trans/s       p50       p99       max  Timeouts  CPU0  CPU1\n"
		"  0.00-1.00   sec     12,345     22 us    110 us   5.22 ms         7  100%   98%\n";
	struct wp_plan plan = { .kind = "rr", .transport = WP_UDP };
	struct fixture f;

	(void)state;
	set_up(&f, 1, &plan);
	wp_buf_reset(&f.out);
	f.rows[0] = (struct wp_interval) { .start_s = wp_num(0),
					   .end_s = wp_num(1),
					   .transactions = wp_num(12345),
					   .timeouts = wp_num(7),
					   .latency_p50_us = wp_num(22),
					   .latency_p99_us = wp_num(110),
					   .latency_max_us = wp_num(5218) };
	wp_live_tick(f.live, &f.tick);
	assert_string_equal(wp_buf_text(&f.out), want);
	tear_down(&f);
}

static const char *event_name(json_t *e)
{
	return json_string_value(json_object_get(e, "event"));
}

static void test_events(void **state)
{
	struct wp_plan plan = { .kind = "tcp", .streams = 2 };
	struct wp_buf line _cleanup_buf_ = WP_BUF(WP_JSON_MAX_BYTES);
	struct fixture f;
	json_t *start, *interval, *end, *error, *data;

	(void)state;
	set_up(&f, 2, &plan);
	f.rows[0] = row(0, 1e9);
	f.rows[1] = row(0, 2e9);
	start = wp_event_start(&f.run);
	interval = wp_event_interval(&f.run, &f.tick);
	end = wp_event_end(&f.run);
	error = wp_event_error("it \xff failed", 1);
	assert_string_equal(event_name(start), "start");
	assert_string_equal(event_name(interval), "interval");
	assert_string_equal(event_name(end), "end");
	assert_string_equal(event_name(error), "error");
	data = json_object_get(start, "data");
	assert_string_equal(json_string_value(json_object_get(data, "schema")), WP_RUN_SCHEMA);
	assert_int_equal(json_array_size(json_object_get(data, "flows")), 2);
	data = json_object_get(interval, "data");
	assert_int_equal(json_array_size(json_object_get(data, "flows")), 2);
	assert_int_equal(json_array_size(json_object_get(data, "cpus")), 2);
	assert_true(json_number_value(
			    json_object_get(json_object_get(json_object_get(data, "sum"), "sent"),
					    "bits_per_second")) == 3e9);
	assert_int_equal(wp_json_line(interval, &line), 0);
	assert_int_equal(strcspn(wp_buf_text(&line), "\n") + 1, line.len);
	json_decref(start);
	json_decref(end);
	json_decref(error);
	tear_down(&f);
}

/* Sums hold what adds up, and nothing that does not. */
static void test_events_of_datagrams(void **state)
{
	struct wp_plan plan = { .kind = "udp", .transport = WP_UDP, .streams = 2 };
	json_t *interval, *sum;
	struct fixture f;

	(void)state;
	set_up(&f, 2, &plan);
	f.run.flows[0].role = f.run.flows[1].role = "receiver";
	f.rows[0] = f.rows[1] = datagrams(0, 990, false);
	interval = wp_event_interval(&f.run, &f.tick);
	sum = json_object_get(json_object_get(interval, "data"), "sum");
	assert_null(json_object_get(sum, "sent"));
	sum = json_object_get(sum, "received");
	assert_int_equal(json_number_value(json_object_get(sum, "packets")), 1980);
	assert_int_equal(json_number_value(json_object_get(sum, "lost")), 20);
	assert_int_equal(json_number_value(json_object_get(sum, "out_of_order")), 6);
	assert_int_equal(json_number_value(json_object_get(sum, "socket_drops")), 8);
	assert_true(json_is_null(json_object_get(sum, "jitter_us")));
	assert_null(json_object_get(sum, "transactions"));
	json_decref(interval);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heading_then_rows_then_the_report_as_one_screen),
		cmocka_unit_test(test_without_ticks_the_report_has_the_tables_heading),
		cmocka_unit_test(test_two_streams_have_a_sum),
		cmocka_unit_test(test_many_streams_only_a_sum),
		cmocka_unit_test(test_narrow_terminal),
		cmocka_unit_test(test_datagrams_of_one_end_and_then_of_both),
		cmocka_unit_test(test_transactions_have_no_stream_number),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_of_datagrams),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
