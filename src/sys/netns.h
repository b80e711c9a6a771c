/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netns.h - network namespaces: making one that only an fd holds, doing something inside one,
 * entering one.
 *
 * A namespace made here has no name, no process and no mount: it lives exactly as long as an fd on
 * it, a process or a socket in it. A killed program therefore leaves nothing behind.
 *
 * Which namespace a file or socket belongs to is decided when it is opened: a netlink socket,
 * /proc/thread-self/net/snmp or a detached sysfs that was opened inside stays readable from
 * everywhere. So wp_netns_call(), which runs one function inside on a thread of its own, mostly
 * spares the caller a setns(2) of its own.
 *
 * The caller owns every fd returned (all are close-on-exec). Errors are negative errno; -EPERM
 * where the right is missing (CAP_SYS_ADMIN in the caller's user namespace, and to enter, in the
 * one that owns the namespace too). Sources: network_namespaces(7), user_namespaces(7), setns(2),
 * fsopen in fs/fsopen.c.
 */
#ifndef WP_SYS_NETNS_H
#define WP_SYS_NETNS_H

#include <stdint.h>

#include "base/err.h"

/* A new, empty network namespace; even its loopback is down. The calling thread stays where it is.
 */
int wp_netns_new(int *ret_fd) WP_MUST_USE;

/* The namespace that the calling thread is in. */
int wp_netns_self(int *ret_fd) WP_MUST_USE;

/* Opens `path` (/run/netns/NAME, /proc/PID/ns/net); -EINVAL when it is something else than a
 * network namespace. */
int wp_netns_open(const char *path, int *ret_fd) WP_MUST_USE;

/* Moves the calling thread, and no other, into the namespace. Threads and children made afterwards
 * start there. */
int wp_netns_enter(int netns_fd) WP_MUST_USE;

/* Runs fn(arg) inside the namespace on a short-lived thread, waits for it and returns what it
 * returned (0 or -errno), or why it could not run. `fn` must not rely on thread-local state. */
int wp_netns_call(int netns_fd, int (*fn)(void *arg), void *arg) WP_MUST_USE;

/* open(2) inside: "/proc/thread-self/net/snmp" gives the counters of the namespace,
 * /proc/sys/net/... its settings.
 * (/sys shows the namespace it was mounted in: see below.) */
int wp_netns_open_file(int netns_fd, const char *path, int flags, int *ret_fd) WP_MUST_USE;

/* A sysfs that shows this namespace's /sys/class/net, mounted nowhere: use the fd with openat(2)
 * and paths like "class/net/eth0/queues/rx-0/rps_cpus". Needs Linux 5.2; -ENOSYS before. */
int wp_netns_sysfs(int netns_fd, int *ret_dirfd) WP_MUST_USE;

/* 1 when the calling process owns the namespace (it may do everything in it and come back to it), 0
 * when the namespace belongs to a user namespace further out. */
int wp_netns_is_ours(int netns_fd) WP_MUST_USE;

/* The inode number that identifies a namespace ("net:[4026531833]"). */
int wp_netns_ino(int netns_fd, uint64_t *ret) WP_MUST_USE;

/* Moves the whole process, which must have one thread, into a new user namespace in which it has
 * every capability and the same uid and gid as before. There wp_netns_new() works without root,
 * where the kernel allows it; the namespace that the process was in can't be entered again. Asks a
 * child to try first: on failure nothing changed. -EPERM (not allowed), -EINVAL (more than one
 * thread), -ENOSPC or -EUSERS (limit reached). */
int wp_userns_become(void) WP_MUST_USE;

#endif
