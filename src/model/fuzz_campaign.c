/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A campaign's JSON from a file or the store: read, written, read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/campaign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL), *again;
	struct wp_campaign c, back;

	if (json && !wp_campaign_from_json(json, &c, NULL)) {
		again = wp_campaign_to_json(&c);
		if (!again || wp_campaign_from_json(again, &back, NULL))
			abort();
		json_decref(again);
		wp_campaign_done(&back);
		wp_campaign_done(&c);
	}
	json_decref(json);
	return 0;
}
