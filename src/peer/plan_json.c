/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan_json.c - test{plan}: a row of the table below ties a key to a field of struct wp_plan, both
 * ways. Part of proto.h.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "peer/proto.h"

enum field_type {
	FIELD_TEXT,
	FIELD_CHOICE, /* an enum, by name */
	FIELD_BOOL,
	FIELD_INT,
	FIELD_UNSIGNED,
	FIELD_I64,
	FIELD_U64,
};

struct field {
	struct wp_message_key key;
	enum field_type type;
	size_t offset;
	const char *const *choices; /* NULL-terminated, in the enum's order */
};

static const char *const directions[] = { "forward", "reverse", "both", NULL };
static const char *const fills[] = { "zero", "random", "pattern", NULL };
static const char *const send_methods[] = { "auto", "write", "zerocopy", NULL };
static const char *const receive_methods[] = { "auto", "read", "discard", NULL };

static const char *const transports[] = { "tcp", "udp", NULL };
static const char *const waits[] = { "auto", "block", "epoll", "spin", NULL };

#define AT(m) offsetof(struct wp_plan, m)
/* Bounds here keep conversions exact; what makes sense is wp_plan_check()'s. */
#define NUMBER(name, t, m)                                                       \
	{                                                                        \
		{ name, JSON_INTEGER, true, 0, t##_MAX }, FIELD_##t, AT(m), NULL \
	}
#define I64_MAX      INT64_MAX
#define U64_MAX      INT64_MAX
#define UNSIGNED_MAX INT32_MAX
#define CHOICE(name, m, c)                                                 \
	{                                                                  \
		{ name, JSON_STRING, true, 1, 16 }, FIELD_CHOICE, AT(m), c \
	}
/* Fields that version 0.1 does not know: without them the plan is as it was then. */
#define NEW_NUMBER(name, t, m)                                                    \
	{                                                                         \
		{ name, JSON_INTEGER, false, 0, t##_MAX }, FIELD_##t, AT(m), NULL \
	}
#define NEW_CHOICE(name, m, c)                                              \
	{                                                                   \
		{ name, JSON_STRING, false, 1, 16 }, FIELD_CHOICE, AT(m), c \
	}
#define NEW_BOOL(name, m)                                                 \
	{                                                                 \
		{ name, JSON_TRUE, false, 0, 0 }, FIELD_BOOL, AT(m), NULL \
	}
#define BOOL(name, m)                                                    \
	{                                                                \
		{ name, JSON_TRUE, true, 0, 0 }, FIELD_BOOL, AT(m), NULL \
	}

static const struct field fields[] = {
	{ { "kind", JSON_STRING, true, 1, 16 }, FIELD_TEXT, AT(kind), NULL },
	NUMBER("streams", UNSIGNED, streams),
	CHOICE("direction", direction, directions),
	NUMBER("duration_ns", I64, duration_ns),
	NUMBER("omit_ns", I64, omit_ns),
	NUMBER("interval_ns", I64, interval_ns),
	NUMBER("sample_ns", I64, sample_ns),
	NUMBER("limit_bytes", U64, limit_bytes),
	NUMBER("length_bytes", U64, length_bytes),
	NUMBER("rate_bps", U64, rate_bps),
	NUMBER("window_bytes", U64, window_bytes),
	NUMBER("mss_bytes", UNSIGNED, mss_bytes),
	BOOL("nodelay", nodelay),
	{ { "dscp", JSON_INTEGER, true, -1, 63 }, FIELD_INT, AT(dscp), NULL },
	{ { "congestion", JSON_STRING, false, 1, 15 }, FIELD_TEXT, AT(congestion), NULL },
	CHOICE("fill", fill, fills),
	BOOL("check", check),
	CHOICE("send_method", send_method, send_methods),
	CHOICE("receive_method", receive_method, receive_methods),
	NEW_CHOICE("transport", transport, transports),
	NEW_BOOL("unconnected", unconnected),
	NEW_BOOL("gso", gso),
	NEW_BOOL("gro", gro),
	NEW_NUMBER("batch", UNSIGNED, batch),
	NEW_NUMBER("busy_poll_us", UNSIGNED, busy_poll_us),
	NEW_BOOL("spin", spin),
	NEW_NUMBER("response_bytes", U64, response_bytes),
	NEW_BOOL("connect_each", connect_each),
	NEW_NUMBER("outstanding", UNSIGNED, outstanding),
	NEW_NUMBER("rate_mhz", U64, rate_mhz),
	NEW_BOOL("poisson", poisson),
	NEW_CHOICE("wait", wait, waits),
	NEW_NUMBER("response_timeout_ns", I64, response_timeout_ns),
	NEW_NUMBER("stall_ns", I64, stall_ns),
	NEW_BOOL("soak", soak),
};

static const struct wp_message_key cpus_key = { "cpus", JSON_ARRAY, false, 0, WP_CPU_MAX };

_Static_assert(sizeof(enum wp_direction) == sizeof(unsigned) &&
		       sizeof(enum wp_fill) == sizeof(unsigned) &&
		       sizeof(enum wp_send_method) == sizeof(unsigned) &&
		       sizeof(enum wp_receive_method) == sizeof(unsigned) &&
		       sizeof(enum wp_transport) == sizeof(unsigned) &&
		       sizeof(enum wp_wait) == sizeof(unsigned),
	       "a choice is stored as an unsigned");

static json_t *field_to_json(const struct field *f, const struct wp_plan *plan)
{
	const void *at = (const char *)plan + f->offset;

	switch (f->type) {
	case FIELD_TEXT:
		return *(const char *const *)at ? json_string(*(const char *const *)at)
						: json_null();
	case FIELD_CHOICE:
		return json_string(f->choices[*(const unsigned *)at]);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_INT:
		return json_integer(*(const int *)at);
	case FIELD_UNSIGNED:
		return json_integer(*(const unsigned *)at);
	case FIELD_I64:
		return json_integer(*(const int64_t *)at);
	case FIELD_U64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	}
	return NULL;
}

static json_t *cpus_to_json(const struct wp_cpulist *l)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < l->n; i++)
		if (json_array_append_new(a, json_integer(l->cpu[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

json_t *wp_message_test(const struct wp_plan *plan)
{
	json_t *message = wp_message_new(WP_MSG_TEST), *p = json_object();
	bool ok = message && json_object_set_new(message, "plan", p) == 0;

	for (size_t i = 0; i < WP_ARRAY_SIZE(fields) && ok; i++)
		ok = json_object_set_new(p, fields[i].key.name, field_to_json(&fields[i], plan)) ==
		     0;
	if (ok && json_object_set_new(p, "cpus", cpus_to_json(&plan->peer_cpus)) == 0)
		return message;
	json_decref(message);
	return NULL;
}

static int choice_from(const struct field *f, const char *text, unsigned *ret, struct wp_err *err)
{
	for (unsigned i = 0; f->choices[i]; i++)
		if (!strcmp(f->choices[i], text)) {
			*ret = i;
			return 0;
		}
	return wp_err_set(err, -EINVAL, "the plan's %s is one that this version does not know",
			  f->key.name);
}

static int field_from_json(const struct field *f, const json_t *v, struct wp_plan *plan,
			   struct wp_pool *pool, struct wp_err *err)
{
	void *at = (char *)plan + f->offset;
	json_int_t n = json_integer_value(v);

	switch (f->type) {
	case FIELD_TEXT:
		*(const char **)at = wp_pool_strdup(pool, json_string_value(v));
		return *(const char **)at ? 0 : wp_err_sys(err, -ENOMEM, "cannot take the plan");
	case FIELD_CHOICE:
		return choice_from(f, json_string_value(v), at, err);
	case FIELD_BOOL:
		*(bool *)at = json_is_true(v);
		return 0;
	case FIELD_INT:
		*(int *)at = (int)n;
		return 0;
	case FIELD_UNSIGNED:
		*(unsigned *)at = (unsigned)n;
		return 0;
	case FIELD_I64:
		*(int64_t *)at = n;
		return 0;
	case FIELD_U64:
		*(uint64_t *)at = (uint64_t)n;
		return 0;
	}
	return -EINVAL;
}

static int cpus_from_json(const json_t *a, struct wp_cpulist *ret, struct wp_err *err)
{
	size_t n = json_array_size(a);

	if (!n)
		return 0;
	ret->cpu = calloc(n, sizeof(*ret->cpu));
	if (!ret->cpu)
		return wp_err_sys(err, -ENOMEM, "cannot take the plan");
	ret->n = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(a, i);
		json_int_t cpu = json_integer_value(v);

		if (!json_is_integer(v) || cpu < 0 || cpu >= WP_CPU_MAX)
			return wp_err_set(err, -EINVAL, "the plan's cpus holds what is no CPU");
		ret->cpu[i] = (int)cpu;
	}
	return 0;
}

int wp_test_from(const json_t *message, struct wp_plan *ret, struct wp_pool *pool,
		 struct wp_err *err)
{
	const json_t *p = json_object_get(message, "plan");
	struct wp_plan plan = { .family = AF_UNSPEC };
	int r = wp_keys_check(p, &cpus_key, 1, "the plan", err);

	for (size_t i = 0; i < WP_ARRAY_SIZE(fields) && !r; i++) {
		const json_t *v = json_object_get(p, fields[i].key.name);

		r = wp_keys_check(p, &fields[i].key, 1, "the plan", err);
		if (!r && v && !json_is_null(v))
			r = field_from_json(&fields[i], v, &plan, pool, err);
	}
	if (!r)
		r = cpus_from_json(json_object_get(p, "cpus"), &plan.peer_cpus, err);
	if (!r)
		r = wp_plan_check(&plan, err);
	if (r < 0) {
		wp_cpulist_done(&plan.peer_cpus);
		return r;
	}
	*ret = plan;
	return 0;
}
