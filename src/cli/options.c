/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.c - the option tables of tcp, udp and rr. A row that more than one of them has stands here once, as a macro;
 * where its help differs between them, the help is the macro's argument.
 */
#include "cli/options.h"

#include <stddef.h>

static const char *const fills[] = { "zero", "random", "pattern", NULL };
static const char *const formats[] = { "text", "json", "csv", "mail", NULL };
static const char *const waits[] = { "auto", "block", "epoll", "spin", NULL }; /* enum wp_wait */

const char *wp_format_name(enum wp_format f)
{
	return (unsigned)f < 4 ? formats[f] : "?";
}

#define OFF(field) offsetof(struct wp_test_config, field)
#define YEAR_S     (366 * 86400.0)

/* clang-format off */
#define TIME_ROW                                                                                   \
	{ "time", 't', WP_OPT_DURATION, OFF(duration_ns), .set_offset = OFF(duration_set),         \
	  .arg = "TIME", .def = "10", .min = 0.001, .max = YEAR_S, .group = "Test",                \
	  .help = "how long to measure" }
#define BYTES_ROW                                                                                  \
	{ "bytes", 'n', WP_OPT_SIZE, OFF(limit_bytes), .arg = "SIZE", .min = 1, .max = 1e18,       \
	  .group = "Test",                                                                         \
	  .help = "end after exactly these bytes in a direction, over all streams; with -t also, whichever comes first" }
#define BLOCKS_ROW(name, letter, help_text)                                                        \
	{ name, letter, WP_OPT_COUNT, OFF(blocks), .arg = "N", .min = 1, .max = 1e12,              \
	  .group = "Test", .help = help_text }
#define WARM_UP_ROWS                                                                               \
	{ "omit", 'O', WP_OPT_DURATION, OFF(omit_ns), .arg = "TIME", .def = "0", .min = 0,         \
	  .max = YEAR_S, .group = "Test", .help = "warm up before the measured time" },            \
	{ "interval", 'i', WP_OPT_DURATION, OFF(interval_ns), .arg = "TIME", .def = "1", .min = 0, \
	  .max = YEAR_S, .group = "Test",                                                          \
	  .help = "time between report rows, from 0.01; 0 = only the total" }
#define PARALLEL_ROW(most, help_text)                                                              \
	{ "parallel", 'P', WP_OPT_COUNT, OFF(streams), .arg = "N", .def = "1", .min = 1,           \
	  .max = most, .group = "Test", .help = help_text }
#define DIRECTION_ROWS(each)                                                                       \
	{ "reverse", 'R', WP_OPT_FLAG, OFF(reverse), .group = "Test",                              \
	  .help = "the server sends, the client receives" },                                       \
	{ "bidir", 0, WP_OPT_FLAG, OFF(bidir), .group = "Test",                                    \
	  .help = "both directions at once, a " each " each" }
#define FILL_ROW                                                                                   \
	{ "fill", 0, WP_OPT_ENUM, OFF(fill), .arg = "WHAT", .def = "zero", .choices = fills,       \
	  .group = "Data", .help = "content of what is sent" }
#define PLACEMENT_ROWS                                                                             \
	{ "cpu", 0, WP_OPT_CPULIST, OFF(cpus), .arg = "LIST", .group = "Placement",                \
	  .help = "CPUs of the client's threads, one each" },                                      \
	{ "peer-cpu", 0, WP_OPT_CPULIST, OFF(peer_cpus), .arg = "LIST", .group = "Placement",      \
	  .help = "CPUs of the server's threads" }
#define WINDOW_ROW(in_group, help_text)                                                            \
	{ "window", 'w', WP_OPT_SIZE, OFF(window_bytes), .arg = "SIZE", .min = 1024,               \
	  .max = 1 << 30, .group = in_group, .help = help_text }
#define CONGESTION_ROW(in_group)                                                                   \
	{ "congestion", 'C', WP_OPT_STRING, OFF(congestion), .arg = "NAME", .group = in_group,     \
	  .help = "congestion control (cubic, reno, bbr); not given = the kernel's default" }
#define DSCP_ROW(in_group)                                                                         \
	{ "dscp", 'S', WP_OPT_STRING, OFF(dscp), .arg = "DSCP", .group = in_group,                 \
	  .help = "0-63 or a name (ef, af41, cs1); 0xNN = a whole TOS byte" }
#define BUSY_POLL_ROW(in_group)                                                                    \
	{ "busy-poll", 0, WP_OPT_COUNT, OFF(busy_poll_us), .arg = "US", .def = "0", .min = 0,      \
	  .max = 1e6, .group = in_group,                                                           \
	  .help = "poll the device so many microseconds before sleeping (SO_BUSY_POLL); 0 = off" }
#define WITH_ROWS                                                                                  \
	{ "with", 0, WP_OPT_STRING, OFF(with), .arg = "WHAT", .group = "Latency under load",       \
	  .help = "rr: small requests over TCP, alone first and then beside the load, and what it adds to their round trips; rr,udp: over UDP" }, \
	{ "with-rate", 0, WP_OPT_FREQUENCY, OFF(with_rate_mhz), .arg = "N", .def = "200",          \
	  .min = 1, .max = 1e5, .group = "Latency under load",                                     \
	  .help = "their number a second, at random times whatever the answers do" },              \
	{ "idle-time", 0, WP_OPT_DURATION, OFF(idle_ns), .set_offset = OFF(idle_set),              \
	  .arg = "TIME", .min = 0, .max = 3600, .group = "Latency under load",                     \
	  .help = "how long alone; not given = 3 s, a third of a shorter test; 0 = only beside the load" }
#define STRESS_ROWS                                                                                \
	{ "stall", 0, WP_OPT_DURATION, OFF(stall_ns), .arg = "TIME", .min = 0.05, .max = 3600,     \
	  .group = "Stress",                                                                       \
	  .help = "find when progress stopped for so long although data waited, and what interrupts, queues and carrier did then; exit status 3 when it did" }, \
	{ "hog", 0, WP_OPT_CPULIST, OFF(hog_cpus), .arg = "LIST", .group = "Stress",               \
	  .help = "a busy loop on each of these CPUs of the client while the test runs" },         \
	{ "soak", 0, WP_OPT_FLAG, OFF(soak), .group = "Stress",                                    \
	  .help = "a long test: 24 h unless -t or -n says otherwise; tells how much memory and how many files and threads whyperf itself came to hold" }
#define NETWORK_ROWS                                                                               \
	{ "port", 'p', WP_OPT_INT, OFF(port), .arg = "PORT", .def = "9497", .min = 1,              \
	  .max = 65535, .group = "Network", .help = "port of the server" },                        \
	{ "version4", '4', WP_OPT_FLAG, OFF(v4), .group = "Network", .help = "IPv4 only" },        \
	{ "version6", '6', WP_OPT_FLAG, OFF(v6), .group = "Network", .help = "IPv6 only" },        \
	{ "bind", 'B', WP_OPT_STRING, OFF(bind_host), .arg = "ADDR", .group = "Network",           \
	  .help = "local address" },                                                               \
	{ "loopback", 0, WP_OPT_FLAG, OFF(loopback), .group = "Network",                           \
	  .help = "the same as HOST loopback: both ends here, over 127.0.0.1; needs no privilege" }, \
	{ "timeout", 0, WP_OPT_DURATION, OFF(timeout_ns), .arg = "TIME", .def = "10", .min = 0.1,  \
	  .max = 3600, .group = "Network", .help = "how long to wait for the server's answers" },  \
	{ "key", 0, WP_OPT_STRING, OFF(key_file), .arg = "FILE", .group = "Network",               \
	  .help = "pre-shared key, the server's too: TLS 1.3 on the control connection (data stays plain)" }
#define OUTPUT_ROWS                                                                                \
	{ "format", 0, WP_OPT_ENUM, OFF(format), .arg = "HOW", .def = "text", .choices = formats,  \
	  .group = "Output", .help = "form of the report" },                                       \
	{ "json", 'J', WP_OPT_FLAG, OFF(json), .group = "Output",                                  \
	  .help = "the same as --format json" },                                                   \
	{ "json-stream", 0, WP_OPT_FLAG, OFF(json_stream), .group = "Output",                      \
	  .help = "a line of JSON an event, while the test runs" },                                \
	{ "unit", 'f', WP_OPT_STRING, OFF(unit), .arg = "UNIT", .group = "Output",                 \
	  .help = "rates in k m g t (bits, 1000) or K M G T (bytes, 1024)" },                      \
	{ "quiet", 'q', WP_OPT_FLAG, OFF(quiet), .group = "Output",                                \
	  .help = "no rows while the test runs; the report has them" },                            \
	{ "sample", 0, WP_OPT_DURATION, OFF(sample_ns), .arg = "TIME", .def = "0", .min = 0,       \
	  .max = 3600, .group = "Output",                                                          \
	  .help = "time between samples of the kernel's counters; 0 = the interval" },             \
	{ "name", 0, WP_OPT_STRING, OFF(name), .arg = "NAME", .group = "Output",                   \
	  .help = "name of the stored run" },                                                      \
	{ "no-store", 0, WP_OPT_FLAG, OFF(no_store), .group = "Output",                            \
	  .help = "do not keep the run in the history" }
/* clang-format on */

const struct wp_opt wp_tcp_options[WP_N_TCP_OPTIONS] = {
	TIME_ROW,
	BYTES_ROW,
	BLOCKS_ROW("blocks", 'k', "end after N writes of --length bytes, over all streams"),
	WARM_UP_ROWS,
	PARALLEL_ROW(WP_MAX_STREAMS, "streams; threads are one a CPU, not one a stream"),
	DIRECTION_ROWS("connection"),
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
	FILL_ROW,
	{ "check", 0, WP_OPT_FLAG, OFF(check), .group = "Data",
	  .help = "verify received content (with --fill pattern)" },

	WITH_ROWS,
	PLACEMENT_ROWS,

	WINDOW_ROW("TCP", "socket buffers of both ends; not given = the kernel tunes them"),
	{ "set-mss", 'M', WP_OPT_INT, OFF(mss_bytes), .arg = "BYTES", .min = 88, .max = 32767,
	  .group = "TCP", .help = "maximum segment size" },
	{ "no-delay", 'N', WP_OPT_FLAG, OFF(nodelay), .group = "TCP", .help = "TCP_NODELAY" },
	CONGESTION_ROW("TCP"),
	DSCP_ROW("TCP"),

	STRESS_ROWS,
	NETWORK_ROWS,
	OUTPUT_ROWS,
};

const struct wp_opt wp_udp_options[WP_N_UDP_OPTIONS] = {
	TIME_ROW,
	BYTES_ROW,
	BLOCKS_ROW("blocks", 'k', "end after N datagrams, over all streams"),
	WARM_UP_ROWS,
	PARALLEL_ROW(WP_MAX_STREAMS,
		     "streams, a socket each; threads are one a CPU, not one a stream"),
	DIRECTION_ROWS("stream"),
	{ "bitrate", 'b', WP_OPT_PACE, OFF(pace), .set_offset = OFF(pace_set), .arg = "RATE",
	  .def = "10M", .min = 0, .max = 1e14, .group = "Rate",
	  .help = "rate of each stream, in payload bits or packets (36kpps), without bursts or catching up; 0 = flat out" },
	{ "total", 0, WP_OPT_FLAG, OFF(pace_total), .group = "Rate",
	  .help = "-b is for all streams of a direction together, divided among them" },
	{ "spin", 0, WP_OPT_FLAG, OFF(spin), .group = "Rate",
	  .help = "wait for the time of a packet in a busy loop: the most even gaps, at the price of a CPU" },

	{ "find-rate", 0, WP_OPT_STRING, OFF(find_rate), .arg = "BOUND", .group = "Rate search",
	  .help = "find the highest rate with so little loss: 'loss<0.1%', or 'loss<0' for none at all (quoted, for the shell); -b is then the highest rate to try" },
	{ "trial-time", 0, WP_OPT_DURATION, OFF(trial_ns), .set_offset = OFF(trial_set),
	  .arg = "TIME", .def = "2", .min = 0.1, .max = 3600, .group = "Rate search",
	  .help = "length of each trial; RFC 2544 asks for 60 s, and deep buffers hide loss from short ones" },
	{ "resolution", 0, WP_OPT_DOUBLE, OFF(resolution_pct), .set_offset = OFF(resolution_set),
	  .arg = "PCT", .def = "1", .min = 0.1, .max = 50, .group = "Rate search",
	  .help = "per cent between the answer and the next higher rate" },
	{ "border-trials", 0, WP_OPT_COUNT, OFF(border_trials), .set_offset = OFF(border_set),
	  .arg = "N", .def = "5", .min = 1, .max = 100, .group = "Rate search",
	  .help = "trials of each of the two rates in the end, of which four fifths must pass" },
	{ "search-time", 0, WP_OPT_DURATION, OFF(search_ns), .set_offset = OFF(search_set),
	  .arg = "TIME", .min = 1, .max = YEAR_S, .group = "Rate search",
	  .help = "end the search after that with what is known; not given = 100 trials" },

	{ "length", 'l', WP_OPT_SIZE, OFF(length_bytes), .arg = "SIZE", .def = "1400", .min = 1,
	  .max = WP_MAX_DATAGRAM, .group = "Data",
	  .help = "payload of a datagram; the default fits 1500 bytes with IPv6 and a tunnel; below 16 the time, below 8 part of the number does not fit in" },
	FILL_ROW,

	{ "gso", 0, WP_OPT_FLAG, OFF(gso), .group = "Sockets",
	  .help = "send trains of datagrams that the kernel or device cuts (UDP_SEGMENT); -l is each one's" },
	{ "gro", 0, WP_OPT_FLAG, OFF(gro), .group = "Sockets", .help = "receive trains (UDP_GRO)" },
	{ "batch", 0, WP_OPT_COUNT, OFF(batch), .arg = "N", .def = "0", .min = 0,
	  .max = WP_MAX_BATCH, .group = "Sockets",
	  .help = "datagrams a system call, 1 = send and recv; 0 = what measured fastest" },
	BUSY_POLL_ROW("Sockets"),
	{ "unconnected", 0, WP_OPT_FLAG, OFF(unconnected), .group = "Sockets",
	  .help = "name the address in each call, as servers of many clients do" },
	WINDOW_ROW(
		"Sockets",
		"socket buffers of both ends; not given = large, and the report says what was got"),
	DSCP_ROW("Sockets"),

	WITH_ROWS,
	PLACEMENT_ROWS,
	STRESS_ROWS,
	NETWORK_ROWS,
	OUTPUT_ROWS,
};

const struct wp_opt wp_rr_options[WP_N_RR_OPTIONS] = {
	TIME_ROW,
	BLOCKS_ROW(
		"transactions", 'n',
		"end after N transactions, over all connections; with -t also, whichever comes first"),
	WARM_UP_ROWS,
	PARALLEL_ROW(WP_MAX_CONNECTIONS, "connections; threads are one a CPU"),
	{ "reverse", 'R', WP_OPT_FLAG, OFF(reverse), .group = "Test", .help = "refused",
	  .hidden = true },
	{ "bidir", 0, WP_OPT_FLAG, OFF(bidir), .group = "Test", .help = "refused", .hidden = true },
	{ "udp", 'u', WP_OPT_FLAG, OFF(udp), .group = "Test",
	  .help = "over UDP: a request without a response in time is lost, not waited for" },
	{ "connect", 0, WP_OPT_FLAG, OFF(connect_each), .group = "Test",
	  .help = "a connection for each transaction, opening and closing included (CRR)" },

	{ "rate", 0, WP_OPT_FREQUENCY, OFF(rate_mhz), .arg = "N", .min = 0.001, .max = 1e9,
	  .group = "Load",
	  .help = "open loop: N requests fall due a second, over all connections, and latency counts from then; not given = the next request waits for a response" },
	{ "poisson", 0, WP_OPT_FLAG, OFF(poisson), .group = "Load",
	  .help = "random gaps between the requests of --rate instead of even ones" },
	{ "outstanding", 0, WP_OPT_COUNT, OFF(outstanding), .arg = "N", .def = "1", .min = 1,
	  .max = WP_MAX_OUTSTANDING, .group = "Load",
	  .help = "requests under way on a connection at most" },
	{ "response-timeout", 0, WP_OPT_DURATION, OFF(response_timeout_ns),
	  .set_offset = OFF(response_timeout_set), .arg = "TIME", .def = "1", .min = 0.001,
	  .max = 3600, .group = "Load", .help = "with --udp: a response this late is lost" },

	{ "request", 0, WP_OPT_SIZE, OFF(request_bytes), .arg = "SIZE", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Data", .help = "size of a request (default 1)" },
	{ "response", 0, WP_OPT_SIZE, OFF(response_bytes), .arg = "SIZE", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Data", .help = "size of a response (default 1)" },
	{ "length", 'l', WP_OPT_SIZE, OFF(length_bytes), .arg = "SIZE", .min = 1,
	  .max = WP_MAX_LENGTH_BYTES, .group = "Data",
	  .help = "both, where --request or --response does not say otherwise" },

	{ "wait", 0, WP_OPT_ENUM, OFF(wait), .arg = "HOW", .def = "auto", .choices = waits,
	  .group = "Waiting",
	  .help = "how both ends wait for a message; auto blocks with one connection a thread and else uses epoll, spin burns a CPU at each end" },
	BUSY_POLL_ROW("Waiting"),

	PLACEMENT_ROWS,
	WINDOW_ROW("Sockets", "socket buffers of both ends; not given = the kernel's choice"),
	CONGESTION_ROW("Sockets"),
	DSCP_ROW("Sockets"),
	STRESS_ROWS,
	NETWORK_ROWS,
	OUTPUT_ROWS,
};
