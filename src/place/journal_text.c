/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "place/journal_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define FORMAT_VERSION  "1"
#define FIELDS_MAX      6
#define POOL_MAX_BYTES  ((size_t)WP_JOURNAL_FILE_MAX * 2)
#define LAB_FILE_PREFIX WP_JOURNAL_NETNS_DIR "/whyperf-"

static const char *const verb_names[WP_JOURNAL_VERBS] = {
	[WP_JOURNAL_UNMOUNT] = "unmount",
	[WP_JOURNAL_UNLINK] = "unlink",
	[WP_JOURNAL_RMDIR] = "rmdir",
	[WP_JOURNAL_WRITE] = "write",
};

enum extent {
	EXACTLY,
	ONE_NAME, /* the prefix is completed by characters other than '/' */
	BELOW,    /* the prefix is completed by a path */
};

static const struct {
	enum wp_journal_verb verb;
	const char *prefix;
	enum extent extent;
} allowed[] = {
	{ WP_JOURNAL_UNMOUNT, LAB_FILE_PREFIX, ONE_NAME },
	{ WP_JOURNAL_UNMOUNT, WP_JOURNAL_NETNS_DIR, EXACTLY },
	{ WP_JOURNAL_UNLINK, LAB_FILE_PREFIX, ONE_NAME },
	{ WP_JOURNAL_RMDIR, WP_JOURNAL_NETNS_DIR, EXACTLY },
	{ WP_JOURNAL_WRITE, "/proc/sys/", BELOW },
	{ WP_JOURNAL_WRITE, "/proc/irq/", BELOW },
	{ WP_JOURNAL_WRITE, "/sys/class/net/", BELOW },
	{ WP_JOURNAL_WRITE, "/sys/devices/", BELOW },
};

const char *wp_journal_verb_name(enum wp_journal_verb verb)
{
	return verb_names[verb];
}

/* "/a/b": no component is empty, "." or "..". */
static bool is_plain_path(const char *path)
{
	const char *p = path;

	if (*p != '/' || strlen(path) > WP_JOURNAL_PATH_MAX)
		return false;
	while (*p) {
		size_t len = strcspn(++p, "/");

		if (!len || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)p[i] < ' ' || p[i] == 0x7f)
				return false;
		p += len;
	}
	return true;
}

bool wp_journal_path_allowed(enum wp_journal_verb verb, const char *path)
{
	if (!is_plain_path(path))
		return false;
	for (size_t i = 0; i < WP_ARRAY_SIZE(allowed); i++) {
		const char *prefix = allowed[i].prefix;
		const char *rest = path + strlen(prefix);

		if (allowed[i].verb != verb || strncmp(path, prefix, strlen(prefix)) != 0)
			continue;
		if (allowed[i].extent == EXACTLY
			    ? !*rest
			    : *rest && (allowed[i].extent == BELOW || !strchr(rest, '/')))
			return true;
	}
	return false;
}

bool wp_journal_path_is_of_netns(const char *path)
{
	return strstr(path, "/net/") != NULL;
}

static size_t mask_digits(const char *s, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == ',' || (n == 0 && s[i] == '0'))
			continue;
		if (!isxdigit((unsigned char)s[i]) || n >= size)
			return SIZE_MAX;
		out[n++] = (char)tolower((unsigned char)s[i]);
	}
	return n;
}

/* Equal as they stand, or as hexadecimal masks: the kernel pads with zeros and puts commas in. */
static bool same_token(const char *a, size_t a_len, const char *b, size_t b_len)
{
	char x[WP_JOURNAL_VALUE_MAX], y[WP_JOURNAL_VALUE_MAX];
	size_t n;

	if (a_len == b_len && !memcmp(a, b, a_len))
		return true;
	n = mask_digits(a, a_len, x, sizeof(x));
	return n != SIZE_MAX && n == mask_digits(b, b_len, y, sizeof(y)) && !memcmp(x, y, n);
}

bool wp_journal_same_value(const char *a, const char *b)
{
	static const char space[] = " \t\n";

	for (;;) {
		size_t a_len, b_len;

		a += strspn(a, space);
		b += strspn(b, space);
		a_len = strcspn(a, space);
		b_len = strcspn(b, space);
		if (!a_len || !b_len)
			return a_len == b_len;
		if (!same_token(a, a_len, b, b_len))
			return false;
		a += a_len;
		b += b_len;
	}
}

static int put_escaped(struct wp_buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		int r = c <= ' ' || c == '%' || c == 0x7f ? wp_buf_printf(out, "%%%02X", c)
							  : wp_buf_append(out, s, 1);

		if (r)
			return r;
	}
	return 0;
}

int wp_journal_put_head(struct wp_buf *out, const char *boot_id, uint64_t pidns_ino,
			uint64_t netns_ino)
{
	wp_buf_printf(out, "head\t" FORMAT_VERSION "\t");
	put_escaped(out, boot_id);
	wp_buf_printf(out, "\t%" PRIu64 "\t%" PRIu64 "\n", pidns_ino, netns_ino);
	return wp_buf_status(out);
}

int wp_journal_put_entry(struct wp_buf *out, const struct wp_journal_entry *e)
{
	wp_buf_printf(out, "%" PRIu32 "\t%s\t", e->id, verb_names[e->verb]);
	put_escaped(out, e->path);
	if (e->verb == WP_JOURNAL_WRITE) {
		wp_buf_puts(out, "\t");
		put_escaped(out, e->set);
		wp_buf_puts(out, "\t");
		put_escaped(out, e->restore);
	}
	wp_buf_puts(out, "\n");
	return wp_buf_status(out);
}

int wp_journal_put_now(struct wp_buf *out, uint32_t id, const char *set)
{
	wp_buf_printf(out, "now\t%" PRIu32 "\t", id);
	put_escaped(out, set);
	wp_buf_puts(out, "\n");
	return wp_buf_status(out);
}

int wp_journal_put_group(struct wp_buf *out, size_t lines)
{
	wp_buf_printf(out, "group\t%zu\n", lines);
	return wp_buf_status(out);
}

int wp_journal_put_forget(struct wp_buf *out, uint32_t id)
{
	wp_buf_printf(out, "forget\t%" PRIu32 "\n", id);
	return wp_buf_status(out);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* In place; false for a broken or NUL escape. */
static bool unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int hi, lo;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		hi = hex_digit(s[1]);
		lo = hi < 0 ? -1 : hex_digit(s[2]);
		if (lo < 0 || hi * 16 + lo == 0)
			return false;
		*out++ = (char)(hi * 16 + lo);
		s += 2;
	}
	*out = '\0';
	return true;
}

/* Splits at tabs in place; the number of fields, or FIELDS_MAX + 1 when there are more. */
static size_t split(char *line, char *field[FIELDS_MAX])
{
	size_t n = 0;

	while (line) {
		char *f = strsep(&line, "\t");

		if (n == FIELDS_MAX)
			return FIELDS_MAX + 1;
		field[n++] = f;
	}
	return n;
}

static bool parse_id(const char *s, uint32_t *ret)
{
	uint64_t v;

	if (wp_parse_u64(s, &v) || !v || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static struct wp_journal_entry *find(struct wp_journal_text *t, uint32_t id)
{
	for (size_t i = t->n; i > 0; i--)
		if (t->v[i - 1].id == id)
			return &t->v[i - 1];
	return NULL;
}

static bool parse_head(struct wp_journal_text *t, char *field[FIELDS_MAX], size_t n)
{
	if (n != 5 || t->has_head || strcmp(field[1], FORMAT_VERSION) != 0 || !unescape(field[2]) ||
	    strlen(field[2]) >= sizeof(t->boot_id) || wp_parse_u64(field[3], &t->pidns_ino) ||
	    wp_parse_u64(field[4], &t->netns_ino))
		return false;
	memcpy(t->boot_id, field[2], strlen(field[2]) + 1);
	t->has_head = true;
	return true;
}

static bool parse_forget(struct wp_journal_text *t, char *field[FIELDS_MAX], size_t n)
{
	struct wp_journal_entry *e;
	uint32_t id;

	if (n != 2 || !parse_id(field[1], &id) || !(e = find(t, id)))
		return false;
	memmove(e, e + 1, (size_t)(t->v + t->n - (e + 1)) * sizeof(*e));
	t->n--;
	return true;
}

static bool parse_group(struct wp_journal_text *t, char *field[FIELDS_MAX], size_t n)
{
	uint64_t lines;

	if (n != 2 || wp_parse_u64(field[1], &lines) || !lines || lines > WP_JOURNAL_ENTRIES_MAX)
		return false;
	t->group_left = (size_t)lines;
	t->group_start = t->n;
	return true;
}

static int parse_now(struct wp_journal_text *t, char *field[FIELDS_MAX], size_t n, bool *ret_ok)
{
	struct wp_journal_entry *e;
	uint32_t id;
	char *set;

	if (n != 3 || !parse_id(field[1], &id) || !(e = find(t, id)) ||
	    e->verb != WP_JOURNAL_WRITE || !unescape(field[2]) ||
	    strlen(field[2]) > WP_JOURNAL_VALUE_MAX)
		return 0;
	set = wp_pool_strdup(&t->pool, field[2]);
	if (!set)
		return -ENOMEM;
	e->set = set;
	*ret_ok = true;
	return 0;
}

static int parse_entry(struct wp_journal_text *t, char *field[FIELDS_MAX], size_t n, bool *ret_ok)
{
	struct wp_journal_entry e = { .verb = WP_JOURNAL_VERBS };

	if (n < 3 || !parse_id(field[0], &e.id) || e.id <= t->last_id)
		return 0;
	for (unsigned i = 0; i < WP_JOURNAL_VERBS; i++)
		if (!strcmp(field[1], verb_names[i]))
			e.verb = i;
	if (e.verb == WP_JOURNAL_VERBS || n != (e.verb == WP_JOURNAL_WRITE ? 5 : 3))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!unescape(field[i]) || strlen(field[i]) > WP_JOURNAL_VALUE_MAX)
			return 0;
	if (!wp_journal_path_allowed(e.verb, field[2]))
		return 0;
	if (t->n == WP_JOURNAL_ENTRIES_MAX)
		return -E2BIG;
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;
		struct wp_journal_entry *v = reallocarray(t->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	e.path = wp_pool_strdup(&t->pool, field[2]);
	e.set = n == 5 ? wp_pool_strdup(&t->pool, field[3]) : NULL;
	e.restore = n == 5 ? wp_pool_strdup(&t->pool, field[4]) : NULL;
	if (!e.path || (n == 5 && (!e.set || !e.restore)))
		return -ENOMEM;
	t->v[t->n++] = e;
	t->last_id = e.id;
	*ret_ok = true;
	return 0;
}

static void note_bad(struct wp_journal_text *t, const char *line, size_t len)
{
	if (t->bad++)
		return;
	for (size_t i = 0; i < len && i < sizeof(t->first_bad) - 1; i++)
		t->first_bad[i] = isprint((unsigned char)line[i]) ? line[i] : '?';
}

static int parse_line(struct wp_journal_text *t, const char *line, size_t len)
{
	_cleanup_free_ char *copy = strndup(line, len);
	char *field[FIELDS_MAX];
	bool ok = false, is_group = false;
	size_t n;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	n = split(copy, field);
	if (n <= FIELDS_MAX && !memchr(line, '\0', len)) {
		if (t->group_left)
			r = parse_entry(t, field, n, &ok);
		else if (!strcmp(field[0], "head"))
			ok = parse_head(t, field, n);
		else if (!strcmp(field[0], "group"))
			is_group = ok = parse_group(t, field, n);
		else if (!strcmp(field[0], "forget"))
			ok = parse_forget(t, field, n);
		else if (!strcmp(field[0], "now"))
			r = parse_now(t, field, n, &ok);
		else
			r = parse_entry(t, field, n, &ok);
	}
	if (t->group_left && !is_group)
		t->group_left--;
	if (!r && !ok)
		note_bad(t, line, len);
	return r;
}

int wp_journal_text_parse(const char *data, size_t len, struct wp_journal_text *ret)
{
	_cleanup_journal_text_ struct wp_journal_text t = { .pool = WP_POOL(POOL_MAX_BYTES) };
	const char *at = data, *end = data + len, *newline;

	if (len > WP_JOURNAL_FILE_MAX)
		return -E2BIG;
	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = parse_line(&t, at, (size_t)(newline - at));

		if (r)
			return r;
		at = newline + 1;
	}
	/* Cut off by a crash, before the first of its changes was made. */
	if (t.group_left)
		t.n = t.group_start;
	*ret = t;
	t = (struct wp_journal_text) { 0 };
	return 0;
}

void wp_journal_text_done(struct wp_journal_text *t)
{
	if (!t)
		return;
	free(t->v);
	wp_pool_done(&t->pool);
	*t = (struct wp_journal_text) { 0 };
}
