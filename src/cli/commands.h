/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.h - every command, for the list in commands.c. */
#ifndef WP_CLI_COMMANDS_H
#define WP_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct wp_command wp_cmd_tcp, wp_cmd_udp, wp_cmd_rr, wp_cmd_write, wp_cmd_serve,
	wp_cmd_sweep, wp_cmd_history, wp_cmd_report, wp_cmd_doctor, wp_cmd_lab;

#endif
