/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define SOURCE(path_, name_)                                                                    \
	{                                                                                       \
		.path = "/proc/" path_, .name = name_, .missing = "/proc/" path_ " is missing", \
		.unreadable = "/proc/" path_ " can't be read",                                  \
		.malformed = "/proc/" path_ " is not understood",                               \
		.unwanted = "/proc/" path_ " was not asked for"                                 \
	}

static const struct {
	const char *path, *name;
	const char *missing, *unreadable, *malformed, *unwanted;
} sources[WP_SOURCES] = {
	[WP_SOURCE_STAT] = SOURCE("stat", "stat"),
	[WP_SOURCE_INTERRUPTS] = SOURCE("interrupts", "interrupts"),
	[WP_SOURCE_SOFTIRQS] = SOURCE("softirqs", "softirqs"),
	[WP_SOURCE_SOFTNET] = SOURCE("net/softnet_stat", "softnet_stat"),
	[WP_SOURCE_SNMP] = SOURCE("net/snmp", "net/snmp"),
	[WP_SOURCE_NETSTAT] = SOURCE("net/netstat", "net/netstat"),
	[WP_SOURCE_SNMP6] = SOURCE("net/snmp6", "net/snmp6"),
	[WP_SOURCE_DEV] = SOURCE("net/dev", "net/dev"),
};

static const char all_zeros[] = "/proc/stat is all zeros";
static const char unnamed_rows[] =
	"/proc/net/softnet_stat does not name its CPUs and has another number of lines than CPUs are online";

const char *wp_source_path(enum wp_source source)
{
	return sources[source].path;
}

const char *wp_source_name(enum wp_source source)
{
	return sources[source].name;
}

int wp_sources_open(struct wp_sources *s, int root, unsigned wanted, struct wp_err *err)
{
	*s = (struct wp_sources) { .root = -1, .wanted = wanted };
	for (size_t i = 0; i < WP_SOURCES; i++)
		s->file[i].fd = -1;
	if (root == AT_FDCWD)
		s->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		s->root = fcntl(root, F_DUPFD_CLOEXEC, 3);
	if (s->root < 0)
		return wp_err_sys(err, -errno, "cannot open the directory that holds proc and sys");
	for (unsigned i = 0; i < WP_SOURCES; i++) {
		if (!(wanted & WP_SOURCE_BIT(i)))
			continue;
		/* A file that can't be opened keeps its status for every later read. */
		if (i >= WP_SOURCE_SOFTNET)
			wp_procfile_open_net(&s->file[i], s->root,
					     sources[i].path + sizeof("/proc/net/") - 1);
		else
			wp_procfile_open(&s->file[i], s->root, sources[i].path + 1);
	}
	return 0;
}

static void read_online(struct wp_sources *s)
{
	char line[8192];

	wp_cpulist_done(&s->online);
	if (wp_read_line_at(s->root, "sys/devices/system/cpu/online", line, sizeof(line)) < 0 ||
	    wp_cpulist_parse(line, &s->online) < 0)
		s->online = (struct wp_cpulist) { 0 };
}

/* The kernel lists exactly the online CPUs; a container's file system lists others. Asked again whenever their number
 * changes, which on a machine without hot-plug is never. */
static void check_stat(struct wp_sources *s, const struct wp_proc_stat *stat)
{
	if (s->checked_n == stat->n && !s->foreign_stat)
		return;
	s->checked_n = stat->n;
	read_online(s);
	s->foreign_stat = s->file[WP_SOURCE_STAT].fuse;
	if (s->online.n == 0)
		return;
	if (s->online.n != stat->n) {
		s->foreign_stat = true;
		return;
	}
	for (size_t i = 0; i < stat->n; i++)
		s->foreign_stat |= s->online.cpu[i] != stat->cpu[i].cpu;
}

static bool is_all_zeros(const struct wp_proc_stat *stat)
{
	for (size_t i = 0; i < stat->n; i++)
		for (size_t c = 0; c < WP_CPU_COLUMNS; c++)
			if (stat->cpu[i].ticks[c])
				return false;
	return true;
}

static const char *parse_softnet(struct wp_sources *s, const char *text, size_t len,
				 struct wp_softnet *softnet)
{
	if (wp_softnet_parse(text, len, softnet, NULL) < 0)
		return sources[WP_SOURCE_SOFTNET].malformed;
	if (softnet->row[0].cpu >= 0)
		return NULL;
	read_online(s);
	return wp_softnet_assign(softnet, s->online.cpu, s->online.n) < 0 ? unnamed_rows : NULL;
}

static int parse_net(enum wp_source source, const char *text, size_t len, struct wp_net_counters *c)
{
	if (source == WP_SOURCE_SNMP6)
		return wp_net_snmp6_parse(text, len, c, NULL);
	if (source == WP_SOURCE_DEV)
		return wp_net_dev_parse(text, len, c, NULL);
	return wp_net_snmp_parse(text, len, c, NULL);
}

/* Returns why the text can't be used or NULL. */
static const char *parse(struct wp_sources *s, enum wp_source source, struct wp_snapshot *snap)
{
	const char *text = wp_buf_text(&s->file[source].text);
	size_t len = s->file[source].text.len;
	int r = 0;

	switch (source) {
	case WP_SOURCE_STAT:
		r = wp_proc_stat_parse(text, len, &snap->stat, NULL);
		if (r < 0)
			break;
		if (is_all_zeros(&snap->stat))
			return all_zeros;
		check_stat(s, &snap->stat);
		snap->foreign_stat = s->foreign_stat;
		break;
	case WP_SOURCE_INTERRUPTS:
		r = wp_irq_table_parse(text, len, &snap->interrupts, NULL);
		break;
	case WP_SOURCE_SOFTIRQS:
		r = wp_irq_table_parse(text, len, &snap->softirqs, NULL);
		break;
	case WP_SOURCE_SOFTNET:
		return parse_softnet(s, text, len, &snap->softnet);
	default:
		r = parse_net(source, text, len, &snap->net[source - WP_SOURCE_SNMP]);
	}
	return r < 0 ? sources[source].malformed : NULL;
}

void wp_sources_read(struct wp_sources *s, struct wp_snapshot *snap)
{
	snap->bytes = 0;
	for (unsigned i = 0; i < WP_SOURCES; i++) {
		struct wp_procfile *f = &s->file[i];

		if (!(s->wanted & WP_SOURCE_BIT(i))) {
			snap->why[i] = sources[i].unwanted;
			continue;
		}
		if (wp_procfile_read(f) < 0) {
			snap->why[i] =
				f->status == -ENOENT ? sources[i].missing : sources[i].unreadable;
			continue;
		}
		snap->read_ns[i] = f->read_ns;
		snap->bytes += f->text.len;
		snap->why[i] = parse(s, i, snap);
		snap->cost_ns[i] = f->cost_ns + wp_now_ns() - f->read_ns;
	}
}

void wp_sources_done(struct wp_sources *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < WP_SOURCES; i++)
		if (s->wanted & WP_SOURCE_BIT(i))
			wp_procfile_done(&s->file[i]);
	if (s->wanted)
		wp_close_p(&s->root);
	wp_cpulist_done(&s->online);
	*s = (struct wp_sources) { .root = -1 };
}

void wp_snapshot_done(struct wp_snapshot *snap)
{
	if (!snap)
		return;
	wp_proc_stat_done(&snap->stat);
	wp_irq_table_done(&snap->interrupts);
	wp_irq_table_done(&snap->softirqs);
	wp_softnet_done(&snap->softnet);
	for (size_t i = 0; i < WP_NET_LISTS; i++)
		wp_net_counters_done(&snap->net[i]);
	*snap = (struct wp_snapshot) { 0 };
}
