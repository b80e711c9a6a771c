/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/ledger.h"

#include "run/sums.h"

/*
 * TCP delivers or retransmits, so the ledger of a stream is of segments: tcpi_data_segs_out of the senders (which counts
 * retransmissions) against tcpi_data_segs_in of the receivers. What is lost on the way is what had to be sent again and
 * did not arrive twice.
 */
static void ledger_tcp(struct wp_run *run)
{
	struct wp_ledger *l = &run->ledger;
	struct wp_num difference, retransmits;

	l->sent_packets = wp_sum_over(run, true, offsetof(struct wp_flow_end, all_packets));
	l->delivered_packets = wp_sum_over(run, false, offsetof(struct wp_flow_end, all_packets));
	difference = wp_sum(l->sent_packets, wp_has(l->delivered_packets)
						     ? wp_num(-l->delivered_packets.v)
						     : l->delivered_packets);
	retransmits = wp_sum_over(run, true, offsetof(struct wp_flow_end, all_retransmits));
	if (!wp_has(retransmits) || !wp_has(difference)) {
		l->unexplained_packets = wp_has(difference) ? retransmits : difference;
		return;
	}
	l->stages = wp_pool_calloc(&run->pool, 1, sizeof(*l->stages));
	if (!l->stages)
		return;
	/* At most as many as were sent again can have been lost on the way. */
	l->stages[0] = (struct wp_stage) {
		.stage = "retransmitted",
		.host = "sender",
		.source = "TCP_INFO tcpi_total_retrans",
		.packets = wp_num(difference.v < 0               ? 0
				  : difference.v < retransmits.v ? difference.v
								 : retransmits.v),
	};
	l->n_stages = 1;
	l->unexplained_packets = wp_num(difference.v - l->stages[0].packets.v);
}

void wp_run_ledger(struct wp_run *run)
{
	struct wp_ledger *l = &run->ledger;

	*l = (struct wp_ledger) { 0 };
	if (wp_run_is(run, "rr"))
		l->sent_packets = l->delivered_packets = l->unexplained_packets =
			wp_absent("transactions are not followed by the packet");
	else if (wp_run_is(run, "write"))
		l->sent_packets = l->delivered_packets = l->unexplained_packets =
			wp_absent("nothing is sent in packets");
	else if (wp_run_is(run, "udp"))
		wp_ledger_udp(run);
	else
		ledger_tcp(run);
}
