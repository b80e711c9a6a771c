/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * campaign.h - a sweep or a search for the highest rate (later: a comparison) as data: what was planned, which runs
 * were made, and one cell for each combination of axis values ("whyperf.campaign/1", DESIGN section 7).
 *
 * A search has one axis, the rates that were tried, and grows while it goes on; `found` is its answer.
 *
 * The cells are numbered as an odometer turns, the last axis fastest: wp_campaign_cell_index().
 * plan.order[i] is the cell of planned run i and runs[i] its id, or NULL where it was not made (a
 * campaign that was interrupted goes on there); results[i] is its figure. cells[].values hold the
 * metric of the cell's runs that gave one, in the order they were made. Medians and intervals are computed by study/, not here.
 *
 * All strings and arrays live in the campaign's pool; wp_campaign_done() frees them at once.
 */
#ifndef WP_MODEL_CAMPAIGN_H
#define WP_MODEL_CAMPAIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "model/found.h"
#include "model/num.h"

#define WP_CAMPAIGN_SCHEMA "whyperf.campaign/1"

/* Named limits: a machine of 256 CPUs swept against another one, three times, fits. */
#define WP_MAX_AXES             6
#define WP_MAX_AXIS_VALUES      4096
#define WP_MAX_CELLS            65536
#define WP_MAX_CAMPAIGN_RUNS    262144
#define WP_MAX_REPEATS          1000
#define WP_MAX_CAMPAIGN_STRINGS 64 /* each of why[], advice[], notes[] */
#define WP_CAMPAIGN_POOL_BYTES  (64u << 20)

struct wp_axis {
	const char *name;    /* long option name: "cpu", "peer-cpu", "streams" */
	const char *heading; /* for tables: "sender's CPU"; NULL = the name */
	const char **values; /* as given to the option: "0", "128K" */
	size_t n_values;
};

/* What the same-ness marks of a cell mean: its values can't be told from the best's (worst's). */
struct wp_cell {
	size_t key[WP_MAX_AXES]; /* index into axes[i].values */
	size_t n;                /* runs that gave a value (= n_values) */
	size_t failed;           /* runs that did not */
	double *values;
	size_t n_values;
	struct wp_num median, min, max;
	struct wp_num low, high; /* interval of the median; absent with too few values */
	bool like_best, like_worst;
	const char *why; /* one sentence about what held this cell; NULL */
};

struct wp_campaign {
	struct wp_pool pool;
	const char *id;      /* 16 hex digits */
	const char *name;    /* NULL = none given */
	const char *kind;    /* sweep | find-rate | compare */
	const char *started; /* RFC 3339 */
	const char *ended;   /* NULL while it runs or was cut short */
	const char *version;
	const char *state; /* running | done | interrupted | failed */

	struct { /* plan{} */
		struct wp_axis axes[WP_MAX_AXES];
		size_t n_axes;
		size_t repeats;
		uint64_t seed;
		uint32_t *order; /* cell of each planned run */
		size_t n_order;
		const char *
			*command; /* what is repeated, without the axes: "tcp", "lab", "-t", "1" */
		size_t n_command;
	} plan;

	/* The figure that the cells compare: a row of the metric table in scope total. */
	const char *metric; /* "received_bps" */
	const char *unit;   /* "bit/s" */
	bool lower_is_better;

	const char **runs; /* n_order entries; NULL = not made */
	double *results;   /* n_order entries: the metric of run i; NAN = not made, or it failed */
	struct wp_cell *cells;
	size_t n_cells;
	long best, worst;       /* index into cells; -1 = not known */
	struct wp_found *found; /* kind find-rate; else NULL */

	const char *verdict;      /* compare: faster | slower | ...; NULL in a sweep */
	const char *host;         /* one line: "Linux 6.18.44, 2 CPUs, AMD EPYC, clock kvm-clock" */
	const char *host_fitness; /* what this host can resolve; NULL = not examined */
	const char **why, **advice, **notes; /* sentences */
	size_t n_why, n_advice, n_notes;
};

void wp_campaign_init(struct wp_campaign *c); /* zeroes, gives it a pool, best = worst = -1 */
void wp_campaign_done(struct wp_campaign *c);

/* Product of the axes' lengths; 0 when an axis is empty or the product is beyond WP_MAX_CELLS. */
size_t wp_campaign_n_cells(const struct wp_campaign *c);
/* From axis values to the number of the cell and back. */
size_t wp_campaign_cell_index(const struct wp_campaign *c, const size_t key[static WP_MAX_AXES]);
void wp_campaign_cell_key(const struct wp_campaign *c, size_t cell,
			  size_t ret_key[static WP_MAX_AXES]);
/* Makes cells[] with their keys and empty runs[] for plan.order. -EINVAL when the axes give no or
 * too many cells, -ENOMEM. */
int wp_campaign_layout(struct wp_campaign *c, struct wp_err *err) WP_MUST_USE;
/* Appends one sentence (copied) to why, advice or notes; beyond the limit it is left out and the
 * last one says so. */
enum wp_campaign_list {
	WP_CAMPAIGN_WHY,
	WP_CAMPAIGN_ADVICE,
	WP_CAMPAIGN_NOTES,
};
void wp_campaign_say(struct wp_campaign *c, enum wp_campaign_list list, const char *fmt, ...)
	WP_PRINTF(3, 4);
/* "cpu=0 peer-cpu=1" into `out`. */
void wp_campaign_cell_name(const struct wp_campaign *c, size_t cell, char *out, size_t size);

/* New reference; NULL when memory is short. */
json_t *wp_campaign_to_json(const struct wp_campaign *c);
/* `ret` is initialised by the call. Unknown keys are ignored; wrong types, counts beyond the limits
 * and indices outside are refused with a sentence. Free with wp_campaign_done(). */
int wp_campaign_from_json(const json_t *json, struct wp_campaign *ret,
			  struct wp_err *err) WP_MUST_USE;

#endif
