/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/progress.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

uint64_t wp_peer_moved_bytes(const struct wp_stream_spec *streams, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct tcp_info info = { 0 };
		socklen_t len = sizeof(info);

		if (getsockopt(streams[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
			sum += info.tcpi_bytes_acked + info.tcpi_bytes_received;
	}
	return sum;
}

static bool is_bulk_tcp(const struct wp_plan *plan)
{
	return !strcmp(plan->kind, "tcp");
}

uint64_t wp_peer_heard(const struct wp_plan *plan, const struct wp_end *end,
		       const struct wp_stream_spec *streams, size_t n)
{
	if (is_bulk_tcp(plan))
		return wp_peer_moved_bytes(streams, n);
	return end ? wp_end_heard(end) : 0;
}

uint64_t wp_peer_moved(const struct wp_plan *plan, const struct wp_end *end,
		       const struct wp_stream_spec *streams, size_t n)
{
	if (is_bulk_tcp(plan))
		return wp_peer_moved_bytes(streams, n);
	return end ? wp_end_moved(end) : 0;
}
