/* SPDX-License-Identifier: GPL-2.0-or-later */
/* say.c - what goes wrong, on stderr: one sentence. */
#include <stdarg.h>

#include "cli/command.h"

int wp_cli_fail(const struct wp_cli *cli, int status, const struct wp_err *err)
{
	fflush(cli->out);
	fprintf(cli->err, "whyperf: %s\n", err->msg[0] ? err->msg : "failed");
	return status;
}

int wp_cli_usage(const struct wp_cli *cli, const char *fmt, ...)
{
	va_list ap;

	fputs("whyperf: ", cli->err);
	va_start(ap, fmt);
	vfprintf(cli->err, fmt, ap);
	va_end(ap);
	fputc('\n', cli->err);
	return WP_EXIT_USAGE;
}
