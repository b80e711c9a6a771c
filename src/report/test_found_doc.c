/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for the highest rate as documents, against golden files and as letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/campaign_doc.h"
#include "report/found_doc.h"
#include "report/testgolden.h"

static const char *command[] = { "udp", "192.0.2.7", "-l", "64", "--find-rate", "loss<0.1%" };

static const char buffer[] = "socket buffer (server)";

static struct wp_rate_tried tried(const char *step, const char *outcome, double asked, double sent,
				  double loss)
{
	return (struct wp_rate_tried) {
		.step = step,
		.outcome = outcome,
		.where = loss > 0 ? buffer : NULL,
		.asked_pps = asked > 0 ? wp_num(asked) : wp_absent("flat out"),
		.sent_pps = wp_num(sent),
		.received_pps = wp_num(sent * (1 - loss)),
		.loss_pct = wp_num(100 * loss),
		.sent_packets = wp_num(2 * sent),
		.lost_packets = wp_num(2 * sent * loss),
		.where_pct = loss > 0 ? wp_num(98) : wp_absent("nothing was lost"),
	};
}

static void make(struct wp_campaign *c, struct wp_found *f, struct wp_rate_tried *trials, size_t n)
{
	wp_campaign_init(c);
	c->id = "00112233445566ab";
	c->kind = "find-rate";
	c->version = "0.1.0";
	c->started = "2026-11-30T17:20:05.123Z";
	c->state = "done";
	c->host = "Linux 6.18.44, 2 CPUs, AMD EPYC, clock kvm-clock";
	c->plan.command = command;
	c->plan.n_command = WP_ARRAY_SIZE(command);
	f->bound = "loss<0.1%";
	f->payload_bytes = wp_num(64);
	f->trial_s = wp_num(2);
	f->resolution_pct = wp_num(1);
	f->tried = trials;
	f->n_tried = n;
	c->found = f;
}

static void check(const char *name, const struct wp_campaign *c)
{
	const struct wp_campaign_doc_opts opts = { 0 };
	const struct wp_text_opts text = { .width = 100, .utf8 = true };
	struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	struct wp_doc doc;

	wp_doc_init(&doc);
	wp_campaign_doc(&doc, c, &opts);
	assert_int_equal(wp_doc_to_text(&doc, &text, &out), 0);
	expect_golden(name, "txt", &out);
	wp_buf_reset(&out);
	assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
	assert_letter(name, wp_buf_text(&out));
	expect_golden(name, "mail", &out);
	wp_doc_done(&doc);
}

/* The answer of trials at 139,000 packets/s. */
static void answer(struct wp_found *f)
{
	f->confirmed = wp_num(1);
	f->asked_pps = wp_num(139000);
	f->sent_pps = wp_num(138900);
	f->sent_min_pps = wp_num(138000);
	f->sent_max_pps = wp_num(139010);
	f->received_pps = wp_num(138890);
	f->payload_bps = wp_num(138890.0 * 64 * 8);
	f->ethernet_bps = wp_num(138890.0 * 130 * 8);
	f->loss_pct = wp_num(0);
	f->loss_max_pct = wp_num(0.0125);
	f->sent_packets = wp_num(1389000);
	f->lost_packets = wp_num(35);
	f->trials = wp_num(5);
	f->passed = wp_num(5);
	f->void_trials = wp_num(1);
	f->highest_passed_pps = wp_num(139900);
}

static void test_a_rate_that_was_found(void **state)
{
	struct wp_rate_tried trials[] = {
		tried("first", "lost", 0, 412345, 0.663),
		tried("search", "passed", 132000, 131990, 0),
		tried("search", "short", 151800, 120000, 0),
		tried("border", "passed", 139000, 138990, 0.000125),
		tried("border", "lost", 140390, 140300, 0.0101),
	};
	struct wp_found f = { .verdict = "found",
			      .limited_by = "loss",
			      .lost_at = buffer,
			      .lost_at_pct = wp_num(98),
			      .next_pps = wp_num(140390),
			      .next_trials = wp_num(3),
			      .next_passed = wp_num(1),
			      .lowest_failed_pps = wp_num(138000),
			      .dips = wp_num(2) };
	struct wp_campaign c;

	(void)state;
	answer(&f);
	make(&c, &f, trials, WP_ARRAY_SIZE(trials));
	check("found-rate", &c);
	/* Few packets prove nothing. */
	f.sent_packets = wp_num(500);
	f.lost_packets = wp_num(0);
	check("found-few", &c);
	wp_campaign_done(&c);
}

static void test_a_sender_that_is_the_limit(void **state)
{
	struct wp_rate_tried trials[] = { tried("first", "passed", 0, 138900, 0) };
	struct wp_found f = { .verdict = "at_least", .limited_by = "sender" };
	struct wp_campaign c;

	(void)state;
	answer(&f);
	f.asked_pps = wp_absent("flat out");
	make(&c, &f, trials, WP_ARRAY_SIZE(trials));
	check("found-sender", &c);
	/* And one that others held up. */
	trials[0] = tried("search", "starved", 138900, 120345, 0);
	f.verdict = "unfinished";
	f.limited_by = "starved";
	check("found-starved", &c);
	wp_campaign_done(&c);
}

static void test_no_rate_and_a_search_cut_short(void **state)
{
	struct wp_rate_tried trials[] = { tried("first", "lost", 0, 412345, 0.05),
					  tried("search", "lost", 5, 5, 0.05) };
	struct wp_found f = { .verdict = "none",
			      .limited_by = "loss",
			      .lost_at = "the path, where no counter of the two ends sees it",
			      .lost_at_pct = wp_num(100),
			      .received_pps = wp_absent("no rate was found"),
			      .lowest_failed_pps = wp_num(5) };
	struct wp_campaign c;

	(void)state;
	make(&c, &f, trials, WP_ARRAY_SIZE(trials));
	check("found-none", &c);
	c.state = "interrupted";
	f.verdict = "unfinished";
	f.limited_by = "unknown";
	f.n_tried = 1;
	check("found-cut", &c);
	wp_campaign_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rate_that_was_found),
		cmocka_unit_test(test_a_sender_that_is_the_limit),
		cmocka_unit_test(test_no_rate_and_a_search_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
