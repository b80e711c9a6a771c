/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - a record's tables as comma separated values (RFC 4180 quoting, LF line ends), one scope of the metric
 * table at a time: a heading of "run", what tells the rows apart ("host", "flow", "end"), then the metrics by their
 * JSON keys. An absent number is an empty field, never 0.
 */
#ifndef WP_REPORT_CSV_H
#define WP_REPORT_CSV_H

#include "base/buf.h"
#include "model/campaign.h"
#include "model/metric.h"
#include "model/record.h"

#define WP_CSV_MAX_BYTES (256u << 20)

/* Scopes: interval, flow, end, cpu, cpu_sample, thread, host, inventory, test, total, ledger (wp_scope_name()). */
int wp_run_to_csv(const struct wp_run *run, enum wp_scope scope, struct wp_buf *out) WP_MUST_USE;
/* Every scope that has rows, each after a line "# scope" and parted by empty lines. */
int wp_run_to_csv_all(const struct wp_run *run, struct wp_buf *out) WP_MUST_USE;
/* One row a cell: the axes, then n, failed, median, min, max, low, high. */
int wp_campaign_to_csv(const struct wp_campaign *c, struct wp_buf *out) WP_MUST_USE;
/* The scope of that name; -EINVAL with a sentence that lists them. */
int wp_csv_scope(const char *name, enum wp_scope *ret, struct wp_err *err) WP_MUST_USE;

#endif
