/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/softnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int online[] = { 0, 3 };
	struct wp_softnet s = { 0 };

	for (int i = 0; i < 2; i++)
		if (wp_softnet_parse((const char *)data, size, &s, NULL) == 0 &&
		    wp_softnet_assign(&s, online, 2) == 0 && s.row[0].cpu < 0)
			__builtin_trap();
	wp_softnet_done(&s);
	return 0;
}
