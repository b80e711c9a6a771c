/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accounting.h - how this kernel finds out what a CPU spent its time on; decides how far the
 * columns of /proc/stat can be believed.
 *
 *   ticks     each timer tick charges the whole tick to whatever it interrupted. irq stays 0 for
 * ever, short softirqs and whatever keeps step with the tick are attributed by luck. irq_time  as
 * above for user and system, but interrupts and softirqs are measured (CONFIG_IRQ_TIME_ACCOUNTING
 * and a usable sched_clock). full      every change between user, kernel and interrupt is measured
 * (s390, POWER, CPUs in nohz_full).
 *
 * Found out at run time without root and without the kernel's configuration: whether
 * /proc/pressure/irq exists and counts, what functions the kernel's BTF names, the command line,
 * the irq column.
 */
#ifndef WP_SYS_ACCOUNTING_H
#define WP_SYS_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum wp_accounting_mode {
	WP_ACCOUNTING_TICKS,
	WP_ACCOUNTING_IRQ_TIME,
	WP_ACCOUNTING_FULL,
};

struct wp_accounting {
	enum wp_accounting_mode mode;
	bool certain;       /* false: nothing spoke against it */
	unsigned user_hz;   /* ticks a second in /proc/stat; not the kernel's HZ */
	char nohz_full[64]; /* list of CPUs that are accounted in full whatever the mode; "" = none
			     */
	char evidence[240]; /* one sentence */
};

enum wp_tristate {
	WP_UNKNOWN = 0,
	WP_NO,
	WP_YES,
};

/* What the decision rests on. Zeroed = nothing known. */
struct wp_accounting_facts {
	unsigned version; /* of the kernel: major << 16 | minor << 8 | patch (patch at most 255) */
	enum wp_tristate pressure;     /* /proc/pressure/cpu exists */
	enum wp_tristate pressure_irq; /* /proc/pressure/irq exists */
	int pressure_irq_status;       /* of reading it; -EOPNOTSUPP: built but off */
	uint64_t pressure_irq_us;
	enum wp_tristate built_irqtime; /* BTF: irqtime_account_irq */
	enum wp_tristate built_native;  /* BTF: vtime_flush */
	bool s390;
	const char *forced_off; /* word of the kernel's command line that switches irq time off */
	bool has_irq_column;    /* /proc/stat was read and has the column */
	uint64_t irq_ticks;     /* sum of the irq column since boot */
	uint64_t interrupts;    /* since boot */
	size_t n_online, n_nohz_full;
	char nohz_full[64];
};

/* Reads the facts below `root` and decides. Never fails: what can't be read is unknown. */
void wp_accounting_detect(int root, struct wp_accounting *ret);
void wp_accounting_decide(const struct wp_accounting_facts *facts, struct wp_accounting *ret);
const char *wp_accounting_name(enum wp_accounting_mode mode); /* ticks | irq_time | full */

/* Whether the string section of a BTF blob (/sys/kernel/btf/vmlinux) has `name`; WP_UNKNOWN when it
 * is not BTF of this machine's byte order. Source: Documentation/bpf/btf.rst. */
enum wp_tristate wp_btf_has_name(const char *data, size_t len, const char *name);

#endif
