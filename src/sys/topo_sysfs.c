/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorded tree's topology from sys/devices/system/cpu and sys/devices/system/node
 * (Documentation/admin-guide/cputopology.rst, Documentation/ABI/testing/sysfs-devices-system-cpu). */
#include "sys/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "sys/cpumask.h"
#include "sys/maybe.h"

#define CPU_DIR         "sys/devices/system/cpu"
#define CACHE_INDEX_MAX 10 /* index0..index9; today's machines have 4 or 5 */
#define SCRATCH_BYTES   (64u << 20)

/* While reading, cores and caches are named by their lowest CPU; renumber() makes them count from 0. */
struct reader {
	int rootfd;
	struct wp_pool pool;
};

static void reader_done(struct reader *r)
{
	wp_pool_done(&r->pool);
}

/* The lowest CPU of a list file, or of the hexadecimal mask beside it (before 2.6.26 there are only masks);
 * -1 when neither is there. */
static int lowest_cpu(struct reader *r, const char *dir, int cpu, const char *list,
		      const char *mask)
{
	struct wp_maybe_text t =
		wp_read_text(r->rootfd, &r->pool, CPU_DIR "/cpu%d/%s/%s", cpu, dir, list);
	_cleanup_cpulist_ struct wp_cpulist l = { 0 };

	if (t.state == WP_VALUE && !wp_cpulist_parse(t.v, &l) && l.n)
		return l.cpu[0];
	t = wp_read_text(r->rootfd, &r->pool, CPU_DIR "/cpu%d/%s/%s", cpu, dir, mask);
	if (t.state == WP_VALUE && !wp_cpumask_parse(t.v, strlen(t.v), &l) && l.n)
		return l.cpu[0];
	return -1;
}

/* "32K", "480M" */
static uint64_t cache_bytes(struct reader *r, int cpu, int index)
{
	struct wp_maybe_text t =
		wp_read_text(r->rootfd, &r->pool, CPU_DIR "/cpu%d/cache/index%d/size", cpu, index);
	uint64_t v;

	return t.state == WP_VALUE && !wp_parse_size_bytes(t.v, &v) ? v : 0;
}

/* The data or unified cache of the highest level, named by its lowest CPU. */
static int read_caches(struct reader *r, int cpu, struct wp_topo *sizes)
{
	int64_t best_level = 0;
	int llc = -1;

	for (int i = 0; i < CACHE_INDEX_MAX; i++) {
		char dir[32] = "cache/index0";
		struct wp_maybe_int level;
		struct wp_maybe_text type;
		int lowest;

		dir[sizeof("cache/index") - 1] = (char)('0' + i);
		level = wp_read_int(r->rootfd, &r->pool, CPU_DIR "/cpu%d/%s/level", cpu, dir);
		if (level.state != WP_VALUE)
			break;
		type = wp_read_text(r->rootfd, &r->pool, CPU_DIR "/cpu%d/%s/type", cpu, dir);
		if (wp_maybe_is(&type, "Instruction"))
			continue;
		if (sizes && level.v == 1)
			sizes->l1d_bytes = cache_bytes(r, cpu, i);
		if (sizes && level.v == 2)
			sizes->l2_bytes = cache_bytes(r, cpu, i);
		lowest = lowest_cpu(r, dir, cpu, "shared_cpu_list", "shared_cpu_map");
		if (lowest < 0 || level.v <= best_level || level.v > 9)
			continue;
		best_level = level.v;
		llc = lowest;
		if (sizes) {
			sizes->llc_bytes = cache_bytes(r, cpu, i);
			sizes->llc_level = (unsigned)level.v;
		}
	}
	return llc;
}

static int read_cpu(struct reader *r, int cpu, struct wp_topo *t)
{
	struct wp_topo_cpu *c = &t->cpus[t->n];
	struct wp_maybe_int package = wp_read_int(
		r->rootfd, &r->pool, CPU_DIR "/cpu%d/topology/physical_package_id", cpu);
	int core = lowest_cpu(r, "topology", cpu, "thread_siblings_list", "thread_siblings");

	*c = (struct wp_topo_cpu) { .cpu = cpu };
	/* -1: the architecture has no notion of packages (many arm64) */
	c->package = package.state == WP_VALUE && package.v > 0 && package.v < INT32_MAX
			     ? (int)package.v
			     : 0;
	c->core = core < 0 ? cpu : core;
	if (core >= 0)
		t->described = true;
	c->llc = read_caches(r, cpu, t->n ? NULL : t);
	t->n++;
	return 0;
}

static void assign_nodes(struct reader *r, struct wp_topo *t)
{
	for (int node = 0; node < WP_TOPO_NODES_MAX; node++) {
		struct wp_maybe_text text = wp_read_text(
			r->rootfd, &r->pool, "sys/devices/system/node/node%d/cpulist", node);
		_cleanup_cpulist_ struct wp_cpulist l = { 0 };

		if (text.state != WP_VALUE || wp_cpulist_parse(text.v, &l))
			continue;
		for (size_t i = 0; i < t->n; i++)
			if (wp_cpulist_has(&l, t->cpus[i].cpu))
				t->cpus[i].node = node;
	}
}

/* From "named by the lowest CPU" to 0, 1, 2... in the order of the lowest CPU. */
static int renumber(struct wp_topo *t)
{
	_cleanup_free_ int *core = malloc(sizeof(int) * WP_CPU_MAX),
			   *llc = malloc(sizeof(int) * WP_CPU_MAX);
	int cores = 0, llcs = 0;

	if (!core || !llc)
		return -ENOMEM;
	memset(core, 0xff, sizeof(int) * WP_CPU_MAX);
	memset(llc, 0xff, sizeof(int) * WP_CPU_MAX);
	for (size_t i = 0; i < t->n; i++) {
		struct wp_topo_cpu *c = &t->cpus[i];

		if (core[c->core] < 0)
			core[c->core] = cores++;
		c->core = core[c->core];
		if (c->llc < 0)
			continue;
		if (llc[c->llc] < 0)
			llc[c->llc] = llcs++;
		c->llc = llc[c->llc];
	}
	return 0;
}

int wp_topo_read_sysfs(int rootfd, struct wp_topo *ret, struct wp_err *err)
{
	struct reader r WP_CLEANUP(reader_done) = { .rootfd = rootfd,
						    .pool = WP_POOL(SCRATCH_BYTES) };
	_cleanup_cpulist_ struct wp_cpulist online = { 0 };
	struct wp_topo t = { .source = "sysfs" };
	struct wp_maybe_text text = wp_read_text(rootfd, &r.pool, CPU_DIR "/online");
	int code;

	if (text.state != WP_VALUE)
		return wp_err_set(err, -ENODATA, "cannot tell which CPUs are online: %s", text.why);
	code = wp_cpulist_parse(text.v, &online);
	if (code || !online.n)
		return wp_err_set(err, code ? code : -ENODATA,
				  "/" CPU_DIR "/online is not a list of CPUs: \"%.40s\"", text.v);
	t.cpus = calloc(online.n, sizeof(*t.cpus));
	if (!t.cpus)
		return -ENOMEM;
	for (size_t i = 0; i < online.n; i++)
		read_cpu(&r, online.cpu[i], &t);
	assign_nodes(&r, &t);
	code = renumber(&t);
	if (code) {
		wp_topo_done(&t);
		return code;
	}
	wp_topo_count(&t);
	*ret = t;
	return 0;
}
