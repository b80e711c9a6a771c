/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splitting, resolving and formatting of hosts and addresses; nothing here asks the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/clock.h"
#include "net/addr.h"

static void splits(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		int r;
	} cases[] = {
		{ "example.org", "example.org", 9497, 0 },
		{ "example.org:80", "example.org", 80, 0 },
		{ "10.97.0.1", "10.97.0.1", 9497, 0 },
		{ "10.97.0.1:65535", "10.97.0.1", 65535, 0 },
		{ "fd97::1", "fd97::1", 9497, 0 },
		{ "::1", "::1", 9497, 0 },
		{ "[fd97::1]", "fd97::1", 9497, 0 },
		{ "[fd97::1]:5201", "fd97::1", 5201, 0 },
		{ "[fe80::1%lo]:1", "fe80::1%lo", 1, 0 },
		{ "fe80::1%lo", "fe80::1%lo", 9497, 0 },
		{ "", NULL, 0, -EINVAL },
		{ ":80", NULL, 0, -EINVAL },
		{ "host:", NULL, 0, -EINVAL },
		{ "host:0", NULL, 0, -EINVAL },
		{ "host:65536", NULL, 0, -EINVAL },
		{ "host:80x", NULL, 0, -EINVAL },
		{ "[::1", NULL, 0, -EINVAL },
		{ "[::1]80", NULL, 0, -EINVAL },
		{ "[]:80", NULL, 0, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char host[WP_HOST_MAX] = "";
		struct wp_err err = { 0 };
		uint16_t port = 0;

		assert_int_equal(wp_host_split(cases[i].text, 9497, host, &port, &err), cases[i].r);
		if (cases[i].r == 0) {
			assert_string_equal(host, cases[i].host);
			assert_int_equal(port, cases[i].port);
		} else {
			assert_true(err.msg[0] != '\0');
		}
	}
}

static void too_long_a_host(void **state)
{
	char text[400], host[WP_HOST_MAX];
	uint16_t port;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(wp_host_split(text, 1, host, &port, NULL), -EINVAL);
}

static void literals(void **state)
{
	static const struct {
		const char *host;
		int family;
		const char *text;
	} cases[] = {
		{ "127.0.0.1", AF_UNSPEC, "127.0.0.1:5201" },
		{ "127.0.0.1", AF_INET, "127.0.0.1:5201" },
		{ "::1", AF_UNSPEC, "[::1]:5201" },
		{ "[::1]", AF_INET6, "[::1]:5201" },
		{ "fd97:0:0::1", AF_INET6, "[fd97::1]:5201" },
		{ "::ffff:10.97.0.1", AF_INET6, "10.97.0.1:5201" },
		{ "fe80::1%lo", AF_INET6, "[fe80::1%lo]:5201" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_addr a[WP_ADDR_MAX];
		char text[WP_ADDR_TEXT];
		struct wp_err err = { 0 };
		size_t n = 0;
		int r = wp_addr_resolve(cases[i].host, 5201, cases[i].family, WP_NS_PER_S, a, &n,
					&err);

		if (r < 0)
			fail_msg("%s: %s", cases[i].host, err.msg);
		assert_true(n >= 1);
		wp_addr_format(&a[0], text);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(wp_addr_port(&a[0]), 5201);
	}
}

static void refusals(void **state)
{
	static const struct {
		const char *host;
		int family, r;
		const char *says;
	} cases[] = {
		{ "::1", AF_INET, -EAFNOSUPPORT, "has no IPv4 address" },
		{ "127.0.0.1", AF_INET6, -EAFNOSUPPORT, "has no IPv6 address" },
		{ "fe80::1", AF_UNSPEC, -EINVAL, "link-local" },
		{ "fe80::1%nosuchif0", AF_UNSPEC, -ENODEV, "interface" },
		{ "", AF_UNSPEC, -EINVAL, "not a host name" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_addr a[WP_ADDR_MAX];
		struct wp_err err = { 0 };
		size_t n = 99;

		assert_int_equal(wp_addr_resolve(cases[i].host, 1, cases[i].family, WP_NS_PER_S, a,
						 &n, &err),
				 cases[i].r);
		assert_non_null(strstr(err.msg, cases[i].says));
		assert_int_equal(n, 99);
	}
}

static void unknown_name(void **state)
{
	struct wp_addr a[WP_ADDR_MAX];
	struct wp_err err = { 0 };
	size_t n;
	int r;

	(void)state;
	/* RFC 6761: .invalid never exists; without a resolver the answer is another failure. */
	r = wp_addr_resolve("nobody.invalid", 1, AF_UNSPEC, 20 * WP_NS_PER_S, a, &n, &err);
	assert_true(r < 0);
	assert_non_null(strstr(err.msg, "cannot find host 'nobody.invalid': "));
}

static void gives_up_in_time(void **state)
{
	struct wp_addr a[WP_ADDR_MAX];
	struct wp_err err = { 0 };
	size_t n;
	int r;

	(void)state;
	/* 1 ns is over before any look-up: either answer is right, but none may crash or hang. */
	r = wp_addr_resolve("nobody.invalid", 1, AF_UNSPEC, 1, a, &n, &err);
	assert_true(r < 0);
	assert_true(err.msg[0] != '\0');
}

static struct wp_addr literal(const char *host)
{
	struct wp_addr a[WP_ADDR_MAX];
	size_t n;

	assert_int_equal(wp_addr_resolve(host, 1, AF_UNSPEC, WP_NS_PER_S, a, &n, NULL), 0);
	return a[0];
}

static void same_host(void **state)
{
	struct wp_addr v4 = literal("10.1.2.3"), mapped = literal("::ffff:10.1.2.3");
	struct wp_addr other = literal("10.1.2.4"), v6 = literal("fd97::1");
	struct wp_addr none = { .sa = { .sa_family = AF_UNIX } };

	(void)state;
	wp_addr_set_port(&mapped, 77);
	assert_true(wp_addr_same_host(&v4, &mapped));
	assert_true(wp_addr_same_host(&v6, &v6));
	assert_false(wp_addr_same_host(&v4, &other));
	assert_false(wp_addr_same_host(&v4, &v6));
	assert_false(wp_addr_same_host(&none, &none));
	wp_addr_unmap(&mapped);
	wp_addr_set_port(&v4, 77);
	assert_memory_equal(&mapped.storage, &v4.storage, v4.len);
	assert_int_equal(mapped.len, v4.len);
	wp_addr_unmap(&mapped);
	wp_addr_unmap(&v6);
	wp_addr_unmap(&none);
	assert_int_equal(v6.sa.sa_family, AF_INET6);
}

static void loopback(void **state)
{
	struct wp_addr a;

	(void)state;
	a = literal("127.9.9.9");
	assert_true(wp_addr_is_loopback(&a));
	a = literal("::1");
	assert_true(wp_addr_is_loopback(&a));
	a = literal("::ffff:127.0.0.1");
	assert_true(wp_addr_is_loopback(&a));
	a = literal("10.0.0.1");
	assert_false(wp_addr_is_loopback(&a));
}

static void formats(void **state)
{
	struct wp_addr none = { .sa = { .sa_family = AF_UNIX } }, v6 = literal("fd97::1"),
		       far = literal("fe80::1%lo");
	char text[WP_ADDR_TEXT];

	(void)state;
	wp_addr_format(&none, text);
	assert_string_equal(text, "-");
	wp_addr_format_host(&v6, text);
	assert_string_equal(text, "fd97::1");
	far.v6.sin6_scope_id = 4000000000u;
	wp_addr_format(&far, text);
	assert_string_equal(text, "[fe80::1%4000000000]:1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits),       cmocka_unit_test(too_long_a_host),
		cmocka_unit_test(literals),     cmocka_unit_test(refusals),
		cmocka_unit_test(unknown_name), cmocka_unit_test(gives_up_in_time),
		cmocka_unit_test(same_host),    cmocka_unit_test(loopback),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
