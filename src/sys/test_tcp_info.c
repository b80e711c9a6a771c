/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loopback connection whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/tcp_info.h"

static void connect_pair(int *ret_client, int *ret_server)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	*ret_client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(*ret_client, (struct sockaddr *)&a, sizeof(a)), 0);
	*ret_server = accept(listener, NULL, NULL);
	assert_true(*ret_server >= 0);
}

static void a_transfer_is_counted(void **state)
{
	_cleanup_close_ int client = -1, server = -1;
	struct wp_tcp_info before, sender, receiver;
	char data[1000] = { 0 };
	uint32_t drops;

	(void)state;
	connect_pair(&client, &server);
	assert_int_equal(wp_tcp_info_read(client, &before), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(send(client, data, sizeof(data), 0), sizeof(data));
		assert_int_equal(recv(server, data, sizeof(data), MSG_WAITALL), sizeof(data));
	}
	assert_int_equal(wp_tcp_info_read(client, &sender), 0);
	assert_int_equal(wp_tcp_info_read(server, &receiver), 0);
	assert_int_equal(sender.state, TCP_ESTABLISHED);
	assert_true(sender.snd_mss_bytes > 500 && sender.snd_cwnd > 0);
	if (sender.has_segments) {
		assert_int_equal(sender.data_segs_out - before.data_segs_out, 10);
		assert_int_equal(receiver.data_segs_in, 10);
	}
	if (sender.has_retrans_bytes)
		assert_int_equal(sender.bytes_sent - before.bytes_sent, 10 * sizeof(data));
	if (sender.has_bytes)
		assert_int_equal(receiver.bytes_received, 10 * sizeof(data));
	if (!wp_socket_drops(server, &drops))
		assert_int_equal(drops, 0);
}

/* A reader that does not read closes its window: the sender probes, and waits longer after each. */
static void a_closed_window_is_seen(void **state)
{
	_cleanup_close_ int client = -1, server = -1;
	char data[65536] = { 0 };
	struct wp_tcp_info info;

	(void)state;
	connect_pair(&client, &server);
	for (int i = 0; i < 500; i++) {
		while (send(client, data, sizeof(data), MSG_DONTWAIT) > 0)
			;
		assert_int_equal(wp_tcp_info_read(client, &info), 0);
		if (info.probes && info.backoff)
			break;
		usleep(20000);
	}
	assert_true(info.rto_us > 0);
	assert_true(info.probes > 0 && info.backoff > 0);
	if (info.has_snd_wnd)
		assert_true(info.snd_wnd_bytes < info.snd_mss_bytes);
	if (info.has_bytes) {
		uint64_t acked = info.bytes_acked;

		usleep(50000);
		assert_int_equal(wp_tcp_info_read(client, &info), 0);
		assert_int_equal(info.bytes_acked, acked);
	}
}

static void buffers_and_congestion_control_are_read(void **state)
{
	_cleanup_close_ int client = -1, server = -1;
	int ask = 65536;
	char name[16];

	(void)state;
	connect_pair(&client, &server);
	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_SNDBUF, &ask, sizeof(ask)), 0);
	assert_int_equal(wp_socket_buffer_bytes(client, true),
			 2 * ask); /* socket(7): the kernel doubles it */
	assert_true(wp_socket_buffer_bytes(server, false) > 0);
	assert_int_equal(setsockopt(client, IPPROTO_TCP, TCP_CONGESTION, "reno", 4), 0);
	assert_int_equal(wp_tcp_congestion(client, name), 0);
	assert_string_equal(name, "reno");
}

static void what_is_no_tcp_socket_is_an_error(void **state)
{
	_cleanup_close_ int udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct wp_tcp_info info;
	char name[16];

	(void)state;
	assert_true(wp_tcp_info_read(udp, &info) < 0);
	assert_true(wp_tcp_congestion(udp, name) < 0);
	assert_int_equal(wp_tcp_info_read(-1, &info), -EBADF);
	assert_int_equal(wp_socket_incoming_cpu(-1), -1);
	assert_int_equal(wp_socket_buffer_bytes(-1, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transfer_is_counted),
		cmocka_unit_test(a_closed_window_is_seen),
		cmocka_unit_test(buffers_and_congestion_control_are_read),
		cmocka_unit_test(what_is_no_tcp_socket_is_an_error),
	};

	return cmocka_run_group_tests_name("tcp_info", tests, NULL, NULL);
}
