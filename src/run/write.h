/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write.h - a run without another end: one writer, one file or command (`whyperf write`). It is a session of a peer called
 * "none" for wp_run_execute(), so that rows, CPUs, samples and the record come from the same code as ever.
 *
 *	wp_write_open(&config, &session, &err);      opens the path or starts the command
 *	run_config.peer = &wp_peer_none;
 *	run_config.session = session;                moved in; wp_run_execute() closes it
 *
 * The record's flows[0] has the path as `local`, of a command also how it ended. A file that was made and holds nothing,
 * or that `remove` is set for, is removed with the session.
 */
#ifndef WP_RUN_WRITE_H
#define WP_RUN_WRITE_H

#include "peer/peer.h"
#include "run/target.h"

struct wp_write_config {
	struct wp_target_config target; /* path: NULL with a command */
	const char *command;            /* NULL = a path */
	int64_t grace_ns;               /* for the command, after the end of its input */
	bool remove;                    /* a file that was made */
	uint64_t limit_bytes;           /* to write; 0 = no limit */
};

extern const struct wp_peer_ops wp_peer_none;

/* Strings are borrowed for the life of the session. */
int wp_write_open(const struct wp_write_config *config, struct wp_peer_session **ret,
		  struct wp_err *err) WP_MUST_USE;
/* For who opened a session and does not run it. */
void wp_write_close(struct wp_peer_session *s);

#endif
