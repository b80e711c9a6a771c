/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - what every command that makes traffic does: venue, run, explain, store, report.
 */
#ifndef WP_CLI_MEASURE_H
#define WP_CLI_MEASURE_H

#include "cli/command.h"
#include "cli/options.h"
#include "model/record.h"
#include "run/run.h"
#include "store/store.h"

/* Opens the venue of `target` for the options of `config`. */
int wp_measure_open(const struct wp_test_config *config, const char *target, struct wp_venue *ret,
		    struct wp_err *err) WP_MUST_USE;
/* One run in an open venue, with its findings; silent. `run` as in wp_run_execute(). */
int wp_measure_run(const struct wp_test_config *config, const struct wp_plan *plan,
		   struct wp_venue *venue, const struct wp_cli *cli, struct wp_run *run,
		   struct wp_err *err) WP_MUST_USE;
/* Saves the run before it is printed; a failure is a warning on stderr and in the record. Returns where it is for
 * wp_run_doc_opts.stored: NULL = in the store, "" = nowhere, else a file's path in the run's pool. */
const char *wp_measure_save(const struct wp_cli *cli, struct wp_run *run,
			    const struct wp_store_cell *cell);
/* A single run in an open venue, shown, stored and reported: exit status. The venue's session is moved in. */
int wp_measure_in(const struct wp_test_config *config, const struct wp_plan *plan,
		  struct wp_venue *venue, struct wp_cli *cli);
/* Nothing ran, because of `err`: the sentence, and for those who read JSON a record that holds it. */
int wp_measure_not_started(const struct wp_test_config *config, const struct wp_plan *plan,
			   const char *target, const struct wp_cli *cli, const struct wp_err *err);
/* The whole of a single test command: exit status. */
int wp_measure(const struct wp_test_config *config, const char *kind, const char *target,
	       struct wp_cli *cli);
/* The same with the operands of the command line: at most HOST, which --loopback may stand for. */
int wp_measure_host(const struct wp_test_config *config, const char *kind,
		    const struct wp_operands *operands, struct wp_cli *cli);

/* "$state_dir/whyperf.db" into `out`. */
int wp_store_path(const struct wp_cli *cli, char *out, size_t size) WP_MUST_USE;

#endif
