/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_doctor.c - `whyperf doctor`: what this machine is, and what will spoil a measurement on it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "explain/doctor.h"
#include "report/doctor_text.h"
#include "sys/maybe.h"

#define TEXT_MAX_BYTES (4u << 20) /* 1024 lines of some hundred bytes */

struct doctor_config {
	const char *sysroot;
	bool json, problems;
};

#define OFF(field) offsetof(struct doctor_config, field)

static const struct wp_opt options[] = {
	{ "sysroot", 0, WP_OPT_STRING, OFF(sysroot), .arg = "DIR", .group = "Input",
	  .help = "read another machine's tree (proc, sys, etc below DIR) instead of this machine" },
	{ "problems", 0, WP_OPT_FLAG, OFF(problems), .group = "Output",
	  .help = "only what is not in order" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output", .help = "JSON instead of text" },
};

static int open_root(const char *sysroot, int *ret_fd, struct wp_err *err)
{
	_cleanup_close_ int fd = open(sysroot, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return wp_err_sys(err, -errno, "cannot open --sysroot %s", sysroot);
	if (!wp_path_exists(fd, "proc") && !wp_path_exists(fd, "sys"))
		return wp_err_set(
			err, -ENOENT,
			"--sysroot %s has neither proc nor sys; give the directory that holds them",
			sysroot);
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

static int print_json(const struct wp_doctor *d, FILE *out, struct wp_err *err)
{
	json_t *o = wp_doctor_json(d);
	int r;

	if (!o)
		return wp_err_sys(err, -ENOMEM, "cannot make the JSON document");
	r = json_dumpf(o, out, JSON_INDENT(1));
	json_decref(o);
	if (r && !ferror(out)) /* main() says what stdout did not take */
		return wp_err_sys(err, -ENOMEM, "cannot make the JSON document");
	fputc('\n', out);
	return 0;
}

static int print_text(const struct wp_doctor *d, bool problems, const struct wp_cli *cli,
		      struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(TEXT_MAX_BYTES);
	int r = wp_doctor_text(d, problems, cli->width, &b);

	if (r)
		return wp_err_sys(err, r, "cannot make the text");
	fputs(wp_buf_text(&b), cli->out);
	return 0;
}

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	const struct doctor_config *c = config;
	_cleanup_close_ int rootfd = -1;
	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
	struct wp_err err = { 0 };
	struct wp_doctor d;
	int r;

	(void)operands;
	if (c->sysroot && open_root(c->sysroot, &rootfd, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	r = wp_doctor_read(rootfd, !c->sysroot, &pool, &d, &err);
	if (!r)
		r = c->json ? print_json(&d, cli->out, &err)
			    : print_text(&d, c->problems, cli, &err);
	wp_pool_done(&pool);
	return r ? wp_cli_fail(cli, WP_EXIT_FAILED, &err) : WP_EXIT_OK;
}

const struct wp_command wp_cmd_doctor = {
	.name = "doctor",
	.group = "Look",
	.operands = "",
	.summary = "this machine, and what spoils a measurement on it",
	.about =
		"Reads kernel, CPUs, caches, NUMA, clock, frequency, virtualisation, limits and\n"
		"interfaces, and measures what the clock, a system call and a wake-up cost (under\n"
		"half a second; no traffic, nothing is changed). BAD spoils most measurements,\n"
		"WARN some, a note is for reading results; each says what it spoils and what to\n"
		"do. Needs no privilege; what cannot be read says why. The exit status is 0\n"
		"whatever it finds; scripts take `counts` from -J.",
	.examples = "  whyperf doctor                      this machine\n"
		    "  whyperf doctor --problems           only what is not in order\n"
		    "  whyperf doctor -J                   for scripts and records\n"
		    "  whyperf doctor --sysroot ./rack7    a tree recorded on another machine\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct doctor_config),
	.run = run,
};
