/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rng.h"

#define READ_STEP 4096

static ssize_t read_retry(int fd, void *to, size_t len)
{
	ssize_t n;

	do
		n = read(fd, to, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t pread_retry(int fd, void *to, size_t len, off_t at)
{
	ssize_t n;

	do
		n = pread(fd, to, len, at);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Room for reading: what the buffer has, at least READ_STEP, less near its maximum. -E2BIG when it
 * is full. */
static ssize_t read_room(struct wp_buf *b, char **ret_at)
{
	size_t left = b->len < b->max ? b->max - b->len : 0;
	size_t want = b->cap > b->len + 1 ? b->cap - b->len - 1 : 0;

	if (want < READ_STEP)
		want = READ_STEP;
	if (want > left)
		want = left;
	*ret_at = wp_buf_reserve(b, want);
	return *ret_at ? (ssize_t)want : b->status;
}

/* Whether the file ends here, asked when the buffer has no room left. */
static int at_end(int fd)
{
	char probe;
	ssize_t n = read_retry(fd, &probe, 1);

	if (n < 0)
		return (int)n;
	return n == 0 ? 0 : -E2BIG;
}

int wp_read_file_at(int dirfd, const char *path, struct wp_buf *out)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t start = out->len;
	ssize_t room, n;
	char *at;

	if (fd < 0)
		return -errno;
	for (;;) {
		room = read_room(out, &at);
		if (room > 0)
			n = read_retry(fd, at, (size_t)room);
		else
			n = room < 0 ? room : at_end(fd);
		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
	if (n < 0)
		out->len = start;
	if (out->data)
		out->data[out->len] = '\0';
	return (int)n;
}

/* One reading from offset 0: 0 when `out` holds the whole text, 1 when it was too short, or -errno.
 */
static int reread_once(int fd, struct wp_buf *out)
{
	ssize_t room, n;
	char *at, probe;

	out->len = 0;
	for (;;) {
		room = read_room(out, &at);
		if (room < 0)
			return (int)room;
		if (room == 0) {
			n = pread_retry(fd, &probe, 1, (off_t)out->len);
			return n > 0 ? -E2BIG : (int)n;
		}
		n = pread_retry(fd, at, (size_t)room, (off_t)out->len);
		if (n <= 0)
			return (int)n;
		out->len += (size_t)n;
		if (n == room && out->len < out->max)
			return 1;
	}
}

int wp_reread_fd(int fd, struct wp_buf *out)
{
	size_t left;
	int r;

	wp_buf_reset(out);
	while ((r = reread_once(fd, out)) == 1) {
		left = out->max - out->len;
		if (!wp_buf_reserve(out, left < out->cap ? left : out->cap)) {
			r = out->status;
			break;
		}
	}
	if (r < 0)
		wp_buf_reset(out);
	else if (out->data)
		out->data[out->len] = '\0';
	return r;
}

int wp_read_line_at(int dirfd, const char *path, char *out, size_t size)
{
	struct wp_buf text _cleanup_buf_ = WP_BUF(size);
	_cleanup_close_ int fd = -1;
	size_t len;
	ssize_t n = 0;
	char *at;

	if (size == 0)
		return -EINVAL;
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	at = wp_buf_reserve(&text, size);
	if (!at)
		return text.status;
	while (text.len < size && !memchr(text.data, '\n', text.len)) {
		n = read_retry(fd, text.data + text.len, size - text.len);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		text.len += (size_t)n;
	}
	if (text.len == 0)
		return -ENODATA;
	len = strcspn(wp_buf_text(&text), "\n");
	if (len >= size)
		return -E2BIG;
	memcpy(out, text.data, len);
	out[len] = '\0';
	return 0;
}

int wp_write_file_at(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* The kernel takes a value in one write(2) or not at all. */
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int wp_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len > 0) {
		n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int wp_replace_file_at(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = -1;
	char temp[PATH_MAX];
	uint64_t tag;
	int r, n;

	r = wp_random_bytes(&tag, sizeof(tag));
	if (r < 0)
		return r;
	n = snprintf(temp, sizeof(temp), "%s.%016" PRIx64, path, tag);
	if (n < 0 || (size_t)n >= sizeof(temp))
		return -ENAMETOOLONG;
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = wp_write_all(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (r == 0 && renameat(dirfd, temp, dirfd, path) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dirfd, temp, 0);
	return r;
}

static int mkdir_one(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int wp_mkdir_p(const char *path)
{
	_cleanup_free_ char *part = NULL;
	size_t len = strlen(path);
	int r;

	if (len == 0)
		return -ENOENT;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	part = strdup(path);
	if (!part)
		return -ENOMEM;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		r = mkdir_one(part);
		if (r < 0)
			return r;
		part[i] = path[i];
	}
	return 0;
}
