/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c - from the options of a command to the plan of a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/find_rate.h"
#include "cli/options.h"
#include "cli/with.h"
#include "store/store.h"

#define SOAK_NS (86400 * WP_NS_PER_S) /* what --soak lasts where nothing is said */

static int dscp_by_name(const char *text)
{
	static const struct {
		const char *name;
		int dscp;
	} names[] = {
		/* RFC 2474, 2597, 3246, 5865, 8622 */
		{ "cs0", 0 },   { "cs1", 8 },          { "cs2", 16 },  { "cs3", 24 },
		{ "cs4", 32 },  { "cs5", 40 },         { "cs6", 48 },  { "cs7", 56 },
		{ "af11", 10 }, { "af12", 12 },        { "af13", 14 }, { "af21", 18 },
		{ "af22", 20 }, { "af23", 22 },        { "af31", 26 }, { "af32", 28 },
		{ "af33", 30 }, { "af41", 34 },        { "af42", 36 }, { "af43", 38 },
		{ "ef", 46 },   { "voice-admit", 44 }, { "le", 1 },    { "be", 0 },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(names); i++)
		if (!strcasecmp(text, names[i].name))
			return names[i].dscp;
	return -1;
}

static int parse_hex_byte(const char *text)
{
	char *end;
	unsigned long v;

	if (strncasecmp(text, "0x", 2) || !text[2])
		return -1;
	errno = 0;
	v = strtoul(text + 2, &end, 16);
	return *end || errno || v > 255 || strlen(text) > 4 ? -1 : (int)v;
}

int wp_parse_dscp(const char *text, int *ret, struct wp_err *err)
{
	uint64_t v;
	int byte;

	if (!text) {
		*ret = -1;
		return 0;
	}
	if (!wp_parse_u64(text, &v) && v < 64) {
		*ret = (int)v;
		return 0;
	}
	byte = parse_hex_byte(text);
	if (byte >= 0 && byte & 3)
		return wp_err_set(
			err, -EINVAL,
			"--dscp: the low two bits of the TOS byte %s belong to ECN; give 0x%02x",
			text, (unsigned)byte & ~3u);
	*ret = byte >= 0 ? byte >> 2 : dscp_by_name(text);
	if (*ret < 0)
		return wp_err_set(
			err, -EINVAL,
			"--dscp: '%s' is neither 0-63, a TOS byte like 0xb8, nor a name like ef or af41",
			text);
	return 0;
}

static int check_switches(const struct wp_test_config *c, struct wp_err *err)
{
	if (c->v4 && c->v6)
		return wp_err_set(err, -EINVAL, "-4 and -6 exclude each other");
	if (c->reverse && c->bidir)
		return wp_err_set(
			err, -EINVAL,
			"-R and --bidir exclude each other; --bidir has both directions already");
	if (c->limit_bytes && c->blocks)
		return wp_err_set(err, -EINVAL,
				  "-n and -k exclude each other: both say when to end");
	if (c->json_stream && c->format != WP_FORMAT_TEXT && c->format != WP_FORMAT_JSON)
		return wp_err_set(err, -EINVAL, "--json-stream and --format %s exclude each other",
				  wp_format_name((enum wp_format)c->format));
	if (c->unit && (strlen(c->unit) != 1 || !strchr("kmgtKMGT", c->unit[0])))
		return wp_err_set(err, -EINVAL, "-f: '%s' is not one of k m g t K M G T", c->unit);
	return 0;
}

static int check_cpus(const struct wp_cpulist *cpus, const char *option, struct wp_err *err)
{
	_cleanup_cpulist_ struct wp_cpulist allowed = { 0 };
	char text[100];
	int r = cpus->n ? wp_cpulist_allowed(&allowed) : 0;

	if (r < 0)
		return wp_err_sys(err, r, "cannot find out which CPUs may be used");
	for (size_t i = 0; i < cpus->n; i++)
		if (!wp_cpulist_has(&allowed, cpus->cpu[i])) {
			snprintf(text, sizeof(text), "/sys/devices/system/cpu/cpu%d", cpus->cpu[i]);
			if (access(text, F_OK) && errno == ENOENT &&
			    !access("/sys/devices/system/cpu", F_OK))
				return wp_err_set(
					err, -EINVAL,
					"%s: this machine has no CPU %d; `whyperf doctor` lists them",
					option, cpus->cpu[i]);
			wp_cpulist_format(&allowed, text, sizeof(text));
			return wp_err_set(
				err, -EINVAL,
				"CPU %d can't be used here (%s); this process may run on %s",
				cpus->cpu[i], option, text);
		}
	return 0;
}

/* What this machine or the store would refuse only when the work is under way or done. */
static int check_here(const struct wp_test_config *c, struct wp_err *err)
{
	int r;

	if (c->name && wp_store_check_name(c->name, err)) {
		wp_err_prefix(err, "--name");
		return -EINVAL;
	}
	r = check_cpus(&c->cpus, "--cpu", err);
	return r ? r : check_cpus(&c->hog_cpus, "--hog", err);
}

/* `blocks` of -l bytes, or the bytes of -n. */
static int limit_of(const struct wp_test_config *c, uint64_t block_bytes, uint64_t *ret,
		    struct wp_err *err)
{
	*ret = c->limit_bytes;
	if (c->blocks && __builtin_mul_overflow(c->blocks, block_bytes, ret))
		return wp_err_set(err, -EINVAL,
				  "-k: that many blocks of -l bytes are more than 2^64 bytes");
	return 0;
}

/* The payload rate of one stream. */
static int udp_rate(const struct wp_test_config *c, uint64_t *ret, struct wp_err *err)
{
	/* At most 10^12 x 8 x 65507: fits. */
	uint64_t bps = c->pace.packets_mhz ? c->pace.packets_mhz * (8 * c->length_bytes) / 1000
					   : c->pace.bps;

	if (c->pace_total && !bps)
		return wp_err_set(
			err, -EINVAL,
			"--total divides a rate among the streams, and flat out (-b 0) is none");
	*ret = c->pace_total ? bps / c->streams : bps;
	if (bps && !*ret)
		return wp_err_set(err, -EINVAL, "-b: that rate can't be divided among %llu streams",
				  (unsigned long long)c->streams);
	return 0;
}

static int add_udp(const struct wp_test_config *c, struct wp_plan *p, struct wp_err *err)
{
	p->transport = WP_UDP;
	p->unconnected = c->unconnected;
	p->gso = c->gso;
	p->gro = c->gro;
	p->batch = (unsigned)c->batch;
	p->spin = c->spin;
	if (c->spin && !c->pace.bps && !c->pace.packets_mhz)
		return wp_err_set(
			err, -EINVAL,
			"--spin waits for the time of a packet, and flat out (-b 0) nothing waits");
	return udp_rate(c, &p->rate_bps, err);
}

static uint64_t message_bytes(uint64_t own, uint64_t both)
{
	return own ? own : both ? both : 1;
}

static int check_rr_switches(const struct wp_test_config *c, struct wp_err *err)
{
	if (c->reverse || c->bidir)
		return wp_err_set(
			err, -EINVAL,
			"%s: a transaction goes there and back already; to ask from the other end, run whyperf rr there",
			c->reverse ? "-R" : "--bidir");
	if (c->response_timeout_set && !c->udp)
		return wp_err_set(err, -EINVAL,
				  "--response-timeout is for --udp: TCP sends again what is lost");
	if (c->poisson && !c->rate_mhz)
		return wp_err_set(err, -EINVAL,
				  "--poisson needs the rate of the requests (--rate)");
	if (c->blocks && c->blocks < c->streams)
		return wp_err_set(
			err, -EINVAL,
			"-n: %llu transactions are less than one for each of %llu connections",
			(unsigned long long)c->blocks, (unsigned long long)c->streams);
	return 0;
}

static int add_rr(const struct wp_test_config *c, struct wp_plan *p, struct wp_err *err)
{
	int r = check_rr_switches(c, err);

	p->transport = c->udp ? WP_UDP : WP_TCP;
	p->length_bytes = message_bytes(c->request_bytes, c->length_bytes);
	p->response_bytes = message_bytes(c->response_bytes, c->length_bytes);
	p->connect_each = c->connect_each;
	p->outstanding = (unsigned)c->outstanding;
	p->rate_mhz = c->rate_mhz;
	p->poisson = c->poisson;
	p->wait = (enum wp_wait)c->wait;
	p->response_timeout_ns = c->udp ? c->response_timeout_ns : 0;
	return r;
}

static int add_kind(const struct wp_test_config *c, struct wp_plan *p, struct wp_err *err)
{
	int r = 0;

	if (!strcmp(p->kind, "udp"))
		r = add_udp(c, p, err);
	else if (!strcmp(p->kind, "rr"))
		r = add_rr(c, p, err);
	if (!r)
		r = limit_of(c, p->length_bytes, &p->limit_bytes, err);
	if (!r && p->limit_bytes && !c->duration_set)
		p->duration_ns = 0;
	return r;
}

int wp_test_plan(const struct wp_test_config *c, const char *kind, struct wp_plan *ret,
		 struct wp_err *err)
{
	struct wp_plan p = {
		.kind = kind,
		.streams = (unsigned)c->streams,
		.direction = c->bidir     ? WP_BOTH
			     : c->reverse ? WP_REVERSE
					  : WP_FORWARD,
		.duration_ns = c->soak && !c->duration_set ? SOAK_NS : c->duration_ns,
		.omit_ns = c->omit_ns,
		.interval_ns = c->interval_ns,
		.sample_ns = c->sample_ns,
		.stall_ns = c->stall_ns,
		.soak = c->soak,
		.length_bytes = c->length_bytes,
		.rate_bps = c->rate_bps,
		.window_bytes = c->window_bytes,
		.mss_bytes = (uint32_t)c->mss_bytes,
		.nodelay = c->nodelay,
		.congestion = c->congestion,
		.fill = (enum wp_fill)c->fill,
		.check = c->check,
		.send_method = c->zerocopy ? WP_SEND_ZEROCOPY : WP_SEND_AUTO,
		.receive_method = c->rx_discard ? WP_RECEIVE_DISCARD : WP_RECEIVE_AUTO,
		.busy_poll_us = (unsigned)c->busy_poll_us,
		.family = c->v4   ? AF_INET
			  : c->v6 ? AF_INET6
				  : AF_UNSPEC,
		.bind_host = c->bind_host,
		.cpus = c->cpus,
		.peer_cpus = c->peer_cpus,
		.hog_cpus = c->hog_cpus,
	};
	struct wp_with with;
	int r = check_switches(c, err);

	if (!r)
		r = check_here(c, err);
	if (!r)
		r = add_kind(c, &p, err);
	if (!r)
		r = wp_parse_dscp(c->dscp, &p.dscp, err);
	if (!r)
		r = strcmp(kind, "write") ? wp_plan_check(&p, err) : wp_plan_check_write(&p, err);
	if (!r)
		r = wp_with_parse(c, &p, &with, err);
	if (!r)
		r = wp_find_rate_check(c, err);
	if (!r)
		*ret = p;
	return r;
}
