/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - signals, environment, the command line; then one command runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "place/journal.h"

#define HELP_MAX_BYTES   (256u << 10)
#define CONFIG_MAX_BYTES 4096
#define MIN_WIDTH        40

/* The one mutable global: what a signal handler may touch. */
static int cancel_fd = -1;

/* A standard stream that is closed would give its number to the next file that is opened, and what is printed would land
 * in the store or on the wire. /dev/null takes the place, opened so that reading and writing still fail. */
static int fill_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	return 0;
}

static void on_signal(int sig)
{
	static volatile sig_atomic_t asked;
	uint64_t one = 1;
	int saved = errno;

	if (asked++) { /* a second Ctrl-C means now */
		signal(sig, SIG_DFL);
		raise(sig);
	}
	(void)!write(cancel_fd, &one, sizeof(one));
	errno = saved;
}

static int set_signals(void)
{
	/* A signal must not cut the printing of a report short; what waits for it polls cancel_fd. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cancel_fd < 0)
		return -errno;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
	return 0;
}

/* 1,000 streams need as many descriptors at each end, and splice two pipes each. */
static void raise_fd_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void look_at_terminal(struct wp_cli *cli)
{
	const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	struct winsize w;

	cli->terminal = isatty(STDOUT_FILENO);
	cli->colour = cli->terminal && !(no_colour && *no_colour) && term && strcmp(term, "dumb");
	cli->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	cli->width = 100;
	if (cli->terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		cli->width = w.ws_col < MIN_WIDTH ? MIN_WIDTH : w.ws_col;
}

/* As the shell has it, else as the password file has it (services have no HOME). Never a folder that everybody may write
 * to: somebody else's database would be waiting there. */
static const char *home_directory(void)
{
	const char *home = getenv("HOME");
	const struct passwd *pw;

	if (home && home[0] == '/')
		return home;
	pw = getpwuid(geteuid());
	return pw && pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : "";
}

/* Where state lives: results, and undo records of changed settings. */
static int find_directories(struct wp_cli *cli, char *state, char *journal, size_t size)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = home_directory(),
		   *run = getenv("XDG_RUNTIME_DIR");
	int n;

	if (xdg && xdg[0] == '/')
		n = snprintf(state, size, "%s/whyperf", xdg);
	else
		n = snprintf(state, size, "%s/.local/state/whyperf", home);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (geteuid() == 0)
		n = snprintf(journal, size, "/run/whyperf/journal");
	else if (run && run[0] == '/')
		n = snprintf(journal, size, "%s/whyperf/journal", run);
	else
		n = snprintf(journal, size, "%s/journal", state);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	cli->state_dir = state;
	cli->journal_dir = journal;
	return 0;
}

static int print(struct wp_cli *cli, int (*make)(struct wp_buf *out))
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(HELP_MAX_BYTES);

	make(&b);
	fputs(wp_buf_text(&b), cli->out);
	return WP_EXIT_OK;
}

static int print_command_help(struct wp_cli *cli, const struct wp_command *c)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(HELP_MAX_BYTES);

	wp_help_command(c, &b);
	fputs(wp_buf_text(&b), cli->out);
	return WP_EXIT_OK;
}

static int unknown_command(struct wp_cli *cli, const char *word)
{
	const char *names[32];
	const char *near;
	size_t n = 0;

	for (; wp_commands[n] && n < WP_ARRAY_SIZE(names); n++)
		names[n] = wp_commands[n]->name;
	near = wp_nearest(word, names, n);
	if (near)
		return wp_cli_usage(cli, "unknown command '%s'; did you mean '%s'?", word, near);
	return wp_cli_usage(cli, "unknown command '%s'; `whyperf --help` lists the commands", word);
}

static void say(void *arg, const char *sentence)
{
	const struct wp_cli *cli = arg;

	wp_cli_say(cli, "%s", sentence);
}

/* What an earlier run left behind when it was killed is put right before anything else. */
static void replay_journal(struct wp_cli *cli)
{
	struct wp_journal_report report;
	struct wp_err err = { 0 };

	if (wp_journal_replay(cli->journal_dir, "", say, cli, &report, &err))
		wp_cli_say(cli, "%s", err.msg);
}

static int check_operands(struct wp_cli *cli, const struct wp_command *c,
			  const struct wp_operands *o)
{
	if (o->n < c->min_operands)
		return wp_cli_usage(cli, "%s needs %s; `whyperf %s --help` explains", c->name,
				    c->operands, c->name);
	if (c->max_operands >= 0 && o->n > c->max_operands)
		return wp_cli_usage(
			cli, "%s does not know what to do with '%s'; `whyperf %s --help` explains",
			c->name, o->v[c->max_operands], c->name);
	return 0;
}

static int run_command(struct wp_cli *cli, const struct wp_command *c, int argc,
		       const char *const *argv)
{
	_Alignas(max_align_t) char config[CONFIG_MAX_BYTES] = { 0 };
	struct wp_operands operands = { 0 };
	struct wp_err err = { 0 };
	int r = c->config_size <= sizeof(config) ? 0 : -E2BIG;

	if (!r)
		r = wp_opt_defaults(c->options, c->n_options, config, &err);
	if (!r)
		r = wp_opt_parse(c->options, c->n_options, config, argc, argv, c->stop_at_first,
				 &operands, &err);
	if (r == -ECANCELED) {
		r = print_command_help(cli, c);
	} else if (r) {
		wp_err_prefix(&err, "%s", c->name);
		r = wp_cli_fail(cli, WP_EXIT_USAGE, &err);
	} else {
		r = check_operands(cli, c, &operands);
		if (!r) {
			replay_journal(cli);
			r = c->run(config, &operands, cli);
		}
	}
	wp_operands_done(&operands);
	wp_opt_done(c->options, c->n_options, config);
	return r;
}

static int dispatch(struct wp_cli *cli, int argc, const char *const *argv)
{
	const struct wp_command *c;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print(cli, wp_help_program);
	if (!strcmp(argv[1], "--version"))
		return print(cli, wp_help_version);
	if (!strcmp(argv[1], "--engines"))
		return print(cli, wp_help_engines);
	if (!strcmp(argv[1], "help")) {
		c = argc > 2 ? wp_command_find(argv[2]) : NULL;
		if (argc > 2 && !c)
			return unknown_command(cli, argv[2]);
		return c ? print_command_help(cli, c) : print(cli, wp_help_program);
	}
	if (!strncmp(argv[1], "-c", 2) || !strncmp(argv[1], "--client", 8))
		return wp_cli_usage(cli, "'%s' of iperf is a command here: whyperf tcp HOST",
				    argv[1]);
	if (!strcmp(argv[1], "-s") || !strcmp(argv[1], "--server"))
		return wp_cli_usage(cli, "'%s' of iperf is a command here: whyperf serve", argv[1]);
	if (argv[1][0] == '-')
		return wp_cli_usage(
			cli,
			"unknown option '%s'; a command comes first, `whyperf --help` lists them",
			argv[1]);
	c = wp_command_find(argv[1]);
	if (!c)
		return unknown_command(cli, argv[1]);
	return run_command(cli, c, argc - 2, argv + 2);
}

/* Of a pipe on stdout. */
static bool reader_is_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

static int flush_output(const struct wp_cli *cli)
{
	int error = fflush(cli->out) ? errno : 0;

	if (!error && !ferror(cli->out))
		return 0;
	if (reader_is_gone()) /* `whyperf history | head` is not worth a word */
		return -EPIPE;
	/* What failed earlier has left no errno. */
	wp_cli_say(cli, "cannot write the output%s%s", error ? ": " : "",
		   error ? strerror(error) : "; what is missing was not printed");
	return -EIO;
}

int main(int argc, char **argv)
{
	char state[3072], journal[3200];
	struct wp_cli cli = { .out = stdout,
			      .err = stderr,
			      .argc = (size_t)argc,
			      .argv = (const char *const *)argv };
	int r;

	if (fill_standard_fds())
		return WP_EXIT_FAILED;
	setenv("HWLOC_HIDE_ERRORS", "2", 0); /* what is missing is said in our words */
	setlocale(LC_CTYPE, "");
	look_at_terminal(&cli);
	if (set_signals() || find_directories(&cli, state, journal, sizeof(state)))
		return wp_cli_usage(
			&cli,
			"cannot set up: no descriptor is free, or the state directory's name is too long");
	cli.cancel_fd = cancel_fd;
	raise_fd_limit();
	r = dispatch(&cli, argc, (const char *const *)argv);
	return flush_output(&cli) && !r ? WP_EXIT_FAILED : r;
}
