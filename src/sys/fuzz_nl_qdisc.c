/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sys/nl_qdisc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_nl_qdisc q = { 0 };

	if (wp_nl_parse_qdisc(data, size, &q) == 0 &&
	    (!q.kind[0] || !memchr(q.kind, '\0', sizeof(q.kind))))
		__builtin_trap();
	return 0;
}
