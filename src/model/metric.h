/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric.h - the metric registry: every figure and label that a record holds, declared once.
 *
 * A row ties a key to a field of one of the record's structs (its scope). From the table come the
 * JSON keys (both ways), columns of reports, CSV headers and docs/record.md's tables. A dotted key
 * ("softirqs.net_rx") makes a nested object. A number that is absent or invalid becomes null with a
 * sibling "<key>_why".
 */
#ifndef WP_MODEL_METRIC_H
#define WP_MODEL_METRIC_H

#include <stdbool.h>
#include <stddef.h>

enum wp_scope {
	WP_SCOPE_TEST,          /* struct wp_test */
	WP_SCOPE_INVENTORY,     /* struct wp_inventory */
	WP_SCOPE_HOST,          /* struct wp_host */
	WP_SCOPE_CPU,           /* struct wp_cpu_use */
	WP_SCOPE_CPU_SAMPLE,    /* struct wp_cpu_sample */
	WP_SCOPE_THREAD,        /* struct wp_thread_use */
	WP_SCOPE_FLOW,          /* struct wp_flow */
	WP_SCOPE_INTERVAL,      /* struct wp_interval */
	WP_SCOPE_END,           /* struct wp_flow_end: one end's totals of a flow */
	WP_SCOPE_TOTAL,         /* struct wp_total */
	WP_SCOPE_LEDGER,        /* struct wp_ledger */
	WP_SCOPE_HISTOGRAM,     /* struct wp_histogram */
	WP_SCOPE_STALL,         /* struct wp_stall */
	WP_SCOPE_STALL_VIEW,    /* struct wp_stall_view: as one end saw it */
	WP_SCOPE_STALL_READING, /* struct wp_stall_reading */
	WP_SCOPE_STALL_LINE,    /* struct wp_stall_line: an interrupt or softirq on a CPU */
	WP_SCOPE_PAUSE,         /* struct wp_pause_view */
	WP_SCOPE_N,
};

enum wp_metric_kind {
	WP_COUNTER, /* amount in the run or interval: bytes, packets, interrupts */
	WP_GAUGE,   /* a level: per cent, microseconds, a rate */
	WP_LABEL,   /* text */
	WP_LIST,    /* small integers, e.g. CPU numbers */
};

enum wp_better {
	WP_NEITHER = 0,
	WP_HIGHER,
	WP_LOWER,
};

struct wp_metric {
	const char *name; /* JSON key; dots nest */
	const char *unit; /* "bytes", "%", "us", "bit/s", ""; also the last part of the name where
			     DESIGN has it so */
	enum wp_metric_kind kind;
	enum wp_scope scope;
	size_t offset; /* COUNTER, GAUGE: struct wp_num; LABEL: const char *; LIST: struct wp_ints
			*/
	enum wp_better better;
	const char *source; /* where the figure comes from: file, system call, formula */
	const char *help;   /* one line */
	bool optional; /* of some kinds of test only: elsewhere the key is left out instead of null */
};

extern const struct wp_metric wp_metrics[];
extern const size_t wp_n_metrics;

/* The row of that scope and name, or NULL. */
const struct wp_metric *wp_metric_find(enum wp_scope scope, const char *name);
/* "cpu", "flow", ... as docs and CSV call a scope. */
const char *wp_scope_name(enum wp_scope scope);

#endif
