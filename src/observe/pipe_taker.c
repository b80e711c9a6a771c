/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/pipe_taker.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "sys/sched.h"

#define HOLDERS_MAX 32
#define FDS_MAX     4096 /* of a process */
#define TEXT_BYTES  1024

struct holder {
	int pid, parent;
	char name[16];
};

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static ssize_t read_of(int pid, const char *file, char *out, size_t size)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, out, size);
}

static bool read_stat(int pid, struct wp_thread_stat *ret)
{
	char text[TEXT_BYTES];
	ssize_t n = read_of(pid, "stat", text, sizeof(text));

	return n > 0 && !wp_thread_stat_parse(text, (size_t)n, ret);
}

/* Whether a descriptor in `dir` is that pipe, open for reading: the link's own mode says which way. */
static bool reads_it(int dir, const char *name, const struct stat *pipe)
{
	struct stat link, file;

	return !fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) && (link.st_mode & S_IRUSR) &&
	       !fstatat(dir, name, &file, 0) && file.st_dev == pipe->st_dev &&
	       file.st_ino == pipe->st_ino;
}

static bool holds(int pid, const struct stat *pipe)
{
	DIR *dir WP_CLEANUP(close_dir) = NULL;
	char path[64];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	for (struct dirent *e; dir && n < FDS_MAX && (e = readdir(dir)); n++)
		if (e->d_name[0] != '.' && reads_it(dirfd(dir), e->d_name, pipe))
			return true;
	return false;
}

static void add_holder(struct holder *list, size_t *n, int pid)
{
	struct wp_thread_stat stat;

	if (*n == HOLDERS_MAX || !read_stat(pid, &stat))
		return;
	list[*n] = (struct holder) { .pid = pid, .parent = stat.parent };
	snprintf(list[(*n)++].name, sizeof(list->name), "%.15s", stat.name);
}

static size_t find_holders(const struct stat *pipe, struct holder *list)
{
	DIR *proc WP_CLEANUP(close_dir) = opendir("/proc");
	size_t n = 0;

	for (struct dirent *e; proc && (e = readdir(proc));) {
		int64_t pid;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || wp_parse_i64(e->d_name, &pid) ||
		    pid > INT32_MAX)
			continue;
		if (holds((int)pid, pipe))
			add_holder(list, &n, (int)pid);
	}
	return n;
}

/* One that none of the others descends from directly; else the last. */
static const struct holder *choose(const struct holder *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < n && list[k].parent != list[i].pid)
			k++;
		if (k == n)
			return &list[i];
	}
	return &list[n - 1];
}

static int socket_peer(int fd, struct wp_pipe_taker *ret)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct wp_thread_stat stat;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
		return -ENOTSUP;
	if (peer.pid == getpid() || !read_stat(peer.pid, &stat))
		return -ENOENT;
	*ret = (struct wp_pipe_taker) { .pid = peer.pid };
	snprintf(ret->name, sizeof(ret->name), "%.15s", stat.name);
	return 0;
}

int wp_pipe_taker_find(int fd, struct wp_pipe_taker *ret)
{
	struct holder list[HOLDERS_MAX];
	const struct holder *h;
	struct stat st;
	size_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISSOCK(st.st_mode))
		return socket_peer(fd, ret);
	if (!S_ISFIFO(st.st_mode))
		return -ENOTSUP;
	n = find_holders(&st, list);
	if (!n)
		return -ENOENT;
	h = choose(list, n);
	*ret = (struct wp_pipe_taker) { .pid = h->pid };
	snprintf(ret->name, sizeof(ret->name), "%s", h->name);
	return 0;
}

void wp_wchan_text(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;

	while (n < len && n + 1 < size && (isalnum((unsigned char)text[n]) || text[n] == '_'))
		n++;
	if (n == 1 && text[0] == '0')
		n = 0;
	memcpy(out, text, n);
	out[n] = '\0';
}

void wp_pipe_taker_state(const struct wp_pipe_taker *t, struct wp_taker_state *ret)
{
	struct wp_thread_sched sched;
	struct wp_thread_stat stat;
	char text[TEXT_BYTES];
	ssize_t n;

	*ret = (struct wp_taker_state) {
		.seen_ns = wp_now_ns(), .state = '?', .run_ns = -1, .delay_ns = -1
	};
	if (!t->pid || !read_stat(t->pid, &stat))
		return;
	ret->state = stat.state;
	n = read_of(t->pid, "schedstat", text, sizeof(text));
	if (n > 0 && !wp_thread_sched_parse(text, (size_t)n, &sched)) {
		ret->run_ns = (int64_t)sched.run_ns;
		ret->delay_ns = (int64_t)sched.wait_ns;
	}
	n = read_of(t->pid, "wchan", text, sizeof(text));
	if (n > 0)
		wp_wchan_text(text, (size_t)n, ret->waited_in, sizeof(ret->waited_in));
}
