/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * self_use.h - what this process holds: memory, files, threads. For runs that last for days.
 *
 * Sources: /proc/self/statm (proc(5): the second number is resident pages), the entries of /proc/self/fd and
 * /proc/self/task. With 10,000 files a reading takes some milliseconds: not for hot paths.
 */
#ifndef WP_SYS_SELF_USE_H
#define WP_SYS_SELF_USE_H

#include <stdint.h>

#include "base/err.h"

struct wp_self_use {
	uint64_t rss_bytes;
	unsigned fds, threads;
};

/* `root` is an fd of "/" or of a recorded tree. Negative errno; -EBADMSG when a file is not as expected. */
int wp_self_use_read(int root, struct wp_self_use *ret) WP_MUST_USE;

#endif
