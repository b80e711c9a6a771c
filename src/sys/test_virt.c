/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/virt.h"

struct fixture {
	struct wp_pool pool;
	struct wp_virt virt;
	struct wp_cpu_quota quota;
	struct wp_daemons daemons;
};

static struct fixture read_root(const char *name)
{
	struct fixture f = { .pool = WP_POOL(1u << 20) };
	struct wp_cpuinfo ci = { 0 };
	struct wp_buf b = WP_BUF(1u << 20);
	int fd = wp_test_root(name);
	int r = wp_read_file_at(fd, "proc/cpuinfo", &b);

	if (!r)
		r = wp_cpuinfo_parse(wp_buf_text(&b), b.len, &ci);
	wp_buf_done(&b);
	wp_virt_read(fd, r ? NULL : &ci, &f.pool, &f.virt);
	wp_cpu_quota_read(fd, &f.pool, &f.quota);
	wp_daemons_read(fd, &f.pool, &f.daemons);
	close(fd);
	return f;
}

static void bare_metal_has_no_flag(void **state)
{
	struct fixture f = read_root("inv-x86-2s");

	(void)state;
	assert_int_equal(f.virt.kind, WP_VIRT_NONE);
	assert_string_equal(f.virt.product.v, "PowerEdge R740");
	assert_int_equal(f.virt.container.state, WP_ABSENT);
	assert_int_equal(f.virt.proc_faked.state, WP_ABSENT);
	assert_int_equal(f.daemons.irqbalance_pid.v, 871);
	assert_int_equal(f.daemons.scanned.v, 2);
	assert_int_equal(f.daemons.tuned_pid.state, WP_ABSENT);
	assert_string_equal(f.quota.cpus_ppm.why, "no quota");
	wp_pool_done(&f.pool);
}

static void vm_is_named_by_dmi(void **state)
{
	struct fixture f = read_root("inv-vm");

	(void)state;
	assert_int_equal(f.virt.kind, WP_VIRT_VM);
	assert_string_equal(f.virt.name.v, "KVM (QEMU)");
	assert_string_equal(f.virt.evidence.v, "hypervisor flag in /proc/cpuinfo");
	assert_string_equal(f.quota.cpus_ppm.why, "no quota"); /* v1: -1 */
	assert_string_equal(f.quota.group.v, "/app");
	assert_int_equal(f.quota.weight.v, 1024);
	assert_string_equal(f.daemons.irqbalance_pid.why, "irqbalance is not running");
	wp_pool_done(&f.pool);
}

static void container_is_told_by_its_traces(void **state)
{
	struct fixture f = read_root("inv-container");

	(void)state;
	assert_string_equal(f.virt.container.v, "docker");
	assert_string_equal(f.virt.container_evidence.v, "/.dockerenv");
	assert_string_equal(f.virt.proc_faked.v, "/proc/cpuinfo, /proc/stat");
	assert_int_equal(f.quota.cpus_ppm.v, 1500000);
	assert_int_equal(f.quota.periods.v, 5000);
	assert_int_equal(f.quota.throttled_periods.v, 410);
	wp_pool_done(&f.pool);
}

static void arm_without_dmi_is_unknown(void **state)
{
	struct fixture f = read_root("inv-arm64");

	(void)state;
	assert_int_equal(f.virt.kind, WP_VIRT_UNKNOWN);
	assert_non_null(f.virt.name.why);
	assert_string_equal(f.quota.cpus_ppm.why, "/proc/self/cgroup does not exist");
	wp_pool_done(&f.pool);
}

static void dmi_texts(void **state)
{
	(void)state;
	assert_string_equal(wp_virt_from_dmi("Microsoft Corporation", "Virtual Machine"),
			    "Hyper-V");
	assert_string_equal(wp_virt_from_dmi("VMware, Inc.", "VMware7,1"), "VMware");
	assert_string_equal(wp_virt_from_dmi("Amazon EC2", "c5.large"), "Amazon EC2");
	assert_null(wp_virt_from_dmi("Amazon EC2", "c5.metal"));
	assert_null(wp_virt_from_dmi("Dell Inc.", "PowerEdge"));
	assert_null(wp_virt_from_dmi(NULL, NULL));
}

static void cgroup_paths(void **state)
{
	static const char text[] =
		"9:name=systemd:/\n2:cpuacct,cpu:/a:b/c\n1:cpuset:/set\n0::/v2\n";
	char out[32];

	(void)state;
	assert_int_equal(wp_cgroup_path(text, sizeof(text) - 1, "cpu", out, sizeof(out)), 0);
	assert_string_equal(out, "/a:b/c");
	assert_int_equal(wp_cgroup_path(text, sizeof(text) - 1, "", out, sizeof(out)), 0);
	assert_string_equal(out, "/v2");
	assert_int_equal(wp_cgroup_path(text, sizeof(text) - 1, "memory", out, sizeof(out)),
			 -ENODATA);
	assert_int_equal(wp_cgroup_path(text, sizeof(text) - 1, "cpu", out, 4), -ENAMETOOLONG);
}

static void quotas(void **state)
{
	int64_t ppm = 0;

	(void)state;
	assert_int_equal(wp_cpu_max_parse("50000 100000\n", 13, &ppm), 0);
	assert_int_equal(ppm, 500000);
	assert_int_equal(wp_cpu_max_parse("max 100000", 10, &ppm), 0);
	assert_int_equal(ppm, -1);
	assert_int_equal(wp_cpu_max_parse("50000 0", 7, &ppm), -EINVAL);
	assert_int_equal(wp_cpu_max_parse("50000", 5, &ppm), -EINVAL);
	assert_int_equal(wp_cpu_max_parse("", 0, &ppm), -EINVAL);
	assert_int_equal(wp_cpu_max_parse("9223372036854775807 1", 21, &ppm), -EINVAL);
}

static void container_managers(void **state)
{
	static const char k8s[] = "0::/kubepods.slice/kubepods-besteffort.slice/x\n";

	(void)state;
	assert_string_equal(wp_container_from_cgroup(k8s, sizeof(k8s) - 1), "kubernetes");
	assert_string_equal(wp_container_from_cgroup("1:cpu:/lxc/web1\n", 16), "lxc");
	assert_null(wp_container_from_cgroup("0::/init.scope\n", 15));
	assert_null(wp_container_from_cgroup("", 0));
}

static void masks_over_proc_are_no_fakes(void **state)
{
	static const char text[] = "1 2 0:5 /null /proc/kcore rw - tmpfs tmpfs rw\n"
				   "1 2 0:5 / /procession rw - ext4 x rw\n"
				   "1 2 0:5 / /proc/stat rw shared:1 master:2 - fuse.lxcfs x rw\n"
				   "short line\n";
	char out[64];

	(void)state;
	assert_int_equal(wp_mounts_over_proc(text, sizeof(text) - 1, out, sizeof(out)), 0);
	assert_string_equal(out, "/proc/stat");
	assert_int_equal(wp_mounts_over_proc(text, 46, out, sizeof(out)), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bare_metal_has_no_flag),
		cmocka_unit_test(vm_is_named_by_dmi),
		cmocka_unit_test(container_is_told_by_its_traces),
		cmocka_unit_test(arm_without_dmi_is_unknown),
		cmocka_unit_test(dmi_texts),
		cmocka_unit_test(cgroup_paths),
		cmocka_unit_test(quotas),
		cmocka_unit_test(container_managers),
		cmocka_unit_test(masks_over_proc_are_no_fakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
