/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lab/files.h"
#include "lab/named.h"
#include "sys/netns.h"

/* File systems that usually lie on /sys; a program in the lab finds them as it does outside. */
static const char *const on_sysfs[] = {
	"/sys/fs/cgroup",      "/sys/fs/bpf",          "/sys/kernel/debug",
	"/sys/kernel/tracing", "/sys/kernel/security",
};

#define N_ON_SYSFS WP_ARRAY_SIZE(on_sysfs)

static bool is_mount(const char *path)
{
	struct statx st;

	return !statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, 0, &st) &&
	       (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* A mount namespace of our own in which /sys shows the network namespace that we are in. */
static int mount_own_sysfs(void)
{
	struct statvfs old;
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int tree[N_ON_SYSFS], r = 0;

	if (unshare(CLONE_NEWNS) || mount("", "/", "none", MS_SLAVE | MS_REC, NULL))
		return -errno;
	if (!statvfs("/sys", &old) && (old.f_flag & ST_RDONLY))
		flags |= MS_RDONLY;
	for (size_t i = 0; i < N_ON_SYSFS; i++)
		tree[i] = is_mount(on_sysfs[i])
				  ? open_tree(AT_FDCWD, on_sysfs[i],
					      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)
				  : -1;
	/* Nothing mounted there is as good. */
	if (umount2("/sys", MNT_DETACH) && errno != EINVAL)
		r = -errno;
	if (!r && mount("sysfs", "/sys", "sysfs", flags, NULL))
		r = -errno;
	for (size_t i = 0; i < N_ON_SYSFS; i++) {
		/* Best effort: the program can do without. */
		if (tree[i] >= 0 && !r)
			(void)!move_mount(tree[i], "", AT_FDCWD, on_sysfs[i],
					  MOVE_MOUNT_F_EMPTY_PATH);
		wp_close_p(&tree[i]);
	}
	return r;
}

int wp_lab_where_parse(const char *where, char ret_name[static WP_LAB_NAME_SIZE],
		       enum wp_lab_side *ret_side, struct wp_err *err)
{
	const char *colon = strrchr(where, ':');
	size_t len = colon ? (size_t)(colon - where) : 0;
	char name[WP_LAB_NAME_SIZE] = "";
	int r;

	if (!colon || (strcmp(colon, ":a") != 0 && strcmp(colon, ":b") != 0))
		return wp_err_set(err, -EINVAL,
				  "'%.40s' does not say which side: write NAME:a or NAME:b", where);
	if (len < sizeof(name))
		memcpy(name, where, len);
	r = wp_lab_name_check(len < sizeof(name) ? name : where, err);
	if (r)
		return r;
	memcpy(ret_name, name, sizeof(name));
	*ret_side = colon[1] == 'a' ? WP_LAB_A : WP_LAB_B;
	return 0;
}

int wp_lab_exec(const char *where, char *const argv[], struct wp_err *err)
{
	char name[WP_LAB_NAME_SIZE], path[WP_LAB_PATH_SIZE];
	_cleanup_close_ int fd = -1;
	enum wp_lab_side side;
	int r;

	r = wp_lab_where_parse(where, name, &side, err);
	if (r)
		return r;
	wp_lab_path(name, side, path);
	r = wp_netns_open(path, &fd);
	if (r == -ENOENT)
		return wp_lab_no_such(name, err);
	if (!r)
		r = wp_netns_enter(fd);
	if (r == -EPERM)
		return wp_err_set(err, r,
				  "cannot enter the lab '%s': operation not permitted; run as root",
				  name);
	if (r)
		return wp_err_sys(err, r, "cannot enter the lab '%s'", name);
	r = mount_own_sysfs();
	if (r)
		return wp_err_sys(err, r, "cannot give the lab '%s' a /sys of its own", name);
	execvp(argv[0], argv);
	return wp_err_sys(err, -errno, "cannot run '%s'", argv[0]);
}
