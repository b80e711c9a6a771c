/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h - inside lab/: where named labs live, and questions about them that several files ask.
 */
#ifndef WP_LAB_FILES_H
#define WP_LAB_FILES_H

#include "lab/lab.h"
#include "lab/named.h"
#include "place/journal_text.h"

#define WP_LAB_PATH_PREFIX WP_JOURNAL_NETNS_DIR "/whyperf-"
#define WP_LAB_PATH_SIZE   64

void wp_lab_path(const char *name, enum wp_lab_side side, char out[static WP_LAB_PATH_SIZE]);
/* -ENOENT with the sentence for it. */
int wp_lab_no_such(const char *name, struct wp_err *err) WP_MUST_USE;
bool wp_lab_maker_of(int netns_fd, struct wp_lab_maker *ret);

#endif
