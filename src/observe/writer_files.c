/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer_files.c - the files of one look at the writing thread and its machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "observe/writer_reading.h"
#include "sys/sched.h"
#include "sys/text.h"
#include "sys/virt.h"

#define QUOTA_POOL_BYTES (64u << 10)
#define US_NS            1000

/* Where the throttled time of the group that sets a CPU quota stands, if there is one. */
static void open_quota(struct wp_writer_files *f, int root)
{
	static const char *const mounts[] = { "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct",
					      "sys/fs/cgroup" };
	struct wp_pool pool = WP_POOL(QUOTA_POOL_BYTES);
	struct wp_cpu_quota quota;

	f->quota.fd = -1;
	wp_cpu_quota_read(root, &pool, &quota);
	for (size_t i = 0; quota.cpus_ppm.state == WP_VALUE && quota.group.state == WP_VALUE &&
			   f->quota.fd < 0 && i < WP_ARRAY_SIZE(mounts);
	     i++) {
		char path[WP_PATH_MAX];

		snprintf(path, sizeof(path), "%s%s/cpu.stat", mounts[i], quota.group.v);
		f->quota_is_v1 = i < 2;
		if (wp_procfile_open(&f->quota, root, path))
			wp_procfile_done(&f->quota);
	}
	wp_pool_done(&pool);
}

void wp_writer_files_open(struct wp_writer_files *f, pid_t thread)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct {
		struct wp_procfile *file;
		const char *path;
	} wanted[] = {
		{ &f->cpus, "proc/stat" },
		{ &f->io, "proc/pressure/io" },
		{ &f->memory, "proc/pressure/memory" },
		{ &f->meminfo, "proc/meminfo" },
	};
	long hz = sysconf(_SC_CLK_TCK);
	char path[64];

	*f = (struct wp_writer_files) { .tick_ns = WP_NS_PER_S / (hz > 0 ? hz : 100) };
	f->own_schedstat.fd = -1;
	snprintf(path, sizeof(path), "proc/self/task/%d/stat", (int)thread);
	(void)wp_procfile_open(&f->stat, root, path);
	snprintf(path, sizeof(path), "proc/self/task/%d/wchan", (int)thread);
	(void)wp_procfile_open(&f->wchan, root, path);
	for (size_t i = 0; i < WP_ARRAY_SIZE(wanted); i++)
		(void)wp_procfile_open(wanted[i].file, root, wanted[i].path);
	open_quota(f, root);
}

void wp_writer_files_open_own(struct wp_writer_files *f)
{
	(void)wp_procfile_open(&f->own_schedstat, AT_FDCWD, "/proc/thread-self/schedstat");
}

int64_t wp_writer_files_own_delay(struct wp_writer_files *f)
{
	struct wp_thread_sched s;

	if (wp_procfile_read(&f->own_schedstat) ||
	    wp_thread_sched_parse(wp_buf_text(&f->own_schedstat.text), f->own_schedstat.text.len,
				  &s))
		return -1;
	return (int64_t)s.wait_ns;
}

static void read_thread(struct wp_writer_files *f, struct wp_writer_reading *r)
{
	struct wp_thread_stat stat;

	r->state = 0;
	r->cpu = -1;
	r->waited_in[0] = '\0';
	if (wp_procfile_read(&f->stat) ||
	    wp_thread_stat_parse(wp_buf_text(&f->stat.text), f->stat.text.len, &stat))
		return;
	r->state = stat.state;
	r->cpu = stat.cpu;
	if (stat.state != 'R' && !wp_procfile_read(&f->wchan))
		wp_wchan_text(wp_buf_text(&f->wchan.text), f->wchan.text.len, r->waited_in,
			      sizeof(r->waited_in));
}

static int64_t ticks_between(const struct wp_cpu_ticks *a, const struct wp_cpu_ticks *b,
			     enum wp_cpu_column column)
{
	return b->ticks[column] > a->ticks[column] ? (int64_t)(b->ticks[column] - a->ticks[column])
						   : 0;
}

/* Adds the step of the CPU that the thread is on. */
static void read_cpu(struct wp_writer_files *f, struct wp_writer_reading *r)
{
	const struct wp_cpu_ticks *a, *b;
	struct wp_proc_stat *now = &f->cpu_ticks[!f->newest];

	if (wp_procfile_read(&f->cpus) ||
	    wp_proc_stat_parse(wp_buf_text(&f->cpus.text), f->cpus.text.len, now, NULL)) {
		r->steal_ns = r->irq_ns = r->softirq_ns = -1;
		return;
	}
	a = f->has_ticks ? wp_proc_stat_cpu(&f->cpu_ticks[f->newest], r->cpu) : NULL;
	b = wp_proc_stat_cpu(now, r->cpu);
	f->newest = !f->newest;
	f->has_ticks = true;
	if (!a || !b)
		return;
	if (b->columns > WP_CPU_STEAL)
		r->steal_ns += f->tick_ns * ticks_between(a, b, WP_CPU_STEAL);
	r->irq_ns += f->tick_ns * ticks_between(a, b, WP_CPU_IRQ);
	r->softirq_ns += f->tick_ns * ticks_between(a, b, WP_CPU_SOFTIRQ);
}

static int64_t pressure_ns(struct wp_procfile *file)
{
	struct wp_pressure p;

	if (wp_procfile_read(file) ||
	    wp_pressure_parse(wp_buf_text(&file->text), file->text.len, &p) || !p.has_some)
		return -1;
	return (int64_t)p.some_us * US_NS;
}

/* "Dirty:   123 kB" */
static int64_t meminfo_bytes(const struct wp_procfile *file, const char *label)
{
	struct wp_text rest = wp_text(wp_buf_text(&file->text), file->text.len), line, word;
	uint64_t kb;

	while (wp_text_line(&rest, &line))
		if (wp_text_eat(&line, label) && wp_text_word(&line, &word) &&
		    !wp_text_u64(word, &kb) && kb <= INT64_MAX / 1024)
			return (int64_t)kb * 1024;
	return -1;
}

static void read_machine(struct wp_writer_files *f, struct wp_writer_reading *r)
{
	r->io_ns = pressure_ns(&f->io);
	r->memory_ns = pressure_ns(&f->memory);
	r->dirty_bytes = r->writeback_bytes = -1;
	if (wp_procfile_read(&f->meminfo))
		return;
	r->dirty_bytes = meminfo_bytes(&f->meminfo, "Dirty:");
	r->writeback_bytes = meminfo_bytes(&f->meminfo, "Writeback:");
}

static int64_t throttled_ns(struct wp_writer_files *f)
{
	uint64_t v;

	if (f->quota.fd < 0 || wp_procfile_read(&f->quota) ||
	    wp_cpu_stat_get(wp_buf_text(&f->quota.text), f->quota.text.len,
			    f->quota_is_v1 ? "throttled_time" : "throttled_usec", &v))
		return -1;
	return (int64_t)(f->quota_is_v1 ? v : v * US_NS);
}

void wp_writer_files_read(struct wp_writer_files *f, const struct wp_writer_reading *last,
			  bool machine_too, struct wp_writer_reading *r)
{
	read_thread(f, r);
	if (last) {
		r->steal_ns = last->steal_ns;
		r->irq_ns = last->irq_ns;
		r->softirq_ns = last->softirq_ns;
		r->io_ns = last->io_ns;
		r->memory_ns = last->memory_ns;
		r->dirty_bytes = last->dirty_bytes;
		r->writeback_bytes = last->writeback_bytes;
	}
	if (!last || last->irq_ns >= 0)
		read_cpu(f, r);
	r->throttled_ns = throttled_ns(f);
	if (!last || machine_too)
		read_machine(f, r);
}

void wp_writer_files_done(struct wp_writer_files *f)
{
	struct wp_procfile *const files[] = {
		&f->stat,   &f->wchan,   &f->cpus,  &f->io,
		&f->memory, &f->meminfo, &f->quota, &f->own_schedstat
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(files); i++)
		wp_procfile_done(files[i]);
	wp_proc_stat_done(&f->cpu_ticks[0]);
	wp_proc_stat_done(&f->cpu_ticks[1]);
}
