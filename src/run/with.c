/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/with.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/latency.h"

#define IDLE_NS             (3 * WP_NS_PER_S)
#define IDLE_MIN_NS         (WP_NS_PER_S / 2)
#define SETTLE_NS           (100 * WP_NS_PER_MS)
#define NO_END_NS           (3600 * WP_NS_PER_S) /* beside a load that ends by an amount */
#define UDP_BYTES           16
#define RESPONSE_TIMEOUT_NS (2 * WP_NS_PER_S) /* UDP; queues of more than a second are rare */

struct beside {
	struct wp_run_config config;
	struct wp_plan plan;
	pthread_t thread;
	bool started;
	int cancel_fd; /* ours: readable once the load is over */
	struct wp_run run;
	struct wp_err err;
	int result;
};

struct pair {
	const struct wp_run_config *load;
	const struct wp_with *with;
	struct wp_run *run;                /* the load's */
	struct wp_cpulist cpus, peer_cpus; /* of the requests */
	struct beside beside;
};

int64_t wp_with_idle_ns(const struct wp_plan *load)
{
	int64_t third = load->duration_ns / 3;

	if (!load->duration_ns || third > IDLE_NS)
		return IDLE_NS;
	return third < IDLE_MIN_NS ? IDLE_MIN_NS : third;
}

void wp_with_plan(const struct wp_with *with, const struct wp_plan *load, struct wp_plan *ret)
{
	int64_t settle = load->duration_ns && load->duration_ns / 10 < SETTLE_NS
				 ? load->duration_ns / 10
				 : SETTLE_NS;
	/* A datagram has to hold its number. */
	uint64_t message = with->transport == WP_UDP ? UDP_BYTES : 1;

	*ret = (struct wp_plan) {
		.kind = "rr",
		.transport = with->transport,
		.streams = 1,
		.direction = WP_FORWARD,
		.duration_ns = load->duration_ns ? load->duration_ns : NO_END_NS,
		.omit_ns = load->omit_ns + settle,
		.length_bytes = message,
		.response_bytes = message,
		/* A request is sent when it is due, however many are under way. */
		.outstanding = WP_MAX_OUTSTANDING,
		.rate_mhz = with->rate_mhz,
		.poisson = true,
		.response_timeout_ns = RESPONSE_TIMEOUT_NS,
		.dscp = load->dscp,
		.family = load->family,
		.bind_host = load->bind_host,
	};
}

/* ---- where it runs ---------------------------------------------------------------------------- */

/* The CPUs of this process that the load leaves free. Empty when it is not pinned or uses them all. */
static int free_cpus(const struct pair *p, struct wp_cpulist *ret)
{
	const struct wp_plan *load = p->load->plan;
	_cleanup_cpulist_ struct wp_cpulist allowed = { 0 };
	int r;

	if (!load->cpus.n)
		return 0;
	r = wp_cpulist_allowed(&allowed);
	if (r)
		return r;
	ret->cpu = calloc(allowed.n, sizeof(*ret->cpu));
	if (!ret->cpu)
		return -ENOMEM;
	for (size_t i = 0; i < allowed.n; i++) {
		int cpu = allowed.cpu[i];

		if (!wp_cpulist_has(&load->cpus, cpu) &&
		    !(p->load->venue->local && wp_cpulist_has(&load->peer_cpus, cpu)))
			ret->cpu[ret->n++] = cpu;
	}
	return 0;
}

/* One thread at each end: the first two free ones. The CPUs of another machine are not known here. */
static int place(struct pair *p)
{
	int r = free_cpus(p, &p->cpus);

	if (!r && p->cpus.n && p->load->venue->local)
		r = wp_cpulist_copy(&p->cpus, &p->peer_cpus);
	if (r)
		return r;
	if (p->peer_cpus.n > 1)
		p->peer_cpus.cpu[0] = p->peer_cpus.cpu[1];
	p->cpus.n = p->cpus.n ? 1 : 0;
	p->peer_cpus.n = p->peer_cpus.n ? 1 : 0;
	return 0;
}

static struct wp_run_config config_of(const struct pair *p, const struct wp_plan *plan,
				      int cancel_fd)
{
	struct wp_run_config c = *p->load;

	c.plan = plan;
	c.engine = p->with->engine;
	c.cancel_fd = cancel_fd;
	c.on_start = NULL;
	c.on_tick = NULL;
	c.on_load_over = NULL;
	c.arg = NULL;
	return c;
}

/* ---- beside the load -------------------------------------------------------------------------- */

static void *run_beside(void *arg)
{
	struct beside *b = arg;

	b->result = wp_run_execute(&b->config, &b->run, &b->err);
	return NULL;
}

static void on_start(void *arg, const struct wp_run *run)
{
	struct pair *p = arg;
	struct beside *b = &p->beside;
	int r;

	p->run->test.with = p->with->transport == WP_UDP ? "UDP" : "TCP";
	p->run->test.with_rate_hz = wp_num((double)p->with->rate_mhz / 1000);
	p->run->test.idle_s = wp_num((double)p->with->idle_ns / 1e9);
	b->config = config_of(p, &b->plan, b->cancel_fd);
	r = pthread_create(&b->thread, NULL, run_beside, b);
	if (r)
		b->result = wp_err_sys(&b->err, -r, "cannot start its thread");
	b->started = !r;
	if (p->load->on_start)
		p->load->on_start(p->load->arg, run);
}

static void on_tick(void *arg, const struct wp_end_tick *tick)
{
	const struct pair *p = arg;

	if (p->load->on_tick)
		p->load->on_tick(p->load->arg, tick);
}

static void end_beside(struct pair *p)
{
	(void)eventfd_write(p->beside.cancel_fd, 1);
}

static void on_load_over(void *arg)
{
	struct pair *p = arg;

	end_beside(p);
	if (p->load->on_load_over)
		p->load->on_load_over(p->load->arg);
}

/* ---- the two parts ---------------------------------------------------------------------------- */

/* Beside or alone: ended early is no failure when there are figures. */
static bool measured(const struct wp_run *rr)
{
	const struct wp_histogram *h =
		rr->n_hosts ? wp_host_histogram(&rr->hosts[0], "latency") : NULL;

	return h && wp_num_or(h->count, 0) > 0;
}

static const char *why_not(const struct wp_run *rr, int result, const struct wp_err *err)
{
	if (measured(rr))
		return NULL;
	return result && result != -EINTR ? err->msg : "no request was answered in its time";
}

static int measure_idle(const struct pair *p, struct wp_run *idle, struct wp_err *err)
{
	struct wp_plan plan = p->beside.plan;
	struct wp_run_config c = config_of(p, &plan, p->load->cancel_fd);
	int r;

	plan.duration_ns = p->with->idle_ns;
	plan.omit_ns = 0;
	if (p->with->on_idle)
		p->with->on_idle(p->with->arg, NULL);
	r = wp_run_execute(&c, idle, err);
	if (p->with->on_idle)
		p->with->on_idle(p->with->arg, idle);
	return r;
}

static int measure_load(struct pair *p, struct wp_err *err)
{
	struct wp_run_config c = *p->load;
	int r;

	c.on_start = on_start;
	c.on_tick = on_tick;
	c.on_load_over = on_load_over;
	c.arg = p;
	r = wp_run_execute(&c, p->run, err);
	end_beside(p);
	if (p->beside.started)
		pthread_join(p->beside.thread, NULL);
	return r;
}

/* The server that the idle part did not find will not be there for the load either. */
static bool is_lost(int r)
{
	return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ENETUNREACH || r == -ETIMEDOUT;
}

static void join_records(struct pair *p, const struct wp_run *idle, const char *idle_why)
{
	struct beside *b = &p->beside;
	const char *loaded_why = why_not(&b->run, b->result, &b->err);

	if (!b->started && !b->err.msg[0])
		loaded_why = "the load did not begin";
	if (wp_run_latency(p->run, idle, idle_why, &b->run, loaded_why))
		wp_run_warn(p->run, "not enough memory for the latencies");
	if (p->with->idle_ns && idle_why)
		wp_run_warn(p->run, "the latency without load was not measured: %s", idle_why);
	if (loaded_why)
		wp_run_warn(p->run, "the latency under load was not measured: %s", loaded_why);
}

static int both(struct pair *p, struct wp_err *err)
{
	struct wp_run idle;
	struct wp_err idle_err = { 0 };
	const char *idle_why = "not asked for (--idle-time 0)";
	int r = 0;

	wp_run_init(&idle);
	wp_run_init(&p->beside.run);
	if (p->with->idle_ns) {
		r = measure_idle(p, &idle, &idle_err);
		idle_why = why_not(&idle, r, &idle_err);
	}
	if (r == -EINTR || is_lost(r)) {
		wp_err_set(err, r, "%s",
			   r == -EINTR ? "interrupted before the load began" : idle_err.msg);
		wp_run_not_started(p->load, p->run, err);
		p->run->exit_status = r == -EINTR ? 130 : 1;
	} else {
		r = measure_load(p, err);
		join_records(p, &idle, idle_why);
	}
	wp_run_done(&p->beside.run);
	wp_run_done(&idle);
	return r;
}

int wp_run_with(const struct wp_run_config *config, const struct wp_with *with, struct wp_run *run,
		struct wp_err *err)
{
	struct pair p = { .load = config, .with = with, .run = run };
	struct wp_err own = { 0 };
	int r;

	if (!err)
		err = &own;
	p.beside.cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = p.beside.cancel_fd < 0 ? -errno : place(&p);
	if (r) {
		wp_err_sys(err, r, "cannot prepare the requests beside the load");
		wp_run_not_started(config, run, err);
	} else {
		wp_with_plan(with, config->plan, &p.beside.plan);
		p.beside.plan.cpus = p.cpus;
		p.beside.plan.peer_cpus = p.peer_cpus;
		r = both(&p, err);
	}
	wp_close_p(&p.beside.cancel_fd);
	wp_cpulist_done(&p.cpus);
	wp_cpulist_done(&p.peer_cpus);
	return r;
}
