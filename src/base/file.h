/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h - whole small files, relative to a directory fd (so that a recorded /proc tree of another machine is
 * read by the same code as the live one).
 */
#ifndef WP_BASE_FILE_H
#define WP_BASE_FILE_H

#include "base/buf.h"

/* Appends the whole of `path` under `dirfd` to `out` (which carries the limit). 0 or -errno; -E2BIG beyond; after
 * a failure `out` holds what it held before. */
int wp_read_file_at(int dirfd, const char *path, struct wp_buf *out) WP_MUST_USE;
/* Reads a kept-open procfs fd again from offset 0 into `out`, which is reset first. Regrows and re-reads from 0
 * on a short buffer: procfs text must come from one read(2) to be consistent. */
int wp_reread_fd(int fd, struct wp_buf *out) WP_MUST_USE;
/* The first line without its newline; -ENODATA for an empty file, -E2BIG for a line of `size` bytes
 * or more. */
int wp_read_line_at(int dirfd, const char *path, char *out, size_t size) WP_MUST_USE;
/* Writes `text` to an existing file (sysfs, procfs, sysctl) in one write(2), as the kernel wants it. */
int wp_write_file_at(int dirfd, const char *path, const char *text) WP_MUST_USE;
/* Replaces `path` by a temporary file beside it, fsync(2) and rename(2): readers see the old text or the new.
 * Mode 0600. */
int wp_replace_file_at(int dirfd, const char *path, const char *text) WP_MUST_USE;
/* write(2) until all is out. */
int wp_write_all(int fd, const void *data, size_t len) WP_MUST_USE;
/* mkdir -p, mode 0700. */
int wp_mkdir_p(const char *path) WP_MUST_USE;

#endif
