/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_write.c - `whyperf write PATH` and `whyperf write --to COMMAND`. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/measure.h"
#include "run/write.h"

struct write_config {
	struct wp_test_config test;
	const char *command, *fsync;
	bool overwrite, direct, o_sync, any_device, remove;
	uint64_t file_size_bytes;
	int64_t grace_ns;
};

static const char *const fills[] = { "zero", "random", "pattern", NULL };
static const char *const formats[] = { "text", "json", "csv", "mail", NULL };

#define OFF(field)  offsetof(struct write_config, field)
#define TEST(field) OFF(test) + offsetof(struct wp_test_config, field)
#define YEAR_S      (366 * 86400.0)

static const struct wp_opt options[] = {
	{ "time", 't', WP_OPT_DURATION, TEST(duration_ns), .set_offset = TEST(duration_set),
	  .arg = "TIME", .def = "10", .min = 0.001, .max = YEAR_S, .group = "Test",
	  .help = "how long to write" },
	{ "bytes", 'n', WP_OPT_SIZE, TEST(limit_bytes), .arg = "SIZE", .min = 1, .max = 1e18,
	  .group = "Test",
	  .help = "end after exactly these bytes; with -t also, whichever comes first" },
	{ "blocks", 'k', WP_OPT_COUNT, TEST(blocks), .arg = "N", .min = 1, .max = 1e12,
	  .group = "Test", .help = "end after N writes of --length bytes" },
	{ "omit", 'O', WP_OPT_DURATION, TEST(omit_ns), .arg = "TIME", .def = "0", .min = 0,
	  .max = YEAR_S, .group = "Test", .help = "warm up before the measured time" },
	{ "interval", 'i', WP_OPT_DURATION, TEST(interval_ns), .arg = "TIME", .def = "1", .min = 0,
	  .max = YEAR_S, .group = "Test",
	  .help = "time between report rows, from 0.01; 0 = only the total" },
	{ "bitrate", 'b', WP_OPT_RATE, TEST(rate_bps), .arg = "RATE", .def = "0", .min = 0,
	  .max = 1e14, .group = "Test",
	  .help = "pace the writes, in bits a second, without catching up after a pause; 0 = unlimited" },
	{ "length", 'l', WP_OPT_SIZE, TEST(length_bytes), .arg = "SIZE", .def = "64K", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Data", .help = "bytes a write" },
	{ "fill", 0, WP_OPT_ENUM, TEST(fill), .arg = "WHAT", .def = "zero", .choices = fills,
	  .group = "Data", .help = "content of what is written" },

	{ "to", 0, WP_OPT_STRING, OFF(command), .arg = "COMMAND", .group = "Target",
	  .help = "instead of PATH: run COMMAND by /bin/sh and write to its standard input; its output goes to stderr" },
	{ "grace", 0, WP_OPT_DURATION, OFF(grace_ns), .arg = "TIME", .def = "10", .min = 0,
	  .max = 86400, .group = "Target",
	  .help = "how long COMMAND may go on after the end of its input before it is stopped" },
	{ "overwrite", 0, WP_OPT_FLAG, OFF(overwrite), .group = "Target",
	  .help = "write over a file that is there, and lose what it holds" },
	{ "remove", 0, WP_OPT_FLAG, OFF(remove), .group = "Target",
	  .help = "remove the file afterwards, if it was made for this" },
	{ "file-size", 0, WP_OPT_SIZE, OFF(file_size_bytes), .arg = "SIZE", .def = "1G", .min = 0,
	  .max = 1e18, .group = "Target",
	  .help = "a file without -n is begun again at its start after so much, so that it does not fill the disk; 0 = it grows" },
	{ "device-i-know", 0, WP_OPT_FLAG, OFF(any_device), .group = "Target",
	  .help = "also write to block devices and others that are no terminal: what is on them is destroyed" },
	{ "timeout", 0, WP_OPT_DURATION, TEST(timeout_ns), .arg = "TIME", .def = "10", .min = 0.01,
	  .max = 3600, .group = "Target",
	  .help = "how long to wait for a reader of a fifo or socket" },
	{ "window", 'w', WP_OPT_SIZE, TEST(window_bytes), .arg = "SIZE", .min = 1024,
	  .max = 1 << 30, .group = "Target",
	  .help = "what the pipe or the socket holds; not given = 64K for pipes" },

	{ "fsync", 0, WP_OPT_STRING, OFF(fsync), .arg = "WHEN", .def = "never", .group = "Disk",
	  .help = "call fsync(2): never, end, each (write), or a SIZE: whenever so much is written" },
	{ "direct", 0, WP_OPT_FLAG, OFF(direct), .group = "Disk",
	  .help = "O_DIRECT: past the page cache" },
	{ "sync", 0, WP_OPT_FLAG, OFF(o_sync), .group = "Disk",
	  .help = "O_SYNC: each write waits for the disk" },

	{ "cpu", 0, WP_OPT_CPULIST, TEST(cpus), .arg = "CPU", .group = "Placement",
	  .help = "CPU of the writing thread" },

	{ "format", 0, WP_OPT_ENUM, TEST(format), .arg = "HOW", .def = "text", .choices = formats,
	  .group = "Output", .help = "form of the report" },
	{ "json", 'J', WP_OPT_FLAG, TEST(json), .group = "Output",
	  .help = "the same as --format json" },
	{ "json-stream", 0, WP_OPT_FLAG, TEST(json_stream), .group = "Output",
	  .help = "a line of JSON an event, while the test runs" },
	{ "unit", 'f', WP_OPT_STRING, TEST(unit), .arg = "UNIT", .group = "Output",
	  .help = "rates in k m g t (bits, 1000) or K M G T (bytes, 1024); not given = bytes" },
	{ "quiet", 'q', WP_OPT_FLAG, TEST(quiet), .group = "Output",
	  .help = "no rows while the test runs; the report has them" },
	{ "sample", 0, WP_OPT_DURATION, TEST(sample_ns), .arg = "TIME", .def = "0", .min = 0,
	  .max = 3600, .group = "Output",
	  .help = "time between samples of the kernel's counters; 0 = the interval" },
	{ "name", 0, WP_OPT_STRING, TEST(name), .arg = "NAME", .group = "Output",
	  .help = "name of the stored run" },
	{ "no-store", 0, WP_OPT_FLAG, TEST(no_store), .group = "Output",
	  .help = "do not keep the run in the history" },
};

static int parse_fsync(const char *text, struct wp_plan *plan, struct wp_err *err)
{
	static const char *const words[] = { "never", "end", "each" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i])) {
			plan->sync = (enum wp_sync)i;
			return 0;
		}
	plan->sync = WP_SYNC_BYTES;
	if (wp_parse_size_bytes(text, &plan->sync_bytes) || !plan->sync_bytes)
		return wp_err_set(err, -EINVAL,
				  "--fsync: '%s' is neither never, end, each nor a size", text);
	return 0;
}

static int make_plan(const struct write_config *c, const char *path, struct wp_plan *plan,
		     struct wp_err *err)
{
	int r;

	if (c->command && (c->overwrite || c->direct || c->o_sync || c->any_device || c->remove))
		return wp_err_set(
			err, -EINVAL,
			"--to writes to a pipe, and what is for files and devices does not go with it");
	if (c->test.cpus.n > 1)
		return wp_err_set(err, -EINVAL, "--cpu: one thread writes, on one CPU");
	r = wp_test_plan(&c->test, "write", plan, err);
	if (!r)
		r = parse_fsync(c->fsync, plan, err);
	if (!r && c->command && plan->sync != WP_SYNC_NEVER)
		return wp_err_set(err, -EINVAL, "--fsync is for files; --to writes to a pipe");
	if (!r && path && strcmp(path, "-") && !plan->limit_bytes)
		plan->wrap_bytes = c->file_size_bytes;
	return r ? r : wp_plan_check_write(plan, err);
}

static struct wp_write_config target_of(const struct write_config *c, const struct wp_plan *plan,
					const char *path, const struct wp_cli *cli)
{
	return (struct wp_write_config) {
		.target = { .path = path,
			    .overwrite = c->overwrite,
			    .direct = c->direct,
			    .o_sync = c->o_sync,
			    .any_device = c->any_device,
			    .syncs = plan->sync != WP_SYNC_NEVER,
			    .length_bytes = plan->length_bytes,
			    .buffer_bytes = plan->window_bytes,
			    .timeout_ns = c->test.timeout_ns,
			    .cancel_fd = cli->cancel_fd },
		.command = c->command,
		.grace_ns = c->grace_ns,
		.remove = c->remove,
		.limit_bytes = plan->limit_bytes,
	};
}

static int measure(const struct write_config *c, struct wp_plan *plan, const char *path,
		   struct wp_venue *venue, struct wp_cli *cli)
{
	struct wp_write_config target = target_of(c, plan, path, cli);
	struct wp_err err = { 0 };
	int r = wp_write_open(&target, &venue->session, &err);

	if (r == -EINVAL)
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	if (r == -EINTR)
		return wp_cli_fail(cli, WP_EXIT_INTERRUPTED, &err);
	if (r)
		return wp_measure_not_started(&c->test, plan, venue->text, cli, &err);
	r = wp_measure_in(&c->test, plan, venue, cli);
	wp_write_close(venue->session); /* if it was not run */
	return r;
}

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	struct write_config c = *(const struct write_config *)config;
	const char *path = operands->n ? operands->v[0] : NULL;
	struct wp_cli own = *cli;
	struct wp_err err = { 0 };
	struct wp_venue venue;
	struct wp_plan plan;
	char text[300];
	int r;

	if (!path == !c.command)
		return wp_cli_usage(
			cli,
			"write needs a PATH, - for stdout, or --to COMMAND, and one of them; `whyperf write --help` explains");
	c.test.streams = 1;
	if (make_plan(&c, path, &plan, &err))
		return wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	if (path && !strcmp(path, "-")) { /* stdout is the data's */
		own.out = cli->err;
		own.colour = own.terminal = false;
	}
	if (!c.test.unit)
		c.test.unit = "A"; /* bytes; -f has no letter for that */
	snprintf(text, sizeof(text), "%s%s", c.command ? "| " : "", c.command ? c.command : path);
	r = wp_venue_here(text, &venue, &err);
	if (r)
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	r = measure(&c, &plan, path, &venue, &own);
	wp_venue_close(&venue);
	return r;
}

const struct wp_command wp_cmd_write = {
	.name = "write",
	.group = "Measure",
	.operands = "PATH",
	.summary = "write a file, pipe or command: how fast, and why",
	.about =
		"PATH is /dev/null, a file (made anew), a fifo, a unix socket, a terminal, or - for\n"
		"stdout (the report then goes to stderr). --to 'COMMAND' feeds a command instead.\n"
		"The longest pauses between two writes are kept, with what the machine did meanwhile:\n"
		"whether the thread waited for its CPU and who had it, for the reader at the other\n"
		"end, for the disk, or whether the hypervisor took the time; and the slowest interval\n"
		"is explained. Rates are of bytes handed to the kernel: of a file they are those of\n"
		"the page cache unless --fsync or --direct is given. MBytes are 1024 x 1024 bytes.\n"
		"COMMAND runs in a process group of its own and so can't read from the terminal:\n"
		"`ssh` needs a key. PATH of a file that is there is refused without --overwrite.",
	.examples =
		"  whyperf write /dev/null                   a rate line each second, as the little programs have it\n"
		"  whyperf write /dev/null -i 0.01 --cpu 0   finer, on CPU 0\n"
		"  whyperf write --to 'ssh there cat \\>/dev/null' -n 1G    dd | ssh\n"
		"  whyperf write /var/tmp/x --fsync end -n 4G --remove     with the disk's part\n"
		"  whyperf write /var/tmp/x --direct -l 1M   past the page cache\n"
		"  whyperf write - -b 100M | consumer        paced at 100 Mbits a second\n",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct write_config),
	.max_operands = 1,
	.run = run,
};
