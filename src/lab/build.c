/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

/* Links of a new veth pair are up within a millisecond; a machine that is this late is not going to
 * make it. */
#define CARRIER_TIMEOUT_NS (5 * WP_NS_PER_S)

struct end_plan {
	const char *ifname, *ip4, *ip6;
};

static const struct end_plan plans[WP_LAB_SIDES] = {
	[WP_LAB_A] = { "wpa", "10.97.0.1", "fd97::1" },
	[WP_LAB_B] = { "wpb", "10.97.0.2", "fd97::2" },
};

#define PREFIX_LEN_4 24
#define PREFIX_LEN_6 64

int wp_lab_make_namespaces(struct wp_lab *lab)
{
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		int r = wp_netns_new(&lab->end[i].netns_fd);

		if (r)
			return r;
	}
	return 0;
}

bool wp_lab_is_away_from_home(void)
{
	_cleanup_close_ int home = -1;

	return wp_netns_self(&home) || wp_netns_is_ours(home) == 0;
}

const char *wp_lab_ifname(enum wp_lab_side side)
{
	return plans[side].ifname;
}

static void close_sockets(struct wp_nl (*nl)[WP_LAB_SIDES])
{
	for (int i = 0; i < WP_LAB_SIDES; i++)
		wp_nl_done(&(*nl)[i]);
}

static int set_loopback_up(struct wp_nl *nl, struct wp_err *err)
{
	struct wp_nl_link lo;
	int r = wp_nl_link_get(nl, "lo", &lo, err);

	return r ? r : wp_nl_link_set_up(nl, lo.ifindex, true, err);
}

static int add_address(struct wp_nl *nl, int ifindex, const char *ip, int prefix_len,
		       struct wp_err *err)
{
	char text[INET6_ADDRSTRLEN + 8];

	snprintf(text, sizeof(text), "%s/%d", ip, prefix_len);
	return wp_nl_addr_add(nl, ifindex, text, err);
}

/* IPv6 may be switched off on this machine (ipv6.disable=1, a kernel without it), and needs an MTU
 * of 1280. */
static bool try_ipv6(struct wp_nl nl[WP_LAB_SIDES], const struct wp_lab *lab)
{
	for (int i = 0; i < WP_LAB_SIDES; i++)
		if (add_address(&nl[i], lab->end[i].ifindex, plans[i].ip6, PREFIX_LEN_6, NULL))
			return false;
	return true;
}

static int wait_for_carrier(struct wp_nl *nl, const struct wp_lab_end *end, struct wp_err *err)
{
	int64_t give_up_ns = wp_now_ns() + CARRIER_TIMEOUT_NS;
	struct wp_nl_link link;
	int r;

	for (;;) {
		r = wp_nl_link_get(nl, end->ifname, &link, err);
		if (r)
			return r;
		if (link.carrier && link.operstate == WP_NL_OPER_UP)
			return 0;
		if (wp_now_ns() > give_up_ns)
			return wp_err_set(err, -ETIMEDOUT, "interface %s has no carrier after %d s",
					  end->ifname, (int)(CARRIER_TIMEOUT_NS / WP_NS_PER_S));
		wp_sleep_until_ns(wp_now_ns() + WP_NS_PER_MS / 2);
	}
}

static int bring_up(struct wp_nl nl[WP_LAB_SIDES], struct wp_lab *lab, bool quiet,
		    struct wp_err *err)
{
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		int r = set_loopback_up(&nl[i], err);

		/* Fails only where there is no IPv6, and then there is nothing to keep quiet. */
		(void)!wp_nl_link_set_no_linklocal(&nl[i], lab->end[i].ifindex, NULL);
		if (!r && quiet)
			r = wp_nl_link_set_noarp(&nl[i], lab->end[i].ifindex, err);
		if (!r)
			r = wp_nl_link_set_up(&nl[i], lab->end[i].ifindex, true, err);
		if (!r)
			r = add_address(&nl[i], lab->end[i].ifindex, plans[i].ip4, PREFIX_LEN_4,
					err);
		if (r)
			return r;
		snprintf(lab->end[i].ip4, sizeof(lab->end[i].ip4), "%s", plans[i].ip4);
	}
	lab->has_ipv6 = try_ipv6(nl, lab);
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		int r = wait_for_carrier(&nl[i], &lab->end[i], err);

		if (r)
			return r;
		if (lab->has_ipv6)
			snprintf(lab->end[i].ip6, sizeof(lab->end[i].ip6), "%s", plans[i].ip6);
	}
	return 0;
}

/* Each end knows the other's hardware address for good. */
static int add_neighbours(struct wp_nl nl[WP_LAB_SIDES], const struct wp_lab *lab,
			  const struct wp_nl_link link[WP_LAB_SIDES], struct wp_err *err)
{
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		int other = !i, r;

		r = wp_nl_neigh_add(&nl[i], lab->end[i].ifindex, lab->end[other].ip4,
				    link[other].mac, err);
		if (!r && lab->has_ipv6)
			r = wp_nl_neigh_add(&nl[i], lab->end[i].ifindex, lab->end[other].ip6,
					    link[other].mac, err);
		if (r)
			return r;
	}
	return 0;
}

int wp_lab_build(struct wp_lab *lab, unsigned flags, struct wp_err *err)
{
	WP_CLEANUP(close_sockets) struct wp_nl nl[WP_LAB_SIDES] = { 0 };
	struct wp_nl_veth veth = { .name = plans[WP_LAB_A].ifname,
				   .peer_name = plans[WP_LAB_B].ifname,
				   .peer_netns_fd = lab->end[WP_LAB_B].netns_fd,
				   .mtu_bytes = lab->mtu_bytes };
	struct wp_nl_link link[WP_LAB_SIDES];
	bool quiet = flags & WP_LAB_BUILD_QUIET;
	int r;

	for (int i = 0; i < WP_LAB_SIDES; i++) {
		r = wp_nl_open_in(lab->end[i].netns_fd, &nl[i], err);
		if (r)
			return r;
	}
	r = wp_nl_veth_add(&nl[WP_LAB_A], &veth, err);
	if (r)
		return r;
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		struct wp_lab_end *end = &lab->end[i];

		r = wp_nl_link_get(&nl[i], plans[i].ifname, &link[i], err);
		if (r)
			return r;
		end->ifindex = link[i].ifindex;
		memcpy(end->ifname, link[i].name, sizeof(end->ifname));
		/* Nice to have: without it only per-queue settings inside the lab are out of reach.
		 */
		if (wp_netns_sysfs(end->netns_fd, &end->sys_fd))
			end->sys_fd = -1;
	}
	r = bring_up(nl, lab, quiet, err);
	if (!r && quiet)
		r = add_neighbours(nl, lab, link, err);
	return r;
}
