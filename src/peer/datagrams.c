/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/datagrams.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/udp.h"
#include "peer/limits.h"
#include "peer/session.h"

#define TELL_EVERY_NS WP_NS_PER_S

static void add(struct wp_datagrams *d, int fd, bool owned)
{
	d->owned[d->n] = owned;
	d->fds[d->n++] = fd;
}

int wp_datagrams_open(struct wp_datagrams *d, const int *listening, size_t n_listening,
		      const int *inherited, size_t n_inherited)
{
	struct wp_err *why = &d->why_none;
	int r = 0;

	*d = (struct wp_datagrams) { .epoll = -1 };
	for (size_t i = 0; i < n_inherited && d->n < WP_DATAGRAMS_MAX_FDS; i++) {
		int e = wp_udp_adopt(inherited[i], why);

		if (e < 0)
			r = e;
		else
			add(d, inherited[i], false);
	}
	for (size_t i = 0; i < n_listening && !n_inherited && d->n < WP_DATAGRAMS_MAX_FDS; i++) {
		struct wp_addr local;
		int fd = -1, e = wp_addr_local(listening[i], &local);

		if (!e)
			e = wp_udp_listen(&local, &fd, why);
		if (e < 0)
			r = e;
		else
			add(d, fd, true);
	}
	return d->n ? 0 : r;
}

void wp_datagrams_close(struct wp_datagrams *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->owned[i])
			wp_close_p(&d->fds[i]);
	d->n = 0;
	wp_err_set(&d->why_none, -ESHUTDOWN, "the server is shutting down");
}

void wp_datagrams_watch(struct wp_datagrams *d, int epoll, uint64_t tag)
{
	d->epoll = epoll;
	d->tag = tag;
}

void wp_datagrams_want(struct wp_datagrams *d, int change)
{
	bool before = d->wanted > 0;

	d->wanted = (unsigned)((int)d->wanted + change);
	if (before == (d->wanted > 0))
		return;
	for (size_t i = 0; i < d->n; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = d->tag + i };

		/* What is there is older than the token that the session will give away. */
		if (!before)
			(void)wp_udp_drain(d->fds[i], WP_PEER_OLD_DATAGRAMS);
		(void)epoll_ctl(d->epoll, before ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, d->fds[i], &e);
	}
}

/* At once, but not more than once a second whatever comes. */
static void refuse(struct wp_server *server, const struct wp_addr *from, const char *why)
{
	struct wp_datagrams *d = &server->datagrams;
	int64_t now_ns = wp_now_ns();
	char name[WP_ADDR_TEXT];

	d->refused++;
	if (d->told_ns && now_ns - d->told_ns < TELL_EVERY_NS)
		return;
	wp_addr_format(from, name);
	if (d->refused == 1)
		wp_server_tell(server, WP_SERVER_REFUSED, "%s: %s", name, why);
	else
		wp_server_tell(server, WP_SERVER_REFUSED, "%s: %s (and %llu datagrams before it)",
			       name, why, (unsigned long long)d->refused - 1);
	d->refused = 0;
	d->told_ns = now_ns;
}

void wp_datagrams_turn(struct wp_server *server, size_t i)
{
	struct wp_udp_first first[WP_UDP_TAKE];
	int fd = server->datagrams.fds[i];
	size_t n = wp_udp_take(fd, first, WP_UDP_TAKE);

	for (size_t k = 0; k < n; k++) {
		struct wp_preamble preamble;
		struct wp_err err = { 0 };
		int r;

		if (first[k].len != WP_PREAMBLE_BYTES ||
		    wp_preamble_decode(first[k].bytes, first[k].len, &preamble) < 0) {
			refuse(server, &first[k].from, "a datagram that is not whyperf's");
			continue;
		}
		r = wp_session_attach_datagrams(server, fd, &first[k], &preamble, &err);
		if (r < 0 && r != -EEXIST) /* it is repeated until the server is ready */
			refuse(server, &first[k].from, err.msg);
	}
}
