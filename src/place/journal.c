/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "place/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "place/journal_file.h"
#include "place/journal_undo.h"

#define LOCK_TIMEOUT_NS (5 * WP_NS_PER_S)
#define LINE_MAX_BYTES \
	(WP_JOURNAL_PATH_MAX * 3 + WP_JOURNAL_VALUE_MAX * 6 + 64) /* everything escaped */
#define STEPS_MAX        16
#define JOURNALS_PER_RUN 16 /* one is usual: names are tried until one is free */

static int check_dir(int fd, const char *dir, struct wp_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return wp_err_sys(err, -errno, "cannot look at the journal directory %s", dir);
	/* Whoever can write here could have our rights used on the paths of the allow-list. */
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return wp_err_set(
			err, -EPERM,
			"the journal directory %s belongs to, or can be written by, somebody else; remove it",
			dir);
	return 0;
}

int wp_journal_lock_dir(const char *dir, bool create, int *ret_fd, struct wp_err *err)
{
	int64_t give_up_ns = wp_now_ns() + LOCK_TIMEOUT_NS;
	_cleanup_close_ int fd = -1;
	int r;

	r = create ? wp_mkdir_p(dir) : 0;
	if (r)
		return wp_err_sys(err, r, "cannot make the journal directory %s", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !create)
		return -ENOENT;
	if (fd < 0)
		return wp_err_sys(err, -errno, "cannot open the journal directory %s", dir);
	r = check_dir(fd, dir, err);
	if (r)
		return r;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return wp_err_sys(err, -errno, "cannot lock the journal directory %s", dir);
		if (wp_now_ns() > give_up_ns)
			return wp_err_set(err, -ETIMEDOUT,
					  "another whyperf has locked %s for %d s; try again", dir,
					  (int)(LOCK_TIMEOUT_NS / WP_NS_PER_S));
		wp_sleep_until_ns(wp_now_ns() + 2 * WP_NS_PER_MS);
	}
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

static void entry_done(struct wp_journal_entry *e)
{
	free(e->path);
	free(e->set);
	free(e->restore);
	*e = (struct wp_journal_entry) { 0 };
}

void wp_journal_done(struct wp_journal *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n; i++)
		entry_done(&j->v[i]);
	free(j->v);
	j->v = NULL;
	j->n = j->cap = 0;
	wp_close_p(&j->fd);
	wp_close_p(&j->dirfd);
}

/* A new file under a free name, with its first line, locked while we live. Called under the directory's lock. */
static int make_file(struct wp_journal *j, int dirfd, int *ret_fd)
{
	_cleanup_buf_ struct wp_buf head = WP_BUF(256);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int fd = -1;
	struct wp_journal_here here;
	uint64_t starttime;
	int r = wp_journal_starttime_of((int)getpid(), &starttime);

	if (r)
		return r;
	for (int i = 0; i < JOURNALS_PER_RUN && fd < 0; i++) {
		int n = snprintf(j->file, sizeof(j->file), "%d-%" PRIu64, (int)getpid(), starttime);

		if (i)
			snprintf(j->file + n, sizeof(j->file) - (size_t)n, "-%d", i);
		fd = openat(dirfd, j->file,
			    O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	wp_journal_look_around(&here);
	r = wp_journal_put_head(&head, here.boot_id, here.pidns_ino, here.netns_ino);
	if (!r && fcntl(fd, F_SETLK, &whole))
		r = -errno;
	if (!r)
		r = wp_write_all(fd, head.data, head.len);
	if (!r && (fsync(fd) || fsync(dirfd)))
		r = -errno;
	if (r)
		unlinkat(dirfd, j->file, 0);
	else
		*ret_fd = wp_steal_fd(&fd);
	return r;
}

static int start(struct wp_journal *j, struct wp_err *err)
{
	_cleanup_close_ int locked = -1;
	int r;

	if (j->fd >= 0)
		return 0;
	r = wp_journal_lock_dir(j->dir, true, &locked, err);
	if (r)
		return r;
	if (j->dirfd < 0)
		j->dirfd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dirfd < 0)
		return wp_err_sys(err, -errno, "cannot open the journal directory %s", j->dir);
	r = make_file(j, locked, &j->fd);
	return r ? wp_err_sys(err, r, "cannot make a journal in %s", j->dir) : 0;
}

/* All of `line` is on disk, or none. */
static int append(struct wp_journal *j, const struct wp_buf *line, struct wp_err *err)
{
	off_t before = lseek(j->fd, 0, SEEK_END);
	int r = before < 0 ? -errno : wp_write_all(j->fd, line->data, line->len);

	if (!r && fdatasync(j->fd))
		r = -errno;
	if (!r)
		return 0;
	if (before >= 0 && ftruncate(j->fd, before))
		r = -errno;
	return wp_err_sys(err, r, "cannot write the journal %s/%s", j->dir, j->file);
}

static int make_room(struct wp_journal *j, size_t more)
{
	size_t cap = j->cap ? j->cap : 8;
	struct wp_journal_entry *v;

	if (j->n + more > WP_JOURNAL_ENTRIES_MAX)
		return -E2BIG;
	while (cap < j->n + more)
		cap *= 2;
	if (cap == j->cap)
		return 0;
	v = reallocarray(j->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	j->v = v;
	j->cap = cap;
	return 0;
}

static int fill(struct wp_journal_entry *e, enum wp_journal_verb verb, const char *path,
		const char *set, const char *restore, struct wp_err *err)
{
	if (!wp_journal_path_allowed(verb, path))
		return wp_err_set(err, -EINVAL,
				  "'%.80s' is not a path that a change can be recorded for", path);
	if (verb == WP_JOURNAL_WRITE &&
	    (strlen(set) > WP_JOURNAL_VALUE_MAX || strlen(restore) > WP_JOURNAL_VALUE_MAX))
		return wp_err_set(err, -E2BIG, "the value of %s is longer than %d bytes", path,
				  WP_JOURNAL_VALUE_MAX);
	*e = (struct wp_journal_entry) { .verb = verb, .path = strdup(path) };
	if (verb == WP_JOURNAL_WRITE) {
		e->set = strdup(set);
		e->restore = strdup(restore);
	}
	if (e->path && (verb != WP_JOURNAL_WRITE || (e->set && e->restore)))
		return 0;
	entry_done(e);
	return wp_err_sys(err, -ENOMEM, "cannot record a change of %s", path);
}

/* Takes over what is in `e` if it returns 0. */
static int add(struct wp_journal *j, struct wp_journal_entry *e, size_t n, struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf lines = WP_BUF(n * LINE_MAX_BYTES);
	int r = start(j, err);

	if (r)
		return r;
	r = make_room(j, n);
	if (!r && n > 1)
		r = wp_journal_put_group(&lines, n);
	for (size_t i = 0; i < n && !r; i++) {
		e[i].id = j->last_id + 1 + (uint32_t)i;
		r = wp_journal_put_entry(&lines, &e[i]);
	}
	if (r)
		return wp_err_sys(err, r, "cannot record a change of %s", e->path);
	r = append(j, &lines, err);
	if (r)
		return r;
	memcpy(j->v + j->n, e, n * sizeof(*e));
	j->n += n;
	j->last_id += (uint32_t)n;
	return 0;
}

static int add_one(struct wp_journal *j, enum wp_journal_verb verb, const char *path,
		   const char *set, const char *restore, uint32_t *ret_id, struct wp_err *err)
{
	struct wp_journal_entry e;
	int r = fill(&e, verb, path, set, restore, err);

	if (r)
		return r;
	r = add(j, &e, 1, err);
	if (r)
		entry_done(&e);
	else if (ret_id)
		*ret_id = e.id;
	return r;
}

static int refuse_setting(struct wp_err *err)
{
	return wp_err_set(err, -EINVAL, "a setting is recorded with its values");
}

int wp_journal_add(struct wp_journal *j, enum wp_journal_verb verb, const char *path,
		   uint32_t *ret_id, struct wp_err *err)
{
	if (verb == WP_JOURNAL_WRITE)
		return refuse_setting(err);
	return add_one(j, verb, path, NULL, NULL, ret_id, err);
}

int wp_journal_add_all(struct wp_journal *j, const struct wp_journal_step *steps, size_t n,
		       struct wp_err *err)
{
	struct wp_journal_entry e[STEPS_MAX] = { 0 };
	int r = 0;

	if (!n || n > STEPS_MAX)
		return wp_err_set(err, -E2BIG, "%zu changes cannot be recorded at once", n);
	for (size_t i = 0; i < n && !r; i++)
		r = steps[i].verb == WP_JOURNAL_WRITE
			    ? refuse_setting(err)
			    : fill(&e[i], steps[i].verb, steps[i].path, NULL, NULL, err);
	if (!r)
		r = add(j, e, n, err);
	for (size_t i = 0; i < n && r; i++)
		entry_done(&e[i]);
	return r;
}

int wp_journal_add_write(struct wp_journal *j, const char *path, const char *set,
			 const char *restore, uint32_t *ret_id, struct wp_err *err)
{
	return add_one(j, WP_JOURNAL_WRITE, path, set, restore, ret_id, err);
}

static struct wp_journal_entry *find(struct wp_journal *j, uint32_t id)
{
	for (size_t i = j->n; i > 0; i--)
		if (j->v[i - 1].id == id)
			return &j->v[i - 1];
	return NULL;
}

/* Records what the kernel made of the value, where that reads differently. */
static int note_read_back(struct wp_journal *j, uint32_t id, const char *now, struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf line = WP_BUF(LINE_MAX_BYTES);
	struct wp_journal_entry *e = find(j, id);
	char *set;
	int r;

	if (wp_journal_same_value(e->set, now))
		return 0;
	set = strdup(now);
	r = set ? wp_journal_put_now(&line, id, now) : -ENOMEM;
	r = r ? wp_err_sys(err, r, "cannot record a change of %s", e->path) : append(j, &line, err);
	if (r) {
		free(set);
		return r;
	}
	free(e->set);
	e->set = set;
	return 0;
}

int wp_journal_change(struct wp_journal *j, const char *path, const char *value, uint32_t *ret_id,
		      struct wp_err *err)
{
	char now[WP_JOURNAL_VALUE_MAX + 1];
	uint32_t id = 0;
	int r;

	if (!wp_journal_path_allowed(WP_JOURNAL_WRITE, path))
		return wp_err_set(err, -EINVAL,
				  "'%.80s' is not a path that a change can be recorded for", path);
	r = wp_journal_read_value(j->root, path, now);
	if (r)
		return wp_err_sys(err, r, "cannot read %s", path);
	if (!wp_journal_same_value(now, value)) {
		r = wp_journal_add_write(j, path, value, now, &id, err);
		if (r)
			return r;
		r = wp_journal_write_value(j->root, path, value);
		if (r) {
			wp_err_sys(err, r, "cannot set %s to %.80s", path, value);
			/* Nothing was changed; an entry that stays would find the old value and do nothing. */
			(void)!wp_journal_forget(j, id, NULL);
			return r;
		}
		r = wp_journal_read_value(j->root, path, now);
		r = r ? wp_err_sys(err, r, "cannot read %s back", path)
		      : note_read_back(j, id, now, err);
		if (r)
			return r;
	}
	if (ret_id)
		*ret_id = id;
	return 0;
}

static void drop_file(struct wp_journal *j)
{
	if (j->fd < 0)
		return;
	unlinkat(j->dirfd, j->file, 0);
	wp_close_p(&j->fd);
}

int wp_journal_forget(struct wp_journal *j, uint32_t id, struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf line = WP_BUF(LINE_MAX_BYTES);
	struct wp_journal_entry *e = find(j, id);
	int r;

	if (!e)
		return wp_err_set(err, -ENOENT, "the journal has no entry %" PRIu32, id);
	r = wp_journal_put_forget(&line, id);
	if (r)
		return wp_err_sys(err, r, "cannot write the journal");
	if (j->n > 1)
		r = append(j, &line, err);
	if (r)
		return r;
	entry_done(e);
	memmove(e, e + 1, (size_t)(j->v + j->n - (e + 1)) * sizeof(*e));
	j->n--;
	if (!j->n)
		drop_file(j);
	return 0;
}

int wp_journal_forget_all(struct wp_journal *j, struct wp_err *err)
{
	if (j->fd >= 0 && unlinkat(j->dirfd, j->file, 0) && errno != ENOENT)
		return wp_err_sys(err, -errno, "cannot remove the journal %s/%s", j->dir, j->file);
	wp_close_p(&j->fd);
	for (size_t i = 0; i < j->n; i++)
		entry_done(&j->v[i]);
	j->n = 0;
	return 0;
}

int wp_journal_undo(struct wp_journal *j, uint32_t id, struct wp_err *err)
{
	struct wp_journal_entry *e = find(j, id);
	enum wp_undo how;
	int r;

	if (!e)
		return wp_err_set(err, -ENOENT, "the journal has no entry %" PRIu32, id);
	r = wp_journal_undo_entry(j->root, e, &how);
	if (r)
		return wp_err_sys(err, r, "cannot undo the change of %s", e->path);
	return wp_journal_forget(j, id, err);
}

int wp_journal_undo_all(struct wp_journal *j, struct wp_err *err)
{
	int first = 0;

	for (size_t i = j->n; i > 0; i--) {
		int r = wp_journal_undo(j, j->v[i - 1].id, err);

		if (r && !first)
			first = r;
	}
	return first;
}
