/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/pauses.h"

/* Puts `length_ns` where the shortest was, or at the end while there is room. */
static void note_length(struct wp_pause_log *log, int64_t length_ns)
{
	int64_t *heap = log->longest_ns;
	size_t at = 0;

	if (log->n < WP_PAUSES) {
		for (at = log->n++; at > 0 && heap[(at - 1) / 2] > length_ns; at = (at - 1) / 2)
			heap[at] = heap[(at - 1) / 2];
		heap[at] = length_ns;
		return;
	}
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < log->n && heap[child + 1] < heap[child])
			child++;
		if (child >= log->n || heap[child] >= length_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = length_ns;
}

void wp_pause_add(struct wp_pause_log *log, const struct wp_pause *pause)
{
	uint64_t head = atomic_load_explicit(&log->head, memory_order_relaxed);

	note_length(log, pause->end_ns - pause->start_ns);
	if (head - atomic_load_explicit(&log->tail, memory_order_acquire) == WP_PAUSE_QUEUE) {
		atomic_fetch_add_explicit(&log->dropped, 1, memory_order_relaxed);
		return;
	}
	log->queue[head % WP_PAUSE_QUEUE] = *pause;
	atomic_store_explicit(&log->head, head + 1, memory_order_release);
}

size_t wp_pause_take(struct wp_pause_log *log, struct wp_pause *out, size_t max)
{
	uint64_t tail = atomic_load_explicit(&log->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&log->head, memory_order_acquire);
	size_t n = 0;

	while (n < max && tail < head)
		out[n++] = log->queue[tail++ % WP_PAUSE_QUEUE];
	atomic_store_explicit(&log->tail, tail, memory_order_release);
	return n;
}
