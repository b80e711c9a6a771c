/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - one reading of the kernel's counters: the files are opened once (wp_sources_open) and read as often as
 * wanted (wp_sources_read), each stamped with the time of its own read.
 *
 * The files below proc/net are those of the network namespace in which wp_sources_open() was called and stay so, except
 * softnet_stat, which is the machine's. A file that is missing or can't be understood leaves its part of the snapshot
 * empty with `why` saying so; it never reads as zeros.
 *
 * The caller owns both structs, zeroed before their first use; wp_sources_done() and wp_snapshot_done() free. A
 * snapshot's memory is used again by the next read into it.
 *
 *	struct wp_sources src = { 0 };
 *	struct wp_snapshot before = { 0 }, after = { 0 };
 *	wp_sources_open(&src, AT_FDCWD or a root fd, WP_SOURCES_ALL);
 *	wp_sources_read(&src, &before);
 *	...
 *	wp_sources_read(&src, &after);            then cpu_use.h and net_use.h
 */
#ifndef WP_OBSERVE_SNAPSHOT_H
#define WP_OBSERVE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "sys/irq_table.h"
#include "sys/net_counters.h"
#include "sys/proc_stat.h"
#include "sys/procfile.h"
#include "sys/softnet.h"

enum wp_source {
	WP_SOURCE_STAT,
	WP_SOURCE_INTERRUPTS,
	WP_SOURCE_SOFTIRQS,
	WP_SOURCE_SOFTNET,
	WP_SOURCE_SNMP,
	WP_SOURCE_NETSTAT,
	WP_SOURCE_SNMP6,
	WP_SOURCE_DEV,
	WP_SOURCES,
};

#define WP_SOURCE_BIT(source) (1u << (source))
#define WP_SOURCES_ALL        (WP_SOURCE_BIT(WP_SOURCES) - 1)
/* What each CPU did; the same whichever namespace asks. */
#define WP_SOURCES_CPU                                                         \
	(WP_SOURCE_BIT(WP_SOURCE_STAT) | WP_SOURCE_BIT(WP_SOURCE_INTERRUPTS) | \
	 WP_SOURCE_BIT(WP_SOURCE_SOFTIRQS) | WP_SOURCE_BIT(WP_SOURCE_SOFTNET))
/* Counters of the network namespace. */
#define WP_SOURCES_NET (WP_SOURCES_ALL & ~WP_SOURCES_CPU)
/* The sources whose text is a list of network counters; wp_snapshot.net[source - WP_SOURCE_SNMP]. */
#define WP_NET_LISTS (WP_SOURCES - WP_SOURCE_SNMP)

struct wp_sources {
	int root; /* owned duplicate; -1 when not open */
	unsigned wanted;
	struct wp_procfile file[WP_SOURCES];
	struct wp_cpulist
		online;    /* as of the last change of the CPUs in proc/stat; n == 0: unknown */
	size_t checked_n;  /* number of CPUs in proc/stat at that time */
	bool foreign_stat; /* proc/stat is not the kernel's: FUSE, or other CPUs than are online */
};

struct wp_snapshot {
	int64_t read_ns[WP_SOURCES]; /* CLOCK_MONOTONIC right after the read of that file */
	int64_t cost_ns[WP_SOURCES]; /* wall time of reading and parsing it */
	const char *why[WP_SOURCES]; /* NULL: read; else why it is absent (string constant) */
	bool foreign_stat;
	uint64_t bytes; /* read from all files */
	struct wp_proc_stat stat;
	struct wp_irq_table interrupts, softirqs;
	struct wp_softnet softnet;
	struct wp_net_counters net[WP_NET_LISTS];
};

/* Opens what of `wanted` is there. `root` is a directory that holds proc/ and sys/ (duplicated). Fails only when the
 * duplicate can't be made. */
int wp_sources_open(struct wp_sources *s, int root, unsigned wanted,
		    struct wp_err *err) WP_MUST_USE;
/* Reads all of them, proc/stat first. Never fails as a whole: see why[]. */
void wp_sources_read(struct wp_sources *s, struct wp_snapshot *snap);
void wp_sources_done(struct wp_sources *s);
void wp_snapshot_done(struct wp_snapshot *snap);

/* "/proc/stat", "/proc/net/snmp", ... */
const char *wp_source_path(enum wp_source source);
/* As the record names it: "net/snmp", "softnet_stat", ... */
const char *wp_source_name(enum wp_source source);

#endif
