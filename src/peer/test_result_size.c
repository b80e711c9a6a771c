/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The largest result that a server can have, of 2,000 flows for as long as one likes and of many CPUs, is one message: its
 * rows are bounded so that they need not be left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "model/json.h"
#include "observe/endpoint.h"
#include "observe/flow_watch.h"
#include "peer/limits.h"

#define LONGEST_WHY "this kernel's TCP_INFO has no such field"
#define LONG_NUMBER (-123456789.0 / 7) /* with every digit that is sent */
#define CPUS        512                /* a large machine */
#define COUNTERS    1000

static struct wp_num some(bool absent)
{
	return absent ? wp_absent(LONGEST_WHY) : wp_num(LONG_NUMBER);
}

/* Every number of a struct by the metric table, but for those that only a test of one flow has; texts stay NULL. */
static void fill(enum wp_scope scope, void *base, bool absent)
{
	for (size_t i = 0; i < wp_n_metrics; i++) {
		const struct wp_metric *m = &wp_metrics[i];

		if (m->scope == scope && !m->optional &&
		    (m->kind == WP_COUNTER || m->kind == WP_GAUGE)) {
			struct wp_num n = some(absent);

			memcpy((char *)base + m->offset, &n, sizeof(n));
		}
	}
}

static size_t json_size(json_t *json)
{
	size_t n = json ? json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(12)) : 0;

	json_decref(json);
	return n;
}

/* A row of numbers with all their digits. */
static size_t row_size(enum wp_scope scope, size_t size)
{
	max_align_t row[64] = { 0 };
	json_t *obj = json_object();

	assert_true(size <= sizeof(row));
	fill(scope, row, false);
	assert_int_equal(wp_fields_to_json(scope, row, obj), 0);
	return json_size(obj) + 1;
}

/* Gives what a row has, or could have instead of its reason, all digits; what its kind of test leaves out stays so. */
static size_t kind_size(const struct wp_interval *row, bool reasons)
{
	struct wp_interval full = *row;
	json_t *obj = json_object();

	for (size_t i = 0; i < wp_n_metrics; i++) {
		struct wp_num *n = (struct wp_num *)(void *)((char *)&full + wp_metrics[i].offset);

		if (wp_metrics[i].scope == WP_SCOPE_INTERVAL && (n->why || wp_has(*n)) &&
		    !(reasons && n->why))
			*n = wp_num(LONG_NUMBER);
	}
	assert_int_equal(wp_fields_to_json(WP_SCOPE_INTERVAL, &full, obj), 0);
	return json_size(obj) + 1;
}

/* The largest row that an end makes of a flow, with its own reasons for what it can't know. Transactions have one flow. */
static size_t interval_size(void)
{
	static const struct {
		unsigned caps;
		struct wp_plan plan;
	} kinds[] = {
		{ WP_ENGINE_SOCKETS, { .transport = WP_TCP } },
		{ WP_ENGINE_DATAGRAMS, { .transport = WP_UDP, .length_bytes = 1 } },
	};
	size_t most = 0;

	for (size_t k = 0; k < WP_ARRAY_SIZE(kinds) * 4; k++) {
		const struct wp_stream_spec stream = { .fd = -1,
						       .role = k & 1 ? WP_STREAM_RECEIVES
								     : WP_STREAM_SENDS };
		const struct wp_flow_spec spec = { .plan = &kinds[k / 4].plan,
						   .caps = kinds[k / 4].caps,
						   .stream = &stream,
						   .n_streams = 1,
						   .rows = 16 };
		struct wp_flow_reading now = { .now_ns = 7 };
		struct wp_flow_watch w;
		struct wp_interval row;

		assert_int_equal(wp_flow_watch_init(&w, &spec), 0);
		wp_flow_watch_start(&w, &now);
		now.count.bytes = 123456789;
		now.now_ns = 86400123456789;
		row = wp_flow_watch_row(&w, &now, false, k & 2);
		for (int reasons = 0; reasons < 2; reasons++) {
			size_t n = kind_size(&row, reasons);

			most = n > most ? n : most;
		}
		wp_flow_watch_done(&w);
	}
	return most;
}

static size_t flow_size(size_t n_rows)
{
	static const char endpoint[] = "[fe80:1111:2222:3333:4444:5555:6666:7777%interface0]:65535";
	struct wp_flow f = { 0 };

	fill(WP_SCOPE_FLOW, &f, true);
	f.id = "2000";
	f.local = f.remote = endpoint;
	f.role = "receiver";
	f.congestion = "a_congestion_cc";
	f.note = "the kernel copied all of 123456789012 zero-copy sends";
	return json_size(wp_flow_to_json(&f)) + 1 + n_rows * interval_size();
}

/* As many stalls as an end describes, those in detail with all their readings and lines. */
static size_t stalls_size(void)
{
	struct wp_stall_view v = { .role = "receiver", .flow = "2000" };
	json_t *obj = json_object();

	fill(WP_SCOPE_STALL_VIEW, &v, true);
	assert_int_equal(wp_fields_to_json(WP_SCOPE_STALL_VIEW, &v, obj), 0);
	return WP_MAX_STALLS * (json_size(obj) + 300) +
	       WP_STALLS_IN_DETAIL *
		       (WP_MAX_STALL_READINGS *
				row_size(WP_SCOPE_STALL_READING, sizeof(struct wp_stall_reading)) +
			WP_MAX_STALL_LINES *
				(row_size(WP_SCOPE_STALL_LINE, sizeof(struct wp_stall_line)) + 80));
}

static size_t host_size(void)
{
	static struct wp_cpu_use cpus[CPUS];
	static struct wp_count counts[COUNTERS];
	struct wp_host h = { .role = "server", .cpus = cpus, .n_cpus = CPUS };

	for (size_t i = 0; i < CPUS; i++)
		fill(WP_SCOPE_CPU, &cpus[i], true);
	for (size_t i = 0; i < COUNTERS; i++)
		counts[i] = (struct wp_count) { "TcpExtTCPFastOpenActiveFail",
						"net/dev:abcdefghijklmno", LONG_NUMBER };
	h.counts = counts;
	h.n_counts = COUNTERS;
	fill(WP_SCOPE_HOST, &h, true);
	return json_size(wp_host_to_json(&h)) + stalls_size() +
	       WP_MAX_CPU_SAMPLE_ROWS * row_size(WP_SCOPE_CPU_SAMPLE, sizeof(struct wp_cpu_sample));
}

static void the_largest_result_is_one_message(void **state)
{
	static const size_t flows[] = { 1, 2, 7, 16, 100, 999, 1000, 1999, 2000 };
	size_t host = host_size();

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(flows); i++) {
		size_t rows = wp_end_rows_per_flow(flows[i]);
		size_t bytes = flows[i] * flow_size(rows) + host;

		assert_true(rows >= 16);
		assert_true(flows[i] * rows <= WP_MAX_INTERVAL_ROWS / 2);
		print_message("# %zu flows of %zu rows: %.1f MiB\n", flows[i], rows,
			      (double)bytes / (1 << 20));
		assert_true(bytes < WP_PEER_RESULT_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_result_is_one_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
