/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "load/engine.h"
#include "load/engines.h"

const struct wp_engine *const wp_engines[] = {
	&wp_engine_tcp,
	&wp_engine_rr,
	&wp_engine_udp,
	&wp_engine_write,
	&wp_engine_null,
	NULL,
};

const struct wp_engine *wp_engine_find(const char *name)
{
	for (size_t i = 0; wp_engines[i]; i++)
		if (!strcmp(wp_engines[i]->name, name))
			return wp_engines[i];
	return NULL;
}

static bool good_name(const char *name)
{
	return name && *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

int wp_engine_check(const struct wp_engine *e, struct wp_err *err)
{
	if (e->abi != WP_ENGINE_ABI)
		return wp_err_set(err, -EINVAL, "engine: ABI %u instead of %u", e->abi,
				  WP_ENGINE_ABI);
	if (!good_name(e->name))
		return wp_err_set(err, -EINVAL, "engine: the name is not lower-case letters");
	if (!e->summary || !*e->summary)
		return wp_err_set(err, -EINVAL, "engine %s: no summary", e->name);
	if (!(e->caps & (WP_ENGINE_SEND | WP_ENGINE_RECEIVE)))
		return wp_err_set(err, -EINVAL, "engine %s: neither sends nor receives", e->name);
	if (!(e->caps & WP_ENGINE_SEND) && (e->caps & (WP_ENGINE_PACED | WP_ENGINE_ZEROCOPY)))
		return wp_err_set(err, -EINVAL, "engine %s: paces or zero-copies but sends nothing",
				  e->name);
	if (!(e->caps & WP_ENGINE_RECEIVE) && (e->caps & WP_ENGINE_DISCARD))
		return wp_err_set(err, -EINVAL, "engine %s: discards but receives nothing",
				  e->name);
	if (!e->run)
		return wp_err_set(err, -EINVAL, "engine %s: no run()", e->name);
	if ((e->caps & WP_ENGINE_SOCKETS) && !e->open)
		return wp_err_set(err, -EINVAL, "engine %s: uses sockets but has no open()",
				  e->name);
	if (e->close && !e->open)
		return wp_err_set(err, -EINVAL, "engine %s: close() without open()", e->name);
	return 0;
}
