/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of doctor: what was measured just now on the live machine. */
#include "base/cleanup.h"
#include "base/units.h"
#include "explain/doctor_check.h"

#define CLOCK_NOTE_NS   60 /* a vDSO reading of a TSC is 15 to 40 ns */
#define CLOCK_WARN_NS   200
#define CLOCK_BAD_NS    1000
#define SYSCALL_NOTE_NS 300 /* about 60 ns without mitigations on metal */
#define SYSCALL_WARN_NS 1000
#define WAKEUP_NOTE_US  200 /* the default timer slack of 50 us and a deep idle state */
#define WAKEUP_WARN_US  1000
#define TAKEN_NOTE_PCT  1
#define TAKEN_WARN_PCT  5

static bool say_ns(struct wp_doctor_ctx *c, struct wp_doctor_line *l, struct wp_num n)
{
	char text[32];

	if (!wp_has(n)) {
		wp_doctor_missing(l, n.why);
		return false;
	}
	wp_format_ns(n.v, text, sizeof(text));
	wp_doctor_say(c, l, "%s", text);
	return true;
}

static void check_clock_read(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	double ns = wp_num_or(c->costs->clock_read_ns, 0);

	if (!say_ns(c, l, c->costs->clock_read_ns) || ns < CLOCK_NOTE_NS)
		return;
	wp_doctor_mark(
		l,
		ns >= CLOCK_BAD_NS    ? WP_DOCTOR_BAD
		: ns >= CLOCK_WARN_NS ? WP_DOCTOR_WARN
				      : WP_DOCTOR_NOTE,
		"each time stamp costs this much: paced sending and request/response pay it several times a packet",
		"see the clock source above");
}

static void check_syscall(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	double ns = wp_num_or(c->costs->syscall_ns, 0);

	if (!say_ns(c, l, c->costs->syscall_ns) || ns < SYSCALL_NOTE_NS)
		return;
	wp_doctor_mark(l, ns >= SYSCALL_WARN_NS ? WP_DOCTOR_WARN : WP_DOCTOR_NOTE,
		       "small messages are limited by system calls, not by the network",
		       "larger writes (-l), batches of datagrams; see the mitigations above");
}

static void check_wakeup(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_syscosts *k = c->costs;

	if (!wp_has(k->wakeup_p50_us) || !wp_has(k->wakeup_p99_us)) {
		wp_doctor_missing(l, k->wakeup_p50_us.why);
		return;
	}
	wp_doctor_say(c, l, "median %.0f us late, 99 %% below %.0f us (timer slack %.0f us)",
		      k->wakeup_p50_us.v, k->wakeup_p99_us.v,
		      wp_num_or(k->timer_slack_ns, 0) / 1e3);
	if (k->wakeup_p99_us.v < WAKEUP_NOTE_US)
		return;
	wp_doctor_mark(
		l, k->wakeup_p99_us.v >= WAKEUP_WARN_US ? WP_DOCTOR_WARN : WP_DOCTOR_NOTE,
		"a sleeping thread runs again this late: latency tails and pacing show the machine",
		"stop other work; see idle states and hypervisor above");
}

static void check_taken(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_syscosts *k = c->costs;

	if (!wp_has(k->taken_pct)) {
		wp_doctor_missing(l, k->taken_pct.why);
		return;
	}
	wp_doctor_say(c, l, "%.2f %% of a busy loop's time, longest piece %.0f us", k->taken_pct.v,
		      wp_num_or(k->taken_longest_us, 0));
	if (k->taken_pct.v < TAKEN_NOTE_PCT)
		return;
	wp_doctor_mark(
		l, k->taken_pct.v >= TAKEN_WARN_PCT ? WP_DOCTOR_WARN : WP_DOCTOR_NOTE,
		"interrupts, other tasks or the hypervisor take this share of a CPU while nothing is measured",
		"stop other work, or take another CPU (--cpu)");
}

const struct wp_doctor_check wp_doctor_measured_checks[] = {
	{ "Measured", "clock reading", check_clock_read },
	{ "Measured", "system call", check_syscall },
	{ "Measured", "wake-up", check_wakeup },
	{ "Measured", "taken by others", check_taken },
};

const size_t wp_n_doctor_measured_checks = WP_ARRAY_SIZE(wp_doctor_measured_checks);
