/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_host.c - the machine: what the hypervisor takes, caches that are far, and what makes the figures themselves
 * doubtful (notes: share 0). */
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define STEAL_SURE_PCT 5.0
#define FAR_SHARE_PCT  15.0 /* what another cache or node costs typically: 15 to 40 % */
#define SHORT_S        0.5
#define SHORT_BYTES    (1024.0 * 1024)

static const struct wp_side *side_at(const struct wp_facts *f, int i)
{
	return i ? &f->receiver : &f->sender;
}

enum wp_rule_answer wp_rule_steal(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *worst = NULL;
	const char *at;

	if (!f->sender.use && !f->receiver.use)
		return wp_lacks(f, ret, "what the CPUs of the threads did", wp_absent(NULL));
	for (int i = 0; i < 2; i++) {
		const struct wp_side *s = side_at(f, i);

		if (s->use && wp_num_or(s->use->steal_pct, 0) >= WP_STEAL_PCT &&
		    (!worst || s->use->steal_pct.v > worst->use->steal_pct.v))
			worst = s;
	}
	if (!worst)
		return WP_RULE_NO;
	at = wp_pool_printf(f->pool, "%s.cpu%d", worst->word, (int)worst->cpu.v);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "steal_pct", worst->use->steal_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "busy_pct", worst->use->busy_pct);
	wp_advise(
		f, ret,
		"measure again when the host of this virtual machine is quieter; repeat and compare ranges");
	return wp_find(f, ret, worst->use->steal_pct.v,
		       wp_confidence(worst->use->steal_pct.v >= STEAL_SURE_PCT, -1),
		       "the hypervisor took %.1f %% of CPU %d, where the %s ran",
		       worst->use->steal_pct.v, (int)worst->cpu.v, worst->word);
}

/* host.app_to_rx names the nearest thing that the two CPUs have in common. */
static bool is_far(const char *distance)
{
	static const char *const far[] = { "same package", "same machine", "other",
					   "different",    "remote",       "same node",
					   "same socket" };

	for (size_t i = 0; distance && i < sizeof(far) / sizeof(far[0]); i++)
		if (!strncmp(distance, far[i], strlen(far[i])))
			return true;
	return false;
}

enum wp_rule_answer wp_rule_far_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *s = NULL;

	for (int i = 0; i < 2; i++)
		if (side_at(f, i)->host && is_far(side_at(f, i)->host->app_to_rx))
			s = side_at(f, i);
	if (!s) {
		if (!f->receiver.host || !f->receiver.host->app_to_rx)
			return wp_lacks(
				f, ret,
				"how far the receiver's CPU is from the one that serves its packets",
				wp_absent(NULL));
		return WP_RULE_NO;
	}
	wp_evidence(f, ret, s->word, WP_SCOPE_FLOW, "receive_cpu", s->cpu);
	wp_evidence(f, ret, s->word, WP_SCOPE_FLOW, "receive_softirq_cpu", s->rx_cpu);
	if (wp_has(s->rx_cpu)) {
		const char *option = s->host == &f->run->hosts[0] ? "cpu" : "peer-cpu";

		wp_advise_command(f, ret, option, "--%s %d", option, (int)s->rx_cpu.v);
	}
	return wp_find(
		f, ret, FAR_SHARE_PCT, "low",
		"the %s's thread is far from the CPU that serves its packets (%s): data crosses between caches",
		s->word, s->host->app_to_rx);
}

/* ---- notes ------------------------------------------------------------------------------------ */

enum wp_rule_answer wp_rule_sampler(const struct wp_facts *f, struct wp_finding *ret)
{
	for (int i = 0; i < 2; i++) {
		const struct wp_side *s = side_at(f, i);

		if (!s->host || wp_num_or(s->host->self_cpu_pct, 0) <= WP_SELF_PCT)
			continue;
		wp_evidence(f, ret, s->word, WP_SCOPE_HOST, "self_cpu_pct", s->host->self_cpu_pct);
		wp_evidence(f, ret, s->word, WP_SCOPE_HOST, "sample_interval_s",
			    s->host->sample_interval_s);
		wp_advise_command(f, ret, "sample", "--sample 1");
		return wp_find(
			f, ret, 0, "high",
			"whyperf's own sampling took %.1f %% of a CPU at the %s: sample less often",
			s->host->self_cpu_pct.v, s->word);
	}
	return WP_RULE_NO;
}

static enum wp_rule_answer say_accounting(const struct wp_facts *f, const char *word,
					  const struct wp_cpu_use *u, struct wp_finding *ret)
{
	bool hidden = !strcmp(u->trust, "hidden");
	const char *at = wp_pool_printf(f->pool, "%s.cpu%d", word, (int)wp_num_or(u->cpu, 0));

	wp_evidence(f, ret, at, WP_SCOPE_CPU, "sum_pct", u->sum_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "busy_pct", u->busy_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "softirq_pct", u->softirq_pct);
	return wp_find(
		f, ret, 0, "high",
		"the kernel's account of CPU %d adds up to %.0f %% of the time: %s; busy is right, how it divides "
		"into user, system and softirq is not",
		(int)wp_num_or(u->cpu, 0), wp_num_or(u->sum_pct, 0),
		hidden ? "interrupt work is hidden from it" : "some time was counted twice");
}

enum wp_rule_answer wp_rule_accounting(const struct wp_facts *f, struct wp_finding *ret)
{
	for (int i = 0; i < 2; i++) {
		const struct wp_side *s = side_at(f, i);
		const struct wp_cpu_use *uses[2] = { s->use, NULL };

		if (s->cpus && wp_has(s->rx_cpu))
			uses[1] = wp_host_cpu(s->cpus, (int)s->rx_cpu.v);
		for (int k = 0; k < 2; k++)
			if (uses[k] && uses[k]->trust &&
			    (!strcmp(uses[k]->trust, "hidden") ||
			     !strcmp(uses[k]->trust, "doubled")))
				return say_accounting(f, s->word, uses[k], ret);
	}
	return WP_RULE_NO;
}

enum wp_rule_answer wp_rule_short_run(const struct wp_facts *f, struct wp_finding *ret)
{
	bool little = f->kind == WP_KIND_TCP && f->bytes < SHORT_BYTES;
	char bytes[32];

	if (f->seconds <= 0 || (f->seconds >= SHORT_S && !little))
		return WP_RULE_NO;
	wp_format_bytes(f->bytes, bytes, sizeof(bytes));
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "seconds", wp_num(f->seconds));
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "bytes", wp_num(f->bytes));
	wp_advise_command(f, ret, "time t bytes n blocks k", "-t 10");
	return wp_find(
		f, ret, 0, "high",
		"the run is short (%.2f s, %s): start-up weighs in its figures, and CPU shares are coarse",
		f->seconds, bytes);
}

enum wp_rule_answer wp_rule_slow_clock(const struct wp_facts *f, struct wp_finding *ret)
{
	for (int i = 0; i < 2; i++) {
		const struct wp_side *s = side_at(f, i);

		if (!s->host || wp_num_or(s->host->inventory.clock_read_ns, 0) <= WP_SLOW_CLOCK_NS)
			continue;
		wp_evidence(f, ret, s->word, WP_SCOPE_INVENTORY, "clock_read_ns",
			    s->host->inventory.clock_read_ns);
		wp_advise(f, ret, "look at the clock source: whyperf doctor");
		return wp_find(
			f, ret, 0, "medium",
			"reading the clock costs %.0f ns at the %s (clock source %s): timestamps and pacing are "
			"slow",
			s->host->inventory.clock_read_ns.v, s->word,
			s->host->inventory.clocksource ? s->host->inventory.clocksource
						       : "unknown");
	}
	return WP_RULE_NO;
}
