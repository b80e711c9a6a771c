/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every rule alone: a record in which it says yes, one in which it is close and says no, one that lacks its figures.
 * And the table: well formed, in the metrics' own words, and the same as docs/rules.md. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "explain/explain.h"
#include "explain/say.h"
#include "explain/testplanted.h"

/* ---- changes that make the answer no ---------------------------------------------------------- */

static void base(struct test_run *t)
{
	(void)t;
}

static void nearly_full(struct test_run *t)
{
	t->sender.on_cpu = t->receiver.on_cpu = 94;
	t->cpu[0].busy = t->cpu[1].busy = 94.5;
}

static void one_cpu_idle(struct test_run *t)
{
	t->receiver.cpu = 0;
	t->sender.on_cpu = t->receiver.on_cpu = 20;
	t->cpu[0].busy = 45;
}

static void small_delay(struct test_run *t)
{
	t->sender.delay = t->receiver.delay = 4.9;
}

static void small_writes_idle(struct test_run *t)
{
	t->sender.call_bytes = 256;
}

static void small_writes_one_cpu(struct test_run *t)
{
	small_writes(t);
	t->receiver.cpu = 0;
	t->sender.on_cpu = 56;
	t->sender.delay = 44;
	t->receiver.on_cpu = 43;
	t->receiver.delay = 44;
}

static void small_writes_blocked(struct test_run *t)
{
	small_writes(t);
	t->sender.on_cpu = 50;
	t->receiver.delay = 10;
}

static void receiver_polls(struct test_run *t)
{
	discard_full(t);
}

static void buffer_of_a_starved_receiver(struct test_run *t)
{
	small_sndbuf(t);
	t->window_bytes = NAN;
	t->receiver.delay = 42;
}

/* Other work fills the CPU, and the thread's time holds its softirqs already. */
static void busy_by_others(struct test_run *t)
{
	small_rcvbuf_loaded(t);
}

/* Both ends on one CPU: the window closes because the reader does not get it. */
static void rwnd_one_cpu(struct test_run *t)
{
	one_cpu(t);
	t->rcvbuf_bytes = 6e6;
	t->rwnd = 92;
	t->busy = 99;
}

static void no_tso_idle(struct test_run *t)
{
	no_tso(t);
	t->sender.on_cpu = 50;
	t->cpu[0].busy = 60;
}

static void softirq_busy_with_tasks(struct test_run *t)
{
	softirq_cpu(t);
	t->cpu[2].softirq = 30;
	t->cpu[2].system = 60;
}

static void rwnd_little(struct test_run *t)
{
	t->busy = 99;
	t->rwnd = 4.9;
}

/* 32 MBytes of window that close because the reader waits for a CPU. */
static void rwnd_by_delay(struct test_run *t)
{
	t->rcvbuf_bytes = 33554432;
	t->busy = 62;
	t->rwnd = 17.5;
	t->receiver.on_cpu = 25;
	t->receiver.delay = 54;
}

static void rwnd_large_buffer_busy_reader(struct test_run *t)
{
	small_rcvbuf(t);
	t->receiver.on_cpu = 80;
}

static void sndbuf_large(struct test_run *t)
{
	small_sndbuf(t);
	t->sndbuf_bytes = 4e6;
}

static void sndbuf_small_sender_full(struct test_run *t)
{
	small_sndbuf(t);
	t->sender.on_cpu = 97;
}

static void target_missed(struct test_run *t)
{
	target_rate(t);
	t->rate_bps = 0.9e9;
	t->app = 40;
}

static void target_stalled(struct test_run *t)
{
	target_rate(t);
	t->rate_bps = 0.88e9;
	t->sender.delay = 15;
}

static void app_busy(struct test_run *t)
{
	app_slow(t);
	t->sender.on_cpu = 60;
}

static void bbr_distance(struct test_run *t)
{
	bbr(t);
	t->min_rtt_us = 10000;
	t->mean_rtt_us = 11000;
}

static void spurious(struct test_run *t)
{
	loss_cubic(t);
	t->dsacks = 13000;
}

static void little_loss(struct test_run *t)
{
	loss_cubic(t);
	t->retransmits = 300;
}

static void queue_by_busy_sender(struct test_run *t)
{
	shaper(t);
	t->sender.on_cpu = 80;
}

static void paced_below(struct test_run *t)
{
	paced(t);
	t->pacing_bps = 80e6;
}

static void half_window(struct test_run *t)
{
	full_window(t);
	t->unacked = 300;
}

static void stolen(struct test_run *t)
{
	t->cpu[1].steal = 7;
}

static void stolen_elsewhere(struct test_run *t)
{
	t->cpu[2].steal = 7;
}

static void far(struct test_run *t)
{
	t->app_to_rx = "other node";
}

static void hidden(struct test_run *t)
{
	t->cpu[0].trust = "hidden";
	t->cpu[0].sum = 60;
}

static void hidden_elsewhere(struct test_run *t)
{
	t->cpu[2].trust = "hidden";
}

static void brief(struct test_run *t)
{
	t->seconds = 0.1;
}

static void costly_sampler(struct test_run *t)
{
	t->self_pct = 1.5;
}

static void slow_clock(struct test_run *t)
{
	t->clock_ns = 900;
}

/* ---- changes that take figures away ----------------------------------------------------------- */

static void no_threads(struct test_run *t)
{
	sender_full(t);
	t->no_threads = true;
	t->sender.cpu = t->receiver.cpu = NAN;
}

static void no_delay(struct test_run *t)
{
	t->sender.delay = t->receiver.delay = NAN;
}

static void no_calls(struct test_run *t)
{
	small_writes(t);
	t->sender.call_bytes = NAN;
}

static void no_rx_cpu(struct test_run *t)
{
	softirq_cpu(t);
	t->rx_cpu = NAN;
}

static void no_tcp_info(struct test_run *t)
{
	t->busy = t->rwnd = t->sndbuf = t->app = t->min_rtt_us = t->mean_rtt_us = NAN;
	t->cwnd_packets = t->unacked = t->notsent = t->pacing_bps = t->mss = NAN;
	t->retransmits = t->packets = t->dsacks = NAN;
}

static void no_tcp_info_window(struct test_run *t)
{
	slow_reader(t);
	no_tcp_info(t);
}

static void no_congestion(struct test_run *t)
{
	bbr(t);
	t->congestion = NULL;
}

static void no_distance(struct test_run *t)
{
	t->app_to_rx = NULL;
}

static void bloat(struct test_run *t)
{
	t->rate_bps = 191e6;
	t->idle_us = 36;
	t->loaded_us = 5210;
}

/* 20 ms away, and the receiver shares its CPU. */
static void distant_bloat(struct test_run *t)
{
	bloat(t);
	t->idle_us = 20000;
	t->loaded_us = 220000;
	t->receiver.delay = 12;
}

static void no_bloat(struct test_run *t)
{
	t->idle_us = 36;
	t->loaded_us = 340;
}

/* A distant server: 2 ms more is no queue to speak of. */
static void little_bloat(struct test_run *t)
{
	t->idle_us = 20000;
	t->loaded_us = 22000;
}

static void no_rate(struct test_run *t)
{
	target_rate(t);
	t->rate_bps = NAN;
}

typedef void change_fn(struct test_run *t);

/* `missing` NULL: a note, which says nothing where it knows nothing. */
static const struct {
	const char *rule;
	change_fn *yes, *no, *no2, *missing;
} cases[] = {
	{ "shared_cpu", one_cpu, base, one_cpu_idle, no_threads },
	{ "shared_cpu", one_cpu_of_others, bulk_loaded, one_cpu_idle, no_threads },
	{ "sender_run_queue", sender_hog, small_delay, base, no_delay },
	{ "receiver_run_queue", receiver_hog, small_delay, base, no_delay },
	{ "small_writes", small_writes, small_writes_idle, sender_full, no_calls },
	{ "small_writes", small_writes_one_cpu, small_writes_blocked, base, no_calls },
	{ "receive_window", small_rcvbuf, rwnd_one_cpu, base, no_tcp_info },
	{ "segment_offload", no_tso, sender_full, no_tso_idle, no_rx_cpu },
	{ "segment_offload", no_tso, one_cpu_of_others, no_tso_idle, no_rx_cpu },
	{ "slow_reader", slow_reader, small_rcvbuf, receiver_full, no_tcp_info_window },
	{ "slow_reader", sleeping_reader, rwnd_large_buffer_busy_reader, rwnd_little,
	  no_tcp_info_window },
	{ "sender_cpu", sender_full, nearly_full, base, no_threads },
	{ "receiver_cpu", receiver_full, nearly_full, base, no_threads },
	{ "receiver_cpu", receiver_full, receiver_polls, busy_by_others, no_threads },
	{ "sender_cpu", bulk_loaded, small_rcvbuf_busy, target_missed_loaded, no_threads },
	{ "path_queue", shaper, receiver_starved, bulk_loaded, no_tcp_info },
	{ "send_buffer", small_sndbuf_idle, buffer_of_a_starved_receiver, base, no_tcp_info },
	{ "softirq_cpu", softirq_cpu, softirq_busy_with_tasks, sender_full, no_rx_cpu },
	{ "receive_window", small_rcvbuf, rwnd_little, rwnd_by_delay, no_tcp_info },
	{ "send_buffer", small_sndbuf, sndbuf_large, sndbuf_small_sender_full, no_tcp_info },
	{ "send_buffer", counted_sndbuf, sndbuf_large, base, no_tcp_info },
	{ "target_rate", target_rate, target_missed, base, no_rate },
	{ "target_rate", target_stalled, target_missed, base, no_rate },
	{ "app_limited", app_slow, target_stalled, base, no_tcp_info },
	{ "congestion_control", bbr, bbr_distance, shaper_bbr, no_congestion },
	{ "path_queue", shaper, queue_by_busy_sender, loss_cubic, no_tcp_info },
	{ "loss", loss_cubic, spurious, little_loss, no_tcp_info },
	{ "pacing", paced, paced_below, bbr, no_tcp_info },
	{ "congestion_window", full_window, half_window, shaper, no_tcp_info },
	{ "app_limited", app_slow, app_busy, base, no_tcp_info },
	{ "steal", stolen, stolen_elsewhere, base, no_threads },
	{ "far_cpu", far, base, base, no_distance },
	{ "bufferbloat", bloat, no_bloat, little_bloat, NULL },
	{ "bufferbloat", bloat, base, little_bloat, NULL },
	{ "accounting", hidden, hidden_elsewhere, base, NULL },
	{ "short_run", brief, base, base, NULL },
	{ "sampler", costly_sampler, base, base, NULL },
	{ "slow_clock", slow_clock, base, base, NULL },
};

static enum wp_rule_answer ask(const char *name, change_fn *change, struct wp_finding *ret,
			       struct wp_run *run)
{
	const struct wp_rule *rule = wp_rule_find(name);
	struct test_run t = test_run_base();
	struct wp_facts f;

	assert_non_null(rule);
	change(&t);
	test_run_make(&t, run);
	(void)wp_facts_gather(run, true, &run->pool, &f);
	*ret = (struct wp_finding) { .rule = name };
	return rule->evaluate(&f, ret);
}

static void expect(const char *name, change_fn *change, enum wp_rule_answer want, const char *what)
{
	struct wp_finding finding;
	struct wp_run run;
	enum wp_rule_answer got = ask(name, change, &finding, &run);

	if (got != want)
		fail_msg("%s, %s: answer %d instead of %d (%s)", name, what, got, want,
			 finding.says ? finding.says : "says nothing");
	wp_run_done(&run);
}

static void test_yes(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++)
		expect(cases[i].rule, cases[i].yes, WP_RULE_YES, "yes");
}

static void test_no(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		expect(cases[i].rule, cases[i].no, WP_RULE_NO, "no");
		expect(cases[i].rule, cases[i].no2, WP_RULE_NO, "second no");
	}
}

/* What stands beside the verdict of an added latency: how sure, and what to try. */
static void test_a_queue_is_told_with_what_may_shorten_it(void **state)
{
	struct wp_finding f;
	struct wp_run run;

	(void)state;
	assert_int_equal(ask("bufferbloat", bloat, &f, &run), WP_RULE_YES);
	assert_non_null(strstr(f.says, "5.21 ms instead of 36 us, and nothing is lost"));
	assert_non_null(strstr(f.says, "121 KBytes")); /* 5.174 ms at 191 Mbit/s */
	assert_string_equal(f.confidence, "high");
	assert_non_null(strstr(f.advice[0], "fq_codel"));
	assert_int_equal(f.n_advice,
			 1); /* 128 KByte of -w are more than that, and bbr needs a distance */
	wp_run_done(&run);
	assert_int_equal(ask("bufferbloat", distant_bloat, &f, &run), WP_RULE_YES);
	assert_int_equal(f.n_advice, 3);
	assert_non_null(strstr(f.advice[1], "-w 1024K"));
	assert_non_null(strstr(f.advice[2], "-C bbr"));
	assert_string_equal(f.confidence, "medium");
	wp_run_done(&run);
}

static void test_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_finding finding;
		struct wp_run run;

		if (!cases[i].missing)
			continue;
		if (ask(cases[i].rule, cases[i].missing, &finding, &run) != WP_RULE_UNKNOWN)
			fail_msg("%s: does not notice that figures are missing", cases[i].rule);
		assert_non_null(finding.says); /* what is missing */
		wp_run_done(&run);
	}
}

/* A finding is whole: sentence, confidence, figures with units and sources, and advice where it is no note. */
static void test_findings_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_finding f;
		struct wp_run run;

		assert_int_equal(ask(cases[i].rule, cases[i].yes, &f, &run), WP_RULE_YES);
		assert_non_null(f.says);
		assert_true(strlen(f.says) > 20 && f.says[strlen(f.says) - 1] != '.');
		assert_true(!strcmp(f.confidence, "high") || !strcmp(f.confidence, "medium") ||
			    !strcmp(f.confidence, "low"));
		assert_true(f.share_pct >= 0 && f.share_pct <= 100);
		assert_int_equal(wp_rule_find(cases[i].rule)->note, f.share_pct == 0);
		assert_true(f.n_evidence > 0);
		for (size_t k = 0; k < f.n_evidence; k++) {
			assert_non_null(f.evidence[k].metric);
			assert_non_null(f.evidence[k].unit);
			assert_non_null(f.evidence[k].source);
			assert_true(isfinite(f.evidence[k].value));
		}
		for (size_t k = 0; k < f.n_advice; k++)
			assert_null(strstr(f.advice[k], "./whyperf"));
		wp_run_done(&run);
	}
}

static void test_every_rule_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < wp_n_rules; i++) {
		bool found = !(wp_rules[i].kinds & WP_KIND_TCP); /* test_rules_kinds.c */

		for (size_t k = 0; k < WP_ARRAY_SIZE(cases); k++)
			found |= !strcmp(cases[k].rule, wp_rules[i].name);
		if (!found)
			fail_msg("rule %s has no test", wp_rules[i].name);
	}
}

static bool is_metric(const char *dotted, size_t len)
{
	char word[96];
	const char *dot;

	snprintf(word, sizeof(word), "%.*s", (int)len, dotted);
	dot = strchr(word, '.');
	for (int scope = 0; dot && scope < WP_SCOPE_N; scope++)
		if (strlen(wp_scope_name((enum wp_scope)scope)) == (size_t)(dot - word) &&
		    !strncmp(word, wp_scope_name((enum wp_scope)scope), (size_t)(dot - word)) &&
		    wp_metric_find((enum wp_scope)scope, dot + 1))
			return true;
	return false;
}

static void each_word(const char *list, const char *rule,
		      bool (*good)(const char *word, size_t len))
{
	while (list && *list) {
		size_t len = strcspn(list, " ");

		if (!good(list, len))
			fail_msg("rule %s: '%.*s' is not known", rule, (int)len, list);
		list += len;
		list += strspn(list, " ");
	}
}

static bool is_rule(const char *word, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	return wp_rule_find(name) && !wp_rule_find(name)->note;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < wp_n_rules; i++) {
		const struct wp_rule *r = &wp_rules[i];

		assert_ptr_equal(wp_rule_find(r->name), r); /* unique */
		assert_true(r->name[strspn(r->name, "abcdefghijklmnopqrstuvwxyz_")] == '\0');
		assert_string_not_equal(r->name, WP_NOT_EXPLAINED);
		assert_true(r->summary && strlen(r->summary) > 5 &&
			    r->summary[strlen(r->summary) - 1] != '.');
		assert_true(r->sign && r->sign[strlen(r->sign) - 1] != '.');
		assert_true(r->needs && *r->needs && r->evaluate);
		each_word(r->needs, r->name, is_metric);
		each_word(r->covers, r->name, is_rule);
		assert_false(r->note && r->covers);
	}
}

static void test_document(void **state)
{
	_cleanup_buf_ struct wp_buf table = WP_BUF(1 << 20);
	_cleanup_buf_ struct wp_buf doc = WP_BUF(1 << 20);
	const char *root = getenv("WP_SOURCE_ROOT");
	char path[512];

	(void)state;
	if (!root)
		skip();
	assert_int_equal(wp_rules_markdown(&table), 0);
	snprintf(path, sizeof(path), "%s/docs/rules.md", root);
	if (getenv("WP_UPDATE_DOCS"))
		assert_int_equal(wp_replace_file_at(AT_FDCWD, path, wp_buf_text(&table)), 0);
	assert_int_equal(wp_read_file_at(AT_FDCWD, path, &doc), 0);
	if (strcmp(wp_buf_text(&doc), wp_buf_text(&table)))
		fail_msg(
			"docs/rules.md is older than the table: run this test with WP_UPDATE_DOCS=1");
}

/* ---- commands ----------------------------------------------------------------------------------- */

static void check_command(const char *const *argv, size_t n, const char *drop, const char *want)
{
	struct wp_run run;

	wp_run_init(&run);
	run.command = (const char **)argv;
	run.n_command = n;
	assert_string_equal(wp_command_without(&run, &run.pool, drop), want);
	wp_run_done(&run);
}

static void test_commands(void **state)
{
	static const char *const a[] = { "/usr/bin/whyperf", "tcp", "lab", "--cpu", "0",
					 "--peer-cpu=1",     "-l",  "256", "-w64K", "-J" };
	static const char *const b[] = { "whyperf", "tcp", "lab:rate=1%;x", "--name",
					 "it's",    "-Rq", "--no-store" };

	(void)state;
	check_command(a, WP_ARRAY_SIZE(a), "", "whyperf tcp lab --cpu 0 --peer-cpu=1 -l 256 -w64K");
	check_command(a, WP_ARRAY_SIZE(a), "cpu peer-cpu", "whyperf tcp lab -l 256 -w64K");
	check_command(a, WP_ARRAY_SIZE(a), "peer-cpu length l window w", "whyperf tcp lab --cpu 0");
	check_command(b, WP_ARRAY_SIZE(b), "cpu", "whyperf tcp 'lab:rate=1%;x' -Rq");
}

static void test_command_of_an_import(void **state)
{
	struct wp_run run;

	(void)state;
	wp_run_init(&run);
	run.test.kind = "tcp";
	run.test.target = "10.0.0.2";
	run.test.duration_s = wp_num(10);
	run.test.streams = wp_num(4);
	run.test.direction = "reverse";
	assert_string_equal(wp_command_without(&run, &run.pool, ""),
			    "whyperf tcp 10.0.0.2 -t 10 -P 4 -R");
	assert_string_equal(wp_command_without(&run, &run.pool, "time"),
			    "whyperf tcp 10.0.0.2 -P 4 -R");
	wp_run_done(&run);
}

static void test_advice(void **state)
{
	struct wp_finding f;
	struct wp_run run;

	(void)state;
	assert_int_equal(ask("congestion_control", bbr, &f, &run), WP_RULE_YES);
	assert_string_equal(f.advice[0], "whyperf tcp lab -t 2 --cpu 0 --peer-cpu=1 -C cubic");
	wp_run_done(&run);
	assert_int_equal(ask("sender_run_queue", sender_hog, &f, &run), WP_RULE_YES);
	assert_string_equal(f.advice[0], "whyperf tcp lab -t 2 --peer-cpu=1 --cpu 2");
	wp_run_done(&run);
	assert_int_equal(ask("shared_cpu", one_cpu, &f, &run), WP_RULE_YES);
	assert_string_equal(f.advice[0], "whyperf tcp lab -t 2 --cpu 0 --peer-cpu 2");
	wp_run_done(&run);
	assert_int_equal(ask("sender_cpu", sender_full, &f, &run), WP_RULE_YES);
	assert_string_equal(f.advice[0], "whyperf sweep --cpu all --peer-cpu all tcp lab -t 2");
	wp_run_done(&run);
}

/* The softirq part of the sender's CPU is called the receiver's work only where the packets are delivered there. */
static void test_whose_softirq(void **state)
{
	struct wp_finding f;
	struct wp_run run;
	struct wp_facts facts;
	struct test_run t = test_run_base();

	(void)state;
	assert_int_equal(ask("sender_cpu", sender_full, &f, &run), WP_RULE_YES);
	assert_non_null(strstr(f.says, "the receiver's packet processing"));
	wp_run_done(&run);
	sender_full(&t);
	t.rx_cpu = 2; /* RPS has moved it */
	test_run_make(&t, &run);
	assert_true(wp_facts_gather(&run, true, &run.pool, &facts));
	f = (struct wp_finding) { 0 };
	assert_int_equal(wp_rule_sender_cpu(&facts, &f), WP_RULE_YES);
	assert_null(strstr(f.says, "the receiver's packet processing"));
	wp_run_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yes),
		cmocka_unit_test(test_no),
		cmocka_unit_test(test_a_queue_is_told_with_what_may_shorten_it),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_findings_are_whole),
		cmocka_unit_test(test_every_rule_has_a_case),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_command_of_an_import),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_whose_softirq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
