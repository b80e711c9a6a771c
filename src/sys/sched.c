/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/sched.h"

#include <limits.h>

#include "base/cpuset.h"
#include "sys/grow.h"
#include "sys/text.h"

int wp_thread_sched_parse(const char *data, size_t len, struct wp_thread_sched *ret)
{
	struct wp_text t = wp_text(data, len), line, word;
	uint64_t v[3];

	if (!wp_text_line(&t, &line))
		return -EBADMSG;
	for (size_t i = 0; i < 3; i++)
		if (!wp_text_word(&line, &word) || wp_text_u64(word, &v[i]) < 0)
			return -EBADMSG;
	*ret = (struct wp_thread_sched) { .run_ns = v[0], .wait_ns = v[1], .slices = v[2] };
	return 0;
}

/* Field numbers of proc(5), counted from 1. */
enum {
	FIELD_STATE = 3,
	FIELD_PARENT = 4,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_PROCESSOR = 39,
	FIELD_POLICY = 41,
};

static int parse_fields(struct wp_text rest, struct wp_thread_stat *s)
{
	struct wp_text word;
	uint64_t v = 0;

	if (!wp_text_word(&rest, &word) || wp_text_len(word) != 1)
		return -EBADMSG;
	s->state = *word.p;
	for (int field = FIELD_STATE + 1; wp_text_word(&rest, &word); field++) {
		if (field != FIELD_PARENT && field != FIELD_UTIME && field != FIELD_STIME &&
		    field != FIELD_THREADS && field != FIELD_PROCESSOR && field != FIELD_POLICY)
			continue; /* some of these are negative */
		if (wp_text_u64(word, &v) < 0)
			return -EBADMSG;
		if (field == FIELD_PARENT)
			s->parent = v <= INT_MAX ? (int)v : 0;
		else if (field == FIELD_THREADS)
			s->threads = v <= INT_MAX ? (int)v : 0;
		else if (field == FIELD_UTIME)
			s->user_ticks = v;
		else if (field == FIELD_STIME)
			s->system_ticks = v;
		else if (field == FIELD_PROCESSOR)
			s->cpu = v < WP_CPU_MAX ? (int)v : -1;
		else
			s->policy = v <= UINT_MAX ? (unsigned)v : 0;
		if (field == FIELD_POLICY)
			break;
	}
	return 0;
}

int wp_thread_stat_parse(const char *data, size_t len, struct wp_thread_stat *ret)
{
	struct wp_text t = wp_text(data, len), line, number;
	struct wp_thread_stat s = { .cpu = -1 };
	const char *open = NULL, *close = NULL;
	uint64_t tid;

	if (!wp_text_line(&t, &line))
		return -EBADMSG;
	/* The name may hold anything, parentheses too: it ends at the last one. */
	for (const char *p = line.p; p < line.end; p++) {
		if (*p == '(' && !open)
			open = p;
		if (*p == ')')
			close = p;
	}
	if (!open || !close || close < open)
		return -EBADMSG;
	number = (struct wp_text) { line.p, open };
	if (wp_text_digits(&number, &tid) < 0 || tid > INT_MAX)
		return -EBADMSG;
	s.tid = (int)tid;
	wp_text_copy((struct wp_text) { open + 1, close }, s.name, sizeof(s.name));
	if (parse_fields((struct wp_text) { close + 1, line.end }, &s) < 0)
		return -EBADMSG;
	*ret = s;
	return 0;
}

/* "12.34": per cent with two decimals. */
static int parse_pct(struct wp_text word, double *ret)
{
	uint64_t whole, part = 0;

	if (wp_text_digits(&word, &whole) < 0)
		return -EBADMSG;
	if (wp_text_eat(&word, ".") && (wp_text_len(word) != 2 || wp_text_digits(&word, &part) < 0))
		return -EBADMSG;
	if (word.p != word.end || whole > 100)
		return -EBADMSG;
	*ret = (double)whole + (double)part / 100;
	return 0;
}

int wp_pressure_parse(const char *data, size_t len, struct wp_pressure *ret)
{
	struct wp_text t = wp_text(data, len), line, kind, word;
	struct wp_pressure p = { 0 };

	while (wp_text_line(&t, &line)) {
		bool some, has_total = false;

		if (!wp_text_word(&line, &kind))
			continue;
		some = wp_text_is(kind, "some");
		if (!some && !wp_text_is(kind, "full"))
			return -EBADMSG;
		while (wp_text_word(&line, &word)) {
			int r = 0;

			if (wp_text_eat(&word, "avg10=")) {
				r = parse_pct(word, some ? &p.some_avg10_pct : &p.full_avg10_pct);
			} else if (wp_text_eat(&word, "total=")) {
				r = wp_text_u64(word, some ? &p.some_us : &p.full_us);
				has_total = true;
			}
			if (r < 0)
				return -EBADMSG;
		}
		if (!has_total)
			return -EBADMSG;
		if (some)
			p.has_some = true;
		else
			p.has_full = true;
	}
	if (!p.has_some && !p.has_full)
		return -EBADMSG;
	*ret = p;
	return 0;
}

/* cpuN, then nine numbers of which the last three are wanted (they are the 7th to 9th in every
 * version). */
static int parse_schedstat_cpu(struct wp_text line, struct wp_schedstat *s)
{
	struct wp_text word;
	uint64_t cpu, v[9];

	if (!wp_text_word(&line, &word) || !wp_text_eat(&word, "cpu") ||
	    wp_text_u64(word, &cpu) < 0 || cpu >= WP_CPU_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < 9; i++)
		if (!wp_text_word(&line, &word) || wp_text_u64(word, &v[i]) < 0)
			return -EBADMSG;
	if (s->n && s->cpu[s->n - 1].cpu >= (int)cpu)
		return -EBADMSG;
	if (WP_GROW(s->cpu, s->cap, s->n + 1, WP_CPU_MAX) < 0)
		return -ENOMEM;
	s->cpu[s->n++] = (struct wp_cpu_sched) {
		.cpu = (int)cpu,
		.run_ns = v[6],
		.wait_ns = v[7],
		.slices = v[8],
	};
	return 0;
}

int wp_schedstat_parse(const char *data, size_t len, struct wp_schedstat *s)
{
	struct wp_text t = wp_text(data, len), line;
	uint64_t version;
	int r = 0;

	s->n = 0;
	if (!wp_text_line(&t, &line) || !wp_text_eat(&line, "version ") ||
	    wp_text_u64(line, &version) < 0)
		return -EBADMSG;
	if (version < 14)
		return -ENOTSUP;
	while (r == 0 && wp_text_line(&t, &line)) {
		struct wp_text probe = line;

		if (wp_text_eat(&probe, "cpu"))
			r = parse_schedstat_cpu(line, s);
	}
	return r;
}

void wp_schedstat_done(struct wp_schedstat *s)
{
	if (!s)
		return;
	free(s->cpu);
	*s = (struct wp_schedstat) { 0 };
}
