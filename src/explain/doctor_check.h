/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_check.h - inside explain: how a check of doctor is written.
 *
 * A check is a row of a const table: section, name, function. The function fills the line: wp_doctor_say() gives the
 * value (status ok), wp_doctor_mark() makes it a problem, wp_doctor_missing() an absent reading. A check that leaves
 * the line without value and without status produces no line (it does not apply here).
 */
#ifndef WP_EXPLAIN_DOCTOR_CHECK_H
#define WP_EXPLAIN_DOCTOR_CHECK_H

#include "explain/doctor.h"

struct wp_doctor_ctx {
	const struct wp_facts *f;
	const struct wp_syscosts *costs; /* NULL when not live */
	struct wp_pool *pool;
	const struct wp_nic *nic; /* the interface that is being looked at */
	bool failed;              /* memory was short */
};

struct wp_doctor_check {
	const char *section, *name;
	void (*run)(struct wp_doctor_ctx *c, struct wp_doctor_line *l);
};

extern const struct wp_doctor_check wp_doctor_machine_checks[], wp_doctor_limit_checks[],
	wp_doctor_nic_checks[], wp_doctor_measured_checks[];
extern const size_t wp_n_doctor_machine_checks, wp_n_doctor_limit_checks, wp_n_doctor_nic_checks,
	wp_n_doctor_measured_checks;

/* Formats into the pool; never NULL ("" and c->failed when memory is short). */
const char *wp_doctor_format(struct wp_doctor_ctx *c, const char *fmt, ...) WP_PRINTF(2, 3);
void wp_doctor_say(struct wp_doctor_ctx *c, struct wp_doctor_line *l, const char *fmt, ...)
	WP_PRINTF(3, 4);
void wp_doctor_mark(struct wp_doctor_line *l, enum wp_doctor_status status, const char *why,
		    const char *advice);
void wp_doctor_missing(struct wp_doctor_line *l, const char *why);
/* Says the text or that it is missing; true when there is a text. */
bool wp_doctor_say_text(struct wp_doctor_ctx *c, struct wp_doctor_line *l,
			const struct wp_maybe_text *t);
bool wp_doctor_say_int(struct wp_doctor_ctx *c, struct wp_doctor_line *l,
		       const struct wp_maybe_int *i, const char *unit);
/* CPUs online; 0 when unknown. */
int64_t wp_doctor_cpus(const struct wp_doctor_ctx *c);

#endif
