/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of doctor: kernel, CPUs, clock, frequency, virtualisation, interrupts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/units.h"
#include "explain/doctor_check.h"
#include "observe/inventory.h"

#define STEAL_NOTE_PPM    10000 /* 1 % of all time since boot */
#define STEAL_BAD_PPM     50000
#define IDLE_EXIT_WARN_US 50 /* several times a wake-up of a thread */
#define IDLE_EXIT_NOTE_US 10
#define NODES_SHOWN       4

#define SAY_TEXT(field) wp_doctor_say_text(c, l, &c->f->field)

static void check_kernel(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_sys_host *h = &c->f->host;

	if (h->release.state != WP_VALUE) {
		wp_doctor_missing(l, h->release.why);
		return;
	}
	wp_doctor_say(c, l, "%s%s%s", h->release.v, h->arch.state == WP_VALUE ? ", " : "",
		      wp_maybe_text_or(&h->arch, ""));
}

static void check_os(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	SAY_TEXT(host.os);
}

static void check_preemption(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	if (SAY_TEXT(host.preemption) && wp_maybe_is(&c->f->host.preemption, "PREEMPT_RT"))
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"interrupts run in threads: latency is bounded, throughput lower than on other "
			"kernels",
			"compare only with runs on kernels of the same kind");
}

/* Parameters that change what a measurement sees. */
static const struct {
	const char *name, *value; /* value NULL: any */
	const char *why;
} telling_parameters[] = {
	{ "tsc", "unstable", "the TSC is not used as clock source" },
	{ "clocksource", NULL, "the clock source is forced" },
	{ "nohz", "off", "every CPU takes timer ticks even when idle" },
	{ "idle", "poll", "idle CPUs spin: no wake-up delay, but no turbo and busy siblings" },
	{ "isolcpus", NULL, "the scheduler leaves some CPUs alone" },
	{ "nohz_full", NULL, "some CPUs run without ticks" },
	{ "rcu_nocbs", NULL, "RCU callbacks run on other CPUs" },
	{ "mitigations", "off", "system calls are cheaper than on a default kernel" },
	{ "nopti", NULL, "system calls are cheaper than on a default kernel" },
	{ "threadirqs", NULL, "interrupts run in threads" },
	{ "maxcpus", NULL, "not all CPUs are used" },
	{ "intel_idle.max_cstate", NULL, "deep idle states are off" },
	{ "processor.max_cstate", NULL, "deep idle states are off" },
};

static void check_cmdline(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_text *cmdline = &c->f->host.cmdline;
	char found[512] = "", value[96];
	size_t at = 0;

	if (cmdline->state != WP_VALUE) {
		wp_doctor_missing(l, cmdline->why);
		return;
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(telling_parameters); i++) {
		const char *want = telling_parameters[i].value;
		int n;

		if (wp_cmdline_get(cmdline->v, telling_parameters[i].name, value, sizeof(value)) ||
		    (want && strcmp(want, value)))
			continue;
		n = snprintf(found + at, sizeof(found) - at, "%s%s%s%s: %s", at ? "; " : "",
			     telling_parameters[i].name, value[0] ? "=" : "", value,
			     telling_parameters[i].why);
		if (n < 0 || (size_t)n >= sizeof(found) - at)
			break;
		at += (size_t)n;
	}
	wp_doctor_say(c, l, "%s", at ? found : "nothing that changes measurements");
	if (at)
		wp_doctor_mark(l, WP_DOCTOR_NOTE,
			       "figures differ from those of a kernel with default parameters",
			       "name these parameters beside the figures");
}

static void check_accounting(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_accounting *a = &c->f->accounting;

	wp_doctor_say(c, l, "%s: %s", wp_accounting_name(a->mode), a->evidence);
	if (a->mode == WP_ACCOUNTING_TICKS)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"interrupt and softirq columns are sampled by the timer tick: work that is short or keeps "
			"step with the tick is missed or counted in full; a CPU can look idle while it receives",
			"believe `busy` and `sum`, not the split; a kernel with "
			"CONFIG_IRQ_TIME_ACCOUNTING=y measures instead");
}

static void check_memory(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_sys_host *h = &c->f->host;
	char total[32], available[32];

	if (h->memory_bytes.state != WP_VALUE) {
		wp_doctor_missing(l, h->memory_bytes.why);
		return;
	}
	wp_format_bytes((double)h->memory_bytes.v, total, sizeof(total));
	if (h->memory_available_bytes.state != WP_VALUE) {
		wp_doctor_say(c, l, "%s", total);
		return;
	}
	wp_format_bytes((double)h->memory_available_bytes.v, available, sizeof(available));
	wp_doctor_say(c, l, "%s, %s available, huge pages %s", total, available,
		      wp_maybe_text_or(&h->thp, "unknown"));
	if (h->memory_available_bytes.v < h->memory_bytes.v / 20)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"less than 5 % of memory is available: buffers are reclaimed while the test runs",
			"stop what uses the memory");
}

static void check_model(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const char *model = wp_cpu_model_text(&c->f->host, c->pool);

	if (!model) {
		wp_doctor_missing(l, c->f->host.cpuinfo_why ? c->f->host.cpuinfo_why
							    : "/proc/cpuinfo names no model");
		return;
	}
	wp_doctor_say(c, l, "%s", model);
	if (c->f->host.cpuinfo.n_models > 1)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"CPUs of different speed: a result depends on which of them the scheduler picks",
			"whyperf sweep --cpu all tcp HOST, then fix --cpu and --peer-cpu");
}

static void check_cpus(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_sys_host *h = &c->f->host;

	if (h->cpus_online.state != WP_VALUE) {
		wp_doctor_missing(l, h->cpus_online.why);
		return;
	}
	wp_doctor_say(c, l, "%lld online (%s) of %lld possible", (long long)h->cpus_online.v,
		      h->online.v, (long long)wp_maybe_int_or(&h->cpus_possible, h->cpus_online.v));
	if (!h->cpuinfo_why && h->cpuinfo.cpus < h->cpus_online.v)
		wp_doctor_mark(l, WP_DOCTOR_WARN,
			       wp_doctor_format(
				       c,
				       "/proc/cpuinfo shows only %u of them: something filters it",
				       h->cpuinfo.cpus),
			       "measure on the host, outside the container");
}

static void check_topology(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_topo *t = &c->f->topo;
	char nodes[160] = "", list[48];
	size_t at = 0;
	int shown = 0;

	if (c->f->topo_why || !t->described) {
		wp_doctor_missing(l, c->f->topo_why ? c->f->topo_why
						    : "the kernel describes no topology");
		return;
	}
	for (int node = 0; t->nodes > 1 && node < WP_TOPO_NODES_MAX && shown < NODES_SHOWN;
	     node++) {
		int n;

		wp_topo_format_node(t, node, list, sizeof(list));
		if (!list[0])
			continue;
		n = snprintf(nodes + at, sizeof(nodes) - at, "%s%d=%s", shown ? "; " : " (", node,
			     list);
		if (n < 0 || (size_t)n >= sizeof(nodes) - at - 1)
			break;
		at += (size_t)n;
		shown++;
	}
	if (at)
		snprintf(nodes + at, sizeof(nodes) - at, "%s)",
			 (unsigned)shown < t->nodes ? "; ..." : "");
	wp_doctor_say(c, l, "%u socket%s, %u core%s, %u thread%s a core, %u NUMA node%s%s",
		      t->packages, t->packages == 1 ? "" : "s", t->cores, t->cores == 1 ? "" : "s",
		      t->threads_per_core_max, t->threads_per_core_max == 1 ? "" : "s", t->nodes,
		      t->nodes == 1 ? "" : "s", nodes);
	if (t->nodes > 1)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"sender, receiver and interface on different nodes cost 15 to 40 %",
			"keep both ends on one node (--cpu, --peer-cpu), or sweep over them");
}

/* One thread of each core, as a list for --cpu. */
static void first_threads(const struct wp_topo *t, char *out, size_t size)
{
	_cleanup_free_ int *cpu = calloc(t->n ? t->n : 1, sizeof(*cpu));
	_cleanup_free_ bool *seen = calloc(t->n ? t->n : 1, sizeof(*seen));
	struct wp_cpulist l = { .cpu = cpu };

	for (size_t i = 0; cpu && seen && i < t->n; i++) {
		int core = t->cpus[i].core;

		if (core < 0 || (size_t)core >= t->n || seen[core])
			continue;
		seen[core] = true;
		cpu[l.n++] = t->cpus[i].cpu;
	}
	wp_cpulist_format(&l, out, size);
}

static void check_smt(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_topo *t = &c->f->topo;
	char cpus[64];

	if (c->f->topo_why || !t->described)
		return;
	if (t->threads_per_core_max < 2) {
		wp_doctor_say(c, l, "off");
		return;
	}
	first_threads(t, cpus, sizeof(cpus));
	wp_doctor_say(c, l, "on, one thread of each core: %s", cpus);
	wp_doctor_mark(
		l, WP_DOCTOR_WARN,
		"two busy threads of one core share it: each gets 50 to 70 %, and a busy neighbour "
		"slows the measured one",
		wp_doctor_format(c,
				 "take one thread a core (--cpu and --peer-cpu from %s), or "
				 "echo off > /sys/devices/system/cpu/smt/control",
				 cpus));
}

static void check_caches(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_topo *t = &c->f->topo;
	char l1[32], l2[32], llc[32];

	if (c->f->topo_why || !t->llcs) {
		wp_doctor_missing(l, c->f->topo_why ? c->f->topo_why
						    : "the kernel describes no caches");
		return;
	}
	wp_format_bytes((double)t->l1d_bytes, l1, sizeof(l1));
	wp_format_bytes((double)t->l2_bytes, l2, sizeof(l2));
	wp_format_bytes((double)t->llc_bytes, llc, sizeof(llc));
	if (t->llc_level > 2)
		wp_doctor_say(c, l, "L1d %s, L2 %s, L%u %s (%u of them)", l1, l2, t->llc_level, llc,
			      t->llcs);
	else
		wp_doctor_say(c, l, "L1d %s, L%u %s (%u of them)", l1, t->llc_level, llc, t->llcs);
	if (t->llcs > t->nodes && t->llcs > 1)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"CPUs of one node that do not share a last-level cache pass data through memory",
			"sweep --cpu and --peer-cpu, and say which pair was used");
}

static void check_isolated(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_text *t = &c->f->host.isolated;

	if (!wp_doctor_say_text(c, l, t) || !t->v[0])
		return;
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		"unpinned threads never run there and pinned ones are never moved off: placements that name "
		"these CPUs are not comparable with others",
		wp_doctor_format(c, "use them on purpose (--cpu %s) or not at all", t->v));
}

static void check_nohz_full(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_text *t = &c->f->host.nohz_full;

	if (t->state != WP_VALUE || !t->v[0])
		return;
	wp_doctor_say(c, l, "%s", t->v);
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		"system calls cost more on these CPUs (context tracking), their CPU time is exact",
		"do not mix them with other CPUs in one comparison");
}

static void check_mitigations(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_vulns *v = &c->f->vulns;

	if (!v->n) {
		wp_doctor_missing(l, v->costly.why);
		return;
	}
	if (v->costly.state != WP_VALUE) {
		wp_doctor_say(c, l, "none that slows system calls down");
		return;
	}
	wp_doctor_say(c, l, "%s", v->costly.v);
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		"every system call and interrupt is dearer: small messages and small datagrams suffer most",
		"larger writes (-l), or mitigations=off on a machine that runs nothing untrusted");
}

static void check_quota(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpu_quota *q = &c->f->quota;
	int64_t cpus = wp_doctor_cpus(c);

	if (q->cpus_ppm.state != WP_VALUE) {
		if (!strcmp(q->cpus_ppm.why ? q->cpus_ppm.why : "", "no quota"))
			wp_doctor_say(c, l, "none");
		else
			wp_doctor_missing(l, q->cpus_ppm.why);
		return;
	}
	wp_doctor_say(c, l, "%.2f CPUs (group %s), %lld of %lld periods throttled",
		      (double)q->cpus_ppm.v / 1e6, wp_maybe_text_or(&q->group, "?"),
		      (long long)wp_maybe_int_or(&q->throttled_periods, 0),
		      (long long)wp_maybe_int_or(&q->periods, 0));
	if (cpus && q->cpus_ppm.v >= cpus * 1000000)
		return;
	wp_doctor_mark(
		l, WP_DOCTOR_BAD,
		"when the quota is used up all threads stop until the next period, up to 100 ms: throughput and "
		"latency show the quota, not the path",
		"run outside this group, or lift the quota (cpu.max, docker --cpus)");
}

static void check_autogroup(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_int *on = &c->f->host.autogroup;

	if (on->state != WP_VALUE)
		return; /* a kernel without autogroups */
	wp_doctor_say(c, l, "%s", on->v ? "on" : "off");
	if (on->v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"each session gets an equal share: nice has no effect between two terminals, and "
			"background work in another session takes half of a CPU",
			"keep the machine quiet, or sysctl -w kernel.sched_autogroup_enabled=0");
}

static void check_numa_balancing(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_int *on = &c->f->host.numa_balancing;

	if (on->state != WP_VALUE || c->f->topo.nodes < 2)
		return;
	wp_doctor_say(c, l, "%s", on->v ? "on" : "off");
	if (on->v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"the kernel unmaps and moves pages of running programs: rates drift during a run",
			"sysctl -w kernel.numa_balancing=0 while measuring");
}

static void check_clocksource(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	static const char *const slow[] = { "hpet", "acpi_pm",  "jiffies", "refined-jiffies",
					    "pit",  "tsc-early" };
	static const char *const fast[] = { "tsc",
					    "kvm-clock",
					    "hyperv_clocksource_tsc_page",
					    "arch_sys_counter",
					    "timebase",
					    "tod",
					    "riscv_clocksource" };
	const struct wp_sys_host *h = &c->f->host;
	char forced[32];

	if (h->clocksource.state != WP_VALUE) {
		wp_doctor_missing(l, h->clocksource.why);
		return;
	}
	wp_doctor_say(c, l, "%s (available: %s)", h->clocksource.v,
		      wp_maybe_text_or(&h->clocksource_available, "unknown"));
	for (size_t i = 0; i < WP_ARRAY_SIZE(fast); i++)
		if (!strcmp(h->clocksource.v, fast[i]))
			return;
	for (size_t i = 0; i < WP_ARRAY_SIZE(slow); i++) {
		if (strcmp(h->clocksource.v, slow[i]))
			continue;
		wp_doctor_mark(
			l, WP_DOCTOR_BAD,
			"reading the clock is a device access or a whole tick: microseconds a packet where time is "
			"stamped, and coarse intervals",
			h->cmdline.state == WP_VALUE &&
					!wp_cmdline_get(h->cmdline.v, "tsc", forced, sizeof(forced))
				? "remove tsc= from the kernel command line if the TSC is sound (constant_tsc, "
				  "nonstop_tsc)"
				: "look for \"Marking clocksource\" in dmesg; echo tsc > "
				  "/sys/devices/system/clocksource/clocksource0/current_clocksource if it is "
				  "offered");
		return;
	}
	wp_doctor_mark(l, WP_DOCTOR_NOTE,
		       "it may not be readable without a system call; see the measured cost",
		       "compare with the other clock sources that are offered");
}

static void check_tsc(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpuinfo *ci = &c->f->host.cpuinfo;

	if (c->f->host.cpuinfo_why || ci->form != WP_CPUINFO_X86)
		return;
	wp_doctor_say(c, l, "%s, %s",
		      ci->flags & WP_CPUINFO_CONSTANT_TSC ? "constant" : "changes with frequency",
		      ci->flags & WP_CPUINFO_NONSTOP_TSC ? "runs in idle states"
							 : "may stop in idle states");
	if (!(ci->flags & WP_CPUINFO_NONSTOP_TSC))
		wp_doctor_mark(l, WP_DOCTOR_NOTE,
			       "the kernel may switch to a slow clock source at any time",
			       "look at the clock source before and after");
}

static void check_governor(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpufreq *f = &c->f->cpufreq;

	if (!wp_doctor_say_text(c, l, &f->governor))
		return;
	wp_doctor_say(
		c, l, "%s (%s%s%s)", f->governor.v, wp_maybe_text_or(&f->driver, "driver unknown"),
		f->driver_mode.state == WP_VALUE ? " " : "", wp_maybe_text_or(&f->driver_mode, ""));
	if (f->slow_cpus.state == WP_VALUE && f->slow_cpus.v)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"the clock follows the load: short runs, request/response and low rates run slow and vary, and a busy per "
			"cent is not worth the same twice",
			"cpupower frequency-set -g performance");
}

static void check_frequency(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpufreq *f = &c->f->cpufreq;
	char now[64] = "";

	if (f->governor.state != WP_VALUE)
		return;
	if (f->min_khz.state != WP_VALUE || f->max_khz.state != WP_VALUE) {
		wp_doctor_missing(l, f->max_khz.why);
		return;
	}
	if (f->current_min_khz.state == WP_VALUE && f->current_max_khz.state == WP_VALUE)
		snprintf(now, sizeof(now), ", now %lld to %lld",
			 (long long)f->current_min_khz.v / 1000,
			 (long long)f->current_max_khz.v / 1000);
	wp_doctor_say(c, l, "%lld to %lld MHz%s", (long long)f->min_khz.v / 1000,
		      (long long)f->max_khz.v / 1000, now);
	if (f->hardware_max_khz.state == WP_VALUE && f->max_khz.v < f->hardware_max_khz.v)
		wp_doctor_mark(l, WP_DOCTOR_WARN,
			       wp_doctor_format(c, "capped below the hardware's %lld MHz",
						(long long)f->hardware_max_khz.v / 1000),
			       "cpupower frequency-set -u with the hardware's limit");
}

static void check_turbo(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpufreq *f = &c->f->cpufreq;
	bool intel = f->driver.state == WP_VALUE && !strncmp(f->driver.v, "intel_", 6);

	if (f->turbo.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%s", f->turbo.v ? "on" : "off");
	if (f->turbo.v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"speed depends on temperature and on how many cores are busy: more streams may "
			"lower the clock, and the first seconds are faster",
			intel ? "interleave what you compare (whyperf sweep does), or echo 1 > "
				"/sys/devices/system/cpu/intel_pstate/no_turbo"
			      : "interleave what you compare (whyperf sweep does), or echo 0 > "
				"/sys/devices/system/cpu/cpufreq/boost");
}

static void check_energy(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpufreq *f = &c->f->cpufreq;

	if (f->energy_preference.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%s", f->energy_preference.v);
	if (strstr(f->energy_preference.v, "power"))
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE, "the hardware saves energy and ramps up late",
			"echo performance > /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference");
}

static void check_idle(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_cpuidle *i = &c->f->cpuidle;

	if (i->deepest_exit_us.state != WP_VALUE) {
		wp_doctor_missing(l, i->deepest_exit_us.why);
		return;
	}
	wp_doctor_say(c, l, "deepest %s, %lld us to leave (%s, %s)",
		      wp_maybe_text_or(&i->deepest, "?"), (long long)i->deepest_exit_us.v,
		      wp_maybe_text_or(&i->driver, "driver unknown"),
		      wp_maybe_text_or(&i->governor, "governor unknown"));
	if (i->deepest_exit_us.v >= IDLE_EXIT_WARN_US)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"an idle CPU needs this long to wake: request/response and low packet rates show the idle state",
			"cpupower idle-set -D 10 while measuring latency");
	else if (i->deepest_exit_us.v >= IDLE_EXIT_NOTE_US)
		wp_doctor_mark(l, WP_DOCTOR_NOTE,
			       "request/response times include up to this much of waking up",
			       "cpupower idle-set -D 1 to see the difference");
}

static void check_virtual(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_virt *v = &c->f->virt;

	switch (v->kind) {
	case WP_VIRT_NONE:
		wp_doctor_say(c, l, "none (%s)", wp_maybe_text_or(&v->evidence, "?"));
		return;
	case WP_VIRT_VM:
		wp_doctor_say(c, l, "%s (%s)", wp_maybe_text_or(&v->name, "a hypervisor"),
			      wp_maybe_text_or(&v->evidence, "?"));
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"interrupts and wake-ups of idle CPUs cost tens of microseconds, and neighbours on the host "
			"change the speed without a trace in this machine's counters",
			"interleave what you compare (whyperf sweep does); trust ratios, not plateaus");
		return;
	case WP_VIRT_UNKNOWN:
		break;
	}
	wp_doctor_missing(l, v->evidence.why);
}

static void check_product(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_virt *v = &c->f->virt;

	if (v->vendor.state == WP_VALUE || v->product.state == WP_VALUE)
		wp_doctor_say(c, l, "%s %s", wp_maybe_text_or(&v->vendor, ""),
			      wp_maybe_text_or(&v->product, ""));
}

static void check_steal(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_maybe_int *s = &c->f->steal_ppm;

	if (s->state != WP_VALUE) {
		wp_doctor_missing(l, s->why);
		return;
	}
	wp_doctor_say(c, l, "%.2f %% of CPU time since boot%s", (double)s->v / 1e4,
		      !s->v && c->f->virt.kind == WP_VIRT_VM
			      ? " (proves nothing: many hypervisors do not tell)"
			      : "");
	if (s->v >= STEAL_NOTE_PPM)
		wp_doctor_mark(
			l, s->v >= STEAL_BAD_PPM ? WP_DOCTOR_BAD : WP_DOCTOR_WARN,
			"the hypervisor runs others on our CPUs: rates fall and latency has long tails that no setting "
			"here explains",
			"dedicated CPUs; drop runs whose steal is above 1 %");
}

static void check_container(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_virt *v = &c->f->virt;

	if (v->container.state != WP_VALUE) {
		wp_doctor_say(c, l, "no sign of one");
		return;
	}
	wp_doctor_say(c, l, "%s (%s)", v->container.v,
		      wp_maybe_text_or(&v->container_evidence, "?"));
	wp_doctor_mark(
		l, WP_DOCTOR_NOTE,
		"CPU, interrupt and softnet counters are the whole host's, network counters the "
		"container's; some files may be masked",
		"measure on the host when the question is about the host");
}

static void check_faked(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_virt *v = &c->f->virt;

	if (v->proc_faked.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%s", v->proc_faked.v);
	wp_doctor_mark(
		l, WP_DOCTOR_BAD,
		"another file system answers in the kernel's place: CPU numbers and times are invented",
		"do not believe CPU columns here; measure on the host");
}

static void check_irqbalance(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_daemons *d = &c->f->daemons;

	if (d->scanned.state != WP_VALUE) {
		wp_doctor_missing(l, d->scanned.why);
		return;
	}
	if (d->irqbalance_pid.state != WP_VALUE) {
		wp_doctor_say(c, l, "not running");
		return;
	}
	wp_doctor_say(c, l, "running, pid %lld", (long long)d->irqbalance_pid.v);
	wp_doctor_mark(
		l, WP_DOCTOR_WARN,
		"it moves interrupts to other CPUs while a test runs: the rate steps up and down with them",
		"systemctl stop irqbalance while measuring; fix affinities in /proc/irq/N/smp_affinity_list");
}

static void check_daemons(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_daemons *d = &c->f->daemons;
	bool tuned = d->tuned_pid.state == WP_VALUE, thermald = d->thermald_pid.state == WP_VALUE;

	if (!tuned && !thermald)
		return;
	wp_doctor_say(c, l, "%s%s%s", tuned ? "tuned" : "", tuned && thermald ? ", " : "",
		      thermald ? "thermald" : "");
	wp_doctor_mark(l, WP_DOCTOR_NOTE, "they change frequency and sysctls on their own",
		       "note the profile (tuned-adm active), or stop them while measuring");
}

const struct wp_doctor_check wp_doctor_machine_checks[] = {
	{ "Kernel", "release", check_kernel },
	{ "Kernel", "distribution", check_os },
	{ "Kernel", "preemption", check_preemption },
	{ "Kernel", "parameters", check_cmdline },
	{ "Kernel", "CPU accounting", check_accounting },
	{ "Kernel", "memory", check_memory },
	{ "CPU", "model", check_model },
	{ "CPU", "CPUs", check_cpus },
	{ "CPU", "topology", check_topology },
	{ "CPU", "SMT", check_smt },
	{ "CPU", "caches", check_caches },
	{ "CPU", "isolated", check_isolated },
	{ "CPU", "nohz_full", check_nohz_full },
	{ "CPU", "mitigations", check_mitigations },
	{ "CPU", "quota", check_quota },
	{ "CPU", "autogroup", check_autogroup },
	{ "CPU", "NUMA balancing", check_numa_balancing },
	{ "Clock", "source", check_clocksource },
	{ "Clock", "TSC", check_tsc },
	{ "Frequency", "governor", check_governor },
	{ "Frequency", "range", check_frequency },
	{ "Frequency", "turbo", check_turbo },
	{ "Frequency", "energy preference", check_energy },
	{ "Frequency", "idle states", check_idle },
	{ "Virtualisation", "hypervisor", check_virtual },
	{ "Virtualisation", "product", check_product },
	{ "Virtualisation", "steal", check_steal },
	{ "Virtualisation", "container", check_container },
	{ "Virtualisation", "faked files", check_faked },
	{ "Interrupts", "irqbalance", check_irqbalance },
	{ "Interrupts", "other daemons", check_daemons },
};

const size_t wp_n_doctor_machine_checks = WP_ARRAY_SIZE(wp_doctor_machine_checks);
