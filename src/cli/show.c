/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/stored.h"
#include "cli/sweep_show.h"
#include "model/json.h"
#include "report/campaign_doc.h"
#include "report/csv.h"

static char unit_of(const struct wp_show_config *c)
{
	return c->unit ? c->unit[0] : 0;
}

static int show_table(const struct wp_cli *cli, const struct wp_run *run, const char *table,
		      struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(WP_CSV_MAX_BYTES);
	enum wp_scope scope;
	int r = wp_csv_scope(table, &scope, err);

	if (r)
		return wp_cli_fail(cli, WP_EXIT_USAGE, err);
	r = wp_run_to_csv(run, scope, &b);
	if (r) {
		wp_err_sys(err, r, "cannot make the table");
		return wp_cli_fail(cli, WP_EXIT_FAILED, err);
	}
	fputs(wp_buf_text(&b), cli->out);
	return WP_EXIT_OK;
}

static int show_run(const struct wp_cli *cli, struct wp_store *s, const char *id,
		    const struct wp_show_config *c)
{
	const struct wp_run_doc_opts opts = { .stored_run = true };
	struct wp_err err = { 0 };
	struct wp_run run;
	json_t *json;
	int r;

	/* As it is stored: keys of a newer minor version are kept. */
	r = wp_store_load_run_json(s, id, &json, &err);
	if (r)
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	if (c->format == WP_FORMAT_JSON)
		return wp_output_json(cli, json);
	r = wp_run_from_json(json, &run, &err);
	json_decref(json);
	if (r)
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	if (c->format == WP_FORMAT_CSV && c->table)
		r = show_table(cli, &run, c->table, &err);
	else
		r = wp_output_run(cli, &run, c->format, unit_of(c), &opts);
	wp_run_done(&run);
	return r;
}

int wp_show_campaign(const struct wp_cli *cli, const struct wp_campaign *campaign,
		     struct wp_store *store, const struct wp_show_config *c)
{
	const struct wp_campaign_doc_opts opts = { .unit = unit_of(c),
						   .stored = store ? NULL : "" };
	_cleanup_buf_ struct wp_buf b = WP_BUF(WP_CSV_MAX_BYTES);
	struct wp_sweep_shown shown = { .n = 0 };
	struct wp_doc doc;
	int r;

	if (c->format == WP_FORMAT_JSON)
		return wp_output_json(cli, wp_campaign_to_json(campaign));
	if (c->format == WP_FORMAT_CSV) {
		if (wp_campaign_to_csv(campaign, &b))
			return wp_cli_usage(cli, "the sweep is too large for the memory");
		fputs(wp_buf_text(&b), cli->out);
		return WP_EXIT_OK;
	}
	wp_doc_init(&doc);
	wp_campaign_doc(&doc, campaign, &opts);
	wp_sweep_show(&doc, campaign, store, &shown);
	r = wp_output_doc(cli, &doc, c->format, unit_of(c));
	wp_doc_done(&doc);
	wp_sweep_shown_done(&shown);
	return r;
}

static int show_stored(const struct wp_cli *cli, struct wp_store *s, const char *ref,
		       const struct wp_show_config *c)
{
	struct wp_campaign campaign;
	struct wp_err err = { 0 };
	struct wp_stored found;
	int r;

	if (wp_stored_find(s, ref, &found, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	if (!found.campaign)
		return show_run(cli, s, found.id, c);
	if (wp_store_load_campaign(s, found.id, &campaign, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	r = wp_show_campaign(cli, &campaign, s, c);
	wp_campaign_done(&campaign);
	return r;
}

int wp_show(const struct wp_cli *cli, const char *ref, const struct wp_show_config *c)
{
	struct wp_err err = { 0 };
	struct wp_store *s;
	int r;

	if (c->unit && (strlen(c->unit) != 1 || !strchr("kmgtKMGT", c->unit[0])))
		return wp_cli_usage(cli, "-f: '%s' is not one of k m g t K M G T", c->unit);
	if (c->table && c->format != WP_FORMAT_CSV)
		return wp_cli_usage(cli, "--table needs --format csv");
	if (wp_stored_open(cli, &s, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	r = show_stored(cli, s, ref, c);
	wp_store_close(s);
	return r;
}
