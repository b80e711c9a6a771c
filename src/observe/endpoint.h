/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endpoint.h - one end of a run: the load, the flows' interval rows and the kernel's counters,
 * together. The client (run/) and each server session (peer/) use the same code, so both ends'
 * figures mean the same.
 *
 *	wp_end_new(&spec, &end, &err);            load threads wait, samplers are open, "before" is
 * read wp_end_go(end); while ((r = wp_end_wait(end, fds, n)) > 0)  bit i of r: fds[i] is readable
 *		...;
 *	wp_end_finish(end, grace_ns);             stop, drain, "after" is read
 *	wp_end_result(end, host, flows, pool);
 *	wp_end_free(end);
 *
 * Sender: bytes handed to the kernel. Receiver: bytes taken from it. The measured window is [omit,
 * omit+duration) of the sender's clock; the receiver's last row includes the tail that was on its
 * way.
 */
#ifndef WP_OBSERVE_ENDPOINT_H
#define WP_OBSERVE_ENDPOINT_H

#include "load/load.h"
#include "model/record.h"

struct wp_end;

/* One tick, for the live display and --json-stream: `rows[i]` belongs to flow i (all with equal
 * bounds). */
struct wp_end_tick {
	const struct wp_interval *rows;
	size_t n_rows;
	const struct wp_cpu_sample *cpus; /* this host's CPUs over the newest sample */
	size_t n_cpus;
};

struct wp_end_spec {
	const struct wp_plan *plan;
	const struct wp_engine *engine;
	const struct wp_cpulist *cpus;        /* this end's */
	const struct wp_stream_spec *streams; /* flow i is streams[i] */
	size_t n_streams;
	bool record_cpus; /* false: the other end on the same machine records them (in the same
			     process tree) */
	void (*on_tick)(void *arg,
			const struct wp_end_tick
				*tick); /* called by the thread in wp_end_wait(); may be NULL */
	void *arg;
};

int wp_end_new(const struct wp_end_spec *spec, struct wp_end **ret, struct wp_err *err) WP_MUST_USE;
int wp_end_go(struct wp_end *end) WP_MUST_USE;
/* Takes interval rows until this end's part is over (duration, limit or end of stream: returns 0)
 * or one of the `n` <= 4 fds is readable (returns a bit mask > 0). -EINTR after a signal. Call
 * again to go on. */
int wp_end_wait(struct wp_end *end, const int *fds, size_t n);
/* Stops senders, lets receivers drain for at most `grace_ns`, takes the last partial row. 0 or
 * -ETIMEDOUT. */
int wp_end_finish(struct wp_end *end, int64_t grace_ns);
/* Interval rows that are kept of each of so many flows, at most WP_MAX_FLOWS; when there are more, neighbours are folded.
 * A server's result with all of them fits into one message (peer/limits.h). At least 16. */
size_t wp_end_rows_per_flow(size_t n_flows);
/* Tells senders to stop now (Ctrl-C); wp_end_wait() then ends soon. */
void wp_end_stop(struct wp_end *end);
/* Fills host->{cpus, cpu_samples, threads, counts, placement, cost...} and for flow i
 * flows[i].intervals and .sent or .received (by the stream's role), congestion, buffers, TCP_INFO
 * shares. Arrays go to `pool`. */
int wp_end_result(struct wp_end *end, struct wp_host *host, struct wp_flow *flows,
		  struct wp_pool *pool) WP_MUST_USE;
/* UDP: reads the counters of the packets' way once more into host->path_counts. Once the other end has its results too,
 * what was on its way has been counted somewhere. */
int wp_end_recount(struct wp_end *end, struct wp_host *host, struct wp_pool *pool) WP_MUST_USE;
/* "same CPU", "SMT sibling", "same last-level cache", "same node", "other node"; NULL where the kernel describes no
 * topology. Takes about 10 ms. */
const char *wp_cpu_distance(int a, int b);
/* Whether it goes on, from the load's counters: what has come from the other end (bytes received, transactions completed),
 * and what moved in either direction. Changes count, not the figures. */
uint64_t wp_end_heard(const struct wp_end *end);
uint64_t wp_end_moved(const struct wp_end *end);
/* What ended a stream: the first negative errno there is; 0. */
int wp_end_error(const struct wp_end *end);
/* No stream sends any more (wp_load_senders_done()). */
bool wp_end_senders_done(const struct wp_end *end);
/* What the load really used (wp_load_method()). */
const char *wp_end_method(const struct wp_end *end, enum wp_stream_role role);
void wp_end_free(struct wp_end *end);

#endif
