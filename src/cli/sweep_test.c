/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/sweep_test.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/find_rate.h"
#include "load/engine.h"
#include "model/metric.h"
#include "run/with.h"

#define OVERHEAD_NS (100 * WP_NS_PER_MS) /* of a run: connecting, the last data, storing */

static const struct wp_sweepable sweepable[] = {
	{ &wp_cmd_tcp, "received_bps" },
	{ &wp_cmd_udp, "received_packets_per_s" },
	{ &wp_cmd_rr, "transactions_per_s" },
};

static const struct wp_sweep_axis axes[] = {
	{ "cpu", "cpu", "sender's CPU", "receiver's CPU", "client's CPU", NULL, NULL },
	{ "peer-cpu", "peer-cpu", "receiver's CPU", "sender's CPU", "server's CPU", NULL, NULL },
	{ "streams", "parallel", "streams", "streams", "streams", NULL, "connections" },
	{ "length", "length", "bytes a write", "bytes a write", "bytes a write", "bytes a packet",
	  "bytes each way" },
	{ "bitrate", "bitrate", "rate", "rate", "rate", NULL, NULL },
	{ "batch", "batch", NULL, NULL, NULL, "packets a call", NULL },
	{ "request", "request", NULL, NULL, NULL, NULL, "bytes a request" },
	{ "response", "response", NULL, NULL, NULL, NULL, "bytes a response" },
	{ "outstanding", "outstanding", NULL, NULL, NULL, NULL, "under way" },
	{ "rate", "rate", NULL, NULL, NULL, NULL, "requests/s" },
	{ "wait", "wait", NULL, NULL, NULL, NULL, "waiting" },
};

const struct wp_sweep_axis *wp_sweep_axis_find(const char *name)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(axes); i++)
		if (!strcmp(axes[i].name, name))
			return &axes[i];
	return NULL;
}

const char *wp_sweep_axis_heading(const struct wp_sweep_axis *a, const struct wp_sweep_test *t)
{
	const char *kind = t->what->command->name, *heading;

	if (!strcmp(kind, "rr"))
		heading = a->heading_rr ? a->heading_rr : a->heading_both;
	else if (!strcmp(kind, "udp") && a->heading_udp)
		heading = a->heading_udp;
	else
		heading = t->config.bidir     ? a->heading_both
			  : t->config.reverse ? a->heading_reverse
					      : a->heading_forward;
	return heading ? heading : a->name;
}

const char *wp_sweep_default_metric(const char *command)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(sweepable); i++)
		if (command && !strcmp(sweepable[i].command->name, command))
			return sweepable[i].metric;
	return NULL;
}

static bool ranks(const struct wp_metric *m)
{
	return m->scope == WP_SCOPE_TOTAL && m->better != WP_NEITHER &&
	       (m->kind == WP_COUNTER || m->kind == WP_GAUGE);
}

int wp_sweep_metric(const char *name, const struct wp_metric **ret, struct wp_err *err)
{
	const char *names[64], *near;
	size_t n = 0;

	for (size_t i = 0; i < wp_n_metrics; i++) {
		if (!ranks(&wp_metrics[i]))
			continue;
		if (!strcmp(wp_metrics[i].name, name)) {
			*ret = &wp_metrics[i];
			return 0;
		}
		if (n < WP_ARRAY_SIZE(names))
			names[n++] = wp_metrics[i].name;
	}
	near = wp_nearest(name, names, n);
	return wp_err_set(
		err, -EINVAL,
		"--metric: '%.60s' is no figure of total{} that cells can be ranked by; %s%s", name,
		near ? "did you mean "
		     : "give one such as received_bps, lost_pct or latency_us.p99",
		near ? near : "");
}

static const struct wp_sweepable *find_test(const char *name, struct wp_err *err)
{
	const char *names[WP_ARRAY_SIZE(sweepable)];
	const char *near;

	for (size_t i = 0; i < WP_ARRAY_SIZE(sweepable); i++) {
		names[i] = sweepable[i].command->name;
		if (!strcmp(names[i], name))
			return &sweepable[i];
	}
	near = wp_nearest(name, names, WP_ARRAY_SIZE(names));
	wp_err_set(err, -EINVAL, "sweep cannot repeat '%s'; %s%s", name,
		   near ? "did you mean " : "it knows ", near ? near : names[0]);
	return NULL;
}

int wp_sweep_test_parse(const char *const *words, size_t n, struct wp_sweep_test *ret,
			struct wp_err *err)
{
	struct wp_sweep_test t = { 0 };
	struct wp_operands operands = { 0 };
	const struct wp_command *c;
	int r;

	if (!n)
		return wp_err_set(err, -EINVAL,
				  "sweep needs the command to repeat, such as tcp lab -t 1");
	t.what = find_test(words[0], err);
	if (!t.what)
		return -EINVAL;
	c = t.what->command;
	if (!wp_engine_find(c->name))
		return wp_err_set(err, -EINVAL, "this build has no engine for %s; see --engines",
				  c->name);
	r = wp_opt_defaults(c->options, c->n_options, &t.config, err);
	if (!r)
		r = wp_opt_parse(c->options, c->n_options, &t.config, (int)n - 1, words + 1, false,
				 &operands, err);
	if (r == -ECANCELED)
		r = wp_err_set(err, -EINVAL, "`whyperf %s --help` explains the options of %s",
			       c->name, c->name);
	if (!r && operands.n < 1)
		r = wp_err_set(err, -EINVAL, "%s needs %s", c->name, c->operands);
	if (!r && operands.n > 1)
		r = wp_err_set(err, -EINVAL, "%s does not know what to do with '%s'", c->name,
			       operands.v[1]);
	if (!r && t.config.json_stream)
		r = wp_err_set(err, -EINVAL, "--json-stream shows a single run; a sweep has -J");
	if (!r)
		t.target = operands.v[0]; /* borrowed from the words, not from the array */
	wp_operands_done(&operands);
	if (r) {
		wp_opt_done(c->options, c->n_options, &t.config);
		return r;
	}
	*ret = t;
	return 0;
}

void wp_sweep_test_done(struct wp_sweep_test *t)
{
	if (t->what)
		wp_opt_done(t->what->command->options, t->what->command->n_options, &t->config);
	*t = (struct wp_sweep_test) { 0 };
}

/* The axis of a campaign, which may come from the store. */
static int axis_of(const struct wp_command *command, const struct wp_campaign *c, size_t i,
		   const struct wp_sweep_axis **ret, struct wp_err *err)
{
	*ret = wp_sweep_axis_find(c->plan.axes[i].name);
	if (!*ret)
		return wp_err_set(err, -EINVAL, "this version does not know the axis '%s'",
				  c->plan.axes[i].name);
	for (size_t k = 0; k < command->n_options; k++)
		if (!strcmp(command->options[k].name, (*ret)->option))
			return 0;
	return wp_err_set(err, -EINVAL, "%s has no --%s that could be swept over", command->name,
			  (*ret)->option);
}

int wp_sweep_test_cell(struct wp_sweep_test *t, const struct wp_campaign *c, size_t cell,
		       struct wp_plan *ret, struct wp_err *err)
{
	const struct wp_command *command = t->what->command;
	size_t key[WP_MAX_AXES];

	wp_campaign_cell_key(c, cell, key);
	for (size_t i = 0; i < c->plan.n_axes; i++) {
		const struct wp_sweep_axis *a;
		int r = axis_of(command, c, i, &a, err);

		if (!r)
			r = wp_opt_set(command->options, command->n_options, &t->config, a->option,
				       c->plan.axes[i].values[key[i]], err);
		if (r)
			return r;
	}
	return wp_test_plan(&t->config, command->name, ret, err);
}

int wp_sweep_test_argv(const struct wp_campaign *c, size_t cell, struct wp_pool *pool,
		       const char ***ret, size_t *ret_n)
{
	const char **argv =
		wp_pool_calloc(pool, 1 + c->plan.n_command + 2 * c->plan.n_axes, sizeof(*argv));
	size_t key[WP_MAX_AXES], n = 0;

	if (!argv)
		return -ENOMEM;
	argv[n++] = "whyperf";
	for (size_t i = 0; i < c->plan.n_command; i++)
		argv[n++] = c->plan.command[i];
	wp_campaign_cell_key(c, cell, key);
	for (size_t i = 0; i < c->plan.n_axes; i++) {
		const struct wp_sweep_axis *a = wp_sweep_axis_find(c->plan.axes[i].name);

		argv[n] = wp_pool_printf(pool, "--%s", a ? a->option : c->plan.axes[i].name);
		if (!argv[n++])
			return -ENOMEM;
		argv[n++] = c->plan.axes[i].values[key[i]];
	}
	*ret = argv;
	*ret_n = n;
	return 0;
}

struct wp_num wp_sweep_test_value(const struct wp_campaign *c, const struct wp_run *run)
{
	const struct wp_metric *m = wp_metric_find(WP_SCOPE_TOTAL, c->metric ? c->metric : "");

	if (!m || !ranks(m))
		return wp_absent("no such figure");
	return *(const struct wp_num *)(const void *)((const char *)&run->total + m->offset);
}

bool wp_sweep_test_local(const struct wp_sweep_test *t)
{
	return !strcmp(t->target, "lab") || !strncmp(t->target, "lab:", 4) ||
	       !strcmp(t->target, "loopback");
}

int64_t wp_sweep_test_run_ns(const struct wp_sweep_test *t)
{
	const struct wp_test_config *c = &t->config;
	const struct wp_plan load = { .duration_ns = c->duration_ns };
	int64_t idle_ns = !c->with ? 0 : c->idle_set ? c->idle_ns : wp_with_idle_ns(&load);

	if (c->find_rate)
		return wp_find_rate_likely_ns(c);
	if ((c->limit_bytes || c->blocks) && !c->duration_set)
		return 0;
	return idle_ns + c->duration_ns + c->omit_ns + OVERHEAD_NS;
}
