/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_file.h - inside place/: names of journal files, and who is alive.
 */
#ifndef WP_PLACE_JOURNAL_FILE_H
#define WP_PLACE_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct wp_journal_name {
	int pid;
	uint64_t starttime; /* clock ticks since boot, field 22 of /proc/PID/stat */
};

/* "PID-STARTTIME" or "PID-STARTTIME-N". Pure. */
bool wp_journal_name_parse(const char *file, struct wp_journal_name *ret);
/* Field 22 of a /proc/PID/stat text; the command name in it may hold anything. Pure. -EBADMSG. */
int wp_journal_parse_starttime(const char *text, size_t len, uint64_t *ret) WP_MUST_USE;
/* -ENOENT: no such process. */
int wp_journal_starttime_of(int pid, uint64_t *ret) WP_MUST_USE;

struct wp_journal_here {
	char boot_id[40]; /* "" when it can't be read */
	uint64_t pidns_ino, netns_ino;
};

void wp_journal_look_around(struct wp_journal_here *ret);

#endif
