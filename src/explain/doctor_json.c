/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Doctor's lines, figures and interfaces as JSON. */
#include <stdio.h>

#include "base/cleanup.h"
#include "explain/doctor.h"
#include "model/json.h"

/* json_string(NULL) fails; a missing text is null. */
static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

/* null and a sibling "<key>_why" where there is no value, as in the record. */
static int put_absent(json_t *o, const char *key, const char *why)
{
	char why_key[64];

	snprintf(why_key, sizeof(why_key), "%s_why", key);
	return json_object_set_new(o, key, json_null()) ||
	       json_object_set_new(o, why_key, json_string(why ? why : "not read"));
}

static int put_num(json_t *o, const char *key, struct wp_num n)
{
	return wp_has(n) ? json_object_set_new(o, key, json_real(n.v)) : put_absent(o, key, n.why);
}

static int put_int(json_t *o, const char *key, const struct wp_maybe_int *i)
{
	return i->state == WP_VALUE ? json_object_set_new(o, key, json_integer(i->v))
				    : put_absent(o, key, i->why);
}

static int put_text(json_t *o, const char *key, const struct wp_maybe_text *t)
{
	return t->state == WP_VALUE ? json_object_set_new(o, key, json_string(t->v))
				    : put_absent(o, key, t->why);
}

/* `o` when all went well; else frees it. */
static json_t *unless(int failed, json_t *o)
{
	if (!failed)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *measured_json(const struct wp_syscosts *c)
{
	const struct {
		const char *key;
		struct wp_num n;
	} rows[] = {
		{ "clock_read_ns", c->clock_read_ns },       { "syscall_ns", c->syscall_ns },
		{ "timer_slack_ns", c->timer_slack_ns },     { "wakeup_p50_us", c->wakeup_p50_us },
		{ "wakeup_p99_us", c->wakeup_p99_us },       { "taken_pct", c->taken_pct },
		{ "taken_longest_us", c->taken_longest_us },
	};
	json_t *o = json_object();
	int r = !o;

	for (size_t i = 0; !r && i < WP_ARRAY_SIZE(rows); i++)
		r = put_num(o, rows[i].key, rows[i].n);
	return unless(r, o);
}

static json_t *line_json(const struct wp_doctor_line *l)
{
	json_t *o = json_object();
	int r = !o;

	r = r || json_object_set_new(o, "section", json_string(l->section));
	r = r || json_object_set_new(o, "name", json_string(l->name));
	r = r || json_object_set_new(o, "value", text_or_null(l->value));
	r = r || json_object_set_new(o, "status", json_string(wp_doctor_status_name(l->status)));
	r = r || json_object_set_new(o, "why", text_or_null(l->why));
	r = r || json_object_set_new(o, "try", text_or_null(l->advice));
	return unless(r, o);
}

static json_t *queues_json(const struct wp_nic_queue *q, size_t n)
{
	json_t *a = json_array();
	int r = !a;

	for (size_t i = 0; !r && i < n; i++) {
		json_t *o = json_object();

		r = !o || json_object_set_new(o, "queue", json_integer(q[i].index)) ||
		    put_text(o, "cpus", &q[i].cpus) || json_array_append(a, o);
		json_decref(o);
	}
	return unless(r, a);
}

static json_t *irqs_json(const struct wp_nic *nic)
{
	json_t *a = json_array();
	int r = !a;

	for (size_t i = 0; !r && i < nic->n_irqs; i++) {
		const struct wp_nic_irq *q = &nic->irqs[i];
		json_t *o = json_object();

		r = !o || json_object_set_new(o, "irq", json_integer(q->irq)) ||
		    put_text(o, "name", &q->name) || put_text(o, "allowed_cpus", &q->affinity) ||
		    put_text(o, "effective_cpus", &q->effective) || json_array_append(a, o);
		json_decref(o);
	}
	return unless(r, a);
}

static json_t *features_json(const struct wp_nic_ethtool *e)
{
	json_t *o = json_object();
	int r = !o;

	for (int i = 0; !r && i < WP_NIC_FEATURES; i++) {
		const struct wp_nic_feature_state *f = &e->features[i];

		if (f->state == WP_VALUE)
			r = json_object_set_new(o, wp_nic_feature_rows[i].kernel_name,
						json_boolean(f->on));
	}
	return unless(r, o);
}

static int put_ethtool(json_t *o, const struct wp_nic_ethtool *e)
{
	const struct {
		const char *key;
		const struct wp_maybe_int *i;
	} rows[] = {
		{ "rx_ring_packets", &e->rings.rx },
		{ "rx_ring_max_packets", &e->rings.rx_max },
		{ "tx_ring_packets", &e->rings.tx },
		{ "tx_ring_max_packets", &e->rings.tx_max },
		{ "channels_combined", &e->channels.combined },
		{ "channels_combined_max", &e->channels.combined_max },
		{ "channels_rx", &e->channels.rx },
		{ "channels_tx", &e->channels.tx },
		{ "coalesce_rx_us", &e->coalesce.rx_usecs },
		{ "coalesce_rx_frames", &e->coalesce.rx_frames },
		{ "coalesce_tx_us", &e->coalesce.tx_usecs },
		{ "coalesce_tx_frames", &e->coalesce.tx_frames },
		{ "coalesce_adaptive_rx", &e->coalesce.adaptive_rx },
		{ "coalesce_adaptive_tx", &e->coalesce.adaptive_tx },
	};
	int r = 0;

	for (size_t i = 0; !r && i < WP_ARRAY_SIZE(rows); i++)
		r = put_int(o, rows[i].key, rows[i].i);
	if (e->features_why)
		return r || put_absent(o, "features", e->features_why);
	return r || json_object_set_new(o, "features", features_json(e));
}

static json_t *nic_json(const struct wp_nic *nic, bool live)
{
	json_t *o = json_object();
	int r = !o;

	r = r || json_object_set_new(o, "name", json_string(nic->name));
	r = r || json_object_set_new(o, "device", json_boolean(nic->is_device));
	r = r || put_text(o, "driver", &nic->driver);
	r = r || put_text(o, "operstate", &nic->operstate);
	r = r || put_int(o, "carrier", &nic->carrier);
	r = r || put_int(o, "speed_mbps", &nic->speed_mbps);
	r = r || put_int(o, "mtu_bytes", &nic->mtu);
	r = r || put_int(o, "numa_node", &nic->numa_node);
	r = r || put_int(o, "gro_flush_timeout_ns", &nic->gro_flush_timeout_ns);
	r = r || put_int(o, "napi_defer_hard_irqs", &nic->napi_defer_hard_irqs);
	r = r || put_int(o, "threaded_napi", &nic->threaded_napi);
	if (!r && nic->queues_why)
		r = put_absent(o, "rx_queues", nic->queues_why) ||
		    put_absent(o, "tx_queues", nic->queues_why);
	else
		r = r || json_object_set_new(o, "rx_queues", queues_json(nic->rx, nic->n_rx)) ||
		    json_object_set_new(o, "tx_queues", queues_json(nic->tx, nic->n_tx));
	if (!r && nic->irqs_why)
		r = put_absent(o, "irqs", nic->irqs_why);
	else
		r = r || json_object_set_new(o, "irqs", irqs_json(nic));
	if (live)
		r = r || put_ethtool(o, &nic->ethtool);
	return unless(r, o);
}

static json_t *lines_json(const struct wp_doctor *d)
{
	json_t *a = json_array();
	int r = !a;

	for (size_t i = 0; !r && i < d->n; i++)
		r = json_array_append_new(a, line_json(&d->v[i]));
	return unless(r, a);
}

static json_t *nics_json(const struct wp_doctor *d)
{
	json_t *a = json_array();
	int r = !a;

	for (size_t i = 0; !r && i < d->nics->n; i++)
		r = json_array_append_new(a, nic_json(&d->nics->v[i], d->live));
	return unless(r, a);
}

static json_t *counts_json(const struct wp_doctor *d)
{
	json_t *o = json_object();
	int r = !o;

	for (int i = 0; !r && i < WP_DOCTOR_STATUSES; i++)
		r = json_object_set_new(o, wp_doctor_status_name((enum wp_doctor_status)i),
					json_integer((json_int_t)d->count[i]));
	return unless(r, o);
}

static json_t *inventory_json(const struct wp_doctor *d)
{
	json_t *o = json_object();

	return unless(!o || wp_fields_to_json(WP_SCOPE_INVENTORY, d->inventory, o), o);
}

json_t *wp_doctor_json(const struct wp_doctor *d)
{
	json_t *o = json_object();
	int r = !o;

	r = r || json_object_set_new(o, "schema", json_string(WP_DOCTOR_SCHEMA));
	r = r || json_object_set_new(o, "hostname", text_or_null(d->hostname));
	r = r || json_object_set_new(o, "live", json_boolean(d->live));
	r = r || json_object_set_new(o, "inventory", inventory_json(d));
	r = r || (d->live && json_object_set_new(o, "measured", measured_json(&d->costs)));
	r = r || json_object_set_new(o, "nics", nics_json(d));
	r = r || json_object_set_new(o, "counts", counts_json(d));
	r = r || json_object_set_new(o, "lines", lines_json(d));
	return unless(r, o);
}
