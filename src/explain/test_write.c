/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writers: the cause of a pause, the slowest interval, and what the run's time went into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "explain/explain.h"
#include "explain/pause.h"
#include "explain/rules.h"

#define ROWS 5

/* A second of /dev/null at 4 GB/s in five rows, on CPU 0; NAN = absent. */
struct test_write {
	const char *file_type, *fsync_policy;
	double direct, target_bps;
	double on_cpu, delay, taker, sync, paced, steal, syncs, length; /* of the whole */
	double row_bps[ROWS], row_delay[ROWS], row_taker[ROWS], row_sync[ROWS], row_steal[ROWS],
		row_on_cpu[ROWS];
	struct wp_pause_view pause; /* one, where it has a length */
};

static struct wp_num num(double v)
{
	return isnan(v) ? wp_absent("not in this test") : wp_num(v);
}

static struct test_write base(void)
{
	struct test_write w = { .file_type = "null device",
				.fsync_policy = "never",
				.target_bps = NAN,
				.on_cpu = 99,
				.length = 65536 };

	for (int i = 0; i < ROWS; i++) {
		w.row_bps[i] = 32e9;
		w.row_on_cpu[i] = 99;
	}
	w.pause.what = "write";
	return w;
}

static void make(const struct test_write *t, struct wp_run *run)
{
	static const char *command[] = { "whyperf", "write", "/dev/null", "-t", "1" };
	struct wp_host *h = &run->hosts[0];
	struct wp_flow *f;

	wp_run_init(run);
	run->command = command;
	run->n_command = WP_ARRAY_SIZE(command);
	run->test = (struct wp_test) { .kind = "write",
				       .protocol = "-",
				       .peer = "none",
				       .direction = "forward",
				       .target = "/dev/null",
				       .file_type = t->file_type,
				       .fsync_policy = t->fsync_policy,
				       .direct = num(t->direct),
				       .target_bps = num(t->target_bps) };
	run->n_hosts = 1;
	h->role = "client";
	h->threads = wp_pool_calloc(&run->pool, 1, sizeof(*h->threads));
	h->n_threads = 1;
	h->threads[0] = (struct wp_thread_use) { .cpu_pct = num(t->on_cpu),
						 .run_delay_pct = num(t->delay),
						 .last_cpu = wp_num(0),
						 .migrations = wp_num(0),
						 .voluntary_switches = wp_num(7),
						 .involuntary_switches = wp_num(8) };
	h->cpus = wp_pool_calloc(&run->pool, 1, sizeof(*h->cpus));
	h->n_cpus = 1;
	h->cpus[0] = (struct wp_cpu_use) { .cpu = wp_num(0),
					   .busy_pct = wp_num(99),
					   .user_pct = wp_num(50),
					   .system_pct = wp_num(49),
					   .steal_pct = num(t->steal),
					   .trust = "ok" };
	f = run->flows = wp_pool_calloc(&run->pool, 1, sizeof(*f));
	run->n_flows = 1;
	f->id = "1";
	f->role = "sender";
	f->send_cpu = wp_num(0);
	f->sent = (struct wp_flow_end) { .bytes = wp_num(4e9),
					 .all_bytes = wp_num(4e9),
					 .seconds = wp_num(1),
					 .bits_per_second = wp_num(32e9),
					 .calls = wp_num(4e9 / t->length),
					 .mean_call_bytes = wp_num(t->length),
					 .syncs = wp_num(t->syncs),
					 .taker_wait_pct = num(t->taker),
					 .sync_pct = num(t->sync),
					 .paced_pct = num(t->paced) };
	f->received.bits_per_second = wp_absent("nobody tells");
	f->intervals = wp_pool_calloc(&run->pool, ROWS, sizeof(*f->intervals));
	f->n_intervals = ROWS;
	for (int i = 0; i < ROWS; i++)
		f->intervals[i] = (struct wp_interval) { .start_s = wp_num(i * .2),
							 .end_s = wp_num(i * .2 + .2),
							 .bytes = wp_num(t->row_bps[i] / 8 * .2),
							 .bits_per_second = wp_num(t->row_bps[i]),
							 .on_cpu_pct = num(t->row_on_cpu[i]),
							 .run_delay_pct = num(t->row_delay[i]),
							 .taker_wait_pct = num(t->row_taker[i]),
							 .sync_pct = num(t->row_sync[i]),
							 .steal_pct = num(t->row_steal[i]) };
	if (!wp_has(t->pause.length_us))
		return;
	f->pauses = wp_pool_calloc(&run->pool, 1, sizeof(*f->pauses));
	f->n_pauses = 1;
	f->pauses[0] = t->pause;
}

static const struct wp_finding *finding(const struct wp_run *run, const char *rule)
{
	for (size_t i = 0; i < run->n_findings; i++)
		if (!strcmp(run->findings[i].rule, rule))
			return &run->findings[i];
	return NULL;
}

/* ---- pauses ----------------------------------------------------------------------------------- */

static void hogged(struct wp_pause_view *p)
{
	p->run_delay_us = wp_num(99000);
	p->ran_there = "stress (pid 7)";
	p->ran_there_pct = wp_num(97);
	p->others_pct = wp_num(98);
}

static void hogged_by_many(struct wp_pause_view *p)
{
	hogged(p);
	p->ran_there_pct = wp_num(20);
}

static void hogged_by_gone(struct wp_pause_view *p)
{
	hogged(p);
	p->ran_there_pct = p->others_pct = wp_num(4);
}

static void throttled(struct wp_pause_view *p)
{
	p->run_delay_us = wp_num(99000);
	p->throttled_us = wp_num(98000);
}

static void reader_stopped(struct wp_pause_view *p)
{
	p->taker_wait_us = wp_num(99900);
	p->taker = "ssh (pid 8)";
	p->taker_state = "T";
}

static void reader_busy(struct wp_pause_view *p)
{
	reader_stopped(p);
	p->taker_state = "R";
	p->taker_run_pct = wp_num(93);
}

static void reader_asleep(struct wp_pause_view *p)
{
	reader_stopped(p);
	p->taker_state = "S";
	p->taker_waited_in = "hrtimer_nanosleep";
}

static void reader_starved(struct wp_pause_view *p)
{
	reader_stopped(p);
	p->taker_state = "R";
	p->taker_delay_pct = wp_num(80);
}

static void reader_unknown(struct wp_pause_view *p)
{
	p->taker_wait_us = wp_num(99900);
}

/* The reader was quick, but the writer then waited for its own CPU. */
static void woken_late(struct wp_pause_view *p)
{
	p->taker_wait_us = wp_num(99900);
	hogged(p);
}

static void stopped(struct wp_pause_view *p)
{
	p->unseen_us = wp_num(98000);
}

static void in_fsync(struct wp_pause_view *p)
{
	p->what = "fsync";
	p->waited_in = "jbd2_log_wait_commit";
	p->io_pressure_pct = wp_num(90);
	p->dirty_bytes = p->writeback_bytes = wp_num(1e6);
}

static void stolen(struct wp_pause_view *p)
{
	p->steal_us = wp_num(90000);
}

static void in_interrupts(struct wp_pause_view *p)
{
	p->run_us = wp_num(100000);
	p->softirq_us = wp_num(90000);
}

static void ran_on(struct wp_pause_view *p)
{
	p->run_us = wp_num(100000);
}

static void asleep(struct wp_pause_view *p)
{
	p->state = "S";
	p->waited_in = "somewhere";
}

static void in_writeback(struct wp_pause_view *p)
{
	p->state = "D";
	p->waited_in = "balance_dirty_pages";
}

static void short_of_memory(struct wp_pause_view *p)
{
	p->state = "D";
	p->memory_pressure_pct = wp_num(80);
}

static void mixed(struct wp_pause_view *p)
{
	p->run_us = wp_num(30000);
	p->run_delay_us = wp_num(30000);
	p->taker_wait_us = wp_num(65000);
}

static void woken_by_a_late_timer(struct wp_pause_view *p)
{
	p->what = "late";
}

static void every_pause_has_its_cause(void **state)
{
	static const struct {
		const char *file_type;
		void (*change)(struct wp_pause_view *p);
		const char *cause, *says;
	} cases[] = {
		{ "null device", hogged, WP_PAUSE_OFF_CPU, "stress (pid 7) ran 97 %" },
		{ "null device", hogged_by_many, WP_PAUSE_OFF_CPU,
		  "other tasks ran 98 % of the time around it, most of all stress" },
		{ "null device", hogged_by_gone, WP_PAUSE_OFF_CPU, "more had ended" },
		{ "null device", throttled, WP_PAUSE_QUOTA, "quota" },
		{ "pipe", reader_stopped, WP_PAUSE_READER, "ssh (pid 8), was stopped" },
		{ "pipe", reader_busy, WP_PAUSE_READER, "was busy: it ran 93 %" },
		{ "pipe", reader_asleep, WP_PAUSE_READER, "slept in hrtimer_nanosleep" },
		{ "pipe", reader_starved, WP_PAUSE_READER, "waited for a CPU 80 %" },
		{ "pipe", reader_unknown, WP_PAUSE_READER, "who reads it is not known" },
		{ "pipe", woken_late, WP_PAUSE_OFF_CPU, "waited 99.0 ms" },
		{ "null device", stopped, WP_PAUSE_STOPPED, "SIGSTOP" },
		{ "file", in_fsync, WP_PAUSE_FSYNC, "jbd2_log_wait_commit" },
		{ "null device", stolen, WP_PAUSE_STEAL, "hypervisor took the CPU for 90" },
		{ "null device", in_interrupts, WP_PAUSE_INTERRUPTS, "softirqs" },
		{ "null device", ran_on, WP_PAUSE_HIDDEN, "without saying so" },
		{ "file", ran_on, WP_PAUSE_CALL, "the write itself ran for 100" },
		{ "socket", asleep, WP_PAUSE_ASLEEP, "slept in somewhere" },
		{ "file", in_writeback, WP_PAUSE_STORAGE, "balance_dirty_pages" },
		{ "file", short_of_memory, WP_PAUSE_MEMORY, "memory was short" },
		{ "pipe", mixed, WP_PAUSE_UNEXPLAINED, "not explained" },
		{ "null device", woken_by_a_late_timer, WP_PAUSE_UNEXPLAINED,
		  "timer woke it late" },
	};
	bool seen[WP_N_PAUSE_CAUSES] = { false };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_write t = base();
		const struct wp_pause_view *p;
		struct wp_run run;

		t.file_type = cases[i].file_type;
		t.pause.length_us = wp_num(100000);
		t.pause.start_s = wp_num(.3);
		t.pause.cpu = wp_num(0);
		t.pause.run_us = t.pause.run_delay_us = t.pause.taker_wait_us = wp_num(0);
		cases[i].change(&t.pause);
		make(&t, &run);
		assert_int_equal(wp_explain(&run), 0);
		p = &run.flows[0].pauses[0];
		if (!p->cause || strcmp(p->cause, cases[i].cause))
			fail_msg("case %zu: %s, not %s (%s)", i, p->cause, cases[i].cause, p->says);
		if (!strstr(p->says, cases[i].says))
			fail_msg("case %zu: \"%s\" without \"%s\"", i, p->says, cases[i].says);
		assert_non_null(finding(&run, WP_RULE_LONGEST_PAUSE));
		assert_ptr_equal(finding(&run, WP_RULE_LONGEST_PAUSE), &run.findings[0]);
		for (size_t k = 0; k < WP_N_PAUSE_CAUSES; k++)
			seen[k] |= !strcmp(wp_pause_causes[k].name, p->cause);
		wp_run_done(&run);
	}
	for (size_t k = 0; k < WP_N_PAUSE_CAUSES; k++)
		if (!seen[k])
			fail_msg("no test has %s", wp_pause_causes[k].name);
}

static void a_pause_without_schedstat_says_what_is_missing(void **state)
{
	struct test_write t = base();
	struct wp_run run;

	(void)state;
	t.pause.length_us = wp_num(100000);
	t.pause.run_us = wp_num(1000);
	t.pause.run_delay_us = wp_absent("the kernel keeps no schedstat");
	t.pause.taker_wait_us = wp_num(60000);
	t.pause.what = "late";
	t.pause.taker_wait_us = wp_num(10000);
	make(&t, &run);
	assert_int_equal(wp_explain(&run), 0);
	assert_string_equal(run.flows[0].pauses[0].cause, WP_PAUSE_UNEXPLAINED);
	assert_non_null(strstr(run.flows[0].pauses[0].says, "schedstat"));
	wp_run_done(&run);
}

/* ---- the slowest interval --------------------------------------------------------------------- */

static void the_slowest_interval_says_what_took_its_time(void **state)
{
	static const struct {
		double bps, delay, taker, sync, steal, on_cpu, usual_taker;
		const char *says, *confidence;
	} cases[] = {
		{ 184e3, 98, 0, 0, 0, 1, 0, "waited for a CPU 98 % of it", "high" },
		{ 0, 0, 100, 0, 0, 0, 0, "made nothing", "high" },
		{ 3e9, 0, 0, 90, 0, 9, 0, "was in fsync(2) 90 % of it", "high" },
		{ 3e9, 0, 0, 0, 92, 8, 0, "taken by the hypervisor 92 % of it", "high" },
		{ 20e9, 14, 0, 0, 0, 85, 0, "waited for a CPU 14 % of it", "medium" },
		{ 8e9, 0, 0, 0, 0, 20, 0, "slept in the write call 80 % of it", "low" },
		{ 8e9, 0, 0, 0, 0, 99, 0, "the writes themselves took longer", "low" },
		{ 16e9, 0, 97, 0, 0, 2, 95, "as ever the thread waited for room", "medium" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_write t = base();
		const struct wp_finding *f;
		struct wp_run run;

		for (int k = 0; k < ROWS; k++)
			t.row_taker[k] = cases[i].usual_taker;
		t.row_bps[3] = cases[i].bps;
		t.row_delay[3] = cases[i].delay;
		t.row_taker[3] = cases[i].taker;
		t.row_sync[3] = cases[i].sync;
		t.row_steal[3] = cases[i].steal;
		t.row_on_cpu[3] = cases[i].on_cpu;
		make(&t, &run);
		assert_int_equal(wp_explain(&run), 0);
		f = finding(&run, WP_RULE_SLOW_INTERVAL);
		assert_non_null(f);
		assert_ptr_equal(f, &run.findings[0]);
		assert_non_null(strstr(f->says, "0.60-0.80 s"));
		if (!strstr(f->says, cases[i].says) || strcmp(f->confidence, cases[i].confidence))
			fail_msg("case %zu: \"%s\" (%s)", i, f->says, f->confidence);
		assert_true(f->share_pct > 5 && f->share_pct <= 20.01);
		wp_run_done(&run);
	}
}

static void the_slowest_interval_names_its_longest_pause(void **state)
{
	struct test_write t = base();
	const struct wp_finding *f;
	struct wp_run run;

	(void)state;
	t.row_bps[1] = 16e9;
	t.row_delay[1] = 50;
	t.pause.length_us = wp_num(99000);
	t.pause.start_s = wp_num(.25);
	hogged(&t.pause);
	make(&t, &run);
	assert_int_equal(wp_explain(&run), 0);
	f = finding(&run, WP_RULE_SLOW_INTERVAL);
	assert_non_null(f);
	assert_non_null(strstr(f->says, "its longest pause, 99.0 ms at 0.250 s"));
	assert_non_null(strstr(f->says, "stress (pid 7)"));
	assert_null(finding(&run, WP_RULE_LONGEST_PAUSE));
	wp_run_done(&run);
}

static void even_intervals_and_short_pauses_are_not_worth_a_word(void **state)
{
	struct test_write t = base();
	struct wp_run run;

	(void)state;
	t.row_bps[2] = 28e9;
	t.pause.length_us = wp_num(400);
	make(&t, &run);
	assert_int_equal(wp_explain(&run), 0);
	assert_null(finding(&run, WP_RULE_SLOW_INTERVAL));
	assert_null(finding(&run, WP_RULE_LONGEST_PAUSE));
	wp_run_done(&run);
}

static void a_row_that_was_cut_short_is_not_the_slowest(void **state)
{
	struct test_write t = base();
	struct wp_run run;

	(void)state;
	t.row_bps[4] = 1e9;
	make(&t, &run);
	run.flows[0].intervals[4].end_s = wp_num(.85);
	assert_int_equal(wp_explain(&run), 0);
	assert_null(finding(&run, WP_RULE_SLOW_INTERVAL));
	wp_run_done(&run);
}

/* ---- the whole run ---------------------------------------------------------------------------- */

static void paced(struct test_write *t)
{
	t->target_bps = 32e9;
	t->paced = 90;
	t->on_cpu = 10;
}

static void paced_missed(struct test_write *t)
{
	t->target_bps = 64e9;
	t->paced = 40;
	t->on_cpu = 10;
	t->delay = 50;
}

static void to_a_slow_reader(struct test_write *t)
{
	t->file_type = "pipe";
	t->taker = 80;
	t->on_cpu = 19;
}

static void beside_a_hog(struct test_write *t)
{
	t->on_cpu = 49;
	t->delay = 50;
}

static void syncing(struct test_write *t)
{
	t->file_type = "file";
	t->fsync_policy = "each";
	t->syncs = 1000;
	t->sync = 85;
	t->on_cpu = 14;
}

static void held_by_the_disk(struct test_write *t)
{
	t->file_type = "file";
	t->on_cpu = 20;
}

static void of_small_writes(struct test_write *t)
{
	t->length = 100;
}

static void without_shares(struct test_write *t)
{
	t->on_cpu = t->delay = t->taker = NAN;
}

static void into_the_page_cache(struct test_write *t)
{
	t->file_type = "file";
}

static void past_the_page_cache(struct test_write *t)
{
	t->file_type = "file";
	t->direct = 1;
}

static void every_rule_says_yes_no_and_what_is_missing(void **state)
{
	static const struct {
		const char *rule;
		void (*change)(struct test_write *t);
		enum wp_rule_answer answer;
		double share;
		const char *says;
	} cases[] = {
		{ "write_pace", NULL, WP_RULE_NO, 0, NULL },
		{ "write_pace", paced, WP_RULE_YES, 100, "no faster" },
		{ "write_pace", paced_missed, WP_RULE_YES, 40, "not made up for" },
		{ "write_reader", NULL, WP_RULE_NO, 0, NULL },
		{ "write_reader", to_a_slow_reader, WP_RULE_YES, 80, "80 %" },
		{ "write_reader", without_shares, WP_RULE_UNKNOWN, 0, "other end" },
		{ "write_run_queue", NULL, WP_RULE_NO, 0, NULL },
		{ "write_run_queue", beside_a_hog, WP_RULE_YES, 50, "50 %" },
		{ "write_run_queue", without_shares, WP_RULE_UNKNOWN, 0, "waited for a CPU" },
		{ "write_fsync", NULL, WP_RULE_NO, 0, NULL },
		{ "write_fsync", syncing, WP_RULE_YES, 85, "1000 calls of fsync(2)" },
		{ "write_storage", NULL, WP_RULE_NO, 0, NULL },
		{ "write_storage", held_by_the_disk, WP_RULE_YES, 80, "slept in the write call" },
		{ "write_cpu", NULL, WP_RULE_YES, 99, "/dev/null throws away" },
		{ "write_cpu", of_small_writes, WP_RULE_YES, 99, "call of 100 bytes" },
		{ "write_cpu", paced, WP_RULE_NO, 0, NULL },
		{ "write_cpu", without_shares, WP_RULE_UNKNOWN, 0, "CPU use" },
		{ "page_cache", NULL, WP_RULE_NO, 0, NULL },
		{ "page_cache", into_the_page_cache, WP_RULE_YES, 0, "page cache" },
		{ "page_cache", past_the_page_cache, WP_RULE_NO, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_write t = base();
		const struct wp_rule *rule = wp_rule_find(cases[i].rule);
		struct wp_finding ret = { 0 };
		enum wp_rule_answer answer;
		struct wp_facts f;
		struct wp_run run;

		if (cases[i].change)
			cases[i].change(&t);
		make(&t, &run);
		assert_non_null(rule);
		assert_true(wp_facts_gather(&run, true, &run.pool, &f));
		answer = rule->evaluate(&f, &ret);
		if (answer != cases[i].answer)
			fail_msg("case %zu, %s: answer %d, not %d", i, rule->name, answer,
				 cases[i].answer);
		if (cases[i].says && (!ret.says || !strstr(ret.says, cases[i].says)))
			fail_msg("case %zu, %s: \"%s\" without \"%s\"", i, rule->name, ret.says,
				 cases[i].says);
		if (fabs(ret.share_pct - cases[i].share) > 1)
			fail_msg("case %zu, %s: %.1f %%", i, rule->name, ret.share_pct);
		wp_run_done(&run);
	}
	for (size_t i = 0; i < wp_n_rules; i++) {
		bool found = wp_rules[i].kinds != WP_KIND_WRITE;

		for (size_t k = 0; k < WP_ARRAY_SIZE(cases); k++)
			found |= !strcmp(cases[k].rule, wp_rules[i].name);
		if (!found)
			fail_msg("rule %s has no test", wp_rules[i].name);
	}
}

static void what_holds_a_writer_comes_first(void **state)
{
	static const struct {
		void (*change)(struct test_write *t);
		const char *first;
	} cases[] = {
		{ NULL, "write_cpu" },
		{ paced, "write_pace" },
		{ to_a_slow_reader, "write_reader" },
		{ beside_a_hog, "write_run_queue" },
		{ syncing, "write_fsync" },
		{ held_by_the_disk, "write_storage" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_write t = base();
		struct wp_run run;

		if (cases[i].change)
			cases[i].change(&t);
		make(&t, &run);
		assert_int_equal(wp_explain(&run), 0);
		assert_true(run.n_findings > 0);
		assert_string_equal(run.findings[0].rule, cases[i].first);
		assert_null(finding(&run, WP_NOT_EXPLAINED));
		wp_run_done(&run);
	}
}

/* The other end took nothing from the first byte on. */
static void a_writer_that_wrote_nothing_still_has_its_pause(void **state)
{
	struct test_write t = base();
	struct wp_run run;

	(void)state;
	t.file_type = "pipe";
	t.pause.length_us = wp_num(1e6);
	reader_stopped(&t.pause);
	t.pause.taker_wait_us = wp_num(1e6);
	make(&t, &run);
	run.flows[0].sent.bits_per_second = run.flows[0].sent.bytes = wp_num(0);
	run.flows[0].n_intervals = 0;
	assert_int_equal(wp_explain(&run), 0);
	assert_int_equal(run.n_findings, 1);
	assert_string_equal(run.findings[0].rule, WP_RULE_LONGEST_PAUSE);
	wp_run_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pause_has_its_cause),
		cmocka_unit_test(a_pause_without_schedstat_says_what_is_missing),
		cmocka_unit_test(the_slowest_interval_says_what_took_its_time),
		cmocka_unit_test(the_slowest_interval_names_its_longest_pause),
		cmocka_unit_test(even_intervals_and_short_pauses_are_not_worth_a_word),
		cmocka_unit_test(a_row_that_was_cut_short_is_not_the_slowest),
		cmocka_unit_test(every_rule_says_yes_no_and_what_is_missing),
		cmocka_unit_test(what_holds_a_writer_comes_first),
		cmocka_unit_test(a_writer_that_wrote_nothing_still_has_its_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
