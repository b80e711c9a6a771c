/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/measure.h"

#include <errno.h>
#include <string.h>

#include "cli/find_rate.h"
#include "cli/output.h"
#include "cli/printer.h"
#include "cli/with.h"
#include "explain/explain.h"
#include "report/live.h"
#include "report/stream.h"
#include "run/write.h"

#define EVENT_MAX_BYTES (64u << 20)

int wp_store_path(const struct wp_cli *cli, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/whyperf.db", cli->state_dir);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static char unit_of(const struct wp_test_config *c)
{
	return c->unit ? c->unit[0] : 0;
}

int wp_measure_open(const struct wp_test_config *c, const char *target, struct wp_venue *ret,
		    struct wp_err *err)
{
	struct wp_venue_config venue = {
		.target = c->loopback ? "loopback" : target,
		.port = (uint16_t)c->port,
		.family = c->v6   ? AF_INET6
			  : c->v4 ? AF_INET
				  : AF_UNSPEC,
		.key_file = c->key_file,
		.timeout_ns = c->timeout_ns,
	};

	return wp_venue_open(&venue, ret, err);
}

static struct wp_run_config run_config(const struct wp_test_config *c, const struct wp_plan *plan,
				       struct wp_venue *venue, const struct wp_cli *cli)
{
	return (struct wp_run_config) {
		.plan = plan,
		.engine = wp_engine_find(plan->kind),
		.peer = strcmp(plan->kind, "write") ? wp_peer_find("whyperf") : &wp_peer_none,
		.session = venue->session,
		.venue = venue,
		.key_file = c->key_file,
		.timeout_ns = c->timeout_ns,
		.cancel_fd = cli->cancel_fd,
		.command = cli->argv,
		.n_command = cli->argc,
	};
}

/* What is told while a run goes on. */
struct hooks {
	void (*on_start)(void *arg, const struct wp_run *run);
	void (*on_tick)(void *arg, const struct wp_end_tick *tick);
	void (*on_idle)(void *arg, const struct wp_run *idle);
	void *arg;
};

static int execute(const struct wp_test_config *c, const struct wp_plan *plan,
		   struct wp_venue *venue, const struct wp_cli *cli, const struct hooks *hooks,
		   struct wp_run *run, struct wp_err *err)
{
	struct wp_run_config rc = run_config(c, plan, venue, cli);
	struct wp_with with;
	int r = wp_with_parse(c, plan, &with, err);

	venue->session = NULL; /* moved into the run */

	rc.on_start = hooks->on_start;
	rc.on_tick = hooks->on_tick;
	rc.arg = hooks->arg;
	with.on_idle = hooks->on_idle;
	with.arg = hooks->arg;
	if (r)
		wp_run_not_started(&rc, run, err);
	else
		r = with.engine ? wp_run_with(&rc, &with, run, err) : wp_run_execute(&rc, run, err);
	if (wp_explain(run))
		wp_run_warn(run, "not enough memory to say what held the run down");
	if (!strcmp(plan->kind, "udp") && !c->pace_set)
		wp_run_warn(run, "10 Mbits/sec is the default of -b, not what the path can do; "
				 "-b 0 sends flat out");
	if (c->name)
		run->name = wp_pool_strdup(&run->pool, c->name);
	return r;
}

int wp_measure_run(const struct wp_test_config *c, const struct wp_plan *plan,
		   struct wp_venue *venue, const struct wp_cli *cli, struct wp_run *run,
		   struct wp_err *err)
{
	return execute(c, plan, venue, cli, &(struct hooks) { 0 }, run, err);
}

const char *wp_measure_save(const struct wp_cli *cli, struct wp_run *run,
			    const struct wp_store_cell *cell)
{
	char path[4096], fallback[4096] = "";
	struct wp_err err = { 0 };
	int r = wp_store_path(cli, path, sizeof(path));

	if (!r)
		r = wp_store_save_run(path, run, cell, fallback, sizeof(fallback), &err);
	if (!r && !err.msg[0])
		return NULL;
	if (!r)
		wp_run_warn(run, "%s", err.msg);
	else if (r > 0)
		wp_run_warn(run, "%s; the run is in %s", err.msg, fallback);
	else
		wp_run_warn(run, "the run is not stored: %s", err.msg);
	wp_cli_say(cli, "%s", run->n_warnings ? run->warnings[run->n_warnings - 1] : err.msg);
	if (!r)
		return NULL;
	return r > 0 ? wp_pool_strdup(&run->pool, fallback) : "";
}

/* ---- the screen ------------------------------------------------------------------------------- */

/* What is shown while a run goes on: rows as text, events as JSON lines, or nothing. */
struct screen {
	const struct wp_cli *cli;
	const struct wp_run *run; /* once it has started */
	struct wp_live *live;
	struct wp_printer *printer; /* while the test runs */
	bool stream;
};

static void put_text(void *arg, const char *text, size_t len)
{
	const struct screen *s = arg;

	if (s->printer) {
		wp_printer_put(s->printer, text, len);
		return;
	}
	fwrite(text, 1, len, s->cli->out);
	fflush(s->cli->out);
}

/* One event; consumes the reference. */
static void put_event(const struct screen *s, json_t *event)
{
	_cleanup_buf_ struct wp_buf line = WP_BUF(EVENT_MAX_BYTES);

	if (!wp_json_line(event, &line))
		put_text((void *)(uintptr_t)s, wp_buf_text(&line), line.len);
}

static void on_start(void *arg, const struct wp_run *run)
{
	struct screen *s = arg;

	s->run = run;
	if (s->stream)
		put_event(s, wp_event_start(run));
	else if (s->live)
		wp_live_start(s->live, run);
}

/* Before the requests run alone, and after. */
static void on_idle(void *arg, const struct wp_run *idle)
{
	struct screen *s = arg;
	json_t *event = s->stream && idle ? wp_event_idle(idle) : NULL;

	if (event)
		put_event(s, event);
	else if (s->live && !idle && s->cli->terminal)
		wp_cli_say(s->cli, "round trips without load first");
}

static void on_tick(void *arg, const struct wp_end_tick *tick)
{
	struct screen *s = arg;

	if (s->stream)
		put_event(s, wp_event_interval(s->run, tick));
	else if (s->live)
		wp_live_tick(s->live, tick);
}

static int open_screen(struct screen *s, const struct wp_test_config *c, const struct wp_plan *plan,
		       const struct wp_venue *venue, enum wp_format format)
{
	struct wp_live_config live = {
		.plan = plan,
		.text = { .width = s->cli->width,
			  .utf8 = s->cli->utf8,
			  .color = s->cli->colour,
			  .unit = unit_of(c) },
		.n_online = (size_t)wp_num_or(venue->inventory.cpus_online, 1),
		.same_machine = venue->local,
		.write = put_text,
		.arg = s,
	};

	int r = 0;

	s->stream = c->json_stream;
	if (!s->stream && !c->quiet && format == WP_FORMAT_TEXT)
		r = wp_live_new(&live, &s->live);
	if (!r && (s->stream || s->live))
		r = wp_printer_new(s->cli->out, &s->printer);
	return r;
}

static int show(const struct screen *s, const struct wp_test_config *c, const struct wp_run *run,
		enum wp_format format, const char *stored)
{
	struct wp_run_doc_opts opts = { .stored = stored };

	if (s->stream) {
		put_event(s, wp_event_end(run));
		return WP_EXIT_OK;
	}
	if (s->run) /* the heading has been printed */
		wp_live_doc_opts(s->live, &opts);
	if (c->no_store)
		opts.stored = "nowhere (--no-store)";
	return wp_output_run(s->cli, run, format, unit_of(c), &opts);
}

int wp_measure_in(const struct wp_test_config *c, const struct wp_plan *plan,
		  struct wp_venue *venue, struct wp_cli *cli)
{
	enum wp_format format = c->json ? WP_FORMAT_JSON : (enum wp_format)c->format;
	struct screen screen = { .cli = cli };
	const struct hooks hooks = {
		.on_start = on_start, .on_tick = on_tick, .on_idle = on_idle, .arg = &screen
	};
	struct wp_err err = { 0 };
	const char *stored = "";
	struct wp_run run;
	int status, shown;

	if (open_screen(&screen, c, plan, venue, format)) {
		wp_live_free(screen.live);
		wp_cli_say(cli, "no memory or no thread for the report");
		return WP_EXIT_FAILED;
	}
	if (execute(c, plan, venue, cli, &hooks, &run, &err) && run.exit_status == 0)
		run.exit_status = WP_EXIT_FAILED;
	if (!run.exit_status && run.n_stalls)
		run.exit_status = WP_EXIT_THRESHOLD;
	/* A name mistyped or a server that is not there leaves nothing behind. */
	if (!c->no_store && run.n_flows)
		stored = wp_measure_save(cli, &run, NULL);
	wp_printer_free(screen.printer);
	screen.printer = NULL;
	status = run.exit_status;
	/* A run that never began has nothing to report but its sentence; JSON readers get the record all the same. */
	shown = run.n_flows || format == WP_FORMAT_JSON || screen.stream
			? show(&screen, c, &run, format, stored)
			: 0;
	if (err.msg[0])
		wp_cli_fail(cli, status, &err);
	wp_live_free(screen.live);
	wp_run_done(&run);
	return status ? status : shown;
}

/* Nothing ran: the sentence, and for those who read JSON a record that holds it. Nothing is stored. */
int wp_measure_not_started(const struct wp_test_config *c, const struct wp_plan *plan,
			   const char *target, const struct wp_cli *cli, const struct wp_err *err)
{
	enum wp_format format = c->json ? WP_FORMAT_JSON : (enum wp_format)c->format;
	struct screen screen = { .cli = cli, .stream = c->json_stream };
	struct wp_venue nowhere = { .text = target };
	struct wp_run_config rc = run_config(c, plan, &nowhere, cli);
	struct wp_run run;

	if (format == WP_FORMAT_JSON || screen.stream) {
		wp_run_not_started(&rc, &run, err);
		(void)show(&screen, c, &run, format, "");
		wp_run_done(&run);
	}
	return wp_cli_fail(cli, WP_EXIT_FAILED, err);
}

int wp_measure(const struct wp_test_config *c, const char *kind, const char *target,
	       struct wp_cli *cli)
{
	struct wp_err err = { 0 };
	struct wp_venue venue;
	struct wp_plan plan;
	int r;

	if (wp_test_plan(c, kind, &plan, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	if (!wp_engine_find(kind))
		return wp_cli_usage(cli, "this build has no engine for %s; see --engines", kind);
	r = wp_measure_open(c, target, &venue, &err);
	if (r == -EINVAL)
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	if (r)
		return wp_measure_not_started(c, &plan, target, cli, &err);
	r = wp_measure_in(c, &plan, &venue, cli);
	wp_venue_close(&venue);
	return r;
}

int wp_measure_host(const struct wp_test_config *c, const char *kind,
		    const struct wp_operands *operands, struct wp_cli *cli)
{
	if (!operands->n && !c->loopback)
		return wp_cli_usage(
			cli, "%s needs HOST[:PORT], lab or loopback; `whyperf %s --help` explains",
			kind, kind);
	if (c->loopback && operands->n && strncmp(operands->v[0], "lab", 3) != 0 &&
	    strcmp(operands->v[0], "loopback") != 0)
		return wp_cli_usage(cli,
				    "--loopback measures this machine, not '%s'; give one of them",
				    operands->v[0]);
	if (c->find_rate)
		return wp_find_rate_command(c, operands->n ? operands->v[0] : NULL, cli);
	return wp_measure(c, kind, operands->n ? operands->v[0] : NULL, cli);
}
