/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"

#define ANSWER_TIMEOUT_S 2
#define FEATURES_BITS    1024 /* the kernel has about 64; a bitset beyond this is nonsense */

struct wp_ethtool {
	struct nl_sock *sock; /* NULL: no ethtool family in this kernel */
	int family;
	int fd; /* for the ioctl */
};

/* One question's state while its answer is awaited. */
struct answer {
	int (*parse)(const void *attrs, size_t len, void *arg);
	void *arg;
	int code;
	bool done;
};

/* 1 is the number of every command's header attribute. */
_Static_assert(ETHTOOL_A_RINGS_HEADER == 1 && ETHTOOL_A_CHANNELS_HEADER == 1 &&
		       ETHTOOL_A_COALESCE_HEADER == 1 && ETHTOOL_A_FEATURES_HEADER == 1,
	       "all headers are attribute 1");

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct answer *a = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);

	if (!genlmsg_valid_hdr(h, 0)) {
		a->code = -EBADMSG;
		return NL_SKIP;
	}
	a->code = a->parse(genlmsg_attrdata(genlmsg_hdr(h), 0),
			   (size_t)genlmsg_attrlen(genlmsg_hdr(h), 0), a->arg);
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct answer *a = arg;

	(void)msg;
	a->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct answer *a = arg;

	(void)from;
	a->code = e->error < 0 ? e->error : -EIO;
	a->done = true;
	return NL_STOP;
}

static int ask(struct wp_ethtool *e, uint8_t command, const char *ifname, struct answer *a)
{
	struct nl_msg *msg;
	struct nl_cb *cb;
	struct nlattr *header;
	int r = -ENOMEM;

	if (!e->sock)
		return -EOPNOTSUPP;
	msg = nlmsg_alloc_size(256);
	cb = nl_cb_alloc(NL_CB_DEFAULT);
	a->code = -ENODATA;
	if (!msg || !cb)
		goto out;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, e->family, 0, NLM_F_ACK, command,
			 ETHTOOL_GENL_VERSION))
		goto out;
	header = nla_nest_start(msg, ETHTOOL_A_RINGS_HEADER | NLA_F_NESTED);
	if (!header || nla_put_string(msg, ETHTOOL_A_HEADER_DEV_NAME, ifname))
		goto out;
	nla_nest_end(msg, header);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, a);
	r = nl_send_auto(e->sock, msg) < 0 ? -EIO : 0;
	while (!r && !a->done)
		if (nl_recvmsgs(e->sock, cb) < 0 && !a->done)
			r = -ETIMEDOUT;
	if (!r)
		r = a->code;
out:
	nl_cb_put(cb);
	nlmsg_free(msg);
	return r;
}

static struct wp_maybe_int attr_u32(struct nlattr *a)
{
	return a ? wp_some_int((int64_t)nla_get_u32(a))
		 : wp_no_int("the driver does not report it");
}

static struct wp_maybe_int attr_u8(struct nlattr *a)
{
	return a ? wp_some_int((int64_t)nla_get_u8(a)) : wp_no_int("the driver does not report it");
}

static int parse_rings(const void *attrs, size_t len, void *arg)
{
	static struct nla_policy policy[ETHTOOL_A_RINGS_MAX + 1] = {
		[ETHTOOL_A_RINGS_RX_MAX] = { .type = NLA_U32 },
		[ETHTOOL_A_RINGS_TX_MAX] = { .type = NLA_U32 },
		[ETHTOOL_A_RINGS_RX] = { .type = NLA_U32 },
		[ETHTOOL_A_RINGS_TX] = { .type = NLA_U32 },
	};
	struct nlattr *tb[ETHTOOL_A_RINGS_MAX + 1];
	struct wp_nic_rings *ret = arg;

	if (nla_parse(tb, ETHTOOL_A_RINGS_MAX, (struct nlattr *)attrs, (int)len, policy) < 0)
		return -EBADMSG;
	*ret = (struct wp_nic_rings) {
		.rx = attr_u32(tb[ETHTOOL_A_RINGS_RX]),
		.rx_max = attr_u32(tb[ETHTOOL_A_RINGS_RX_MAX]),
		.tx = attr_u32(tb[ETHTOOL_A_RINGS_TX]),
		.tx_max = attr_u32(tb[ETHTOOL_A_RINGS_TX_MAX]),
	};
	return 0;
}

static int parse_channels(const void *attrs, size_t len, void *arg)
{
	static struct nla_policy policy[ETHTOOL_A_CHANNELS_MAX + 1] = {
		[ETHTOOL_A_CHANNELS_RX_MAX] = { .type = NLA_U32 },
		[ETHTOOL_A_CHANNELS_TX_MAX] = { .type = NLA_U32 },
		[ETHTOOL_A_CHANNELS_COMBINED_MAX] = { .type = NLA_U32 },
		[ETHTOOL_A_CHANNELS_RX_COUNT] = { .type = NLA_U32 },
		[ETHTOOL_A_CHANNELS_TX_COUNT] = { .type = NLA_U32 },
		[ETHTOOL_A_CHANNELS_COMBINED_COUNT] = { .type = NLA_U32 },
	};
	struct nlattr *tb[ETHTOOL_A_CHANNELS_MAX + 1];
	struct wp_nic_channels *ret = arg;

	if (nla_parse(tb, ETHTOOL_A_CHANNELS_MAX, (struct nlattr *)attrs, (int)len, policy) < 0)
		return -EBADMSG;
	*ret = (struct wp_nic_channels) {
		.rx = attr_u32(tb[ETHTOOL_A_CHANNELS_RX_COUNT]),
		.rx_max = attr_u32(tb[ETHTOOL_A_CHANNELS_RX_MAX]),
		.tx = attr_u32(tb[ETHTOOL_A_CHANNELS_TX_COUNT]),
		.tx_max = attr_u32(tb[ETHTOOL_A_CHANNELS_TX_MAX]),
		.combined = attr_u32(tb[ETHTOOL_A_CHANNELS_COMBINED_COUNT]),
		.combined_max = attr_u32(tb[ETHTOOL_A_CHANNELS_COMBINED_MAX]),
	};
	return 0;
}

static int parse_coalesce(const void *attrs, size_t len, void *arg)
{
	static struct nla_policy policy[ETHTOOL_A_COALESCE_MAX + 1] = {
		[ETHTOOL_A_COALESCE_RX_USECS] = { .type = NLA_U32 },
		[ETHTOOL_A_COALESCE_RX_MAX_FRAMES] = { .type = NLA_U32 },
		[ETHTOOL_A_COALESCE_TX_USECS] = { .type = NLA_U32 },
		[ETHTOOL_A_COALESCE_TX_MAX_FRAMES] = { .type = NLA_U32 },
		[ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX] = { .type = NLA_U8 },
		[ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX] = { .type = NLA_U8 },
	};
	struct nlattr *tb[ETHTOOL_A_COALESCE_MAX + 1];
	struct wp_nic_coalesce *ret = arg;

	if (nla_parse(tb, ETHTOOL_A_COALESCE_MAX, (struct nlattr *)attrs, (int)len, policy) < 0)
		return -EBADMSG;
	*ret = (struct wp_nic_coalesce) {
		.rx_usecs = attr_u32(tb[ETHTOOL_A_COALESCE_RX_USECS]),
		.rx_frames = attr_u32(tb[ETHTOOL_A_COALESCE_RX_MAX_FRAMES]),
		.tx_usecs = attr_u32(tb[ETHTOOL_A_COALESCE_TX_USECS]),
		.tx_frames = attr_u32(tb[ETHTOOL_A_COALESCE_TX_MAX_FRAMES]),
		.adaptive_rx = attr_u8(tb[ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX]),
		.adaptive_tx = attr_u8(tb[ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX]),
	};
	return 0;
}

static int feature_of(const char *name)
{
	/* hardware that checksums IPv4 only has its own name for it */
	if (!strcmp(name, "tx-checksum-ipv4"))
		return WP_NIC_TX_CHECKSUM;
	for (int i = 0; i < WP_NIC_FEATURES; i++)
		if (!strcmp(name, wp_nic_feature_rows[i].kernel_name))
			return i;
	return -1;
}

enum bit_meaning { BIT_KNOWN, BIT_ACTIVE, BIT_FIXED };

static void apply_bit(struct nlattr *bit, enum bit_meaning meaning,
		      struct wp_nic_feature_state f[static WP_NIC_FEATURES])
{
	static struct nla_policy policy[ETHTOOL_A_BITSET_BIT_MAX + 1] = {
		[ETHTOOL_A_BITSET_BIT_NAME] = { .type = NLA_STRING, .maxlen = 128 },
		[ETHTOOL_A_BITSET_BIT_VALUE] = { .type = NLA_FLAG },
	};
	struct nlattr *tb[ETHTOOL_A_BITSET_BIT_MAX + 1];
	char name[129];
	int i;

	if (nla_parse_nested(tb, ETHTOOL_A_BITSET_BIT_MAX, bit, policy) < 0 ||
	    !tb[ETHTOOL_A_BITSET_BIT_NAME])
		return;
	nla_strlcpy(name, tb[ETHTOOL_A_BITSET_BIT_NAME], sizeof(name));
	i = feature_of(name);
	if (i < 0)
		return;
	switch (meaning) {
	case BIT_KNOWN: /* every feature of this kernel; a value: it can be changed here */
		if (f[i].state != WP_VALUE)
			f[i].fixed = true;
		f[i].state = WP_VALUE;
		if (tb[ETHTOOL_A_BITSET_BIT_VALUE])
			f[i].fixed = false;
		break;
	case BIT_ACTIVE:
		f[i].state = WP_VALUE;
		f[i].on = true;
		break;
	case BIT_FIXED:
		f[i].fixed = true;
		break;
	}
}

static int apply_bitset(struct nlattr *set, enum bit_meaning meaning,
			struct wp_nic_feature_state f[static WP_NIC_FEATURES])
{
	static struct nla_policy policy[ETHTOOL_A_BITSET_MAX + 1] = {
		[ETHTOOL_A_BITSET_BITS] = { .type = NLA_NESTED },
	};
	struct nlattr *tb[ETHTOOL_A_BITSET_MAX + 1], *bit;
	int rest, n = 0;

	if (!set)
		return 0;
	if (nla_parse_nested(tb, ETHTOOL_A_BITSET_MAX, set, policy) < 0)
		return -EBADMSG;
	if (!tb[ETHTOOL_A_BITSET_BITS])
		return 0;
	nla_for_each_nested(bit, tb[ETHTOOL_A_BITSET_BITS], rest)
	{
		if (n++ >= FEATURES_BITS)
			return -EBADMSG;
		apply_bit(bit, meaning, f);
	}
	return 0;
}

int wp_ethtool_parse_features(const void *attrs, size_t len,
			      struct wp_nic_feature_state ret[static WP_NIC_FEATURES])
{
	static struct nla_policy policy[ETHTOOL_A_FEATURES_MAX + 1] = {
		[ETHTOOL_A_FEATURES_HW] = { .type = NLA_NESTED },
		[ETHTOOL_A_FEATURES_ACTIVE] = { .type = NLA_NESTED },
		[ETHTOOL_A_FEATURES_NOCHANGE] = { .type = NLA_NESTED },
	};
	struct wp_nic_feature_state f[WP_NIC_FEATURES] = { 0 };
	struct nlattr *tb[ETHTOOL_A_FEATURES_MAX + 1];

	if (len > INT32_MAX ||
	    nla_parse(tb, ETHTOOL_A_FEATURES_MAX, (struct nlattr *)attrs, (int)len, policy) < 0)
		return -EBADMSG;
	if (!tb[ETHTOOL_A_FEATURES_HW] || !tb[ETHTOOL_A_FEATURES_ACTIVE])
		return -EBADMSG;
	if (apply_bitset(tb[ETHTOOL_A_FEATURES_HW], BIT_KNOWN, f) ||
	    apply_bitset(tb[ETHTOOL_A_FEATURES_ACTIVE], BIT_ACTIVE, f) ||
	    apply_bitset(tb[ETHTOOL_A_FEATURES_NOCHANGE], BIT_FIXED, f))
		return -EBADMSG;
	memcpy(ret, f, sizeof(f));
	return 0;
}

static int parse_features(const void *attrs, size_t len, void *arg)
{
	return wp_ethtool_parse_features(attrs, len, arg);
}

/* Copies the name into a request; SIOCETHTOOL works in the socket's namespace. */
static int ethtool_ioctl(struct wp_ethtool *e, const char *ifname, void *data)
{
	struct ifreq req = { .ifr_data = data };

	if (strlen(ifname) >= sizeof(req.ifr_name))
		return -ENAMETOOLONG;
	memcpy(req.ifr_name, ifname, strlen(ifname) + 1);
	return ioctl(e->fd, SIOCETHTOOL, &req) < 0 ? -errno : 0;
}

static int ioctl_rings(struct wp_ethtool *e, const char *ifname, struct wp_nic_rings *ret)
{
	struct ethtool_ringparam p = { .cmd = ETHTOOL_GRINGPARAM };
	int r = ethtool_ioctl(e, ifname, &p);

	if (!r)
		*ret = (struct wp_nic_rings) {
			.rx = wp_some_int(p.rx_pending),
			.rx_max = wp_some_int(p.rx_max_pending),
			.tx = wp_some_int(p.tx_pending),
			.tx_max = wp_some_int(p.tx_max_pending),
		};
	return r;
}

static int ioctl_channels(struct wp_ethtool *e, const char *ifname, struct wp_nic_channels *ret)
{
	struct ethtool_channels p = { .cmd = ETHTOOL_GCHANNELS };
	int r = ethtool_ioctl(e, ifname, &p);

	if (!r)
		*ret = (struct wp_nic_channels) {
			.rx = wp_some_int(p.rx_count),
			.rx_max = wp_some_int(p.max_rx),
			.tx = wp_some_int(p.tx_count),
			.tx_max = wp_some_int(p.max_tx),
			.combined = wp_some_int(p.combined_count),
			.combined_max = wp_some_int(p.max_combined),
		};
	return r;
}

static int ioctl_coalesce(struct wp_ethtool *e, const char *ifname, struct wp_nic_coalesce *ret)
{
	struct ethtool_coalesce p = { .cmd = ETHTOOL_GCOALESCE };
	int r = ethtool_ioctl(e, ifname, &p);

	if (!r)
		*ret = (struct wp_nic_coalesce) {
			.rx_usecs = wp_some_int(p.rx_coalesce_usecs),
			.rx_frames = wp_some_int(p.rx_max_coalesced_frames),
			.tx_usecs = wp_some_int(p.tx_coalesce_usecs),
			.tx_frames = wp_some_int(p.tx_max_coalesced_frames),
			.adaptive_rx = wp_some_int(p.use_adaptive_rx_coalesce != 0),
			.adaptive_tx = wp_some_int(p.use_adaptive_tx_coalesce != 0),
		};
	return r;
}

/* The old single questions; whether a feature can be changed is not told. */
static int ioctl_features(struct wp_ethtool *e, const char *ifname,
			  struct wp_nic_feature_state f[static WP_NIC_FEATURES])
{
	static const struct {
		uint32_t command;
		enum wp_nic_feature feature;
	} questions[] = {
		{ ETHTOOL_GRXCSUM, WP_NIC_RX_CHECKSUM },
		{ ETHTOOL_GTXCSUM, WP_NIC_TX_CHECKSUM },
		{ ETHTOOL_GSG, WP_NIC_SCATTER_GATHER },
		{ ETHTOOL_GTSO, WP_NIC_TSO },
		{ ETHTOOL_GGSO, WP_NIC_GSO },
		{ ETHTOOL_GGRO, WP_NIC_GRO },
	};
	static const struct {
		uint32_t flag;
		enum wp_nic_feature feature;
	} flags[] = {
		{ ETH_FLAG_LRO, WP_NIC_LRO },
		{ ETH_FLAG_RXHASH, WP_NIC_RX_HASH },
		{ ETH_FLAG_NTUPLE, WP_NIC_NTUPLE },
	};
	struct ethtool_value v;
	int answered = 0, r = -EOPNOTSUPP;

	for (size_t i = 0; i < WP_ARRAY_SIZE(questions); i++) {
		v = (struct ethtool_value) { .cmd = questions[i].command };
		r = ethtool_ioctl(e, ifname, &v);
		if (r)
			continue;
		f[questions[i].feature] =
			(struct wp_nic_feature_state) { .state = WP_VALUE, .on = v.data != 0 };
		answered++;
	}
	v = (struct ethtool_value) { .cmd = ETHTOOL_GFLAGS };
	for (size_t i = 0; !ethtool_ioctl(e, ifname, &v) && i < WP_ARRAY_SIZE(flags); i++) {
		f[flags[i].feature] =
			(struct wp_nic_feature_state) { .state = WP_VALUE,
							.on = (v.data & flags[i].flag) != 0 };
		answered++;
	}
	return answered ? 0 : r;
}

static const char *why_not(struct wp_pool *pool, int code)
{
	const char *text;

	if (code == -EOPNOTSUPP)
		return "the driver does not offer it";
	text = wp_pool_printf(pool, "ethtool: %s", strerror(-code));
	return text ? text : "out of memory";
}

/* Netlink first, then the ioctl; notes who answered. */
#define ASK(e, command, ifname, parser, fallback, target, ret_source)         \
	({                                                                    \
		struct answer ask_a = { .parse = (parser), .arg = (target) }; \
		int ask_r = ask((e), (command), (ifname), &ask_a);            \
		if (!ask_r) {                                                 \
			*(ret_source) = "netlink";                            \
		} else {                                                      \
			ask_r = (fallback)((e), (ifname), (target));          \
			if (!ask_r && !*(ret_source))                         \
				*(ret_source) = "ioctl";                      \
		}                                                             \
		ask_r;                                                        \
	})

void wp_ethtool_read(struct wp_ethtool *e, const char *ifname, struct wp_pool *pool,
		     struct wp_nic_ethtool *ret)
{
	struct wp_nic_ethtool t = { 0 };
	struct wp_maybe_int no;
	int r;

	r = ASK(e, ETHTOOL_MSG_RINGS_GET, ifname, parse_rings, ioctl_rings, &t.rings, &t.source);
	if (r) {
		no = wp_no_int(why_not(pool, r));
		t.rings = (struct wp_nic_rings) { no, no, no, no };
	}
	r = ASK(e, ETHTOOL_MSG_CHANNELS_GET, ifname, parse_channels, ioctl_channels, &t.channels,
		&t.source);
	if (r) {
		no = wp_no_int(why_not(pool, r));
		t.channels = (struct wp_nic_channels) { no, no, no, no, no, no };
	}
	r = ASK(e, ETHTOOL_MSG_COALESCE_GET, ifname, parse_coalesce, ioctl_coalesce, &t.coalesce,
		&t.source);
	if (r) {
		no = wp_no_int(why_not(pool, r));
		t.coalesce = (struct wp_nic_coalesce) { no, no, no, no, no, no };
	}
	r = ASK(e, ETHTOOL_MSG_FEATURES_GET, ifname, parse_features, ioctl_features, t.features,
		&t.source);
	if (r)
		t.features_why = why_not(pool, r);
	*ret = t;
}

struct wp_maybe_text wp_ethtool_driver(struct wp_ethtool *e, const char *ifname,
				       struct wp_pool *pool)
{
	struct ethtool_drvinfo p = { .cmd = ETHTOOL_GDRVINFO };
	int r = ethtool_ioctl(e, ifname, &p);

	if (r)
		return wp_no_text(why_not(pool, r));
	return wp_some_text(wp_pool_strndup(pool, p.driver, strnlen(p.driver, sizeof(p.driver))));
}

/* The family or a NULL socket: kernels before 5.6, or a sandbox without generic netlink. */
static void open_netlink(struct wp_ethtool *e)
{
	struct timeval limit = { .tv_sec = ANSWER_TIMEOUT_S };

	e->sock = nl_socket_alloc();
	if (!e->sock)
		return;
	if (!genl_connect(e->sock)) {
		(void)setsockopt(nl_socket_get_fd(e->sock), SOL_SOCKET, SO_RCVTIMEO, &limit,
				 sizeof(limit));
		e->family = genl_ctrl_resolve(e->sock, ETHTOOL_GENL_NAME);
		if (e->family > 0)
			return;
	}
	nl_socket_free(e->sock);
	e->sock = NULL;
}

struct wp_ethtool *wp_ethtool_open(int *ret_code)
{
	struct wp_ethtool *e = calloc(1, sizeof(*e));

	if (!e) {
		*ret_code = -ENOMEM;
		return NULL;
	}
	e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->fd < 0) /* a kernel without IPv4 */
		e->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->fd < 0) {
		*ret_code = -errno;
		free(e);
		return NULL;
	}
	open_netlink(e);
	return e;
}

void wp_ethtool_close(struct wp_ethtool *e)
{
	if (!e)
		return;
	if (e->sock)
		nl_socket_free(e->sock);
	wp_close_p(&e->fd);
	free(e);
}
