/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testroot.h - for tests only: the recorded trees of tests/roots, and inputs that end at an
 * unmapped page, so that a parser that looks one byte too far is caught without a sanitizer.
 */
#ifndef WP_SYS_TESTROOT_H
#define WP_SYS_TESTROOT_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"

/* A directory fd of tests/roots/NAME; the caller closes it. */
static inline int wp_test_root(const char *name)
{
	const char *source = getenv("WP_SOURCE_ROOT");
	char path[4096];
	int fd;

	if (!source)
		fail_msg("WP_SOURCE_ROOT is not set; run the tests through meson test");
	snprintf(path, sizeof(path), "%s/tests/roots/%s", source, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("cannot open %s", path);
	return fd;
}

/* The text of one file of a recorded tree; free with wp_buf_done(). */
static inline struct wp_buf wp_test_file(const char *root, const char *path)
{
	struct wp_buf b = WP_BUF(16u << 20);
	int fd = wp_test_root(root);
	int r = wp_read_file_at(fd, path, &b);

	close(fd);
	if (r < 0)
		fail_msg("cannot read %s of %s", path, root);
	return b;
}

/* Calls `parse` with every prefix of the text (the first `max` bytes), each ending at an unmapped
 * page. */
static inline void wp_test_truncations(const char *text, size_t len, size_t max,
				       void (*parse)(const char *data, size_t len))
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (len / page + 1) * page;
	char *map =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + size, page, PROT_NONE), 0);
	for (size_t cut = 0; cut <= len && cut <= max; cut++) {
		char *at = map + size - cut;

		memcpy(at, text, cut);
		parse(at, cut);
	}
	munmap(map, size + page);
}

#endif
