/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The request/response engine: preparation, the list of streams that may ask, and the accounts.
 */
#include "load/rr.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include "load/engines.h"

#define CACHE_LINE 64
/* Up to so many connections of a thread a spinning one asks each socket; beyond, epoll knows sooner. */
#define SPIN_DIRECT_MAX 4

/* ---- open and close ---- */

static int check_sizes(const struct wp_stream *s, const struct wp_plan *p, struct wp_err *err)
{
	if (p->response_bytes < 1 || p->response_bytes > WP_MAX_LENGTH_BYTES)
		return wp_err_set(err, -EINVAL, "a response of %llu bytes; 1 to %u are possible",
				  (unsigned long long)p->response_bytes, WP_MAX_LENGTH_BYTES);
	if (p->outstanding < 1 || p->outstanding > WP_MAX_OUTSTANDING)
		return wp_err_set(err, -EINVAL, "%u requests under way; 1 to %d are possible",
				  p->outstanding, WP_MAX_OUTSTANDING);
	if ((uint64_t)p->streams * p->outstanding > RR_MAX_UNDER_WAY)
		return wp_err_set(
			err, -EINVAL,
			"%u connections with %u requests under way each are more than %u together",
			p->streams, p->outstanding, RR_MAX_UNDER_WAY);
	if (s->limit_bytes % p->length_bytes)
		return wp_err_set(
			err, -EINVAL,
			"an amount of %llu bytes is not a whole number of requests of %llu bytes",
			(unsigned long long)s->limit_bytes, (unsigned long long)p->length_bytes);
	return 0;
}

static int open_tcp(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err)
{
	struct rr_stream *x = rr_ctx(s);
	size_t bytes =
		(p->outstanding * sizeof(*x->due_ns) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	/* The last piece of a message must not wait for the acknowledgement of the piece before it. Sockets
	 * that are not TCP's refuse, and have no such wait. */
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
	if (s->role != WP_STREAM_SENDS)
		return 0;
	x->due_ns = aligned_alloc(CACHE_LINE, bytes);
	return x->due_ns ? 0 : wp_err_sys(err, -ENOMEM, "stream %u", s->index + 1);
}

int rr_busy_poll(int fd, const struct wp_plan *p, struct wp_err *err)
{
	int us = (int)p->busy_poll_us;

	if (us == 0 || setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)) == 0)
		return 0;
	if (errno == EPERM)
		return wp_err_set(
			err, -EPERM,
			"busy polling for %d us (SO_BUSY_POLL) needs root (CAP_NET_ADMIN)", us);
	return wp_err_sys(err, -errno, "cannot poll busily for %d us (SO_BUSY_POLL)", us);
}

static int rr_open(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err)
{
	struct rr_stream *x = rr_ctx(s);
	int r = check_sizes(s, p, err);

	if (r < 0)
		return r;
	x->conn = (struct rr_conn) { .s = s, .fd = s->fd };
	x->limit = s->limit_bytes ? s->limit_bytes / p->length_bytes : UINT64_MAX;
	if (p->connect_each && s->role == WP_STREAM_SENDS)
		return rr_connect_open(s, p, err);
	if (fcntl(s->fd, F_GETFL) < 0)
		return wp_err_sys(err, -errno, "stream %u", s->index + 1);
	r = rr_busy_poll(s->fd, p, err);
	if (r < 0)
		return r;
	if (p->connect_each)
		return rr_accept_open(s, err);
	return p->transport == WP_UDP ? rr_udp_open(s, p, err) : open_tcp(s, p, err);
}

static void rr_close(struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	free(x->due_ns);
	free(x->slots);
	x->due_ns = NULL;
	x->slots = NULL;
}

/* ---- the accounts ---- */

/* Open loop: the requests that are due and will never be begun go to the account of `s`. */
static void end_line(struct rr_worker *t, struct wp_stream *s)
{
	uint64_t room = 0, n;

	if (!t->open_loop || t->line.due_ns == RR_NEVER)
		return;
	for (size_t i = 0; i < t->w->n_streams; i++) {
		const struct rr_stream *x = rr_ctx(t->w->streams[i]);

		if (x->limit == UINT64_MAX)
			room = UINT64_MAX;
		if (room != UINT64_MAX)
			room += x->limit - x->begun;
	}
	n = rr_line_end(&t->line, wp_now_ns());
	rr_bump(&s->count->unanswered, n < room ? n : room);
}

enum rr_turn rr_end(struct rr_worker *t, struct wp_stream *s, int error)
{
	struct rr_stream *x = rr_ctx(s);

	if (wp_stream_ended(s))
		return RR_ENDED;
	rr_bump(&s->count->unanswered, x->under_way);
	if (t->left == 1)
		end_line(t, s);
	if (t->protocol->ended)
		t->protocol->ended(t, s);
	/* The socket is the caller's and may live on. */
	if (x->conn.registered && x->conn.fd >= 0)
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, x->conn.fd, NULL);
	x->conn.registered = 0;
	t->left--;
	wp_stream_end(s, error);
	return RR_ENDED;
}

void rr_note_stop(struct rr_worker *t)
{
	if (t->stop_noted)
		return;
	t->stop_noted = true;
	for (size_t i = 0; i < t->w->n_streams; i++) {
		struct wp_stream *s = t->w->streams[i];

		if (!wp_stream_ended(s)) {
			end_line(t, s);
			return;
		}
	}
}

void rr_cut(struct rr_worker *t)
{
	rr_note_stop(t);
	for (size_t i = 0; i < t->w->n_streams; i++)
		rr_end(t, t->w->streams[i], -ECANCELED);
}

/* ---- who may ask ---- */

void rr_list(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	if (x->listed || !rr_may_begin(t, s))
		return;
	x->listed = true;
	x->next_listed = NULL;
	if (t->last_listed)
		rr_ctx(t->last_listed)->next_listed = s;
	else
		t->first_listed = s;
	t->last_listed = s;
}

/* Takes the first that still may; NULL. */
static struct wp_stream *unlist(struct rr_worker *t)
{
	while (t->first_listed) {
		struct wp_stream *s = t->first_listed;
		struct rr_stream *x = rr_ctx(s);

		t->first_listed = x->next_listed;
		if (!t->first_listed)
			t->last_listed = NULL;
		x->listed = false;
		if (!wp_stream_ended(s) && rr_may_begin(t, s))
			return s;
	}
	return NULL;
}

int rr_watch(struct rr_worker *t, struct rr_conn *c)
{
	struct epoll_event e = { .events = c->events, .data.ptr = c };

	/* Edges of more than is asked for do no harm. */
	bool covered = c->registered & EPOLLET && !(c->events & ~c->registered);

	if (t->epoll_fd < 0 || c->fd < 0 || c->events == c->registered || covered)
		return 0;
	if (epoll_ctl(t->epoll_fd, c->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &e) < 0)
		return -errno;
	c->registered = c->events;
	return 0;
}

/* Arranges for the next turn. */
static enum rr_turn settle(struct rr_worker *t, struct wp_stream *s, enum rr_turn turn)
{
	int r;

	if (turn == RR_ENDED)
		return turn;
	r = rr_watch(t, &rr_ctx(s)->conn);
	if (r < 0)
		return rr_end(t, s, r);
	if (t->open_loop)
		rr_list(t, s);
	return RR_WAIT;
}

enum rr_turn rr_turn(struct rr_worker *t, struct wp_stream *s)
{
	return settle(t, s, t->protocol->turn(t, s));
}

static void give_out_due(struct rr_worker *t, int64_t now)
{
	while (t->line.due_ns <= now) {
		struct wp_stream *s = unlist(t);
		int64_t due = t->line.due_ns;

		if (!s)
			return;
		rr_line_next(&t->line);
		settle(t, s, t->protocol->begin(t, s, due));
	}
}

void rr_on_time(struct rr_worker *t)
{
	rr_read_clock(t);
	if (t->timer_ns <= t->now_ns)
		t->protocol->on_time(t);
	if (t->open_loop)
		give_out_due(t, t->now_ns);
}

int64_t rr_next_ns(const struct rr_worker *t)
{
	int64_t due = t->open_loop && t->first_listed ? t->line.due_ns : RR_NEVER;

	return due < t->timer_ns ? due : t->timer_ns;
}

/* ---- the engine ---- */

static void line_init(struct rr_worker *t)
{
	const struct wp_worker *w = t->w;
	const struct wp_plan *p = w->plan;
	const struct rr_line_share share = {
		.n_streams = p->streams,
		.first = w->streams[0]->index,
		.stride = w->n_streams > 1 ? w->streams[1]->index - w->streams[0]->index : 1,
		.mine = w->n_streams
	};
	uint64_t seed = 0;

	if (p->poisson) {
		/* Without random bytes the clock will do. */
		if (wp_random_bytes(&seed, sizeof(seed)) < 0)
			seed = (uint64_t)wp_now_ns() + share.first;
		rr_line_init_poisson(&t->line, p->rate_mhz, &share, w->start_ns, seed);
	} else {
		rr_line_init(&t->line, p->rate_mhz, &share, w->start_ns);
	}
	/* The default slack of 50 us would be in every latency. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

/* One connection and one request under way: waiting inside the call is fastest. */
static bool may_block(const struct rr_worker *t)
{
	enum wp_wait wait = t->w->plan->wait;

	if (t->w->n_streams > 1 || t->outstanding > 1 || t->protocol->many_a_stream)
		return false;
	return wait == WP_WAIT_BLOCK || (wait == WP_WAIT_AUTO && !t->open_loop);
}

static const struct rr_protocol *protocol_of(const struct wp_plan *p, bool asks)
{
	if (p->connect_each)
		return asks ? &rr_connect : &rr_accept;
	if (p->transport == WP_UDP)
		return asks ? &rr_udp_ask : &rr_udp_answer;
	return asks ? &rr_tcp_ask : &rr_tcp_answer;
}

static int run_loop(struct rr_worker *t)
{
	struct wp_stream *first = t->w->streams[0];
	bool spin = t->w->plan->wait == WP_WAIT_SPIN;

	/* Sockets that do not exist yet are prepared when they do. */
	if (may_block(t) && (first->fd < 0 || rr_block_prepare(first->fd))) {
		wp_worker_method(t->w, first->role, "blocking");
		rr_block_run(t);
		return 0;
	}
	wp_worker_method(t->w, first->role, spin ? "spin" : "epoll");
	if (spin && t->w->n_streams <= SPIN_DIRECT_MAX && !t->protocol->many_a_stream) {
		rr_spin_run(t);
		return 0;
	}
	return rr_epoll_run(t, spin);
}

static int rr_run(struct wp_worker *w)
{
	const struct wp_plan *p = w->plan;
	bool asks = w->streams[0]->role == WP_STREAM_SENDS;
	struct rr_worker t = { .w = w,
			       .protocol = protocol_of(p, asks),
			       .request_bytes = p->length_bytes,
			       .response_bytes = p->response_bytes,
			       .outstanding = p->outstanding,
			       .flags = MSG_DONTWAIT,
			       .asks = asks,
			       .open_loop = asks && p->rate_mhz > 0,
			       .epoll_fd = -1,
			       .timer_ns = RR_NEVER,
			       .left = w->n_streams };
	int r = 0;

	for (size_t i = 1; i < w->n_streams; i++)
		if (w->streams[i]->role != w->streams[0]->role)
			return -EINVAL;
	if (t.open_loop)
		line_init(&t);
	if (t.protocol->prepare)
		r = t.protocol->prepare(&t);
	if (r == 0)
		r = run_loop(&t);
	if (r == 0)
		rr_cut(&t);
	if (t.protocol->done)
		t.protocol->done(&t);
	return r;
}

const struct wp_engine wp_engine_rr = {
	.abi = WP_ENGINE_ABI,
	.name = "rr",
	.summary = "requests and responses over TCP connections or in datagrams",
	.caps = WP_ENGINE_SEND | WP_ENGINE_RECEIVE | WP_ENGINE_SOCKETS | WP_ENGINE_TRANSACTIONS,
	.stream_size = sizeof(struct rr_stream),
	.hists = 1u << WP_HIST_LATENCY,
	.open = rr_open,
	.run = rr_run,
	.close = rr_close,
};
