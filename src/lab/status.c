/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "lab/build.h"
#include "lab/files.h"
#include "lab/named.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

struct sides {
	int fd[WP_LAB_SIDES];
	uint64_t ino[WP_LAB_SIDES];
};

static void sides_done(struct sides *s)
{
	for (unsigned i = 0; i < WP_LAB_SIDES; i++)
		wp_close_p(&s->fd[i]);
}

#define _cleanup_sides_ WP_CLEANUP(sides_done)

static void read_addresses(struct wp_nl *nl, const struct wp_nl_links *links,
			   struct wp_lab_side_status *out)
{
	_cleanup_nl_addrs_ struct wp_nl_addrs addrs = { 0 };

	if (wp_nl_addr_list(nl, &addrs, NULL))
		return;
	for (size_t i = 0; i < addrs.n; i++) {
		bool loopback = false;

		for (size_t k = 0; k < links->n; k++)
			if (links->v[k].ifindex == addrs.v[i].ifindex)
				loopback = links->v[k].flags & IFF_LOOPBACK;
		if (loopback)
			continue;
		if (out->n_addrs < WP_LAB_ADDRS_SHOWN)
			memcpy(out->addrs[out->n_addrs], addrs.v[i].text, sizeof(out->addrs[0]));
		out->n_addrs++;
	}
}

static void read_side(int netns_fd, enum wp_lab_side side, struct wp_lab_side_status *out)
{
	_cleanup_nl_ struct wp_nl nl = { 0 };
	_cleanup_nl_links_ struct wp_nl_links links = { 0 };

	if (wp_nl_open_in(netns_fd, &nl, NULL) || wp_nl_link_list(&nl, &links, NULL))
		return;
	out->readable = true;
	for (size_t i = 0; i < links.n; i++) {
		const struct wp_nl_link *l = &links.v[i];

		if (strcmp(l->name, wp_lab_ifname(side)) != 0)
			continue;
		out->has_link = true;
		memcpy(out->ifname, l->name, sizeof(out->ifname));
		out->up = l->flags & IFF_UP;
		out->carrier = l->carrier;
		out->mtu_bytes = l->mtu_bytes;
	}
	read_addresses(&nl, &links, out);
}

/* "net:[4026531833]" */
static int namespace_of(int taskfd, const char *tid, uint64_t *ret)
{
	char path[64], text[64], *end;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/ns/net", tid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	n = readlinkat(taskfd, path, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	end = strchr(text, ']');
	if (strncmp(text, "net:[", 5) != 0 || !end)
		return -EBADMSG;
	*end = '\0';
	return wp_parse_u64(text + 5, ret);
}

/* Which sides the threads of one process are in, as a set of bits; -EACCES where we may not look. */
static int sides_of_process(int procfd, const char *pid, const struct sides *s)
{
	char path[64];
	struct dirent *e;
	int fd, set = 0, r = 0;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/task", pid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(procfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* it has just ended */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((e = readdir(dir))) {
		uint64_t ino;
		int q = isdigit((unsigned char)e->d_name[0]) ? namespace_of(fd, e->d_name, &ino)
							     : -ENOENT;

		for (unsigned i = 0; i < WP_LAB_SIDES && !q; i++)
			if (s->fd[i] >= 0 && s->ino[i] == ino)
				set |= 1 << i;
		if (q == -EACCES || q == -EPERM)
			r = -EACCES;
	}
	closedir(dir);
	return set ? set : r;
}

static void count_user(int procfd, const char *pid, struct wp_lab_users *users)
{
	uint64_t number;
	char path[64];

	if (users->processes++ || wp_parse_u64(pid, &number) || number > INT_MAX)
		return;
	users->first_pid = (pid_t)number;
	snprintf(path, sizeof(path), "%d/comm", (int)number);
	if (wp_read_line_at(procfd, path, users->first_name, sizeof(users->first_name)))
		users->first_name[0] = '\0';
	for (char *c = users->first_name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

static void count_users(const struct sides *s, struct wp_lab_status *out)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char self[16];

	if (!proc)
		return;
	snprintf(self, sizeof(self), "%d", (int)getpid());
	while ((e = readdir(proc))) {
		int set;

		if (!isdigit((unsigned char)e->d_name[0]) || !strcmp(e->d_name, self))
			continue;
		set = sides_of_process(dirfd(proc), e->d_name, s);
		if (set == -EACCES)
			out->processes_unreadable++;
		for (unsigned i = 0; i < WP_LAB_SIDES && set > 0; i++)
			if (set & (1 << i))
				count_user(dirfd(proc), e->d_name, &out->side[i].users);
	}
	closedir(proc);
}

int wp_lab_status(const char *name, struct wp_lab_status *ret, struct wp_err *err)
{
	_cleanup_sides_ struct sides s = { .fd = { -1, -1 } };
	struct wp_lab_status st = { .complete = true };
	struct wp_lab_maker maker;
	bool any = false;
	int r = wp_lab_name_check(name, err);

	if (r)
		return r;
	memcpy(st.name, name, strlen(name) + 1);
	for (unsigned i = 0; i < WP_LAB_SIDES; i++) {
		struct wp_lab_side_status *side = &st.side[i];
		struct stat file;

		wp_lab_path(name, i, side->path);
		any |= !lstat(side->path, &file);
		side->present =
			!wp_netns_open(side->path, &s.fd[i]) && !wp_netns_ino(s.fd[i], &s.ino[i]);
		st.complete &= side->present;
		if (side->present)
			read_side(s.fd[i], i, side);
	}
	if (!any)
		return wp_lab_no_such(name, err);
	if (s.fd[WP_LAB_A] >= 0 && wp_lab_maker_of(s.fd[WP_LAB_A], &maker)) {
		st.has_maker = true;
		st.maker_uid = maker.uid;
		st.maker_pid = maker.pid;
		st.since_unix_ns = maker.since_s * WP_NS_PER_S;
	}
	count_users(&s, &st);
	*ret = st;
	return 0;
}

/* The first address of a family that is not a link-local one. */
static void first_address(const struct wp_nl_addrs *addrs, int ifindex, int family, char *out,
			  size_t size)
{
	for (size_t i = 0; i < addrs->n; i++) {
		const struct wp_nl_addr *a = &addrs->v[i];

		if (a->ifindex != ifindex || a->family != family ||
		    (family == AF_INET6 && a->addr[0] == 0xfe && (a->addr[1] & 0xc0) == 0x80))
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(a->text, "/"), a->text);
		return;
	}
}

static int open_end(const char *name, enum wp_lab_side side, struct wp_lab_end *end,
		    uint32_t *ret_mtu, struct wp_err *err)
{
	_cleanup_nl_addrs_ struct wp_nl_addrs addrs = { 0 };
	_cleanup_nl_ struct wp_nl nl = { 0 };
	char path[WP_LAB_PATH_SIZE];
	struct wp_nl_link link;
	int r;

	wp_lab_path(name, side, path);
	r = wp_netns_open(path, &end->netns_fd);
	if (r == -ENOENT)
		return wp_lab_no_such(name, err);
	if (r)
		return wp_err_sys(err, r,
				  "%s is not a lab's side; remove it with: whyperf lab down %s",
				  path, name);
	r = wp_nl_open_in(end->netns_fd, &nl, NULL);
	if (r)
		return wp_err_sys(err, r, "cannot enter the lab '%s' (named labs need root)", name);
	r = wp_nl_link_get(&nl, wp_lab_ifname(side), &link, err);
	if (!r)
		r = wp_nl_addr_list(&nl, &addrs, err);
	if (r)
		return r;
	end->ifindex = link.ifindex;
	memcpy(end->ifname, link.name, sizeof(end->ifname));
	*ret_mtu = link.mtu_bytes;
	first_address(&addrs, link.ifindex, AF_INET, end->ip4, sizeof(end->ip4));
	first_address(&addrs, link.ifindex, AF_INET6, end->ip6, sizeof(end->ip6));
	if (!end->ip4[0] && !end->ip6[0])
		return wp_err_set(err, -EADDRNOTAVAIL,
				  "interface %s of the lab '%s' has no address", link.name, name);
	if (!(link.flags & IFF_UP) || !link.carrier)
		return wp_err_set(err, -ENETDOWN, "interface %s of the lab '%s' is down", link.name,
				  name);
	/* Nice to have: without it only per-queue settings inside the lab are out of reach. */
	if (wp_netns_sysfs(end->netns_fd, &end->sys_fd))
		end->sys_fd = -1;
	return 0;
}

int wp_lab_open_named(const char *name, struct wp_lab *ret, struct wp_err *err)
{
	_cleanup_lab_ struct wp_lab lab = WP_LAB_CLOSED;
	uint32_t mtu_bytes[WP_LAB_SIDES];
	int r = wp_lab_name_check(name, err);

	for (unsigned i = 0; i < WP_LAB_SIDES && !r; i++)
		r = open_end(name, i, &lab.end[i], &mtu_bytes[i], err);
	if (r)
		return r;
	memcpy(lab.name, name, strlen(name) + 1);
	lab.mtu_bytes = mtu_bytes[0] < mtu_bytes[1] ? mtu_bytes[0] : mtu_bytes[1];
	lab.has_ipv6 = lab.end[WP_LAB_A].ip6[0] && lab.end[WP_LAB_B].ip6[0];
	lab.in_user_ns = wp_lab_is_away_from_home();
	*ret = lab;
	lab = (struct wp_lab)WP_LAB_CLOSED;
	return 0;
}
