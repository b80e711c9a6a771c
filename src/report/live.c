/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TICK_BYTES (1u << 20)

struct wp_live {
	struct wp_live_config config;
	struct wp_interval_cols cols;
	const struct wp_run *run;
	size_t n[2]; /* flows that this end receives [0], sends [1] */
	size_t rows; /* ticks printed */
	bool headed; /* the heading is printed */
};

int wp_live_new(const struct wp_live_config *config, struct wp_live **ret)
{
	struct wp_live *live = calloc(1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	live->config = *config;
	wp_interval_cols_from_plan(config->plan, config->n_online, config->same_machine,
				   &live->cols);
	live->config.plan = NULL;
	*ret = live;
	return 0;
}

static bool sends(const struct wp_flow *f)
{
	return !f->role || strcmp(f->role, "receiver") != 0;
}

static void flush(struct wp_live *live, int r, const struct wp_buf *out)
{
	if (!r && out->len)
		live->config.write(live->config.arg, wp_buf_text(out), out->len);
}

void wp_live_start(struct wp_live *live, const struct wp_run *run)
{
	struct wp_buf out _cleanup_buf_ = WP_BUF(TICK_BYTES);
	struct wp_doc doc WP_CLEANUP(wp_doc_done);

	live->run = run;
	for (size_t i = 0; i < run->n_flows; i++)
		live->n[sends(&run->flows[i])]++;
	wp_doc_init(&doc);
	wp_run_doc_heading(&doc, run);
	flush(live, wp_doc_to_text(&doc, &live->config.text, &out), &out);
	live->headed = true;
}

static struct wp_num busy_of(const struct wp_end_tick *tick, int cpu)
{
	for (size_t i = 0; i < tick->n_cpus; i++)
		if (wp_cpu_number(tick->cpus[i].cpu) == cpu)
			return tick->cpus[i].busy_pct;
	return wp_absent("no sample of this CPU yet");
}

static void put_line(struct wp_live *live, struct wp_doc *doc, struct wp_doc_table *table,
		     const struct wp_end_tick *tick, struct wp_interval_line *line)
{
	for (size_t i = 0; i < live->cols.n_cpus; i++)
		line->cpu_busy_pct[i] = busy_of(tick, live->cols.cpus[i].cpu);
	wp_interval_put(doc, table, &live->cols, line);
}

/* What this end knows while the test runs: its own side. */
static void set_ends(struct wp_interval_line *line)
{
	if (line->sends)
		line->sent = &line->row;
	else
		line->received = &line->row;
}

static void put_tick(struct wp_live *live, struct wp_doc *doc, struct wp_doc_table *table,
		     const struct wp_end_tick *tick)
{
	struct wp_interval sum[2];
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < tick->n_rows && i < live->run->n_flows; i++) {
		const struct wp_flow *f = &live->run->flows[i];
		bool s = sends(f);
		struct wp_interval_line line = { .id = f->id ? f->id : "?",
						 .sends = s,
						 .row = tick->rows[i] };

		set_ends(&line);
		wp_interval_add(&sum[s], &line.row, !n[s]++);
		if (live->n[s] <= WP_INTERVAL_MAX_STREAMS)
			put_line(live, doc, table, tick, &line);
	}
	for (int s = 1; s >= 0; s--)
		if (live->n[s] > 1 && n[s]) {
			struct wp_interval_line line = {
				.id = "SUM", .sends = s, .sum = true, .row = sum[s]
			};

			set_ends(&line);
			put_line(live, doc, table, tick, &line);
		}
}

void wp_live_tick(struct wp_live *live, const struct wp_end_tick *tick)
{
	struct wp_buf out _cleanup_buf_ = WP_BUF(TICK_BYTES);
	struct wp_doc doc WP_CLEANUP(wp_doc_done);
	struct wp_doc_table *table;
	int r;

	if (!live->run)
		return;
	wp_doc_init(&doc);
	table = wp_interval_table(&doc, &live->cols);
	put_tick(live, &doc, table, tick);
	r = wp_doc_status(&doc);
	if (!r)
		r = wp_table_to_text(table, &live->config.text, !live->rows, &out);
	flush(live, r, &out);
	live->rows++;
}

void wp_live_doc_opts(const struct wp_live *live, struct wp_run_doc_opts *opts)
{
	if (!live)
		return;
	opts->no_header = live->headed;
	opts->rows_printed = live->rows;
	opts->cols = &live->cols;
}

void wp_live_free(struct wp_live *live)
{
	free(live);
}
