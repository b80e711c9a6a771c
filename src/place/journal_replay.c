/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "place/journal.h"
#include "place/journal_file.h"
#include "place/journal_undo.h"

struct replay {
	const char *dir, *root;
	int dirfd;
	struct wp_journal_here here;
	struct wp_journal_name self;
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
	struct wp_journal_report report;
};

static void tell(struct replay *p, const char *fmt, ...) WP_PRINTF(2, 3);

static void tell(struct replay *p, const char *fmt, ...)
{
	char text[WP_JOURNAL_PATH_MAX + 256];
	va_list ap;

	if (!p->say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->say(p->ctx, text);
}

/* The lock works across PID namespaces; the name also tells a process that has just made its file, or that went on as
 * another program. */
static bool is_alive(const struct replay *p, int fd, const struct wp_journal_name *name,
		     const struct wp_journal_text *t)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	uint64_t starttime;

	if (fcntl(fd, F_GETLK, &lock) || lock.l_type != F_UNLCK)
		return true;
	if (t->has_head && t->pidns_ino != p->here.pidns_ino)
		return false;
	return !wp_journal_starttime_of(name->pid, &starttime) && starttime == name->starttime;
}

/* Failures that another start, by root or later, may not meet. */
static bool is_worth_keeping(int r)
{
	return r == -EPERM || r == -EACCES || r == -EROFS || r == -EBUSY || r == -ENOMEM ||
	       r == -EINTR || r == -EMFILE || r == -ENFILE;
}

/* Returns whether the entry is settled. */
static bool undo_one(struct replay *p, const struct wp_journal_text *t,
		     const struct wp_journal_entry *e, const char *file)
{
	bool other_boot = t->has_head && strcmp(t->boot_id, p->here.boot_id) != 0;
	enum wp_undo how;
	int r;

	/* Mounts and settings do not outlive a boot; files and directories may. */
	if (other_boot && (e->verb == WP_JOURNAL_WRITE || e->verb == WP_JOURNAL_UNMOUNT))
		return true;
	if (e->verb == WP_JOURNAL_WRITE && t->has_head && t->netns_ino != p->here.netns_ino &&
	    wp_journal_path_is_of_netns(e->path)) {
		p->report.kept++;
		tell(p,
		     "a killed whyperf changed %s in another network namespace: start whyperf there, or remove %s/%s",
		     e->path, p->dir, file);
		return false;
	}
	r = wp_journal_undo_entry(p->root, e, &how);
	if (r) {
		bool keep = is_worth_keeping(r);

		p->report.kept += keep;
		p->report.bad += !keep;
		tell(p, "cannot undo the change that a killed whyperf made of %s: %s%s", e->path,
		     strerror(-r), keep ? "; it is tried again at the next start" : "");
		return !keep;
	}
	p->report.undone += how == WP_UNDO_DONE;
	if (how == WP_UNDO_LEFT && e->verb == WP_JOURNAL_WRITE) {
		p->report.left++;
		tell(p,
		     "%s was changed again after a killed whyperf had set it; it is left alone (it was %.80s before)",
		     e->path, e->restore);
	}
	return true;
}

/* Notes that an entry is settled, in a file that stays for others. */
static void strike_out(int fd, uint32_t id)
{
	_cleanup_buf_ struct wp_buf line = WP_BUF(64);

	if (!wp_journal_put_forget(&line, id))
		(void)!wp_write_all(fd, line.data, line.len);
}

static void undo_file(struct replay *p, int fd, const char *file, const struct wp_journal_text *t)
{
	unsigned undone = p->report.undone;
	size_t open_entries = 0;

	p->report.runs++;
	if (t->bad) {
		p->report.bad += t->bad;
		tell(p,
		     "%u lines of the journal %s/%s make no sense and are skipped, the first: %s",
		     t->bad, p->dir, file, t->first_bad);
	}
	for (size_t i = t->n; i > 0; i--) {
		if (undo_one(p, t, &t->v[i - 1], file))
			strike_out(fd, t->v[i - 1].id);
		else
			open_entries++;
	}
	if (!open_entries)
		unlinkat(p->dirfd, file, 0);
	undone = p->report.undone - undone;
	if (undone)
		tell(p, "undid %u change%s that a killed whyperf had left", undone,
		     undone == 1 ? "" : "s");
}

static void skip_file(struct replay *p, const char *file, const char *why)
{
	p->report.bad++;
	tell(p, "the journal %s/%s is skipped: %s; remove it", p->dir, file, why);
}

static void replay_file(struct replay *p, const char *file, const struct wp_journal_name *name)
{
	_cleanup_close_ int fd = openat(
		p->dirfd, file, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	_cleanup_journal_text_ struct wp_journal_text t = { 0 };
	_cleanup_buf_ struct wp_buf text = WP_BUF(WP_JOURNAL_FILE_MAX);
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			skip_file(p, file, strerror(errno));
		return;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1) {
		skip_file(p, file, "it is not a file of ours");
		return;
	}
	if (st.st_size > WP_JOURNAL_FILE_MAX || wp_reread_fd(fd, &text) ||
	    wp_journal_text_parse(wp_buf_text(&text), text.len, &t)) {
		skip_file(p, file, "it is too long or can't be read");
		return;
	}
	if (!is_alive(p, fd, name, &t))
		undo_file(p, fd, file, &t);
}

static bool is_own(const struct replay *p, const struct wp_journal_name *name)
{
	return name->pid == p->self.pid && name->starttime == p->self.starttime;
}

int wp_journal_replay(const char *dir, const char *root,
		      void (*say)(void *ctx, const char *sentence), void *ctx,
		      struct wp_journal_report *ret, struct wp_err *err)
{
	struct replay p = {
		.dir = dir, .root = root, .say = say, .ctx = ctx, .self.pid = (int)getpid()
	};
	_cleanup_close_ int dirfd = -1;
	struct dirent *e;
	DIR *list;
	int r, copy;

	r = wp_journal_lock_dir(dir, false, &dirfd, err);
	if (r == -ENOENT) {
		*ret = p.report;
		return 0;
	}
	if (!r)
		r = wp_journal_starttime_of(p.self.pid, &p.self.starttime);
	if (r)
		return wp_err_sys(err, r, "cannot replay the journals in %s", dir);
	copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	list = copy < 0 ? NULL : fdopendir(copy);
	if (!list) {
		r = -errno;
		wp_close_p(&copy);
		return wp_err_sys(err, r, "cannot read the journal directory %s", dir);
	}
	p.dirfd = dirfd;
	wp_journal_look_around(&p.here);
	while ((e = readdir(list))) {
		struct wp_journal_name name;

		/* Closing our own file would drop our lock on it. */
		if (wp_journal_name_parse(e->d_name, &name) && !is_own(&p, &name))
			replay_file(&p, e->d_name, &name);
	}
	closedir(list);
	*ret = p.report;
	return 0;
}
