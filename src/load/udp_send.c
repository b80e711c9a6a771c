/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sending. A batch of messages is one sendmmsg(2); each message is a datagram, or with GSO a super-packet of up to 64
 * datagrams that the kernel cuts. All datagrams of a batch carry the time at which the call began.
 *
 * sendmmsg() tells what became of the first message that it could not send only when it is the first of all. When it has
 * sent some, the cause is found out: an ICMP message that waited in the error queue, a full send buffer, or else the
 * local host has dropped it.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "load/udp_stream.h"

#define MESSAGES      64 /* a call; 256 are 1 % faster and 4 times as coarse in time */
#define SUPER_PACKETS 16
#define ARENA_BYTES \
	(512u << 10) /* of a batch that nobody asked for: it should stay in the L2 cache */
#define SUPER_PACKET_MAX 65507
#define CALLS_A_TURN     4
#define GROUP_FAST_NS    (250 * WP_NS_PER_US)
#define GROUP_SLOW_NS    (700 * WP_NS_PER_US)
#define GROUP_SPIN_NS    (4 * WP_NS_PER_US)
#define STAGGER_NS       (10 * WP_NS_PER_MS)
#define TROUBLE_NS       WP_NS_PER_S
#define TROUBLE_GAP_NS   (2500 * WP_NS_PER_MS) /* hosts send one ICMP message a second */
#define TROUBLE_N        3
#define RETRY_NS         WP_NS_PER_MS

/* After the last datagram; they spread over more than a full receive buffer takes to be read. */
static const int64_t marker_after_ns[] = { 0, 5 * WP_NS_PER_MS, 15 * WP_NS_PER_MS,
					   30 * WP_NS_PER_MS, 50 * WP_NS_PER_MS };

struct batch {
	size_t packets, messages;
	size_t last_cut; /* bytes that the last datagram is short of the plan's length */
};

/* ---- the batch's memory ---- */

static void choose_batch(struct udp_worker *u)
{
	size_t n = u->plan->batch;

	u->tx_segments = 1;
	if (u->plan->gso && SUPER_PACKET_MAX / u->length > 1)
		u->tx_segments = SUPER_PACKET_MAX / u->length < UDP_SEGMENTS_MAX
					 ? SUPER_PACKET_MAX / u->length
					 : UDP_SEGMENTS_MAX;
	u->tx_stride = (u->tx_segments * u->length + 63) / 64 * 64;
	if (n == 0) {
		n = u->plan->gso ? SUPER_PACKETS : MESSAGES;
		if (n > ARENA_BYTES / u->tx_stride)
			n = ARENA_BYTES / u->tx_stride;
	}
	u->tx_messages = n > 0 ? n : 1;
}

int udp_send_init(struct udp_worker *u)
{
	choose_batch(u);
	u->mapped_tx_bytes = u->tx_messages * u->tx_stride;
	u->tx_arena = mmap(NULL, u->mapped_tx_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->tx_arena == MAP_FAILED) {
		u->tx_arena = NULL;
		return -errno;
	}
	u->tx_headers = calloc(u->tx_messages, sizeof(*u->tx_headers));
	u->tx_iov = calloc(u->tx_messages, sizeof(*u->tx_iov));
	if (!u->tx_headers || !u->tx_iov)
		return -ENOMEM;
	for (size_t m = 0; m < u->tx_messages; m++) {
		unsigned char *at = u->tx_arena + m * u->tx_stride;

		for (size_t i = 0; i < u->tx_segments; i++)
			memcpy(at + i * u->length, u->w->buffer, u->length);
		u->tx_iov[m].iov_base = at;
		u->tx_headers[m].msg_hdr.msg_iov = &u->tx_iov[m];
		u->tx_headers[m].msg_hdr.msg_iovlen = 1;
	}
	wp_worker_method(u->w, WP_STREAM_SENDS, u->plan->gso ? "sendmmsg (GSO)" : "sendmmsg");
	return 0;
}

void udp_send_done(struct udp_worker *u)
{
	if (u->tx_arena)
		munmap(u->tx_arena, u->mapped_tx_bytes);
	free(u->tx_headers);
	free(u->tx_iov);
}

/*
 * Waking up costs 30 to 50 us of CPU time here, the sender's and as much for the receiver that it wakes, so packets that
 * are close to each other leave in groups. With more than 10 a millisecond these are so short that no millisecond has
 * more than 1.5 times its share; with fewer they are as long as it takes not to cost more than a sender that wakes up
 * every millisecond. Who spins anyway need not save.
 */
static int64_t group_ns(const struct udp_worker *u)
{
	if (u->plan->spin)
		return GROUP_SPIN_NS;
	return u->plan->rate_bps / 8 / u->length > 10000 ? GROUP_FAST_NS : GROUP_SLOW_NS;
}

void udp_send_start(struct udp_worker *u, struct wp_stream *s)
{
	struct udp_sender *t = &udp_ctx(s)->tx;
	int64_t now = wp_now_ns(), gap;
	size_t most = u->tx_segments > 1 ? u->tx_segments : u->tx_messages;

	if (!u->paced)
		return;
	/* Streams that start together would send together for ever. */
	gap = (int64_t)((double)u->length * 8e9 / (double)u->plan->rate_bps);
	gap = gap < STAGGER_NS ? gap : STAGGER_NS;
	if (u->plan->streams > 0)
		now += gap * (int64_t)(s->index % u->plan->streams) / u->plan->streams;
	wp_packet_pacer_init(&t->pacer, u->plan->rate_bps, u->length, group_ns(u), most, now);
}

/* ---- a batch ---- */

/* Datagrams that are left of the limit; bytes by which the very last is shorter. */
static uint64_t packets_left(const struct udp_worker *u, const struct wp_stream *s, size_t *ret_cut)
{
	uint64_t left = s->limit_bytes - udp_ctx(s)->tx.bytes, n;

	*ret_cut = 0;
	if (s->limit_bytes == 0)
		return UINT64_MAX;
	n = (left + u->length - 1) / u->length;
	*ret_cut = (size_t)(n * u->length - left);
	return n;
}

static size_t packets_in(const struct udp_worker *u, const struct batch *b, size_t message)
{
	size_t before = message * u->tx_segments;

	return b->packets - before < u->tx_segments ? b->packets - before : u->tx_segments;
}

static void write_headers(struct udp_worker *u, struct wp_stream *s, const struct batch *b,
			  int64_t now)
{
	uint64_t number = udp_ctx(s)->tx.packets;

	for (size_t m = 0; m < b->messages; m++) {
		unsigned char *at = u->tx_iov[m].iov_base;
		size_t n = packets_in(u, b, m), cut = m + 1 == b->messages ? b->last_cut : 0;

		wp_datagram_write_run(at, u->length, n, number, now);
		number += n;
		/* The very last one's header is that of its own length. */
		if (cut > 0)
			wp_datagram_write(at + (n - 1) * u->length, u->length - cut, number - 1,
					  now);
		u->tx_iov[m].iov_len = n * u->length - cut;
		if (s->remote.len > 0) {
			u->tx_headers[m].msg_hdr.msg_name = &s->remote.storage;
			u->tx_headers[m].msg_hdr.msg_namelen = s->remote.len;
		}
	}
}

static void note_gap(struct udp_worker *u, struct udp_sender *t, size_t packets, int64_t now)
{
	struct wp_live_hist *h = u->w->hist[WP_HIST_SEND_GAP];

	if (h && t->last_send_ns > 0)
		wp_live_hist_add(h, (uint64_t)(now - t->last_send_ns));
	if (h && packets > 1)
		wp_live_hist_add_n(h, 0, packets - 1);
	t->last_send_ns = now;
}

static void count(struct udp_worker *u, struct wp_stream *s, size_t packets, uint64_t bytes,
		  int64_t now)
{
	struct udp_sender *t = &udp_ctx(s)->tx;
	struct wp_stream_counters *c = s->count;

	if (t->packets == 0)
		UDP_STORE(c->first_ns, now);
	t->packets += packets;
	t->bytes += bytes;
	t->calls++;
	UDP_STORE(c->packets, t->packets);
	UDP_STORE(c->bytes, t->bytes);
	UDP_STORE(c->calls, t->calls);
	UDP_STORE(c->last_ns, now);
	if (u->paced) {
		note_gap(u, t, packets, now);
		/* The time after the call: a thread that lost its CPU in it must not send the next group at once. */
		wp_packet_pacer_sent(&t->pacer, packets, wp_now_ns());
	}
}

/* ---- what went wrong ---- */

/* Whether it has gone on for so long that it won't pass. */
static bool lasts(struct udp_trouble *t, int64_t now)
{
	if (t->n == 0 || now - t->last_ns > TROUBLE_GAP_NS) {
		t->n = 0;
		t->first_ns = now;
	}
	t->n++;
	t->last_ns = now;
	return t->n >= TROUBLE_N && now - t->first_ns >= TROUBLE_NS;
}

static bool is_icmp(int error)
{
	switch (error) {
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case ENONET:
	case EACCES:
	case EMSGSIZE:
	case EPROTO:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/* The kernel did not let `packets` datagrams out. */
static enum udp_turn dropped(struct udp_worker *u, struct wp_stream *s, size_t packets, int error,
			     int64_t now)
{
	struct udp_sender *t = &udp_ctx(s)->tx;

	t->drops += packets;
	UDP_STORE(s->count->send_drops, t->drops);
	if (u->paced)
		wp_packet_pacer_sent(&t->pacer, packets, now);
	/* A full queue is a result; a firewall that lets nothing pass is a mistake. */
	if (error == EPERM && lasts(&t->refused, now))
		return udp_end(s, -error);
	return UDP_MORE;
}

/* Message `sent` of the batch was refused with `error`. */
static enum udp_turn trouble(struct udp_worker *u, struct wp_stream *s, const struct batch *b,
			     size_t sent, int error)
{
	struct udp_sender *t = &udp_ctx(s)->tx;
	int64_t now = wp_now_ns();

	switch (error) {
	case EINTR:
		return UDP_MORE;
	case EAGAIN:
		return udp_wait(s, POLLOUT, UDP_NEVER);
	case ENOBUFS:
	case ENOMEM:
	case EPERM:
		return dropped(u, s, packets_in(u, b, sent), error, now);
	default:
		break;
	}
	if (!is_icmp(error))
		return udp_end(s, -error);
	udp_drain_errors(s->fd);
	if (lasts(&t->icmp, now))
		return udp_end(s, -error);
	/* One that was waiting is gone now; no route stays, and should not burn the CPU. */
	return sent > 0 || error == ECONNREFUSED ? UDP_MORE : udp_wait(s, 0, now + RETRY_NS);
}

static int hidden_error(int fd)
{
	int error = udp_drain_errors(fd);

	if (error)
		return error;
	return udp_send_buffer_full(fd) ? EAGAIN : ENOBUFS;
}

static enum udp_turn send_batch(struct udp_worker *u, struct wp_stream *s, struct batch *b,
				int64_t now)
{
	size_t packets;
	int n;

	b->messages = (b->packets + u->tx_segments - 1) / u->tx_segments;
	write_headers(u, s, b, now);
	n = sendmmsg(s->fd, u->tx_headers, (unsigned)b->messages, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return trouble(u, s, b, 0, errno);
	packets = (size_t)n < b->messages ? (size_t)n * u->tx_segments : b->packets;
	count(u, s, packets, packets * u->length - ((size_t)n == b->messages ? b->last_cut : 0),
	      now);
	udp_ctx(s)->tx.refused.n = 0;
	if ((size_t)n < b->messages)
		return trouble(u, s, b, (size_t)n, hidden_error(s->fd));
	return UDP_MORE;
}

/* ---- the end ---- */

/* Sends the next end marker, whatever becomes of it. */
static enum udp_turn finish(struct wp_stream *s)
{
	struct udp_sender *t = &udp_ctx(s)->tx;
	uint8_t marker[WP_DATAGRAM_CONTROL_BYTES];
	int64_t now = wp_now_ns(), due;

	if (!t->finishing) {
		/* The marker may be longer than a segment. */
		(void)setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &(int) { 0 }, sizeof(int));
		t->finishing = true;
		t->finish_ns = now;
	}
	due = t->finish_ns + marker_after_ns[t->markers];
	if (now < due)
		return udp_wait(s, 0, due);
	wp_datagram_write_end(marker, t->packets);
	/* An ICMP message that was waiting takes the first try. */
	for (int i = 0; i < 2; i++)
		if (sendto(s->fd, marker, sizeof(marker), MSG_DONTWAIT | MSG_NOSIGNAL,
			   s->remote.len > 0 ? &s->remote.sa : NULL, s->remote.len) >= 0)
			break;
	if (++t->markers == sizeof(marker_after_ns) / sizeof(marker_after_ns[0]))
		return udp_end(s, 0);
	return udp_wait(s, 0, t->finish_ns + marker_after_ns[t->markers]);
}

static enum udp_turn wait_for_pace(struct wp_stream *s, uint64_t left)
{
	struct udp_sender *t = &udp_ctx(s)->tx;

	return udp_wait(s, 0, wp_packet_pacer_next_ns(&t->pacer, left));
}

static void store_shortfall(struct udp_worker *u, struct wp_stream *s)
{
	uint64_t n = udp_ctx(s)->tx.pacer.shortfall_packets;

	UDP_STORE(s->count->shortfall_packets, n);
	UDP_STORE(s->count->shortfall_bytes, n * u->length);
}

enum udp_turn udp_send_turn(struct udp_worker *u, struct wp_stream *s)
{
	struct udp_stream *x = udp_ctx(s);
	size_t most = u->tx_messages * u->tx_segments;

	if (x->error) {
		int error = udp_drain_errors(s->fd);

		x->error = false;
		if (error && !x->tx.finishing && lasts(&x->tx.icmp, wp_now_ns()))
			return udp_end(s, -error);
	}
	for (int i = 0; i < CALLS_A_TURN; i++) {
		struct batch b = { 0 };
		uint64_t left;
		enum udp_turn turn;
		int64_t now;

		if (wp_worker_aborting(u->w))
			return udp_end(s, -ECANCELED);
		left = packets_left(u, s, &b.last_cut);
		if (x->tx.finishing || left == 0 || wp_worker_stopping(u->w))
			return finish(s);
		b.packets = left < most ? (size_t)left : most;
		now = wp_now_ns();
		if (u->paced) {
			b.packets = (size_t)wp_packet_pacer_due(&x->tx.pacer, now, b.packets);
			store_shortfall(u, s);
			if (b.packets == 0)
				return wait_for_pace(s, left);
		}
		if (b.packets < left)
			b.last_cut = 0;
		turn = send_batch(u, s, &b, now);
		if (turn != UDP_MORE)
			return turn;
	}
	return UDP_MORE;
}
