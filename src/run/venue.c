/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/venue.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/units.h"
#include "model/plan.h"
#include "net/addr.h"
#include "observe/inventory.h"
#include "peer/server.h"

#define START_TIMEOUT_NS     (10 * WP_NS_PER_S) /* for the child to listen */
#define INVENTORY_POOL_BYTES (1u << 20)
#define STOP_TIMEOUT_NS      (3 * WP_NS_PER_S) /* for it to end when asked */

/* ---- the child -------------------------------------------------------------------------------- */

struct child {
	const struct wp_venue *venue;
	const struct wp_venue_config *config;
	int report_fd; /* "port 9497" or a sentence for the parent */
	int stop_fd;   /* readable (closed) when the parent is done */
};

/* The first event is LISTENING with "address:port"; only the port matters here. */
static void child_event(void *arg, enum wp_server_event event, const char *text)
{
	struct child *c = arg;
	const char *port = strrchr(text, ':');
	char line[64];
	int n;

	if (event != WP_SERVER_LISTENING || c->report_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "port %s", port ? port + 1 : text);
	if (wp_write_all(c->report_fd, line, (size_t)n))
		_exit(1);
	close(c->report_fd);
	c->report_fd = -1;
}

static _Noreturn void child_main(struct child *c, pid_t parent)
{
	struct wp_err err = { 0 };
	struct wp_server_config server = {
		.bind_host = c->venue->has_lab               ? NULL
			     : c->config->family == AF_INET6 ? "::1"
							     : "127.0.0.1",
		.port = c->venue->has_lab ? WP_DEFAULT_PORT : 0,
		.max_clients = 4,
		.idle_timeout_ns = 30 * WP_NS_PER_S,
		.key_file = c->config->key_file,
		.inventory = &c->venue->inventory,
		.stop_fd = c->stop_fd,
		.on_event = child_event,
		.arg = c,
	};
	int r = 0;

	/* The terminal's Ctrl-C reaches the whole group; the parent decides when we end. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "whyperf-peer");
	if (getppid() != parent)
		_exit(1);
	if (c->venue->has_lab)
		r = wp_lab_enter(&c->venue->lab, WP_LAB_B, &err);
	if (!r)
		r = wp_server_run(&server, &err);
	if (r && c->report_fd >= 0)
		(void)!write(c->report_fd, err.msg, strlen(err.msg));
	_exit(r ? 1 : 0);
}

/* ---- the parent ------------------------------------------------------------------------------- */

/* Reads the child's report to its end: "port N" or what went wrong. */
static int read_report(int fd, uint16_t *ret_port, struct wp_err *err)
{
	int64_t deadline = wp_now_ns() + START_TIMEOUT_NS;
	char text[sizeof(err->msg)] = "";
	size_t n = 0;
	uint64_t port;

	while (n + 1 < sizeof(text)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = (deadline - wp_now_ns()) / WP_NS_PER_MS;
		ssize_t got;

		if (left_ms <= 0)
			return wp_err_set(err, -ETIMEDOUT,
					  "the other end did not start within 10 s");
		if (poll(&p, 1, (int)left_ms) < 1)
			continue;
		got = read(fd, text + n, sizeof(text) - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	if (strncmp(text, "port ", 5) || wp_parse_u64(text + 5, &port) || port < 1 || port > 65535)
		return wp_err_set(err, -ECHILD, "cannot start the other end: %s",
				  n ? text : "it ended at once");
	*ret_port = (uint16_t)port;
	return 0;
}

static int start_child(struct wp_venue *v, const struct wp_venue_config *config, struct wp_err *err)
{
	_cleanup_close_ int report_r = -1, report_w = -1, stop_r = -1, stop_w = -1;
	int report[2], stop[2];
	pid_t parent = getpid(), pid;
	int r;

	if (pipe2(report, O_CLOEXEC))
		return wp_err_sys(err, -errno, "cannot make a pipe");
	report_r = report[0];
	report_w = report[1];
	if (pipe2(stop, O_CLOEXEC))
		return wp_err_sys(err, -errno, "cannot make a pipe");
	stop_r = stop[0];
	stop_w = stop[1];
	pid = fork();
	if (pid < 0)
		return wp_err_sys(err, -errno, "cannot start a process for the other end");
	if (pid == 0) {
		struct child c = {
			.venue = v, .config = config, .report_fd = report_w, .stop_fd = stop_r
		};

		close(report_r);
		close(stop_w);
		child_main(&c, parent);
	}
	v->child = pid;
	v->stop_fd = wp_steal_fd(&stop_w);
	wp_close_p(&report_w);
	report_w = -1;
	r = read_report(report_r, &v->port, err);
	return r;
}

static int open_local(struct wp_venue *v, const struct wp_venue_config *config, struct wp_err *err)
{
	bool ip6 = config->family == AF_INET6;
	const char *host;
	int r;

	if (v->has_lab && ip6 && !v->lab.has_ipv6)
		return wp_err_set(err, -EAFNOSUPPORT, "the lab has no IPv6 here; leave out -6");
	host = v->has_lab ? (ip6 ? v->lab.end[WP_LAB_B].ip6 : v->lab.end[WP_LAB_B].ip4)
	       : ip6      ? "::1"
			  : "127.0.0.1";
	snprintf(v->host, sizeof(v->host), "%s", host);
	v->local = true;
	r = start_child(v, config, err);
	if (!r && v->has_lab)
		r = wp_lab_enter(&v->lab, WP_LAB_A, err);
	return r;
}

/* Looks the host up, so that a wrong one is told before anything begins, with a near miss of our own words. */
static int find_host(struct wp_venue *v, const struct wp_venue_config *config, struct wp_err *err)
{
	static const char *const words[] = { "lab", "loopback" };
	struct wp_addr addrs[WP_ADDR_MAX];
	struct wp_err why = { 0 };
	const char *near;
	size_t n;
	int r = wp_host_split(config->target, config->port, v->host, &v->port, err);

	if (!r)
		r = wp_addr_resolve(v->host, v->port, config->family, config->timeout_ns, addrs, &n,
				    &why);
	if (!why.msg[0])
		return r;
	near = wp_nearest(config->target, words, WP_ARRAY_SIZE(words));
	if (r == -ENOENT || r == -ENODEV || r == -EAFNOSUPPORT)
		r = -EINVAL;
	return wp_err_set(err, r, "%s%s%s%s", why.msg, near ? "; did you mean '" : "",
			  near ? near : "", near ? "'?" : "");
}

int wp_venue_here(const char *text, struct wp_venue *ret, struct wp_err *err)
{
	struct wp_venue v = {
		.text = text, .stop_fd = -1, .local = true, .pool = WP_POOL(INVENTORY_POOL_BYTES)
	};
	int r = wp_inventory_read(-1, true, &v.inventory, &v.pool);

	if (r) {
		wp_pool_done(&v.pool);
		return wp_err_sys(err, r, "cannot read what this machine is");
	}
	*ret = v;
	return 0;
}

int wp_venue_open(const struct wp_venue_config *config, struct wp_venue *ret, struct wp_err *err)
{
	struct wp_venue v = { .text = config->target,
			      .stop_fd = -1,
			      .port = config->port,
			      .pool = WP_POOL(INVENTORY_POOL_BYTES) };
	int r = wp_inventory_read(-1, true, &v.inventory, &v.pool);

	if (r)
		return wp_err_sys(err, r, "cannot read what this machine is");
	if (wp_lab_spec_is(config->target)) {
		struct wp_lab_spec spec;

		r = wp_lab_spec_parse(config->target, &spec, err);
		if (!r)
			r = wp_lab_open(&spec, &v.lab, err);
		v.has_lab = !r;
		if (!r)
			r = open_local(&v, config, err);
	} else if (!strcmp(config->target, "loopback")) {
		r = open_local(&v, config, err);
	} else {
		r = find_host(&v, config, err);
	}
	if (r) {
		wp_venue_close(&v);
		return r;
	}
	*ret = v;
	return 0;
}

int wp_venue_check(struct wp_venue *v, struct wp_err *err)
{
	int status;

	if (!v->child || waitpid(v->child, &status, WNOHANG) != v->child)
		return 0;
	v->child = 0;
	if (WIFSIGNALED(status))
		return wp_err_set(err, -ECHILD, "the other end was ended by signal %d",
				  WTERMSIG(status));
	return wp_err_set(err, -ECHILD, "the other end ended with status %d", WEXITSTATUS(status));
}

static void end_child(struct wp_venue *v)
{
	int64_t deadline = wp_now_ns() + STOP_TIMEOUT_NS;

	while (waitpid(v->child, NULL, WNOHANG) == 0) {
		if (wp_now_ns() > deadline) {
			kill(v->child, SIGKILL);
			waitpid(v->child, NULL, 0);
			break;
		}
		wp_sleep_until_ns(wp_now_ns() + 2 * WP_NS_PER_MS);
	}
	v->child = 0;
}

void wp_venue_close(struct wp_venue *v)
{
	if (!v)
		return;
	wp_close_p(&v->stop_fd);
	v->stop_fd = -1;
	if (v->child)
		end_child(v);
	if (v->has_lab)
		wp_lab_close(&v->lab);
	v->has_lab = false;
	wp_pool_done(&v->pool);
}
