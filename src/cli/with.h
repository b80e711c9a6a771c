/* SPDX-License-Identifier: GPL-2.0-or-later */
/* with.h - `--with rr`: what runs beside the load, from the options of a command. */
#ifndef WP_CLI_WITH_H
#define WP_CLI_WITH_H

#include "cli/options.h"
#include "run/with.h"

/* ret->engine is NULL when nothing is asked for. -EINVAL with a sentence. */
int wp_with_parse(const struct wp_test_config *config, const struct wp_plan *load,
		  struct wp_with *ret, struct wp_err *err) WP_MUST_USE;

#endif
