/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <string.h>

#include "model/json.h"
#include "report/csv.h"
#include "report/mail.h"
#include "report/text.h"

#define OUTPUT_MAX_BYTES (256u << 20)
#define MAIL_MAX_ROWS    60 /* a letter with more is not read; the rest is a line of bars */

static int cannot_make(const struct wp_cli *cli)
{
	/* main() tells what is wrong with stdout. */
	if (!ferror(cli->out))
		wp_cli_say(cli, "the report is too large for the memory");
	return WP_EXIT_FAILED;
}

int wp_output_json(const struct wp_cli *cli, json_t *json)
{
	int r = json ? json_dumpf(json, cli->out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : -1;

	json_decref(json);
	if (r && ferror(cli->out)) /* main() says it */
		return WP_EXIT_FAILED;
	if (r)
		return cannot_make(cli);
	fputc('\n', cli->out);
	return WP_EXIT_OK;
}

int wp_output_doc(const struct wp_cli *cli, const struct wp_doc *doc, enum wp_format format,
		  char unit)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(OUTPUT_MAX_BYTES);
	struct wp_text_opts text = {
		.width = cli->width, .utf8 = cli->utf8, .color = cli->colour, .unit = unit
	};
	int r = wp_doc_status(doc);

	if (!r)
		r = format == WP_FORMAT_MAIL ? wp_doc_to_mail(doc, unit, &b)
					     : wp_doc_to_text(doc, &text, &b);
	if (r)
		return cannot_make(cli);
	fputs(wp_buf_text(&b), cli->out);
	return WP_EXIT_OK;
}

static int output_csv(const struct wp_cli *cli, const struct wp_run *run)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(OUTPUT_MAX_BYTES);

	if (wp_run_to_csv_all(run, &b))
		return cannot_make(cli);
	fputs(wp_buf_text(&b), cli->out);
	return WP_EXIT_OK;
}

int wp_output_run(const struct wp_cli *cli, const struct wp_run *run, enum wp_format format,
		  char unit, const struct wp_run_doc_opts *opts)
{
	struct wp_run_doc_opts own = opts ? *opts : (struct wp_run_doc_opts) { 0 };
	struct wp_doc doc;
	int r;

	if (format == WP_FORMAT_JSON)
		return wp_output_json(cli, wp_run_to_json(run));
	if (format == WP_FORMAT_CSV)
		return output_csv(cli, run);
	/* A writer thinks in bytes. */
	if (!unit && run->test.kind && !strcmp(run->test.kind, "write"))
		unit = 'A';
	own.unit = unit;
	if (format == WP_FORMAT_MAIL) {
		own.detail = true;
		own.max_rows = MAIL_MAX_ROWS;
	}
	wp_doc_init(&doc);
	wp_run_doc(&doc, run, &own);
	r = wp_output_doc(cli, &doc, format, unit);
	wp_doc_done(&doc);
	return r;
}
