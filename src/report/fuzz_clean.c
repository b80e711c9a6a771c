/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cleaned text has no control characters, is as ASCII as asked for, and cleaning it again changes nothing. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *s, bool utf8)
{
	struct wp_pool pool = WP_POOL(64 << 20);
	const char *once = wp_clean(&pool, s, utf8), *twice = wp_clean(&pool, once, utf8);

	if (strcmp(once, twice) != 0 || wp_width(once) > strlen(once) ||
	    wp_width_bytes(once, wp_width(once)) != strlen(once))
		abort();
	for (const char *c = once; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || (!utf8 && (unsigned char)*c > '~'))
			abort();
	wp_pool_done(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	if (!s)
		return 0;
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	check(s, true);
	check(s, false);
	free(s);
	return 0;
}
