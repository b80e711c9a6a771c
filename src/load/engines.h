/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engines.h - the engines by name, for the registry in engines.c. Everybody else finds them with
 * wp_engine_find().
 */
#ifndef WP_LOAD_ENGINES_H
#define WP_LOAD_ENGINES_H

#include "load/engine.h"

extern const struct wp_engine wp_engine_null;
extern const struct wp_engine wp_engine_rr;
extern const struct wp_engine wp_engine_tcp;
extern const struct wp_engine wp_engine_udp;
extern const struct wp_engine wp_engine_write;

#endif
