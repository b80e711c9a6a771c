/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/softnet.h"

#include "base/cpuset.h"
#include "sys/grow.h"
#include "sys/text.h"

/* Index of the columns used here. */
enum {
	COLUMN_PROCESSED = 0,
	COLUMN_DROPPED = 1,
	COLUMN_SQUEEZED = 2,
	COLUMN_RPS = 9,
	COLUMN_FLOW_LIMIT = 10,
	COLUMN_BACKLOG = 11,
	COLUMN_CPU = 12,
	COLUMN_INPUT = 13,
	COLUMN_PROCESS = 14,
	COLUMNS_KNOWN = 15,
	COLUMNS_LEAST = 9,
};

static int parse_row(struct wp_text line, struct wp_softnet_row *ret)
{
	uint32_t v[COLUMNS_KNOWN] = { 0 };
	struct wp_text word;
	unsigned n = 0;

	while (wp_text_word(&line, &word)) {
		uint64_t value;
		int r = wp_text_hex(word, &value);

		if (r < 0)
			return r;
		if (value > UINT32_MAX)
			return -ERANGE;
		if (n < COLUMNS_KNOWN)
			v[n] = (uint32_t)value;
		n++;
	}
	if (n < COLUMNS_LEAST || v[COLUMN_CPU] >= WP_CPU_MAX)
		return -EINVAL;
	*ret = (struct wp_softnet_row) {
		.cpu = n > COLUMN_CPU ? (int)v[COLUMN_CPU] : -1,
		.columns = n,
		.processed = v[COLUMN_PROCESSED],
		.dropped = v[COLUMN_DROPPED],
		.squeezed = v[COLUMN_SQUEEZED],
		.received_rps = v[COLUMN_RPS],
		.flow_limited = v[COLUMN_FLOW_LIMIT],
		.backlog = v[COLUMN_BACKLOG],
		.input_queue = v[COLUMN_INPUT],
		.process_queue = v[COLUMN_PROCESS],
	};
	return 0;
}

int wp_softnet_parse(const char *data, size_t len, struct wp_softnet *s, struct wp_err *err)
{
	struct wp_text t = wp_text(data, len), line;

	s->n = 0;
	while (wp_text_line(&t, &line)) {
		struct wp_softnet_row row;
		int r = parse_row(line, &row);

		if (r < 0)
			return wp_err_set(err, -EBADMSG, "net/softnet_stat: line %zu is malformed",
					  s->n + 1);
		r = WP_GROW(s->row, s->cap, s->n + 1, WP_CPU_MAX);
		if (r < 0)
			return r;
		s->row[s->n++] = row;
	}
	return s->n ? 0 : wp_err_set(err, -ENODATA, "net/softnet_stat is empty");
}

int wp_softnet_assign(struct wp_softnet *s, const int *online, size_t n_online)
{
	bool said = true;

	for (size_t i = 0; i < s->n; i++)
		said &= s->row[i].cpu >= 0;
	if (said)
		return 0;
	if (s->n != n_online)
		return -ESTALE;
	for (size_t i = 0; i < s->n; i++)
		s->row[i].cpu = online[i];
	return 0;
}

const struct wp_softnet_row *wp_softnet_cpu(const struct wp_softnet *s, int cpu, size_t hint)
{
	if (hint < s->n && s->row[hint].cpu == cpu)
		return &s->row[hint];
	for (size_t i = 0; i < s->n; i++)
		if (s->row[i].cpu == cpu)
			return &s->row[i];
	return NULL;
}

void wp_softnet_done(struct wp_softnet *s)
{
	if (!s)
		return;
	free(s->row);
	*s = (struct wp_softnet) { 0 };
}
