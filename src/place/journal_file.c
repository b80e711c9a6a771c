/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "place/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/units.h"

#define STAT_MAX_BYTES      4096
#define FIELD_STARTTIME     22
#define FIELD_AFTER_COMMAND 3
#define NAME_PARTS_MAX      3

bool wp_journal_name_parse(const char *file, struct wp_journal_name *ret)
{
	char text[64], *rest = text, *part;
	uint64_t v[NAME_PARTS_MAX];
	size_t n = 0;

	if (strlen(file) >= sizeof(text) || strspn(file, "0123456789-") != strlen(file))
		return false;
	memcpy(text, file, strlen(file) + 1);
	while ((part = strsep(&rest, "-")))
		if (n == NAME_PARTS_MAX || wp_parse_u64(part, &v[n++]))
			return false;
	if (n < 2 || !v[0] || v[0] > INT_MAX)
		return false;
	ret->pid = (int)v[0];
	ret->starttime = v[1];
	return true;
}

int wp_journal_parse_starttime(const char *text, size_t len, uint64_t *ret)
{
	const char *at = memrchr(text, ')', len), *end = text + len;
	char number[24];
	size_t n = 0;

	if (!at)
		return -EBADMSG;
	for (int field = FIELD_AFTER_COMMAND - 1; field < FIELD_STARTTIME; field++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return -EBADMSG;
		at++;
	}
	while (at + n < end && at[n] >= '0' && at[n] <= '9' && n < sizeof(number) - 1) {
		number[n] = at[n];
		n++;
	}
	number[n] = '\0';
	if (at + n >= end || at[n] != ' ' || wp_parse_u64(number, ret))
		return -EBADMSG;
	return 0;
}

int wp_journal_starttime_of(int pid, uint64_t *ret)
{
	_cleanup_buf_ struct wp_buf text = WP_BUF(STAT_MAX_BYTES);
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = wp_read_file_at(AT_FDCWD, path, &text);
	if (r == -ESRCH)
		r = -ENOENT;
	return r ? r : wp_journal_parse_starttime(wp_buf_text(&text), text.len, ret);
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

void wp_journal_look_around(struct wp_journal_here *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (wp_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret->boot_id,
			    sizeof(ret->boot_id)))
		ret->boot_id[0] = '\0';
	ret->pidns_ino = inode_of("/proc/self/ns/pid");
	ret->netns_ino = inode_of("/proc/thread-self/ns/net");
}
