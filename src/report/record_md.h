/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_md.h - docs/record.md: what a record's JSON holds, written from the metric table. A test checks that the
 * file is up to date.
 */
#ifndef WP_REPORT_RECORD_MD_H
#define WP_REPORT_RECORD_MD_H

#include "base/buf.h"

int wp_record_md(struct wp_buf *out) WP_MUST_USE;

#endif
