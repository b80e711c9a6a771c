/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/units.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Decimal digits of a fraction that can still matter: an hour has 3.6e12 ns. */
#define FRACTION_DIGITS 18

struct unit {
	const char *name;
	uint64_t factor;
};

/* A decimal number as it is written: integer and fraction apart, so that no bit of a uint64_t is
 * lost. */
struct number {
	uint64_t whole;
	bool overflow;     /* of `whole` */
	uint64_t fraction; /* over `fraction_base` */
	uint64_t fraction_base;
	bool has_exponent;
	const char *end; /* first byte behind it */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Equal but for the case of ASCII letters, in every locale (a Turkish one has another idea of
 * "BIT"). */
static bool same_word(const char *a, const char *b)
{
	unsigned char x, y;

	do {
		x = (unsigned char)*a++;
		y = (unsigned char)*b++;
		x = x >= 'A' && x <= 'Z' ? x | 0x20 : x;
		y = y >= 'A' && y <= 'Z' ? y | 0x20 : y;
	} while (x == y && x != '\0');
	return x == y;
}

static const char *scan_exponent(const char *s)
{
	if (*s != 'e' && *s != 'E')
		return s;
	if (s[1] == '+' || s[1] == '-')
		return is_digit(s[2]) ? s + 2 : s;
	return is_digit(s[1]) ? s + 1 : s;
}

/* Unsigned: digits with at most one point, then perhaps an exponent. */
static int scan_number(const char *s, struct number *ret)
{
	struct number n = { .fraction_base = 1 };
	const char *start = s;
	int digits = 0;

	for (; is_digit(*s); s++, digits++)
		if (__builtin_mul_overflow(n.whole, 10, &n.whole) ||
		    __builtin_add_overflow(n.whole, (uint64_t)(*s - '0'), &n.whole))
			n.overflow = true;
	if (*s == '.') {
		s++;
		for (int i = 0; is_digit(*s); s++, i++, digits++) {
			if (i >= FRACTION_DIGITS)
				continue;
			n.fraction = n.fraction * 10 + (uint64_t)(*s - '0');
			n.fraction_base *= 10;
		}
	}
	if (s == start || digits == 0)
		return -EINVAL;
	n.end = scan_exponent(s);
	n.has_exponent = n.end != s;
	while (n.has_exponent && is_digit(*n.end))
		n.end++;
	*ret = n;
	return 0;
}

static void freelocale_p(locale_t *l)
{
	if (*l)
		freelocale(*l);
}

/* strtod(3) with '.', whatever the process's locale. `s` was scanned before. */
static int to_double(const char *s, double *ret)
{
	WP_CLEANUP(freelocale_p) locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double v;

	if (!c)
		return -ENOMEM;
	v = strtod_l(s, NULL, c);
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int wp_parse_double(const char *s, double *ret)
{
	struct number n;
	int r;

	if (!s)
		return -EINVAL;
	r = scan_number(s + (*s == '-' || *s == '+'), &n);
	if (r < 0)
		return r;
	return *n.end ? -EINVAL : to_double(s, ret);
}

int wp_parse_u64(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	bool overflow = false;

	if (!s || !is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			overflow = true;
	if (*s)
		return -EINVAL;
	if (overflow)
		return -ERANGE;
	*ret = v;
	return 0;
}

int wp_parse_i64(const char *s, int64_t *ret)
{
	bool negative;
	uint64_t v;
	int r;

	if (!s)
		return -EINVAL;
	negative = *s == '-';
	r = wp_parse_u64(s + (*s == '-' || *s == '+'), &v);
	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

/* `n` (which starts at `s`) times `factor`, rounded to nearest. */
static int scale(const char *s, const struct number *n, uint64_t factor, uint64_t *ret)
{
	unsigned __int128 total;
	double v;
	int r;

	/* Half a byte or half a bit is a mistake, not a number to round. */
	if (n->has_exponent) {
		r = to_double(s, &v);
		if (r < 0)
			return r;
		if (factor == 1 && v != rint(v))
			return -EINVAL;
		v = round(v * (double)factor);
		if (!(v < 0x1p64))
			return -ERANGE;
		*ret = (uint64_t)v;
		return 0;
	}
	if (n->overflow)
		return -ERANGE;
	if (factor == 1 && n->fraction)
		return -EINVAL;
	total = (unsigned __int128)n->whole * factor;
	total +=
		((unsigned __int128)n->fraction * factor + n->fraction_base / 2) / n->fraction_base;
	if (total > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)total;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (same_word(units[i].name, name))
			return &units[i];
	return NULL;
}

int wp_parse_size_bytes(const char *s, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 1ULL << 10 },
		{ "KB", 1ULL << 10 },
		{ "KiB", 1ULL << 10 },
		{ "M", 1ULL << 20 },
		{ "MB", 1ULL << 20 },
		{ "MiB", 1ULL << 20 },
		{ "G", 1ULL << 30 },
		{ "GB", 1ULL << 30 },
		{ "GiB", 1ULL << 30 },
		{ "T", 1ULL << 40 },
		{ "TB", 1ULL << 40 },
		{ "TiB", 1ULL << 40 },
	};
	const struct unit *u;
	struct number n;
	int r;

	if (!s)
		return -EINVAL;
	r = scan_number(s, &n);
	if (r < 0)
		return r;
	u = find_unit(units, WP_ARRAY_SIZE(units), n.end);
	return u ? scale(s, &n, u->factor, ret) : -EINVAL;
}

/* The words that may follow the power of a rate. A capital B would be a byte ("MBps", "MB/s"): not
 * guessed at. */
static bool is_bit_word(const char *s)
{
	static const char *const words[] = { "",       "bit",     "bits",    "bit/s",
					     "bits/s", "bit/sec", "bits/sec" };

	for (size_t i = 0; i < WP_ARRAY_SIZE(words); i++)
		if (same_word(words[i], s))
			return true;
	return s[0] == 'b' && same_word(s, "bps");
}

/* Moves *at behind a letter for a power of 1000, if there is one, and returns the power. */
static uint64_t take_power(const char **at)
{
	static const char powers[] = "kmgt";
	const char *power = **at ? strchr(powers, **at | 0x20) : NULL;
	uint64_t factor = 1;

	if (!power)
		return 1;
	for (const char *p = powers; p <= power; p++)
		factor *= 1000;
	++*at;
	return factor;
}

/* A number and a power of 1000 behind it; n->end is then what follows. */
static int scan_powered(const char *s, struct number *ret_n, uint64_t *ret_factor)
{
	int r = s ? scan_number(s, ret_n) : -EINVAL;

	if (r < 0)
		return r;
	*ret_factor = take_power(&ret_n->end);
	return 0;
}

/* As scale(); but what is more than nothing never becomes 0, which means no limit. */
static int scale_rate(const char *s, const struct number *n, uint64_t factor, uint64_t *ret)
{
	uint64_t v = 0;
	double exact = 0;
	int r = scale(s, n, factor, &v);

	if (!r && !v)
		r = to_double(s, &exact);
	if (r < 0 || exact > 0)
		return r < 0 ? r : -EINVAL;
	*ret = v;
	return 0;
}

int wp_parse_rate_bps(const char *s, uint64_t *ret)
{
	struct number n;
	uint64_t factor;
	int r = scan_powered(s, &n, &factor);

	if (r < 0)
		return r;
	return is_bit_word(n.end) ? scale_rate(s, &n, factor, ret) : -EINVAL;
}

int wp_parse_count(const char *s, uint64_t *ret)
{
	struct number n;
	uint64_t factor;
	int r = scan_powered(s, &n, &factor);

	if (r < 0)
		return r;
	return *n.end ? -EINVAL : scale(s, &n, factor, ret);
}

/* One of the words, or nothing. */
static bool is_one_of(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (same_word(*words, s))
			return true;
	return false;
}

int wp_parse_frequency_mhz(const char *s, uint64_t *ret)
{
	static const char *const words[] = { "", "/s", "/sec", "hz", NULL };
	struct number n;
	uint64_t factor;
	int r = scan_powered(s, &n, &factor);

	if (r < 0)
		return r;
	return is_one_of(n.end, words) ? scale_rate(s, &n, 1000 * factor, ret) : -EINVAL;
}

int wp_parse_rate(const char *s, struct wp_rate *ret)
{
	static const char *const words[] = { "pps",      "p/s",         "pkt/s", "packets/s",
					     "packet/s", "packets/sec", NULL };
	struct wp_rate rate = { 0 };
	struct number n;
	uint64_t factor;
	int r = scan_powered(s, &n, &factor);

	if (r < 0)
		return r;
	if (*n.end == ' ')
		n.end++;
	if (is_one_of(n.end, words))
		r = scale_rate(s, &n, 1000 * factor, &rate.packets_mhz);
	else
		r = wp_parse_rate_bps(s, &rate.bps);
	if (!r)
		*ret = rate;
	return r;
}

int wp_parse_duration_ns(const char *s, int64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1000000000 },     { "s", 1000000000 },
		{ "sec", 1000000000 },  { "ns", 1 },
		{ "us", 1000 },         { "ms", 1000000 },
		{ "m", 60000000000 },   { "min", 60000000000 },
		{ "h", 3600000000000 }, { "d", 86400000000000 },
	};
	const struct unit *u;
	struct number n;
	uint64_t v;
	int r;

	if (!s)
		return -EINVAL;
	r = scan_number(s, &n);
	if (r < 0)
		return r;
	u = find_unit(units, WP_ARRAY_SIZE(units), n.end);
	if (!u)
		return -EINVAL;
	r = scale(s, &n, u->factor, &v);
	if (r < 0)
		return r;
	if (v > INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)v;
	return 0;
}

/* Digits behind the point that make three significant digits of `v`. */
static int decimals(double v)
{
	v = fabs(v);
	return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

/* `v` in the largest unit that keeps it at 1 or more. `step` is 1000 or 1024. */
static void format_scaled(double v, double step, const char *const *units, size_t n, char *out,
			  size_t size)
{
	size_t i = 0;

	if (!isfinite(v)) {
		snprintf(out, size, "-");
		return;
	}
	for (; i + 1 < n && fabs(v) >= step - .5; i++)
		v /= step;
	snprintf(out, size, "%.*f %s", decimals(v), v, units[i]);
}

void wp_format_bytes(double bytes, char *out, size_t size)
{
	static const char *const units[] = { "Bytes",  "KBytes", "MBytes", "GBytes",
					     "TBytes", "PBytes", "EBytes" };

	format_scaled(bytes, 1024, units, WP_ARRAY_SIZE(units), out, size);
}

void wp_format_bps(double bits_per_second, char *out, size_t size)
{
	static const char *const units[] = { "bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec",
					     "Tbits/sec" };

	format_scaled(bits_per_second, 1000, units, WP_ARRAY_SIZE(units), out, size);
}

void wp_format_rate_as(double bits_per_second, char unit, char *out, size_t size)
{
	static const struct {
		char letter;
		double bits;
		const char *name;
	} units[] = {
		{ 'k', 1e3, "Kbits/sec" },     { 'm', 1e6, "Mbits/sec" },
		{ 'g', 1e9, "Gbits/sec" },     { 't', 1e12, "Tbits/sec" },
		{ 'K', 0x1p13, "KBytes/sec" }, { 'M', 0x1p23, "MBytes/sec" },
		{ 'G', 0x1p33, "GBytes/sec" }, { 'T', 0x1p43, "TBytes/sec" },
	};
	double v;

	if (unit == 'A' && isfinite(bits_per_second)) {
		wp_format_bytes(bits_per_second / 8, out, size);
		strncat(out, "/sec", size - strlen(out) - 1);
		return;
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(units); i++) {
		if (units[i].letter != unit || !isfinite(bits_per_second))
			continue;
		v = bits_per_second / units[i].bits;
		snprintf(out, size, "%.*f %s", decimals(v), v, units[i].name);
		return;
	}
	wp_format_bps(bits_per_second, out, size);
}

void wp_format_ns(double ns, char *out, size_t size)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double v = ns;
	size_t i = 0;
	bool whole;

	if (!isfinite(ns)) {
		snprintf(out, size, "-");
		return;
	}
	for (; i + 1 < WP_ARRAY_SIZE(units) && fabs(v) >= 999.5; i++)
		v /= 1000;
	/* The kernel counts round trips in whole microseconds: "48 us", not a precision that isn't
	 * there. */
	whole = i < 2 && v == rint(v);
	snprintf(out, size, "%.*f %s", whole ? 0 : decimals(v), v, units[i]);
}

void wp_format_count(uint64_t n, char *out, size_t size)
{
	char digits[24], text[32];
	size_t len, to = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[to++] = ',';
		text[to++] = digits[i];
	}
	text[to] = '\0';
	snprintf(out, size, "%s", text);
}
