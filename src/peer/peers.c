/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/peers.h"

#include <errno.h>
#include <string.h>

const struct wp_peer_ops *const wp_peers[] = {
	&wp_peer_native,
	NULL,
};

const struct wp_peer_ops *wp_peer_find(const char *name)
{
	for (size_t i = 0; wp_peers[i]; i++)
		if (!strcmp(wp_peers[i]->name, name))
			return wp_peers[i];
	return NULL;
}

int wp_peer_check(const struct wp_peer_ops *p, struct wp_err *err)
{
	const char *name = p->name ? p->name : "without a name";

	if (!p->name || !p->name[0] || !p->summary || !p->summary[0])
		return wp_err_set(err, -EINVAL, "peer %s: no name or no summary", name);
	if (!p->default_port)
		return wp_err_set(err, -EINVAL, "peer %s: no default port", name);
	if (!(p->caps & WP_PEER_TCP))
		return wp_err_set(err, -EINVAL, "peer %s can do nothing", name);
	if (!p->connect || !p->start || !p->event || !p->stop || !p->finish || !p->close)
		return wp_err_set(err, -EINVAL, "peer %s lacks a callback", name);
	return 0;
}
