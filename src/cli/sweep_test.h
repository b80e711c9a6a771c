/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep_test.h - what a sweep repeats: a command that makes traffic, its options, and the axes that are set in them.
 *
 * A new test command becomes sweepable by its line in sweep_test.c; a new axis by a line there and an option in
 * cmd_sweep.c.
 */
#ifndef WP_CLI_SWEEP_TEST_H
#define WP_CLI_SWEEP_TEST_H

#include "cli/command.h"
#include "cli/options.h"
#include "model/campaign.h"
#include "model/metric.h"
#include "model/record.h"

struct wp_sweepable {
	const struct wp_command *command; /* its config is a struct wp_test_config */
	const char
		*metric; /* what cells are compared by unless --metric says: a figure of total{} */
};

struct wp_sweep_test {
	const struct wp_sweepable *what;
	struct wp_test_config config; /* owned lists; texts borrowed from the words */
	const char *target;
};

/* What an axis sets, and what it is called in tables. */
struct wp_sweep_axis {
	const char *name;   /* of the sweep's option and of the campaign's axis */
	const char *option; /* of the repeated command */
	const char *heading_forward, *heading_reverse, *heading_both; /* tcp */
	const char *heading_udp, *heading_rr; /* NULL = as tcp's; as tcp's in both directions */
};

const struct wp_sweep_axis *wp_sweep_axis_find(const char *name);
/* "sender's CPU" */
const char *wp_sweep_axis_heading(const struct wp_sweep_axis *a, const struct wp_sweep_test *t);

/* What the command that is repeated is compared by; NULL for one that can't be repeated. */
const char *wp_sweep_default_metric(const char *command);
/* A row of the metric table in scope total that says which way is better. -EINVAL with a sentence. */
int wp_sweep_metric(const char *name, const struct wp_metric **ret, struct wp_err *err) WP_MUST_USE;

/* Parses "tcp lab -t 1". The words are borrowed. -EINVAL with a sentence; free with wp_sweep_test_done(). */
int wp_sweep_test_parse(const char *const *words, size_t n, struct wp_sweep_test *ret,
			struct wp_err *err) WP_MUST_USE;
/* Sets the values of a cell in the config and makes the plan of its runs; the plan borrows from the config. -EINVAL. */
int wp_sweep_test_cell(struct wp_sweep_test *t, const struct wp_campaign *c, size_t cell,
		       struct wp_plan *ret, struct wp_err *err) WP_MUST_USE;
/* The command line of one run of a cell, as a person would type it: argv for the record, in `pool`. */
int wp_sweep_test_argv(const struct wp_campaign *c, size_t cell, struct wp_pool *pool,
		       const char ***ret, size_t *ret_n) WP_MUST_USE;
/* The figure that the cells of `c` are compared by, from a record. */
struct wp_num wp_sweep_test_value(const struct wp_campaign *c, const struct wp_run *run);
/* The other end is on this machine: its CPUs are ours. */
bool wp_sweep_test_local(const struct wp_sweep_test *t);
/* What one run takes; 0 = not known before. */
int64_t wp_sweep_test_run_ns(const struct wp_sweep_test *t);
void wp_sweep_test_done(struct wp_sweep_test *t);

#endif
