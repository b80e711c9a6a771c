/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/proc_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_proc_stat s = { 0 };

	/* Twice: the second parse uses the memory of the first. */
	for (int i = 0; i < 2; i++)
		if (wp_proc_stat_parse((const char *)data, size, &s, NULL) == 0 && s.n == 0)
			__builtin_trap();
	wp_proc_stat_done(&s);
	return 0;
}
