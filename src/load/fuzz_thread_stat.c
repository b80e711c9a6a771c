/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cpuset.h"
#include "load/thread_meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2048];
	int64_t ns;
	int cpu;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (wp_parse_stat_cpu(text, &cpu) == 0 && (cpu < 0 || cpu >= WP_CPU_MAX))
		__builtin_trap();
	if (wp_parse_schedstat_delay(text, &ns) == 0 && ns < 0)
		__builtin_trap();
	return 0;
}
