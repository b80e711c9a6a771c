/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/printer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct chunk *next;
	size_t len;
	char text[];
};

struct wp_printer {
	FILE *out;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk *first, **end; /* under lock, as all that follows */
	size_t bytes;
	bool closing;
};

/* NULL when all is written and no more comes. */
static struct chunk *next_chunk(struct wp_printer *p)
{
	struct chunk *c;

	pthread_mutex_lock(&p->lock);
	while (!p->first && !p->closing)
		pthread_cond_wait(&p->changed, &p->lock);
	c = p->first;
	if (c) {
		p->first = c->next;
		if (!p->first)
			p->end = &p->first;
	}
	pthread_mutex_unlock(&p->lock);
	return c;
}

static void *printer_main(void *arg)
{
	struct wp_printer *p = arg;
	struct chunk *c;

	while ((c = next_chunk(p))) {
		fwrite(c->text, 1, c->len, p->out);
		fflush(p->out);
		pthread_mutex_lock(&p->lock);
		p->bytes -= c->len;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		free(c);
	}
	return NULL;
}

int wp_printer_new(FILE *out, struct wp_printer **ret)
{
	struct wp_printer *p = calloc(1, sizeof(*p));
	sigset_t all, before;
	int r;

	if (!p)
		return -ENOMEM;
	p->out = out;
	p->end = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	/* Signals are the main thread's; one here would cut a write short. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&p->thread, NULL, printer_main, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void wp_printer_put(struct wp_printer *p, const char *text, size_t len)
{
	struct chunk *c = malloc(sizeof(*c) + len);

	if (!c)
		return;
	c->next = NULL;
	c->len = len;
	memcpy(c->text, text, len);
	pthread_mutex_lock(&p->lock);
	while (p->bytes && p->bytes + len > WP_PRINTER_MAX_BYTES)
		pthread_cond_wait(&p->changed, &p->lock);
	*p->end = c;
	p->end = &c->next;
	p->bytes += len;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void wp_printer_free(struct wp_printer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
