/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * softnet.h - /proc/net/softnet_stat: what each CPU's receive softirq and backlog did. Hexadecimal,
 * no header, one line for each online CPU. Of the whole machine, not of a network namespace.
 *
 * Columns by kernel: 9 (old), 10 received_rps (2.6.35), 11 flow_limit (3.11), 13 backlog length and
 * CPU number (5.10), 15 length of the two backlog queues (2023); more are passed over. Columns 4 to
 * 9 are always 0 in newer kernels. With fewer than 13 columns the file does not say which CPU a
 * line is of: wp_softnet_assign() settles that where it can be. Counts are 32 bits wide and wrap in
 * minutes (WP_WIDTH_32 of delta.h).
 *
 * `processed` counts skbs after GRO on the CPU that runs the protocols, once more for each extra
 * round (VLAN, bond, bridge); `received_rps` counts interrupts from other CPUs, not packets.
 * Source: net/core/net-procfs.c.
 *
 * The caller owns the struct (zeroed before its first use) and frees with wp_softnet_done().
 */
#ifndef WP_SYS_SOFTNET_H
#define WP_SYS_SOFTNET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct wp_softnet_row {
	int cpu;          /* -1: not said */
	unsigned columns; /* how many the kernel wrote */
	uint32_t processed, dropped, squeezed;
	uint32_t received_rps;               /* columns >= 10 */
	uint32_t flow_limited;               /* columns >= 11 */
	uint32_t backlog;                    /* columns >= 13; packets waiting now */
	uint32_t input_queue, process_queue; /* columns >= 15 */
};

struct wp_softnet {
	struct wp_softnet_row *row; /* owned */
	size_t n, cap;
};

/* -EBADMSG when a line is not what the kernel writes, -ENODATA when there is none. */
int wp_softnet_parse(const char *data, size_t len, struct wp_softnet *s,
		     struct wp_err *err) WP_MUST_USE;
/* Gives the lines of a kernel before 5.10 the numbers of the online CPUs (ascending), when there
 * are as many; a CPU that came or went meanwhile makes that a guess, so otherwise -ESTALE and the
 * rows stay without a number. */
int wp_softnet_assign(struct wp_softnet *s, const int *online, size_t n_online) WP_MUST_USE;
/* The row of a CPU, NULL when there is none. `hint`: where it was last time. */
const struct wp_softnet_row *wp_softnet_cpu(const struct wp_softnet *s, int cpu, size_t hint);
void wp_softnet_done(struct wp_softnet *s);

#endif
