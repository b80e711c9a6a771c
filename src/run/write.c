/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "run/feed.h"

#define STOPPED_NS WP_NS_PER_S
#define ENDED_NS   (200 * WP_NS_PER_MS) /* who closed its input is about to end */

struct writer {
	struct wp_peer_session session;
	struct wp_stream_spec stream;
	struct wp_write_config config;
	struct wp_target target;
	struct wp_feed feed;
	bool stopped;
	uint64_t bytes; /* written, once it is known */
};

static struct writer *writer_of(struct wp_peer_session *s)
{
	return (struct writer *)s;
}

static const char *name_of(const struct writer *w)
{
	return w->config.command ? w->config.command : w->config.target.path;
}

/* ---- the session ------------------------------------------------------------------------------ */

static int none_connect(const struct wp_peer_target *target, const struct wp_plan *plan,
			struct wp_peer_session **ret, struct wp_err *err)
{
	(void)target;
	(void)plan;
	(void)ret;
	return wp_err_set(err, -EINVAL, "a writer has no other end to connect to");
}

static int none_start(struct wp_peer_session *s, struct wp_err *err)
{
	(void)s;
	(void)err;
	return 0;
}

static int none_event(struct wp_peer_session *s, struct wp_err *err)
{
	(void)s;
	(void)err;
	return 0;
}

/* Interrupted: nobody waits long any more. */
static int none_stop(struct wp_peer_session *s)
{
	struct writer *w = writer_of(s);

	w->stopped = true;
	if (w->config.grace_ns > STOPPED_NS)
		w->config.grace_ns = STOPPED_NS;
	return 0;
}

static void describe_test(struct writer *w, struct wp_run *run)
{
	struct wp_test *t = &run->test;
	uint64_t pipe_bytes = wp_target_pipe_bytes(&w->target);

	t->file_type = wp_target_kind_name(w->target.kind);
	t->direct = wp_num(w->config.target.direct);
	t->o_sync = wp_num(w->config.target.o_sync);
	if (pipe_bytes)
		t->pipe_bytes = wp_num((double)pipe_bytes);
}

/* How far it came, for a sentence. */
static void format_progress(const struct wp_run *run, char *out, size_t size)
{
	wp_format_bytes(wp_num_or(run->flows[0].sent.all_bytes, 0), out, size);
}

/* Why the command takes no more. */
static int command_left(struct writer *w, const char *after, struct wp_err *err)
{
	char how[64];

	(void)wp_feed_ended(&w->feed, ENDED_NS);
	wp_feed_say(&w->feed, how, sizeof(how));
	return wp_err_set(err, -EPIPE, "the command closed its input after %s (%s)", after, how);
}

static int write_failed(struct writer *w, const struct wp_run *run, int error, struct wp_err *err)
{
	char after[32];

	format_progress(run, after, sizeof(after));
	if (error == -EPIPE && w->config.command)
		return command_left(w, after, err);
	if (error == -EPIPE)
		return wp_err_set(err, error, "the reader of '%s' went away after %s", name_of(w),
				  after);
	if (error == -EINVAL && w->config.target.direct)
		return wp_err_set(
			err, error,
			"'%s' refuses a write by O_DIRECT after %s; -l must be a multiple of its block size",
			name_of(w), after);
	return wp_err_sys(err, error, "cannot write to '%s' after %s", name_of(w), after);
}

/* The end of its input, and its end. */
static int end_command(struct writer *w, struct wp_run *run, struct wp_err *err)
{
	struct wp_flow *f = &run->flows[0];
	char how[64];

	w->target.fd = -1; /* the feed's */
	wp_feed_end(&w->feed, w->config.grace_ns, -1);
	f->taker_exit = w->feed.ended ? wp_num(w->feed.status) : wp_absent("not known");
	f->taker_end_s = wp_num((double)w->feed.end_ns / 1e9);
	wp_feed_say(&w->feed, how, sizeof(how));
	if (w->feed.forced) {
		wp_run_warn(
			run,
			"the command did not end within %.3g s after the end of its input and was stopped",
			(double)w->config.grace_ns / 1e9);
		return 0;
	}
	return w->feed.status && !w->stopped
		       ? wp_err_set(err, -ECHILD, "the command failed: %s", how)
		       : 0;
}

static int none_finish(struct wp_peer_session *s, struct wp_run *run, struct wp_err *err)
{
	struct writer *w = writer_of(s);
	struct wp_flow *f = &run->flows[0];
	int error = s->end ? wp_end_error(s->end) : 0, r = 0, ended;

	w->bytes = (uint64_t)wp_num_or(f->sent.all_bytes, 0);
	f->local = wp_pool_strdup(&run->pool, w->config.command ? "-" : name_of(w));
	describe_test(w, run);
	/* Cut off at a deadline, because the other side took nothing: no failure of ours. */
	if (error && error != -ECANCELED)
		r = write_failed(w, run, error, err);
	if (!w->config.command)
		return r;
	f->taker = wp_pool_strdup(&run->pool, w->config.command);
	ended = end_command(w, run, err);
	return r ? r : ended;
}

void wp_write_close(struct wp_peer_session *s)
{
	struct writer *w = writer_of(s);

	if (!w)
		return;
	if (w->config.command) {
		w->target.fd = -1;
		if (w->feed.pid)
			wp_feed_end(&w->feed, 0, -1);
	}
	if (w->target.created && (w->config.remove || !w->bytes))
		(void)unlink(w->config.target.path);
	wp_target_close(&w->target);
	free(w);
}

const struct wp_peer_ops wp_peer_none = {
	.name = "none",
	.summary = "no other end",
	.connect = none_connect,
	.start = none_start,
	.event = none_event,
	.stop = none_stop,
	.finish = none_finish,
	.close = wp_write_close,
};

static int open_command(struct writer *w, struct wp_err *err)
{
	int r = wp_feed_start(w->config.command, w->config.target.buffer_bytes, &w->feed, err);

	if (!r)
		w->target = (struct wp_target) { .fd = w->feed.fd,
						 .kind = WP_TARGET_PIPE,
						 .flags = -1 };
	return r;
}

int wp_write_open(const struct wp_write_config *config, struct wp_peer_session **ret,
		  struct wp_err *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return wp_err_set(err, -ENOMEM, "no memory");
	w->config = *config;
	w->feed.fd = w->target.fd = -1;
	r = config->command ? open_command(w, err)
			    : wp_target_open(&config->target, &w->target, err);
	if (r) {
		free(w);
		return r;
	}
	w->stream = (struct wp_stream_spec) { .fd = w->target.fd,
					      .role = WP_STREAM_SENDS,
					      .limit_bytes = config->limit_bytes };
	w->session = (struct wp_peer_session) {
		.ops = &wp_peer_none, .control_fd = -1, .streams = &w->stream, .n_streams = 1
	};
	*ret = &w->session;
	return 0;
}
