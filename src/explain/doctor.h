/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h - what this machine is and what will spoil a measurement on it: a list of lines, each with its status; a
 * line that is not ok says what it spoils and what to do.
 *
 * The lines come from const tables of checks (doctor_machine.c, doctor_net.c); each check looks at the facts of sys/
 * and, on a live machine, at the measured costs of observe/syscost.h. All texts live in the pool that is given.
 *
 *	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
 *	struct wp_doctor d;
 *	r = wp_doctor_read(-1, true, &pool, &d, &err);
 *	wp_doctor_text(&d, &out);   (report/doctor_text.h)
 *	wp_pool_done(&pool);
 *
 * Thresholds stand beside the checks; sources: Documentation/networking/scaling.rst, Documentation/admin-guide/pm/.
 */
#ifndef WP_EXPLAIN_DOCTOR_H
#define WP_EXPLAIN_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"
#include "observe/syscost.h"
#include "sys/facts.h"

#define WP_DOCTOR_SCHEMA    "whyperf.doctor/1"
#define WP_DOCTOR_LINES_MAX 1024 /* about 60 of the machine and 10 an interface */
#define WP_DOCTOR_LINKS_MAX 8    /* virtual links that are described one by one */

enum wp_doctor_status {
	WP_DOCTOR_OK,
	WP_DOCTOR_NOTE,   /* good to know when reading results */
	WP_DOCTOR_WARN,   /* will spoil some measurements */
	WP_DOCTOR_BAD,    /* will spoil most measurements */
	WP_DOCTOR_ABSENT, /* cannot be read here; `why` says why */
	WP_DOCTOR_STATUSES,
};

struct wp_doctor_line {
	const char *section; /* "CPU", "NIC eth0" */
	const char *name;    /* "governor" */
	const char *value;   /* text; NULL when absent */
	enum wp_doctor_status status;
	const char *why;    /* what it spoils, or why it is absent; NULL when ok */
	const char *advice; /* what to do; NULL when there is nothing to do */
};

struct wp_doctor {
	const char *hostname; /* NULL when unknown */
	bool live;
	struct wp_doctor_line *v; /* in the pool; lines of one section stand together */
	size_t n;
	size_t count[WP_DOCTOR_STATUSES];
	const struct wp_inventory *inventory; /* in the pool */
	const struct wp_nics *nics;           /* of the facts: borrowed from their pool */
	struct wp_syscosts costs;             /* absent in every figure unless live */
};

/* `costs` NULL: not live. 0 or -ENOMEM. */
int wp_doctor_examine(const struct wp_facts *facts, const struct wp_syscosts *costs,
		      struct wp_pool *pool, struct wp_doctor *ret) WP_MUST_USE;
/* Reads everything below `rootfd` (-1: the live root), measures when `live` (less than 400 ms), examines. */
int wp_doctor_read(int rootfd, bool live, struct wp_pool *pool, struct wp_doctor *ret,
		   struct wp_err *err) WP_MUST_USE;
/* New reference: { schema, hostname, live, inventory, measured, nics[], counts, lines[] }; NULL when memory is short. */
json_t *wp_doctor_json(const struct wp_doctor *d);
const char *wp_doctor_status_name(enum wp_doctor_status s); /* ok | note | warn | bad | absent */
/* The line of that section and name, or NULL. */
const struct wp_doctor_line *wp_doctor_find(const struct wp_doctor *d, const char *section,
					    const char *name);

#endif
