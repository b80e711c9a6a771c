/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h - what follows from both ends' figures: sums over flows, fairness, latencies, the cost of a KB or a
 * transaction, and the packet ledger (ledger.h).
 */
#ifndef WP_RUN_TOTALS_H
#define WP_RUN_TOTALS_H

#include "model/record.h"

/* Fills run->total, hosts[].machine_cost_us_per_* and run->ledger from flows and hosts. Figures that an end lacks make
 * the sums absent. */
void wp_run_totals(struct wp_run *run);

#endif
