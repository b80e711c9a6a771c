/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/cpu_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "sys/grow.h"
#include "sys/sched.h"

#define TEXT_BYTES 1024 /* stat has 52 numbers and a name */
#define PATH_BYTES 64

int wp_cpu_tasks_open(struct wp_cpu_tasks *t, int root)
{
	int fd = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*t = (struct wp_cpu_tasks) { 0 };
	if (fd < 0)
		return -errno;
	t->proc = fdopendir(fd);
	if (!t->proc) {
		wp_close_p(&fd);
		return -ENOMEM;
	}
	return 0;
}

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0
		       ? 0
		       : (int64_t)t.tv_sec * WP_NS_PER_S + t.tv_nsec;
}

static ssize_t read_text(int dir, const char *path, char *out, size_t size)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size);

	return n;
}

/* One task by the folder of its files: "12", "12/task/13". 1 = it is a process of several threads, and not kept. */
static int read_task(struct wp_cpu_tasks *t, const char *folder, int pid, bool process)
{
	struct wp_task_list *l = &t->now;
	char path[PATH_BYTES], text[TEXT_BYTES];
	struct wp_thread_sched sched = { 0 };
	struct wp_thread_stat stat;
	int proc = dirfd(t->proc);
	ssize_t n;

	snprintf(path, sizeof(path), "%s/stat", folder);
	n = read_text(proc, path, text, sizeof(text));
	if (n <= 0 || wp_thread_stat_parse(text, (size_t)n, &stat))
		return -ESRCH;
	if (process && stat.threads > 1)
		return 1;
	snprintf(path, sizeof(path), "%s/schedstat", folder);
	n = read_text(proc, path, text, sizeof(text));
	if (n <= 0 || wp_thread_sched_parse(text, (size_t)n, &sched))
		return -ESRCH;
	if (WP_GROW(l->v, l->cap, l->n + 1, WP_CPU_TASKS_MAX) < 0)
		return -ENOMEM;
	l->v[l->n] = (struct wp_task_run) {
		.tid = stat.tid, .pid = pid, .cpu = stat.cpu, .run_ns = sched.run_ns
	};
	snprintf(l->v[l->n++].name, sizeof(l->v->name), "%.15s", stat.name);
	return 0;
}

static bool number_of(const char *name, int *ret)
{
	int64_t v;

	if (name[0] < '0' || name[0] > '9' || wp_parse_i64(name, &v) || v > INT32_MAX)
		return false;
	*ret = (int)v;
	return true;
}

static int read_threads(struct wp_cpu_tasks *t, int pid)
{
	char path[PATH_BYTES];
	int fd, tid, r = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(dirfd(t->proc), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		wp_close_p(&fd);
		return 0;
	}
	for (struct dirent *e; r != -ENOMEM && t->now.n < WP_CPU_TASKS_MAX && (e = readdir(dir));) {
		if (!number_of(e->d_name, &tid))
			continue;
		snprintf(path, sizeof(path), "%d/task/%d", pid, tid);
		r = read_task(t, path, pid, false);
	}
	closedir(dir);
	return r == -ENOMEM ? r : 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct wp_task_run *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int wp_cpu_tasks_read(struct wp_cpu_tasks *t)
{
	struct wp_task_list old = t->before;
	int64_t start_ns = wp_now_ns(), cpu_ns = thread_cpu_ns();
	int pid, r = 0;

	if (!t->proc)
		return -ENOENT;
	t->before = t->now;
	t->now = old;
	t->now.n = 0;
	rewinddir(t->proc);
	for (struct dirent *e;
	     r != -ENOMEM && t->now.n < WP_CPU_TASKS_MAX && (e = readdir(t->proc));) {
		char folder[PATH_BYTES];

		if (!number_of(e->d_name, &pid))
			continue;
		snprintf(folder, sizeof(folder), "%d", pid);
		r = read_task(t, folder, pid, true); /* -ESRCH: it has ended */
		if (r > 0)
			r = read_threads(t, pid);
	}
	if (t->now.n)
		qsort(t->now.v, t->now.n, sizeof(*t->now.v), by_tid);
	t->now.read_ns = start_ns + (wp_now_ns() - start_ns) / 2;
	t->cost_ns = thread_cpu_ns() - cpu_ns;
	return r == -ENOMEM ? r : 0;
}

static const struct wp_task_run *find(const struct wp_task_list *l, int tid)
{
	const struct wp_task_run key = { .tid = tid };

	return l->n ? bsearch(&key, l->v, l->n, sizeof(*l->v), by_tid) : NULL;
}

static double share_pct(uint64_t ns, int64_t of_ns)
{
	double pct = 100.0 * (double)ns / (double)of_ns;

	return pct > 100 ? 100 : pct;
}

bool wp_cpu_tasks_most(const struct wp_cpu_tasks *t, int cpu, int not_tid, struct wp_task_run *ret,
		       double *ret_pct, double *ret_all_pct)
{
	int64_t between_ns = t->now.read_ns - t->before.read_ns;
	uint64_t most = 0, all = 0;

	if (!t->before.read_ns || between_ns <= 0)
		return false;
	for (size_t i = 0; i < t->now.n; i++) {
		const struct wp_task_run *task = &t->now.v[i], *old;
		uint64_t ran = task->run_ns;

		if (task->cpu != cpu || task->tid == not_tid)
			continue;
		old = find(&t->before, task->tid);
		if (old && old->run_ns <= ran) /* else the number was given to a new task */
			ran -= old->run_ns;
		all += ran;
		if (ran <= most)
			continue;
		most = ran;
		*ret = *task;
		ret->run_ns = ran;
	}
	*ret_pct = share_pct(most, between_ns);
	*ret_all_pct = share_pct(all, between_ns);
	return most > 0;
}

void wp_cpu_tasks_done(struct wp_cpu_tasks *t)
{
	if (!t)
		return;
	if (t->proc)
		closedir(t->proc);
	free(t->now.v);
	free(t->before.v);
	*t = (struct wp_cpu_tasks) { 0 };
}
