/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/datagram.h"

#define MAGIC_BYTES 4
#define TOTAL_AT    8
static const char preamble_magic[] = "WPD1", end_magic[] = "WPE1";

uint64_t wp_datagram_extend(const void *at, size_t len, uint64_t near)
{
	const uint64_t span = UINT64_C(1) << (8 * len);
	uint64_t be = 0, low, number;

	memcpy((char *)&be + sizeof(be) - len, at, len);
	low = be64toh(be);
	number = (near & ~(span - 1)) | low;
	if (number > near && number - near > span / 2 && number >= span)
		return number - span;
	if (number < near && near - number > span / 2 && number <= UINT64_MAX - span)
		return number + span;
	return number;
}

enum wp_datagram_kind wp_datagram_kind(const void *at)
{
	if (!memcmp(at, end_magic, MAGIC_BYTES))
		return WP_DATAGRAM_END;
	return memcmp(at, preamble_magic, MAGIC_BYTES) ? WP_DATAGRAM_DATA : WP_DATAGRAM_PREAMBLE;
}

void wp_datagram_write_end(uint8_t out[static WP_DATAGRAM_CONTROL_BYTES], uint64_t total)
{
	uint64_t be = htobe64(total);

	memset(out, 0, WP_DATAGRAM_CONTROL_BYTES);
	memcpy(out, end_magic, MAGIC_BYTES);
	memcpy(out + TOTAL_AT, &be, sizeof(be));
}

uint64_t wp_datagram_end_total(const void *at)
{
	uint64_t be;

	memcpy(&be, (const char *)at + TOTAL_AT, sizeof(be));
	return be64toh(be);
}
