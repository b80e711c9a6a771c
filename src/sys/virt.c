/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/virt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "sys/text_split.h"

#define CGROUP_BYTES    (64u << 10)
#define MOUNTINFO_BYTES (4u << 20) /* hosts with many containers have thousands of mounts */

/* The DMI texts by which virtual machines are known. An Amazon or Google machine may also be bare metal: those are
 * asked only for a name, after another sign of a hypervisor. */
static const struct {
	const char *text, *name;
	bool proof; /* the text alone says "virtual machine" */
} dmi_names[] = {
	{ "Standard PC (", "KVM (QEMU)", true },
	{ "KVM", "KVM", true },
	{ "QEMU", "QEMU", true },
	{ "Bochs", "QEMU", true },
	{ "VMware", "VMware", true },
	{ "VirtualBox", "VirtualBox", true },
	{ "innotek", "VirtualBox", true },
	{ "Virtual Machine", "Hyper-V", true },
	{ "HVM domU", "Xen", true },
	{ "Xen", "Xen", true },
	{ "Parallels", "Parallels", true },
	{ "BHYVE", "bhyve", true },
	{ "OpenStack", "KVM (OpenStack)", true },
	{ "Droplet", "KVM (DigitalOcean)", true },
	{ "Google Compute Engine", "KVM (Google Compute Engine)", false },
	{ "Amazon EC2", "Amazon EC2", false },
	{ "Alibaba", "KVM (Alibaba Cloud)", false },
};

static const char *dmi_name(const char *text, bool *ret_proof)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(dmi_names); i++)
		if (strstr(text, dmi_names[i].text)) {
			*ret_proof = dmi_names[i].proof;
			return dmi_names[i].name;
		}
	return NULL;
}

const char *wp_virt_from_dmi(const char *vendor, const char *product)
{
	bool proof = false;
	const char *name = product ? dmi_name(product, &proof) : NULL;

	if (!name && vendor)
		name = dmi_name(vendor, &proof);
	/* EC2's bare-metal types end in .metal, the old Xen ones say HVM domU */
	if (name && !proof && product && strstr(product, ".metal"))
		return NULL;
	return name;
}

/* Hypervisors that are known by something else than DMI. */
static bool virt_by_files(int rootfd, struct wp_pool *pool, struct wp_virt *v)
{
	static const struct {
		const char *path, *contains, *name;
	} files[] = {
		{ "sys/hypervisor/type", "xen", "Xen" },
		{ "proc/device-tree/hypervisor/compatible", "linux,kvm", "KVM" },
		{ "proc/device-tree/hypervisor/compatible", "xen", "Xen" },
		{ "proc/device-tree/ibm,partition-name", "", "PowerVM partition" },
		{ "sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock",
		  "KVM" },
		{ "sys/devices/system/clocksource/clocksource0/available_clocksource",
		  "hyperv_clocksource", "Hyper-V" },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(files); i++) {
		struct wp_maybe_text t = wp_read_text(rootfd, pool, "%s", files[i].path);

		if (t.state != WP_VALUE || !strstr(t.v, files[i].contains))
			continue;
		v->kind = WP_VIRT_VM;
		v->name = wp_some_text(files[i].name);
		v->evidence = wp_some_text(wp_pool_printf(pool, "/%s", files[i].path));
		return true;
	}
	return false;
}

/* s390: "VM00 Control Program: KVM/Linux" in proc/sysinfo. */
static bool virt_by_sysinfo(int rootfd, struct wp_pool *pool, struct wp_virt *v)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(CGROUP_BYTES);
	struct wp_text rest, line, key, value;
	char name[64];

	if (wp_read_file_at(rootfd, "proc/sysinfo", &b))
		return false;
	rest = wp_text(wp_buf_text(&b), b.len);
	while (wp_text_line(&rest, &line)) {
		if (!wp_text_split(line, ':', &key, &value) ||
		    !wp_text_is(key, "VM00 Control Program"))
			continue;
		wp_text_copy(value, name, sizeof(name));
		v->kind = WP_VIRT_VM;
		v->name = wp_some_text(wp_pool_strdup(pool, name));
		v->evidence = wp_some_text("/proc/sysinfo");
		return true;
	}
	return false;
}

static void read_virt(int rootfd, const struct wp_cpuinfo *ci, struct wp_pool *pool,
		      struct wp_virt *v)
{
	const char *dmi = wp_virt_from_dmi(v->vendor.v, v->product.v);
	bool x86 = ci && ci->has_flags;

	if (x86 && !(ci->flags & WP_CPUINFO_HYPERVISOR) &&
	    !wp_path_exists(rootfd, "sys/hypervisor/type")) {
		v->kind = WP_VIRT_NONE;
		v->evidence = wp_some_text("no hypervisor flag in /proc/cpuinfo");
		v->name = wp_no_text("no hypervisor");
		return;
	}
	if (x86 && ci->flags & WP_CPUINFO_HYPERVISOR) {
		v->kind = WP_VIRT_VM;
		v->evidence = wp_some_text("hypervisor flag in /proc/cpuinfo");
		v->name = wp_some_text("a hypervisor without a name");
	}
	if (dmi) {
		v->kind = WP_VIRT_VM;
		v->name = wp_some_text(dmi);
		if (v->evidence.state != WP_VALUE)
			v->evidence = wp_some_text("DMI product and vendor");
		return;
	}
	if (virt_by_files(rootfd, pool, v) || virt_by_sysinfo(rootfd, pool, v))
		return;
	if (v->kind == WP_VIRT_UNKNOWN) {
		v->evidence = wp_no_text("neither CPU flags, DMI, device tree nor clock sources "
					 "of a known hypervisor");
		v->name = v->evidence;
	}
}

const char *wp_container_from_cgroup(const char *text, size_t len)
{
	static const struct {
		const char *word, *name;
	} signs[] = {
		{ "kubepods", "kubernetes" },
		{ "libpod", "podman" },
		{ "docker", "docker" },
		{ "/lxc", "lxc" },
		{ "lxc.payload", "lxc" },
		{ "cri-containerd", "containerd" },
		{ "machine.slice/systemd-nspawn", "systemd-nspawn" },
		{ "garden", "garden" },
	};
	struct wp_text t = wp_text(text, len);

	for (size_t i = 0; i < WP_ARRAY_SIZE(signs); i++)
		if (wp_text_find(t, signs[i].word))
			return signs[i].name;
	return NULL;
}

static void container_is(struct wp_virt *v, const char *name, const char *evidence)
{
	v->container = wp_some_text(name);
	v->container_evidence = wp_some_text(evidence);
}

static void read_container(int rootfd, struct wp_pool *pool, struct wp_virt *v)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(CGROUP_BYTES);
	struct wp_maybe_text manager = wp_read_text(rootfd, pool, "run/systemd/container");
	struct wp_maybe_text version = wp_read_text(rootfd, pool, "proc/version");
	const char *name;

	if (manager.state == WP_VALUE && manager.v[0]) {
		container_is(v, manager.v, "/run/systemd/container");
	} else if (wp_path_exists(rootfd, ".dockerenv")) {
		container_is(v, "docker", "/.dockerenv");
	} else if (wp_path_exists(rootfd, "run/.containerenv")) {
		container_is(v, "podman", "/run/.containerenv");
	} else if (version.state == WP_VALUE &&
		   strstr(version.v, "Linux version 4.4.0 #1 SMP Sun Jan "
				     "10 15:06:54 PST 2016")) {
		container_is(v, "gVisor", "/proc/version"); /* the one text it always shows */
	} else if (!wp_read_file_at(rootfd, "proc/1/cgroup", &b) &&
		   (name = wp_container_from_cgroup(wp_buf_text(&b), b.len))) {
		container_is(v, name, "/proc/1/cgroup");
	} else {
		v->container = wp_no_text("no sign of a container");
		v->container_evidence = v->container;
	}
}

/* mountinfo: "36 35 98:0 /root /mount/point options [optional...] - fstype source superoptions". */
static bool mount_fields(struct wp_text line, struct wp_text *ret_point, struct wp_text *ret_type)
{
	struct wp_text word;
	bool behind = false, have_point = false;

	for (int i = 0; wp_text_word(&line, &word); i++) {
		if (i == 4) {
			*ret_point = word;
			have_point = true;
		}
		if (behind) {
			*ret_type = word;
			return have_point;
		}
		behind = i > 4 && wp_text_is(word, "-");
	}
	return false;
}

int wp_mounts_over_proc(const char *text, size_t len, char *out, size_t size)
{
	struct wp_text rest = wp_text(text, len), line, point = rest, type = rest;
	size_t at = 0;

	while (wp_text_line(&rest, &line)) {
		char name[96];
		int n;

		if (!mount_fields(line, &point, &type) || !wp_text_starts(point, "/proc/"))
			continue;
		/* Runtimes mask files by tmpfs and /dev/null and make sysctls read-only by binding proc on
		 * itself: that hides, but does not fake. */
		if (wp_text_is(type, "proc") || wp_text_is(type, "tmpfs") ||
		    wp_text_is(type, "devtmpfs") || wp_text_is(type, "binfmt_misc") ||
		    wp_text_is(type, "autofs") || wp_text_is(type, "nfsd"))
			continue;
		wp_text_copy(point, name, sizeof(name));
		n = snprintf(out + at, size - at, "%s%s", at ? ", " : "", name);
		if (n < 0 || (size_t)n >= size - at)
			break;
		at += (size_t)n;
	}
	return at ? 0 : -ENODATA;
}

static void read_faked(int rootfd, struct wp_pool *pool, struct wp_virt *v)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(MOUNTINFO_BYTES);
	int r = wp_read_file_at(rootfd, "proc/self/mountinfo", &b);
	char points[512];

	if (r)
		v->proc_faked = wp_no_text(wp_why(pool, r, "proc/self/mountinfo"));
	else if (!wp_mounts_over_proc(wp_buf_text(&b), b.len, points, sizeof(points)))
		v->proc_faked = wp_some_text(wp_pool_strdup(pool, points));
	else
		v->proc_faked = wp_no_text("nothing is mounted over files of /proc");
}

void wp_virt_read(int rootfd, const struct wp_cpuinfo *cpuinfo, struct wp_pool *pool,
		  struct wp_virt *ret)
{
	struct wp_virt v = { .kind = WP_VIRT_UNKNOWN };

	v.vendor = wp_read_text(rootfd, pool, "sys/class/dmi/id/sys_vendor");
	v.product = wp_read_text(rootfd, pool, "sys/class/dmi/id/product_name");
	read_virt(rootfd, cpuinfo, pool, &v);
	read_container(rootfd, pool, &v);
	read_faked(rootfd, pool, &v);
	*ret = v;
}
