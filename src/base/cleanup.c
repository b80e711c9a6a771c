/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"

#include <errno.h>

void wp_close_p(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}
