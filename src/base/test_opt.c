/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/units.h"

struct cfg {
	int first; /* offset 0 can't be a set_offset */
	bool reverse, no_delay, rate_set;
	int64_t duration_ns, nice;
	uint64_t streams, length_bytes, rate_bps;
	double factor;
	const char *title;
	int fill;
	struct wp_cpulist cpus;
	struct wp_u64list lengths, counts;
	bool secret;
	struct wp_rate pace;
	uint64_t arrivals_mhz;
};

#define OFF(m) .offset = offsetof(struct cfg, m)

static const char *const fills[] = { "zero", "random", "pattern", NULL };

static const struct wp_opt rows[] = {
	{ "time", 't', WP_OPT_DURATION, OFF(duration_ns), .arg = "TIME", .def = "10", .min = 1e-3,
	  .max = 86400e0 * 365, .group = "Test", .help = "how long to send" },
	{ "reverse", 'R', WP_OPT_FLAG, OFF(reverse), .group = "Test", .help = "the server sends" },
	{ "nodelay", 'N', WP_OPT_FLAG, OFF(no_delay), .group = "Test", .help = "set TCP_NODELAY" },
	{ "streams", 'P', WP_OPT_COUNT, OFF(streams), .arg = "N", .def = "1", .min = 1, .max = 1000,
	  .group = "Test", .help = "connections at once" },
	{ "length", 'l', WP_OPT_SIZE, OFF(length_bytes), .arg = "SIZE", .def = "1M", .min = 1,
	  .max = 0x1p30, .group = "Test", .help = "bytes a write" },
	{ "bitrate", 'b', WP_OPT_RATE, OFF(rate_bps), offsetof(struct cfg, rate_set), .arg = "RATE",
	  .min = 1e3, .max = 1e12, .group = "Test", .help = "send at this rate" },
	{ "nice", 0, WP_OPT_INT, OFF(nice), .arg = "N", .min = -20, .max = 19, .group = "Other",
	  .help = "priority" },
	{ "factor", 0, WP_OPT_DOUBLE, OFF(factor), .arg = "X", .def = "1.5", .min = 0, .max = 10,
	  .group = "Other", .help = "a factor" },
	{ "title", 'T', WP_OPT_STRING, OFF(title), .arg = "TEXT", .group = "Other",
	  .help = "a name for the run" },
	{ "fill", 0, WP_OPT_ENUM, OFF(fill), .arg = "WHAT", .def = "random", .choices = fills,
	  .group = "Other", .help = "what the buffer holds" },
	{ "cpu", 0, WP_OPT_CPULIST, OFF(cpus), .arg = "LIST", .group = "Other",
	  .help = "CPUs, one a thread" },
	{ "lengths", 0, WP_OPT_SIZES, OFF(lengths), .arg = "LIST", .def = "64,1K", .max = 0x1p20,
	  .group = "Other",
	  .help = "an axis of a sweep with a help text that is long enough to need a second line in the output of --help, as it must" },
	{ "counts-with-a-very-long-name", 0, WP_OPT_COUNTS, OFF(counts), .arg = "COUNTS,COUNTS",
	  .group = "Other", .help = "another axis" },
	{ "pace", 0, WP_OPT_PACE, OFF(pace), .arg = "RATE", .def = "10M", .min = 0, .max = 1e14,
	  .group = "Other", .help = "bits or packets", .hidden = true },
	{ "arrivals", 0, WP_OPT_FREQUENCY, OFF(arrivals_mhz), .arg = "RATE", .min = .001,
	  .max = 1e9, .group = "Other", .help = "a second", .hidden = true },
	{ "secret", 0, WP_OPT_FLAG, OFF(secret), .group = "Other", .help = "internal",
	  .hidden = true },
};

#define N WP_ARRAY_SIZE(rows)

/* Parses at most 7 words with the defaults set. */
static int parse(struct cfg *c, const char *const *argv, bool stop, struct wp_operands *o,
		 struct wp_err *err)
{
	int argc = 0;

	memset(c, 0, sizeof(*c));
	memset(err, 0, sizeof(*err));
	memset(o, 0, sizeof(*o));
	assert_int_equal(wp_opt_defaults(rows, N, c, err), 0);
	while (argv[argc])
		argc++;
	return wp_opt_parse(rows, N, c, argc, argv, stop, o, err);
}

#define PARSE(stop, ...) parse(&c, (const char *const[]) { __VA_ARGS__, NULL }, stop, &o, &err)

static void done(struct cfg *c, struct wp_operands *o)
{
	wp_opt_done(rows, N, c);
	wp_operands_done(o);
}

static void table_is_well_formed(void **state)
{
	struct wp_err err = { "" };

	(void)state;
	if (wp_opt_check(rows, N, sizeof(struct cfg), &err) < 0)
		fail_msg("%s", err.msg);
}

static void defaults_come_from_the_table(void **state)
{
	struct wp_operands o;
	struct wp_err err;
	struct cfg c;

	(void)state;
	assert_int_equal(parse(&c, (const char *const[]) { NULL }, false, &o, &err), 0);
	assert_true(c.duration_ns == INT64_C(10000000000) && c.streams == 1);
	assert_true(c.length_bytes == 1 << 20 && c.rate_bps == 0 && !c.rate_set);
	assert_true(c.factor == 1.5 && c.fill == 1 && !c.title && !c.reverse);
	assert_true(c.lengths.n == 2 && c.lengths.v[0] == 64 && c.lengths.v[1] == 1024);
	assert_true(c.counts.n == 0 && c.cpus.n == 0 && o.n == 0);
	done(&c, &o);
	wp_opt_done(rows, N, NULL);
	wp_operands_done(NULL);
}

static void every_type_in_every_form(void **state)
{
	struct wp_operands o;
	struct wp_err err;
	struct cfg c;

	(void)state;
	assert_int_equal(
		PARSE(false, "--time", "250ms", "--reverse", "-N", "-P4", "-l", "128K", "host"), 0);
	assert_true(c.duration_ns == 250000000 && c.reverse && c.no_delay && c.streams == 4);
	assert_true(c.length_bytes == 131072 && o.n == 1);
	assert_string_equal(o.v[0], "host");
	done(&c, &o);
	assert_int_equal(PARSE(false, "--bitrate=200M", "--nice=-5", "--factor", "0.25",
			       "--title=", "--fill=zero"),
			 0);
	assert_true(c.rate_bps == 200000000 && c.rate_set && c.nice == -5 && c.factor == .25);
	assert_string_equal(c.title, "");
	assert_int_equal(c.fill, 0);
	done(&c, &o);
	assert_int_equal(PARSE(false, "--cpu", "0,2,4-5", "--lengths", "1,1K,1M",
			       "--counts-with-a-very-long-name", "1,4-6,2k", "-RNt3"),
			 0);
	assert_true(c.cpus.n == 4 && c.cpus.cpu[3] == 5);
	assert_true(c.lengths.n == 3 && c.lengths.v[2] == 1 << 20);
	assert_true(c.counts.n == 5 && c.counts.v[3] == 6 && c.counts.v[4] == 2000);
	assert_true(c.reverse && c.no_delay && c.duration_ns == INT64_C(3000000000));
	done(&c, &o);
	assert_int_equal(PARSE(false, "--pace", "36kpps", "--arrivals=0.5"), 0);
	assert_true(c.pace.packets_mhz == 36000000 && !c.pace.bps && c.arrivals_mhz == 500);
	done(&c, &o);
	assert_int_equal(PARSE(false, "--pace=1G", "--arrivals", "10k"), 0);
	assert_true(c.pace.bps == 1000000000 && !c.pace.packets_mhz && c.arrivals_mhz == 10000000);
	done(&c, &o);
	assert_int_equal(PARSE(false, "--cpu=all", "--lengths=5", "--lengths=6,7", "--lengths="),
			 0);
	assert_true(c.cpus.n >= 1 && c.lengths.n == 0);
	done(&c, &o);
}

static void operands_and_double_dash(void **state)
{
	struct wp_operands o;
	struct wp_err err;
	struct cfg c;

	(void)state;
	assert_int_equal(PARSE(false, "a", "-R", "-", "--", "-N", "--time"), 0);
	assert_true(c.reverse && !c.no_delay && o.n == 4);
	assert_string_equal(o.v[1], "-");
	assert_string_equal(o.v[2], "-N");
	assert_string_equal(o.v[3], "--time");
	done(&c, &o);
	assert_int_equal(PARSE(true, "-R", "tcp", "--unknown", "-N", "--", "--help"), 0);
	assert_true(c.reverse && !c.no_delay && o.n == 5);
	assert_string_equal(o.v[0], "tcp");
	assert_string_equal(o.v[3], "--");
	done(&c, &o);
	assert_int_equal(PARSE(true, "--", "-x"), 0);
	assert_true(o.n == 1);
	done(&c, &o);
}

static void help_is_asked_for(void **state)
{
	static const char *const lines[][5] = {
		{ "--help" },
		{ "-h" },
		{ "host", "-R", "--help" },
		{ "-Rh" },
		{ "--tmie", "3", "--help" },
		{ "-t", "x", "-h" },
		{ "--help=yes" },
	};
	static const char *const no_help[][5] = {
		{ "--", "--help" },
		{ "--title", "--help" },
		{ "-T", "-h" },
	};
	struct wp_operands o;
	struct wp_err err;
	struct cfg c;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(lines); i++) {
		assert_int_equal(parse(&c, lines[i], false, &o, &err), -ECANCELED);
		assert_string_equal(err.msg, "");
		assert_null(o.v);
		done(&c, &o);
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(no_help); i++) {
		assert_int_equal(parse(&c, no_help[i], false, &o, &err), 0);
		done(&c, &o);
	}
}

static void mistakes_get_one_sentence(void **state)
{
	static const struct {
		const char *line[4];
		const char *says;
	} cases[] = {
		{ { "--tmie", "3" }, "unknown option --tmie; did you mean --time?" },
		{ { "--bit=3" }, "unknown option --bit; did you mean --bitrate?" },
		{ { "--wholly-other" }, "unknown option --wholly-other; see --help" },
		{ { "--secre" }, "unknown option --secre; see --help" },
		{ { "--=3" }, "unknown option --; see --help" },
		{ { "-y" }, "unknown option -y; see --help" },
		{ { "-RyN" }, "unknown option -y in -RyN; see --help" },
		{ { "-\xc3\xa9" }, "unknown option -\xc3\xa9; see --help" },
		{ { "--time" }, "--time needs a value: --time TIME" },
		{ { "-t" }, "-t needs a value: -t TIME" },
		{ { "-Rt" }, "-t needs a value: -t TIME" },
		{ { "--time", "--" }, "--time needs a value: --time TIME" },
		{ { "--title", "--reverse" },
		  "--title needs a value before --reverse: --title TEXT" },
		{ { "--title", "--time=3" },
		  "--title needs a value before --time=3: --title TEXT" },
		{ { "--reverse=1" }, "--reverse takes no value; leave out \"=1\"" },
		{ { "--time=abc" },
		  "--time: \"abc\" is not a time; give seconds or a unit, as 10, 0.5, 250ms or 2m" },
		{ { "--time=" },
		  "--time: \"\" is not a time; give seconds or a unit, as 10, 0.5, 250ms or 2m" },
		{ { "-t", "0" }, "-t: 0 is out of range; allowed is 1ms to 365d" },
		{ { "-t", "1e30" }, "-t: 1e30 is out of range; allowed is 1ms to 365d" },
		{ { "-t", "-5" },
		  "-t: \"-5\" is not a time; give seconds or a unit, as 10, 0.5, 250ms or 2m" },
		{ { "-l", "2G" }, "-l: 2G is out of range; allowed is 1 to 1G" },
		{ { "-P", "1001" }, "-P: 1001 is out of range; allowed is 1 to 1000" },
		{ { "-P", "1.5" },
		  "-P: \"1.5\" is not a count; give a whole number, as 1000, 10k or 1M" },
		{ { "-b", "99999999T" }, "-b: 99999999T is out of range; allowed is 1k to 1T" },
		{ { "-b", "10MB/s" },
		  "-b: \"10MB/s\" is not a rate; give bits per second, as 200M or 1.5G" },
		{ { "--pace", "0.1pps" },
		  "--pace: 0.1pps is out of range; allowed is 1pps to 1Gpps" },
		{ { "--pace", "2Gpps" },
		  "--pace: 2Gpps is out of range; allowed is 1pps to 1Gpps" },
		{ { "--pace", "101T" }, "--pace: 101T is out of range; allowed is 0 to 100T" },
		{ { "--pace", "5 furlongs" },
		  "--pace: \"5 furlongs\" is not a rate; give bits per second, as 200M, or packets, as 36kpps" },
		{ { "--arrivals", "0" }, "--arrivals: 0 is out of range; allowed is 0.001 to 1G" },
		{ { "--arrivals", "many" },
		  "--arrivals: \"many\" is not a rate; give a number a second, as 0.5, 2000 or 10k" },
		{ { "--nice", "20" }, "--nice: 20 is out of range; allowed is -20 to 19" },
		{ { "--nice", "x" }, "--nice: \"x\" is not a whole number; give digits" },
		{ { "--factor", "nan" },
		  "--factor: \"nan\" is not a number; give a number, as 2 or 0.5" },
		{ { "--fill", "zeor" },
		  "--fill: \"zeor\" is not one of zero, random, pattern; did you mean zero?" },
		{ { "--fill", "x" }, "--fill: \"x\" is not one of zero, random, pattern" },
		{ { "--cpu", "3-1" },
		  "--cpu: \"3-1\" is not a list of CPUs; give numbers and ranges, as 0, 0,2 or 4-7, or all" },
		{ { "--cpu", "9999" }, "--cpu: 9999 is too large" },
		{ { "--cpu", "(null)" },
		  "--cpu: \"(null)\" is not a list of CPUs; give numbers and ranges, as 0, 0,2 or 4-7, or all" },
		{ { "--cpu", "0-8191,0" },
		  "--cpu: 0-8191,0 makes a list of more than 8192; give fewer" },
		{ { "--lengths", "1,,2" },
		  "--lengths: \"1,,2\" is not a list of sizes; give bytes with commas between, as 64,1500,128K" },
		{ { "--lengths", "1,2M" }, "--lengths: 2M is out of range; allowed is 0 to 1M" },
		{ { "--counts-with-a-very-long-name", "1-5000" },
		  "--counts-with-a-very-long-name: 1-5000 makes a list of more than 4096; give fewer" },
		{ { "--counts-with-a-very-long-name", "0-18446744073709551615" },
		  "--counts-with-a-very-long-name: 0-18446744073709551615 makes a list of more than 4096; give fewer" },
		{ { "--counts-with-a-very-long-name", "5-1" },
		  "--counts-with-a-very-long-name: \"5-1\" is not a list of counts; give numbers and ranges, as 1,2,4-8" },
		{ { "--counts-with-a-very-long-name", "1-" },
		  "--counts-with-a-very-long-name: \"1-\" is not a list of counts; give numbers and ranges, as 1,2,4-8" },
	};
	struct wp_operands o;
	struct wp_err err;
	struct cfg c;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		int r = parse(&c, cases[i].line, false, &o, &err);

		if (r != -EINVAL || strcmp(err.msg, cases[i].says))
			fail_msg("%s: %d, %s", cases[i].line[0], r, err.msg);
		assert_null(o.v);
		done(&c, &o);
	}
}

/* The highest value that fits is stored, and the list after it ends. */
static void list_at_the_end_of_the_numbers(void **state)
{
	struct wp_err err = { "" };
	struct cfg c = { 0 };

	(void)state;
	assert_int_equal(wp_opt_set(rows, N, &c, "counts-with-a-very-long-name",
				    "18446744073709551614-18446744073709551615", &err),
			 0);
	assert_true(c.counts.n == 2 && c.counts.v[1] == UINT64_MAX);
	assert_int_equal(wp_opt_set(rows, N, &c, "counts-with-a-very-long-name", "1-4096", &err),
			 0);
	assert_true(c.counts.n == 4096 && c.counts.v[4095] == 4096);
	wp_opt_done(rows, N, &c);
	assert_null(c.counts.v);
}

static void sets_one_by_name(void **state)
{
	struct wp_err err = { "" };
	struct cfg c = { 0 };

	(void)state;
	assert_int_equal(wp_opt_set(rows, N, &c, "reverse", NULL, &err), 0);
	assert_true(c.reverse);
	assert_int_equal(wp_opt_set(rows, N, &c, "reverse", "false", &err), 0);
	assert_false(c.reverse);
	assert_int_equal(wp_opt_set(rows, N, &c, "reverse", "on", &err), 0);
	assert_true(c.reverse);
	assert_int_equal(wp_opt_set(rows, N, &c, "bitrate", "1G", &err), 0);
	assert_true(c.rate_bps == 1000000000 && c.rate_set);
	assert_int_equal(wp_opt_set(rows, N, &c, "reverse", "maybe", &err), -EINVAL);
	assert_string_equal(err.msg, "--reverse: \"maybe\" is not yes or no; give yes or no");
	err.msg[0] = '\0';
	assert_int_equal(wp_opt_set(rows, N, &c, "tiem", "1", &err), -EINVAL);
	assert_string_equal(err.msg, "unknown option --tiem; did you mean --time?");
	err.msg[0] = '\0';
	assert_int_equal(wp_opt_set(rows, N, &c, "time", NULL, &err), -EINVAL);
	assert_string_equal(err.msg, "--time needs a value: --time TIME");
	assert_int_equal(wp_opt_set(rows, N, &c, "time", "x", NULL), -EINVAL);
	wp_opt_done(rows, N, &c);
}

static const char help_text[] =
	"Test:\n"
	"  -t, --time TIME     how long to send (default 10)\n"
	"  -R, --reverse       the server sends\n"
	"  -N, --nodelay       set TCP_NODELAY\n"
	"  -P, --streams N     connections at once (default 1)\n"
	"  -l, --length SIZE   bytes a write (default 1M)\n"
	"  -b, --bitrate RATE  send at this rate\n"
	"\n"
	"Other:\n"
	"      --nice N        priority\n"
	"      --factor X      a factor (default 1.5)\n"
	"  -T, --title TEXT    a name for the run\n"
	"      --fill WHAT     what the buffer holds: zero, random, pattern (default\n"
	"                      random)\n"
	"      --cpu LIST      CPUs, one a thread\n"
	"      --lengths LIST  an axis of a sweep with a help text that is long enough to\n"
	"                      need a second line in the output of --help, as it must\n"
	"                      (default 64,1K)\n"
	"      --counts-with-a-very-long-name COUNTS,COUNTS\n"
	"                      another axis\n"
	"\n"
	"Sizes are bytes; K, M, G and T are powers of 1024 (128K = 131072).\n"
	"Rates are bits per second; K, M, G and T are powers of 1000 (200M, 1.5G).\n"
	"Counts take K, M, G and T as powers of 1000 (10k).\n"
	"Times are seconds unless a unit follows: ns, us, ms, s, m, h, d (250ms).\n"
	"CPU lists are numbers and ranges (0,2,4-7), or all.\n";

static void help_reads_well(void **state)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(1 << 16), small _cleanup_buf_ = WP_BUF(100);
	size_t len;

	(void)state;
	assert_int_equal(wp_opt_help(rows, N, &b), 0);
	assert_string_equal(wp_buf_text(&b), help_text);
	for (const char *s = b.data; *s; s += len + 1) {
		len = strcspn(s, "\n");
		assert_true(len <= 80);
		assert_true(len == 0 || s[len - 1] != ' ');
	}
	assert_int_equal(wp_opt_help(rows, N, &small), -E2BIG);
	wp_buf_reset(&b);
	assert_int_equal(wp_opt_help(rows, 0, &b), 0);
	assert_string_equal(wp_buf_text(&b), "");
}

static void check_finds_what_is_wrong(void **state)
{
	static const struct {
		struct wp_opt row[3];
		const char *says;
	} cases[] = {
		{ { { "Time", 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "x" } }, "lower-case" },
		{ { { NULL, 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "x" } }, "lower-case" },
		{ { { "-a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "x" } }, "lower-case" },
		{ { { "a", '?', WP_OPT_INT, OFF(nice), .arg = "N", .help = "x" } },
		  "letter or digit" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N" } }, "no help" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "A stop." } },
		  "full stop" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .help = "x" } }, "arg must" },
		{ { { "a", 0, WP_OPT_FLAG, OFF(reverse), .def = "yes", .help = "x" } },
		  "no default" },
		{ { { "a", 0, WP_OPT_ENUM, OFF(fill), .arg = "N", .help = "x" } }, "choices" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "x", .choices = fills } },
		  "choices" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .help = "x", .min = 2,
		      .max = 1 } },
		  "bounds" },
		{ { { "a", 0, WP_OPT_INT, .offset = sizeof(struct cfg) - 4, .arg = "N",
		      .help = "x" } },
		  "outside" },
		{ { { "a", 0, WP_OPT_INT, .offset = SIZE_MAX - 3, .arg = "N", .help = "x" } },
		  "outside" },
		{ { { "a", 0, WP_OPT_INT, .offset = 4, .arg = "N", .help = "x" } }, "aligned" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), offsetof(struct cfg, nice) + 1, .arg = "N",
		      .help = "x" } },
		  "set_offset" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .def = "x", .help = "x" } },
		  "default of --a" },
		{ { { "a", 0, WP_OPT_INT, OFF(nice), .arg = "N", .def = "3", .help = "x", .min = 4,
		      .max = 5 } },
		  "out of range" },
		{ { { "a", 0, WP_OPT_FLAG, OFF(reverse), .help = "x" },
		    { "a", 0, WP_OPT_FLAG, OFF(no_delay), .help = "x" } },
		  "name is there twice" },
		{ { { "a", 'x', WP_OPT_FLAG, OFF(reverse), .help = "x" },
		    { "b", 'x', WP_OPT_FLAG, OFF(no_delay), .help = "x" } },
		  "letter is there twice" },
		{ { { "a", 0, WP_OPT_SIZES, OFF(lengths), .arg = "N", .help = "x" },
		    { "b", 0, WP_OPT_INT, OFF(lengths.n), .arg = "N", .help = "x" } },
		  "overlaps" },
		{ { { "a", 0, WP_OPT_FLAG, OFF(reverse), .help = "x", .group = "A" },
		    { "b", 0, WP_OPT_FLAG, OFF(no_delay), .help = "x", .group = "B" },
		    { "c", 0, WP_OPT_FLAG, OFF(secret), .help = "x", .group = "A" } },
		  "keep groups together" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_err err = { "" };
		size_t n = 1;

		while (n < 3 && cases[i].row[n].name)
			n++;
		assert_int_equal(wp_opt_check(cases[i].row, n, sizeof(struct cfg), &err), -EINVAL);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("case %zu (%s): %s", i, cases[i].says, err.msg);
	}
}

static void nearest_word(void **state)
{
	static const char *const words[] = { "tcp",     "udp",     "sweep", "serve",
					     "compare", "history", "watch" };
	static const struct {
		const char *word, *near;
	} cases[] = {
		{ "tcp", "tcp" },
		{ "sweeep", "sweep" },
		{ "seep", "sweep" },
		{ "swepe", "sweep" },
		{ "serv", "serve" },
		{ "sreve", "serve" },
		{ "s", NULL },
		{ "se", "serve" },
		{ "comparison", NULL },
		{ "compaer", "compare" },
		{ "tpc", "tcp" },
		{ "pc", NULL },
		{ "zzz", NULL },
		{ "", NULL },
		{ "hsitroy", "history" },
		{ "a-word-much-longer-than-any-option-that-there-will-ever-be", NULL },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		const char *near = wp_nearest(cases[i].word, words, WP_ARRAY_SIZE(words));

		if (near != cases[i].near &&
		    (!near || !cases[i].near || strcmp(near, cases[i].near)))
			fail_msg("%s: %s", cases[i].word, near ? near : "nothing");
	}
	assert_null(wp_nearest("x", NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_well_formed),
		cmocka_unit_test(defaults_come_from_the_table),
		cmocka_unit_test(every_type_in_every_form),
		cmocka_unit_test(operands_and_double_dash),
		cmocka_unit_test(help_is_asked_for),
		cmocka_unit_test(mistakes_get_one_sentence),
		cmocka_unit_test(list_at_the_end_of_the_numbers),
		cmocka_unit_test(sets_one_by_name),
		cmocka_unit_test(help_reads_well),
		cmocka_unit_test(check_finds_what_is_wrong),
		cmocka_unit_test(nearest_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
