/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preamble.h - the first bytes of a data connection of the native protocol: which session and
 * stream it belongs to. Always WP_PREAMBLE_BYTES, explicitly encoded, nothing else before the test
 * starts:
 *
 *	 0  4  "WPD1"
 *	 4 16  the session's token, from the server's accept
 *	20  4  stream index, big-endian: the connection's number in the test, from 0
 *	24  1  role of the client's end: 0 it sends, 1 it receives
 *	25  7  zero
 *
 * A control connection starts with '{' (plain) or 0x16 (a TLS handshake record), so the first byte
 * decides. The token is what binds a data connection to the control connection, which may be
 * encrypted; data connections are never.
 */
#ifndef WP_PEER_PREAMBLE_H
#define WP_PEER_PREAMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/load.h"

#define WP_PREAMBLE_BYTES 32
#define WP_TOKEN_BYTES    16
#define WP_TOKEN_HEX      (2 * WP_TOKEN_BYTES + 1) /* text form with its NUL */

enum wp_first_byte {
	WP_FIRST_PLAIN = '{',
	WP_FIRST_TLS = 0x16,
	WP_FIRST_DATA = 'W',
};

struct wp_preamble {
	uint8_t token[WP_TOKEN_BYTES];
	uint32_t stream;
	enum wp_stream_role role; /* of the client's end */
};

void wp_preamble_encode(const struct wp_preamble *p, uint8_t out[static WP_PREAMBLE_BYTES]);
/* -EBADMSG for a wrong length, magic, role or padding, -ERANGE for a stream index that no test can
 * have. */
int wp_preamble_decode(const uint8_t *data, size_t len, struct wp_preamble *ret) WP_MUST_USE;

void wp_token_to_hex(const uint8_t token[static WP_TOKEN_BYTES], char out[static WP_TOKEN_HEX]);
/* 32 lower-case hexadecimal digits and nothing else; -EBADMSG otherwise. */
int wp_token_from_hex(const char *text, uint8_t ret[static WP_TOKEN_BYTES]) WP_MUST_USE;
/* Compares in constant time. */
int wp_token_equal(const uint8_t a[static WP_TOKEN_BYTES], const uint8_t b[static WP_TOKEN_BYTES]);

#endif
