/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maybe.h - a reading that is a value, absent (and why) or invalid (and why). Never a silent 0.
 *
 * A zeroed struct is absent. `why` is a static text or lives in the pool that was given to the reader; so do
 * texts. Nothing here is freed on its own. The readers take a root directory fd and a path relative to it
 * ("sys/class/net/eth0/mtu"), so that a recorded tree is read as the live machine is.
 *
 *	struct wp_maybe_int mtu = wp_read_int(rootfd, pool, "sys/class/net/%s/mtu", name);
 *	if (mtu.state == WP_VALUE) ... mtu.v; else ... mtu.why ("/sys/class/net/x/mtu does not exist")
 */
#ifndef WP_SYS_MAYBE_H
#define WP_SYS_MAYBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

enum wp_maybe {
	WP_ABSENT = 0, /* not there, or not readable by us */
	WP_VALUE,
	WP_INVALID, /* there, but not what it should be */
};

struct wp_maybe_int {
	enum wp_maybe state;
	int64_t v;
	const char *why; /* NULL with WP_VALUE */
};

struct wp_maybe_text {
	enum wp_maybe state;
	const char *v; /* NULL unless WP_VALUE; may be "" */
	const char *why;
};

struct wp_maybe_int wp_some_int(int64_t v);
struct wp_maybe_int wp_no_int(const char *why);
struct wp_maybe_int wp_bad_int(const char *why);
struct wp_maybe_text wp_some_text(const char *v); /* NULL: absent, "out of memory" */
struct wp_maybe_text wp_no_text(const char *why);
struct wp_maybe_text wp_bad_text(const char *why);

/* True when it is a text that equals `s`. */
bool wp_maybe_is(const struct wp_maybe_text *t, const char *s);
/* The text, or `otherwise`. */
const char *wp_maybe_text_or(const struct wp_maybe_text *t, const char *otherwise);
int64_t wp_maybe_int_or(const struct wp_maybe_int *i, int64_t otherwise);

/* "/sys/x does not exist", "/sys/x: permission denied" for negative errno `code`. */
const char *wp_why(struct wp_pool *pool, int code, const char *path);

/* The first line of a file as a decimal number / as text without surrounding blanks. The path is printf-like
 * and at most WP_PATH_MAX - 1 bytes. */
#define WP_PATH_MAX 512
struct wp_maybe_int wp_read_int(int rootfd, struct wp_pool *pool, const char *fmt, ...)
	WP_PRINTF(3, 4);
struct wp_maybe_text wp_read_text(int rootfd, struct wp_pool *pool, const char *fmt, ...)
	WP_PRINTF(3, 4);
/* A decimal number at the start of a text reading (a sysctl's value); states and reasons carry over. */
struct wp_maybe_int wp_maybe_to_int(const struct wp_maybe_text *t);
/* The last component of a symbolic link ("driver -> ../../bus/pci/drivers/ixgbe" gives "ixgbe"). */
struct wp_maybe_text wp_read_link_name(int rootfd, struct wp_pool *pool, const char *fmt, ...)
	WP_PRINTF(3, 4);
/* Whether the path exists (no permission on it needed). */
bool wp_path_exists(int rootfd, const char *fmt, ...) WP_PRINTF(2, 3);

#endif
