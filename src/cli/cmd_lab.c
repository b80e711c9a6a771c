/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_lab.c - `whyperf lab`: labs that stay, for work by hand. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "lab/lab.h"
#include "lab/named.h"

#define DEFAULT_NAME "lab"

struct lab_config {
	uint64_t mtu_bytes;
	bool all, force, json;
};

#define OFF(field) offsetof(struct lab_config, field)

static const struct wp_opt options[] = {
	{ "mtu", 0, WP_OPT_COUNT, OFF(mtu_bytes), .arg = "BYTES", .def = "1500",
	  .min = WP_LAB_MTU_MIN, .max = WP_LAB_MTU_MAX, .group = "up",
	  .help = "MTU of both interfaces" },
	{ "all", 0, WP_OPT_FLAG, OFF(all), .group = "down", .help = "every lab" },
	{ "force", 0, WP_OPT_FLAG, OFF(force), .group = "down",
	  .help = "although processes run in it" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "status", .help = "as JSON" },
};

static int up(const struct lab_config *c, const char *name, struct wp_cli *cli)
{
	struct wp_lab_up request = { .name = name,
				     .mtu_bytes = (uint32_t)c->mtu_bytes,
				     .journal_dir = cli->journal_dir };
	struct wp_err err = { 0 };

	if (wp_lab_name_check(name, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	if (wp_lab_up(&request, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	fprintf(cli->out,
		"lab %s is up\n"
		"  whyperf tcp lab:name=%s        measure in it\n"
		"  whyperf lab exec %s:a COMMAND  run a command in the client's end (b: the server's)\n"
		"  whyperf lab down %s            remove it\n",
		name, name, name, name);
	return WP_EXIT_OK;
}

static int down_all(const struct lab_config *c, struct wp_cli *cli)
{
	struct wp_lab_names names;
	struct wp_err err = { 0 };
	int status = WP_EXIT_OK;

	if (wp_lab_list(&names, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	for (size_t i = 0; i < names.n; i++) {
		memset(&err, 0, sizeof(err));
		if (wp_lab_down(names.v[i], c->force, cli->journal_dir, &err))
			status = wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	}
	wp_lab_names_done(&names);
	return status;
}

static int down(const struct lab_config *c, const char *name, struct wp_cli *cli)
{
	struct wp_err err = { 0 };
	int r;

	if (wp_lab_name_check(name, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	r = wp_lab_down(name, c->force, cli->journal_dir, &err);
	if (r == -ENOENT &&
	    strstr(err.msg, "make it with")) { /* no advice for one who removes it */
		err.msg[0] = 0;
		(void)wp_err_set(&err, r,
				 "there is no lab '%s'; `whyperf lab status` lists those there are",
				 name);
	}
	return r ? wp_cli_fail(cli, WP_EXIT_FAILED, &err) : WP_EXIT_OK;
}

/* ---- status ----------------------------------------------------------------------------------- */

static void print_side(const struct wp_cli *cli, char letter, const struct wp_lab_side_status *s)
{
	fprintf(cli->out, "  %c  ", letter);
	if (!s->present) {
		fprintf(cli->out, "missing: the lab is half-made or half-removed\n");
		return;
	}
	if (!s->readable) {
		fprintf(cli->out, "%s (its inside needs root)\n", s->path);
		return;
	}
	if (s->has_link)
		fprintf(cli->out, "%s %s, MTU %u", s->ifname,
			s->carrier ? "up"
			: s->up    ? "no carrier"
				   : "down",
			s->mtu_bytes);
	else
		fprintf(cli->out, "no link");
	for (unsigned i = 0; i < s->n_addrs && i < WP_LAB_ADDRS_SHOWN; i++)
		fprintf(cli->out, ", %s", s->addrs[i]);
	if (s->users.processes)
		fprintf(cli->out, ", %u process%s (%s, pid %d)", s->users.processes,
			s->users.processes == 1 ? "" : "es", s->users.first_name,
			(int)s->users.first_pid);
	fputc('\n', cli->out);
}

static void print_status(const struct wp_cli *cli, const struct wp_lab_status *s)
{
	char since[32] = "";

	fprintf(cli->out, "%s", s->name);
	if (s->has_maker) {
		wp_format_rfc3339(s->since_unix_ns, since);
		fprintf(cli->out, "  since %.19sZ, made by uid %u (pid %d)", since,
			(unsigned)s->maker_uid, (int)s->maker_pid);
	}
	fputc('\n', cli->out);
	print_side(cli, 'a', &s->side[WP_LAB_A]);
	print_side(cli, 'b', &s->side[WP_LAB_B]);
	if (s->processes_unreadable)
		fprintf(cli->out,
			"  %u process%s of this machine could not be looked into and may be in it too\n",
			s->processes_unreadable, s->processes_unreadable == 1 ? "" : "es");
}

static json_t *side_json(const struct wp_lab_side_status *s)
{
	json_t *addrs = json_array();

	for (unsigned i = 0; i < s->n_addrs && i < WP_LAB_ADDRS_SHOWN; i++)
		json_array_append_new(addrs, json_string(s->addrs[i]));
	return json_pack("{s:b, s:s, s:b, s:s, s:b, s:b, s:i, s:o, s:i}", "present", s->present,
			 "path", s->path, "readable", s->readable, "interface", s->ifname, "up",
			 s->up, "carrier", s->carrier, "mtu_bytes", (int)s->mtu_bytes, "addresses",
			 addrs, "processes", (int)s->users.processes);
}

static json_t *status_json(const struct wp_lab_status *s)
{
	char since[32] = "";

	if (s->has_maker)
		wp_format_rfc3339(s->since_unix_ns, since);
	return json_pack("{s:s, s:b, s:s?, s:o, s:o}", "name", s->name, "complete", s->complete,
			 "since", s->has_maker ? since : NULL, "a", side_json(&s->side[WP_LAB_A]),
			 "b", side_json(&s->side[WP_LAB_B]));
}

static int status(const struct lab_config *c, const char *only, struct wp_cli *cli)
{
	struct wp_lab_names names = { 0 };
	json_t *array = json_array();
	struct wp_err err = { 0 };
	int r = wp_lab_list(&names, &err);

	for (size_t i = 0; !r && i < (only ? 1 : names.n); i++) {
		struct wp_lab_status s;

		r = wp_lab_status(only ? only : names.v[i], &s, &err);
		if (r == -ENOENT && !only) { /* taken down meanwhile */
			memset(&err, 0, sizeof(err));
			r = 0;
		} else if (!r && c->json) {
			json_array_append_new(array, status_json(&s));
		} else if (!r) {
			print_status(cli, &s);
		}
	}
	if (r)
		r = wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	else if (c->json)
		r = wp_output_json(cli, json_incref(array));
	else if (!names.n)
		fprintf(cli->out,
			"no lab is up; `whyperf lab up` makes one, and HOST `lab` needs none\n");
	json_decref(array);
	wp_lab_names_done(&names);
	return r;
}

/* Can a lab be made here? For scripts that want to fall back to loopback. */
static int probe(struct wp_cli *cli)
{
	struct wp_err err = { 0 };
	struct wp_lab lab;

	if (wp_lab_open(NULL, &lab, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	wp_lab_close(&lab);
	fprintf(cli->out, "a lab can be made here\n");
	return WP_EXIT_OK;
}

static int exec_in(const struct wp_operands *operands, struct wp_cli *cli)
{
	char *argv[1024];
	struct wp_err err = { 0 };
	int n = operands->n - 2, r;

	if (n < 1)
		return wp_cli_usage(cli, "lab exec needs NAME:a or NAME:b and a command");
	if (n >= (int)WP_ARRAY_SIZE(argv))
		return wp_cli_usage(cli, "the command has more than %zu words",
				    WP_ARRAY_SIZE(argv) - 1);
	for (int i = 0; i < n; i++)
		argv[i] = (char *)operands->v[i + 2];
	argv[n] = NULL;
	fflush(cli->out);
	r = wp_lab_exec(operands->v[1], argv, &err);
	return wp_cli_fail(cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
}

/* up, down, status and probe: at most one name, options before or behind it. */
static int run_verb(const struct lab_config *c, const char *verb, const struct wp_operands *rest,
		    struct wp_cli *cli)
{
	static const char *const verbs[] = { "up", "down", "status", "exec", "probe" };
	const char *name = rest->n > 0 ? rest->v[0] : NULL, *near;

	if (rest->n > 1)
		return wp_cli_usage(cli, "lab %s does not know what to do with '%s'", verb,
				    rest->v[1]);
	if (!strcmp(verb, "up"))
		return up(c, name ? name : DEFAULT_NAME, cli);
	if (!strcmp(verb, "down"))
		return c->all ? down_all(c, cli) : down(c, name ? name : DEFAULT_NAME, cli);
	if (!strcmp(verb, "status"))
		return status(c, name, cli);
	if (!strcmp(verb, "probe"))
		return probe(cli);
	near = wp_nearest(verb, verbs, WP_ARRAY_SIZE(verbs));
	return wp_cli_usage(cli, "lab knows up, down, status, exec and probe, not '%s'%s%s%s", verb,
			    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Options end at the verb, because those behind `exec` belong to the command; the other verbs take them there too. */
static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	const char *verb = operands->v[0];
	struct lab_config c = *(const struct lab_config *)config;
	struct wp_operands rest = { 0 };
	struct wp_err err = { 0 };
	int r;

	if (!strcmp(verb, "exec"))
		return exec_in(operands, cli);
	r = wp_opt_parse(options, WP_ARRAY_SIZE(options), &c, operands->n - 1, operands->v + 1,
			 false, &rest, &err);
	if (r == -ECANCELED)
		r = wp_cli_usage(cli, "`whyperf lab --help` explains lab %s", verb);
	else if (r)
		r = wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	else
		r = run_verb(&c, verb, &rest, cli);
	wp_operands_done(&rest);
	return r;
}

const struct wp_command wp_cmd_lab = {
	.name = "lab",
	.group = "Practise",
	.operands = "VERB",
	.summary = "two hosts inside this machine, until taken down",
	.about = "HOST `lab` makes a lab of its own for each test and needs none of this. A named\n"
		 "lab stays, for work by hand, and is HOST `lab:name=NAME`. Its ends are network\n"
		 "namespaces, `whyperf-NAME-a` and `-b` to `ip netns`.\n"
		 "\n"
		 "  up [NAME]                  make one (default name: lab)\n"
		 "  down [NAME] | --all        remove it\n"
		 "  status [NAME]              which there are, addresses, processes inside\n"
		 "  exec NAME:a|b COMMAND...   run a command in one end\n"
		 "  probe                      can a lab be made here? exit status 0 or 1",
	.examples = "  whyperf lab up two\n"
		    "  whyperf tcp lab:name=two -t 5\n"
		    "  whyperf lab exec two:b iperf3 -s\n"
		    "  whyperf lab down two\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct lab_config),
	.min_operands = 1,
	.max_operands = -1,
	.stop_at_first = true,
	.run = run,
};
