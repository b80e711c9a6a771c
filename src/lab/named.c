/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/named.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/opt.h"
#include "base/units.h"
#include "lab/build.h"
#include "lab/files.h"
#include "place/journal.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

#define ALIAS_WORD     "whyperf-lab"
#define ALIAS_FIELDS   4
#define DOWN_STEPS_MAX (2 + 2 * WP_LAB_SIDES)

bool wp_lab_maker_parse(const char *alias, struct wp_lab_maker *ret)
{
	static const char *const keys[ALIAS_FIELDS] = { "since=", "uid=", "pid=", "dir=" };
	static const uint64_t limits[ALIAS_FIELDS] = { INT64_MAX / WP_NS_PER_S, UINT32_MAX, INT_MAX,
						       WP_LAB_DIR_MADE | WP_LAB_DIR_MOUNTED };
	char text[WP_NL_ALIAS_SIZE], *rest = text, *word;
	uint64_t v[ALIAS_FIELDS];
	size_t n = 0;

	if (strlen(alias) >= sizeof(text))
		return false;
	memcpy(text, alias, strlen(alias) + 1);
	word = strsep(&rest, " ");
	if (strcmp(word, ALIAS_WORD) != 0)
		return false;
	for (; n < ALIAS_FIELDS && (word = strsep(&rest, " ")); n++)
		if (strncmp(word, keys[n], strlen(keys[n])) != 0 ||
		    wp_parse_u64(word + strlen(keys[n]), &v[n]) || v[n] > limits[n])
			return false;
	if (n != ALIAS_FIELDS || rest)
		return false;
	*ret = (struct wp_lab_maker) { .since_s = (int64_t)v[0],
				       .uid = (uid_t)v[1],
				       .pid = (pid_t)v[2],
				       .dir_flags = (unsigned)v[3] };
	return true;
}

void wp_lab_path(const char *name, enum wp_lab_side side, char out[static WP_LAB_PATH_SIZE])
{
	snprintf(out, WP_LAB_PATH_SIZE, "%s%s-%c", WP_LAB_PATH_PREFIX, name, 'a' + (int)side);
}

/* "whyperf-NAME-a" to NAME. */
static bool name_of_file(const char *file, char out[static WP_LAB_NAME_SIZE])
{
	const char *word = strrchr(WP_LAB_PATH_PREFIX, '/') + 1;
	size_t len = strlen(file), skip = strlen(word);

	if (len < skip + 3 || len - skip - 2 >= WP_LAB_NAME_SIZE ||
	    strncmp(file, word, skip) != 0 ||
	    (strcmp(file + len - 2, "-a") != 0 && strcmp(file + len - 2, "-b") != 0))
		return false;
	memcpy(out, file + skip, len - skip - 2);
	out[len - skip - 2] = '\0';
	return !wp_lab_name_check(out, NULL);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int add_name(struct wp_lab_names *l, size_t *cap, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return 0;
	if (l->n == WP_LABS_MAX)
		return -E2BIG;
	if (l->n == *cap) {
		size_t more = *cap ? *cap * 2 : 8;
		char(*v)[WP_LAB_NAME_SIZE] = reallocarray(l->v, more, sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		*cap = more;
	}
	memcpy(l->v[l->n++], name, strlen(name) + 1);
	return 0;
}

int wp_lab_list(struct wp_lab_names *ret, struct wp_err *err)
{
	_cleanup_lab_names_ struct wp_lab_names l = { 0 };
	DIR *dir = opendir(WP_JOURNAL_NETNS_DIR);
	char name[WP_LAB_NAME_SIZE];
	struct dirent *e;
	size_t cap = 0;
	int r = 0;

	if (!dir && errno != ENOENT)
		return wp_err_sys(err, -errno, "cannot list the labs in %s", WP_JOURNAL_NETNS_DIR);
	while (dir && !r && (e = readdir(dir)))
		if (name_of_file(e->d_name, name))
			r = add_name(&l, &cap, name);
	if (dir)
		closedir(dir);
	if (r)
		return wp_err_sys(err, r, "cannot list the labs in %s", WP_JOURNAL_NETNS_DIR);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), compare_names);
	*ret = l;
	l = (struct wp_lab_names) { 0 };
	return 0;
}

void wp_lab_names_done(struct wp_lab_names *l)
{
	if (!l)
		return;
	free(l->v);
	*l = (struct wp_lab_names) { 0 };
}

int wp_lab_no_such(const char *name, struct wp_err *err)
{
	_cleanup_lab_names_ struct wp_lab_names l = { 0 };
	_cleanup_free_ const char **names = NULL;
	const char *near = NULL;

	if (!wp_lab_list(&l, NULL) && l.n && (names = calloc(l.n, sizeof(*names)))) {
		for (size_t i = 0; i < l.n; i++)
			names[i] = l.v[i];
		near = wp_nearest(name, names, l.n);
	}
	if (near)
		return wp_err_set(err, -ENOENT, "there is no lab '%s'; did you mean '%s'?", name,
				  near);
	return wp_err_set(err, -ENOENT, "there is no lab '%s'; make it with: whyperf lab up %s",
			  name, name);
}

bool wp_lab_maker_of(int netns_fd, struct wp_lab_maker *ret)
{
	_cleanup_nl_ struct wp_nl nl = { 0 };
	struct wp_nl_link link;

	return !wp_nl_open_in(netns_fd, &nl, NULL) &&
	       !wp_nl_link_get(&nl, wp_lab_ifname(WP_LAB_A), &link, NULL) &&
	       wp_lab_maker_parse(link.alias, ret);
}

/* What one of us did to /run/netns, as the lab says: the last lab to go undoes it. */
static unsigned dir_flags_of(const char *name)
{
	char path[WP_LAB_PATH_SIZE];
	_cleanup_close_ int fd = -1;
	struct wp_lab_maker maker;

	wp_lab_path(name, WP_LAB_A, path);
	return !wp_netns_open(path, &fd) && wp_lab_maker_of(fd, &maker) ? maker.dir_flags : 0;
}

static unsigned dir_flags_of_all(void)
{
	_cleanup_lab_names_ struct wp_lab_names l = { 0 };
	unsigned flags = 0;

	if (wp_lab_list(&l, NULL))
		return 0;
	for (size_t i = 0; i < l.n; i++)
		flags |= dir_flags_of(l.v[i]);
	return flags;
}

static int refuse_named(int code, const char *what, const char *name, struct wp_err *err)
{
	if (code == -EPERM || code == -EACCES)
		return wp_err_set(err, code,
				  "cannot %s the lab '%s': operation not permitted; run as root",
				  what, name);
	return wp_err_sys(err, code, "cannot %s the lab '%s'", what, name);
}

/* One up or down at a time. What killed ones left is undone first, so that no journal of the dead speaks of a lab that
 * is made from here on. */
static int take_turn(const char *journal_dir, int *ret_lock, struct wp_err *err)
{
	struct wp_journal_report report;
	_cleanup_close_ int lock = -1;
	char dir[PATH_MAX];
	int r;

	if (snprintf(dir, sizeof(dir), "%s/lab", journal_dir) >= (int)sizeof(dir))
		return wp_err_sys(err, -ENAMETOOLONG, "cannot lock %s", journal_dir);
	r = wp_journal_lock_dir(dir, true, &lock, err);
	if (!r)
		r = wp_journal_replay(journal_dir, "", NULL, NULL, &report, err);
	if (!r)
		*ret_lock = wp_steal_fd(&lock);
	return r;
}

/* A plain file where a namespace should be is what a reboot leaves where /run is on disk. */
static int check_free(const char *name, struct wp_err *err)
{
	for (unsigned i = 0; i < WP_LAB_SIDES; i++) {
		char path[WP_LAB_PATH_SIZE];
		_cleanup_close_ int fd = -1;
		struct stat st;
		int r;

		wp_lab_path(name, i, path);
		if (lstat(path, &st) && errno == ENOENT)
			continue;
		r = wp_netns_open(path, &fd);
		if (r == -EINVAL && S_ISREG(st.st_mode) && !st.st_size && !unlink(path))
			continue;
		return wp_err_set(
			err, -EEXIST,
			"there is a lab '%s' already; use it as HOST lab:name=%s, or remove it with: "
			"whyperf lab down %s",
			name, name, name);
	}
	return 0;
}

/* As iproute2 does: a mount of its own that is shared, so that namespaces mounted in it later show everywhere, and
 * `ip netns add` does not put a second mount over ours. */
static int ensure_dir(struct wp_journal *j, unsigned *dir_flags, struct wp_err *err)
{
	const char *dir = WP_JOURNAL_NETNS_DIR;
	int r = 0;

	if (access(dir, F_OK)) {
		r = wp_journal_add(j, WP_JOURNAL_RMDIR, dir, NULL, err);
		if (!r && mkdir(dir, 0755) && errno != EEXIST)
			r = wp_err_sys(err, -errno, "cannot make %s", dir);
		*dir_flags |= WP_LAB_DIR_MADE;
	}
	if (r || !mount("", dir, "none", MS_SHARED | MS_REC, NULL))
		return r;
	*dir_flags |= WP_LAB_DIR_MOUNTED;
	r = errno == EINVAL ? wp_journal_add(j, WP_JOURNAL_UNMOUNT, dir, NULL, err) : -errno;
	if (!r && (mount(dir, dir, "none", MS_BIND | MS_REC, NULL) ||
		   mount("", dir, "none", MS_SHARED | MS_REC, NULL)))
		r = -errno;
	return r ? wp_err_sys(err, r, "cannot mount %s", dir) : 0;
}

static int pin(struct wp_journal *j, const char *path, int netns_fd, struct wp_err *err)
{
	_cleanup_close_ int file = -1;
	char self[32];
	int r;

	r = wp_journal_add(j, WP_JOURNAL_UNLINK, path, NULL, err);
	if (r)
		return r;
	file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	if (file < 0)
		return wp_err_sys(err, -errno, "cannot make %s", path);
	r = wp_journal_add(j, WP_JOURNAL_UNMOUNT, path, NULL, err);
	if (r)
		return r;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", netns_fd);
	if (mount(self, path, "none", MS_BIND, NULL))
		return wp_err_sys(err, -errno, "cannot mount a namespace at %s", path);
	return 0;
}

static int sign(const struct wp_lab *lab, unsigned dir_flags, struct wp_err *err)
{
	const struct wp_lab_end *a = &lab->end[WP_LAB_A];
	_cleanup_nl_ struct wp_nl nl = { 0 };
	char alias[WP_NL_ALIAS_SIZE];
	int r;

	snprintf(alias, sizeof(alias), ALIAS_WORD " since=%" PRId64 " uid=%u pid=%d dir=%u",
		 wp_unix_now_ns() / WP_NS_PER_S, getuid(), (int)getpid(), dir_flags);
	r = wp_nl_open_in(a->netns_fd, &nl, err);
	return r ? r : wp_nl_link_set_alias(&nl, a->ifindex, alias, err);
}

/* Everything is finished while only our fds hold it; the names come last. */
static int make_named(const struct wp_lab_up *up, struct wp_journal *j, struct wp_err *err)
{
	_cleanup_lab_ struct wp_lab lab = WP_LAB_CLOSED;
	unsigned dir_flags = dir_flags_of_all();
	char path[WP_LAB_PATH_SIZE];
	int r;

	lab.mtu_bytes = up->mtu_bytes ? up->mtu_bytes : WP_LAB_MTU_DEF;
	r = wp_lab_make_namespaces(&lab);
	if (r)
		return refuse_named(r, "make", up->name, err);
	r = wp_lab_build(&lab, 0, err);
	if (!r)
		r = ensure_dir(j, &dir_flags, err);
	if (!r)
		r = sign(&lab, dir_flags, err);
	for (unsigned i = 0; i < WP_LAB_SIDES && !r; i++) {
		wp_lab_path(up->name, i, path);
		r = pin(j, path, lab.end[i].netns_fd, err);
	}
	return r;
}

int wp_lab_up(const struct wp_lab_up *up, struct wp_err *err)
{
	_cleanup_journal_ struct wp_journal j = WP_JOURNAL(up->journal_dir);
	_cleanup_close_ int lock = -1;
	int r;

	r = wp_lab_name_check(up->name, err);
	if (!r)
		r = take_turn(up->journal_dir, &lock, err);
	if (!r)
		r = check_free(up->name, err);
	if (!r)
		r = make_named(up, &j, err);
	if (!r)
		r = wp_journal_forget_all(&j, err);
	if (r)
		(void)!wp_journal_undo_all(&j,
					   NULL); /* what this can't undo, the next start tries */
	return r;
}

static bool exists(const char *name)
{
	char path[WP_LAB_PATH_SIZE];
	struct stat st;

	for (unsigned i = 0; i < WP_LAB_SIDES; i++) {
		wp_lab_path(name, i, path);
		if (!lstat(path, &st))
			return true;
	}
	return false;
}

/* Processes that stay would keep the link too. */
static void cut_link(const char *name)
{
	char path[WP_LAB_PATH_SIZE];
	_cleanup_nl_ struct wp_nl nl = { 0 };
	_cleanup_close_ int fd = -1;
	struct wp_nl_link link;

	wp_lab_path(name, WP_LAB_A, path);
	if (!wp_netns_open(path, &fd) && !wp_nl_open_in(fd, &nl, NULL) &&
	    !wp_nl_link_get(&nl, wp_lab_ifname(WP_LAB_A), &link, NULL))
		(void)!wp_nl_link_del(&nl, link.ifindex, NULL);
}

static int check_unused(const char *name, struct wp_err *err)
{
	struct wp_lab_status st;
	unsigned n = 0;
	int r = wp_lab_status(name, &st, err);

	if (r)
		return r;
	for (unsigned i = 0; i < WP_LAB_SIDES; i++)
		n += st.side[i].users.processes;
	for (unsigned i = 0; i < WP_LAB_SIDES; i++)
		if (st.side[i].users.processes)
			return wp_err_set(
				err, -EBUSY,
				"%u process%s in the lab '%s' (%d %s%s); end %s first, or give --force",
				n, n == 1 ? " runs" : "es run", name,
				(int)st.side[i].users.first_pid, st.side[i].users.first_name,
				n == 1 ? "" : " ...", n == 1 ? "it" : "them");
	return 0;
}

/* Everything of one lab, as a journal takes it: the last is undone first. */
static size_t list_steps(const char *name, unsigned dir_flags,
			 char path[WP_LAB_SIDES][WP_LAB_PATH_SIZE],
			 struct wp_journal_step steps[DOWN_STEPS_MAX])
{
	size_t n = 0;

	if (dir_flags & WP_LAB_DIR_MADE)
		steps[n++] = (struct wp_journal_step) { WP_JOURNAL_RMDIR, WP_JOURNAL_NETNS_DIR };
	if (dir_flags & WP_LAB_DIR_MOUNTED)
		steps[n++] = (struct wp_journal_step) { WP_JOURNAL_UNMOUNT, WP_JOURNAL_NETNS_DIR };
	for (unsigned i = 0; i < WP_LAB_SIDES; i++) {
		wp_lab_path(name, i, path[i]);
		steps[n++] = (struct wp_journal_step) { WP_JOURNAL_UNLINK, path[i] };
		steps[n++] = (struct wp_journal_step) { WP_JOURNAL_UNMOUNT, path[i] };
	}
	return n;
}

int wp_lab_down(const char *name, bool force, const char *journal_dir, struct wp_err *err)
{
	_cleanup_journal_ struct wp_journal j = WP_JOURNAL(journal_dir);
	_cleanup_close_ int lock = -1;
	char path[WP_LAB_SIDES][WP_LAB_PATH_SIZE];
	struct wp_journal_step steps[DOWN_STEPS_MAX];
	int r;

	r = wp_lab_name_check(name, err);
	if (r)
		return r;
	if (!exists(name))
		return wp_lab_no_such(name, err);
	if (geteuid() != 0)
		return refuse_named(-EPERM, "remove", name, err);
	r = take_turn(journal_dir, &lock, err);
	if (!r && !exists(name)) /* removed by another, or by the replay of a killed `down` */
		return 0;
	if (!r && !force)
		r = check_unused(name, err);
	if (r)
		return r;
	/* Removing is undoing, so a killed `down` is finished by the next start: all of it or nothing. */
	r = wp_journal_add_all(&j, steps, list_steps(name, dir_flags_of(name), path, steps), err);
	if (r)
		return r;
	if (force)
		cut_link(name);
	return wp_journal_undo_all(&j, err);
}
