/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/stall_track.h"

#include <netinet/tcp.h>

static const char NO_INFO[] = "TCP_INFO could not be read";
static const char OLD_KERNEL[] = "this kernel's TCP_INFO has no such field";
static const char SENDERS_OWN[] = "known to the sender";
static const char RECEIVERS_OWN[] = "known to the receiver";
static const char NO_SCHEDSTAT[] = "the thread's times could not be read";

void wp_stall_track_start(struct wp_stall_track *t, const struct wp_stall_seen *first)
{
	*t = (struct wp_stall_track) { .progress = *first, .newest = *first };
}

int64_t wp_stall_track_quiet_ns(const struct wp_stall_track *t)
{
	return t->newest.t_ns - t->progress.t_ns;
}

static void note_largest(struct wp_stall_track *t, const struct wp_tcp_info *info)
{
	if (info->rto_us > t->rto_us)
		t->rto_us = info->rto_us;
	if (info->backoff > t->backoff)
		t->backoff = info->backoff;
	if (info->retransmits > t->timeouts)
		t->timeouts = info->retransmits;
	if (info->probes > t->probes)
		t->probes = info->probes;
}

/* The stall is over: keeps what is known of it. */
static void keep(struct wp_stall_track *t)
{
	t->stands = false;
	t->before = t->progress;
	t->still = t->newest;
	t->most_rto_us = t->rto_us;
	t->most_backoff = t->backoff;
	t->most_timeouts = t->timeouts;
	t->most_probes = t->probes;
}

enum wp_stall_step wp_stall_track_take(struct wp_stall_track *t, const struct wp_stall_seen *seen,
				       int64_t stall_ns)
{
	bool moved = seen->position != t->newest.position, stood = t->stands;

	if (moved) {
		if (stood)
			keep(t);
		t->progress = t->newest = *seen;
		t->rto_us = 0;
		t->backoff = t->timeouts = t->probes = 0;
		return stood ? WP_STALL_OVER : WP_STALL_MOVES;
	}
	t->newest = *seen;
	if (seen->has_info)
		note_largest(t, &seen->info);
	t->stands = stood || seen->t_ns - t->progress.t_ns >= stall_ns;
	return t->stands ? WP_STALL_STANDS : WP_STALL_QUIET;
}

bool wp_stall_track_end(struct wp_stall_track *t)
{
	if (!t->stands)
		return false;
	keep(t);
	t->progress = t->newest;
	return true;
}

static const char *state_name(unsigned state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "established",
		[TCP_SYN_SENT] = "syn-sent",
		[TCP_SYN_RECV] = "syn-received",
		[TCP_FIN_WAIT1] = "fin-wait-1",
		[TCP_FIN_WAIT2] = "fin-wait-2",
		[TCP_TIME_WAIT] = "time-wait",
		[TCP_CLOSE] = "closed",
		[TCP_CLOSE_WAIT] = "close-wait",
		[TCP_LAST_ACK] = "last-ack",
		[TCP_LISTEN] = "listen",
		[TCP_CLOSING] = "closing",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

static struct wp_num share(int64_t part_ns, int64_t before_ns, int64_t wall_ns)
{
	double pct;

	if (part_ns < 0 || before_ns < 0 || wall_ns <= 0)
		return wp_absent(NO_SCHEDSTAT);
	pct = 100.0 * (double)(part_ns - before_ns) / (double)wall_ns;
	return wp_num(pct < 0 ? 0 : pct > 100 ? 100 : pct);
}

static void sender_view(const struct wp_stall_track *t, struct wp_stall_view *v)
{
	const struct wp_tcp_info *a = &t->before.info, *b = &t->still.info;

	v->unacked = wp_num(b->unacked);
	v->cwnd_bytes = wp_num((double)b->snd_cwnd * b->snd_mss_bytes);
	v->mss_bytes = wp_num(b->snd_mss_bytes);
	v->rto_us = wp_num(t->most_rto_us);
	v->backoff = wp_num(t->most_backoff);
	v->timeouts = wp_num(t->most_timeouts);
	v->probes = wp_num(t->most_probes);
	v->notsent_bytes = b->has_segments ? wp_num(b->notsent_bytes) : wp_absent(OLD_KERNEL);
	v->snd_wnd_bytes = b->has_snd_wnd ? wp_num(b->snd_wnd_bytes) : wp_absent(OLD_KERNEL);
	if (t->before.has_info) {
		v->rto_before_us = wp_num(a->rto_us);
		v->retransmits = wp_num(b->total_retrans - a->total_retrans);
		v->snd_wnd_before_bytes =
			a->has_snd_wnd ? wp_num(a->snd_wnd_bytes) : wp_absent(OLD_KERNEL);
	} else {
		v->rto_before_us = v->retransmits = v->snd_wnd_before_bytes = wp_absent(NO_INFO);
	}
	v->unread_bytes = wp_absent(RECEIVERS_OWN);
}

static void absent_view(const char *why, struct wp_stall_view *v)
{
	v->unacked = v->notsent_bytes = v->cwnd_bytes = v->mss_bytes = wp_absent(why);
	v->snd_wnd_bytes = v->snd_wnd_before_bytes = v->rto_us = v->rto_before_us = wp_absent(why);
	v->backoff = v->timeouts = v->probes = v->retransmits = wp_absent(why);
}

void wp_stall_track_view(const struct wp_stall_track *t, bool sends, struct wp_stall_view *ret)
{
	int64_t wall_ns = t->still.t_ns - t->before.t_ns;

	ret->tcp_state = t->still.has_info ? state_name(t->still.info.state) : NULL;
	ret->called_bytes = wp_num((double)(t->still.called_bytes - t->before.called_bytes));
	ret->cpu_pct = share(t->still.cpu_ns, t->before.cpu_ns, wall_ns);
	ret->run_delay_pct = share(t->still.delay_ns, t->before.delay_ns, wall_ns);
	if (!sends) {
		absent_view(SENDERS_OWN, ret);
		ret->unread_bytes = wp_num((double)t->still.unread_bytes);
	} else if (t->still.has_info) {
		sender_view(t, ret);
	} else {
		absent_view(NO_INFO, ret);
		ret->unread_bytes = wp_absent(RECEIVERS_OWN);
	}
}
