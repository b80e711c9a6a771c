/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_text.h - the journal's file format. Pure: bytes to struct and back, no system calls.
 *
 *	head	1	BOOT-ID	PIDNS-INODE	NETNS-INODE
 *	1	unlink	/run/netns/whyperf-x-a
 *	2	write	/proc/irq/38/smp_affinity	2	3	(we set 2; restore 3)
 *	now	2	00000002				(what the kernel made of the 2)
 *	forget	1
 *	group	2						(the next two count only if both are there)
 *	3	unlink	/run/netns/whyperf-y-a
 *	4	unlink	/run/netns/whyperf-y-b
 *
 * Fields are separated by one tab; bytes up to the space, '%' and DEL are written as %XX. Every line ends in a newline:
 * a last line without one was cut off by a crash before its change was made, and does not count. A line that makes no
 * sense, or whose path is not in the allow-list of its verb, is skipped and counted.
 */
#ifndef WP_PLACE_JOURNAL_TEXT_H
#define WP_PLACE_JOURNAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pool.h"

#define WP_JOURNAL_ENTRIES_MAX  16384     /* IRQs and queues of the largest hosts, twice */
#define WP_JOURNAL_FILE_MAX     (4 << 20) /* bytes */
#define WP_JOURNAL_PATH_MAX     512
#define WP_JOURNAL_VALUE_MAX    4096 /* a CPU mask of 8192 CPUs is 2303 characters */
#define WP_JOURNAL_BOOT_ID_SIZE 40
#define WP_JOURNAL_NETNS_DIR    "/run/netns" /* where iproute2 keeps named namespaces */

enum wp_journal_verb {
	WP_JOURNAL_UNMOUNT,
	WP_JOURNAL_UNLINK,
	WP_JOURNAL_RMDIR, /* only if it is empty */
	WP_JOURNAL_WRITE,
};

#define WP_JOURNAL_VERBS 4

struct wp_journal_entry {
	uint32_t id;
	enum wp_journal_verb verb;
	char *path;
	char *set, *restore; /* of WRITE, else NULL */
};

struct wp_journal_text {
	bool has_head;
	char boot_id[WP_JOURNAL_BOOT_ID_SIZE];
	uint64_t pidns_ino, netns_ino;
	struct wp_journal_entry *v; /* owned; not forgotten, in the order of the file */
	size_t n, cap;
	uint32_t last_id;    /* they ascend */
	size_t group_left;   /* lines to come of the group that is being read */
	size_t group_start;  /* `n` where it began */
	unsigned bad;        /* lines skipped */
	char first_bad[80];  /* the beginning of the first of them, printable */
	struct wp_pool pool; /* holds the strings */
};

/* 0, -ENOMEM or -E2BIG. The result is freed with wp_journal_text_done(), which accepts zeroes. */
int wp_journal_text_parse(const char *data, size_t len, struct wp_journal_text *ret) WP_MUST_USE;
void wp_journal_text_done(struct wp_journal_text *t);
#define _cleanup_journal_text_ __attribute__((cleanup(wp_journal_text_done)))

/* Appends one line. */
int wp_journal_put_head(struct wp_buf *out, const char *boot_id, uint64_t pidns_ino,
			uint64_t netns_ino) WP_MUST_USE;
int wp_journal_put_entry(struct wp_buf *out, const struct wp_journal_entry *e) WP_MUST_USE;
int wp_journal_put_now(struct wp_buf *out, uint32_t id, const char *set) WP_MUST_USE;
int wp_journal_put_group(struct wp_buf *out, size_t lines) WP_MUST_USE;
int wp_journal_put_forget(struct wp_buf *out, uint32_t id) WP_MUST_USE;

const char *wp_journal_verb_name(enum wp_journal_verb verb);

/* Absolute, no "." or ".." or empty component, no control characters, and below what this verb may touch:
 * /run/netns/whyperf-* to unmount and unlink, /run/netns to unmount and remove when it is empty; /proc/sys, /proc/irq, /sys/class/net and
 * /sys/devices to write. */
bool wp_journal_path_allowed(enum wp_journal_verb verb, const char *path);
/* Whether the path shows a different thing in each network namespace. */
bool wp_journal_path_is_of_netns(const char *path);
/* Whether two texts are the same setting: "2" and "00000000,00000002\n", "1 2" and "1\t2". */
bool wp_journal_same_value(const char *a, const char *b);

#endif
