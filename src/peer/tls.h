/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.h - TLS 1.3 with an external pre-shared key (RFC 8446 section 2.2), over memory: bytes from
 * the wire are fed in, bytes for the wire are taken out. No certificates: both ends prove that they
 * know the key. The key exchange is psk_dhe_ke, so a key that leaks later opens no recorded
 * session. No tickets, no resumption, no early data.
 */
#ifndef WP_PEER_TLS_H
#define WP_PEER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define WP_KEY_BYTES      32
#define WP_KEY_FILE_MIN   16
#define WP_KEY_FILE_MAX   (64u << 10) /* a key, not a disk image given by mistake */
#define WP_TLS_IDENTITY   "whyperf"
#define WP_TLS_TAKE_BYTES (16u << 10) /* a good size for wp_tls_take() */

struct wp_key {
	uint8_t secret[WP_KEY_BYTES];
};

/* The key is SHA-256 of a label and the file's bytes without newlines at its end, so any file of at
 * least 16 bytes will do. Wipe with wp_key_wipe(). */
int wp_key_read(const char *path, struct wp_key *ret, struct wp_err *err) WP_MUST_USE;
int wp_key_from_bytes(const void *data, size_t len, struct wp_key *ret) WP_MUST_USE;
void wp_key_wipe(struct wp_key *key);

struct wp_tls;

int wp_tls_new(const struct wp_key *key, bool server, struct wp_tls **ret,
	       struct wp_err *err) WP_MUST_USE;
void wp_tls_free(struct wp_tls *t);
/* Bytes that came from the wire. */
int wp_tls_feed(struct wp_tls *t, const void *data, size_t len) WP_MUST_USE;
/* Bytes that have to go out: how many were put into `out`, 0 when there are none. */
size_t wp_tls_take(struct wp_tls *t, void *out, size_t size);
/* 0 when the handshake is done, -EAGAIN when bytes have to go or come first, -EACCES with a
 * sentence when the keys differ, -EPROTO for anything else. Alerts wait in wp_tls_take(). */
int wp_tls_handshake(struct wp_tls *t, struct wp_err *err) WP_MUST_USE;
/* > 0 bytes; 0 = the other end said goodbye; -EAGAIN; -EPROTO. */
ssize_t wp_tls_read(struct wp_tls *t, void *out, size_t size) WP_MUST_USE;
/* All of it or -EPROTO. */
int wp_tls_write(struct wp_tls *t, const void *data, size_t len) WP_MUST_USE;
/* Says goodbye. */
void wp_tls_close(struct wp_tls *t);

#endif
