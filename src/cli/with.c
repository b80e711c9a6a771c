/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/with.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

int wp_with_parse(const struct wp_test_config *c, const struct wp_plan *load, struct wp_with *ret,
		  struct wp_err *err)
{
	static const struct {
		const char *text;
		enum wp_transport transport;
	} known[] = { { "rr", WP_TCP }, { "rr,tcp", WP_TCP }, { "rr,udp", WP_UDP } };
	struct wp_with with = { .rate_mhz = c->with_rate_mhz };
	struct wp_plan rr;

	if (!c->with) {
		if (c->idle_set)
			return wp_err_set(err, -EINVAL,
					  "--idle-time needs --with rr: it is the requests' time");
		*ret = with;
		return 0;
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(known) && !with.engine; i++)
		if (!strcmp(c->with, known[i].text)) {
			with.transport = known[i].transport;
			with.engine = wp_engine_find("rr");
			if (!with.engine)
				return wp_err_set(err, -EINVAL,
						  "--with: this build has no engine for rr");
		}
	if (!with.engine)
		return wp_err_set(
			err, -EINVAL,
			"--with: '%.40s' can't run beside the load; give rr (over TCP) or rr,udp",
			c->with);
	with.idle_ns = c->idle_set ? c->idle_ns : wp_with_idle_ns(load);
	wp_with_plan(&with, load, &rr);
	if (wp_plan_check(&rr, err)) {
		wp_err_prefix(err, "--with");
		return -EINVAL;
	}
	*ret = with;
	return 0;
}
