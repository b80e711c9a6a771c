/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/running.h"

#include <math.h>

void wp_running_add(struct wp_running *s, double x)
{
	double d = x - s->mean;

	if (s->n == 0 || x < s->min)
		s->min = x;
	if (s->n == 0 || x > s->max)
		s->max = x;
	s->n++;
	s->mean += d / (double)s->n;
	s->m2 += d * (x - s->mean);
}

void wp_running_merge(struct wp_running *to, const struct wp_running *from)
{
	double a = (double)to->n, b = (double)from->n, d = from->mean - to->mean;

	if (from->n == 0)
		return;
	if (to->n == 0) {
		*to = *from;
		return;
	}
	to->m2 += from->m2 + d * d * (a * b / (a + b));
	to->mean += d * (b / (a + b));
	to->n += from->n;
	to->min = fmin(to->min, from->min);
	to->max = fmax(to->max, from->max);
}

double wp_running_variance(const struct wp_running *s)
{
	return s->n < 2 ? (double)NAN : s->m2 / (double)(s->n - 1);
}

double wp_running_sd(const struct wp_running *s)
{
	return sqrt(wp_running_variance(s));
}
