/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/thread_meter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"

#define STAT_TEXT       1024 /* 52 numbers and a 15-character name are below 700 */
#define STAT_CPU_FIELD  39
#define STAT_NAME_FIELD 2

void wp_thread_meter_init(struct wp_thread_meter *m)
{
	*m = (struct wp_thread_meter) { .stat_fd = -1,
					.schedstat_fd = -1,
					.start_delay_ns = -1,
					.end_delay_ns = -1,
					.last_cpu = -1 };
}

static int parse_number(const char *s, int64_t *ret)
{
	int64_t v = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return -EINVAL;
	if (*s != ' ' && *s != '\n' && *s != '\0')
		return -EINVAL;
	*ret = v;
	return 0;
}

int wp_parse_stat_cpu(const char *text, int *ret)
{
	/* The name in field 2 may hold spaces and brackets: its end is the last ')'. */
	const char *s = strrchr(text, ')');
	int64_t cpu;

	for (int field = STAT_NAME_FIELD; s && field < STAT_CPU_FIELD; field++) {
		s = strchr(s, ' ');
		if (s)
			s++;
	}
	if (!s || parse_number(s, &cpu) < 0 || cpu >= WP_CPU_MAX)
		return -EINVAL;
	*ret = (int)cpu;
	return 0;
}

int wp_parse_schedstat_delay(const char *text, int64_t *ret_ns)
{
	const char *space = strchr(text, ' ');

	return space ? parse_number(space + 1, ret_ns) : -EINVAL;
}

static int read_text(int fd, char *out, size_t size)
{
	ssize_t n;

	if (fd < 0)
		return -ENOENT;
	n = pread(fd, out, size - 1, 0);
	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

static int64_t read_delay_ns(const struct wp_thread_meter *m)
{
	char text[128];
	int64_t v;

	if (read_text(m->schedstat_fd, text, sizeof(text)) < 0 ||
	    wp_parse_schedstat_delay(text, &v) < 0)
		return -1;
	return v;
}

static int64_t read_clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		return 0;
	return (int64_t)ts.tv_sec * WP_NS_PER_S + ts.tv_nsec;
}

void wp_thread_meter_start(struct wp_thread_meter *m)
{
	if (!m->running) {
		m->stat_fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
		m->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
		if (pthread_getcpuclockid(pthread_self(), &m->clock) != 0)
			m->clock = CLOCK_THREAD_CPUTIME_ID;
	}
	m->running = true;
	m->start_ns = wp_now_ns();
	m->start_cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	m->start_delay_ns = read_delay_ns(m);
	m->last_cpu = sched_getcpu();
	m->migrations = 0;
}

static void see_cpu(struct wp_thread_meter *m, int cpu)
{
	if (cpu < 0)
		return;
	if (m->last_cpu >= 0 && cpu != m->last_cpu)
		m->migrations++;
	m->last_cpu = cpu;
}

void wp_thread_meter_stop(struct wp_thread_meter *m)
{
	struct rusage use;

	if (!m->running)
		return;
	see_cpu(m, sched_getcpu());
	m->end_delay_ns = read_delay_ns(m);
	m->end_cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	m->end_ns = wp_now_ns();
	if (getrusage(RUSAGE_THREAD, &use) == 0) {
		m->voluntary = use.ru_nvcsw;
		m->involuntary = use.ru_nivcsw;
	}
	m->running = false;
	m->ended = true;
}

int wp_thread_meter_cpu(struct wp_thread_meter *m)
{
	char text[STAT_TEXT];
	int cpu;

	if (m->running && read_text(m->stat_fd, text, sizeof(text)) == 0 &&
	    wp_parse_stat_cpu(text, &cpu) == 0)
		see_cpu(m, cpu);
	return m->last_cpu;
}

void wp_thread_meter_read(struct wp_thread_meter *m, struct wp_thread_use *ret)
{
	static const char no_delay[] = "the kernel keeps no schedstat";
	int64_t end_ns, cpu_ns, delay_ns, wall_ns;

	if (!m->running && !m->ended) {
		*ret = (struct wp_thread_use) { 0 };
		return;
	}
	end_ns = m->ended ? m->end_ns : wp_now_ns();
	cpu_ns = (m->ended ? m->end_cpu_ns : read_clock_ns(m->clock)) - m->start_cpu_ns;
	delay_ns = m->ended ? m->end_delay_ns : read_delay_ns(m);
	wall_ns = end_ns - m->start_ns;
	*ret = (struct wp_thread_use) { .cpu_s = wp_num((double)cpu_ns / 1e9) };
	ret->last_cpu = m->last_cpu >= 0 ? wp_num(m->last_cpu) : wp_absent("unknown");
	ret->migrations = wp_num(m->migrations);
	ret->run_delay_s = delay_ns >= 0 && m->start_delay_ns >= 0
				   ? wp_num((double)(delay_ns - m->start_delay_ns) / 1e9)
				   : wp_absent(no_delay);
	ret->cpu_pct = wp_num_ratio(ret->cpu_s, wp_num((double)wall_ns / 1e9), 100);
	ret->run_delay_pct = wp_num_ratio(ret->run_delay_s, wp_num((double)wall_ns / 1e9), 100);
	ret->voluntary_switches = m->ended ? wp_num((double)m->voluntary)
					   : wp_absent("known when the thread has ended");
	ret->involuntary_switches = m->ended ? wp_num((double)m->involuntary)
					     : wp_absent("known when the thread has ended");
}

void wp_thread_meter_done(struct wp_thread_meter *m)
{
	wp_close_p(&m->stat_fd);
	wp_close_p(&m->schedstat_fd);
}
