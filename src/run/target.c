/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TRY_NS       (20 * WP_NS_PER_MS) /* between two tries to find somebody at the other end */
#define MEMORY_MAJOR 1                   /* Documentation/admin-guide/devices.txt */
#define SECTOR_BYTES 512

const char *wp_target_kind_name(enum wp_target_kind kind)
{
	static const char *const names[] = {
		[WP_TARGET_NULL] = "null device",   [WP_TARGET_DEVICE] = "device",
		[WP_TARGET_FILE] = "file",          [WP_TARGET_PIPE] = "pipe",
		[WP_TARGET_SOCKET] = "socket",      [WP_TARGET_TERMINAL] = "terminal",
		[WP_TARGET_BLOCK] = "block device",
	};

	return names[kind];
}

/* /dev/null, /dev/zero, /dev/full: they keep nothing. */
static bool keeps_nothing(const struct stat *st)
{
	unsigned minor_number = minor(st->st_rdev);

	return major(st->st_rdev) == MEMORY_MAJOR &&
	       (minor_number == 3 || minor_number == 5 || minor_number == 7);
}

static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(MEMORY_MAJOR, 3);
}

/* Terminals by their major numbers: 4 tty, 5 /dev/tty and console, 136 to 143 pseudo terminals. */
static bool looks_like_terminal(const struct stat *st)
{
	unsigned n = major(st->st_rdev);

	return n == 4 || n == 5 || (n >= 136 && n <= 143);
}

static enum wp_target_kind kind_of(int fd, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return WP_TARGET_FILE;
	if (S_ISFIFO(st->st_mode))
		return WP_TARGET_PIPE;
	if (S_ISSOCK(st->st_mode))
		return WP_TARGET_SOCKET;
	if (S_ISBLK(st->st_mode))
		return WP_TARGET_BLOCK;
	if (is_null(st))
		return WP_TARGET_NULL;
	return isatty(fd) ? WP_TARGET_TERMINAL : WP_TARGET_DEVICE;
}

static int cannot_open(const struct wp_target_config *c, int code, struct wp_err *err)
{
	if (code == -EISDIR)
		return wp_err_set(err, code,
				  "'%s' is a directory; name a file in it, or a device or pipe",
				  c->path);
	if (code == -EINVAL && c->direct)
		return wp_err_set(err, code, "'%s': its file system does not take O_DIRECT",
				  c->path);
	return wp_err_sys(err, code, "cannot write to '%s'", c->path);
}

/* Whether it may be opened at all: opening alone rewinds tapes and arms watchdogs. */
static int check_there(const struct wp_target_config *c, const struct stat *st, struct wp_err *err)
{
	if (S_ISDIR(st->st_mode))
		return cannot_open(c, -EISDIR, err);
	if ((c->direct || c->o_sync) && !S_ISREG(st->st_mode) && !S_ISBLK(st->st_mode))
		return wp_err_set(err, -EINVAL, "--direct and --sync are for files; '%s' is none",
				  c->path);
	if (S_ISREG(st->st_mode) && !c->overwrite)
		return wp_err_set(
			err, -EEXIST,
			"'%s' is there already; --overwrite writes over it and loses what it holds",
			c->path);
	if (S_ISBLK(st->st_mode) && !c->any_device)
		return wp_err_set(
			err, -EPERM,
			"'%s' is a block device, and writing destroys what is on it; --device-i-know does it nevertheless",
			c->path);
	if (S_ISCHR(st->st_mode) && !keeps_nothing(st) && !looks_like_terminal(st) &&
	    !c->any_device)
		return wp_err_set(
			err, -EPERM,
			"'%s' is a device that is neither a terminal nor null, zero or full, and does whatever it does with zeros; --device-i-know writes to it",
			c->path);
	return 0;
}

/* ---- somebody at the other end ---------------------------------------------------------------- */

static int wait_a_little(const struct wp_target_config *c, int64_t deadline_ns)
{
	struct pollfd p = { .fd = c->cancel_fd, .events = POLLIN };
	struct timespec ts = wp_ns_to_timespec(TRY_NS);

	if (wp_now_ns() >= deadline_ns)
		return -ETIMEDOUT;
	return ppoll(&p, 1, &ts, NULL) > 0 ? -EINTR : 0;
}

static int give_up(const struct wp_target_config *c, int code, const char *what, struct wp_err *err)
{
	if (code == -EINTR)
		return wp_err_set(err, code, "interrupted while nobody %s '%s'", what, c->path);
	return wp_err_set(err, code,
			  "nobody %s '%s' within %.3g s; begin at the other end, or --timeout",
			  what, c->path, (double)c->timeout_ns / 1e9);
}

static int open_path(const struct wp_target_config *c, int flags, int *ret_fd, struct wp_err *err)
{
	int64_t deadline_ns = wp_now_ns() + c->timeout_ns;

	for (;;) {
		int fd = open(c->path, flags | O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), r;

		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		if (errno != ENXIO)
			return cannot_open(c, -errno, err);
		r = wait_a_little(c, deadline_ns);
		if (r < 0)
			return give_up(c, r, "reads", err);
	}
}

static int connect_socket(const struct wp_target_config *c, int *ret_fd, struct wp_err *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int64_t deadline_ns = wp_now_ns() + c->timeout_ns;

	if (fd < 0)
		return cannot_open(c, -errno, err);
	if (strlen(c->path) >= sizeof(a.sun_path))
		return wp_err_set(err, -ENAMETOOLONG,
				  "'%s': the path of a socket has at most %zu bytes", c->path,
				  sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, c->path, strlen(c->path));
	/* EAGAIN: its queue of connections is full. */
	while (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
		int r = errno == EAGAIN ? wait_a_little(c, deadline_ns) : -errno;

		if (r == -EPROTOTYPE)
			return wp_err_set(err, r, "'%s' is no stream socket", c->path);
		if (r == -ECONNREFUSED)
			return wp_err_set(err, r, "nobody listens on '%s'", c->path);
		if (r == -ETIMEDOUT || r == -EINTR)
			return give_up(c, r, "accepts connections on", err);
		if (r < 0)
			return cannot_open(c, r, err);
	}
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int open_flags(const struct wp_target_config *c)
{
	return (c->direct ? O_DIRECT : 0) | (c->o_sync ? O_SYNC : 0);
}

static int open_there(const struct wp_target_config *c, const struct stat *st, int *ret_fd,
		      struct wp_err *err)
{
	int r = check_there(c, st, err);
	struct stat now;

	if (r)
		return r;
	if (S_ISSOCK(st->st_mode))
		return connect_socket(c, ret_fd, err);
	r = open_path(c, open_flags(c), ret_fd, err);
	if (r || !S_ISREG(st->st_mode))
		return r;
	/* It may be another file by now. */
	if (fstat(*ret_fd, &now) < 0 || !S_ISREG(now.st_mode) || ftruncate(*ret_fd, 0) < 0) {
		r = cannot_open(c, -errno, err);
		wp_close_p(ret_fd);
		*ret_fd = -1;
	}
	return r;
}

static int make_file(const struct wp_target_config *c, int *ret_fd, struct wp_err *err)
{
	int fd = open(c->path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC | open_flags(c),
		      0666),
	    r;
	struct stat st;

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	if (r == -EEXIST && !lstat(c->path, &st) && S_ISLNK(st.st_mode))
		return wp_err_set(err, r, "'%s' is a symbolic link to nothing", c->path);
	/* Made before the file system refused the flag, which is nothing to leave behind. */
	if (r == -EINVAL && c->direct && !stat(c->path, &st) && S_ISREG(st.st_mode) &&
	    st.st_size == 0)
		(void)unlink(c->path);
	return cannot_open(c, r, err);
}

/* Pipes and terminals are opened a second time, so that their other users see no change. */
static int open_stdout(const struct wp_target_config *c, struct wp_target *t, struct wp_err *err)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct stat st;

	if (c->direct || c->o_sync)
		return wp_err_set(err, -EINVAL,
				  "--direct and --sync are for a file of ours, not for stdout");
	if (flags < 0 || fstat(STDOUT_FILENO, &st) < 0)
		return wp_err_sys(err, -errno, "cannot write to stdout");
	if ((flags & O_ACCMODE) == O_RDONLY)
		return wp_err_set(err, -EBADF, "stdout is not open for writing");
	if (S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(STDOUT_FILENO)))
		t->fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd >= 0)
		return 0;
	t->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (t->fd < 0)
		return wp_err_sys(err, -errno, "cannot write to stdout");
	if (S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(t->fd))) {
		t->flags = flags;
		(void)fcntl(t->fd, F_SETFL, flags | O_NONBLOCK);
	}
	return 0;
}

/* What the kind can't do. */
static int check_kind(const struct wp_target_config *c, const struct wp_target *t,
		      struct wp_err *err)
{
	bool disk = t->kind == WP_TARGET_FILE || t->kind == WP_TARGET_BLOCK;
	bool buffered = t->kind == WP_TARGET_PIPE || t->kind == WP_TARGET_SOCKET;
	const char *name = wp_target_kind_name(t->kind);

	if (c->syncs && !disk)
		return wp_err_set(err, -EINVAL, "--fsync is for files; '%s' is a %s", c->path,
				  name);
	if (c->buffer_bytes && !buffered)
		return wp_err_set(err, -EINVAL, "-w is for pipes and sockets; '%s' is a %s",
				  c->path, name);
	if (c->direct && c->length_bytes % SECTOR_BYTES)
		return wp_err_set(
			err, -EINVAL,
			"--direct needs writes (-l) of whole sectors of %d bytes, not %llu",
			SECTOR_BYTES, (unsigned long long)c->length_bytes);
	return 0;
}

static int set_buffer(const struct wp_target_config *c, const struct wp_target *t,
		      struct wp_err *err)
{
	int bytes = c->buffer_bytes > INT_MAX ? INT_MAX : (int)c->buffer_bytes;

	if (!bytes)
		return 0;
	if (t->kind == WP_TARGET_PIPE && fcntl(t->fd, F_SETPIPE_SZ, bytes) < 0)
		return wp_err_sys(
			err, -errno,
			"the pipe can't hold %d bytes (-w); fs.pipe-max-size is the limit", bytes);
	if (t->kind == WP_TARGET_SOCKET &&
	    setsockopt(t->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) < 0)
		return wp_err_sys(err, -errno, "the socket's buffer can't hold %d bytes (-w)",
				  bytes);
	return 0;
}

static int open_target(const struct wp_target_config *c, struct wp_target *t, struct wp_err *err)
{
	struct stat st;
	int r;

	if (!strcmp(c->path, "-"))
		return open_stdout(c, t, err);
	if (!stat(c->path, &st))
		return open_there(c, &st, &t->fd, err);
	if (errno != ENOENT)
		return cannot_open(c, -errno, err);
	r = make_file(c, &t->fd, err);
	t->created = !r;
	return r;
}

int wp_target_open(const struct wp_target_config *c, struct wp_target *ret, struct wp_err *err)
{
	struct wp_target t = { .fd = -1, .flags = -1 };
	struct stat st;
	int r = open_target(c, &t, err);

	if (!r && fstat(t.fd, &st) < 0)
		r = cannot_open(c, -errno, err);
	if (!r) {
		t.kind = kind_of(t.fd, &st);
		r = check_kind(c, &t, err);
	}
	if (!r)
		r = set_buffer(c, &t, err);
	if (r) {
		if (t.created)
			(void)unlink(c->path);
		wp_target_close(&t);
		return r;
	}
	*ret = t;
	return 0;
}

uint64_t wp_target_pipe_bytes(const struct wp_target *t)
{
	int n = t->kind == WP_TARGET_PIPE ? fcntl(t->fd, F_GETPIPE_SZ) : 0;

	return n > 0 ? (uint64_t)n : 0;
}

void wp_target_close(struct wp_target *t)
{
	if (!t)
		return;
	if (t->flags >= 0 && t->fd >= 0)
		(void)fcntl(t->fd, F_SETFL, t->flags);
	wp_close_p(&t->fd);
	t->fd = -1;
}
