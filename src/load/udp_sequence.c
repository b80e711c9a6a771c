/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/udp_sequence.h"

#include <errno.h>
#include <stdlib.h>

#define WORDS (UDP_WINDOW / 64)

int udp_sequence_init(struct udp_sequence *q)
{
	*q = (struct udp_sequence) { .seen = calloc(WORDS, sizeof(uint64_t)) };
	return q->seen ? 0 : -ENOMEM;
}

void udp_sequence_done(struct udp_sequence *q)
{
	free(q->seen);
	*q = (struct udp_sequence) { 0 };
}

/* The window now ends with the word of `number`; words that it has entered are empty. */
static void advance(struct udp_sequence *q, uint64_t number)
{
	/* With nothing seen yet word 0 is there already, and empty. */
	uint64_t from = q->next > 0 ? (q->next - 1) / 64 + 1 : 1, to = number / 64;

	if (to - from >= WORDS && to >= from)
		from = to - WORDS + 1;
	for (uint64_t w = from; w <= to; w++)
		q->seen[w % WORDS] = 0;
	q->next = number + 1;
}

bool udp_sequence_jump(struct udp_sequence *q, uint64_t number)
{
	uint64_t *word = &q->seen[number % UDP_WINDOW / 64], bit = UINT64_C(1) << (number % 64);

	if (number >= q->next) {
		if (number - q->next >= UDP_ABSURD)
			return false;
		advance(q, number);
	} else if (number / 64 + WORDS <= (q->next - 1) / 64) {
		q->late++;
		return true;
	} else if (*word & bit) {
		q->duplicated++;
		return true;
	} else {
		q->out_of_order++;
	}
	*word |= bit;
	return true;
}
