/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_undo.h - inside place/: takes back one recorded change.
 */
#ifndef WP_PLACE_JOURNAL_UNDO_H
#define WP_PLACE_JOURNAL_UNDO_H

#include "place/journal_text.h"

enum wp_undo {
	WP_UNDO_DONE,    /* it was there and is taken back */
	WP_UNDO_NOTHING, /* the change had not been made, or is gone already */
	WP_UNDO_LEFT, /* the setting has a third value now, or the directory other people's files */
};

/* Idempotent. `root` is put before the path. -EPERM, -EACCES, -EROFS, -EBUSY, ...; *ret_undo only on 0. */
int wp_journal_undo_entry(const char *root, const struct wp_journal_entry *e,
			  enum wp_undo *ret_undo) WP_MUST_USE;

/* The whole text of a setting without trailing white space. -E2BIG above WP_JOURNAL_VALUE_MAX. */
int wp_journal_read_value(const char *root, const char *path,
			  char ret[static WP_JOURNAL_VALUE_MAX + 1]) WP_MUST_USE;
int wp_journal_write_value(const char *root, const char *path, const char *value) WP_MUST_USE;

#endif
