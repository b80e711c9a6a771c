/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/maybe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"

/* Longer lines are cut by nobody: they are an error. A kernel command line has at most 4096 bytes on x86. */
#define LINE_MAX_BYTES 8192

struct wp_maybe_int wp_some_int(int64_t v)
{
	return (struct wp_maybe_int) { .state = WP_VALUE, .v = v };
}

struct wp_maybe_int wp_no_int(const char *why)
{
	return (struct wp_maybe_int) { .state = WP_ABSENT, .why = why };
}

struct wp_maybe_int wp_bad_int(const char *why)
{
	return (struct wp_maybe_int) { .state = WP_INVALID, .why = why };
}

struct wp_maybe_text wp_some_text(const char *v)
{
	if (!v)
		return wp_no_text("out of memory");
	return (struct wp_maybe_text) { .state = WP_VALUE, .v = v };
}

struct wp_maybe_text wp_no_text(const char *why)
{
	return (struct wp_maybe_text) { .state = WP_ABSENT, .why = why };
}

struct wp_maybe_text wp_bad_text(const char *why)
{
	return (struct wp_maybe_text) { .state = WP_INVALID, .why = why };
}

bool wp_maybe_is(const struct wp_maybe_text *t, const char *s)
{
	return t->state == WP_VALUE && !strcmp(t->v, s);
}

const char *wp_maybe_text_or(const struct wp_maybe_text *t, const char *otherwise)
{
	return t->state == WP_VALUE ? t->v : otherwise;
}

int64_t wp_maybe_int_or(const struct wp_maybe_int *i, int64_t otherwise)
{
	return i->state == WP_VALUE ? i->v : otherwise;
}

static const char *or_short(const char *why)
{
	return why ? why : "out of memory";
}

const char *wp_why(struct wp_pool *pool, int code, const char *path)
{
	switch (-code) {
	case ENOENT:
	case ENOTDIR:
		return or_short(wp_pool_printf(pool, "/%s does not exist", path));
	case EACCES:
	case EPERM:
		return or_short(wp_pool_printf(pool, "/%s: permission denied", path));
	case ENODATA:
		return or_short(wp_pool_printf(pool, "/%s is empty", path));
	default:
		return or_short(wp_pool_printf(pool, "/%s: %s", path, strerror(-code)));
	}
}

WP_PRINTF(2, 0)
static int format_path(char out[static WP_PATH_MAX], const char *fmt, va_list ap)
{
	int n = vsnprintf(out, WP_PATH_MAX, fmt, ap);

	return n < 0 || n >= WP_PATH_MAX ? -ENAMETOOLONG : 0;
}

static char *trim(char *s)
{
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

struct wp_maybe_int wp_read_int(int rootfd, struct wp_pool *pool, const char *fmt, ...)
{
	char path[WP_PATH_MAX], line[64];
	int64_t v;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	if (!r)
		r = wp_read_line_at(rootfd, path, line, sizeof(line));
	if (r)
		return wp_no_int(wp_why(pool, r, path));
	if (wp_parse_i64(trim(line), &v))
		return wp_bad_int(or_short(
			wp_pool_printf(pool, "/%s is not a number: \"%.20s\"", path, line)));
	return wp_some_int(v);
}

struct wp_maybe_text wp_read_text(int rootfd, struct wp_pool *pool, const char *fmt, ...)
{
	char path[WP_PATH_MAX], line[LINE_MAX_BYTES];
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	if (!r)
		r = wp_read_line_at(rootfd, path, line, sizeof(line));
	if (r)
		return wp_no_text(wp_why(pool, r, path));
	return wp_some_text(wp_pool_strdup(pool, trim(line)));
}

struct wp_maybe_int wp_maybe_to_int(const struct wp_maybe_text *t)
{
	char first[32];
	size_t n;
	int64_t v;

	if (t->state != WP_VALUE)
		return (struct wp_maybe_int) { .state = t->state, .why = t->why };
	n = strcspn(t->v, " \t\n");
	if (n >= sizeof(first))
		return wp_bad_int("not a number");
	memcpy(first, t->v, n);
	first[n] = '\0';
	return wp_parse_i64(first, &v) ? wp_bad_int("not a number") : wp_some_int(v);
}

struct wp_maybe_text wp_read_link_name(int rootfd, struct wp_pool *pool, const char *fmt, ...)
{
	char path[WP_PATH_MAX], target[WP_PATH_MAX];
	const char *slash;
	va_list ap;
	ssize_t n;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	if (r)
		return wp_no_text(wp_why(pool, r, path));
	n = readlinkat(rootfd, path, target, sizeof(target) - 1);
	if (n < 0)
		return wp_no_text(wp_why(pool, -errno, path));
	target[n] = '\0';
	slash = strrchr(target, '/');
	return wp_some_text(wp_pool_strdup(pool, slash ? slash + 1 : target));
}

bool wp_path_exists(int rootfd, const char *fmt, ...)
{
	char path[WP_PATH_MAX];
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = format_path(path, fmt, ap);
	va_end(ap);
	return !r && !faccessat(rootfd, path, F_OK, 0);
}
