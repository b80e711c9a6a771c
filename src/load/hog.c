/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/hog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define LOOK_EVERY 4096 /* turns between two looks at the flag: microseconds */

struct hog {
	struct wp_hogs *all;
	pthread_t thread;
	int cpu;
	bool created;
	int64_t cpu_ns;
};

struct wp_hogs {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t n_ready;
	int status; /* first failure */
	int failed_cpu;
	_Atomic bool stop;
	bool stopped;
	size_t n;
	struct hog hog[];
};

static void burn(const _Atomic bool *stop)
{
	volatile unsigned turn = 0;

	while (!atomic_load_explicit(stop, memory_order_relaxed))
		for (unsigned i = 0; i < LOOK_EVERY; i++)
			turn = turn + 1;
}

static void *hog_main(void *arg)
{
	struct hog *h = arg;
	struct wp_hogs *all = h->all;
	struct timespec t;
	int r = wp_pin_self(h->cpu);

	pthread_setname_np(pthread_self(), "wp-hog");
	pthread_mutex_lock(&all->lock);
	if (r < 0 && !all->status) {
		all->status = r;
		all->failed_cpu = h->cpu;
	}
	all->n_ready++;
	pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->lock);
	if (r < 0)
		return NULL;
	burn(&all->stop);
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		h->cpu_ns = t.tv_sec * WP_NS_PER_S + t.tv_nsec;
	return NULL;
}

int wp_hogs_start(const struct wp_cpulist *cpus, struct wp_hogs **ret, struct wp_err *err)
{
	struct wp_hogs *h = calloc(1, sizeof(*h) + cpus->n * sizeof(h->hog[0]));
	sigset_t all, old;
	int r = 0;

	if (!h)
		return wp_err_sys(err, -ENOMEM, "cannot start the --hog threads");
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; h->n < cpus->n && !r; h->n++) {
		struct hog *one = &h->hog[h->n];

		one->all = h;
		one->cpu = cpus->cpu[h->n];
		r = -pthread_create(&one->thread, NULL, hog_main, one);
		one->created = !r;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		wp_hogs_free(h);
		return wp_err_sys(err, r, "cannot start a --hog thread");
	}
	pthread_mutex_lock(&h->lock);
	while (h->n_ready < h->n)
		pthread_cond_wait(&h->changed, &h->lock);
	r = h->status;
	pthread_mutex_unlock(&h->lock);
	if (r) {
		wp_err_sys(err, r, "cannot run a --hog thread on CPU %d", h->failed_cpu);
		wp_hogs_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void wp_hogs_stop(struct wp_hogs *h)
{
	if (!h || h->stopped)
		return;
	atomic_store(&h->stop, true);
	for (size_t i = 0; i < h->n; i++)
		if (h->hog[i].created)
			pthread_join(h->hog[i].thread, NULL);
	h->stopped = true;
}

int64_t wp_hogs_cpu_ns(const struct wp_hogs *h)
{
	int64_t sum = 0;

	for (size_t i = 0; i < h->n; i++)
		sum += h->hog[i].cpu_ns;
	return sum;
}

void wp_hogs_free(struct wp_hogs *h)
{
	if (!h)
		return;
	wp_hogs_stop(h);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
