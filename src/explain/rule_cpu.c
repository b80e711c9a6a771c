/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_cpu.c - a CPU is the limit: the application's, one that both ends share, the one that serves the flow's
 * packets, or one that the application has to share with others. */
#include <stdio.h>
#include <string.h>

#include "explain/say.h"

#define SOFTIRQ_SAY_PCT  5.0  /* of wall time: worth a clause */
#define SHARED_MAIN_PCT  60.0 /* of a full CPU, by the two ends */
#define SHARED_LEAST_PCT 5.0  /* of a CPU that others fill, by either end */
#define QUOTA_SHARE      0.3  /* of the waiting: less foreign work than this does not explain it */

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
		snprintf(out, size, " (busy %.0f %%: user %.0f, system %.0f, softirq %.0f%s)",
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
	if (f->kind == WP_KIND_RR)
		snprintf(
			out, size,
			"; softirq is the other end's packet processing, which veth and lo run on the CPU that sends");
	else if (s == &f->sender)
		snprintf(
			out, size,
			"; softirq is the receiver's packet processing, which veth and lo run on the sender's "
			"CPU");
	else
		snprintf(
			out, size,
			"; softirq is the sender's processing of acknowledgements, which veth and lo run on the "
			"CPU that sends them");
}

/* Trains of datagrams cost the CPU that they cross one packet. */
static void advise_trains(const struct wp_facts *f, struct wp_finding *ret)
{
	bool gso = wp_num_or(f->run->test.gso, 0) > 0, gro = wp_num_or(f->run->test.gro, 0) > 0;

	if (!gso || !gro)
		wp_advise_command(f, ret, "", "%s%s%s", gso ? "" : "--gso", gso || gro ? "" : " ",
				  gro ? "" : "--gro");
}

static void advise_cpu(const struct wp_facts *f, const struct wp_side *s, struct wp_finding *ret)
{
	const char *words = wp_command_words(f->run, f->pool, "cpu peer-cpu");
	double cpus = s->host ? wp_num_or(s->host->inventory.cpus_online, 1) : 1;
	double streams = wp_num_or(f->run->test.streams, 1);

	if (f->kind == WP_KIND_UDP)
		advise_trains(f, ret);
	if (words)
		wp_advise(f, ret, "whyperf sweep --cpu all --peer-cpu all %s", words);
	if (f->kind != WP_KIND_TCP) {
		if (streams < cpus && cpus > 2)
			wp_advise_command(f, ret, "parallel P cpu peer-cpu", "-P %.0f",
					  streams * 2);
		return;
	}
	if (s == &f->receiver &&
	    (!f->run->test.receive_method || strncmp(f->run->test.receive_method, "discard", 7)))
		wp_advise_command(f, ret, "", "--rx-discard");
	if (streams < cpus && cpus > 2)
		wp_advise_command(f, ret, "parallel P cpu peer-cpu", "-P %.0f", streams * 2);
	if (s == &f->sender && !f->same_machine && f->run->test.send_method &&
	    strcmp(f->run->test.send_method, "zerocopy"))
		wp_advise_command(f, ret, "", "-Z");
}

/* The time that a full thread executed: less where only some of several are full. */
static double thread_share(const struct wp_side *s)
{
	double part = s->n_threads > 1 && s->n_full ? (double)s->n_full / (double)s->n_threads : 1;

	return s->on_cpu_pct.v * part;
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
		return wp_find(f, ret, share, confidence,
			       "%s is full: the %s's thread ran %.0f %% of the time%s%s%s", cpu,
			       s->word, s->on_cpu_pct.v, of, split, softirq);
	return wp_find(f, ret, share, confidence, "%s, where the %s runs, is full%s%s", cpu,
		       s->word, split, softirq);
}

/* Others had the CPU for a part of the time; for the rest it is this thread that fills it. */
static enum wp_rule_answer say_its_part(const struct wp_facts *f, const struct wp_side *s,
					const struct wp_side *other, struct wp_finding *ret)
{
	char cpu[48], rest[96];

	cpu_name(s, cpu, sizeof(cpu));
	thread_evidence(f, s, ret);
	cpu_evidence(f, s, ret);
	advise_cpu(f, s, ret);
	if (s->runnable_pct.v >= WP_FULL_PCT)
		snprintf(rest, sizeof(rest), "waiting for a CPU accounts for the rest");
	else
		snprintf(rest, sizeof(rest),
			 "waiting for CPUs, its own or the %s's, can account for the rest",
			 other->word);
	return wp_find(f, ret, thread_share(s), "medium",
		       "the %s's own work took %.0f %% of the time%s%s; %s", s->word,
		       s->on_cpu_pct.v, s->stays ? " on " : "", s->stays ? cpu : "", rest);
}

/* Does the kernel keep softirqs out of a thread's time? Else they are in it already. */
static bool counts_softirqs_apart(const struct wp_side *s)
{
	const char *mode = s->cpus ? s->cpus->inventory.cpu_accounting : NULL;

	return mode && strcmp(mode, "ticks");
}

static bool never_rests(const struct wp_side *s)
{
	return wp_num_or(s->runnable_pct, 0) >= WP_FULL_PCT;
}

static enum wp_rule_answer full_cpu(const struct wp_facts *f, const struct wp_side *s,
				    const struct wp_side *other, struct wp_finding *ret)
{
	double busy = s->use ? wp_num_or(s->use->busy_pct, -1) : -1;
	double work, delay = wp_num_or(s->delay_pct, 0);

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
	if (s->polls) {
		if (s->runnable_pct.v < WP_FULL_PCT || other->runnable_pct.v >= WP_NEAR_FULL_PCT)
			return WP_RULE_NO;
		return wp_lacks(f, ret, "how much of its CPU the receiver needs",
				wp_absent("it polls, so it is busy in any case"));
	}
	if (s->runnable_pct.v >= WP_FULL_PCT && delay < WP_DELAY_MAIN_PCT)
		return say_full(f, s, thread_share(s),
				wp_confidence(s->n_full == s->n_threads && f->seconds >= 0.5, -1),
				ret);
	/* Of two ends that others disturb, the one that never rests is the slower one, or else the one that works
	 * longer for the same data. */
	if (s->runnable_pct.v + s->excused_pct >= WP_FULL_PCT && !wp_facts_held(f) &&
	    (never_rests(s) != never_rests(other)
		     ? never_rests(s)
		     : s->on_cpu_pct.v > wp_num_or(other->on_cpu_pct, 0)))
		return say_its_part(f, s, other, ret);
	/* Interrupt work between the thread's turns fills the CPU too. */
	work = busy < 0 ? 0 : s->on_cpu_pct.v + wp_num_or(s->use->softirq_pct, 0);
	if (busy >= WP_FULL_PCT && work >= WP_NEAR_FULL_PCT && delay < WP_DELAY_PCT &&
	    counts_softirqs_apart(s))
		return say_full(f, s, busy, doubtful(s->use) ? "low" : "medium", ret);
	return WP_RULE_NO;
}

/* Datagrams are not held back by a receiver: it is a limit only where it loses some. */
static bool keeps_up(const struct wp_facts *f)
{
	return f->kind == WP_KIND_UDP && wp_facts_socket_loss(f) < WP_UDP_LOSS_SHARE;
}

/* A sender of datagrams that reaches the rate asked for. */
static bool reaches_its_rate(const struct wp_facts *f)
{
	return f->kind == WP_KIND_UDP && wp_facts_paced(f);
}

enum wp_rule_answer wp_rule_sender_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	if (reaches_its_rate(f))
		return WP_RULE_NO;
	return full_cpu(f, &f->sender, &f->receiver, ret);
}

enum wp_rule_answer wp_rule_receiver_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	if (keeps_up(f))
		return WP_RULE_NO;
	return full_cpu(f, &f->receiver, &f->sender, ret);
}

/* Running, or kept from it by work on a CPU, the other end's included. */
static double wants_pct(const struct wp_side *s)
{
	return wp_num_or(s->runnable_pct, 0) + s->excused_pct;
}

/* One with time to spare, else any other. */
static int other_cpu(const struct wp_side *s, int not_this)
{
	int cpu = wp_side_free_cpu(s, not_this, -1);

	for (size_t i = 0; cpu < 0 && s->cpus && i < s->cpus->n_cpus; i++)
		if (wp_has(s->cpus->cpus[i].cpu) && (int)s->cpus->cpus[i].cpu.v != not_this)
			cpu = (int)s->cpus->cpus[i].cpu.v;
	return cpu;
}

enum wp_rule_answer wp_rule_shared_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *s = &f->sender, *r = &f->receiver;
	double both, busy, share;
	char split[128];
	int cpu, free_cpu;

	if (!f->same_machine)
		return WP_RULE_NO;
	if (!wp_has(s->cpu) || !wp_has(r->cpu))
		return wp_lacks(f, ret, "the CPUs that both ends ran on",
				wp_has(s->cpu) ? r->cpu : s->cpu);
	if (!f->one_cpu)
		return WP_RULE_NO;
	both = wp_num_or(s->on_cpu_pct, 0) + wp_num_or(r->on_cpu_pct, 0);
	busy = s->use ? wp_num_or(s->use->busy_pct, 0) : 0;
	share = both;
	if (both < WP_NEAR_FULL_PCT && (busy < WP_FULL_PCT || both < SHARED_MAIN_PCT)) {
		/* Others fill it. What is left of the two's is the time that they could have run side by side. */
		if (wants_pct(s) < WP_NEAR_FULL_PCT && wants_pct(r) < WP_NEAR_FULL_PCT)
			return WP_RULE_NO;
		share = s->on_cpu_pct.v < r->on_cpu_pct.v ? s->on_cpu_pct.v : r->on_cpu_pct.v;
		if (share < SHARED_LEAST_PCT)
			return WP_RULE_NO;
	}
	cpu = (int)s->cpu.v;
	split_text(s->use, split, sizeof(split));
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	wp_evidence(f, ret, r->word, WP_SCOPE_THREAD, "cpu_pct", r->on_cpu_pct);
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "run_delay_pct", s->delay_pct);
	wp_evidence(f, ret, r->word, WP_SCOPE_THREAD, "run_delay_pct", r->delay_pct);
	cpu_evidence(f, s, ret);
	free_cpu = other_cpu(r, cpu);
	if (free_cpu >= 0)
		wp_advise_command(f, ret, "cpu peer-cpu", "--cpu %d --peer-cpu %d", cpu, free_cpu);
	return wp_find(
		f, ret, both, wp_has(s->on_cpu_pct) && wp_has(r->on_cpu_pct) ? "high" : "medium",
		"both ends share CPU %d: the sender's thread ran %.0f %% of the time, the receiver's %.0f %%%s",
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

	if (f->kind == WP_KIND_UDP && wp_facts_datagram_loss(f) < WP_UDP_LOSS_SHARE)
		return WP_RULE_NO;
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
		"spread the receive work over the receiver's CPUs: more queues (ethtool -L), the queues' "
		"IRQ affinity, or RPS (queues/rx-0/rps_cpus)");
	if (f->n_flows > 1 && one_rx_cpu(f))
		return wp_find(
			f, ret, u->busy_pct.v, doubtful(u) ? "medium" : "high",
			"CPU %d is full: it processes the received packets of all %zu flows (one queue, "
			"or a collision of hashes) and was busy %.1f %%, %.1f %% in softirqs",
			cpu, f->n_flows, u->busy_pct.v, wp_num_or(u->softirq_pct, 0));
	return wp_find(
		f, ret, u->busy_pct.v, doubtful(u) ? "medium" : "high",
		"CPU %d is full: it processes the receiver's packets and was busy %.1f %%, %.1f %% in "
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
	int here = s->stays && wp_has(s->cpu) ? (int)s->cpu.v : -1;
	int there = f->same_machine && other->stays && wp_has(other->cpu) ? (int)other->cpu.v : -1;
	int cpu = here >= 0 ? wp_side_free_cpu(s, here, there) : -1;

	if (cpu >= 0)
		wp_advise_command(f, ret, option, "--%s %d", option, cpu);
	if (here < 0 && f->same_machine &&
	    (!s->host || wp_num_or(s->host->inventory.cpus_online, 1) >= 2))
		wp_advise_command(f, ret, "cpu peer-cpu", "--cpu 0 --peer-cpu 1");
	else if (here < 0)
		wp_advise_command(f, ret, option, "--%s 0", option);
	wp_advise(f, ret, "see what else runs%s: ps -eLo psr,pcpu,pid,comm --sort=-pcpu | head",
		  f->same_machine   ? ""
		  : s == &f->sender ? " on the sender"
				    : " on the receiver");
}

/* How long others kept that side's thread from running: where both ends stay on one CPU, the other end's turns are not
 * theirs. */
static double foreign_delay(const struct wp_facts *f, const struct wp_side *s)
{
	const struct wp_side *other = s == &f->sender ? &f->receiver : &f->sender;
	double delay = wp_num_or(s->delay_pct, 0);

	if (f->one_cpu)
		delay -= wp_num_or(other->on_cpu_pct, 0);
	return delay > 0 ? delay : 0;
}

static void queue_evidence(const struct wp_facts *f, const struct wp_side *s,
			   struct wp_finding *ret)
{
	thread_evidence(f, s, ret);
	if (s->use)
		wp_evidence(f, ret, where(f, s), WP_SCOPE_CPU, "busy_pct", s->use->busy_pct);
	if (s->thread)
		wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "involuntary_switches",
			    s->thread->involuntary_switches);
}

/* One finding where one machine's load disturbs both ends: that of the end which waits longer. */
static bool other_says_it(const struct wp_facts *f, const struct wp_side *s)
{
	const struct wp_side *other = s == &f->sender ? &f->receiver : &f->sender;
	double mine = foreign_delay(f, s), its = foreign_delay(f, other);

	return f->same_machine && wp_has(other->on_cpu_pct) &&
	       (its > mine || (its == mine && s == &f->receiver));
}

/* Our own busy loop runs there: the client's end, or the other one on the same machine. */
static bool is_hogged(const struct wp_facts *f, const struct wp_side *s)
{
	const struct wp_ints *hogs = &f->run->test.hog_cpus;

	for (size_t i = 0; i < hogs->n; i++)
		if (wp_has(s->cpu) && hogs->v[i] == (int)s->cpu.v)
			return f->same_machine || s->host == &f->run->hosts[0];
	return false;
}

static enum wp_rule_answer run_queue(const struct wp_facts *f, const struct wp_side *s,
				     struct wp_finding *ret)
{
	const struct wp_side *other = s == &f->sender ? &f->receiver : &f->sender;
	double delay, foreign = -1;
	char cpu[48], text[128] = "", too[96] = "";

	if (!wp_has(s->delay_pct) || !wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret,
				wp_pool_printf(f->pool,
					       "how long the %s's threads waited for a CPU",
					       s->word),
				s->delay_pct);
	delay = foreign_delay(f, s);
	if (delay < (f->kind == WP_KIND_RR ? WP_DELAY_RR_PCT : WP_DELAY_PCT) || other_says_it(f, s))
		return WP_RULE_NO;
	if (s->use && wp_has(s->use->busy_pct))
		foreign = foreign_pct(f, s);
	if (foreign >= 0 && foreign < QUOTA_SHARE * delay) {
		snprintf(text, sizeof(text),
			 "; the CPU was idle meanwhile, so a CPU quota (cgroup) is likely");
		wp_advise(
			f, ret,
			"look at the CPU quota of the %s's cgroup: cpu.max, and nr_throttled in cpu.stat",
			s->word);
	} else if (foreign >= 1) {
		snprintf(text, sizeof(text), "; %s took %.0f %% of that CPU",
			 is_hogged(f, s) ? "the --hog threads, and what else ran there,"
					 : "other work",
			 foreign);
	}
	if (s->stays && wp_has(s->cpu))
		snprintf(cpu, sizeof(cpu), "CPU %d", (int)s->cpu.v);
	else
		snprintf(cpu, sizeof(cpu), "a CPU (it is not pinned)");
	queue_evidence(f, s, ret);
	if (f->same_machine && foreign_delay(f, other) >= WP_DELAY_PCT) {
		snprintf(too, sizeof(too), "; the %s waited %.0f %%", other->word,
			 other->delay_pct.v);
		queue_evidence(f, other, ret);
	}
	advise_queue(f, s, ret);
	return wp_find(
		f, ret, delay,
		wp_confidence(delay >= WP_DELAY_MAIN_PCT && s->stays && !s->polls, -1),
		"the %s's thread was able to run but waited %.0f %% of the time for %s, and ran %.0f %%%s%s%s",
		s->word, s->delay_pct.v, cpu, s->on_cpu_pct.v,
		s->polls ? " (it polls, so it always wants to)" : "", text, too);
}

enum wp_rule_answer wp_rule_sender_run_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	if (reaches_its_rate(f))
		return WP_RULE_NO;
	return run_queue(f, &f->sender, ret);
}

enum wp_rule_answer wp_rule_receiver_run_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	if (keeps_up(f))
		return WP_RULE_NO;
	return run_queue(f, &f->receiver, ret);
}
