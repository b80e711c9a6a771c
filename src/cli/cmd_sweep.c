/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_sweep.c - `whyperf sweep AXES COMMAND...`: the same test over CPUs, streams, sizes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/find_rate.h"
#include "cli/measure.h"
#include "cli/show.h"
#include "cli/stored.h"
#include "cli/study.h"
#include "cli/sweep_show.h"
#include "cli/sweep_test.h"
#include "model/metric.h"
#include "study/rank.h"
#include "study/sweep.h"

#define MAX_UNFINISHED 1000

struct sweep_config {
	struct wp_cpulist cpus;
	const char *peer_cpus, *bitrates, *rates, *waits;
	struct wp_u64list streams, lengths, batches, outstanding, requests, responses;
	uint64_t repeats;
	const char *seed, *name, *metric;
	bool resume, json, quiet, no_store;
	int format;
	const char *unit;
};

#define OFF(field) offsetof(struct sweep_config, field)

static const char *const formats[] = { "text", "json", "csv", "mail", NULL };

static const struct wp_opt options[] = {
	{ "cpu", 0, WP_OPT_CPULIST, OFF(cpus), .arg = "LIST", .group = "Axes",
	  .help = "CPUs of the client's end, one after the other: 0,2 or 4-7 or all" },
	{ "peer-cpu", 0, WP_OPT_STRING, OFF(peer_cpus), .arg = "LIST", .group = "Axes",
	  .help = "CPUs of the server's end; all where it is on this machine" },
	{ "streams", 0, WP_OPT_COUNTS, OFF(streams), .arg = "LIST", .min = 1,
	  .max = WP_MAX_CONNECTIONS, .group = "Axes",
	  .help = "numbers of streams or connections: 1,2,8 or 1-4" },
	{ "length", 0, WP_OPT_SIZES, OFF(lengths), .arg = "LIST", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Axes",
	  .help = "bytes a write, packet or message: 64,512,1400" },
	{ "bitrate", 0, WP_OPT_STRING, OFF(bitrates), .arg = "LIST", .group = "Axes",
	  .help = "-b of tcp and udp: 100M,1G or 10kpps,100kpps" },
	{ "batch", 0, WP_OPT_COUNTS, OFF(batches), .arg = "LIST", .min = 1, .max = WP_MAX_BATCH,
	  .group = "Axes", .help = "udp: packets a system call" },
	{ "outstanding", 0, WP_OPT_COUNTS, OFF(outstanding), .arg = "LIST", .min = 1,
	  .max = WP_MAX_OUTSTANDING, .group = "Axes", .help = "rr: requests under way" },
	{ "request", 0, WP_OPT_SIZES, OFF(requests), .arg = "LIST", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Axes", .help = "rr: bytes a request" },
	{ "response", 0, WP_OPT_SIZES, OFF(responses), .arg = "LIST", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Axes", .help = "rr: bytes a response" },
	{ "rate", 0, WP_OPT_STRING, OFF(rates), .arg = "LIST", .group = "Axes",
	  .help = "rr: requests that fall due a second: 1k,10k,50k" },
	{ "wait", 0, WP_OPT_STRING, OFF(waits), .arg = "LIST", .group = "Axes",
	  .help = "rr: ways of waiting: block,epoll,spin" },
	{ "repeat", 0, WP_OPT_COUNT, OFF(repeats), .arg = "N", .def = "3", .min = 1,
	  .max = WP_MAX_REPEATS, .group = "Plan",
	  .help = "rounds; each runs every combination once, in an order of its own" },
	{ "seed", 0, WP_OPT_STRING, OFF(seed), .arg = "N", .group = "Plan",
	  .help = "draw the orders of this seed; not given = a new one" },
	{ "metric", 0, WP_OPT_STRING, OFF(metric), .arg = "NAME", .group = "Plan",
	  .help = "figure of total{} in the record to rank by, such as lost_pct or latency_us.p99; not given = bits received for tcp, packets for udp, transactions for rr" },
	{ "resume", 0, WP_OPT_FLAG, OFF(resume), .group = "Plan",
	  .help = "go on with the sweep of that ID, or with the newest that is not done" },
	{ "name", 0, WP_OPT_STRING, OFF(name), .arg = "NAME", .group = "Output",
	  .help = "name of the stored sweep" },
	{ "format", 0, WP_OPT_ENUM, OFF(format), .arg = "HOW", .def = "text", .choices = formats,
	  .group = "Output", .help = "form of the report" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output",
	  .help = "the same as --format json" },
	{ "unit", 'f', WP_OPT_STRING, OFF(unit), .arg = "UNIT", .group = "Output",
	  .help = "rates in k m g t (bits, 1000) or K M G T (bytes, 1024)" },
	{ "quiet", 'q', WP_OPT_FLAG, OFF(quiet), .group = "Output", .help = "no progress" },
	{ "no-store", 0, WP_OPT_FLAG, OFF(no_store), .group = "Output",
	  .help = "keep nothing in the history; such a sweep cannot be resumed" },
};

struct sweep {
	const struct sweep_config *config;
	struct wp_cli *cli;
	struct wp_campaign campaign;
	struct wp_sweep_test test;
	struct wp_venue venue;
	struct wp_store *store; /* NULL = nothing is kept */
	size_t lost;            /* runs in a row that found no one at the other end */
	bool terminal, save_failed;
};

/* ---- what was asked for ----------------------------------------------------------------------- */

static int put_value(struct wp_axis *a, struct wp_pool *pool, const char *text)
{
	a->values[a->n_values] = wp_pool_strdup(pool, text);
	return a->values[a->n_values++] ? 0 : -ENOMEM;
}

static int begin_axis(struct wp_sweep_plan *plan, const struct wp_sweep_test *test,
		      struct wp_pool *pool, const char *name, size_t n, struct wp_axis **ret)
{
	struct wp_axis *a;

	if (plan->n_axes == WP_MAX_AXES)
		return -E2BIG;
	a = &plan->axes[plan->n_axes++];
	a->name = name;
	a->heading = wp_sweep_axis_heading(wp_sweep_axis_find(name), test);
	a->values = wp_pool_calloc(pool, n, sizeof(*a->values));
	*ret = a;
	return a->values ? 0 : -ENOMEM;
}

static int cpu_axis(struct wp_sweep_plan *plan, const struct wp_sweep_test *test,
		    struct wp_pool *pool, const char *name, const struct wp_cpulist *l)
{
	struct wp_axis *a;
	int r = begin_axis(plan, test, pool, name, l->n, &a);
	char text[16];

	for (size_t i = 0; i < l->n && !r; i++) {
		snprintf(text, sizeof(text), "%d", l->cpu[i]);
		r = put_value(a, pool, text);
	}
	return r;
}

/* 65536 -> "64K", as it would be typed. */
static void size_text(uint64_t bytes, char *out, size_t size)
{
	static const char units[] = "\0KMG";
	size_t u = 0;

	for (; u < 3 && bytes && bytes % 1024 == 0; u++)
		bytes /= 1024;
	snprintf(out, size, "%" PRIu64 "%.1s", bytes, &units[u]);
}

static int number_axis(struct wp_sweep_plan *plan, const struct wp_sweep_test *test,
		       struct wp_pool *pool, const char *name, const struct wp_u64list *l,
		       bool sizes)
{
	struct wp_axis *a;
	int r = begin_axis(plan, test, pool, name, l->n, &a);
	char text[32];

	for (size_t i = 0; i < l->n && !r; i++) {
		if (sizes)
			size_text(l->v[i], text, sizeof(text));
		else
			snprintf(text, sizeof(text), "%" PRIu64, l->v[i]);
		r = put_value(a, pool, text);
	}
	return r;
}

static int parse_peer_cpus(const struct sweep *s, struct wp_cpulist *ret, struct wp_err *err)
{
	const char *text = s->config->peer_cpus;
	int r;

	if (strcmp(text, "all")) {
		r = wp_cpulist_parse(text, ret);
		if (r || !ret->n)
			return wp_err_set(
				err, -EINVAL,
				"--peer-cpu: \"%.80s\" is not a list of CPUs; give numbers and ranges, as 0, 0,2 "
				"or 4-7, or all",
				text);
		return 0;
	}
	if (!wp_sweep_test_local(&s->test))
		return wp_err_set(
			err, -EINVAL,
			"--peer-cpu all: the CPUs of %s are not known before the test; give a list, such as 0-3",
			s->test.target);
	r = wp_cpulist_allowed(ret);
	return r ? wp_err_sys(err, r, "cannot find out which CPUs may be used") : 0;
}

/* "100M,1G" */
static int text_axis(struct wp_sweep_plan *plan, const struct wp_sweep_test *test,
		     struct wp_pool *pool, const char *name, const char *list)
{
	size_t n = 1;
	struct wp_axis *a;
	int r;

	for (const char *c = list; *c; c++)
		n += *c == ',';
	r = begin_axis(plan, test, pool, name, n, &a);
	for (size_t i = 0; i < n && !r; i++) {
		size_t len = strcspn(list, ",");
		const char *value = wp_pool_printf(pool, "%.*s", (int)len, list);

		r = value ? put_value(a, pool, value) : -ENOMEM;
		list += len + (list[len] == ',');
	}
	return r;
}

/* The axes in the order in which they nest. */
static const struct {
	const char *name;
	enum wp_opt_type type; /* of the row above: CPULIST, SIZES, COUNTS or STRING */
	size_t offset;
} axis_options[] = {
	{ "cpu", WP_OPT_CPULIST, OFF(cpus) },
	{ "streams", WP_OPT_COUNTS, OFF(streams) },
	{ "length", WP_OPT_SIZES, OFF(lengths) },
	{ "bitrate", WP_OPT_STRING, OFF(bitrates) },
	{ "batch", WP_OPT_COUNTS, OFF(batches) },
	{ "request", WP_OPT_SIZES, OFF(requests) },
	{ "response", WP_OPT_SIZES, OFF(responses) },
	{ "outstanding", WP_OPT_COUNTS, OFF(outstanding) },
	{ "rate", WP_OPT_STRING, OFF(rates) },
	{ "wait", WP_OPT_STRING, OFF(waits) },
};

static int make_axis(const struct sweep *s, struct wp_sweep_plan *plan, struct wp_pool *pool,
		     size_t i)
{
	const void *at = (const char *)s->config + axis_options[i].offset;
	const char *name = axis_options[i].name, *text;
	enum wp_opt_type type = axis_options[i].type;
	const struct wp_cpulist *cpus = at;
	const struct wp_u64list *numbers = at;

	if (type == WP_OPT_CPULIST)
		return cpus->n ? cpu_axis(plan, &s->test, pool, name, cpus) : 0;
	if (type == WP_OPT_STRING) {
		text = *(const char *const *)at;
		return text ? text_axis(plan, &s->test, pool, name, text) : 0;
	}
	return numbers->n ? number_axis(plan, &s->test, pool, name, numbers, type == WP_OPT_SIZES)
			  : 0;
}

static int make_axes(const struct sweep *s, struct wp_sweep_plan *plan, struct wp_pool *pool,
		     struct wp_err *err)
{
	_cleanup_cpulist_ struct wp_cpulist peer = { 0 };
	int r = s->config->peer_cpus ? parse_peer_cpus(s, &peer, err) : 0;

	if (r)
		return r;
	for (size_t i = 0; !r && i < WP_ARRAY_SIZE(axis_options); i++) {
		r = make_axis(s, plan, pool, i);
		if (!r && i == 0 && peer.n)
			r = cpu_axis(plan, &s->test, pool, "peer-cpu", &peer);
	}
	if (r == -E2BIG)
		return wp_err_set(err, -EINVAL, "a sweep has at most %d axes", WP_MAX_AXES);
	return r ? wp_err_set(err, r, "not enough memory for the sweep") : 0;
}

static int choose_seed(const struct sweep_config *c, uint64_t *ret, struct wp_err *err)
{
	uint32_t drawn;
	int r;

	if (c->seed)
		return wp_parse_u64(c->seed, ret)
			       ? wp_err_set(err, -EINVAL,
					    "--seed: '%s' is not a whole number below 2^64",
					    c->seed)
			       : 0;
	/* Short enough to be typed again. */
	r = wp_random_bytes(&drawn, sizeof(drawn));
	*ret = drawn;
	return r ? wp_err_sys(err, r, "cannot draw a seed") : 0;
}

/* A new campaign from the command line; the words of the repeated command stay borrowed from argv. */
static int plan_new(struct sweep *s, const struct wp_operands *words, struct wp_err *err)
{
	struct wp_pool texts = WP_POOL(WP_CAMPAIGN_POOL_BYTES);
	struct wp_sweep_plan plan = { .repeats = s->config->repeats,
				      .command = words->v,
				      .n_command = (size_t)words->n };
	const struct wp_metric *m = NULL;
	int r = wp_sweep_test_parse(words->v, (size_t)words->n, &s->test, err);

	if (!r)
		r = make_axes(s, &plan, &texts, err);
	if (!r)
		r = choose_seed(s->config, &plan.seed, err);
	if (!r && s->config->metric && s->test.config.find_rate)
		r = wp_err_set(
			err, -EINVAL,
			"--metric and --find-rate exclude each other: its figure is the rate found");
	if (!r)
		r = wp_sweep_metric(s->config->metric ? s->config->metric : s->test.what->metric,
				    &m, err);
	if (!r) {
		plan.metric = m->name;
		plan.unit = m->unit;
		plan.lower_is_better = m->better == WP_LOWER;
		r = wp_sweep_plan(&s->campaign, &plan, err);
		if (!r && wp_study_begin(&s->campaign))
			r = wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	}
	wp_pool_done(&texts);
	return r;
}

/* The newest sweep that is not done. */
static int find_unfinished(struct wp_store *store, char ret_id[static WP_STORE_ID_DIGITS + 1],
			   struct wp_err *err)
{
	struct wp_store_campaign_list list;
	int r = wp_store_list_campaigns(store, MAX_UNFINISHED, &list, err);
	size_t i = 0;

	if (r)
		return r;
	while (i < list.n && (strcmp(list.v[i].kind, "sweep") || !strcmp(list.v[i].state, "done")))
		i++;
	if (i < list.n)
		snprintf(ret_id, WP_STORE_ID_DIGITS + 1, "%s", list.v[i].id);
	else
		r = wp_err_set(
			err, -ENOENT,
			"no stored sweep is unfinished; `whyperf history --sweeps` lists them");
	wp_store_campaigns_done(&list);
	return r;
}

static int plan_stored(struct sweep *s, const struct wp_operands *words, struct wp_err *err)
{
	char id[WP_STORE_ID_DIGITS + 1];
	int r;

	if (words->n > 1)
		return wp_err_set(
			err, -EINVAL,
			"--resume takes the ID of a sweep and nothing behind it; its command is stored, options stand before the ID");
	if (!s->store)
		return wp_err_set(err, -EINVAL, "--resume needs the store");
	if (words->n)
		snprintf(id, sizeof(id), "%s", words->v[0]);
	r = words->n ? wp_store_find_campaign(s->store, words->v[0], id, err)
		     : find_unfinished(s->store, id, err);
	if (!r)
		r = wp_store_load_campaign(s->store, id, &s->campaign, err);
	if (!r)
		r = wp_sweep_test_parse(s->campaign.plan.command, s->campaign.plan.n_command,
					&s->test, err);
	return r;
}

/* Every cell's plan is looked at before the first run. */
static int check_cells(struct sweep *s, struct wp_err *err)
{
	for (size_t i = 0; i < s->campaign.n_cells; i++) {
		struct wp_plan plan;
		char name[200];
		int r = wp_sweep_test_cell(&s->test, &s->campaign, i, &plan, err);

		if (r) {
			wp_campaign_cell_name(&s->campaign, i, name, sizeof(name));
			wp_err_prefix(err, "%s", name);
			return r;
		}
	}
	return 0;
}

/* ---- the runs --------------------------------------------------------------------------------- */

/* A pinning that was not honoured is said once a cell. */
static void note_placement(struct wp_campaign *c, size_t cell, const struct wp_run *run)
{
	char name[200];

	if (c->cells[cell].n_values)
		return;
	for (size_t i = 0; i < run->n_hosts; i++)
		if (run->hosts[i].placement_note) {
			wp_campaign_cell_name(c, cell, name, sizeof(name));
			wp_campaign_say(c, WP_CAMPAIGN_NOTES, "%s: %s", name,
					run->hosts[i].placement_note);
		}
}

static void save_run(struct sweep *s, size_t cell, struct wp_run *run)
{
	char name[512];
	struct wp_store_cell where = { .campaign = s->campaign.id, .cell = name };

	wp_campaign_cell_name(&s->campaign, cell, name, sizeof(name));
	if (s->store)
		wp_measure_save(s->cli, run, &where);
}

static int take_result(struct sweep *s, size_t cell, const struct wp_run *run,
		       struct wp_sweep_result *ret)
{
	if (run->id)
		snprintf(ret->id, sizeof(ret->id), "%s", run->id);
	ret->value = wp_sweep_test_value(&s->campaign, run);
	if (run->n_findings)
		snprintf(ret->why, sizeof(ret->why), "%s", run->findings[0].says);
	wp_study_note_host(&s->campaign, run);
	note_placement(&s->campaign, cell, run);
	return 0;
}

static int run_test(struct sweep *s, size_t cell, const struct wp_plan *plan,
		    const struct wp_cli *cli, struct wp_sweep_result *ret, struct wp_err *err)
{
	struct wp_run run;
	int r = wp_measure_run(&s->test.config, plan, &s->venue, cli, &run, err);

	if (r != -EINTR) {
		save_run(s, cell, &run);
		take_result(s, cell, &run, ret);
	}
	wp_run_done(&run);
	return r;
}

struct trial_place {
	struct sweep *sweep;
	size_t cell;
};

static void on_trial(struct wp_rate_search *search, struct wp_run *run)
{
	const struct trial_place *place = search->arg;

	if (!run)
		return;
	save_run(place->sweep, place->cell, run);
	wp_study_note_host(&place->sweep->campaign, run);
}

/* With --find-rate a cell's run is a whole search. */
static int run_search(struct sweep *s, size_t cell, const struct wp_cli *cli,
		      struct wp_sweep_result *ret, struct wp_err *err)
{
	struct trial_place place = { s, cell };
	const struct wp_find_cell how = {
		.venue = &s->venue, .cli = cli, .on_trial = on_trial, .arg = &place
	};

	return wp_find_rate_cell(&s->test.config, s->test.target, &how, ret, err);
}

static int run_cell(void *arg, const struct wp_campaign *c, size_t cell,
		    struct wp_sweep_result *ret, struct wp_err *err)
{
	struct sweep *s = arg;
	struct wp_cli cli = *s->cli;
	struct wp_pool words = WP_POOL(WP_CAMPAIGN_POOL_BYTES);
	const char **argv;
	struct wp_plan plan;
	int r = wp_sweep_test_cell(&s->test, c, cell, &plan, err);

	if (!r && wp_venue_check(&s->venue, err))
		r = -ESHUTDOWN;
	if (!r)
		r = wp_sweep_test_argv(c, cell, &words, &argv, &cli.argc);
	if (r) {
		wp_pool_done(&words);
		return r;
	}
	cli.argv = argv;
	r = s->test.config.find_rate ? run_search(s, cell, &cli, ret, err)
				     : run_test(s, cell, &plan, &cli, ret, err);
	s->lost = wp_study_lost(r) ? s->lost + 1 : 0;
	if (s->lost == WP_STUDY_MAX_LOST)
		r = -ESHUTDOWN;
	wp_pool_done(&words);
	return r;
}

static void save_campaign(void *arg, const struct wp_campaign *c)
{
	struct sweep *s = arg;
	struct wp_err err = { 0 };

	if (!s->store || !wp_store_save_campaign(s->store, c, &err) || s->save_failed)
		return;
	s->save_failed = true;
	wp_cli_say(s->cli, "the sweep cannot be resumed: %s", err.msg);
}

static bool cancelled(void *arg)
{
	const struct sweep *s = arg;

	return wp_study_cancelled(s->cli);
}

/* ---- on the screen ---------------------------------------------------------------------------- */

static void figure_text(const struct wp_campaign *c, double v, char *out, size_t size)
{
	if (!strcmp(c->unit, "bit/s"))
		wp_format_bps(v, out, size);
	else if (!strcmp(c->unit, "us"))
		wp_format_ns(v * 1e3, out, size);
	else if (!strcmp(c->unit, "1/s"))
		snprintf(out, size, "%.4g/s", v);
	else
		snprintf(out, size, "%.4g %s", v, c->unit);
}

/* On a terminal one line that changes; elsewhere a row a run. On stderr: stdout is the report. */
static void progress(void *arg, const struct wp_campaign *c, const struct wp_sweep_progress *p)
{
	const struct sweep *s = arg;
	char name[200], left[48] = "", text[64] = "";

	if (s->config->quiet || (p->starting && !s->terminal))
		return;
	wp_campaign_cell_name(c, p->cell, name, sizeof(name));
	if (p->left_ns > 0)
		wp_study_time_text(p->left_ns, left, sizeof(left));
	if (p->error)
		snprintf(text, sizeof(text), "  failed: %.50s", p->error);
	else if (p->result && wp_has(p->result->value))
		figure_text(c, p->result->value.v, text, sizeof(text));
	if (s->terminal)
		fprintf(s->cli->err, "\r\033[K[%zu/%zu] round %zu of %zu  %.40s  %s%s%s",
			p->starting ? p->done + 1 : p->done, p->total, p->round, p->rounds, name,
			text, *left ? "  " : "", left);
	else
		fprintf(s->cli->err, "[%*zu/%zu] round %zu  %s  %s%s%s%s\n",
			p->total < 10    ? 1
			: p->total < 100 ? 2
					 : 3,
			p->done, p->total, p->round, name, text, *left ? "  " : "", left,
			*left ? " left" : "");
	if (s->terminal && *left)
		fputs(" left", s->cli->err);
	fflush(s->cli->err);
}

static void announce(const struct sweep *s)
{
	const struct wp_campaign *c = &s->campaign;
	size_t made = wp_sweep_made(c), left = c->plan.n_order - made;
	int64_t each = wp_sweep_test_run_ns(&s->test);
	char time[48] = "for as long as they take";

	if (s->config->quiet)
		return;
	if (each)
		wp_study_time_text(each * (int64_t)left, time, sizeof(time));
	fprintf(s->cli->err,
		"whyperf: %zu cell%s, %zu round%s: %zu run%s%s, %s; seed %" PRIu64 "%s%.6s\n",
		c->n_cells, c->n_cells == 1 ? "" : "s", c->plan.repeats,
		c->plan.repeats == 1 ? "" : "s", left, left == 1 ? "" : "s", made ? " to go" : "",
		time, c->plan.seed,
		s->store ? "; Ctrl-C keeps what is made, and it goes on with sweep --resume " : "",
		s->store ? c->id : "");
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* What to do next, in place of what an earlier call has said. */
static void advise(struct sweep *s)
{
	struct wp_campaign *c = &s->campaign;
	_cleanup_buf_ struct wp_buf b = WP_BUF(4096);
	struct wp_pool words = WP_POOL(WP_CAMPAIGN_POOL_BYTES);
	const char **argv;
	size_t n, need = wp_rank_min_rounds(c->n_cells);

	c->n_advice = 0;
	if (!strcmp(c->state, "done") && c->best < 0 && c->n_cells > 1) {
		need = need > 2 * c->plan.repeats ? need : 2 * c->plan.repeats;
		wp_sweep_command_line(c, need < WP_MAX_REPEATS ? need : WP_MAX_REPEATS, &b);
		if (!wp_buf_status(&b))
			wp_campaign_say(c, WP_CAMPAIGN_ADVICE, "more rounds: %s", wp_buf_text(&b));
	} else if (c->best >= 0 && !wp_sweep_test_argv(c, (size_t)c->best, &words, &argv, &n)) {
		for (size_t i = 0; i < n; i++)
			wp_buf_printf(&b, "%s%s", i ? " " : "", argv[i]);
		wp_campaign_say(c, WP_CAMPAIGN_ADVICE, "%s", wp_buf_text(&b));
	}
	wp_pool_done(&words);
}

/* What holds the named cells is taken from the run that stands for them, not from their first. */
static void explain_ends(struct sweep *s)
{
	const long ends[] = { s->campaign.best, s->campaign.worst };

	/* A trial of a search says what held the trial. */
	if (s->test.config.find_rate)
		return;
	for (size_t i = 0; i < WP_ARRAY_SIZE(ends); i++) {
		const char *id =
			ends[i] < 0 ? NULL : wp_sweep_typical_run(&s->campaign, (size_t)ends[i]);
		struct wp_run run;

		if (!id || !s->store || wp_store_load_run(s->store, id, &run, NULL))
			continue;
		if (run.n_findings)
			s->campaign.cells[ends[i]].why =
				wp_pool_strdup(&s->campaign.pool, run.findings[0].says);
		wp_run_done(&run);
	}
}

static int show(struct sweep *s)
{
	const struct wp_test_config *inner = &s->test.config;
	const struct wp_show_config how = {
		.format = s->config->json || inner->json ? WP_FORMAT_JSON
			  : s->config->format            ? (enum wp_format)s->config->format
							 : (enum wp_format)inner->format,
		.unit = s->config->unit ? s->config->unit : inner->unit,
	};

	return wp_show_campaign(s->cli, &s->campaign, s->store, &how);
}

static bool has_figures(const struct wp_campaign *c)
{
	for (size_t i = 0; i < c->n_cells; i++)
		if (c->cells[i].n_values)
			return true;
	return false;
}

static int go(struct sweep *s)
{
	struct wp_sweep_hooks hooks = { .run = run_cell,
					.save = save_campaign,
					.progress = progress,
					.cancelled = cancelled,
					.arg = s,
					.expected_run_ns = wp_sweep_test_run_ns(&s->test) };
	struct wp_campaign *c = &s->campaign;
	struct wp_err err = { 0 };
	char stamp[32];
	int r, shown;

	announce(s);
	save_campaign(s, c);
	r = wp_sweep_go(c, &hooks, &err);
	if (s->terminal && !s->config->quiet)
		fputs("\r\033[K", s->cli->err);
	if (!strcmp(c->state, "done") && !c->ended) {
		wp_format_rfc3339(wp_unix_now_ns(), stamp);
		c->ended = wp_pool_strdup(&c->pool, stamp);
	}
	explain_ends(s);
	advise(s);
	save_campaign(s, c);
	if (s->config->name && s->store &&
	    wp_store_name_campaign(s->store, c->id, s->config->name, &err))
		wp_cli_fail(s->cli, 0, &err);
	shown = has_figures(c) ? show(s) : 0;
	if (r)
		return wp_cli_fail(s->cli, WP_EXIT_FAILED, &err);
	if (!strcmp(c->state, "interrupted"))
		return WP_EXIT_INTERRUPTED;
	if (!has_figures(c)) {
		wp_err_set(&err, -EIO, "every run failed: %s",
			   c->n_notes ? c->notes[0] : "no figures");
		return wp_cli_fail(s->cli, WP_EXIT_FAILED, &err);
	}
	return shown;
}

static int check_output(const struct sweep *s, struct wp_err *err)
{
	const char *unit = s->config->unit ? s->config->unit : s->test.config.unit;

	if (unit && (strlen(unit) != 1 || !strchr("kmgtKMGT", unit[0])))
		return wp_err_set(err, -EINVAL, "-f: '%s' is not one of k m g t K M G T", unit);
	if (s->config->name && wp_store_check_name(s->config->name, err)) {
		wp_err_prefix(err, "--name");
		return -EINVAL;
	}
	return 0;
}

/* Opens the store unless nothing is to be kept; a failure costs resuming, not the sweep. */
static void open_store(struct sweep *s)
{
	struct wp_err err = { 0 };

	if (s->config->no_store || s->test.config.no_store)
		return;
	if (wp_stored_open(s->cli, &s->store, &err))
		wp_cli_say(s->cli, "nothing is stored, and the sweep cannot be resumed: %s",
			   err.msg);
}

static int sweep(struct sweep *s, const struct wp_operands *words)
{
	struct wp_err err = { 0 };
	int r;

	if (s->config->resume)
		open_store(s);
	r = s->config->resume ? plan_stored(s, words, &err) : plan_new(s, words, &err);
	if (!r)
		r = check_output(s, &err);
	if (!r)
		r = check_cells(s, &err);
	if (r) {
		wp_err_prefix(&err, "sweep");
		return wp_cli_fail(s->cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
	}
	if (!s->config->resume)
		open_store(s);
	s->test.config.name = NULL; /* the sweep's, not each run's */
	r = wp_measure_open(&s->test.config, s->test.target, &s->venue, &err);
	if (r)
		return wp_cli_fail(s->cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
	r = go(s);
	wp_venue_close(&s->venue);
	return r;
}

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	struct sweep s = { .config = config, .cli = cli, .terminal = isatty(fileno(cli->err)) };
	int r;

	if (!operands->n && !s.config->resume)
		return wp_cli_usage(
			cli,
			"sweep needs axes and the command to repeat: sweep --cpu all tcp HOST");
	r = sweep(&s, operands);
	wp_store_close(s.store);
	wp_campaign_done(&s.campaign);
	wp_sweep_test_done(&s.test);
	return r;
}

const struct wp_command wp_cmd_sweep = {
	.name = "sweep",
	.group = "Experiment",
	.operands = "COMMAND...",
	.summary = "a test over CPUs, streams, sizes: a matrix, and why",
	.about =
		"Repeats COMMAND for every combination of the axes' values. Each round runs every\n"
		"combination once, in an order drawn anew from the seed, so that a machine that\n"
		"changes meanwhile wrongs none. Figures are medians over whole rounds with their\n"
		"range. A best and a worst are named only where their ranges do not overlap and\n"
		"equal cells would look so different in at most 5 of 100 sweeps; that takes at\n"
		"least 6 rounds for two cells, 3 for three, 2 for more. Options of COMMAND stand\n"
		"behind it. `whyperf sweep --resume [ID]` goes on with one that was cut short.",
	.examples =
		"  whyperf sweep --cpu all --peer-cpu all tcp lab -t 1  every placement here\n"
		"  whyperf sweep --length 4K,64K,1M tcp 192.0.2.7 -t 5  one axis: a table\n"
		"  whyperf sweep --streams 1-8 --repeat 5 tcp lab       five rounds\n"
		"  whyperf sweep --length 64,512,1400 udp lab -b 0 -t 1 packets against size\n"
		"  whyperf sweep --wait block,spin rr lab -t 1          ways of waiting\n"
		"  whyperf sweep --length 18,210,1472 udp 192.0.2.7 --find-rate 'loss<0'\n"
		"  whyperf sweep --rate 1k,10k --metric latency_us.p99 rr lab -t 1\n"
		"  whyperf sweep --resume                               the newest unfinished\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct sweep_config),
	.min_operands = 0,
	.max_operands = -1,
	.stop_at_first = true,
	.run = run,
};
