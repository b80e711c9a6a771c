/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/opt.h"

#define WORD_MAX 40 /* no option or command is longer */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Damerau-Levenshtein distance in the restricted form (optimal string alignment): insertions,
 * deletions, substitutions, and swaps of neighbours count one each. Both words at most WORD_MAX
 * long. */
static size_t distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t d[3][WORD_MAX + 1], *row, *last, *last2;

	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		row = d[i % 3];
		last = d[(i + 2) % 3];
		last2 = d[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = least(least(last[j], row[j - 1]) + 1,
				       last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], last2[j - 2] + 1);
		}
	}
	return d[la % 3][lb];
}

const char *wp_nearest(const char *word, const char *const *candidates, size_t n)
{
	const char *best = NULL, *longer = NULL;
	size_t len = strlen(word), best_d = 3, d, prefixes = 0;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (strlen(candidates[i]) > WORD_MAX)
			continue;
		if (!strncmp(candidates[i], word, len)) {
			longer = candidates[i];
			prefixes++;
		}
		d = distance(word, candidates[i]);
		if (d < best_d && 2 * d < len) {
			best = candidates[i];
			best_d = d;
		}
	}
	return prefixes == 1 ? longer : best;
}
