/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procfile.h - a file of procfs that is opened once and read again and again at offset 0, each time
 * with one read(2) so that its text belongs together, stamped with the time right after the read.
 *
 * Differences of two readings are to be divided by the difference of their own stamps. A kept fd of
 * /proc/net/... goes on reading the network namespace in which it was opened, whatever namespace
 * its reader is in.
 *
 * The caller owns the struct and frees with wp_procfile_done(). A file that is missing stays
 * unusable with `status` saying why; that is no error of open.
 */
#ifndef WP_SYS_PROCFILE_H
#define WP_SYS_PROCFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Above the text of /proc/interrupts with 8,192 CPUs and some thousand interrupts in use. */
#define WP_PROCFILE_MAX (256u << 20)

struct wp_procfile {
	int fd;             /* owned; -1 when it could not be opened */
	int status;         /* 0, or -errno of the open or of the last read */
	bool fuse;          /* served by a user-space file system (lxcfs): not the kernel's word */
	struct wp_buf text; /* what the last read gave */
	int64_t read_ns;    /* CLOCK_MONOTONIC right after the last read */
	int64_t cost_ns;    /* wall time of the last read */
};

/* Opens `path` relative to `root`; returns f->status. */
int wp_procfile_open(struct wp_procfile *f, int root, const char *path);
/* The same for a file of this thread's network namespace ("snmp"): proc/thread-self/net/NAME, or
 * proc/net/NAME in a recorded tree and on kernels before 3.17, where thread-self does not exist. */
int wp_procfile_open_net(struct wp_procfile *f, int root, const char *name);
/* Reads it whole; returns f->status. */
int wp_procfile_read(struct wp_procfile *f);
void wp_procfile_done(struct wp_procfile *f);

#endif
