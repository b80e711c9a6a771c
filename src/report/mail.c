/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/mail.h"

#include "report/text.h"

int wp_doc_to_mail(const struct wp_doc *doc, char unit, struct wp_buf *out)
{
	const struct wp_text_opts opts = { .width = WP_MAIL_WIDTH, .compact = true, .unit = unit };

	return wp_doc_to_text(doc, &opts, out);
}
