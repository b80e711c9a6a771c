/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define MAX_COMMAND_BYTES 4096

WP_PRINTF(2, 0)
static const char *vtext(struct wp_pool *pool, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	return wp_pool_strdup(pool, text);
}

enum wp_rule_answer wp_find(const struct wp_facts *f, struct wp_finding *ret, double share_pct,
			    const char *confidence, const char *fmt, ...)
{
	va_list ap;

	ret->share_pct = share_pct < 0 ? 0 : share_pct > 100 ? 100 : share_pct;
	ret->confidence = confidence;
	va_start(ap, fmt);
	ret->says = vtext(f->pool, fmt, ap);
	va_end(ap);
	return WP_RULE_YES;
}

enum wp_rule_answer wp_lacks(const struct wp_facts *f, struct wp_finding *ret, const char *what,
			     struct wp_num n)
{
	ret->says = n.why ? wp_pool_printf(f->pool, "%s (%s)", what, n.why)
			  : wp_pool_strdup(f->pool, what);
	return WP_RULE_UNKNOWN;
}

void wp_evidence(const struct wp_facts *f, struct wp_finding *ret, const char *where,
		 enum wp_scope scope, const char *name, struct wp_num n)
{
	const struct wp_metric *m = wp_metric_find(scope, name);
	struct wp_evidence *e;

	if (!wp_has(n) || !m || ret->n_evidence >= WP_FINDING_EVIDENCE)
		return;
	e = &ret->evidence[ret->n_evidence];
	e->metric = where ? wp_pool_printf(f->pool, "%s.%s", where, name) : m->name;
	e->unit = m->unit;
	e->source = m->source;
	e->value = n.v;
	if (e->metric)
		ret->n_evidence++;
}

void wp_evidence_count(const struct wp_facts *f, struct wp_finding *ret, const char *where,
		       const struct wp_count *c)
{
	struct wp_evidence *e;

	if (ret->n_evidence >= WP_FINDING_EVIDENCE)
		return;
	e = &ret->evidence[ret->n_evidence];
	e->metric = wp_pool_printf(f->pool, "%s.%s", where, c->name);
	e->unit = "packets";
	e->source = c->source ? c->source : "";
	e->value = c->delta;
	if (e->metric)
		ret->n_evidence++;
}

void wp_advise(const struct wp_facts *f, struct wp_finding *ret, const char *fmt, ...)
{
	va_list ap;

	if (ret->n_advice >= WP_FINDING_ADVICE)
		return;
	va_start(ap, fmt);
	ret->advice[ret->n_advice] = vtext(f->pool, fmt, ap);
	va_end(ap);
	if (ret->advice[ret->n_advice])
		ret->n_advice++;
}

/* ---- commands --------------------------------------------------------------------------------- */

/* Is the word of `len` bytes among the blank-separated ones of `list`? */
static bool is_in(const char *list, const char *word, size_t len)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

/* How many words of argv the option at `arg` takes when it is one of `drop`: 0 = it stays, 1 with the value attached,
 * 2 with the value behind it. Bundled letters ("-RP2") stay; what is put behind wins over them. */
static size_t dropped_words(const char *arg, const char *drop)
{
	if (arg[0] != '-' || !arg[1] || !drop)
		return 0;
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		if (!is_in(drop, arg + 2, len))
			return 0;
		return arg[2 + len] == '=' ? 1 : 2;
	}
	if (!is_in(drop, arg + 1, 1))
		return 0;
	return arg[2] ? 1 : 2;
}

static void put_word(struct wp_buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";

	if (b->len)
		wp_buf_puts(b, " ");
	if (*word && word[strspn(word, plain)] == '\0') {
		wp_buf_puts(b, word);
		return;
	}
	wp_buf_puts(b, "'");
	for (const char *c = word; *c; c++) {
		if (*c == '\'')
			wp_buf_puts(b, "'\\''");
		else
			wp_buf_append(b, c, 1);
	}
	wp_buf_puts(b, "'");
}

/* How the result was shown is no part of what to try next. */
static bool is_output_flag(const char *arg)
{
	static const char *const flags[] = { "-J", "--json",  "--json-stream",
					     "-q", "--quiet", "--no-store" };

	for (size_t i = 0; i < WP_ARRAY_SIZE(flags); i++)
		if (!strcmp(arg, flags[i]))
			return true;
	return false;
}

static void put_recorded(const struct wp_run *run, const char *drop, struct wp_buf *b)
{
	for (size_t i = 1; i < run->n_command;) {
		size_t n = dropped_words(run->command[i], drop);

		if (!n)
			n = dropped_words(run->command[i], "name format");
		if (n) {
			i += n;
		} else if (is_output_flag(run->command[i])) {
			i++;
		} else {
			put_word(b, run->command[i]);
			i++;
		}
	}
}

/* A record from elsewhere holds no command line: what test{} says is enough to make one. */
static void put_made_up(const struct wp_run *run, const char *drop, struct wp_buf *b)
{
	const struct wp_test *t = &run->test;

	put_word(b, t->kind ? t->kind : "tcp");
	put_word(b, t->target ? t->target : "HOST");
	if (wp_has(t->duration_s) && !is_in(drop, "time", 4))
		wp_buf_printf(b, " -t %g", t->duration_s.v);
	if (wp_num_or(t->streams, 1) > 1 && !is_in(drop, "parallel", 8))
		wp_buf_printf(b, " -P %.0f", t->streams.v);
	if (t->direction && !strcmp(t->direction, "reverse"))
		wp_buf_puts(b, " -R");
	if (t->direction && !strcmp(t->direction, "both"))
		wp_buf_puts(b, " --bidir");
	if (t->kind && !strcmp(t->kind, "udp") && !is_in(drop, "bitrate", 7))
		wp_buf_printf(b, " -b %.0f", wp_num_or(t->target_bps, 0));
	if (t->kind && !strcmp(t->kind, "udp") && wp_has(t->length_bytes))
		wp_buf_printf(b, " -l %.0f", t->length_bytes.v);
	if (t->kind && !strcmp(t->kind, "rr") && t->protocol && !strcmp(t->protocol, "UDP"))
		wp_buf_puts(b, " -u");
	if (t->congestion && !is_in(drop, "congestion", 10))
		wp_buf_printf(b, " -C %s", t->congestion);
	if (wp_has(t->window_bytes) && !is_in(drop, "window", 6))
		wp_buf_printf(b, " -w %.0f", t->window_bytes.v);
}

const char *wp_command_words(const struct wp_run *run, struct wp_pool *pool, const char *drop)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(MAX_COMMAND_BYTES);

	if (run->n_command > 1)
		put_recorded(run, drop, &b);
	else
		put_made_up(run, drop, &b);
	return wp_buf_status(&b) ? NULL : wp_pool_strdup(pool, wp_buf_text(&b));
}

const char *wp_command_without(const struct wp_run *run, struct wp_pool *pool, const char *drop)
{
	const char *words = wp_command_words(run, pool, drop);

	return words ? wp_pool_printf(pool, "whyperf %s", words) : NULL;
}

void wp_advise_command(const struct wp_facts *f, struct wp_finding *ret, const char *drop,
		       const char *fmt, ...)
{
	const char *command = wp_command_without(f->run, f->pool, drop), *add;
	va_list ap;

	va_start(ap, fmt);
	add = vtext(f->pool, fmt, ap);
	va_end(ap);
	if (command && add)
		wp_advise(f, ret, "%s%s%s", command, *add ? " " : "", add);
}

const char *wp_confidence(bool certain, double rows)
{
	bool unsteady = rows >= 0 && rows < 0.6;

	if (certain)
		return unsteady ? "medium" : "high";
	return unsteady ? "low" : "medium";
}
