/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testpair.h - for tests only: two recorded trees as two snapshots of one machine, a given time apart.
 */
#ifndef WP_OBSERVE_TESTPAIR_H
#define WP_OBSERVE_TESTPAIR_H

#include "sys/testroot.h"

#include "base/clock.h"
#include "observe/snapshot.h"

struct wp_test_pair {
	struct wp_snapshot before, after;
};

static inline void wp_test_snapshot(const char *root, int64_t at_ns, struct wp_snapshot *snap)
{
	struct wp_sources src = { 0 };
	int fd = wp_test_root(root);

	assert_int_equal(wp_sources_open(&src, fd, WP_SOURCES_ALL, NULL), 0);
	close(fd);
	wp_sources_read(&src, snap);
	wp_sources_done(&src);
	for (size_t i = 0; i < WP_SOURCES; i++)
		snap->read_ns[i] = at_ns;
}

static inline void wp_test_pair(const char *before, const char *after, double seconds,
				struct wp_test_pair *p)
{
	*p = (struct wp_test_pair) { 0 };
	wp_test_snapshot(before, WP_NS_PER_S, &p->before);
	wp_test_snapshot(after, WP_NS_PER_S + (int64_t)(seconds * 1e9), &p->after);
}

static inline void wp_test_pair_done(struct wp_test_pair *p)
{
	wp_snapshot_done(&p->before);
	wp_snapshot_done(&p->after);
}

#endif
