/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/record_md.h"

#include <string.h>

#include "base/cleanup.h"
#include "model/campaign.h"
#include "model/metric.h"
#include "model/record.h"

static const char top[] =
	"# The record of a run\n"
	"\n"
	"<!-- Written from the metric table (src/model/metric.c) by src/report/record_md.c; don't edit. After a change:\n"
	"     WP_UPDATE_GOLDEN=1 meson test -C build \"report record_md\" -->\n"
	"\n"
	"One run is one JSON document, schema `" WP_RUN_SCHEMA
	"`: what `whyperf ... -J` and `whyperf report RUN -J` print,\n"
	"what the store holds, and what the `end` event of `--json-stream` carries. Keys are added without notice; a key\n"
	"changes its meaning only with the number in the schema. Units are part of a key's name (`_s`, `_us`, `_pct`,\n"
	"`_bytes`, `_bps`).\n"
	"\n"
	"A reading has three states. A number is a value. `null` is no value, and a sibling `<key>_why` says why it is\n"
	"absent (\"TCP_INFO failed\") or why what was read can't be used. A reading that is absent is never 0. Keys marked\n"
	"\"optional\" are left out where the kind of test has no such figure.\n"
	"\n"
	"## Outline\n"
	"\n"
	"| key | holds |\n"
	"| --- | --- |\n"
	"| `schema` | `" WP_RUN_SCHEMA "` |\n"
	"| `id` | 16 hexadecimal digits |\n"
	"| `name` | given by `--name` or `whyperf history name`; null |\n"
	"| `started` | RFC 3339, UTC |\n"
	"| `version` | of whyperf |\n"
	"| `command` | the command line, an array |\n"
	"| `exit` | exit status of the command: 0 done, 1 failed, 3 a threshold was not met (a stall), 130 interrupted |\n"
	"| `error` | why the run failed or was cut short; null |\n"
	"| `warnings` | sentences |\n"
	"| `test` | what was asked for |\n"
	"| `hosts` | one or two: the client (0) and the server (1) |\n"
	"| `hosts[].inventory` | what the machine is |\n"
	"| `hosts[].cpus` | each CPU over the run; empty where the other end on the same machine has them |\n"
	"| `hosts[].cpu_samples` | each CPU in each sample |\n"
	"| `hosts[].threads` | each thread that moved data |\n"
	"| `hosts[].counters` | kernel counters that moved in the measured window: `name` (`TcpRetransSegs`), `delta`, `source` |\n"
	"| `hosts[].path_counters` | udp: likewise, of the datagrams' way through the host, over the whole run with its warm-up: what the ledger is made from |\n"
	"| `hosts[].histograms` | distributions of times: percentiles and `buckets`, `[low_ns, high_ns, count]` each, of a log-linear histogram with 2^`bits` buckets a power of two |\n"
	"| `hosts[].stalls` | with `--stall`: when progress stopped, as this end saw it, with `readings` and `lines` of the first ones; one of role `process` says that this process did not run |\n"
	"| `flows` | one a connection; rr: one that sums up all connections |\n"
	"| `flows[].intervals` | rows of hosts[0]'s end; `peer_intervals`: of the other |\n"
	"| `flows[].pauses` | write: the longest stretches in which no write was completed, at most 16, the longest first |\n"
	"| `flows[].sent`, `flows[].received` | totals at the sender and at the receiver |\n"
	"| `total` | sums over flows |\n"
	"| `ledger` | packets handed in, delivered, lost at each stage, and the rest |\n"
	"| `ledger.stages` | `stage`, `host`, `packets`, `source` |\n"
	"| `stalls` | with `--stall`: what both ends' views together say |\n"
	"| `findings` | why: `rule`, `share_pct` (of the limit that it explains), `confidence`, `says`, `evidence`, `advice` |\n"
	"| `findings[].evidence` | `metric`, `value`, `unit`, `source` |\n"
	"\n"
	"Below, \"kind\" is counter (an amount in the run or interval), gauge (a level), label (text) or list (of integers);\n"
	"\"better\" says which way an improvement goes, where there is one. A dot in a key is an object within an object.\n";

static const struct {
	enum wp_scope scope;
	const char *title, *path;
} sections[] = {
	{ WP_SCOPE_TEST, "What was asked for", "test" },
	{ WP_SCOPE_HOST, "A host", "hosts[]" },
	{ WP_SCOPE_INVENTORY, "A machine", "hosts[].inventory" },
	{ WP_SCOPE_CPU, "A CPU over the run", "hosts[].cpus[]" },
	{ WP_SCOPE_CPU_SAMPLE, "A CPU in a sample", "hosts[].cpu_samples[]" },
	{ WP_SCOPE_THREAD, "A thread", "hosts[].threads[]" },
	{ WP_SCOPE_FLOW, "A flow", "flows[]" },
	{ WP_SCOPE_INTERVAL, "An interval of a flow",
	  "flows[].intervals[], flows[].peer_intervals[]" },
	{ WP_SCOPE_END, "One end's totals of a flow", "flows[].sent, flows[].received" },
	{ WP_SCOPE_TOTAL, "The whole", "total" },
	{ WP_SCOPE_LEDGER, "The packet ledger", "ledger" },
	{ WP_SCOPE_HISTOGRAM, "A distribution", "hosts[].histograms[]" },
	{ WP_SCOPE_PAUSE, "A pause of a writer", "flows[].pauses[]" },
	{ WP_SCOPE_STALL, "A stall", "stalls[]" },
	{ WP_SCOPE_STALL_VIEW, "A stall as one end saw it", "hosts[].stalls[]" },
	{ WP_SCOPE_STALL_READING, "Counters around a stall", "hosts[].stalls[].readings[]" },
	{ WP_SCOPE_STALL_LINE, "An interrupt or softirq around a stall",
	  "hosts[].stalls[].lines[]" },
};

/* As long as a scope is missing above, this does not compile. */
_Static_assert(WP_ARRAY_SIZE(sections) == WP_SCOPE_N, "a scope of the metric table has no section");

static const char bottom[] =
	"\n"
	"## A sweep\n"
	"\n"
	"Several runs that belong together are a campaign, schema `" WP_CAMPAIGN_SCHEMA "`:\n"
	"\n"
	"| key | holds |\n"
	"| --- | --- |\n"
	"| `schema`, `id`, `name`, `started`, `version` | as above |\n"
	"| `kind` | sweep, find-rate or compare |\n"
	"| `state` | running, done, interrupted or failed |\n"
	"| `ended` | RFC 3339; null while it runs or was cut short |\n"
	"| `plan.axes` | `name`, `heading`, `values` of each option that is varied |\n"
	"| `plan.repeats`, `plan.seed`, `plan.command` | runs of each cell, seed of the order (text: 64 bits), what is repeated |\n"
	"| `plan.order` | the cell of each planned run, in the order that they are made |\n"
	"| `runs` | id of each planned run; null where it was not made |\n"
	"| `results` | figure of each planned run; null where it was not made or failed |\n"
	"| `metric`, `unit`, `better` | what the cells compare |\n"
	"| `cells` | one for each combination of axis values, the last axis fastest |\n"
	"| `cells[].key` | the values, by the axes' names |\n"
	"| `cells[].n`, `failed`, `values` | runs that gave a figure, that did not, and the figures |\n"
	"| `cells[].median`, `min`, `max` | of the figures |\n"
	"| `cells[].low`, `high` | interval of the median; null with too few figures |\n"
	"| `cells[].like_best`, `like_worst` | can't be told from the best (worst) |\n"
	"| `cells[].why` | what held this cell, a sentence; null |\n"
	"| `best`, `worst` | index into `cells`; null |\n"
	"| `verdict`, `host_fitness` | of a comparison; null in a sweep |\n"
	"| `host` | the machine in a line |\n"
	"| `why`, `advice`, `notes` | sentences |\n"
	"| `found` | kind find-rate only: the answer of the search, below |\n"
	"\n"
	"## A search for the highest rate\n"
	"\n"
	"`udp --find-rate` makes a campaign of kind find-rate. Its one axis is `rate`, the rates that were tried, its cells\n"
	"hold the loss of their trials in per cent, and `found` the answer. Rates are datagrams a second over all streams;\n"
	"what is absent is null, with its reason in `<key>_why` where there is one.\n"
	"\n"
	"| key of `found` | holds |\n"
	"| --- | --- |\n"
	"| `bound`, `payload_bytes`, `trial_s`, `resolution_pct` | what was asked for |\n"
	"| `verdict` | found: accepted, and the next higher rate is not; at_least: the highest rate that could be tried is accepted; none: the lowest fails too; unfinished: cut short |\n"
	"| `limited_by` | loss; sender: it offers no more, so the path's rate is not known; asked: no higher rate was asked for; starved: given up, other work takes the sender's CPU; unknown |\n"
	"| `confirmed` | 1 = by trials of its own, not only by those that the search chose by |\n"
	"| `asked_pps` | the rate of the answer; null = flat out, or no answer |\n"
	"| `sent_pps`, `sent_min_pps`, `sent_max_pps` | offered to the kernel in the trials at that rate: median and range |\n"
	"| `received_pps` | what of it arrived, duplicates left out: the figure to quote; median |\n"
	"| `payload_bps`, `ethernet_bps` | the same in bits, of the payload and with headers, preamble and gap of Ethernet |\n"
	"| `loss_pct`, `loss_max_pct` | median and largest of those trials |\n"
	"| `sent_packets`, `lost_packets` | of those trials together |\n"
	"| `trials`, `passed`, `void_trials` | how many there were and how many passed; void: the sender fell short, so they do not count |\n"
	"| `next_pps`, `next_trials`, `next_passed`, `next_void` | the lowest rate that was not accepted, and its trials |\n"
	"| `lost_at`, `lost_at_pct` | the stage that took most at that rate, and its share of what was lost |\n"
	"| `highest_passed_pps`, `lowest_failed_pps` | over all trials: where passing and failing overlap |\n"
	"| `dips` | trials that lost too much although they were clearly slower than the answer |\n"
	"| `tried` | the trials in order: `step`, `outcome` (passed, lost, short, starved), `asked_pps`, `sent_pps`, `received_pps`, `loss_pct`, `sent_packets`, `lost_packets`, `where`, `where_pct`, `run` |\n"
	"\n"
	"## Events\n"
	"\n"
	"`--json-stream` prints one JSON object a line, `{\"event\": NAME, \"data\": {...}}`: `idle` (`--with`: the round\n"
	"trips without load, before the start), `start` (what was asked for and\n"
	"the flows), `interval` (a row of each flow, the sums of each direction as `sent` and `received`, the CPUs of this\n"
	"machine), `end` (the whole record), `error` (`message`, `exit`).\n";

static const char *kind(const struct wp_metric *m)
{
	switch (m->kind) {
	case WP_COUNTER:
		return "counter";
	case WP_GAUGE:
		return "gauge";
	case WP_LABEL:
		return "label";
	case WP_LIST:
		return "list";
	}
	return "";
}

/* A bar would end the cell. */
static void put_cell(struct wp_buf *out, const char *text)
{
	wp_buf_puts(out, " ");
	for (; text && *text; text++)
		wp_buf_printf(out, *text == '|' ? "\\%c" : "%c", *text);
	wp_buf_puts(out, text ? " |" : "|");
}

static void put_metric(struct wp_buf *out, const struct wp_metric *m)
{
	static const char *const better[] = {
		[WP_NEITHER] = "", [WP_HIGHER] = "higher", [WP_LOWER] = "lower"
	};

	wp_buf_printf(out, "| `%s`%s |", m->name, m->optional ? " (optional)" : "");
	put_cell(out, m->unit);
	put_cell(out, kind(m));
	put_cell(out, better[m->better]);
	put_cell(out, m->source);
	put_cell(out, m->help);
	wp_buf_puts(out, "\n");
}

int wp_record_md(struct wp_buf *out)
{
	wp_buf_puts(out, top);
	for (size_t s = 0; s < WP_ARRAY_SIZE(sections); s++) {
		wp_buf_printf(
			out,
			"\n## %s: `%s`\n\n"
			"| key | unit | kind | better | source | meaning |\n| --- | --- | --- | --- | --- | --- |\n",
			sections[s].title, sections[s].path);
		for (size_t i = 0; i < wp_n_metrics; i++)
			if (wp_metrics[i].scope == sections[s].scope)
				put_metric(out, &wp_metrics[i]);
	}
	wp_buf_puts(out, bottom);
	return wp_buf_status(out);
}
