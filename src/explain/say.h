/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * say.h - how rules write a finding: the sentence, evidence by the metric table, advice as commands made from the
 * run's own command line. Texts go to the facts' pool; what does not fit is left out (memory short: the engine notices
 * by the missing sentence).
 */
#ifndef WP_EXPLAIN_SAY_H
#define WP_EXPLAIN_SAY_H

#include "explain/rules.h"
#include "model/metric.h"

/* `share` is clamped to 0..100. Returns WP_RULE_YES. */
enum wp_rule_answer wp_find(const struct wp_facts *f, struct wp_finding *ret, double share_pct,
			    const char *confidence, const char *fmt, ...) WP_PRINTF(5, 6);
/* WP_RULE_UNKNOWN: `what` is missing ("the receiver's threads") and why. */
enum wp_rule_answer wp_lacks(const struct wp_facts *f, struct wp_finding *ret, const char *what,
			     struct wp_num n);

/* One figure; unit and source come from the metric's row. `where` goes in front of the name: "sender", "sender.cpu0";
 * NULL = none. Nothing is added where `n` has no value or the list is full. */
void wp_evidence(const struct wp_facts *f, struct wp_finding *ret, const char *where,
		 enum wp_scope scope, const char *name, struct wp_num n);

/* A kernel counter in packets, of the end `where`. Nothing is added where the list is full. */
void wp_evidence_count(const struct wp_facts *f, struct wp_finding *ret, const char *where,
		       const struct wp_count *c);

void wp_advise(const struct wp_facts *f, struct wp_finding *ret, const char *fmt, ...)
	WP_PRINTF(3, 4);
/* The run's command with other options: those named in `drop` (blank separated, "cpu length l") are taken out and
 * `add` is put behind. */
void wp_advise_command(const struct wp_facts *f, struct wp_finding *ret, const char *drop,
		       const char *fmt, ...) WP_PRINTF(4, 5);

/* The command line as it would be typed: "whyperf tcp lab -t 10 --cpu 0", without the options in `drop`. Made from
 * test{} where the record holds no command. In the pool; NULL when memory is short. */
const char *wp_command_without(const struct wp_run *run, struct wp_pool *pool, const char *drop);
/* The same without the program's name: what stands behind `whyperf sweep --cpu all`. */
const char *wp_command_words(const struct wp_run *run, struct wp_pool *pool, const char *drop);

/* "high" where `certain`, else "medium"; one step lower where the share of rows that show it (as wp_facts_rows_above()
 * has it) is below 0.6. */
const char *wp_confidence(bool certain, double rows);

#endif
