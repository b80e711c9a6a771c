/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_connect.h - opens a client's data connections: many at once, so that thousands over a
 * long path cost a few round trips, to the address and from the address of the control connection.
 */
#ifndef WP_PEER_DATA_CONNECT_H
#define WP_PEER_DATA_CONNECT_H

#include "load/load.h"
#include "model/plan.h"
#include "peer/preamble.h"

/* May this process open as many files? -EMFILE with a sentence. */
int wp_data_check(const struct wp_plan *plan, struct wp_err *err) WP_MUST_USE;
/* Fills streams[i].fd (each -1 on entry) with a connected socket that has the plan's options and
 * whose preamble is sent. On failure those that are open stay in `streams`; the caller closes
 * them. `timeout_ns` is for each batch of WP_PEER_CONNECT_BATCH. */
int wp_data_connect(int control_fd, const struct wp_plan *plan,
		    const uint8_t token[static WP_TOKEN_BYTES], struct wp_stream_spec *streams,
		    size_t n, int64_t timeout_ns, struct wp_err *err) WP_MUST_USE;
/* Likewise with UDP sockets, which are connected too unless the plan says otherwise (then `remote` is
 * set). The server does not know them yet: preambles have to follow, until it is ready. */
int wp_data_open_datagrams(int control_fd, const struct wp_plan *plan,
			   struct wp_stream_spec *streams, size_t n,
			   struct wp_err *err) WP_MUST_USE;
/* Of streams first..first+n-1. */
void wp_data_send_preambles(const uint8_t token[static WP_TOKEN_BYTES],
			    const struct wp_stream_spec *streams, size_t first, size_t n);
/* No sockets: the engine makes a connection for each transaction to that port of the server. */
int wp_data_name_port(int control_fd, uint16_t port, struct wp_stream_spec *streams, size_t n,
		      struct wp_err *err) WP_MUST_USE;
/* A sentence about data connection `i` (from 0) that can't be opened; `r`. */
int wp_data_failed(size_t i, int r, struct wp_err *err);

#endif
