/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - whether data connections move: bytes acknowledged by or received from the other end,
 * from TCP_INFO (linux/tcp.h, kernel 4.1 and newer). Costs about 2 us a connection.
 */
#ifndef WP_PEER_PROGRESS_H
#define WP_PEER_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "load/load.h"

/* The sum over all streams; it changes exactly when the kernel has moved something. */
uint64_t wp_peer_moved_bytes(const struct wp_stream_spec *streams, size_t n);

#endif
