/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_cpu.c - a CPU is the limit: the application's, one that both ends share, the one that serves the flow's
 * packets, or one that the application has to share with others. */
#include <stdio.h>
#include <string.h>

#include "explain/say.h"

#define SOFTIRQ_SAY_PCT 5.0  /* of wall time: worth a clause */
#define SHARED_MAIN_PCT 60.0 /* of a full CPU, by the two ends */
#define QUOTA_SHARE     0.3  /* of the waiting: less foreign work than this does not explain it */

/* "CPU 0", "its CPU". */
static const char *cpu_name(const struct wp_side *s, char *out, size_t size)
{
	if (s->stays && wp_has(s->cpu))
		snprintf(out, size, "CPU %d", (int)s->cpu.v);
	else
		snprintf(out, size, "the %s's CPU", s->word);
	return out;
}

static const char *where(const struct wp_facts *f, const struct wp_side *s)
{
	const char *text =
		wp_has(s->cpu) ? wp_pool_printf(f->pool, "%s.cpu%d", s->word, (int)s->cpu.v) : NULL;

	return text ? text : s->word;
}

static void thread_evidence(const struct wp_facts *f, const struct wp_side *s,
			    struct wp_finding *ret)
{
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	if (wp_num_or(s->delay_pct, 0) >= 1)
		wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "run_delay_pct", s->delay_pct);
}

static void cpu_evidence(const struct wp_facts *f, const struct wp_side *s, struct wp_finding *ret)
{
	const char *at = where(f, s);

	if (!s->use)
		return;
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "busy_pct", s->use->busy_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "user_pct", s->use->user_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "system_pct", s->use->system_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "softirq_pct", s->use->softirq_pct);
}

static bool doubtful(const struct wp_cpu_use *u)
{
	return u->trust && (!strcmp(u->trust, "hidden") || !strcmp(u->trust, "doubled"));
}

/* "; of its time user 0.9, system 71.2, softirq 27.7 %", or nothing where that is not known. */
static void split_text(const struct wp_cpu_use *u, char *out, size_t size)
{
	out[0] = '\0';
	if (u && wp_has(u->user_pct) && wp_has(u->system_pct) && wp_has(u->softirq_pct))
		snprintf(out, size, " (busy %.1f %%: user %.1f, system %.1f, softirq %.1f%s)",
			 wp_num_or(u->busy_pct, 100), u->user_pct.v, u->system_pct.v,
			 u->softirq_pct.v, doubtful(u) ? ", divided by luck" : "");
}

/* What the softirq part is, where both ends share the kernel: veth and lo hand a packet over within the sender's
 * system call, and the acknowledgement within the receiver's. */
static void softirq_text(const struct wp_facts *f, const struct wp_side *s, char *out, size_t size)
{
	bool here = f->local_delivery;

	out[0] = '\0';
	if (!s->use || wp_num_or(s->use->softirq_pct, 0) < SOFTIRQ_SAY_PCT)
		return;
	if (s == &f->sender && wp_has(f->receiver.rx_cpu) && f->same_machine)
		here = wp_has(s->cpu) && (int)f->receiver.rx_cpu.v == (int)s->cpu.v;
	if (!here)
		return;
	if (s == &f->sender)
		snprintf(
			out, size,
			"; its softirq part is the receiver's packet processing, which veth and lo run on the "
			"sender's CPU");
	else
		snprintf(
			out, size,
			"; its softirq part is the sender's processing of acknowledgements, which veth and lo run "
			"on the CPU that sends them");
}

static void advise_cpu(const struct wp_facts *f, const struct wp_side *s, struct wp_finding *ret)
{
	const char *words = wp_command_words(f->run, f->pool, "cpu peer-cpu");
	double cpus = s->host ? wp_num_or(s->host->inventory.cpus_online, 1) : 1;
	double streams = wp_num_or(f->run->test.streams, 1);

	if (words)
		wp_advise(f, ret, "whyperf sweep --cpu all --peer-cpu all %s", words);
	if (s == &f->receiver &&
	    (!f->run->test.receive_method || strncmp(f->run->test.receive_method, "discard", 7)))
		wp_advise_command(f, ret, "", "--rx-discard");
	if (streams < cpus && cpus > 2)
		wp_advise_command(f, ret, "parallel P cpu peer-cpu", "-P %.0f", streams * 2);
	if (s == &f->sender && !f->same_machine && f->run->test.send_method &&
	    strcmp(f->run->test.send_method, "zerocopy"))
		wp_advise_command(f, ret, "", "-Z");
}

/* The share of the limit that a full thread explains: less where only some of several are full. */
static double thread_share(const struct wp_side *s)
{
	double part = s->n_threads > 1 ? (double)s->n_full / (double)s->n_threads : 1;

	return s->runnable_pct.v * part;
}

static enum wp_rule_answer say_full(const struct wp_facts *f, const struct wp_side *s, double share,
				    const char *confidence, struct wp_finding *ret)
{
	char cpu[48], split[128], softirq[192], of[64] = "";

	cpu_name(s, cpu, sizeof(cpu));
	split_text(s->use, split, sizeof(split));
	softirq_text(f, s, softirq, sizeof(softirq));
	if (s->n_threads > 1)
		snprintf(of, sizeof(of), ", %zu of %zu threads full", s->n_full, s->n_threads);
	thread_evidence(f, s, ret);
	cpu_evidence(f, s, ret);
	advise_cpu(f, s, ret);
	if (wp_has(s->on_cpu_pct))
		return wp_find(
			f, ret, share, confidence,
			"%s is the limit: the %s's thread was executing %.1f %% of the time%s%s%s",
			cpu, s->word, s->on_cpu_pct.v, of, split, softirq);
	return wp_find(f, ret, share, confidence, "%s, where the %s runs, is the limit%s%s", cpu,
		       s->word, split, softirq);
}

static enum wp_rule_answer full_cpu(const struct wp_facts *f, const struct wp_side *s,
				    struct wp_finding *ret)
{
	double busy = s->use ? wp_num_or(s->use->busy_pct, -1) : -1;
	double work;

	if (!wp_has(s->on_cpu_pct)) {
		if (busy < 0)
			return wp_lacks(
				f, ret,
				wp_pool_printf(f->pool, "the CPU use of the %s's threads", s->word),
				s->on_cpu_pct);
		if (busy < WP_FULL_PCT)
			return WP_RULE_NO;
		return say_full(f, s, busy, "low", ret);
	}
	if (wp_num_or(s->delay_pct, 0) >= WP_DELAY_MAIN_PCT)
		return WP_RULE_NO; /* the run-queue rules' matter */
	if (s->runnable_pct.v >= WP_FULL_PCT)
		return say_full(f, s, thread_share(s),
				wp_confidence(s->n_full == s->n_threads && f->seconds >= 0.5, -1),
				ret);
	/* Interrupt work between the thread's turns fills the CPU too. */
	work = busy < 0 ? 0 : s->on_cpu_pct.v + wp_num_or(s->use->softirq_pct, 0);
	if (busy >= WP_FULL_PCT && work >= WP_NEAR_FULL_PCT)
		return say_full(f, s, busy, doubtful(s->use) ? "low" : "medium", ret);
	return WP_RULE_NO;
}

enum wp_rule_answer wp_rule_sender_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	return full_cpu(f, &f->sender, ret);
}

enum wp_rule_answer wp_rule_receiver_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	return full_cpu(f, &f->receiver, ret);
}

enum wp_rule_answer wp_rule_shared_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *s = &f->sender, *r = &f->receiver;
	double both, busy;
	char split[128];
	int cpu, free_cpu;

	if (!f->same_machine)
		return WP_RULE_NO;
	if (!wp_has(s->cpu) || !wp_has(r->cpu))
		return wp_lacks(f, ret, "the CPUs that both ends ran on",
				wp_has(s->cpu) ? r->cpu : s->cpu);
	if (!s->stays || !r->stays || s->cpu.v != r->cpu.v)
		return WP_RULE_NO;
	both = wp_num_or(s->on_cpu_pct, 0) + wp_num_or(r->on_cpu_pct, 0);
	busy = s->use ? wp_num_or(s->use->busy_pct, 0) : 0;
	if (both < WP_NEAR_FULL_PCT && (busy < WP_FULL_PCT || both < SHARED_MAIN_PCT))
		return WP_RULE_NO; /* else others fill it: the run-queue rules' matter */
	cpu = (int)s->cpu.v;
	split_text(s->use, split, sizeof(split));
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	wp_evidence(f, ret, r->word, WP_SCOPE_THREAD, "cpu_pct", r->on_cpu_pct);
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "run_delay_pct", s->delay_pct);
	wp_evidence(f, ret, r->word, WP_SCOPE_THREAD, "run_delay_pct", r->delay_pct);
	cpu_evidence(f, s, ret);
	free_cpu = wp_side_free_cpu(r, cpu, -1);
	if (free_cpu >= 0)
		wp_advise_command(f, ret, "cpu peer-cpu", "--cpu %d --peer-cpu %d", cpu, free_cpu);
	return wp_find(
		f, ret, both > busy ? both : busy,
		wp_has(s->on_cpu_pct) && wp_has(r->on_cpu_pct) ? "high" : "medium",
		"CPU %d is the limit, and both ends share it: the sender's thread %.1f %%, the receiver's "
		"%.1f %%%s",
		cpu, wp_num_or(s->on_cpu_pct, 0), wp_num_or(r->on_cpu_pct, 0), split);
}

/* ---- the CPU that serves the flow's packets -------------------------------------------------- */

static bool one_rx_cpu(const struct wp_facts *f)
{
	for (size_t i = 0; i < f->run->n_flows; i++) {
		struct wp_num cpu = f->run->flows[i].receive_softirq_cpu;

		if (wp_has(cpu) && cpu.v != f->receiver.rx_cpu.v)
			return false;
	}
	return true;
}

enum wp_rule_answer wp_rule_softirq_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *r = &f->receiver;
	const struct wp_cpu_use *u;
	const char *at;
	double interrupts;
	int cpu;

	if (!wp_has(r->rx_cpu))
		return wp_lacks(f, ret, "the CPU that processes the receiver's packets", r->rx_cpu);
	cpu = (int)r->rx_cpu.v;
	/* Where the application runs there too, the rules of its CPU speak. */
	if ((wp_has(r->cpu) && (int)r->cpu.v == cpu) ||
	    (f->same_machine && wp_has(f->sender.cpu) && (int)f->sender.cpu.v == cpu))
		return WP_RULE_NO;
	u = r->cpus ? wp_host_cpu(r->cpus, cpu) : NULL;
	if (!u || !wp_has(u->busy_pct))
		return wp_lacks(f, ret, "the use of the CPU that processes the receiver's packets",
				u ? u->busy_pct : wp_absent(NULL));
	interrupts = wp_num_or(u->softirq_pct, 0) + wp_num_or(u->irq_pct, 0);
	if (u->busy_pct.v < WP_NEAR_FULL_PCT || interrupts < WP_SOFTIRQ_SHARE * u->busy_pct.v)
		return WP_RULE_NO;
	at = wp_pool_printf(f->pool, "%s.cpu%d", r->word, cpu);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "busy_pct", u->busy_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "softirq_pct", u->softirq_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "irq_pct", u->irq_pct);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "softirqs.net_rx", u->net_rx);
	wp_evidence(f, ret, at, WP_SCOPE_CPU, "softnet.time_squeeze", u->softnet_squeezed);
	wp_advise(
		f, ret,
		"spread the receive work on the receiver: more queues (ethtool -L), other IRQ affinity, or "
		"RPS (queues/rx-0/rps_cpus)");
	if (f->n_flows > 1 && one_rx_cpu(f))
		return wp_find(
			f, ret, u->busy_pct.v, doubtful(u) ? "medium" : "high",
			"CPU %d is the limit: it processes the received packets of all %zu flows (one queue, "
			"or a collision of hashes) and was busy %.1f %%, %.1f %% in softirqs",
			cpu, f->n_flows, u->busy_pct.v, wp_num_or(u->softirq_pct, 0));
	return wp_find(
		f, ret, u->busy_pct.v, doubtful(u) ? "medium" : "high",
		"CPU %d is the limit: it processes the receiver's packets and was busy %.1f %%, %.1f %% in "
		"softirqs, while the receiver's thread runs elsewhere",
		cpu, u->busy_pct.v, wp_num_or(u->softirq_pct, 0));
}

/* ---- waiting for a CPU ------------------------------------------------------------------------ */

/* What other work did on that side's CPU, of wall time; -1 = not known. */
static double foreign_pct(const struct wp_facts *f, const struct wp_side *s)
{
	const struct wp_side *other = s == &f->sender ? &f->receiver : &f->sender;
	double pct;

	if (!s->use || !wp_has(s->use->busy_pct))
		return -1;
	pct = s->use->busy_pct.v - s->on_cpu_pct.v;
	if (f->same_machine && other->stays && wp_has(other->cpu) && other->cpu.v == s->cpu.v)
		pct -= wp_num_or(other->on_cpu_pct, 0);
	return pct > 0 ? pct : 0;
}

static void advise_queue(const struct wp_facts *f, const struct wp_side *s, struct wp_finding *ret)
{
	const struct wp_side *other = s == &f->sender ? &f->receiver : &f->sender;
	const char *option = s->host == &f->run->hosts[0] ? "cpu" : "peer-cpu";
	int here = wp_has(s->cpu) ? (int)s->cpu.v : -1;
	int there = f->same_machine && wp_has(other->cpu) ? (int)other->cpu.v : -1;
	int cpu = wp_side_free_cpu(s, here, there);

	if (cpu >= 0)
		wp_advise_command(f, ret, option, "--%s %d", option, cpu);
	if (here >= 0)
		wp_advise(
			f, ret,
			"see what else runs on CPU %d of the %s: ps -eLo psr,pcpu,comm --sort=-pcpu",
			here, s->word);
	else
		wp_advise_command(f, ret, option, "--%s 0", option);
}

static enum wp_rule_answer run_queue(const struct wp_facts *f, const struct wp_side *s,
				     struct wp_finding *ret)
{
	double delay, foreign, share;
	const char *by = "";
	char cpu[48], text[128] = "";

	if (!wp_has(s->delay_pct) || !wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret,
				wp_pool_printf(f->pool,
					       "how long the %s's threads waited for a CPU",
					       s->word),
				s->delay_pct);
	delay = s->delay_pct.v;
	if (delay < WP_DELAY_PCT)
		return WP_RULE_NO;
	/* A thread that always wants to run is limited by its CPU alone, and by half of it when others take the rest. */
	share = delay >= WP_DELAY_MAIN_PCT && s->runnable_pct.v >= WP_NEAR_FULL_PCT
			? s->runnable_pct.v
			: delay;
	foreign = foreign_pct(f, s);
	cpu_name(s, cpu, sizeof(cpu));
	if (s->use && wp_num_or(s->use->busy_pct, 100) - s->on_cpu_pct.v < QUOTA_SHARE * delay) {
		by = "; the CPU was idle meanwhile, so a CPU quota (cgroup) is likely";
		wp_advise(
			f, ret,
			"look at the CPU quota of the %s: cpu.max and nr_throttled in cpu.stat of its cgroup",
			s->word);
	} else if (foreign >= 1) {
		snprintf(text, sizeof(text), "; other work took %.1f %% of that CPU", foreign);
	}
	thread_evidence(f, s, ret);
	if (s->use)
		wp_evidence(f, ret, where(f, s), WP_SCOPE_CPU, "busy_pct", s->use->busy_pct);
	if (s->thread)
		wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "involuntary_switches",
			    s->thread->involuntary_switches);
	advise_queue(f, s, ret);
	return wp_find(
		f, ret, share, wp_confidence(delay >= WP_DELAY_MAIN_PCT, -1),
		"the %s shares its CPU: its thread was able to run but waited for %s %.1f %% of the time, and "
		"ran %.1f %%%s%s",
		s->word, cpu, delay, s->on_cpu_pct.v, text, by);
}

enum wp_rule_answer wp_rule_sender_run_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	return run_queue(f, &f->sender, ret);
}

enum wp_rule_answer wp_rule_receiver_run_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	return run_queue(f, &f->receiver, ret);
}
