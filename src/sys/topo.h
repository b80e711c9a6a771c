/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topo.h - which CPUs share a core, a last-level cache, a NUMA node: how far apart two CPUs are.
 *
 * The live machine is read through hwloc; a recorded tree (which hwloc can read only through an environment
 * variable, and libraries here do not touch the environment) through our own reading of
 * sys/devices/system/{cpu,node}. Both give the same struct, and a test compares them on the live machine.
 * CPUs are the online ones, also those that this process may not use. Free with wp_topo_done().
 *
 *	struct wp_topo t;
 *	wp_topo_read(rootfd, true, &t, err);
 *	wp_topo_distance(&t, 0, 1) == WP_TOPO_LLC
 */
#ifndef WP_SYS_TOPO_H
#define WP_SYS_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"

enum wp_topo_distance {
	WP_TOPO_UNKNOWN, /* one of the two is not in the topology */
	WP_TOPO_SAME,
	WP_TOPO_SMT,  /* two threads of one core */
	WP_TOPO_LLC,  /* two cores under one last-level cache */
	WP_TOPO_NODE, /* one NUMA node, different last-level caches */
	WP_TOPO_REMOTE,
};

struct wp_topo_cpu {
	int cpu;     /* the kernel's number */
	int package; /* the kernel's package id */
	int core;    /* counted from 0 over the machine */
	int llc;     /* likewise; -1 when caches are not described */
	int node;    /* the kernel's NUMA node; 0 without NUMA */
};

#define WP_TOPO_NODES_MAX 256

struct wp_topo {
	struct wp_topo_cpu *cpus; /* owned, ascending by `cpu` */
	size_t n;
	unsigned packages, cores, llcs, nodes;
	unsigned threads_per_core_max;
	unsigned llc_level;                      /* 0 when unknown */
	uint64_t l1d_bytes, l2_bytes, llc_bytes; /* of the first CPU's; 0 when not told */
	const char *source;                      /* "hwloc" or "sysfs" */
	bool described; /* false: the kernel describes no topology; each CPU counts as a core */
};

/* 0 or -errno (-ENODATA: no CPU found). `live` with a root that is not the machine's own is wrong. */
int wp_topo_read(int rootfd, bool live, struct wp_topo *ret, struct wp_err *err) WP_MUST_USE;
/* The two readers behind it. */
int wp_topo_read_sysfs(int rootfd, struct wp_topo *ret, struct wp_err *err) WP_MUST_USE;
int wp_topo_read_hwloc(struct wp_topo *ret, struct wp_err *err) WP_MUST_USE;
void wp_topo_done(struct wp_topo *t);

const struct wp_topo_cpu *wp_topo_find(const struct wp_topo *t, int cpu); /* NULL when not there */
enum wp_topo_distance wp_topo_distance(const struct wp_topo *t, int a, int b);
/* "same CPU", "SMT sibling", "same last-level cache", "same node", "other node", "unknown". */
const char *wp_topo_distance_name(enum wp_topo_distance d);
/* CPUs of one core / node / last-level cache as text for people ("0-3,8"); for what `cpu` belongs to. */
void wp_topo_format_siblings(const struct wp_topo *t, int cpu, char *out, size_t size);
void wp_topo_format_node(const struct wp_topo *t, int node, char *out, size_t size);

/* Counts packages, cores, caches, nodes from the entries; called by the readers. */
void wp_topo_count(struct wp_topo *t);

#endif
