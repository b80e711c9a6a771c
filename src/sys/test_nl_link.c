/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works in network namespaces of its own, or skips where they can't be made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

struct two {
	int ns[2];
	struct wp_nl nl[2];
};

static void two_done(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		wp_nl_done(&t->nl[i]);
		wp_close_p(&t->ns[i]);
	}
}

#define _cleanup_two_ WP_CLEANUP(two_done)

static struct two two_namespaces(void)
{
	struct two t = { .ns = { -1, -1 } };

	for (int i = 0; i < 2; i++) {
		int r = wp_netns_new(&t.ns[i]);

		if (r == -EPERM) {
			print_message("# skipped: no right to make network namespaces\n");
			skip();
		}
		assert_int_equal(r, 0);
		assert_int_equal(wp_nl_open_in(t.ns[i], &t.nl[i], NULL), 0);
	}
	return t;
}

static void test_veth_into_other_namespace(void **state)
{
	_cleanup_two_ struct two t = two_namespaces();
	struct wp_nl_veth v = { "left", "right", t.ns[1], 4000, 2 };
	struct wp_err err = { 0 };
	struct wp_nl_link l, r, now;

	(void)state;
	assert_int_equal(wp_nl_veth_add(&t.nl[0], &v, &err), 0);
	assert_int_equal(wp_nl_link_get(&t.nl[0], "left", &l, &err), 0);
	assert_int_equal(wp_nl_link_get(&t.nl[1], "right", &r, &err), 0);
	assert_string_equal(l.kind, "veth");
	assert_int_equal(l.mtu_bytes, 4000);
	assert_int_equal(r.mtu_bytes, 4000);
	assert_int_equal(l.tx_queues, 2);
	assert_int_equal(r.rx_queues, 2);
	assert_int_equal(l.lower_ifindex, r.ifindex);
	assert_true(l.has_mac);
	assert_false(l.flags & IFF_UP);

	assert_int_equal(wp_nl_link_set_up(&t.nl[0], l.ifindex, true, &err), 0);
	assert_int_equal(wp_nl_link_set_mtu(&t.nl[0], l.ifindex, 1400, &err), 0);
	assert_int_equal(wp_nl_link_set_alias(&t.nl[0], l.ifindex, "made for a test", &err), 0);
	assert_int_equal(wp_nl_link_get(&t.nl[0], "left", &l, &err), 0);
	assert_true(l.flags & IFF_UP);
	assert_int_equal(l.mtu_bytes, 1400);
	assert_false(l.carrier); /* its other end is down */
	assert_string_equal(l.alias, "made for a test");

	assert_int_equal(wp_nl_link_set_up(&t.nl[1], r.ifindex, true, &err), 0);
	assert_int_equal(wp_nl_link_get_by_index(&t.nl[0], l.ifindex, &now, &err), 0);
	assert_string_equal(now.name, "left");
	assert_true(now.carrier);
	if (now.has_carrier_changes)
		assert_true(now.carrier_changes > l.carrier_changes);
	assert_int_equal(wp_nl_link_get_by_index(&t.nl[0], 0, &now, NULL), -ENODEV);
	assert_int_equal(wp_nl_link_get_by_index(&t.nl[0], 99999, &now, NULL), -ENODEV);

	assert_int_equal(wp_nl_veth_add(&t.nl[0], &v, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "cannot make the veth pair left, right"));
	assert_int_equal(wp_nl_link_del(&t.nl[1], r.ifindex, NULL), 0);
	assert_int_equal(wp_nl_link_get(&t.nl[0], "left", &l, NULL), -ENODEV);
	assert_int_equal(wp_nl_link_del(&t.nl[1], r.ifindex, NULL), -ENODEV);
}

static void test_list_and_addresses(void **state)
{
	_cleanup_two_ struct two t = two_namespaces();
	_cleanup_nl_links_ struct wp_nl_links links = { 0 };
	_cleanup_nl_addrs_ struct wp_nl_addrs addrs = { 0 };
	struct wp_err err = { 0 };
	struct wp_nl_link lo;

	(void)state;
	assert_int_equal(wp_nl_link_list(&t.nl[0], &links, &err), 0);
	assert_true(links.n >= 1); /* a kernel may add tunnel devices of its own */
	assert_int_equal(wp_nl_link_get(&t.nl[0], "lo", &lo, &err), 0);
	assert_true(lo.flags & IFF_LOOPBACK);
	assert_string_equal(lo.kind, "");
	assert_int_equal(wp_nl_addr_add(&t.nl[0], lo.ifindex, "10.1.2.3/24", &err), 0);
	assert_int_equal(wp_nl_addr_list(&t.nl[0], &addrs, &err), 0);
	assert_int_equal(addrs.n, 1);
	assert_string_equal(addrs.v[0].text, "10.1.2.3/24");
	assert_int_equal(addrs.v[0].ifindex, lo.ifindex);
	assert_int_equal(wp_nl_addr_add(&t.nl[0], lo.ifindex, "10.1.2.3/24", NULL), -EEXIST);
	assert_int_equal(wp_nl_addr_add(&t.nl[0], lo.ifindex, "10.1.2.300/24", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "10.1.2.300/24"));
}

static void test_stats(void **state)
{
	_cleanup_two_ struct two t = two_namespaces();
	struct wp_nl_veth v = { "left", "right", t.ns[1], 0, 0 };
	struct rtnl_link_stats64 st;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_nl_veth_add(&t.nl[0], &v, &err), 0);
	memset(&st, 0xff, sizeof(st));
	assert_int_equal(wp_nl_link_stats(&t.nl[0], "left", &st, &err), 0);
	assert_int_equal(st.rx_packets, 0);
	assert_int_equal(st.tx_bytes, 0);
	assert_int_equal(wp_nl_link_stats(&t.nl[0], "nosuch", &st, &err), -ENODEV);
	assert_string_equal(err.msg, "cannot find interface 'nosuch': No such device");
	assert_int_equal(wp_nl_link_stats(&t.nl[0], "", &st, NULL), -ENODEV);
	assert_int_equal(wp_nl_link_stats(&t.nl[0], "a-name-that-is-too-long", &st, NULL), -ENODEV);
	/* The socket is still in step after a refusal. */
	assert_int_equal(wp_nl_link_stats_by_index(&t.nl[0], 99999, &st, NULL), -ENODEV);
	assert_int_equal(wp_nl_link_stats(&t.nl[0], "left", &st, NULL), 0);
}

struct message {
	struct if_stats_msg head;
	struct {
		uint16_t len, type;
	} attr;
	uint64_t v[40];
};

static void test_parse_stats(void **state)
{
	struct message m = { .head = { .ifindex = 7 }, .attr = { 4 + 8 * 40, IFLA_STATS_LINK_64 } };
	struct rtnl_link_stats64 st = { .rx_packets = 99 };
	size_t whole = sizeof(m);

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		m.v[i] = i + 1;
	/* Each message in a block of just its size, so that a checker sees one byte too far. */
	for (size_t cut = 0; cut < whole; cut++) {
		void *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, &m, cut);
		assert_int_equal(wp_nl_parse_stats(copy, cut, 7, &st), -EBADMSG);
		free(copy);
	}
	assert_int_equal(st.rx_packets, 99);
	assert_int_equal(wp_nl_parse_stats(&m, whole, 8, &st), -EBADMSG);
	assert_int_equal(wp_nl_parse_stats(&m, whole, 7, &st), 0);
	assert_int_equal(st.rx_packets, 1);
	assert_int_equal(st.tx_packets, 2);
	assert_int_equal(st.rx_nohandler, 24);
	/* An older kernel's shorter struct leaves the rest 0; half a counter is no struct. */
	m.attr.len = 4 + 8 * 2;
	assert_int_equal(wp_nl_parse_stats(&m, sizeof(m.head) + 4 + 16, 7, &st), 0);
	assert_int_equal(st.tx_packets, 2);
	assert_int_equal(st.rx_bytes, 0);
	m.attr.len = 4 + 12;
	assert_int_equal(wp_nl_parse_stats(&m, sizeof(m.head) + 4 + 16, 7, &st), -EBADMSG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_veth_into_other_namespace),
		cmocka_unit_test(test_list_and_addresses),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_parse_stats),
	};

	return cmocka_run_group_tests_name("nl_link", tests, NULL, NULL);
}
