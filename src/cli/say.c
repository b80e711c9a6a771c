/* SPDX-License-Identifier: GPL-2.0-or-later */
/* say.c - what goes wrong, on stderr: one sentence, clean for a terminal whatever it quotes. */
#include <stdarg.h>
#include <string.h>

#include "cli/command.h"
#include "report/clean.h"

#define SENTENCE_BYTES 4096
#define CLEAN_BYTES    (4 * SENTENCE_BYTES)

static void WP_PRINTF(2, 0) put_sentence(const struct wp_cli *cli, const char *fmt, va_list ap)
{
	struct wp_pool pool = WP_POOL(CLEAN_BYTES);
	char text[SENTENCE_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(cli->err, "whyperf: %s\n", wp_clean(&pool, text, cli->utf8));
	wp_pool_done(&pool);
}

void wp_cli_say(const struct wp_cli *cli, const char *fmt, ...)
{
	va_list ap;

	fflush(cli->out);
	va_start(ap, fmt);
	put_sentence(cli, fmt, ap);
	va_end(ap);
}

int wp_cli_fail(const struct wp_cli *cli, int status, const struct wp_err *err)
{
	wp_cli_say(cli, "%s", err->msg[0] ? err->msg : "failed");
	return status;
}

int wp_cli_usage(const struct wp_cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_sentence(cli, fmt, ap);
	va_end(ap);
	return WP_EXIT_USAGE;
}
