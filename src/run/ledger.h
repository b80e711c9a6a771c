/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.h - where every packet of a run went:
 *
 *	sent = delivered + what each stage dropped + unexplained
 *
 * TCP: segments, and those that had to be sent again. UDP: datagrams that the sender's kernel accepted, those that came
 * (duplicates once), and drops at the stages of the way, each from a counter that moved during the run
 * (hosts[].path_counts). Counters of one socket are the test's own; those of a device, a network namespace or the machine
 * may hold other traffic's drops too, so they never explain more than is missing, and what two counters saw is counted
 * once:
 *
 *	A datagram that the device, its queueing discipline or (veth) the receiver's backlog drops within the send call is
 *	refused (ENOBUFS with IP_RECVERR): it is in tx_dropped or the discipline's drops, but never was among the sent ones.
 *	What veth can't hand over is counted by the sender's device, by the receiver's, and by softnet_stat.
 *	softnet_stat's drops are in the receiving device's rx_dropped too; a socket's drops are in UdpInErrors, and with a
 *	full buffer in UdpRcvbufErrors. Where it takes trains (--gro) each of them is one in these counters.
 *
 * Sources: net/core/dev.c (enqueue_to_backlog, __dev_queue_xmit), drivers/net/veth.c, net/ipv4/udp.c, and planted drops.
 */
#ifndef WP_RUN_LEDGER_H
#define WP_RUN_LEDGER_H

#include "model/record.h"

/* Fills run->ledger from flows and hosts. Figures that an end lacks make it absent. */
void wp_run_ledger(struct wp_run *run);

/* ledger_udp.c */
void wp_ledger_udp(struct wp_run *run);

#endif
