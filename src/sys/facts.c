/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/facts.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "sys/proc_stat.h"

#define STAT_BYTES_MAX (16u << 20)

static struct wp_maybe_int read_steal(int rootfd, struct wp_pool *pool)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(STAT_BYTES_MAX);
	struct wp_proc_stat s = { 0 };
	struct wp_maybe_int ret;
	double sum = 0;
	int r = wp_read_file_at(rootfd, "proc/stat", &b);

	if (r)
		return wp_no_int(wp_why(pool, r, "proc/stat"));
	r = wp_proc_stat_parse(wp_buf_text(&b), b.len, &s, NULL);
	for (int i = 0; !r && i < WP_CPU_SUMMED; i++)
		sum += (double)s.all.ticks[i];
	if (r)
		ret = wp_bad_int("/proc/stat is not what the kernel writes");
	else if (s.all.columns <= WP_CPU_STEAL)
		ret = wp_no_int("this kernel's /proc/stat has no steal column");
	else if (sum < 1)
		ret = wp_bad_int("/proc/stat counts no time at all");
	else
		ret = wp_some_int((int64_t)((double)s.all.ticks[WP_CPU_STEAL] / sum * 1e6));
	wp_proc_stat_done(&s);
	return ret;
}

static void read_topo(int rootfd, bool live, struct wp_pool *pool, struct wp_facts *f)
{
	struct wp_err err = { 0 };

	if (!wp_topo_read(rootfd, live, &f->topo, &err))
		return;
	f->topo_why = wp_pool_strdup(pool, err.msg[0] ? err.msg : "the topology cannot be read");
	if (!f->topo_why)
		f->topo_why = "out of memory";
}

void wp_facts_read(int rootfd, unsigned flags, struct wp_pool *pool, struct wp_facts *ret)
{
	bool live = flags & WP_FACTS_LIVE;
	_cleanup_cpulist_ struct wp_cpulist online = { 0 };
	struct wp_facts f = { .live = live };
	const struct wp_cpuinfo *ci;

	wp_sys_host_read(rootfd, live, pool, &f.host);
	ci = f.host.cpuinfo_why ? NULL : &f.host.cpuinfo;
	if (f.host.online.state != WP_VALUE || wp_cpulist_parse(f.host.online.v, &online))
		online.n = 0;
	read_topo(rootfd, live, pool, &f);
	wp_cpufreq_read(rootfd, &online, pool, &f.cpufreq);
	wp_cpuidle_read(rootfd, &online, pool, &f.cpuidle);
	wp_limits_read(rootfd, pool, &f.limits);
	wp_virt_read(rootfd, ci, pool, &f.virt);
	wp_cpu_quota_read(rootfd, pool, &f.quota);
	wp_daemons_read(rootfd, pool, &f.daemons);
	wp_vulns_read(rootfd, pool, &f.vulns);
	if (flags & WP_FACTS_NICS)
		wp_nics_read(rootfd, live, pool, &f.nics);
	else
		f.nics.why = "not asked for";
	wp_accounting_detect(rootfd, &f.accounting);
	if (f.virt.proc_faked.state == WP_VALUE && strstr(f.virt.proc_faked.v, "/proc/stat"))
		f.steal_ppm = wp_no_int("/proc/stat is served by another file system than proc");
	else
		f.steal_ppm = read_steal(rootfd, pool);
	*ret = f;
}

void wp_facts_done(struct wp_facts *f)
{
	if (f)
		wp_topo_done(&f->topo);
}
