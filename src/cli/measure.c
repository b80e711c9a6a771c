/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/measure.h"

#include <errno.h>
#include <string.h>

#include "cli/output.h"
#include "explain/explain.h"

int wp_store_path(const struct wp_cli *cli, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/whyperf.db", cli->state_dir);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int wp_measure_open(const struct wp_test_config *c, const char *target, struct wp_venue *ret,
		    struct wp_err *err)
{
	struct wp_venue_config venue = {
		.target = target,
		.port = (uint16_t)c->port,
		.family = c->v6   ? AF_INET6
			  : c->v4 ? AF_INET
				  : AF_UNSPEC,
		.key_file = c->key_file,
	};

	return wp_venue_open(&venue, ret, err);
}

static int execute(const struct wp_test_config *c, const struct wp_plan *plan,
		   struct wp_venue *venue, const struct wp_cli *cli, struct wp_run_config *hooks,
		   struct wp_run *run, struct wp_err *err)
{
	struct wp_run_config rc = {
		.plan = plan,
		.engine = wp_engine_find(plan->kind),
		.peer = wp_peer_find("whyperf"),
		.venue = venue,
		.key_file = c->key_file,
		.timeout_ns = c->timeout_ns,
		.cancel_fd = cli->cancel_fd,
		.command = cli->argv,
		.n_command = cli->argc,
	};
	int r;

	if (hooks) {
		rc.on_start = hooks->on_start;
		rc.on_tick = hooks->on_tick;
		rc.arg = hooks->arg;
	}
	r = wp_run_execute(&rc, run, err);
	if (wp_explain(run))
		wp_run_warn(run, "not enough memory to say what held the run down");
	if (c->name)
		run->name = wp_pool_strdup(&run->pool, c->name);
	return r;
}

int wp_measure_run(const struct wp_test_config *c, const struct wp_plan *plan,
		   struct wp_venue *venue, const struct wp_cli *cli, struct wp_run *run,
		   struct wp_err *err)
{
	return execute(c, plan, venue, cli, NULL, run, err);
}

void wp_measure_save(const struct wp_cli *cli, struct wp_run *run, const struct wp_store_cell *cell)
{
	char path[4096], fallback[4096] = "";
	struct wp_err err = { 0 };
	int r = wp_store_path(cli, path, sizeof(path));

	if (!r)
		r = wp_store_save_run(path, run, cell, fallback, sizeof(fallback), &err);
	if (!r)
		return;
	if (r > 0)
		wp_run_warn(run, "%s; the run is in %s", err.msg, fallback);
	else
		wp_run_warn(run, "the run is not stored: %s", err.msg);
	fprintf(cli->err, "whyperf: %s\n",
		run->n_warnings ? run->warnings[run->n_warnings - 1] : err.msg);
}

int wp_measure(const struct wp_test_config *c, const char *kind, const char *target,
	       struct wp_cli *cli)
{
	struct wp_err err = { 0 };
	struct wp_plan plan;
	struct wp_venue venue;
	struct wp_run run;
	int r;

	if (wp_test_plan(c, kind, &plan, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	r = wp_measure_open(c, target, &venue, &err);
	if (r)
		return wp_cli_fail(cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
	r = wp_measure_run(c, &plan, &venue, cli, &run, &err);
	if (!c->no_store)
		wp_measure_save(cli, &run, NULL);
	wp_output_run(cli, &run, c->json ? WP_FORMAT_JSON : (enum wp_format)c->format,
		      c->unit ? c->unit[0] : 0, NULL);
	if (r)
		wp_cli_fail(cli, 1, &err);
	r = run.exit_status;
	wp_run_done(&run);
	wp_venue_close(&venue);
	return r;
}
