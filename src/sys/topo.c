/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sys/maybe.h"

#define CACHE_INDEX_MAX 10 /* index0..index9; today's machines have 4 or 5 */

void wp_topo_done(struct wp_topo *t)
{
	if (!t)
		return;
	free(t->cpus);
	t->cpus = NULL;
	t->n = 0;
}

int wp_topo_read(int rootfd, bool live, struct wp_topo *ret, struct wp_err *err)
{
	if (live && !wp_topo_read_hwloc(ret, NULL))
		return 0;
	return wp_topo_read_sysfs(rootfd, ret, err);
}

const struct wp_topo_cpu *wp_topo_find(const struct wp_topo *t, int cpu)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->cpus[mid].cpu == cpu)
			return &t->cpus[mid];
		if (t->cpus[mid].cpu < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

enum wp_topo_distance wp_topo_distance(const struct wp_topo *t, int a, int b)
{
	const struct wp_topo_cpu *x = wp_topo_find(t, a), *y = wp_topo_find(t, b);

	if (!x || !y)
		return WP_TOPO_UNKNOWN;
	if (a == b)
		return WP_TOPO_SAME;
	if (!t->described)
		return WP_TOPO_UNKNOWN;
	if (x->core == y->core)
		return WP_TOPO_SMT;
	if (x->llc >= 0 && x->llc == y->llc)
		return WP_TOPO_LLC;
	return x->node == y->node ? WP_TOPO_NODE : WP_TOPO_REMOTE;
}

const char *wp_topo_distance_name(enum wp_topo_distance d)
{
	static const char *const names[] = {
		[WP_TOPO_UNKNOWN] = "unknown", [WP_TOPO_SAME] = "same CPU",
		[WP_TOPO_SMT] = "SMT sibling", [WP_TOPO_LLC] = "same last-level cache",
		[WP_TOPO_NODE] = "same node",  [WP_TOPO_REMOTE] = "other node",
	};

	return (size_t)d < WP_ARRAY_SIZE(names) ? names[d] : "unknown";
}

/* Which of an entry's fields a list is made by. */
static int field_of(const struct wp_topo_cpu *c, size_t offset)
{
	return *(const int *)(const void *)((const char *)c + offset);
}

static void format_by(const struct wp_topo *t, size_t offset, int value, char *out, size_t size)
{
	struct wp_cpulist l = { .cpu = calloc(t->n ? t->n : 1, sizeof(int)) };

	if (l.cpu)
		for (size_t i = 0; i < t->n; i++)
			if (field_of(&t->cpus[i], offset) == value)
				l.cpu[l.n++] = t->cpus[i].cpu;
	wp_cpulist_format(&l, out, size);
	free(l.cpu);
}

void wp_topo_format_siblings(const struct wp_topo *t, int cpu, char *out, size_t size)
{
	const struct wp_topo_cpu *c = wp_topo_find(t, cpu);

	format_by(t, offsetof(struct wp_topo_cpu, core), c ? c->core : -1, out, size);
}

void wp_topo_format_node(const struct wp_topo *t, int node, char *out, size_t size)
{
	format_by(t, offsetof(struct wp_topo_cpu, node), node, out, size);
}

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* How many different values >= 0 the field has; `ret_most` becomes the size of the largest group. */
static unsigned distinct(const struct wp_topo *t, size_t offset, unsigned *ret_most)
{
	_cleanup_free_ int *v = calloc(t->n ? t->n : 1, sizeof(*v));
	unsigned groups = 0, run = 0, most = 0;
	size_t n = 0;

	if (!v)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (field_of(&t->cpus[i], offset) >= 0)
			v[n++] = field_of(&t->cpus[i], offset);
	qsort(v, n, sizeof(*v), compare_int);
	for (size_t i = 0; i < n; i++) {
		run = i && v[i] == v[i - 1] ? run + 1 : 1;
		groups += run == 1;
		most = run > most ? run : most;
	}
	if (ret_most)
		*ret_most = most;
	return groups;
}

void wp_topo_count(struct wp_topo *t)
{
	t->packages = distinct(t, offsetof(struct wp_topo_cpu, package), NULL);
	t->cores = distinct(t, offsetof(struct wp_topo_cpu, core), &t->threads_per_core_max);
	t->llcs = distinct(t, offsetof(struct wp_topo_cpu, llc), NULL);
	t->nodes = distinct(t, offsetof(struct wp_topo_cpu, node), NULL);
}
