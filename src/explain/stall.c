/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/stall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "explain/say.h"

#define SENTENCE_BYTES 1024
#define SAME_SHARE     0.5  /* of the shorter of two views: they are of one stall */
#define MAINLY         0.5  /* of the stall's time */
#define DELAY_PCT      50.0 /* of it a thread waited for a CPU */
#define LINE_BEFORE    20.0 /* interrupts a second: a line that worked */
#define LINE_STOPPED   0.02 /* of that: it does no more */
#define LATE_START_S   0.2
#define FEW_PACKETS    2.0 /* that leave a queue a second: less than anybody's retransmissions */

const struct wp_stall_cause wp_stall_causes[WP_N_STALL_CAUSES] = {
	{ WP_STALL_CARRIER, "the interface of an end was without carrier, or its carrier changed" },
	{ WP_STALL_STOPPED,
	  "whyperf at an end took no reading for half of the time and used no CPU: it was stopped, or its machine" },
	{ WP_STALL_VANISHED,
	  "the run failed because of the other end, and the stall went on until then" },
	{ WP_STALL_INTERRUPTS,
	  "an interrupt line of the sender's interface that fired 20 times a second fires less than 2 % of that, while its queue holds packets, its transmit watchdog fires, or nothing of what is sent again leaves it" },
	{ WP_STALL_QUEUE,
	  "packets waited in the sender's queue all the time and hardly any left it, or its transmit watchdog fired" },
	{ WP_STALL_WINDOW,
	  "the receiver's window was below one segment, and its thread did not wait for a CPU" },
	{ WP_STALL_OFF_CPU,
	  "a thread waited for a CPU half of the time: the sender's with nothing under way, or the receiver's with data in its socket or its window closed" },
	{ WP_STALL_LOST, "packets were under way and retransmission timeouts followed each other" },
	{ WP_STALL_NO_ANSWER, "rr: all requests were acknowledged" },
	{ WP_STALL_UNEXPLAINED, "none of these" },
};

/* One stall: the views of the two ends of its streams. */
struct stall {
	const struct wp_run *run;
	const struct wp_stall_view *sender, *receiver; /* NULL: that end saw none */
	const struct wp_host *sends, *receives;        /* NULL: not in the record */
	double start_s, end_s;
	/* The verdict. */
	const char *cause, *confidence;
	struct wp_buf says;
};

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static double end_of(const struct wp_stall_view *v)
{
	return wp_num_or(v->start_s, 0) + wp_num_or(v->length_s, 0);
}

static double length_of(const struct stall *s)
{
	return s->end_s - s->start_s;
}

/* Share of the stall in which that view goes on. */
static double covers(const struct stall *s, const struct wp_stall_view *v)
{
	double from = wp_num_or(v->start_s, 0), to = end_of(v);

	from = from > s->start_s ? from : s->start_s;
	to = to < s->end_s ? to : s->end_s;
	return length_of(s) > 0 && to > from ? (to - from) / length_of(s) : 0;
}

/* "client", "server" */
static const char *role_of(const struct wp_host *h)
{
	return h && h->role ? h->role : "other end";
}

/* A record from a file may lack any text. */
static const char *word_of(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

static const char *interface_of(const struct wp_stall_view *v)
{
	return word_of(v->interface, "the interface");
}

static void put_time(struct wp_buf *b, double seconds)
{
	char text[32];

	wp_format_ns(seconds * 1e9, text, sizeof(text));
	wp_buf_puts(b, text);
}

static bool found(struct stall *s, const char *cause, const char *confidence)
{
	s->cause = cause;
	s->confidence = confidence;
	return true;
}

/* ---- causes ----------------------------------------------------------------------------------- */

static bool lost_carrier(const struct wp_stall_view *v)
{
	return v && (wp_num_or(v->carrier_changes, 0) > 0 || wp_num_or(v->carrier_down_s, 0) > 0);
}

/* TCP waits for its timer, which grew meanwhile. */
static void put_late_start(struct stall *s, const struct wp_stall_view *v)
{
	double later = length_of(s) - wp_num_or(v->carrier_down_s, length_of(s));

	if (!s->sender || !is(s->sender->ended, "progress") || !wp_has(s->sender->rto_us) ||
	    later < LATE_START_S)
		return;
	wp_buf_puts(&s->says, "; TCP went on ");
	put_time(&s->says, later);
	wp_buf_puts(&s->says, " later, when its timer fired");
}

static bool carrier(struct stall *s)
{
	const struct wp_stall_view *v = lost_carrier(s->sender) ? s->sender : s->receiver;
	const struct wp_host *h = v == s->sender ? s->sends : s->receives;

	if (!lost_carrier(v))
		return false;
	wp_buf_printf(&s->says, "the carrier of %s (%s) was lost", interface_of(v), role_of(h));
	if (wp_num_or(v->carrier_down_s, 0) > 0) {
		wp_buf_puts(&s->says, ": it was down for ");
		put_time(&s->says,
			 v->carrier_down_s.v < length_of(s) ? v->carrier_down_s.v : length_of(s));
		wp_buf_puts(&s->says, " of that");
	}
	if (v == s->sender && lost_carrier(s->receiver))
		wp_buf_printf(&s->says, ", and so was that of %s (%s)", interface_of(s->receiver),
			      role_of(s->receives));
	put_late_start(s, v);
	return found(s, WP_STALL_CARRIER, "high");
}

/* The time in which a whole process of that host did not run, as a share of the stall. */
static double stopped_share(const struct stall *s, const struct wp_host *h)
{
	double share = 0;

	for (size_t i = 0; h && i < h->n_stalls; i++)
		if (is(h->stalls[i].role, "process"))
			share += covers(s, &h->stalls[i]);
	return share;
}

static bool stopped(struct stall *s)
{
	double sender = stopped_share(s, s->sends), receiver = stopped_share(s, s->receives);
	const struct wp_host *h = receiver >= sender ? s->receives : s->sends;

	if (sender < MAINLY && receiver < MAINLY)
		return false;
	if (sender >= MAINLY && receiver >= MAINLY)
		wp_buf_puts(&s->says, "neither end's process ran");
	else
		wp_buf_printf(&s->says, "whyperf itself did not run at the %s (%s) for ",
			      h == s->receives ? "receiver" : "sender", role_of(h));
	if (sender < MAINLY || receiver < MAINLY)
		put_time(&s->says, (h == s->receives ? receiver : sender) * length_of(s));
	wp_buf_puts(&s->says, ": it was stopped, or its machine was");
	return found(s, WP_STALL_STOPPED, "high");
}

/* The run failed, and this goes on until then. */
static bool vanished(struct stall *s)
{
	const struct wp_stall_view *v = s->sender ? s->sender : s->receiver;

	if (!s->run->error || s->run->exit_status == 130 || is(v->ended, "progress"))
		return false;
	wp_buf_printf(&s->says, "the other end was not there any more: %s", s->run->error);
	return found(s, WP_STALL_VANISHED, s->run->n_hosts < 2 ? "high" : "medium");
}

/* An interrupt line of the interface that worked and stopped; NULL = none. */
static const struct wp_stall_line *stopped_line(const struct wp_stall_view *v)
{
	const struct wp_stall_line *most = NULL;

	for (size_t i = 0; v && i < v->n_lines; i++) {
		const struct wp_stall_line *l = &v->lines[i];
		double before = wp_num_or(l->before_per_s, 0);

		if (wp_num_or(l->device, 0) <= 0 || before < LINE_BEFORE ||
		    wp_num_or(l->during_per_s, before) > LINE_STOPPED * before)
			continue;
		if (!most || before > most->before_per_s.v)
			most = l;
	}
	return most;
}

static void put_line(struct wp_buf *b, const struct wp_stall_line *l)
{
	wp_buf_printf(b, "interrupt %s on CPU %.0f stopped (%.0f a second before, %.0f meanwhile",
		      word_of(l->name, "?"), wp_num_or(l->cpu, 0), wp_num_or(l->before_per_s, 0),
		      wp_num_or(l->during_per_s, 0));
	if (wp_has(l->after_per_s))
		wp_buf_printf(b, ", %.0f after", l->after_per_s.v);
	wp_buf_puts(b, ")");
}

/* Packets wait before the sender's interface and do not leave. */
static bool queue(struct stall *s)
{
	const struct wp_stall_view *v = s->sender;
	const struct wp_stall_line *line = stopped_line(v);
	double left = v ? wp_num_or(v->dequeued_packets, 0) : 0;
	bool waits = v && wp_num_or(v->least_queued_packets, 0) >= 1 &&
		     left <= FEW_PACKETS * (1 + length_of(s));
	bool fired = v && wp_num_or(v->tx_timeouts, 0) > 0;
	/* Nothing waits before it, and what was handed to it did not go out. */
	bool swallowed = line && wp_num_or(v->timeouts, 0) > 0 && wp_num_or(v->tx_packets, 1) == 0;

	if (!waits && !fired && !swallowed)
		return false;
	if (line)
		put_line(&s->says, line);
	else if (fired)
		wp_buf_printf(&s->says, "the transmit watchdog of %s fired",
			      word_of(v->stuck_queue, interface_of(v)));
	else
		wp_buf_printf(&s->says, "the queue %s is stuck",
			      word_of(v->stuck_queue, interface_of(v)));
	wp_buf_puts(&s->says, line ? " while data waited" : "");
	if (waits)
		wp_buf_printf(&s->says, ": %.0f packets waited in %s of %s (%s), %.0f left it",
			      v->most_queued_packets.v, word_of(v->qdisc, "the queue"),
			      interface_of(v), role_of(s->sends), left);
	if (line && fired)
		wp_buf_printf(&s->says, "; the transmit watchdog fired %.0f times",
			      v->tx_timeouts.v);
	if (line)
		return found(s, WP_STALL_INTERRUPTS, waits || fired ? "high" : "medium");
	return found(s, WP_STALL_QUEUE, left == 0 || fired ? "high" : "medium");
}

static bool delayed(const struct wp_stall_view *v)
{
	return v && wp_num_or(v->run_delay_pct, 0) >= DELAY_PCT;
}

static void put_delay(struct stall *s, const struct wp_stall_view *v, const struct wp_host *h)
{
	wp_buf_printf(&s->says, "the %s's thread (%s) waited for a CPU %.0f %% of that time",
		      word_of(v->role, "?"), role_of(h), v->run_delay_pct.v);
}

/* No segment fits into the window, which counts from the oldest that is not acknowledged. What is under way may fill it too
 * because it was lost: then nothing waits in the receiver's socket. */
static bool closed(const struct wp_stall_view *v, const struct wp_stall_view *r)
{
	double mss = wp_num_or(v->mss_bytes, 1);
	double room = wp_num_or(v->snd_wnd_bytes, 0) - wp_num_or(v->unacked, 0) * mss;

	if (!wp_has(v->snd_wnd_bytes))
		return false;
	return v->snd_wnd_bytes.v < mss || (room < mss && r && wp_num_or(r->unread_bytes, 0) > 0);
}

static bool window(struct stall *s)
{
	const struct wp_stall_view *v = s->sender, *r = s->receiver;
	char text[32];

	if (!v || !closed(v, r))
		return false;
	if (delayed(r)) {
		put_delay(s, r, s->receives);
		wp_buf_puts(&s->says, ", and its window closed");
		return found(s, WP_STALL_OFF_CPU, "high");
	}
	wp_buf_printf(&s->says, "the receiver (%s) closed its window", role_of(s->receives));
	if (wp_has(v->snd_wnd_before_bytes) && v->snd_wnd_before_bytes.v > v->snd_wnd_bytes.v) {
		wp_format_bytes(v->snd_wnd_before_bytes.v, text, sizeof(text));
		wp_buf_printf(&s->says, " (%s before)", text);
	}
	wp_buf_puts(&s->says, ": its program did not read");
	if (r && wp_num_or(r->unread_bytes, 0) > 0) {
		wp_format_bytes(r->unread_bytes.v, text, sizeof(text));
		wp_buf_printf(&s->says, ", %s wait in its socket", text);
	}
	if (wp_num_or(v->probes, 0) > 0)
		wp_buf_printf(&s->says, "; %.0f probes of the window in a row", v->probes.v);
	return found(s, WP_STALL_WINDOW, "high");
}

static bool has_nothing_under_way(const struct wp_stall_view *v)
{
	return wp_has(v->unacked) && v->unacked.v == 0 && wp_num_or(v->notsent_bytes, 0) == 0;
}

static bool off_cpu(struct stall *s)
{
	const struct wp_stall_view *v = s->sender, *r = s->receiver;

	if (delayed(v) && (has_nothing_under_way(v) || !wp_has(v->unacked))) {
		put_delay(s, v, s->sends);
		wp_buf_puts(&s->says, " and had nothing under way");
		return found(s, WP_STALL_OFF_CPU, "high");
	}
	if (!delayed(r) || wp_num_or(r->unread_bytes, 0) <= 0)
		return false;
	put_delay(s, r, s->receives);
	wp_buf_puts(&s->says, " while data waited in its socket");
	return found(s, WP_STALL_OFF_CPU, "high");
}

/* Where the packets went, as far as counters tell. */
static void put_where(struct stall *s)
{
	const struct wp_stall_view *v = s->sender, *r = s->receiver;
	const struct {
		const struct wp_stall_view *view;
		struct wp_num n;
		const char *what;
	} drops[] = {
		{ v, v->queue_drops, "dropped by the queue of" },
		{ v, v->tx_dropped, "dropped by" },
		{ r, r ? r->rx_dropped : wp_absent(NULL), "dropped by" },
	};
	const struct wp_stall_line *line = stopped_line(r);
	bool told = false;

	for (size_t i = 0; i < WP_ARRAY_SIZE(drops); i++)
		if (wp_num_or(drops[i].n, 0) > 0) {
			wp_buf_printf(&s->says, "; %.0f were %s %s (%s)", drops[i].n.v,
				      drops[i].what, interface_of(drops[i].view),
				      role_of(i < 2 ? s->sends : s->receives));
			told = true;
		}
	for (int i = 0; i < 2; i++) {
		const struct wp_stall_view *at = i ? r : v;

		if (at && wp_num_or(at->softnet_dropped, 0) > 0) {
			wp_buf_printf(&s->says,
				      "; %.0f were dropped at a CPU's backlog (softnet, %s)",
				      at->softnet_dropped.v, role_of(i ? s->receives : s->sends));
			told = true;
			break; /* softnet is the machine's: both ends may have the same */
		}
	}
	if (!told && r && wp_has(r->rx_packets))
		wp_buf_printf(&s->says, "; %s (%s) took %.0f packets meanwhile", interface_of(r),
			      role_of(s->receives), r->rx_packets.v);
	if (line) {
		wp_buf_puts(&s->says, "; there ");
		put_line(&s->says, line);
	}
}

static bool lost(struct stall *s)
{
	const struct wp_stall_view *v = s->sender;

	if (!v || wp_num_or(v->unacked, 0) <= 0 ||
	    (wp_num_or(v->timeouts, 0) <= 0 && wp_num_or(v->backoff, 0) <= 0))
		return false;
	wp_buf_puts(&s->says, "packets were lost: ");
	if (wp_num_or(v->timeouts, 0) > 0)
		wp_buf_printf(&s->says, "%.0f retransmission timeouts in a row", v->timeouts.v);
	else
		wp_buf_printf(&s->says, "%.0f stayed unacknowledged", v->unacked.v);
	if (wp_num_or(v->rto_us, 0) > wp_num_or(v->rto_before_us, 0)) {
		wp_buf_puts(&s->says, ", the timeout grew from ");
		put_time(&s->says, wp_num_or(v->rto_before_us, 0) / 1e6);
		wp_buf_puts(&s->says, " to ");
		put_time(&s->says, v->rto_us.v / 1e6);
	}
	put_where(s);
	return found(s, WP_STALL_LOST, "high");
}

/* Requests are acknowledged by the other end's kernel, so its program has them. */
static bool no_answer(struct stall *s)
{
	if (!is(s->run->test.kind, "rr") || !s->sender || !wp_has(s->sender->unacked) ||
	    s->sender->unacked.v > 0)
		return false;
	wp_buf_printf(&s->says, "the requests arrived and the %s's program did not answer",
		      role_of(s->receives));
	return found(s, WP_STALL_NO_ANSWER, "medium");
}

static void put_missing(struct stall *s, const char *what)
{
	wp_buf_printf(
		&s->says, "%s%s",
		strstr(wp_buf_text(&s->says), "missing") ? ", " : "; missing to know: ", what);
}

static bool unexplained(struct stall *s)
{
	const struct wp_stall_view *v = s->sender, *any = v ? v : s->receiver;

	wp_buf_puts(&s->says, "no figure explains it");
	if (v && wp_has(v->unacked))
		wp_buf_printf(
			&s->says,
			": %.0f packets were under way, %.0f bytes queued, its window was open",
			v->unacked.v, wp_num_or(v->notsent_bytes, 0));
	if (!any->interface)
		put_missing(s, "the interface and its queue");
	if (v && !wp_has(v->unacked) && is(s->run->test.protocol, "TCP"))
		put_missing(s, "TCP_INFO");
	if (!any->n_lines)
		put_missing(s, "interrupts");
	if (s->run->n_hosts < 2 || (!s->receives && !s->sends))
		put_missing(s, "what the other end saw");
	return found(s, WP_STALL_UNEXPLAINED, "low");
}

/* The first that answers is it. */
static bool (*const causes[])(struct stall *s) = {
	carrier, stopped, vanished, queue, window, off_cpu, lost, no_answer, unexplained,
};

/* ---- both ends' views together ---------------------------------------------------------------- */

struct view {
	const struct wp_stall_view *v;
	size_t host;
	bool taken;
};

static int earlier(const void *a, const void *b)
{
	double x = wp_num_or(((const struct view *)a)->v->start_s, 0);
	double y = wp_num_or(((const struct view *)b)->v->start_s, 0);

	return (x > y) - (x < y);
}

/* The other end's view of the same: opposite role, other host, at the same time. */
static struct view *partner(struct view *views, size_t n, const struct view *of)
{
	for (size_t i = 0; i < n; i++) {
		struct view *o = &views[i];
		double from = wp_num_or(o->v->start_s, 0), to = end_of(o->v), shorter;

		if (o->taken || o->host == of->host || is(o->v->role, of->v->role))
			continue;
		shorter = wp_num_or(o->v->length_s, 0) < wp_num_or(of->v->length_s, 0)
				  ? wp_num_or(o->v->length_s, 0)
				  : wp_num_or(of->v->length_s, 0);
		if (from < wp_num_or(of->v->start_s, 0))
			from = wp_num_or(of->v->start_s, 0);
		if (to > end_of(of->v))
			to = end_of(of->v);
		if (to - from >= SAME_SHARE * shorter)
			return o;
	}
	return NULL;
}

static int judge(struct wp_run *run, const struct view *a, const struct view *b,
		 struct wp_stall *ret)
{
	bool sends = is(a->v->role, "sender");
	const struct view *sender = sends ? a : b, *receiver = sends ? b : a;
	const struct wp_stall_view *told = sender ? sender->v : receiver->v;
	size_t sending = sends ? a->host : 1 - a->host;
	struct stall s = { .run = run,
			   .sender = sender ? sender->v : NULL,
			   .receiver = receiver ? receiver->v : NULL,
			   .sends = sending < run->n_hosts ? &run->hosts[sending] : NULL,
			   .receives = 1 - sending < run->n_hosts ? &run->hosts[1 - sending] : NULL,
			   .start_s = wp_num_or(told->start_s, 0),
			   .end_s = end_of(told),
			   .says = WP_BUF(SENTENCE_BYTES) };

	for (size_t i = 0; i < WP_ARRAY_SIZE(causes) && !causes[i](&s); i++)
		;
	*ret = (struct wp_stall) { .flow = told->flow,
				   .flows = told->flows,
				   .start_s = told->start_s,
				   .length_s = told->length_s,
				   .ended = told->ended,
				   .seen_by = b ? "both" : role_of(&run->hosts[a->host]),
				   .cause = s.cause,
				   .confidence = s.confidence,
				   .says = wp_pool_strdup(&run->pool, wp_buf_text(&s.says)) };
	wp_buf_done(&s.says);
	return ret->says ? 0 : -ENOMEM;
}

int wp_stalls_judge(struct wp_run *run)
{
	struct view views[2 * WP_MAX_STALLS];
	size_t n = 0;
	int r = 0;

	run->stalls = NULL;
	run->n_stalls = 0;
	for (size_t h = 0; h < run->n_hosts; h++)
		for (size_t i = 0; i < run->hosts[h].n_stalls && n < WP_ARRAY_SIZE(views); i++)
			if (!is(run->hosts[h].stalls[i].role, "process"))
				views[n++] = (struct view) { &run->hosts[h].stalls[i], h, false };
	if (!n)
		return 0;
	qsort(views, n, sizeof(views[0]), earlier);
	run->stalls = wp_pool_calloc(&run->pool, WP_MAX_STALLS, sizeof(*run->stalls));
	if (!run->stalls)
		return -ENOMEM;
	for (size_t i = 0; i < n && !r && run->n_stalls < WP_MAX_STALLS; i++) {
		struct view *other;

		if (views[i].taken)
			continue;
		views[i].taken = true;
		other = partner(views, n, &views[i]);
		if (other)
			other->taken = true;
		r = judge(run, &views[i], other, &run->stalls[run->n_stalls]);
		run->n_stalls += !r;
	}
	return r;
}

/* ---- the finding ------------------------------------------------------------------------------ */

/* From the start of the test to its end, as far as rows tell. */
static double test_seconds(const struct wp_run *run)
{
	double last = 0;

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow *f = &run->flows[i];

		if (f->n_intervals && wp_num_or(f->intervals[f->n_intervals - 1].end_s, 0) > last)
			last = f->intervals[f->n_intervals - 1].end_s.v;
	}
	for (size_t i = 0; i < run->n_stalls; i++) {
		double end = wp_num_or(run->stalls[i].start_s, 0) +
			     wp_num_or(run->stalls[i].length_s, 0);

		last = end > last ? end : last;
	}
	return last;
}

/* The view that the verdict was told from, for evidence. */
static const struct wp_stall_view *view_of(const struct wp_run *run, const struct wp_stall *s)
{
	for (size_t h = 0; h < run->n_hosts; h++)
		for (size_t i = 0; i < run->hosts[h].n_stalls; i++) {
			const struct wp_stall_view *v = &run->hosts[h].stalls[i];

			if (!is(v->role, "process") &&
			    wp_num_or(v->start_s, -1) == wp_num_or(s->start_s, -2) &&
			    wp_num_or(v->length_s, -1) == wp_num_or(s->length_s, -2))
				return v;
		}
	return NULL;
}

static void put_evidence(const struct wp_facts *f, const struct wp_stall_view *v,
			 struct wp_finding *ret)
{
	const struct {
		const char *name;
		struct wp_num n;
	} all[] = {
		{ "length_s", v->length_s },
		{ "carrier_down_s", v->carrier_down_s },
		{ "timeouts", v->timeouts },
		{ "rto_us", v->rto_us },
		{ "least_queued_packets", v->least_queued_packets },
		{ "dequeued_packets", v->dequeued_packets },
		{ "snd_wnd_bytes", v->snd_wnd_bytes },
		{ "unacked", v->unacked },
		{ "run_delay_pct", v->run_delay_pct },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(all); i++)
		wp_evidence(f, ret, "stall", WP_SCOPE_STALL_VIEW, all[i].name, all[i].n);
}

static void advise(const struct wp_facts *f, const struct wp_stall *s,
		   const struct wp_stall_view *v, struct wp_finding *ret)
{
	const char *interface = v ? word_of(v->interface, "DEVICE") : "DEVICE";

	if (is(s->cause, WP_STALL_CARRIER))
		wp_advise(f, ret, "look at the link: dmesg; ethtool %s; ip -s link show dev %s",
			  interface, interface);
	else if (is(s->cause, WP_STALL_INTERRUPTS))
		wp_advise(
			f, ret,
			"the driver missed an interrupt: dmesg; ethtool -S %s; watch /proc/interrupts while it stands still",
			interface);
	else if (is(s->cause, WP_STALL_QUEUE))
		wp_advise(f, ret, "look at the queue: tc -s qdisc show dev %s; ethtool -S %s",
			  interface, interface);
	else if (is(s->cause, WP_STALL_LOST))
		wp_advise(
			f, ret,
			"see where packets are dropped, on both ends: tc -s qdisc; ip -s link; nstat");
	else if (is(s->cause, WP_STALL_UNEXPLAINED))
		wp_advise(f, ret, "look at hosts[].stalls of the record: whyperf report RUN -J");
}

bool wp_stalls_finding(struct wp_run *run, struct wp_finding *ret)
{
	const struct wp_facts f = { .run = run, .pool = &run->pool };
	const struct wp_stall *longest = NULL;
	const struct wp_stall_view *v;
	double sum = 0, seconds = test_seconds(run);
	char length[32], all[32], more[96] = "";

	for (size_t i = 0; i < run->n_stalls; i++) {
		const struct wp_stall *s = &run->stalls[i];

		sum += wp_num_or(s->length_s, 0);
		if (!longest || wp_num_or(s->length_s, 0) > wp_num_or(longest->length_s, 0))
			longest = s;
	}
	if (!longest)
		return false;
	*ret = (struct wp_finding) { .rule = WP_RULE_STALLED };
	v = view_of(run, longest);
	if (v)
		put_evidence(&f, v, ret);
	advise(&f, longest, v, ret);
	wp_format_ns(wp_num_or(longest->length_s, 0) * 1e9, length, sizeof(length));
	wp_format_ns(sum * 1e9, all, sizeof(all));
	if (run->n_stalls > 1)
		snprintf(more, sizeof(more), "; with %zu more such stalls %s in all",
			 run->n_stalls - 1, all);
	wp_find(&f, ret, seconds > 0 ? 100 * sum / seconds : 0, longest->confidence,
		"nothing got through for %s from second %.2f on: %s%s", length,
		wp_num_or(longest->start_s, 0), longest->says, more);
	return ret->says != NULL;
}
