/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuinfo.h - what /proc/cpuinfo says, in any architecture's form. Pure: (bytes, length) to a struct in the
 * caller's storage, nothing to free.
 *
 * Forms: x86 ("model name", "flags"), arm64 ("CPU implementer" and "CPU part" a CPU; several models on
 * big.LITTLE), arm ("model name" or "Processor"), ppc ("cpu", "clock"), s390 ("processor 0: ... machine = 3906"),
 * riscv ("hart", "isa", "uarch"), others by "cpu model" / "Model Name". Sources: arch/<*>/kernel's show_cpuinfo();
 * part numbers from arch/arm64/include/asm/cputype.h.
 *
 * The file lists online CPUs only and containers may fake it: count CPUs by sys/devices/system/cpu/online.
 */
#ifndef WP_SYS_CPUINFO_H
#define WP_SYS_CPUINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Different models that are kept; big.LITTLE has 2 or 3. */
#define WP_CPUINFO_MODELS_MAX 8
/* The file has about 1.5 KB a CPU on x86; 8192 CPUs fit. */
#define WP_CPUINFO_BYTES_MAX (16u << 20)

enum wp_cpuinfo_form {
	WP_CPUINFO_UNKNOWN,
	WP_CPUINFO_X86,
	WP_CPUINFO_ARM,
	WP_CPUINFO_PPC,
	WP_CPUINFO_S390,
	WP_CPUINFO_RISCV,
	WP_CPUINFO_OTHER,
};

enum { /* bits of `flags`; from the first CPU's "flags" line (x86 only) */
       WP_CPUINFO_HYPERVISOR = 1 << 0,
       WP_CPUINFO_TSC = 1 << 1,
       WP_CPUINFO_CONSTANT_TSC = 1 << 2,
       WP_CPUINFO_NONSTOP_TSC = 1 << 3,
       WP_CPUINFO_TSC_KNOWN_FREQ = 1 << 4,
       WP_CPUINFO_RDTSCP = 1 << 5,
       WP_CPUINFO_APERFMPERF = 1 << 6,
       WP_CPUINFO_PTI = 1 << 7,
       WP_CPUINFO_HWP = 1 << 8,
};

struct wp_cpuinfo_model {
	char name[96];
	unsigned cpus;
};

struct wp_cpuinfo {
	enum wp_cpuinfo_form form;
	struct wp_cpuinfo_model models[WP_CPUINFO_MODELS_MAX]; /* in the order met */
	unsigned n_models;
	unsigned unlisted_cpus; /* whose model did not fit */
	unsigned cpus;          /* processor entries */
	char vendor[48];        /* "" when not told */
	bool has_flags;         /* whether `flags` means anything */
	unsigned flags;
	double mhz_min, mhz_max; /* over the CPUs; 0 when the file has no frequency */
};

/* 0; -ENODATA when no processor entry is found; -E2BIG beyond WP_CPUINFO_BYTES_MAX. */
int wp_cpuinfo_parse(const char *text, size_t len, struct wp_cpuinfo *ret) WP_MUST_USE;
/* "x86", "arm", ... */
const char *wp_cpuinfo_form_name(enum wp_cpuinfo_form form);

#endif
