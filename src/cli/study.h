/* SPDX-License-Identifier: GPL-2.0-or-later */
/* study.h - what the commands that make many runs share: sweep and the search for the highest rate. */
#ifndef WP_CLI_STUDY_H
#define WP_CLI_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "model/campaign.h"
#include "model/record.h"

#define WP_STUDY_MAX_LOST 3 /* runs in a row without a connection: the other end is gone */

/* Gives it an id, the time and the version. -EIO, -ENOMEM. */
int wp_study_begin(struct wp_campaign *c) WP_MUST_USE;
/* host: the machine in a line, from the first run that tells. */
void wp_study_note_host(struct wp_campaign *c, const struct wp_run *run);
/* Is a run's result one of those that mean that nobody is there? */
bool wp_study_lost(int r);
/* Ctrl-C. */
bool wp_study_cancelled(const struct wp_cli *cli);
/* "about 40 s", "about 3 min" */
void wp_study_time_text(int64_t ns, char *out, size_t size);

#endif
