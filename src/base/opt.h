/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opt.h - options as tables. One const row an option; parsing, --help, the man page, shell completion, the
 * defaults and the error messages all come from it.
 *
 * A command has a config struct and an array of rows that point into it by offset:
 *
 *	static const struct wp_opt tcp_options[] = {
 *		{ "time", 't', WP_OPT_DURATION, OFF(duration_ns), .arg = "TIME", .def = "10", .min = 1e-3, .max = 86400e0 * 365,
 *		  .group = "Test", .help = "how long to send" },
 *		...
 *	};
 *
 * wp_opt_defaults() fills the config from `def`; wp_opt_parse() then overwrites. A command gets a finished
 * config, no globals. Strings in the config are borrowed from argv or the table; lists are owned by the config
 * and freed by wp_opt_done().
 *
 * Accepted forms: --name VALUE, --name=VALUE, -xVALUE, -x VALUE, bundled flags (-RN), "--" ends options. With
 * `stop_at_first` parsing ends at the first operand (for `sweep [axes] COMMAND...`), otherwise operands and
 * options mix. An unknown option gives a sentence with the nearest name ("unknown option --tmie; did you mean
 * --time?"); a bad value names option, value and what is accepted. An option of this command in the
 * place of a value ("--title --json") counts as a forgotten value; "--title=--json" means it. --help and -h are
 * built in; a FLAG row "help" (letter 'h') only makes them show up in --help's list.
 */
#ifndef WP_BASE_OPT_H
#define WP_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/err.h"

enum wp_opt_type {
	WP_OPT_FLAG,      /* bool: true when given; takes no value */
	WP_OPT_INT,       /* int64_t */
	WP_OPT_COUNT,     /* uint64_t, K/M/G/T as powers of 1000 allowed ("10k") */
	WP_OPT_DOUBLE,    /* double */
	WP_OPT_SIZE,      /* uint64_t bytes, 1024 */
	WP_OPT_RATE,      /* uint64_t bits/s, 1000 */
	WP_OPT_PACE,      /* struct wp_rate (units.h): bits/s, or packets/s from 1 to 10^9 */
	WP_OPT_FREQUENCY, /* uint64_t, 1/1000 Hz; bounds are in Hz */
	WP_OPT_DURATION,  /* int64_t ns */
	WP_OPT_STRING,    /* const char * */
	WP_OPT_ENUM,      /* int: index into `choices` */
	WP_OPT_CPULIST,   /* struct wp_cpulist; "all" gives every allowed CPU */
	WP_OPT_SIZES,     /* struct wp_u64list of sizes, comma separated */
	WP_OPT_COUNTS,    /* struct wp_u64list of counts, comma separated or a-b */
};

struct wp_u64list {
	uint64_t *v; /* owned */
	size_t n;
};

struct wp_opt {
	const char
		*name; /* long name without dashes; the same key is used in the record's "plan" */
	char letter;   /* 0 = none */
	enum wp_opt_type type;
	size_t offset; /* of the value in the config struct */
	size_t set_offset; /* of a bool that becomes true when given; 0 = none (offset 0 can't be one) */
	const char *arg; /* "TIME", shown in --help; NULL for flags */
	const char *def; /* default in the syntax of the command line; NULL = zero/NULL/empty */
	double min,
		max; /* bounds in base units (bytes, bits/s, seconds, counts) when max > min; inclusive */
	const char *const *choices; /* ENUM: NULL-terminated names */
	const char *group;          /* heading in --help; rows of one group stand together */
	const char *help;           /* one line, lower case, no full stop */
	bool hidden;                /* internal; not in --help */
};

struct wp_operands {
	const char **v; /* owned array of borrowed strings */
	int n;
};

/* Sets every row's default into `cfg` (zeroed by the caller). A default that does not parse is a bug: -EINVAL. */
int wp_opt_defaults(const struct wp_opt *rows, size_t n, void *cfg, struct wp_err *err) WP_MUST_USE;

/* Parses argv[0..argc-1] (without program and command names). Operands go to `ret_operands` (free with
 * wp_operands_done); with `stop_at_first` the first operand and everything behind it. -EINVAL with a sentence.
 * "--help"/"-h" anywhere before "--" gives -ECANCELED: print help. */
int wp_opt_parse(const struct wp_opt *rows, size_t n, void *cfg, int argc, const char *const *argv,
		 bool stop_at_first, struct wp_operands *ret_operands,
		 struct wp_err *err) WP_MUST_USE;

/* Sets one option by long name as if given on the command line (for sweeps' axes, URLs, stored plans). */
int wp_opt_set(const struct wp_opt *rows, size_t n, void *cfg, const char *name, const char *value,
	       struct wp_err *err) WP_MUST_USE;

/* Frees the lists inside `cfg`. */
void wp_opt_done(const struct wp_opt *rows, size_t n, void *cfg);
void wp_operands_done(struct wp_operands *o);

/* Appends the options part of --help, grouped, at most 100 columns; defaults and choices shown. */
int wp_opt_help(const struct wp_opt *rows, size_t n, struct wp_buf *out);

/* Checks a table: names unique, letters unique, defaults parse, help present, bounds sane. For tests. */
int wp_opt_check(const struct wp_opt *rows, size_t n, size_t cfg_size,
		 struct wp_err *err) WP_MUST_USE;

/* The candidate nearest to `word` (Damerau-Levenshtein distance at most 2 and less than half the length, or a
 * prefix of one candidate only), or NULL. */
const char *wp_nearest(const char *word, const char *const *candidates, size_t n);

#endif
