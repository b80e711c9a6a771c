/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zero-copy sending (Documentation/networking/msg_zerocopy.rst): the kernel sends from our pages and
 * reports on the socket's error queue when it has done with them, and whether it had to copy after all
 * (always so over veth and loopback).
 */
#include <errno.h>
#include <time.h> /* before errqueue.h, which needs it */
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "load/tcp_stream.h"

/* All pattern slots of a load together. */
#define SLOTS_TOTAL_BYTES ((size_t)128 << 20)
#define PAGE_BYTES        4096

void tcp_zerocopy_open(struct wp_stream *s, const struct wp_plan *plan)
{
	struct tcp_zerocopy *z = &tcp_ctx(s)->zc;
	size_t bytes = SLOTS_TOTAL_BYTES / (plan->streams ? plan->streams : 1);
	void *slot;

	if (plan->send_method != WP_SEND_ZEROCOPY)
		return;
	if (setsockopt(s->fd, SOL_SOCKET, SO_ZEROCOPY, &(int) { 1 }, sizeof(int)) < 0)
		return;
	if (plan->fill == WP_FILL_PATTERN) {
		if (bytes > plan->length_bytes)
			bytes = plan->length_bytes;
		if (bytes < PAGE_BYTES)
			bytes = PAGE_BYTES;
		slot = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		if (slot == MAP_FAILED)
			return;
		z->slot = slot;
		z->slot_bytes = bytes;
	}
	z->most_bytes = SIZE_MAX;
	z->on = true;
}

void tcp_zerocopy_shrink(struct wp_worker *w, struct wp_stream *s, size_t refused_bytes)
{
	struct tcp_zerocopy *z = &tcp_ctx(s)->zc;

	if (refused_bytes > PAGE_BYTES) {
		z->most_bytes = refused_bytes / 2;
		return;
	}
	z->on = false;
	wp_worker_method(w, WP_STREAM_SENDS, "write (zero copy was refused: see ulimit -l)");
}

void tcp_zerocopy_close(struct wp_stream *s)
{
	struct tcp_zerocopy *z = &tcp_ctx(s)->zc;

	/* Pages still in flight are the kernel's own references. */
	if (z->slot)
		munmap(z->slot, z->slot_bytes);
	z->slot = NULL;
}

bool tcp_zerocopy_in_flight(const struct wp_stream *s)
{
	const struct tcp_zerocopy *z = &tcp_ctx(s)->zc;

	return z->sent != z->completed;
}

static void take_completion(struct wp_stream *s, const struct sock_extended_err *e)
{
	struct wp_stream_counters *c = s->count;
	uint32_t n;

	if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY || e->ee_errno != 0)
		return;
	n = e->ee_data - e->ee_info + 1;
	tcp_ctx(s)->zc.completed += n;
	atomic_fetch_add_explicit(&c->zerocopy_sends, n, memory_order_relaxed);
	if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		atomic_fetch_add_explicit(&c->zerocopy_copied, n, memory_order_relaxed);
}

void tcp_zerocopy_reap(struct wp_stream *s)
{
	union {
		char room[CMSG_SPACE(sizeof(struct sock_extended_err) +
				     sizeof(struct sockaddr_storage))];
		struct cmsghdr align;
	} control;

	while (tcp_zerocopy_in_flight(s)) {
		struct msghdr msg = { .msg_control = control.room,
				      .msg_controllen = sizeof(control.room) };

		if (recvmsg(s->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *m = CMSG_FIRSTHDR(&msg); m; m = CMSG_NXTHDR(&msg, m))
			if ((m->cmsg_level == SOL_IP && m->cmsg_type == IP_RECVERR) ||
			    (m->cmsg_level == SOL_IPV6 && m->cmsg_type == IPV6_RECVERR))
				take_completion(s, (const struct sock_extended_err *)CMSG_DATA(m));
	}
}

const void *tcp_zerocopy_pattern(struct wp_stream *s, size_t *len)
{
	struct tcp_stream *x = tcp_ctx(s);
	struct tcp_zerocopy *z = &x->zc;

	if (x->offset >= z->slot_to) {
		tcp_zerocopy_reap(s);
		if (tcp_zerocopy_in_flight(s))
			return NULL;
		wp_fill_pattern(z->slot, z->slot_bytes, x->offset);
		z->slot_from = x->offset;
		z->slot_to = x->offset + z->slot_bytes;
	}
	if (*len > z->slot_to - x->offset)
		*len = (size_t)(z->slot_to - x->offset);
	return (const char *)z->slot + (x->offset - z->slot_from);
}
