/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/testpair.h"

#include "observe/net_use.h"

static void open_pair(struct wp_net_span *span, const char *a, const char *b)
{
	struct wp_test_pair pair;

	*span = (struct wp_net_span) { 0 };
	wp_test_pair(a, b, 10, &pair);
	assert_int_equal(wp_net_span_step(span, &pair.before, &pair.after), 0);
	wp_test_pair_done(&pair);
}

static double value(const struct wp_net_span *span, enum wp_source source, const char *device,
		    const char *name)
{
	struct wp_num n = wp_net_use_get(span, source, device, name);

	if (!wp_has(n))
		fail_msg("%s %s: %s", device, name, n.why);
	return n.v;
}

static void counters_have_differences_by_name(void **state)
{
	struct wp_net_span s;

	(void)state;
	open_pair(&s, "vm2_a", "vm2_b");
	assert_true(value(&s, WP_SOURCE_SNMP, "", "IpInReceives") == 132500);
	assert_true(value(&s, WP_SOURCE_SNMP, "", "TcpRetransSegs") == 5);
	assert_true(value(&s, WP_SOURCE_SNMP, "", "UdpRcvbufErrors") == 33);
	assert_true(value(&s, WP_SOURCE_NETSTAT, "", "TcpExtTCPBacklogDrop") == 4);
	assert_true(value(&s, WP_SOURCE_NETSTAT, "", "IpExtInNoECTPkts") == 662400);
	assert_true(value(&s, WP_SOURCE_SNMP6, "", "Ip6InReceives") == 0);
	assert_true(value(&s, WP_SOURCE_DEV, "eth0", "rx_drop_sum") == 2);
	assert_true(value(&s, WP_SOURCE_DEV, "eth0", "rx_bytes") == 1e9);
	assert_true(value(&s, WP_SOURCE_SOFTNET, "", "dropped") == 17);
	assert_true(value(&s, WP_SOURCE_SOFTNET, "", "processed") == 8000 + 132480);
	wp_net_span_done(&s);
}

static void counters_that_appear_began_at_zero(void **state)
{
	struct wp_net_span s;

	(void)state;
	open_pair(&s, "vm2_a", "vm2_b");
	assert_true(value(&s, WP_SOURCE_SNMP, "", "IcmpMsgOutType3") == 4);
	wp_net_span_done(&s);
}

static void gauges_are_left_out(void **state)
{
	struct wp_net_span s;

	(void)state;
	open_pair(&s, "vm2_a", "vm2_b");
	assert_int_equal(wp_net_use_get(&s, WP_SOURCE_SNMP, "", "TcpCurrEstab").state,
			 WP_NUM_ABSENT);
	assert_int_equal(wp_net_use_get(&s, WP_SOURCE_SNMP, "", "TcpMaxConn").state, WP_NUM_ABSENT);
	wp_net_span_done(&s);
}

static void missing_files_are_absent_not_zero(void **state)
{
	struct wp_net_span s;
	struct wp_num n;

	(void)state;
	open_pair(&s, "old2632_a", "old2632_b");
	n = wp_net_use_get(&s, WP_SOURCE_SNMP6, "", "Ip6InReceives");
	assert_int_equal(n.state, WP_NUM_ABSENT);
	assert_string_equal(n.why, "/proc/net/snmp6 is missing");
	n = wp_net_use_get(&s, WP_SOURCE_SNMP, "", "IpOutTransmits");
	assert_int_equal(n.state, WP_NUM_ABSENT);
	assert_string_equal(n.why, "this kernel has no such counter");
	assert_true(value(&s, WP_SOURCE_DEV, "eth0", "rx_bytes") == 1000);
	wp_net_span_done(&s);
}

static void reset_counters_are_invalid(void **state)
{
	struct wp_net_span s;

	(void)state;
	open_pair(&s, "wrap_a", "wrap_b");
	assert_int_equal(wp_net_use_get(&s, WP_SOURCE_DEV, "eth0", "rx_bytes").state,
			 WP_NUM_INVALID);
	assert_true(value(&s, WP_SOURCE_DEV, "eth0", "tx_bytes") == 0);
	assert_true(value(&s, WP_SOURCE_SOFTNET, "", "processed") == 8000);
	wp_net_span_done(&s);
}

static const struct wp_count *in_list(const struct wp_count *list, size_t n, const char *source,
				      const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].source, source) == 0 && strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

static void list_holds_what_moved(void **state)
{
	const struct wp_net_select all = { 0 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_count *list = NULL;
	struct wp_net_span s;
	size_t n = 0, reset = 9;

	(void)state;
	open_pair(&s, "vm2_a", "vm2_b");
	assert_int_equal(wp_net_use_list(&s, &all, &pool, &list, &n, &reset), 0);
	assert_int_equal(reset, 0);
	assert_true(in_list(list, n, "net/snmp", "TcpRetransSegs")->delta == 5);
	assert_true(in_list(list, n, "net/netstat", "IpExtInNoECTPkts")->delta == 662400);
	assert_true(in_list(list, n, "net/dev:eth0", "rx_packets")->delta == 8000);
	assert_true(in_list(list, n, "softnet_stat", "squeezed")->delta == 3);
	assert_null(in_list(list, n, "net/dev:lo", "rx_packets"));
	assert_null(in_list(list, n, "net/snmp6", "Ip6InReceives"));
	wp_net_span_done(&s);
	wp_pool_done(&pool);
}

static void list_can_be_selected(void **state)
{
	const struct wp_net_select device = { .sources = WP_SOURCE_BIT(WP_SOURCE_DEV),
					      .device = "lo",
					      .zeros = true };
	const struct wp_net_select other = { .sources = WP_SOURCE_BIT(WP_SOURCE_DEV),
					     .device = "eth9" };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_count *list = NULL;
	struct wp_net_span s;
	size_t n = 0;

	(void)state;
	open_pair(&s, "vm2_a", "vm2_b");
	assert_int_equal(wp_net_use_list(&s, &device, &pool, &list, &n, NULL), 0);
	assert_int_equal(n, 16);
	assert_string_equal(list[0].source, "net/dev:lo");
	assert_int_equal(wp_net_use_list(&s, &other, &pool, &list, &n, NULL), 0);
	assert_int_equal(n, 0);
	wp_net_span_done(&s);
	wp_pool_done(&pool);
}

static void reset_counters_are_told_from_the_list(void **state)
{
	const struct wp_net_select all = { 0 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_count *list = NULL;
	struct wp_net_span s;
	size_t n = 0, reset = 0;

	(void)state;
	open_pair(&s, "wrap_a", "wrap_b");
	assert_int_equal(wp_net_use_list(&s, &all, &pool, &list, &n, &reset), 0);
	assert_int_equal(reset, 2);
	assert_null(in_list(list, n, "net/dev:eth0", "rx_bytes"));
	wp_net_span_done(&s);
	wp_pool_done(&pool);
}

static void steps_add_up(void **state)
{
	struct wp_test_pair pair;
	struct wp_net_span s = { 0 };
	size_t n;

	(void)state;
	wp_test_pair("vm2_a", "vm2_b", 10, &pair);
	assert_int_equal(wp_net_span_step(&s, &pair.before, &pair.after), 0);
	n = s.n;
	assert_int_equal(wp_net_span_step(&s, &pair.after, &pair.after), 0);
	assert_int_equal(wp_net_span_step(&s, &pair.before, &pair.after), 0);
	assert_int_equal(s.n, n);
	assert_true(value(&s, WP_SOURCE_SNMP, "", "TcpRetransSegs") == 10);
	wp_net_span_reset(&s);
	assert_int_equal(wp_net_span_step(&s, &pair.before, &pair.after), 0);
	assert_true(value(&s, WP_SOURCE_SNMP, "", "TcpRetransSegs") == 5);
	wp_net_span_done(&s);
	wp_test_pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_have_differences_by_name),
		cmocka_unit_test(counters_that_appear_began_at_zero),
		cmocka_unit_test(gauges_are_left_out),
		cmocka_unit_test(missing_files_are_absent_not_zero),
		cmocka_unit_test(reset_counters_are_invalid),
		cmocka_unit_test(list_holds_what_moved),
		cmocka_unit_test(list_can_be_selected),
		cmocka_unit_test(reset_counters_are_told_from_the_list),
		cmocka_unit_test(steps_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
