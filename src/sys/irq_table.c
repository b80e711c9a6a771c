/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/irq_table.h"

#include <limits.h>

#include "base/cpuset.h"
#include "sys/grow.h"
#include "sys/text.h"

static int parse_header(struct wp_text line, struct wp_irq_table *t, struct wp_err *err)
{
	struct wp_text word;

	while (wp_text_word(&line, &word)) {
		uint64_t cpu;
		int r;

		if (!wp_text_eat(&word, "CPU") || wp_text_u64(word, &cpu) < 0 || cpu >= WP_CPU_MAX)
			return wp_err_set(err, -EBADMSG, "the header does not list CPUs");
		/* The kernel lists them in ascending order, which also bounds the list. */
		if (t->n_cpus && t->cpu[t->n_cpus - 1] >= (int)cpu)
			return wp_err_set(err, -EBADMSG, "CPU%d is out of order in the header",
					  (int)cpu);
		r = WP_GROW(t->cpu, t->cpu_cap, t->n_cpus + 1, WP_CPU_MAX);
		if (r < 0)
			return r;
		t->cpu[t->n_cpus++] = (int)cpu;
	}
	return t->n_cpus ? 0 : wp_err_set(err, -EBADMSG, "the header does not list CPUs");
}

static bool label_is(const struct wp_irq_row *row, const char *const *labels)
{
	for (; *labels; labels++)
		if (strcmp(row->label, *labels) == 0)
			return true;
	return false;
}

static void classify(struct wp_irq_row *row)
{
	static const char *const total_only[] = { "ERR", "MIS", "Err", "BAD", NULL };
	static const char *const aggregates[] = { "EXT", "I/O", "AIO", NULL };
	uint64_t irq;

	row->irq = -1;
	if (wp_text_u64(wp_text(row->label, strlen(row->label)), &irq) == 0 && irq <= INT_MAX)
		row->irq = (int)irq;
	row->total_only = label_is(row, total_only);
	row->aggregate = label_is(row, aggregates);
}

/* Numbers until the header's CPUs are served or something that is not a number comes. */
static void parse_counts(struct wp_text *line, uint64_t *count, size_t n, struct wp_irq_row *row)
{
	while (row->n_counts < n) {
		struct wp_text rest = *line, word;

		if (!wp_text_word(&rest, &word) || wp_text_u64(word, &count[row->n_counts]) < 0)
			return;
		row->n_counts++;
		*line = rest;
	}
}

static int parse_row(struct wp_text line, struct wp_irq_table *t)
{
	const char *colon = wp_text_len(line) ? memchr(line.p, ':', wp_text_len(line)) : NULL;
	struct wp_irq_row row = { 0 };
	struct wp_text label;
	size_t cells = (t->n_rows + 1) * t->n_cpus;
	uint64_t *count;
	int r;

	wp_text_skip_blanks(&line);
	if (!colon || colon <= line.p || colon - line.p >= (ptrdiff_t)sizeof(row.label))
		return 0;
	label = (struct wp_text) { line.p, colon };
	wp_text_copy(label, row.label, sizeof(row.label));
	classify(&row);
	line.p = colon + 1;
	r = WP_GROW(t->row, t->row_cap, t->n_rows + 1, WP_IRQ_ROWS_MAX);
	if (r == 0)
		r = WP_GROW(t->count, t->count_cap, cells, WP_IRQ_CELLS_MAX);
	if (r < 0)
		return r;
	count = t->count + t->n_rows * t->n_cpus;
	memset(count, 0, t->n_cpus * sizeof(*count));
	parse_counts(&line, count, row.total_only ? 1 : t->n_cpus, &row);
	wp_text_skip_blanks(&line);
	wp_text_copy(line, row.action, sizeof(row.action));
	t->row[t->n_rows++] = row;
	return 0;
}

int wp_irq_table_parse(const char *data, size_t len, struct wp_irq_table *t, struct wp_err *err)
{
	struct wp_text text = wp_text(data, len), line;
	int r;

	t->n_cpus = t->n_rows = 0;
	if (!wp_text_line(&text, &line))
		return wp_err_set(err, -ENODATA, "there is no header");
	r = parse_header(line, t, err);
	while (r == 0 && wp_text_line(&text, &line))
		r = parse_row(line, t);
	if (r == -E2BIG)
		wp_err_set(err, r, "more than %d interrupts or %u counts", WP_IRQ_ROWS_MAX,
			   WP_IRQ_CELLS_MAX);
	return r;
}

const uint64_t *wp_irq_table_counts(const struct wp_irq_table *t, size_t row)
{
	return t->count + row * t->n_cpus;
}

size_t wp_irq_table_find(const struct wp_irq_table *t, const char *label, size_t hint)
{
	if (hint < t->n_rows && strcmp(t->row[hint].label, label) == 0)
		return hint;
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].label, label) == 0)
			return i;
	return t->n_rows;
}

size_t wp_irq_table_column(const struct wp_irq_table *t, int cpu, size_t hint)
{
	size_t low = 0, high = t->n_cpus;

	if (hint < t->n_cpus && t->cpu[hint] == cpu)
		return hint;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->cpu[mid] == cpu)
			return mid;
		if (t->cpu[mid] < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return t->n_cpus;
}

void wp_irq_table_done(struct wp_irq_table *t)
{
	if (!t)
		return;
	free(t->cpu);
	free(t->row);
	free(t->count);
	*t = (struct wp_irq_table) { 0 };
}
