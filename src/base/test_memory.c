/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_memory.c - buf.h, pool.h, cleanup.h and err.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/pool.h"

static void buf_appends_and_terminates(void **state)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(1 << 20);

	(void)state;
	assert_string_equal(wp_buf_text(&b), "");
	assert_int_equal(wp_buf_append(&b, NULL, 0), 0);
	assert_int_equal(wp_buf_puts(&b, "ab"), 0);
	assert_int_equal(wp_buf_printf(&b, "%d-%s", 7, "x"), 0);
	assert_string_equal(b.data, "ab7-x");
	assert_int_equal(b.len, 5);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(wp_buf_printf(&b, "%04d", i), 0);
	assert_int_equal(b.len, 5 + 5000 * 4);
	assert_memory_equal(b.data + b.len - 4, "4999", 5);
}

static void buf_keeps_its_limit(void **state)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(5);

	(void)state;
	assert_int_equal(wp_buf_puts(&b, "12345"), 0);
	assert_int_equal(wp_buf_puts(&b, ""), 0);
	assert_int_equal(wp_buf_puts(&b, "6"), -E2BIG);
	assert_string_equal(wp_buf_text(&b), "12345");
	wp_buf_consume(&b, 2);
	assert_int_equal(wp_buf_puts(&b, "x"), -E2BIG); /* sticky */
	assert_int_equal(wp_buf_status(&b), -E2BIG);
	assert_string_equal(wp_buf_text(&b), "345");
	wp_buf_reset(&b);
	assert_int_equal(wp_buf_status(&b), 0);
	assert_int_equal(wp_buf_printf(&b, "%s", "123456"), -E2BIG);
	assert_string_equal(wp_buf_text(&b), "");
	assert_null(wp_buf_reserve(&b, 1));
	wp_buf_done(&b);
	assert_int_equal(b.max, 5);
	assert_int_equal(wp_buf_printf(&b, "%d", 54321), 0);
	assert_string_equal(wp_buf_text(&b), "54321");
}

static void buf_without_room_at_all(void **state)
{
	struct wp_buf none _cleanup_buf_ = WP_BUF(0), endless _cleanup_buf_ = WP_BUF(SIZE_MAX);

	(void)state;
	assert_int_equal(wp_buf_puts(&none, ""), 0);
	assert_int_equal(wp_buf_puts(&none, "x"), -E2BIG);
	assert_int_equal(wp_buf_puts(&endless, "x"), 0);
	assert_null(wp_buf_reserve(&endless, SIZE_MAX));
	assert_int_equal(wp_buf_status(&endless), -E2BIG);
	assert_string_equal(wp_buf_text(&endless), "x");
	wp_buf_done(NULL);
}

static void buf_reserve_and_consume(void **state)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(8000);
	char *at = wp_buf_reserve(&b, 8000);

	(void)state;
	assert_non_null(at);
	memset(at, 'a', 8000);
	b.len += 8000;
	assert_int_equal(strlen(wp_buf_text(&b)), 8000);
	assert_null(wp_buf_reserve(&b, 1));
	wp_buf_reset(&b);
	assert_int_equal(wp_buf_puts(&b, "line one\nrest"), 0);
	wp_buf_consume(&b, 9);
	assert_string_equal(wp_buf_text(&b), "rest");
	wp_buf_consume(&b, 100);
	assert_int_equal(b.len, 0);
}

static void pool_gives_zeroed_aligned_memory(void **state)
{
	static const char zero[4096];
	struct wp_pool p = WP_POOL(1 << 20);
	size_t total = 0;

	(void)state;
	for (size_t n = 0; n < 300; n++) {
		char *m = wp_pool_alloc(&p, n);

		assert_non_null(m);
		assert_int_equal((uintptr_t)m % _Alignof(max_align_t), 0);
		assert_memory_equal(m, zero, n);
		memset(m, 0xff, n);
		total += n;
	}
	assert_true(p.used_bytes >= total);
	wp_pool_done(&p);
	assert_int_equal(p.used_bytes, 0);
	assert_non_null(wp_pool_alloc(&p, 100));
	wp_pool_done(&p);
	wp_pool_done(NULL);
}

static void pool_large_and_small_mixed(void **state)
{
	struct wp_pool p = WP_POOL(64 << 20);
	uint32_t *v[200];

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		size_t n = i % 7 ? 3 + i : 20000 + i * 100;

		v[i] = wp_pool_calloc(&p, n, sizeof(uint32_t));
		assert_non_null(v[i]);
		for (size_t k = 0; k < n; k++)
			v[i][k] = i;
	}
	for (uint32_t i = 0; i < 200; i++)
		assert_true(v[i][0] == i && v[i][2] == i);
	wp_pool_done(&p);
}

static void pool_keeps_its_limit(void **state)
{
	struct wp_pool p = WP_POOL(1000);

	(void)state;
	assert_non_null(wp_pool_alloc(&p, 1000));
	assert_null(wp_pool_alloc(&p, 1));
	wp_pool_done(&p);
	assert_null(wp_pool_alloc(&p, 1001));
	assert_null(wp_pool_alloc(&p, SIZE_MAX));
	assert_null(wp_pool_calloc(&p, SIZE_MAX / 2, 3));
	assert_null(wp_pool_printf(&p, "%2000d", 1));
	assert_non_null(wp_pool_alloc(&p, 10));
	wp_pool_done(&p);
}

static void pool_strings(void **state)
{
	struct wp_pool p = WP_POOL(1 << 16);

	(void)state;
	assert_null(wp_pool_strdup(&p, NULL));
	assert_null(wp_pool_strndup(&p, NULL, 3));
	assert_string_equal(wp_pool_strdup(&p, ""), "");
	assert_string_equal(wp_pool_strdup(&p, "eth0"), "eth0");
	assert_string_equal(wp_pool_strndup(&p, "eth0", 3), "eth");
	assert_string_equal(wp_pool_strndup(&p, "eth0", SIZE_MAX), "eth0");
	assert_string_equal(wp_pool_printf(&p, "cpu%d", 3), "cpu3");
	wp_pool_done(&p);
}

static char *make_and_give(bool give)
{
	_cleanup_free_ char *s = strdup("x");

	return give ? wp_steal_ptr(&s) : NULL;
}

static void cleanup_closes_once_and_steals(void **state)
{
	int raw, kept;
	char *s;

	(void)state;
	{
		_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_cleanup_close_ int other = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0 && other >= 0);
		raw = fd;
		kept = wp_steal_fd(&other);
		assert_int_equal(other, -1);
		errno = ERANGE;
	}
	assert_int_equal(errno, ERANGE);
	assert_int_equal(fcntl(raw, F_GETFD), -1);
	assert_true(fcntl(kept, F_GETFD) >= 0);
	wp_close_p(&kept);
	assert_int_equal(kept, -1);
	wp_close_p(&kept);
	assert_null(make_and_give(false));
	s = make_and_give(true);
	assert_string_equal(s, "x");
	free(s);
}

static void err_first_sentence_wins(void **state)
{
	struct wp_err e = { "" };

	(void)state;
	assert_int_equal(wp_err_set(NULL, -EPERM, "nobody reads %d", 1), -EPERM);
	assert_int_equal(wp_err_sys(NULL, -EPERM, "nobody"), -EPERM);
	wp_err_prefix(&e, "nothing to prefix");
	assert_string_equal(e.msg, "");
	assert_int_equal(wp_err_sys(&e, -ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_string_equal(e.msg, "cannot open x: No such file or directory");
	assert_int_equal(wp_err_set(&e, -EINVAL, "later"), -EINVAL);
	assert_int_equal(wp_err_sys(&e, -EINVAL, "later"), -EINVAL);
	wp_err_prefix(&e, "cpu %d", 3);
	assert_string_equal(e.msg, "cpu 3: cannot open x: No such file or directory");
}

static void err_long_sentences_are_cut(void **state)
{
	char big[2000];
	struct wp_err e = { "" };

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	wp_err_sys(&e, -ENOENT, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	wp_err_prefix(&e, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	wp_err_prefix(&e, "near");
	assert_memory_equal(e.msg, "near: aaa", 9);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_appends_and_terminates),
		cmocka_unit_test(buf_keeps_its_limit),
		cmocka_unit_test(buf_without_room_at_all),
		cmocka_unit_test(buf_reserve_and_consume),
		cmocka_unit_test(pool_gives_zeroed_aligned_memory),
		cmocka_unit_test(pool_large_and_small_mixed),
		cmocka_unit_test(pool_keeps_its_limit),
		cmocka_unit_test(pool_strings),
		cmocka_unit_test(cleanup_closes_once_and_steals),
		cmocka_unit_test(err_first_sentence_wins),
		cmocka_unit_test(err_long_sentences_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
