/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inventory.h - the part of a run record that says which machine it was, from the readers of sys/.
 * Strings go to the record's pool; what cannot be read is NULL or absent with its reason.
 */
#ifndef WP_OBSERVE_INVENTORY_H
#define WP_OBSERVE_INVENTORY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/pool.h"
#include "model/record.h"
#include "sys/facts.h"

/* Reads the machine below `rootfd` (-1: the live root). `live` asks hwloc and uname too and measures the clock
 * (about 15 ms in all). 0, -ENOMEM or -errno of opening the root. */
int wp_inventory_read(int rootfd, bool live, struct wp_inventory *ret,
		      struct wp_pool *pool) WP_MUST_USE;
/* The same from facts that were read before; the clock's cost stays absent. */
int wp_inventory_from_facts(const struct wp_facts *f, struct wp_inventory *ret,
			    struct wp_pool *pool) WP_MUST_USE;
/* "Arm Cortex-A53 (4 CPUs), Arm Cortex-A72 (2 CPUs)"; NULL when there is no model or no memory. */
const char *wp_cpu_model_text(const struct wp_sys_host *host, struct wp_pool *pool);
/* "none", "KVM (QEMU)", "docker", "docker in KVM (QEMU)"; NULL when nothing is known. */
const char *wp_virtualization_text(const struct wp_virt *virt, struct wp_pool *pool);

#endif
