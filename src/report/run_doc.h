/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_doc.h - a run record as a document: what was run and where, the intervals, what each CPU did, packets, limits,
 * why and what to try. The document borrows the record's strings; the record must outlive it.
 */
#ifndef WP_REPORT_RUN_DOC_H
#define WP_REPORT_RUN_DOC_H

#include "base/buf.h"
#include "model/record.h"
#include "report/doc.h"
#include "report/interval_table.h"

struct wp_run_doc_opts {
	bool no_header;      /* the heading is on the screen already (live.h) */
	size_t rows_printed; /* ... and so many rows of each flow, with the table's heading */
	bool detail;         /* command and machine, as a letter needs them */
	bool stored_run;     /* command and time: the reader did not start it just now */
	size_t max_rows;     /* more interval rows than this become a line of bars; 0 = no limit */
	char unit;           /* as in struct wp_text_opts, for rates in sentences */
	const struct wp_interval_cols
		*cols; /* the live display's columns; NULL = from the record */
	const char *
		stored; /* where the run is, when not in the store: path of a file, "" nowhere; NULL */
};

/* The parts, in order; `doc` is initialised by the caller. */
void wp_run_doc(struct wp_doc *doc, const struct wp_run *run, const struct wp_run_doc_opts *opts);

/* Only the heading, for the live display (of a record without results yet). */
void wp_run_doc_heading(struct wp_doc *doc, const struct wp_run *run);

/* What the parts share. */

/* "Linux 6.18.44, 2 CPUs, AMD EPYC, clock kvm-clock" into the document's pool. */
const char *wp_doc_machine(struct wp_doc *doc, const struct wp_inventory *inv);
/* The host whose cpus[] covers the machine that host `h` is on, or NULL. */
const struct wp_host *wp_doc_cpus_of(const struct wp_run *run, const struct wp_host *h);

void wp_run_doc_intervals(struct wp_doc *doc, const struct wp_run *run,
			  const struct wp_run_doc_opts *opts);
void wp_run_doc_cpus(struct wp_doc *doc, const struct wp_run *run);
/* Only where a request/response test ran beside the load. */
void wp_run_doc_latency(struct wp_doc *doc, const struct wp_run *run);
/* Of a UDP test: both ends' totals, the ledger, the receiver's buffer, gaps and delays. `unit` as in the options. */
void wp_run_doc_datagrams(struct wp_doc *doc, const struct wp_run *run, char unit);
/* Of a request/response test: rate, latency and its distribution. */
void wp_run_doc_transactions(struct wp_doc *doc, const struct wp_run *run);
/* Of a write: times of the writes, the longest pauses and what was behind them, the command that was fed. */
void wp_run_doc_write(struct wp_doc *doc, const struct wp_run *run);
/* A distribution as a table of bars, at most 20 lines. */
void wp_run_doc_bars(struct wp_doc *doc, const struct wp_histogram *h);
/* A size as people type it: 131072 is "128 KiB". */
void wp_doc_put_size(struct wp_buf *b, double bytes);
/* What hosts[i] did, in a word: sender and receiver, or client and server where each of them did both. */
const char *wp_doc_end_word(const struct wp_run *run, size_t i);
/* Only with --stall. */
void wp_run_doc_stalls(struct wp_doc *doc, const struct wp_run *run);
/* --soak: what whyperf itself came to hold. */
void wp_run_doc_soak(struct wp_doc *doc, const struct wp_run *run);
void wp_run_doc_sentences(struct wp_doc *doc, const struct wp_run *run,
			  const struct wp_run_doc_opts *opts);

#endif
