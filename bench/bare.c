/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare - the least that one could write by hand, to compare whyperf with.
 *
 *	bare write PATH BYTES SECONDS       write() in a loop; the clock is read once in 1,000 writes
 *	bare rr-server ADDRESS PORT         blocking: takes one connection, answers each byte with one
 *	bare rr ADDRESS PORT SECONDS        blocking: one byte there, one back, a clock reading each time
 *
 * Prints one line of JSON.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "stats/hist.h"

#define HIST_BITS 7

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static uint64_t number(const char *text)
{
	uint64_t v = 0;

	return wp_parse_u64(text, &v) ? 0 : v;
}

static int bare_write(const char *path, size_t bytes, int64_t seconds)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	void *data = calloc(1, bytes);
	uint64_t sum = 0;
	int64_t start = wp_now_ns(), now = start;

	if (fd < 0 || !data)
		return fail(path);
	while (now - start < seconds * WP_NS_PER_S) {
		for (int i = 0; i < 1000; i++) {
			ssize_t n = write(fd, data, bytes);

			if (n < 0)
				return fail("write");
			sum += (uint64_t)n;
		}
		now = wp_now_ns();
	}
	printf("{\"bytes\": %llu, \"seconds\": %.9f}\n", (unsigned long long)sum,
	       (double)(now - start) / 1e9);
	free(data);
	close(fd);
	return 0;
}

static int socket_to(const char *address, uint64_t port, struct sockaddr_in *ret)
{
	*ret = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET, address, &ret->sin_addr) != 1)
		return -1;
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int server(const char *address, uint64_t port)
{
	const int one = 1;
	struct sockaddr_in at;
	int listener = socket_to(address, port, &at), fd;
	char byte;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener, 1) < 0)
		return fail("listen");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return fail("accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (recv(fd, &byte, 1, 0) == 1)
		if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	close(fd);
	close(listener);
	return 0;
}

static int client(const char *address, uint64_t port, int64_t seconds)
{
	const int one = 1;
	struct sockaddr_in to;
	struct wp_hist latency;
	int fd = socket_to(address, port, &to);
	int64_t start, before, now;
	uint64_t p99 = 0;
	char byte = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    wp_hist_init(&latency, HIST_BITS, NULL))
		return fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	start = before = now = wp_now_ns();
	while (now - start < seconds * WP_NS_PER_S) {
		if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, 0) != 1)
			return fail("exchange");
		now = wp_now_ns();
		wp_hist_add(&latency, (uint64_t)(now - before));
		before = now;
	}
	(void)!wp_hist_quantile(&latency, .99, &p99);
	printf("{\"count\": %llu, \"seconds\": %.9f, \"p99_us\": %.3f}\n",
	       (unsigned long long)latency.n, (double)(now - start) / 1e9, (double)p99 / 1e3);
	wp_hist_done(&latency);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "write") && number(argv[3]))
		return bare_write(argv[2], number(argv[3]), (int64_t)number(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "rr-server"))
		return server(argv[2], number(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "rr"))
		return client(argv[2], number(argv[3]), (int64_t)number(argv[4]));
	fprintf(stderr,
		"usage: bare write PATH BYTES SECONDS | rr-server ADDRESS PORT | rr ADDRESS PORT SECONDS\n");
	return 2;
}
