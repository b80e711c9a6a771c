/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

struct number_case {
	const char *text;
	int code;
	uint64_t value;
};

static void check_u64(int (*parse)(const char *, uint64_t *), const struct number_case *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int r = parse(c[i].text, &v);

		if (r != c[i].code || v != (r ? UNTOUCHED : c[i].value))
			fail_msg("\"%s\" gives %d and %llu", c[i].text ? c[i].text : "NULL", r,
				 (unsigned long long)v);
	}
}

static void integers(void **state)
{
	static const struct number_case u64[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};
	static const struct {
		const char *text;
		int code;
		int64_t value;
	} i64[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "+5", 0, 5 },
		{ "-17", 0, -17 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "--1", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	check_u64(wp_parse_u64, u64, WP_ARRAY_SIZE(u64));
	for (size_t i = 0; i < WP_ARRAY_SIZE(i64); i++) {
		int64_t v = 99;
		int r = wp_parse_i64(i64[i].text, &v);

		if (r != i64[i].code || v != (r ? 99 : i64[i].value))
			fail_msg("\"%s\" gives %d and %lld", i64[i].text, r, (long long)v);
	}
}

static void doubles(void **state)
{
	static const struct {
		const char *text;
		int code;
		double value;
	} cases[] = {
		{ "0", 0, 0 },
		{ "1.5", 0, 1.5 },
		{ "-2.25", 0, -2.25 },
		{ "+.5", 0, .5 },
		{ "5.", 0, 5 },
		{ "1e3", 0, 1000 },
		{ "1E-3", 0, .001 },
		{ "2.5e+2", 0, 250 },
		{ "1.7976931348623157e308", 0, DBL_MAX },
		{ "1e-400", 0, 0 },
		{ "1e309", -ERANGE, 0 },
		{ "-1e309", -ERANGE, 0 },
		{ "inf", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "0x1p3", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1,5", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "e5", -EINVAL, 0 },
		{ "1e", -EINVAL, 0 },
		{ "1e+", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "+-1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		double v = 99;
		int r = wp_parse_double(cases[i].text, &v);

		if (r != cases[i].code || v != (r ? 99 : cases[i].value))
			fail_msg("\"%s\" gives %d and %g", cases[i].text, r, v);
	}
}

/* Tries the locales with a decimal comma that the machine has. */
static void doubles_in_a_comma_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
					     "ru_RU.UTF-8" };
	const char *got = NULL;
	double v = 0;
	int r;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(names) && !got; i++)
		got = setlocale(LC_NUMERIC, names[i]);
	if (!got) {
		print_message("# skipped: this machine has no locale with a decimal comma\n");
		skip();
	}
	r = wp_parse_double("1.5", &v);
	setlocale(LC_NUMERIC, "C");
	assert_int_equal(r, 0);
	assert_true(v == 1.5);
}

static void sizes(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "128K", 0, 131072 },
		{ "128k", 0, 131072 },
		{ "128KB", 0, 131072 },
		{ "64kib", 0, 65536 },
		{ "1.5K", 0, 1536 },
		{ "0.1K", 0, 102 },
		{ "1M", 0, 1048576 },
		{ "2G", 0, UINT64_C(2) << 30 },
		{ "1T", 0, UINT64_C(1) << 40 },
		{ "1500B", 0, 1500 },
		{ "1e3", 0, 1000 },
		{ "1e1K", 0, 10240 },
		{ "2.0", 0, 2 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "16777215.99999999999T", 0, UINT64_C(18446744073709551605) },
		{ "16777216T", -ERANGE, 0 },
		{ "18014398509481984K", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "1e20", -ERANGE, 0 },
		{ "1e999", -ERANGE, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "15e-1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "1 K", -EINVAL, 0 },
		{ "1P", -EINVAL, 0 },
		{ "1KK", -EINVAL, 0 },
		{ "1Kbit", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1K ", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	check_u64(wp_parse_size_bytes, cases, WP_ARRAY_SIZE(cases));
}

static void rates(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "200M", 0, 200000000 },
		{ "200m", 0, 200000000 },
		{ "200mbit", 0, 200000000 },
		{ "200MBIT", 0, 200000000 },
		{ "1.5G", 0, 1500000000 },
		{ "10gbit/s", 0, UINT64_C(10000000000) },
		{ "10Gbits/sec", 0, UINT64_C(10000000000) },
		{ "100Mbps", 0, 100000000 },
		{ "64k", 0, 64000 },
		{ "1T", 0, UINT64_C(1000000000000) },
		{ "1000bit", 0, 1000 },
		{ "9600bps", 0, 9600 },
		{ "1e9", 0, 1000000000 },
		{ ".5k", 0, 500 },
		{ "18446744.073709551615T", 0, UINT64_MAX },
		{ "18446744.073709551616T", -ERANGE, 0 },
		{ "99999999T", -ERANGE, 0 },
		{ "0.0001k", -EINVAL, 0 },
		{ "0.0k", 0, 0 },
		{ "100MB", -EINVAL, 0 },
		{ "100MB/s", -EINVAL, 0 },
		{ "100MBps", -EINVAL, 0 },
		{ "100B", -EINVAL, 0 },
		{ "100Mi", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "-1M", -EINVAL, 0 },
		{ "1M\n", -EINVAL, 0 },
		{ "1\xcb", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	check_u64(wp_parse_rate_bps, cases, WP_ARRAY_SIZE(cases));
}

static void frequencies(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "0.5", 0, 500 },
		{ "1", 0, 1000 },
		{ "10k", 0, 10000000 },
		{ "1.5M/s", 0, 1500000000 },
		{ "20kHz", 0, 20000000 },
		{ "2.5e3", 0, 2500000 },
		{ "0.001", 0, 1 },
		{ "0.0001", -EINVAL, 0 },
		{ "1e-9", -EINVAL, 0 },
		{ "99999999999T", -ERANGE, 0 },
		{ "10kbit", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	check_u64(wp_parse_frequency_mhz, cases, WP_ARRAY_SIZE(cases));
}

/* Bits or packets, never both. */
static void rates_in_packets(void **state)
{
	static const struct {
		const char *text;
		int code;
		uint64_t bps, packets_mhz;
	} cases[] = {
		{ "0", 0, 0, 0 },
		{ "0pps", 0, 0, 0 },
		{ "200M", 0, 200000000, 0 },
		{ "1.5gbit/s", 0, 1500000000, 0 },
		{ "36kpps", 0, 0, 36000000 },
		{ "36KPPS", 0, 0, 36000000 },
		{ "1000pps", 0, 0, 1000000 },
		{ "1.5Mpps", 0, 0, 1500000000 },
		{ "0.1pps", 0, 0, 100 },
		{ "2.5p/s", 0, 0, 2500 },
		{ "10k packets/s", 0, 0, 10000000 },
		{ "1e6pps", 0, 0, 1000000000 },
		{ "0.0001pps", -EINVAL, 0, 0 },
		{ "99999999Tpps", -ERANGE, 0, 0 },
		{ "36k pp", -EINVAL, 0, 0 },
		{ "36kpps ", -EINVAL, 0, 0 },
		{ "pps", -EINVAL, 0, 0 },
		{ "-1pps", -EINVAL, 0, 0 },
		{ "100MB/s", -EINVAL, 0, 0 },
		{ "", -EINVAL, 0, 0 },
		{ NULL, -EINVAL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_rate v = { UNTOUCHED, UNTOUCHED };
		int r = wp_parse_rate(cases[i].text, &v);

		if (r != cases[i].code || v.bps != (r ? UNTOUCHED : cases[i].bps) ||
		    v.packets_mhz != (r ? UNTOUCHED : cases[i].packets_mhz))
			fail_msg("\"%s\" gives %d, %llu and %llu",
				 cases[i].text ? cases[i].text : "NULL", r,
				 (unsigned long long)v.bps, (unsigned long long)v.packets_mhz);
	}
}

static void counts(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "10k", 0, 10000 },
		{ "1.5M", 0, 1500000 },
		{ "1e6", 0, 1000000 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "99999999T", -ERANGE, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "10kbit", -EINVAL, 0 },
		{ "10kk", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	check_u64(wp_parse_count, cases, WP_ARRAY_SIZE(cases));
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int code;
		int64_t ns;
	} cases[] = {
		{ "10", 0, INT64_C(10000000000) },
		{ "0.5", 0, 500000000 },
		{ "0.1", 0, 100000000 },
		{ "0.001", 0, 1000000 },
		{ "1e-3", 0, 1000000 },
		{ "250ms", 0, 250000000 },
		{ "10us", 0, 10000 },
		{ "7ns", 0, 7 },
		{ "1.5us", 0, 1500 },
		{ "2m", 0, INT64_C(120000000000) },
		{ "2M", 0, INT64_C(120000000000) },
		{ "1min", 0, INT64_C(60000000000) },
		{ "1h", 0, INT64_C(3600000000000) },
		{ "1d", 0, INT64_C(86400000000000) },
		{ "3s", 0, INT64_C(3000000000) },
		{ "0", 0, 0 },
		{ "9223372036.854775807", 0, INT64_MAX },
		{ "9223372036.854775808", -ERANGE, 0 },
		{ "1e10", -ERANGE, 0 },
		{ "106752d", -ERANGE, 0 },
		{ "0.5ns", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1y", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1h30m", -EINVAL, 0 },
		{ "ms", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ NULL, -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		int64_t v = 99;
		int r = wp_parse_duration_ns(cases[i].text, &v);

		if (r != cases[i].code || v != (r ? 99 : cases[i].ns))
			fail_msg("\"%s\" gives %d and %lld", cases[i].text, r, (long long)v);
	}
}

static void formats(void **state)
{
	enum kind { BYTES, BPS, AS, NS };
	static const struct {
		enum kind kind;
		double value;
		char unit;
		const char *text;
	} cases[] = {
		{ BYTES, 0, 0, "0.00 Bytes" },
		{ BYTES, 512, 0, "512 Bytes" },
		{ BYTES, 1023, 0, "1023 Bytes" },
		{ BYTES, 1024, 0, "1.00 KBytes" },
		{ BYTES, 131072, 0, "128 KBytes" },
		{ BYTES, 1048575, 0, "1.00 MBytes" },
		{ BYTES, 14710258893.0, 0, "13.7 GBytes" },
		{ BYTES, 1.36 * 0x1p30, 0, "1.36 GBytes" },
		{ BYTES, 9.999 * 0x1p30, 0, "10.0 GBytes" },
		{ BYTES, 99.97 * 0x1p30, 0, "100 GBytes" },
		{ BYTES, 0x1p64, 0, "16.0 EBytes" },
		{ BYTES, -2048, 0, "-2.00 KBytes" },
		{ BYTES, (double)NAN, 0, "-" },
		{ BYTES, (double)INFINITY, 0, "-" },
		{ BPS, 11.8e9, 0, "11.8 Gbits/sec" },
		{ BPS, 999.6e6, 0, "1.00 Gbits/sec" },
		{ BPS, 999.4e6, 0, "999 Mbits/sec" },
		{ BPS, 0, 0, "0.00 bits/sec" },
		{ BPS, 2e15, 0, "2000 Tbits/sec" },
		{ AS, 11.8e9, 'm', "11800 Mbits/sec" },
		{ AS, 11.8e9, 'g', "11.8 Gbits/sec" },
		{ AS, 11.8e9, 't', "0.01 Tbits/sec" },
		{ AS, 8e3, 'k', "8.00 Kbits/sec" },
		{ AS, 8192, 'K', "1.00 KBytes/sec" },
		{ AS, 8 * 0x1p20, 'M', "1.00 MBytes/sec" },
		{ AS, 80 * 0x1p30, 'G', "10.0 GBytes/sec" },
		{ AS, 8 * 0x1p40, 'T', "1.00 TBytes/sec" },
		{ AS, 11.8e9, '?', "11.8 Gbits/sec" },
		{ AS, (double)NAN, 'm', "-" },
		{ NS, 0, 0, "0 ns" },
		{ NS, 850, 0, "850 ns" },
		{ NS, 8.5, 0, "8.50 ns" },
		{ NS, 48000, 0, "48 us" },
		{ NS, 48300, 0, "48.3 us" },
		{ NS, 1500, 0, "1.50 us" },
		{ NS, 999600, 0, "1.00 ms" },
		{ NS, 1420000, 0, "1.42 ms" },
		{ NS, 2e9, 0, "2.00 s" },
		{ NS, 86400e9, 0, "86400 s" },
		{ NS, -1420000, 0, "-1.42 ms" },
		{ NS, (double)NAN, 0, "-" },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		switch (cases[i].kind) {
		case BYTES:
			wp_format_bytes(cases[i].value, out, sizeof(out));
			break;
		case BPS:
			wp_format_bps(cases[i].value, out, sizeof(out));
			break;
		case AS:
			wp_format_rate_as(cases[i].value, cases[i].unit, out, sizeof(out));
			break;
		case NS:
			wp_format_ns(cases[i].value, out, sizeof(out));
			break;
		}
		assert_string_equal(out, cases[i].text);
	}
}

static void counts_and_small_outputs(void **state)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 7, "7" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 225110, "225,110" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};
	char out[40], small[5] = "zzzz";

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		wp_format_count(cases[i].n, out, sizeof(out));
		assert_string_equal(out, cases[i].text);
	}
	wp_format_count(225110, small, 4);
	assert_string_equal(small, "225");
	wp_format_bytes(1e9, small, 4);
	assert_string_equal(small, "954");
	wp_format_ns(1e9, small, 0);
	assert_string_equal(small, "954");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(doubles),
		cmocka_unit_test(doubles_in_a_comma_locale),
		cmocka_unit_test(sizes),
		cmocka_unit_test(rates),
		cmocka_unit_test(frequencies),
		cmocka_unit_test(rates_in_packets),
		cmocka_unit_test(counts),
		cmocka_unit_test(durations),
		cmocka_unit_test(formats),
		cmocka_unit_test(counts_and_small_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
