/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of datagrams and of requests and responses: each says yes, no, and that it lacks a figure; planted limits name
 * the right cause first; and no rule of another kind of test speaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "explain/explain.h"
#include "explain/rules.h"
#include "explain/testkinds.h"

/* ---- datagrams --------------------------------------------------------------------------------- */

typedef void udp_fn(struct test_udp *u);

static void flood(struct test_udp *u)
{
	(void)u;
}

static void put(struct test_udp *u, size_t i, const char *stage, const char *host,
		const char *source, double packets)
{
	u->stages[i].stage = stage;
	u->stages[i].host = host;
	u->stages[i].source = source;
	u->stages[i].packets = packets;
	u->arrived -= packets;
	u->t.rate_bps = u->arrived / u->t.seconds * 64 * 8;
}

/* A small buffer, and a receiver that has time. */
static void small_buffer(struct test_udp *u)
{
	u->t.rcvbuf_bytes = 2304;
	u->t.window_bytes = 1152;
	u->t.receiver.on_cpu = 30;
	u->socket_drops = 671000;
	put(u, 0, "socket buffer", "server", "SO_RXQ_OVFL", 671000);
}

static void kernel_buffer(struct test_udp *u)
{
	small_buffer(u);
	u->t.window_bytes = NAN;
	u->t.rcvbuf_bytes = 425984; /* all that rmem_max allows */
}

static void slow_receiver(struct test_udp *u)
{
	small_buffer(u);
	u->t.window_bytes = NAN;
	u->t.rcvbuf_bytes = 16777216;
	u->t.receiver.on_cpu = 99;
}

static void receiver_hog(struct test_udp *u)
{
	slow_receiver(u);
	u->t.receiver.on_cpu = 50;
	u->t.receiver.delay = 49;
	u->t.cpu[1].busy = 100;
}

static void one_cpu(struct test_udp *u)
{
	slow_receiver(u);
	u->t.receiver.cpu = 0;
	u->t.sender.on_cpu = 65;
	u->t.sender.delay = 34;
	u->t.receiver.on_cpu = 34;
	u->t.receiver.delay = 64;
}

static void little_loss(struct test_udp *u)
{
	u->socket_drops = 550; /* 0.05 % */
	put(u, 0, "socket buffer", "server", "SO_RXQ_OVFL", 550);
}

static void shaper(struct test_udp *u)
{
	u->t.sender.on_cpu = 6;
	u->t.receiver.on_cpu = 4;
	u->sent = u->arrived = 47600;
	u->t.rate_bps = 20e6;
	u->t.cpu[0].busy = u->t.cpu[1].busy = 8;
}

static void refused_by_qdisc(struct test_udp *u)
{
	u->refused = 700000;
	u->refused_by = "qdisc tbf of wpa";
}

static void dropped_by_device(struct test_udp *u)
{
	put(u, 0, "device", "client", "tx_dropped of wpa", 500000);
}

static void backlog_refused(struct test_udp *u)
{
	u->refused = 885707;
	u->refused_by = "wpa: the receiver's backlog was full (softnet_stat dropped)";
}

static void backlog_behind(struct test_udp *u)
{
	put(u, 0, "backlog", "server", "softnet_stat dropped", 600000);
}

static void filter(struct test_udp *u)
{
	put(u, 0, "ingress filter", "server", "clsact of wpb", 110000);
	put(u, 1, "device", "server", "rx_missed_errors and rx_errors of wpb", 30);
}

static void firewall(struct test_udp *u)
{
	u->arrived -= 110000; /* counted nowhere */
}

static void only_duplicates(struct test_udp *u)
{
	u->arrived += 110000;
	u->duplicated = 110000;
}

static void paced(struct test_udp *u)
{
	u->target_pps = 36000;
	u->target_bps = 36000 * 64 * 8;
	u->sent = u->arrived = 72000;
	u->t.rate_bps = u->target_bps;
	u->t.sender.on_cpu = 14;
	u->t.receiver.on_cpu = 9;
	u->t.cpu[0].busy = 16;
	u->shortfall = 0;
}

static void paced_spinning(struct test_udp *u)
{
	paced(u);
	u->spin = 1;
	u->t.sender.on_cpu = 100;
	u->t.cpu[0].busy = 100;
}

static void paced_late(struct test_udp *u)
{
	paced(u);
	u->sent = u->arrived = 72000 - 9000;
	u->shortfall = 9000;
	u->t.sender.delay = 12;
	u->t.cpu[0].busy = 60;
}

static void paced_too_fast(struct test_udp *u)
{
	u->target_pps = 4e6;
	u->target_bps = 4e6 * 64 * 8;
	u->shortfall = 6.9e6;
}

static void no_receiver(struct test_udp *u)
{
	u->no_receiver = true;
}

static void no_threads(struct test_udp *u)
{
	u->t.no_threads = true;
	shaper(u);
}

static void no_shortfall(struct test_udp *u)
{
	paced(u);
	u->shortfall = NAN;
}

static const struct {
	const char *rule;
	udp_fn *yes, *no, *no2, *missing; /* NULL: nothing can be missing */
} udp_cases[] = {
	{ "socket_buffer", small_buffer, flood, firewall, no_receiver },
	{ "socket_buffer", little_loss, filter, only_duplicates, no_receiver },
	{ "backlog", backlog_refused, refused_by_qdisc, small_buffer, no_receiver },
	{ "backlog", backlog_behind, flood, dropped_by_device, no_receiver },
	{ "local_drops", refused_by_qdisc, backlog_refused, small_buffer, no_receiver },
	{ "local_drops", dropped_by_device, flood, filter, no_receiver },
	{ "host_loss", filter, small_buffer, dropped_by_device, no_receiver },
	{ "path_loss", firewall, small_buffer, only_duplicates, no_receiver },
	{ "paced_rate", paced, flood, paced_too_fast, NULL },
	{ "paced_rate", paced_spinning, shaper, small_buffer, NULL },
	{ "paced_rate", paced_late, flood, paced_too_fast, NULL },
	{ "pacing_shortfall", paced_late, paced, paced_too_fast, no_shortfall },
	{ "device_rate", shaper, flood, paced, no_threads },
};

/* ---- transactions ------------------------------------------------------------------------------ */

typedef void rr_fn(struct test_rr *r);

static void two_cpus(struct test_rr *r)
{
	(void)r;
}

static void spinning(struct test_rr *r)
{
	r->wait = "spin";
	r->t.sender.on_cpu = r->t.receiver.on_cpu = 99.5;
	r->t.cpu[0].busy = r->t.cpu[1].busy = 100;
	r->client_sleeps = r->server_sleeps = 4;
	r->transactions = 130000;
}

/* As measured in a virtual machine with other work: what wakes the other CPU up is the threads' own time. */
static void two_cpus_of_a_vm(struct test_rr *r)
{
	r->transactions = 16800;
	r->client_sleeps = r->server_sleeps = 16700;
	r->t.sender.on_cpu = r->t.receiver.on_cpu = 37;
	r->t.sender.delay = 14;
	r->t.receiver.delay = 13;
	r->t.cpu[0].busy = r->t.cpu[1].busy = 99;
}

static void large_messages(struct test_rr *r)
{
	two_cpus_of_a_vm(r);
	r->request_bytes = 1048576;
}

static void same_cpu(struct test_rr *r)
{
	r->t.receiver.cpu = 0;
	r->t.sender.on_cpu = 52;
	r->t.receiver.on_cpu = 46;
	r->t.cpu[0].busy = 100;
	r->transactions = 104000;
}

static void spinning_on_one_cpu(struct test_rr *r)
{
	same_cpu(r);
	r->wait = "spin";
	r->transactions = 500;
}

static void busy_server(struct test_rr *r)
{
	r->connections = 64;
	r->t.receiver.on_cpu = 99;
	r->t.sender.on_cpu = 70;
	r->t.cpu[1].busy = 100;
	r->transactions = 240000;
	r->server_sleeps = 200;
	r->client_sleeps = 9000;
}

static void idle_many(struct test_rr *r)
{
	r->connections = 4;
	r->t.receiver.on_cpu = 60;
	r->t.sender.on_cpu = 70;
}

static void rate_met(struct test_rr *r)
{
	r->rate_hz = 2000;
	r->transactions = 4000;
	r->client_sleeps = r->server_sleeps = 4000;
	r->t.sender.on_cpu = 6;
	r->t.receiver.on_cpu = 4;
	r->tail_n = 10;
}

static void overloaded(struct test_rr *r)
{
	r->rate_hz = 60000;
	r->transactions = 63000;
	r->p50_us = 400000;
	r->tail_us = 900000;
}

static void connections(struct test_rr *r)
{
	r->connect = 1;
	r->transactions = 12000;
	r->t.sender.on_cpu = 48;
	r->t.receiver.on_cpu = 45;
}

static void loss(struct test_rr *r)
{
	r->transactions = 800;
	r->tail_us = 210000;
	r->tail_n = 8;
	r->retransmits = 12;
	r->t.sender.on_cpu = r->t.receiver.on_cpu = 1;
	r->client_sleeps = r->server_sleeps = 810;
}

static void few_retransmits(struct test_rr *r)
{
	r->retransmits = 2;
}

static void harmless_retransmits(struct test_rr *r)
{
	r->retransmits = 50; /* and no long latency */
}

static void udp_loss(struct test_rr *r)
{
	r->protocol = "UDP";
	r->timeouts = 2;
	r->transactions = 300;
	r->tail_n = 0;
	r->client_sleeps = r->server_sleeps = 300;
	r->t.sender.on_cpu = r->t.receiver.on_cpu = 1;
}

static void udp_clean(struct test_rr *r)
{
	r->protocol = "UDP";
}

static void no_count(struct test_rr *r)
{
	r->protocol = "UDP";
	r->rate_hz = 1000;
	r->transactions = NAN;
	r->tail_n = NAN;
}

static void no_count_closed(struct test_rr *r)
{
	r->transactions = NAN;
	r->tail_n = NAN;
}

static void no_count_connecting(struct test_rr *r)
{
	no_count_closed(r);
	r->connect = 1;
}

static void no_count_spinning(struct test_rr *r)
{
	no_count_closed(r);
	r->wait = "spin";
}

static void rr_no_threads(struct test_rr *r)
{
	r->t.no_threads = true;
}

static const struct {
	const char *rule;
	rr_fn *yes, *no, *no2, *missing;
} rr_cases[] = {
	{ "rr_wakeup", two_cpus, spinning, same_cpu, rr_no_threads },
	{ "rr_wakeup", two_cpus_of_a_vm, large_messages, spinning, rr_no_threads },
	{ "rr_wakeup", idle_many, busy_server, rate_met, no_count_closed },
	{ "rr_spin", spinning, two_cpus, spinning_on_one_cpu, no_count_spinning },
	{ "rr_one_cpu", same_cpu, two_cpus, spinning, rr_no_threads },
	{ "rr_one_cpu", spinning_on_one_cpu, two_cpus, busy_server, rr_no_threads },
	{ "rr_rate", rate_met, overloaded, two_cpus, no_count },
	{ "rr_overload", overloaded, rate_met, two_cpus, no_count },
	{ "rr_connect", connections, two_cpus, rate_met, no_count_connecting },
	{ "rr_retransmits", loss, harmless_retransmits, few_retransmits, NULL },
	{ "rr_retransmits", loss, udp_loss, two_cpus, NULL },
	{ "rr_timeouts", udp_loss, udp_clean, loss, no_count },
};

/* ---- each rule --------------------------------------------------------------------------------- */

static void make_udp(udp_fn *change, struct wp_run *run)
{
	struct test_udp u = test_udp_base();

	change(&u);
	test_udp_make(&u, run);
}

static void make_rr(rr_fn *change, struct wp_run *run)
{
	struct test_rr r = test_rr_base();

	change(&r);
	test_rr_make(&r, run);
}

/* Asks one rule of a record, and frees it. */
static enum wp_rule_answer ask(const char *name, struct wp_run *run, struct wp_finding *ret)
{
	const struct wp_rule *rule = wp_rule_find(name);
	struct wp_facts f;

	assert_non_null(rule);
	(void)wp_facts_gather(run, true, &run->pool, &f);
	*ret = (struct wp_finding) { .rule = name };
	return rule->evaluate(&f, ret);
}

static void expect(const char *name, struct wp_run *run, enum wp_rule_answer want, const char *what,
		   size_t i)
{
	struct wp_finding f;
	enum wp_rule_answer got = ask(name, run, &f);

	if (got != want)
		fail_msg("%s, %s of case %zu: answer %d instead of %d (%s)", name, what, i, got,
			 want, f.says ? f.says : "says nothing");
	if (want == WP_RULE_UNKNOWN)
		assert_non_null(f.says);
	if (want == WP_RULE_YES) {
		assert_true(strlen(f.says) > 20 && f.says[strlen(f.says) - 1] != '.');
		assert_true(f.share_pct > 0 && f.share_pct <= 100);
		assert_true(f.n_evidence > 0 && f.n_advice > 0);
		for (size_t k = 0; k < f.n_evidence; k++)
			assert_true(f.evidence[k].metric && f.evidence[k].unit &&
				    f.evidence[k].source && isfinite(f.evidence[k].value));
		for (size_t k = 0; k < f.n_advice; k++)
			assert_null(strstr(f.advice[k], "./whyperf"));
	}
	wp_run_done(run);
}

static void rules_of_datagrams_say_yes_no_and_what_is_missing(void **state)
{
	struct wp_run run;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(udp_cases); i++) {
		make_udp(udp_cases[i].yes, &run);
		expect(udp_cases[i].rule, &run, WP_RULE_YES, "yes", i);
		make_udp(udp_cases[i].no, &run);
		expect(udp_cases[i].rule, &run, WP_RULE_NO, "no", i);
		make_udp(udp_cases[i].no2, &run);
		expect(udp_cases[i].rule, &run, WP_RULE_NO, "second no", i);
		if (!udp_cases[i].missing)
			continue;
		make_udp(udp_cases[i].missing, &run);
		expect(udp_cases[i].rule, &run, WP_RULE_UNKNOWN, "missing", i);
	}
}

static void rules_of_transactions_say_yes_no_and_what_is_missing(void **state)
{
	struct wp_run run;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rr_cases); i++) {
		make_rr(rr_cases[i].yes, &run);
		expect(rr_cases[i].rule, &run, WP_RULE_YES, "yes", i);
		make_rr(rr_cases[i].no, &run);
		expect(rr_cases[i].rule, &run, WP_RULE_NO, "no", i);
		make_rr(rr_cases[i].no2, &run);
		expect(rr_cases[i].rule, &run, WP_RULE_NO, "second no", i);
		if (!rr_cases[i].missing)
			continue;
		make_rr(rr_cases[i].missing, &run);
		expect(rr_cases[i].rule, &run, WP_RULE_UNKNOWN, "missing", i);
	}
}

static void every_rule_of_these_kinds_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < wp_n_rules; i++) {
		/* test_rules.c, test_write.c */
		bool found = wp_rules[i].kinds & (WP_KIND_TCP | WP_KIND_WRITE);

		for (size_t k = 0; k < WP_ARRAY_SIZE(udp_cases); k++)
			found |= !strcmp(udp_cases[k].rule, wp_rules[i].name);
		for (size_t k = 0; k < WP_ARRAY_SIZE(rr_cases); k++)
			found |= !strcmp(rr_cases[k].rule, wp_rules[i].name);
		if (!found)
			fail_msg("rule %s has no test", wp_rules[i].name);
	}
}

/* ---- what comes first -------------------------------------------------------------------------- */

/* First and second finding; "" = whatever. No rule of another kind speaks, nor lacks a figure of TCP. */
static void expect_findings(struct wp_run *run, unsigned kind, const char *first,
			    const char *second, size_t i)
{
	const char *got[2] = { "nothing", "nothing" };

	assert_int_equal(wp_explain(run), 0);
	for (size_t k = 0; k < run->n_findings; k++) {
		const struct wp_rule *rule = wp_rule_find(run->findings[k].rule);

		if (rule && !(rule->kinds & kind))
			fail_msg("case %zu: %s is not of this kind of test", i, rule->name);
		assert_null(strstr(run->findings[k].says, "window"));
		assert_null(strstr(run->findings[k].says, "segment offload"));
		if (k < 2)
			got[k] = run->findings[k].rule;
	}
	if ((*first && strcmp(got[0], first)) || (*second && strcmp(got[1], second)))
		fail_msg("case %zu: %s and %s instead of %s and %s (%s)", i, got[0], got[1], first,
			 second, run->n_findings ? run->findings[0].says : "");
	wp_run_done(run);
}

static void planted_limits_of_datagrams_come_first(void **state)
{
	static const struct {
		udp_fn *change;
		const char *first, *second;
	} cases[] = {
		{ flood, "sender_cpu", "nothing" },
		{ small_buffer, "socket_buffer", "sender_cpu" },
		{ kernel_buffer, "socket_buffer", "sender_cpu" },
		{ slow_receiver, "socket_buffer", "" },
		{ receiver_hog, "socket_buffer", "" },
		{ one_cpu, "socket_buffer", "shared_cpu" },
		{ little_loss, "sender_cpu", "socket_buffer" },
		{ shaper, "device_rate", "nothing" },
		{ refused_by_qdisc, "local_drops", "sender_cpu" },
		{ dropped_by_device, "local_drops", "sender_cpu" },
		{ backlog_refused, "backlog", "sender_cpu" },
		{ backlog_behind, "backlog", "sender_cpu" },
		{ filter, "host_loss", "sender_cpu" },
		{ firewall, "path_loss", "sender_cpu" },
		{ paced, "paced_rate", "nothing" },
		{ paced_spinning, "paced_rate", "nothing" },
		{ paced_late, "paced_rate", "pacing_shortfall" },
		{ paced_too_fast, "sender_cpu", "nothing" },
		{ only_duplicates, "sender_cpu", "nothing" },
	};
	struct wp_run run;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		make_udp(cases[i].change, &run);
		expect_findings(&run, WP_KIND_UDP, cases[i].first, cases[i].second, i);
	}
}

static void planted_limits_of_transactions_come_first(void **state)
{
	static const struct {
		rr_fn *change;
		const char *first, *second;
	} cases[] = {
		{ two_cpus, "rr_wakeup", "nothing" },
		{ two_cpus_of_a_vm, "rr_wakeup", "nothing" },
		{ spinning, "rr_spin", "nothing" },
		{ same_cpu, "rr_one_cpu", "nothing" },
		{ spinning_on_one_cpu, "rr_one_cpu", "nothing" },
		{ busy_server, "receiver_cpu", "nothing" },
		{ idle_many, "rr_wakeup", "" },
		{ rate_met, "rr_rate", "nothing" },
		{ overloaded, "rr_overload", "nothing" },
		{ connections, "rr_connect", "" },
		{ loss, "rr_retransmits", "rr_wakeup" },
		{ udp_loss, "rr_timeouts", "" },
		{ harmless_retransmits, "rr_wakeup", "" },
	};
	struct wp_run run;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		make_rr(cases[i].change, &run);
		expect_findings(&run, WP_KIND_RR, cases[i].first, cases[i].second, i);
	}
}

/* ---- what they say ----------------------------------------------------------------------------- */

static void says(struct wp_finding *f, const char *text)
{
	if (!strstr(f->says, text))
		fail_msg("'%s' is not in '%s'", text, f->says);
}

static void advises(const struct wp_finding *f, const char *want)
{
	for (size_t i = 0; i < f->n_advice; i++)
		if (!strcmp(f->advice[i], want))
			return;
	for (size_t i = 0; i < f->n_advice; i++)
		print_error("  %s\n", f->advice[i]);
	fail_msg("'%s' is not advised", want);
}

static void a_full_buffer_says_its_size_and_how_to_enlarge_it(void **state)
{
	struct wp_finding f;
	struct wp_run run;

	(void)state;
	make_udp(small_buffer, &run);
	assert_int_equal(ask("socket_buffer", &run, &f), WP_RULE_YES);
	says(&f, "671000 of 1100000 datagrams (61.0 %)");
	says(&f, "not on the way");
	says(&f, "1.12 KBytes (asked for: 1.12 KBytes)");
	says(&f, "a larger one helps");
	advises(&f, "whyperf udp lab -b 0 -l 64 --cpu 0 --peer-cpu=1");
	wp_run_done(&run);

	make_udp(kernel_buffer, &run);
	assert_int_equal(ask("socket_buffer", &run, &f), WP_RULE_YES);
	says(&f, "none was asked for");
	advises(&f, "sysctl -w net.core.rmem_max=33554432 on the receiver (it is 212992)");
	wp_run_done(&run);

	make_udp(slow_receiver, &run);
	assert_int_equal(ask("socket_buffer", &run, &f), WP_RULE_YES);
	says(&f, "no buffer is large enough");
	advises(&f, "whyperf udp lab -b 0 -l 64 --cpu 0 --peer-cpu=1 --gro");
	wp_run_done(&run);

	make_udp(receiver_hog, &run);
	assert_int_equal(ask("socket_buffer", &run, &f), WP_RULE_YES);
	says(&f, "waited 49 % of the time for a CPU");
	advises(&f, "whyperf udp lab -b 0 -l 64 --cpu 0 --peer-cpu 2");
	wp_run_done(&run);

	make_udp(one_cpu, &run);
	assert_int_equal(ask("socket_buffer", &run, &f), WP_RULE_YES);
	says(&f, "share CPU 0");
	wp_run_done(&run);
}

static void waiting_on_two_cpus_advises_one_and_spinning(void **state)
{
	struct wp_finding f;
	struct wp_run run;

	(void)state;
	make_rr(two_cpus, &run);
	assert_int_equal(ask("rr_wakeup", &run, &f), WP_RULE_YES);
	says(&f, "of its 31.4 us the client's thread ran 10.7 and the server's 9.7");
	advises(&f, "whyperf rr lab -t 2 --cpu 0 --peer-cpu=1 --wait spin");
	advises(&f, "whyperf rr lab -t 2 --cpu 0 --peer-cpu 0");
	wp_run_done(&run);
}

/* What an end's time went into, where there is no TCP to ask. */
static void times_of_these_ends_are_divided(void **state)
{
	struct wp_end_time t;
	struct wp_run run;
	char text[256];

	(void)state;
	make_udp(paced, &run);
	assert_int_equal(wp_explain_time(&run, 0, &t), 0);
	assert_true(t.asked_pct.v > 80 && t.path_pct.v == 0 && t.unexplained_pct.v == 0);
	wp_run_done(&run);
	make_udp(shaper, &run);
	assert_int_equal(wp_explain_time(&run, 0, &t), 0);
	assert_true(t.path_pct.v > 80 && t.asked_pct.v == 0);
	wp_run_done(&run);
	make_rr(two_cpus, &run);
	for (size_t h = 0; h < 2; h++) {
		assert_int_equal(wp_explain_time(&run, h, &t), 0);
		assert_true(t.peer_pct.v > 60 && t.unexplained_pct.v == 0);
		wp_end_time_format(&t, text, sizeof(text));
		assert_non_null(strstr(text, "the other end"));
	}
	wp_run_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_datagrams_say_yes_no_and_what_is_missing),
		cmocka_unit_test(rules_of_transactions_say_yes_no_and_what_is_missing),
		cmocka_unit_test(every_rule_of_these_kinds_has_a_case),
		cmocka_unit_test(planted_limits_of_datagrams_come_first),
		cmocka_unit_test(planted_limits_of_transactions_come_first),
		cmocka_unit_test(a_full_buffer_says_its_size_and_how_to_enlarge_it),
		cmocka_unit_test(waiting_on_two_cpus_advises_one_and_spinning),
		cmocka_unit_test(times_of_these_ends_are_divided),
	};

	return cmocka_run_group_tests_name("rules_kinds", tests, NULL, NULL);
}
