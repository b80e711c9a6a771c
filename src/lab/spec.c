/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/units.h"

#define LAB_WORD "lab"

struct key {
	const char *name;
	const char *arg;
	const char *help;
	int (*set)(struct wp_lab_spec *spec, const char *value, struct wp_err *err);
	bool ephemeral_only; /* shapes a new lab; a named one has its own */
};

int wp_lab_name_check(const char *name, struct wp_err *err)
{
	size_t n = strlen(name);

	if (n < 1 || n >= WP_LAB_NAME_SIZE ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
		return wp_err_set(err, -EINVAL,
				  "bad lab name '%.40s': it takes 1 to %d of a-z, 0-9 and '-'",
				  name, WP_LAB_NAME_SIZE - 1);
	return 0;
}

static int set_name(struct wp_lab_spec *spec, const char *value, struct wp_err *err)
{
	int r = wp_lab_name_check(value, err);

	if (!r)
		memcpy(spec->name, value, strlen(value) + 1);
	return r;
}

static int set_mtu(struct wp_lab_spec *spec, const char *value, struct wp_err *err)
{
	uint64_t mtu;

	if (wp_parse_u64(value, &mtu) || mtu < WP_LAB_MTU_MIN || mtu > WP_LAB_MTU_MAX)
		return wp_err_set(err, -EINVAL,
				  "bad mtu '%.40s' of the lab: it takes %d to %d bytes", value,
				  WP_LAB_MTU_MIN, WP_LAB_MTU_MAX);
	spec->mtu_bytes = (uint32_t)mtu;
	return 0;
}

static const struct key keys[] = {
	{ "name", "NAME", "use the lab that `whyperf lab up NAME` made", set_name, false },
	{ "mtu", "BYTES", "largest packet of the link (default 1500)", set_mtu, true },
};

#define N_KEYS WP_ARRAY_SIZE(keys)

_Static_assert(N_KEYS <= 32, "`seen` below is a 32-bit set");

bool wp_lab_spec_is(const char *host)
{
	size_t n = strlen(LAB_WORD);

	return !strncmp(host, LAB_WORD, n) && (!host[n] || host[n] == ':');
}

static int unknown_key(const char *word, struct wp_err *err)
{
	const char *names[N_KEYS];
	char list[N_KEYS * 16] = "";
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < N_KEYS; i++) {
		names[i] = keys[i].name;
		n += (size_t)snprintf(list + n, sizeof(list) - n, " %.12s=", keys[i].name);
	}
	near = wp_nearest(word, names, N_KEYS);
	if (near)
		return wp_err_set(err, -EINVAL, "unknown key '%.40s' of the lab; did you mean %s=?",
				  word, near);
	return wp_err_set(err, -EINVAL, "unknown key '%.40s' of the lab; it takes%s", word, list);
}

/* One "key=value"; `item` is scratch. */
static int parse_item(char *item, struct wp_lab_spec *spec, uint32_t *seen, struct wp_err *err)
{
	char *value = strchr(item, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < N_KEYS; i++) {
		if (strcmp(item, keys[i].name))
			continue;
		if (!value || !*value)
			return wp_err_set(err, -EINVAL, "the lab's key '%s' wants a value: %s=%s",
					  item, item, keys[i].arg);
		if (*seen & (1U << i))
			return wp_err_set(err, -EINVAL, "the lab's key '%s' is given twice", item);
		*seen |= 1U << i;
		return keys[i].set(spec, value, err);
	}
	if (!*item)
		return wp_err_set(err, -EINVAL, "a key is missing: write lab:key=value,key=value");
	return unknown_key(item, err);
}

/* A named lab was shaped when it was made. */
static int check_together(const struct wp_lab_spec *spec, uint32_t seen, struct wp_err *err)
{
	if (!spec->name[0])
		return 0;
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].ephemeral_only && (seen & (1U << i)))
			return wp_err_set(
				err, -EINVAL,
				"%s= does not go with name=: the lab '%s' was shaped when it was made",
				keys[i].name, spec->name);
	return 0;
}

int wp_lab_spec_parse(const char *host, struct wp_lab_spec *ret, struct wp_err *err)
{
	struct wp_lab_spec spec = { 0 };
	char text[WP_LAB_SPEC_MAX];
	size_t len = strnlen(host, sizeof(text));
	uint32_t seen = 0;
	char *rest;
	int r = 0;

	if (!wp_lab_spec_is(host))
		return wp_err_set(err, -EINVAL, "'%.40s' is not a lab: write lab or lab:key=value",
				  host);
	if (len >= sizeof(text))
		return wp_err_set(err, -EINVAL, "the lab's description is longer than %zu bytes",
				  sizeof(text) - 1);
	memcpy(text, host, len + 1);
	rest = text[strlen(LAB_WORD)] ? text + strlen(LAB_WORD) + 1 : NULL;
	while (!r && rest) {
		char *item = strsep(&rest, ",");

		r = parse_item(item, &spec, &seen, err);
	}
	if (!r)
		r = check_together(&spec, seen, err);
	if (!r)
		*ret = spec;
	return r;
}

int wp_lab_spec_help(struct wp_buf *out)
{
	for (size_t i = 0; i < N_KEYS; i++)
		wp_buf_printf(out, "  %s=%-10s %s\n", keys[i].name, keys[i].arg, keys[i].help);
	return wp_buf_status(out);
}
