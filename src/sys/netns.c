/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SELF_NS "/proc/thread-self/ns/net"

/* One function on one thread; netns_fd -1 means the caller's namespace. */
struct call {
	int netns_fd;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static void *call_main(void *p)
{
	struct call *c = p;

	if (c->netns_fd >= 0 && setns(c->netns_fd, CLONE_NEWNET))
		c->result = -errno;
	else
		c->result = c->fn(c->arg);
	return NULL;
}

static int call_on_thread(struct call *c)
{
	sigset_t all, before;
	pthread_t thread;
	int r;

	/* The thread must not take the process's signals: a handler would run in the wrong
	 * namespace. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, call_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	pthread_join(thread, NULL);
	return c->result;
}

int wp_netns_call(int netns_fd, int (*fn)(void *arg), void *arg)
{
	struct call c = { .netns_fd = netns_fd, .fn = fn, .arg = arg };

	if (netns_fd < 0)
		return -EBADF;
	return call_on_thread(&c);
}

static int make_netns(void *arg)
{
	int *ret_fd = arg;

	if (unshare(CLONE_NEWNET))
		return -errno;
	return wp_netns_self(ret_fd);
}

int wp_netns_new(int *ret_fd)
{
	int fd = -1;
	struct call c = { .netns_fd = -1, .fn = make_netns, .arg = &fd };
	int r = call_on_thread(&c);

	if (!r)
		*ret_fd = fd;
	return r;
}

int wp_netns_self(int *ret_fd)
{
	int fd = open(SELF_NS, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int wp_netns_open(const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int type;

	if (fd < 0)
		return -errno;
	type = ioctl(fd, NS_GET_NSTYPE);
	if (type != CLONE_NEWNET)
		return -EINVAL;
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

int wp_netns_enter(int netns_fd)
{
	return setns(netns_fd, CLONE_NEWNET) ? -errno : 0;
}

struct open_file {
	const char *path;
	int flags;
	int fd;
};

static int open_file(void *arg)
{
	struct open_file *o = arg;

	o->fd = open(o->path, o->flags | O_CLOEXEC);
	return o->fd < 0 ? -errno : 0;
}

int wp_netns_open_file(int netns_fd, const char *path, int flags, int *ret_fd)
{
	struct open_file o = { .path = path, .flags = flags, .fd = -1 };
	int r = wp_netns_call(netns_fd, open_file, &o);

	if (!r)
		*ret_fd = o.fd;
	return r;
}

static int mount_sysfs(void *arg)
{
	_cleanup_close_ int fs = -1;
	int *ret_fd = arg;
	int fd;

	/* In a user namespace of our own the right to mount comes with a mount namespace of our
	 * own. */
	fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	if (fs < 0 && errno == EPERM && !unshare(CLONE_NEWNS))
		fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int wp_netns_sysfs(int netns_fd, int *ret_dirfd)
{
	int fd = -1;
	int r = wp_netns_call(netns_fd, mount_sysfs, &fd);

	if (!r)
		*ret_dirfd = fd;
	return r;
}

int wp_netns_is_ours(int netns_fd)
{
	int owner = ioctl(netns_fd, NS_GET_USERNS);

	if (owner < 0)
		return errno == EPERM ? 0 : -errno;
	close(owner);
	return 1;
}

int wp_netns_ino(int netns_fd, uint64_t *ret)
{
	struct stat st;

	if (fstat(netns_fd, &st))
		return -errno;
	*ret = st.st_ino;
	return 0;
}

static int write_map(const char *path, const char *text, size_t len)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* The kernel takes a map in one write or not at all. */
	if (write(fd, text, len) != (ssize_t)len)
		return errno ? -errno : -EIO;
	return 0;
}

static int enter_new_userns(uid_t uid, gid_t gid)
{
	int64_t give_up_ns = wp_now_ns() + 200 * WP_NS_PER_MS;
	char map[64];
	int n, r;

	/* A thread that was joined a moment ago may still be on the kernel's books: EINVAL for some
	 * microseconds. */
	while (unshare(CLONE_NEWUSER)) {
		if (errno != EINVAL || wp_now_ns() > give_up_ns)
			return -errno;
		wp_sleep_until_ns(wp_now_ns() + WP_NS_PER_MS);
	}
	/* Linux 3.19 and later want setgroups(2) denied before an unprivileged gid map. */
	r = write_map("/proc/self/setgroups", "deny", 4);
	if (r && r != -ENOENT)
		return r;
	n = snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	r = write_map("/proc/self/uid_map", map, (size_t)n);
	if (r)
		return r;
	n = snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return write_map("/proc/self/gid_map", map, (size_t)n);
}

/* Whether a child gets as far as a network namespace. It takes no lock that another thread may
 * hold. */
static int try_in_child(uid_t uid, gid_t gid)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		int r = enter_new_userns(uid, gid);

		if (!r && unshare(CLONE_NEWNET))
			r = -errno;
		_exit(r < 0 && r > -255 ? -r : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

int wp_userns_become(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = try_in_child(uid, gid);

	return r ? r : enter_new_userns(uid, gid);
}
