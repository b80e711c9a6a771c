/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/cpu_use.h"

#include <string.h>

#include "base/clock.h"
#include "sys/delta.h"
#include "sys/grow.h"

/* A column may step back by rounding; more is hot-plug or a file system that makes figures up. */
#define BACK_TICKS 2
/* Of the wall time: the sum of the columns may be off by that and 2 ticks. */
#define SUM_SLACK 0.03
#define SUM_TICKS 2.0
/* No single column can exceed the wall time; this much above it, the figures are not times. */
#define COLUMN_MAX 1.25
/* Below this share of idle the CPU counts as saturated. */
#define IDLE_NONE 0.01

static const char why_plugged[] = "the CPU came online or went offline meanwhile";
static const char why_back[] = "the counters went backwards (hot-plug or migration)";
static const char why_foreign[] =
	"/proc/stat is not the kernel's (container): its CPUs or its file system differ";
static const char why_fast[] = "the counters run faster than time";
static const char why_no_time[] = "no time between the readings";
static const char why_iowait[] = "iowait went backwards, which the kernel warns of";
static const char why_no_column[] = "this kernel's /proc/stat has no such column";
static const char why_not_listed[] = "the file has no line of this CPU";
static const char why_reset[] = "a counter was reset meanwhile";
static const char why_no_rps[] = "this kernel does not count it";

/* Where the entry of a CPU is or belongs. `hint`: where it is likely to be. */
static size_t position(const struct wp_cpu_span *span, int cpu, size_t hint)
{
	size_t low = 0, high = span->n;

	if (hint < span->n && span->cpu[hint].cpu == cpu)
		return hint;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (span->cpu[mid].cpu < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool has_entry(const struct wp_cpu_span *span, int cpu, size_t hint)
{
	size_t at = position(span, cpu, hint);

	return at < span->n && span->cpu[at].cpu == cpu;
}

/* The entry of a CPU, made when missing; NULL when memory is short. */
static struct wp_cpu_delta *entry(struct wp_cpu_span *span, int cpu, size_t hint)
{
	size_t at = position(span, cpu, hint);

	if (at < span->n && span->cpu[at].cpu == cpu)
		return &span->cpu[at];
	if (WP_GROW(span->cpu, span->cap, span->n + 1, WP_CPU_MAX) < 0)
		return NULL;
	memmove(&span->cpu[at + 1], &span->cpu[at], (span->n - at) * sizeof(span->cpu[0]));
	span->cpu[at] = (struct wp_cpu_delta) { .cpu = cpu };
	span->n++;
	return &span->cpu[at];
}

static void add_ticks(struct wp_cpu_delta *d, const struct wp_cpu_ticks *a,
		      const struct wp_cpu_ticks *b, int64_t wall_ns)
{
	d->flags |= WP_CPU_HAS_TICKS;
	d->columns = a->columns < b->columns ? a->columns : b->columns;
	d->wall_ns += wall_ns;
	for (size_t c = 0; c < WP_CPU_SUMMED; c++) {
		/* Unsigned first: no overflow whatever the file says. */
		int64_t moved = (int64_t)(b->ticks[c] - a->ticks[c]);

		if (moved < -BACK_TICKS && c != WP_CPU_IOWAIT)
			d->flags |= WP_CPU_STEPPED_BACK;
		if (__builtin_add_overflow(d->ticks[c], moved, &d->ticks[c]))
			d->flags |= WP_CPU_STEPPED_BACK;
	}
}

static int step_stat(struct wp_cpu_span *span, const struct wp_snapshot *before,
		     const struct wp_snapshot *after)
{
	int64_t wall_ns = after->read_ns[WP_SOURCE_STAT] - before->read_ns[WP_SOURCE_STAT];
	size_t a = 0, b = 0;

	/* Both lists ascend; walk them side by side. */
	while (a < before->stat.n || b < after->stat.n) {
		const struct wp_cpu_ticks *old = a < before->stat.n ? &before->stat.cpu[a] : NULL;
		const struct wp_cpu_ticks *new = b < after->stat.n ? &after->stat.cpu[b] : NULL;
		bool has_old = old && (!new || old->cpu <= new->cpu);
		bool has_new = new && (!old || new->cpu <= old->cpu);
		struct wp_cpu_delta *d = entry(span, has_old ? old->cpu : new->cpu, b);

		if (!d)
			return -ENOMEM;
		if (has_old && has_new)
			add_ticks(d, old, new, wall_ns);
		else
			d->flags |= WP_CPU_CAME_OR_WENT;
		/* One of the two may be a CPU that went between the reads of stat and online. */
		if (before->foreign_stat && after->foreign_stat)
			d->flags |= WP_CPU_FOREIGN;
		a += has_old;
		b += has_new;
	}
	return 0;
}

/* One row of a table of 32-bit counts, added to each CPU's interrupts (kind < 0) or softirqs of that kind. */
static int step_row(struct wp_cpu_span *span, const struct wp_irq_table *before, size_t old_row,
		    const struct wp_irq_table *after, size_t row, int kind)
{
	unsigned has = kind < 0 ? WP_CPU_HAS_INTERRUPTS : WP_CPU_HAS_SOFTIRQS;
	unsigned reset = kind < 0 ? WP_CPU_RESET_INTERRUPTS : WP_CPU_RESET_SOFTIRQS;
	const uint64_t *counts = wp_irq_table_counts(after, row);

	for (size_t c = 0; c < after->n_cpus; c++) {
		size_t old_column = wp_irq_table_column(before, after->cpu[c], c);
		struct wp_cpu_delta *d;
		uint64_t old = 0, moved;

		/* A CPU without its old column just came; what it counted before is unknown. */
		if (old_column == before->n_cpus)
			continue;
		/* softirqs lists possible CPUs; only those that proc/stat has are online. */
		if (kind >= 0 && span->read & WP_SOURCE_BIT(WP_SOURCE_STAT) &&
		    !has_entry(span, after->cpu[c], c))
			continue;
		d = entry(span, after->cpu[c], c);
		if (!d)
			return -ENOMEM;
		d->flags |= has;
		/* A row that was not there had counted nothing: the kernel hides those. */
		if (old_row < before->n_rows)
			old = wp_irq_table_counts(before, old_row)[old_column];
		if (wp_counter_delta(old, counts[c], WP_WIDTH_32, &moved) < 0)
			d->flags |= reset;
		else if (kind < 0)
			d->interrupts += moved;
		else
			d->softirq[kind] += moved;
	}
	return 0;
}

static int step_interrupts(struct wp_cpu_span *span, const struct wp_irq_table *before,
			   const struct wp_irq_table *after)
{
	for (size_t row = 0; row < after->n_rows; row++) {
		const struct wp_irq_row *irq = &after->row[row];
		int r;

		if (irq->total_only || irq->aggregate || irq->n_counts == 0)
			continue;
		r = step_row(span, before, wp_irq_table_find(before, irq->label, row), after, row,
			     -1);
		if (r < 0)
			return r;
	}
	return 0;
}

static enum wp_softirq softirq_kind(const char *label)
{
	static const struct {
		const char *label;
		enum wp_softirq kind;
	} kinds[] = {
		{ "HI", WP_SOFTIRQ_HI },
		{ "TIMER", WP_SOFTIRQ_TIMER },
		{ "NET_TX", WP_SOFTIRQ_NET_TX },
		{ "NET_RX", WP_SOFTIRQ_NET_RX },
		{ "BLOCK", WP_SOFTIRQ_BLOCK },
		{ "IRQ_POLL", WP_SOFTIRQ_BLOCK },
		{ "BLOCK_IOPOLL", WP_SOFTIRQ_BLOCK },
		{ "TASKLET", WP_SOFTIRQ_TASKLET },
		{ "SCHED", WP_SOFTIRQ_SCHED },
		{ "HRTIMER", WP_SOFTIRQ_HRTIMER },
		{ "RCU", WP_SOFTIRQ_RCU },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(label, kinds[i].label) == 0)
			return kinds[i].kind;
	return WP_SOFTIRQ_OTHER;
}

static int step_softirqs(struct wp_cpu_span *span, const struct wp_irq_table *before,
			 const struct wp_irq_table *after)
{
	for (size_t row = 0; row < after->n_rows; row++) {
		const char *label = after->row[row].label;
		int r = step_row(span, before, wp_irq_table_find(before, label, row), after, row,
				 (int)softirq_kind(label));

		if (r < 0)
			return r;
	}
	return 0;
}

static int step_softnet(struct wp_cpu_span *span, const struct wp_softnet *before,
			const struct wp_softnet *after)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct wp_softnet_row *b = &after->row[i];
		const struct wp_softnet_row *a = wp_softnet_cpu(before, b->cpu, i);
		struct wp_cpu_delta *d;
		uint64_t moved;

		if (!a)
			continue;
		d = entry(span, b->cpu, i);
		if (!d)
			return -ENOMEM;
		d->flags |= WP_CPU_HAS_SOFTNET | (b->columns >= 10 ? WP_CPU_HAS_RPS : 0);

		const uint32_t pairs[WP_SOFTNET_COUNTS][2] = {
			{ a->processed, b->processed },
			{ a->dropped, b->dropped },
			{ a->squeezed, b->squeezed },
			{ a->received_rps, b->received_rps },
		};

		for (size_t c = 0; c < WP_SOFTNET_COUNTS; c++) {
			if (wp_counter_delta(pairs[c][0], pairs[c][1], WP_WIDTH_32, &moved) < 0)
				d->flags |= WP_CPU_RESET_SOFTNET;
			else
				d->softnet[c] += moved;
		}
	}
	return 0;
}

/* The time of a snapshot is that of its first file that was read. */
static int64_t snapshot_ns(const struct wp_snapshot *snap)
{
	for (size_t i = 0; i < WP_SOURCES; i++)
		if (!snap->why[i])
			return snap->read_ns[i];
	return 0;
}

int wp_cpu_span_step(struct wp_cpu_span *span, const struct wp_snapshot *before,
		     const struct wp_snapshot *after)
{
	int r = 0;

	for (unsigned i = 0; i <= WP_SOURCE_SOFTNET && r == 0; i++) {
		if (before->why[i] || after->why[i]) {
			span->why[i] = after->why[i] ? after->why[i] : before->why[i];
			continue;
		}
		span->read |= WP_SOURCE_BIT(i);
		if (i == WP_SOURCE_STAT)
			r = step_stat(span, before, after);
		else if (i == WP_SOURCE_INTERRUPTS)
			r = step_interrupts(span, &before->interrupts, &after->interrupts);
		else if (i == WP_SOURCE_SOFTIRQS)
			r = step_softirqs(span, &before->softirqs, &after->softirqs);
		else
			r = step_softnet(span, &before->softnet, &after->softnet);
	}
	if (span->steps++ == 0)
		span->start_ns = snapshot_ns(before);
	span->end_ns = snapshot_ns(after);
	return r;
}

static void merge_cpu(struct wp_cpu_delta *d, const struct wp_cpu_delta *next)
{
	d->flags |= next->flags;
	if (next->columns && (!d->columns || next->columns < d->columns))
		d->columns = next->columns;
	d->wall_ns += next->wall_ns;
	for (size_t i = 0; i < WP_CPU_SUMMED; i++)
		if (__builtin_add_overflow(d->ticks[i], next->ticks[i], &d->ticks[i]))
			d->flags |= WP_CPU_STEPPED_BACK;
	d->interrupts += next->interrupts;
	for (size_t i = 0; i < WP_SOFTIRQS; i++)
		d->softirq[i] += next->softirq[i];
	for (size_t i = 0; i < WP_SOFTNET_COUNTS; i++)
		d->softnet[i] += next->softnet[i];
}

int wp_cpu_span_merge(struct wp_cpu_span *span, const struct wp_cpu_span *next)
{
	for (size_t i = 0; i < next->n; i++) {
		struct wp_cpu_delta *d = entry(span, next->cpu[i].cpu, i);

		if (!d)
			return -ENOMEM;
		merge_cpu(d, &next->cpu[i]);
	}
	for (size_t i = 0; i <= WP_SOURCE_SOFTNET; i++)
		if (next->why[i])
			span->why[i] = next->why[i];
	span->read |= next->read;
	if (span->steps == 0)
		span->start_ns = next->start_ns;
	if (next->steps)
		span->end_ns = next->end_ns;
	span->steps += next->steps;
	return 0;
}

void wp_cpu_span_reset(struct wp_cpu_span *span)
{
	*span = (struct wp_cpu_span) { .cpu = span->cpu, .cap = span->cap };
}

void wp_cpu_span_done(struct wp_cpu_span *span)
{
	if (!span)
		return;
	free(span->cpu);
	*span = (struct wp_cpu_span) { 0 };
}

static double wall_ticks(const struct wp_cpu_delta *d, unsigned user_hz)
{
	return (double)d->wall_ns / (double)WP_NS_PER_S * user_hz;
}

static bool runs_too_fast(const struct wp_cpu_delta *d, unsigned user_hz)
{
	for (size_t c = 0; c < WP_CPU_SUMMED; c++)
		if ((double)d->ticks[c] > COLUMN_MAX * wall_ticks(d, user_hz) + SUM_TICKS)
			return true;
	return false;
}

/* Why the columns can't be used, or NULL. */
static const char *why_not(const struct wp_cpu_delta *d, unsigned user_hz)
{
	if (d->flags & WP_CPU_CAME_OR_WENT)
		return why_plugged;
	if (d->flags & WP_CPU_FOREIGN)
		return why_foreign;
	if (d->flags & WP_CPU_STEPPED_BACK)
		return why_back;
	if (d->wall_ns <= 0)
		return why_no_time;
	if (runs_too_fast(d, user_hz))
		return why_fast;
	return NULL;
}

/* Steps back by rounding, and all of iowait's, count as no time. */
static double column(const struct wp_cpu_delta *d, enum wp_cpu_column c)
{
	return d->ticks[c] > 0 ? (double)d->ticks[c] : 0;
}

static double sum_of_columns(const struct wp_cpu_delta *d)
{
	double sum = 0;

	for (unsigned c = 0; c < WP_CPU_SUMMED; c++)
		sum += column(d, c);
	return sum;
}

const char *wp_cpu_trust(const struct wp_cpu_delta *d, unsigned user_hz)
{
	double wall = wall_ticks(d, user_hz), excess, slack;

	if (!(d->flags & WP_CPU_HAS_TICKS) || why_not(d, user_hz))
		return "absent";
	excess = sum_of_columns(d) / wall - 1;
	slack = SUM_SLACK + SUM_TICKS / wall;
	if (excess < -slack)
		return "hidden";
	if (excess > slack)
		return "doubled";
	if (column(d, WP_CPU_IDLE) + column(d, WP_CPU_IOWAIT) <= IDLE_NONE * wall)
		return "saturated";
	return "ok";
}

/* The percentages that the record and the samples have in common. */
struct percentages {
	struct wp_num busy, user, system, irq, softirq, steal, idle, iowait, sum;
};

static struct wp_num state(double v, const char *why)
{
	return why ? wp_invalid(v, why) : wp_num(v);
}

/* A column that this kernel has, in per cent of the wall time. */
static struct wp_num share(const struct wp_cpu_delta *d, enum wp_cpu_column c, double wall,
			   const char *why)
{
	if (d->columns <= (unsigned)c)
		return wp_absent(why_no_column);
	return state(100 * column(d, c) / wall, why);
}

static struct percentages all_same(struct wp_num n)
{
	return (struct percentages) { n, n, n, n, n, n, n, n, n };
}

static struct percentages percentages(const struct wp_cpu_span *span, const struct wp_cpu_delta *d,
				      unsigned user_hz)
{
	const char *why = why_not(d, user_hz);
	double wall = wall_ticks(d, user_hz), busy;
	struct percentages p;

	if (!(span->read & WP_SOURCE_BIT(WP_SOURCE_STAT)))
		return all_same(wp_absent(span->why[WP_SOURCE_STAT]));
	if (d->flags & WP_CPU_CAME_OR_WENT && d->wall_ns <= 0)
		return all_same(wp_invalid(NAN, why_plugged));
	if (!(d->flags & WP_CPU_HAS_TICKS))
		return all_same(wp_absent(why_not_listed));
	if (d->wall_ns <= 0)
		return all_same(wp_absent(why_no_time));
	busy = 100 * (wall - column(d, WP_CPU_IDLE) - column(d, WP_CPU_IOWAIT)) / wall;
	p = (struct percentages) {
		.busy = state(busy < 0 ? 0 : busy, why),
		.user = state(100 * (column(d, WP_CPU_USER) + column(d, WP_CPU_NICE)) / wall, why),
		.system = share(d, WP_CPU_SYSTEM, wall, why),
		.irq = share(d, WP_CPU_IRQ, wall, why),
		.softirq = share(d, WP_CPU_SOFTIRQ, wall, why),
		.steal = share(d, WP_CPU_STEAL, wall, why),
		.idle = share(d, WP_CPU_IDLE, wall, why),
		.iowait = share(d, WP_CPU_IOWAIT, wall, why),
		.sum = state(100 * sum_of_columns(d) / wall, why),
	};
	if (!why && d->ticks[WP_CPU_IOWAIT] < 0)
		p.iowait = wp_invalid(0, why_iowait);
	return p;
}

/* A count whose file is `source`; `has` and `reset` are the CPU's flags for it. */
static struct wp_num count(const struct wp_cpu_span *span, const struct wp_cpu_delta *d, uint64_t v,
			   enum wp_source source, unsigned has, unsigned reset)
{
	if (!(span->read & WP_SOURCE_BIT(source)))
		return wp_absent(span->why[source]);
	if (d->flags & WP_CPU_CAME_OR_WENT)
		return wp_invalid((double)v, why_plugged);
	if (!(d->flags & has))
		return wp_absent(why_not_listed);
	if (d->flags & reset)
		return wp_invalid((double)v, why_reset);
	return wp_num((double)v);
}

static struct wp_num softirq(const struct wp_cpu_span *span, const struct wp_cpu_delta *d,
			     enum wp_softirq kind)
{
	return count(span, d, d->softirq[kind], WP_SOURCE_SOFTIRQS, WP_CPU_HAS_SOFTIRQS,
		     WP_CPU_RESET_SOFTIRQS);
}

static struct wp_num softnet(const struct wp_cpu_span *span, const struct wp_cpu_delta *d,
			     enum wp_softnet_count which)
{
	return count(span, d, d->softnet[which], WP_SOURCE_SOFTNET, WP_CPU_HAS_SOFTNET,
		     WP_CPU_RESET_SOFTNET);
}

void wp_cpu_use_get(const struct wp_cpu_span *span, size_t i, unsigned user_hz,
		    struct wp_cpu_use *ret)
{
	const struct wp_cpu_delta *d = &span->cpu[i];
	struct percentages p = percentages(span, d, user_hz);

	*ret = (struct wp_cpu_use) {
		.cpu = wp_num(d->cpu),
		.busy_pct = p.busy,
		.user_pct = p.user,
		.system_pct = p.system,
		.irq_pct = p.irq,
		.softirq_pct = p.softirq,
		.steal_pct = p.steal,
		.idle_pct = p.idle,
		.iowait_pct = p.iowait,
		.sum_pct = p.sum,
		.trust = wp_cpu_trust(d, user_hz),
		.source = "ticks",
		.interrupts = count(span, d, d->interrupts, WP_SOURCE_INTERRUPTS,
				    WP_CPU_HAS_INTERRUPTS, WP_CPU_RESET_INTERRUPTS),
		.net_rx = softirq(span, d, WP_SOFTIRQ_NET_RX),
		.net_tx = softirq(span, d, WP_SOFTIRQ_NET_TX),
		.timer = softirq(span, d, WP_SOFTIRQ_TIMER),
		.sched = softirq(span, d, WP_SOFTIRQ_SCHED),
		.hrtimer = softirq(span, d, WP_SOFTIRQ_HRTIMER),
		.rcu = softirq(span, d, WP_SOFTIRQ_RCU),
		.tasklet = softirq(span, d, WP_SOFTIRQ_TASKLET),
		.block = softirq(span, d, WP_SOFTIRQ_BLOCK),
		.softnet_processed = softnet(span, d, WP_SOFTNET_PROCESSED),
		.softnet_dropped = softnet(span, d, WP_SOFTNET_DROPPED),
		.softnet_squeezed = softnet(span, d, WP_SOFTNET_SQUEEZED),
		.softnet_rps = softnet(span, d, WP_SOFTNET_RPS),
		.frequency_mhz = wp_absent("not read"),
	};
	if (wp_has(ret->softnet_rps) && !(d->flags & WP_CPU_HAS_RPS))
		ret->softnet_rps = wp_absent(why_no_rps);
}

void wp_cpu_sample_get(const struct wp_cpu_span *span, size_t i, unsigned user_hz,
		       int64_t origin_ns, struct wp_cpu_sample *ret)
{
	struct percentages p = percentages(span, &span->cpu[i], user_hz);

	*ret = (struct wp_cpu_sample) {
		.start_s = wp_num((double)(span->start_ns - origin_ns) / (double)WP_NS_PER_S),
		.end_s = wp_num((double)(span->end_ns - origin_ns) / (double)WP_NS_PER_S),
		.cpu = wp_num(span->cpu[i].cpu),
		.busy_pct = p.busy,
		.user_pct = p.user,
		.system_pct = p.system,
		.irq_pct = p.irq,
		.softirq_pct = p.softirq,
		.steal_pct = p.steal,
		.idle_pct = p.idle,
		.sum_pct = p.sum,
	};
}
