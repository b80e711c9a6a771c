/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * soak.h - does this process itself grow while a long run goes on? Its memory, files and threads, read a hundred times a
 * run, at most once in 0.1 s and at least each minute. What it grew to in the first tenth of the run (tables, buffers,
 * histories that fill up) is the base that the end is compared with: run/soak.h judges.
 *
 * Of a server the figures are the whole process's, with the tests of other clients.
 */
#ifndef WP_OBSERVE_SOAK_H
#define WP_OBSERVE_SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/record.h"
#include "sys/self_use.h"

struct wp_soak {
	int64_t every_ns, next_ns, base_ns; /* next_ns: INT64_MAX = off; base_ns: end of the first tenth */
	unsigned n;
	int status; /* of the last reading that failed */
	struct wp_self_use base, last, peak;
};

/* Off: wp_soak_due() does nothing. */
void wp_soak_off(struct wp_soak *s);
/* `duration_ns` 0 = not known. */
void wp_soak_start(struct wp_soak *s, int64_t duration_ns, int64_t now_ns);
/* Takes a reading when next_ns has come. */
void wp_soak_due(struct wp_soak *s, int64_t now_ns);
/* Takes the last reading and fills host->soak_*; nothing when off. */
void wp_soak_result(struct wp_soak *s, int64_t now_ns, struct wp_host *host);

#endif
