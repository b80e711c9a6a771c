/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/tcp_info.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

/* Did the kernel return this field? */
#define GOT(field) (len >= offsetof(struct tcp_info, field) + sizeof(ti.field))

static uint64_t bits(uint64_t bytes_per_s)
{
	return bytes_per_s > UINT64_MAX / 8 ? UINT64_MAX : bytes_per_s * 8;
}

static void take_optional(const struct tcp_info *in, size_t len, struct wp_tcp_info *out)
{
	const struct tcp_info ti = *in;

	if (GOT(tcpi_max_pacing_rate)) {
		out->has_pacing = true;
		out->pacing_bps = bits(ti.tcpi_pacing_rate);
		out->max_pacing_bps = bits(ti.tcpi_max_pacing_rate);
	}
	if (GOT(tcpi_bytes_received)) {
		out->has_bytes = true;
		out->bytes_acked = ti.tcpi_bytes_acked;
		out->bytes_received = ti.tcpi_bytes_received;
	}
	if (GOT(tcpi_data_segs_out)) {
		out->has_segments = true;
		out->segs_in = ti.tcpi_segs_in;
		out->segs_out = ti.tcpi_segs_out;
		out->data_segs_in = ti.tcpi_data_segs_in;
		out->data_segs_out = ti.tcpi_data_segs_out;
		out->notsent_bytes = ti.tcpi_notsent_bytes;
		out->min_rtt_us = ti.tcpi_min_rtt;
	}
	if (GOT(tcpi_delivery_rate)) {
		out->has_delivery = true;
		out->delivery_bps = bits(ti.tcpi_delivery_rate);
		out->app_limited = ti.tcpi_delivery_rate_app_limited;
	}
	if (GOT(tcpi_sndbuf_limited)) {
		out->has_limits = true;
		out->busy_us = ti.tcpi_busy_time;
		out->rwnd_limited_us = ti.tcpi_rwnd_limited;
		out->sndbuf_limited_us = ti.tcpi_sndbuf_limited;
	}
	if (GOT(tcpi_reord_seen)) {
		out->has_retrans_bytes = true;
		out->bytes_sent = ti.tcpi_bytes_sent;
		out->bytes_retrans = ti.tcpi_bytes_retrans;
		out->dsack_dups = ti.tcpi_dsack_dups;
		out->reord_seen = ti.tcpi_reord_seen;
	}
	if (GOT(tcpi_snd_wnd)) {
		out->has_snd_wnd = true;
		out->rcv_ooopack = ti.tcpi_rcv_ooopack;
		out->snd_wnd_bytes = ti.tcpi_snd_wnd;
	}
}

int wp_tcp_info_read(int fd, struct wp_tcp_info *ret)
{
	union {
		struct tcp_info ti;
		char bytes[512]; /* newer kernels return more than our headers know */
	} u;
	socklen_t len = sizeof(u);
	struct wp_tcp_info out = { 0 };

	memset(&u, 0, sizeof(u));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &u, &len))
		return -errno;
	if (len < offsetof(struct tcp_info, tcpi_total_retrans) + sizeof(u.ti.tcpi_total_retrans))
		return -EPROTO;
	out.state = u.ti.tcpi_state;
	out.ca_state = u.ti.tcpi_ca_state;
	out.snd_mss_bytes = u.ti.tcpi_snd_mss;
	out.rcv_mss_bytes = u.ti.tcpi_rcv_mss;
	out.snd_cwnd = u.ti.tcpi_snd_cwnd;
	out.unacked = u.ti.tcpi_unacked;
	out.lost = u.ti.tcpi_lost;
	out.retrans = u.ti.tcpi_retrans;
	out.total_retrans = u.ti.tcpi_total_retrans;
	out.reordering = u.ti.tcpi_reordering;
	out.rtt_us = u.ti.tcpi_rtt;
	out.rttvar_us = u.ti.tcpi_rttvar;
	out.rcv_rtt_us = u.ti.tcpi_rcv_rtt;
	out.rcv_space_bytes = u.ti.tcpi_rcv_space;
	out.rto_us = u.ti.tcpi_rto;
	out.backoff = u.ti.tcpi_backoff;
	out.retransmits = u.ti.tcpi_retransmits;
	out.probes = u.ti.tcpi_probes;
	take_optional(&u.ti, len, &out);
	*ret = out;
	return 0;
}

int wp_socket_incoming_cpu(int fd)
{
	int cpu = -1;
	socklen_t len = sizeof(cpu);

	return getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) ? -1 : cpu;
}

int wp_socket_drops(int fd, uint32_t *ret)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(mem);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len))
		return -errno;
	if (len < (SK_MEMINFO_DROPS + 1) * sizeof(uint32_t))
		return -ENODATA;
	*ret = mem[SK_MEMINFO_DROPS];
	return 0;
}

uint64_t wp_socket_buffer_bytes(int fd, bool send)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	if (getsockopt(fd, SOL_SOCKET, send ? SO_SNDBUF : SO_RCVBUF, &bytes, &len) || bytes < 0)
		return 0;
	return (uint64_t)bytes;
}

int wp_tcp_congestion(int fd, char out[static 16])
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len))
		return -errno;
	name[sizeof(name) - 1] = '\0';
	memcpy(out, name, sizeof(name));
	return 0;
}
