/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - one sentence that a person can act on.
 *
 * Functions of every floor return 0 or a negative errno. Those whose failure a person should read about
 * take a last argument `struct wp_err *err`, which may be NULL. The sentence says what is wrong, where, and
 * what to do, without a trailing full stop or newline: "cannot bind to port 9497: address already in use;
 * stop the other server or give --port". Only cli/ prints it.
 *
 * The first sentence wins: wp_err_set() on an err that already has a message keeps it (the deepest cause
 * knows most); wp_err_prefix() puts a context in front.
 */
#ifndef WP_BASE_ERR_H
#define WP_BASE_ERR_H

struct wp_err {
	char msg[400];
};

#define WP_MUST_USE     __attribute__((warn_unused_result))
#define WP_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Sets the sentence unless one is there already; returns `code` (a negative errno), so that
 * `return wp_err_set(err, -EINVAL, "...")` reads well. `err` may be NULL. */
int wp_err_set(struct wp_err *err, int code, const char *fmt, ...) WP_PRINTF(3, 4);

/* Like wp_err_set(), and appends ": " and the text of errno `-code`. */
int wp_err_sys(struct wp_err *err, int code, const char *fmt, ...) WP_PRINTF(3, 4);

/* Puts "prefix: " before the sentence that is there; nothing happens when there is none. */
void wp_err_prefix(struct wp_err *err, const char *fmt, ...) WP_PRINTF(2, 3);

#endif
