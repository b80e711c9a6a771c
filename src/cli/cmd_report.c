/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_report.c - `whyperf report RUN`: a stored run or sweep again, in any form. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/stored.h"
#include "report/csv.h"

struct report_config {
	struct wp_show_config show;
	bool json;
	int format;
};

#define OFF(field) offsetof(struct report_config, field)

static const char *const formats[] = { "text", "json", "csv", "mail", NULL };

static const struct wp_opt options[] = {
	{ "format", 0, WP_OPT_ENUM, OFF(format), .arg = "HOW", .def = "text", .choices = formats,
	  .group = "Output", .help = "form of the report" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output",
	  .help = "the same as --format json" },
	{ "unit", 'f', WP_OPT_STRING, OFF(show.unit), .arg = "UNIT", .group = "Output",
	  .help = "rates in k m g t (bits, 1000) or K M G T (bytes, 1024)" },
	{ "table", 0, WP_OPT_STRING, OFF(show.table), .arg = "NAME", .group = "Output",
	  .help = "with --format csv only this table: test, inventory, host, cpu, cpu_sample, thread, flow, interval, end, total, ledger" },
};

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	const struct report_config *c = config;
	struct wp_show_config show = c->show;

	show.format = c->json ? WP_FORMAT_JSON : (enum wp_format)c->format;
	return wp_show(cli, operands->n ? operands->v[0] : "last", &show);
}

const struct wp_command wp_cmd_report = {
	.name = "report",
	.group = "Look",
	.operands = "[RUN]",
	.summary = "a stored run or sweep again: text, mail, JSON, CSV",
	.about = "RUN is the beginning of an id, a name, or `last` (the default): the newest run,\n"
		 "or the sweep it was part of. `--format mail` is at most 76 columns of plain\n"
		 "ASCII with machine, command, result, CPUs and why. CSV holds every table of the\n"
		 "record, each after a line \"# name\"; --table gives one alone.",
	.examples = "  whyperf report                          the newest\n"
		    "  whyperf report 3f9a --format mail       to paste into a letter\n"
		    "  whyperf report before -J                the whole record\n"
		    "  whyperf report last --format csv --table interval\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct report_config),
	.max_operands = 1,
	.run = run,
};
