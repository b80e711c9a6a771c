/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that everything else is generated from: options, engines, peers, rules (metrics: model/test_model.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sweep_test.h"
#include "explain/rules.h"
#include "load/engine.h"
#include "peer/peer.h"

static void commands_are_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; wp_commands[i]; i++) {
		const struct wp_command *c = wp_commands[i];
		struct wp_err err = { 0 };

		assert_true(c->name && c->group && c->operands && c->summary && c->about &&
			    c->examples && c->run);
		assert_true(strlen(c->summary) <= 70);
		assert_ptr_equal(wp_command_find(c->name), c);
		assert_true(c->config_size <= 4096);
		assert_true(c->max_operands == -1 || c->max_operands >= c->min_operands);
		if (wp_opt_check(c->options, c->n_options, c->config_size, &err))
			fail_msg("%s: %s", c->name, err.msg);
	}
	assert_null(wp_command_find("nonsense"));
}

struct letters {
	const char *letters, *names; /* in step, separated by blanks */
};

static void check_letters(const struct wp_command *c, const struct letters *known)
{
	const char *name = known->names;

	for (const char *l = known->letters; *l; l++, name += strcspn(name, " ") + 1) {
		size_t len = strcspn(name, " ");
		bool found = false;

		for (size_t i = 0; i < c->n_options; i++)
			found |= c->options[i].letter == *l &&
				 !strncmp(c->options[i].name, name, len) &&
				 !c->options[i].name[len];
		if (!found)
			fail_msg("%s: -%c is not --%.*s", c->name, *l, (int)len, name);
	}
}

/* DESIGN section 2: options that iperf users know keep their letters. */
static void letters_that_iperf_users_know(void **state)
{
	static const struct letters
		all = { "tiPOl46BpfJSw",
			"time interval parallel omit length version4 version6 bind "
			"port unit json dscp window " },
		streams = { "nkRb", "bytes blocks reverse bitrate " },
		tcp = { "MNCZ", "set-mss no-delay congestion zerocopy " },
		rr = { "nuC", "transactions udp congestion " };

	(void)state;
	check_letters(&wp_cmd_tcp, &all);
	check_letters(&wp_cmd_udp, &all);
	check_letters(&wp_cmd_rr, &all);
	check_letters(&wp_cmd_tcp, &streams);
	check_letters(&wp_cmd_udp, &streams);
	check_letters(&wp_cmd_tcp, &tcp);
	check_letters(&wp_cmd_rr, &rr);
}

/* The same letter and name mean the same value everywhere. */
static void shared_options_are_shared(void **state)
{
	const struct wp_command *const commands[] = { &wp_cmd_udp, &wp_cmd_rr };

	(void)state;
	for (size_t k = 0; k < WP_ARRAY_SIZE(commands); k++)
		for (size_t i = 0; i < commands[k]->n_options; i++) {
			const struct wp_opt *o = &commands[k]->options[i];

			for (size_t j = 0; j < WP_N_TCP_OPTIONS; j++) {
				const struct wp_opt *t = &wp_tcp_options[j];

				if (strcmp(o->name, t->name) || !strcmp(o->name, "bitrate"))
					continue;
				assert_true(o->letter == t->letter && o->type == t->type &&
					    o->offset == t->offset);
			}
		}
}

/* Parses the words of a command and makes the plan. */
static int plan_of(const struct wp_command *c, const char *const *words, struct wp_plan *ret,
		   struct wp_err *err)
{
	struct wp_test_config config = { 0 };
	struct wp_operands operands = { 0 };
	int n = 0, r;

	while (n < 12 && words[n])
		n++;
	memset(err, 0, sizeof(*err));
	r = wp_opt_defaults(c->options, c->n_options, &config, err);
	if (!r)
		r = wp_opt_parse(c->options, c->n_options, &config, n, words, false, &operands,
				 err);
	if (!r)
		r = wp_test_plan(&config, c->name, ret, err);
	wp_operands_done(&operands);
	wp_opt_done(c->options, c->n_options, &config);
	return r;
}

static void plans_of_datagrams(void **state)
{
	static const struct {
		const char *words[12];
		uint64_t rate_bps, length_bytes, limit_bytes;
		int64_t duration_ns;
	} cases[] = {
		{ { "lab" }, 10000000, 1400, 0, INT64_C(10000000000) },
		{ { "-b", "0", "-l", "64" }, 0, 64, 0, INT64_C(10000000000) },
		{ { "-b36kpps", "-l64" }, 36000 * 64 * 8, 64, 0, INT64_C(10000000000) },
		{ { "-b", "2.5pps", "-l", "1000", "-t", "5" },
		  20000,
		  1000,
		  0,
		  INT64_C(5000000000) },
		{ { "-b", "1G", "--total", "-P", "4" }, 250000000, 1400, 0, INT64_C(10000000000) },
		{ { "-b", "400pps", "--total", "-P", "4", "-l", "1" },
		  800,
		  1,
		  0,
		  INT64_C(10000000000) },
		{ { "-k", "1000", "-l", "100" }, 10000000, 100, 100000, 0 },
		{ { "-n", "1M", "-t", "3" }, 10000000, 1400, 1 << 20, INT64_C(3000000000) },
	};
	struct wp_err err;
	struct wp_plan p;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		if (plan_of(&wp_cmd_udp, cases[i].words, &p, &err))
			fail_msg("%zu: %s", i, err.msg);
		assert_true(p.transport == WP_UDP && p.rate_bps == cases[i].rate_bps);
		assert_true(p.length_bytes == cases[i].length_bytes);
		assert_true(p.limit_bytes == cases[i].limit_bytes);
		assert_true(p.duration_ns == cases[i].duration_ns);
		assert_true(!p.gso && !p.gro && !p.spin && !p.unconnected && !p.batch);
	}
	assert_int_equal(
		plan_of(&wp_cmd_udp,
			(const char *const[12]) { "--gso", "--gro", "--spin", "--unconnected",
						  "--batch=32", "--busy-poll=50", "-R", "-Sef" },
			&p, &err),
		0);
	assert_true(p.gso && p.gro && p.spin && p.unconnected && p.batch == 32);
	assert_true(p.busy_poll_us == 50 && p.direction == WP_REVERSE && p.dscp == 46);
}

static void plans_of_transactions(void **state)
{
	static const struct {
		const char *words[12];
		enum wp_transport transport;
		uint64_t request, response, limit_bytes, rate_mhz;
		unsigned streams, outstanding;
	} cases[] = {
		{ { "lab" }, WP_TCP, 1, 1, 0, 0, 1, 1 },
		{ { "--udp", "-l", "64" }, WP_UDP, 64, 64, 0, 0, 1, 1 },
		{ { "-l64", "--response", "1K" }, WP_TCP, 64, 1024, 0, 0, 1, 1 },
		{ { "--request=10", "--response=20" }, WP_TCP, 10, 20, 0, 0, 1, 1 },
		{ { "-n", "1000", "--request", "3" }, WP_TCP, 3, 1, 3000, 0, 1, 1 },
		{ { "-P", "10000", "--rate", "0.5", "--poisson" }, WP_TCP, 1, 1, 0, 500, 10000, 1 },
		{ { "--rate", "20k", "--outstanding", "8" }, WP_TCP, 1, 1, 0, 20000000, 1, 8 },
	};
	struct wp_err err;
	struct wp_plan p;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		if (plan_of(&wp_cmd_rr, cases[i].words, &p, &err))
			fail_msg("%zu: %s", i, err.msg);
		assert_true(p.transport == cases[i].transport);
		assert_true(p.length_bytes == cases[i].request);
		assert_true(p.response_bytes == cases[i].response);
		assert_true(p.limit_bytes == cases[i].limit_bytes);
		assert_true(p.rate_mhz == cases[i].rate_mhz);
		assert_true(p.streams == cases[i].streams);
		assert_true(p.outstanding == cases[i].outstanding);
		assert_true(p.direction == WP_FORWARD && !p.rate_bps);
	}
	assert_int_equal(
		plan_of(&wp_cmd_rr,
			(const char *const[12]) { "--connect", "--wait", "spin", "--cpu=all" }, &p,
			&err),
		0);
	assert_true(p.connect_each && p.wait == WP_WAIT_SPIN);
}

static void what_cannot_be_planned(void **state)
{
	static const struct {
		const struct wp_command *command;
		const char *words[12];
		const char *says; /* part of the sentence */
	} cases[] = {
		{ &wp_cmd_udp, { "-l", "0" }, "-l: 0 is out of range; allowed is 1 to 65507" },
		{ &wp_cmd_udp,
		  { "-l", "65508" },
		  "-l: 65508 is out of range; allowed is 1 to 65507" },
		{ &wp_cmd_udp, { "-b", "0.1pps" }, "allowed is 1pps to 1Gpps" },
		{ &wp_cmd_udp, { "-b", "101T" }, "allowed is 0 to 100T" },
		{ &wp_cmd_udp, { "-b", "1Gpps", "-l", "65507" }, "below 100 Tbit/s" },
		{ &wp_cmd_udp, { "-b", "1k" }, "at least one packet a second" },
		{ &wp_cmd_udp, { "-b", "2pps", "--total", "-P3" }, "at least one packet a second" },
		{ &wp_cmd_udp, { "-b", "2", "-l1", "--total", "-P3" }, "can't be divided" },
		{ &wp_cmd_udp, { "-b", "0", "--total" }, "flat out" },
		{ &wp_cmd_udp, { "-b", "0", "--spin" }, "--spin" },
		{ &wp_cmd_udp, { "--batch", "1025" }, "0 to 1024" },
		{ &wp_cmd_udp, { "-P", "1001" }, "1 to 1000" },
		{ &wp_cmd_udp, { "-M", "1000" }, "unknown option -M" },
		{ &wp_cmd_udp, { "--zerocpy" }, "unknown option --zerocpy" },
		{ &wp_cmd_udp, { "-R", "--bidir" }, "exclude each other" },
		{ &wp_cmd_udp, { "-k", "1T", "-l65507", "-n1M" }, "exclude each other" },
		{ &wp_cmd_rr, { "-R" }, "-R: a transaction goes there and back" },
		{ &wp_cmd_rr, { "--bidir" }, "--bidir: a transaction goes" },
		{ &wp_cmd_rr, { "--poisson" }, "--poisson needs the rate" },
		{ &wp_cmd_rr, { "--rate", "0" }, "0.001 to 1G" },
		{ &wp_cmd_rr, { "--rate", "2G" }, "0.001 to 1G" },
		{ &wp_cmd_rr, { "--request", "0" }, "1 to 64M" },
		{ &wp_cmd_rr, { "--udp", "--response", "65508" }, "65507" },
		{ &wp_cmd_rr, { "--udp", "--connect" }, "--connect" },
		{ &wp_cmd_rr, { "--connect", "--outstanding", "2" }, "--connect" },
		{ &wp_cmd_rr, { "--outstanding", "0" }, "1 to 1024" },
		{ &wp_cmd_rr, { "-P", "10001" }, "1 to 10000" },
		{ &wp_cmd_rr, { "-n", "3", "-P", "4" }, "less than one for each" },
		{ &wp_cmd_rr, { "--response-timeout", "2" }, "--udp" },
		{ &wp_cmd_rr, { "--wait", "epol" }, "did you mean epoll" },
		{ &wp_cmd_rr, { "-b", "1M" }, "unknown option -b" },
		{ &wp_cmd_tcp, { "--gso" }, "unknown option --gso" },
	};
	struct wp_err err;
	struct wp_plan p;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(plan_of(cases[i].command, cases[i].words, &p, &err), -EINVAL);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%zu: \"%s\" without \"%s\"", i, err.msg, cases[i].says);
	}
}

static void figures_to_rank_by(void **state)
{
	static const char *const good[] = { "received_bps", "received_packets_per_s", "lost_pct",
					    "latency_us.p99", "transactions_per_s" };
	static const char *const bad[] = { "", "lost", "kind", "latency_us", "sent_packets" };
	const struct wp_metric *m;
	struct wp_err err;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(good); i++) {
		assert_int_equal(wp_sweep_metric(good[i], &m, &err), 0);
		assert_string_equal(m->name, good[i]);
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		assert_int_equal(wp_sweep_metric(bad[i], &m, &err), -EINVAL);
	for (size_t i = 0; wp_commands[i]; i++)
		if (wp_sweep_default_metric(wp_commands[i]->name))
			assert_int_equal(
				wp_sweep_metric(wp_sweep_default_metric(wp_commands[i]->name), &m,
						&err),
				0);
	assert_string_equal(wp_sweep_default_metric("udp"), "received_packets_per_s");
	assert_null(wp_sweep_default_metric("serve"));
}

static void engines_are_well_formed(void **state)
{
	(void)state;
	assert_non_null(wp_engine_find("tcp"));
	assert_non_null(wp_engine_find("null"));
	assert_null(wp_engine_find("nonsense"));
	for (size_t i = 0; wp_engines[i]; i++) {
		struct wp_err err = { 0 };

		if (wp_engine_check(wp_engines[i], &err))
			fail_msg("%s", err.msg);
		assert_ptr_equal(wp_engine_find(wp_engines[i]->name), wp_engines[i]);
	}
}

static void peers_are_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; wp_peers[i]; i++) {
		const struct wp_peer_ops *p = wp_peers[i];

		assert_true(p->name && p->summary && p->default_port && p->caps);
		assert_true(p->connect && p->start && p->event && p->stop && p->finish && p->close);
		assert_ptr_equal(wp_peer_find(p->name), p);
		for (size_t j = 0; j < i; j++)
			assert_true(strcmp(p->name, wp_peers[j]->name) &&
				    p->default_port != wp_peers[j]->default_port);
	}
	assert_null(wp_peer_find("nonsense"));
}

static void rules_are_well_formed(void **state)
{
	(void)state;
	assert_true(wp_n_rules > 0);
	for (size_t i = 0; i < wp_n_rules; i++) {
		assert_true(wp_rules[i].name && wp_rules[i].summary && wp_rules[i].needs &&
			    wp_rules[i].evaluate);
		for (const char *c = wp_rules[i].name; *c; c++)
			assert_true(islower((unsigned char)*c) || *c == '_' ||
				    isdigit((unsigned char)*c));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(wp_rules[i].name, wp_rules[j].name);
	}
}

static void dscp_words(void **state)
{
	static const struct {
		const char *text;
		int dscp; /* -2 = refused */
	} cases[] = {
		{ NULL, -1 },   { "0", 0 },      { "46", 46 }, { "63", 63 },   { "64", -2 },
		{ "ef", 46 },   { "AF41", 34 },  { "cs1", 8 }, { "0xb8", 46 }, { "0x10", 4 },
		{ "0xb9", -2 }, { "0x1ff", -2 }, { "0x", -2 }, { "", -2 },     { "-1", -2 },
		{ "ef ", -2 },  { "0x-4", -2 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		int dscp = -3, r = wp_parse_dscp(cases[i].text, &dscp, NULL);

		if (cases[i].dscp == -2)
			assert_true(r < 0);
		else
			assert_true(r == 0 && dscp == cases[i].dscp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_well_formed),
		cmocka_unit_test(letters_that_iperf_users_know),
		cmocka_unit_test(shared_options_are_shared),
		cmocka_unit_test(plans_of_datagrams),
		cmocka_unit_test(plans_of_transactions),
		cmocka_unit_test(what_cannot_be_planned),
		cmocka_unit_test(figures_to_rank_by),
		cmocka_unit_test(engines_are_well_formed),
		cmocka_unit_test(peers_are_well_formed),

		cmocka_unit_test(rules_are_well_formed),
		cmocka_unit_test(dscp_words),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
