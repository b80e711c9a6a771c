/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - a command is one const row: its words, its option table and a function that gets a finished config.
 *
 * The rows are listed in commands.c; main.c parses and dispatches, help.c prints. To add one: a file cmd_NAME.c with
 * `const struct wp_command wp_cmd_NAME`, and its line in commands.c.
 */
#ifndef WP_CLI_COMMAND_H
#define WP_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/opt.h"

enum wp_exit {
	WP_EXIT_OK = 0,
	WP_EXIT_FAILED = 1,
	WP_EXIT_USAGE = 2,
	WP_EXIT_THRESHOLD = 3,
	WP_EXIT_INTERRUPTED = 130,
};

/* What main() gives every command. */
struct wp_cli {
	FILE *out, *err;
	int cancel_fd;           /* readable after SIGINT or SIGTERM */
	const char *state_dir;   /* $XDG_STATE_HOME/whyperf; made on first use */
	const char *journal_dir; /* undo records of changed settings */
	const char *const *argv; /* the whole command line, for the record */
	size_t argc;
	bool colour;    /* stdout is a terminal, NO_COLOR is unset */
	bool terminal;  /* stdout is a terminal */
	bool utf8;      /* the locale is UTF-8 */
	unsigned width; /* of the terminal; 100 where unknown */
};

struct wp_command {
	const char *name;
	const char *group;    /* heading in `whyperf --help` */
	const char *operands; /* "HOST", "" */
	const char *summary;  /* one line, lower case, no full stop */
	const char *about;    /* paragraphs for `--help` of the command */
	const char *examples; /* lines of "command    what it does" */
	const struct wp_opt *options;
	size_t n_options, config_size;
	int min_operands, max_operands; /* max -1 = any number */
	bool stop_at_first;             /* the operands are a command of their own (sweep) */
	/* Returns an enum wp_exit. Prints its own sentence through wp_cli_fail(). */
	int (*run)(const void *config, const struct wp_operands *operands, struct wp_cli *cli);
};

extern const struct wp_command *const wp_commands[]; /* NULL-terminated */
const struct wp_command *wp_command_find(const char *name);

/* "whyperf: sentence" on stderr, without control characters: it may quote what a stranger wrote. */
void wp_cli_say(const struct wp_cli *cli, const char *fmt, ...) WP_PRINTF(2, 3);
/* The same; returns `status`. */
int wp_cli_fail(const struct wp_cli *cli, int status, const struct wp_err *err);
int wp_cli_usage(const struct wp_cli *cli, const char *fmt, ...) WP_PRINTF(2, 3);

/* help.c */
int wp_help_program(struct wp_buf *out);
int wp_help_command(const struct wp_command *c, struct wp_buf *out);
int wp_help_engines(struct wp_buf *out);
int wp_help_version(struct wp_buf *out);

#endif
