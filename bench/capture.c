/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture - how evenly packets arrive, seen from outside: by the kernel's receive time stamps on a packet socket.
 *
 *	capture IFACE udp|tcp MIN_IP_BYTES
 *
 * Prints "ready", then takes the IPv4 packets of that protocol of at least MIN_IP_BYTES that arrive on IFACE until its
 * standard input ends, and prints one line of JSON: packets, bytes (IP), seconds from the first to the last, rates, gaps
 * between packets in microseconds (quantiles, coefficient of variation), the busiest millisecond over the mean one, and
 * how many packets the capture itself lost. The time stamps are the kernel's, so it need not be quick: it drains a large
 * buffer every 20 ms and leaves the CPUs to the test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "stats/hist.h"

#define BUFFER_BYTES (512 << 20)
#define HIST_BITS    7
#define MAX_MS       (600 * 1000)

struct tally {
	uint64_t packets, bytes, lost;
	int64_t first_ns, last_ns;
	struct wp_hist gaps;
	double gap_sum_ns, gap_square_sum;
	uint32_t *per_ms; /* packets of each millisecond from the first on */
};

static int open_socket(const char *iface)
{
	const int size = BUFFER_BYTES, one = 1;
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_IP),
				  .sll_ifindex = (int)if_nametoindex(iface) };
	int fd;

	if (!at.sll_ifindex)
		return -ENODEV;
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP));
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int64_t stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			return ts.tv_sec * WP_NS_PER_S + ts.tv_nsec;
		}
	return 0;
}

static void count(struct tally *t, int64_t at_ns, uint64_t bytes)
{
	int64_t ms;

	if (t->packets == 0)
		t->first_ns = at_ns;
	else if (at_ns >= t->last_ns) {
		double gap = (double)(at_ns - t->last_ns);

		wp_hist_add(&t->gaps, (uint64_t)(at_ns - t->last_ns));
		t->gap_sum_ns += gap;
		t->gap_square_sum += gap * gap;
	}
	t->last_ns = at_ns;
	t->packets++;
	t->bytes += bytes;
	ms = (at_ns - t->first_ns) / WP_NS_PER_MS;
	if (ms >= 0 && ms < MAX_MS)
		t->per_ms[ms]++;
}

/* Takes what is there. */
static void drain(int fd, uint8_t protocol, uint64_t min_bytes, struct tally *t)
{
	union {
		struct iphdr ip;
		char bytes[64];
	} head;
	char control[128];

	for (;;) {
		struct sockaddr_ll from;
		struct iovec v = { &head, sizeof(head) };
		struct msghdr m = { .msg_name = &from,
				    .msg_namelen = sizeof(from),
				    .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(fd, &m, MSG_TRUNC);

		if (n < (ssize_t)sizeof(struct iphdr))
			return;
		if (from.sll_pkttype == PACKET_HOST && head.ip.protocol == protocol &&
		    (uint64_t)n >= min_bytes)
			count(t, stamp_of(&m), (uint64_t)n);
	}
}

static double busiest_ms(const struct tally *t, double *ret_mean)
{
	int64_t n = (t->last_ns - t->first_ns) / WP_NS_PER_MS;
	uint32_t most = 0;
	uint64_t sum = 0;

	/* The last millisecond is not whole. */
	for (int64_t i = 0; i < n && i < MAX_MS; i++) {
		sum += t->per_ms[i];
		if (t->per_ms[i] > most)
			most = t->per_ms[i];
	}
	*ret_mean = n > 0 ? (double)sum / (double)n : 0;
	return most;
}

static double gap_us(const struct tally *t, double q)
{
	uint64_t ns = 0;

	return wp_hist_quantile(&t->gaps, q, &ns) ? 0 : (double)ns / 1e3;
}

static void print(const struct tally *t)
{
	double seconds = (double)(t->last_ns - t->first_ns) / 1e9, mean_ms;
	double most_ms = busiest_ms(t, &mean_ms), n = (double)t->gaps.n;
	double mean = n > 0 ? t->gap_sum_ns / n : 0;
	double variance = n > 0 ? t->gap_square_sum / n - mean * mean : 0;

	/* n packets span n - 1 gaps. */
	printf("{\"packets\": %llu, \"bytes\": %llu, \"lost\": %llu, \"seconds\": %.9f, "
	       "\"packets_per_s\": %.3f, \"gap_p50_us\": %.3f, \"gap_p99_us\": %.3f, "
	       "\"gap_max_us\": %.3f, \"gap_cv\": %.4f, \"mean_ms_packets\": %.3f, "
	       "\"busiest_ms_packets\": %.0f}\n",
	       (unsigned long long)t->packets, (unsigned long long)t->bytes,
	       (unsigned long long)t->lost, seconds,
	       seconds > 0 ? (double)(t->packets - 1) / seconds : 0, gap_us(t, .5), gap_us(t, .99),
	       gap_us(t, 1), mean > 0 && variance > 0 ? sqrt(variance) / mean : 0, mean_ms,
	       most_ms);
}

static int fail(const char *what, int r)
{
	fprintf(stderr, "capture: %s: %s\n", what, strerror(-r));
	return 1;
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct tally t = { 0 };
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);
	uint64_t min_bytes;
	uint8_t protocol;
	int fd, r;

	if (argc != 4 || wp_parse_u64(argv[3], &min_bytes) ||
	    (strcmp(argv[2], "udp") && strcmp(argv[2], "tcp"))) {
		fprintf(stderr, "usage: capture IFACE udp|tcp MIN_IP_BYTES\n");
		return 2;
	}
	protocol = strcmp(argv[2], "udp") ? IPPROTO_TCP : IPPROTO_UDP;
	fd = open_socket(argv[1]);
	if (fd < 0)
		return fail(argv[1], fd);
	r = wp_hist_init(&t.gaps, HIST_BITS, NULL);
	t.per_ms = calloc(MAX_MS, sizeof(*t.per_ms));
	if (r || !t.per_ms)
		return fail("memory", -ENOMEM);
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 20) == 0)
		drain(fd, protocol, min_bytes, &t);
	drain(fd, protocol, min_bytes, &t);
	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0)
		t.lost = stats.tp_drops;
	print(&t);
	free(t.per_ms);
	wp_hist_done(&t.gaps);
	close(fd);
	return 0;
}
