/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/file.h"
#include "sys/text_split.h"

#define SMALL_FILE_BYTES (64u << 10)

int wp_cmdline_get(const char *cmdline, const char *name, char *out, size_t size)
{
	struct wp_text rest = wp_text(cmdline, strlen(cmdline)), word;
	int r = -ENOENT;

	while (wp_text_word(&rest, &word)) {
		if (wp_text_is(word, "--"))
			break;
		if (!wp_text_eat(&word, name))
			continue;
		if (!wp_text_len(word)) {
			wp_text_copy(word, out, size);
			r = 0;
		} else if (wp_text_eat(&word, "=")) {
			wp_text_copy(word, out, size);
			r = 0;
		}
	}
	return r;
}

/* A value of a shell-like assignment: quotes around it go, \x becomes x. */
static void unquote(struct wp_text value, char *out, size_t size)
{
	size_t n = 0, len = wp_text_len(value);
	bool quoted =
		len >= 2 && (*value.p == '"' || *value.p == '\'') && value.end[-1] == *value.p;

	if (quoted) {
		value.p++;
		value.end--;
	}
	for (; value.p < value.end && n + 1 < size; value.p++) {
		unsigned char c;

		if (*value.p == '\\' && value.p + 1 < value.end)
			value.p++;
		c = (unsigned char)*value.p;
		out[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	out[n] = '\0';
}

int wp_os_release_parse(const char *text, size_t len, char *out, size_t size)
{
	struct wp_text rest = wp_text(text, len), line, key, value;
	char pretty[128] = "", name[96] = "", version[64] = "";

	while (wp_text_line(&rest, &line)) {
		if (!wp_text_split(line, '=', &key, &value))
			continue;
		if (wp_text_is(key, "PRETTY_NAME"))
			unquote(value, pretty, sizeof(pretty));
		else if (wp_text_is(key, "NAME"))
			unquote(value, name, sizeof(name));
		else if (wp_text_is(key, "VERSION_ID"))
			unquote(value, version, sizeof(version));
	}
	if (pretty[0])
		snprintf(out, size, "%s", pretty);
	else if (name[0])
		snprintf(out, size, "%s%s%s", name, version[0] ? " " : "", version);
	else
		return -ENODATA;
	return 0;
}

int wp_meminfo_get(const char *text, size_t len, const char *name, uint64_t *ret_bytes)
{
	struct wp_text rest = wp_text(text, len), line, key, value, word, unit;
	uint64_t v;
	int r;

	while (wp_text_line(&rest, &line)) {
		if (!wp_text_split(line, ':', &key, &value) || !wp_text_is(key, name))
			continue;
		if (!wp_text_word(&value, &word))
			return -EINVAL;
		r = wp_text_u64(word, &v);
		if (r)
			return r;
		if (wp_text_word(&value, &unit) && wp_text_is(unit, "kB")) {
			if (v > UINT64_MAX / 1024)
				return -ERANGE;
			v *= 1024;
		}
		*ret_bytes = v;
		return 0;
	}
	return -ENODATA;
}

int wp_bracketed(const char *text, size_t len, char *out, size_t size)
{
	struct wp_text t = wp_text(text, len);
	const char *open = wp_text_find(t, "["), *close;

	if (!open)
		return -ENODATA;
	close = wp_text_find((struct wp_text) { open, t.end }, "]");
	if (!close)
		return -ENODATA;
	wp_text_copy((struct wp_text) { open + 1, close }, out, size);
	return 0;
}

const char *wp_preemption_of(const char *version)
{
	static const char *const models[] = { "PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY",
					      "PREEMPT" };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strstr(version, models[i]))
			return models[i];
	return "none or voluntary";
}

/* "Linux version 6.1.0-18-amd64 (debian-kernel@...) #1 SMP ..." when proc/sys is masked. */
static void kernel_from_proc_version(int rootfd, struct wp_pool *pool, struct wp_sys_host *h)
{
	struct wp_maybe_text t = wp_read_text(rootfd, pool, "proc/version");
	struct wp_text rest, word;
	const char *number;
	int skip = 2;

	if (t.state != WP_VALUE)
		return;
	rest = wp_text(t.v, strlen(t.v));
	while (wp_text_word(&rest, &word) && skip)
		skip--;
	if (h->release.state != WP_VALUE && !skip &&
	    wp_text_starts(wp_text(t.v, strlen(t.v)), "Linux version "))
		h->release = wp_some_text(wp_pool_strndup(pool, word.p, wp_text_len(word)));
	number = strstr(t.v, " #");
	if (h->version.state != WP_VALUE && number)
		h->version = wp_some_text(wp_pool_strdup(pool, number + 1));
}

static void read_kernel(int rootfd, bool live, struct wp_pool *pool, struct wp_sys_host *h)
{
	struct utsname u;

	h->hostname = wp_read_text(rootfd, pool, "proc/sys/kernel/hostname");
	h->release = wp_read_text(rootfd, pool, "proc/sys/kernel/osrelease");
	h->version = wp_read_text(rootfd, pool, "proc/sys/kernel/version");
	h->arch = wp_read_text(rootfd, pool, "proc/sys/kernel/arch");
	if (h->release.state != WP_VALUE || h->version.state != WP_VALUE)
		kernel_from_proc_version(rootfd, pool, h);
	if (live && !uname(&u)) {
		h->hostname = wp_some_text(wp_pool_strdup(pool, u.nodename));
		h->release = wp_some_text(wp_pool_strdup(pool, u.release));
		h->version = wp_some_text(wp_pool_strdup(pool, u.version));
		h->arch = wp_some_text(wp_pool_strdup(pool, u.machine));
	}
	if (h->hostname.state != WP_VALUE)
		h->hostname = wp_read_text(rootfd, pool, "etc/hostname");
	if (h->version.state == WP_VALUE)
		h->preemption = wp_some_text(wp_preemption_of(h->version.v));
	else
		h->preemption = wp_no_text(h->version.why);
	h->cmdline = wp_read_text(rootfd, pool, "proc/cmdline");
}

static void read_os(int rootfd, struct wp_pool *pool, struct wp_sys_host *h)
{
	static const char *const paths[] = { "etc/os-release", "usr/lib/os-release" };
	int r = -ENOENT;

	for (size_t i = 0; i < 2 && r; i++) {
		_cleanup_buf_ struct wp_buf b = WP_BUF(SMALL_FILE_BYTES);
		char name[160];

		r = wp_read_file_at(rootfd, paths[i], &b);
		if (!r)
			r = wp_os_release_parse(wp_buf_text(&b), b.len, name, sizeof(name));
		if (!r)
			h->os = wp_some_text(wp_pool_strdup(pool, name));
	}
	if (r)
		h->os = wp_no_text(wp_why(pool, r, paths[0]));
}

static struct wp_maybe_int count_list(const struct wp_maybe_text *t)
{
	_cleanup_cpulist_ struct wp_cpulist l = { 0 };

	if (t->state != WP_VALUE)
		return wp_no_int(t->why);
	if (wp_cpulist_parse(t->v, &l) || !l.n)
		return wp_bad_int("not a list of CPUs");
	return wp_some_int((int64_t)l.n);
}

static struct wp_maybe_text read_cpu_list(int rootfd, struct wp_pool *pool, const char *name)
{
	struct wp_maybe_text t = wp_read_text(rootfd, pool, "sys/devices/system/cpu/%s", name);

	if (wp_maybe_is(&t, "(null)")) /* nohz_full before 5.18 */
		t.v = "";
	return t;
}

static void read_cpus(int rootfd, struct wp_pool *pool, struct wp_sys_host *h)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(WP_CPUINFO_BYTES_MAX);
	int r = wp_read_file_at(rootfd, "proc/cpuinfo", &b);

	if (!r)
		r = wp_cpuinfo_parse(wp_buf_text(&b), b.len, &h->cpuinfo);
	h->cpuinfo_why = r ? wp_why(pool, r, "proc/cpuinfo") : NULL;
	h->online = read_cpu_list(rootfd, pool, "online");
	h->possible = read_cpu_list(rootfd, pool, "possible");
	h->present = read_cpu_list(rootfd, pool, "present");
	h->isolated = read_cpu_list(rootfd, pool, "isolated");
	h->nohz_full = read_cpu_list(rootfd, pool, "nohz_full");
	h->cpus_online = count_list(&h->online);
	h->cpus_possible = count_list(&h->possible);
	h->smt_active = wp_read_int(rootfd, pool, "sys/devices/system/cpu/smt/active");
}

static struct wp_maybe_int meminfo_int(const struct wp_buf *b, struct wp_pool *pool,
				       const char *name)
{
	uint64_t v;
	int r = wp_meminfo_get(wp_buf_text(b), b->len, name, &v);

	if (r == -ENODATA)
		return wp_no_int(wp_pool_printf(pool, "/proc/meminfo has no %s line", name));
	if (r || v > INT64_MAX)
		return wp_bad_int(wp_pool_printf(pool, "/proc/meminfo: %s is not a number", name));
	return wp_some_int((int64_t)v);
}

static void read_memory(int rootfd, struct wp_pool *pool, struct wp_sys_host *h)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(SMALL_FILE_BYTES);
	struct wp_maybe_text thp =
		wp_read_text(rootfd, pool, "sys/kernel/mm/transparent_hugepage/enabled");
	int r = wp_read_file_at(rootfd, "proc/meminfo", &b);
	char word[32];

	if (r) {
		h->memory_bytes = wp_no_int(wp_why(pool, r, "proc/meminfo"));
		h->memory_available_bytes = h->swap_bytes = h->memory_bytes;
	} else {
		h->memory_bytes = meminfo_int(&b, pool, "MemTotal");
		h->memory_available_bytes = meminfo_int(&b, pool, "MemAvailable");
		h->swap_bytes = meminfo_int(&b, pool, "SwapTotal");
	}
	h->thp = thp;
	if (thp.state == WP_VALUE) {
		if (!wp_bracketed(thp.v, strlen(thp.v), word, sizeof(word)))
			h->thp = wp_some_text(wp_pool_strdup(pool, word));
		else
			h->thp = wp_bad_text("no word in brackets");
	}
}

void wp_sys_host_read(int rootfd, bool live, struct wp_pool *pool, struct wp_sys_host *ret)
{
	struct wp_sys_host h = { 0 };

	read_kernel(rootfd, live, pool, &h);
	read_os(rootfd, pool, &h);
	read_cpus(rootfd, pool, &h);
	read_memory(rootfd, pool, &h);
	h.clocksource = wp_read_text(
		rootfd, pool, "sys/devices/system/clocksource/clocksource0/current_clocksource");
	h.clocksource_available = wp_read_text(
		rootfd, pool, "sys/devices/system/clocksource/clocksource0/available_clocksource");
	h.autogroup = wp_read_int(rootfd, pool, "proc/sys/kernel/sched_autogroup_enabled");
	h.numa_balancing = wp_read_int(rootfd, pool, "proc/sys/kernel/numa_balancing");
	h.nmi_watchdog = wp_read_int(rootfd, pool, "proc/sys/kernel/nmi_watchdog");
	h.timer_migration = wp_read_int(rootfd, pool, "proc/sys/kernel/timer_migration");
	h.cpu_pressure = wp_read_text(rootfd, pool, "proc/pressure/cpu");
	if (h.arch.state != WP_VALUE && !h.cpuinfo_why && h.cpuinfo.form != WP_CPUINFO_UNKNOWN)
		h.arch = wp_some_text(wp_cpuinfo_form_name(h.cpuinfo.form));
	*ret = h;
}
