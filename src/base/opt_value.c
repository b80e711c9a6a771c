/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/opt_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define MAX_PACKETS_MHZ UINT64_C(1000000000000) /* 10^9 packets a second */

/* What a type accepts, for the sentence about a bad value. */
static const struct {
	const char *noun, *accepts;
	size_t size, align;
} types[] = {
	[WP_OPT_FLAG] = { "yes or no", "give yes or no", sizeof(bool), _Alignof(bool) },
	[WP_OPT_INT] = { "a whole number", "give digits", sizeof(int64_t), _Alignof(int64_t) },
	[WP_OPT_COUNT] = { "a count", "give a whole number, as 1000, 10k or 1M", sizeof(uint64_t),
			   _Alignof(uint64_t) },
	[WP_OPT_DOUBLE] = { "a number", "give a number, as 2 or 0.5", sizeof(double),
			    _Alignof(double) },
	[WP_OPT_SIZE] = { "a size", "give bytes, as 1500, 128K or 1M", sizeof(uint64_t),
			  _Alignof(uint64_t) },
	[WP_OPT_RATE] = { "a rate", "give bits per second, as 200M or 1.5G", sizeof(uint64_t),
			  _Alignof(uint64_t) },
	[WP_OPT_PACE] = { "a rate", "give bits per second, as 200M, or packets, as 36kpps",
			  sizeof(struct wp_rate), _Alignof(struct wp_rate) },
	[WP_OPT_FREQUENCY] = { "a rate", "give a number a second, as 0.5, 2000 or 10k",
			       sizeof(uint64_t), _Alignof(uint64_t) },
	[WP_OPT_DURATION] = { "a time", "give seconds or a unit, as 10, 0.5, 250ms or 2m",
			      sizeof(int64_t), _Alignof(int64_t) },
	[WP_OPT_STRING] = { "a text", "give a text", sizeof(char *), _Alignof(char *) },
	[WP_OPT_ENUM] = { "a choice", "see --help", sizeof(int), _Alignof(int) },
	[WP_OPT_CPULIST] = { "a list of CPUs", "give numbers and ranges, as 0, 0,2 or 4-7, or all",
			     sizeof(struct wp_cpulist), _Alignof(struct wp_cpulist) },
	[WP_OPT_SIZES] = { "a list of sizes", "give bytes with commas between, as 64,1500,128K",
			   sizeof(struct wp_u64list), _Alignof(struct wp_u64list) },
	[WP_OPT_COUNTS] = { "a list of counts", "give numbers and ranges, as 1,2,4-8",
			    sizeof(struct wp_u64list), _Alignof(struct wp_u64list) },
};

size_t wp_opt_value_size(const struct wp_opt *row)
{
	return types[row->type].size;
}

size_t wp_opt_value_align(const struct wp_opt *row)
{
	return types[row->type].align;
}

/* A bound in the syntax of the command line: "16M", "365d", "0.5". */
static void format_bound(const struct wp_opt *row, double v, char *out, size_t size)
{
	static const struct {
		const char *name;
		double factor;
	} bytes[] = { { "T", 0x1p40 },
		      { "G", 0x1p30 },
		      { "M", 0x1p20 },
		      { "K", 0x1p10 },
		      { "", 0 } },
	  bits[] = { { "T", 1e12 }, { "G", 1e9 }, { "M", 1e6 }, { "k", 1e3 }, { "", 0 } },
	  times[] = { { "d", 86400 }, { "h", 3600 },  { "m", 60 },    { "s", 1 },
		      { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { "", 0 } },
	  *u = NULL;

	if (row->type == WP_OPT_SIZE || row->type == WP_OPT_SIZES)
		u = bytes;
	else if (row->type == WP_OPT_RATE || row->type == WP_OPT_PACE ||
		 row->type == WP_OPT_FREQUENCY)
		u = bits;
	else if (row->type == WP_OPT_DURATION)
		u = times;
	/* The largest unit in which it is a whole number (but for the last bit of 1e-3 and the
	 * like). */
	for (; u && u->factor > 0; u++) {
		double q = v / u->factor;

		if (q > .5 && fabs(q - rint(q)) < 1e-9 * q) {
			snprintf(out, size, "%.15g%s", rint(q), u->name);
			return;
		}
	}
	snprintf(out, size, "%.15g", v);
}

static int check_bounds(const struct wp_opt *row, double v, const char *shown, const char *text,
			struct wp_err *err)
{
	char low[32], high[32];

	if (!(row->max > row->min) || (v >= row->min && v <= row->max))
		return 0;
	format_bound(row, row->min, low, sizeof(low));
	format_bound(row, row->max, high, sizeof(high));
	return wp_err_set(err, -EINVAL, "%s: %.80s is out of range; allowed is %s to %s", shown,
			  text, low, high);
}

static int bad_value(const struct wp_opt *row, int code, const char *shown, const char *text,
		     struct wp_err *err)
{
	if (code == -ENOMEM)
		return wp_err_sys(err, code, "%s", shown);
	if (code == -ERANGE && row->max > row->min)
		return check_bounds(row, INFINITY, shown, text, err);
	if (code == -ERANGE)
		return wp_err_set(err, -EINVAL, "%s: %.80s is too large", shown, text);
	if (code == -E2BIG)
		return wp_err_set(err, -EINVAL,
				  "%s: %.80s makes a list of more than %d; give fewer", shown, text,
				  row->type == WP_OPT_CPULIST ? WP_CPU_MAX : WP_OPT_LIST_MAX);
	return wp_err_set(err, -EINVAL, "%s: \"%.80s\" is not %s; %s", shown, text,
			  types[row->type].noun, types[row->type].accepts);
}

static int store_flag(bool *at, const char *text)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

	for (size_t i = 0; i < WP_ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], text)) {
			*at = i % 2;
			return 0;
		}
	return -EINVAL;
}

static int store_choice(const struct wp_opt *row, int *at, const char *shown, const char *text,
			struct wp_err *err)
{
	struct wp_buf all _cleanup_buf_ = WP_BUF(300);
	const char *near;
	size_t n = 0;

	for (; row->choices && row->choices[n]; n++) {
		if (!strcmp(row->choices[n], text)) {
			*at = (int)n;
			return 0;
		}
		wp_buf_printf(&all, "%s%s", n ? ", " : "", row->choices[n]);
	}
	near = wp_nearest(text, row->choices, n);
	return wp_err_set(err, -EINVAL, "%s: \"%.80s\" is not one of %s%s%s%s", shown, text,
			  wp_buf_text(&all), near ? "; did you mean " : "", near ? near : "",
			  near ? "?" : "");
}

static int store_cpulist(struct wp_cpulist *at, const char *text)
{
	struct wp_cpulist l = { 0 };
	int r;

	r = strcmp(text, "all") ? wp_cpulist_parse(text, &l) : wp_cpulist_allowed(&l);
	if (r < 0)
		return r;
	if (l.n == 0)
		return -EINVAL;
	wp_cpulist_done(at);
	*at = l;
	return 0;
}

/* One element of a list, "a" or (counts only) "a-b". */
static int parse_element(const struct wp_opt *row, char *piece, uint64_t *ret_first,
			 uint64_t *ret_last)
{
	char *dash = row->type == WP_OPT_COUNTS ? strchr(piece, '-') : NULL;
	int r;

	if (row->type == WP_OPT_SIZES) {
		r = wp_parse_size_bytes(piece, ret_first);
		*ret_last = *ret_first;
		return r;
	}
	if (dash)
		*dash = '\0';
	r = wp_parse_count(piece, ret_first);
	if (r == 0 && dash)
		r = wp_parse_count(dash + 1, ret_last);
	else
		*ret_last = *ret_first;
	return r < 0 ? r : *ret_last < *ret_first ? -EINVAL : 0;
}

static int add_element(const struct wp_opt *row, char *piece, const char *shown,
		       struct wp_u64list *l, struct wp_err *err)
{
	uint64_t first = 0, last = 0;
	int r;

	r = parse_element(row, piece, &first, &last);
	if (r < 0)
		return r;
	if (last - first >= WP_OPT_LIST_MAX - l->n)
		return -E2BIG;
	r = check_bounds(row, (double)first, shown, piece, err);
	if (r == 0)
		r = check_bounds(row, (double)last, shown, piece, err);
	for (; r == 0 && first <= last; first++) {
		l->v[l->n++] = first;
		if (first == UINT64_MAX)
			break;
	}
	return r;
}

static void u64list_done(struct wp_u64list *l)
{
	free(l->v);
	l->v = NULL;
	l->n = 0;
}

static int store_list(const struct wp_opt *row, struct wp_u64list *at, const char *shown,
		      const char *text, struct wp_err *err)
{
	WP_CLEANUP(u64list_done) struct wp_u64list l = { 0 };
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *piece;
	uint64_t *v;
	int r;

	l.v = malloc(WP_OPT_LIST_MAX * sizeof(*l.v));
	if (!copy || !l.v)
		return -ENOMEM;
	while (*text && (piece = strsep(&rest, ","))) {
		r = add_element(row, piece, shown, &l, err);
		if (r < 0)
			return r;
	}
	if (l.n > 0) {
		v = realloc(l.v, l.n * sizeof(*l.v));
		if (v)
			l.v = v;
	} else {
		u64list_done(&l);
	}
	u64list_done(at);
	*at = l;
	l.v = NULL;
	return 0;
}

static int store_number(const struct wp_opt *row, void *at, const char *shown, const char *text,
			struct wp_err *err)
{
	union {
		uint64_t u;
		int64_t i;
		double d;
	} v = { 0 };
	double base = 0;
	int r = -EINVAL;

	switch (row->type) {
	case WP_OPT_INT:
		r = wp_parse_i64(text, &v.i);
		base = (double)v.i;
		break;
	case WP_OPT_DURATION:
		r = wp_parse_duration_ns(text, &v.i);
		base = (double)v.i / 1e9;
		break;
	case WP_OPT_DOUBLE:
		r = wp_parse_double(text, &v.d);
		base = v.d;
		break;
	case WP_OPT_COUNT:
		r = wp_parse_count(text, &v.u);
		base = (double)v.u;
		break;
	case WP_OPT_SIZE:
		r = wp_parse_size_bytes(text, &v.u);
		base = (double)v.u;
		break;
	case WP_OPT_RATE:
		r = wp_parse_rate_bps(text, &v.u);
		base = (double)v.u;
		break;
	case WP_OPT_FREQUENCY:
		r = wp_parse_frequency_mhz(text, &v.u);
		base = (double)v.u / 1000;
		break;
	default:
		break;
	}
	if (r == 0)
		r = check_bounds(row, base, shown, text, err);
	if (r == 0)
		memcpy(at, &v, types[row->type].size);
	return r;
}

static int store_pace(const struct wp_opt *row, struct wp_rate *at, const char *shown,
		      const char *text, struct wp_err *err)
{
	struct wp_rate v = { 0 };
	int r = wp_parse_rate(text, &v);

	if (r == 0 && v.packets_mhz && (v.packets_mhz < 1000 || v.packets_mhz > MAX_PACKETS_MHZ))
		return wp_err_set(err, -EINVAL,
				  "%s: %.80s is out of range; allowed is 1pps to 1Gpps", shown,
				  text);
	if (r == 0 && !v.packets_mhz)
		r = check_bounds(row, (double)v.bps, shown, text, err);
	if (r == 0)
		*at = v;
	return r;
}

int wp_opt_store(const struct wp_opt *row, void *cfg, const char *shown, const char *text,
		 struct wp_err *err)
{
	void *at = wp_opt_at(row, cfg);
	struct wp_err own = { "" };
	int r;

	switch (row->type) {
	case WP_OPT_FLAG:
		r = store_flag(at, text);
		break;
	case WP_OPT_STRING:
		memcpy(at, &text, sizeof(text));
		r = 0;
		break;
	case WP_OPT_ENUM:
		r = store_choice(row, at, shown, text, &own);
		break;
	case WP_OPT_CPULIST:
		r = store_cpulist(at, text);
		break;
	case WP_OPT_PACE:
		r = store_pace(row, at, shown, text, &own);
		break;
	case WP_OPT_SIZES:
	case WP_OPT_COUNTS:
		r = store_list(row, at, shown, text, &own);
		break;
	default:
		r = store_number(row, at, shown, text, &own);
		break;
	}
	if (r < 0 && own.msg[0])
		return wp_err_set(err, r, "%s", own.msg);
	return r < 0 ? bad_value(row, r, shown, text, err) : 0;
}
