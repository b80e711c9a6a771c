/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "peer/limits.h"
#include "peer/message.h"
#include "peer/proto.h"

static const struct wp_preamble sample = {
	.token = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255 },
	.stream = 0x0102,
	.role = WP_STREAM_RECEIVES,
};

static void a_preamble_has_the_documented_bytes(void **state)
{
	static const uint8_t bytes[WP_PREAMBLE_BYTES] = {
		'W', 'P', 'D', '1', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		13,  14,  15,  255, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0,  0,  0,
	};
	uint8_t out[WP_PREAMBLE_BYTES];
	struct wp_preamble p;

	(void)state;
	wp_preamble_encode(&sample, out);
	assert_memory_equal(out, bytes, sizeof(bytes));
	assert_int_equal(wp_preamble_decode(out, sizeof(out), &p), 0);
	assert_memory_equal(p.token, sample.token, WP_TOKEN_BYTES);
	assert_int_equal(p.stream, 0x0102);
	assert_int_equal(p.role, WP_STREAM_RECEIVES);
}

static void every_damaged_preamble_is_refused(void **state)
{
	uint8_t out[WP_PREAMBLE_BYTES + 1] = { 0 };
	struct wp_preamble p;

	(void)state;
	wp_preamble_encode(&sample, out);
	for (size_t len = 0; len < WP_PREAMBLE_BYTES; len++)
		assert_int_equal(wp_preamble_decode(out, len, &p), -EBADMSG);
	assert_int_equal(wp_preamble_decode(out, WP_PREAMBLE_BYTES + 1, &p), -EBADMSG);
	for (size_t i = 0; i < WP_PREAMBLE_BYTES; i++) {
		int r;

		if (i >= 4 && i < 20)
			continue; /* the token: any value */
		out[i] ^= 0x80;
		r = wp_preamble_decode(out, WP_PREAMBLE_BYTES, &p);
		if (i == 22 || i == 23) /* still an index, but a large one for byte 22 */
			assert_true(r == (i == 22 ? -ERANGE : 0));
		else
			assert_true(r == -EBADMSG || r == -ERANGE);
		out[i] ^= 0x80;
	}
}

static void tokens_are_exactly_32_digits(void **state)
{
	static const char *const bad[] = {
		"",
		"0123456789abcdef0123456789abcde",
		"0123456789abcdef0123456789abcdef0",
		"0123456789ABCDEF0123456789abcdef",
		"0123456789abcdef0123456789abcde/",
	};
	uint8_t token[WP_TOKEN_BYTES];
	char hex[WP_TOKEN_HEX];

	(void)state;
	assert_int_equal(wp_token_from_hex("0123456789abcdef0123456789abcdef", token), 0);
	wp_token_to_hex(token, hex);
	assert_string_equal(hex, "0123456789abcdef0123456789abcdef");
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		assert_int_equal(wp_token_from_hex(bad[i], token), -EBADMSG);
	assert_true(wp_token_equal(token, token));
	assert_false(wp_token_equal(token, sample.token));
}

static int decode(const char *text, json_t **ret, struct wp_err *err)
{
	return wp_message_decode(text, strlen(text), WP_PEER_REQUEST_VALUES, ret, err);
}

static void what_is_no_message_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "not a message" },
		{ "GET / HTTP/1.1", "not a message" },
		{ "[1]", "not a message" },
		{ "{", "not valid JSON" },
		{ "{\"type\":\"ping\"} x", "not valid JSON" },
		{ "{\"a\":1,\"a\":2}", "not valid JSON" },
		{ "{\"a\":\"\\u0000\"}", "not valid JSON" },
		{ "{\"a\":\"\xff\"}", "not valid JSON" },
		{ "{\"a\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}", "nested" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		struct wp_err err = { 0 };
		json_t *m = NULL;

		assert_true(decode(rows[i].text, &m, &err) < 0);
		assert_null(m);
		assert_non_null(strstr(err.msg, rows[i].says));
	}
}

static void the_number_of_values_is_bounded(void **state)
{
	_cleanup_buf_ struct wp_buf text = WP_BUF(WP_PEER_REQUEST_BYTES);
	struct wp_err err = { 0 };
	json_t *m = NULL;

	(void)state;
	wp_buf_puts(&text, "{\"a\":[");
	while (text.len + 8 < text.max)
		wp_buf_puts(&text, "[],");
	wp_buf_puts(&text, "0]}");
	assert_int_equal(wp_message_decode(text.data, text.len, WP_PEER_REQUEST_VALUES, &m, &err),
			 -E2BIG);
	assert_non_null(strstr(err.msg, "values"));
	/* Commas and brackets inside strings are text. */
	wp_buf_reset(&text);
	wp_buf_puts(&text, "{\"a\":\"\\\"");
	while (text.len + 8 < text.max)
		wp_buf_puts(&text, "[,{");
	wp_buf_puts(&text, "\"}");
	assert_int_equal(wp_message_decode(text.data, text.len, 10, &m, NULL), 0);
	json_decref(m);
}

/* The parser never reads past the line: it ends at an unmapped page, at every truncation. */
static void no_truncated_message_is_read_past_its_end(void **state)
{
	static const char text[] =
		"{\"type\":\"error\",\"says\":\"caf\\u00e9 \xc3\xa9 \\\"\",\"n\":[1.5e3,null,true]}";
	const size_t page = 4096, len = sizeof(text) - 1;
	char *map =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
	for (size_t n = 0; n <= len; n++) {
		char *at = map + page - n, clean[sizeof(text)];
		json_t *m = NULL;

		memcpy(at, text, n);
		assert_int_equal(wp_message_decode(at, n, 100, &m, NULL), n == len ? 0 : -EBADMSG);
		json_decref(m);
		wp_message_clean(at, n, clean, sizeof(clean));
		assert_true(strlen(clean) <= n);
	}
	munmap(map, 2 * page);
}

static void text_of_the_other_end_can_not_drive_a_terminal(void **state)
{
	static const struct {
		const char *text, *clean;
	} rows[] = {
		{ "plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f",
		  "plain caf\xc3\xa9 \xe2\x82\xac "
		  "\xf0\x9f\x90\x9f" },
		{ "\x1b[31mred\n\x7f", "?[31mred??" },
		{ "\xc2\x9b"
		  "31m",
		  "??31m" }, /* C1 CSI */
		{ "\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80", "?????????" },
		{ "\xe2\x82", "??" },
	};
	char out[64], small[6];

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		wp_message_clean(rows[i].text, strlen(rows[i].text), out, sizeof(out));
		assert_string_equal(out, rows[i].clean);
	}
	wp_message_clean("abc\xe2\x82\xac", 6, small, sizeof(small));
	assert_string_equal(small, "abc"); /* the euro sign does not fit whole */
}

static void every_string_of_a_message_is_clean(void **state)
{
	json_t *m = NULL;
	const json_t *inner;

	(void)state;
	assert_int_equal(
		decode("{\"a\":[{\"b\":\"\\u001b[2J caf\\u00e9\"}],\"c\":\"fine\"}", &m, NULL), 0);
	inner = json_array_get(json_object_get(m, "a"), 0);
	assert_string_equal(json_string_value(json_object_get(inner, "b")), "?[2J caf\xc3\xa9");
	assert_string_equal(json_string_value(json_object_get(m, "c")), "fine");
	json_decref(m);
}

static void the_message_table_is_well_formed(void **state)
{
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_messages_table_check(&err), 0);
	for (int t = 0; t < WP_TALK_N; t++)
		assert_string_not_equal(wp_talk_name((enum wp_talk)t), "?");
}

static void every_message_out_of_turn_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < WP_MSG_N; i++)
		for (int side = 0; side < 2; side++)
			for (int talk = 0; talk < WP_TALK_N; talk++) {
				const struct wp_message_row *row = &wp_messages[i];
				json_t *m = wp_message_new((enum wp_message)i);
				struct wp_err err = { 0 };
				enum wp_message id = WP_MSG_N;
				bool legal = (row->from >> side & 1) && (row->talks >> talk & 1);
				int r;

				assert_non_null(m);
				r = wp_message_check(m, (enum wp_side)side, (enum wp_talk)talk, &id,
						     &err);
				if (!legal)
					assert_int_equal(r, -EPROTO);
				else if (row->n_keys)
					assert_int_equal(r, -EBADMSG); /* it has no keys */
				else
					assert_true(r == 0 && id == (enum wp_message)i);
				assert_true((r < 0) == (err.msg[0] != 0));
				json_decref(m);
			}
}

static int count_ping(void *arg, const json_t *message, struct wp_err *err)
{
	(void)message;
	(void)err;
	++*(int *)arg;
	return 7;
}

static void the_dispatcher_calls_only_what_was_checked(void **state)
{
	static wp_message_handler *const handlers[WP_MSG_N] = {
		[WP_MSG_PING] = count_ping, [WP_MSG_ERROR] = count_ping
	};
	json_t *ping = wp_message_new(WP_MSG_PING), *bad = wp_message_new(WP_MSG_ERROR);
	json_t *ready = wp_message_new(WP_MSG_READY), *odd = json_pack("{si}", "type", 3);
	int n = 0;

	(void)state;
	assert_int_equal(wp_message_dispatch(ping, WP_SERVER, WP_TALK_RUN, handlers, &n, NULL), 7);
	assert_int_equal(wp_message_dispatch(bad, WP_SERVER, WP_TALK_RUN, handlers, &n, NULL),
			 -EBADMSG);
	assert_int_equal(wp_message_dispatch(ready, WP_SERVER, WP_TALK_CONNECT, handlers, &n, NULL),
			 -EPROTO);
	assert_int_equal(wp_message_dispatch(odd, WP_SERVER, WP_TALK_RUN, handlers, &n, NULL),
			 -EBADMSG);
	assert_int_equal(n, 1);
	json_decref(ping);
	json_decref(bad);
	json_decref(ready);
	json_decref(odd);
}

static void a_hello_survives_the_wire(void **state)
{
	struct wp_hello hello = { .protocol = 1,
				  .version = "0.1.0",
				  .kinds = wp_hello_kinds(),
				  .limited = true,
				  .max_duration_ns = 5,
				  .max_rate_bps = 1000000,
				  .max_streams = 10,
				  .max_connections = 20 };
	struct wp_hello got;
	enum wp_message id;
	json_t *m;

	(void)state;
	wp_boot_hash("6c8bd5ee-6b6c-4d0b-9d3b-0d6f9dbf6e51", hello.boot);
	assert_int_equal(strlen(hello.boot), 32);
	m = wp_message_hello(&hello);
	assert_int_equal(wp_message_check(m, WP_CLIENT, WP_TALK_HELLO, &id, NULL), 0);
	wp_hello_from(m, &got);
	assert_string_equal(got.version, "0.1.0");
	assert_string_equal(got.boot, hello.boot);
	assert_true(got.protocol == 1 && got.limited && got.max_duration_ns == 5 &&
		    got.max_rate_bps == 1000000 && got.max_streams == 10 &&
		    got.max_connections == 20);
	assert_true(got.kinds == hello.kinds && wp_hello_knows(&got, "tcp"));
	assert_false(wp_hello_knows(&got, "null")); /* needs no other end */
	assert_false(wp_hello_knows(&got, "no such kind"));
	json_decref(m);
	wp_boot_hash("", hello.boot);
	assert_string_equal(hello.boot, "");
}

static void a_hello_of_another_version_tells_what_it_knows(void **state)
{
	struct wp_hello got;
	json_t *m;

	(void)state;
	assert_int_equal(
		decode("{\"type\":\"hello\",\"protocol\":1,\"version\":\"9\","
		       "\"caps\":[\"tcp\",\"quic\",7,null],\"limits\":{\"max_streams\":5}}",
		       &m, NULL),
		0);
	wp_hello_from(m, &got);
	assert_true(wp_hello_knows(&got, "tcp"));
	assert_false(wp_hello_knows(&got, "quic"));
	assert_int_equal(got.max_streams, 5);
	assert_int_equal(got.max_connections,
			 WP_MAX_CONNECTIONS); /* not said: nothing is forbidden */
	json_decref(m);
}

static struct wp_plan a_plan(void)
{
	static int here[] = { 7 }, there[] = { 3, 1, 1 };

	return (struct wp_plan) {
		.kind = "tcp",
		.streams = 4,
		.direction = WP_BOTH,
		.duration_ns = 10000000000,
		.omit_ns = 1000000000,
		.interval_ns = 10000000,
		.sample_ns = 20000000,
		.length_bytes = 1 << 20,
		.rate_bps = 40000000000,
		.window_bytes = 65536,
		.mss_bytes = 1400,
		.nodelay = true,
		.dscp = -1,
		.congestion = "cubic",
		.fill = WP_FILL_PATTERN,
		.check = true,
		.send_method = WP_SEND_WRITE,
		.receive_method = WP_RECEIVE_READ,
		.bind_host = "stays at home",
		.cpus = { .cpu = here, .n = 1 },
		.peer_cpus = { .cpu = there, .n = 3 },
	};
}

static void a_plan_survives_the_wire(void **state)
{
	struct wp_pool pool = WP_POOL(1 << 16);
	struct wp_plan plan = a_plan(), got;
	json_t *m = wp_message_test(&plan);
	enum wp_message id;

	(void)state;
	assert_non_null(m);
	assert_int_equal(wp_message_check(m, WP_CLIENT, WP_TALK_TEST, &id, NULL), 0);
	assert_int_equal(wp_test_from(m, &got, &pool, NULL), 0);
	json_decref(m);
	assert_string_equal(got.kind, "tcp");
	assert_string_equal(got.congestion, "cubic");
	assert_true(got.streams == 4 && got.direction == WP_BOTH && got.duration_ns == 10000000000);
	assert_true(got.omit_ns == 1000000000 && got.interval_ns == 10000000 &&
		    got.sample_ns == 20000000 && got.length_bytes == 1 << 20);
	assert_true(got.rate_bps == 40000000000 && got.window_bytes == 65536 &&
		    got.mss_bytes == 1400 && got.nodelay && got.dscp == -1);
	assert_true(got.fill == WP_FILL_PATTERN && got.check && got.send_method == WP_SEND_WRITE &&
		    got.receive_method == WP_RECEIVE_READ);
	assert_int_equal(got.peer_cpus.n, 3);
	assert_memory_equal(got.peer_cpus.cpu, plan.peer_cpus.cpu, 3 * sizeof(int));
	assert_int_equal(got.cpus.n, 0);
	assert_null(got.bind_host);
	wp_cpulist_done(&got.peer_cpus);
	wp_pool_done(&pool);
}

/* What a client of version 0.1 asks for is still understood. */
static void a_plan_of_the_first_version_is_taken(void **state)
{
	static const char *const later[] = {
		"transport",    "unconnected",         "gso",      "gro",
		"batch",        "busy_poll_us",        "spin",     "response_bytes",
		"connect_each", "outstanding",         "rate_mhz", "poisson",
		"wait",         "response_timeout_ns",
	};
	struct wp_pool pool = WP_POOL(1 << 16);
	struct wp_plan plan = a_plan(), got;
	json_t *m = wp_message_test(&plan), *p = json_object_get(m, "plan");
	struct wp_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(later); i++)
		assert_int_equal(json_object_del(p, later[i]), 0);
	assert_int_equal(wp_test_from(m, &got, &pool, &err), 0);
	assert_int_equal(got.transport, WP_TCP);
	json_object_set_new(p, "kind", json_string("udp"));
	assert_int_equal(wp_test_from(m, &got, &pool, &err), -EINVAL); /* that needs them */
	wp_cpulist_done(&got.peer_cpus);
	json_decref(m);
	wp_pool_done(&pool);
}

static void an_absurd_plan_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *key, *value, *says;
	} rows[] = {
		{ "streams", "0", "streams" },
		{ "streams", "1001", "streams" },
		{ "streams", "-1", "out of bounds" },
		{ "streams", "4294967297", "out of bounds" },
		{ "streams", "1.0", "integer" },
		{ "kind", "\"nuke\"", "nuke" },
		{ "kind", "null", "lacks" },
		{ "direction", "\"sideways\"", "direction" },
		{ "duration_ns", "-5", "out of bounds" },
		{ "duration_ns", "9223372036854775807", "duration" },
		{ "duration_ns", "99999999999999999999999", NULL },
		{ "length_bytes", "0", "write size" },
		{ "length_bytes", "1099511627776", "write size" },
		{ "nodelay", "1", "boolean" },
		{ "dscp", "64", "dscp" },
		{ "congestion", "\"0123456789abcdef\"", "congestion" },
		{ "cpus", "[1,\"2\"]", "CPU" },
		{ "cpus", "[-1]", "CPU" },
		{ "cpus", "[8192]", "CPU" },
		{ "cpus", "{}", "array" },
		{ "receive_method", "\"discard\"", "check" },
	};
	struct wp_plan plan = a_plan();

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		struct wp_pool pool = WP_POOL(1 << 16);
		struct wp_err err = { 0 };
		json_t *m = wp_message_test(&plan), *v;
		struct wp_plan got = { .streams = 77 };

		v = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
		assert_true((v != NULL) == (rows[i].says != NULL)); /* too large even for JSON */
		if (v) {
			json_object_set_new(json_object_get(m, "plan"), rows[i].key, v);
			assert_true(wp_test_from(m, &got, &pool, &err) < 0);
			assert_non_null(strstr(err.msg, rows[i].says));
			assert_int_equal(got.streams, 77); /* untouched on failure */
		}
		json_decref(m);
		wp_pool_done(&pool);
	}
}

static void flows_are_forward_first(void **state)
{
	struct wp_plan plan = a_plan();

	(void)state;
	plan.streams = 2;
	plan.limit_bytes = 5;
	plan.length_bytes = 1;
	assert_int_equal(wp_plan_flows(&plan), 4);
	assert_int_equal(wp_plan_connections(&plan), 4);
	assert_int_equal(wp_plan_role(&plan, 1, WP_CLIENT), WP_STREAM_SENDS);
	assert_int_equal(wp_plan_role(&plan, 2, WP_CLIENT), WP_STREAM_RECEIVES);
	assert_int_equal(wp_plan_role(&plan, 2, WP_SERVER), WP_STREAM_SENDS);
	assert_true(wp_plan_connection_limit(&plan, 0) + wp_plan_connection_limit(&plan, 1) == 5);
	assert_true(wp_plan_connection_limit(&plan, 0) == wp_plan_connection_limit(&plan, 2));
	plan.direction = WP_REVERSE;
	assert_int_equal(wp_plan_flows(&plan), 2);
	assert_int_equal(wp_plan_role(&plan, 0, WP_SERVER), WP_STREAM_SENDS);
	plan.kind = "rr"; /* however many connections, one flow */
	plan.direction = WP_FORWARD;
	assert_int_equal(wp_plan_flows(&plan), 1);
	assert_int_equal(wp_plan_connections(&plan), 2);
	assert_int_equal(wp_plan_role(&plan, 1, WP_CLIENT), WP_STREAM_SENDS);
	assert_int_equal(wp_plan_role(&plan, 1, WP_SERVER), WP_STREAM_RECEIVES);
}

static void an_error_carries_its_sentence(void **state)
{
	json_t *m = wp_message_error("CPU 9 \x1b does not exist");
	enum wp_message id;
	char says[40];

	(void)state;
	assert_int_equal(wp_message_check(m, WP_SERVER, WP_TALK_RUN, &id, NULL), 0);
	wp_error_from(m, says, sizeof(says));
	assert_string_equal(says, "CPU 9 ? does not exist");
	json_decref(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preamble_has_the_documented_bytes),
		cmocka_unit_test(every_damaged_preamble_is_refused),
		cmocka_unit_test(tokens_are_exactly_32_digits),
		cmocka_unit_test(what_is_no_message_is_refused_with_a_sentence),
		cmocka_unit_test(the_number_of_values_is_bounded),
		cmocka_unit_test(no_truncated_message_is_read_past_its_end),
		cmocka_unit_test(text_of_the_other_end_can_not_drive_a_terminal),
		cmocka_unit_test(every_string_of_a_message_is_clean),
		cmocka_unit_test(the_message_table_is_well_formed),
		cmocka_unit_test(every_message_out_of_turn_is_refused),
		cmocka_unit_test(the_dispatcher_calls_only_what_was_checked),
		cmocka_unit_test(a_hello_survives_the_wire),
		cmocka_unit_test(a_hello_of_another_version_tells_what_it_knows),
		cmocka_unit_test(a_plan_survives_the_wire),
		cmocka_unit_test(a_plan_of_the_first_version_is_taken),
		cmocka_unit_test(an_absurd_plan_is_refused_with_a_sentence),
		cmocka_unit_test(flows_are_forward_first),
		cmocka_unit_test(an_error_carries_its_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
