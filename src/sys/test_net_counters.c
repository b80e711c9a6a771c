/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/net_counters.h"

typedef int parser(const char *, size_t, struct wp_net_counters *, struct wp_err *);

static int parse(parser *p, struct wp_net_counters *c, const char *text)
{
	return p(text, strlen(text), c, NULL);
}

static void parse_root(parser *p, struct wp_net_counters *c, const char *root, const char *path)
{
	struct wp_buf b = wp_test_file(root, path);

	assert_int_equal(p(b.data, b.len, c, NULL), 0);
	wp_buf_done(&b);
}

static const struct wp_net_counter *get(const struct wp_net_counters *c, const char *device,
					const char *name)
{
	size_t i = wp_net_counters_find(c, device, name, 0);

	if (i == c->n)
		fail_msg("no counter %s %s", device, name);
	return &c->v[i];
}

static void snmp_goes_by_name(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_snmp_parse, &c, "vm2_b", "proc/net/snmp");
	assert_int_equal(get(&c, "", "IpInReceives")->value, 677 + 132500);
	assert_int_equal(get(&c, "", "TcpRetransSegs")->value, 5);
	assert_int_equal(get(&c, "", "UdpRcvbufErrors")->value, 33);
	assert_int_equal(get(&c, "", "IcmpMsgOutType3")->value, 4);
	parse_root(wp_net_snmp_parse, &c, "old2632_a", "proc/net/snmp");
	assert_int_equal(wp_net_counters_find(&c, "", "IpOutTransmits", 5), c.n);
	assert_int_equal(get(&c, "", "IpInReceives")->value, 600);
	wp_net_counters_done(&c);
}

static void names_inserted_by_new_kernels_are_read(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_snmp_parse, &c, "newer", "proc/net/snmp");
	assert_int_equal(get(&c, "", "IpInReceives")->value, 5);
	assert_int_equal(get(&c, "", "QuicIn")->value, 4);
	parse_root(wp_net_snmp_parse, &c, "newer", "proc/net/netstat");
	assert_int_equal(get(&c, "", "NovelExtA")->value, 1);
	assert_int_equal(get(&c, "", "TcpExtTCPBacklogDrop")->value, 1);
	wp_net_counters_done(&c);
}

static void maxconn_is_signed_and_a_gauge(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_snmp_parse, &c, "vm2_a", "proc/net/snmp");
	assert_true(get(&c, "", "TcpMaxConn")->negative);
	assert_true((int64_t)get(&c, "", "TcpMaxConn")->value == -1);
	assert_true(get(&c, "", "TcpMaxConn")->gauge);
	assert_true(get(&c, "", "TcpCurrEstab")->gauge);
	assert_true(get(&c, "", "IpForwarding")->gauge);
	assert_false(get(&c, "", "TcpInSegs")->gauge);
	wp_net_counters_done(&c);
}

static void icmpmsg_may_split_and_vary(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	assert_int_equal(parse(wp_net_snmp_parse, &c,
			       "IcmpMsg: InType0 InType3\nIcmpMsg: 1 2\n"
			       "IcmpMsg: OutType8\nIcmpMsg: 7\nTcp: InSegs\nTcp: 9\n"),
			 0);
	assert_int_equal(c.n, 4);
	assert_int_equal(get(&c, "", "IcmpMsgOutType8")->value, 7);
	assert_int_equal(get(&c, "", "TcpInSegs")->value, 9);
	wp_net_counters_done(&c);
}

static void snmp6_is_a_list(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_snmp6_parse, &c, "vm2_a", "proc/net/snmp6");
	assert_int_equal(c.n, 3);
	assert_int_equal(get(&c, "", "Ip6InReceives")->value, 1);
	wp_net_counters_done(&c);
}

static void devices_have_sixteen_counters(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_dev_parse, &c, "vm2_b", "proc/net/dev");
	assert_int_equal(c.n, 32);
	assert_int_equal(get(&c, "eth0", "rx_bytes")->value, 27306804 + 1000000000);
	assert_int_equal(get(&c, "eth0", "rx_drop_sum")->value, 2);
	assert_int_equal(get(&c, "lo", "tx_packets")->value, 29);
	parse_root(wp_net_dev_parse, &c, "newer", "proc/net/dev");
	assert_int_equal(get(&c, "eth0", "tx_dropped")->value, 6);
	wp_net_counters_done(&c);
}

static void the_colon_may_touch_the_number(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_dev_parse, &c, "old2632_a", "proc/net/dev");
	assert_int_equal(get(&c, "eth0", "rx_bytes")->value, 123456789);
	assert_int_equal(parse(wp_net_dev_parse, &c, "eth0:1:5 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6\n"),
			 0);
	assert_int_equal(get(&c, "eth0:1", "rx_bytes")->value, 5);
	assert_int_equal(
		parse(wp_net_dev_parse, &c, " n\xc3\xa4t: 5 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6\n"), 0);
	assert_int_equal(get(&c, "n\xc3\xa4t", "rx_bytes")->value, 5);
	wp_net_counters_done(&c);
}

static void a_find_needs_name_and_device(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_dev_parse, &c, "vm2_a", "proc/net/dev");
	assert_int_equal(wp_net_counters_find(&c, "", "rx_bytes", 0), c.n);
	assert_int_equal(wp_net_counters_find(&c, "eth1", "rx_bytes", 0), c.n);
	assert_int_equal(wp_net_counters_find(&c, "eth0", "rx_bytes", 16), 16);
	assert_int_equal(wp_net_counters_find(&c, "eth0", "rx_bytes", 3), 16);
	assert_int_equal(wp_net_counters_find(&c, "eth0", "rx_bytes", 999), 16);
	wp_net_counters_done(&c);
}

static void an_empty_file_is_an_empty_list(void **state)
{
	struct wp_net_counters c = { 0 };

	(void)state;
	parse_root(wp_net_snmp6_parse, &c, "vm2_a", "proc/net/snmp6");
	assert_int_equal(parse(wp_net_snmp_parse, &c, ""), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(parse(wp_net_snmp6_parse, &c, "\n"), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(parse(wp_net_dev_parse, &c, "Inter-|   Receive\n face |bytes\n"), 0);
	assert_int_equal(c.n, 0);
	wp_net_counters_done(&c);
}

static void malformed_text_is_refused(void **state)
{
	static const struct {
		const char *name;
		parser *parse;
		const char *text;
	} cases[] = {
		{ "a header without values", wp_net_snmp_parse, "Tcp: A B\n" },
		{ "another group's values", wp_net_snmp_parse, "Tcp: A\nUdp: 1\n" },
		{ "too few values", wp_net_snmp_parse, "Tcp: A B\nTcp: 1\n" },
		{ "too many values", wp_net_snmp_parse, "Tcp: A\nTcp: 1 2\n" },
		{ "no group", wp_net_snmp_parse, "A\nA\n" },
		{ "a word as value", wp_net_snmp_parse, "Tcp: A\nTcp: x\n" },
		{ "65 bits", wp_net_snmp_parse, "Tcp: A\nTcp: 18446744073709551616\n" },
		{ "a bare minus", wp_net_snmp_parse, "Tcp: A\nTcp: -\n" },
		{ "snmp6 without value", wp_net_snmp6_parse, "Ip6InReceives\n" },
		{ "snmp6 with a word", wp_net_snmp6_parse, "Ip6InReceives x\n" },
		{ "dev without colon", wp_net_dev_parse, "eth0 1 2 3\n" },
		{ "dev without name", wp_net_dev_parse, "  : 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7\n" },
		{ "dev with few columns", wp_net_dev_parse, "eth0: 1 2 3\n" },
		{ "dev negative", wp_net_dev_parse, "eth0: -1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7\n" },
	};
	struct wp_net_counters c = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(cases[i].parse, &c, cases[i].text) != -EBADMSG)
			fail_msg("%s", cases[i].name);
	wp_net_counters_done(&c);
}

static void cut_snmp(const char *data, size_t len)
{
	struct wp_net_counters c = { 0 };
	int r = wp_net_snmp_parse(data, len, &c, NULL);

	assert_true(r == 0 || r == -EBADMSG);
	wp_net_counters_done(&c);
}

static void cut_snmp6(const char *data, size_t len)
{
	struct wp_net_counters c = { 0 };
	int r = wp_net_snmp6_parse(data, len, &c, NULL);

	assert_true(r == 0 || r == -EBADMSG);
	wp_net_counters_done(&c);
}

static void cut_dev(const char *data, size_t len)
{
	struct wp_net_counters c = { 0 };
	int r = wp_net_dev_parse(data, len, &c, NULL);

	assert_true(r == 0 || r == -EBADMSG);
	wp_net_counters_done(&c);
}

static void every_truncation_is_safe(void **state)
{
	static const struct {
		const char *path;
		void (*cut)(const char *, size_t);
	} files[] = {
		{ "proc/net/snmp", cut_snmp },
		{ "proc/net/netstat", cut_snmp },
		{ "proc/net/snmp6", cut_snmp6 },
		{ "proc/net/dev", cut_dev },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct wp_buf b = wp_test_file("vm2_b", files[i].path);

		wp_test_truncations(b.data, b.len, b.len, files[i].cut);
		wp_buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snmp_goes_by_name),
		cmocka_unit_test(names_inserted_by_new_kernels_are_read),
		cmocka_unit_test(maxconn_is_signed_and_a_gauge),
		cmocka_unit_test(icmpmsg_may_split_and_vary),
		cmocka_unit_test(snmp6_is_a_list),
		cmocka_unit_test(devices_have_sixteen_counters),
		cmocka_unit_test(the_colon_may_touch_the_number),
		cmocka_unit_test(a_find_needs_name_and_device),
		cmocka_unit_test(an_empty_file_is_an_empty_list),
		cmocka_unit_test(malformed_text_is_refused),
		cmocka_unit_test(every_truncation_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
