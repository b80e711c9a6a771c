/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/beside.h"

#include <errno.h>
#include <sched.h>

static bool may_use(int cpu, const struct wp_cpulist *avoid, const struct wp_cpulist *on)
{
	if (avoid && wp_cpulist_has(avoid, cpu))
		return false;
	return !on || !on->n || wp_cpulist_has(on, cpu);
}

int wp_run_beside(const struct wp_cpulist *avoid, const struct wp_cpulist *on)
{
	_cleanup_cpulist_ struct wp_cpulist allowed = { 0 };
	size_t size = CPU_ALLOC_SIZE(WP_CPU_MAX), left = 0;
	cpu_set_t *set;
	int r;

	if ((!avoid || !avoid->n) && (!on || !on->n))
		return 0;
	r = wp_cpulist_allowed(&allowed);
	if (r < 0)
		return r;
	set = CPU_ALLOC(WP_CPU_MAX);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < allowed.n; i++)
		if (may_use(allowed.cpu[i], avoid, on)) {
			CPU_SET_S((size_t)allowed.cpu[i], size, set);
			left++;
		}
	r = !left ? -ENOENT : sched_setaffinity(0, size, set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return r;
}
