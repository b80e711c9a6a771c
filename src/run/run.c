/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "net/addr.h"
#include "peer/proto.h"
#include "run/soak.h"
#include "run/totals.h"
#include "sys/tcp_info.h"

#define DRAIN_GRACE_NS (10 * WP_NS_PER_S) /* for data on its way after the senders have stopped */
/* How often own senders are looked after, once the other end's are done. */
#define END_TICK_NS (50 * WP_NS_PER_MS)

struct running {
	const struct wp_run_config *config;
	struct wp_run *run;
	struct wp_peer_session *session;
	struct wp_end *end;
	bool cancelled;
};

/* ---- before ----------------------------------------------------------------------------------- */

static int identify(struct wp_run *run, const struct wp_run_config *c)
{
	unsigned char id[8];
	char text[32];

	if (wp_random_bytes(id, sizeof(id)))
		return -EIO;
	run->id = wp_pool_printf(&run->pool, "%02x%02x%02x%02x%02x%02x%02x%02x", id[0], id[1],
				 id[2], id[3], id[4], id[5], id[6], id[7]);
	wp_format_rfc3339(wp_unix_now_ns(), text);
	run->started = wp_pool_strdup(&run->pool, text);
	run->version = WP_VERSION;
	run->command = wp_pool_calloc(&run->pool, c->n_command, sizeof(char *));
	for (size_t i = 0; run->command && i < c->n_command; i++)
		run->command[run->n_command++] = wp_pool_strdup(&run->pool, c->command[i]);
	wp_plan_to_test(c->plan, run);
	run->test.peer = c->peer->name;
	run->test.target = wp_pool_strdup(&run->pool, c->venue->text);
	return run->id && run->started && run->command ? 0 : -ENOMEM;
}

static int describe_client(struct wp_run *run, const struct wp_venue *venue)
{
	struct wp_host *h = &run->hosts[0];

	h->role = "client";
	run->n_hosts = 1;
	if (wp_inventory_copy(&venue->inventory, &h->inventory, &run->pool))
		return -ENOMEM;
	h->name = h->inventory.hostname;
	return 0;
}

static const char *address_name(const struct wp_addr *addr, struct wp_pool *pool)
{
	char text[WP_ADDR_TEXT];

	wp_addr_format(addr, text);
	return wp_pool_strdup(pool, text);
}

static const char *socket_name(int fd, int (*of)(int fd, struct wp_addr *ret), struct wp_pool *pool)
{
	struct wp_addr addr;

	return of(fd, &addr) ? NULL : address_name(&addr, pool);
}

/* One flow a connection, with its addresses; forward ones first, as the session has them. All of a request/response
 * test are one flow, with the addresses of the first. */
static int name_flows(struct running *x, struct wp_err *err)
{
	struct wp_run *run = x->run;
	size_t n = wp_plan_flows(x->config->plan);

	run->flows = wp_pool_calloc(&run->pool, n, sizeof(*run->flows));
	if (!run->flows)
		return wp_err_set(err, -ENOMEM, "no memory for %zu flows", n);
	run->n_flows = n;
	for (size_t i = 0; i < n; i++) {
		const struct wp_stream_spec *s = &x->session->streams[i];
		struct wp_flow *f = &run->flows[i];
		char congestion[16];

		f->id = wp_pool_printf(&run->pool, "%zu", i + 1);
		f->role = s->role == WP_STREAM_SENDS ? "sender" : "receiver";
		/* The server's senders tell theirs with the result; the kernel's default is most often the same. */
		if (s->role == WP_STREAM_SENDS && !wp_tcp_congestion(s->fd, congestion))
			f->congestion = wp_pool_strdup(&run->pool, congestion);
		f->local = socket_name(s->fd, wp_addr_local, &run->pool);
		f->remote = s->remote.len ? address_name(&s->remote, &run->pool)
					  : socket_name(s->fd, wp_addr_remote, &run->pool);
	}
	return 0;
}

static int prepare(struct running *x, struct wp_err *err)
{
	const struct wp_run_config *c = x->config;
	struct wp_peer_target target = { .host = c->venue->host,
					 .port = c->venue->port,
					 .key_file = c->key_file,
					 .timeout_ns = c->timeout_ns };
	struct wp_end_spec spec = { .plan = c->plan,
				    .engine = c->engine,
				    .cpus = &c->plan->cpus,
				    .record_cpus = true,
				    .on_tick = c->on_tick,
				    .arg = c->arg };
	int r = 0;

	if (!x->session)
		r = c->peer->connect(&target, c->plan, &x->session, err);
	if (r)
		return r;
	spec.streams = x->session->streams;
	spec.n_streams = x->session->n_streams;
	r = name_flows(x, err);
	if (!r)
		r = wp_end_new(&spec, &x->end, err);
	x->session->end = x->end;
	return r;
}

/* ---- during ----------------------------------------------------------------------------------- */

static void cancel(struct running *x)
{
	if (x->cancelled)
		return;
	x->cancelled = true;
	wp_end_stop(x->end);
	(void)x->config->peer->stop(x->session);
}

/* Of datagrams the end marker may be lost: who waits for it is told to be content with silence. */
static bool end_may_be_lost(const struct running *x)
{
	return !strcmp(x->config->plan->kind, "udp");
}

/* Every END_TICK_NS from now on. */
static int start_ticking(int timer)
{
	struct itimerspec every = { .it_interval = wp_ns_to_timespec(END_TICK_NS),
				    .it_value = wp_ns_to_timespec(END_TICK_NS) };

	return timerfd_settime(timer, 0, &every, NULL) < 0 ? -errno : 0;
}

/* The other end's senders are done: what this end has not received soon does not come any more. But its own senders go
 * on to their end. */
static void be_content(struct running *x, int timer)
{
	uint64_t ticks;

	(void)!read(timer, &ticks, sizeof(ticks));
	if (!wp_end_senders_done(x->end))
		return;
	wp_end_stop(x->end);
	(void)timerfd_settime(timer, 0, &(struct itimerspec) { 0 }, NULL);
}

/* One event of the other end: 1 when it is done, 0, or why the test ends. */
static int take_event(struct running *x, int timer, bool was_done, struct wp_err *err)
{
	int r = x->config->peer->event(x->session, err);

	if (r > 0 && !was_done && end_may_be_lost(x))
		return start_ticking(timer) < 0 ? -errno : 1;
	return r;
}

/* Waits until this end's part is over. The peer may fail or vanish meanwhile: then what is there is kept. */
static int watch(struct running *x, struct wp_err *err)
{
	_cleanup_close_ int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	bool peer_done = false;

	if (timer < 0)
		return wp_err_sys(err, -errno, "cannot make a timer");
	for (;;) {
		int fds[3] = { x->session->control_fd, timer, x->config->cancel_fd };
		size_t n = x->config->cancel_fd >= 0 && !x->cancelled ? 3 : 2;
		int r;

		/* It has nothing more to say; but own senders may go on, and it may vanish. */
		if (peer_done && wp_end_senders_done(x->end))
			fds[0] = -1;
		r = wp_end_wait(x->end, fds, n);
		if (r == 0 || (r < 0 && r != -EINTR))
			return r;
		if (r > 0 && (r & 4))
			cancel(x);
		if (r > 0 && (r & 2))
			be_content(x, timer);
		if (r > 0 && (r & 1)) {
			r = take_event(x, timer, peer_done, err);
			if (r < 0)
				return r;
			peer_done |= r > 0;
		}
	}
}

/* ---- after ------------------------------------------------------------------------------------ */

static void set_methods(struct wp_run *run, struct wp_end *end)
{
	run->test.send_method = wp_end_method(end, WP_STREAM_SENDS);
	run->test.receive_method = wp_end_method(end, WP_STREAM_RECEIVES);
}

static int collect(struct running *x, struct wp_err *err)
{
	struct wp_run *run = x->run;
	int r = wp_end_result(x->end, &run->hosts[0], run->flows, &run->pool);

	if (r)
		return wp_err_sys(err, r, "cannot collect the results of this end");
	set_methods(run, x->end);
	return 0;
}

static void note_same_machine(struct running *x)
{
	struct wp_run *run = x->run;

	if (run->n_hosts < 2)
		return;
	if (!run->hosts[1].role)
		run->hosts[1].role = "server";
	if (x->session->same_machine) {
		const struct wp_ints *a = &run->hosts[0].observed_app_cpus,
				     *b = &run->hosts[1].observed_app_cpus;

		if (a->n && b->n)
			run->hosts[0].app_to_peer = run->hosts[1].app_to_peer =
				wp_cpu_distance(a->v[0], b->v[0]);
		run->hosts[1].same_machine_as = "client";
		run->hosts[0].same_machine_as = "server";
	}
}

static int measure(struct running *x, struct wp_err *err)
{
	const struct wp_run_config *c = x->config;
	struct wp_err late = { 0 };
	int r = c->peer->start(x->session, err), collected, finished;

	if (r)
		return r;
	r = wp_end_go(x->end);
	if (r)
		wp_err_sys(err, r, "cannot start the sampling of the CPUs");
	else
		r = watch(x, err);
	if (c->on_load_over)
		c->on_load_over(c->arg);
	if (r < 0)
		wp_end_stop(x->end);
	if (wp_end_finish(x->end, r < 0 || x->cancelled ? WP_NS_PER_S : DRAIN_GRACE_NS) ==
	    -ETIMEDOUT)
		wp_run_warn(x->run,
			    "the last data did not arrive in time; totals of both ends may differ");
	collected = collect(x, err);
	if (collected)
		return r < 0 ? r : collected;
	/* Also after a failure: a server that ended the test sends what it has measured. */
	finished = c->peer->finish(x->session, x->run, &late);
	/* Now nothing is on its way any more. Where memory is short, what was counted before stands. */
	(void)!wp_end_recount(x->end, &x->run->hosts[0], &x->run->pool);
	if (r < 0)
		return r;
	if (finished) {
		if (x->run->n_hosts < 2 && c->peer->caps & WP_PEER_REMOTE_RESULT)
			wp_run_warn(x->run, "no result of the other end: %s", late.msg);
		wp_err_set(err, finished, "%s", late.msg);
	}
	return finished;
}

void wp_run_not_started(const struct wp_run_config *config, struct wp_run *run,
			const struct wp_err *why)
{
	wp_run_init(run);
	(void)!identify(run, config); /* what memory there is for */
	wp_run_totals(run);
	run->error = wp_pool_strdup(&run->pool, why->msg);
	run->exit_status = 1;
}

int wp_run_execute(const struct wp_run_config *config, struct wp_run *run, struct wp_err *err)
{
	struct wp_err own = { 0 };
	struct running x = { .config = config, .run = run, .session = config->session };
	int r;

	if (!err)
		err = &own;
	wp_run_init(run);
	r = identify(run, config);
	if (!r)
		r = describe_client(run, config->venue);
	if (!r)
		r = prepare(&x, err);
	if (!r && config->on_start)
		config->on_start(config->arg, run);
	if (!r)
		r = measure(&x, err);
	note_same_machine(&x);
	wp_run_soak(run);
	wp_run_totals(run);
	if (x.session)
		x.session->end = NULL;
	wp_end_free(x.end);
	if (x.session)
		config->peer->close(x.session);
	if (r && !err->msg[0])
		wp_err_sys(err, r, "the test failed");
	if (!r && x.cancelled)
		r = wp_err_set(err, -EINTR, "interrupted; what was measured until then is kept");
	if (r) {
		run->error = wp_pool_strdup(&run->pool, err->msg);
		run->exit_status = r == -EINTR ? 130 : 1;
	}
	return r;
}
