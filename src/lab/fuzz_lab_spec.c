/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lab/named.h"
#include "lab/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[WP_LAB_NAME_SIZE];
	struct wp_lab_maker maker;
	struct wp_lab_spec spec;
	enum wp_lab_side side;
	struct wp_err err = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (!wp_lab_spec_parse(text, &spec, &err)) {
		if (spec.name[0] && wp_lab_name_check(spec.name, NULL))
			abort();
		if (spec.mtu_bytes &&
		    (spec.mtu_bytes < WP_LAB_MTU_MIN || spec.mtu_bytes > WP_LAB_MTU_MAX))
			abort();
	} else if (!err.msg[0]) {
		abort();
	}
	if (!wp_lab_where_parse(text, name, &side, NULL) && wp_lab_name_check(name, NULL))
		abort();
	if (wp_lab_maker_parse(text, &maker) && maker.since_s < 0)
		abort();
	free(text);
	return 0;
}
