/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * delta.h - how far a counter went between two readings.
 *
 * A counter has a width (32 bits: interrupts, softirqs, softnet_stat; 64 bits: most of the rest;
 * SNMP counters of a 32-bit kernel are 32 bits too). A 32-bit counter that stepped back has wrapped
 * if that takes it less than half of its range forward; otherwise, and for every 64-bit counter
 * that stepped back, it was reset: by hot-plug, a driver, a new interface of the same name, a
 * container's file system. Then the difference is unknown (-ESTALE), never negative and never huge.
 */
#ifndef WP_SYS_DELTA_H
#define WP_SYS_DELTA_H

#include <errno.h>
#include <stdint.h>

enum wp_width {
	WP_WIDTH_64 = 0,
	WP_WIDTH_32 = 1,
};

static inline int wp_counter_delta(uint64_t before, uint64_t after, enum wp_width width,
				   uint64_t *ret)
{
	if (after >= before) {
		*ret = after - before;
		return 0;
	}
	if (width == WP_WIDTH_32 && before <= UINT32_MAX) {
		uint32_t wrapped = (uint32_t)after - (uint32_t)before;

		if (wrapped <= UINT32_MAX / 2) {
			*ret = wrapped;
			return 0;
		}
	}
	return -ESTALE;
}

#endif
