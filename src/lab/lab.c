/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/lab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lab/build.h"
#include "lab/named.h"
#include "sys/netns.h"

void wp_lab_close(struct wp_lab *lab)
{
	if (!lab)
		return;
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		wp_close_p(&lab->end[i].sys_fd);
		wp_close_p(&lab->end[i].netns_fd);
	}
}

static int refuse(int code, struct wp_err *err)
{
	switch (code) {
	case -EPERM:
	case -EACCES:
		return wp_err_set(
			err, code,
			"cannot make network namespaces: operation not permitted; run as root, or use "
			"--loopback to test over 127.0.0.1 in this namespace");
	case -ENOSPC:
	case -EUSERS:
		return wp_err_set(
			err, code,
			"cannot make network namespaces: the limit of /proc/sys/user is reached; raise "
			"max_net_namespaces, or use --loopback");
	default:
		return wp_err_sys(
			err, code,
			"cannot make network namespaces (--loopback tests over 127.0.0.1 without them)");
	}
}

int wp_lab_open_ephemeral(const struct wp_lab_spec *spec, struct wp_lab *ret, struct wp_err *err)
{
	_cleanup_lab_ struct wp_lab lab = WP_LAB_CLOSED;
	int r = wp_lab_make_namespaces(&lab);

	lab.mtu_bytes = spec && spec->mtu_bytes ? spec->mtu_bytes : WP_LAB_MTU_DEF;
	if (r == -EPERM && !wp_userns_become())
		r = wp_lab_make_namespaces(&lab);
	if (r)
		return refuse(r, err);
	lab.in_user_ns = wp_lab_is_away_from_home();
	r = wp_lab_build(&lab, WP_LAB_BUILD_QUIET, err);
	if (r) {
		wp_err_prefix(err, "cannot make the lab");
		return r;
	}
	*ret = lab;
	lab = (struct wp_lab)WP_LAB_CLOSED;
	return 0;
}

int wp_lab_open(const struct wp_lab_spec *spec, struct wp_lab *ret, struct wp_err *err)
{
	if (spec && spec->name[0])
		return wp_lab_open_named(spec->name, ret, err);
	return wp_lab_open_ephemeral(spec, ret, err);
}

int wp_lab_enter(const struct wp_lab *lab, enum wp_lab_side side, struct wp_err *err)
{
	int r = wp_netns_enter(lab->end[side].netns_fd);

	return r ? wp_err_sys(err, r, "cannot enter side %c of the lab", 'a' + (int)side) : 0;
}

int wp_lab_call(const struct wp_lab *lab, enum wp_lab_side side, int (*fn)(void *arg), void *arg)
{
	return wp_netns_call(lab->end[side].netns_fd, fn, arg);
}

int wp_lab_open_file(const struct wp_lab *lab, enum wp_lab_side side, const char *path, int flags,
		     int *ret_fd)
{
	return wp_netns_open_file(lab->end[side].netns_fd, path, flags, ret_fd);
}
