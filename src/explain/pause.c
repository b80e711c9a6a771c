/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/pause.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"

#define HALF         0.5  /* of a pause: a cause */
#define UNSEEN       0.7  /* ... in which whyperf did not look either */
#define PRESSURE_PCT 30.0 /* of the time around it some task waited for storage or memory */
#define MOST_PCT     50.0 /* one task had a CPU */
#define SENTENCE_MAX 1024

const struct wp_pause_cause wp_pause_causes[WP_N_PAUSE_CAUSES] = {
	{ WP_PAUSE_STOPPED,
	  "for 70 % of it the writer neither ran nor waited for a CPU nor for anything known, and whyperf's watch did not run either, though no CPU was refused to it: SIGSTOP, a frozen control group, a paused virtual machine" },
	{ WP_PAUSE_QUOTA,
	  "as off_cpu, and the control group's CPU quota was used up for half of that" },
	{ WP_PAUSE_OFF_CPU,
	  "for half of it the thread was able to run and waited for its CPU (schedstat)" },
	{ WP_PAUSE_READER,
	  "for half of it the pipe, socket or terminal had no room (time in poll(2), less what the thread waited for a CPU)" },
	{ WP_PAUSE_FSYNC, "it was a call of fsync(2), and none of the above" },
	{ WP_PAUSE_STEAL, "the hypervisor took the CPU for half of it (/proc/stat)" },
	{ WP_PAUSE_INTERRUPTS,
	  "the thread's clock ran for half of it, and half of that was interrupts and softirqs on its CPU (/proc/stat)" },
	{ WP_PAUSE_HIDDEN,
	  "the thread's clock ran for half of it, but the file is /dev/null, whose writes do nothing: an interrupt that no tick saw, or the hypervisor without saying so" },
	{ WP_PAUSE_CALL, "the thread's clock ran for half of it in the write call" },
	{ WP_PAUSE_MEMORY,
	  "the thread slept in the write call, and some task waited for memory (pressure) 30 % of the time" },
	{ WP_PAUSE_STORAGE,
	  "the thread slept in the write call of a file or block device, in state D or with storage pressure 30 % of the time" },
	{ WP_PAUSE_ASLEEP, "the thread slept in the write call, and nothing says what for" },
	{ WP_PAUSE_UNEXPLAINED, "no kind of time makes up half of it" },
};

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

/* Microseconds of a pause by what they went into. */
struct parts {
	double length, run, delay, reader, steal, ticks, asleep;
};

static struct parts parts_of(const struct wp_pause_view *p)
{
	struct parts x = {
		.length = wp_num_or(p->length_us, 0),
		.run = wp_num_or(p->run_us, 0),
		.delay = wp_num_or(p->run_delay_us, 0),
		.reader = wp_num_or(p->taker_wait_us, 0),
		.steal = wp_num_or(p->steal_us, 0),
		.ticks = wp_num_or(p->irq_us, 0) + wp_num_or(p->softirq_us, 0),
	};

	/* Woken up by the reader, it may wait for its CPU within poll(2). */
	x.reader = x.reader > x.delay ? x.reader - x.delay : 0;
	x.asleep = x.length - x.run - x.delay - x.reader;
	if (is(p->what, "late")) /* it meant to sleep */
		x.asleep = 0;
	return x;
}

static const char *ran_cause(const struct wp_run *run, const struct parts *x)
{
	if (x->ticks >= HALF * x->run)
		return WP_PAUSE_INTERRUPTS;
	return is(run->test.file_type, "null device") ? WP_PAUSE_HIDDEN : WP_PAUSE_CALL;
}

static const char *asleep_cause(const struct wp_run *run, const struct wp_pause_view *p)
{
	bool disk = is(run->test.file_type, "file") || is(run->test.file_type, "block device");

	if (wp_num_or(p->memory_pressure_pct, 0) >= PRESSURE_PCT)
		return WP_PAUSE_MEMORY;
	if (disk && (is(p->state, "D") || wp_num_or(p->io_pressure_pct, 0) >= PRESSURE_PCT))
		return WP_PAUSE_STORAGE;
	return WP_PAUSE_ASLEEP;
}

static const char *cause_of(const struct wp_run *run, const struct wp_pause_view *p)
{
	struct parts x = parts_of(p);
	double half = HALF * x.length, known = x.run + x.delay + x.reader;

	if (wp_num_or(p->unseen_us, 0) >= UNSEEN * x.length && known < half)
		return WP_PAUSE_STOPPED;
	if (x.delay >= half)
		return wp_num_or(p->throttled_us, 0) >= HALF * x.delay ? WP_PAUSE_QUOTA
								       : WP_PAUSE_OFF_CPU;
	if (x.reader >= half)
		return wp_num_or(p->unseen_us, 0) >= UNSEEN * x.length && !p->taker_state
			       ? WP_PAUSE_STOPPED
			       : WP_PAUSE_READER;
	if (is(p->what, "fsync"))
		return WP_PAUSE_FSYNC;
	if (x.steal >= half)
		return WP_PAUSE_STEAL;
	if (x.run >= half)
		return ran_cause(run, &x);
	if (x.asleep >= half)
		return asleep_cause(run, p);
	return WP_PAUSE_UNEXPLAINED;
}

/* ---- sentences -------------------------------------------------------------------------------- */

static void put_us(struct wp_buf *b, double us)
{
	char text[32];

	wp_format_ns(us * 1e3, text, sizeof(text));
	wp_buf_puts(b, text);
}

static void say_off_cpu(const struct wp_pause_view *p, struct wp_buf *b)
{
	wp_buf_puts(b, "waited ");
	put_us(b, wp_num_or(p->run_delay_us, 0));
	if (wp_has(p->cpu))
		wp_buf_printf(b, " for CPU %.0f", p->cpu.v);
	else
		wp_buf_puts(b, " for a CPU");
	if (!p->ran_there) {
		wp_buf_puts(b, "; what ran there had ended before it could be looked for");
		return;
	}
	if (wp_num_or(p->ran_there_pct, 0) >= MOST_PCT)
		wp_buf_printf(b, ", where %s ran %.0f %% of the time around it", p->ran_there,
			      p->ran_there_pct.v);
	else if (wp_num_or(p->others_pct, 0) >= MOST_PCT)
		wp_buf_printf(
			b,
			", where other tasks ran %.0f %% of the time around it, most of all %s (%.0f %%)",
			p->others_pct.v, p->ran_there, wp_num_or(p->ran_there_pct, 0));
	else
		wp_buf_printf(
			b,
			", where %s was seen (%.0f %% of the time around it); more had ended before it could be looked for",
			p->ran_there, wp_num_or(p->ran_there_pct, 0));
}

static void say_reader(const struct wp_pause_view *p, struct wp_buf *b)
{
	const char *state = p->taker_state;

	wp_buf_puts(b, "no room at the other end for ");
	put_us(b, wp_num_or(p->taker_wait_us, 0));
	if (!p->taker || !state) {
		wp_buf_puts(b, "; who reads it is not known");
		return;
	}
	wp_buf_printf(b, ": its reader, %s, ", p->taker);
	if (is(state, "T") || is(state, "t"))
		wp_buf_puts(b, "was stopped (SIGSTOP or a debugger)");
	else if (wp_num_or(p->taker_delay_pct, 0) >= PRESSURE_PCT)
		wp_buf_printf(b, "waited for a CPU %.0f %% of the time", p->taker_delay_pct.v);
	else if (wp_num_or(p->taker_run_pct, 0) >= MOST_PCT)
		wp_buf_printf(b, "was busy: it ran %.0f %% of the time", p->taker_run_pct.v);
	else if (is(state, "R"))
		wp_buf_puts(b, "was able to run");
	else if (is(state, "D"))
		wp_buf_printf(b, "was blocked itself%s%s", p->taker_waited_in ? " in " : "",
			      p->taker_waited_in ? p->taker_waited_in : "");
	else
		wp_buf_printf(b, "slept%s%s and did not read", p->taker_waited_in ? " in " : "",
			      p->taker_waited_in ? p->taker_waited_in : "");
}

static void say_disk(const struct wp_pause_view *p, struct wp_buf *b)
{
	char dirty[32], writeback[32];

	if (p->waited_in)
		wp_buf_printf(b, " in %s", p->waited_in);
	if (wp_has(p->io_pressure_pct))
		wp_buf_printf(b, "; storage held some task up %.0f %% of the time",
			      p->io_pressure_pct.v);
	if (!wp_has(p->dirty_bytes) || !wp_has(p->writeback_bytes))
		return;
	wp_format_bytes(p->dirty_bytes.v, dirty, sizeof(dirty));
	wp_format_bytes(p->writeback_bytes.v, writeback, sizeof(writeback));
	wp_buf_printf(b, ", %s of the page cache waited to be written and %s were on their way",
		      dirty, writeback);
}

static void say_unexplained(const struct parts *x, const struct wp_pause_view *p, struct wp_buf *b)
{
	wp_buf_puts(b, "not explained: the thread ran ");
	put_us(b, x->run);
	wp_buf_puts(b, ", waited ");
	put_us(b, x->delay);
	wp_buf_puts(b, " for a CPU and ");
	put_us(b, x->reader);
	wp_buf_puts(b, " for the other end");
	if (!wp_has(p->run_delay_us))
		wp_buf_puts(b, "; the kernel keeps no schedstat, which would tell");
	else if (is(p->what, "late"))
		wp_buf_puts(b, "; the timer woke it late");
}

static void say(const struct wp_pause_view *p, struct wp_buf *b)
{
	struct parts x = parts_of(p);

	if (is(p->cause, WP_PAUSE_STOPPED)) {
		wp_buf_puts(
			b,
			"whyperf itself did not run, though no CPU was refused to it: stopped (SIGSTOP, a debugger), frozen by a control group, or the whole virtual machine was paused");
	} else if (is(p->cause, WP_PAUSE_QUOTA)) {
		wp_buf_puts(b, "the control group's CPU quota was used up: throttled for ");
		put_us(b, wp_num_or(p->throttled_us, 0));
	} else if (is(p->cause, WP_PAUSE_OFF_CPU)) {
		say_off_cpu(p, b);
	} else if (is(p->cause, WP_PAUSE_READER)) {
		say_reader(p, b);
	} else if (is(p->cause, WP_PAUSE_FSYNC)) {
		wp_buf_puts(b, "fsync(2) waited for the disk");
		say_disk(p, b);
	} else if (is(p->cause, WP_PAUSE_STEAL)) {
		wp_buf_puts(b, "the hypervisor took the CPU for ");
		put_us(b, x.steal);
	} else if (is(p->cause, WP_PAUSE_INTERRUPTS)) {
		wp_buf_puts(b, "interrupts and softirqs had the CPU for ");
		put_us(b, x.ticks);
	} else if (is(p->cause, WP_PAUSE_HIDDEN)) {
		wp_buf_puts(
			b,
			"the thread's clock ran on and no task took its CPU: an interrupt that no tick saw, or the hypervisor without saying so");
	} else if (is(p->cause, WP_PAUSE_CALL)) {
		wp_buf_puts(b, "the write itself ran for ");
		put_us(b, x.run);
	} else if (is(p->cause, WP_PAUSE_MEMORY)) {
		wp_buf_printf(
			b,
			"the write slept%s%s while memory was short: it held some task up %.0f %% of the time",
			p->waited_in ? " in " : "", p->waited_in ? p->waited_in : "",
			wp_num_or(p->memory_pressure_pct, 0));
	} else if (is(p->cause, WP_PAUSE_STORAGE)) {
		wp_buf_puts(b, "the write waited for the storage");
		say_disk(p, b);
	} else if (is(p->cause, WP_PAUSE_ASLEEP)) {
		wp_buf_printf(b, "the write slept%s%s; nothing says what for",
			      p->waited_in ? " in " : "", p->waited_in ? p->waited_in : "");
	} else {
		say_unexplained(&x, p, b);
	}
}

int wp_pauses_judge(struct wp_run *run)
{
	for (size_t i = 0; i < run->n_flows; i++)
		for (size_t k = 0; k < run->flows[i].n_pauses; k++) {
			struct wp_pause_view *p = &run->flows[i].pauses[k];
			_cleanup_buf_ struct wp_buf b = WP_BUF(SENTENCE_MAX);

			p->cause = cause_of(run, p);
			say(p, &b);
			p->says = wp_pool_strdup(&run->pool, wp_buf_text(&b));
			if (!p->says)
				return -ENOMEM;
		}
	return 0;
}
