/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_serve.c - `whyperf serve`: the other end. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/commands.h"
#include "model/plan.h"
#include "peer/server.h"

#define SYSTEMD_FIRST_FD 3 /* sd_listen_fds(3) */
#define MAX_LISTEN_FDS   8

struct serve_config {
	int64_t port, data_port, max_duration_ns, idle_timeout_ns;
	uint64_t max_rate_bps, max_clients;
	const char *bind_host, *key_file;
	bool one_off, quiet;
};

#define OFF(field) offsetof(struct serve_config, field)

static const struct wp_opt options[] = {
	{ "port", 'p', WP_OPT_INT, OFF(port), .arg = "PORT", .def = "9497", .min = 0, .max = 65535,
	  .group = "Network", .help = "port to listen on; 0 = any free one" },
	{ "data-port", 0, WP_OPT_INT, OFF(data_port), .arg = "PORT", .def = "0", .min = 0,
	  .max = 65535, .group = "Network",
	  .help = "port for rr --connect, of one test at a time; 0 = any free one" },
	{ "bind", 'B', WP_OPT_STRING, OFF(bind_host), .arg = "ADDR", .group = "Network",
	  .help = "listen on this address only" },
	{ "key", 0, WP_OPT_STRING, OFF(key_file), .arg = "FILE", .group = "Network",
	  .help = "pre-shared key: only clients that have it, over TLS 1.3" },
	{ "one-off", '1', WP_OPT_FLAG, OFF(one_off), .group = "Limits",
	  .help = "serve one test, then end" },
	{ "max-clients", 0, WP_OPT_COUNT, OFF(max_clients), .arg = "N", .def = "32", .min = 1,
	  .max = 1000, .group = "Limits", .help = "tests at the same time" },
	{ "max-duration", 0, WP_OPT_DURATION, OFF(max_duration_ns), .arg = "TIME", .def = "0",
	  .min = 0, .max = 366 * 86400.0, .group = "Limits",
	  .help = "refuse tests that would last longer; 0 = any" },
	{ "max-rate", 0, WP_OPT_RATE, OFF(max_rate_bps), .arg = "RATE", .def = "0", .min = 0,
	  .max = 1e14, .group = "Limits",
	  .help = "refuse tests that ask for more a stream; 0 = any" },
	{ "idle-timeout", 0, WP_OPT_DURATION, OFF(idle_timeout_ns), .arg = "TIME", .def = "30",
	  .min = 1, .max = 86400, .group = "Limits",
	  .help = "give up on a client that shows no life for so long" },
	{ "quiet", 'q', WP_OPT_FLAG, OFF(quiet), .group = "Output",
	  .help = "say nothing but errors" },
};

struct printer {
	const struct wp_cli *cli;
	bool quiet;
};

static void on_event(void *arg, enum wp_server_event event, const char *text)
{
	static const char *const words[] = {
		[WP_SERVER_LISTENING] = "listening on ",
		[WP_SERVER_CLIENT] = "",
		[WP_SERVER_RESULT] = "",
		[WP_SERVER_REFUSED] = "refused: ",
		[WP_SERVER_FAILED] = "failed: ",
	};
	const struct printer *p = arg;
	bool bad = event == WP_SERVER_FAILED;
	char stamp[32];

	if (p->quiet && !bad)
		return;
	wp_format_rfc3339(wp_unix_now_ns(), stamp);
	fprintf(bad ? p->cli->err : p->cli->out, "%s %s%s\n", stamp, words[event], text);
	fflush(p->cli->out);
}

/* Sockets that systemd has bound for us (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS). */
static unsigned inherited_sockets(int fds[static MAX_LISTEN_FDS])
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t n, want;
	unsigned found = 0;

	if (!pid || !count || wp_parse_u64(pid, &want) || wp_parse_u64(count, &n) ||
	    want != (uint64_t)getpid())
		return 0;
	for (uint64_t i = 0; i < n && i < MAX_LISTEN_FDS; i++) {
		int fd = SYSTEMD_FIRST_FD + (int)i;
		int listening = 0, type = 0;
		socklen_t len = sizeof(int);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) ||
		    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
		    (!listening && type != SOCK_DGRAM))
			continue;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fds[found++] = fd;
	}
	return found;
}

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	const struct serve_config *c = config;
	struct printer printer = { .cli = cli, .quiet = c->quiet };
	int fds[MAX_LISTEN_FDS];
	unsigned n_fds = inherited_sockets(fds);
	struct wp_server_config server = {
		.bind_host = c->bind_host,
		.port = (uint16_t)c->port,
		.data_port = (uint16_t)c->data_port,
		.one_off = c->one_off,
		.max_duration_ns = c->max_duration_ns,
		.max_rate_bps = c->max_rate_bps,
		.idle_timeout_ns = c->idle_timeout_ns,
		.max_clients = (unsigned)c->max_clients,
		.key_file = c->key_file,
		.listen_fds = n_fds ? fds : NULL,
		.n_listen_fds = n_fds,
		.stop_fd = cli->cancel_fd,
		.on_event = on_event,
		.arg = &printer,
	};
	struct wp_err err = { 0 };

	(void)operands;
	if (wp_server_run(&server, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	return WP_EXIT_OK;
}

const struct wp_command wp_cmd_serve = {
	.name = "serve",
	.group = "Measure",
	.operands = "",
	.summary = "be the other end, for many clients at once",
	.about =
		"Listens on one TCP port for control and data connections, and on the UDP port of\n"
		"that number for tests over UDP; rr --connect needs one port more (--data-port).\n"
		"Clients that vanish, say nothing or send nonsense cost a timeout and nothing\n"
		"else. SIGTERM ends cleanly. Data goes only to the address that made the control\n"
		"connection. Under systemd with socket activation the inherited sockets are used.",
	.examples = "  whyperf serve                          on port 9497, all addresses\n"
		    "  whyperf serve --one-off -B 127.0.0.1   one test, from this machine only\n"
		    "  whyperf serve --key /etc/whyperf.key   only clients that have the key\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct serve_config),
	.run = run,
};
