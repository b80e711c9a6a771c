/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/stall_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "observe/snapshot.h"
#include "sys/delta.h"
#include "sys/nic.h"
#include "sys/nl_qdisc.h"

#define NIC_POOL_BYTES (4u << 20)
#define NAME_BYTES     48
#define SOURCES                                                                    \
	(WP_SOURCE_BIT(WP_SOURCE_INTERRUPTS) | WP_SOURCE_BIT(WP_SOURCE_SOFTIRQS) | \
	 WP_SOURCE_BIT(WP_SOURCE_SOFTNET))

struct line {
	char label[16];
	char name[NAME_BYTES];
	bool device;
};

/* A transmit queue as it was at the mark. */
struct marked {
	uint32_t parent;
	uint64_t sent, least_queued;
};

struct wp_stall_machine {
	int root;
	struct wp_sources sources;
	struct wp_snapshot snap[2];
	unsigned now;
	bool any; /* one has been read */
	int64_t read_ns;

	struct wp_nl nl;
	bool has_nl;
	int ifindex; /* 0 = not known */
	char ifname[IF_NAMESIZE];
	bool sysfs_is_ours;
	int *irqs; /* of the interface, ascending */
	size_t n_irqs;
	struct wp_nl_link link;
	bool has_link;
	struct rtnl_link_stats64 stats;
	bool has_stats;
	struct wp_nl_qdiscs qdiscs;
	struct wp_nl_qdisc root_qdisc;
	bool has_root_qdisc;

	char queue_kind[WP_NL_QDISC_KIND]; /* that held packets since the mark */
	char stuck[IF_NAMESIZE + WP_NL_QDISC_KIND + 20];
	struct marked *marks;
	size_t n_marks;
	uint64_t *timeouts; /* of each transmit queue at the mark; SIZE n_timeouts */
	size_t n_timeouts;

	struct line lines[WP_STALL_LINES];
	unsigned n_lines;
	struct wp_stall_cell cells[WP_STALL_CELLS];
	size_t n_cells;
};

/* ---- which interface -------------------------------------------------------------------------- */

static bool same_address(const struct wp_nl_addr *a, const struct wp_addr *local)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *six = local->v6.sin6_addr.s6_addr;

	if (local->sa.sa_family == AF_INET)
		return a->family == AF_INET && !memcmp(a->addr, &local->v4.sin_addr, 4);
	if (local->sa.sa_family != AF_INET6)
		return false;
	if (!memcmp(six, mapped, sizeof(mapped)))
		return a->family == AF_INET && !memcmp(a->addr, six + sizeof(mapped), 4);
	return a->family == AF_INET6 && !memcmp(a->addr, six, 16);
}

static void find_interface(struct wp_stall_machine *m, const struct wp_addr *local)
{
	_cleanup_nl_addrs_ struct wp_nl_addrs addrs = { 0 };
	struct wp_nl_link link;

	if (wp_addr_is_loopback(local)) {
		if (!wp_nl_link_get(&m->nl, "lo", &link, NULL))
			m->ifindex = link.ifindex;
	} else if (!wp_nl_addr_list(&m->nl, &addrs, NULL)) {
		for (size_t i = 0; i < addrs.n && !m->ifindex; i++)
			if (same_address(&addrs.v[i], local))
				m->ifindex = addrs.v[i].ifindex;
	}
	if (m->ifindex && wp_nl_link_get_by_index(&m->nl, m->ifindex, &link, NULL))
		m->ifindex = 0;
	if (m->ifindex)
		memcpy(m->ifname, link.name, sizeof(m->ifname));
}

/* Its interrupts, where sysfs shows this namespace: an interface of the same name and number is taken for it. */
static int find_irqs(struct wp_stall_machine *m)
{
	struct wp_pool pool = WP_POOL(NIC_POOL_BYTES);
	struct wp_nic nic = { 0 };
	int r = 0;

	wp_nic_read(m->root, m->ifname, &pool, &nic);
	m->sysfs_is_ours = nic.ifindex == m->ifindex;
	if (m->sysfs_is_ours && nic.n_irqs) {
		m->irqs = calloc(nic.n_irqs, sizeof(*m->irqs));
		r = m->irqs ? 0 : -ENOMEM;
		for (size_t i = 0; !r && i < nic.n_irqs; i++)
			m->irqs[m->n_irqs++] = nic.irqs[i].irq;
	}
	wp_pool_done(&pool);
	return r;
}

/* ---- lines ------------------------------------------------------------------------------------ */

static bool is_of_interface(const struct wp_stall_machine *m, const struct wp_irq_row *row)
{
	size_t len = strlen(m->ifname);
	const char *at;

	for (size_t i = 0; i < m->n_irqs; i++)
		if (m->irqs[i] == row->irq)
			return true;
	if (!len)
		return false;
	/* Drivers name them "eth0", "eth0-TxRx-3", "mlx5_comp3@pci:...": the first two tell the interface. */
	at = strstr(row->action, m->ifname);
	return at && (at == row->action || at[-1] == ' ') &&
	       (at[len] == '\0' || at[len] == '-' || at[len] == ',' || at[len] == ' ');
}

/* The driver's own words are the last ones, behind two blanks; chip and trigger come before. */
static const char *driver_words(const char *action)
{
	const char *last = action;

	for (const char *c = action; *c; c++)
		if (c[0] == ' ' && c[1] == ' ' && c[2] && c[2] != ' ')
			last = c + 2;
	return last;
}

/* Number of the line with that label, made when it is new; WP_STALL_LINES when there is no room. */
static unsigned line_of(struct wp_stall_machine *m, const struct wp_irq_row *row)
{
	struct line *l;

	for (unsigned i = 0; i < m->n_lines; i++)
		if (!strcmp(m->lines[i].label, row->label))
			return i;
	if (m->n_lines == WP_STALL_LINES)
		return WP_STALL_LINES;
	l = &m->lines[m->n_lines];
	memcpy(l->label, row->label, sizeof(l->label));
	l->device = row->irq >= 0 && is_of_interface(m, row);
	if (row->irq >= 0)
		snprintf(l->name, sizeof(l->name), "%s %.*s", row->label, NAME_BYTES - 17,
			 driver_words(row->action));
	else
		snprintf(l->name, sizeof(l->name), "%s", row->label);
	return m->n_lines++;
}

static void add_cell(struct wp_stall_machine *m, const struct wp_irq_row *row, int cpu,
		     uint64_t count)
{
	unsigned line = count && m->n_cells < WP_STALL_CELLS ? line_of(m, row) : WP_STALL_LINES;

	if (line < WP_STALL_LINES)
		m->cells[m->n_cells++] = (struct wp_stall_cell) { line, cpu, count };
}

/* What the CPUs did in one row, in all. */
static uint64_t add_row(struct wp_stall_machine *m, const struct wp_irq_table *a, size_t a_row,
			const struct wp_irq_table *b, size_t b_row)
{
	const uint64_t *before = wp_irq_table_counts(a, a_row);
	const uint64_t *after = wp_irq_table_counts(b, b_row);
	uint64_t sum = 0, delta;

	for (size_t c = 0; c < b->n_cpus; c++) {
		size_t k = wp_irq_table_column(a, b->cpu[c], c);

		if (k == a->n_cpus || after[c] == before[k] ||
		    wp_counter_delta(before[k], after[c], WP_WIDTH_32, &delta))
			continue;
		add_cell(m, &b->row[b_row], b->cpu[c], delta);
		sum += delta;
	}
	return sum;
}

/* Those of the interface, or the others. */
static void add_interrupts(struct wp_stall_machine *m, bool of_interface,
			   struct wp_stall_moment *ret)
{
	const struct wp_irq_table *a = &m->snap[!m->now].interrupts;
	const struct wp_irq_table *b = &m->snap[m->now].interrupts;

	ret->has_interrupts =
		!m->snap[0].why[WP_SOURCE_INTERRUPTS] && !m->snap[1].why[WP_SOURCE_INTERRUPTS];
	for (size_t i = 0; ret->has_interrupts && i < b->n_rows; i++) {
		size_t k;

		/* Timers, other CPUs' calls and the like have no number. */
		if (b->row[i].irq < 0 || b->row[i].aggregate ||
		    is_of_interface(m, &b->row[i]) != of_interface)
			continue;
		k = wp_irq_table_find(a, b->row[i].label, i);
		if (k < a->n_rows)
			ret->interrupts += add_row(m, a, k, b, i);
	}
}

static void add_softirqs(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	const struct wp_irq_table *a = &m->snap[!m->now].softirqs;
	const struct wp_irq_table *b = &m->snap[m->now].softirqs;
	const struct {
		const char *label;
		uint64_t *sum;
	} rows[] = { { "NET_RX", &ret->net_rx }, { "NET_TX", &ret->net_tx } };

	ret->has_softirqs =
		!m->snap[0].why[WP_SOURCE_SOFTIRQS] && !m->snap[1].why[WP_SOURCE_SOFTIRQS];
	for (size_t i = 0; ret->has_softirqs && i < WP_ARRAY_SIZE(rows); i++) {
		size_t k = wp_irq_table_find(a, rows[i].label, 0);
		size_t n = wp_irq_table_find(b, rows[i].label, 0);

		if (k < a->n_rows && n < b->n_rows)
			*rows[i].sum = add_row(m, a, k, b, n);
	}
}

static void add_softnet(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	const struct wp_softnet *a = &m->snap[!m->now].softnet, *b = &m->snap[m->now].softnet;

	ret->has_softnet = !m->snap[0].why[WP_SOURCE_SOFTNET] && !m->snap[1].why[WP_SOURCE_SOFTNET];
	for (size_t i = 0; ret->has_softnet && i < b->n; i++) {
		const struct wp_softnet_row *now = &b->row[i];
		const struct wp_softnet_row *then = wp_softnet_cpu(a, now->cpu, i);

		if (!then)
			continue;
		ret->processed +=
			now->processed - then->processed; /* 32 bits wide: wraps survive */
		ret->dropped += now->dropped - then->dropped;
		ret->squeezed += now->squeezed - then->squeezed;
	}
}

/* ---- the interface ---------------------------------------------------------------------------- */

static uint64_t grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static void read_link(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	struct wp_nl_link link;

	if (wp_nl_link_get_by_index(&m->nl, m->ifindex, &link, NULL)) {
		m->has_link = false;
		return;
	}
	ret->has_link = true;
	ret->carrier = link.carrier && link.flags & IFF_UP;
	if (!ret->carrier)
		ret->down_ns = ret->to_ns - ret->from_ns;
	ret->has_changes = link.has_carrier_changes && m->has_link;
	if (ret->has_changes)
		ret->carrier_changes = grown(m->link.carrier_changes, link.carrier_changes);
	m->link = link;
	m->has_link = true;
}

static void read_stats(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	const struct rtnl_link_stats64 *a = &m->stats;
	struct rtnl_link_stats64 b;

	if (wp_nl_link_stats_by_index(&m->nl, m->ifindex, &b, NULL)) {
		m->has_stats = false;
		return;
	}
	ret->has_stats = m->has_stats;
	if (ret->has_stats) {
		ret->tx_packets = grown(a->tx_packets, b.tx_packets);
		ret->rx_packets = grown(a->rx_packets, b.rx_packets);
		ret->tx_dropped =
			grown(a->tx_dropped, b.tx_dropped) + grown(a->tx_errors, b.tx_errors);
		ret->rx_dropped = grown(a->rx_dropped, b.rx_dropped) +
				  grown(a->rx_errors, b.rx_errors) +
				  grown(a->rx_missed_errors, b.rx_missed_errors);
	}
	m->stats = b;
	m->has_stats = true;
}

static const struct wp_nl_qdisc *queue_at(const struct wp_nl_qdiscs *q, uint32_t parent)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].parent == parent)
			return &q->v[i];
	return NULL;
}

static void read_queue(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	static const struct wp_nl_qdisc fresh = { 0 };
	const struct wp_nl_qdisc *a = &m->root_qdisc, *b;

	if (wp_nl_qdisc_list(&m->nl, m->ifindex, &m->qdiscs, NULL)) {
		m->has_root_qdisc = false;
		return;
	}
	b = wp_nl_qdisc_root(&m->qdiscs);
	ret->has_queue = b != NULL;
	if (b) {
		ret->queued = ret->least_queued = ret->most_queued = b->queued_packets;
		/* One that was put there meanwhile counts from 0. */
		if (!m->any)
			a = b;
		else if (!m->has_root_qdisc || a->handle != b->handle)
			a = &fresh;
		ret->dequeued = grown(a->sent_packets, b->sent_packets);
		ret->queue_drops = grown(a->drops, b->drops);
		ret->requeues = grown(a->requeues, b->requeues);
	}
	m->has_root_qdisc = b != NULL;
	if (b)
		m->root_qdisc = *b;
	if (b && b->queued_packets)
		memcpy(m->queue_kind, b->kind, sizeof(m->queue_kind));
	for (size_t i = 0; i < m->n_marks; i++) {
		const struct wp_nl_qdisc *q = queue_at(&m->qdiscs, m->marks[i].parent);

		if (!q || q->queued_packets < m->marks[i].least_queued)
			m->marks[i].least_queued = q ? q->queued_packets : 0;
	}
}

/* ---- transmit watchdogs ----------------------------------------------------------------------- */

/* Of transmit queue `i`, -1 when it can't be read. */
static int64_t timeouts_of(const struct wp_stall_machine *m, size_t i)
{
	char path[96], text[32];
	uint64_t v;

	snprintf(path, sizeof(path), "sys/class/net/%s/queues/tx-%zu/tx_timeout", m->ifname, i);
	if (!m->sysfs_is_ours || wp_read_line_at(m->root, path, text, sizeof(text)) < 0 ||
	    wp_parse_u64(text, &v) || v > INT64_MAX)
		return -1;
	return (int64_t)v;
}

static void mark_timeouts(struct wp_stall_machine *m)
{
	if (!m->timeouts)
		m->timeouts = calloc(WP_NIC_QUEUES_MAX, sizeof(*m->timeouts));
	m->n_timeouts = 0;
	for (size_t i = 0; m->timeouts && i < WP_NIC_QUEUES_MAX; i++) {
		int64_t n = timeouts_of(m, i);

		if (n < 0)
			break;
		m->timeouts[m->n_timeouts++] = (uint64_t)n;
	}
}

int64_t wp_stall_machine_timeouts(struct wp_stall_machine *m)
{
	int64_t sum = 0;

	for (size_t i = 0; i < m->n_timeouts; i++) {
		int64_t n = timeouts_of(m, i);

		if (n > 0)
			sum += (int64_t)grown(m->timeouts[i], (uint64_t)n);
	}
	return m->n_timeouts ? sum : -1;
}

void wp_stall_machine_mark(struct wp_stall_machine *m)
{
	free(m->marks);
	m->n_marks = 0;
	m->stuck[0] = m->queue_kind[0] = '\0';
	m->marks = calloc(m->qdiscs.n + 1, sizeof(*m->marks));
	for (size_t i = 0; m->marks && i < m->qdiscs.n; i++) {
		const struct wp_nl_qdisc *q = &m->qdiscs.v[i];

		m->marks[m->n_marks++] =
			(struct marked) { q->parent, q->sent_packets, q->queued_packets };
	}
	mark_timeouts(m);
}

void wp_stall_machine_compare(struct wp_stall_machine *m)
{
	m->stuck[0] = '\0';
	for (size_t i = 0; i < m->n_marks && !m->stuck[0]; i++) {
		const struct marked *a = &m->marks[i];
		const struct wp_nl_qdisc *b = queue_at(&m->qdiscs, a->parent);
		uint32_t queue = a->parent & 0xffff;

		if (!b || !a->least_queued || a->sent != b->sent_packets)
			continue;
		if (a->parent == UINT32_MAX)
			snprintf(m->stuck, sizeof(m->stuck), "%s %s", m->ifname, b->kind);
		else /* classes of mq and mqprio count transmit queues from 1 */
			snprintf(m->stuck, sizeof(m->stuck), "%s tx-%u %s", m->ifname,
				 queue ? queue - 1 : 0, b->kind);
	}
}

const char *wp_stall_machine_stuck(struct wp_stall_machine *m, struct wp_pool *pool)
{
	for (size_t i = 0; i < m->n_timeouts; i++) {
		int64_t n = timeouts_of(m, i);

		if (n > 0 && grown(m->timeouts[i], (uint64_t)n))
			return wp_pool_printf(pool, "%s tx-%zu", m->ifname, i);
	}
	return m->stuck[0] ? wp_pool_strdup(pool, m->stuck) : NULL;
}

/* ---- life ------------------------------------------------------------------------------------- */

int wp_stall_machine_new(const struct wp_addr *local, int root_fd, struct wp_stall_machine **ret,
			 struct wp_err *err)
{
	struct wp_stall_machine *m = calloc(1, sizeof(*m));
	int r = 0;

	if (!m)
		return wp_err_sys(err, -ENOMEM, "cannot watch for stalls");
	m->root = root_fd < 0 ? open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			      : fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	if (m->root < 0)
		r = wp_err_sys(err, -errno, "cannot open the directory that holds proc and sys");
	if (!r)
		r = wp_sources_open(&m->sources, m->root, SOURCES, err);
	/* Without netlink the interface is not known; the rest is of use all the same. */
	if (!r && local && !wp_nl_open(&m->nl, NULL)) {
		m->has_nl = true;
		find_interface(m, local);
	}
	if (!r && m->ifindex)
		r = find_irqs(m);
	if (r) {
		wp_stall_machine_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void wp_stall_machine_read(struct wp_stall_machine *m, struct wp_stall_moment *ret)
{
	int64_t now_ns = wp_now_ns();

	*ret = (struct wp_stall_moment) { .from_ns = m->any ? m->read_ns : now_ns,
					  .to_ns = now_ns };
	m->read_ns = now_ns;
	m->n_cells = 0;
	m->now = !m->now;
	wp_sources_read(&m->sources, &m->snap[m->now]);
	if (m->any) {
		/* What matters most comes first: where many CPUs work, the cells do not hold all. */
		add_interrupts(m, true, ret);
		add_softirqs(m, ret);
		add_interrupts(m, false, ret);
		add_softnet(m, ret);
	}
	if (m->ifindex) {
		read_link(m, ret);
		read_stats(m, ret);
		read_queue(m, ret);
	}
	m->any = true;
}

const struct wp_stall_cell *wp_stall_machine_cells(const struct wp_stall_machine *m, size_t *ret_n)
{
	*ret_n = m->n_cells;
	return m->cells;
}

const char *wp_stall_machine_line(const struct wp_stall_machine *m, unsigned line, bool *ret_device)
{
	*ret_device = m->lines[line].device;
	return m->lines[line].name;
}

const char *wp_stall_machine_interface(const struct wp_stall_machine *m)
{
	return m->ifindex ? m->ifname : NULL;
}

const char *wp_stall_machine_qdisc(const struct wp_stall_machine *m)
{
	return m->queue_kind[0] ? m->queue_kind : m->has_root_qdisc ? m->root_qdisc.kind : NULL;
}

void wp_stall_machine_free(struct wp_stall_machine *m)
{
	if (!m)
		return;
	wp_sources_done(&m->sources);
	wp_snapshot_done(&m->snap[0]);
	wp_snapshot_done(&m->snap[1]);
	if (m->has_nl)
		wp_nl_done(&m->nl);
	wp_nl_qdiscs_done(&m->qdiscs);
	wp_close_p(&m->root);
	free(m->irqs);
	free(m->marks);
	free(m->timeouts);
	free(m);
}

void wp_stall_moment_join(struct wp_stall_moment *a, const struct wp_stall_moment *b)
{
	a->to_ns = b->to_ns;
	a->has_interrupts &= b->has_interrupts;
	a->has_softirqs &= b->has_softirqs;
	a->has_softnet &= b->has_softnet;
	a->has_link &= b->has_link;
	a->has_changes &= b->has_changes;
	a->has_stats &= b->has_stats;
	a->has_queue &= b->has_queue;
	a->interrupts += b->interrupts;
	a->net_rx += b->net_rx;
	a->net_tx += b->net_tx;
	a->processed += b->processed;
	a->dropped += b->dropped;
	a->squeezed += b->squeezed;
	a->carrier = b->carrier;
	a->carrier_changes += b->carrier_changes;
	a->down_ns += b->down_ns;
	a->tx_packets += b->tx_packets;
	a->rx_packets += b->rx_packets;
	a->tx_dropped += b->tx_dropped;
	a->rx_dropped += b->rx_dropped;
	a->queued = b->queued;
	if (b->least_queued < a->least_queued)
		a->least_queued = b->least_queued;
	if (b->most_queued > a->most_queued)
		a->most_queued = b->most_queued;
	a->dequeued += b->dequeued;
	a->queue_drops += b->queue_drops;
	a->requeues += b->requeues;
}
