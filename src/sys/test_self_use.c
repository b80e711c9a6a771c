/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/self_use.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "sys/testroot.h"

static void *wait_for(void *arg)
{
	sem_wait(arg);
	return NULL;
}

static struct wp_self_use now(void)
{
	struct wp_self_use u = { 0 };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(wp_self_use_read(root, &u), 0);
	close(root);
	return u;
}

static void what_is_opened_and_started_is_seen(void **state)
{
	struct wp_self_use before = now(), after;
	pthread_t thread;
	int fds[2];
	sem_t go;

	(void)state;
	assert_true(before.rss_bytes > 100000);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(sem_init(&go, 0, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, &go), 0);
	after = now();
	assert_int_equal(after.fds, before.fds + 2);
	assert_true(after.threads >= before.threads + 1);
	sem_post(&go);
	pthread_join(thread, NULL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(now().fds, before.fds);
	sem_destroy(&go);
}

static void memory_that_is_used_is_seen(void **state)
{
	const size_t bytes = 32 << 20;
	struct wp_self_use before = now();
	unsigned char *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 1, bytes);
	assert_true(now().rss_bytes > before.rss_bytes + bytes / 2);
	munmap(p, bytes);
}

/* A tree of a machine without /proc/self. */
static void a_tree_without_proc_is_an_error(void **state)
{
	struct wp_self_use u;
	int root = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(wp_self_use_read(root, &u), -ENOENT);
	close(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_opened_and_started_is_seen),
		cmocka_unit_test(memory_that_is_used_is_seen),
		cmocka_unit_test(a_tree_without_proc_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
