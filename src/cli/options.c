/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/store.h"

static const char *const fills[] = { "zero", "random", "pattern", NULL };
static const char *const formats[] = { "text", "json", "csv", "mail", NULL };

#define OFF(field) offsetof(struct wp_test_config, field)
#define YEAR_S     (366 * 86400.0)

const struct wp_opt wp_tcp_options[WP_N_TCP_OPTIONS] = {
	{ "time", 't', WP_OPT_DURATION, OFF(duration_ns), .set_offset = OFF(duration_set),
	  .arg = "TIME", .def = "10", .min = 0.001, .max = YEAR_S, .group = "Test",
	  .help = "how long to measure" },
	{ "bytes", 'n', WP_OPT_SIZE, OFF(limit_bytes), .arg = "SIZE", .min = 1, .max = 1e18,
	  .group = "Test",
	  .help = "end after exactly these bytes in a direction, over all streams; with -t also, whichever comes first" },
	{ "blocks", 'k', WP_OPT_COUNT, OFF(blocks), .arg = "N", .min = 1, .max = 1e12,
	  .group = "Test", .help = "end after N writes of --length bytes, over all streams" },
	{ "omit", 'O', WP_OPT_DURATION, OFF(omit_ns), .arg = "TIME", .def = "0", .min = 0,
	  .max = YEAR_S, .group = "Test", .help = "warm up before the measured time" },
	{ "interval", 'i', WP_OPT_DURATION, OFF(interval_ns), .arg = "TIME", .def = "1", .min = 0,
	  .max = YEAR_S, .group = "Test",
	  .help = "time between report rows, from 0.01; 0 = only the total" },
	{ "parallel", 'P', WP_OPT_COUNT, OFF(streams), .arg = "N", .def = "1", .min = 1,
	  .max = WP_MAX_STREAMS, .group = "Test",
	  .help = "streams; threads are one a CPU, not one a stream" },
	{ "reverse", 'R', WP_OPT_FLAG, OFF(reverse), .group = "Test",
	  .help = "the server sends, the client receives" },
	{ "bidir", 0, WP_OPT_FLAG, OFF(bidir), .group = "Test",
	  .help = "both directions at once, a connection each" },
	{ "bitrate", 'b', WP_OPT_RATE, OFF(rate_bps), .arg = "RATE", .def = "0", .min = 0,
	  .max = 1e14, .group = "Test",
	  .help = "pace each stream, without bursts or catching up; 0 = unlimited" },

	{ "length", 'l', WP_OPT_SIZE, OFF(length_bytes), .arg = "SIZE", .def = "1M", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Data",
	  .help = "bytes a write, fewer among many streams" },
	{ "zerocopy", 'Z', WP_OPT_FLAG, OFF(zerocopy), .group = "Data",
	  .help = "send by MSG_ZEROCOPY; says when the kernel copied after all" },
	{ "rx-discard", 0, WP_OPT_FLAG, OFF(rx_discard), .group = "Data",
	  .help = "receive without copying to user space" },
	{ "fill", 0, WP_OPT_ENUM, OFF(fill), .arg = "WHAT", .def = "zero", .choices = fills,
	  .group = "Data", .help = "content of what is sent" },
	{ "check", 0, WP_OPT_FLAG, OFF(check), .group = "Data",
	  .help = "verify received content (with --fill pattern)" },

	{ "cpu", 0, WP_OPT_CPULIST, OFF(cpus), .arg = "LIST", .group = "Placement",
	  .help = "CPUs of the client's threads, one each" },
	{ "peer-cpu", 0, WP_OPT_CPULIST, OFF(peer_cpus), .arg = "LIST", .group = "Placement",
	  .help = "CPUs of the server's threads" },

	{ "window", 'w', WP_OPT_SIZE, OFF(window_bytes), .arg = "SIZE", .min = 1024, .max = 1 << 30,
	  .group = "TCP",
	  .help = "socket buffers of both ends; not given = the kernel tunes them" },
	{ "set-mss", 'M', WP_OPT_INT, OFF(mss_bytes), .arg = "BYTES", .min = 88, .max = 32767,
	  .group = "TCP", .help = "maximum segment size" },
	{ "no-delay", 'N', WP_OPT_FLAG, OFF(nodelay), .group = "TCP", .help = "TCP_NODELAY" },
	{ "congestion", 'C', WP_OPT_STRING, OFF(congestion), .arg = "NAME", .group = "TCP",
	  .help = "congestion control (cubic, reno, bbr); not given = the kernel's default" },
	{ "dscp", 'S', WP_OPT_STRING, OFF(dscp), .arg = "DSCP", .group = "TCP",
	  .help = "0-63 or a name (ef, af41, cs1); 0xNN = a whole TOS byte" },

	{ "port", 'p', WP_OPT_INT, OFF(port), .arg = "PORT", .def = "9497", .min = 1, .max = 65535,
	  .group = "Network", .help = "port of the server" },
	{ "version4", '4', WP_OPT_FLAG, OFF(v4), .group = "Network", .help = "IPv4 only" },
	{ "version6", '6', WP_OPT_FLAG, OFF(v6), .group = "Network", .help = "IPv6 only" },
	{ "bind", 'B', WP_OPT_STRING, OFF(bind_host), .arg = "ADDR", .group = "Network",
	  .help = "local address" },
	{ "loopback", 0, WP_OPT_FLAG, OFF(loopback), .group = "Network",
	  .help = "the same as HOST loopback: both ends here, over 127.0.0.1; needs no privilege" },
	{ "timeout", 0, WP_OPT_DURATION, OFF(timeout_ns), .arg = "TIME", .def = "10", .min = 0.1,
	  .max = 3600, .group = "Network", .help = "how long to wait for the server's answers" },
	{ "key", 0, WP_OPT_STRING, OFF(key_file), .arg = "FILE", .group = "Network",
	  .help = "pre-shared key, the server's too: TLS 1.3 on the control connection (data stays plain)" },

	{ "format", 0, WP_OPT_ENUM, OFF(format), .arg = "HOW", .def = "text", .choices = formats,
	  .group = "Output", .help = "form of the report" },
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output",
	  .help = "the same as --format json" },
	{ "json-stream", 0, WP_OPT_FLAG, OFF(json_stream), .group = "Output",
	  .help = "a line of JSON an event, while the test runs" },
	{ "unit", 'f', WP_OPT_STRING, OFF(unit), .arg = "UNIT", .group = "Output",
	  .help = "rates in k m g t (bits, 1000) or K M G T (bytes, 1024)" },
	{ "quiet", 'q', WP_OPT_FLAG, OFF(quiet), .group = "Output",
	  .help = "no rows while the test runs; the report has them" },
	{ "sample", 0, WP_OPT_DURATION, OFF(sample_ns), .arg = "TIME", .def = "0", .min = 0,
	  .max = 3600, .group = "Output",
	  .help = "time between samples of the kernel's counters; 0 = the interval" },
	{ "name", 0, WP_OPT_STRING, OFF(name), .arg = "NAME", .group = "Output",
	  .help = "name of the stored run" },
	{ "no-store", 0, WP_OPT_FLAG, OFF(no_store), .group = "Output",
	  .help = "do not keep the run in the history" },
};

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
	if (c->blocks && c->blocks > UINT64_MAX / c->length_bytes)
		return wp_err_set(err, -EINVAL,
				  "-k: that many blocks of -l bytes are more than 2^64 bytes");
	if (c->json_stream && c->format != WP_FORMAT_TEXT && c->format != WP_FORMAT_JSON)
		return wp_err_set(err, -EINVAL, "--json-stream and --format %s exclude each other",
				  formats[c->format]);
	if (c->unit && (strlen(c->unit) != 1 || !strchr("kmgtKMGT", c->unit[0])))
		return wp_err_set(err, -EINVAL, "-f: '%s' is not one of k m g t K M G T", c->unit);
	return 0;
}

/* What this machine or the store would refuse only when the work is under way or done. */
static int check_here(const struct wp_test_config *c, struct wp_err *err)
{
	_cleanup_cpulist_ struct wp_cpulist allowed = { 0 };
	char text[100];
	int r = 0;

	if (c->name && wp_store_check_name(c->name, err)) {
		wp_err_prefix(err, "--name");
		return -EINVAL;
	}
	if (c->cpus.n)
		r = wp_cpulist_allowed(&allowed);
	if (r < 0)
		return wp_err_sys(err, r, "cannot find out which CPUs may be used");
	for (size_t i = 0; i < c->cpus.n; i++)
		if (!wp_cpulist_has(&allowed, c->cpus.cpu[i])) {
			snprintf(text, sizeof(text), "/sys/devices/system/cpu/cpu%d",
				 c->cpus.cpu[i]);
			if (access(text, F_OK) && errno == ENOENT &&
			    !access("/sys/devices/system/cpu", F_OK))
				return wp_err_set(
					err, -EINVAL,
					"--cpu: this machine has no CPU %d; `whyperf doctor` lists them",
					c->cpus.cpu[i]);
			wp_cpulist_format(&allowed, text, sizeof(text));
			return wp_err_set(
				err, -EINVAL,
				"CPU %d can't be used here (--cpu); this process may run on %s",
				c->cpus.cpu[i], text);
		}
	return 0;
}

int wp_test_plan(const struct wp_test_config *c, const char *kind, struct wp_plan *ret,
		 struct wp_err *err)
{
	uint64_t limit = c->blocks ? c->blocks * c->length_bytes : c->limit_bytes;
	struct wp_plan p = {
		.kind = kind,
		.streams = (unsigned)c->streams,
		.direction = c->bidir     ? WP_BOTH
			     : c->reverse ? WP_REVERSE
					  : WP_FORWARD,
		.duration_ns = limit && !c->duration_set ? 0 : c->duration_ns,
		.omit_ns = c->omit_ns,
		.interval_ns = c->interval_ns,
		.sample_ns = c->sample_ns,
		.limit_bytes = limit,
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
		.family = c->v4   ? AF_INET
			  : c->v6 ? AF_INET6
				  : AF_UNSPEC,
		.bind_host = c->bind_host,
		.cpus = c->cpus,
		.peer_cpus = c->peer_cpus,
	};
	int r = check_switches(c, err);

	if (!r)
		r = check_here(c, err);
	if (!r)
		r = wp_parse_dscp(c->dscp, &p.dscp, err);
	if (!r)
		r = wp_plan_check(&p, err);
	if (!r)
		*ret = p;
	return r;
}
