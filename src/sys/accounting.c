/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/accounting.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/file.h"
#include "sys/proc_stat.h"
#include "sys/procfile.h"
#include "sys/sched.h"
#include "sys/text.h"

/* The BTF of a distribution's kernel has 5 to 12 MB. */
#define BTF_MAX (64u << 20)
/* With that many interrupts since boot a kernel that measures them shows some ticks of irq time. */
#define INTERRUPTS_ENOUGH 1000000

#define VERSION(major, minor, patch) ((unsigned)(major) << 16 | (minor) << 8 | (patch))
/* First kernel with interrupt time accounting, first one with /proc/pressure/irq. */
#define VERSION_IRQTIME      VERSION(2, 6, 37)
#define VERSION_PRESSURE_IRQ VERSION(6, 1, 0)

enum wp_tristate wp_btf_has_name(const char *data, size_t len, const char *name)
{
	struct {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t header_len, type_off, type_len, string_off, string_len;
	} h;
	size_t name_len = strlen(name) + 2;
	char pattern[64];
	uint64_t start;

	if (len < sizeof(h) || name_len > sizeof(pattern))
		return WP_UNKNOWN;
	memcpy(&h, data, sizeof(h));
	start = (uint64_t)h.header_len + h.string_off;
	if (h.magic != 0xeb9f || h.version != 1 || start > len || h.string_len > len - start)
		return WP_UNKNOWN;
	/* The section begins with an empty string, so every name stands between two NULs. */
	pattern[0] = '\0';
	memcpy(pattern + 1, name, name_len - 1);
	return memmem(data + start, h.string_len, pattern, name_len) ? WP_YES : WP_NO;
}

static unsigned parse_version(const char *text)
{
	struct wp_text t = wp_text(text, strlen(text));
	uint64_t part[3] = { 0 };

	for (size_t i = 0; i < 3; i++) {
		if (wp_text_digits(&t, &part[i]) < 0)
			break;
		if (part[i] > 255)
			part[i] = 255;
		if (!wp_text_eat(&t, "."))
			break;
	}
	return VERSION((unsigned)part[0], (unsigned)part[1], (unsigned)part[2]);
}

static void read_pressure(int root, struct wp_accounting_facts *f)
{
	struct wp_pressure p;
	struct wp_procfile cpu, irq;

	f->pressure = wp_procfile_open(&cpu, root, "proc/pressure/cpu") == 0 ? WP_YES : WP_NO;
	f->pressure_irq = wp_procfile_open(&irq, root, "proc/pressure/irq") == 0 ? WP_YES : WP_NO;
	if (f->pressure_irq == WP_YES) {
		f->pressure_irq_status = wp_procfile_read(&irq);
		if (f->pressure_irq_status == 0)
			f->pressure_irq_status =
				wp_pressure_parse(wp_buf_text(&irq.text), irq.text.len, &p);
		if (f->pressure_irq_status == 0)
			f->pressure_irq_us = p.full_us;
	}
	wp_procfile_done(&cpu);
	wp_procfile_done(&irq);
}

static void read_stat(int root, struct wp_accounting_facts *f)
{
	struct wp_buf text = WP_BUF(WP_PROCFILE_MAX);
	struct wp_proc_stat s = { 0 };

	if (wp_read_file_at(root, "proc/stat", &text) == 0 &&
	    wp_proc_stat_parse(wp_buf_text(&text), text.len, &s, NULL) == 0) {
		f->n_online = s.n;
		f->interrupts = s.interrupts;
		for (size_t i = 0; i < s.n; i++) {
			f->has_irq_column |= s.cpu[i].columns > WP_CPU_IRQ;
			f->irq_ticks += s.cpu[i].ticks[WP_CPU_IRQ];
		}
	}
	wp_proc_stat_done(&s);
	wp_buf_done(&text);
}

static void read_lines(int root, struct wp_accounting_facts *f)
{
	static const char *const off[] = { "tsc=noirqtime", "tsc=unstable", "irqtime=0",
					   "noirqtime" };
	struct wp_cpulist nohz = { 0 };
	struct wp_text t, word;
	char line[4096];

	if (wp_read_line_at(root, "proc/sys/kernel/osrelease", line, sizeof(line)) == 0)
		f->version = parse_version(line);
	if (wp_read_line_at(root, "sys/devices/system/cpu/nohz_full", line, sizeof(line)) == 0 &&
	    wp_cpulist_parse(line, &nohz) == 0) {
		f->n_nohz_full = nohz.n;
		wp_cpulist_format(&nohz, f->nohz_full, sizeof(f->nohz_full));
	}
	wp_cpulist_done(&nohz);
	if (wp_read_line_at(root, "proc/cmdline", line, sizeof(line)) == 0) {
		t = wp_text(line, strlen(line));
		while (wp_text_word(&t, &word))
			for (size_t i = 0; i < WP_ARRAY_SIZE(off); i++)
				if (wp_text_is(word, off[i]))
					f->forced_off = off[i];
	}
	if (wp_read_line_at(root, "proc/cpuinfo", line, sizeof(line)) == 0)
		f->s390 = strstr(line, "IBM/S390") != NULL;
}

/* Asked last: the blob is megabytes long. */
static void read_btf(int root, struct wp_accounting_facts *f)
{
	struct wp_buf blob = WP_BUF(BTF_MAX);

	if (wp_read_file_at(root, "sys/kernel/btf/vmlinux", &blob) == 0) {
		f->built_irqtime =
			wp_btf_has_name(wp_buf_text(&blob), blob.len, "irqtime_account_irq");
		f->built_native = wp_btf_has_name(wp_buf_text(&blob), blob.len, "vtime_flush");
	}
	wp_buf_done(&blob);
}

static void decide(struct wp_accounting *a, enum wp_accounting_mode mode, bool certain,
		   const char *fmt, ...) WP_PRINTF(4, 5);

static void decide(struct wp_accounting *a, enum wp_accounting_mode mode, bool certain,
		   const char *fmt, ...)
{
	va_list ap;

	a->mode = mode;
	a->certain = certain;
	va_start(ap, fmt);
	vsnprintf(a->evidence, sizeof(a->evidence), fmt, ap);
	va_end(ap);
}

/* What the kernel says about itself; false when that does not settle it. */
static bool decide_by_pressure(const struct wp_accounting_facts *f, struct wp_accounting *a)
{
	if (f->pressure_irq == WP_YES && f->pressure_irq_status == 0 && f->pressure_irq_us > 0) {
		decide(a, WP_ACCOUNTING_IRQ_TIME, true,
		       "/proc/pressure/irq has counted %" PRIu64 " us", f->pressure_irq_us);
		return true;
	}
	if (f->pressure_irq == WP_YES && f->pressure_irq_status == -EOPNOTSUPP) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "interrupt time accounting is built in but switched off: /proc/pressure/irq "
		       "can't be read");
		return true;
	}
	if (f->pressure == WP_YES && f->pressure_irq == WP_NO &&
	    f->version >= VERSION_PRESSURE_IRQ) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "/proc/pressure/irq is missing beside /proc/pressure/cpu, so interrupt time "
		       "accounting is not built in");
		return true;
	}
	return false;
}

/* What the figures since boot show. */
static bool decide_by_column(const struct wp_accounting_facts *f, struct wp_accounting *a)
{
	if (!f->has_irq_column)
		return false;
	if (f->irq_ticks > 0) {
		decide(a, WP_ACCOUNTING_IRQ_TIME, true,
		       "the irq column of /proc/stat moves: %" PRIu64 " ticks since boot",
		       f->irq_ticks);
		return true;
	}
	if (f->interrupts > INTERRUPTS_ENOUGH) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "the irq column of /proc/stat is 0 on every CPU after %" PRIu64
		       " interrupts",
		       f->interrupts);
		return true;
	}
	return false;
}

static void decide_mode(const struct wp_accounting_facts *f, struct wp_accounting *a)
{
	if (f->s390 || f->built_native == WP_YES) {
		decide(a, WP_ACCOUNTING_FULL, true,
		       "this architecture's kernel measures every change of context%s",
		       f->built_native == WP_YES ? " (vtime_flush is in its BTF)" : "");
	} else if (f->version && f->version < VERSION_IRQTIME) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "kernels before 2.6.37 can't measure interrupt time");
	} else if (decide_by_pressure(f, a)) {
		return;
	} else if (f->built_irqtime == WP_NO) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "the kernel's BTF has no irqtime_account_irq, so interrupt time accounting is "
		       "not built in");
	} else if (f->forced_off) {
		decide(a, WP_ACCOUNTING_TICKS, true,
		       "\"%s\" on the kernel's command line switches interrupt time accounting off",
		       f->forced_off);
	} else if (decide_by_column(f, a)) {
		return;
	} else if (f->built_irqtime == WP_YES) {
		decide(a, WP_ACCOUNTING_IRQ_TIME, false,
		       "interrupt time accounting is built in (BTF) and nothing says that it is off");
	} else {
		decide(a, WP_ACCOUNTING_TICKS, false, "assumed: nothing on this system tells");
	}
}

void wp_accounting_decide(const struct wp_accounting_facts *facts, struct wp_accounting *ret)
{
	long hz = sysconf(_SC_CLK_TCK);
	size_t len;

	*ret = (struct wp_accounting) { .user_hz = hz > 0 ? (unsigned)hz : 100 };
	decide_mode(facts, ret);
	if (facts->n_nohz_full == 0)
		return;
	memcpy(ret->nohz_full, facts->nohz_full, sizeof(ret->nohz_full));
	/* One mode is named for the machine: that of most CPUs. */
	if (facts->n_nohz_full * 2 > facts->n_online && facts->n_online > 0)
		ret->mode = WP_ACCOUNTING_FULL;
	len = strlen(ret->evidence);
	snprintf(ret->evidence + len, sizeof(ret->evidence) - len,
		 "; CPUs %s (nohz_full) are measured in full", ret->nohz_full);
}

void wp_accounting_detect(int root, struct wp_accounting *ret)
{
	struct wp_accounting_facts f = { 0 };

	read_lines(root, &f);
	read_stat(root, &f);
	read_pressure(root, &f);
	if (!decide_by_pressure(&f, ret))
		read_btf(root, &f);
	wp_accounting_decide(&f, ret);
}

const char *wp_accounting_name(enum wp_accounting_mode mode)
{
	static const char *const names[] = { "ticks", "irq_time", "full" };

	return names[mode];
}
