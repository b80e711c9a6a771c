/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small text parsers of the inventory: the first byte chooses one, the rest is its file. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cpumask.h"
#include "sys/host.h"
#include "sys/virt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void cmdline(const char *text, size_t len)
{
	char *copy = malloc(len + 1), out[16];

	if (!copy)
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (!wp_cmdline_get(copy, "tsc", out, sizeof(out)) && strlen(out) >= sizeof(out))
		__builtin_trap();
	free(copy);
}

static void mask(const char *text, size_t len)
{
	_cleanup_cpulist_ struct wp_cpulist l = { 0 }, again = { 0 };
	char out[WP_CPU_MAX / 4 + WP_CPU_MAX / 32 + 2];

	if (wp_cpumask_parse(text, len, &l))
		return;
	if (wp_cpumask_format(&l, out, sizeof(out)) || wp_cpumask_parse(out, strlen(out), &again) ||
	    again.n != l.n)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	char out[64];
	uint64_t v;
	int64_t ppm;
	int r = 0;

	if (!size)
		return 0;
	size--;
	switch (data[0]) {
	case 'c':
		cmdline(text, size);
		break;
	case 'o':
		r = wp_os_release_parse(text, size, out, sizeof(out));
		break;
	case 'm':
		r = wp_meminfo_get(text, size, "MemTotal", &v);
		break;
	case 'b':
		r = wp_bracketed(text, size, out, sizeof(out));
		break;
	case 'g':
		r = wp_cgroup_path(text, size, "cpu", out, sizeof(out));
		r = r ? wp_cgroup_path(text, size, "", out, sizeof(out)) : 0;
		(void)wp_container_from_cgroup(text, size);
		break;
	case 'i':
		r = wp_mounts_over_proc(text, size, out, sizeof(out));
		break;
	case 'q':
		r = wp_cpu_max_parse(text, size, &ppm);
		break;
	case 's':
		r = wp_cpu_stat_get(text, size, "nr_throttled", &v);
		break;
	default:
		mask(text, size);
	}
	return r > 0 ? -1 : 0;
}
