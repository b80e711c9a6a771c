/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_datagrams.c - a client's data sockets that need no handshake. Part of data_connect.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "net/sock.h"
#include "net/udp.h"
#include "peer/data_connect.h"
#include "peer/limits.h"
#include "peer/proto.h"

struct ends {
	struct wp_addr remote, local; /* local without a port */
};

static int read_ends(int control_fd, struct ends *ret, struct wp_err *err)
{
	int r = wp_addr_remote(control_fd, &ret->remote);

	if (!r)
		r = wp_addr_local(control_fd, &ret->local);
	if (r < 0)
		return wp_err_sys(err, r, "the control connection has no address");
	wp_addr_set_port(&ret->local, 0);
	return 0;
}

static int open_one(const struct ends *e, const struct wp_plan *plan, struct wp_stream_spec *s,
		    size_t i, struct wp_err *err)
{
	int r;

	s->fd = socket(e->remote.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       IPPROTO_UDP);
	if (s->fd < 0)
		return wp_data_failed(i, -errno, err);
	r = wp_sock_apply(s->fd, plan, NULL, err);
	if (r < 0)
		return r;
	/* The server takes data only from the address that it talks to. */
	if (bind(s->fd, &e->local.sa, e->local.len) < 0)
		return wp_data_failed(i, -errno, err);
	if (plan->unconnected && s->role == WP_STREAM_SENDS && !strcmp(plan->kind, "udp")) {
		s->remote = e->remote;
		return 0;
	}
	if (connect(s->fd, &e->remote.sa, e->remote.len) < 0)
		return wp_data_failed(i, -errno, err);
	(void)wp_udp_drain(s->fd,
			   WP_PEER_EXTRA_PREAMBLES); /* of strangers, until it was connected */
	return 0;
}

int wp_data_open_datagrams(int control_fd, const struct wp_plan *plan,
			   struct wp_stream_spec *streams, size_t n, struct wp_err *err)
{
	struct ends e;
	int r = read_ends(control_fd, &e, err);

	for (size_t i = 0; i < n && !r; i++)
		r = open_one(&e, plan, &streams[i], i, err);
	return r;
}

void wp_data_send_preambles(const uint8_t token[static WP_TOKEN_BYTES],
			    const struct wp_stream_spec *streams, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		const struct wp_stream_spec *s = &streams[i];
		struct wp_preamble p = { .stream = (uint32_t)i, .role = s->role };
		uint8_t bytes[WP_PREAMBLE_BYTES];

		memcpy(p.token, token, WP_TOKEN_BYTES);
		wp_preamble_encode(&p, bytes);
		/* Whatever went wrong: it is sent again, and the server tells which ones never came. */
		(void)!sendto(s->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT,
			      s->remote.len ? &s->remote.sa : NULL, s->remote.len);
	}
}

int wp_data_name_port(int control_fd, uint16_t port, struct wp_stream_spec *streams, size_t n,
		      struct wp_err *err)
{
	struct ends e;
	int r = read_ends(control_fd, &e, err);

	if (r < 0)
		return r;
	wp_addr_set_port(&e.remote, port);
	for (size_t i = 0; i < n; i++)
		streams[i].remote = e.remote;
	return 0;
}
