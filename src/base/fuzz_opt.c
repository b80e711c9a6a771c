/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_opt.c - a command line, one word a line, through a table with every type of option. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cfg {
	int64_t i, ns;
	uint64_t count, size, rate;
	double d;
	const char *s;
	int choice;
	bool flag, other, set;
	struct wp_cpulist cpus;
	struct wp_u64list sizes, counts;
};

#define OFF(m) .offset = offsetof(struct cfg, m)

static const char *const choices[] = { "text", "json", "csv", NULL };

static const struct wp_opt rows[] = {
	{ "int", 'i', WP_OPT_INT, OFF(i), .arg = "N", .min = -100, .max = 100, .help = "x" },
	{ "time", 't', WP_OPT_DURATION, OFF(ns), offsetof(struct cfg, set), .arg = "T", .min = .5,
	  .max = 10, .help = "x" },
	{ "count", 'n', WP_OPT_COUNT, OFF(count), .arg = "N", .help = "x" },
	{ "size", 'l', WP_OPT_SIZE, OFF(size), .arg = "N", .min = 1, .max = 1 << 20, .help = "x" },
	{ "rate", 'b', WP_OPT_RATE, OFF(rate), .arg = "N", .help = "x" },
	{ "double", 0, WP_OPT_DOUBLE, OFF(d), .arg = "N", .help = "x" },
	{ "string", 's', WP_OPT_STRING, OFF(s), .arg = "S", .help = "x" },
	{ "choice", 0, WP_OPT_ENUM, OFF(choice), .arg = "C", .choices = choices, .help = "x" },
	{ "flag", 'F', WP_OPT_FLAG, OFF(flag), .help = "x" },
	{ "other", 'O', WP_OPT_FLAG, OFF(other), .help = "x" },
	{ "cpu", 'c', WP_OPT_CPULIST, OFF(cpus), .arg = "L", .help = "x" },
	{ "sizes", 0, WP_OPT_SIZES, OFF(sizes), .arg = "L", .help = "x" },
	{ "counts", 0, WP_OPT_COUNTS, OFF(counts), .arg = "L", .max = 1000, .help = "x" },
};

#define N         WP_ARRAY_SIZE(rows)
#define WORDS_MAX 32

static void check(int ok)
{
	if (!ok)
		abort();
}

static void one(int argc, const char *const *argv, bool stop)
{
	struct wp_operands o = { 0 };
	struct wp_err err = { "" };
	struct cfg c = { 0 };
	int r = wp_opt_parse(rows, N, &c, argc, argv, stop, &o, &err);

	check(r == 0 || r == -EINVAL || r == -ECANCELED);
	check((r == -EINVAL) == (err.msg[0] != '\0'));
	check(r == 0 || (!o.v && !o.n));
	check(o.n <= argc && c.i >= -100 && c.i <= 100 && c.size <= 1 << 20);
	check(c.choice >= 0 && c.choice < 3);
	wp_opt_done(rows, N, &c);
	wp_operands_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1), *rest = s;
	const char *argv[WORDS_MAX];
	int argc = 0;

	check(s != NULL);
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	while (argc < WORDS_MAX && rest)
		argv[argc++] = strsep(&rest, "\n");
	one(argc, argv, false);
	one(argc, argv, true);
	free(s);
	return 0;
}
