/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pipe_taker.h - the process that reads the other end of what is written: of a pipe or fifo the one that holds it open
 * for reading, of a unix socket the one that the kernel names. It may be looked for only where permitted: other users'
 * processes need root.
 *
 * Where several hold it (a shell and the command that it waits for), it is the one that is nobody's parent among them.
 */
#ifndef WP_OBSERVE_PIPE_TAKER_H
#define WP_OBSERVE_PIPE_TAKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct wp_pipe_taker {
	int pid; /* 0 = not found */
	char name[16];
};

struct wp_taker_state {
	int64_t seen_ns;          /* CLOCK_MONOTONIC */
	char state;               /* '?' = it has ended */
	int64_t run_ns, delay_ns; /* of its first thread; -1 = not known */
	char waited_in[32];       /* kernel function; "" = it runs, or not readable */
};

/* Of the file `fd`. Reads the descriptors of all processes: some ms. -ENOENT when nobody (visible) holds it, -ENOTSUP
 * for what has no other end. */
int wp_pipe_taker_find(int fd, struct wp_pipe_taker *ret) WP_MUST_USE;
void wp_pipe_taker_state(const struct wp_pipe_taker *t, struct wp_taker_state *ret);

/* What /proc/PID/wchan says: a name, or "" for "0" and what is no name. `size` at least 1. */
void wp_wchan_text(const char *text, size_t len, char *out, size_t size);

#endif
