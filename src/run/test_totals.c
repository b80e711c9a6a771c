/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals and ledgers of hand-made runs; counters as planted drops move them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/totals.h"

#define FLOWS 2

struct made {
	struct wp_run run;
	struct wp_flow flows[FLOWS];
	struct wp_count counts[2][16];
};

static void is(struct wp_num n, double want)
{
	if (!wp_has(n) || n.v != want)
		fail_msg("%g (%s) instead of %g", n.v, n.why ? n.why : "a value", want);
}

static void make(struct made *m, const char *kind, bool one_machine)
{
	struct wp_run *r = &m->run;

	memset(m, 0, sizeof(*m));
	wp_run_init(r);
	r->test.kind = kind;
	r->n_hosts = 2;
	r->hosts[0].role = "client";
	r->hosts[1].role = "server";
	r->hosts[0].same_machine_as = one_machine ? "server" : NULL;
	r->hosts[1].same_machine_as = one_machine ? "client" : NULL;
	r->hosts[0].path_device = "tpva";
	r->hosts[1].path_device = "tpvb";
	for (int h = 0; h < 2; h++)
		r->hosts[h].path_counts = m->counts[h];
	r->flows = m->flows;
}

/* A flow of so many accepted and refused datagrams, of which so many arrived. */
static struct wp_flow *udp_flow(struct made *m, const char *role, double sent, double refused,
				double arrived)
{
	struct wp_flow *f = &m->flows[m->run.n_flows++];

	f->role = role;
	f->sent.packets = f->sent.all_packets = wp_num(sent);
	f->sent.all_send_drops = wp_num(refused);
	f->sent.seconds = f->received.seconds = wp_num(2);
	f->sent.bytes = wp_num(sent * 64);
	f->received.bytes = wp_num(arrived * 64);
	f->received.bits_per_second = wp_num(arrived * 64 * 8 / 2);
	f->received.packets = f->received.all_packets = wp_num(arrived);
	f->received.lost = f->received.all_lost = wp_num(sent - arrived);
	f->received.out_of_order = f->received.duplicated = f->received.all_duplicated = wp_num(0);
	f->received.late = f->received.all_late = f->received.all_socket_drops = wp_num(0);
	f->received.jitter_us = wp_num(10);
	return f;
}

static void moved(struct made *m, int host, const char *name, const char *source, double delta)
{
	struct wp_host *h = &m->run.hosts[host];

	assert_true(h->n_path_counts < WP_ARRAY_SIZE(m->counts[host]));
	h->path_counts[h->n_path_counts++] = (struct wp_count) { name, source, delta };
}

/* "backlog@server 5, device@client 3; unexplained 0". */
static void stages_are(struct made *m, const char *want)
{
	const struct wp_ledger *l = &m->run.ledger;
	double sum = 0;
	char text[512];
	int n = 0;

	wp_run_totals(&m->run);
	text[0] = '\0';
	for (size_t i = 0; i < l->n_stages; i++) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s@%s %.0f", n ? ", " : "",
			      l->stages[i].stage, l->stages[i].host, l->stages[i].packets.v);
		sum += l->stages[i].packets.v;
		assert_true(l->stages[i].source && *l->stages[i].source);
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "%sunexplained %.0f", n ? "; " : "",
		 l->unexplained_packets.v);
	assert_string_equal(text, want);
	assert_true(l->sent_packets.v == l->delivered_packets.v + sum + l->unexplained_packets.v);
	wp_run_done(&m->run);
}

static void nothing_is_missing(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 1000, 0, 1000);
	moved(&m, 1, "UdpInDatagrams", "net/snmp", 1003);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 2); /* of somebody else */
	stages_are(&m, "unexplained 0");
}

static void a_full_socket_buffer(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 390);
	f->received.all_socket_drops = wp_num(610);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 610);
	moved(&m, 1, "UdpInErrors", "net/snmp", 610);
	stages_are(&m, "socket buffer@server 610; unexplained 0");
}

/* As measured: 267,685 trains of 64 were dropped. */
static void a_train_that_was_dropped_is_all_its_datagrams(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	for (int gro = 0; gro < 2; gro++) {
		make(&m, "udp", true);
		m.run.test.gro = wp_num(gro);
		f = udp_flow(&m, "sender", 19224576, 0, 2092736);
		f->received.all_socket_drops = wp_num(267685);
		moved(&m, 1, "UdpInDatagrams", "net/snmp", 32704);
		moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 267685);
		moved(&m, 1, "UdpInErrors", "net/snmp", 267685);
		stages_are(&m, gro ? "socket buffer@server 17131840; unexplained 0"
				   : "socket buffer@server 267685; unexplained 16864155");
	}
}

/* The socket tells of a drop with the next datagram: those after the last one only the namespace has seen. */
static void drops_that_the_socket_could_not_tell(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 390);
	f->received.all_socket_drops = wp_num(600);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 610);
	moved(&m, 1, "UdpInErrors", "net/snmp", 610);
	stages_are(&m, "socket buffer@server 610; unexplained 0");
}

static void a_socket_error_is_no_full_buffer(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 900);
	f->received.all_socket_drops = wp_num(100);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 70);
	moved(&m, 1, "UdpInErrors", "net/snmp", 100);
	moved(&m, 1, "UdpInCsumErrors", "net/snmp", 30);
	stages_are(&m, "socket error@server 30, socket buffer@server 70; unexplained 0");
}

/* A backlog drop shows as softnet_stat, both devices of the veth pair and, with IP_RECVERR, as an error of send(). */
static void a_full_backlog_is_refused(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 578000, 885707, 578000);
	moved(&m, 0, "tx_dropped", "rtnetlink:tpva", 885707);
	moved(&m, 0, "UdpSndbufErrors", "net/snmp", 885707);
	moved(&m, 1, "rx_dropped", "rtnetlink:tpvb", 885707);
	moved(&m, 1, "dropped", "softnet_stat", 885707);
	moved(&m, 0, "dropped", "softnet_stat", 885707); /* one machine */
	wp_run_totals(&m.run);
	is(m.run.ledger.refused_packets, 885707);
	assert_non_null(strstr(m.run.ledger.refused_by, "backlog"));
	stages_are(&m, "unexplained 0");
}

/* The same where nobody asked for errors, or a discipline hides them. */
static void a_full_backlog_behind_send(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 1000, 0, 400);
	moved(&m, 0, "tx_dropped", "rtnetlink:tpva", 600);
	moved(&m, 1, "rx_dropped", "rtnetlink:tpvb", 600);
	moved(&m, 1, "dropped", "softnet_stat", 600);
	stages_are(&m, "backlog@server 600; unexplained 0");
}

static void a_veth_ring_is_the_devices(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 1000, 0, 390);
	moved(&m, 0, "tx_dropped", "rtnetlink:tpva", 610);
	stages_are(&m, "device@client 610; unexplained 0");
}

static void loopback_drops_once(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 1000, 0, 900);
	for (int h = 0; h < 2; h++) {
		moved(&m, h, "rx_dropped", "rtnetlink:lo", 100);
		moved(&m, h, "dropped", "softnet_stat", 100);
	}
	stages_are(&m, "backlog@server 100; unexplained 0");
}

/* Refused by the shaper; 40 more it dropped later, and 7 the device behind it, where send() could not see it. */
static void a_shaper_and_the_device_behind_it(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", false);
	udp_flow(&m, "sender", 1000, 5000, 950);
	moved(&m, 0, "qdisc_drops", "qdisc tbf of eth0", 5040);
	moved(&m, 0, "tx_dropped", "rtnetlink:eth0", 7);
	wp_run_totals(&m.run);
	assert_string_equal(m.run.ledger.refused_by, "qdisc tbf of eth0");
	is(m.run.ledger.refused_packets, 5000);
	stages_are(&m, "qdisc@client 40, device@client 7; unexplained 3");
}

static void an_ingress_filter(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 200000, 0, 197740);
	moved(&m, 1, "filter_drops", "clsact of tpvb", 2260);
	stages_are(&m, "ingress filter@server 2260; unexplained 0");
}

static void two_machines(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", false);
	udp_flow(&m, "sender", 1000, 0, 800);
	moved(&m, 0, "dropped", "softnet_stat", 500); /* of the sender's machine: not on the way */
	moved(&m, 1, "dropped", "softnet_stat", 60);
	moved(&m, 1, "rx_dropped", "rtnetlink:eth0", 80); /* 60 of them are the backlog's */
	moved(&m, 1, "rx_missed_errors", "rtnetlink:eth0", 30);
	moved(&m, 1, "UdpNoPorts", "net/snmp", 5);
	moved(&m, 1, "Ip6InDiscards", "net/snmp6", 4);
	stages_are(&m, "device@server 50, backlog@server 60, IP@server 4, "
		       "no socket@server 5; unexplained 81");
}

/* Other traffic's drops explain no more than is missing, and the test's own come first. */
static void shared_counters_explain_no_more_than_is_missing(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", false);
	f = udp_flow(&m, "sender", 1000, 0, 900);
	f->received.all_socket_drops = wp_num(90);
	moved(&m, 1, "rx_dropped", "rtnetlink:eth0", 4000);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 90);
	stages_are(&m, "device@server 10, socket buffer@server 90; unexplained 0");
}

static void duplicates_are_delivered_once(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 1500);
	f->received.duplicated = f->received.all_duplicated = wp_num(500);
	f->received.lost = f->received.all_lost = wp_num(0);
	stages_are(&m, "unexplained 0");
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 1500);
	f->received.duplicated = f->received.all_duplicated = wp_num(520);
	f->received.late = f->received.all_late = wp_num(3);
	stages_are(&m, "too late to place@server 3; unexplained 20");
}

static void more_than_was_sent_is_said(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0,
		     1200); /* too short for numbers, and a network that doubles */
	f->received.duplicated = f->received.all_duplicated = f->received.all_late =
		wp_absent("no number");
	moved(&m, 1, "rx_dropped", "rtnetlink:tpvb", 4000);
	stages_are(&m, "unexplained -200");
}

static void both_directions_add_up(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 10, 900);
	f->received.all_socket_drops = wp_num(100);
	f = udp_flow(&m, "receiver", 500, 20, 450);
	f->received.all_socket_drops = wp_num(40);
	moved(&m, 1, "UdpRcvbufErrors", "net/snmp", 100);
	moved(&m, 0, "UdpRcvbufErrors", "net/snmp", 40);
	wp_run_totals(&m.run);
	is(m.run.ledger.sent_packets, 1500);
	is(m.run.ledger.delivered_packets, 1350);
	is(m.run.ledger.refused_packets, 30);
	stages_are(&m, "socket buffer@server 100, socket buffer@client 40; unexplained 10");
}

static void without_the_other_end_there_is_no_ledger(void **state)
{
	struct made m;

	(void)state;
	make(&m, "udp", true);
	udp_flow(&m, "sender", 1000, 10, 900);
	m.run.n_hosts = 1;
	m.flows[0].received = (struct wp_flow_end) { 0 };
	m.flows[0].received.all_packets = wp_absent("the server is gone");
	wp_run_totals(&m.run);
	assert_false(wp_has(m.run.ledger.sent_packets));
	assert_false(wp_has(m.run.ledger.unexplained_packets));
	assert_false(wp_has(m.run.total.lost_packets));
	m.run.n_hosts = 2;
	wp_run_totals(&m.run);
	is(m.run.ledger.sent_packets, 1000);
	assert_false(wp_has(m.run.ledger.unexplained_packets));
	assert_string_equal(m.run.ledger.unexplained_packets.why, "the server is gone");
	wp_run_done(&m.run);
}

static void totals_of_datagrams(void **state)
{
	struct made m;
	struct wp_flow *f;

	(void)state;
	make(&m, "udp", true);
	f = udp_flow(&m, "sender", 1000, 0, 900);
	f->received.out_of_order = wp_num(3);
	f = udp_flow(&m, "sender", 1000, 0, 700);
	f->received.jitter_us = wp_num(20);
	f->received.duplicated = wp_num(4);
	wp_run_totals(&m.run);
	is(m.run.total.lost_packets, 400);
	is(m.run.total.lost_pct, 20);
	is(m.run.total.out_of_order, 3);
	is(m.run.total.duplicated, 4);
	is(m.run.total.jitter_us, 15);
	is(m.run.total.sent_packets_per_s, 1000);
	is(m.run.total.received_packets_per_s, 800);
	assert_true(m.run.total.fairness_jain.v > 0.98 && m.run.total.fairness_jain.v < 0.99);
	assert_false(wp_has(m.run.total.transactions_per_s));
	assert_null(m.run.total.transactions.why); /* left out */
	wp_run_done(&m.run);
}

static void totals_of_transactions(void **state)
{
	struct made m;
	struct wp_flow *f;
	struct wp_histogram h = { .name = "latency",
				  .p50_us = wp_num(20),
				  .p9999_us = wp_num(99),
				  .min_us = wp_num(7),
				  .max_us = wp_num(100) };
	struct wp_cpu_use cpu = { .busy_pct = wp_num(50) };

	(void)state;
	make(&m, "rr", true);
	f = &m.flows[m.run.n_flows++];
	f->role = "both";
	f->sent.seconds = wp_num(2);
	f->sent.transactions = wp_num(100000);
	f->received.transactions = wp_num(100001);
	f->sent.timeouts = wp_num(5);
	f->connection_fairness = wp_num(0.99);
	m.run.hosts[0].histograms = &h;
	m.run.hosts[0].n_histograms = 1;
	m.run.hosts[0].cpus = &cpu;
	m.run.hosts[0].n_cpus = 1;
	m.run.hosts[0].wall_s = wp_num(2);
	wp_run_totals(&m.run);
	is(m.run.total.transactions, 100000);
	is(m.run.total.transactions_per_s, 50000);
	is(m.run.total.timeouts, 5);
	is(m.run.total.latency_p50_us, 20);
	is(m.run.total.latency_p9999_us, 99);
	is(m.run.total.latency_min_us, 7);
	is(m.run.total.fairness_jain, 0.99);
	is(m.run.hosts[0].machine_cost_us_per_transaction, 10);
	assert_false(wp_has(m.run.hosts[1].machine_cost_us_per_transaction));
	assert_false(wp_has(m.run.ledger.sent_packets));
	assert_null(m.run.total.lost_packets.why);
	wp_run_done(&m.run);
}

static void a_run_that_did_not_start_has_reasons(void **state)
{
	static const char *const kinds[] = { "tcp", "udp", "rr", NULL };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(kinds); i++) {
		struct wp_run run;

		wp_run_init(&run);
		run.test.kind = kinds[i];
		wp_run_totals(&run);
		assert_false(wp_has(run.total.sent_bps));
		assert_non_null(run.total.latency_p50_us.why);
		assert_non_null(run.ledger.sent_packets.why);
		wp_run_done(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_missing),
		cmocka_unit_test(a_full_socket_buffer),
		cmocka_unit_test(a_train_that_was_dropped_is_all_its_datagrams),
		cmocka_unit_test(drops_that_the_socket_could_not_tell),
		cmocka_unit_test(a_socket_error_is_no_full_buffer),
		cmocka_unit_test(a_full_backlog_is_refused),
		cmocka_unit_test(a_full_backlog_behind_send),
		cmocka_unit_test(a_veth_ring_is_the_devices),
		cmocka_unit_test(loopback_drops_once),
		cmocka_unit_test(a_shaper_and_the_device_behind_it),
		cmocka_unit_test(an_ingress_filter),
		cmocka_unit_test(two_machines),
		cmocka_unit_test(shared_counters_explain_no_more_than_is_missing),
		cmocka_unit_test(duplicates_are_delivered_once),
		cmocka_unit_test(more_than_was_sent_is_said),
		cmocka_unit_test(both_directions_add_up),
		cmocka_unit_test(without_the_other_end_there_is_no_ledger),
		cmocka_unit_test(totals_of_datagrams),
		cmocka_unit_test(totals_of_transactions),
		cmocka_unit_test(a_run_that_did_not_start_has_reasons),
	};

	return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
