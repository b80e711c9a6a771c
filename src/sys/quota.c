/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU quota of this process's control group and the daemons that move work about: see virt.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/file.h"
#include "base/units.h"
#include "sys/text_split.h"
#include "sys/virt.h"

#define CGROUP_BYTES    (64u << 10)
#define GROUP_PATH_MAX  384
#define GROUP_DEPTH_MAX 32
#define PROCESSES_MAX   131072
#define MICRO           1000000

int wp_cgroup_path(const char *text, size_t len, const char *controller, char *out, size_t size)
{
	struct wp_text rest = wp_text(text, len), line, number, tail, names, path;

	while (wp_text_line(&rest, &line)) {
		bool match;

		/* "4:cpu,cpuacct:/path"; the path may hold more colons */
		if (!wp_text_split(line, ':', &number, &tail) ||
		    !wp_text_split(tail, ':', &names, &path))
			continue;
		match = !controller[0] && !wp_text_len(names);
		while (!match && wp_text_len(names)) {
			struct wp_text first = names, others = { names.end, names.end };

			wp_text_split(names, ',', &first, &others);
			match = controller[0] && wp_text_is(first, controller);
			names = others;
		}
		if (!match)
			continue;
		if (wp_text_len(path) >= size)
			return -ENAMETOOLONG;
		wp_text_copy(path, out, size);
		return 0;
	}
	return -ENODATA;
}

int wp_cpu_max_parse(const char *text, size_t len, int64_t *ret_ppm)
{
	struct wp_text rest = wp_text_trim(wp_text(text, len)), quota, period;
	uint64_t q, p;

	if (!wp_text_word(&rest, &quota))
		return -EINVAL;
	if (wp_text_is(quota, "max")) {
		*ret_ppm = -1;
		return 0;
	}
	if (!wp_text_word(&rest, &period) || wp_text_u64(quota, &q) || wp_text_u64(period, &p))
		return -EINVAL;
	if (!p || q > INT64_MAX / MICRO)
		return -EINVAL;
	*ret_ppm = (int64_t)(q * MICRO / p);
	return 0;
}

int wp_cpu_stat_get(const char *text, size_t len, const char *name, uint64_t *ret)
{
	struct wp_text rest = wp_text(text, len), line, key, value;

	while (wp_text_line(&rest, &line))
		if (wp_text_split(line, ' ', &key, &value) && wp_text_is(key, name))
			return wp_text_u64(value, ret);
	return -ENODATA;
}

/* Where the cpu controller's groups are seen, and which form they have. */
struct hierarchy {
	const char *mount; /* under the root */
	bool v2;
};

/* One group's limit in ppm of a CPU; -1 none; -ENOENT when the group or file isn't there. */
static int group_limit(int rootfd, struct wp_pool *pool, const struct hierarchy *h,
		       const char *group, int64_t *ret_ppm)
{
	if (h->v2) {
		struct wp_maybe_text t =
			wp_read_text(rootfd, pool, "%s%s/cpu.max", h->mount, group);

		return t.state == WP_VALUE ? wp_cpu_max_parse(t.v, strlen(t.v), ret_ppm) : -ENOENT;
	}
	struct wp_maybe_int quota =
		wp_read_int(rootfd, pool, "%s%s/cpu.cfs_quota_us", h->mount, group);
	struct wp_maybe_int period =
		wp_read_int(rootfd, pool, "%s%s/cpu.cfs_period_us", h->mount, group);

	if (quota.state != WP_VALUE)
		return -ENOENT;
	*ret_ppm = -1;
	if (quota.v > 0 && period.state == WP_VALUE && period.v > 0 && quota.v <= INT64_MAX / MICRO)
		*ret_ppm = quota.v * MICRO / period.v;
	return 0;
}

static void read_throttling(int rootfd, struct wp_pool *pool, const struct hierarchy *h,
			    const char *group, struct wp_cpu_quota *q)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(CGROUP_BYTES);
	char path[WP_PATH_MAX];
	uint64_t v;
	int r;

	snprintf(path, sizeof(path), "%s%s/cpu.stat", h->mount, group);
	r = wp_read_file_at(rootfd, path, &b);
	if (r) {
		q->periods = q->throttled_periods = wp_no_int(wp_why(pool, r, path));
		return;
	}
	q->periods = wp_cpu_stat_get(wp_buf_text(&b), b.len, "nr_periods", &v)
			     ? wp_no_int("cpu.stat has no nr_periods")
			     : wp_some_int((int64_t)v);
	q->throttled_periods = wp_cpu_stat_get(wp_buf_text(&b), b.len, "nr_throttled", &v)
				       ? wp_no_int("cpu.stat has no nr_throttled")
				       : wp_some_int((int64_t)v);
}

/* From our group up to the root; the smallest limit counts. True when the hierarchy could be read. */
static bool walk_up(int rootfd, struct wp_pool *pool, const struct hierarchy *h, char *group,
		    struct wp_cpu_quota *q)
{
	int64_t best = -1;
	bool seen = false;

	if (!strcmp(group, "/"))
		group[0] = '\0';
	q->group = wp_some_text(wp_pool_strdup(pool, group[0] ? group : "/"));
	q->weight = wp_read_int(rootfd, pool, "%s%s/%s", h->mount, group,
				h->v2 ? "cpu.weight" : "cpu.shares");
	for (int depth = 0; depth < GROUP_DEPTH_MAX; depth++) {
		char *slash;
		int64_t ppm = -1;
		int r = group_limit(rootfd, pool, h, group, &ppm);

		/* In a container the path may be the host's while the mount shows only our part. */
		seen = seen || !r || wp_path_exists(rootfd, "%s%s/cpu.stat", h->mount, group);
		if (!r && ppm >= 0 && (best < 0 || ppm < best)) {
			best = ppm;
			q->group = wp_some_text(wp_pool_strdup(pool, group[0] ? group : "/"));
			read_throttling(rootfd, pool, h, group, q);
		}
		slash = strrchr(group, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (best >= 0)
		q->cpus_ppm = wp_some_int(best);
	else if (seen)
		q->cpus_ppm = wp_no_int("no quota");
	return seen;
}

void wp_cpu_quota_read(int rootfd, struct wp_pool *pool, struct wp_cpu_quota *ret)
{
	static const struct hierarchy v1[] = { { "sys/fs/cgroup/cpu", false },
					       { "sys/fs/cgroup/cpu,cpuacct", false } };
	static const struct hierarchy v2 = { "sys/fs/cgroup", true };
	_cleanup_buf_ struct wp_buf b = WP_BUF(CGROUP_BYTES);
	struct wp_cpu_quota q = { 0 };
	char group[GROUP_PATH_MAX];
	int r = wp_read_file_at(rootfd, "proc/self/cgroup", &b);
	bool found = false;

	if (r) {
		q.cpus_ppm = wp_no_int(wp_why(pool, r, "proc/self/cgroup"));
	} else if (!wp_cgroup_path(wp_buf_text(&b), b.len, "cpu", group, sizeof(group))) {
		for (size_t i = 0; i < WP_ARRAY_SIZE(v1) && !found; i++)
			if (wp_path_exists(rootfd, "%s", v1[i].mount))
				found = walk_up(rootfd, pool, &v1[i], group, &q);
	} else if (!wp_cgroup_path(wp_buf_text(&b), b.len, "", group, sizeof(group))) {
		found = walk_up(rootfd, pool, &v2, group, &q);
	}
	if (!r && !found)
		q.cpus_ppm = wp_no_int("the control groups of this process are not visible");
	if (q.cpus_ppm.state != WP_VALUE)
		q.periods = q.throttled_periods = wp_no_int("no quota");
	*ret = q;
}

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

void wp_daemons_read(int rootfd, struct wp_pool *pool, struct wp_daemons *ret)
{
	struct wp_daemons d = { 0 };
	const struct {
		const char *comm;
		struct wp_maybe_int *pid;
	} wanted[] = {
		{ "irqbalance", &d.irqbalance_pid },
		{ "tuned", &d.tuned_pid },
		{ "thermald", &d.thermald_pid },
	};
	int fd = openat(rootfd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int64_t n = 0;

	if (!dir && fd >= 0)
		wp_close_p(&fd);
	for (struct dirent *e; dir && n < PROCESSES_MAX && (e = readdir(dir));) {
		char path[300], comm[32];
		int64_t pid;

		if (!is_number(e->d_name) || wp_parse_i64(e->d_name, &pid))
			continue;
		snprintf(path, sizeof(path), "%s/comm", e->d_name);
		if (wp_read_line_at(dirfd(dir), path, comm, sizeof(comm)))
			continue;
		n++;
		for (size_t i = 0; i < WP_ARRAY_SIZE(wanted); i++)
			if (!strcmp(comm, wanted[i].comm))
				*wanted[i].pid = wp_some_int(pid);
	}
	if (dir)
		closedir(dir);
	d.scanned = n ? wp_some_int(n) : wp_no_int("no process is visible under /proc");
	for (size_t i = 0; i < WP_ARRAY_SIZE(wanted); i++)
		if (wanted[i].pid->state != WP_VALUE)
			*wanted[i].pid = wp_no_int(
				n ? wp_pool_printf(pool, "%s is not running", wanted[i].comm)
				  : d.scanned.why);
	*ret = d;
}
