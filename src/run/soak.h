/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * soak.h - the judgement of --soak: a process that holds more at the end of a long run than after its first tenth.
 */
#ifndef WP_RUN_SOAK_H
#define WP_RUN_SOAK_H

#include "model/record.h"

/* Adds a warning for each host whose process grew beyond what buffers and the allocator explain: memory by more than a
 * fifth and 4 MiB, files by more than 8, threads by more than 2. */
void wp_run_soak(struct wp_run *run);

#endif
