/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stored.h - what `history` and `report` share: the store, and a stored thing by what a person calls it, be it a run
 * or a campaign (a sweep).
 */
#ifndef WP_CLI_STORED_H
#define WP_CLI_STORED_H

#include "cli/command.h"
#include "store/store.h"

struct wp_stored {
	char id[WP_STORE_ID_DIGITS + 1];
	bool campaign;
};

int wp_stored_open(const struct wp_cli *cli, struct wp_store **ret, struct wp_err *err) WP_MUST_USE;
/* "last" is the sweep that the newest run belongs to, or that run. Runs come before campaigns where both fit. */
int wp_stored_find(struct wp_store *s, const char *ref, struct wp_stored *ret,
		   struct wp_err *err) WP_MUST_USE;

#endif
