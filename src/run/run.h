/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h - one measured run, from the plan to the record: connect, place, load and observe, collect both ends.
 *
 * The record is complete in itself but for findings (explain/) and id-based storage (store/). Also a run that failed
 * or was interrupted leaves a record, with what was measured so far, `error` and `exit_status`.
 */
#ifndef WP_RUN_RUN_H
#define WP_RUN_RUN_H

#include "load/engine.h"
#include "model/plan.h"
#include "model/record.h"
#include "observe/endpoint.h"
#include "peer/peer.h"
#include "run/venue.h"

struct wp_run_config {
	const struct wp_plan *plan;
	const struct wp_engine *engine;
	const struct wp_peer_ops *peer;
	struct wp_peer_session
		*session; /* of that peer, made by the caller and moved in; NULL = connect */
	struct wp_venue *venue;
	const char *key_file;
	int64_t timeout_ns;         /* for connecting and each answer of the peer */
	int cancel_fd;              /* readable = end early, keep what was measured; -1 = none */
	const char *const *command; /* argv for the record */
	size_t n_command;
	/* Called once everything is connected: test{}, hosts[0] and the flows' addresses are filled. May be NULL. */
	void (*on_start)(void *arg, const struct wp_run *run);
	void (*on_tick)(void *arg, const struct wp_end_tick *tick);
	/* This end's part of the load is over, or will never begin; what follows is collecting. May be NULL. */
	void (*on_load_over)(void *arg);
	void *arg;
};

/* Fills `run` (initialised by the call; free with wp_run_done() whatever the result). 0, or a negative errno with a
 * sentence, which is in run->error too; -EINTR when cancelled. */
int wp_run_execute(const struct wp_run_config *config, struct wp_run *run,
		   struct wp_err *err) WP_MUST_USE;
/* The record of a run that did not get so far as that; free with wp_run_done(). */
void wp_run_not_started(const struct wp_run_config *config, struct wp_run *run,
			const struct wp_err *why);

#endif
