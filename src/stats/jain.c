/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/jain.h"

#include <errno.h>
#include <math.h>

int wp_jain_index(const double *x, size_t n, double *ret)
{
	double max = 0, sum = 0, squares = 0, share;

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || x[i] < 0)
			return -EDOM;
		if (x[i] > max)
			max = x[i];
	}
	if (!(max > 0))
		return -ENODATA;
	/* As shares of the largest, so that no square overflows. */
	for (size_t i = 0; i < n; i++) {
		share = x[i] / max;
		sum += share;
		squares += share * share;
	}
	*ret = fmin(sum * sum / ((double)n * squares), 1);
	return 0;
}
