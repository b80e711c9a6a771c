/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stored.h"

#include <errno.h>
#include <string.h>

#include "cli/measure.h"

int wp_stored_open(const struct wp_cli *cli, struct wp_store **ret, struct wp_err *err)
{
	char path[4096];
	size_t n = 0;
	struct wp_err late = { 0 };
	int r = wp_store_path(cli, path, sizeof(path));

	if (!r)
		r = wp_store_open(path, ret, err);
	if (r)
		return r;
	/* Runs that the store did not take when they were made. */
	if (wp_store_import_unsaved(*ret, &n, &late))
		wp_cli_say(cli, "%s", late.msg);
	if (n)
		wp_cli_say(cli, "%zu run%s from runs-unsaved %s taken into the store", n,
			   n == 1 ? "" : "s", n == 1 ? "was" : "were");
	return 0;
}

/* The campaign of the newest run, when it is stored. */
static bool find_last_campaign(struct wp_store *s, char ret_id[static WP_STORE_ID_DIGITS + 1])
{
	const struct wp_store_filter newest = { .limit = 1 };
	struct wp_store_list list;
	bool found;

	if (wp_store_list_runs(s, &newest, &list, NULL))
		return false;
	found = list.n && list.v[0].campaign &&
		!wp_store_find_campaign(s, list.v[0].campaign, ret_id, NULL);
	wp_store_list_done(&list);
	return found;
}

int wp_stored_find(struct wp_store *s, const char *ref, struct wp_stored *ret, struct wp_err *err)
{
	struct wp_stored found = { .campaign = false };
	int r;

	if (!strcmp(ref, "last") && find_last_campaign(s, found.id)) {
		found.campaign = true;
		*ret = found;
		return 0;
	}
	r = wp_store_find_run(s, ref, found.id, err);
	if (r == -ENOENT && !wp_store_find_campaign(s, ref, found.id, NULL)) {
		found.campaign = true;
		r = 0;
	}
	if (!r)
		*ret = found;
	return r;
}
