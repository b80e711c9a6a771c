/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in datagrams: a request, its id, and a response with the same id, or none in time.
 *
 * A message begins with as many of the lower bytes of a 64-bit id, big-endian, as it has room for. The lower bits of an
 * id are the number of a slot, of which a connection has one for each request that may be under way; the upper ones
 * count the requests that the slot has had. What both messages have room for tells responses apart: with 8 bytes all
 * there ever are, with fewer a slot's newest 2^(8 * bytes - bits of the slot). A response that comes after more requests
 * of its slot than that is taken for another's. One byte is enough for 64 requests under way, 4 of each slot.
 *
 * A request whose response does not come in time is lost, and counted when its time is over (what is in the socket then
 * is read first). Its response may still come: it is known by its id, counted as late, and as nothing else.
 *
 * ICMP errors say nothing about the requests under way: the other end may come back. With IP_RECVERR the send that the
 * local device drops says so, too (ENOBUFS), and so is counted; the request is lost all the same.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "load/rr.h"

#define ID_BYTES_MAX 8
#define ONE_BYTE_MAX 64 /* requests under way: leaves 2 bits to count */
#define TURN_MAX     64 /* datagrams */
#define ERRORS_MAX   64 /* read at once from the error queue */
#define MARK_BYTES   32 /* of the datagrams that begin and end a UDP stream */

static bool is_soft(int error)
{
	switch (error) {
	case ECONNREFUSED: /* what ICMP says */
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ENONET:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
	case EPROTO:
	case EACCES:
	case EMSGSIZE: /* a smaller MTU on the way: next time in fragments */
	case ENOBUFS:  /* the device's queue is full */
	case EPERM:    /* a packet filter of this machine */
		return true;
	default:
		return false;
	}
}

/* Else poll() would report them for ever. */
static void drop_errors(struct wp_stream *s)
{
	char byte, control[512];
	struct iovec v = { &byte, sizeof(byte) };

	for (int i = 0; i < ERRORS_MAX; i++) {
		struct msghdr m = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };

		if (recvmsg(s->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
	}
}

static size_t id_room(uint64_t message_bytes)
{
	return message_bytes < ID_BYTES_MAX ? (size_t)message_bytes : ID_BYTES_MAX;
}

static void put_id(void *message, uint64_t message_bytes, uint64_t id)
{
	unsigned char *to = message;

	for (size_t i = id_room(message_bytes); i-- > 0; id >>= 8)
		to[i] = (unsigned char)id;
}

static uint64_t get_id(const void *message, uint64_t message_bytes)
{
	const unsigned char *from = message;
	uint64_t id = 0;

	for (size_t i = 0; i < id_room(message_bytes); i++)
		id = id << 8 | from[i];
	return id;
}

/* 1: it left, or was dropped on its way out and counted; 0: the socket takes no more now; -errno. */
static int send_message(struct rr_worker *t, struct wp_stream *s, uint64_t len)
{
	for (int tries = 0;; tries++) {
		ssize_t n = send(s->fd, t->w->buffer, (size_t)len, t->flags | MSG_NOSIGNAL);
		int error = errno;

		if (n >= 0) {
			if (t->asks)
				wp_stream_add(s, (uint64_t)n);
			else
				rr_count_response(s, (uint64_t)n);
			return 1;
		}
		if (error == EINTR)
			continue;
		if (error == EAGAIN)
			return 0;
		if (!is_soft(error) || (error == EMSGSIZE && tries > 0))
			return -error;
		drop_errors(s);
		/* The first time it may be the error of an earlier datagram. */
		if (tries > 0 || error == ENOBUFS || error == EPERM) {
			rr_bump(&s->count->send_drops, 1);
			return 1;
		}
	}
}

/* A datagram's length, 0: none there, -errno. Errors that came in the place of a datagram count as one of length 1. */
static ssize_t read_message(struct rr_worker *t, struct wp_stream *s, int flags)
{
	ssize_t n = recv(s->fd, t->w->sink, t->w->buffer_bytes, flags | MSG_TRUNC);

	if (n > 0)
		return n;
	if (n == 0 || errno == EINTR)
		return 1;
	if (errno == EAGAIN)
		return 0;
	if (!is_soft(errno))
		return -errno;
	drop_errors(s);
	return 1;
}

/* ---- who asks ---- */

static void set_timer(struct rr_worker *t)
{
	t->timer_ns = t->oldest ? t->oldest->sent_ns + t->w->plan->response_timeout_ns : RR_NEVER;
}

static void link_newest(struct rr_worker *t, struct rr_slot *slot)
{
	slot->sent_ns = t->now_ns;
	slot->before = t->newest;
	slot->behind = NULL;
	if (t->newest)
		t->newest->behind = slot;
	else
		t->oldest = slot;
	t->newest = slot;
	if (t->oldest == slot)
		set_timer(t);
}

static void unlink_slot(struct rr_worker *t, struct rr_slot *slot)
{
	bool first = t->oldest == slot;

	if (slot->before)
		slot->before->behind = slot->behind;
	else
		t->oldest = slot->behind;
	if (slot->behind)
		slot->behind->before = slot->before;
	else
		t->newest = slot->before;
	if (first)
		set_timer(t);
}

/* To the end of the free ones: so an id is used again as late as possible. */
static void free_slot(struct rr_stream *x, struct rr_slot *slot)
{
	slot->under_way = false;
	slot->behind = NULL;
	if (x->last_free)
		x->last_free->behind = slot;
	else
		x->first_free = slot;
	x->last_free = slot;
}

static struct rr_slot *take_slot(struct rr_stream *x)
{
	struct rr_slot *slot = x->first_free;

	x->first_free = slot->behind;
	if (!x->first_free)
		x->last_free = NULL;
	slot->under_way = true;
	slot->generation++;
	slot->lost <<= 1;
	return slot;
}

/* 1, 0: it waits until the socket takes it; -errno. */
static int send_request(struct rr_worker *t, struct wp_stream *s, struct rr_slot *slot)
{
	struct rr_stream *x = rr_ctx(s);
	uint64_t number = (uint64_t)(slot - x->slots);
	int r;

	put_id(t->w->buffer, t->request_bytes, slot->generation << t->slot_bits | number);
	r = send_message(t, s, t->request_bytes);
	x->unsent = r == 0 ? slot : NULL;
	if (r > 0)
		link_newest(t, slot);
	return r;
}

static enum rr_turn say_what_to_wait_for(struct rr_worker *t, struct wp_stream *s, int sent)
{
	struct rr_stream *x = rr_ctx(s);

	if (sent < 0)
		return rr_end(t, s, sent);
	x->conn.events = x->unsent ? POLLIN | POLLOUT : POLLIN;
	x->conn.would_block |= x->unsent != NULL;
	return RR_WAIT;
}

static int add_request(struct rr_worker *t, struct wp_stream *s, int64_t due_ns)
{
	struct rr_stream *x = rr_ctx(s);
	struct rr_slot *slot = take_slot(x);

	slot->due_ns = due_ns;
	x->under_way++;
	x->begun++;
	return send_request(t, s, slot);
}

static enum rr_turn udp_begin(struct rr_worker *t, struct wp_stream *s, int64_t due_ns)
{
	return say_what_to_wait_for(t, s, add_request(t, s, due_ns));
}

static void take_response(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	uint64_t id = get_id(t->w->sink, t->response_bytes);
	unsigned counting_bits = 8 * t->id_bytes - t->slot_bits;
	uint64_t mask = UINT64_MAX >> (64 - counting_bits), number, age;
	struct rr_slot *slot;

	number = id & ((UINT64_C(1) << t->slot_bits) - 1);
	if (number >= t->outstanding)
		return; /* an id that was never there */
	slot = &x->slots[number];
	age = (slot->generation - (id >> t->slot_bits)) & mask;
	if (age == 0 && slot->under_way && slot != x->unsent) {
		rr_read_clock(t);
		rr_count_transaction(t, s, slot->due_ns, t->now_ns);
		unlink_slot(t, slot);
		free_slot(x, slot);
		x->under_way--;
		return;
	}
	if (age < 64 && !(slot->lost & UINT64_C(1) << age)) {
		rr_bump(&s->count->duplicated, 1);
		return;
	}
	rr_bump(&s->count->late, 1);
	if (age < 64)
		slot->lost &= ~(UINT64_C(1) << age);
}

/* Reads one datagram: 1, 0 when none was there, -errno. */
static int receive(struct rr_worker *t, struct wp_stream *s, int flags)
{
	ssize_t n = read_message(t, s, flags);

	if (n <= 0)
		return (int)n;
	if ((uint64_t)n == t->response_bytes) {
		rr_count_response(s, (uint64_t)n);
		take_response(t, s);
	}
	return 1;
}

static int receive_all(struct rr_worker *t, struct wp_stream *s, int flags)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 1;

	/* With none under way there is at most what nobody waits for. */
	for (int i = 0; r > 0 && i < TURN_MAX; i++) {
		r = receive(t, s, flags);
		if (!(flags & MSG_DONTWAIT) || x->under_way == 0)
			break;
	}
	x->conn.would_block = r == 0;
	return r;
}

/* After a stop nothing is sent. */
static void give_up_unsent(struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	rr_bump(&s->count->unanswered, 1);
	free_slot(x, x->unsent);
	x->unsent = NULL;
	x->under_way--;
}

static enum rr_turn udp_ask(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int64_t before = t->now_ns;
	int r = 1;

	x->conn.would_block = false;
	if (x->conn.happened & POLLERR)
		drop_errors(s);
	if ((x->under_way > 0 && !(rr_blocks(t) && x->unsent)) || x->conn.happened)
		r = receive_all(t, s, t->flags);
	x->conn.happened = 0;
	if (r < 0)
		return rr_end(t, s, r);
	if (x->unsent && wp_worker_stopping(t->w))
		give_up_unsent(s);
	if (x->unsent)
		r = send_request(t, s, x->unsent);
	if (r >= 0 && rr_is_done(t, s))
		return rr_end(t, s, 0);
	if (r >= 0 && !t->open_loop && rr_may_begin(t, s)) {
		/* The response that made room came just now. */
		if (t->now_ns == before)
			rr_read_clock(t);
		while (r >= 0 && rr_may_begin(t, s))
			r = add_request(t, s, t->now_ns);
	}
	return say_what_to_wait_for(t, s, r);
}

/* A request's time is over: 1 when it is lost, 0 when its response was in the socket; -errno. */
static int time_out(struct rr_worker *t, struct rr_slot *slot)
{
	struct wp_stream *s = slot->s;
	struct rr_stream *x = rr_ctx(s);
	uint64_t generation = slot->generation;
	int r = receive_all(t, s, MSG_DONTWAIT);

	if (r < 0)
		return r;
	if (!slot->under_way || slot->generation != generation)
		return 0;
	rr_bump(&s->count->timeouts, 1);
	slot->lost |= 1;
	unlink_slot(t, slot);
	free_slot(x, slot);
	x->under_way--;
	return 1;
}

static void udp_on_time(struct rr_worker *t)
{
	int64_t now = t->now_ns;

	while (t->timer_ns <= now) {
		struct rr_slot *slot = t->oldest;
		struct wp_stream *s = slot->s;
		int r = time_out(t, slot);

		if (r < 0)
			rr_end(t, s, r);
		else
			rr_turn(t, s);
	}
}

static void udp_ended(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	for (unsigned i = 0; i < t->outstanding; i++)
		if (x->slots[i].under_way && &x->slots[i] != x->unsent)
			unlink_slot(t, &x->slots[i]);
}

/* ---- who answers ---- */

static int send_answer(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r;

	put_id(t->w->buffer, t->response_bytes, x->owed_id);
	r = send_message(t, s, t->response_bytes);
	x->owes = r == 0;
	if (r > 0)
		rr_bump(&s->count->transactions, 1);
	return r;
}

static bool is_request(const struct rr_worker *t, ssize_t len)
{
	if ((uint64_t)len != t->request_bytes)
		return false;
	/* Left over from the beginning of the test. No id begins like that: its upper half is a small number. */
	return len != MARK_BYTES ||
	       (memcmp(t->w->sink, "WPD1", 4) && memcmp(t->w->sink, "WPE1", 4));
}

/* Reads and answers one datagram: 1; 0 when none is there or the socket takes no more; -errno. */
static int answer_one(struct rr_worker *t, struct wp_stream *s, int flags)
{
	struct rr_stream *x = rr_ctx(s);
	ssize_t n;

	if (!x->owes) {
		n = read_message(t, s, flags);
		if (n <= 0)
			return (int)n;
		if (!is_request(t, n))
			return 1;
		wp_stream_add(s, (uint64_t)n);
		x->owed_id = get_id(t->w->sink, t->request_bytes);
	}
	return send_answer(t, s);
}

static enum rr_turn udp_answer(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	bool stopping = wp_worker_stopping(t->w);
	/* After a stop what is in the socket is answered. */
	unsigned most = stopping ? TURN_MAX : t->outstanding < TURN_MAX ? t->outstanding : TURN_MAX;
	uint64_t before = atomic_load_explicit(&s->count->calls, memory_order_relaxed);
	int r = 1;

	if (x->conn.happened & POLLERR)
		drop_errors(s);
	x->conn.happened = 0;
	for (unsigned i = 0; i < most && r > 0; i++) {
		r = answer_one(t, s, stopping ? MSG_DONTWAIT : t->flags);
		if (rr_blocks(t) && !stopping)
			break;
	}
	if (atomic_load_explicit(&s->count->calls, memory_order_relaxed) != before)
		wp_stream_stamp(s);
	if (r < 0 || (r == 0 && stopping))
		return rr_end(t, s, r);
	x->conn.would_block = r == 0;
	x->conn.events = x->owes ? POLLOUT : POLLIN;
	return RR_WAIT;
}

/* ---- preparation ---- */

int rr_udp_open(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err)
{
	struct rr_stream *x = rr_ctx(s);
	bool one_byte = p->length_bytes == 1 || p->response_bytes == 1;

	if (p->length_bytes > WP_MAX_DATAGRAM || p->response_bytes > WP_MAX_DATAGRAM)
		return wp_err_set(err, -EINVAL, "a datagram has at most %d bytes", WP_MAX_DATAGRAM);
	if (one_byte && p->outstanding > ONE_BYTE_MAX)
		return wp_err_set(
			err, -EINVAL,
			"one byte tells at most %d requests under way apart, not %u; let request and response have at least 2",
			ONE_BYTE_MAX, p->outstanding);
	/* One of the two fits; without either, drops on the way out are not seen. */
	(void)setsockopt(s->fd, IPPROTO_IP, IP_RECVERR, &(int) { 1 }, sizeof(int));
	(void)setsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVERR, &(int) { 1 }, sizeof(int));
	if (s->role != WP_STREAM_SENDS)
		return 0;
	x->slots = aligned_alloc(64, p->outstanding * sizeof(*x->slots));
	if (!x->slots)
		return wp_err_sys(err, -ENOMEM, "stream %u", s->index + 1);
	for (unsigned i = 0; i < p->outstanding; i++) {
		x->slots[i] = (struct rr_slot) { .s = s };
		free_slot(x, &x->slots[i]);
	}
	return 0;
}

static int udp_prepare(struct rr_worker *t)
{
	size_t request = id_room(t->request_bytes), response = id_room(t->response_bytes);

	t->id_bytes = (unsigned)(request < response ? request : response);
	while (1u << t->slot_bits < t->outstanding)
		t->slot_bits++;
	return 0;
}

const struct rr_protocol rr_udp_ask = {
	.turn = udp_ask,
	.begin = udp_begin,
	.on_time = udp_on_time,
	.ended = udp_ended,
	.prepare = udp_prepare,
	.ends_by_stop = true,
};

const struct rr_protocol rr_udp_answer = {
	.turn = udp_answer,
	.ends_by_stop = true,
};
