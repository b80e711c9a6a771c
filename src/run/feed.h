/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feed.h - a command whose standard input is a pipe that we write: `whyperf write --to 'COMMAND'`.
 *
 * It runs under /bin/sh in a process group of its own, so that a terminal's Ctrl-C reaches us alone and nothing of it
 * outlives us: wp_feed_end() closes its input, waits for it, asks (SIGTERM) and then kills the whole group, and reaps it;
 * if we are killed, the kernel kills the shell. What it prints on stdout goes to our stderr.
 *
 * Call wp_feed_start() from the thread that lives as long as the program.
 */
#ifndef WP_RUN_FEED_H
#define WP_RUN_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct wp_feed {
	pid_t pid; /* 0 = none, or reaped */
	int fd;    /* owned: to write to, not blocking; -1 = closed */
	bool ended;
	int status;     /* exit status, 128 + signal; when `ended` */
	bool forced;    /* it had to be told to end */
	int64_t end_ns; /* how long it went on after the end of its input */
};

int wp_feed_start(const char *command, uint64_t pipe_bytes, struct wp_feed *ret,
		  struct wp_err *err) WP_MUST_USE;
/* Closes its input and waits at most grace_ns for its end, then forces it. `cancel_fd` readable cuts the wait short; -1. */
void wp_feed_end(struct wp_feed *f, int64_t grace_ns, int cancel_fd);
/* "it ended with status 3", "signal 9 ended it", "it runs" into `out`. */
void wp_feed_say(const struct wp_feed *f, char *out, size_t size);
/* It has ended by itself, within at most `wait_ns` from now: then the rest of its group is gone as well. */
bool wp_feed_ended(struct wp_feed *f, int64_t wait_ns);

#endif
