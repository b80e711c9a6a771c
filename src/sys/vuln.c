/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/vuln.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define DIR_PATH "sys/devices/system/cpu/vulnerabilities"

/* `name` NULL: in any file. The first row that fits counts. */
static const struct {
	const char *name, *says, *brief, *cost;
} costs[] = {
	{ "meltdown", "PTI", "PTI", "two page-table switches a system call or interrupt" },
	{ "retbleed", "IBRS", "IBRS", "a slow register write a system call or interrupt" },
	{ "retbleed", "untrained return thunk", "return thunks",
	  "a barrier a system call and slower returns" },
	{ "spectre_v2", "Retpolines", "retpolines",
	  "about 20 ns an indirect call, several a packet" },
	{ "spectre_v2", "Mitigation: IBRS", "IBRS",
	  "a slow register write a system call or interrupt" },
	{ "spec_rstack_overflow", "Safe RET", "safe RET", "slower returns in the kernel" },
	{ "spec_rstack_overflow", "IBPB", "IBPB on entry",
	  "a predictor flush a system call (microseconds)" },
	{ "indirect_target_selection", "thunks", "ITS thunks",
	  "slower indirect calls and returns" },
	{ "mds", "Clear CPU buffers", "MDS buffer clearing", "a buffer flush a system call" },
	{ "mmio_stale_data", "Clear CPU buffers", "MDS buffer clearing",
	  "a buffer flush a system call" },
	{ "reg_file_data_sampling", "Clear Register File", "register file clearing",
	  "a flush a system call" },
	{ "tsx_async_abort", "Clear CPU buffers", "MDS buffer clearing",
	  "a buffer flush a system call" },
	{ "tsa", "Clear CPU buffers", "MDS buffer clearing", "a buffer flush a system call" },
	{ "vmscape", "IBPB", "IBPB on VM exit", "a predictor flush a VM exit" },
};

const char *wp_vuln_cost(const char *name, const char *says, const char **ret_short)
{
	if (strncmp(says, "Mitigation:", 11))
		return NULL;
	for (size_t i = 0; i < WP_ARRAY_SIZE(costs); i++)
		if (!strcmp(costs[i].name, name) && strstr(says, costs[i].says)) {
			if (ret_short)
				*ret_short = costs[i].brief;
			return costs[i].cost;
		}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct wp_vuln *)a)->name, ((const struct wp_vuln *)b)->name);
}

/* "PTI, retpolines", each once. */
static struct wp_maybe_text join_costly(const struct wp_vulns *vs, struct wp_pool *pool)
{
	const char *seen[WP_VULN_MAX];
	char out[256] = "";
	size_t n = 0, at = 0;

	for (size_t i = 0; i < vs->n; i++) {
		const char *brief;
		bool again = false;
		int len;

		if (!wp_vuln_cost(vs->v[i].name, vs->v[i].says, &brief))
			continue;
		for (size_t k = 0; k < n; k++)
			again = again || !strcmp(seen[k], brief);
		if (again)
			continue;
		seen[n++] = brief;
		len = snprintf(out + at, sizeof(out) - at, "%s%s", at ? ", " : "", brief);
		if (len < 0 || (size_t)len >= sizeof(out) - at)
			break;
		at += (size_t)len;
	}
	return at ? wp_some_text(wp_pool_strdup(pool, out))
		  : wp_no_text("no mitigation that slows system calls down");
}

void wp_vulns_read(int rootfd, struct wp_pool *pool, struct wp_vulns *ret)
{
	int fd = openat(rootfd, DIR_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct wp_vulns vs = { 0 };

	if (!dir) {
		vs.costly = wp_no_text(wp_why(pool, -errno, DIR_PATH));
		wp_close_p(&fd);
		*ret = vs;
		return;
	}
	vs.v = wp_pool_calloc(pool, WP_VULN_MAX, sizeof(*vs.v));
	for (struct dirent *e; vs.v && vs.n < WP_VULN_MAX && (e = readdir(dir));) {
		struct wp_maybe_text says;

		if (e->d_name[0] == '.')
			continue;
		says = wp_read_text(rootfd, pool, DIR_PATH "/%s", e->d_name);
		if (says.state != WP_VALUE)
			continue;
		vs.v[vs.n] = (struct wp_vuln) {
			.name = wp_pool_strdup(pool, e->d_name),
			.says = says.v,
			.cost = wp_vuln_cost(e->d_name, says.v, NULL),
		};
		if (vs.v[vs.n].name)
			vs.n++;
	}
	closedir(dir);
	if (vs.n)
		qsort(vs.v, vs.n, sizeof(*vs.v), by_name);
	vs.costly = join_costly(&vs, pool);
	*ret = vs;
}
