/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a data connection's preamble; what is accepted encodes to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "peer/preamble.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[WP_PREAMBLE_BYTES], token[WP_TOKEN_BYTES];
	char hex[WP_TOKEN_HEX];
	struct wp_preamble p;

	if (wp_preamble_decode(data, size, &p) < 0)
		return 0;
	wp_preamble_encode(&p, again);
	if (memcmp(again, data, size) != 0)
		abort();
	wp_token_to_hex(p.token, hex);
	if (wp_token_from_hex(hex, token) < 0 || !wp_token_equal(token, p.token))
		abort();
	return 0;
}
