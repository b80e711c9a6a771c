/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/progress.h"

#include <linux/tcp.h>
#include <netinet/in.h>
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
