/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_text.h - doctor's lines as plain text of at most WP_DOCTOR_COLUMNS columns: a heading a section, a line a
 * reading, and under each problem what it spoils and what to do. Ends with the counts.
 */
#ifndef WP_REPORT_DOCTOR_TEXT_H
#define WP_REPORT_DOCTOR_TEXT_H

#include "base/buf.h"
#include "explain/doctor.h"

#define WP_DOCTOR_COLUMNS 100 /* at most, however wide the terminal */
#define WP_DOCTOR_LEAST   60

/* Appends to `out`; 0 or its status. `problems`: only notes, warnings and what is bad. */
/* `width`: columns of the terminal; 0 = WP_DOCTOR_COLUMNS. */
int wp_doctor_text(const struct wp_doctor *d, bool problems, size_t width,
		   struct wp_buf *out) WP_MUST_USE;

#endif
