/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

struct dir {
	char path[64];
	int fd;
};

static int make_dir(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	snprintf(d->path, sizeof(d->path), "/tmp/wp-test-file-XXXXXX");
	if (!mkdtemp(d->path))
		return -1;
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = d;
	return d->fd < 0 ? -1 : 0;
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int remove_dir(void **state)
{
	struct dir *d = *state;

	close(d->fd);
	nftw(d->path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
	free(d);
	return 0;
}

static void put(const struct dir *d, const char *name, const char *text, size_t len)
{
	_cleanup_close_ int fd =
		openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(wp_write_all(fd, text, len), 0);
}

/* Sizes round about the limit, the reading step and the growth of the buffer. */
static void reads_whole_files(void **state)
{
	static const size_t sizes[] = { 0, 1, 255, 256, 4095, 4096, 4097, 8192, 9999, 10000 };
	struct dir *d = *state;
	char *text = malloc(20000);

	assert_non_null(text);
	memset(text, 'x', 20000);
	for (size_t i = 0; i < WP_ARRAY_SIZE(sizes); i++) {
		struct wp_buf b _cleanup_buf_ = WP_BUF(10000), twice _cleanup_buf_ = WP_BUF(20000);
		_cleanup_close_ int fd = -1;

		put(d, "f", text, sizes[i]);
		assert_int_equal(wp_read_file_at(d->fd, "f", &b), 0);
		assert_int_equal(b.len, sizes[i]);
		assert_int_equal(strlen(wp_buf_text(&b)), sizes[i]);
		fd = openat(d->fd, "f", O_RDONLY | O_CLOEXEC);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(wp_reread_fd(fd, &b), 0);
			assert_int_equal(b.len, sizes[i]);
			assert_int_equal(strlen(wp_buf_text(&b)), sizes[i]);
		}
		assert_int_equal(wp_read_file_at(d->fd, "f", &twice), 0);
		assert_int_equal(wp_read_file_at(d->fd, "f", &twice), 0);
		assert_int_equal(twice.len, 2 * sizes[i]);
	}
	free(text);
}

static void too_large_files_leave_the_buffer_as_it_was(void **state)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(100), other _cleanup_buf_ = WP_BUF(100);
	_cleanup_close_ int fd = -1;
	struct dir *d = *state;
	char text[120];

	memset(text, 'y', sizeof(text));
	put(d, "big", text, 101);
	assert_int_equal(wp_buf_puts(&b, "kept"), 0);
	assert_int_equal(wp_read_file_at(d->fd, "big", &b), -E2BIG);
	assert_string_equal(wp_buf_text(&b), "kept");
	assert_int_equal(wp_read_file_at(d->fd, "absent", &b), -ENOENT);
	assert_int_equal(wp_read_file_at(d->fd, ".", &b), -EISDIR);
	assert_string_equal(wp_buf_text(&b), "kept");
	fd = openat(d->fd, "big", O_RDONLY | O_CLOEXEC);
	assert_int_equal(wp_reread_fd(fd, &other), -E2BIG);
	assert_string_equal(wp_buf_text(&other), "");
	put(d, "big", text, 3);
	assert_int_equal(wp_reread_fd(fd, &other), 0);
	assert_string_equal(wp_buf_text(&other), "yyy");
	assert_int_equal(wp_reread_fd(-1, &other), -EBADF);
}

/* A new buffer is too short for the first read(2): it grows and reads again from the start, also at the limit. */
static void rereads_into_a_buffer_that_grows(void **state)
{
	static const size_t sizes[] = { 4095, 4096, 4097, 12287, 12288, 40000 };
	struct dir *d = *state;
	char text[40000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (size_t i = 0; i < WP_ARRAY_SIZE(sizes); i++) {
		struct wp_buf b _cleanup_buf_ = WP_BUF(1 << 20),
				tight _cleanup_buf_ = WP_BUF(sizes[i]);
		struct wp_buf small _cleanup_buf_ = WP_BUF(sizes[i] - 1);
		_cleanup_close_ int fd = -1;

		put(d, "g", text, sizes[i]);
		fd = openat(d->fd, "g", O_RDONLY | O_CLOEXEC);
		assert_int_equal(wp_reread_fd(fd, &b), 0);
		assert_int_equal(wp_reread_fd(fd, &tight), 0);
		assert_true(b.len == sizes[i] && tight.len == sizes[i]);
		assert_memory_equal(b.data, text, sizes[i]);
		assert_memory_equal(tight.data, text, sizes[i]);
		assert_true(b.data[b.len] == '\0');
		assert_int_equal(wp_reread_fd(fd, &small), -E2BIG);
		assert_int_equal(small.len, 0);
	}
}

static void rereads_procfs(void **state)
{
	static const char *const paths[] = { "/proc/stat", "/proc/interrupts", "/proc/softirqs",
					     "/proc/net/dev", "/proc/self/maps" };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(paths); i++) {
		struct wp_buf b _cleanup_buf_ = WP_BUF(16 << 20);
		_cleanup_close_ int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		for (int k = 0; k < 3; k++) {
			assert_int_equal(wp_reread_fd(fd, &b), 0);
			assert_true(b.len > 0 && b.data[b.len - 1] == '\n');
			assert_int_equal(strlen(b.data), b.len);
		}
	}
}

static void reads_first_lines(void **state)
{
	static const struct {
		const char *name, *text;
		size_t size;
		int code;
		const char *line;
	} cases[] = {
		{ "plain", "tsc\n", 16, 0, "tsc" },
		{ "no newline", "tsc", 16, 0, "tsc" },
		{ "two lines", "a b\nc\n", 16, 0, "a b" },
		{ "empty line", "\nx\n", 16, 0, "" },
		{ "empty file", "", 16, -ENODATA, NULL },
		{ "just fits", "abc\n", 4, 0, "abc" },
		{ "just fits, no newline", "abc", 4, 0, "abc" },
		{ "too long", "abcd\n", 4, -E2BIG, NULL },
		{ "too long, no newline", "abcd", 4, -E2BIG, NULL },
		{ "no room", "a", 0, -EINVAL, NULL },
	};
	struct dir *d = *state;

	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		char out[16] = "untouched";
		int r;

		put(d, "line", cases[i].text, strlen(cases[i].text));
		r = wp_read_line_at(d->fd, "line", out, cases[i].size);
		if (r != cases[i].code || strcmp(out, r ? "untouched" : cases[i].line))
			fail_msg("%s: %d, \"%s\"", cases[i].name, r, out);
	}
}

static void writes_only_existing_files(void **state)
{
	struct dir *d = *state;
	char out[16];

	assert_int_equal(wp_write_file_at(d->fd, "new", "1"), -ENOENT);
	put(d, "old", "123456", 6);
	assert_int_equal(wp_write_file_at(d->fd, "old", "7\n"), 0);
	assert_int_equal(wp_read_line_at(d->fd, "old", out, sizeof(out)), 0);
	assert_string_equal(out, "7");
	assert_int_equal(wp_write_file_at(AT_FDCWD, "/dev/full", "7"), -ENOSPC);
}

static void replaces_files_whole(void **state)
{
	struct dir *d = *state;
	struct wp_buf b _cleanup_buf_ = WP_BUF(1000);
	char big[5000];
	struct stat st;

	assert_int_equal(wp_replace_file_at(d->fd, "j", "one"), 0);
	assert_int_equal(wp_replace_file_at(d->fd, "j", "two"), 0);
	assert_int_equal(wp_read_file_at(d->fd, "j", &b), 0);
	assert_string_equal(wp_buf_text(&b), "two");
	assert_int_equal(fstatat(d->fd, "j", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(wp_replace_file_at(d->fd, "no/j", "x"), -ENOENT);
	memset(big, 'b', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(wp_replace_file_at(d->fd, big, "x"), -ENAMETOOLONG);
	/* Onto a directory: refused, and no temporary file is left (the directory removes empty).
	 */
	assert_int_equal(mkdirat(d->fd, "sub", 0700), 0);
	assert_int_equal(mkdirat(d->fd, "sub/target", 0700), 0);
	assert_int_equal(wp_replace_file_at(d->fd, "sub/target", "x"), -EISDIR);
	assert_int_equal(unlinkat(d->fd, "sub/target", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(d->fd, "sub", AT_REMOVEDIR), 0);
}

static void makes_directories(void **state)
{
	static const struct {
		const char *under;
		int code;
	} cases[] = {
		{ "", 0 },
		{ "/a", 0 },
		{ "/a/b/c", 0 },
		{ "/a/b/c", 0 },
		{ "//x//y/", 0 },
		{ "/a/./d/..", 0 },
		{ "/file", -ENOTDIR },
		{ "/file/z", -ENOTDIR },
	};
	struct dir *d = *state;
	char path[200], big[5000];

	put(d, "file", "", 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		snprintf(path, sizeof(path), "%s%s", d->path, cases[i].under);
		if (wp_mkdir_p(path) != cases[i].code)
			fail_msg("%s", path);
	}
	assert_int_equal(faccessat(d->fd, "a/b/c", F_OK, 0), 0);
	assert_int_equal(faccessat(d->fd, "x/y", F_OK, 0), 0);
	assert_int_equal(wp_mkdir_p("/"), 0);
	assert_int_equal(wp_mkdir_p(""), -ENOENT);
	memset(big, '/', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(wp_mkdir_p(big), -ENAMETOOLONG);
}

static void write_all_reports_failure(void **state)
{
	_cleanup_close_ int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(wp_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(wp_write_all(-1, "", 0), 0);
	assert_int_equal(wp_write_all(fd, "x", 1), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_whole_files),
		cmocka_unit_test(too_large_files_leave_the_buffer_as_it_was),
		cmocka_unit_test(rereads_into_a_buffer_that_grows),
		cmocka_unit_test(rereads_procfs),
		cmocka_unit_test(reads_first_lines),
		cmocka_unit_test(writes_only_existing_files),
		cmocka_unit_test(replaces_files_whole),
		cmocka_unit_test(makes_directories),
		cmocka_unit_test(write_all_reports_failure),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
