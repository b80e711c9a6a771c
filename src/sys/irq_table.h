/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irq_table.h - /proc/interrupts and /proc/softirqs: a matrix of counts, a row for each interrupt
 * or softirq, a column for each CPU of the header.
 *
 * What real files do: the header of /proc/interrupts lists online CPUs, that of /proc/softirqs
 * possible ones, both with holes, and both may change from one reading to the next: a column
 * belongs to the CPU that this reading's header names. A label may be a number or text ("LOC",
 * "IPI0", "Err"). ERR and MIS have one number however many CPUs there are; FIQ of some boards has a
 * name and no number. Behind the counts comes free text: a chip name that may hold blanks or begin
 * with a digit, so exactly as many numbers are read as the header has CPUs. A line is 11 * CPUs +
 * 100 bytes long, 5.7 KB at 512 CPUs. s390 has rows (EXT, I/O, AIO) that sum up other rows:
 * `aggregate`. Counts are 32 bits wide in the kernel and wrap (WP_WIDTH_32 of delta.h).
 *
 * The caller owns the struct (zeroed before its first use) and frees with wp_irq_table_done(); a
 * second parse into the same struct uses its memory again. Sources: fs/proc/interrupts.c,
 * kernel/irq/proc.c, fs/proc/softirqs.c.
 */
#ifndef WP_SYS_IRQ_TABLE_H
#define WP_SYS_IRQ_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Above the number of interrupts of the largest machines (nr_irqs of x86 at 8192 CPUs is below it).
 */
#define WP_IRQ_ROWS_MAX 65536
/* 512 Mi bytes of counts: above it a file is not believed. */
#define WP_IRQ_CELLS_MAX (64u << 20)

struct wp_irq_row {
	char label[16];  /* without the colon */
	char action[80]; /* chip, hardware number, trigger and driver names as the kernel writes
			    them */
	int irq;         /* the number, -1 when the label is text */
	size_t n_counts; /* numbers found, at most the number of columns */
	bool total_only; /* one number for the whole machine: ERR, MIS */
	bool aggregate;  /* repeats what other rows count (s390) */
};

struct wp_irq_table {
	int *cpu; /* owned; CPU number of each column */
	size_t n_cpus, cpu_cap;
	struct wp_irq_row *row; /* owned */
	size_t n_rows, row_cap;
	uint64_t *count; /* owned; row-major, n_rows x n_cpus; cells without a number are 0 */
	size_t count_cap;
};

/* -ENODATA without a header, -EBADMSG for a header that does not list CPUs or lists one twice,
 * -E2BIG beyond the limits, -ENOMEM. Rows that make no sense are passed over. */
int wp_irq_table_parse(const char *data, size_t len, struct wp_irq_table *t,
		       struct wp_err *err) WP_MUST_USE;
/* The counts of row `row`, n_cpus of them. Borrowed until the next parse. */
const uint64_t *wp_irq_table_counts(const struct wp_irq_table *t, size_t row);
/* The row with that label; `hint` is where it was last time. Returns n_rows when there is none. */
size_t wp_irq_table_find(const struct wp_irq_table *t, const char *label, size_t hint);
/* The column of a CPU; `hint` as above. Returns n_cpus when there is none. */
size_t wp_irq_table_column(const struct wp_irq_table *t, int cpu, size_t hint);
void wp_irq_table_done(struct wp_irq_table *t);

#endif
