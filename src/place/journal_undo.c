/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "place/journal_undo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define MOUNTS_STACKED_MAX 16

static int full_path(const char *root, const char *path, char out[static PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s%s", root, path);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int wp_journal_read_value(const char *root, const char *path,
			  char ret[static WP_JOURNAL_VALUE_MAX + 1])
{
	_cleanup_buf_ struct wp_buf text = WP_BUF(WP_JOURNAL_VALUE_MAX);
	char full[PATH_MAX];
	int r = full_path(root, path, full);

	if (!r)
		r = wp_read_file_at(AT_FDCWD, full, &text);
	if (r)
		return r;
	if (memchr(wp_buf_text(&text), '\0', text.len))
		return -EINVAL;
	while (text.len && strchr(" \t\n", text.data[text.len - 1]))
		text.len--;
	memcpy(ret, wp_buf_text(&text), text.len);
	ret[text.len] = '\0';
	return 0;
}

int wp_journal_write_value(const char *root, const char *path, const char *value)
{
	char full[PATH_MAX];
	int r = full_path(root, path, full);

	/* An empty write(2) never reaches the kernel's handler. */
	return r ? r : wp_write_file_at(AT_FDCWD, full, *value ? value : "\n");
}

static int undo_write(const char *root, const struct wp_journal_entry *e, enum wp_undo *ret_undo)
{
	char now[WP_JOURNAL_VALUE_MAX + 1];
	int r = wp_journal_read_value(root, e->path, now);

	/* The device went away, and its settings with it. */
	if (r == -ENOENT || r == -ENODEV || r == -ENXIO) {
		*ret_undo = WP_UNDO_NOTHING;
		return 0;
	}
	if (r)
		return r;
	if (wp_journal_same_value(now, e->restore)) {
		*ret_undo = WP_UNDO_NOTHING;
		return 0;
	}
	if (!wp_journal_same_value(now, e->set)) {
		*ret_undo = WP_UNDO_LEFT;
		return 0;
	}
	r = wp_journal_write_value(root, e->path, e->restore);
	if (!r)
		*ret_undo = WP_UNDO_DONE;
	return r;
}

/* -1: no directory that can be read. */
static int count_files(const char *full)
{
	DIR *d = opendir(full);
	struct dirent *e;
	int n = 0;

	if (!d)
		return -1;
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

/* The directory of all named namespaces goes only when nobody has one in it. */
static int undo_unmount_dir(const char *full, enum wp_undo *ret_undo)
{
	if (count_files(full) > 0)
		*ret_undo = WP_UNDO_LEFT;
	else if (!umount2(full, UMOUNT_NOFOLLOW))
		*ret_undo = WP_UNDO_DONE;
	else if (errno == EINVAL || errno == ENOENT)
		*ret_undo = WP_UNDO_NOTHING;
	else if (errno == EBUSY)
		*ret_undo = WP_UNDO_LEFT;
	else
		return -errno;
	return 0;
}

static int undo_unmount(const char *full, enum wp_undo *ret_undo)
{
	enum wp_undo how = WP_UNDO_NOTHING;

	/* Another mount may lie on ours; more than a few is not worth the loop. */
	for (int i = 0; i < MOUNTS_STACKED_MAX && !umount2(full, MNT_DETACH | UMOUNT_NOFOLLOW);
	     i++) {
		how = WP_UNDO_DONE;
		errno = 0;
	}
	if (errno && errno != EINVAL && errno != ENOENT)
		return -errno;
	*ret_undo = how;
	return 0;
}

static int undo_unlink(const char *full, enum wp_undo *ret_undo)
{
	if (!unlink(full))
		*ret_undo = WP_UNDO_DONE;
	else if (errno == ENOENT)
		*ret_undo = WP_UNDO_NOTHING;
	else
		return -errno;
	return 0;
}

static int undo_rmdir(const char *full, enum wp_undo *ret_undo)
{
	if (!rmdir(full))
		*ret_undo = WP_UNDO_DONE;
	else if (errno == ENOENT)
		*ret_undo = WP_UNDO_NOTHING;
	else if (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY || errno == ENOTDIR)
		*ret_undo = WP_UNDO_LEFT;
	else
		return -errno;
	return 0;
}

int wp_journal_undo_entry(const char *root, const struct wp_journal_entry *e,
			  enum wp_undo *ret_undo)
{
	char full[PATH_MAX];
	int r;

	if (!wp_journal_path_allowed(e->verb, e->path))
		return -EINVAL;
	if (e->verb == WP_JOURNAL_WRITE)
		return undo_write(root, e, ret_undo);
	r = full_path(root, e->path, full);
	if (r)
		return r;
	switch (e->verb) {
	case WP_JOURNAL_UNMOUNT:
		return strcmp(e->path, WP_JOURNAL_NETNS_DIR) == 0 ? undo_unmount_dir(full, ret_undo)
								  : undo_unmount(full, ret_undo);
	case WP_JOURNAL_UNLINK:
		return undo_unlink(full, ret_undo);
	case WP_JOURNAL_RMDIR:
		return undo_rmdir(full, ret_undo);
	default:
		return -EINVAL;
	}
}
