/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c - the accept loop: one thread, epoll, no blocking call. A connection is pending until
 * its first bytes say what it is; then it becomes a session's control connection or a data
 * connection of a session that waits for it. Whoever says nothing or something else is dropped.
 */
#include "peer/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "net/sock.h"
#include "observe/inventory.h"
#include "peer/limits.h"
#include "peer/preamble.h"
#include "peer/session.h"

#define MAX_LISTEN           8
#define EVENTS               64
#define ACCEPTS_AT_ONCE      64                   /* then the others have a turn */
#define PORT_TRIES           16                   /* for one that is free for TCP and UDP */
#define INVENTORY_POOL_BYTES (1u << 20)           /* a few hundred bytes of text, in pool blocks */
#define REST_NS              (100 * WP_NS_PER_MS) /* after EMFILE and the like */

struct pending {
	int fd; /* -1 = free */
	struct wp_addr from;
	int64_t since_ns;
	uint8_t bytes[WP_PREAMBLE_BYTES];
	size_t got;
};

struct loop {
	struct wp_server *server;
	int epoll;
	int listen_fds[MAX_LISTEN];
	size_t n_listen;
	bool owns_listen, resting, complained;
	int64_t rest_until_ns;
	struct pending pending[WP_PEER_MAX_PENDING];
	size_t n_pending;
};

/* What an epoll event belongs to: a kind in the upper half, an index in the lower. */
enum source {
	SOURCE_LISTEN,
	SOURCE_STOP,
	SOURCE_OVER,
	SOURCE_PENDING,
	SOURCE_DATAGRAMS,
};

void wp_server_tell(struct wp_server *server, enum wp_server_event event, const char *fmt, ...)
{
	const struct wp_server_config *config = server->config;
	char text[600];
	va_list ap;

	if (!config->on_event)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&server->event_lock);
	config->on_event(config->arg, event, text);
	pthread_mutex_unlock(&server->event_lock);
}

static int watch_fd(struct loop *l, int op, int fd, uint32_t events, enum source source,
		    size_t index)
{
	struct epoll_event e = { .events = events, .data.u64 = (uint64_t)source << 32 | index };

	return epoll_ctl(l->epoll, op, fd, &e) < 0 ? -errno : 0;
}

/* ---- pending connections ---------------------------------------------------------------------- */

/* Forgets it; the fd is the caller's now. */
static int take_out(struct loop *l, struct pending *p)
{
	int fd = p->fd;

	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
	p->fd = -1;
	l->n_pending--;
	return fd;
}

static void drop(struct loop *l, struct pending *p, const char *why)
{
	char name[WP_ADDR_TEXT];

	wp_addr_format(&p->from, name);
	close(take_out(l, p));
	if (why)
		wp_server_tell(l->server, WP_SERVER_REFUSED, "%s: %s", name, why);
}

static void become_data(struct loop *l, struct pending *p)
{
	struct wp_preamble preamble;
	struct wp_err err = { 0 };
	ssize_t n = recv(p->fd, p->bytes + p->got, sizeof(p->bytes) - p->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(l, p, "a data connection broke off in its first bytes");
		return;
	}
	p->got += (size_t)n;
	if (p->got < sizeof(p->bytes))
		return;
	if (wp_preamble_decode(p->bytes, p->got, &preamble) < 0) {
		drop(l, p, "a data connection with first bytes that are not whyperf's");
		return;
	}
	if (wp_session_attach(l->server, p->fd, &p->from, &preamble, &err) < 0)
		drop(l, p, err.msg);
	else
		(void)take_out(l, p); /* the session's */
}

static void become_control(struct loop *l, struct pending *p, enum wp_first_byte first)
{
	struct wp_addr from = p->from;
	struct wp_err err = { 0 };
	char name[WP_ADDR_TEXT];

	wp_addr_format(&from, name);
	if (wp_session_start(l->server, take_out(l, p), &from, first, &err) < 0)
		wp_server_tell(l->server, WP_SERVER_REFUSED, "%s: %s", name, err.msg);
}

static void look_at(struct loop *l, struct pending *p)
{
	uint8_t first;
	ssize_t n;

	if (p->got) {
		become_data(l, p);
		return;
	}
	n = recv(p->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		drop(l, p, NULL); /* a health check or a port scanner: no failure of anybody */
	else if (first == WP_FIRST_DATA)
		become_data(l, p);
	else if (first == WP_FIRST_PLAIN || first == WP_FIRST_TLS)
		become_control(l, p, first);
	else
		drop(l, p, "what connected does not speak whyperf's protocol");
}

static void drop_silent(struct loop *l, int64_t now_ns)
{
	for (size_t i = 0; i < WP_PEER_MAX_PENDING; i++)
		if (l->pending[i].fd >= 0 && now_ns - l->pending[i].since_ns >= WP_PEER_HELLO_NS)
			drop(l, &l->pending[i], "it connected and said nothing");
}

static struct pending *oldest(struct loop *l)
{
	struct pending *found = NULL;

	for (size_t i = 0; i < WP_PEER_MAX_PENDING; i++)
		if (l->pending[i].fd >= 0 && (!found || l->pending[i].since_ns < found->since_ns))
			found = &l->pending[i];
	return found;
}

/* ---- accepting -------------------------------------------------------------------------------- */

static void rest(struct loop *l, int64_t until_ns)
{
	l->resting = true;
	l->rest_until_ns = until_ns;
	for (size_t i = 0; i < l->n_listen; i++)
		(void)watch_fd(l, EPOLL_CTL_MOD, l->listen_fds[i], 0, SOURCE_LISTEN, i);
}

static void wake_up(struct loop *l)
{
	l->resting = false;
	for (size_t i = 0; i < l->n_listen; i++)
		(void)watch_fd(l, EPOLL_CTL_MOD, l->listen_fds[i], EPOLLIN, SOURCE_LISTEN, i);
}

/* Room for one more; when full the longest silent one goes, unless all are young. */
static struct pending *make_room(struct loop *l, int64_t now_ns)
{
	if (l->n_pending == WP_PEER_MAX_PENDING) {
		struct pending *p = oldest(l);

		if (now_ns - p->since_ns < WP_PEER_EVICT_NS) {
			rest(l, p->since_ns + WP_PEER_EVICT_NS);
			return NULL;
		}
		drop(l, p, "it said nothing while others waited");
	}
	for (size_t i = 0; i < WP_PEER_MAX_PENDING; i++)
		if (l->pending[i].fd < 0)
			return &l->pending[i];
	return NULL;
}

static void accept_some(struct loop *l, int listen_fd)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int64_t now_ns = wp_now_ns();
		struct pending *p = make_room(l, now_ns);
		struct wp_addr from;
		int fd, r;

		if (!p)
			return;
		r = wp_sock_accept(listen_fd, 0, &fd, &from);
		if (r == -ETIMEDOUT || r == -EINTR)
			return;
		if (r < 0) {
			rest(l, now_ns + REST_NS);
			if (!l->complained)
				wp_server_tell(l->server, WP_SERVER_FAILED,
					       "cannot take a connection: %s", strerror(-r));
			l->complained = true;
			return;
		}
		l->complained = false;
		*p = (struct pending) { .fd = fd, .from = from, .since_ns = now_ns };
		l->n_pending++;
		if (watch_fd(l, EPOLL_CTL_ADD, fd, EPOLLIN, SOURCE_PENDING,
			     (size_t)(p - l->pending)) < 0)
			drop(l, p, "no room to watch it");
		else
			look_at(l, p); /* mostly its first bytes are there already */
	}
}

/* ---- the loop --------------------------------------------------------------------------------- */

/* Milliseconds until something times out, -1 for never. */
static int next_timeout(struct loop *l, int64_t now_ns)
{
	struct pending *p = oldest(l);
	int64_t until_ns = INT64_MAX;

	if (p)
		until_ns = p->since_ns + WP_PEER_HELLO_NS;
	if (l->resting && l->rest_until_ns < until_ns)
		until_ns = l->rest_until_ns;
	if (until_ns == INT64_MAX)
		return -1;
	return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / WP_NS_PER_MS) + 1;
}

/* True when the server's one test has been served. */
static bool reap(struct loop *l)
{
	struct wp_server *server = l->server;
	uint64_t count;
	bool served;

	(void)!read(server->over_fd, &count, sizeof(count));
	wp_session_reap(server, false);
	pthread_mutex_lock(&server->lock);
	served = server->served && server->config->one_off;
	pthread_mutex_unlock(&server->lock);
	return served;
}

static int serve(struct loop *l, struct wp_err *err)
{
	for (;;) {
		struct epoll_event events[EVENTS];
		int64_t now_ns = wp_now_ns();
		int n = epoll_wait(l->epoll, events, EVENTS, next_timeout(l, now_ns));

		if (n < 0 && errno != EINTR)
			return wp_err_sys(err, -errno, "the server can't wait for clients");
		for (int i = 0; i < n; i++) {
			size_t index = (uint32_t)events[i].data.u64;

			switch ((enum source)(events[i].data.u64 >> 32)) {
			case SOURCE_STOP:
				return 0;
			case SOURCE_OVER:
				if (reap(l))
					return 0;
				break;
			case SOURCE_LISTEN:
				accept_some(l, l->listen_fds[index]);
				break;
			case SOURCE_PENDING:
				if (l->pending[index].fd >= 0)
					look_at(l, &l->pending[index]);
				break;
			case SOURCE_DATAGRAMS:
				wp_datagrams_turn(l->server, index);
				break;
			}
		}
		now_ns = wp_now_ns();
		drop_silent(l, now_ns);
		if (l->resting && now_ns >= l->rest_until_ns)
			wake_up(l);
	}
}

/* ---- setting up ------------------------------------------------------------------------------- */

/* What was handed over: listening sockets go to listen_fds[], datagram sockets to `ret_udp`. */
static int take_inherited(struct loop *l, int *ret_udp, size_t *ret_n_udp, struct wp_err *err)
{
	const struct wp_server_config *config = l->server->config;

	if (config->n_listen_fds > MAX_LISTEN)
		return wp_err_set(err, -E2BIG, "more than %d listening sockets were handed over",
				  MAX_LISTEN);
	for (unsigned i = 0; i < config->n_listen_fds; i++) {
		int fd = config->listen_fds[i], flags = fcntl(fd, F_GETFL), type = 0;
		socklen_t len = sizeof(type);

		if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
		    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
			return wp_err_sys(err, -errno, "the inherited socket %d can't be used", fd);
		if (type == SOCK_DGRAM)
			ret_udp[(*ret_n_udp)++] = fd;
		else
			l->listen_fds[l->n_listen++] = fd;
	}
	if (config->n_listen_fds && !l->n_listen)
		return wp_err_set(err, -EINVAL, "no TCP socket was handed over");
	return 0;
}

/* TCP has to be there; without UDP the server says so and serves the rest. */
static int open_ports(struct loop *l, struct wp_err *err)
{
	const struct wp_server_config *config = l->server->config;
	struct wp_datagrams *d = &l->server->datagrams;
	int udp[MAX_LISTEN], r;
	size_t n_udp = 0;

	r = take_inherited(l, udp, &n_udp, err);
	if (r < 0)
		return r;
	if (l->n_listen) {
		(void)wp_datagrams_open(d, l->listen_fds, l->n_listen, udp, n_udp);
		return 0;
	}
	l->owns_listen = true;
	for (int i = 0; i < PORT_TRIES; i++) {
		r = wp_sock_listen(config->bind_host, config->port, AF_UNSPEC, &l->listen_fds[0],
				   err);
		if (r < 0)
			return r;
		l->n_listen = 1;
		if (wp_datagrams_open(d, l->listen_fds, 1, NULL, 0) != -EADDRINUSE || config->port)
			break;
		if (i + 1 < PORT_TRIES)
			wp_close_p(&l->listen_fds[0]);
	}
	return 0;
}

static int watch_all(struct loop *l, struct wp_err *err)
{
	struct wp_server *server = l->server;
	int r = 0;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return wp_err_sys(err, -errno, "the server can't wait for clients");
	for (size_t i = 0; i < l->n_listen && !r; i++)
		r = watch_fd(l, EPOLL_CTL_ADD, l->listen_fds[i], EPOLLIN, SOURCE_LISTEN, i);
	if (!r && server->config->stop_fd >= 0)
		r = watch_fd(l, EPOLL_CTL_ADD, server->config->stop_fd, EPOLLIN, SOURCE_STOP, 0);
	if (!r)
		r = watch_fd(l, EPOLL_CTL_ADD, server->over_fd, EPOLLIN, SOURCE_OVER, 0);
	wp_datagrams_watch(&server->datagrams, l->epoll, (uint64_t)SOURCE_DATAGRAMS << 32);
	return r < 0 ? wp_err_sys(err, r, "the server can't wait for clients") : 0;
}

static void tell_listening(struct loop *l)
{
	for (size_t i = 0; i < l->n_listen; i++) {
		struct wp_addr addr;
		char name[WP_ADDR_TEXT];

		if (wp_addr_local(l->listen_fds[i], &addr) == 0) {
			wp_addr_format(&addr, name);
			wp_server_tell(l->server, WP_SERVER_LISTENING, "%s", name);
		}
	}
	if (!l->server->datagrams.n)
		wp_server_tell(l->server, WP_SERVER_FAILED, "tests over UDP are not served: %s",
			       l->server->datagrams.why_none.msg);
}

static int loop_run(struct wp_server *server, struct wp_err *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return wp_err_sys(err, -ENOMEM, "cannot start the server");
	l->server = server;
	l->epoll = -1;
	for (size_t i = 0; i < WP_PEER_MAX_PENDING; i++)
		l->pending[i].fd = -1;
	r = open_ports(l, err);
	if (!r)
		r = watch_all(l, err);
	if (!r) {
		tell_listening(l);
		r = serve(l, err);
	}
	pthread_mutex_lock(&server->lock);
	wp_datagrams_close(&server->datagrams);
	pthread_mutex_unlock(&server->lock);
	for (size_t i = 0; i < l->n_listen && l->owns_listen; i++)
		wp_close_p(&l->listen_fds[i]);
	for (size_t i = 0; i < WP_PEER_MAX_PENDING; i++)
		wp_close_p(&l->pending[i].fd);
	wp_close_p(&l->epoll);
	free(l);
	return r;
}

static int describe(struct wp_server *server, struct wp_err *err)
{
	const struct wp_server_config *config = server->config;
	char boot_id[64] = "";
	int r;

	if (wp_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) <
	    0)
		boot_id[0] = '\0';
	server->hello = (struct wp_hello) {
		.protocol = WP_PROTOCOL_VERSION,
		.version = WP_VERSION,
		.kinds = wp_hello_kinds(),
		.limited = true,
		.max_duration_ns = config->max_duration_ns,
		.max_rate_bps = config->max_rate_bps,
		.max_streams = WP_MAX_STREAMS,
		.max_connections = WP_MAX_CONNECTIONS,
	};
	wp_boot_hash(boot_id, server->hello.boot);
	server->idle_timeout_ns =
		config->idle_timeout_ns > 0 ? config->idle_timeout_ns : WP_PEER_IDLE_NS;
	server->max_clients = config->max_clients ? config->max_clients : WP_PEER_MAX_CLIENTS;
	r = config->inventory
		    ? wp_inventory_copy(config->inventory, &server->inventory, &server->pool)
		    : wp_inventory_read(-1, true, &server->inventory, &server->pool);
	return r < 0 ? wp_err_sys(err, r, "cannot read what this machine is") : 0;
}

int wp_server_run(const struct wp_server_config *config, struct wp_err *err)
{
	struct wp_server server = { .config = config,
				    .pool = WP_POOL(INVENTORY_POOL_BYTES),
				    .event_lock = PTHREAD_MUTEX_INITIALIZER,
				    .lock = PTHREAD_MUTEX_INITIALIZER };
	_cleanup_close_ int wake_fd = eventfd(0, EFD_CLOEXEC);
	_cleanup_close_ int over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r;

	if (wake_fd < 0 || over_fd < 0)
		return wp_err_sys(err, -errno, "cannot start the server");
	server.wake_fd = wake_fd;
	server.over_fd = over_fd;
	r = describe(&server, err);
	if (!r && config->key_file) {
		r = wp_key_read(config->key_file, &server.key, err);
		server.keyed = !r;
	}
	if (!r)
		r = loop_run(&server, err);
	(void)!write(wake_fd, &(uint64_t) { 1 }, sizeof(uint64_t)); /* all sessions end */
	wp_session_reap(&server, true);
	wp_pool_done(&server.pool);
	wp_key_wipe(&server.key);
	return r;
}
