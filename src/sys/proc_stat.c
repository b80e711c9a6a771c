/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/proc_stat.h"

#include "base/cpuset.h"
#include "sys/grow.h"
#include "sys/text.h"

static int parse_columns(struct wp_text line, struct wp_cpu_ticks *row)
{
	struct wp_text word;

	while (row->columns < WP_CPU_COLUMNS && wp_text_word(&line, &word)) {
		int r = wp_text_u64(word, &row->ticks[row->columns]);

		if (r < 0)
			return r;
		row->columns++;
	}
	/* user, nice, system and idle have been there since 2.4. */
	return row->columns < 4 ? -EINVAL : 0;
}

static int parse_cpu(struct wp_text line, struct wp_proc_stat *s, struct wp_err *err)
{
	struct wp_cpu_ticks row = { .cpu = -1 };
	struct wp_text name;
	uint64_t cpu = 0;
	int r;

	wp_text_word(&line, &name);
	wp_text_eat(&name, "cpu");
	if (wp_text_len(name) == 0) {
		if (parse_columns(line, &row) < 0)
			return wp_err_set(err, -EBADMSG, "proc/stat: the cpu line is malformed");
		s->all = row;
		return 0;
	}
	if (wp_text_u64(name, &cpu) < 0 || cpu >= WP_CPU_MAX)
		return wp_err_set(err, -EBADMSG, "proc/stat: a CPU number is malformed or above %d",
				  WP_CPU_MAX - 1);
	row.cpu = (int)cpu;
	if (parse_columns(line, &row) < 0)
		return wp_err_set(err, -EBADMSG, "proc/stat: the line of cpu%d is malformed",
				  row.cpu);
	if (s->n && s->cpu[s->n - 1].cpu >= row.cpu)
		return wp_err_set(err, -EBADMSG, "proc/stat: cpu%d is out of order", row.cpu);
	r = WP_GROW(s->cpu, s->cap, s->n + 1, WP_CPU_MAX);
	if (r < 0)
		return r;
	s->cpu[s->n++] = row;
	return 0;
}

/* "name value ...": lines that are nice to have. One that is malformed counts as missing. */
static void parse_total(struct wp_text line, struct wp_proc_stat *s)
{
	const struct {
		const char *name;
		uint64_t *value;
		unsigned has;
	} totals[] = {
		{ "intr", &s->interrupts, WP_PROC_STAT_HAS_INTR },
		{ "ctxt", &s->context_switches, WP_PROC_STAT_HAS_CTXT },
		{ "btime", &s->boot_unix_s, WP_PROC_STAT_HAS_BTIME },
		{ "processes", &s->forks, WP_PROC_STAT_HAS_FORKS },
		{ "procs_running", &s->running, WP_PROC_STAT_HAS_RUNNING },
		{ "procs_blocked", &s->blocked, WP_PROC_STAT_HAS_BLOCKED },
		{ "softirq", &s->softirqs, WP_PROC_STAT_HAS_SOFTIRQS },
	};
	struct wp_text name, word;

	if (!wp_text_word(&line, &name) || !wp_text_word(&line, &word))
		return;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		if (!wp_text_is(name, totals[i].name))
			continue;
		if (wp_text_u64(word, totals[i].value) == 0)
			s->has |= totals[i].has;
		return;
	}
}

int wp_proc_stat_parse(const char *data, size_t len, struct wp_proc_stat *s, struct wp_err *err)
{
	struct wp_text t = wp_text(data, len), line;

	*s = (struct wp_proc_stat) { .cpu = s->cpu, .cap = s->cap };
	while (wp_text_line(&t, &line)) {
		struct wp_text probe = line;

		if (wp_text_eat(&probe, "cpu")) {
			int r = parse_cpu(line, s, err);

			if (r < 0)
				return r;
		} else {
			parse_total(line, s);
		}
	}
	if (s->n == 0)
		return wp_err_set(err, -ENODATA, "proc/stat has no line of a CPU");
	return 0;
}

const struct wp_cpu_ticks *wp_proc_stat_cpu(const struct wp_proc_stat *s, int cpu)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->cpu[mid].cpu == cpu)
			return &s->cpu[mid];
		if (s->cpu[mid].cpu < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void wp_proc_stat_done(struct wp_proc_stat *s)
{
	if (!s)
		return;
	free(s->cpu);
	*s = (struct wp_proc_stat) { 0 };
}
