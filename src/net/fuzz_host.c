/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted must be a host that fits, a port that is not 0, and come out of the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2 * WP_HOST_MAX], host[WP_HOST_MAX];
	struct wp_err err = { 0 };
	uint16_t port = 0;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (wp_host_split(text, 9497, host, &port, &err) < 0) {
		if (!err.msg[0])
			__builtin_trap();
		return 0;
	}
	if (!host[0] || strlen(host) >= sizeof(host) || port == 0 || !strstr(text, host))
		__builtin_trap();
	return 0;
}
