/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live machine's topology through hwloc (http://www.open-mpi.org/projects/hwloc/doc/). */
#include "sys/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>

#include "base/cleanup.h"

static void destroy_p(hwloc_topology_t *t)
{
	if (*t)
		hwloc_topology_destroy(*t);
}

/* The cache that is nearest to memory: the last data or unified cache on the way up. */
static hwloc_obj_t last_cache(hwloc_obj_t pu)
{
	hwloc_obj_t found = NULL;

	for (hwloc_obj_t o = pu; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type))
			found = o;
	return found;
}

static void note_sizes(struct wp_topo *t, hwloc_obj_t pu)
{
	hwloc_obj_t llc = last_cache(pu);

	for (hwloc_obj_t o = pu; o; o = o->parent) {
		if (o->type == HWLOC_OBJ_L1CACHE)
			t->l1d_bytes = o->attr->cache.size;
		if (o->type == HWLOC_OBJ_L2CACHE)
			t->l2_bytes = o->attr->cache.size;
	}
	if (llc) {
		t->llc_bytes = llc->attr->cache.size;
		t->llc_level = llc->attr->cache.depth;
	}
}

static int compare_cpu(const void *a, const void *b)
{
	return ((const struct wp_topo_cpu *)a)->cpu - ((const struct wp_topo_cpu *)b)->cpu;
}

static struct wp_topo_cpu describe(hwloc_topology_t topo, hwloc_obj_t pu)
{
	hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_PACKAGE, pu);
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, pu);
	hwloc_obj_t llc = last_cache(pu);
	int node = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;

	return (struct wp_topo_cpu) {
		.cpu = (int)pu->os_index,
		.package = package ? (int)package->os_index : 0,
		.core = core ? (int)core->logical_index : (int)pu->logical_index,
		.llc = llc ? (int)llc->logical_index : -1,
		.node = node < 0 ? 0 : node,
	};
}

int wp_topo_read_hwloc(struct wp_topo *ret, struct wp_err *err)
{
	hwloc_topology_t topo WP_CLEANUP(destroy_p) = NULL;
	struct wp_topo t = { .source = "hwloc", .described = true };
	hwloc_obj_t pu = NULL;
	int n;

	if (hwloc_topology_init(&topo))
		return wp_err_set(err, -ENOMEM, "cannot start hwloc");
	if (hwloc_topology_set_flags(topo, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_load(topo))
		return wp_err_set(err, -EIO, "hwloc cannot read this machine's topology");
	n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU);
	if (n <= 0 || n > WP_CPU_MAX)
		return wp_err_set(err, -ENODATA, "hwloc finds %d CPUs", n);
	t.cpus = calloc((size_t)n, sizeof(*t.cpus));
	if (!t.cpus)
		return -ENOMEM;
	while (t.n < (size_t)n && (pu = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_PU, pu))) {
		if (!t.n)
			note_sizes(&t, pu);
		t.cpus[t.n++] = describe(topo, pu);
	}
	qsort(t.cpus, t.n, sizeof(*t.cpus), compare_cpu);
	wp_topo_count(&t);
	*ret = t;
	return 0;
}
