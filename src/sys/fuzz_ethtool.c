/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>

#include "sys/ethtool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_nic_feature_state f[WP_NIC_FEATURES] = { 0 };

	if (!wp_ethtool_parse_features(data, size, f))
		for (int i = 0; i < WP_NIC_FEATURES; i++)
			if (f[i].on && f[i].state != WP_VALUE)
				__builtin_trap();
	return 0;
}
