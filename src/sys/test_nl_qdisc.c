/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queueing disciplines: recorded messages at every truncation, and those of a namespace of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sys/netns.h"
#include "sys/nl_qdisc.h"

struct message {
	unsigned char bytes[256];
	size_t len;
};

static void put(struct message *m, const void *data, size_t len)
{
	assert_true(m->len + len <= sizeof(m->bytes));
	memcpy(m->bytes + m->len, data, len);
	m->len += (len + 3) / 4 * 4;
}

static void put_attr(struct message *m, uint16_t type, const void *data, size_t len)
{
	const uint16_t head[2] = { (uint16_t)(4 + len), type };

	put(m, head, sizeof(head));
	put(m, data, len);
}

static struct message a_tbf(bool wide)
{
	const struct tcmsg head = { .tcm_ifindex = 7,
				    .tcm_handle = 0x80010000,
				    .tcm_parent = TC_H_ROOT };
	const struct gnet_stats_basic basic = { .bytes = 123456, .packets = 100 };
	const struct gnet_stats_queue queue = {
		.qlen = 5, .backlog = 7570, .drops = 3, .requeues = 2, .overlimits = 9
	};
	const uint64_t packets = UINT64_C(5000000000);
	struct message m = { .len = 0 }, nest = { .len = 0 };

	put_attr(&nest, TCA_STATS_BASIC, &basic, 12);
	put_attr(&nest, TCA_STATS_QUEUE, &queue, sizeof(queue));
	if (wide)
		put_attr(&nest, TCA_STATS_PKT64, &packets, sizeof(packets));
	put(&m, &head, sizeof(head));
	put_attr(&m, TCA_KIND, "tbf", 4);
	put_attr(&m, TCA_STATS2, nest.bytes, nest.len);
	return m;
}

static void a_message_is_read(void **state)
{
	struct message m = a_tbf(false);
	struct wp_nl_qdisc q;

	(void)state;
	assert_int_equal(wp_nl_parse_qdisc(m.bytes, m.len, &q), 0);
	assert_string_equal(q.kind, "tbf");
	assert_int_equal(q.ifindex, 7);
	assert_int_equal(q.handle, 0x80010000);
	assert_int_equal(q.parent, TC_H_ROOT);
	assert_int_equal(q.sent_packets, 100);
	assert_int_equal(q.sent_bytes, 123456);
	assert_int_equal(q.queued_packets, 5);
	assert_int_equal(q.queued_bytes, 7570);
	assert_int_equal(q.drops, 3);
	assert_int_equal(q.requeues, 2);
	assert_int_equal(q.overlimits, 9);
	/* Kernels since 5.5 count beyond 32 bits. */
	m = a_tbf(true);
	assert_int_equal(wp_nl_parse_qdisc(m.bytes, m.len, &q), 0);
	assert_int_equal(q.sent_packets, UINT64_C(5000000000));
}

/* In a block of just its size, so that a checker sees one byte too far. */
static void every_truncation_is_survived(void **state)
{
	struct message m = a_tbf(true);

	(void)state;
	for (size_t cut = 0; cut < m.len; cut++) {
		void *copy = malloc(cut ? cut : 1);
		struct wp_nl_qdisc q = { .drops = 77 };
		int r;

		assert_non_null(copy);
		memcpy(copy, m.bytes, cut);
		r = wp_nl_parse_qdisc(copy, cut, &q);
		if (r)
			assert_int_equal(q.drops, 77); /* untouched */
		else
			assert_string_equal(q.kind, "tbf");
		free(copy);
	}
}

static void a_message_without_a_kind_is_refused(void **state)
{
	const struct tcmsg head = { .tcm_ifindex = 1 };
	struct wp_nl_qdisc q;

	(void)state;
	assert_int_equal(wp_nl_parse_qdisc(&head, sizeof(head), &q), -EBADMSG);
}

static void the_queues_of_an_interface_are_listed(void **state)
{
	_cleanup_close_ int ns = -1;
	struct wp_nl nl = { 0 };
	struct wp_nl_veth veth = { "left", "right", -1, 0, 4 };
	struct wp_nl_qdiscs q = { 0 };
	struct wp_err err = { 0 };
	struct wp_nl_link l;
	int r = wp_netns_new(&ns);

	(void)state;
	if (r == -EPERM) {
		print_message("# skipped: no right to make network namespaces\n");
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(wp_nl_open_in(ns, &nl, NULL), 0);
	assert_int_equal(wp_nl_veth_add(&nl, &veth, &err), 0);
	assert_int_equal(wp_nl_link_get(&nl, "left", &l, &err), 0);
	assert_int_equal(wp_nl_link_set_up(&nl, l.ifindex, true, &err), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wp_nl_qdisc_list(&nl, l.ifindex, &q, &err), 0);
		for (size_t k = 0; k < q.n; k++) {
			assert_int_equal(q.v[k].ifindex, l.ifindex);
			assert_true(strlen(q.v[k].kind) > 0);
		}
		if (wp_nl_qdisc_root(&q))
			assert_int_equal(wp_nl_qdisc_root(&q)->queued_packets, 0);
	}
	/* Nobody has that number: an empty list, not an error. */
	assert_int_equal(wp_nl_qdisc_list(&nl, 99999, &q, &err), 0);
	assert_int_equal(q.n, 0);
	assert_null(wp_nl_qdisc_root(&q));
	assert_int_equal(wp_nl_link_get(&nl, "left", &l, &err), 0); /* the socket is in step */
	wp_nl_qdiscs_done(&q);
	wp_nl_done(&nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_read),
		cmocka_unit_test(every_truncation_is_survived),
		cmocka_unit_test(a_message_without_a_kind_is_refused),
		cmocka_unit_test(the_queues_of_an_interface_are_listed),
	};

	return cmocka_run_group_tests_name("nl_qdisc", tests, NULL, NULL);
}
