/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_bench - compares ways of moving bytes with each other and with iperf3, in one ephemeral lab.
 *
 *	load_bench [-r ROUNDS] [-t SECONDS] VARIANT...
 *
 * A variant is "NAME:key=value,..." for whyperf's TCP engine: length, window, rate, streams, recv=
 * read|discard, send=write|zerocopy, fill=zero|random|pattern, cpu, peer-cpu, cc, check=1; or
 * "NAME!PROGRAM ARGS" for an iperf3 client and server (CPU 0 and 1). Every round runs all variants in
 * shuffled order; the table gives medians and, against the first variant, the median and range of the
 * per-round ratios. Speed is compared here and nowhere in the tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "net/sock.h"
#include "sys/proc_stat.h"
#include "sys/tcp_info.h"

#define VARIANTS_MAX 32
#define ROUNDS_MAX   200
#define STREAMS_MAX  1000
#define ARGS_MAX     32

struct sample {
	double bps, tx_pct, rx_pct, machine_us_per_kb, tx_call_bytes, rx_call_bytes;
	double retransmits, shortfall_bytes, corrupt_blocks;
	double jain; /* fairness of the streams: (sum x)^2 / (n sum x^2) */
};

struct variant {
	char name[40];
	char *program; /* iperf3 with its arguments; NULL = our engine */
	struct wp_plan plan;
	int cpu, peer_cpu;
	struct sample samples[ROUNDS_MAX];
	char methods[64];
};

struct bench {
	struct wp_lab lab;
	double seconds;
	size_t rounds, n;
	struct variant v[VARIANTS_MAX];
};

static void die(const char *what, const struct wp_err *err)
{
	fprintf(stderr, "load_bench: %s%s%s\n", what, err && err->msg[0] ? ": " : "",
		err ? err->msg : "");
	exit(1);
}

/* ---- variants ---- */

static void set_key(struct variant *v, const char *key, const char *value)
{
	uint64_t n = 0;
	bool ok = true;

	if (!strcmp(key, "length"))
		ok = wp_parse_size_bytes(value, &v->plan.length_bytes) == 0;
	else if (!strcmp(key, "window"))
		ok = wp_parse_size_bytes(value, &v->plan.window_bytes) == 0;
	else if (!strcmp(key, "rate"))
		ok = wp_parse_rate_bps(value, &v->plan.rate_bps) == 0;
	else if (!strcmp(key, "recv"))
		v->plan.receive_method = *value == 'd' ? WP_RECEIVE_DISCARD : WP_RECEIVE_READ;
	else if (!strcmp(key, "send"))
		v->plan.send_method = *value == 'z' ? WP_SEND_ZEROCOPY : WP_SEND_WRITE;
	else if (!strcmp(key, "fill"))
		v->plan.fill = *value == 'p'   ? WP_FILL_PATTERN
			       : *value == 'r' ? WP_FILL_RANDOM
					       : WP_FILL_ZERO;
	else if (!strcmp(key, "check"))
		v->plan.check = true;
	else if (!strcmp(key, "cc"))
		v->plan.congestion = value;
	else if ((ok = wp_parse_u64(value, &n) == 0) && !strcmp(key, "streams"))
		v->plan.streams = (unsigned)n;
	else if (ok && !strcmp(key, "cpu"))
		v->cpu = (int)n;
	else if (ok && !strcmp(key, "peer-cpu"))
		v->peer_cpu = (int)n;
	else
		ok = false;
	if (!ok || v->plan.streams > STREAMS_MAX)
		die(key, NULL);
}

static void parse_variant(struct variant *v, char *text)
{
	size_t name = strcspn(text, ":!");
	char *at = text + name;

	v->plan = (struct wp_plan) { .kind = "tcp",
				     .streams = 1,
				     .length_bytes = 1 << 20,
				     .dscp = -1,
				     .congestion = "cubic" };
	v->cpu = 0;
	v->peer_cpu = 1;
	snprintf(v->name, sizeof(v->name), "%.*s", (int)name, text);
	if (*at == '!') {
		v->program = at + 1;
		return;
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

/* ---- the machine ---- */

/* Time that all CPUs were idle, in ns. */
static double idle_ns(void)
{
	struct wp_buf text _cleanup_buf_ = WP_BUF(1 << 20);
	struct wp_proc_stat stat = { 0 };
	double ticks;

	if (wp_read_file_at(AT_FDCWD, "/proc/stat", &text) < 0 ||
	    wp_proc_stat_parse(text.data, text.len, &stat, NULL) < 0)
		die("cannot read /proc/stat", NULL);
	ticks = (double)(stat.all.ticks[WP_CPU_IDLE] + stat.all.ticks[WP_CPU_IOWAIT]);
	wp_proc_stat_done(&stat);
	return ticks * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

struct busy {
	int64_t at_ns;
	double idle_ns;
};

static struct busy busy_now(void)
{
	return (struct busy) { wp_now_ns(), idle_ns() };
}

static double busy_us_per_kb(const struct busy *from, double bytes)
{
	struct busy to = busy_now();
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double busy = cpus * (double)(to.at_ns - from->at_ns) - (to.idle_ns - from->idle_ns);

	return busy / 1e3 / (bytes / 1024);
}

/* ---- our engine ---- */

struct sockets {
	const struct wp_lab *lab;
	const struct wp_plan *plan;
	int listener;
	uint16_t port;
	int tx[STREAMS_MAX], rx[STREAMS_MAX];
	struct wp_err err;
};

static int do_listen(void *arg)
{
	struct sockets *s = arg;
	struct wp_addr a;
	int r = wp_sock_listen(NULL, 0, AF_INET, &s->listener, &s->err);

	if (r == 0)
		r = wp_addr_local(s->listener, &a);
	if (r == 0)
		s->port = wp_addr_port(&a);
	return r;
}

static int do_connect(void *arg)
{
	struct sockets *s = arg;
	const struct wp_connect c = { .host = s->lab->end[WP_LAB_B].ip4,
				      .port = s->port,
				      .timeout_ns = 5 * WP_NS_PER_S,
				      .plan = s->plan };
	int r = 0;

	for (unsigned i = 0; i < s->plan->streams && r == 0; i++) {
		r = wp_sock_connect(&c, &s->tx[i], &s->err);
		if (r == 0)
			r = wp_sock_accept(s->listener, wp_now_ns() + 5 * WP_NS_PER_S, &s->rx[i],
					   NULL);
		if (r == 0)
			r = wp_sock_apply(s->rx[i], s->plan, NULL, &s->err);
	}
	return r;
}

static struct wp_load *make_load(const struct wp_plan *plan, const int *fds,
				 enum wp_stream_role role, int cpu)
{
	struct wp_stream_spec streams[STREAMS_MAX];
	const struct wp_cpulist cpus = { &cpu, 1 };
	const struct wp_load_spec spec = { .engine = wp_engine_find("tcp"),
					   .plan = plan,
					   .cpus = &cpus,
					   .streams = streams,
					   .n_streams = plan->streams };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	for (unsigned i = 0; i < plan->streams; i++)
		streams[i] = (struct wp_stream_spec) { fds[i], role, 0 };
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
		sum->bytes += c.bytes;
		sum->calls += c.calls;
		sum->corrupt_blocks += c.corrupt_blocks;
		sum->shortfall_bytes += c.shortfall_bytes;
		if (c.last_ns > sum->last_ns)
			sum->last_ns = c.last_ns;
		if (c.error)
			fprintf(stderr, "stream %u: %s\n", i, strerror(-c.error));
	}
}

static double jain(const struct wp_load *l, unsigned n)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < n; i++) {
		struct wp_stream_count c;

		wp_load_count(l, i, &c);
		sum += (double)c.bytes;
		squares += (double)c.bytes * (double)c.bytes;
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 0;
}

static void run_engine(struct bench *b, struct variant *v, struct sample *out)
{
	struct sockets s = { .lab = &b->lab, .plan = &v->plan, .listener = -1 };
	struct wp_stream_count tx, rx, rx_at_stop;
	struct wp_thread_use use;
	struct wp_load *sender, *receiver;
	struct busy busy;
	int64_t start;

	if (wp_lab_call(&b->lab, WP_LAB_B, do_listen, &s) < 0 ||
	    wp_lab_call(&b->lab, WP_LAB_A, do_connect, &s) < 0)
		die("sockets", &s.err);
	receiver = make_load(&v->plan, s.rx, WP_STREAM_RECEIVES, v->peer_cpu);
	sender = make_load(&v->plan, s.tx, WP_STREAM_SENDS, v->cpu);
	busy = busy_now();
	start = wp_now_ns();
	wp_load_go(receiver, start);
	wp_load_go(sender, start);
	wp_sleep_until_ns(start + (int64_t)(b->seconds * 1e9));
	sum_up(receiver, v->plan.streams, &rx_at_stop);
	out->bps = (double)rx_at_stop.bytes * 8e9 / (double)(wp_now_ns() - start);
	out->machine_us_per_kb = busy_us_per_kb(&busy, (double)rx_at_stop.bytes);
	wp_load_stop(sender);
	if (wp_load_join(sender, wp_now_ns() + 10 * WP_NS_PER_S) < 0 ||
	    wp_load_join(receiver, wp_now_ns() + 10 * WP_NS_PER_S) < 0)
		die("the load did not end", NULL);
	sum_up(sender, v->plan.streams, &tx);
	sum_up(receiver, v->plan.streams, &rx);
	if (tx.bytes != rx.bytes)
		die("the ends differ", NULL);
	out->jain = jain(receiver, v->plan.streams);
	wp_load_thread_use(sender, 0, &use);
	out->tx_pct = use.cpu_pct.v;
	wp_load_thread_use(receiver, 0, &use);
	out->rx_pct = use.cpu_pct.v;
	out->tx_call_bytes = (double)tx.bytes / (double)(tx.calls ? tx.calls : 1);
	out->rx_call_bytes = (double)rx.bytes / (double)(rx.calls ? rx.calls : 1);
	out->shortfall_bytes = (double)tx.shortfall_bytes;
	out->corrupt_blocks = (double)rx.corrupt_blocks;
	for (unsigned i = 0; i < v->plan.streams; i++) {
		struct wp_tcp_info info;

		if (wp_tcp_info_read(s.tx[i], &info) == 0)
			out->retransmits += info.total_retrans;
	}
	snprintf(v->methods, sizeof(v->methods), "%s / %s", wp_load_method(sender, WP_STREAM_SENDS),
		 wp_load_method(receiver, WP_STREAM_RECEIVES));
	wp_load_free(sender);
	wp_load_free(receiver);
	wp_close_p(&s.listener);
	for (unsigned i = 0; i < v->plan.streams; i++) {
		wp_close_p(&s.tx[i]);
		wp_close_p(&s.rx[i]);
	}
}

/* ---- iperf3 ---- */

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

static pid_t spawn(const struct bench *b, enum wp_lab_side side, char **argv, int out_fd)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (wp_lab_enter(&b->lab, side, NULL) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

static double json_number(const json_t *root, const char *path, const char *key)
{
	const json_t *end = json_object_get(root, "end");

	return json_number_value(json_object_get(json_object_get(end, path), key));
}

static void run_iperf3(struct bench *b, struct variant *v, struct sample *out)
{
	char client_text[512], server_text[512], time_text[32];
	char *client[ARGS_MAX] = { 0 }, *server[ARGS_MAX] = { 0 };
	struct wp_buf text _cleanup_buf_ = WP_BUF(16 << 20);
	_cleanup_close_ int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size_t n_client = 0, n_server = 0;
	json_t *root;
	struct busy busy;
	int pipe_fds[2], status;
	pid_t pid, server_pid;

	snprintf(client_text, sizeof(client_text), "%s", v->program);
	snprintf(server_text, sizeof(server_text), "%.*s -s -1 -A 1", (int)strcspn(v->program, " "),
		 v->program);
	snprintf(time_text, sizeof(time_text), "%g", b->seconds);
	add_words(server, &n_server, server_text);
	add_words(client, &n_client, client_text);
	client[n_client++] = (char *)"-c";
	client[n_client++] = b->lab.end[WP_LAB_B].ip4;
	client[n_client++] = (char *)"-J";
	client[n_client++] = (char *)"-t";
	client[n_client++] = time_text;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0 || null_fd < 0)
		die("pipe", NULL);
	server_pid = spawn(b, WP_LAB_B, server, null_fd);
	wp_sleep_until_ns(wp_now_ns() + 200 * WP_NS_PER_MS);
	busy = busy_now();
	pid = spawn(b, WP_LAB_A, client, pipe_fds[1]);
	close(pipe_fds[1]);
	for (;;) {
		char *room = wp_buf_reserve(&text, 65536);
		ssize_t n = room ? read(pipe_fds[0], room, 65536) : 0;

		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	close(pipe_fds[0]);
	waitpid(pid, &status, 0);
	waitpid(server_pid, &status, 0);
	root = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
	out->bps = json_number(root, "sum_received", "bits_per_second");
	out->machine_us_per_kb = busy_us_per_kb(&busy, json_number(root, "sum_received", "bytes"));
	out->retransmits = json_number(root, "sum_sent", "retransmits");
	out->tx_pct = json_number(root, "cpu_utilization_percent", "host_total");
	out->rx_pct = json_number(root, "cpu_utilization_percent", "remote_total");
	if (out->bps == 0)
		fprintf(stderr, "%s: %s\n", v->name, wp_buf_text(&text));
	json_decref(root);
	snprintf(v->methods, sizeof(v->methods), "%.60s", v->program);
}

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

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

	printf("%-22s %7s %6s %13s %6s %5s %5s %5s %8s %8s %6s %5s  %s\n", "variant", "Gbit/s",
	       "ratio", "(iqr)", "us/KB", "ratio", "tx%", "rx%", "tx call", "rx call", "retr",
	       "jain", "method");
	for (size_t i = 0; i < b->n; i++) {
		const struct variant *v = &b->v[i];
		double bps = MEDIAN(bps), cost = MEDIAN(machine_us_per_kb), tx = MEDIAN(tx_pct);
		double rx = MEDIAN(rx_pct), retr = MEDIAN(retransmits);
		double tx_call = MEDIAN(tx_call_bytes), rx_call = MEDIAN(rx_call_bytes);
		double short_bytes = MEDIAN(shortfall_bytes), fair = MEDIAN(jain);
		double cost_ratio =
			median(b, v, offsetof(struct sample, machine_us_per_kb), &b->v[0], sorted);
		double ratio = median(b, v, offsetof(struct sample, bps), &b->v[0], sorted);

		printf("%-22s %7.3f %6.3f (%.2f-%.2f)   %6.3f %5.2f %5.1f %5.1f %8.0f %8.0f %6.0f %5.3f  "
		       "%s%s\n",
		       v->name, bps / 1e9, ratio, sorted[b->rounds / 4],
		       sorted[b->rounds - 1 - b->rounds / 4], cost, cost_ratio, tx, rx, tx_call,
		       rx_call, retr, fair, v->methods, short_bytes > 0 ? " (short)" : "");
	}
}

int main(int argc, char **argv)
{
	static struct bench b = { .seconds = 2, .rounds = 5 };
	size_t order[VARIANTS_MAX];
	struct wp_err err = { 0 };
	struct wp_rng rng;
	uint64_t n;
	int o;

	while ((o = getopt(argc, argv, "r:t:")) != -1) {
		if (o == 'r' && wp_parse_u64(optarg, &n) == 0 && n > 0 && n <= ROUNDS_MAX)
			b.rounds = (size_t)n;
		else if (o != 't' || wp_parse_double(optarg, &b.seconds) < 0)
			die("usage: load_bench [-r ROUNDS] [-t SECONDS] VARIANT...", NULL);
	}
	for (; optind < argc && b.n < VARIANTS_MAX; optind++) {
		order[b.n] = b.n;
		parse_variant(&b.v[b.n++], argv[optind]);
	}
	if (b.n == 0)
		die("no variant given", NULL);
	if (wp_lab_open_ephemeral(NULL, &b.lab, &err) < 0)
		die("lab", &err);
	wp_rng_seed(&rng, (uint64_t)wp_now_ns());
	for (size_t r = 0; r < b.rounds; r++) {
		wp_rng_shuffle(&rng, order, b.n, sizeof(*order));
		for (size_t i = 0; i < b.n; i++) {
			struct variant *v = &b.v[order[i]];

			if (v->program)
				run_iperf3(&b, v, &v->samples[r]);
			else
				run_engine(&b, v, &v->samples[r]);
		}
	}
	print_table(&b);
	wp_lab_close(&b.lab);
	return 0;
}
