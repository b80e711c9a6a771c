/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_write.c - what a writer's time went into, over the whole run: its writes, its CPU's other work, the reader at the
 * other end, the disk, the rate asked for. The shares are measured and add up to 100. */
#include <string.h>

#include "base/units.h"
#include "explain/pause.h"
#include "explain/say.h"

#define WORTH_PCT    5.0  /* of the time */
#define SURE_PCT     50.0 /* most of it */
#define FULL_PCT     90.0
#define RATE_KEPT    0.95
#define SMALL_BYTES  8192.0
#define LARGE_WRITES "-l 64K"

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static const struct wp_flow *flow_of(const struct wp_facts *f)
{
	return &f->run->flows[0];
}

/* The longest pause of a cause, which may name who was behind it; NULL. */
static const struct wp_pause_view *pause_of(const struct wp_facts *f, const char *cause)
{
	const struct wp_flow *w = flow_of(f);

	for (size_t i = 0; i < w->n_pauses; i++)
		if (is(w->pauses[i].cause, cause))
			return &w->pauses[i];
	return NULL;
}

static bool on_disk(const struct wp_facts *f)
{
	const char *type = f->run->test.file_type;

	return is(type, "file") || is(type, "block device");
}

static const char *sure(double pct)
{
	return pct >= SURE_PCT ? "high" : "medium";
}

enum wp_rule_answer wp_rule_write_reader(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num waited = flow_of(f)->sent.taker_wait_pct;
	const struct wp_pause_view *p = pause_of(f, WP_PAUSE_READER);
	double own = wp_num_or(f->sender.delay_pct, 0);
	const char *who;

	if (!wp_has(waited))
		return wp_lacks(f, ret, "how long it waited for the other end", waited);
	/* Woken up, it may still wait for its CPU. */
	own = waited.v > own ? waited.v - own : 0;
	if (own < WORTH_PCT)
		return WP_RULE_NO;
	who = flow_of(f)->taker ? flow_of(f)->taker : p && p->taker ? p->taker : NULL;
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "taker_wait_pct", waited);
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "run_delay_pct", f->sender.delay_pct);
	if (p)
		wp_evidence(f, ret, "reader", WP_SCOPE_PAUSE, "taker_run_pct", p->taker_run_pct);
	return wp_find(
		f, ret, own, sure(own),
		"the other end takes it more slowly than it is written%s%s%s: for %.0f %% of the time there was no "
		"room%s%s",
		who ? " (" : "", who ? who : "", who ? ")" : "", waited.v,
		p && p->says ? "; the longest time: " : "", p && p->says ? p->says : "");
}

enum wp_rule_answer wp_rule_write_run_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_pause_view *p = pause_of(f, WP_PAUSE_OFF_CPU),
				   *quota = pause_of(f, WP_PAUSE_QUOTA);
	double delay = wp_num_or(f->sender.delay_pct, 0);

	if (!wp_has(f->sender.delay_pct))
		return wp_lacks(f, ret, "how long the thread waited for a CPU",
				f->sender.delay_pct);
	if (delay < WORTH_PCT)
		return WP_RULE_NO;
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "run_delay_pct", f->sender.delay_pct);
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	if (f->sender.thread)
		wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "involuntary_switches",
			    f->sender.thread->involuntary_switches);
	if (p)
		wp_evidence(f, ret, "writer", WP_SCOPE_PAUSE, "ran_there_pct", p->ran_there_pct);
	if (quota && !p)
		return wp_find(
			f, ret, delay, sure(delay),
			"the control group's CPU quota held the writer %.0f %% of the time: it was able to run "
			"and was not let",
			delay);
	wp_advise(
		f, ret,
		"see what else runs: ps -eLo psr,pcpu,pid,comm --sort=-pcpu | head, or another --cpu");
	if (p && p->ran_there)
		return wp_find(
			f, ret, delay, sure(delay),
			"the writer was able to run but waited %.0f %% of the time for a CPU that others use, %s among them",
			delay, p->ran_there);
	return wp_find(
		f, ret, delay, sure(delay),
		"the writer was able to run but waited %.0f %% of the time for a CPU that others use",
		delay);
}

enum wp_rule_answer wp_rule_write_fsync(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_flow_end *e = &flow_of(f)->sent;
	const struct wp_histogram *h = wp_host_histogram(&f->run->hosts[0], "fsync");
	char median[32] = "", longest[32] = "";

	if (wp_num_or(e->syncs, 0) < 1 || wp_num_or(e->sync_pct, 0) < WORTH_PCT)
		return WP_RULE_NO;
	if (h && wp_has(h->p50_us) && wp_has(h->max_us)) {
		wp_format_ns(h->p50_us.v * 1e3, median, sizeof(median));
		wp_format_ns(h->max_us.v * 1e3, longest, sizeof(longest));
	}
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "sync_pct", e->sync_pct);
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "syncs", e->syncs);
	if (is(f->run->test.fsync_policy, "each"))
		wp_advise_command(f, ret, "fsync", "--fsync 16M");
	return wp_find(f, ret, e->sync_pct.v, "high",
		       "the disk: %.0f %% of the time went into %.0f call%s of fsync(2)%s%s%s%s",
		       e->sync_pct.v, e->syncs.v, e->syncs.v == 1 ? "" : "s",
		       *median ? ", median " : "", median, *median ? ", longest " : "", longest);
}

/* Neither running nor waiting for anything that has a clock of its own: asleep in the call. */
static struct wp_num asleep_pct(const struct wp_facts *f)
{
	const struct wp_flow_end *e = &flow_of(f)->sent;
	double rest;

	if (!wp_has(f->sender.on_cpu_pct) || !wp_has(f->sender.delay_pct))
		return wp_has(f->sender.on_cpu_pct) ? f->sender.delay_pct : f->sender.on_cpu_pct;
	rest = 100 - f->sender.on_cpu_pct.v - f->sender.delay_pct.v -
	       wp_num_or(e->taker_wait_pct, 0) - wp_num_or(e->sync_pct, 0) -
	       wp_num_or(e->paced_pct, 0);
	return wp_num(rest > 0 ? rest : 0);
}

enum wp_rule_answer wp_rule_write_storage(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num asleep = asleep_pct(f);
	const struct wp_pause_view *p = pause_of(f, WP_PAUSE_STORAGE);
	bool direct =
		wp_num_or(f->run->test.direct, 0) > 0 || wp_num_or(f->run->test.o_sync, 0) > 0;

	if (!on_disk(f))
		return WP_RULE_NO;
	if (!wp_has(asleep))
		return wp_lacks(f, ret, "the CPU use of the writer", asleep);
	if (asleep.v < WORTH_PCT)
		return WP_RULE_NO;
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	if (f->sender.thread)
		wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "voluntary_switches",
			    f->sender.thread->voluntary_switches);
	if (p) {
		wp_evidence(f, ret, "writer", WP_SCOPE_PAUSE, "io_pressure_pct",
			    p->io_pressure_pct);
		wp_evidence(f, ret, "writer", WP_SCOPE_PAUSE, "dirty_bytes", p->dirty_bytes);
	}
	return wp_find(
		f, ret, asleep.v, p || direct ? "high" : "medium",
		"the storage: for %.0f %% of the time the writer slept in the write call%s%s%s",
		asleep.v,
		direct ? ", which waits for the disk"
		       : ": the kernel makes who dirties the page cache wait for the disk",
		p && p->says ? "; the longest time: " : "", p && p->says ? p->says : "");
}

enum wp_rule_answer wp_rule_write_pace(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_flow_end *e = &flow_of(f)->sent;
	struct wp_num target = f->run->test.target_bps;
	char asked[48], got[48];

	if (!wp_has(target) || target.v <= 0 || !wp_has(e->bits_per_second))
		return WP_RULE_NO;
	if (e->bits_per_second.v < RATE_KEPT * target.v && wp_num_or(e->paced_pct, 0) < WORTH_PCT)
		return WP_RULE_NO;
	wp_format_bps(target.v, asked, sizeof(asked));
	wp_format_bps(e->bits_per_second.v, got, sizeof(got));
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "target_bps", target);
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "paced_pct", e->paced_pct);
	wp_advise_command(f, ret, "bitrate b", "%s", "");
	if (e->bits_per_second.v >= RATE_KEPT * target.v)
		return wp_find(f, ret, 100, "high",
			       "it writes as fast as asked and no faster: %s with -b, reached %s",
			       asked, got);
	return wp_find(
		f, ret, e->paced_pct.v, "high",
		"the rate asked for, %s with -b, left the writer idle %.0f %% of the time; it reached %s because "
		"pauses are not made up for",
		asked, e->paced_pct.v, got);
}

enum wp_rule_answer wp_rule_write_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_flow_end *e = &flow_of(f)->sent;
	const struct wp_side *s = &f->sender;
	double each_us;
	char each[32];

	if (!wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret, "the CPU use of the writer", s->on_cpu_pct);
	if (s->on_cpu_pct.v < WORTH_PCT || wp_num_or(e->calls, 0) < 1 || !wp_has(e->seconds) ||
	    wp_has(f->run->test.target_bps))
		return WP_RULE_NO;
	each_us = s->on_cpu_pct.v / 100 * e->seconds.v * 1e6 / e->calls.v;
	wp_format_ns(each_us * 1e3, each, sizeof(each));
	wp_evidence(f, ret, "writer", WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "mean_call_bytes", e->mean_call_bytes);
	if (s->use) {
		wp_evidence(f, ret, "writer", WP_SCOPE_CPU, "user_pct", s->use->user_pct);
		wp_evidence(f, ret, "writer", WP_SCOPE_CPU, "system_pct", s->use->system_pct);
	}
	if (wp_num_or(e->mean_call_bytes, SMALL_BYTES) < SMALL_BYTES)
		wp_advise_command(f, ret, "length l", LARGE_WRITES);
	return wp_find(
		f, ret, s->on_cpu_pct.v, s->on_cpu_pct.v >= FULL_PCT ? "high" : "medium",
		"the writes themselves: %s of CPU time a call of %.0f bytes%s; the thread ran %.0f %% of the time",
		each, wp_num_or(e->mean_call_bytes, 0),
		is(f->run->test.file_type, "null device")
			? ", which /dev/null throws away: the figure is what a system call costs"
			: "",
		s->on_cpu_pct.v);
}

enum wp_rule_answer wp_rule_page_cache(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_test *t = &f->run->test;

	if (!is(t->file_type, "file") || wp_num_or(t->direct, 0) > 0 ||
	    wp_num_or(t->o_sync, 0) > 0 || !is(t->fsync_policy, "never"))
		return WP_RULE_NO;
	wp_evidence(f, ret, "writer", WP_SCOPE_END, "bytes", flow_of(f)->sent.bytes);
	wp_advise_command(f, ret, "fsync", "--fsync end");
	return wp_find(
		f, ret, 0, "high",
		"the rate is that of the page cache: nothing waited for the disk to have it");
}
