/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/cleanup.h"
#include "load/engine.h"
#include "peer/limits.h"
#include "peer/message.h"

#define FROM(side)  (1u << (side))
#define IN(talk)    (1u << WP_TALK_##talk)
#define KEYS(k)     .keys = (k), .n_keys = WP_ARRAY_SIZE(k)
#define AFTER_HELLO (IN(TEST) | IN(CONNECT) | IN(READY) | IN(RUN) | IN(FINISH) | IN(OVER))

static const struct wp_message_key hello_keys[] = {
	{ "protocol", JSON_INTEGER, true, 1, 1000000 },
	{ "version", JSON_STRING, true, 1, WP_PEER_LABEL_BYTES },
	{ "boot", JSON_STRING, false, 0, WP_PEER_LABEL_BYTES },
	{ "caps", JSON_ARRAY, true, 0, 64 },
	{ "limits", JSON_OBJECT, false, 0, 0 },
};

static const struct wp_message_key limits_keys[] = {
	{ "max_duration_ns", JSON_INTEGER, false, 0, INT64_MAX },
	{ "max_rate_bps", JSON_INTEGER, false, 0, INT64_MAX },
	{ "max_streams", JSON_INTEGER, false, 1, WP_MAX_STREAMS },
	{ "max_connections", JSON_INTEGER, false, 1, WP_MAX_CONNECTIONS },
};

static const struct wp_message_key test_keys[] = {
	{ "plan", JSON_OBJECT, true, 0, 0 },
};

static const struct wp_message_key accept_keys[] = {
	{ "token", JSON_STRING, true, WP_TOKEN_HEX - 1, WP_TOKEN_HEX - 1 },
	{ "data_port", JSON_INTEGER, false, 1, UINT16_MAX },
};

static const struct wp_message_key result_keys[] = {
	{ "host", JSON_OBJECT, true, 0, 0 },
	{ "flows", JSON_ARRAY, true, 0, WP_MAX_FLOWS },
	{ "warnings", JSON_ARRAY, false, 0, 128 },
};

static const struct wp_message_key error_keys[] = {
	{ "says", JSON_STRING, true, 1, WP_PEER_SAYS_BYTES },
};

const struct wp_message_row wp_messages[WP_MSG_N] = {
	[WP_MSG_HELLO] = { "hello", FROM(WP_CLIENT) | FROM(WP_SERVER), IN(HELLO),
			   KEYS(hello_keys) },
	[WP_MSG_TEST] = { "test", FROM(WP_CLIENT), IN(TEST), KEYS(test_keys) },
	[WP_MSG_ACCEPT] = { "accept", FROM(WP_SERVER), IN(TEST), KEYS(accept_keys) },
	[WP_MSG_READY] = { "ready", FROM(WP_SERVER), IN(CONNECT) },
	[WP_MSG_START] = { "start", FROM(WP_CLIENT), IN(READY) },
	[WP_MSG_STARTED] = { "started", FROM(WP_SERVER), IN(READY) },
	[WP_MSG_PING] = { "ping", FROM(WP_SERVER), AFTER_HELLO },
	[WP_MSG_PONG] = { "pong", FROM(WP_CLIENT), AFTER_HELLO },
	[WP_MSG_STOP] = { "stop", FROM(WP_CLIENT), IN(RUN) },
	[WP_MSG_DONE] = { "done", FROM(WP_SERVER), IN(RUN) | IN(FINISH) },
	[WP_MSG_FINISH] = { "finish", FROM(WP_CLIENT), IN(RUN) },
	[WP_MSG_RESULT] = { "result", FROM(WP_SERVER), IN(RUN) | IN(FINISH), KEYS(result_keys) },
	[WP_MSG_ERROR] = { "error", FROM(WP_CLIENT) | FROM(WP_SERVER), IN(HELLO) | AFTER_HELLO,
			   KEYS(error_keys) },
};

const char *wp_talk_name(enum wp_talk talk)
{
	static const char *const names[WP_TALK_N] = {
		[WP_TALK_HELLO] = "hello", [WP_TALK_TEST] = "test", [WP_TALK_CONNECT] = "connect",
		[WP_TALK_READY] = "ready", [WP_TALK_RUN] = "run",   [WP_TALK_FINISH] = "finish",
		[WP_TALK_OVER] = "over",
	};

	return (unsigned)talk < WP_TALK_N ? names[talk] : "?";
}

static const char *type_name(json_type type)
{
	switch (type) {
	case JSON_INTEGER:
		return "an integer";
	case JSON_STRING:
		return "a string";
	case JSON_ARRAY:
		return "an array";
	case JSON_OBJECT:
		return "an object";
	default:
		return "a boolean";
	}
}

static bool type_matches(const json_t *value, json_type type)
{
	return type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type;
}

static int key_check(const json_t *object, const struct wp_message_key *key, const char *what,
		     struct wp_err *err)
{
	const json_t *value = json_object_get(object, key->name);
	int64_t measure;

	if (!value || json_is_null(value)) {
		if (!key->required)
			return 0;
		return wp_err_set(err, -EBADMSG, "%s lacks the key %s", what, key->name);
	}
	if (!type_matches(value, key->type))
		return wp_err_set(err, -EBADMSG, "%s has a key %s that is not %s", what, key->name,
				  type_name(key->type));
	switch (key->type) {
	case JSON_INTEGER:
		measure = json_integer_value(value);
		break;
	case JSON_STRING:
		measure = (int64_t)json_string_length(value);
		break;
	case JSON_ARRAY:
		measure = (int64_t)json_array_size(value);
		break;
	default:
		return 0;
	}
	if (measure < key->min || measure > key->max)
		return wp_err_set(err, -EBADMSG,
				  "%s has a key %s out of bounds (%" PRId64 " to %" PRId64 ")",
				  what, key->name, key->min, key->max);
	return 0;
}

int wp_keys_check(const json_t *object, const struct wp_message_key *keys, size_t n,
		  const char *what, struct wp_err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = key_check(object, &keys[i], what, err);
	return r;
}

static int find(const char *name, enum wp_message *ret)
{
	for (int i = 0; i < WP_MSG_N; i++)
		if (!strcmp(wp_messages[i].name, name)) {
			*ret = (enum wp_message)i;
			return 0;
		}
	return -ENOENT;
}

int wp_message_check(const json_t *message, enum wp_side from, enum wp_talk talk,
		     enum wp_message *ret, struct wp_err *err)
{
	const char *name = json_string_value(json_object_get(message, "type"));
	const struct wp_message_row *row;
	enum wp_message id;
	char clean[32];
	int r;

	if (!name)
		return wp_err_set(err, -EBADMSG, "a message lacks its type");
	if (find(name, &id) < 0) {
		wp_message_clean(name, strlen(name), clean, sizeof(clean));
		return wp_err_set(err, -EPROTO, "unknown message '%s'", clean);
	}
	row = &wp_messages[id];
	if (!(row->from & FROM(from)))
		return wp_err_set(err, -EPROTO, "a %s does not send '%s'",
				  from == WP_CLIENT ? "client" : "server", row->name);
	if (!(row->talks & FROM(talk)))
		return wp_err_set(err, -EPROTO, "message '%s' comes at the wrong time (state %s)",
				  row->name, wp_talk_name(talk));
	r = wp_keys_check(message, row->keys, row->n_keys, row->name, err);
	if (!r)
		*ret = id;
	return r;
}

int wp_message_dispatch(const json_t *message, enum wp_side from, enum wp_talk talk,
			wp_message_handler *const handlers[static WP_MSG_N], void *arg,
			struct wp_err *err)
{
	enum wp_message id;
	int r = wp_message_check(message, from, talk, &id, err);

	if (r < 0)
		return r;
	if (!handlers[id])
		return wp_err_set(err, -EPROTO, "message '%s' is not expected here",
				  wp_messages[id].name);
	return handlers[id](arg, message, err);
}

int wp_messages_table_check(struct wp_err *err)
{
	for (int i = 0; i < WP_MSG_N; i++) {
		const struct wp_message_row *row = &wp_messages[i];
		enum wp_message id;

		if (!row->name || find(row->name, &id) < 0 || id != (enum wp_message)i)
			return wp_err_set(err, -EINVAL, "message %d has no name of its own", i);
		if (!row->from || row->from >> 2 || !row->talks || row->talks >> WP_TALK_N)
			return wp_err_set(err, -EINVAL, "message %s can never come", row->name);
		for (size_t k = 0; k < row->n_keys; k++)
			if (!row->keys[k].name || row->keys[k].min > row->keys[k].max)
				return wp_err_set(err, -EINVAL, "message %s: bad key %zu",
						  row->name, k);
	}
	return 0;
}

json_t *wp_message_new(enum wp_message message)
{
	return json_pack("{ss}", "type", wp_messages[message].name);
}

json_t *wp_message_error(const char *says)
{
	char clean[WP_PEER_SAYS_BYTES];

	wp_message_clean(says, strlen(says), clean, sizeof(clean));
	return json_pack("{ssss}", "type", "error", "says", clean[0] ? clean : "no reason given");
}

void wp_error_from(const json_t *message, char *out, size_t size)
{
	const json_t *says = json_object_get(message, "says");

	wp_message_clean(json_string_value(says), json_string_length(says), out, size);
}

unsigned wp_hello_kinds(void)
{
	unsigned kinds = 0;

	for (unsigned i = 0; wp_engines[i] && i < 8 * sizeof(kinds); i++)
		if (wp_engines[i]->caps & WP_ENGINE_SOCKETS)
			kinds |= 1u << i;
	return kinds;
}

bool wp_hello_knows(const struct wp_hello *h, const char *kind)
{
	for (unsigned i = 0; wp_engines[i] && i < 8 * sizeof(h->kinds); i++)
		if (!strcmp(wp_engines[i]->name, kind))
			return h->kinds & 1u << i;
	return false;
}

static int kinds_to_json(unsigned kinds, json_t *list)
{
	for (unsigned i = 0; wp_engines[i] && i < 8 * sizeof(kinds); i++)
		if (kinds & 1u << i &&
		    json_array_append_new(list, json_string(wp_engines[i]->name)) < 0)
			return -ENOMEM;
	return 0;
}

static unsigned kinds_from_json(const json_t *list)
{
	unsigned kinds = 0;

	for (size_t k = 0; k < json_array_size(list); k++) {
		const char *cap = json_string_value(json_array_get(list, k));

		for (unsigned i = 0; cap && wp_engines[i] && i < 8 * sizeof(kinds); i++)
			if (!strcmp(wp_engines[i]->name, cap))
				kinds |= 1u << i;
	}
	return kinds;
}

json_t *wp_message_hello(const struct wp_hello *h)
{
	json_t *m = json_pack("{sssisssss[]}", "type", "hello", "protocol", h->protocol, "version",
			      h->version, "boot", h->boot, "caps");

	if (!m)
		return NULL;
	if (kinds_to_json(h->kinds, json_object_get(m, "caps")) < 0)
		goto fail;
	if (h->limited &&
	    json_object_set_new(
		    m, "limits",
		    json_pack("{sIsIsisi}", "max_duration_ns", (json_int_t)h->max_duration_ns,
			      "max_rate_bps", (json_int_t)h->max_rate_bps, "max_streams",
			      (int)h->max_streams, "max_connections", (int)h->max_connections)) < 0)
		goto fail;
	return m;
fail:
	json_decref(m);
	return NULL;
}

static void text_from(const json_t *message, const char *key, char *out, size_t size)
{
	const json_t *v = json_object_get(message, key);

	out[0] = '\0';
	if (json_is_string(v))
		wp_message_clean(json_string_value(v), json_string_length(v), out, size);
}

void wp_hello_from(const json_t *message, struct wp_hello *ret)
{
	const json_t *limits = json_object_get(message, "limits");

	*ret = (struct wp_hello) {
		.protocol = (int)json_integer_value(json_object_get(message, "protocol")),
		.kinds = kinds_from_json(json_object_get(message, "caps")),
		.max_streams = WP_MAX_STREAMS,
		.max_connections = WP_MAX_CONNECTIONS,
	};
	text_from(message, "version", ret->version, sizeof(ret->version));
	text_from(message, "boot", ret->boot, sizeof(ret->boot));
	if (!limits ||
	    wp_keys_check(limits, limits_keys, WP_ARRAY_SIZE(limits_keys), "hello", NULL) < 0)
		return;
	ret->limited = true;
	ret->max_duration_ns = json_integer_value(json_object_get(limits, "max_duration_ns"));
	ret->max_rate_bps = (uint64_t)json_integer_value(json_object_get(limits, "max_rate_bps"));
	if (json_object_get(limits, "max_streams"))
		ret->max_streams =
			(unsigned)json_integer_value(json_object_get(limits, "max_streams"));
	if (json_object_get(limits, "max_connections"))
		ret->max_connections =
			(unsigned)json_integer_value(json_object_get(limits, "max_connections"));
}

void wp_boot_hash(const char *boot_id, char out[static 65])
{
	uint8_t hash[EVP_MAX_MD_SIZE] = { 0 };
	char hex[WP_TOKEN_HEX];

	out[0] = '\0';
	if (!boot_id[0] ||
	    EVP_Digest(boot_id, strlen(boot_id), hash, NULL, EVP_sha256(), NULL) != 1)
		return;
	wp_token_to_hex(hash, hex);
	memcpy(out, hex, sizeof(hex));
}

json_t *wp_message_accept(const uint8_t token[static WP_TOKEN_BYTES], uint16_t data_port)
{
	char hex[WP_TOKEN_HEX];

	wp_token_to_hex(token, hex);
	return data_port ? json_pack("{sssssi}", "type", "accept", "token", hex, "data_port",
				     (int)data_port)
			 : json_pack("{ssss}", "type", "accept", "token", hex);
}

int wp_accept_from(const json_t *message, uint8_t ret_token[static WP_TOKEN_BYTES],
		   uint16_t *ret_data_port, struct wp_err *err)
{
	if (wp_token_from_hex(json_string_value(json_object_get(message, "token")), ret_token) < 0)
		return wp_err_set(err, -EBADMSG, "accept has a token that is none");
	*ret_data_port = (uint16_t)json_integer_value(json_object_get(message, "data_port"));
	return 0;
}

size_t wp_plan_connections(const struct wp_plan *plan)
{
	return plan->direction == WP_BOTH ? 2 * (size_t)plan->streams : plan->streams;
}

size_t wp_plan_flows(const struct wp_plan *plan)
{
	return !strcmp(plan->kind, "rr") ? 1 : wp_plan_connections(plan);
}

enum wp_stream_role wp_plan_role(const struct wp_plan *plan, size_t i, enum wp_side side)
{
	bool forward =
		plan->direction == WP_FORWARD || (plan->direction == WP_BOTH && i < plan->streams);

	return forward == (side == WP_CLIENT) ? WP_STREAM_SENDS : WP_STREAM_RECEIVES;
}

uint64_t wp_plan_connection_limit(const struct wp_plan *plan, size_t i)
{
	return wp_plan_stream_limit(plan, (unsigned)(i % plan->streams));
}
