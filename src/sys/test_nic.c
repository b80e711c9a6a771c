/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "sys/ethtool.h"
#include "sys/nic.h"

struct fixture {
	struct wp_pool pool;
	struct wp_nics nics;
};

static struct fixture read_root(const char *name)
{
	struct fixture f = { .pool = WP_POOL(16u << 20) };
	int fd = wp_test_root(name);

	wp_nics_read(fd, false, &f.pool, &f.nics);
	close(fd);
	return f;
}

static void nic_with_queues_and_interrupts(void **state)
{
	struct fixture f = read_root("inv-x86-2s");
	const struct wp_nic *n = &f.nics.v[0];

	(void)state;
	assert_int_equal(f.nics.n, 2);
	assert_string_equal(n->name, "ens1f0");
	assert_true(n->is_device);
	assert_string_equal(n->driver.v, "ixgbe");
	assert_string_equal(n->device.v, "0000:81:00.0");
	assert_int_equal(n->numa_node.v, 1);
	assert_int_equal(n->speed_mbps.v, 10000);
	assert_int_equal(n->n_rx, 4);
	assert_int_equal(n->n_tx, 4);
	assert_string_equal(n->tx[2].cpus.v, "2");
	assert_string_equal(n->rx[2].cpus.v, "");
	assert_false(wp_nic_has_rps(n));
	assert_int_equal(n->n_irqs, 5);
	assert_int_equal(n->irqs[0].irq, 41);
	assert_string_equal(n->irqs[0].name.v, "ens1f0-TxRx-0");
	assert_string_equal(n->irqs[3].effective.v, "3");
	assert_string_equal(n->irqs[4].affinity.v, "0-7");
	assert_non_null(n->ethtool.features_why);
	assert_true(f.nics.v[1].is_loopback);
	wp_pool_done(&f.pool);
}

static void virtio_interrupts_are_the_parents(void **state)
{
	struct fixture f = read_root("inv-vm");
	const struct wp_nic *n = &f.nics.v[0];

	(void)state;
	assert_string_equal(n->driver.v, "virtio_net");
	assert_int_equal(n->n_irqs, 3);
	assert_string_equal(n->irqs[1].name.v, "virtio2-input.0");
	assert_int_equal(n->speed_mbps.state, WP_ABSENT);
	assert_int_equal(n->numa_node.state, WP_ABSENT);
	assert_true(wp_nic_has_rps(n));
	wp_pool_done(&f.pool);
}

static void wired_interrupt_is_found_by_name(void **state)
{
	struct fixture f = read_root("inv-arm64");
	const struct wp_nic *n = &f.nics.v[0];

	(void)state;
	assert_int_equal(n->n_irqs, 1);
	assert_int_equal(n->irqs[0].irq, 67);
	assert_string_equal(n->irqs[0].affinity.v, "0-5");
	wp_pool_done(&f.pool);
}

static void old_kernel_has_a_mask_and_no_queues(void **state)
{
	struct fixture f = read_root("inv-old");
	const struct wp_nic *n = &f.nics.v[0];

	(void)state;
	assert_string_equal(n->queues_why, "/sys/class/net/eth0/queues does not exist");
	assert_int_equal(n->n_irqs, 1);
	assert_int_equal(n->irqs[0].irq, 28);
	assert_string_equal(n->irqs[0].affinity.v, "0-3");
	assert_int_equal(n->irqs[0].effective.state, WP_ABSENT);
	wp_pool_done(&f.pool);
}

static void virtual_link_says_why_it_has_no_interrupts(void **state)
{
	struct fixture f = read_root("inv-container");
	const struct wp_nic *n = &f.nics.v[0];

	(void)state;
	assert_false(n->is_device);
	assert_string_equal(n->irqs_why, "no device behind the interface");
	assert_string_equal(n->driver.why, "a virtual link: no device behind it");
	assert_string_equal(n->rx[0].cpus.v, "");
	wp_pool_done(&f.pool);
}

static void tree_without_interfaces_says_so(void **state)
{
	struct fixture f = read_root("gvisor");

	(void)state;
	assert_int_equal(f.nics.n, 0);
	assert_string_equal(f.nics.why, "/sys/class/net does not exist");
	wp_pool_done(&f.pool);
}

static void live_interfaces_answer_or_say_why(void **state)
{
	struct fixture f = { .pool = WP_POOL(64u << 20) };
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	wp_nics_read(fd, true, &f.pool, &f.nics);
	close(fd);
	if (!f.nics.n) {
		print_message("no interface here: %s\n", f.nics.why);
		wp_pool_done(&f.pool);
		skip();
	}
	for (size_t i = 0; i < f.nics.n; i++) {
		const struct wp_nic *n = &f.nics.v[i];

		assert_true(n->rx || n->queues_why);
		assert_true(n->ethtool.rings.rx.state == WP_VALUE || n->ethtool.rings.rx.why);
		assert_true(n->ethtool.features_why ||
			    n->ethtool.features[WP_NIC_GSO].state == WP_VALUE);
	}
	wp_pool_done(&f.pool);
}

static void put_bit(struct nl_msg *m, const char *name, bool value)
{
	struct nlattr *bit = nla_nest_start(m, ETHTOOL_A_BITSET_BITS_BIT);

	assert_int_equal(nla_put_string(m, ETHTOOL_A_BITSET_BIT_NAME, name), 0);
	if (value)
		assert_int_equal(nla_put_flag(m, ETHTOOL_A_BITSET_BIT_VALUE), 0);
	nla_nest_end(m, bit);
}

static void feature_bits_become_states(void **state)
{
	struct wp_nic_feature_state f[WP_NIC_FEATURES] = { 0 };
	struct nl_msg *m = nlmsg_alloc();
	struct nlattr *set, *bits, *first;
	struct nlmsghdr *h = nlmsg_put(m, 0, 0, 0, 0, 0);

	(void)state;
	set = nla_nest_start(m, ETHTOOL_A_FEATURES_HW);
	bits = nla_nest_start(m, ETHTOOL_A_BITSET_BITS);
	put_bit(m, "rx-gro", true);
	put_bit(m, "tx-tcp-segmentation", true);
	put_bit(m, "rx-lro", false);
	put_bit(m, "unheard-of", true);
	nla_nest_end(m, bits);
	nla_nest_end(m, set);
	set = nla_nest_start(m, ETHTOOL_A_FEATURES_ACTIVE);
	bits = nla_nest_start(m, ETHTOOL_A_BITSET_BITS);
	put_bit(m, "rx-gro", false);
	nla_nest_end(m, bits);
	nla_nest_end(m, set);
	first = nlmsg_attrdata(h, 0);
	assert_int_equal(wp_ethtool_parse_features(first, (size_t)nlmsg_attrlen(h, 0), f), 0);
	assert_true(f[WP_NIC_GRO].state == WP_VALUE && f[WP_NIC_GRO].on && !f[WP_NIC_GRO].fixed);
	assert_true(f[WP_NIC_TSO].state == WP_VALUE && !f[WP_NIC_TSO].on && !f[WP_NIC_TSO].fixed);
	assert_true(f[WP_NIC_LRO].state == WP_VALUE && !f[WP_NIC_LRO].on && f[WP_NIC_LRO].fixed);
	assert_int_equal(f[WP_NIC_RX_HASH].state, WP_ABSENT);
	nlmsg_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nic_with_queues_and_interrupts),
		cmocka_unit_test(virtio_interrupts_are_the_parents),
		cmocka_unit_test(wired_interrupt_is_found_by_name),
		cmocka_unit_test(old_kernel_has_a_mask_and_no_queues),
		cmocka_unit_test(virtual_link_says_why_it_has_no_interrupts),
		cmocka_unit_test(tree_without_interfaces_says_so),
		cmocka_unit_test(live_interfaces_answer_or_say_why),
		cmocka_unit_test(feature_bits_become_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
