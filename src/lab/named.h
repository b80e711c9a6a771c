/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - labs that stay: what `whyperf lab up | down | status | exec` do, without the printing.
 *
 * A lab NAME is two network namespaces bind-mounted at /run/netns/whyperf-NAME-a and -b, where `ip netns exec` finds
 * them too. Its addresses are those of every lab (two labs do not see each other); who made it and when stands in the
 * alias of its interface wpa. Neighbours are resolved by ARP and neighbour discovery, as users of a shell expect.
 *
 * up and down write ahead to the caller's journal directory (place/journal.h) and take turns by a lock in it: killed
 * at any moment, the next start undoes a half-made lab and finishes a half-removed one. They need root: -EPERM.
 *
 * status and down count processes by reading /proc: those that the caller may not look into are counted apart.
 */
#ifndef WP_LAB_NAMED_H
#define WP_LAB_NAMED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lab/lab.h"

#define WP_LAB_NAME_DEF    "lab"
#define WP_LABS_MAX        4096
#define WP_LAB_ADDRS_SHOWN 8

struct wp_lab_up {
	const char *name;
	uint32_t mtu_bytes; /* 0 = 1500 */
	const char *journal_dir;
};

/* -EEXIST when there is one of that name: of two at once, one wins. */
int wp_lab_up(const struct wp_lab_up *up, struct wp_err *err) WP_MUST_USE;

/* -EBUSY when processes run in it, unless `force`: then they keep what is left of it until they end, without the link.
 * -ENOENT when there is none of that name. */
int wp_lab_down(const char *name, bool force, const char *journal_dir,
		struct wp_err *err) WP_MUST_USE;

struct wp_lab_names {
	char (*v)[WP_LAB_NAME_SIZE]; /* owned, sorted */
	size_t n;
};

int wp_lab_list(struct wp_lab_names *ret, struct wp_err *err) WP_MUST_USE;
void wp_lab_names_done(struct wp_lab_names *l);
#define _cleanup_lab_names_ __attribute__((cleanup(wp_lab_names_done)))

struct wp_lab_users {
	unsigned processes;
	pid_t first_pid; /* 0 = none */
	char first_name[17];
};

struct wp_lab_side_status {
	bool present;  /* the file is there and is a network namespace */
	char path[64]; /* for `ip netns`: what stands behind /run/netns/ */
	bool readable; /* the rest is known; false without root */
	char ifname[IF_NAMESIZE];
	bool has_link; /* the veth is still there */
	bool up, carrier;
	uint32_t mtu_bytes;
	char addrs[WP_LAB_ADDRS_SHOWN]
		  [INET6_ADDRSTRLEN + 4]; /* with prefix length, loopback's left out */
	unsigned n_addrs;                 /* how many there are; may be more than are kept */
	struct wp_lab_users users;
};

struct wp_lab_status {
	char name[WP_LAB_NAME_SIZE];
	bool complete; /* both sides present */
	bool has_maker;
	uid_t maker_uid;
	pid_t maker_pid;
	int64_t since_unix_ns;
	struct wp_lab_side_status side[WP_LAB_SIDES];
	unsigned processes_unreadable; /* belonging to others: may run in it or not */
};

/* -ENOENT with the nearest name. */
int wp_lab_status(const char *name, struct wp_lab_status *ret, struct wp_err *err) WP_MUST_USE;

/* Opens a named lab for a test; wp_lab_close() leaves it standing. */
int wp_lab_open_named(const char *name, struct wp_lab *ret, struct wp_err *err) WP_MUST_USE;

/* `where` is NAME:a or NAME:b. Moves this process into that side, gives it a /sys of its own that shows the side's
 * interfaces, and becomes argv[0] (searched in PATH). Returns only on failure: -ENOENT, -EACCES... with a sentence. */
int wp_lab_exec(const char *where, char *const argv[], struct wp_err *err) WP_MUST_USE;
/* Pure. */
int wp_lab_where_parse(const char *where, char ret_name[static WP_LAB_NAME_SIZE],
		       enum wp_lab_side *ret_side, struct wp_err *err) WP_MUST_USE;

#define WP_LAB_DIR_MADE    1U
#define WP_LAB_DIR_MOUNTED 2U

struct wp_lab_maker {
	uid_t uid;
	pid_t pid;
	int64_t since_s;    /* Unix time */
	unsigned dir_flags; /* what up did to /run/netns; the last lab's down undoes it */
};

/* "whyperf-lab since=S uid=U pid=P dir=0", the alias of wpa. Pure; false for any other text. */
bool wp_lab_maker_parse(const char *alias, struct wp_lab_maker *ret);

#endif
