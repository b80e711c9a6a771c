/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cpuset.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A piece "first-last:used/group": in every `group` CPUs from `first` the first `used` are meant.
 */
struct piece {
	int first, last, used, group;
};

/* Digits at *at to a number below `limit`; moves *at behind them. */
static int take_number(const char **at, int limit, int *ret)
{
	const char *s = *at;
	int v = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (*s - '0');
		if (v >= limit)
			return -ERANGE;
	}
	*at = s;
	*ret = v;
	return 0;
}

static int take_piece(const char **at, struct piece *ret)
{
	struct piece p = { .used = 1, .group = 1 };
	int r;

	r = take_number(at, WP_CPU_MAX, &p.first);
	if (r < 0)
		return r;
	p.last = p.first;
	if (**at != '-') {
		*ret = p;
		return 0;
	}
	++*at;
	r = take_number(at, WP_CPU_MAX, &p.last);
	if (r < 0)
		return r;
	if (**at == ':') {
		++*at;
		r = take_number(at, WP_CPU_MAX + 1, &p.group);
		if (r < 0)
			return r;
		if (**at == '/') {
			++*at;
			p.used = p.group;
			r = take_number(at, WP_CPU_MAX + 1, &p.group);
			if (r < 0)
				return r;
		}
	}
	if (p.last < p.first || p.group < 1 || p.used < 1 || p.used > p.group)
		return -EINVAL;
	*ret = p;
	return 0;
}

static int add_piece(const struct piece *p, int *cpu, size_t *n)
{
	for (int c = p->first; c <= p->last; c++) {
		if ((c - p->first) % p->group >= p->used)
			continue;
		if (*n == WP_CPU_MAX)
			return -E2BIG;
		cpu[(*n)++] = c;
	}
	return 0;
}

static int is_end(const char *s)
{
	return *s == '\0' || (*s == '\n' && s[1] == '\0');
}

static int take_list(const char *s, int *cpu, size_t *ret_n)
{
	struct piece p;
	int r;

	for (;;) {
		r = take_piece(&s, &p);
		if (r < 0)
			return r;
		r = add_piece(&p, cpu, ret_n);
		if (r < 0)
			return r;
		if (is_end(s))
			return 0;
		if (*s++ != ',')
			return -EINVAL;
	}
}

/* Hands over a list that was collected in room for WP_CPU_MAX entries. */
static int give_list(const int *cpu, size_t n, struct wp_cpulist *ret)
{
	struct wp_cpulist l = { .n = n };

	if (n > 0) {
		l.cpu = malloc(n * sizeof(*l.cpu));
		if (!l.cpu)
			return -ENOMEM;
		memcpy(l.cpu, cpu, n * sizeof(*l.cpu));
	}
	*ret = l;
	return 0;
}

int wp_cpulist_parse(const char *s, struct wp_cpulist *ret)
{
	_cleanup_free_ int *cpu = NULL;
	size_t n = 0;
	int r;

	if (!s)
		return -EINVAL;
	if (is_end(s) || (!strncmp(s, "(null)", 6) && is_end(s + 6)))
		return give_list(NULL, 0, ret);
	cpu = malloc(WP_CPU_MAX * sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	r = take_list(s, cpu, &n);
	return r < 0 ? r : give_list(cpu, n, ret);
}

static void cpu_set_free(cpu_set_t **set)
{
	if (*set)
		CPU_FREE(*set);
}

int wp_cpulist_allowed(struct wp_cpulist *ret)
{
	WP_CLEANUP(cpu_set_free) cpu_set_t *set = CPU_ALLOC(WP_CPU_MAX);
	size_t size = CPU_ALLOC_SIZE(WP_CPU_MAX), n = 0;
	_cleanup_free_ int *cpu = malloc(WP_CPU_MAX * sizeof(*cpu));

	if (!set || !cpu)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set) < 0)
		return -errno;
	for (int c = 0; c < WP_CPU_MAX; c++)
		if (CPU_ISSET_S((size_t)c, size, set))
			cpu[n++] = c;
	return give_list(cpu, n, ret);
}

int wp_cpulist_copy(const struct wp_cpulist *from, struct wp_cpulist *ret)
{
	return give_list(from->cpu, from->n, ret);
}

int wp_cpulist_has(const struct wp_cpulist *l, int cpu)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->cpu[i] == cpu)
			return 1;
	return 0;
}

void wp_cpulist_format(const struct wp_cpulist *l, char *out, size_t size)
{
	size_t used = 0, i, end;
	int n;

	if (size == 0)
		return;
	out[0] = '\0';
	for (i = 0; i < l->n; i = end) {
		char piece[32];

		for (end = i + 1; end < l->n && l->cpu[end] == l->cpu[end - 1] + 1; end++)
			;
		if (end - i > 1)
			n = snprintf(piece, sizeof(piece), "%s%d-%d", i ? "," : "", l->cpu[i],
				     l->cpu[end - 1]);
		else
			n = snprintf(piece, sizeof(piece), "%s%d", i ? "," : "", l->cpu[i]);
		if ((size_t)n >= size - used || (end < l->n && (size_t)n + 4 > size - used)) {
			snprintf(out + used, size - used, "...");
			return;
		}
		memcpy(out + used, piece, (size_t)n + 1);
		used += (size_t)n;
	}
}

void wp_cpulist_done(struct wp_cpulist *l)
{
	if (!l)
		return;
	free(l->cpu);
	l->cpu = NULL;
	l->n = 0;
}

int wp_pin_self(int cpu)
{
	WP_CLEANUP(cpu_set_free) cpu_set_t *set = NULL;
	size_t size = CPU_ALLOC_SIZE(WP_CPU_MAX);

	if (cpu < 0 || cpu >= WP_CPU_MAX)
		return -EINVAL;
	set = CPU_ALLOC(WP_CPU_MAX);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	return sched_setaffinity(0, size, set) < 0 ? -errno : 0;
}
