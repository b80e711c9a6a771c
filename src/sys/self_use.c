/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/self_use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define STATM_BYTES 128

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Entries of a folder but "." and ".."; the folder's own fd is one of /proc/self/fd's. */
static int count_entries(int root, const char *path, unsigned *ret)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	WP_CLEANUP(close_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		return -errno;
	if (!dir) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret = 0;
	for (const struct dirent *e; (e = readdir(dir));)
		*ret += e->d_name[0] != '.';
	return 0;
}

static int resident_pages(int root, uint64_t *ret)
{
	char text[STATM_BYTES], *end;
	int r = wp_read_line_at(root, "proc/self/statm", text, sizeof(text));

	if (r < 0)
		return r;
	(void)strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return -EBADMSG;
	errno = 0;
	*ret = strtoull(end, &end, 10);
	return errno || *end != ' ' ? -EBADMSG : 0;
}

int wp_self_use_read(int root, struct wp_self_use *ret)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct wp_self_use u = { 0 };
	uint64_t pages;
	int r = resident_pages(root, &pages);

	if (!r)
		r = count_entries(root, "proc/self/fd", &u.fds);
	if (!r)
		r = count_entries(root, "proc/self/task", &u.threads);
	if (r)
		return r;
	if (u.fds > 0)
		u.fds--; /* the one that read the folder */
	u.rss_bytes = pages * (uint64_t)page_bytes;
	*ret = u;
	return 0;
}
