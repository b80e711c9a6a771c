/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/cpumask.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/text_split.h"

#define WORD_BITS 32
#define WORDS_MAX (WP_CPU_MAX / WORD_BITS)

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads the digits from the right. A comma must stand exactly after every 8th digit, if there is one at all. */
static int parse_bits(struct wp_text s, uint32_t word[static WORDS_MAX])
{
	size_t digits = 0, since_comma = 0;
	bool commas = wp_text_find(s, ",") != NULL;

	for (const char *p = s.end; p > s.p;) {
		int v;

		p--;
		if (*p == ',') {
			if (since_comma != 8 || p == s.p)
				return -EINVAL;
			since_comma = 0;
			continue;
		}
		v = hex_of(*p);
		if (v < 0 || (commas && since_comma == 8))
			return -EINVAL;
		if (digits / 8 < WORDS_MAX)
			word[digits / 8] |= (uint32_t)v << (digits % 8 * 4);
		else if (v)
			return -ERANGE;
		digits++;
		since_comma++;
	}
	return 0;
}

int wp_cpumask_parse(const char *text, size_t len, struct wp_cpulist *ret)
{
	uint32_t word[WORDS_MAX] = { 0 };
	struct wp_cpulist l = { 0 };
	struct wp_text s = wp_text_trim(wp_text(text, len));
	size_t n = 0;
	int r;

	if (wp_text_eat(&s, "0x") && !wp_text_len(s))
		return -EINVAL;
	r = parse_bits(s, word);
	if (r)
		return r;
	for (size_t i = 0; i < WORDS_MAX; i++)
		n += (size_t)__builtin_popcount(word[i]);
	if (n) {
		l.cpu = calloc(n, sizeof(*l.cpu));
		if (!l.cpu)
			return -ENOMEM;
	}
	for (int cpu = 0; cpu < WP_CPU_MAX && l.n < n; cpu++)
		if (word[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1)
			l.cpu[l.n++] = cpu;
	*ret = l;
	return 0;
}

int wp_cpumask_format(const struct wp_cpulist *l, char *out, size_t size)
{
	uint32_t word[WORDS_MAX] = { 0 };
	size_t top = 0, at = 0;

	for (size_t i = 0; i < l->n; i++) {
		unsigned cpu = (unsigned)l->cpu[i];

		if (l->cpu[i] < 0 || cpu >= WP_CPU_MAX)
			return -ERANGE;
		word[cpu / WORD_BITS] |= UINT32_C(1) << (cpu % WORD_BITS);
		if (cpu / WORD_BITS > top)
			top = cpu / WORD_BITS;
	}
	for (size_t i = top + 1; i-- > 0;) {
		int n = snprintf(out + at, size - at, i == top ? "%x" : ",%08x", word[i]);

		if (n < 0 || (size_t)n >= size - at)
			return -ENOSPC;
		at += (size_t)n;
	}
	return 0;
}
