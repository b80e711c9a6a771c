/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/topo.h"

static struct wp_topo read_root(const char *name)
{
	struct wp_topo t = { 0 };
	int fd = wp_test_root(name);

	assert_int_equal(wp_topo_read(fd, false, &t, NULL), 0);
	close(fd);
	return t;
}

static void two_sockets_with_smt(void **state)
{
	struct wp_topo t = read_root("inv-x86-2s");
	char text[64];

	(void)state;
	assert_int_equal(t.n, 8);
	assert_int_equal(t.packages, 2);
	assert_int_equal(t.cores, 4);
	assert_int_equal(t.llcs, 2);
	assert_int_equal(t.nodes, 2);
	assert_int_equal(t.threads_per_core_max, 2);
	assert_int_equal(t.llc_level, 3);
	assert_int_equal(t.l1d_bytes, 32 << 10);
	assert_int_equal(t.l2_bytes, 1 << 20);
	assert_int_equal(t.llc_bytes, 22 << 20);
	assert_int_equal(wp_topo_distance(&t, 2, 2), WP_TOPO_SAME);
	assert_int_equal(wp_topo_distance(&t, 0, 4), WP_TOPO_SMT);
	assert_int_equal(wp_topo_distance(&t, 0, 1), WP_TOPO_LLC);
	assert_int_equal(wp_topo_distance(&t, 0, 5), WP_TOPO_LLC);
	assert_int_equal(wp_topo_distance(&t, 0, 2), WP_TOPO_REMOTE);
	assert_int_equal(wp_topo_distance(&t, 0, 8), WP_TOPO_UNKNOWN);
	wp_topo_format_siblings(&t, 5, text, sizeof(text));
	assert_string_equal(text, "1,5");
	wp_topo_format_node(&t, 1, text, sizeof(text));
	assert_string_equal(text, "2-3,6-7");
	wp_topo_done(&t);
}

static void clusters_share_their_second_level(void **state)
{
	struct wp_topo t = read_root("inv-arm64");

	(void)state;
	assert_int_equal(t.cores, 6);
	assert_int_equal(t.llcs, 2);
	assert_int_equal(t.llc_level, 2);
	assert_int_equal(t.nodes, 1);
	assert_int_equal(wp_topo_distance(&t, 0, 3), WP_TOPO_LLC);
	assert_int_equal(wp_topo_distance(&t, 3, 4), WP_TOPO_NODE);
	wp_topo_done(&t);
}

static void masks_serve_where_lists_are_missing(void **state)
{
	struct wp_topo t = read_root("inv-old");

	(void)state;
	assert_true(t.described);
	assert_int_equal(t.cores, 4);
	assert_int_equal(t.llcs, 2);
	assert_int_equal(wp_topo_distance(&t, 2, 3), WP_TOPO_LLC);
	assert_int_equal(wp_topo_distance(&t, 1, 2), WP_TOPO_NODE);
	wp_topo_done(&t);
}

static void undescribed_cpus_have_unknown_distance(void **state)
{
	struct wp_topo t = read_root("big_a"); /* online list only */

	(void)state;
	assert_false(t.described);
	assert_true(t.n > 2);
	assert_int_equal(t.cores, t.n);
	assert_int_equal(t.llcs, 0);
	assert_int_equal(wp_topo_distance(&t, t.cpus[0].cpu, t.cpus[1].cpu), WP_TOPO_UNKNOWN);
	assert_int_equal(wp_topo_distance(&t, t.cpus[1].cpu, t.cpus[1].cpu), WP_TOPO_SAME);
	wp_topo_done(&t);
}

static void tree_without_cpus_says_so(void **state)
{
	struct wp_topo t = { 0 };
	struct wp_err err = { 0 };
	int fd = wp_test_root("gvisor");

	(void)state;
	assert_int_equal(wp_topo_read(fd, false, &t, &err), -ENODATA);
	close(fd);
	assert_non_null(strstr(err.msg, "/sys/devices/system/cpu/online does not exist"));
	assert_null(t.cpus);
}

static void every_distance_has_a_name(void **state)
{
	(void)state;
	for (int d = WP_TOPO_UNKNOWN; d <= WP_TOPO_REMOTE; d++)
		assert_true(strlen(wp_topo_distance_name((enum wp_topo_distance)d)) > 3);
}

/* hwloc and our own reading must agree on this machine. */
static void both_readers_agree_on_the_live_machine(void **state)
{
	struct wp_topo a = { 0 }, b = { 0 };
	struct wp_err err = { 0 };
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	(void)state;
	assert_true(fd >= 0);
	r = wp_topo_read_sysfs(fd, &b, &err);
	close(fd);
	if (r || !b.described) {
		print_message("this machine describes no topology: %s\n", err.msg);
		wp_topo_done(&b);
		skip();
	}
	assert_int_equal(wp_topo_read_hwloc(&a, NULL), 0);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++)
		for (size_t k = 0; k < a.n; k++)
			assert_int_equal(wp_topo_distance(&a, a.cpus[i].cpu, a.cpus[k].cpu),
					 wp_topo_distance(&b, b.cpus[i].cpu, b.cpus[k].cpu));
	assert_int_equal(a.llc_bytes, b.llc_bytes);
	wp_topo_done(&a);
	wp_topo_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sockets_with_smt),
		cmocka_unit_test(clusters_share_their_second_level),
		cmocka_unit_test(masks_serve_where_lists_are_missing),
		cmocka_unit_test(undescribed_cpus_have_unknown_distance),
		cmocka_unit_test(tree_without_cpus_says_so),
		cmocka_unit_test(every_distance_has_a_name),
		cmocka_unit_test(both_readers_agree_on_the_live_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
