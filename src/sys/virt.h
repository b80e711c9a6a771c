/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virt.h - is this a virtual machine, a container, or does it have a CPU quota; can /proc be believed.
 * Every answer comes with its evidence. Texts live in the pool.
 *
 * Sources: CPUID hypervisor bit (/proc/cpuinfo), sys/class/dmi/id, sys/hypervisor, proc/sysinfo (s390),
 * proc/device-tree/hypervisor (arm64, ppc), proc/self/mountinfo (proc(5)), cgroups(7),
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1, Documentation/scheduler/sched-bwc.rst.
 */
#ifndef WP_SYS_VIRT_H
#define WP_SYS_VIRT_H

#include "sys/cpuinfo.h"
#include "sys/maybe.h"

enum wp_virt_kind {
	WP_VIRT_UNKNOWN,
	WP_VIRT_NONE, /* no sign of a hypervisor, on a machine that would show one */
	WP_VIRT_VM,
};

struct wp_virt {
	enum wp_virt_kind kind;
	struct wp_maybe_text name; /* "KVM", "VMware", "Xen", "Hyper-V"..., or "a hypervisor" */
	struct wp_maybe_text evidence;
	struct wp_maybe_text vendor, product; /* DMI */
	struct wp_maybe_text container;       /* "docker", "lxc"...; absent: none found */
	struct wp_maybe_text container_evidence;
	struct wp_maybe_text proc_faked; /* mount points of foreign file systems over /proc files */
};

struct wp_cpu_quota {
	struct wp_maybe_int cpus_ppm; /* allowed CPU time over wall time, 1000000 = one CPU */
	struct wp_maybe_int periods, throttled_periods; /* since the group was made */
	struct wp_maybe_int weight;                     /* cpu.weight or cpu.shares of our group */
	struct wp_maybe_text group; /* the cgroup that sets the quota, or ours */
};

struct wp_daemons {
	struct wp_maybe_int scanned; /* processes seen; absent: no process directory in the tree */
	struct wp_maybe_int irqbalance_pid, tuned_pid, thermald_pid;
};

void wp_virt_read(int rootfd, const struct wp_cpuinfo *cpuinfo, struct wp_pool *pool,
		  struct wp_virt *ret);
/* Of this process when live, of "proc/self" in a recorded tree. The smallest quota on the way to the root counts. */
void wp_cpu_quota_read(int rootfd, struct wp_pool *pool, struct wp_cpu_quota *ret);
void wp_daemons_read(int rootfd, struct wp_pool *pool, struct wp_daemons *ret);

/* Pure parts. */

/* Who makes virtual machines with this DMI vendor and product; NULL when it is nobody known. */
const char *wp_virt_from_dmi(const char *vendor, const char *product);
/* The container manager that a /proc/1/cgroup text names, or NULL. */
const char *wp_container_from_cgroup(const char *text, size_t len);
/* The group's path of a controller in /proc/self/cgroup: a v1 controller ("cpu"), or "" for v2. -ENODATA. */
int wp_cgroup_path(const char *text, size_t len, const char *controller, char *out,
		   size_t size) WP_MUST_USE;
/* Mount points under /proc that something else than proc, sysctl and tmpfs-masks covers, joined by commas
 * ("/proc/cpuinfo, /proc/stat"); -ENODATA when there are none. Format: proc(5), mountinfo. */
int wp_mounts_over_proc(const char *text, size_t len, char *out, size_t size) WP_MUST_USE;
/* "max 100000" or "50000 100000" of cpu.max. -EINVAL. `ret_ppm` is -1 for max. */
int wp_cpu_max_parse(const char *text, size_t len, int64_t *ret_ppm) WP_MUST_USE;
/* One "name value" line of cpu.stat. -ENODATA. */
int wp_cpu_stat_get(const char *text, size_t len, const char *name, uint64_t *ret) WP_MUST_USE;

#endif
