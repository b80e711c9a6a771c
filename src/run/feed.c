/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TICK_NS (5 * WP_NS_PER_MS)
#define TERM_NS WP_NS_PER_S /* between SIGTERM and SIGKILL */
#define SHELL   "/bin/sh"

/* ---- the child -------------------------------------------------------------------------------- */

/* Between fork and exec of a program with threads: only what is async-signal-safe. */
static _Noreturn void child_main(const char *command, int input_fd, int report_fd, pid_t parent)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)command, NULL };
	extern char **environ;
	sigset_t none;
	int code;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	/* A terminal's or pipe's end is not ignored because we do so. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(input_fd, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execve(SHELL, argv, environ);
	code = errno;
	(void)!write(report_fd, &code, sizeof(code));
	_exit(127);
}

/* ---- starting --------------------------------------------------------------------------------- */

/* Nothing comes when the shell runs: exec closes the pipe. */
static int read_report(int fd)
{
	int code = 0;
	ssize_t n;

	do
		n = read(fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	return n == sizeof(code) ? -code : 0;
}

static int make_pipes(uint64_t pipe_bytes, int data[2], int report[2], struct wp_err *err)
{
	int bytes = pipe_bytes > INT_MAX ? INT_MAX : (int)pipe_bytes;

	if (pipe2(data, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0 ||
	    fcntl(data[1], F_SETFL, O_NONBLOCK) < 0)
		return wp_err_sys(err, -errno, "cannot make a pipe");
	if (bytes && fcntl(data[1], F_SETPIPE_SZ, bytes) < 0)
		return wp_err_sys(
			err, -errno,
			"the pipe can't hold %d bytes (-w); fs.pipe-max-size is the limit", bytes);
	return 0;
}

static void close_both(int fds[2])
{
	wp_close_p(&fds[0]);
	wp_close_p(&fds[1]);
}

int wp_feed_start(const char *command, uint64_t pipe_bytes, struct wp_feed *ret, struct wp_err *err)
{
	int data[2] = { -1, -1 }, report[2] = { -1, -1 };
	struct wp_feed f = { .fd = -1 };
	pid_t parent = getpid();
	int r = make_pipes(pipe_bytes, data, report, err);

	if (!r) {
		f.pid = fork();
		if (f.pid == 0)
			child_main(command, data[0], report[1], parent);
		if (f.pid < 0)
			r = wp_err_sys(err, -errno, "cannot start a process");
	}
	if (r) {
		close_both(data);
		close_both(report);
		return r;
	}
	/* Whoever comes first: from here on the group can be killed. */
	(void)setpgid(f.pid, f.pid);
	wp_close_p(&report[1]);
	wp_close_p(&data[0]);
	report[1] = data[0] = -1;
	f.fd = data[1];
	r = read_report(report[0]);
	wp_close_p(&report[0]);
	if (r) {
		wp_feed_end(&f, 0, -1);
		return wp_err_sys(err, r, "cannot run %s", SHELL);
	}
	*ret = f;
	return 0;
}

/* ---- ending ----------------------------------------------------------------------------------- */

/* Whether its first process has ended; then the others of the group are killed, while the group's number is still its
 * own, and it is reaped. */
static bool reap(struct wp_feed *f)
{
	siginfo_t info = { .si_pid = 0 };

	if (f->ended || !f->pid)
		return true;
	if (waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != EINTR) {
		f->pid = 0; /* not ours any more */
		return true;
	}
	if (info.si_pid != f->pid)
		return false;
	(void)kill(-f->pid, SIGKILL);
	(void)waitid(P_PID, (id_t)f->pid, &info, WEXITED);
	f->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	f->ended = true;
	f->pid = 0;
	return true;
}

/* True when it has ended; a readable cancel_fd ends the wait. */
static bool wait_for(struct wp_feed *f, int64_t deadline_ns, int cancel_fd)
{
	while (!reap(f)) {
		struct pollfd p = { .fd = cancel_fd, .events = POLLIN };
		struct timespec ts = wp_ns_to_timespec(TICK_NS);

		if (wp_now_ns() >= deadline_ns || ppoll(&p, 1, &ts, NULL) > 0)
			return false;
	}
	return true;
}

bool wp_feed_ended(struct wp_feed *f, int64_t wait_ns)
{
	return wait_for(f, wp_now_ns() + wait_ns, -1);
}

void wp_feed_end(struct wp_feed *f, int64_t grace_ns, int cancel_fd)
{
	int64_t start_ns = wp_now_ns();

	wp_close_p(&f->fd);
	f->fd = -1;
	if (wait_for(f, start_ns + grace_ns, cancel_fd)) {
		f->end_ns = wp_now_ns() - start_ns;
		return;
	}
	f->forced = true;
	(void)kill(-f->pid, SIGTERM);
	(void)kill(-f->pid, SIGCONT); /* who is stopped takes no SIGTERM */
	if (!wait_for(f, wp_now_ns() + TERM_NS, -1)) {
		(void)kill(-f->pid, SIGKILL);
		while (!wait_for(f, wp_now_ns() + WP_NS_PER_S, -1))
			;
	}
	f->end_ns = wp_now_ns() - start_ns;
}

void wp_feed_say(const struct wp_feed *f, char *out, size_t size)
{
	if (!f->ended)
		snprintf(out, size, f->pid ? "it runs" : "how it ended is not known");
	else if (f->status > 128)
		snprintf(out, size, "signal %d ended it", f->status - 128);
	else
		snprintf(out, size, "it ended with status %d", f->status);
}
