/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - what programs read while a run goes on: one JSON object a line (--json-stream), each {"event": NAME,
 * "data": {...}}:
 *
 *	idle		--with: the round trips without load, as a histogram of the record without its buckets; before
 *			start
 *	start		schema, id, started, version, command, test, flows (id, local, remote, role)
 *	interval	flows (id, role, and the metrics of scope interval), sum (of each direction), cpus
 *	end		the whole record, as -J prints it
 *	error		message, exit
 */
#ifndef WP_REPORT_STREAM_H
#define WP_REPORT_STREAM_H

#include <jansson.h>

#include "base/buf.h"
#include "model/record.h"
#include "observe/endpoint.h"

#define WP_JSON_MAX_BYTES (256u << 20)

/* New references; NULL when memory is short. */
/* `rr`: of the requests that ran alone. NULL also when it measured nothing. */
json_t *wp_event_idle(const struct wp_run *rr);
json_t *wp_event_start(const struct wp_run *run);
/* `run`: as at the start, its flows say which row is whose. */
json_t *wp_event_interval(const struct wp_run *run, const struct wp_end_tick *tick);
json_t *wp_event_end(const struct wp_run *run);
json_t *wp_event_error(const char *message, int exit_status);

/* Appends the object as one line / indented. Steals the reference; NULL gives -ENOMEM. */
int wp_json_line(json_t *json, struct wp_buf *out) WP_MUST_USE;
int wp_json_text(json_t *json, struct wp_buf *out) WP_MUST_USE;

#endif
