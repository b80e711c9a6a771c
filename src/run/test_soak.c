/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/soak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void host(struct wp_host *h, double mib, double fds, double threads)
{
	h->role = "server";
	h->soak_rss_base_bytes = wp_num(10 << 20);
	h->soak_rss_end_bytes = wp_num(mib * (1 << 20));
	h->soak_fds_base = wp_num(40);
	h->soak_fds_end = wp_num(fds);
	h->soak_threads_base = wp_num(5);
	h->soak_threads_end = wp_num(threads);
}

static void what_grows_is_named(void **state)
{
	static const struct {
		double mib, fds, threads;
		size_t warnings;
		const char *says;
	} cases[] = {
		{ 10, 40, 5, 0, NULL },
		{ 13, 47, 7, 0, NULL }, /* less than 4 MiB, 8 files, 2 threads */
		{ 9, 30, 2, 0, NULL },
		{ 15, 40, 5, 1, "grew on the server: 10.0 MiB of memory after the first tenth" },
		{ 10, 60, 5, 1,
		  "more files on the server: 40 after the first tenth of the run, 60" },
		{ 10, 40, 9, 1,
		  "more threads on the server: 5 after the first tenth of the run, 9" },
		{ 99, 99, 99, 3, "memory" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_run run;

		wp_run_init(&run);
		run.n_hosts = 2; /* the first has no such figures */
		host(&run.hosts[1], cases[i].mib, cases[i].fds, cases[i].threads);
		wp_run_soak(&run);
		assert_int_equal(run.n_warnings, cases[i].warnings);
		if (cases[i].says)
			assert_non_null(strstr(run.warnings[0], cases[i].says));
		wp_run_done(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_grows_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
