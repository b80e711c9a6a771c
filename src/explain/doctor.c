/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "explain/doctor_check.h"
#include "observe/inventory.h"

const char *wp_doctor_format(struct wp_doctor_ctx *c, const char *fmt, ...)
{
	char text[2048];
	const char *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = wp_pool_strdup(c->pool, text);
	c->failed = c->failed || !copy;
	return copy ? copy : "";
}

void wp_doctor_say(struct wp_doctor_ctx *c, struct wp_doctor_line *l, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->value = wp_doctor_format(c, "%s", text);
}

void wp_doctor_mark(struct wp_doctor_line *l, enum wp_doctor_status status, const char *why,
		    const char *advice)
{
	l->status = status;
	l->why = why;
	l->advice = advice;
}

void wp_doctor_missing(struct wp_doctor_line *l, const char *why)
{
	wp_doctor_mark(l, WP_DOCTOR_ABSENT, why ? why : "not read", NULL);
	l->value = NULL;
}

bool wp_doctor_say_text(struct wp_doctor_ctx *c, struct wp_doctor_line *l,
			const struct wp_maybe_text *t)
{
	if (t->state != WP_VALUE) {
		wp_doctor_missing(l, t->why);
		return false;
	}
	wp_doctor_say(c, l, "%s", t->v[0] ? t->v : "none");
	return true;
}

bool wp_doctor_say_int(struct wp_doctor_ctx *c, struct wp_doctor_line *l,
		       const struct wp_maybe_int *i, const char *unit)
{
	if (i->state != WP_VALUE) {
		wp_doctor_missing(l, i->why);
		return false;
	}
	wp_doctor_say(c, l, "%lld%s%s", (long long)i->v, unit[0] ? " " : "", unit);
	return true;
}

int64_t wp_doctor_cpus(const struct wp_doctor_ctx *c)
{
	return wp_maybe_int_or(&c->f->host.cpus_online, 0);
}

const char *wp_doctor_status_name(enum wp_doctor_status s)
{
	static const char *const names[] = { "ok", "note", "warn", "bad", "absent" };

	return (size_t)s < WP_ARRAY_SIZE(names) ? names[s] : "absent";
}

const struct wp_doctor_line *wp_doctor_find(const struct wp_doctor *d, const char *section,
					    const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->v[i].section, section) && !strcmp(d->v[i].name, name))
			return &d->v[i];
	return NULL;
}

/* Runs a table; `section` NULL takes the rows' own. */
static void run_checks(struct wp_doctor_ctx *c, struct wp_doctor *d, const char *section,
		       const struct wp_doctor_check *checks, size_t n)
{
	for (size_t i = 0; i < n && d->n < WP_DOCTOR_LINES_MAX; i++) {
		struct wp_doctor_line l = { .section = section ? section : checks[i].section,
					    .name = checks[i].name };

		checks[i].run(c, &l);
		if (!l.value && l.status == WP_DOCTOR_OK)
			continue;
		d->v[d->n++] = l;
		d->count[l.status]++;
	}
}

static void examine_nics(struct wp_doctor_ctx *c, struct wp_doctor *d)
{
	const struct wp_nics *nics = &c->f->nics;
	size_t links = 0, passed_over = nics->left_out;
	struct wp_doctor_line l = { .section = "NIC", .name = "interfaces" };

	for (size_t i = 0; i < nics->n; i++) {
		const struct wp_nic *nic = &nics->v[i];

		if (!nic->is_device && ++links > WP_DOCTOR_LINKS_MAX) {
			passed_over++;
			continue;
		}
		c->nic = nic;
		run_checks(c, d, wp_doctor_format(c, "NIC %s", nic->name), wp_doctor_nic_checks,
			   wp_n_doctor_nic_checks);
	}
	if (!nics->n)
		wp_doctor_missing(&l, nics->why);
	else if (passed_over)
		wp_doctor_say(c, &l, "%zu more are not described", passed_over);
	if ((l.value || l.status) && d->n < WP_DOCTOR_LINES_MAX) {
		d->v[d->n++] = l;
		d->count[l.status]++;
	}
}

int wp_doctor_examine(const struct wp_facts *facts, const struct wp_syscosts *costs,
		      struct wp_pool *pool, struct wp_doctor *ret)
{
	struct wp_doctor_ctx c = { .f = facts, .costs = costs, .pool = pool };
	struct wp_inventory *inventory = wp_pool_calloc(pool, 1, sizeof(*inventory));
	struct wp_nics *nics = wp_pool_calloc(pool, 1, sizeof(*nics));
	struct wp_doctor d = { .live = facts->live };

	d.v = wp_pool_calloc(pool, WP_DOCTOR_LINES_MAX, sizeof(*d.v));
	if (!inventory || !nics || !d.v || wp_inventory_from_facts(facts, inventory, pool))
		return -ENOMEM;
	if (costs) {
		inventory->clock_read_ns = costs->clock_read_ns;
		d.costs = *costs;
	}
	*nics = facts->nics;
	d.nics = nics;
	d.inventory = inventory;
	d.hostname = inventory->hostname;
	run_checks(&c, &d, NULL, wp_doctor_machine_checks, wp_n_doctor_machine_checks);
	run_checks(&c, &d, NULL, wp_doctor_limit_checks, wp_n_doctor_limit_checks);
	examine_nics(&c, &d);
	if (costs)
		run_checks(&c, &d, NULL, wp_doctor_measured_checks, wp_n_doctor_measured_checks);
	if (c.failed)
		return -ENOMEM;
	*ret = d;
	return 0;
}

int wp_doctor_read(int rootfd, bool live, struct wp_pool *pool, struct wp_doctor *ret,
		   struct wp_err *err)
{
	_cleanup_close_ int own_fd = -1;
	struct wp_syscosts costs;
	struct wp_facts f;
	int r;

	if (rootfd < 0) {
		own_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (own_fd < 0)
			return wp_err_sys(err, -errno, "cannot open /");
		rootfd = own_fd;
	}
	wp_facts_read(rootfd, WP_FACTS_NICS | (live ? WP_FACTS_LIVE : 0), pool, &f);
	if (live)
		wp_syscosts_measure(&costs);
	r = wp_doctor_examine(&f, live ? &costs : NULL, pool, ret);
	wp_facts_done(&f);
	return r ? wp_err_sys(err, r, "cannot examine the machine") : 0;
}
