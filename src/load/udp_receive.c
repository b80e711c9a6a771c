/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receiving. A batch of messages is one recvmmsg(2); with UDP_GRO a message may be many datagrams of one size, which a
 * control message tells. The clock is read once after each call: that is when its datagrams arrived.
 *
 * While more than 200,000 messages a second come, the thread sleeps by the clock instead of on the socket: on veth pairs
 * that is 1.15 times the rate for 0.6 times the receiver's CPU time, because the sender does not have to wake it (an
 * interrupt to another CPU for every few datagrams). It adds up to 0.1 ms to delays at such rates.
 *
 * Delay and jitter: datagrams that were sent by one call carry the same time and are taken together. The one-way delay
 * is relative to the smallest of the stream, so the two clocks need not agree. The first 256 are kept back until the
 * smallest of them is known; should a smaller one come later, those before it are too small by the difference. Jitter is
 * RFC 3550 section 6.4.1, over groups sent together rather than single datagrams: those of a group would only pull it
 * towards zero.
 *
 * The end: by the end marker, after which a datagram that was overtaken may still come; when none of the markers came,
 * by silence after the stop.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "load/udp_stream.h"

#define MESSAGES       64
#define MERGED         16 /* messages of up to 64 KiB */
#define MERGED_BYTES   65536
#define ARENA_BYTES    (1u << 20) /* of a batch that nobody asked for */
#define CALLS_A_TURN   4
#define GRACE_WHOLE_NS (20 * WP_NS_PER_MS)  /* all is there: for duplicates */
#define GRACE_NS       (100 * WP_NS_PER_MS) /* for what was overtaken by the end marker */
#define SILENCE_NS     (500 * WP_NS_PER_MS) /* after a stop, when no end marker comes */
#define DROPS_EVERY_NS WP_NS_PER_MS

#define NAP_NS         (30 * WP_NS_PER_US) /* and the timer slack of 50 us */
#define NAP_MESSAGE_NS (5 * WP_NS_PER_US)  /* when they come closer than this */

union udp_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the batch's memory ---- */

static bool any_unconnected(const struct wp_worker *w)
{
	for (size_t i = 0; i < w->n_streams; i++)
		if (w->streams[i]->role == WP_STREAM_RECEIVES && w->streams[i]->remote.len > 0)
			return true;
	return false;
}

/* A nap must not delay others, or overflow a buffer. */
static bool may_nap(const struct wp_worker *w)
{
	for (size_t i = 0; i < w->n_streams; i++)
		if (w->streams[i]->role != WP_STREAM_RECEIVES ||
		    !udp_receive_buffer_is_ample(w->streams[i]->fd))
			return false;
	return true;
}

static void choose_batch(struct udp_worker *u)
{
	size_t n = u->plan->batch, longest = u->length;

	if (longest < WP_DATAGRAM_CONTROL_BYTES)
		longest = WP_DATAGRAM_CONTROL_BYTES;
	u->rx_stride = u->plan->gro ? MERGED_BYTES : (longest + 63) / 64 * 64;
	if (n == 0) {
		n = u->plan->gro ? MERGED : MESSAGES;
		if (n > ARENA_BYTES / u->rx_stride)
			n = ARENA_BYTES / u->rx_stride;
	}
	u->rx_messages = n > 0 ? n : 1;
}

int udp_receive_init(struct udp_worker *u)
{
	bool from = any_unconnected(u->w);

	u->naps = may_nap(u->w);
	choose_batch(u);
	u->mapped_rx_bytes = u->rx_messages * u->rx_stride;
	u->rx_arena = mmap(NULL, u->mapped_rx_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->rx_arena == MAP_FAILED) {
		u->rx_arena = NULL;
		return -errno;
	}
	u->rx_headers = calloc(u->rx_messages, sizeof(*u->rx_headers));
	u->rx_iov = calloc(u->rx_messages, sizeof(*u->rx_iov));
	if (u->plan->gro)
		u->rx_control = calloc(u->rx_messages, sizeof(*u->rx_control));
	if (from)
		u->rx_from = calloc(u->rx_messages, sizeof(*u->rx_from));
	if (!u->rx_headers || !u->rx_iov || (u->plan->gro && !u->rx_control) ||
	    (from && !u->rx_from))
		return -ENOMEM;
	for (size_t m = 0; m < u->rx_messages; m++) {
		struct msghdr *h = &u->rx_headers[m].msg_hdr;

		u->rx_iov[m].iov_base = u->rx_arena + m * u->rx_stride;
		u->rx_iov[m].iov_len = u->rx_stride;
		h->msg_iov = &u->rx_iov[m];
		h->msg_iovlen = 1;
		h->msg_control = u->rx_control ? u->rx_control[m].bytes : NULL;
		h->msg_name = u->rx_from ? &u->rx_from[m].storage : NULL;
	}
	wp_worker_method(u->w, WP_STREAM_RECEIVES, u->plan->gro ? "recvmmsg (GRO)" : "recvmmsg");
	return 0;
}

void udp_receive_done(struct udp_worker *u)
{
	if (u->rx_arena)
		munmap(u->rx_arena, u->mapped_rx_bytes);
	free(u->rx_headers);
	free(u->rx_iov);
	free(u->rx_control);
	free(u->rx_from);
}

/* ---- a stream's memory ---- */

int udp_receive_open(struct wp_stream *s, struct wp_err *err)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;

	x->held = calloc(UDP_HELD, sizeof(*x->held));
	if (!x->held || udp_sequence_init(&x->seq) < 0) {
		free(x->held);
		x->held = NULL;
		return wp_err_sys(err, -ENOMEM, "stream %u", s->index + 1);
	}
	/* What was dropped before the test does not count. */
	if (udp_read_drops(s->fd, &x->drops_seen) < 0)
		x->drops_seen = 0;
	return 0;
}

void udp_receive_close(struct wp_stream *s)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;

	free(x->held);
	x->held = NULL;
	udp_sequence_done(&x->seq);
}

/* ---- delay and jitter ---- */

static void release_held(struct udp_receiver *x, struct wp_live_hist *h)
{
	if (!x->held)
		return;
	for (unsigned i = 0; i < x->n_held; i++)
		wp_live_hist_add_n(h, (uint64_t)(x->held[i].delay_ns - x->least_delay_ns),
				   x->held[i].n);
	free(x->held);
	x->held = NULL;
}

/* RFC 3550 A.8: J += (|D| - J) / 16. */
static void note_jitter(struct udp_receiver *x, struct wp_stream *s)
{
	if (x->has_before) {
		int64_t d = x->delay_ns - x->before_delay_ns;
		uint64_t size = d < 0 ? (uint64_t)-d : (uint64_t)d;

		x->jitter_16_ns += size - ((x->jitter_16_ns + 8) >> 4);
		UDP_STORE(s->count->jitter_ns, x->jitter_16_ns >> 4);
	}
	x->before_delay_ns = x->delay_ns;
	x->has_before = true;
}

/* The datagrams that were sent together and arrived together go into the histogram. */
static void close_group(struct udp_receiver *x, struct wp_live_hist *h)
{
	if (x->n_together == 0)
		return;
	if (!x->timed || x->delay_ns < x->least_delay_ns)
		x->least_delay_ns = x->delay_ns;
	x->timed = true;
	if (x->held && x->n_held == UDP_HELD)
		release_held(x, h);
	if (x->held)
		x->held[x->n_held++] = (struct udp_held) { x->delay_ns, x->n_together };
	else
		wp_live_hist_add_n(h, (uint64_t)(x->delay_ns - x->least_delay_ns), x->n_together);
	x->n_together = 0;
}

/* The first of a group. */
static void open_group(struct udp_receiver *x, struct wp_stream *s, struct wp_live_hist *h,
		       int64_t sent_ns, int64_t now)
{
	bool fresh = sent_ns != x->sent_ns || !x->has_before;
	int64_t delay;

	close_group(x, h);
	/* What is no time of any clock is no delay either. */
	if (__builtin_sub_overflow(now, sent_ns, &delay) || delay > INT64_MAX / 4 ||
	    delay < INT64_MIN / 4)
		delay = x->before_delay_ns;
	x->sent_ns = sent_ns;
	x->delay_ns = delay;
	if (fresh)
		note_jitter(x, s);
}

/* ---- a batch ---- */

struct arrival {
	struct udp_worker *u;
	struct wp_stream *s;
	struct wp_live_hist *hist;
	int64_t now;
	bool first; /* of the batch: even a group that goes on has arrived later */
};

static void take_control(struct arrival *a, const unsigned char *at)
{
	struct udp_receiver *x = &udp_ctx(a->s)->rx;

	if (wp_datagram_kind(at) != WP_DATAGRAM_END)
		return;
	x->total = wp_datagram_end_total(at);
	if (!x->limit_known)
		x->quiet_ns = a->now;
	x->limit_known = true;
}

/* A datagram without a number among numbered ones is the last one of a byte limit. */
static void take_tail(struct udp_receiver *x, const struct udp_worker *u)
{
	if (!wp_datagram_has_number(u->length))
		return;
	x->seq.duplicated += x->tail_seen;
	x->tail_seen = true;
}

static inline void take_datagram(struct arrival *a, const unsigned char *at, size_t len)
{
	struct udp_receiver *x = &udp_ctx(a->s)->rx;

	if (len == WP_DATAGRAM_CONTROL_BYTES && wp_datagram_kind(at) != WP_DATAGRAM_DATA) {
		take_control(a, at);
		return;
	}
	if (len > a->u->length || len == 0)
		return; /* not of this test */
	if (!wp_datagram_has_number(len))
		take_tail(x, a->u);
	else if (!udp_sequence_arrived(&x->seq, wp_datagram_number(at, len, x->seq.next)))
		return;
	x->packets++;
	x->bytes += len;
	if (!wp_datagram_has_time(len))
		return;
	if (a->first || wp_datagram_sent_ns(at) != x->sent_ns)
		open_group(x, a->s, a->hist, wp_datagram_sent_ns(at), a->now);
	a->first = false;
	x->n_together++;
}

/* Bytes a datagram of a message; its whole length where nothing was merged. */
static size_t segment_bytes(struct msghdr *h, size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		int size = 0;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO ||
		    c->cmsg_len < CMSG_LEN(sizeof(size)))
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		return size > 0 ? (size_t)size : len;
	}
	return len;
}

static bool same_peer(const struct wp_addr *a, const struct wp_addr *b)
{
	return wp_addr_port(a) == wp_addr_port(b) && wp_addr_same_host(a, b);
}

static void take_message(struct arrival *a, size_t m)
{
	struct mmsghdr *h = &a->u->rx_headers[m];
	const unsigned char *at = a->u->rx_iov[m].iov_base;
	size_t len = h->msg_len, size = len;

	if (h->msg_hdr.msg_flags & MSG_TRUNC)
		return; /* longer than any of this test */
	if (a->u->rx_from && a->s->remote.len > 0 && !same_peer(&a->u->rx_from[m], &a->s->remote))
		return;
	if (a->u->rx_control)
		size = segment_bytes(&h->msg_hdr, len);
	if (len == 0)
		return;
	for (; len > size; at += size, len -= size)
		take_datagram(a, at, size);
	take_datagram(a, at, len);
}

static void prepare(struct udp_worker *u)
{
	for (size_t m = 0; m < u->rx_messages; m++) {
		struct msghdr *h = &u->rx_headers[m].msg_hdr;

		if (u->rx_control)
			h->msg_controllen = sizeof(u->rx_control[m].bytes);
		if (u->rx_from)
			h->msg_namelen = sizeof(u->rx_from[m].storage);
	}
}

static uint64_t distinct(const struct udp_receiver *x)
{
	return x->packets - x->seq.duplicated - x->seq.late;
}

static uint64_t expected(const struct udp_worker *u, const struct udp_receiver *x)
{
	uint64_t n = x->seq.next + x->tail_seen;

	if (x->limit_known)
		n = x->total;
	else if (!wp_datagram_has_number(u->length))
		n = x->packets;
	return n > distinct(x) ? n : distinct(x);
}

static void store(struct udp_worker *u, struct wp_stream *s)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;
	struct wp_stream_counters *c = s->count;

	UDP_STORE(c->packets, x->packets);
	UDP_STORE(c->bytes, x->bytes);
	UDP_STORE(c->calls, x->calls);
	UDP_STORE(c->out_of_order, x->seq.out_of_order);
	UDP_STORE(c->duplicated, x->seq.duplicated);
	UDP_STORE(c->late, x->seq.late);
	UDP_STORE(c->expected, expected(u, x));
}

static void take_batch(struct udp_worker *u, struct wp_stream *s, size_t n, int64_t now)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;
	struct arrival a = {
		.u = u, .s = s, .hist = u->w->hist[WP_HIST_DELAY], .now = now, .first = true
	};
	uint64_t before = x->packets;

	x->messages += n;
	u->rx_fresh += n;
	for (size_t m = 0; m < n; m++)
		take_message(&a, m);
	close_group(x, a.hist);
	x->drops_unread = true;
	if (x->packets != before) {
		if (before == 0)
			UDP_STORE(s->count->first_ns, now);
		x->calls++;
		x->quiet_ns = now;
		UDP_STORE(s->count->last_ns, now);
	}
	store(u, s);
}

/* ---- drops ---- */

/*
 * The kernel counts messages. With UDP_GRO one is many datagrams: as many as those had that came, on average, which is
 * exact where the sender's super-packets are alike. End markers are among them: no more was dropped than is lost.
 */
static uint64_t dropped_datagrams(const struct udp_receiver *x)
{
	uint64_t each = x->messages > 0 ? (x->packets + x->messages / 2) / x->messages : 1;
	uint64_t n = x->drops * (each > 1 ? each : 1);

	if (x->limit_known && n > x->total - distinct(x))
		return x->total > distinct(x) ? x->total - distinct(x) : 0;
	return n;
}

static void read_drops(struct wp_stream *s, int64_t now)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;
	uint32_t drops;

	x->drops_unread = false;
	x->drops_read_ns = now;
	if (udp_read_drops(s->fd, &drops) < 0)
		return;
	x->drops += drops - x->drops_seen; /* modulo 2^32 */
	x->drops_seen = drops;
	UDP_STORE(s->count->socket_drops, dropped_datagrams(x));
}

/* ---- the end ---- */

static enum udp_turn end(struct udp_worker *u, struct wp_stream *s, int error)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;

	close_group(x, u->w->hist[WP_HIST_DELAY]);
	release_held(x, u->w->hist[WP_HIST_DELAY]);
	read_drops(s, 0);
	store(u, s);
	return udp_end(s, error);
}

/* When the stream is over if nothing more comes. */
static int64_t ends_at(const struct udp_worker *u, struct udp_receiver *x, int64_t now)
{
	int64_t quiet;

	if (x->limit_known)
		return x->quiet_ns + (distinct(x) >= x->total ? GRACE_WHOLE_NS : GRACE_NS);
	if (!wp_worker_stopping(u->w))
		return UDP_NEVER;
	if (x->stopped_ns == 0)
		x->stopped_ns = now;
	quiet = x->quiet_ns > x->stopped_ns ? x->quiet_ns : x->stopped_ns;
	return quiet + SILENCE_NS;
}

/* Nothing more is there. */
static enum udp_turn idle(struct udp_worker *u, struct wp_stream *s, int64_t now)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;
	int64_t due = ends_at(u, x, now);

	if (now >= due)
		return end(u, s, 0);
	if (x->drops_unread && now - x->drops_read_ns >= DROPS_EVERY_NS)
		read_drops(s, now);
	if (x->drops_unread && x->drops_read_ns + DROPS_EVERY_NS < due)
		due = x->drops_read_ns + DROPS_EVERY_NS;
	return udp_wait(s, POLLIN, due);
}

enum udp_turn udp_receive_turn(struct udp_worker *u, struct wp_stream *s)
{
	struct udp_receiver *x = &udp_ctx(s)->rx;

	udp_ctx(s)->error = false; /* the next call returns it */
	for (int i = 0; i < CALLS_A_TURN; i++) {
		int64_t now;
		int n;

		if (wp_worker_aborting(u->w))
			return end(u, s, -ECANCELED);
		prepare(u);
		n = recvmmsg(s->fd, u->rx_headers, (unsigned)u->rx_messages, MSG_DONTWAIT, NULL);
		now = wp_now_ns();
		if (n < 0 && errno == EINTR)
			continue;
		/* ICMP messages, about what was sent from this socket before, are none of a receiver's business. */
		if (n < 0 && (errno == EBADF || errno == ENOTSOCK || errno == EFAULT ||
			      errno == EINVAL || errno == ENOMEM))
			return end(u, s, -errno);
		if (n < 0)
			return idle(u, s, now);
		take_batch(u, s, (size_t)n, now);
		if ((size_t)n < u->rx_messages)
			return idle(u, s, now);
		if (now - x->drops_read_ns >= DROPS_EVERY_NS)
			read_drops(s, now);
	}
	return UDP_MORE;
}

bool udp_receive_nap(struct udp_worker *u, int64_t due_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	int64_t now, since;
	uint64_t fresh = u->rx_fresh;

	if (!u->naps)
		return false;
	now = wp_now_ns();
	since = now - u->rx_waited_ns;
	u->rx_fresh = 0;
	u->rx_waited_ns = now;
	if (fresh * NAP_MESSAGE_NS < (uint64_t)since || due_ns - now < 2 * NAP_NS)
		return false;
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	return true;
}
