/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first lines: what was run, between whom, and with which settings. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define SENTENCE_BYTES 4096

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static bool on(struct wp_num n)
{
	return wp_num_or(n, 0) > 0;
}

static const char *kind_title(const struct wp_test *t)
{
	static const struct {
		const char *kind, *title;
	} titles[] = {
		{ "tcp", "TCP bulk" },        { "udp", "UDP datagrams" },
		{ "rr", "request/response" }, { "gen", "packet generator" },
		{ "sink", "packet sink" },    { "write", "write" },
	};

	if (is(t->kind, "rr") && t->protocol)
		return is(t->protocol, "UDP") ? "UDP request/response" : "TCP request/response";
	for (size_t i = 0; i < WP_ARRAY_SIZE(titles); i++)
		if (is(t->kind, titles[i].kind))
			return titles[i].title;
	return t->kind ? t->kind : "run";
}

/* "10.97.0.1:43210" without its port, where there are many streams; "[::1]:5" keeps its brackets. */
static int host_length(const char *address)
{
	const char *colon = address ? strrchr(address, ':') : NULL;

	return colon ? (int)(colon - address) : address ? (int)strlen(address) : 0;
}

static void put_path(struct wp_buf *b, const struct wp_run *run)
{
	const struct wp_flow *f = run->n_flows ? &run->flows[0] : NULL;
	bool many = run->n_flows > 1 || (f && wp_num_or(f->connections, 1) > 1) ||
		    on(run->test.connect);
	const char *arrow = is(run->test.direction, "reverse")                            ? "<-"
			    : is(run->test.direction, "both") || is(run->test.kind, "rr") ? "<->"
											  : "->";

	if (!f || !f->local || !f->remote) {
		if (run->test.target)
			wp_buf_printf(b, "  %s", run->test.target);
		return;
	}
	wp_buf_printf(b, "  %.*s %s %s", many ? host_length(f->local) : (int)strlen(f->local),
		      f->local, arrow, f->remote);
}

void wp_doc_put_size(struct wp_buf *b, double bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	char text[48];
	size_t i = 0;

	/* "1,400 bytes", not "1.367 KiB". */
	if (bytes >= 0 && bytes < 10240 && fmod(bytes, 1024) != 0) {
		wp_format_count((uint64_t)bytes, text, sizeof(text));
		wp_buf_printf(b, "%s byte%s", text, bytes == 1 ? "" : "s");
		return;
	}

	while (bytes >= 1024 && i + 1 < WP_ARRAY_SIZE(units)) {
		bytes /= 1024;
		i++;
	}
	wp_buf_printf(b, "%.4g %s", bytes, units[i]);
}

static void put_count(struct wp_buf *b, double v)
{
	char text[48];

	wp_doc_format(WP_DOC_COUNT, 0, 0, v, text, sizeof(text));
	wp_buf_puts(b, text);
}

/* What the sender uses; before the first results what it was told or what its kernel prefers. */
static const char *congestion_of(const struct wp_run *run)
{
	if (is(run->test.protocol, "UDP") || is(run->test.kind, "write"))
		return NULL;
	if (run->n_flows && run->flows[0].congestion)
		return run->flows[0].congestion;
	if (run->test.congestion)
		return run->test.congestion;
	return is(run->test.direction, "reverse") ? NULL
						  : run->hosts[0].inventory.congestion_default;
}

/* "  4 streams each way, 10 s after 1 s of warm-up" */
static void put_extent(struct wp_buf *b, const struct wp_test *t)
{
	const char *what = is(t->kind, "rr") ? "connection" : "stream", *comma = ", ";

	if (is(t->kind, "rr") && is(t->protocol, "UDP"))
		what = "socket";
	if (is(t->kind, "write"))
		comma = "  ";
	else if (wp_has(t->streams))
		wp_buf_printf(b, "  %.0f %s%s%s", t->streams.v, what, t->streams.v == 1 ? "" : "s",
			      is(t->direction, "both") ? " each way" : "");
	if (is(t->kind, "rr") && on(t->limit_transactions)) {
		wp_buf_puts(b, ", ");
		put_count(b, t->limit_transactions.v);
		wp_buf_puts(b, " transactions");
	} else if (on(t->limit_bytes)) {
		wp_buf_puts(b, comma);
		wp_doc_put_size(b, t->limit_bytes.v);
	}
	if (on(t->duration_s))
		wp_buf_printf(b, "%s%.6g s", on(t->limit_bytes) ? " or " : comma, t->duration_s.v);
	if (on(t->omit_s))
		wp_buf_printf(b, " after %.6g s of warm-up", t->omit_s.v);
}

static void put_tcp(struct wp_buf *b, const struct wp_test *t)
{
	char text[64];

	if (wp_has(t->length_bytes)) {
		wp_buf_puts(b, ", ");
		wp_doc_put_size(b, t->length_bytes.v);
		wp_buf_puts(b, " writes");
	}
	if (on(t->target_bps)) {
		wp_format_bps(t->target_bps.v, text, sizeof(text));
		wp_buf_printf(b, ", paced at %s%s", text,
			      wp_num_or(t->streams, 1) > 1 ? " each" : "");
	}
}

/* "64 bytes a packet, paced at 36,000 packets/s (18.4 Mbits/sec) each, GSO" */
static void put_udp(struct wp_buf *b, const struct wp_test *t)
{
	char text[64];

	if (wp_has(t->length_bytes)) {
		wp_buf_puts(b, ", ");
		wp_doc_put_size(b, t->length_bytes.v);
		wp_buf_puts(b, " a packet");
	}
	if (on(t->target_bps)) {
		wp_format_bps(t->target_bps.v, text, sizeof(text));
		wp_buf_printf(b, ", paced at %s", text);
		if (on(t->target_pps)) {
			wp_buf_puts(b, " (");
			if (t->target_pps.v < 100)
				wp_buf_printf(b, "%.3g", t->target_pps.v);
			else
				put_count(b, t->target_pps.v);
			wp_buf_puts(b, " packets/s)");
		}
		wp_buf_puts(b, wp_num_or(t->streams, 1) > 1 ? " each" : "");
	} else {
		wp_buf_puts(b, ", flat out");
	}
	if (on(t->gso) || on(t->gro))
		wp_buf_printf(b, ", %s%s%s", on(t->gso) ? "GSO" : "",
			      on(t->gso) && on(t->gro) ? " and " : "", on(t->gro) ? "GRO" : "");
	if (on(t->batch))
		wp_buf_printf(b, ", %.0f a call", t->batch.v);
	if (wp_num_or(t->connected, 1) == 0)
		wp_buf_puts(b, ", unconnected");
	if (on(t->spin))
		wp_buf_puts(b, ", spinning");
}

/* "64 bytes there, 1 KiB back, a connection each, 8 under way, 20,000/s due (poisson), waiting by spin" */
static void put_rr(struct wp_buf *b, const struct wp_test *t)
{
	if (wp_has(t->request_bytes) && wp_has(t->response_bytes)) {
		wp_buf_puts(b, ", ");
		wp_doc_put_size(b, t->request_bytes.v);
		wp_buf_puts(b, " there, ");
		wp_doc_put_size(b, t->response_bytes.v);
		wp_buf_puts(b, " back");
	}
	if (on(t->connect))
		wp_buf_puts(b, ", a connection each time");
	if (wp_num_or(t->outstanding, 1) > 1)
		wp_buf_printf(b, ", %.0f under way", t->outstanding.v);
	if (on(t->rate_hz)) {
		wp_buf_puts(b, ", ");
		if (t->rate_hz.v < 100)
			wp_buf_printf(b, "%.3g", t->rate_hz.v);
		else
			put_count(b, t->rate_hz.v);
		wp_buf_printf(b, "/s due%s", is(t->arrivals, "poisson") ? " at random" : "");
	}
}

/* "64 KiB writes, fsync at the end, O_DIRECT, pipe of 64 KiB" */
static void put_write(struct wp_buf *b, const struct wp_test *t)
{
	put_tcp(b, t);
	if (t->fill && !is(t->fill, "zero"))
		wp_buf_printf(b, ", %s", t->fill);
	if (is(t->fsync_policy, "bytes")) {
		wp_buf_puts(b, ", fsync each ");
		wp_doc_put_size(b, wp_num_or(t->fsync_bytes, 0));
	} else if (t->fsync_policy && !is(t->fsync_policy, "never")) {
		wp_buf_printf(b, ", fsync %s",
			      is(t->fsync_policy, "end") ? "at the end" : "after each");
	}
	if (on(t->direct) || on(t->o_sync))
		wp_buf_printf(b, ", %s%s%s", on(t->direct) ? "O_DIRECT" : "",
			      on(t->direct) && on(t->o_sync) ? " and " : "",
			      on(t->o_sync) ? "O_SYNC" : "");
	if (on(t->pipe_bytes)) {
		wp_buf_puts(b, ", pipe of ");
		wp_doc_put_size(b, t->pipe_bytes.v);
	}
}

static void put_sockets(struct wp_buf *b, const struct wp_run *run)
{
	const struct wp_test *t = &run->test;
	const char *congestion = congestion_of(run);

	if (on(t->busy_poll_us))
		wp_buf_printf(b, ", busy polling %.0f us", t->busy_poll_us.v);
	if (on(t->window_bytes)) {
		wp_buf_printf(b, ", %s ", is(t->kind, "tcp") ? "window" : "buffers of");
		wp_doc_put_size(b, t->window_bytes.v);
	}
	if (on(t->mss_bytes))
		wp_buf_printf(b, ", MSS %.0f", t->mss_bytes.v);
	if (on(t->nodelay))
		wp_buf_puts(b, ", no delay");
	if (is(t->kind, "tcp") && t->send_method && !is(t->send_method, "write"))
		wp_buf_printf(b, ", sent by %s", t->send_method);
	if (is(t->kind, "tcp") && t->receive_method && !is(t->receive_method, "read"))
		wp_buf_printf(b, ", received by %s", t->receive_method);
	if (congestion)
		wp_buf_printf(b, ", %s", congestion);
	if (t->peer && !is(t->peer, "whyperf") && !is(t->peer, "none"))
		wp_buf_printf(b, ", peer %s", t->peer);
}

void wp_run_doc_heading(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	wp_buf_printf(&b, "whyperf %s  %s", run->version ? run->version : "",
		      kind_title(&run->test));
	put_path(&b, run);
	put_extent(&b, &run->test);
	if (is(run->test.kind, "udp"))
		put_udp(&b, &run->test);
	else if (is(run->test.kind, "rr"))
		put_rr(&b, &run->test);
	else if (is(run->test.kind, "write"))
		put_write(&b, &run->test);
	else
		put_tcp(&b, &run->test);
	put_sockets(&b, run);
	wp_doc_heading(doc, "%s", wp_buf_text(&b));
}
