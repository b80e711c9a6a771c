/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "observe/syscost.h"

const char *wp_cpu_model_text(const struct wp_sys_host *host, struct wp_pool *pool)
{
	const struct wp_cpuinfo *ci = &host->cpuinfo;
	char out[512] = "";
	size_t at = 0;

	if (host->cpuinfo_why || !ci->n_models)
		return NULL;
	if (ci->n_models == 1 && !ci->unlisted_cpus)
		return wp_pool_strdup(pool, ci->models[0].name);
	for (unsigned i = 0; i < ci->n_models; i++) {
		int n = snprintf(out + at, sizeof(out) - at, "%s%s (%u CPUs)", i ? ", " : "",
				 ci->models[i].name, ci->models[i].cpus);

		if (n < 0 || (size_t)n >= sizeof(out) - at)
			break;
		at += (size_t)n;
	}
	return wp_pool_strdup(pool, out);
}

const char *wp_virtualization_text(const struct wp_virt *virt, struct wp_pool *pool)
{
	const char *in =
		virt->kind == WP_VIRT_VM ? wp_maybe_text_or(&virt->name, "a hypervisor") : NULL;

	if (virt->container.state == WP_VALUE)
		return in ? wp_pool_printf(pool, "%s in %s", virt->container.v, in)
			  : wp_pool_strdup(pool, virt->container.v);
	if (in)
		return wp_pool_strdup(pool, in);
	return virt->kind == WP_VIRT_NONE ? "none" : NULL;
}

/* Facts live in their own pool; the record keeps copies. */
struct copier {
	struct wp_pool *pool;
	bool failed;
};

static const char *keep(struct copier *c, const char *s)
{
	char *copy = wp_pool_strdup(c->pool, s);

	c->failed = c->failed || (s && !copy);
	return copy;
}

static const char *keep_text(struct copier *c, const struct wp_maybe_text *t)
{
	return t->state == WP_VALUE ? keep(c, t->v) : NULL;
}

static struct wp_num keep_int(struct copier *c, struct wp_maybe_int i)
{
	if (i.state == WP_VALUE)
		return wp_num((double)i.v);
	if (i.state == WP_INVALID)
		return wp_invalid((double)i.v, keep(c, i.why));
	return wp_absent(keep(c, i.why));
}

static void fill_topology(struct copier *c, const struct wp_facts *f, struct wp_inventory *inv)
{
	const struct wp_topo *t = &f->topo;

	if (f->topo_why || !t->described) {
		struct wp_num none =
			wp_absent(keep(c, f->topo_why ? f->topo_why : "no topology described"));

		inv->sockets = inv->cores = inv->threads_per_core = inv->numa_nodes =
			inv->llc_groups = none;
		return;
	}
	inv->sockets = wp_num(t->packages);
	inv->cores = wp_num(t->cores);
	inv->threads_per_core = wp_num(t->threads_per_core_max);
	inv->numa_nodes = wp_num(t->nodes);
	inv->llc_groups = t->llcs ? wp_num(t->llcs) : wp_absent("no caches described");
}

static void fill_limits(struct copier *c, const struct wp_limits *l, struct wp_inventory *inv)
{
	inv->rmem_max_bytes = keep_int(c, wp_limit_int(l, WP_LIMIT_RMEM_MAX));
	inv->wmem_max_bytes = keep_int(c, wp_limit_int(l, WP_LIMIT_WMEM_MAX));
	inv->netdev_max_backlog = keep_int(c, wp_limit_int(l, WP_LIMIT_NETDEV_MAX_BACKLOG));
	inv->tcp_rmem_max_bytes = keep_int(c, wp_limit_part(l, WP_LIMIT_TCP_RMEM, 2));
	inv->tcp_wmem_max_bytes = keep_int(c, wp_limit_part(l, WP_LIMIT_TCP_WMEM, 2));
	inv->congestion_default = keep_text(c, &l->text[WP_LIMIT_TCP_CONGESTION]);
	inv->qdisc_default = keep_text(c, &l->text[WP_LIMIT_DEFAULT_QDISC]);
}

int wp_inventory_from_facts(const struct wp_facts *f, struct wp_inventory *ret,
			    struct wp_pool *pool)
{
	struct copier c = { .pool = pool };
	struct wp_inventory inv = {
		.hostname = keep_text(&c, &f->host.hostname),
		.kernel = keep_text(&c, &f->host.release),
		.arch = keep_text(&c, &f->host.arch),
		.os = keep_text(&c, &f->host.os),
		.cpu_model = wp_cpu_model_text(&f->host, pool),
		.clocksource = keep_text(&c, &f->host.clocksource),
		.governor = keep_text(&c, &f->cpufreq.governor),
		.virtualization = wp_virtualization_text(&f->virt, pool),
		.cpu_accounting = wp_accounting_name(f->accounting.mode),
		.cpu_accounting_evidence = keep(&c, f->accounting.evidence),
	};

	if (f->vulns.costly.state == WP_VALUE)
		inv.mitigations = keep(&c, f->vulns.costly.v);
	else if (f->vulns.n)
		inv.mitigations = "none that slows system calls down";
	if (f->daemons.irqbalance_pid.state == WP_VALUE)
		inv.irqbalance = "running";
	else if (f->daemons.scanned.state == WP_VALUE)
		inv.irqbalance = "not running";
	inv.cpus_online = keep_int(&c, f->host.cpus_online);
	inv.cpus_possible = keep_int(&c, f->host.cpus_possible);
	inv.memory_bytes = keep_int(&c, f->host.memory_bytes);
	inv.user_hz = wp_num(f->accounting.user_hz);
	inv.clock_read_ns = wp_absent("measured on a live machine only");
	inv.steal_since_boot_pct = keep_int(&c, f->steal_ppm);
	if (wp_has(inv.steal_since_boot_pct))
		inv.steal_since_boot_pct.v /= 1e4;
	fill_topology(&c, f, &inv);
	fill_limits(&c, &f->limits, &inv);
	if (c.failed)
		return -ENOMEM;
	*ret = inv;
	return 0;
}

int wp_inventory_read(int rootfd, bool live, struct wp_inventory *ret, struct wp_pool *pool)
{
	_cleanup_close_ int own_fd = -1;
	struct wp_pool scratch = WP_POOL(WP_FACTS_POOL_BYTES);
	struct wp_facts f;
	int r;

	if (rootfd < 0) {
		own_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (own_fd < 0)
			return -errno;
		rootfd = own_fd;
	}
	wp_facts_read(rootfd, live ? WP_FACTS_LIVE : 0, &scratch, &f);
	r = wp_inventory_from_facts(&f, ret, pool);
	if (!r && live)
		ret->clock_read_ns = wp_clock_read_cost_ns();
	wp_facts_done(&f);
	wp_pool_done(&scratch);
	return r;
}
