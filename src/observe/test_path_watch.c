/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the way, of real datagrams in network namespaces of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "observe/path_watch.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

#define DATAGRAMS 500

struct pair {
	int ns[2];
	struct wp_nl nl[2];
};

static struct wp_addr address(const char *text, uint16_t port)
{
	struct wp_addr a = { .len = sizeof(a.v4) };

	a.v4.sin_family = AF_INET;
	a.v4.sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, text, &a.v4.sin_addr), 1);
	return a;
}

/* Two hosts, 10.9.0.1 on "left" and 10.9.0.2 on "right", which know each other's addresses. */
static void make_pair(struct pair *p)
{
	struct wp_nl_veth veth = { "left", "right", -1, 0, 0 };
	struct wp_nl_link link[2];
	struct wp_err err = { 0 };

	memset(p, 0, sizeof(*p));
	p->ns[0] = p->ns[1] = -1;
	for (int i = 0; i < 2; i++) {
		int r = wp_netns_new(&p->ns[i]);

		if (r == -EPERM) {
			print_message("# skipped: no right to make network namespaces\n");
			skip();
		}
		assert_int_equal(r, 0);
		assert_int_equal(wp_nl_open_in(p->ns[i], &p->nl[i], &err), 0);
	}
	veth.peer_netns_fd = p->ns[1];
	assert_int_equal(wp_nl_veth_add(&p->nl[0], &veth, &err), 0);
	for (int i = 0; i < 2; i++) {
		struct wp_nl *nl = &p->nl[i];

		assert_int_equal(wp_nl_link_get(nl, i ? "right" : "left", &link[i], &err), 0);
		assert_int_equal(wp_nl_link_set_no_linklocal(nl, link[i].ifindex, &err), 0);
		assert_int_equal(wp_nl_link_set_noarp(nl, link[i].ifindex, &err), 0);
		assert_int_equal(wp_nl_addr_add(nl, link[i].ifindex,
						i ? "10.9.0.2/24" : "10.9.0.1/24", &err),
				 0);
		assert_int_equal(wp_nl_link_set_up(nl, link[i].ifindex, true, &err), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(wp_nl_neigh_add(&p->nl[i], link[i].ifindex,
						 i ? "10.9.0.1" : "10.9.0.2", link[!i].mac, &err),
				 0);
}

static void pair_done(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		wp_nl_done(&p->nl[i]);
		wp_close_p(&p->ns[i]);
	}
}

struct open {
	struct wp_addr to;
	struct wp_path_watch *watch;
	int fd;
};

/* In the namespace: a watch of the way to `to`, and a socket of one's own. */
static int open_here(void *arg)
{
	struct open *o = arg;
	int r = wp_path_watch_new(&o->to, &o->watch);

	o->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return r ? r : o->fd < 0 ? -errno : 0;
}

static double count(const struct wp_host *h, const char *name, const char *source)
{
	for (size_t i = 0; i < h->n_path_counts; i++)
		if (!strcmp(h->path_counts[i].name, name)) {
			assert_string_equal(h->path_counts[i].source, source);
			return h->path_counts[i].delta;
		}
	return 0;
}

/* Half of the datagrams go to a socket with hardly any buffer, which nobody reads, and half to no socket at all. */
static void what_the_kernel_dropped_is_counted_to_the_packet(void **state)
{
	struct wp_addr right = address("10.9.0.2", 9000), nobody = address("10.9.0.2", 9001);
	struct open sender = { .to = right, .fd = -1 }, receiver = { .fd = -1 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_host from = { 0 }, to = { 0 };
	int small = 1, got = 0;
	struct pair p;
	char byte[100] = { 0 };

	(void)state;
	make_pair(&p);
	receiver.to = address("10.9.0.1", 0);
	assert_int_equal(wp_netns_call(p.ns[0], open_here, &sender), 0);
	assert_int_equal(wp_netns_call(p.ns[1], open_here, &receiver), 0);
	assert_int_equal(setsockopt(receiver.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(bind(receiver.fd, &right.sa, right.len), 0);
	for (int i = 0; i < 2 * DATAGRAMS; i++) {
		const struct wp_addr *a = i % 2 ? &nobody : &right;

		assert_int_equal(sendto(sender.fd, byte, sizeof(byte), 0, &a->sa, a->len),
				 sizeof(byte));
	}
	wp_sleep_until_ns(wp_now_ns() + 50 * WP_NS_PER_MS); /* backlogs are processed at once */
	while (recv(receiver.fd, byte, sizeof(byte), 0) > 0)
		got++;
	for (int again = 0; again < 2; again++) {
		assert_int_equal(wp_path_watch_result(sender.watch, &from, &pool), 0);
		assert_int_equal(wp_path_watch_result(receiver.watch, &to, &pool), 0);
		assert_string_equal(from.path_device, "left");
		assert_string_equal(to.path_device, "right");
		assert_null(from.path_note);
		assert_true(count(&from, "tx_packets", "rtnetlink:left") == 2 * DATAGRAMS);
		assert_true(count(&from, "UdpOutDatagrams", "net/snmp") == 2 * DATAGRAMS);
		assert_true(count(&to, "rx_packets", "rtnetlink:right") == 2 * DATAGRAMS);
		assert_true(count(&to, "UdpNoPorts", "net/snmp") == DATAGRAMS);
		assert_true(count(&to, "UdpRcvbufErrors", "net/snmp") == DATAGRAMS - got);
		assert_true(count(&to, "UdpInErrors", "net/snmp") == DATAGRAMS - got);
		assert_true(got < DATAGRAMS);
		assert_true(count(&to, "tx_dropped", "") == 0); /* what did not move is not there */
	}
	wp_path_watch_free(sender.watch);
	wp_path_watch_free(receiver.watch);
	close(sender.fd);
	close(receiver.fd);
	pair_done(&p);
	wp_pool_done(&pool);
}

static void without_a_route_the_protocols_are_left(void **state)
{
	struct open o = { .to = address("192.0.2.7", 9), .fd = -1 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_host h = { 0 };
	struct pair p;

	(void)state;
	make_pair(&p);
	assert_int_equal(wp_netns_call(p.ns[0], open_here, &o), 0);
	assert_int_equal(wp_path_watch_result(o.watch, &h, &pool), 0);
	assert_null(h.path_device);
	assert_non_null(strstr(h.path_note, "is not known"));
	wp_path_watch_free(o.watch);
	close(o.fd);
	pair_done(&p);
	wp_pool_done(&pool);
}

/* The interface goes away in the middle. */
static void a_lost_interface_is_said(void **state)
{
	struct open o = { .to = address("10.9.0.2", 9), .fd = -1 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_host h = { 0 };
	struct wp_nl_link link;
	struct pair p;

	(void)state;
	make_pair(&p);
	assert_int_equal(wp_netns_call(p.ns[0], open_here, &o), 0);
	assert_int_equal(wp_nl_link_get(&p.nl[0], "left", &link, NULL), 0);
	assert_int_equal(wp_nl_link_del(&p.nl[0], link.ifindex, NULL), 0);
	assert_int_equal(wp_path_watch_result(o.watch, &h, &pool), 0);
	assert_string_equal(h.path_device, "left");
	assert_non_null(strstr(h.path_note, "could not be read"));
	wp_path_watch_free(o.watch);
	close(o.fd);
	pair_done(&p);
	wp_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_dropped_is_counted_to_the_packet),
		cmocka_unit_test(without_a_route_the_protocols_are_left),
		cmocka_unit_test(a_lost_interface_is_said),
	};

	return cmocka_run_group_tests_name("path_watch", tests, NULL, NULL);
}
