/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_history.c - `whyperf history`: stored runs and sweeps: list, show, name, delete. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/stored.h"
#include "report/history_doc.h"

struct history_config {
	const char *kind, *target, *since, *sweep;
	uint64_t limit;
	bool sweeps, json;
};

#define OFF(field) offsetof(struct history_config, field)

static const struct wp_opt options[] = {
	{ "kind", 0, WP_OPT_STRING, OFF(kind), .arg = "KIND", .group = "List",
	  .help = "only runs of this command, such as tcp" },
	{ "target", 0, WP_OPT_STRING, OFF(target), .arg = "HOST", .group = "List",
	  .help = "only runs against this HOST, as it was given" },
	{ "since", 0, WP_OPT_STRING, OFF(since), .arg = "WHEN", .group = "List",
	  .help = "only runs since a date (2026-11-30) or for so long (2d, 12h)" },
	{ "sweep", 0, WP_OPT_STRING, OFF(sweep), .arg = "ID", .group = "List",
	  .help = "only runs of this sweep" },
	{ "sweeps", 0, WP_OPT_FLAG, OFF(sweeps), .group = "List",
	  .help = "list sweeps instead of runs" },
	{ "limit", 0, WP_OPT_COUNT, OFF(limit), .arg = "N", .def = "30", .min = 1,
	  .max = WP_STORE_MAX_ROWS, .group = "List", .help = "at most so many, the newest first" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output", .help = "JSON instead of text" },
};

struct history {
	const struct history_config *config;
	struct wp_cli *cli;
	struct wp_store *store;
};

static bool is_date(const char *s)
{
	size_t n = strspn(s, "0123456789-T:.Z");

	return !s[n] && n >= 5 && s[4] == '-';
}

/* The two digits at `at`, where the text is that long and goes on there. */
static bool two_digits_in(const char *s, size_t at, int min, int max)
{
	int v;

	if (strlen(s) < at)
		return true;
	if (strspn(s + at, "0123456789") < 2)
		return false;
	v = (s[at] - '0') * 10 + s[at + 1] - '0';
	return v >= min && v <= max;
}

/* "2026-11-30" as it is, "2d" as the time two days ago. */
static int since_when(const char *text, char out[static 64], struct wp_err *err)
{
	int64_t ago_ns;

	if (is_date(text) && strlen(text) < 32) {
		if (!two_digits_in(text, 5, 1, 12) || !two_digits_in(text, 8, 1, 31))
			return wp_err_set(
				err, -EINVAL,
				"--since: '%s' is no date; give year-month-day, as 2026-11-30",
				text);
		snprintf(out, 64, "%s", text);
		return 0;
	}
	if (wp_parse_duration_ns(text, &ago_ns))
		return wp_err_set(
			err, -EINVAL,
			"--since: '%s' is neither a date (2026-11-30) nor a duration (2d, 12h)",
			text);
	wp_format_rfc3339(wp_unix_now_ns() - ago_ns, out);
	return 0;
}

static int list_sweeps(const struct history *h)
{
	struct wp_store_campaign_list list;
	struct wp_err err = { 0 };
	struct wp_doc doc;
	int r = wp_store_list_campaigns(h->store, h->config->limit, &list, &err);

	if (r)
		return wp_cli_fail(h->cli, WP_EXIT_FAILED, &err);
	if (h->config->json) {
		r = wp_output_json(h->cli, wp_campaigns_to_json(&list));
	} else {
		wp_doc_init(&doc);
		wp_campaigns_doc(&doc, &list);
		r = wp_output_doc(h->cli, &doc, WP_FORMAT_TEXT, 0);
		wp_doc_done(&doc);
	}
	wp_store_campaigns_done(&list);
	return r;
}

static int print_runs(const struct history *h, const struct wp_store_list *list)
{
	struct wp_doc doc;
	int r;

	if (h->config->json)
		return wp_output_json(h->cli, wp_history_to_json(list));
	wp_doc_init(&doc);
	wp_history_doc(&doc, list);
	r = wp_output_doc(h->cli, &doc, WP_FORMAT_TEXT, 0);
	wp_doc_done(&doc);
	return r;
}

static int list(const struct history *h, const char *const *operands, int n)
{
	const struct history_config *c = h->config;
	struct wp_store_filter filter = { .kind = c->kind, .target = c->target, .limit = c->limit };
	char since[64], sweep[WP_STORE_ID_DIGITS + 1];
	struct wp_store_list runs;
	struct wp_err err = { 0 };
	int r;

	(void)operands;
	(void)n;
	if (c->sweeps)
		return list_sweeps(h);
	if (c->since) {
		if (since_when(c->since, since, &err))
			return wp_cli_fail(h->cli, WP_EXIT_USAGE, &err);
		filter.since = since;
	}
	if (c->sweep) {
		if (wp_store_find_campaign(h->store, c->sweep, sweep, &err))
			return wp_cli_fail(h->cli, WP_EXIT_FAILED, &err);
		filter.campaign = sweep;
	}
	if (wp_store_list_runs(h->store, &filter, &runs, &err))
		return wp_cli_fail(h->cli, WP_EXIT_FAILED, &err);
	r = print_runs(h, &runs);
	wp_store_list_done(&runs);
	return r;
}

static int show(const struct history *h, const char *const *operands, int n)
{
	const struct wp_show_config show = { .format = h->config->json ? WP_FORMAT_JSON
								       : WP_FORMAT_TEXT };

	return wp_show(h->cli, n ? operands[0] : "last", &show);
}

static int name(const struct history *h, const char *const *operands, int n)
{
	const char *given = n > 1 ? operands[1] : NULL;
	struct wp_stored found;
	struct wp_err err = { 0 };
	int r = wp_stored_find(h->store, operands[0], &found, &err);

	if (!r)
		r = found.campaign ? wp_store_name_campaign(h->store, found.id, given, &err)
				   : wp_store_name_run(h->store, found.id, given, &err);
	return r ? wp_cli_fail(h->cli, WP_EXIT_FAILED, &err) : WP_EXIT_OK;
}

static int delete (const struct history *h, const char *const *operands, int n)
{
	for (int i = 0; i < n; i++) {
		struct wp_stored found;
		struct wp_err err = { 0 };
		int r = wp_stored_find(h->store, operands[i], &found, &err);

		if (!r)
			r = found.campaign ? wp_store_delete_campaign(h->store, found.id, &err)
					   : wp_store_delete_run(h->store, found.id, &err);
		if (r)
			return wp_cli_fail(h->cli, WP_EXIT_FAILED, &err);
	}
	return WP_EXIT_OK;
}

static const struct {
	const char *word, *operands;
	int min, max;
	int (*run)(const struct history *h, const char *const *operands, int n);
} verbs[] = {
	{ "list", "", 0, 0, list },
	{ "show", "[RUN]", 0, 1, show },
	{ "name", "RUN [NAME]", 1, 2, name },
	{ "delete", "RUN...", 1, 1 << 20, delete },
};

static int unknown_verb(const struct wp_cli *cli, const char *word)
{
	const char *words[WP_ARRAY_SIZE(verbs)], *near;

	for (size_t i = 0; i < WP_ARRAY_SIZE(verbs); i++)
		words[i] = verbs[i].word;
	near = wp_nearest(word, words, WP_ARRAY_SIZE(words));
	if (near)
		return wp_cli_usage(cli, "history does not know '%s'; did you mean '%s'?", word,
				    near);
	return wp_cli_usage(cli, "history does not know '%s'; it knows list, show, name and delete",
			    word);
}

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	struct history h = { .config = config, .cli = cli };
	const char *word = operands->n ? operands->v[0] : "list";
	int n = operands->n ? operands->n - 1 : 0, r;
	struct wp_err err = { 0 };
	size_t i = 0;

	while (i < WP_ARRAY_SIZE(verbs) && strcmp(verbs[i].word, word) != 0)
		i++;
	if (i == WP_ARRAY_SIZE(verbs))
		return unknown_verb(cli, word);
	if (n < verbs[i].min || n > verbs[i].max)
		return wp_cli_usage(cli, "it is: whyperf history %s %s", word, verbs[i].operands);
	if (wp_stored_open(cli, &h.store, &err))
		return wp_cli_fail(cli, WP_EXIT_FAILED, &err);
	r = verbs[i].run(&h, operands->n ? operands->v + 1 : NULL, n);
	wp_store_close(h.store);
	return r;
}

const struct wp_command wp_cmd_history = {
	.name = "history",
	.group = "Experiment",
	.operands = "[VERB RUN]",
	.summary = "stored runs and sweeps: list, show, name, delete",
	.about = "  list               the newest runs (or --sweeps); the default\n"
		 "  show [RUN]         its report; `whyperf report` has more forms\n"
		 "  name RUN [NAME]    gives it a name, or another; without NAME takes it away\n"
		 "  delete RUN...      for ever; a sweep goes with its runs\n"
		 "\n"
		 "RUN is the beginning of an id, a name, or `last`; here and in `whyperf report`\n"
		 "it may be a sweep. Runs are kept in $XDG_STATE_HOME/whyperf/whyperf.db (without\n"
		 "the variable ~/.local/state). Runs that could not be stored when they were made\n"
		 "(in runs-unsaved beside it) are taken in.",
	.examples = "  whyperf history --since 2d --target lab\n"
		    "  whyperf history name last before\n"
		    "  whyperf history delete 3f9a\n",
	.options = options,
	.n_options = WP_ARRAY_SIZE(options),
	.config_size = sizeof(struct history_config),
	.max_operands = -1,
	.run = run,
};
