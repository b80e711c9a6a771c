/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/sched.h"

#include "sys/accounting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_thread_sched thread;
	struct wp_thread_stat stat;
	struct wp_pressure pressure;
	struct wp_schedstat s = { 0 };
	const char *text = (const char *)data;

	if (wp_thread_stat_parse(text, size, &stat) == 0 && (stat.tid < 0 || stat.cpu < -1))
		__builtin_trap();
	if (wp_pressure_parse(text, size, &pressure) == 0 && !(pressure.some_avg10_pct <= 101))
		__builtin_trap();
	if (wp_thread_sched_parse(text, size, &thread) == 0 && size < 6)
		__builtin_trap();
	for (int i = 0; i < 2; i++)
		if (wp_schedstat_parse(text, size, &s) == 0 && s.n > s.cap)
			__builtin_trap();
	wp_schedstat_done(&s);
	if (wp_btf_has_name(text, size, "vtime_flush") == WP_YES && size < 24)
		__builtin_trap();
	return 0;
}
