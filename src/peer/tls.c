/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

struct wp_tls {
	SSL_CTX *context;
	SSL *ssl;
	BIO *in, *out; /* owned by ssl */
	bool server;
	struct wp_key key;
};

static const char label[] = "whyperf control key 1\n";

int wp_key_from_bytes(const void *data, size_t len, struct wp_key *ret)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int ok;

	if (!md)
		return -ENOMEM;
	ok = EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	     EVP_DigestUpdate(md, label, sizeof(label) - 1) == 1 &&
	     EVP_DigestUpdate(md, data, len) == 1 && EVP_DigestFinal_ex(md, ret->secret, NULL) == 1;
	EVP_MD_CTX_free(md);
	return ok ? 0 : -EIO;
}

int wp_key_read(const char *path, struct wp_key *ret, struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf text = WP_BUF(WP_KEY_FILE_MAX);
	size_t len;
	int r;

	r = wp_read_file_at(AT_FDCWD, path, &text);
	if (r == -E2BIG)
		return wp_err_set(err, r, "the key file %s is larger than %u bytes; is it a key?",
				  path, WP_KEY_FILE_MAX);
	if (r < 0)
		return wp_err_sys(err, r, "cannot read the key file %s", path);
	for (len = text.len; len && (text.data[len - 1] == '\n' || text.data[len - 1] == '\r');)
		len--;
	if (len < WP_KEY_FILE_MIN)
		r = wp_err_set(
			err, -EINVAL,
			"the key file %s holds %zu bytes; a key has at least %d (make one with: "
			"head -c 32 /dev/urandom | base64)",
			path, len, WP_KEY_FILE_MIN);
	else if ((r = wp_key_from_bytes(text.data, len, ret)) < 0)
		r = wp_err_sys(err, r, "cannot make a key of %s", path);
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	return r;
}

void wp_key_wipe(struct wp_key *key)
{
	OPENSSL_cleanse(key->secret, sizeof(key->secret));
}

/* A session that stands for the pre-shared key. TLS_AES_128_GCM_SHA256 fixes the hash only; every
 * suite that is allowed below has SHA-256. */
static SSL_SESSION *key_session(SSL *ssl)
{
	static const unsigned char suite[2] = { 0x13, 0x01 };
	const struct wp_tls *t = SSL_get_app_data(ssl);
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session && cipher &&
	    SSL_SESSION_set1_master_key(session, t->key.secret, WP_KEY_BYTES) == 1 &&
	    SSL_SESSION_set_cipher(session, cipher) == 1 &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_len,
		     SSL_SESSION **ret)
{
	*ret = NULL;
	if (md && EVP_MD_get_type(md) != NID_sha256)
		return 1; /* a retry that our key can't serve */
	*ret = key_session(ssl);
	if (!*ret)
		return 0;
	*id = (const unsigned char *)WP_TLS_IDENTITY;
	*id_len = sizeof(WP_TLS_IDENTITY) - 1;
	return 1;
}

static int find_key(SSL *ssl, const unsigned char *id, size_t id_len, SSL_SESSION **ret)
{
	*ret = NULL;
	if (id_len != sizeof(WP_TLS_IDENTITY) - 1 || memcmp(id, WP_TLS_IDENTITY, id_len) != 0)
		return 1; /* unknown: no key matches and there is no certificate */
	*ret = key_session(ssl);
	return *ret != NULL;
}

static int set_up(struct wp_tls *t)
{
	t->context = SSL_CTX_new(TLS_method());
	if (!t->context || SSL_CTX_set_min_proto_version(t->context, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(t->context,
				     "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") != 1)
		return -ENOMEM;
	SSL_CTX_set_session_cache_mode(t->context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(t->context, 0);
	/* A server that shows a certificate instead of the key is refused: no root is trusted. */
	SSL_CTX_set_verify(t->context, t->server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (t->server)
		SSL_CTX_set_psk_find_session_callback(t->context, find_key);
	else
		SSL_CTX_set_psk_use_session_callback(t->context, offer_key);
	t->ssl = SSL_new(t->context);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (!t->ssl || !t->in || !t->out) {
		BIO_free(t->in);
		BIO_free(t->out);
		return -ENOMEM;
	}
	BIO_set_mem_eof_return(t->in, -1);
	BIO_set_mem_eof_return(t->out, -1);
	SSL_set_bio(t->ssl, t->in, t->out); /* both are the SSL's now */
	SSL_set_app_data(t->ssl, t);
	if (t->server)
		SSL_set_accept_state(t->ssl);
	else
		SSL_set_connect_state(t->ssl);
	return 0;
}

int wp_tls_new(const struct wp_key *key, bool server, struct wp_tls **ret, struct wp_err *err)
{
	struct wp_tls *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return wp_err_sys(err, -ENOMEM, "cannot start TLS");
	t->server = server;
	t->key = *key;
	ERR_clear_error();
	r = set_up(t);
	if (r < 0) {
		wp_tls_free(t);
		return wp_err_sys(err, r, "cannot start TLS");
	}
	*ret = t;
	return 0;
}

void wp_tls_free(struct wp_tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	SSL_CTX_free(t->context);
	wp_key_wipe(&t->key);
	free(t);
}

int wp_tls_feed(struct wp_tls *t, const void *data, size_t len)
{
	if (len > INT_MAX || (len && BIO_write(t->in, data, (int)len) != (int)len))
		return -ENOMEM;
	return 0;
}

size_t wp_tls_take(struct wp_tls *t, void *out, size_t size)
{
	int n = BIO_read(t->out, out, size > INT_MAX ? INT_MAX : (int)size);

	return n > 0 ? (size_t)n : 0;
}

static int handshake_failed(const struct wp_tls *t, struct wp_err *err)
{
	unsigned long code = ERR_peek_error();
	const char *text = ERR_reason_error_string(code);
	int reason = ERR_GET_REASON(code);

	ERR_clear_error();
	if (t->server && reason == SSL_R_BINDER_DOES_NOT_VERIFY)
		return wp_err_set(err, -EACCES, "the client has another key than this server");
	/* An alert in answer to our hello: the server knows no such key. */
	if (!t->server && (reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER ||
			   reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR ||
			   reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE))
		return wp_err_set(err, -EACCES,
				  "the server has another key; give both ends the same --key file");
	return wp_err_set(err, -EPROTO, "the TLS handshake failed: %s",
			  text ? text : "no reason given");
}

int wp_tls_handshake(struct wp_tls *t, struct wp_err *err)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	if (r == 1) {
		if (!SSL_session_reused(t->ssl))
			return wp_err_set(err, -EACCES, "the other end did not prove the key");
		return 0;
	}
	r = SSL_get_error(t->ssl, r);
	if (r == SSL_ERROR_WANT_READ || r == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	return handshake_failed(t, err);
}

ssize_t wp_tls_read(struct wp_tls *t, void *out, size_t size)
{
	int r;

	ERR_clear_error();
	r = SSL_read(t->ssl, out, size > INT_MAX ? INT_MAX : (int)size);
	if (r > 0)
		return r;
	r = SSL_get_error(t->ssl, r);
	if (r == SSL_ERROR_WANT_READ || r == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (r == SSL_ERROR_ZERO_RETURN)
		return 0;
	ERR_clear_error();
	return -EPROTO;
}

int wp_tls_write(struct wp_tls *t, const void *data, size_t len)
{
	size_t done = 0;

	ERR_clear_error();
	if (!len)
		return 0;
	/* Memory takes everything, so a partial write is a failure. */
	if (SSL_write_ex(t->ssl, data, len, &done) != 1 || done != len) {
		ERR_clear_error();
		return -EPROTO;
	}
	return 0;
}

void wp_tls_close(struct wp_tls *t)
{
	ERR_clear_error();
	if (SSL_is_init_finished(t->ssl))
		(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}
