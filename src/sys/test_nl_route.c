/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>

#include "base/cleanup.h"
#include "sys/netns.h"
#include "sys/nl_route.h"

static int route(struct wp_nl *nl, const char *to, int *ret)
{
	int family = inet_pton(AF_INET, to, &(struct in_addr) { 0 }) == 1 ? AF_INET : AF_INET6;
	struct in6_addr addr;

	assert_int_equal(inet_pton(family, to, &addr), 1);
	return wp_nl_route_ifindex(nl, family, &addr, ret, NULL);
}

static void packets_leave_by_the_interface_of_their_route(void **state)
{
	_cleanup_close_ int ns = -1;
	_cleanup_nl_ struct wp_nl nl = { 0 };
	struct wp_nl_veth veth = { "left", "right", -1, 0, 0 };
	struct wp_err err = { 0 };
	struct wp_nl_link left, right, lo;
	int r = wp_netns_new(&ns), ifindex = 77;

	(void)state;
	if (r == -EPERM) {
		print_message("# skipped: no right to make network namespaces\n");
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(wp_nl_open_in(ns, &nl, NULL), 0);
	assert_int_equal(route(&nl, "10.9.0.2", &ifindex), -ENETUNREACH);
	assert_int_equal(ifindex, 77); /* untouched */
	assert_int_equal(wp_nl_veth_add(&nl, &veth, &err), 0);
	assert_int_equal(wp_nl_link_get(&nl, "left", &left, &err), 0);
	assert_int_equal(wp_nl_link_get(&nl, "right", &right, &err), 0);
	assert_int_equal(wp_nl_link_get(&nl, "lo", &lo, &err), 0);
	assert_int_equal(wp_nl_link_set_up(&nl, lo.ifindex, true, &err), 0);
	assert_int_equal(wp_nl_link_set_up(&nl, left.ifindex, true, &err), 0);
	assert_int_equal(wp_nl_link_set_up(&nl, right.ifindex, true, &err), 0);
	assert_int_equal(wp_nl_addr_add(&nl, left.ifindex, "10.9.0.1/24", &err), 0);
	assert_int_equal(wp_nl_addr_add(&nl, right.ifindex, "10.10.0.1/24", &err), 0);
	assert_int_equal(wp_nl_addr_add(&nl, right.ifindex, "fd09::1/64", &err), 0);
	for (int i = 0; i < 3; i++) { /* again and again: the socket stays in step */
		assert_int_equal(route(&nl, "10.9.0.2", &ifindex), 0);
		assert_int_equal(ifindex, left.ifindex);
		assert_int_equal(route(&nl, "10.10.0.2", &ifindex), 0);
		assert_int_equal(ifindex, right.ifindex);
		assert_int_equal(route(&nl, "fd09::2", &ifindex), 0);
		assert_int_equal(ifindex, right.ifindex);
		assert_int_equal(route(&nl, "10.9.0.1", &ifindex), 0); /* its own */
		assert_int_equal(ifindex, lo.ifindex);
		assert_int_equal(route(&nl, "127.0.0.1", &ifindex), 0);
		assert_int_equal(ifindex, lo.ifindex);
		assert_int_equal(route(&nl, "192.0.2.1", &ifindex), -ENETUNREACH);
	}
	assert_int_equal(wp_nl_route_ifindex(&nl, AF_UNIX, "", &ifindex, NULL), -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_leave_by_the_interface_of_their_route),
	};

	return cmocka_run_group_tests_name("nl_route", tests, NULL, NULL);
}
