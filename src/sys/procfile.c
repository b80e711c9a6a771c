/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

/* FUSE_SUPER_MAGIC of linux/magic.h, which older headers lack. */
#define MAGIC_FUSE 0x65735546

int wp_procfile_open(struct wp_procfile *f, int root, const char *path)
{
	struct statfs fs;

	*f = (struct wp_procfile) { .text = WP_BUF(WP_PROCFILE_MAX) };
	f->fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	f->status = f->fd < 0 ? -errno : 0;
	f->fuse = f->fd >= 0 && fstatfs(f->fd, &fs) == 0 && (uint32_t)fs.f_type == MAGIC_FUSE;
	return f->status;
}

int wp_procfile_open_net(struct wp_procfile *f, int root, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/thread-self/net/%s", name);
	if (wp_procfile_open(f, root, path) != -ENOENT)
		return f->status;
	snprintf(path, sizeof(path), "proc/net/%s", name);
	return wp_procfile_open(f, root, path);
}

int wp_procfile_read(struct wp_procfile *f)
{
	int64_t before_ns;

	if (f->fd < 0)
		return f->status;
	before_ns = wp_now_ns();
	f->status = wp_reread_fd(f->fd, &f->text);
	f->read_ns = wp_now_ns();
	f->cost_ns = f->read_ns - before_ns;
	return f->status;
}

void wp_procfile_done(struct wp_procfile *f)
{
	if (!f)
		return;
	wp_close_p(&f->fd);
	wp_buf_done(&f->text);
	f->fd = -1;
}
