/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h - the table of rules: each knows one thing that can hold a path down, reads the facts and says whether it
 * did, how much of the limit it explains, by which figures, and what to try next.
 *
 * To add one: a function in a rule_*.c file, its declaration here, its row in rules.c (and docs/rules.md, which a test
 * compares with the table).
 */
#ifndef WP_EXPLAIN_RULES_H
#define WP_EXPLAIN_RULES_H

#include "base/buf.h"
#include "explain/facts.h"

enum wp_rule_answer {
	WP_RULE_NO,      /* it is not that */
	WP_RULE_YES,     /* the finding is filled */
	WP_RULE_UNKNOWN, /* a figure is missing: finding->says names it */
};

struct wp_rule {
	const char *name;    /* snake case; findings[].rule */
	const char *summary; /* one line: what holds the path then */
	const char *needs;   /* metrics as "scope.name", blank separated */
	const char *sign;    /* when it answers yes, in words */
	const char *
		covers; /* rules that see the same cause from another side, blank separated: where both answer
				yes, this one is kept with their evidence; NULL */
	unsigned kinds; /* of tests that it knows: bits of enum wp_fact_kind */
	bool note;      /* a caveat with share 0, not a cause */
	bool minor; /* never a large share: what it lacks is not named where the limit stays open */
	enum wp_rule_answer (*evaluate)(const struct wp_facts *f, struct wp_finding *ret);
};

extern const struct wp_rule wp_rules[];
extern const size_t wp_n_rules;

const struct wp_rule *wp_rule_find(const char *name);
/* docs/rules.md. */
int wp_rules_markdown(struct wp_buf *out) WP_MUST_USE;

/* rule_cpu.c */
enum wp_rule_answer wp_rule_sender_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_receiver_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_shared_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_softirq_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_sender_run_queue(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_receiver_run_queue(const struct wp_facts *f, struct wp_finding *ret);
/* rule_app.c */
enum wp_rule_answer wp_rule_small_writes(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_segment_offload(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_target_rate(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_app_limited(const struct wp_facts *f, struct wp_finding *ret);
/* rule_window.c */
enum wp_rule_answer wp_rule_slow_reader(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_receive_window(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_send_buffer(const struct wp_facts *f, struct wp_finding *ret);
/* rule_network.c */
enum wp_rule_answer wp_rule_congestion_control(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_loss(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_path_queue(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_pacing(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_congestion_window(const struct wp_facts *f, struct wp_finding *ret);
/* rule_udp.c */
enum wp_rule_answer wp_rule_socket_buffer(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_backlog(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_local_drops(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_host_loss(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_path_loss(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_paced_rate(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_pacing_shortfall(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_device_rate(const struct wp_facts *f, struct wp_finding *ret);
/* rule_rr.c */
enum wp_rule_answer wp_rule_rr_overload(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_rate(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_wakeup(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_spin(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_one_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_connect(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_retransmits(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_rr_timeouts(const struct wp_facts *f, struct wp_finding *ret);
/* rule_latency.c */
enum wp_rule_answer wp_rule_bufferbloat(const struct wp_facts *f, struct wp_finding *ret);
/* rule_write.c */
enum wp_rule_answer wp_rule_write_pace(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_write_reader(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_write_run_queue(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_write_fsync(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_write_storage(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_write_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_page_cache(const struct wp_facts *f, struct wp_finding *ret);
/* rule_host.c */
enum wp_rule_answer wp_rule_steal(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_far_cpu(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_sampler(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_accounting(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_short_run(const struct wp_facts *f, struct wp_finding *ret);
enum wp_rule_answer wp_rule_slow_clock(const struct wp_facts *f, struct wp_finding *ret);

#endif
