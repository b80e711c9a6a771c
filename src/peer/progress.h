/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - whether data connections move, and whether the other end has a part in it. For bulk TCP from TCP_INFO
 * (linux/tcp.h, kernel 4.1 and newer): bytes acknowledged by or received from the other end, about 2 us a connection. Of
 * datagrams and transactions the load's own counters tell: what was received, what was answered.
 */
#ifndef WP_PEER_PROGRESS_H
#define WP_PEER_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "load/load.h"
#include "model/plan.h"
#include "observe/endpoint.h"

/* The sum over all streams; it changes exactly when the kernel has moved something. */
uint64_t wp_peer_moved_bytes(const struct wp_stream_spec *streams, size_t n);
/* Changes when something came from the other end. `end` NULL: none is known yet. */
uint64_t wp_peer_heard(const struct wp_plan *plan, const struct wp_end *end,
		       const struct wp_stream_spec *streams, size_t n);
/* Changes when something moved, be it that this end sent it into the blue. */
uint64_t wp_peer_moved(const struct wp_plan *plan, const struct wp_end *end,
		       const struct wp_stream_spec *streams, size_t n);

#endif
