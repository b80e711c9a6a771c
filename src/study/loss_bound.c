/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "study/find_rate.h"

static const char *skip_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static int wrong(const char *text, struct wp_err *err)
{
	return wp_err_set(
		err, -EINVAL,
		"'%.40s' is not a bound for the loss; write loss<0.1%% or loss<=1%% (a share of the packets), or "
		"loss<0 for none at all",
		text);
}

/* "0.1 %" or "0", nothing behind it. */
static int parse_share(const char *s, double *ret)
{
	char number[32];
	size_t n = strcspn(s, "% \t");
	const char *rest = skip_blanks(s + n);
	bool percent = *rest == '%';
	double v;

	if (!n || n >= sizeof(number))
		return -EINVAL;
	memcpy(number, s, n);
	number[n] = '\0';
	if (wp_parse_double(number, &v) || v < 0 || v >= 100)
		return -EINVAL;
	/* "0.001" might be meant as a share or as per cent. */
	if (!percent && v > 0)
		return -EINVAL;
	if (*skip_blanks(percent ? rest + 1 : rest))
		return -EINVAL;
	*ret = v / 100;
	return 0;
}

int wp_loss_bound_parse(const char *text, struct wp_loss_bound *ret, struct wp_err *err)
{
	struct wp_loss_bound b = { .below = true };
	const char *s = skip_blanks(text);

	if (strncasecmp(s, "loss", 4))
		return wrong(text, err);
	s = skip_blanks(s + 4);
	if (*s++ != '<')
		return wrong(text, err);
	if (*s == '=') {
		b.below = false;
		s++;
	}
	if (parse_share(skip_blanks(s), &b.share))
		return wrong(text, err);
	/* Less than nothing cannot be; what is meant is none. */
	if (b.share <= 0)
		b.below = false;
	*ret = b;
	return 0;
}

bool wp_loss_within(const struct wp_loss_bound *b, double lost, double sent)
{
	return b->below ? lost < b->share * sent : lost <= b->share * sent;
}
