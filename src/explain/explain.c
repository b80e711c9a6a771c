/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "explain/pause.h"
#include "explain/rules.h"
#include "explain/stall.h"

#define MAX_RULES    64
#define TIE_PCT      10.0 /* points: causes this close are not told apart */
#define OPEN_PCT     25.0 /* of the time: what is left open below it is not worth saying */
#define OPEN_SHARE   0.5  /* ... nor below this part of the time in which the sender did not run */
#define SMALLEST_PCT 3.0  /* causes below it are left out */
#define MAX_MISSING  4
#define ENOUGH_CPU_PCT \
	90.0 /* a receiver that is able to run so long is what the window waits for */
#define MAX_TEXT_BYTES 1024

struct candidate {
	const struct wp_rule *rule;
	struct wp_finding finding;
	size_t order; /* in the table */
};

struct verdict {
	struct candidate causes[MAX_RULES], notes[MAX_RULES];
	size_t n_causes, n_notes;
	const char *missing[MAX_MISSING];
	size_t n_missing;
};

/* ---- asking every rule ------------------------------------------------------------------------ */

static void note_missing(struct verdict *v, const char *what)
{
	for (size_t i = 0; i < v->n_missing; i++)
		if (!strcmp(v->missing[i], what))
			return;
	if (what && v->n_missing < MAX_MISSING)
		v->missing[v->n_missing++] = what;
}

static struct candidate *find(struct candidate *list, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i].rule->name) == len && !memcmp(list[i].rule->name, name, len))
			return &list[i];
	return NULL;
}

/* In a test of both directions a rule speaks for the one in which it explains more. */
static void keep(struct verdict *v, const struct wp_rule *rule, size_t order,
		 const struct wp_finding *finding)
{
	struct candidate *list = rule->note ? v->notes : v->causes;
	size_t *n = rule->note ? &v->n_notes : &v->n_causes;
	struct candidate *old = find(list, *n, rule->name, strlen(rule->name));

	if (old && old->finding.share_pct >= finding->share_pct)
		return;
	if (!old && *n == MAX_RULES)
		return;
	if (!old)
		old = &list[(*n)++];
	*old = (struct candidate) { .rule = rule, .finding = *finding, .order = order };
}

static void ask(struct verdict *v, const struct wp_facts *f, const char *direction)
{
	for (size_t i = 0; i < wp_n_rules; i++) {
		struct wp_finding finding = { .rule = wp_rules[i].name };

		if (!(wp_rules[i].kinds & f->kind))
			continue;
		switch (wp_rules[i].evaluate(f, &finding)) {
		case WP_RULE_YES:
			if (direction)
				finding.says = wp_pool_printf(f->pool, "%s: %s", direction,
							      finding.says ? finding.says : "");
			keep(v, &wp_rules[i], i, &finding);
			break;
		case WP_RULE_UNKNOWN:
			if (!wp_rules[i].minor)
				note_missing(v, finding.says ? finding.says : wp_rules[i].needs);
			break;
		case WP_RULE_NO:
			break;
		}
	}
}

/* ---- ranking ---------------------------------------------------------------------------------- */

static void take_evidence(struct wp_finding *to, const struct wp_finding *from)
{
	for (size_t i = 0; i < from->n_evidence && to->n_evidence < WP_FINDING_EVIDENCE; i++) {
		size_t k = 0;

		while (k < to->n_evidence &&
		       strcmp(to->evidence[k].metric, from->evidence[i].metric))
			k++;
		if (k == to->n_evidence)
			to->evidence[to->n_evidence++] = from->evidence[i];
	}
}

static void drop(struct verdict *v, struct candidate *c)
{
	size_t at = (size_t)(c - v->causes);

	memmove(c, c + 1, (v->n_causes - at - 1) * sizeof(*c));
	v->n_causes--;
}

/* The same cause seen twice is one finding, unless the other view explains clearly more. */
static void fold(struct verdict *v)
{
	for (size_t i = 0; i < v->n_causes; i++) {
		const struct wp_rule *rule = v->causes[i].rule;

		for (const char *name = rule->covers; name && *name;) {
			size_t len = strcspn(name, " ");
			struct candidate *other = find(v->causes, v->n_causes, name, len);
			struct candidate *mine;

			mine = find(v->causes, v->n_causes, rule->name, strlen(rule->name));
			if (other && mine &&
			    other->finding.share_pct <= mine->finding.share_pct + TIE_PCT) {
				take_evidence(&mine->finding, &other->finding);
				drop(v, other);
				i = 0; /* indices moved */
			}
			name += len;
			name += strspn(name, " ");
		}
	}
}

/* Shares as close as that do not rank causes: the table does, which has what is mended more easily first. */
static void lift_first(struct verdict *v)
{
	size_t best = 0;
	struct candidate c;

	for (size_t i = 1; i < v->n_causes; i++)
		if (v->causes[0].finding.share_pct - v->causes[i].finding.share_pct <= TIE_PCT &&
		    v->causes[i].order < v->causes[best].order)
			best = i;
	c = v->causes[best];
	memmove(v->causes + 1, v->causes, best * sizeof(c));
	v->causes[0] = c;
}

static void rank(struct verdict *v)
{
	/* Insertion: a handful of items, and equal ones stay in the table's order. */
	for (size_t i = 1; i < v->n_causes; i++) {
		struct candidate c = v->causes[i];
		size_t k = i;

		while (k > 0 && (v->causes[k - 1].finding.share_pct < c.finding.share_pct ||
				 (v->causes[k - 1].finding.share_pct == c.finding.share_pct &&
				  v->causes[k - 1].order > c.order))) {
			v->causes[k] = v->causes[k - 1];
			k--;
		}
		v->causes[k] = c;
	}
	while (v->n_causes && v->causes[v->n_causes - 1].finding.share_pct < SMALLEST_PCT)
		v->n_causes--;
	lift_first(v);
}

static void say_ties(struct verdict *v, struct wp_pool *pool)
{
	struct wp_finding *first = &v->causes[0].finding, *second = &v->causes[1].finding;

	if (v->n_causes < 2 || first->share_pct - second->share_pct > TIE_PCT ||
	    strstr(first->rule, "run_queue")) /* its other half: what ran when it did not wait */
		return;
	first->says = wp_pool_printf(pool, "%s; the next cause weighs about as much", first->says);
}

/* ---- what is left open ------------------------------------------------------------------------ */

/* What the causes leave open, in per cent of the time; 0 = nothing worth saying. */
static double open_pct(const struct verdict *v, const struct wp_facts *f)
{
	double sum = 0, idle, left;

	for (size_t i = 0; i < v->n_causes; i++)
		sum += v->causes[i].finding.share_pct;
	if (sum < OPEN_PCT)
		return 100 - sum;
	idle = 100 - wp_num_or(f->sender.on_cpu_pct, 0);
	left = 100 - sum < idle - sum ? 100 - sum : idle - sum;
	return left > OPEN_PCT && left > OPEN_SHARE * idle ? left : 0;
}

static void put_side(struct wp_buf *b, const struct wp_side *s, const char *before)
{
	if (!wp_has(s->on_cpu_pct))
		return;
	wp_buf_printf(b, "%sthe %s's thread ran %.0f %% of the time", before, s->word,
		      s->on_cpu_pct.v);
	if (wp_num_or(s->delay_pct, 0) >= 1)
		wp_buf_printf(b, " and waited %.0f %% for a CPU", s->delay_pct.v);
}

static void say_not_explained(const struct verdict *v, const struct wp_facts *f, double open,
			      struct wp_finding *ret)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(MAX_TEXT_BYTES);

	*ret = (struct wp_finding) { .rule = WP_NOT_EXPLAINED,
				     .confidence = "high",
				     .share_pct = open };
	if (v->n_causes)
		wp_buf_printf(&b, "about %.0f %% of the time is not explained", open);
	else
		wp_buf_puts(&b, "nothing that was measured was full or closed for long");
	put_side(&b, &f->sender, ": ");
	put_side(&b, &f->receiver, wp_has(f->sender.on_cpu_pct) ? ", " : ": ");
	for (size_t i = 0; i < v->n_missing; i++)
		wp_buf_printf(&b, "%s%s", i ? "; " : "; missing to know: ", v->missing[i]);
	ret->says = wp_pool_strdup(f->pool, wp_buf_text(&b));
	if (f->run->n_hosts < 2 && f->kind != WP_KIND_WRITE)
		ret->advice[ret->n_advice++] =
			"run `whyperf serve` at the other end, so that its CPUs and threads are in the record";
	if (ret->n_advice < WP_FINDING_ADVICE)
		ret->advice[ret->n_advice++] = "whyperf doctor";
}

static bool is_advised(const struct wp_finding *findings, size_t n, const char *advice)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < findings[i].n_advice; k++)
			if (!strcmp(findings[i].advice[k], advice))
				return true;
	return false;
}

/* What an earlier finding advises already is not said again. */
static void advise_once(struct wp_finding *findings, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct wp_finding *f = &findings[i];
		size_t kept = 0;

		for (size_t k = 0; k < f->n_advice; k++)
			if (!is_advised(findings, i, f->advice[k]))
				f->advice[kept++] = f->advice[k];
		f->n_advice = kept;
	}
}

int wp_explain(struct wp_run *run)
{
	struct wp_finding *findings;
	_cleanup_free_ struct verdict *v = calloc(1, sizeof(*v));
	struct wp_facts f, of = { 0 };
	double open;
	bool both = run->test.direction && !strcmp(run->test.direction, "both"), any = false;
	size_t n = 0;

	if (!v || wp_stalls_judge(run) || wp_pauses_judge(run))
		return -ENOMEM;
	run->findings = NULL;
	run->n_findings = 0;
	for (int forward = 1; forward >= 0; forward--) {
		if (!wp_facts_gather(run, forward, &run->pool, &f) || !f.kind)
			continue;
		of = any ? of : f;
		any = true;
		ask(v, &f, !both ? NULL : forward ? "client to server" : "server to client");
	}
	if (!any && !run->n_stalls && !(run->n_flows && run->flows[0].n_pauses))
		return 0;
	findings = wp_pool_calloc(&run->pool, WP_EXPLAIN_MAX, sizeof(*findings));
	if (!findings)
		return -ENOMEM;
	/* What stopped it altogether or stands out comes first, however short that was beside the rest of the run. */
	if (wp_stalls_finding(run, &findings[n]) || wp_pauses_finding(run, &findings[n]))
		n++;
	fold(v);
	rank(v);
	say_ties(v, &run->pool);
	for (size_t i = 0; i < v->n_causes && i < WP_EXPLAIN_CAUSES; i++)
		findings[n++] = v->causes[i].finding;
	open = any ? open_pct(v, &of) : 0;
	if (open > 0)
		say_not_explained(v, &of, open, &findings[n++]);
	for (size_t i = 0; i < v->n_notes && i < WP_EXPLAIN_NOTES; i++)
		findings[n++] = v->notes[i].finding;
	for (size_t i = 0; i < n; i++)
		if (!findings[i].says)
			return -ENOMEM;
	advise_once(findings, n);
	run->findings = findings;
	run->n_findings = n;
	return 0;
}

/* ---- what an end's time went into ------------------------------------------------------------- */

static double at_most(double v, double limit)
{
	return v < 0 ? 0 : v > limit ? limit : v;
}

/* Divides the sender's waiting: window first (the kernel counts it), then the path, then a rate that was asked for. */
static void divide_wait(const struct wp_facts *f, struct wp_end_time *t)
{
	double left = f->wait_pct.v, part;
	bool slow_reader = wp_num_or(f->receiver.runnable_pct, 0) >= ENOUGH_CPU_PCT;

	if (f->kind != WP_KIND_TCP) {
		/* Datagrams wait for their time or for the device, a client for its response. */
		bool asked = f->kind == WP_KIND_UDP && wp_has(f->run->test.target_bps);

		t->peer_pct = wp_num(f->kind == WP_KIND_RR ? left : 0);
		t->asked_pct = wp_num(asked ? left : 0);
		t->path_pct = wp_num(f->kind == WP_KIND_UDP && !asked ? left : 0);
		t->unexplained_pct = wp_num(0);
		return;
	}
	if (!wp_has(f->busy_pct)) {
		t->window_pct = t->path_pct = t->peer_pct = f->busy_pct;
		t->asked_pct = f->busy_pct;
		t->unexplained_pct = wp_num(left);
		return;
	}
	part = at_most(wp_num_or(f->rwnd_wall_pct, 0), left);
	t->peer_pct = wp_num(slow_reader ? part : 0);
	t->window_pct = wp_num(slow_reader ? 0 : part);
	left -= part;
	part = at_most(wp_num_or(f->sndbuf_wall_pct, 0), left);
	t->window_pct.v += part;
	left -= part;
	part = wp_has(f->run->test.target_bps) ? left : 0;
	t->asked_pct = wp_num(part);
	left -= part;
	part = at_most(wp_num_or(f->network_pct, 0), left);
	t->path_pct = wp_num(part);
	t->unexplained_pct = wp_num(left - part);
}

static void divide_cpu(const struct wp_side *s, struct wp_end_time *t)
{
	static const char moved[] =
		"the thread moved between CPUs, or its CPU is not in the record";

	t->cpu = s->stays && wp_has(s->cpu) ? (int)s->cpu.v : -1;
	if (!s->use) {
		t->user_pct = t->system_pct = t->irq_pct = t->softirq_pct = t->busy_pct =
			wp_absent(moved);
		return;
	}
	t->user_pct = s->use->user_pct;
	t->system_pct = s->use->system_pct;
	t->irq_pct = s->use->irq_pct;
	t->softirq_pct = s->use->softirq_pct;
	t->busy_pct = s->use->busy_pct;
}

int wp_explain_time(const struct wp_run *run, size_t host, struct wp_end_time *ret)
{
	struct wp_pool scratch = WP_POOL(64 << 10);
	struct wp_end_time t = { .cpu = -1 };
	const struct wp_side *s;
	struct wp_facts f;

	if (host >= run->n_hosts)
		return -ENOENT;
	/* As a sender where it is one. */
	if (wp_facts_gather(run, host == 0, &scratch, &f))
		t.sends = true;
	else if (!wp_facts_gather(run, host != 0, &scratch, &f))
		return -ENOENT;
	t.answered = f.kind == WP_KIND_RR;
	s = t.sends ? &f.sender : &f.receiver;
	t.on_cpu_pct =
		wp_has(s->on_cpu_pct) ? wp_num(at_most(s->on_cpu_pct.v, 100)) : s->on_cpu_pct;
	t.run_queue_pct = s->delay_pct;
	divide_cpu(s, &t);
	t.window_pct = t.path_pct = t.asked_pct = t.peer_pct = wp_num(0);
	if (!wp_has(s->on_cpu_pct)) {
		t.window_pct = t.path_pct = t.asked_pct = t.peer_pct = s->on_cpu_pct;
		t.unexplained_pct = wp_num(100);
	} else {
		double rest;

		if (wp_has(t.run_queue_pct))
			t.run_queue_pct.v = at_most(t.run_queue_pct.v, 100 - t.on_cpu_pct.v);
		rest = 100 - t.on_cpu_pct.v - wp_num_or(t.run_queue_pct, 0);
		if (t.sends) {
			f.wait_pct = wp_num(rest);
			divide_wait(&f, &t);
		} else {
			t.peer_pct = wp_num(rest); /* a receiver that does not run waits for data */
			t.unexplained_pct = wp_num(0);
		}
	}
	wp_pool_done(&scratch);
	*ret = t;
	return 0;
}

static void put_part(struct wp_buf *b, struct wp_num pct, const char *what)
{
	if (wp_num_or(pct, 0) >= 0.5)
		wp_buf_printf(b, ", %.0f %% %s", pct.v, what);
}

void wp_end_time_format(const struct wp_end_time *t, char *out, size_t size)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(MAX_TEXT_BYTES);

	if (!wp_has(t->on_cpu_pct))
		wp_buf_printf(&b, "CPU time not known");
	else if (t->cpu >= 0)
		wp_buf_printf(&b, "%.0f %% its CPU %d", t->on_cpu_pct.v, t->cpu);
	else
		wp_buf_printf(&b, "%.0f %% its CPU", t->on_cpu_pct.v);
	if (wp_has(t->user_pct) && wp_has(t->system_pct) && wp_has(t->softirq_pct))
		wp_buf_printf(&b, " (user %.0f, system %.0f, softirq %.0f)", t->user_pct.v,
			      t->system_pct.v, t->softirq_pct.v);
	put_part(&b, t->run_queue_pct, "waiting for a CPU");
	put_part(&b, t->window_pct, "windows");
	put_part(&b, t->asked_pct, "the rate asked for");
	put_part(&b, t->path_pct, "the path");
	put_part(&b, t->peer_pct,
		 t->answered ? "the other end"
		 : t->sends  ? "the receiver"
			     : "waiting for data");
	put_part(&b, t->unexplained_pct, "not explained");
	snprintf(out, size, "%s", wp_buf_text(&b));
}
