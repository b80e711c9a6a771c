/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h - the options that commands which make traffic share, and the plan that follows from them.
 */
#ifndef WP_CLI_OPTIONS_H
#define WP_CLI_OPTIONS_H

#include "base/opt.h"
#include "base/units.h"
#include "model/plan.h"

enum wp_format {
	WP_FORMAT_TEXT,
	WP_FORMAT_JSON,
	WP_FORMAT_CSV,
	WP_FORMAT_MAIL,
};

/* What the options of tcp, udp and rr set; a command leaves at zero what it has no option for. */
struct wp_test_config {
	int64_t duration_ns, interval_ns, omit_ns, sample_ns, timeout_ns, stall_ns;
	uint64_t streams, length_bytes, rate_bps, limit_bytes, blocks, window_bytes;
	int64_t mss_bytes, port;
	bool duration_set;
	bool soak, reverse, bidir, nodelay, zerocopy, rx_discard, check, v4, v6;
	int fill, format;
	const char *congestion, *bind_host, *dscp, *unit, *name, *key_file;
	bool json, json_stream, no_store, quiet, loopback;
	struct wp_cpulist cpus, peer_cpus, hog_cpus;
	uint64_t busy_poll_us; /* udp, rr */
	/* udp */
	struct wp_rate pace;
	bool pace_set, pace_total, spin, gso, gro, unconnected;
	uint64_t batch;
	/* rr */
	bool udp, connect_each, poisson, response_timeout_set;
	int wait;                                                      /* enum wp_wait */
	uint64_t rate_mhz, outstanding, request_bytes, response_bytes; /* sizes: 0 = not given */
	int64_t response_timeout_ns;
	/* tcp, udp: requests beside the load */
	const char *with;
	uint64_t with_rate_mhz;
	int64_t idle_ns;
	bool idle_set;
	/* udp: search for the highest rate */
	const char *find_rate;
	int64_t trial_ns, search_ns; /* search_ns: 0 = not given */
	double resolution_pct;
	uint64_t border_trials;
	bool trial_set, search_set, resolution_set, border_set, omit_set;
};

#define WP_N_TCP_OPTIONS 42
#define WP_N_UDP_OPTIONS 48
#define WP_N_RR_OPTIONS  41
extern const struct wp_opt wp_tcp_options[WP_N_TCP_OPTIONS];
extern const struct wp_opt wp_udp_options[WP_N_UDP_OPTIONS];
extern const struct wp_opt wp_rr_options[WP_N_RR_OPTIONS];

const char *wp_format_name(enum wp_format f); /* "text" */

/* Makes the finished plan of a test of that kind (tcp, udp, rr); lists and strings stay borrowed from the config. -EINVAL with a sentence. */
int wp_test_plan(const struct wp_test_config *config, const char *kind, struct wp_plan *ret,
		 struct wp_err *err) WP_MUST_USE;

/* "ef", "af41", "cs1", "0".."63", or a TOS byte in hexadecimal as iperf has it ("0xb8"); -1 for NULL. */
int wp_parse_dscp(const char *text, int *ret, struct wp_err *err) WP_MUST_USE;

#endif
