/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static void put_text(struct wp_buf *out, const char *s)
{
	if (!s)
		return;
	if (!s[strcspn(s, ",\"\r\n")]) {
		wp_buf_puts(out, s);
		return;
	}
	wp_buf_puts(out, "\"");
	for (; *s; s++) {
		if (*s == '"')
			wp_buf_puts(out, "\"");
		wp_buf_append(out, s, 1);
	}
	wp_buf_puts(out, "\"");
}

static void put_num(struct wp_buf *out, struct wp_num n)
{
	if (!wp_has(n) || !isfinite(n.v))
		return;
	if (n.v == floor(n.v) && fabs(n.v) < 9007199254740992.0)
		wp_buf_printf(out, "%.0f", n.v);
	else
		wp_buf_printf(out, "%.15g", n.v);
}

static void put_field(struct wp_buf *out, const struct wp_metric *m, const void *base)
{
	const char *field = (const char *)base + m->offset;

	if (m->kind == WP_LABEL) {
		put_text(out, *(const char *const *)(const void *)field);
	} else if (m->kind == WP_LIST) {
		const struct wp_ints *l = (const void *)field;

		for (size_t i = 0; i < l->n; i++)
			wp_buf_printf(out, i ? " %d" : "%d", l->v[i]);
	} else {
		put_num(out, *(const struct wp_num *)(const void *)field);
	}
}

struct table {
	const struct wp_run *run;
	enum wp_scope scope;
	struct wp_buf *out;
	const char *keys[2]; /* headings of what tells rows apart; NULL = none */
};

static void put_head(const struct table *t)
{
	wp_buf_puts(t->out, "run");
	for (size_t i = 0; i < WP_ARRAY_SIZE(t->keys) && t->keys[i]; i++)
		wp_buf_printf(t->out, ",%s", t->keys[i]);
	for (size_t i = 0; i < wp_n_metrics; i++)
		if (wp_metrics[i].scope == t->scope)
			wp_buf_printf(t->out, ",%s", wp_metrics[i].name);
	wp_buf_puts(t->out, "\n");
}

static void put_row(const struct table *t, const char *key0, const char *key1, const void *base)
{
	const char *keys[] = { key0, key1 };

	put_text(t->out, t->run->id);
	for (size_t i = 0; i < WP_ARRAY_SIZE(t->keys) && t->keys[i]; i++) {
		wp_buf_puts(t->out, ",");
		put_text(t->out, keys[i]);
	}
	for (size_t i = 0; i < wp_n_metrics; i++)
		if (wp_metrics[i].scope == t->scope) {
			wp_buf_puts(t->out, ",");
			put_field(t->out, &wp_metrics[i], base);
		}
	wp_buf_puts(t->out, "\n");
}

/* One function a scope: writes its rows. */

static void put_test(const struct table *t)
{
	put_row(t, NULL, NULL, &t->run->test);
}

static void put_inventory(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].inventory);
}

static void put_host(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		put_row(t, NULL, NULL, &t->run->hosts[i]);
}

static void put_cpu(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_cpus; k++)
			put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].cpus[k]);
}

static void put_cpu_sample(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_cpu_samples; k++)
			put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].cpu_samples[k]);
}

static void put_thread(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_threads; k++)
			put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].threads[k]);
}

static void put_flow(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_flows; i++)
		put_row(t, NULL, NULL, &t->run->flows[i]);
}

/* `end`: whose rows: the host that runs the command, or its peer. */
static void put_interval(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_flows; i++) {
		const struct wp_flow *f = &t->run->flows[i];
		bool sends = !f->role || strcmp(f->role, "receiver") != 0;

		for (size_t k = 0; k < f->n_intervals; k++)
			put_row(t, f->id, sends ? "sender" : "receiver", &f->intervals[k]);
		for (size_t k = 0; k < f->n_peer_intervals; k++)
			put_row(t, f->id, sends ? "receiver" : "sender", &f->peer_intervals[k]);
	}
}

static void put_end(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_flows; i++) {
		put_row(t, t->run->flows[i].id, "sender", &t->run->flows[i].sent);
		put_row(t, t->run->flows[i].id, "receiver", &t->run->flows[i].received);
	}
}

static void put_total(const struct table *t)
{
	put_row(t, NULL, NULL, &t->run->total);
}

static void put_ledger(const struct table *t)
{
	put_row(t, NULL, NULL, &t->run->ledger);
}

static void put_histogram(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_histograms; k++)
			put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].histograms[k]);
}

static void put_pause(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_flows; i++)
		for (size_t k = 0; k < t->run->flows[i].n_pauses; k++)
			put_row(t, t->run->flows[i].id, NULL, &t->run->flows[i].pauses[k]);
}

static void put_stall(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_stalls; i++)
		put_row(t, NULL, NULL, &t->run->stalls[i]);
}

static void put_stall_view(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_stalls; k++)
			put_row(t, t->run->hosts[i].role, NULL, &t->run->hosts[i].stalls[k]);
}

/* Readings or lines of every view; the second key is the view's number at that host. */
static void put_stall_parts(const struct table *t)
{
	for (size_t i = 0; i < t->run->n_hosts; i++)
		for (size_t k = 0; k < t->run->hosts[i].n_stalls; k++) {
			const struct wp_stall_view *v = &t->run->hosts[i].stalls[k];
			char number[24];

			snprintf(number, sizeof(number), "%zu", k + 1);
			for (size_t n = 0; t->scope == WP_SCOPE_STALL_READING && n < v->n_readings;
			     n++)
				put_row(t, t->run->hosts[i].role, number, &v->readings[n]);
			for (size_t n = 0; t->scope == WP_SCOPE_STALL_LINE && n < v->n_lines; n++)
				put_row(t, t->run->hosts[i].role, number, &v->lines[n]);
		}
}

static const struct {
	const char *keys[2];
	void (*put)(const struct table *t);
} scopes[WP_SCOPE_N] = {
	[WP_SCOPE_TEST] = { { NULL }, put_test },
	[WP_SCOPE_INVENTORY] = { { "host" }, put_inventory },
	[WP_SCOPE_HOST] = { { NULL }, put_host },
	[WP_SCOPE_CPU] = { { "host" }, put_cpu },
	[WP_SCOPE_CPU_SAMPLE] = { { "host" }, put_cpu_sample },
	[WP_SCOPE_THREAD] = { { "host" }, put_thread },
	[WP_SCOPE_FLOW] = { { NULL }, put_flow },
	[WP_SCOPE_INTERVAL] = { { "flow", "end" }, put_interval },
	[WP_SCOPE_END] = { { "flow", "end" }, put_end },
	[WP_SCOPE_TOTAL] = { { NULL }, put_total },
	[WP_SCOPE_LEDGER] = { { NULL }, put_ledger },
	[WP_SCOPE_HISTOGRAM] = { { "host" }, put_histogram },
	[WP_SCOPE_PAUSE] = { { "flow" }, put_pause },
	[WP_SCOPE_STALL] = { { NULL }, put_stall },
	[WP_SCOPE_STALL_VIEW] = { { "host" }, put_stall_view },
	[WP_SCOPE_STALL_READING] = { { "host", "stall" }, put_stall_parts },
	[WP_SCOPE_STALL_LINE] = { { "host", "stall" }, put_stall_parts },
};

int wp_run_to_csv(const struct wp_run *run, enum wp_scope scope, struct wp_buf *out)
{
	struct table t = { .run = run,
			   .scope = scope,
			   .out = out,
			   .keys = { scopes[scope].keys[0], scopes[scope].keys[1] } };

	put_head(&t);
	scopes[scope].put(&t);
	return wp_buf_status(out);
}

static bool is_of_stalls(enum wp_scope scope)
{
	return scope == WP_SCOPE_STALL_VIEW || scope == WP_SCOPE_STALL_READING ||
	       scope == WP_SCOPE_STALL_LINE;
}

static bool has_rows(const struct wp_run *run, enum wp_scope scope)
{
	size_t n = 0;

	if (scope == WP_SCOPE_STALL)
		return run->n_stalls > 0;
	for (size_t i = 0; scope == WP_SCOPE_PAUSE && i < run->n_flows; i++)
		n += run->flows[i].n_pauses;
	if (scope == WP_SCOPE_PAUSE)
		return n > 0;
	for (size_t i = 0; i < run->n_hosts; i++)
		n += is_of_stalls(scope)            ? run->hosts[i].n_stalls
		     : scope == WP_SCOPE_CPU        ? run->hosts[i].n_cpus
		     : scope == WP_SCOPE_CPU_SAMPLE ? run->hosts[i].n_cpu_samples
		     : scope == WP_SCOPE_THREAD     ? run->hosts[i].n_threads
		     : scope == WP_SCOPE_HISTOGRAM  ? run->hosts[i].n_histograms
						    : 1;
	if (scope == WP_SCOPE_TEST || scope == WP_SCOPE_TOTAL || scope == WP_SCOPE_LEDGER)
		return true;
	if (scope == WP_SCOPE_FLOW || scope == WP_SCOPE_END || scope == WP_SCOPE_INTERVAL)
		return run->n_flows > 0;
	return n > 0;
}

int wp_run_to_csv_all(const struct wp_run *run, struct wp_buf *out)
{
	bool first = true;
	int r = 0;

	for (int s = 0; !r && s < WP_SCOPE_N; s++) {
		if (!has_rows(run, (enum wp_scope)s))
			continue;
		wp_buf_printf(out, "%s# %s\n", first ? "" : "\n", wp_scope_name((enum wp_scope)s));
		r = wp_run_to_csv(run, (enum wp_scope)s, out);
		first = false;
	}
	return r;
}

int wp_campaign_to_csv(const struct wp_campaign *c, struct wp_buf *out)
{
	wp_buf_puts(out, "campaign");
	for (size_t i = 0; i < c->plan.n_axes; i++) {
		wp_buf_puts(out, ",");
		put_text(out, c->plan.axes[i].name);
	}
	wp_buf_puts(out, ",metric,unit,n,failed,median,min,max,low,high\n");
	for (size_t k = 0; k < c->n_cells; k++) {
		const struct wp_cell *cell = &c->cells[k];
		const struct wp_num nums[] = { cell->median, cell->min, cell->max, cell->low,
					       cell->high };

		put_text(out, c->id);
		for (size_t i = 0; i < c->plan.n_axes; i++) {
			wp_buf_puts(out, ",");
			put_text(out, c->plan.axes[i].values[cell->key[i]]);
		}
		wp_buf_puts(out, ",");
		put_text(out, c->metric);
		wp_buf_puts(out, ",");
		put_text(out, c->unit);
		wp_buf_printf(out, ",%zu,%zu", cell->n, cell->failed);
		for (size_t i = 0; i < WP_ARRAY_SIZE(nums); i++) {
			wp_buf_puts(out, ",");
			put_num(out, nums[i]);
		}
		wp_buf_puts(out, "\n");
	}
	return wp_buf_status(out);
}

int wp_csv_scope(const char *name, enum wp_scope *ret, struct wp_err *err)
{
	char list[512] = "";
	size_t used = 0;

	for (int s = 0; s < WP_SCOPE_N; s++) {
		if (!strcmp(name, wp_scope_name((enum wp_scope)s))) {
			*ret = (enum wp_scope)s;
			return 0;
		}
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 s ? ", " : "", wp_scope_name((enum wp_scope)s));
	}
	return wp_err_set(err, -EINVAL, "there is no table \"%s\"; the tables are %s", name, list);
}
