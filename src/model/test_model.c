/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metric table, the record's way to JSON and back, interval folding and the plan's bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "model/json.h"
#include "model/plan.h"
#include "model/series.h"

static void every_metric_is_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < wp_n_metrics; i++) {
		const struct wp_metric *m = &wp_metrics[i];

		assert_non_null(m->name);
		assert_true(strlen(m->name) > 0 && strlen(m->name) < 64);
		assert_non_null(m->unit);
		assert_non_null(m->source);
		assert_non_null(m->help);
		assert_true(m->scope < WP_SCOPE_N);
		for (const char *c = m->name; *c; c++)
			assert_true((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
				    *c == '_' || *c == '.');
		for (size_t j = 0; j < i; j++) {
			bool same_scope = wp_metrics[j].scope == m->scope;

			assert_false(same_scope && !strcmp(wp_metrics[j].name, m->name));
			assert_false(same_scope && wp_metrics[j].offset == m->offset);
		}
		assert_ptr_equal(wp_metric_find(m->scope, m->name), m);
	}
}

/* DESIGN section 7: a key that ends in a unit says that unit. */
static void a_key_with_a_unit_has_that_unit(void **state)
{
	static const struct {
		const char *suffix, *unit;
	} units[] = {
		{ "_pct", "%" }, { "_bytes", "bytes" }, { "_us", "us" }, { "_bps", "bit/s" }
	};

	(void)state;
	for (size_t i = 0; i < wp_n_metrics; i++)
		for (size_t u = 0; u < WP_ARRAY_SIZE(units); u++) {
			size_t n = strlen(wp_metrics[i].name), k = strlen(units[u].suffix);

			if (n < k || strcmp(wp_metrics[i].name + n - k, units[u].suffix))
				continue;
			assert_string_equal(wp_metrics[i].unit, units[u].unit);
		}
}

static void absent_is_null_with_a_reason(void **state)
{
	struct wp_cpu_use cpu = { .cpu = wp_num(3),
				  .busy_pct = wp_absent("no /proc/stat"),
				  .net_rx = wp_num(7) };
	json_t *obj = json_object();

	(void)state;
	assert_int_equal(wp_fields_to_json(WP_SCOPE_CPU, &cpu, obj), 0);
	assert_int_equal(json_integer_value(json_object_get(obj, "cpu")), 3);
	assert_true(json_is_null(json_object_get(obj, "busy_pct")));
	assert_string_equal(json_string_value(json_object_get(obj, "busy_pct_why")),
			    "no /proc/stat");
	assert_true(
		json_is_null(json_object_get(obj, "user_pct"))); /* forgotten is absent, not 0 */
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(obj, "softirqs"), "net_rx")), 7);
	json_decref(obj);
}

/* Fills every field of a scope with a different value. */
static void fill_scope(enum wp_scope scope, void *base, struct wp_pool *pool)
{
	for (size_t i = 0; i < wp_n_metrics; i++) {
		char *field = (char *)base + wp_metrics[i].offset;

		if (wp_metrics[i].scope != scope)
			continue;
		if (wp_metrics[i].kind == WP_LABEL) {
			*(const char **)(void *)field = wp_pool_printf(pool, "text %zu", i);
		} else if (wp_metrics[i].kind == WP_LIST) {
			struct wp_ints *l = (void *)field;

			l->v = wp_pool_calloc(pool, 2, sizeof(int));
			l->v[0] = (int)i;
			l->n = 2;
		} else {
			*(struct wp_num *)(void *)field =
				i % 3 ? wp_num((double)i + 0.5) : wp_absent("not measured");
		}
	}
}

static void fill_stalls(struct wp_run *run)
{
	struct wp_host *h = &run->hosts[1];

	h->stalls = wp_pool_calloc(&run->pool, 2, sizeof(*h->stalls));
	h->n_stalls = 2;
	for (size_t i = 0; i < 2; i++) {
		struct wp_stall_view *v = &h->stalls[i];

		fill_scope(WP_SCOPE_STALL_VIEW, v, &run->pool);
		v->readings = wp_pool_calloc(&run->pool, 3, sizeof(*v->readings));
		v->lines = wp_pool_calloc(&run->pool, 1, sizeof(*v->lines));
		v->n_readings = 3;
		v->n_lines = i;
		fill_scope(WP_SCOPE_STALL_READING, &v->readings[2], &run->pool);
		fill_scope(WP_SCOPE_STALL_LINE, v->lines, &run->pool);
	}
	run->stalls = wp_pool_calloc(&run->pool, 1, sizeof(*run->stalls));
	run->n_stalls = 1;
	fill_scope(WP_SCOPE_STALL, run->stalls, &run->pool);
}

static void a_record_survives_json(void **state)
{
	struct wp_run run, back;
	struct wp_err err = { 0 };
	json_t *one, *two;
	static const char *command[] = { "whyperf", "tcp", "lab" };

	(void)state;
	wp_run_init(&run);
	run.id = "0123456789abcdef";
	run.started = "2026-11-30T17:20:05.123Z";
	run.version = "0.1.0";
	run.command = command;
	run.n_command = 3;
	run.n_hosts = 2;
	fill_scope(WP_SCOPE_TEST, &run.test, &run.pool);
	fill_scope(WP_SCOPE_TOTAL, &run.total, &run.pool);
	fill_scope(WP_SCOPE_LEDGER, &run.ledger, &run.pool);
	for (int i = 0; i < 2; i++) {
		struct wp_host *h = &run.hosts[i];

		fill_scope(WP_SCOPE_HOST, h, &run.pool);
		fill_scope(WP_SCOPE_INVENTORY, &h->inventory, &run.pool);
		h->cpus = wp_pool_calloc(&run.pool, 1, sizeof(*h->cpus));
		h->threads = wp_pool_calloc(&run.pool, 1, sizeof(*h->threads));
		h->counts = wp_pool_calloc(&run.pool, 1, sizeof(*h->counts));
		h->n_cpus = h->n_threads = h->n_counts = 1;
		h->counts[0] = (struct wp_count) { "TcpRetransSegs", "net/snmp", 12 };
		fill_scope(WP_SCOPE_CPU, h->cpus, &run.pool);
		fill_scope(WP_SCOPE_THREAD, h->threads, &run.pool);
	}
	fill_stalls(&run);
	run.flows = wp_pool_calloc(&run.pool, 1, sizeof(*run.flows));
	run.n_flows = 1;
	fill_scope(WP_SCOPE_FLOW, run.flows, &run.pool);
	fill_scope(WP_SCOPE_END, &run.flows->sent, &run.pool);
	run.flows->intervals = wp_pool_calloc(&run.pool, 2, sizeof(struct wp_interval));
	run.flows->n_intervals = 2;
	fill_scope(WP_SCOPE_INTERVAL, &run.flows->intervals[1], &run.pool);
	run.flows->pauses = wp_pool_calloc(&run.pool, 1, sizeof(struct wp_pause_view));
	run.flows->n_pauses = 1;
	fill_scope(WP_SCOPE_PAUSE, run.flows->pauses, &run.pool);
	run.findings = wp_pool_calloc(&run.pool, 1, sizeof(*run.findings));
	run.n_findings = 1;
	run.findings[0] =
		(struct wp_finding) { .rule = "sender_cpu",
				      .confidence = "high",
				      .says = "CPU 0 is the limit",
				      .share_pct = 90,
				      .n_evidence = 1,
				      .n_advice = 1,
				      .evidence = { { "busy_pct", "%", "/proc/stat", 99.8 } },
				      .advice = { "whyperf tcp lab --cpu 1" } };
	wp_run_warn(&run, "a warning with %d", 7);

	one = wp_run_to_json(&run);
	assert_non_null(one);
	assert_int_equal(wp_run_from_json(one, &back, &err), 0);
	two = wp_run_to_json(&back);
	assert_true(json_equal(one, two));
	assert_string_equal(back.hosts[1].counts[0].name, "TcpRetransSegs");
	assert_int_equal(back.n_stalls, 1);
	assert_int_equal(back.hosts[0].n_stalls, 0);
	assert_int_equal(back.hosts[1].n_stalls, 2);
	assert_int_equal(back.hosts[1].stalls[0].n_readings, 3);
	assert_int_equal(back.hosts[1].stalls[0].n_lines, 0);
	assert_string_equal(back.hosts[1].stalls[1].lines[0].name,
			    run.hosts[1].stalls[1].lines[0].name);
	assert_string_equal(back.warnings[0], "a warning with 7");
	json_decref(one);
	json_decref(two);
	wp_run_done(&run);
	wp_run_done(&back);
}

static void a_hostile_record_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "{}", "not a run record" },
		{ "{\"schema\":\"whyperf.run/9\"}", "not a run record" },
		{ "{\"schema\":\"whyperf.run/1\",\"hosts\":[{},{},{}]}", "at most 2 hosts" },
		{ "{\"schema\":\"whyperf.run/1\",\"hosts\":[7]}", "not an object" },
		{ "{\"schema\":\"whyperf.run/1\",\"flows\":7}", "not an array" },
		{ "{\"schema\":\"whyperf.run/1\",\"total\":{\"sent_bps\":\"fast\"}}",
		  "total.sent_bps is not a number" },
		{ "{\"schema\":\"whyperf.run/1\",\"test\":{\"kind\":7}}",
		  "test.kind is not a string" },
		{ "{\"schema\":\"whyperf.run/1\",\"hosts\":[{\"counters\":[{}]}]}", "no name" },
		{ "{\"schema\":\"whyperf.run/1\",\"findings\":[{}]}", "lacks rule" },
		{ "{\"schema\":\"whyperf.run/1\",\"stalls\":{}}", "stalls is not an array" },
		{ "{\"schema\":\"whyperf.run/1\",\"hosts\":[{\"stalls\":[{}]}]}",
		  "lacks its role" },
		{ "{\"schema\":\"whyperf.run/1\",\"hosts\":[{\"stalls\":[{\"role\":\"sender\","
		  "\"lines\":[7]}]}]}",
		  "not an object" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		json_t *j = json_loads(cases[i].text, 0, NULL);
		struct wp_err err = { 0 };
		struct wp_run run;

		assert_non_null(j);
		assert_int_equal(wp_run_from_json(j, &run, &err), -EPROTO);
		assert_non_null(strstr(err.msg, cases[i].says));
		json_decref(j);
	}
}

static struct wp_interval row(int second, double bytes, bool omitted)
{
	return (struct wp_interval) { .start_s = wp_num(second),
				      .end_s = wp_num(second + 1),
				      .omitted = wp_num(omitted),
				      .bytes = wp_num(bytes),
				      .bits_per_second = wp_num(bytes * 8),
				      .min_rtt_us = wp_num(100 - second % 7),
				      .cwnd_bytes = wp_num(second) };
}

/* Buckets travel as JSON and come back as the histogram that they were taken from. */
static void a_distribution_survives_json(void **state)
{
	struct wp_hist before, after;
	struct wp_host host = { 0 }, back;
	struct wp_err err = { 0 };
	struct wp_pool pool = WP_POOL(1 << 22);
	json_t *j, *row;

	(void)state;
	assert_int_equal(wp_hist_init(&before, WP_RECORD_HIST_BITS, NULL), 0);
	for (uint64_t i = 1; i < 5000; i++)
		wp_hist_add(&before, i * i * 7);
	host.histograms = wp_pool_calloc(&pool, 1, sizeof(*host.histograms));
	host.n_histograms = 1;
	assert_int_equal(wp_histogram_from(&before, "latency", host.histograms, &pool), 0);
	j = wp_host_to_json(&host);
	assert_int_equal(wp_host_from_json(j, &back, &pool, &err), 0);
	assert_non_null(wp_host_histogram(&back, "latency"));
	assert_null(wp_host_histogram(&back, "delay"));
	assert_int_equal(wp_histogram_load(&back.histograms[0], &after), 0);
	assert_true(after.n == before.n && after.min == before.min && after.max == before.max);
	assert_memory_equal(after.bucket, before.bucket,
			    WP_HIST_BUCKETS(WP_RECORD_HIST_BITS) * sizeof(*after.bucket));
	row = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "histograms"), 0), "buckets"), 3);
	json_array_set_new(row, 0, json_integer(0)); /* no longer ascending */
	assert_int_equal(wp_host_from_json(j, &back, &pool, &err), -EPROTO);
	json_decref(j);
	wp_hist_done(&before);
	wp_hist_done(&after);
	wp_pool_done(&pool);
}

static void a_long_series_is_folded_and_loses_nothing(void **state)
{
	struct wp_series s;
	double bytes = 0, end = 0, warm = 0;

	(void)state;
	assert_int_equal(wp_series_init(&s, 64), 0);
	for (int i = 0; i < 86400; i++) {
		struct wp_interval r = row(i, i, i < 3);

		wp_series_add(&s, &r);
	}
	wp_series_finish(&s);
	assert_true(s.n <= 64);
	assert_true(s.folds > 0);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(s.rows[i].start_s.v == end); /* no gap, no overlap */
		end = s.rows[i].end_s.v;
		bytes += s.rows[i].bytes.v;
		warm += s.rows[i].omitted.v > 0 ? s.rows[i].bytes.v : 0;
		assert_true(s.rows[i].bits_per_second.v ==
			    s.rows[i].bytes.v * 8 / (s.rows[i].end_s.v - s.rows[i].start_s.v));
	}
	assert_true(end == 86400);
	assert_true(bytes == 86399.0 * 86400 / 2);
	assert_true(warm == 0 + 1 + 2);
	assert_true(s.rows[s.n - 1].min_rtt_us.v == 94);
	wp_series_done(&s);
	assert_int_equal(wp_series_init(&s, 3), -EINVAL);
}

/* 24 h at 0.01 s into the fewest rows that a flow has, with TCP_INFO in every eleventh row only. */
static void a_day_of_the_shortest_rows_fits_into_sixteen(void **state)
{
	struct wp_series s;
	double packets = 0, bytes = 0;
	const struct wp_interval *rows;

	(void)state;
	assert_int_equal(wp_series_init(&s, 16), 0);
	rows = s.rows;
	for (int i = 0; i < 8640000; i++) {
		struct wp_interval r = row(i, 1, false);

		r.packets = r.snd_wnd_bytes = wp_absent("not this one");
		if (i % 11 == 10 || i == 8639999)
			r.packets = wp_num(i == 8639999 ? 8640000 % 11 : 11);
		if (i % 11 == 10)
			r.snd_wnd_bytes = wp_num(i);
		wp_series_add(&s, &r);
		assert_true(s.n <= 16 && s.rows == rows);
	}
	wp_series_finish(&s);
	for (size_t i = 0; i < s.n; i++) {
		bytes += s.rows[i].bytes.v;
		packets += s.rows[i].packets.v;
	}
	assert_true(bytes == 8640000);
	assert_true(packets == 8640000);
	assert_true(s.rows[s.n - 1].snd_wnd_bytes.v == 8639999 - (8639999 % 11) - 1);
	wp_series_done(&s);
}

static struct wp_plan good_plan(void)
{
	return (struct wp_plan) { .kind = "tcp",
				  .streams = 1,
				  .duration_ns = WP_NS_PER_S,
				  .length_bytes = 4096,
				  .dscp = -1,
				  .family = AF_UNSPEC };
}

static void stream_limits_add_up(void **state)
{
	static const uint64_t limits[] = {
		1000, 1001, 7, 4096 * 3, 4096 * 7 + 5, 123456789, UINT64_C(1) << 50
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(limits); i++)
		for (unsigned streams = 1; streams <= 7; streams++) {
			struct wp_plan p = good_plan();
			uint64_t sum = 0;

			p.limit_bytes = limits[i];
			p.streams = streams;
			for (unsigned s = 0; s < streams; s++) {
				assert_true(wp_plan_stream_limit(&p, s) > 0);
				sum += wp_plan_stream_limit(&p, s);
			}
			assert_true(sum == limits[i]);
		}
}

static void bad_plans_get_a_sentence(void **state)
{
	struct wp_plan p;
	struct wp_err err;

#define REFUSED(change, words)                                      \
	do {                                                        \
		p = good_plan();                                    \
		change;                                             \
		memset(&err, 0, sizeof(err));                       \
		assert_int_equal(wp_plan_check(&p, &err), -EINVAL); \
		assert_non_null(strstr(err.msg, words));            \
	} while (0)
	(void)state;
	p = good_plan();
	assert_int_equal(wp_plan_check(&p, &err), 0);
	REFUSED(p.kind = "tpc", "unknown kind");
	REFUSED(p.streams = 0, "between 1 and 1000");
	REFUSED(p.streams = 1001, "between 1 and 1000");
	REFUSED(p.length_bytes = 0, "write size");
	REFUSED(p.length_bytes = (64u << 20) + 1, "write size");
	REFUSED(p.duration_ns = 0, "no end");
	REFUSED(p.duration_ns = -1, "duration");
	REFUSED(p.omit_ns = -1, "warm-up");
	REFUSED((p.limit_bytes = 5, p.omit_ns = 1), "exclude");
	REFUSED(p.interval_ns = 9999999, "0.01 s");
	REFUSED(p.stall_ns = 49999999, "--stall");
	REFUSED(p.stall_ns = -1, "--stall");
	REFUSED(p.stall_ns = 3601 * WP_NS_PER_S, "--stall");
	REFUSED((p.streams = 9, p.limit_bytes = 5), "can't be shared");
	REFUSED(p.mss_bytes = 40000, "segment size");
	REFUSED(p.dscp = 64, "DSCP");
	REFUSED(p.congestion = "a-name-that-is-too-long", "congestion control");
	REFUSED(p.check = true, "--fill pattern");
	REFUSED((p.check = true, p.fill = WP_FILL_PATTERN, p.receive_method = WP_RECEIVE_DISCARD),
		"--rx-discard");
	REFUSED(p.family = 77, "family");
	REFUSED(p.direction = 9, "unknown direction");
#undef REFUSED
}

static void the_other_end_completes_a_flow(void **state)
{
	struct wp_interval row = { .bytes = wp_num(5) };
	struct wp_flow mine = { .role = "receiver",
				.received.bytes = wp_num(10),
				.mss_bytes = wp_num(1448) };
	struct wp_flow theirs = { .role = "sender",
				  .congestion = "cubic",
				  .sent.bytes = wp_num(11),
				  .received.bytes = wp_absent("not the receiver"),
				  .mss_bytes = wp_num(9999),
				  .busy_pct = wp_num(50),
				  .intervals = &row,
				  .n_intervals = 1 };

	(void)state;
	wp_flow_merge_peer(&mine, &theirs);
	assert_string_equal(mine.role, "receiver");
	assert_string_equal(mine.congestion, "cubic");
	assert_true(mine.mss_bytes.v == 1448 && mine.busy_pct.v == 50);
	assert_true(mine.sent.bytes.v == 11 && mine.received.bytes.v == 10);
	assert_int_equal(mine.n_intervals, 0);
	assert_ptr_equal(mine.peer_intervals, &row);
}

/* Ten of 100 never came, the last four after everything else: the receiver counts six. */
static void losses_at_the_very_end_are_settled(void **state)
{
	(void)state;
	for (int here = 0; here < 2; here++) {
		struct wp_interval rows[2] = { { .lost = wp_num(7) }, { .lost = wp_num(-2) } };
		struct wp_flow f = { .role = here ? "receiver" : "sender",
				     .sent.all_packets = wp_num(100),
				     .received = { .all_packets = wp_num(95),
						   .all_duplicated = wp_num(3),
						   .all_late = wp_num(2),
						   .all_lost = wp_num(6),
						   .lost = wp_num(5) } };
		struct wp_flow before;

		if (here) {
			f.intervals = rows;
			f.n_intervals = 2;
		} else {
			f.peer_intervals = rows;
			f.n_peer_intervals = 2;
		}
		wp_flow_settle_losses(&f);
		assert_true(f.received.all_lost.v == 10 && f.received.lost.v == 9);
		assert_true(rows[0].lost.v == 7 && rows[1].lost.v == 2);
		before = f;
		wp_flow_settle_losses(&f); /* once and for all */
		assert_memory_equal(&f, &before, sizeof(f));
	}
}

static void what_is_no_loss_is_not_settled(void **state)
{
	struct wp_flow tcp = { .role = "sender",
			       .sent.all_packets = wp_num(100),
			       .received.all_packets = wp_num(90),
			       .received.all_lost = wp_absent("not counted by TCP") };
	struct wp_flow more = { .role = "sender", /* duplicates that have no number */
				.sent.all_packets = wp_num(100),
				.received.all_packets = wp_num(120),
				.received.all_lost = wp_num(0) };
	struct wp_flow alone = { .role = "sender", .sent.all_packets = wp_num(100) };

	(void)state;
	wp_flow_settle_losses(&tcp);
	assert_false(wp_has(tcp.received.all_lost));
	wp_flow_settle_losses(&more);
	assert_true(more.received.all_lost.v == 0);
	wp_flow_settle_losses(&alone);
	assert_false(wp_has(alone.received.all_lost));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_is_well_formed),
		cmocka_unit_test(a_key_with_a_unit_has_that_unit),
		cmocka_unit_test(absent_is_null_with_a_reason),
		cmocka_unit_test(a_record_survives_json),
		cmocka_unit_test(a_hostile_record_is_refused),
		cmocka_unit_test(a_distribution_survives_json),
		cmocka_unit_test(a_long_series_is_folded_and_loses_nothing),
		cmocka_unit_test(a_day_of_the_shortest_rows_fits_into_sixteen),
		cmocka_unit_test(the_other_end_completes_a_flow),
		cmocka_unit_test(losses_at_the_very_end_are_settled),
		cmocka_unit_test(what_is_no_loss_is_not_settled),
		cmocka_unit_test(stream_limits_add_up),
		cmocka_unit_test(bad_plans_get_a_sentence),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
