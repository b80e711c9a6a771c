/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h - one line of the control connection to a JSON object and back. Pure: (bytes, length)
 * in, value out. Size, nesting and number of values are checked before the JSON parser sees the
 * line, so that neither its memory nor its recursion is in the sender's hands.
 */
#ifndef WP_PEER_MESSAGE_H
#define WP_PEER_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* `line` has no newline. A new reference to an object in *ret, whose strings are clean as by
 * wp_message_clean(). -EBADMSG with a sentence for what is
 * no JSON object, -E2BIG for more than `max_values` values or WP_PEER_DEPTH levels. */
int wp_message_decode(const char *line, size_t len, size_t max_values, json_t **ret,
		      struct wp_err *err) WP_MUST_USE;

/* Appends compact JSON and a newline. -E2BIG beyond the buffer's maximum, -EINVAL for a value that
 * has no JSON form (NaN). */
int wp_message_encode(const json_t *message, struct wp_buf *out) WP_MUST_USE;

/* Copies text from the other end for a person's eyes: control characters (a terminal would obey
 * them) and what is no UTF-8 become '?'; cut at a character's end. */
void wp_message_clean(const char *text, size_t len, char *out, size_t size);

#endif
