/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target.h - what `whyperf write` writes to: a path of any kind, or stdout, opened so that nothing is lost by mistake.
 *
 * A regular file is made anew; one that is there is left alone unless `overwrite`. Block devices, and character devices
 * other than the memory ones and terminals, need `any_device`: what is on them is destroyed. What may make the writer
 * wait (pipes, fifos, terminals) is opened so that it does not block; for a fifo and a socket somebody has to be there at
 * the other end within the timeout.
 */
#ifndef WP_RUN_TARGET_H
#define WP_RUN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum wp_target_kind {
	WP_TARGET_NULL,   /* /dev/null */
	WP_TARGET_DEVICE, /* another character device */
	WP_TARGET_FILE,
	WP_TARGET_PIPE, /* and fifos */
	WP_TARGET_SOCKET,
	WP_TARGET_TERMINAL,
	WP_TARGET_BLOCK,
};

struct wp_target_config {
	const char *path; /* "-" = stdout */
	bool overwrite;   /* a regular file that is there: its content is lost */
	bool direct;      /* O_DIRECT */
	bool o_sync;      /* O_SYNC */
	bool any_device;
	bool syncs;            /* fsync(2) will be called */
	uint64_t length_bytes; /* of a write */
	uint64_t buffer_bytes; /* of a pipe or socket; 0 = as it is */
	int64_t timeout_ns;    /* for somebody at the other end */
	int cancel_fd;         /* readable = give up; -1 */
};

struct wp_target {
	int fd; /* owned */
	enum wp_target_kind kind;
	bool created; /* by us */
	int flags;    /* of stdout before, to be put back by _close(); -1 = as they are */
};

/* -EINVAL where options and kind don't go together, -EEXIST, -EISDIR and the like, -ETIMEDOUT, -EINTR; a sentence. */
int wp_target_open(const struct wp_target_config *config, struct wp_target *ret,
		   struct wp_err *err) WP_MUST_USE;
/* Bytes that a pipe holds; 0 for anything else. */
uint64_t wp_target_pipe_bytes(const struct wp_target *t);
void wp_target_close(struct wp_target *t);
const char *wp_target_kind_name(enum wp_target_kind kind); /* "null device", "file", ... */

#endif
