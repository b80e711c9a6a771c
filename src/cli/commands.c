/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands.h"

#include <string.h>

/* clang-format off */
const struct wp_command *const wp_commands[] = {
	&wp_cmd_tcp,
	&wp_cmd_udp,
	&wp_cmd_rr,
	&wp_cmd_write,
	&wp_cmd_serve,
	&wp_cmd_sweep,
	&wp_cmd_doctor,
	&wp_cmd_history,
	&wp_cmd_report,
	&wp_cmd_lab,
	NULL,
};
/* clang-format on */

const struct wp_command *wp_command_find(const char *name)
{
	for (size_t i = 0; wp_commands[i]; i++)
		if (!strcmp(wp_commands[i]->name, name))
			return wp_commands[i];
	return NULL;
}
