/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datagram.h - what is in the datagrams of a UDP test.
 *
 * Data: a 64-bit big-endian sequence number from 0, then the 64-bit big-endian CLOCK_MONOTONIC time in ns at which it was
 * sent, then the plan's content. What does not fit is left out:
 *
 *	payload of 16 bytes and more    number and time
 *	8 to 15                         number
 *	4 to 7                          the number's low 4 to 7 bytes
 *	1 to 3                          none: loss is known by counts only
 *
 * End marker, 32 bytes: "WPE1", 4 zero bytes, the 64-bit big-endian number of data datagrams sent, zeros. The preamble of
 * peer/preamble.h, "WPD1" and 32 bytes too, may still lie in a receiver's socket. A number never gets so high that its
 * first four bytes look like either.
 */
#ifndef WP_LOAD_DATAGRAM_H
#define WP_LOAD_DATAGRAM_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WP_DATAGRAM_NUMBER_BYTES   8
#define WP_DATAGRAM_HEADER_BYTES   16
#define WP_DATAGRAM_SHORTEST_BYTES 4 /* that have a number */
#define WP_DATAGRAM_CONTROL_BYTES  32

enum wp_datagram_kind {
	WP_DATAGRAM_DATA,
	WP_DATAGRAM_PREAMBLE,
	WP_DATAGRAM_END,
};

static inline bool wp_datagram_has_number(size_t len)
{
	return len >= WP_DATAGRAM_SHORTEST_BYTES;
}

static inline bool wp_datagram_has_time(size_t len)
{
	return len >= WP_DATAGRAM_HEADER_BYTES;
}

/* As much of the number and the time as fits into `len` bytes; no more than 16 bytes are written. */
static inline void wp_datagram_write(void *at, size_t len, uint64_t number, int64_t sent_ns)
{
	const uint64_t be_number = htobe64(number), be_sent = htobe64((uint64_t)sent_ns);

	/* Each on its own: one copy of both would wait for the two stores that it is made of. */
	if (len >= WP_DATAGRAM_HEADER_BYTES) {
		memcpy(at, &be_number, sizeof(be_number));
		memcpy((char *)at + WP_DATAGRAM_NUMBER_BYTES, &be_sent, sizeof(be_sent));
	} else if (len >= WP_DATAGRAM_NUMBER_BYTES) {
		memcpy(at, &be_number, sizeof(be_number));
	} else if (len >= WP_DATAGRAM_SHORTEST_BYTES) {
		memcpy(at, (const char *)&be_number + sizeof(be_number) - len, len);
	}
}

/* The same for `n` datagrams of `len` bytes, one behind the other and numbered onward. */
static inline void wp_datagram_write_run(void *at, size_t len, size_t n, uint64_t number,
					 int64_t sent_ns)
{
	const uint64_t be_sent = htobe64((uint64_t)sent_ns);
	char *to = at;

	if (len < WP_DATAGRAM_HEADER_BYTES) {
		for (size_t i = 0; i < n; i++, to += len)
			wp_datagram_write(to, len, number + i, sent_ns);
		return;
	}
	for (size_t i = 0; i < n; i++, to += len) {
		const uint64_t be_number = htobe64(number + i);

		memcpy(to, &be_number, sizeof(be_number));
		memcpy(to + WP_DATAGRAM_NUMBER_BYTES, &be_sent, sizeof(be_sent));
	}
}

/* The whole number of a datagram of at least WP_DATAGRAM_SHORTEST_BYTES; a truncated one becomes the one of those with the
 * same low bytes that is nearest to `near`. */
uint64_t wp_datagram_extend(const void *at, size_t len, uint64_t near);

static inline uint64_t wp_datagram_number(const void *at, size_t len, uint64_t near)
{
	uint64_t be;

	if (len < WP_DATAGRAM_NUMBER_BYTES)
		return wp_datagram_extend(at, len, near);
	memcpy(&be, at, sizeof(be));
	return be64toh(be);
}

/* Of a datagram of at least WP_DATAGRAM_HEADER_BYTES. */
static inline int64_t wp_datagram_sent_ns(const void *at)
{
	uint64_t be;

	memcpy(&be, (const char *)at + WP_DATAGRAM_NUMBER_BYTES, sizeof(be));
	return (int64_t)be64toh(be);
}

/* What a datagram of WP_DATAGRAM_CONTROL_BYTES is; of any other length it is data. */
enum wp_datagram_kind wp_datagram_kind(const void *at);

void wp_datagram_write_end(uint8_t out[static WP_DATAGRAM_CONTROL_BYTES], uint64_t total);
uint64_t wp_datagram_end_total(const void *at); /* of an end marker */

#endif
