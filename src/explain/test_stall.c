/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stopped the progress, from views as they were recorded: each planted cause is named, and the ones that look like
 * it are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "explain/explain.h"
#include "explain/rules.h"
#include "explain/stall.h"
#include "model/json.h"

/* A sender behind a link that was down for two seconds, as recorded in a lab. */
static struct wp_stall_view sender_view(void)
{
	return (struct wp_stall_view) {
		.role = "sender",
		.flow = "1",
		.ended = "progress",
		.interface = "wpa",
		.qdisc = "noqueue",
		.tcp_state = "established",
		.flows = wp_num(1),
		.start_s = wp_num(2.05),
		.length_s = wp_num(2),
		.grain_s = wp_num(0.05),
		.gap_s = wp_num(0.05),
		.unacked = wp_num(1665),
		.notsent_bytes = wp_num(1759320),
		.cwnd_bytes = wp_num(1448),
		.mss_bytes = wp_num(1448),
		.snd_wnd_bytes = wp_num(28894208),
		.snd_wnd_before_bytes = wp_num(28894208),
		.rto_us = wp_num(1632000),
		.rto_before_us = wp_num(204000),
		.backoff = wp_num(3),
		.timeouts = wp_num(3),
		.probes = wp_num(0),
		.retransmits = wp_num(3),
		.called_bytes = wp_num(0),
		.cpu_pct = wp_num(0.1),
		.run_delay_pct = wp_num(0.2),
		.carrier_changes = wp_num(0),
		.carrier_down_s = wp_num(0),
		.tx_packets = wp_num(3),
		.rx_packets = wp_num(0),
		.tx_dropped = wp_num(0),
		.rx_dropped = wp_num(0),
		.tx_timeouts = wp_absent("sysfs does not show the interface"),
		.least_queued_packets = wp_num(0),
		.most_queued_packets = wp_num(0),
		.dequeued_packets = wp_num(3),
		.queue_drops = wp_num(0),
		.requeues = wp_num(0),
		.softnet_dropped = wp_num(0),
		.softnet_squeezed = wp_num(0),
	};
}

static struct wp_stall_view receiver_view(void)
{
	return (struct wp_stall_view) {
		.role = "receiver",
		.flow = "1",
		.ended = "progress",
		.interface = "wpb",
		.flows = wp_num(1),
		.start_s = wp_num(2.06),
		.length_s = wp_num(2.05),
		.unread_bytes = wp_num(0),
		.cpu_pct = wp_num(0.4),
		.run_delay_pct = wp_num(0.7),
		.carrier_changes = wp_num(0),
		.carrier_down_s = wp_num(0),
		.rx_packets = wp_num(0),
		.rx_dropped = wp_num(0),
		.softnet_dropped = wp_num(0),
	};
}

struct scene {
	struct wp_run run;
	struct wp_stall_view client[4], server[4];
	struct wp_stall_line lines[2];
};

static void scene_init(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	wp_run_init(&s->run);
	s->run.n_hosts = 2;
	s->run.hosts[0].role = "client";
	s->run.hosts[1].role = "server";
	s->run.hosts[0].stalls = s->client;
	s->run.hosts[1].stalls = s->server;
	s->run.hosts[0].n_stalls = s->run.hosts[1].n_stalls = 1;
	s->run.test.kind = "tcp";
	s->run.test.protocol = "TCP";
	s->client[0] = sender_view();
	s->server[0] = receiver_view();
}

typedef void plant(struct scene *s);

static void link_down(struct scene *s)
{
	s->client[0].carrier_changes = wp_num(2);
	s->client[0].carrier_down_s = wp_num(1.99);
	s->server[0].carrier_changes = wp_num(2);
	s->server[0].carrier_down_s = wp_num(1.99);
}

static void link_down_there(struct scene *s)
{
	s->server[0].carrier_down_s = wp_num(1.5);
}

static void server_stopped(struct scene *s)
{
	s->client[0].snd_wnd_bytes = wp_num(0);
	s->client[0].unacked = wp_num(0);
	s->client[0].probes = wp_num(4);
	s->server[0] = (struct wp_stall_view) { .role = "process",
						.start_s = wp_num(2.0),
						.length_s = wp_num(2.1) };
}

static void both_paused(struct scene *s)
{
	s->client[1] = s->server[1] = (struct wp_stall_view) { .role = "process",
							       .start_s = wp_num(2.1),
							       .length_s = wp_num(1.9) };
	s->run.hosts[0].n_stalls = s->run.hosts[1].n_stalls = 2;
}

static void server_gone(struct scene *s)
{
	s->run.error = "the server vanished";
	s->run.exit_status = 1;
	s->run.n_hosts = 1;
	s->run.hosts[1].n_stalls = 0;
	s->client[0].ended = "test ended";
}

static void interrupted_by_hand(struct scene *s)
{
	s->run.error = "interrupted";
	s->run.exit_status = 130;
	s->client[0].ended = s->server[0].ended = "test ended";
}

/* The driver of DESIGN.md: interrupts are lost under load. */
static void lost_interrupts(struct scene *s)
{
	struct wp_stall_view *v = &s->client[0];

	s->lines[0] = (struct wp_stall_line) { "38 eth0-TxRx-1", wp_num(2),    wp_num(13248),
					       wp_num(0),        wp_num(9000), wp_num(1) };
	s->lines[1] = (struct wp_stall_line) { "NET_RX",  wp_num(2),    wp_num(13248),
					       wp_num(0), wp_num(9000), wp_num(0) };
	v->lines = s->lines;
	v->n_lines = 2;
	v->interface = "eth0";
	v->qdisc = "fq_codel";
	v->least_queued_packets = wp_num(900);
	v->most_queued_packets = wp_num(1000);
	v->dequeued_packets = wp_num(0);
	v->tx_packets = wp_num(0);
}

/* The same line, but only because nothing comes any more: the queue is empty and packets leave. */
static void quiet_line(struct scene *s)
{
	lost_interrupts(s);
	s->client[0].least_queued_packets = s->client[0].most_queued_packets = wp_num(0);
	s->client[0].tx_packets = wp_num(3);
}

static void blocked_queue(struct scene *s)
{
	struct wp_stall_view *v = &s->client[0];

	v->qdisc = "tbf";
	v->stuck_queue = "wpa tbf";
	v->timeouts = v->backoff = wp_num(0);
	v->least_queued_packets = wp_num(12);
	v->most_queued_packets = wp_num(40);
	v->dequeued_packets = wp_num(0);
}

static void watchdog(struct scene *s)
{
	s->client[0].tx_timeouts = wp_num(1);
	s->client[0].stuck_queue = "eth0 tx-3";
}

static void window_closed(struct scene *s)
{
	struct wp_stall_view *v = &s->client[0];

	v->snd_wnd_bytes = wp_num(0);
	v->unacked = wp_num(0);
	v->probes = wp_num(4);
	v->timeouts = wp_num(0);
	v->backoff = wp_num(4);
	s->server[0].unread_bytes = wp_num(6e6);
}

static void reader_without_cpu(struct scene *s)
{
	window_closed(s);
	s->server[0].run_delay_pct = wp_num(93);
}

static void sender_without_cpu(struct scene *s)
{
	struct wp_stall_view *v = &s->client[0];

	v->unacked = v->notsent_bytes = v->timeouts = v->backoff = wp_num(0);
	v->run_delay_pct = wp_num(97);
}

static void loss(struct scene *s)
{
	s->server[0].rx_packets = wp_num(3);
}

static void dropped_there(struct scene *s)
{
	s->server[0].rx_dropped = wp_num(3);
}

static void unanswered(struct scene *s)
{
	s->run.test.kind = "rr";
	s->client[0].unacked = s->client[0].notsent_bytes = s->client[0].timeouts =
		s->client[0].backoff = wp_num(0);
	s->run.hosts[1].n_stalls = 0;
}

static void nothing_known(struct scene *s)
{
	struct wp_stall_view *v = &s->client[0];

	v->unacked = v->timeouts = v->backoff = wp_num(0);
	v->interface = NULL;
}

/* A record may lack nearly everything. */
static void bare(struct scene *s)
{
	s->client[0] = (struct wp_stall_view) { .role = "sender" };
	s->run.hosts[1].n_stalls = 0;
	s->run.n_hosts = 1;
}

/* The stall of a receiver alone: datagrams that do not come. */
static void receiver_only(struct scene *s)
{
	s->run.test.protocol = "UDP";
	s->run.test.kind = "udp";
	s->run.hosts[0].n_stalls = 0;
	s->server[0].carrier_down_s = wp_num(2);
}

static void each_cause_is_named(void **state)
{
	static const struct {
		const char *name;
		plant *plant;
		const char *cause, *words, *seen_by;
	} cases[] = {
		{ "link down", link_down, WP_STALL_CARRIER, "wpa (client)", "both" },
		{ "link down at the server", link_down_there, WP_STALL_CARRIER, "wpb (server)",
		  "both" },
		{ "server stopped", server_stopped, WP_STALL_STOPPED, "receiver (server)",
		  "client" },
		{ "both paused", both_paused, WP_STALL_STOPPED, "neither end", "both" },
		{ "server gone", server_gone, WP_STALL_VANISHED, "the server vanished", "client" },
		{ "Ctrl-C", interrupted_by_hand, WP_STALL_LOST, "204 ms", "both" },
		{ "lost interrupts", lost_interrupts, WP_STALL_INTERRUPTS,
		  "38 eth0-TxRx-1 on CPU 2 stopped (13248 a second before, 0 meanwhile, 9000 after)",
		  "both" },
		{ "a line that has nothing to do", quiet_line, WP_STALL_LOST, "timeouts", "both" },
		{ "blocked queue", blocked_queue, WP_STALL_QUEUE, "wpa tbf", "both" },
		{ "watchdog", watchdog, WP_STALL_QUEUE, "eth0 tx-3", "both" },
		{ "window", window_closed, WP_STALL_WINDOW, "did not read", "both" },
		{ "reader without a CPU", reader_without_cpu, WP_STALL_OFF_CPU, "receiver's thread",
		  "both" },
		{ "sender without a CPU", sender_without_cpu, WP_STALL_OFF_CPU, "sender's thread",
		  "both" },
		{ "loss", loss, WP_STALL_LOST, "wpb (server) took 3 packets", "both" },
		{ "dropped there", dropped_there, WP_STALL_LOST, "dropped by wpb (server)",
		  "both" },
		{ "no answer", unanswered, WP_STALL_NO_ANSWER, "did not answer", "client" },
		{ "nothing known", nothing_known, WP_STALL_UNEXPLAINED, "the interface", "both" },
		{ "bare", bare, WP_STALL_UNEXPLAINED, "what the other end saw", "client" },
		{ "receiver only", receiver_only, WP_STALL_CARRIER, "wpb (server)", "server" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct scene s;
		const struct wp_stall *stall;

		scene_init(&s);
		cases[i].plant(&s);
		assert_int_equal(wp_explain(&s.run), 0);
		assert_int_equal(s.run.n_stalls, 1);
		stall = &s.run.stalls[0];
		if (strcmp(stall->cause, cases[i].cause) || !strstr(stall->says, cases[i].words) ||
		    strcmp(stall->seen_by, cases[i].seen_by))
			fail_msg("%s: %s (seen by %s): %s", cases[i].name, stall->cause,
				 stall->seen_by, stall->says);
		assert_true(s.run.n_findings >= 1);
		assert_string_equal(s.run.findings[0].rule, WP_RULE_STALLED);
		assert_non_null(strstr(s.run.findings[0].says, stall->says));
		assert_true(s.run.findings[0].share_pct >= 0 && s.run.findings[0].share_pct <= 100);
		s.run.hosts[0].n_stalls = s.run.hosts[1].n_stalls = 0;
		wp_run_done(&s.run);
	}
}

/* Every cause of the table is what some case above names, and no other. */
static void the_causes_are_documented(void **state)
{
	static const char *const names[] = {
		WP_STALL_CARRIER,   WP_STALL_STOPPED,     WP_STALL_VANISHED, WP_STALL_INTERRUPTS,
		WP_STALL_QUEUE,     WP_STALL_WINDOW,      WP_STALL_OFF_CPU,  WP_STALL_LOST,
		WP_STALL_NO_ANSWER, WP_STALL_UNEXPLAINED,
	};
	const struct wp_metric *m = wp_metric_find(WP_SCOPE_STALL, "cause");

	(void)state;
	assert_non_null(m);
	assert_int_equal(WP_ARRAY_SIZE(names), WP_N_STALL_CAUSES);
	for (size_t i = 0; i < WP_N_STALL_CAUSES; i++) {
		assert_string_equal(wp_stall_causes[i].name, names[i]);
		assert_true(strlen(wp_stall_causes[i].sign) > 0);
		assert_non_null(strstr(m->help, names[i]));
	}
}

static void two_stalls_stay_two(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	s.client[1] = sender_view();
	s.client[1].start_s = wp_num(10);
	s.client[1].length_s = wp_num(3);
	s.run.hosts[0].n_stalls = 2;
	assert_int_equal(wp_explain(&s.run), 0);
	assert_int_equal(s.run.n_stalls, 2);
	assert_string_equal(s.run.stalls[0].seen_by, "both");
	assert_string_equal(s.run.stalls[1].seen_by, "client");
	assert_true(s.run.stalls[0].start_s.v < s.run.stalls[1].start_s.v);
	assert_non_null(strstr(s.run.findings[0].says, "nothing got through for 3"));
	assert_non_null(strstr(s.run.findings[0].says, "with 1 more"));
	s.run.hosts[0].n_stalls = s.run.hosts[1].n_stalls = 0;
	wp_run_done(&s.run);
}

/* Both directions stand still: a view of one is not the partner of one of the other. */
static void directions_are_not_mixed(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	s.client[1] = receiver_view();
	s.server[1] = sender_view();
	s.run.hosts[0].n_stalls = s.run.hosts[1].n_stalls = 2;
	assert_int_equal(wp_stalls_judge(&s.run), 0);
	assert_int_equal(s.run.n_stalls, 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(s.run.stalls[i].seen_by, "both");
	s.run.hosts[0].n_stalls = s.run.hosts[1].n_stalls = 0;
	wp_run_done(&s.run);
}

/* A gap of a process that nobody else noticed is no stall. */
static void a_gap_alone_is_no_stall(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	server_stopped(&s);
	s.run.hosts[0].n_stalls = 0;
	assert_int_equal(wp_explain(&s.run), 0);
	assert_int_equal(s.run.n_stalls, 0);
	assert_int_equal(s.run.n_findings, 0);
	s.run.hosts[1].n_stalls = 0;
	wp_run_done(&s.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause_is_named),
		cmocka_unit_test(the_causes_are_documented),
		cmocka_unit_test(two_stalls_stay_two),
		cmocka_unit_test(directions_are_not_mixed),
		cmocka_unit_test(a_gap_alone_is_no_stall),
	};

	return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
