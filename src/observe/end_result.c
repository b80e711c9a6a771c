/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end_result.c - what one end has seen, as the record has it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "observe/end_inside.h"
#include "stats/jain.h"
#include "sys/cpufreq.h"
#include "sys/topo.h"

/* ---- the result ------------------------------------------------------------------------------- */

static int put_seen(const struct wp_seen_cpus *s, struct wp_ints *ret, struct wp_pool *pool)
{
	ret->v = wp_pool_calloc(pool, s->n, sizeof(int));
	if (s->n && !ret->v)
		return -ENOMEM;
	if (s->n)
		memcpy(ret->v, s->cpu, s->n * sizeof(int));
	ret->n = s->n;
	return 0;
}

const char *wp_cpu_distance(int a, int b)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum wp_topo_distance d = WP_TOPO_UNKNOWN;
	struct wp_topo topo;

	if (root < 0 || wp_topo_read(root, true, &topo, NULL))
		return NULL;
	d = wp_topo_distance(&topo, a, b);
	wp_topo_done(&topo);
	return d == WP_TOPO_UNKNOWN ? NULL : wp_topo_distance_name(d);
}

static int put_placement(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	const struct wp_cpulist *asked = e->spec.cpus;
	int r = put_seen(&e->app_cpus, &host->observed_app_cpus, pool);

	if (!r)
		r = put_seen(&e->rx_cpus, &host->observed_rx_cpus, pool);
	if (!r && e->app_cpus.n && e->rx_cpus.n)
		host->app_to_rx = wp_cpu_distance(e->app_cpus.cpu[0], e->rx_cpus.cpu[0]);
	if (r || !asked || !asked->n)
		return r;
	host->asked_app_cpus.v = wp_pool_calloc(pool, asked->n, sizeof(int));
	if (!host->asked_app_cpus.v)
		return -ENOMEM;
	memcpy(host->asked_app_cpus.v, asked->cpu, asked->n * sizeof(int));
	host->asked_app_cpus.n = asked->n;
	return 0;
}

static int put_threads(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	size_t n = wp_load_threads(e->load);
	struct wp_num cpu_s = wp_num(0);

	host->threads = wp_pool_calloc(pool, n, sizeof(*host->threads));
	if (!host->threads)
		return -ENOMEM;
	host->n_threads = n;
	for (size_t i = 0; i < n; i++) {
		struct wp_thread_use *t = &host->threads[i];
		struct wp_num wall = wp_num((double)(e->last_row_ns - e->start_ns) / 1e9);

		wp_load_thread_use(e->load, i, t);
		t->migrations = wp_num(e->migrations[i]);
		t->cpu_pct = wp_num_ratio(t->cpu_s, wall, 100);
		t->run_delay_pct = wp_num_ratio(t->run_delay_s, wall, 100);
		cpu_s = wp_has(cpu_s) && wp_has(t->cpu_s) ? wp_num(cpu_s.v + t->cpu_s.v) : t->cpu_s;
		if (wp_has(t->asked_cpu) && e->thread_cpu[i] >= 0 &&
		    (int)t->asked_cpu.v != e->thread_cpu[i] && !host->placement_note)
			host->placement_note = wp_pool_printf(
				pool, "CPU %d was asked for but thread %zu ran on CPU %d",
				(int)t->asked_cpu.v, i, e->thread_cpu[i]);
	}
	host->app_cpu_s = cpu_s;
	return 0;
}

/* The CPUs of the thread that moved flow `i`. */
static void put_flow_cpu(struct wp_end *e, size_t i, const struct wp_stream_count *count,
			 struct wp_flow *f)
{
	int cpu = e->thread_cpu[count->thread];
	struct wp_num n = cpu >= 0 ? wp_num(cpu) : wp_absent("the run was too short to look");

	if (e->flows[i].role == WP_STREAM_SENDS) {
		f->send_cpu = n;
		return;
	}
	f->receive_cpu = n;
	f->receive_softirq_cpu = e->flows[i].incoming_cpu >= 0
					 ? wp_num(e->flows[i].incoming_cpu)
					 : wp_absent("SO_INCOMING_CPU knows none");
}

/* What all of this end's flows moved. */
struct moved {
	double bytes, packets, transactions;
};

static int put_flows(struct wp_end *e, struct wp_flow *flows, struct wp_pool *pool,
		     struct moved *ret)
{
	*ret = (struct moved) { 0 };
	for (size_t i = 0; i < e->n_flows; i++) {
		struct wp_stream_count count;
		int r;

		wp_end_count(e, i, &count);
		r = wp_flow_watch_result(&e->flows[i], &count, &flows[i], pool);
		if (r)
			return r;
		put_flow_cpu(e, i, &count, &flows[i]);
		ret->bytes += (double)count.bytes;
		ret->packets += (double)count.packets;
		ret->transactions += (double)count.transactions;
	}
	return 0;
}

/* Read just after the run, while the CPUs are still at the speed of the run. */
static void put_frequencies(struct wp_host *host)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < host->n_cpus; i++) {
		uint64_t khz;
		int r = root < 0 ? -ENOENT
				 : wp_cpufreq_now_khz(root, (int)host->cpus[i].cpu.v, &khz);

		if (!r)
			host->cpus[i].frequency_mhz = wp_num((double)khz / 1000);
		else
			host->cpus[i].frequency_mhz =
				wp_absent(r == -ENOENT ? "this kernel has no cpufreq for the CPU"
						       : "scaling_cur_freq can't be read");
	}
}

static void put_sampling_note(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	struct wp_sampler_cost cost;

	wp_sampler_cost(e->sampler, &cost);
	if (cost.slowdowns)
		host->sampling_note = wp_pool_printf(
			pool,
			"reading the kernel's counters is slow here: every %.0f ms instead of every %.0f ms",
			(double)cost.interval_ns / 1e6, (double)cost.asked_interval_ns / 1e6);
	else if (cost.reset_counters)
		host->sampling_note = wp_pool_printf(
			pool, "%u network counters were reset during the run and left out",
			cost.reset_counters);
	else
		host->sampling_note = cost.note;
}

/* ---- distributions ---------------------------------------------------------------------------- */

static const char *hist_name(enum wp_load_hist which)
{
	static const char *const names[WP_LOAD_HIST_N] = {
		[WP_HIST_LATENCY] = "latency", [WP_HIST_SEND_GAP] = "send_gap",
		[WP_HIST_DELAY] = "delay",     [WP_HIST_WRITE] = "write",
		[WP_HIST_SYNC] = "fsync",
	};

	return names[which];
}

/* What to know about the values, and about what the warm-up did to them. */
static const char *hist_note(const struct wp_end *e, enum wp_load_hist which, bool cut,
			     struct wp_pool *pool)
{
	static const char bounds[] =
		"smallest and largest are good to 0.8 %: they are of the buckets without the warm-up";
	const char *note = NULL;

	if (which == WP_HIST_LATENCY && e->plan->rate_mhz)
		note = "from when each request was due";
	else if (which == WP_HIST_DELAY)
		note = "one-way, less the smallest of its stream: the ends' clocks differ";
	else if (which == WP_HIST_WRITE)
		note = "of a whole block, waiting included; writes below 25 us were timed in groups of about that "
		       "length: each counts with their mean, but for the one that held a group up";
	if (!cut)
		return note;
	return note ? wp_pool_printf(pool, "%s; %s", note, bounds) : bounds;
}

/* One distribution of the measured window; `all` is scratch. */
static int put_hist(struct wp_end *e, enum wp_load_hist which, struct wp_hist *all,
		    struct wp_host *host, struct wp_pool *pool)
{
	struct wp_histogram *h = &host->histograms[host->n_histograms];
	bool cut = e->warm_up[which].n > 0;
	int r;

	wp_hist_reset(all);
	wp_load_hist(e->load, which, all);
	if (cut && wp_hist_difference(all, &e->warm_up[which], all))
		return -EINVAL;
	if (!all->n) /* this end's streams have none: they are of the other role, or not paced */
		return 0;
	r = wp_histogram_from(all, hist_name(which), h, pool);
	if (r)
		return r;
	h->note = hist_note(e, which, cut, pool);
	host->n_histograms++;
	return 0;
}

static int put_hists(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	struct wp_hist all;
	int r;

	if (!e->spec.engine->hists)
		return 0;
	host->histograms = wp_pool_calloc(pool, WP_LOAD_HIST_N, sizeof(*host->histograms));
	r = host->histograms ? wp_hist_init(&all, WP_RECORD_HIST_BITS, NULL) : -ENOMEM;
	if (r)
		return r;
	for (int i = 0; i < WP_LOAD_HIST_N && !r; i++)
		if (e->spec.engine->hists & 1u << i)
			r = put_hist(e, (enum wp_load_hist)i, &all, host, pool);
	wp_hist_done(&all);
	return r;
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* CPU time of the threads that moved the load, for each unit of it. */
static void put_costs(const struct wp_end *e, const struct moved *moved, struct wp_host *host)
{
	unsigned caps = e->spec.engine->caps;

	host->cost_us_per_kb =
		moved->bytes > 0 ? wp_num_ratio(host->app_cpu_s, wp_num(moved->bytes / 1024), 1e6)
				 : wp_absent("no byte was moved");
	if (caps & WP_ENGINE_DATAGRAMS)
		host->cost_us_per_packet =
			moved->packets > 0
				? wp_num_ratio(host->app_cpu_s, wp_num(moved->packets), 1e6)
				: wp_absent("no packet was moved");
	if (!(caps & WP_ENGINE_TRANSACTIONS))
		host->cost_us_per_transaction = wp_absent("not a request/response test");
	else
		host->cost_us_per_transaction =
			moved->transactions > 0
				? wp_num_ratio(host->app_cpu_s, wp_num(moved->transactions), 1e6)
				: wp_absent("no transaction was completed");
}

/* Over the connections of a request/response test: their transactions in the whole run. */
static struct wp_num connection_fairness(const struct wp_end *e)
{
	_cleanup_free_ double *each = calloc(e->spec.n_streams, sizeof(*each));
	double jain;

	if (!each)
		return wp_absent("out of memory");
	if (e->spec.n_streams < 2)
		return wp_absent("one connection only");
	for (size_t i = 0; i < e->spec.n_streams; i++) {
		struct wp_stream_count count;

		wp_load_count(e->load, i, &count);
		each[i] = (double)count.transactions;
	}
	return wp_jain_index(each, e->spec.n_streams, &jain)
		       ? wp_absent("no transaction was completed")
		       : wp_num(jain);
}

int wp_end_recount(struct wp_end *e, struct wp_host *host, struct wp_pool *pool)
{
	if (e->path)
		return wp_path_watch_result(e->path, host, pool);
	if (e->plan->transport == WP_UDP)
		host->path_note = "the other end's address is not known";
	return 0;
}

int wp_end_result(struct wp_end *e, struct wp_host *host, struct wp_flow *flows,
		  struct wp_pool *pool)
{
	struct moved moved;
	int r = put_flows(e, flows, pool, &moved);

	if (!r && e->writer)
		r = wp_writer_watch_result(e->writer, &flows[0], pool);
	if (!r)
		r = put_threads(e, host, pool);
	if (!r)
		r = put_placement(e, host, pool);
	if (!r)
		r = wp_sampler_result(e->sampler, host, pool);
	if (!r)
		r = put_hists(e, host, pool);
	if (!r)
		r = wp_end_recount(e, host, pool);
	if (!r && e->stalls)
		r = wp_stall_watch_result(e->stalls, host, pool);
	if (r)
		return r;
	if (e->spec.engine->caps & WP_ENGINE_TRANSACTIONS && e->sends)
		flows[0].connection_fairness = connection_fairness(e);
	wp_soak_result(&e->soak, wp_now_ns(), host);
	if (e->hogs && e->hogs_ns > 0)
		host->hog_cpu_pct =
			wp_num(100.0 * (double)wp_hogs_cpu_ns(e->hogs) / (double)e->hogs_ns);
	put_frequencies(host);
	put_sampling_note(e, host, pool);
	put_costs(e, &moved, host);
	return 0;
}
