/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ethtool.h - rings, channels, coalescing and features of the live interfaces of the calling thread's network
 * namespace. One handle asks for many interfaces. Netlink (family "ethtool", 5.6) is tried first, the ioctl for
 * what netlink doesn't answer. Needs no privilege.
 */
#ifndef WP_SYS_ETHTOOL_H
#define WP_SYS_ETHTOOL_H

#include "sys/nic.h"

struct wp_ethtool; /* opaque */

/* NULL only when memory or file descriptors are short (then *ret_code says). */
struct wp_ethtool *wp_ethtool_open(int *ret_code);
void wp_ethtool_close(struct wp_ethtool *e);
/* Fills what can be known of `ifname`; the rest is absent with a reason. */
void wp_ethtool_read(struct wp_ethtool *e, const char *ifname, struct wp_pool *pool,
		     struct wp_nic_ethtool *ret);
/* The driver's name by ioctl: virtual links have one too ("veth", "bridge", "tun"). */
struct wp_maybe_text wp_ethtool_driver(struct wp_ethtool *e, const char *ifname,
				       struct wp_pool *pool);

/* One netlink answer's attributes, pure: `attrs`/`len` are the bytes behind the generic netlink header of a
 * FEATURES_GET reply. -EBADMSG when they make no sense. */
int wp_ethtool_parse_features(const void *attrs, size_t len,
			      struct wp_nic_feature_state ret[static WP_NIC_FEATURES]) WP_MUST_USE;

#endif
