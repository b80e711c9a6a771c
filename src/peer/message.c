/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "peer/limits.h"

/* Upper bounds of what the parser will build: separators and brackets outside strings. */
static int measure(const char *line, size_t len, size_t max_values, struct wp_err *err)
{
	size_t values = 1, depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
			continue;
		}
		if (c == '"') {
			in_string = true;
		} else if (c == ',') {
			values++;
		} else if (c == '{' || c == '[') {
			values++;
			if (++depth > WP_PEER_DEPTH)
				return wp_err_set(err, -E2BIG,
						  "a message is nested more than %d levels deep",
						  WP_PEER_DEPTH);
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	if (values > max_values)
		return wp_err_set(err, -E2BIG, "a message has more than %zu values", max_values);
	return 0;
}

/* Length of the printable UTF-8 character at `s`, 0 when there is none. Rejects overlong forms,
 * surrogates and the C1 controls (RFC 3629 section 4). */
static size_t character(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high, bytes;
	} forms[] = {
		{ 0xc2, 0xc2, 0xa0, 0xbf, 2 }, { 0xc3, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (s[0] >= 0x20 && s[0] < 0x7f)
		return 1;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		if (s[0] < forms[f].first_low || s[0] > forms[f].first_high)
			continue;
		if (len < forms[f].bytes || s[1] < forms[f].second_low ||
		    s[1] > forms[f].second_high)
			return 0;
		for (size_t i = 2; i < forms[f].bytes; i++)
			if ((s[i] & 0xc0) != 0x80)
				return 0;
		return forms[f].bytes;
	}
	return 0;
}

void wp_message_clean(const char *text, size_t len, char *out, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t o = 0;

	if (!size)
		return;
	for (size_t i = 0; i < len;) {
		size_t n = character(s + i, len - i);

		if (o + (n ? n : 1) >= size)
			break;
		if (n)
			memcpy(out + o, s + i, n);
		else
			out[o] = '?';
		o += n ? n : 1;
		i += n ? n : 1;
	}
	out[o] = '\0';
}

static int scrub_string(json_t *value)
{
	const unsigned char *s = (const unsigned char *)json_string_value(value);
	size_t len = json_string_length(value), n = 1;
	char *clean;
	int r;

	for (size_t i = 0; i < len && n; i += n)
		n = character(s + i, len - i);
	if (n)
		return 0;
	clean = malloc(len + 1); /* cleaning never makes it longer */
	if (!clean)
		return -ENOMEM;
	wp_message_clean((const char *)s, len, clean, len + 1);
	r = json_string_set(value, clean);
	free(clean);
	return r < 0 ? -ENOMEM : 0;
}

/* Every string of the message, so that no text of the other end can drive a terminal, whoever
 * prints it. Depth is bounded by measure(). */
static int scrub(json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;
	int r = 0;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		json_object_foreach(value, key, item) if ((r = scrub(item)) < 0) break;
		return r;
	case JSON_ARRAY:
		json_array_foreach(value, i, item) if ((r = scrub(item)) < 0) break;
		return r;
	case JSON_STRING:
		return scrub_string(value);
	default:
		return 0;
	}
}

int wp_message_decode(const char *line, size_t len, size_t max_values, json_t **ret,
		      struct wp_err *err)
{
	json_error_t why;
	json_t *message;
	int r;

	if (!len || line[0] != '{')
		return wp_err_set(err, -EBADMSG,
				  "what came is not a message of whyperf's protocol");
	r = measure(line, len, max_values, err);
	if (r < 0)
		return r;
	message = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!message) {
		char text[JSON_ERROR_TEXT_LENGTH];

		wp_message_clean(why.text, strnlen(why.text, sizeof(why.text)), text, sizeof(text));
		return wp_err_set(err, -EBADMSG, "a message is not valid JSON: %s", text);
	}
	r = scrub(message);
	if (r < 0) {
		json_decref(message);
		return wp_err_sys(err, r, "cannot take a message");
	}
	*ret = message; /* it began with '{' */
	return 0;
}

static int append(const char *data, size_t len, void *arg)
{
	return wp_buf_append(arg, data, len) < 0 ? -1 : 0;
}

int wp_message_encode(const json_t *message, struct wp_buf *out)
{
	/* Twelve digits are a nanosecond in a quarter of an hour; counters are integers and exact. */
	if (json_dump_callback(message, append, out, JSON_COMPACT | JSON_REAL_PRECISION(12)) < 0)
		return wp_buf_status(out) < 0 ? wp_buf_status(out) : -EINVAL;
	return wp_buf_append(out, "\n", 1);
}
