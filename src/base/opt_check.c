/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt_value.h"

static int bad(const struct wp_opt *o, const char *what, struct wp_err *err)
{
	return wp_err_set(err, -EINVAL, "option table: --%s: %s", o->name ? o->name : "(none)",
			  what);
}

static int check_text(const struct wp_opt *o, struct wp_err *err)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t len;

	if (!o->name || !o->name[0] || o->name[0] == '-' || o->name[strspn(o->name, name_chars)])
		return bad(o, "the name must be of lower-case letters, digits and inner dashes",
			   err);
	if (strlen(o->name) > 40)
		return bad(o, "the name is longer than 40", err);
	if (o->letter && !((o->letter | 0x20) >= 'a' && (o->letter | 0x20) <= 'z') &&
	    !(o->letter >= '0' && o->letter <= '9'))
		return bad(o, "the letter must be a letter or digit", err);
	len = o->help ? strlen(o->help) : 0;
	if (len == 0)
		return bad(o, "there is no help", err);
	if (strchr(o->help, '\n') || o->help[len - 1] == '.')
		return bad(o, "help is one line without a full stop", err);
	if (o->type == WP_OPT_FLAG && (o->arg || o->def))
		return bad(o, "a flag has no argument and no default", err);
	if (o->type != WP_OPT_FLAG && !o->arg)
		return bad(o, "arg must name the value in --help", err);
	return 0;
}

static int check_numbers(const struct wp_opt *o, size_t cfg_size, struct wp_err *err)
{
	size_t size = wp_opt_value_size(o);

	if ((o->type == WP_OPT_ENUM) != (o->choices && o->choices[0]))
		return bad(o, "choices go with WP_OPT_ENUM, at least one", err);
	if (!isfinite(o->min) || !isfinite(o->max) || o->max < o->min)
		return bad(o, "bounds must be finite and min <= max", err);
	if (o->offset >= cfg_size || size > cfg_size - o->offset || o->set_offset >= cfg_size)
		return bad(o, "the offset lies outside the config", err);
	if (o->offset % wp_opt_value_align(o))
		return bad(o, "the offset is not aligned for the type", err);
	if (o->set_offset && o->set_offset >= o->offset && o->set_offset < o->offset + size)
		return bad(o, "set_offset lies inside the value", err);
	return 0;
}

/* Two rows may write one value (an alias), not parts of each other's. */
static int check_pair(const struct wp_opt *a, const struct wp_opt *b, struct wp_err *err)
{
	bool apart = a->offset + wp_opt_value_size(a) <= b->offset ||
		     b->offset + wp_opt_value_size(b) <= a->offset;

	if (!strcmp(a->name, b->name))
		return bad(b, "the name is there twice", err);
	if (a->letter && a->letter == b->letter)
		return bad(b, "the letter is there twice", err);
	if (!apart && (a->offset != b->offset || a->type != b->type))
		return bad(b, "the value overlaps with another row's", err);
	return 0;
}

static bool same_group(const struct wp_opt *a, const struct wp_opt *b)
{
	return !strcmp(a->group ? a->group : "", b->group ? b->group : "");
}

static int check_groups(const struct wp_opt *rows, size_t n, struct wp_err *err)
{
	for (size_t i = 1; i < n; i++) {
		if (same_group(&rows[i], &rows[i - 1]))
			continue;
		for (size_t j = 0; j + 1 < i; j++)
			if (same_group(&rows[i], &rows[j]))
				return bad(&rows[i],
					   "its group began further up; keep groups together", err);
	}
	return 0;
}

int wp_opt_check(const struct wp_opt *rows, size_t n, size_t cfg_size, struct wp_err *err)
{
	void *cfg;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = check_text(&rows[i], err);
		if (r == 0)
			r = check_numbers(&rows[i], cfg_size, err);
		for (size_t j = 0; j < i && r == 0; j++)
			r = check_pair(&rows[j], &rows[i], err);
	}
	if (r == 0)
		r = check_groups(rows, n, err);
	if (r < 0)
		return r;
	cfg = calloc(1, cfg_size ? cfg_size : 1);
	if (!cfg)
		return wp_err_sys(err, -ENOMEM, "option table");
	r = wp_opt_defaults(rows, n, cfg, err);
	wp_opt_done(rows, n, cfg);
	free(cfg);
	return r;
}
