/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_info.h - what the kernel knows of one TCP socket: TCP_INFO (tcp(7), include/uapi/linux/tcp.h), SO_MEMINFO and
 * SO_INCOMING_CPU.
 *
 * The kernel returns as many bytes of struct tcp_info as it knows; fields beyond are absent on old kernels. Each
 * optional group has its `has_` flag. Costs 1.5 to 2 us. Windows and queues are of the moment, times and segment
 * counts cumulative since the connection was made.
 */
#ifndef WP_SYS_TCP_INFO_H
#define WP_SYS_TCP_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wp_tcp_info {
	uint8_t state, ca_state;
	bool app_limited; /* of the newest delivery rate sample (4.9) */
	uint32_t snd_mss_bytes, rcv_mss_bytes, snd_cwnd, unacked, lost, retrans, total_retrans,
		reordering;
	uint32_t rtt_us, rttvar_us, rcv_rtt_us, rcv_space_bytes;
	uint32_t rto_us;     /* retransmission timeout, doubled by each back-off */
	uint8_t backoff;     /* how often it was doubled since the last acknowledgement */
	uint8_t retransmits; /* timeouts in a row without an acknowledgement */
	uint8_t probes;      /* of a closed window or a silent peer, unanswered */
	bool has_bytes;      /* 4.1 */
	uint64_t bytes_acked, bytes_received;
	bool has_pacing;                     /* 3.15 */
	uint64_t pacing_bps, max_pacing_bps; /* UINT64_MAX = unlimited */
	bool has_segments;                   /* 4.2: data segments 4.6 */
	uint32_t segs_in, segs_out, data_segs_in, data_segs_out, notsent_bytes, min_rtt_us;
	bool has_delivery; /* 4.9 */
	uint64_t delivery_bps;
	bool has_limits; /* 4.10: cumulative microseconds */
	uint64_t busy_us, rwnd_limited_us, sndbuf_limited_us;
	bool has_retrans_bytes; /* 4.19 */
	uint64_t bytes_sent, bytes_retrans;
	uint32_t dsack_dups, reord_seen;
	bool has_snd_wnd; /* 5.4 */
	uint32_t rcv_ooopack, snd_wnd_bytes;
};

/* 0 or -errno (-ENOTCONN and the like). */
int wp_tcp_info_read(int fd, struct wp_tcp_info *ret) WP_MUST_USE;
/* CPU that last processed a received packet of this socket; -1 unknown. */
int wp_socket_incoming_cpu(int fd);
/* Packets that the kernel dropped at this socket (SO_MEMINFO, 4.12); -errno when it can't tell. */
int wp_socket_drops(int fd, uint32_t *ret) WP_MUST_USE;
/* SO_SNDBUF or SO_RCVBUF as the kernel accounts it (twice what was asked); 0 when it can't tell. */
uint64_t wp_socket_buffer_bytes(int fd, bool send);
/* Name of the congestion control, at most 15 characters. */
int wp_tcp_congestion(int fd, char out[static 16]) WP_MUST_USE;

#endif
