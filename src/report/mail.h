/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail.h - a document as a letter carries it: plain ASCII, no line longer than 76 columns, so that it survives being
 * quoted on a mailing list.
 */
#ifndef WP_REPORT_MAIL_H
#define WP_REPORT_MAIL_H

#include "base/buf.h"
#include "report/doc.h"

#define WP_MAIL_WIDTH 76

/* `unit` as in struct wp_text_opts. */
int wp_doc_to_mail(const struct wp_doc *doc, char unit, struct wp_buf *out) WP_MUST_USE;

#endif
