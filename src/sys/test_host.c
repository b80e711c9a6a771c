/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/host.h"

struct fixture {
	struct wp_pool pool;
	struct wp_sys_host host;
};

static struct fixture read_root(const char *name)
{
	struct fixture f = { .pool = WP_POOL(1u << 20) };
	int fd = wp_test_root(name);

	wp_sys_host_read(fd, false, &f.pool, &f.host);
	close(fd);
	return f;
}

static void kernel_parameters_are_found_by_name(void **state)
{
	static const char line[] = "ro tsc=reliable quiet tsc=unstable nohz -- tsc=late init=/x";
	char out[32];

	(void)state;
	assert_int_equal(wp_cmdline_get(line, "tsc", out, sizeof(out)), 0);
	assert_string_equal(out, "unstable");
	assert_int_equal(wp_cmdline_get(line, "nohz", out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(wp_cmdline_get(line, "init", out, sizeof(out)), -ENOENT);
	assert_int_equal(wp_cmdline_get(line, "qui", out, sizeof(out)), -ENOENT);
}

static void distribution_name_is_unquoted(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		  "Debian GNU/Linux 12 (bookworm)" },
		{ "NAME='Alpine Linux'\nVERSION_ID=3.19.1\n", "Alpine Linux 3.19.1" },
		{ "PRETTY_NAME=\"A \\\"quoted\\\" \\$x\"\n", "A \"quoted\" $x" },
		{ "NAME=Void\n", "Void" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			wp_os_release_parse(cases[i].text, strlen(cases[i].text), out, sizeof(out)),
			0);
		assert_string_equal(out, cases[i].name);
	}
	assert_int_equal(wp_os_release_parse("ID=x\n", 5, out, sizeof(out)), -ENODATA);
}

static void meminfo_is_in_bytes(void **state)
{
	static const char text[] = "MemTotal:        4028440 kB\nHugePages_Total:       3\n"
				   "Bad:  kB\nHuge: 18446744073709551615 kB\n";
	uint64_t v = 0;

	(void)state;
	assert_int_equal(wp_meminfo_get(text, sizeof(text) - 1, "MemTotal", &v), 0);
	assert_int_equal(v, 4028440ull * 1024);
	assert_int_equal(wp_meminfo_get(text, sizeof(text) - 1, "HugePages_Total", &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(wp_meminfo_get(text, sizeof(text) - 1, "Mem", &v), -ENODATA);
	assert_int_equal(wp_meminfo_get(text, sizeof(text) - 1, "Bad", &v), -EINVAL);
	assert_int_equal(wp_meminfo_get(text, sizeof(text) - 1, "Huge", &v), -ERANGE);
}

static void bracketed_word_is_the_choice(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(wp_bracketed("always [madvise] never", 22, out, sizeof(out)), 0);
	assert_string_equal(out, "madvise");
	assert_int_equal(wp_bracketed("always", 6, out, sizeof(out)), -ENODATA);
	assert_int_equal(wp_bracketed("[always", 7, out, sizeof(out)), -ENODATA);
}

static void preemption_model_is_in_the_version(void **state)
{
	(void)state;
	assert_string_equal(wp_preemption_of("#1 SMP PREEMPT_DYNAMIC Debian"), "PREEMPT_DYNAMIC");
	assert_string_equal(wp_preemption_of("#1 SMP PREEMPT_RT Debian"), "PREEMPT_RT");
	assert_string_equal(wp_preemption_of("#2 SMP PREEMPT Thu"), "PREEMPT");
	assert_string_equal(wp_preemption_of("#2 SMP Thu"), "none or voluntary");
}

static void server_tree_is_read(void **state)
{
	struct fixture f = read_root("inv-x86-2s");

	(void)state;
	assert_string_equal(f.host.hostname.v, "rack7");
	assert_string_equal(f.host.release.v, "6.1.0-18-amd64");
	assert_string_equal(f.host.os.v, "Debian GNU/Linux 12 (bookworm)");
	assert_string_equal(f.host.preemption.v, "PREEMPT_DYNAMIC");
	assert_string_equal(f.host.isolated.v, "3,7");
	assert_string_equal(f.host.nohz_full.v, ""); /* the file says (null) */
	assert_int_equal(f.host.cpus_online.v, 8);
	assert_string_equal(f.host.clocksource.v, "hpet");
	assert_string_equal(f.host.thp.v, "madvise");
	assert_int_equal(f.host.autogroup.v, 1);
	assert_int_equal(f.host.memory_bytes.v, 65650776ll * 1024);
	assert_string_equal(f.host.arch.v,
			    "x86"); /* 6.1 has no proc/sys/kernel/arch: from cpuinfo */
	assert_null(f.host.cpuinfo_why);
	wp_pool_done(&f.pool);
}

static void old_kernel_is_read_from_proc_version(void **state)
{
	struct fixture f = read_root("inv-old");

	(void)state;
	assert_string_equal(f.host.release.v, "2.6.32-754.el6.x86_64");
	assert_string_equal(f.host.version.v, "#1 SMP Tue Jun 19 21:26:04 UTC 2018");
	assert_string_equal(f.host.hostname.v, "legacy.example.org");
	assert_int_equal(f.host.os.state, WP_ABSENT);
	assert_string_equal(f.host.os.why, "/etc/os-release does not exist");
	assert_int_equal(f.host.isolated.state, WP_ABSENT);
	assert_int_equal(f.host.memory_available_bytes.state, WP_ABSENT);
	assert_string_equal(f.host.memory_available_bytes.why,
			    "/proc/meminfo has no MemAvailable line");
	wp_pool_done(&f.pool);
}

static void empty_tree_is_absent_everywhere(void **state)
{
	struct wp_pool pool = WP_POOL(1u << 20);
	char dir[] = "/tmp/wp-empty-XXXXXX";
	struct wp_sys_host h;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	wp_sys_host_read(fd, false, &pool, &h);
	close(fd);
	rmdir(dir);
	assert_int_equal(h.release.state, WP_ABSENT);
	assert_int_equal(h.cpus_online.state, WP_ABSENT);
	assert_int_equal(h.memory_bytes.state, WP_ABSENT);
	assert_int_equal(h.arch.state, WP_ABSENT);
	assert_non_null(h.cpuinfo_why);
	assert_non_null(h.memory_bytes.why);
	wp_pool_done(&pool);
}

static void live_machine_is_read(void **state)
{
	struct wp_pool pool = WP_POOL(1u << 20);
	struct wp_sys_host h;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	wp_sys_host_read(fd, true, &pool, &h);
	close(fd);
	assert_int_equal(h.release.state, WP_VALUE);
	assert_int_equal(h.hostname.state, WP_VALUE);
	assert_int_equal(h.arch.state, WP_VALUE);
	wp_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_parameters_are_found_by_name),
		cmocka_unit_test(distribution_name_is_unquoted),
		cmocka_unit_test(meminfo_is_in_bytes),
		cmocka_unit_test(bracketed_word_is_the_choice),
		cmocka_unit_test(preemption_model_is_in_the_version),
		cmocka_unit_test(server_tree_is_read),
		cmocka_unit_test(old_kernel_is_read_from_proc_version),
		cmocka_unit_test(empty_tree_is_absent_everywhere),
		cmocka_unit_test(live_machine_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
