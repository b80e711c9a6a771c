/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/net_counters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int (*const parsers[])(const char *, size_t, struct wp_net_counters *, struct wp_err *) = {
		wp_net_snmp_parse,
		wp_net_snmp6_parse,
		wp_net_dev_parse,
	};
	struct wp_net_counters c = { 0 };

	for (size_t p = 0; p < sizeof(parsers) / sizeof(parsers[0]); p++) {
		if (parsers[p]((const char *)data, size, &c, NULL) < 0)
			continue;
		for (size_t i = 0; i < c.n; i++)
			if (wp_net_counters_find(&c, wp_net_counter_device(&c, i),
						 wp_net_counter_name(&c, i), i) != i)
				__builtin_trap();
	}
	wp_net_counters_done(&c);
	return 0;
}
