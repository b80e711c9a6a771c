/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers.h - the kinds of peers that there are: one line and one file each. Included by peers.c and
 * the kinds' own files only.
 */
#ifndef WP_PEER_PEERS_H
#define WP_PEER_PEERS_H

#include "peer/peer.h"

extern const struct wp_peer_ops wp_peer_native;

#endif
