/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

static int bad_host(const char *text, struct wp_err *err)
{
	return wp_err_set(err, -EINVAL, "'%.100s' is not a host name or address", text);
}

static int parse_port(const char *text, const char *whole, uint16_t *ret, struct wp_err *err)
{
	uint64_t v;

	if (wp_parse_u64(text, &v) < 0 || v == 0 || v > UINT16_MAX)
		return wp_err_set(err, -EINVAL, "'%.20s' in '%.100s' is not a port (1 to 65535)",
				  text, whole);
	*ret = (uint16_t)v;
	return 0;
}

int wp_host_split(const char *text, uint16_t default_port, char host[static WP_HOST_MAX],
		  uint16_t *ret_port, struct wp_err *err)
{
	const char *start = text, *end, *colon = strchr(text, ':');
	uint16_t port = default_port;
	size_t len;
	int r;

	if (*text == '[') {
		start++;
		end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return bad_host(text, err);
		colon = end[1] == ':' ? end + 1 : NULL;
	} else if (colon && strchr(colon + 1, ':')) {
		colon = NULL;
		end = text + strlen(text);
	} else {
		end = colon ? colon : text + strlen(text);
	}
	len = (size_t)(end - start);
	if (len == 0 || len >= WP_HOST_MAX)
		return bad_host(text, err);
	if (colon) {
		r = parse_port(colon + 1, text, &port, err);
		if (r < 0)
			return r;
	}
	memcpy(host, start, len);
	host[len] = '\0';
	*ret_port = port;
	return 0;
}

/* One look-up, shared by the caller and its helper thread; whoever leaves last frees it. */
struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	char host[WP_HOST_MAX];
	struct addrinfo hints;
	struct addrinfo *list;
	int status; /* getaddrinfo's */
	int sys;    /* errno with EAI_SYSTEM */
	bool done;
	unsigned users;
};

static void lookup_leave(struct lookup *l)
{
	bool last;

	pthread_mutex_lock(&l->lock);
	last = --l->users == 0;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	if (l->list)
		freeaddrinfo(l->list);
	pthread_cond_destroy(&l->answered);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *lookup_main(void *arg)
{
	struct lookup *l = arg;
	struct addrinfo *list = NULL;
	int status, sys;

	status = getaddrinfo(l->host, NULL, &l->hints, &list);
	sys = errno;
	pthread_mutex_lock(&l->lock);
	l->list = status == 0 ? list : NULL;
	l->status = status;
	l->sys = sys;
	l->done = true;
	pthread_cond_signal(&l->answered);
	pthread_mutex_unlock(&l->lock);
	lookup_leave(l);
	return NULL;
}

static struct lookup *lookup_new(const char *host, int family, int flags)
{
	struct lookup *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->answered, &attr);
	pthread_condattr_destroy(&attr);
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->hints.ai_family = family;
	l->hints.ai_socktype = SOCK_STREAM;
	l->hints.ai_flags = flags;
	l->users = 1;
	return l;
}

/* Runs the look-up in a thread of its own; -ETIMEDOUT leaves the thread to end by itself. */
static int lookup_wait(struct lookup *l, int64_t timeout_ns)
{
	struct timespec until = wp_ns_to_timespec(wp_now_ns() + timeout_ns);
	pthread_t thread;
	int r;

	l->users++;
	r = pthread_create(&thread, NULL, lookup_main, l);
	if (r != 0) {
		l->users--;
		return -r;
	}
	pthread_detach(thread);
	pthread_mutex_lock(&l->lock);
	while (!l->done && r == 0)
		r = timeout_ns > 0 ? pthread_cond_timedwait(&l->answered, &l->lock, &until)
				   : pthread_cond_wait(&l->answered, &l->lock);
	r = l->done ? 0 : -r;
	pthread_mutex_unlock(&l->lock);
	return r;
}

static const char *family_name(int family)
{
	return family == AF_INET6 ? "IPv6" : family == AF_INET ? "IPv4" : "IP";
}

static int lookup_failed(const struct lookup *l, int family, struct wp_err *err)
{
	switch (l->status) {
	case EAI_ADDRFAMILY:
	case EAI_NODATA:
		return wp_err_set(err, -EAFNOSUPPORT, "host '%s' has no %s address", l->host,
				  family_name(family));
	case EAI_SYSTEM:
		return wp_err_sys(err, l->sys > 0 ? -l->sys : -EIO, "cannot find host '%s'",
				  l->host);
	case EAI_MEMORY:
		return wp_err_sys(err, -ENOMEM, "cannot find host '%s'", l->host);
	case EAI_AGAIN: /* nobody says that the name is wrong */
		return wp_err_set(err, -EAGAIN, "cannot find host '%s': %s", l->host,
				  gai_strerror(l->status));
	default:
		return wp_err_set(err, -ENOENT, "cannot find host '%s': %s", l->host,
				  gai_strerror(l->status));
	}
}

static int take_addresses(const struct lookup *l, uint16_t port, struct wp_addr *ret, size_t *ret_n,
			  struct wp_err *err)
{
	size_t n = 0;

	for (const struct addrinfo *ai = l->list; ai && n < WP_ADDR_MAX; ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		if (ai->ai_addrlen > sizeof(ret[n].storage))
			continue;
		ret[n] = (struct wp_addr) { .len = ai->ai_addrlen };
		memcpy(&ret[n].storage, ai->ai_addr, ai->ai_addrlen);
		wp_addr_set_port(&ret[n], port);
		if (ret[n].sa.sa_family == AF_INET6 &&
		    IN6_IS_ADDR_LINKLOCAL(&ret[n].v6.sin6_addr) && ret[n].v6.sin6_scope_id == 0)
			return wp_err_set(err, -EINVAL,
					  "%s is a link-local address; say on which interface, "
					  "for example %s%%eth0",
					  l->host, l->host);
		n++;
	}
	if (n == 0)
		return wp_err_set(err, -EAFNOSUPPORT, "host '%s' has no IP address", l->host);
	*ret_n = n;
	return 0;
}

/* Whether `host` is an address of any family, to tell "wrong family" from "unknown name". */
static bool is_literal(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;
	char text[WP_HOST_MAX];
	char *scope;

	snprintf(text, sizeof(text), "%s", host);
	scope = strchr(text, '%');
	if (scope)
		*scope = '\0';
	return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1;
}

int wp_addr_resolve(const char *host, uint16_t port, int family, int64_t timeout_ns,
		    struct wp_addr ret[static WP_ADDR_MAX], size_t *ret_n, struct wp_err *err)
{
	char name[WP_HOST_MAX];
	struct lookup *l;
	size_t len = strlen(host);
	bool literal;
	int r = 0;

	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(name))
		return bad_host(host, err);
	memcpy(name, host, len);
	name[len] = '\0';
	literal = is_literal(name);
	l = lookup_new(name, family, literal ? AI_NUMERICHOST : AI_ADDRCONFIG);
	if (!l)
		return wp_err_sys(err, -ENOMEM, "cannot find host '%s'", name);
	if (literal) {
		l->status = getaddrinfo(l->host, NULL, &l->hints, &l->list);
		l->sys = errno;
		if (l->status == EAI_NONAME && strchr(name, '%'))
			r = wp_err_set(err, -ENODEV,
				       "'%s' names a network interface that is not here", name);
	} else {
		r = lookup_wait(l, timeout_ns);
		if (r == -ETIMEDOUT)
			wp_err_set(err, r, "cannot find host '%s': no answer within %.3g s", name,
				   (double)timeout_ns / 1e9);
		else if (r < 0)
			wp_err_sys(err, r, "cannot find host '%s'", name);
	}
	if (r == 0)
		r = l->status == 0 ? take_addresses(l, port, ret, ret_n, err)
				   : lookup_failed(l, family, err);
	lookup_leave(l);
	return r;
}

uint16_t wp_addr_port(const struct wp_addr *a)
{
	switch (a->sa.sa_family) {
	case AF_INET:
		return ntohs(a->v4.sin_port);
	case AF_INET6:
		return ntohs(a->v6.sin6_port);
	default:
		return 0;
	}
}

void wp_addr_set_port(struct wp_addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET)
		a->v4.sin_port = htons(port);
	else if (a->sa.sa_family == AF_INET6)
		a->v6.sin6_port = htons(port);
}

/* IPv4 as IPv4-mapped IPv6, so that both forms compare; false for other families. */
static bool as_v6(const struct wp_addr *a, struct in6_addr *ret)
{
	if (a->sa.sa_family == AF_INET6) {
		*ret = a->v6.sin6_addr;
		return true;
	}
	if (a->sa.sa_family != AF_INET)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
	memcpy(&ret->s6_addr[12], &a->v4.sin_addr, sizeof(a->v4.sin_addr));
	return true;
}

bool wp_addr_same_host(const struct wp_addr *a, const struct wp_addr *b)
{
	struct in6_addr x, y;

	return as_v6(a, &x) && as_v6(b, &y) && memcmp(&x, &y, sizeof(x)) == 0;
}

void wp_addr_unmap(struct wp_addr *a)
{
	struct wp_addr v4 = { .v4 = { .sin_family = AF_INET }, .len = sizeof(v4.v4) };

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
		return;
	v4.v4.sin_port = a->v6.sin6_port;
	memcpy(&v4.v4.sin_addr, &a->v6.sin6_addr.s6_addr[12], sizeof(v4.v4.sin_addr));
	*a = v4;
}

bool wp_addr_is_loopback(const struct wp_addr *a)
{
	struct in6_addr x;

	if (!as_v6(a, &x))
		return false;
	return IN6_IS_ADDR_LOOPBACK(&x) || (IN6_IS_ADDR_V4MAPPED(&x) && x.s6_addr[12] == 127);
}

/* Writes the bare address; returns whether it is IPv6 (and wants brackets beside a port). */
static bool host_text(const struct wp_addr *a, char out[static WP_ADDR_TEXT])
{
	char scope[IF_NAMESIZE + 1] = "";
	struct in6_addr x;
	size_t len;

	if (!as_v6(a, &x)) {
		snprintf(out, WP_ADDR_TEXT, "-");
		return false;
	}
	if (IN6_IS_ADDR_V4MAPPED(&x)) {
		inet_ntop(AF_INET, &x.s6_addr[12], out, WP_ADDR_TEXT);
		return false;
	}
	inet_ntop(AF_INET6, &x, out, WP_ADDR_TEXT);
	if (a->v6.sin6_scope_id == 0)
		return true;
	len = strlen(out);
	if (if_indextoname(a->v6.sin6_scope_id, scope))
		snprintf(out + len, WP_ADDR_TEXT - len, "%%%s", scope);
	else
		snprintf(out + len, WP_ADDR_TEXT - len, "%%%u", (unsigned)a->v6.sin6_scope_id);
	return true;
}

void wp_addr_format_host(const struct wp_addr *a, char out[static WP_ADDR_TEXT])
{
	host_text(a, out);
}

void wp_addr_format(const struct wp_addr *a, char out[static WP_ADDR_TEXT])
{
	char host[WP_ADDR_TEXT];
	bool v6 = host_text(a, host);

	if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6)
		snprintf(out, WP_ADDR_TEXT, "-");
	else
		snprintf(out, WP_ADDR_TEXT, v6 ? "[%.62s]:%u" : "%.62s:%u", host,
			 (unsigned)wp_addr_port(a));
}

int wp_addr_local(int fd, struct wp_addr *ret)
{
	struct wp_addr a = { .len = sizeof(a.storage) };

	if (getsockname(fd, &a.sa, &a.len) < 0)
		return -errno;
	*ret = a;
	return 0;
}

int wp_addr_remote(int fd, struct wp_addr *ret)
{
	struct wp_addr a = { .len = sizeof(a.storage) };

	if (getpeername(fd, &a.sa, &a.len) < 0)
		return -errno;
	*ret = a;
	return 0;
}
