/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.h - a record on stdout in the form that was asked for. Shared by the commands that make or show runs. */
#ifndef WP_CLI_OUTPUT_H
#define WP_CLI_OUTPUT_H

#include <jansson.h>

#include "cli/command.h"
#include "cli/options.h"
#include "report/run_doc.h"

/* Prints `run`; `opts` shapes the text form and may be NULL. An enum wp_exit. */
int wp_output_run(const struct wp_cli *cli, const struct wp_run *run, enum wp_format format,
		  char unit, const struct wp_run_doc_opts *opts);
/* A finished document as text or mail. */
int wp_output_doc(const struct wp_cli *cli, const struct wp_doc *doc, enum wp_format format,
		  char unit);
/* One JSON value, indented, with a newline; consumes the reference. */
int wp_output_json(const struct wp_cli *cli, json_t *json);

#endif
