/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/soak.h"

#define GROWTH_SHARE 0.2
#define GROWTH_BYTES (4u << 20)
#define MORE_FDS     8
#define MORE_THREADS 2

/* How much more than the base; 0 where either is not known. */
static double more(struct wp_num base, struct wp_num end)
{
	return wp_has(base) && wp_has(end) ? end.v - base.v : 0;
}

void wp_run_soak(struct wp_run *run)
{
	for (size_t i = 0; i < run->n_hosts; i++) {
		const struct wp_host *h = &run->hosts[i];
		const char *who = h->role ? h->role : "host";
		double bytes = more(h->soak_rss_base_bytes, h->soak_rss_end_bytes);
		double fds = more(h->soak_fds_base, h->soak_fds_end);
		double threads = more(h->soak_threads_base, h->soak_threads_end);

		if (bytes > GROWTH_BYTES && bytes > GROWTH_SHARE * h->soak_rss_base_bytes.v)
			wp_run_warn(
				run,
				"whyperf itself grew on the %s: %.1f MiB of memory after the first tenth "
				"of the run, %.1f MiB at its end",
				who, h->soak_rss_base_bytes.v / (1 << 20),
				h->soak_rss_end_bytes.v / (1 << 20));
		if (fds > MORE_FDS)
			wp_run_warn(
				run,
				"whyperf itself holds more files on the %s: %.0f after the first tenth "
				"of the run, %.0f at its end",
				who, h->soak_fds_base.v, h->soak_fds_end.v);
		if (threads > MORE_THREADS)
			wp_run_warn(
				run,
				"whyperf itself runs more threads on the %s: %.0f after the first tenth "
				"of the run, %.0f at its end",
				who, h->soak_threads_base.v, h->soak_threads_end.v);
	}
}
