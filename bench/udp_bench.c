/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udp_bench - compares ways of sending and receiving datagrams with each other and with peers, in one ephemeral lab.
 *
 *	udp_bench [-r ROUNDS] [-t SECONDS] [-c] VARIANT...
 *
 * A variant is "NAME:key=value,..." for whyperf's UDP engine: length, window, rate, pps, streams, batch, gso=1, gro=1,
 * spin=1, unconnected=1, busy (us), cpu, peer-cpu; or "NAME!PROGRAM ARGS" for iperf ("iperf -u -b 10g -l 64") and iperf3
 * ("iperf3 -u -b 0 -l 64"), whose server runs too. Every round runs all variants in shuffled order; the table gives
 * medians and, against the first variant, the median and quartiles of the per-round ratios.
 *
 * Datagrams delivered are those that the receiver counts, and for a peer what its namespace's Udp InDatagrams counts.
 * With -c a packet socket in the receiver's namespace records when each packet arrives, whoever sends: rate error
 * against rate= or pps= of the variant, the busiest millisecond over the mean, and the gaps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/units.h"
#include "lab/lab.h"
#include "load/load.h"
#include "sys/net_counters.h"

#define VARIANTS_MAX 32
#define ROUNDS_MAX   200
#define STREAMS_MAX  1000
#define ARGS_MAX     32
#define RING_FRAMES  (1u << 20)
#define FRAME_BYTES  128
#define BLOCK_BYTES  (1u << 20)

struct sample {
	double pps, lost_pct, tx_pct, rx_pct, tx_batch, rx_batch, short_pct, jitter_us, delay_us;
	double error_pct, peak, gap_p50_us, gap_p99_us; /* of the capture */
};

struct variant {
	char name[40];
	char *program; /* a peer with its arguments; NULL = our engine */
	struct wp_plan plan;
	int cpu, peer_cpu;
	struct sample samples[ROUNDS_MAX];
};

struct bench {
	struct wp_lab lab;
	double seconds;
	size_t rounds, n;
	bool capture;
	int ring_fd;
	unsigned char *ring;
	unsigned ring_at;
	struct variant v[VARIANTS_MAX];
};

static void die(const char *what, const struct wp_err *err)
{
	fprintf(stderr, "udp_bench: %s%s%s\n", what, err && err->msg[0] ? ": " : "",
		err ? err->msg : "");
	exit(1);
}

/* ---- variants ---- */

static void set_key(struct variant *v, const char *key, const char *value)
{
	struct wp_plan *p = &v->plan;
	uint64_t n = 0;
	bool ok = true;

	if (!strcmp(key, "length"))
		ok = wp_parse_size_bytes(value, &p->length_bytes) == 0;
	else if (!strcmp(key, "window"))
		ok = wp_parse_size_bytes(value, &p->window_bytes) == 0;
	else if (!strcmp(key, "rate"))
		ok = wp_parse_rate_bps(value, &p->rate_bps) == 0;
	else if (!(ok = wp_parse_count(value, &n) == 0))
		;
	else if (!strcmp(key, "pps"))
		p->rate_bps = n * 8 * p->length_bytes;
	else if (!strcmp(key, "streams"))
		p->streams = (unsigned)n;
	else if (!strcmp(key, "batch"))
		p->batch = (unsigned)n;
	else if (!strcmp(key, "gso"))
		p->gso = n;
	else if (!strcmp(key, "gro"))
		p->gro = n;
	else if (!strcmp(key, "spin"))
		p->spin = n;
	else if (!strcmp(key, "unconnected"))
		p->unconnected = n;
	else if (!strcmp(key, "busy"))
		p->busy_poll_us = (unsigned)n;
	else if (!strcmp(key, "cpu"))
		v->cpu = (int)n;
	else if (!strcmp(key, "peer-cpu"))
		v->peer_cpu = (int)n;
	else
		ok = false;
	if (!ok || p->streams > STREAMS_MAX)
		die(key, NULL);
}

static void parse_variant(struct variant *v, char *text)
{
	size_t name = strcspn(text, ":!");
	char *at = text + name;

	v->plan = (struct wp_plan) {
		.kind = "udp", .transport = WP_UDP, .streams = 1, .length_bytes = 64, .dscp = -1
	};
	v->cpu = 0;
	v->peer_cpu = 1;
	snprintf(v->name, sizeof(v->name), "%.*s", (int)name, text);
	if (*at == '!') {
		char *options = strchr(at + 1, '@');

		v->program = at + 1;
		if (!options)
			return;
		/* "NAME!PROGRAM ARGS@rate=...": what it was asked for, for the capture. */
		*options = '\0';
		at = options;
	}
	while (*at && at[1]) {
		char *key = at + 1, *equals = strchr(key, '='), *comma;

		if (!equals)
			die(key, NULL);
		*equals = '\0';
		comma = strchr(equals + 1, ',');
		at = comma ? comma : equals + 1 + strlen(equals + 1);
		if (comma)
			*comma = '\0';
		set_key(v, key, equals + 1);
		if (comma)
			*comma = ',';
	}
}

/* ---- the capture ---- */

static int do_ring(void *arg)
{
	struct bench *b = arg;
	const struct tpacket_req req = { .tp_block_size = BLOCK_BYTES,
					 .tp_frame_size = FRAME_BYTES,
					 .tp_block_nr = RING_FRAMES / (BLOCK_BYTES / FRAME_BYTES),
					 .tp_frame_nr = RING_FRAMES };
	const struct sockaddr_ll where = { .sll_family = AF_PACKET,
					   .sll_protocol = htons(ETH_P_IP),
					   .sll_ifindex = b->lab.end[WP_LAB_B].ifindex };
	int version = TPACKET_V2;
	void *p;

	b->ring_fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (b->ring_fd < 0 ||
	    setsockopt(b->ring_fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    setsockopt(b->ring_fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) < 0)
		return -errno;
	p = mmap(NULL, (size_t)RING_FRAMES * FRAME_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_POPULATE, b->ring_fd, 0);
	if (p == MAP_FAILED || bind(b->ring_fd, (const void *)&where, sizeof(where)) < 0)
		return -errno;
	b->ring = p;
	return 0;
}

static struct tpacket2_hdr *frame(const struct bench *b, unsigned i)
{
	return (void *)(b->ring + (size_t)(i % RING_FRAMES) * FRAME_BYTES);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Takes what the ring holds; `payload` tells the test's packets from others. */
static void read_capture(struct bench *b, const struct variant *v, struct sample *out)
{
	static double at[RING_FRAMES];
	const struct wp_plan *p = &v->plan;
	double asked = (double)p->rate_bps / 8 / (double)p->length_bytes * p->streams, *gaps;
	size_t n = 0, peak = 0, from = 0;

	for (; frame(b, b->ring_at)->tp_status & TP_STATUS_USER; b->ring_at++) {
		struct tpacket2_hdr *h = frame(b, b->ring_at);

		if (h->tp_len == p->length_bytes + 28 && n < RING_FRAMES)
			at[n++] = h->tp_sec * 1e9 + h->tp_nsec;
		h->tp_status = TP_STATUS_KERNEL;
	}
	if (n < 3)
		return;
	/* Per CPU the order is right, over CPUs not always. */
	qsort(at, n, sizeof(*at), compare);
	for (size_t i = 0; i < n; i++) {
		while (at[i] - at[from] > 1e6)
			from++;
		peak = i - from + 1 > peak ? i - from + 1 : peak;
	}
	out->error_pct =
		asked > 0 ? ((double)(n - 1) / (at[n - 1] - at[0]) * 1e9 / asked - 1) * 100 : 0;
	out->peak = (double)peak / ((double)n / (at[n - 1] - at[0]) * 1e6);
	gaps = calloc(n, sizeof(*gaps));
	if (!gaps)
		die("memory", NULL);
	for (size_t i = 1; i < n; i++)
		gaps[i - 1] = (at[i] - at[i - 1]) / 1e3;
	qsort(gaps, n - 1, sizeof(*gaps), compare);
	out->gap_p50_us = gaps[(n - 1) / 2];
	out->gap_p99_us = gaps[(n - 1) * 99 / 100];
	free(gaps);
}

/* ---- our engine ---- */

struct sockets {
	const struct bench *b;
	const struct wp_plan *plan;
	struct wp_stream_spec tx[STREAMS_MAX], rx[STREAMS_MAX];
};

static int udp_socket(const char *ip, struct wp_addr *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret = (struct wp_addr) { .len = sizeof(ret->v4) };
	ret->v4.sin_family = AF_INET;
	if (fd < 0 || inet_pton(AF_INET, ip, &ret->v4.sin_addr) != 1 ||
	    bind(fd, &ret->sa, ret->len) < 0 || wp_addr_local(fd, ret) < 0)
		return -1;
	return fd;
}

static int do_receivers(void *arg)
{
	struct sockets *s = arg;

	for (unsigned i = 0; i < s->plan->streams; i++) {
		s->rx[i].role = WP_STREAM_RECEIVES;
		s->rx[i].fd = udp_socket(s->b->lab.end[WP_LAB_B].ip4, &s->tx[i].remote);
		if (s->rx[i].fd < 0)
			return -errno;
	}
	return 0;
}

static int do_senders(void *arg)
{
	struct sockets *s = arg;

	for (unsigned i = 0; i < s->plan->streams; i++) {
		struct wp_addr to = s->tx[i].remote;

		s->tx[i].role = WP_STREAM_SENDS;
		s->tx[i].fd = udp_socket(s->b->lab.end[WP_LAB_A].ip4, &s->rx[i].remote);
		if (s->tx[i].fd < 0)
			return -errno;
		if (s->plan->unconnected)
			continue;
		if (connect(s->tx[i].fd, &to.sa, to.len) < 0 ||
		    connect(s->rx[i].fd, &s->rx[i].remote.sa, s->rx[i].remote.len) < 0)
			return -errno;
		s->tx[i].remote.len = s->rx[i].remote.len = 0;
	}
	return 0;
}

static struct wp_load *make_load(const struct wp_plan *plan, const struct wp_stream_spec *streams,
				 int cpu)
{
	const struct wp_cpulist cpus = { &cpu, 1 };
	const struct wp_load_spec spec = { .engine = wp_engine_find("udp"),
					   .plan = plan,
					   .cpus = &cpus,
					   .streams = streams,
					   .n_streams = plan->streams };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	if (wp_load_new(&spec, &l, &err) < 0)
		die("load", &err);
	return l;
}

static void sum_up(const struct wp_load *l, unsigned n, struct wp_stream_count *sum)
{
	*sum = (struct wp_stream_count) { 0 };
	for (unsigned i = 0; i < n; i++) {
		struct wp_stream_count c;

		wp_load_count(l, i, &c);
		sum->packets += c.packets;
		sum->calls += c.calls;
		sum->expected += c.expected;
		sum->duplicated += c.duplicated;
		sum->late += c.late;
		sum->socket_drops += c.socket_drops;
		sum->send_drops += c.send_drops;
		sum->shortfall_packets += c.shortfall_packets;
		sum->jitter_ns = c.jitter_ns;
		if (c.error)
			fprintf(stderr, "stream %u: %s\n", i, strerror(-c.error));
	}
}

static double delay_p50_us(const struct wp_load *l)
{
	struct wp_hist h;
	uint64_t ns = 0;

	if (wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL) < 0)
		die("memory", NULL);
	wp_load_hist(l, WP_HIST_DELAY, &h);
	if (wp_hist_quantile(&h, .5, &ns) < 0)
		ns = 0;
	wp_hist_done(&h);
	return (double)ns / 1e3;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

static void run_engine(struct bench *b, struct variant *v, struct sample *out)
{
	static struct sockets s;
	unsigned n = v->plan.streams;
	struct wp_stream_count tx, rx, at_stop;
	struct wp_thread_use use;
	struct wp_load *sender, *receiver;
	int64_t start;

	s = (struct sockets) { .b = b, .plan = &v->plan };
	if (wp_lab_call(&b->lab, WP_LAB_B, do_receivers, &s) < 0 ||
	    wp_lab_call(&b->lab, WP_LAB_A, do_senders, &s) < 0)
		die("sockets", NULL);
	receiver = make_load(&v->plan, s.rx, v->peer_cpu);
	sender = make_load(&v->plan, s.tx, v->cpu);
	start = wp_now_ns();
	wp_load_go(receiver, start);
	wp_load_go(sender, start);
	wp_sleep_until_ns(start + (int64_t)(b->seconds * 1e9));
	sum_up(receiver, n, &at_stop);
	out->pps = (double)at_stop.packets * 1e9 / (double)(wp_now_ns() - start);
	wp_load_thread_use(sender, 0, &use);
	out->tx_pct = use.cpu_pct.v;
	wp_load_thread_use(receiver, 0, &use);
	out->rx_pct = use.cpu_pct.v;
	wp_load_stop(sender);
	if (wp_load_join(sender, wp_now_ns() + 10 * WP_NS_PER_S) < 0 ||
	    wp_load_join(receiver, wp_now_ns() + 10 * WP_NS_PER_S) < 0)
		die("the load did not end", NULL);
	sum_up(sender, n, &tx);
	sum_up(receiver, n, &rx);
	if (tx.packets != rx.expected ||
	    rx.expected != rx.packets - rx.duplicated - rx.late + rx.socket_drops)
		fprintf(stderr, "%s: sent %llu expected %llu packets %llu dropped %llu\n", v->name,
			(unsigned long long)tx.packets, (unsigned long long)rx.expected,
			(unsigned long long)rx.packets, (unsigned long long)rx.socket_drops);
	out->lost_pct = 100 - 100 * ratio(rx.packets, tx.packets);
	out->tx_batch = ratio(tx.packets, tx.calls);
	out->rx_batch = ratio(rx.packets, rx.calls);
	out->short_pct = 100 * ratio(tx.shortfall_packets, tx.packets + tx.shortfall_packets);
	out->jitter_us = (double)rx.jitter_ns / 1e3;
	out->delay_us = delay_p50_us(receiver);
	wp_load_free(sender);
	wp_load_free(receiver);
	for (unsigned i = 0; i < n; i++) {
		close(s.tx[i].fd);
		close(s.rx[i].fd);
	}
}

/* ---- peers ---- */

static uint64_t kernel_count(const struct bench *b, enum wp_lab_side side, const char *name)
{
	struct wp_buf text _cleanup_buf_ = WP_BUF(1 << 20);
	_cleanup_close_ int fd = -1;
	const char *titles, *values, *at;
	size_t column = 0;
	char *end;

	if (wp_lab_open_file(&b->lab, side, "/proc/thread-self/net/snmp", O_RDONLY, &fd) < 0)
		die("snmp", NULL);
	for (;;) {
		char *room = wp_buf_reserve(&text, 4096);
		ssize_t n = room ? read(fd, room, 4096) : -1;

		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	titles = strstr(wp_buf_text(&text), "\nUdp: ");
	values = titles ? strstr(titles + 1, "\nUdp: ") : NULL;
	at = titles ? strstr(titles, name) : NULL;
	if (!values || !at || at > values)
		die(name, NULL);
	for (const char *c = titles + 1; c < at; c++)
		column += *c == ' ';
	for (at = values + 1; column > 0; at++)
		column -= *at == ' ';
	return strtoull(at, &end, 10);
}

/* Splits at spaces, behind the arguments that are there. */
static void add_words(char **argv, size_t *n, char *text)
{
	while (*text && *n < ARGS_MAX - 1) {
		char *space = strchr(text, ' ');

		argv[(*n)++] = text;
		if (!space)
			return;
		*space = '\0';
		text = space + 1;
	}
}

static pid_t spawn(const struct bench *b, enum wp_lab_side side, int cpu, char **argv)
{
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (wp_lab_enter(&b->lab, side, NULL) < 0 || wp_pin_self(cpu) < 0 || fd < 0 ||
	    dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0)
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static double cpu_s(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void run_peer(struct bench *b, struct variant *v, struct sample *out)
{
	char client_text[512], server_text[512], time_text[32];
	char *client[ARGS_MAX] = { 0 }, *server[ARGS_MAX] = { 0 };
	bool iperf3 = strncmp(v->program, "iperf ", 6) != 0;
	size_t n_client = 0, n_server = 0;
	uint64_t in, sent, errors;
	struct rusage use;
	pid_t pid, server_pid;
	int status;

	snprintf(client_text, sizeof(client_text), "%s", v->program);
	snprintf(server_text, sizeof(server_text), "%.*s -s%s", (int)strcspn(v->program, " "),
		 v->program, iperf3 ? " -1" : " -u");
	snprintf(time_text, sizeof(time_text), "%g", b->seconds);
	add_words(server, &n_server, server_text);
	add_words(client, &n_client, client_text);
	client[n_client++] = (char *)"-c";
	client[n_client++] = b->lab.end[WP_LAB_B].ip4;
	client[n_client++] = (char *)"-t";
	client[n_client++] = time_text;
	server_pid = spawn(b, WP_LAB_B, v->peer_cpu, server);
	wp_sleep_until_ns(wp_now_ns() + 300 * WP_NS_PER_MS);
	in = kernel_count(b, WP_LAB_B, "InDatagrams");
	errors = kernel_count(b, WP_LAB_B, "RcvbufErrors");
	sent = kernel_count(b, WP_LAB_A, "OutDatagrams");
	pid = spawn(b, WP_LAB_A, v->cpu, client);
	wait4(pid, &status, 0, &use);
	out->tx_pct = cpu_s(&use) / b->seconds * 100;
	if (!iperf3)
		kill(server_pid, SIGKILL);
	wait4(server_pid, &status, 0, &use);
	out->rx_pct = cpu_s(&use) / b->seconds * 100;
	in = kernel_count(b, WP_LAB_B, "InDatagrams") - in;
	errors = kernel_count(b, WP_LAB_B, "RcvbufErrors") - errors;
	sent = kernel_count(b, WP_LAB_A, "OutDatagrams") - sent;
	out->pps = (double)in / b->seconds;
	out->lost_pct = 100 * ratio(errors, sent);
}

/* ---- the table ---- */

/* Median of a field over the rounds (offset into struct sample); sorts into `sorted`. */
static double median(const struct bench *b, const struct variant *v, size_t offset,
		     const struct variant *against, double *sorted)
{
	for (size_t r = 0; r < b->rounds; r++) {
		sorted[r] = *(const double *)((const char *)&v->samples[r] + offset);
		if (against)
			sorted[r] /= *(const double *)((const char *)&against->samples[r] + offset);
	}
	qsort(sorted, b->rounds, sizeof(*sorted), compare);
	return b->rounds % 2 ? sorted[b->rounds / 2]
			     : (sorted[b->rounds / 2 - 1] + sorted[b->rounds / 2]) / 2;
}

#define MEDIAN(field) median(b, v, offsetof(struct sample, field), NULL, sorted)

static void print_table(const struct bench *b)
{
	double sorted[ROUNDS_MAX];

	printf("%-20s %9s %6s %11s %7s %5s %5s %6s %6s %6s %8s %8s", "variant", "kpps", "ratio",
	       "(iqr)", "lost%", "tx%", "rx%", "tx/cl", "rx/cl", "short%", "jit us", "dly us");
	printf(b->capture ? " %8s %6s %8s %8s\n" : "\n", "error%", "peak", "gap50us", "gap99us");
	for (size_t i = 0; i < b->n; i++) {
		const struct variant *v = &b->v[i];
		double vs_first = median(b, v, offsetof(struct sample, pps), &b->v[0], sorted);
		double low = sorted[b->rounds / 4], high = sorted[b->rounds - 1 - b->rounds / 4];

		printf("%-20s %9.1f %6.3f (%4.2f-%4.2f) %7.3f", v->name, MEDIAN(pps) / 1e3,
		       vs_first, low, high, MEDIAN(lost_pct));
		printf(" %5.1f %5.1f %6.1f %6.1f %6.2f %8.1f %8.1f", MEDIAN(tx_pct), MEDIAN(rx_pct),
		       MEDIAN(tx_batch), MEDIAN(rx_batch), MEDIAN(short_pct), MEDIAN(jitter_us),
		       MEDIAN(delay_us));
		if (b->capture)
			printf(" %8.4f %6.2f %8.1f %8.1f", MEDIAN(error_pct), MEDIAN(peak),
			       MEDIAN(gap_p50_us), MEDIAN(gap_p99_us));
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static struct bench b = { .seconds = 2, .rounds = 5, .ring_fd = -1 };
	size_t order[VARIANTS_MAX];
	struct wp_err err = { 0 };
	struct wp_rng rng;
	uint64_t n;
	int o;

	while ((o = getopt(argc, argv, "r:t:c")) != -1) {
		if (o == 'r' && wp_parse_u64(optarg, &n) == 0 && n > 0 && n <= ROUNDS_MAX)
			b.rounds = (size_t)n;
		else if (o == 'c')
			b.capture = true;
		else if (o != 't' || wp_parse_double(optarg, &b.seconds) < 0)
			die("usage: udp_bench [-r ROUNDS] [-t SECONDS] [-c] VARIANT...", NULL);
	}
	for (; optind < argc && b.n < VARIANTS_MAX; optind++) {
		order[b.n] = b.n;
		parse_variant(&b.v[b.n++], argv[optind]);
	}
	if (b.n == 0)
		die("no variant given", NULL);
	if (wp_lab_open_ephemeral(NULL, &b.lab, &err) < 0)
		die("lab", &err);
	if (b.capture && wp_lab_call(&b.lab, WP_LAB_B, do_ring, &b) < 0)
		die("cannot capture", NULL);
	wp_rng_seed(&rng, (uint64_t)wp_now_ns());
	for (size_t r = 0; r < b.rounds; r++) {
		wp_rng_shuffle(&rng, order, b.n, sizeof(*order));
		for (size_t i = 0; i < b.n; i++) {
			struct variant *v = &b.v[order[i]];

			if (v->program)
				run_peer(&b, v, &v->samples[r]);
			else
				run_engine(&b, v, &v->samples[r]);
			if (b.capture)
				read_capture(&b, v, &v->samples[r]);
		}
	}
	print_table(&b);
	if (b.ring_fd >= 0)
		close(b.ring_fd);
	wp_lab_close(&b.lab);
	return 0;
}
