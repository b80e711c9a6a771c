/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that everything else is generated from: options, engines, peers, rules (metrics: model/test_model.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/options.h"
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

/* DESIGN section 2: options that iperf users know keep their letters. */
static void letters_that_iperf_users_know(void **state)
{
	static const struct {
		char letter;
		const char *name;
	} known[] = {
		{ 't', "time" },    { 'i', "interval" }, { 'P', "parallel" }, { 'l', "length" },
		{ 'b', "bitrate" }, { 'n', "bytes" },    { 'k', "blocks" },   { 'R', "reverse" },
		{ 'w', "window" },  { 'M', "set-mss" },  { 'N', "no-delay" }, { 'C', "congestion" },
		{ 'O', "omit" },    { 'Z', "zerocopy" }, { '4', "version4" }, { '6', "version6" },
		{ 'B', "bind" },    { 'p', "port" },     { 'f', "unit" },     { 'J', "json" },
		{ 'S', "dscp" },
	};

	(void)state;
	for (size_t k = 0; k < WP_ARRAY_SIZE(known); k++) {
		bool found = false;

		for (size_t i = 0; i < WP_N_TCP_OPTIONS; i++)
			found |= wp_tcp_options[i].letter == known[k].letter &&
				 !strcmp(wp_tcp_options[i].name, known[k].name);
		if (!found)
			fail_msg("-%c is not --%s", known[k].letter, known[k].name);
	}
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
		cmocka_unit_test(engines_are_well_formed),
		cmocka_unit_test(peers_are_well_formed),

		cmocka_unit_test(rules_are_well_formed),
		cmocka_unit_test(dscp_words),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
