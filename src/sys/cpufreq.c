/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/cpufreq.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"

#define CPU_DIR        "sys/devices/system/cpu"
#define KINDS_MAX      6  /* different governors on one machine */
#define IDLE_STATE_MAX 10 /* CPUIDLE_STATE_MAX in include/linux/cpuidle.h */

/* Counts how many CPUs have which word. */
struct tally {
	struct {
		const char *word;
		unsigned cpus;
	} kind[KINDS_MAX];
	unsigned n;
};

static void tally_add(struct tally *t, const struct wp_maybe_text *word)
{
	if (word->state != WP_VALUE)
		return;
	for (unsigned i = 0; i < t->n; i++)
		if (!strcmp(t->kind[i].word, word->v)) {
			t->kind[i].cpus++;
			return;
		}
	if (t->n == KINDS_MAX)
		return;
	t->kind[t->n].word = word->v;
	t->kind[t->n++].cpus = 1;
}

static struct wp_maybe_text tally_text(const struct tally *t, struct wp_pool *pool, const char *why)
{
	char out[256];
	size_t at = 0;

	if (!t->n)
		return wp_no_text(why);
	if (t->n == 1)
		return wp_some_text(t->kind[0].word);
	for (unsigned i = 0; i < t->n && at < sizeof(out); i++) {
		int n = snprintf(out + at, sizeof(out) - at, "%s%.40s (%u CPUs)", i ? ", " : "",
				 t->kind[i].word, t->kind[i].cpus);

		at += n > 0 ? (size_t)n : 0;
	}
	return wp_some_text(wp_pool_strdup(pool, out));
}

static void lowest(struct wp_maybe_int *acc, struct wp_maybe_int v)
{
	if (v.state == WP_VALUE && (acc->state != WP_VALUE || v.v < acc->v))
		*acc = v;
}

static void highest(struct wp_maybe_int *acc, struct wp_maybe_int v)
{
	if (v.state == WP_VALUE && (acc->state != WP_VALUE || v.v > acc->v))
		*acc = v;
}

static struct wp_maybe_int freq_file(int rootfd, struct wp_pool *pool, int cpu, const char *name)
{
	return wp_read_int(rootfd, pool, CPU_DIR "/cpu%d/cpufreq/%s", cpu, name);
}

static void read_turbo(int rootfd, struct wp_pool *pool, struct wp_cpufreq *f)
{
	struct wp_maybe_int no_turbo = wp_read_int(rootfd, pool, CPU_DIR "/intel_pstate/no_turbo");

	if (no_turbo.state == WP_VALUE)
		f->turbo = wp_some_int(!no_turbo.v);
	else
		f->turbo = wp_read_int(rootfd, pool, CPU_DIR "/cpufreq/boost");
	if (f->turbo.state != WP_VALUE)
		f->turbo = wp_no_int("the cpufreq driver has no boost switch");
	f->driver_mode = wp_read_text(rootfd, pool, CPU_DIR "/intel_pstate/status");
	if (f->driver_mode.state != WP_VALUE)
		f->driver_mode = wp_read_text(rootfd, pool, CPU_DIR "/amd_pstate/status");
	if (f->driver_mode.state != WP_VALUE)
		f->driver_mode = wp_no_text("neither intel_pstate nor amd_pstate");
}

void wp_cpufreq_read(int rootfd, const struct wp_cpulist *online, struct wp_pool *pool,
		     struct wp_cpufreq *ret)
{
	static const char none[] = "no cpufreq driver (usual in a virtual machine)";
	struct tally governors = { 0 }, preferences = { 0 };
	struct wp_cpufreq f = {
		.driver = wp_no_text(none),
		.driver_mode = wp_no_text(none),
		.slow_cpus = wp_no_int(none),
		.min_khz = wp_no_int(none),
		.max_khz = wp_no_int(none),
		.hardware_max_khz = wp_no_int(none),
		.current_min_khz = wp_no_int(none),
		.current_max_khz = wp_no_int(none),
		.turbo = wp_no_int(none),
	};
	int64_t slow = 0;

	for (size_t i = 0; i < online->n; i++) {
		int cpu = online->cpu[i];
		struct wp_maybe_text g =
			wp_read_text(rootfd, pool, CPU_DIR "/cpu%d/cpufreq/scaling_governor", cpu);
		struct wp_maybe_text e;

		if (g.state != WP_VALUE)
			continue;
		slow += !wp_maybe_is(&g, "performance") && !wp_maybe_is(&g, "userspace");
		tally_add(&governors, &g);
		e = wp_read_text(rootfd, pool,
				 CPU_DIR "/cpu%d/cpufreq/energy_performance_preference", cpu);
		tally_add(&preferences, &e);
		if (f.driver.state != WP_VALUE)
			f.driver = wp_read_text(rootfd, pool,
						CPU_DIR "/cpu%d/cpufreq/scaling_driver", cpu);
		lowest(&f.min_khz, freq_file(rootfd, pool, cpu, "scaling_min_freq"));
		highest(&f.max_khz, freq_file(rootfd, pool, cpu, "scaling_max_freq"));
		highest(&f.hardware_max_khz, freq_file(rootfd, pool, cpu, "cpuinfo_max_freq"));
		lowest(&f.current_min_khz, freq_file(rootfd, pool, cpu, "scaling_cur_freq"));
		highest(&f.current_max_khz, freq_file(rootfd, pool, cpu, "scaling_cur_freq"));
	}
	f.governor = tally_text(&governors, pool, none);
	f.energy_preference = tally_text(&preferences, pool, "the driver has no energy preference");
	if (governors.n) {
		f.slow_cpus = wp_some_int(slow);
		read_turbo(rootfd, pool, &f);
	}
	*ret = f;
}

void wp_cpuidle_read(int rootfd, const struct wp_cpulist *online, struct wp_pool *pool,
		     struct wp_cpuidle *ret)
{
	static const char none[] = "no idle states (usual in a virtual machine)";
	int cpu = online->n ? online->cpu[0] : 0;
	struct wp_cpuidle c = {
		.deepest = wp_no_text(none),
		.deepest_exit_us = wp_no_int(none),
	};

	c.driver = wp_read_text(rootfd, pool, CPU_DIR "/cpuidle/current_driver");
	c.governor = wp_read_text(rootfd, pool, CPU_DIR "/cpuidle/current_governor_ro");
	if (c.governor.state != WP_VALUE)
		c.governor = wp_read_text(rootfd, pool, CPU_DIR "/cpuidle/current_governor");
	for (int s = 0; s < IDLE_STATE_MAX; s++) {
		struct wp_maybe_int exit_us =
			wp_read_int(rootfd, pool, CPU_DIR "/cpu%d/cpuidle/state%d/latency", cpu, s);
		struct wp_maybe_int disabled =
			wp_read_int(rootfd, pool, CPU_DIR "/cpu%d/cpuidle/state%d/disable", cpu, s);

		if (exit_us.state != WP_VALUE)
			break;
		if (disabled.state == WP_VALUE && disabled.v)
			continue;
		c.deepest_exit_us = exit_us;
		c.deepest =
			wp_read_text(rootfd, pool, CPU_DIR "/cpu%d/cpuidle/state%d/name", cpu, s);
	}
	*ret = c;
}

int wp_cpufreq_now_khz(int rootfd, int cpu, uint64_t *ret)
{
	char path[96], line[32];
	int r;

	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
	r = wp_read_line_at(rootfd, path, line, sizeof(line));
	return r ? r : wp_parse_u64(line, ret);
}
