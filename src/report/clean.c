/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/clean.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

/* One code point: its length in bytes, 0 for a byte that is not valid UTF-8 (RFC 3629, no surrogates). */
static size_t decode(const unsigned char *s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80   ? 1
		   : s[0] < 0xc0 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf8 ? 4
				 : 0;
	uint32_t c = n > 1 ? s[0] & (0x7fu >> n) : s[0];

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (!n || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static const struct {
	uint32_t code;
	const char *ascii;
} spellings[] = {
	{ 0xa0, " " },      { 0xa9, "(C)" },  { 0xae, "(R)" },  { 0xb1, "+-" },   { 0xb5, "u" },
	{ 0xb7, "." },      { 0xd7, "x" },    { 0x3bc, "u" },   { 0x2013, "-" },  { 0x2014, "-" },
	{ 0x2018, "'" },    { 0x2019, "'" },  { 0x201c, "\"" }, { 0x201d, "\"" }, { 0x2026, "..." },
	{ 0x2122, "(TM)" }, { 0x2192, "->" }, { 0x2212, "-" },  { 0x2248, "~" },  { 0x2264, "<=" },
	{ 0x2265, ">=" },
};

static const char *ascii(uint32_t c)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(spellings); i++)
		if (spellings[i].code == c)
			return spellings[i].ascii;
	return "?";
}

static size_t put(char *out, const char *s)
{
	size_t n = strlen(s);

	memcpy(out, s, n);
	return n;
}

const char *wp_clean(struct wp_pool *pool, const char *s, bool utf8)
{
	const unsigned char *in = (const unsigned char *)s;
	size_t at = 0;
	char *out;

	if (!s)
		return "";
	/* No spelling is longer than twice the bytes of its sign. */
	out = wp_pool_alloc(pool, strlen(s) * 2 + 1);
	if (!out)
		return "";
	while (*in) {
		uint32_t c = 0;
		size_t n = decode(in, &c);

		if (!n || (is_control(c) && !(c >= '\t' && c <= '\r')))
			out[at++] = '?';
		else if (c >= '\t' && c <= '\r')
			out[at++] = ' ';
		else if (c < 0x80 || utf8)
			at += put(out + at,
				  (char[]) { (char)in[0], n > 1 ? (char)in[1] : 0,
					     n > 2 ? (char)in[2] : 0, n > 3 ? (char)in[3] : 0, 0 });
		else
			at += put(out + at, ascii(c));
		in += n ? n : 1;
	}
	out[at] = '\0';
	return out;
}

size_t wp_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

size_t wp_width_bytes(const char *s, size_t columns)
{
	size_t at = 0;

	while (s[at] && columns--) {
		at++;
		while (((unsigned char)s[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}
