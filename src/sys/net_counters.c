/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/net_counters.h"

#include "sys/grow.h"
#include "sys/text.h"

static void reset(struct wp_net_counters *c)
{
	c->n = 0;
	c->names_len = 0;
}

/* Stores prefix + name; *ret is the offset. Offset 0 is the empty string. */
static int add_name(struct wp_net_counters *c, struct wp_text prefix, struct wp_text name,
		    uint32_t *ret)
{
	size_t start = c->names_len ? c->names_len : 1;
	size_t a = wp_text_len(prefix), b = wp_text_len(name);
	int r = WP_GROW(c->names, c->names_cap, start + a + b + 1, WP_NET_NAMES_MAX);

	if (r < 0)
		return r;
	c->names[0] = '\0';
	wp_text_copy(prefix, c->names + start, a + 1);
	wp_text_copy(name, c->names + start + a, b + 1);
	c->names_len = start + a + b + 1;
	*ret = (uint32_t)start;
	return 0;
}

static bool is_gauge(struct wp_text group, struct wp_text name)
{
	static const struct {
		const char *group, *name;
	} gauges[] = {
		{ "Ip", "Forwarding" }, { "Ip", "DefaultTTL" },        { "Tcp", "RtoAlgorithm" },
		{ "Tcp", "RtoMin" },    { "Tcp", "RtoMax" },           { "Tcp", "MaxConn" },
		{ "Tcp", "CurrEstab" }, { "MPTcpExt", "MPCurrEstab" },
	};

	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		if (wp_text_is(group, gauges[i].group) && wp_text_is(name, gauges[i].name))
			return true;
	return false;
}

static int parse_value(struct wp_text word, struct wp_net_counter *v)
{
	int r;

	v->negative = wp_text_eat(&word, "-");
	r = wp_text_u64(word, &v->value);
	if (r == 0 && v->negative)
		v->value = 0 - v->value;
	return r;
}

static int add(struct wp_net_counters *c, struct wp_net_counter v)
{
	int r = WP_GROW(c->v, c->cap, c->n + 1, WP_NET_COUNTERS_MAX);

	if (r == 0)
		c->v[c->n++] = v;
	return r;
}

/* "Group: name name ..." and "Group: value value ...". */
static int parse_pair(struct wp_text names, struct wp_text values, struct wp_net_counters *c)
{
	struct wp_text group, group2, name, value;
	int r;

	if (!wp_text_word(&names, &group) || !wp_text_word(&values, &group2) ||
	    !wp_text_same(group, group2) || group.end[-1] != ':')
		return -EBADMSG;
	group.end--;
	while (wp_text_word(&names, &name)) {
		struct wp_net_counter v = { .gauge = is_gauge(group, name) };

		if (!wp_text_word(&values, &value) || parse_value(value, &v) < 0)
			return -EBADMSG;
		r = add_name(c, group, name, &v.name);
		if (r == 0)
			r = add(c, v);
		if (r < 0)
			return r;
	}
	/* A value without a name can't be told from one that slipped. */
	return wp_text_word(&values, &value) ? -EBADMSG : 0;
}

static int fail(struct wp_err *err, int r, size_t line)
{
	if (r == -EBADMSG)
		return wp_err_set(err, r, "line %zu is malformed", line);
	if (r == -E2BIG)
		return wp_err_set(err, r, "more than %d counters", WP_NET_COUNTERS_MAX);
	return r;
}

int wp_net_snmp_parse(const char *data, size_t len, struct wp_net_counters *c, struct wp_err *err)
{
	struct wp_text t = wp_text(data, len), names, values;

	reset(c);
	for (size_t line = 1; wp_text_line(&t, &names); line += 2) {
		/* The second line of the last pair is missing only after a short read. */
		int r = wp_text_line(&t, &values) ? parse_pair(names, values, c) : -EBADMSG;

		if (r < 0)
			return fail(err, r, line);
	}
	return 0;
}

int wp_net_snmp6_parse(const char *data, size_t len, struct wp_net_counters *c, struct wp_err *err)
{
	struct wp_text t = wp_text(data, len), line, name, value;

	reset(c);
	for (size_t n = 1; wp_text_line(&t, &line); n++) {
		struct wp_net_counter v = { 0 };
		int r = -EBADMSG;

		if (!wp_text_word(&line, &name))
			continue;
		if (wp_text_word(&line, &value) && parse_value(value, &v) == 0) {
			/* /proc/net/dev_snmp6/NAME has the same form and begins so. */
			v.gauge = wp_text_is(name, "ifIndex");
			r = add_name(c, (struct wp_text) { 0 }, name, &v.name);
		}
		if (r == 0)
			r = add(c, v);
		if (r < 0)
			return fail(err, r, n);
	}
	return 0;
}

static const char *const dev_columns[] = {
	"rx_bytes",       "rx_packets",   "rx_errors",      "rx_drop_sum",
	"rx_fifo_errors", "rx_frame_sum", "rx_compressed",  "multicast",
	"tx_bytes",       "tx_packets",   "tx_errors",      "tx_dropped",
	"tx_fifo_errors", "collisions",   "tx_carrier_sum", "tx_compressed",
};
#define DEV_COLUMNS (sizeof(dev_columns) / sizeof(dev_columns[0]))

static int parse_device(struct wp_text line, struct wp_net_counters *c, const uint32_t *column)
{
	const char *colon = NULL;
	struct wp_text word, device;
	uint32_t device_name;
	int r;

	/* Up to the last colon: a name may hold colons (old aliases "eth0:1"), the numbers never
	 * do. */
	for (const char *p = line.p; p < line.end; p++)
		if (*p == ':')
			colon = p;
	if (!colon)
		return -EBADMSG;
	wp_text_skip_blanks(&line);
	device = (struct wp_text) { line.p, colon };
	if (wp_text_len(device) == 0 || line.p > colon)
		return -EBADMSG;
	line.p = colon + 1;
	r = add_name(c, (struct wp_text) { 0 }, device, &device_name);
	for (size_t i = 0; r == 0 && i < DEV_COLUMNS; i++) {
		struct wp_net_counter v = { .name = column[i], .device = device_name };

		if (!wp_text_word(&line, &word) || parse_value(word, &v) < 0 || v.negative)
			return -EBADMSG;
		r = add(c, v);
	}
	return r;
}

int wp_net_dev_parse(const char *data, size_t len, struct wp_net_counters *c, struct wp_err *err)
{
	struct wp_text t = wp_text(data, len), line;
	uint32_t column[DEV_COLUMNS];
	int r = 0;

	reset(c);
	for (size_t i = 0; r == 0 && i < DEV_COLUMNS; i++)
		r = add_name(c, (struct wp_text) { 0 },
			     wp_text(dev_columns[i], strlen(dev_columns[i])), &column[i]);
	for (size_t n = 1; r == 0 && wp_text_line(&t, &line); n++) {
		struct wp_text heading = line;

		if (wp_text_eat(&heading, "Inter-|") || wp_text_eat(&heading, " face |"))
			continue;
		r = parse_device(line, c, column);
		if (r < 0)
			return fail(err, r, n);
	}
	return r;
}

static bool is_at(const struct wp_net_counters *c, size_t i, const char *device, const char *name)
{
	return i < c->n && strcmp(wp_net_counter_name(c, i), name) == 0 &&
	       strcmp(wp_net_counter_device(c, i), device) == 0;
}

size_t wp_net_counters_find(const struct wp_net_counters *c, const char *device, const char *name,
			    size_t hint)
{
	if (is_at(c, hint, device, name))
		return hint;
	for (size_t i = 0; i < c->n; i++)
		if (is_at(c, i, device, name))
			return i;
	return c->n;
}

void wp_net_counters_done(struct wp_net_counters *c)
{
	if (!c)
		return;
	free(c->v);
	free(c->names);
	*c = (struct wp_net_counters) { 0 };
}
