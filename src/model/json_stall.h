/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_stall.h - stalls to and from JSON. Part of json.h; json.c is the only user. */
#ifndef WP_MODEL_JSON_STALL_H
#define WP_MODEL_JSON_STALL_H

#include "model/json.h"

/* Adds "stalls" to a host and to a run; 0 or -ENOMEM. Nothing is added where there are none. */
int wp_host_stalls_to_json(const struct wp_host *h, json_t *obj) WP_MUST_USE;
int wp_run_stalls_to_json(const struct wp_run *run, json_t *obj) WP_MUST_USE;
/* A missing key is no stall. -EPROTO with a sentence, -ENOMEM. */
int wp_host_stalls_from_json(const json_t *obj, struct wp_host *h, struct wp_pool *pool,
			     struct wp_err *err) WP_MUST_USE;
int wp_run_stalls_from_json(const json_t *obj, struct wp_run *run, struct wp_err *err) WP_MUST_USE;

#endif
