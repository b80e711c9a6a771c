/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/irq_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_irq_table t = { 0 };

	for (int i = 0; i < 2; i++) {
		if (wp_irq_table_parse((const char *)data, size, &t, NULL) < 0)
			continue;
		for (size_t row = 0; row < t.n_rows; row++)
			if (t.row[row].n_counts > t.n_cpus ||
			    wp_irq_table_find(&t, t.row[row].label, row) != row)
				__builtin_trap();
	}
	wp_irq_table_done(&t);
	return 0;
}
