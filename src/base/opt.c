/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt_value.h"

/* What is left to parse, and what it is parsed with. */
struct parser {
	const struct wp_opt *rows;
	size_t n;
	char *cfg;
	int argc;
	const char *const *argv;
	int at;
	struct wp_err *err;
};

static const struct wp_opt *find_name(const struct wp_opt *rows, size_t n, const char *name,
				      size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(rows[i].name, name, len) && rows[i].name[len] == '\0')
			return &rows[i];
	return NULL;
}

static const struct wp_opt *find_letter(const struct wp_opt *rows, size_t n, char letter)
{
	for (size_t i = 0; i < n && letter; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

static int unknown_name(const struct wp_opt *rows, size_t n, const char *name, size_t len,
			struct wp_err *err)
{
	const char **names = calloc(n + 1, sizeof(*names));
	const char *near = NULL;
	char word[64];
	size_t shown = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1),
		 name);
	if (names) {
		for (size_t i = 0; i < n; i++)
			if (!rows[i].hidden)
				names[shown++] = rows[i].name;
		near = wp_nearest(word, names, shown);
	}
	if (near)
		wp_err_set(err, -EINVAL, "unknown option --%s; did you mean --%s?", word, near);
	else
		wp_err_set(err, -EINVAL, "unknown option --%s; see --help", word);
	free(names);
	return -EINVAL;
}

static int store(const struct parser *p, const struct wp_opt *row, const char *shown,
		 const char *text)
{
	int r = wp_opt_store(row, p->cfg, shown, text, p->err);

	if (r == 0 && row->set_offset)
		*(bool *)(p->cfg + row->set_offset) = true;
	return r;
}

/* The next argument as the value of `shown`. An argument that is itself an option of this command
 * is more likely a forgotten value than a value. */
static int next_value(struct parser *p, const struct wp_opt *row, const char *shown,
		      const char **ret)
{
	const char *arg = row->arg ? row->arg : "VALUE", *next;

	if (p->at + 1 >= p->argc || !strcmp(p->argv[p->at + 1], "--"))
		return wp_err_set(p->err, -EINVAL, "%s needs a value: %s %s", shown, shown, arg);
	next = p->argv[p->at + 1];
	if (!strncmp(next, "--", 2) && find_name(p->rows, p->n, next + 2, strcspn(next + 2, "=")))
		return wp_err_set(p->err, -EINVAL, "%s needs a value before %.80s: %s %s", shown,
				  next, shown, arg);
	p->at++;
	*ret = next;
	return 0;
}

static int take_long(struct parser *p, const char *word)
{
	size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : NULL;
	const struct wp_opt *row;
	char shown[64];
	int r;

	if (len == 4 && !strncmp(word, "help", 4))
		return -ECANCELED;
	row = find_name(p->rows, p->n, word, len);
	if (!row)
		return unknown_name(p->rows, p->n, word, len, p->err);
	snprintf(shown, sizeof(shown), "--%s", row->name);
	if (row->type == WP_OPT_FLAG) {
		if (value)
			return wp_err_set(p->err, -EINVAL,
					  "%s takes no value; leave out \"=%.80s\"", shown, value);
		return store(p, row, shown, "yes");
	}
	if (!value) {
		r = next_value(p, row, shown, &value);
		if (r < 0)
			return r;
	}
	return store(p, row, shown, value);
}

/* "RNt10": flags, then perhaps one that takes a value. */
static int take_letters(struct parser *p, const char *word)
{
	const struct wp_opt *row;
	char shown[3] = "-?";
	const char *value;
	int r;

	for (const char *s = word; *s; s++) {
		shown[1] = *s;
		row = find_letter(p->rows, p->n, *s);
		if (*s == 'h' && (!row || !strcmp(row->name, "help")))
			return -ECANCELED;
		/* Not cutting a UTF-8 character into bytes. */
		if (!row && (!word[1] || (unsigned char)*s >= 0x80))
			return wp_err_set(p->err, -EINVAL, "unknown option -%.80s; see --help",
					  word);
		if (!row)
			return wp_err_set(p->err, -EINVAL,
					  "unknown option -%c in -%.80s; see --help", *s, word);
		if (row->type == WP_OPT_FLAG) {
			r = store(p, row, shown, "yes");
			if (r < 0)
				return r;
			continue;
		}
		value = s + 1;
		r = *value ? 0 : next_value(p, row, shown, &value);
		return r < 0 ? r : store(p, row, shown, value);
	}
	return 0;
}

/* After a mistake: whoever also asked for help gets it. */
static bool asks_for_help(const struct parser *p)
{
	bool letter_taken = find_letter(p->rows, p->n, 'h') && !find_name(p->rows, p->n, "help", 4);

	for (int i = p->at; i < p->argc && strcmp(p->argv[i], "--"); i++)
		if (!strcmp(p->argv[i], "--help") || (!letter_taken && !strcmp(p->argv[i], "-h")))
			return true;
	return false;
}

static int take_all(struct parser *p, bool stop_at_first, struct wp_operands *o)
{
	bool options = true;
	int r;

	for (; p->at < p->argc; p->at++) {
		const char *arg = p->argv[p->at];

		if (options && !strcmp(arg, "--")) {
			options = false;
			continue;
		}
		if (!options || arg[0] != '-' || !arg[1]) {
			o->v[o->n++] = arg;
			if (stop_at_first)
				options = false;
			continue;
		}
		r = arg[1] == '-' ? take_long(p, arg + 2) : take_letters(p, arg + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int wp_opt_parse(const struct wp_opt *rows, size_t n, void *cfg, int argc, const char *const *argv,
		 bool stop_at_first, struct wp_operands *ret_operands, struct wp_err *err)
{
	struct wp_err own = { "" };
	struct parser p = { rows, n, cfg, argc, argv, 0, &own };
	struct wp_operands o = { 0 };
	int r;

	o.v = calloc((size_t)(argc > 0 ? argc : 0) + 1, sizeof(*o.v));
	if (!o.v)
		return wp_err_sys(err, -ENOMEM, "cannot read the command line");
	r = take_all(&p, stop_at_first, &o);
	if (r < 0) {
		wp_operands_done(&o);
		if (asks_for_help(&p))
			r = -ECANCELED;
		return r == -ECANCELED ? r : wp_err_set(err, r, "%s", own.msg);
	}
	*ret_operands = o;
	return 0;
}

int wp_opt_set(const struct wp_opt *rows, size_t n, void *cfg, const char *name, const char *value,
	       struct wp_err *err)
{
	const struct wp_opt *row = find_name(rows, n, name, strlen(name));
	struct parser p = { rows, n, cfg, 0, NULL, 0, err };
	char shown[64];

	if (!row)
		return unknown_name(rows, n, name, strlen(name), err);
	snprintf(shown, sizeof(shown), "--%s", row->name);
	if (row->type == WP_OPT_FLAG && (!value || !*value))
		value = "yes";
	if (!value)
		return wp_err_set(err, -EINVAL, "%s needs a value: %s %s", shown, shown,
				  row->arg ? row->arg : "VALUE");
	return store(&p, row, shown, value);
}

int wp_opt_defaults(const struct wp_opt *rows, size_t n, void *cfg, struct wp_err *err)
{
	char shown[80];
	int r;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].def)
			continue;
		snprintf(shown, sizeof(shown), "default of --%s", rows[i].name);
		r = wp_opt_store(&rows[i], cfg, shown, rows[i].def, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void wp_opt_done(const struct wp_opt *rows, size_t n, void *cfg)
{
	struct wp_u64list *l;

	if (!cfg)
		return;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].type == WP_OPT_CPULIST)
			wp_cpulist_done(wp_opt_at(&rows[i], cfg));
		if (rows[i].type != WP_OPT_SIZES && rows[i].type != WP_OPT_COUNTS)
			continue;
		l = wp_opt_at(&rows[i], cfg);
		free(l->v);
		l->v = NULL;
		l->n = 0;
	}
}

void wp_operands_done(struct wp_operands *o)
{
	if (!o)
		return;
	free(o->v);
	o->v = NULL;
	o->n = 0;
}
