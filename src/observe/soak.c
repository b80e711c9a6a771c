/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/soak.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define READINGS     100
#define SHORTEST_NS  (100 * WP_NS_PER_MS)
#define LONGEST_NS   (60 * WP_NS_PER_S)
#define BASE_DEFAULT (10 * LONGEST_NS) /* where the duration is not known */

void wp_soak_off(struct wp_soak *s)
{
	*s = (struct wp_soak) { .next_ns = INT64_MAX };
}

static void read_now(struct wp_soak *s, int64_t now_ns)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct wp_self_use u;
	int r = wp_self_use_read(root, &u);

	if (r) {
		s->status = r;
		return;
	}
	if (root >= 0)
		u.fds--;
	if (s->n == 0 || now_ns <= s->base_ns)
		s->base = u;
	s->last = u;
	if (u.rss_bytes > s->peak.rss_bytes)
		s->peak.rss_bytes = u.rss_bytes;
	if (u.fds > s->peak.fds)
		s->peak.fds = u.fds;
	if (u.threads > s->peak.threads)
		s->peak.threads = u.threads;
	s->n++;
}

void wp_soak_start(struct wp_soak *s, int64_t duration_ns, int64_t now_ns)
{
	int64_t every = duration_ns ? duration_ns / READINGS : LONGEST_NS;

	if (every < SHORTEST_NS)
		every = SHORTEST_NS;
	if (every > LONGEST_NS)
		every = LONGEST_NS;
	*s = (struct wp_soak) { .every_ns = every,
				.next_ns = now_ns + every,
				.base_ns =
					now_ns + (duration_ns ? duration_ns / 10 : BASE_DEFAULT) };
}

void wp_soak_due(struct wp_soak *s, int64_t now_ns)
{
	if (now_ns < s->next_ns)
		return;
	read_now(s, now_ns);
	s->next_ns = now_ns + s->every_ns;
}

void wp_soak_result(struct wp_soak *s, int64_t now_ns, struct wp_host *host)
{
	if (s->next_ns == INT64_MAX)
		return;
	read_now(s, now_ns);
	host->soak_readings = wp_num(s->n);
	if (!s->n) {
		host->soak_rss_base_bytes = host->soak_rss_end_bytes = host->soak_rss_peak_bytes =
			wp_absent(strerror(-s->status));
		host->soak_fds_base = host->soak_fds_end = host->soak_threads_base =
			host->soak_threads_end = host->soak_rss_base_bytes;
		return;
	}
	host->soak_rss_base_bytes = wp_num((double)s->base.rss_bytes);
	host->soak_rss_end_bytes = wp_num((double)s->last.rss_bytes);
	host->soak_rss_peak_bytes = wp_num((double)s->peak.rss_bytes);
	host->soak_fds_base = wp_num(s->base.fds);
	host->soak_fds_end = wp_num(s->last.fds);
	host->soak_fds_peak = wp_num(s->peak.fds);
	host->soak_threads_base = wp_num(s->base.threads);
	host->soak_threads_end = wp_num(s->last.threads);
	host->soak_threads_peak = wp_num(s->peak.threads);
}
