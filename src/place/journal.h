/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - leave the machine as found, even after kill -9.
 *
 * Before anything of the machine is changed, how to undo it is written to a file and fsynced. A run that ends in an
 * orderly way undoes its changes and removes the file; what a killed one left is undone by the next start
 * (wp_journal_replay()), which cli/ calls first.
 *
 *	struct wp_journal j = WP_JOURNAL(dir);
 *	r = wp_journal_change(&j, "/proc/irq/38/smp_affinity_list", "1", NULL, err);	// one setting, the whole dance
 *	r = wp_journal_add(&j, WP_JOURNAL_UNLINK, "/run/netns/whyperf-x-a", &id, err);	// or: record first,
 *	...create the file...								// then do it
 *	r = wp_journal_undo_all(&j, err);	// in reverse order
 *	wp_journal_done(&j);
 *
 * One directory a user (0700; cli/ chooses /run/whyperf/journal or $XDG_RUNTIME_DIR/whyperf/journal), one file a
 * process named PID-STARTTIME (field 22 of /proc/PID/stat), held under a POSIX record lock while the process lives.
 * The file is made by the first entry: a run that changes nothing leaves no trace. The directory is locked by flock(2)
 * while a file is made and during a replay, so that concurrent starters take turns.
 *
 * A value is restored only if the setting still has the value that we gave it; what somebody else changed meanwhile is
 * left alone. Only paths in an allow-list are ever touched (journal_text.h). Entries of an earlier boot and settings
 * of another network namespace are not applied.
 *
 * struct wp_journal belongs to the caller, one thread at a time; dir and root are borrowed. Not inherited by fork():
 * only the process that made it may use it.
 */
#ifndef WP_PLACE_JOURNAL_H
#define WP_PLACE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "place/journal_text.h"

struct wp_journal {
	const char *dir;  /* borrowed */
	const char *root; /* borrowed; put before every path of an entry; "" outside of tests */
	int fd;           /* owned; -1 until the first entry */
	int dirfd;        /* owned; -1 until the first entry */
	char file[48];
	uint32_t last_id;
	struct wp_journal_entry
		*v; /* owned, with their strings: what has not been undone or forgotten */
	size_t n, cap;
};

#define WP_JOURNAL(dir_) ((struct wp_journal) { .dir = (dir_), .root = "", .fd = -1, .dirfd = -1 })

/* Records, durably, that `path` is to be unmounted, unlinked or removed. Do it after this has returned 0. */
int wp_journal_add(struct wp_journal *j, enum wp_journal_verb verb, const char *path,
		   uint32_t *ret_id, struct wp_err *err) WP_MUST_USE;
struct wp_journal_step {
	enum wp_journal_verb verb; /* not WP_JOURNAL_WRITE */
	const char *path;
};

/* Records 1 to 16 of them at once: a kill leaves all of them or none. */
int wp_journal_add_all(struct wp_journal *j, const struct wp_journal_step *steps, size_t n,
		       struct wp_err *err) WP_MUST_USE;
/* Records that the setting at `path` is about to become `set` and was `restore`. */
int wp_journal_add_write(struct wp_journal *j, const char *path, const char *set,
			 const char *restore, uint32_t *ret_id, struct wp_err *err) WP_MUST_USE;

/* Sets one sysfs or procfs value: reads the old one, records it, writes `value`, reads back what the kernel made of it
 * ("2" may read back as "00000002") and records that. Nothing is recorded when the value is there already; *ret_id
 * (may be NULL) is 0 then. */
int wp_journal_change(struct wp_journal *j, const char *path, const char *value, uint32_t *ret_id,
		      struct wp_err *err) WP_MUST_USE;

/* Undoes one entry, or all in reverse order, and forgets what was undone. undo_all goes on after a failure and returns
 * the first one; what failed stays recorded. */
int wp_journal_undo(struct wp_journal *j, uint32_t id, struct wp_err *err) WP_MUST_USE;
int wp_journal_undo_all(struct wp_journal *j, struct wp_err *err) WP_MUST_USE;
/* The change became permanent on purpose (or was undone by other means). forget_all is atomic: the file goes. */
int wp_journal_forget(struct wp_journal *j, uint32_t id, struct wp_err *err) WP_MUST_USE;
int wp_journal_forget_all(struct wp_journal *j, struct wp_err *err) WP_MUST_USE;

/* Frees. Entries that are neither undone nor forgotten stay on disk for the next start. */
void wp_journal_done(struct wp_journal *j);
#define _cleanup_journal_ __attribute__((cleanup(wp_journal_done)))

struct wp_journal_report {
	unsigned runs;   /* killed runs whose journals were found */
	unsigned undone; /* changes that were undone now */
	unsigned left;   /* settings that somebody else has changed since, left alone */
	unsigned bad;    /* files or lines that make no sense or name a forbidden path, skipped */
	unsigned
		kept; /* changes that could not be undone now (missing right, other namespace), tried again next time */
};

/* Undoes what processes that no longer exist left in `dir`. `say` (may be NULL) gets one sentence for each thing that a
 * person should know. 0 also when there is nothing; -ENOENT is not an error. -EPERM when the directory can be written
 * by others. `root` as in struct wp_journal. */
int wp_journal_replay(const char *dir, const char *root,
		      void (*say)(void *ctx, const char *sentence), void *ctx,
		      struct wp_journal_report *ret, struct wp_err *err) WP_MUST_USE;

/* Opens the journal's directory, which is made if `create`, checks its owner and mode, and locks it (released by
 * closing). Waits up to 5 s: -ETIMEDOUT. Also used as the lock of whatever must not happen twice at once. */
int wp_journal_lock_dir(const char *dir, bool create, int *ret_fd, struct wp_err *err) WP_MUST_USE;

#endif
