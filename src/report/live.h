/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - the rows of a run while it goes on, with the columns that its report has, so that the screen reads as one:
 * wp_live_start() the heading, wp_live_tick() rows, and afterwards the report with wp_live_doc_opts().
 *
 *	wp_live_new(&config, &live);
 *	run_config.on_start = ...;	calls wp_live_start(live, run)
 *	run_config.on_tick = ...;	calls wp_live_tick(live, tick)
 *	...
 *	wp_live_doc_opts(live, &opts);
 *	wp_run_doc(&doc, &run, &opts);
 *	wp_live_free(live);
 *
 * Text goes to a callback of the caller, complete lines at a time.
 */
#ifndef WP_REPORT_LIVE_H
#define WP_REPORT_LIVE_H

#include "observe/endpoint.h"
#include "report/run_doc.h"
#include "report/text.h"

struct wp_live;

struct wp_live_config {
	const struct wp_plan *plan; /* used during wp_live_new() only */
	struct wp_text_opts text;
	size_t n_online;   /* CPUs of this machine */
	bool same_machine; /* the peer's CPUs are among them */
	void (*write)(void *arg, const char *text, size_t len);
	void *arg;
};

int wp_live_new(const struct wp_live_config *config, struct wp_live **ret) WP_MUST_USE;
/* `run` must stay valid until the last tick. */
void wp_live_start(struct wp_live *live, const struct wp_run *run);
void wp_live_tick(struct wp_live *live, const struct wp_end_tick *tick);
/* Sets what the report leaves out because it was printed, and its columns; `live` must outlive the document. NULL is
 * allowed and changes nothing. */
void wp_live_doc_opts(const struct wp_live *live, struct wp_run_doc_opts *opts);
void wp_live_free(struct wp_live *live);

#endif
