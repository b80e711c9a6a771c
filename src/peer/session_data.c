/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session_data.c - a session's data connections: what is set aside for them, the token that opens
 * the door to the session, who may come in, and the listening sockets of a test that makes a
 * connection for each transaction. Part of session.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/rng.h"
#include "net/sock.h"
#include "peer/limits.h"
#include "peer/session.h"

/* Sets files aside for the connections, beside those of other clients. */
static int take_fds(struct wp_session *s, struct wp_err *err)
{
	size_t n = wp_plan_connections(&s->plan), others;
	struct wp_server *server = s->server;
	struct rlimit limit;
	rlim_t spare;
	bool fits;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit.rlim_cur = RLIM_INFINITY;
	/* A server with few files serves small tests all the same. */
	spare = limit.rlim_cur / 2 < WP_PEER_SPARE_FDS ? limit.rlim_cur / 2 : WP_PEER_SPARE_FDS;
	pthread_mutex_lock(&server->lock);
	others = server->n_fds;
	fits = limit.rlim_cur == RLIM_INFINITY || others + n + spare <= limit.rlim_cur;
	if (fits)
		server->n_fds += s->n_fds = n;
	pthread_mutex_unlock(&server->lock);
	if (fits)
		return 0;
	return wp_err_set(err, -EMFILE,
			  "the server can't open %zu data connections%s: its limit is %llu files; "
			  "raise it (ulimit -n) or ask for fewer",
			  n, others ? " beside those of other clients" : "",
			  (unsigned long long)limit.rlim_cur);
}

int wp_session_check_data(struct wp_session *s, struct wp_err *err)
{
	const struct wp_datagrams *d = &s->server->datagrams;
	int r = 0;

	pthread_mutex_lock(&s->server->lock);
	if (s->plan.transport == WP_UDP && !d->n)
		r = wp_err_set(err, -EOPNOTSUPP, "this server takes no UDP: %s", d->why_none.msg);
	pthread_mutex_unlock(&s->server->lock);
	return r ? r : take_fds(s, err);
}

void wp_session_close_data(struct wp_session *s)
{
	for (size_t i = 0; i < s->n_streams; i++)
		wp_close_p(&s->streams[i].fd);
}

void wp_session_done_data(struct wp_session *s)
{
	wp_session_close_data(s);
	free(s->streams);
	pthread_mutex_lock(&s->server->lock);
	s->server->n_fds -= s->n_fds;
	pthread_mutex_unlock(&s->server->lock);
}

/* ---- making room ------------------------------------------------------------------------------ */

/* One listening socket a thread that there will be. */
static int count_listeners(const struct wp_plan *plan, size_t *ret)
{
	size_t n = plan->peer_cpus.n;

	if (!n) {
		_cleanup_cpulist_ struct wp_cpulist here = { 0 };
		int r = wp_cpulist_allowed(&here);

		if (r < 0)
			return r;
		n = here.n;
	}
	if (n > plan->streams)
		n = plan->streams;
	*ret = n < WP_PEER_MAX_LISTENERS ? n : WP_PEER_MAX_LISTENERS;
	return 0;
}

/* At the address of the control connection, for whoever comes from the client's. */
static int listen_for(struct wp_session *s, struct wp_stream_spec *streams, size_t n,
		      struct wp_err *err)
{
	struct wp_addr local = s->local, peer = s->from;
	int fds[WP_PEER_MAX_LISTENERS], r;
	struct wp_err why = { 0 };

	wp_addr_set_port(&local, s->server->config->data_port);
	wp_addr_set_port(&peer, 0);
	r = wp_sock_listen_group(&local, fds, n, &why);
	if (r == -EADDRINUSE)
		return wp_err_set(err, r,
				  "the server's data port %u (--data-port) is taken, by another "
				  "test perhaps; try again later",
				  s->server->config->data_port);
	if (r < 0)
		return wp_err_set(err, r, "the server %s", why.msg);
	for (size_t i = 0; i < n; i++) {
		streams[i].fd = fds[i];
		streams[i].remote = peer;
	}
	r = wp_addr_local(fds[0], &local);
	s->data_port = wp_addr_port(&local);
	return r;
}

int wp_session_open_data(struct wp_session *s, struct wp_err *err)
{
	size_t n = wp_plan_connections(&s->plan);
	int r = s->plan.connect_each ? count_listeners(&s->plan, &n) : 0;
	struct wp_stream_spec *streams = r ? NULL : calloc(n, sizeof(*streams));
	uint8_t token[WP_TOKEN_BYTES];

	if (!r)
		r = streams ? wp_random_bytes(token, sizeof(token)) : -ENOMEM;
	if (r < 0) {
		free(streams);
		return wp_err_sys(err, r, "the server can't prepare %zu streams", n);
	}
	for (size_t i = 0; i < n; i++) {
		streams[i].fd = -1;
		streams[i].role = wp_plan_role(&s->plan, i, WP_SERVER);
		if (streams[i].role == WP_STREAM_SENDS)
			streams[i].limit_bytes = wp_plan_connection_limit(&s->plan, i);
	}
	if (s->plan.connect_each)
		r = listen_for(s, streams, n, err);
	pthread_mutex_lock(&s->server->lock);
	s->streams = streams;
	s->n_streams = n;
	memcpy(s->token, token, sizeof(token));
	if (s->plan.connect_each) {
		s->n_there = n;
	} else {
		s->collecting = true;
		if (s->plan.transport == WP_UDP)
			wp_datagrams_want(&s->server->datagrams, 1);
	}
	pthread_mutex_unlock(&s->server->lock);
	return r;
}

static void stop_collecting(struct wp_session *s)
{
	if (s->collecting && s->plan.transport == WP_UDP)
		wp_datagrams_want(&s->server->datagrams, -1);
	s->collecting = false;
}

void wp_session_shut_data(struct wp_session *s)
{
	pthread_mutex_lock(&s->server->lock);
	stop_collecting(s);
	pthread_mutex_unlock(&s->server->lock);
}

size_t wp_session_count_data(struct wp_session *s)
{
	size_t n;

	pthread_mutex_lock(&s->server->lock);
	n = s->n_there;
	if (n == s->n_streams)
		stop_collecting(s);
	pthread_mutex_unlock(&s->server->lock);
	return n;
}

void wp_session_drain_data(struct wp_session *s)
{
	if (s->plan.transport != WP_UDP)
		return;
	for (size_t i = 0; i < s->n_streams; i++)
		(void)wp_udp_drain(s->streams[i].fd, WP_PEER_EXTRA_PREAMBLES);
}

/* ---- coming in -------------------------------------------------------------------------------- */

/* Whose connection this is. With server->lock. */
static int find(struct wp_server *server, enum wp_transport transport, const struct wp_addr *from,
		const struct wp_preamble *p, struct wp_session **ret, struct wp_err *err)
{
	struct wp_session *s;

	for (s = server->sessions; s; s = s->next)
		if (s->collecting && wp_token_equal(s->token, p->token))
			break;
	if (!s || s->plan.transport != transport)
		return wp_err_set(err, -ENOENT, "a data connection for no test that waits for one");
	if (!wp_addr_same_host(&s->from, from))
		return wp_err_set(err, -EACCES,
				  "a data connection from another address than its control "
				  "connection's");
	if (p->stream >= s->n_streams || p->role == s->streams[p->stream].role)
		return wp_err_set(err, -EBADMSG,
				  "a data connection for a stream that is not asked");
	if (s->streams[p->stream].fd >= 0)
		return wp_err_set(err, -EEXIST, "a second data connection for stream %u",
				  p->stream);
	*ret = s;
	return 0;
}

static void put(struct wp_session *s, const struct wp_preamble *p, int fd)
{
	s->streams[p->stream].fd = fd;
	s->n_there++;
	(void)!write(s->arrived_fd, &(uint64_t) { 1 }, sizeof(uint64_t));
}

int wp_session_attach(struct wp_server *server, int fd, const struct wp_addr *from,
		      const struct wp_preamble *p, struct wp_err *err)
{
	struct wp_session *s;
	int r;

	pthread_mutex_lock(&server->lock);
	r = find(server, WP_TCP, from, p, &s, err);
	if (!r)
		put(s, p, fd);
	pthread_mutex_unlock(&server->lock);
	return r;
}

int wp_session_attach_datagrams(struct wp_server *server, int listen_fd,
				const struct wp_udp_first *first, const struct wp_preamble *p,
				struct wp_err *err)
{
	_cleanup_close_ int fd = -1;
	struct wp_session *s;
	int r;

	pthread_mutex_lock(&server->lock);
	r = find(server, WP_UDP, &first->from, p, &s, err);
	if (!r && !wp_addr_same_host(&s->local, &first->to))
		r = wp_err_set(err, -EACCES,
			       "a datagram to another address than its control connection's");
	pthread_mutex_unlock(&server->lock);
	if (!r)
		r = wp_udp_answer(listen_fd, &first->to, &first->from, &fd, err);
	if (r < 0)
		return r;
	/* Sessions may have ended meanwhile; nobody else adds connections. */
	pthread_mutex_lock(&server->lock);
	r = find(server, WP_UDP, &first->from, p, &s, err);
	if (!r) {
		/* The socket is connected, so that nobody else's datagrams come in; the engine names the
		 * address in each call all the same. */
		if (s->plan.unconnected && s->streams[p->stream].role == WP_STREAM_SENDS &&
		    !strcmp(s->plan.kind, "udp"))
			s->streams[p->stream].remote = first->from;
		put(s, p, wp_steal_fd(&fd));
	}
	pthread_mutex_unlock(&server->lock);
	return r;
}
