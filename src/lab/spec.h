/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h - what stands where a host name is expected: "lab" or "lab:key=value,key=value".
 *
 *	lab			an ephemeral lab
 *	lab:mtu=9000		one with jumbo frames
 *	lab:name=two		the lab that `whyperf lab up two` made
 *
 * The keys are one table. The parser is pure. Errors: -EINVAL with a sentence; an unknown key is
 * answered with the nearest known one.
 */
#ifndef WP_LAB_SPEC_H
#define WP_LAB_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define WP_LAB_NAME_SIZE 25    /* names are 1 to 24 of a-z 0-9 and '-': they become file names */
#define WP_LAB_MTU_MIN   68    /* RFC 791 */
#define WP_LAB_MTU_MAX   65535 /* veth's */
#define WP_LAB_MTU_DEF   1500
#define WP_LAB_SPEC_MAX  1024 /* bytes of text */

struct wp_lab_spec {
	char name[WP_LAB_NAME_SIZE]; /* "" = ephemeral */
	uint32_t mtu_bytes;          /* 0 = the default */
};

/* Whether `host` means a lab: "lab" or "lab:...". */
bool wp_lab_spec_is(const char *host);
int wp_lab_spec_parse(const char *host, struct wp_lab_spec *ret, struct wp_err *err) WP_MUST_USE;
/* One line a key, for --help. */
int wp_lab_spec_help(struct wp_buf *out) WP_MUST_USE;

/* 0, or -EINVAL with a sentence. */
int wp_lab_name_check(const char *name, struct wp_err *err) WP_MUST_USE;

#endif
