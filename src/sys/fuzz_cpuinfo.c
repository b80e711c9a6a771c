/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/cpuinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_cpuinfo ci = { 0 };
	unsigned cpus = 0;

	if (wp_cpuinfo_parse((const char *)data, size, &ci))
		return 0;
	for (unsigned i = 0; i < ci.n_models; i++)
		cpus += ci.models[i].cpus;
	if (!ci.cpus || cpus + ci.unlisted_cpus > ci.cpus)
		__builtin_trap();
	return 0;
}
