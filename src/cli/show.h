/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show.h - one stored run or campaign on stdout: `report RUN` and `history show RUN`. */
#ifndef WP_CLI_SHOW_H
#define WP_CLI_SHOW_H

#include "cli/command.h"
#include "cli/options.h"
#include "model/campaign.h"
#include "store/store.h"

struct wp_show_config {
	enum wp_format format;
	const char *unit;  /* NULL, or one letter of -f */
	const char *table; /* csv: one table alone; NULL = all */
};

/* An enum wp_exit; says what went wrong. */
int wp_show(const struct wp_cli *cli, const char *ref, const struct wp_show_config *config);
/* The same for a campaign at hand; `store` holds its runs and may be NULL. */
int wp_show_campaign(const struct wp_cli *cli, const struct wp_campaign *campaign,
		     struct wp_store *store, const struct wp_show_config *config);

#endif
