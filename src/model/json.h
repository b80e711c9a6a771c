/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - the record as JSON and back, driven by the metric table. Unknown keys are ignored on
 * reading (newer minor additions); wrong types and counts beyond the named limits of record.h are
 * refused with a sentence.
 */
#ifndef WP_MODEL_JSON_H
#define WP_MODEL_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "model/metric.h"
#include "model/record.h"

/* New references; NULL when memory is short. */
json_t *wp_run_to_json(const struct wp_run *run);
json_t *wp_host_to_json(const struct wp_host *host);
json_t *wp_flow_to_json(const struct wp_flow *flow);
json_t *wp_finding_to_json(const struct wp_finding *finding);
/* All metrics of one scope from the struct at `base` into `obj`. */
int wp_fields_to_json(enum wp_scope scope, const void *base, json_t *obj);

/* `ret` is initialised by the call; strings and arrays go to ret->pool. Free with wp_run_done(). */
int wp_run_from_json(const json_t *json, struct wp_run *ret, struct wp_err *err) WP_MUST_USE;
int wp_host_from_json(const json_t *json, struct wp_host *ret, struct wp_pool *pool,
		      struct wp_err *err) WP_MUST_USE;
int wp_flow_from_json(const json_t *json, struct wp_flow *ret, struct wp_pool *pool,
		      struct wp_err *err) WP_MUST_USE;
int wp_fields_from_json(enum wp_scope scope, const json_t *obj, void *base, struct wp_pool *pool,
			struct wp_err *err) WP_MUST_USE;

#endif
