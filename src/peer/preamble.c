/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/preamble.h"

#include <errno.h>
#include <string.h>

#include "model/plan.h"

static const uint8_t magic[4] = { 'W', 'P', 'D', '1' };

/* Streams in both directions, or the connections of a request/response test. */
#define MAX_INDEX \
	(2 * WP_MAX_STREAMS > WP_MAX_CONNECTIONS ? 2 * WP_MAX_STREAMS : WP_MAX_CONNECTIONS)

enum {
	AT_TOKEN = 4,
	AT_STREAM = AT_TOKEN + WP_TOKEN_BYTES,
	AT_ROLE = AT_STREAM + 4,
	AT_ZERO = AT_ROLE + 1,
};

void wp_preamble_encode(const struct wp_preamble *p, uint8_t out[static WP_PREAMBLE_BYTES])
{
	memset(out, 0, WP_PREAMBLE_BYTES);
	memcpy(out, magic, sizeof(magic));
	memcpy(out + AT_TOKEN, p->token, WP_TOKEN_BYTES);
	out[AT_STREAM] = (uint8_t)(p->stream >> 24);
	out[AT_STREAM + 1] = (uint8_t)(p->stream >> 16);
	out[AT_STREAM + 2] = (uint8_t)(p->stream >> 8);
	out[AT_STREAM + 3] = (uint8_t)p->stream;
	out[AT_ROLE] = p->role == WP_STREAM_RECEIVES;
}

int wp_preamble_decode(const uint8_t *data, size_t len, struct wp_preamble *ret)
{
	uint32_t stream;

	if (len != WP_PREAMBLE_BYTES || memcmp(data, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (data[AT_ROLE] > 1)
		return -EBADMSG;
	for (size_t i = AT_ZERO; i < WP_PREAMBLE_BYTES; i++)
		if (data[i])
			return -EBADMSG;
	stream = (uint32_t)data[AT_STREAM] << 24 | (uint32_t)data[AT_STREAM + 1] << 16 |
		 (uint32_t)data[AT_STREAM + 2] << 8 | data[AT_STREAM + 3];
	if (stream >= MAX_INDEX)
		return -ERANGE;
	memcpy(ret->token, data + AT_TOKEN, WP_TOKEN_BYTES);
	ret->stream = stream;
	ret->role = data[AT_ROLE] ? WP_STREAM_RECEIVES : WP_STREAM_SENDS;
	return 0;
}

void wp_token_to_hex(const uint8_t token[static WP_TOKEN_BYTES], char out[static WP_TOKEN_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < WP_TOKEN_BYTES; i++) {
		out[2 * i] = digits[token[i] >> 4];
		out[2 * i + 1] = digits[token[i] & 15];
	}
	out[2 * WP_TOKEN_BYTES] = '\0';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int wp_token_from_hex(const char *text, uint8_t ret[static WP_TOKEN_BYTES])
{
	uint8_t token[WP_TOKEN_BYTES];

	if (strnlen(text, WP_TOKEN_HEX) != WP_TOKEN_HEX - 1)
		return -EBADMSG;
	for (size_t i = 0; i < WP_TOKEN_BYTES; i++) {
		int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		token[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, token, WP_TOKEN_BYTES);
	return 0;
}

int wp_token_equal(const uint8_t a[static WP_TOKEN_BYTES], const uint8_t b[static WP_TOKEN_BYTES])
{
	unsigned differs = 0;

	for (size_t i = 0; i < WP_TOKEN_BYTES; i++)
		differs |= (unsigned)(a[i] ^ b[i]);
	return !differs;
}
