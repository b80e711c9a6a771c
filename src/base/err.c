/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int wp_err_set(struct wp_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err && !err->msg[0]) {
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
	}
	return code;
}

int wp_err_sys(struct wp_err *err, int code, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!err || err->msg[0])
		return code;
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->msg))
		snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", strerror(-code));
	return code;
}

void wp_err_prefix(struct wp_err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list ap;
	size_t room;
	int n;

	if (!err || !err->msg[0])
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n + 3 >= sizeof(text))
		return;
	room = sizeof(text) - (size_t)n;
	if (snprintf(text + n, room, ": %s", err->msg) < 0)
		return;
	memcpy(err->msg, text, sizeof(text));
}
