/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * printer.h - what is shown while a test runs, written by a thread of its own: a reader that is slow, or a terminal that
 * is held with Ctrl-S, must not keep the test from ending on time.
 *
 * Between _new() and _free() nobody else writes to `out`. Text that is on its way is held in memory up to
 * WP_PRINTER_MAX_BYTES; beyond, wp_printer_put() waits for the reader after all.
 */
#ifndef WP_CLI_PRINTER_H
#define WP_CLI_PRINTER_H

#include <stddef.h>
#include <stdio.h>

#define WP_PRINTER_MAX_BYTES (64u << 20)

struct wp_printer;

/* -ENOMEM, -EAGAIN. */
int wp_printer_new(FILE *out, struct wp_printer **ret) __attribute__((warn_unused_result));
/* Copies the text. What `out` does not take is lost; ferror(out) tells after _free(). */
void wp_printer_put(struct wp_printer *p, const char *text, size_t len);
/* Waits until everything is written. NULL is fine. */
void wp_printer_free(struct wp_printer *p);

#endif
