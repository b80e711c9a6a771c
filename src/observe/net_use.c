/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/net_use.h"

#include <string.h>

#include "sys/delta.h"
#include "sys/grow.h"

/* Protocol counters are unsigned long in the kernel; a 32-bit program nearly always has a 32-bit kernel. */
#define WIDTH_LONG (sizeof(long) == 4 ? WP_WIDTH_32 : WP_WIDTH_64)

static const char why_reset[] = "the counter was reset meanwhile";
static const char why_unknown[] = "this kernel has no such counter";

static const char *name_of(const struct wp_net_span *span, const struct wp_net_delta *d)
{
	return span->names + d->name;
}

static const char *device_of(const struct wp_net_span *span, const struct wp_net_delta *d)
{
	return span->names + d->device;
}

static bool is_at(const struct wp_net_span *span, size_t i, enum wp_source source,
		  const char *device, const char *name)
{
	return i < span->n && span->v[i].source == source &&
	       strcmp(name_of(span, &span->v[i]), name) == 0 &&
	       strcmp(device_of(span, &span->v[i]), device) == 0;
}

static size_t find(const struct wp_net_span *span, enum wp_source source, const char *device,
		   const char *name, size_t hint)
{
	if (is_at(span, hint, source, device, name))
		return hint;
	for (size_t i = 0; i < span->n; i++)
		if (is_at(span, i, source, device, name))
			return i;
	return span->n;
}

static int add_name(struct wp_net_span *span, const char *name, uint32_t *ret)
{
	size_t start = span->names_len ? span->names_len : 1, len = strlen(name) + 1;
	int r;

	if (len == 1 && span->names_len) {
		*ret = 0;
		return 0;
	}
	r = WP_GROW(span->names, span->names_cap, start + len, WP_NET_NAMES_MAX);
	if (r < 0)
		return r;
	span->names[0] = '\0';
	if (len == 1) {
		span->names_len = 1;
		*ret = 0;
		return 0;
	}
	memcpy(span->names + start, name, len);
	span->names_len = start + len;
	*ret = (uint32_t)start;
	return 0;
}

/* Adds one step of one counter; *hint is where its entry is likely to be and moves on. */
static int add(struct wp_net_span *span, enum wp_source source, const char *device,
	       const char *name, uint64_t before, uint64_t after, enum wp_width width, size_t *hint)
{
	size_t at = find(span, source, device, name, *hint);
	uint64_t moved;

	if (at == span->n) {
		struct wp_net_delta d = { .source = source };
		int r = add_name(span, device, &d.device);

		if (r == 0)
			r = add_name(span, name, &d.name);
		if (r == 0)
			r = WP_GROW(span->v, span->cap, span->n + 1, WP_NET_COUNTERS_MAX);
		if (r < 0)
			return r;
		span->v[span->n++] = d;
	}
	if (wp_counter_delta(before, after, width, &moved) < 0)
		span->v[at].reset = true;
	else
		span->v[at].delta += moved;
	*hint = at + 1;
	return 0;
}

static int step_list(struct wp_net_span *span, enum wp_source source,
		     const struct wp_net_counters *before, const struct wp_net_counters *after,
		     size_t *hint)
{
	size_t old_hint = 0;

	for (size_t i = 0; i < after->n; i++) {
		const char *name = wp_net_counter_name(after, i);
		const char *device = wp_net_counter_device(after, i);
		size_t old;
		int r;

		if (after->v[i].gauge || after->v[i].negative)
			continue;
		old = wp_net_counters_find(before, device, name, old_hint ? old_hint : i);
		old_hint = old + 1;
		r = add(span, source, device, name, old < before->n ? before->v[old].value : 0,
			after->v[i].value, source == WP_SOURCE_DEV ? WP_WIDTH_64 : WIDTH_LONG,
			hint);
		if (r < 0)
			return r;
	}
	return 0;
}

static int step_softnet(struct wp_net_span *span, const struct wp_softnet *before,
			const struct wp_softnet *after, size_t *hint)
{
	size_t start = *hint;

	for (size_t i = 0; i < after->n; i++) {
		const struct wp_softnet_row *b = &after->row[i];
		const struct wp_softnet_row *a = wp_softnet_cpu(before, b->cpu, i);
		int r = 0;

		if (!a)
			continue;

		const struct {
			const char *name;
			uint32_t before, after;
			unsigned least_columns;
		} counts[] = {
			{ "processed", a->processed, b->processed, 0 },
			{ "dropped", a->dropped, b->dropped, 0 },
			{ "squeezed", a->squeezed, b->squeezed, 0 },
			{ "received_rps", a->received_rps, b->received_rps, 10 },
			{ "flow_limited", a->flow_limited, b->flow_limited, 11 },
		};

		*hint = start;
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]) && r == 0; c++)
			if (b->columns >= counts[c].least_columns)
				r = add(span, WP_SOURCE_SOFTNET, "", counts[c].name,
					counts[c].before, counts[c].after, WP_WIDTH_32, hint);
		if (r < 0)
			return r;
	}
	return 0;
}

int wp_net_span_step(struct wp_net_span *span, const struct wp_snapshot *before,
		     const struct wp_snapshot *after)
{
	size_t hint = 0;
	int r = 0;

	for (unsigned i = WP_SOURCE_SOFTNET; i < WP_SOURCES && r == 0; i++) {
		if (before->why[i] || after->why[i]) {
			span->why[i] = after->why[i] ? after->why[i] : before->why[i];
			continue;
		}
		span->read |= WP_SOURCE_BIT(i);
		if (i == WP_SOURCE_SOFTNET)
			r = step_softnet(span, &before->softnet, &after->softnet, &hint);
		else
			r = step_list(span, i, &before->net[i - WP_SOURCE_SNMP],
				      &after->net[i - WP_SOURCE_SNMP], &hint);
	}
	return r;
}

void wp_net_span_reset(struct wp_net_span *span)
{
	span->read = 0;
	for (size_t i = 0; i < WP_SOURCES; i++)
		span->why[i] = NULL;
	for (size_t i = 0; i < span->n; i++) {
		span->v[i].delta = 0;
		span->v[i].reset = false;
	}
}

void wp_net_span_done(struct wp_net_span *span)
{
	if (!span)
		return;
	free(span->v);
	free(span->names);
	*span = (struct wp_net_span) { 0 };
}

struct wp_num wp_net_use_get(const struct wp_net_span *span, enum wp_source source,
			     const char *device, const char *name)
{
	size_t i;

	if (!(span->read & WP_SOURCE_BIT(source)))
		return wp_absent(span->why[source]);
	i = find(span, source, device, name, 0);
	if (i == span->n)
		return wp_absent(why_unknown);
	if (span->v[i].reset)
		return wp_invalid((double)span->v[i].delta, why_reset);
	return wp_num((double)span->v[i].delta);
}

static bool is_selected(const struct wp_net_span *span, const struct wp_net_delta *d,
			const struct wp_net_select *select)
{
	if (select->sources && !(select->sources & WP_SOURCE_BIT(d->source)))
		return false;
	if (select->device && d->source == WP_SOURCE_DEV &&
	    strcmp(select->device, device_of(span, d)) != 0)
		return false;
	return select->zeros || d->delta > 0 || d->reset;
}

static int fill(const struct wp_net_span *span, const struct wp_net_delta *d, struct wp_pool *pool,
		struct wp_count *ret)
{
	const char *source = wp_source_name(d->source);

	*ret = (struct wp_count) {
		.name = wp_pool_strdup(pool, name_of(span, d)),
		.source = d->source == WP_SOURCE_DEV
				  ? wp_pool_printf(pool, "%s:%s", source, device_of(span, d))
				  : source,
		.delta = (double)d->delta,
	};
	return ret->name && ret->source ? 0 : -ENOMEM;
}

int wp_net_use_list(const struct wp_net_span *span, const struct wp_net_select *select,
		    struct wp_pool *pool, struct wp_count **ret, size_t *ret_n, size_t *ret_reset)
{
	struct wp_count *list;
	size_t n = 0, reset = 0;

	for (size_t i = 0; i < span->n; i++) {
		bool selected = is_selected(span, &span->v[i], select);

		n += selected && !span->v[i].reset;
		reset += selected && span->v[i].reset;
	}
	list = wp_pool_calloc(pool, n ? n : 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < span->n; i++) {
		if (span->v[i].reset || !is_selected(span, &span->v[i], select))
			continue;
		if (fill(span, &span->v[i], pool, &list[n++]) < 0)
			return -ENOMEM;
	}
	*ret = list;
	*ret_n = n;
	if (ret_reset)
		*ret_reset = reset;
	return 0;
}
