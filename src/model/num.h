/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * num.h - a reading has three states: a value, absent (and why), invalid (and why). Zeroed memory
 * is "absent, not read", so that a forgotten field never shows up as a silent 0.
 *
 * `why` is borrowed: a string constant or text in the record's pool.
 */
#ifndef WP_MODEL_NUM_H
#define WP_MODEL_NUM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum wp_num_state {
	WP_NUM_ABSENT = 0,
	WP_NUM_OK,
	WP_NUM_INVALID, /* `v` holds what was read; not to be used */
};

struct wp_num {
	double v; /* counters are exact up to 2^53 */
	const char *why;
	enum wp_num_state state;
};

static inline struct wp_num wp_num(double v)
{
	return (struct wp_num) { .v = v, .state = WP_NUM_OK };
}

static inline struct wp_num wp_absent(const char *why)
{
	return (struct wp_num) { .v = NAN, .why = why, .state = WP_NUM_ABSENT };
}

static inline struct wp_num wp_invalid(double v, const char *why)
{
	return (struct wp_num) { .v = v, .why = why, .state = WP_NUM_INVALID };
}

static inline bool wp_has(struct wp_num n)
{
	return n.state == WP_NUM_OK;
}

/* The value, or `otherwise` where there is none. */
static inline double wp_num_or(struct wp_num n, double otherwise)
{
	return n.state == WP_NUM_OK ? n.v : otherwise;
}

/* a / b * scale; absent when either is or when b is 0. */
static inline struct wp_num wp_num_ratio(struct wp_num a, struct wp_num b, double scale)
{
	if (!wp_has(a))
		return a;
	if (!wp_has(b))
		return b;
	if (b.v == 0)
		return wp_absent("divided by zero");
	return wp_num(a.v / b.v * scale);
}

#endif
