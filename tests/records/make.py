#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the records beside it that the golden tests read. They are made up: run it again after changing it."""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.1.0"


def inventory(**more):
    inv = dict(hostname="alpha", kernel="6.18.44", arch="x86_64", os="Debian GNU/Linux 12", cpu_model="AMD EPYC",
               clocksource="kvm-clock", virtualization="kvm", cpu_accounting="ticks",
               cpu_accounting_evidence="irq and softirq move in whole ticks", congestion_default="bbr",
               qdisc_default="fq_codel", cpus_online=2, sockets=1, cores=2, threads_per_core=1, numa_nodes=1,
               user_hz=100, clock_read_ns=31, tcp_rmem_max_bytes=6291456, tcp_wmem_max_bytes=4194304)
    inv.update(more)
    return inv


def cpu(n, busy, user, system, softirq, total=100.0, trust="ok", **more):
    c = dict(cpu=n, busy_pct=busy, user_pct=user, system_pct=system, irq_pct=0.0, softirq_pct=softirq, steal_pct=0.0,
             idle_pct=round(100 - busy, 1), iowait_pct=0.0, sum_pct=total, trust=trust, source="ticks",
             interrupts=13248, softirqs=dict(net_rx=90210, net_tx=12))
    c.update(more)
    return c


def samples(n_seconds, busy):
    rows = []
    for t in range(n_seconds):
        for n, b in busy.items():
            rows.append(dict(start_s=float(t), end_s=float(t + 1), cpu=n, busy_pct=b - t * 0.3, user_pct=0.9,
                             system_pct=71.2, irq_pct=0.0, softirq_pct=27.7, steal_pct=0.0, idle_pct=100 - b,
                             sum_pct=100.0))
    return rows


def host(role, apps, rx, asked=None, **more):
    h = dict(role=role, name="alpha", inventory=inventory(),
             placement=dict(asked=dict(app_cpus=apps if asked is None else asked),
                            observed=dict(app_cpus=apps, rx_cpus=rx)),
             wall_s=10.0, app_cpu_s=9.7, self_cpu_pct=0.3, sample_interval_s=1.0)
    h.update(more)
    return h


def interval(t, bps, sender=True, width=1.0, omitted=False, **more):
    i = dict(start_s=round(t * width, 3), end_s=round((t + 1) * width, 3), omitted=omitted, bytes=int(bps / 8 * width),
             bits_per_second=bps)
    if sender:
        i.update(retransmits=0, cwnd_bytes=1488977, rtt_us=48, rttvar_us=9, packets=int(bps / 8 * width / 62361))
    i.update(more)
    return i


def end(rows, sender=True, **more):
    rows = [r for r in rows if not r.get("omitted")]
    total = sum(r["bytes"] for r in rows)
    seconds = round(sum(r["end_s"] - r["start_s"] for r in rows), 3)
    e = dict(bytes=total, seconds=seconds, bits_per_second=total * 8 / seconds, packets=total // 62361)
    if sender:
        e.update(retransmits=sum(r.get("retransmits", 0) for r in rows))
    e.update(more)
    return e


def flow(n, rows, role="sender", **more):
    f = dict(id=str(n), local="10.97.0.1:%d" % (43208 + 2 * n), remote="10.97.0.2:9497", role=role, congestion="cubic",
             mss_bytes=65483, busy_pct=57.0, rwnd_limited_pct=0.0, sndbuf_limited_pct=0.4, app_limited_pct=84.6,
             min_rtt_us=31, mean_rtt_us=47.6, intervals=rows, sent=end(rows), received=end(rows, False))
    f.update(more)
    return f


def record(name, flows, hosts, test, **more):
    t = dict(kind="tcp", protocol="TCP", peer="whyperf", direction="forward", target="lab", fill="zero",
             send_method="write", receive_method="read", streams=len(flows), duration_s=10, omit_s=0, interval_s=1,
             length_bytes=1048576)
    t.update(test)
    sent = [f["sent"] for f in flows]
    received = [f["received"] for f in flows]
    doc = dict(schema="whyperf.run/1", id="%016x" % (0xabcdef << 32 | len(name)), started="2026-11-30T17:20:05.123Z",
               version=VERSION, command=["whyperf", "tcp", "lab", "-t", "10"], exit=0, test=t, hosts=hosts, flows=flows,
               total=dict(sent_bps=sum(e["bits_per_second"] for e in sent) if flows else None,
                          received_bps=sum(e["bits_per_second"] for e in received) if flows else None),
               ledger=dict(stages=[]), findings=[], warnings=[])
    doc.update(more)
    with open(os.path.join(HERE, name + ".json"), "w") as out:
        large = os.path.basename(out.name)[:-5] in ("thousand", "large", "long", "flood", "paced", "tiny", "rr", "rr_open")
        json.dump(doc, out, indent=None if large else 1, separators=(",", ":") if large else None)
        out.write("\n")


def both_ends(client=(0,), server=(1,), rx=((0,), (1,)), cpus=None, n_seconds=10):
    a = host("client", list(client), list(rx[0]), cost_us_per_kb=0.118,
             cpus=cpus or [cpu(0, 99.8, 0.9, 71.2, 27.7), cpu(1, 97.1, 0.7, 58.0, 38.4, 100.1)],
             cpu_samples=samples(n_seconds, {0: 100.0, 1: 97.4}))
    b = host("server", list(server), list(rx[1]), cost_us_per_kb=0.111, same_machine_as="client")
    return [a, b]


WHY = [dict(rule="cpu", share_pct=97.0, confidence="high",
            says="CPU 0 is the limit: busy 99.8 % of the time, 27.7 % of it receiving (softirq), because the ACKs for "
                 "this flow are processed on the sender's own CPU.",
            evidence=[dict(metric="busy_pct", value=99.8, unit="%", source="/proc/stat")],
            advice=["whyperf tcp lab --cpu 1 --peer-cpu 0",
                    "RPS for the sender's side (whyperf sweep --rps all ...)"]),
       dict(rule="memory", share_pct=2.0, confidence="low", says="The receiver's copy misses the cache.", evidence=[],
            advice=[])]


def bulk():
    rows = [interval(t, 11.6e9 + 0.05e9 * t) for t in range(10)]
    record("bulk", [flow(1, rows)], both_ends(), {}, findings=WHY,
           command=["whyperf", "tcp", "lab", "--cpu", "0", "--peer-cpu", "1", "-t", "10"])


def four():
    flows = []
    for n in range(1, 5):
        rows = [interval(t, 2.9e9 + 0.1e9 * n, omitted=t == 0, retransmits=n if t == 2 else 0) for t in range(4)]
        flows.append(flow(n, rows))
    record("four", flows, both_ends((0, 1), (0, 1), asked_none()), dict(duration_s=3, omit_s=1, target_bps=5e9),
           warnings=["3 of 4 threads changed their CPU; pin them with --cpu"],
           ledger=dict(sent_packets=745000, delivered_packets=744988, unexplained_packets=2,
                       stages=[dict(stage="backlog drops", host="server", packets=10, source="softnet_stat")]))


def asked_none():
    return ((0, 1), (0, 1))


def bidir():
    out = [interval(t, 7.1e9) for t in range(3)]
    back = [interval(t, 6.8e9, sender=False) for t in range(3)]
    flows = [flow(1, out), flow(2, back, role="receiver", sent=end([interval(t, 6.8e9) for t in range(3)]),
                                received=end(back, False))]
    hosts = both_ends(n_seconds=3)
    hosts[1].pop("same_machine_as")
    hosts[1].update(name="beta", inventory=inventory(hostname="beta", kernel="5.10.0-32-amd64", cpus_online=64,
                                                     cpu_model="Intel Xeon Gold 6338", clocksource="tsc",
                                                     cpu_accounting="irq_time"),
                    cpus=[cpu(n, 61.2 if n == 1 else 0.2, 1.0, 30.2, 30.0, 60.5 if n == 1 else 100.0,
                              "hidden" if n == 1 else "ok") for n in range(64)],
                    cpu_samples=samples(3, {1: 61.2}))
    record("bidir", flows, hosts, dict(direction="both", duration_s=3, streams=1, target="beta.example.org"))


def thousand():
    rng = random.Random(1)
    flows = []
    for n in range(1, 1001):
        bps = 11e6 + rng.random() * 1e6
        rows = [dict(start_s=t, end_s=t + 1, bytes=int(bps / 8), bits_per_second=int(bps), retransmits=0)
                for t in range(2)]
        total = dict(bytes=2 * int(bps / 8), seconds=2, bits_per_second=int(bps), retransmits=0)
        flows.append(dict(id=str(n), intervals=rows, sent=total, received=total))
    record("thousand", flows, both_ends(), dict(duration_s=2),
           total=dict(sent_bps=11.5e9, received_bps=11.5e9, fairness_jain=0.9985))


def large():
    rows = [interval(t, 94.1e9, cwnd_bytes=3221225472) for t in range(5)]
    cpus = [cpu(n, 0.3, 0.1, 0.1, 0.1) for n in range(512)]
    for n, busy in ((17, 99.9), (255, 64.0), (300, 12.0)):
        cpus[n] = cpu(n, busy, 1.0, busy - 21.0 if busy > 30 else 2.0, 20.0 if busy > 30 else 9.0)
    hosts = [host("client", [17], [255], asked=[16], cpus=cpus, cost_us_per_kb=0.0871,
                  inventory=inventory(cpus_online=512, sockets=2, cores=256, threads_per_core=2, numa_nodes=8,
                                      cpu_model="AMD EPYC 9755 128-Core Processor", clocksource="tsc",
                                      cpu_accounting="irq_time"),
                  placement_note="CPU 16 was asked for, but the thread ran on CPU 17: 16 is not in the cpuset of this "
                                 "cgroup"),
             host("server", [3], [3], name="delta", inventory=inventory(hostname="delta"), cost_us_per_kb=0.1,
                  cpus=[cpu(0, 4.2, 1.0, 2.0, 1.2), cpu(3, 88.8, 0.7, 58.0, 29.4, 138.0, "doubled")])]
    record("large", [flow(1, rows, local="[2001:db8:1234:5678::aaaa:1]:43210", remote="[2001:db8:1234:5678::bbbb:2]:9497")],
           hosts, dict(duration_s=5, target="2001:db8:1234:5678::bbbb:2", window_bytes=4194304))


def absent():
    rows = [dict(start_s=0.0, end_s=1.0, bytes=125000000, bits_per_second=1e9, retransmits=None,
                 retransmits_why="the kernel is older than 2.6.2", cwnd_bytes=None, cwnd_bytes_why="TCP_INFO failed"),
            {}]
    none = dict(bytes=None, bytes_why="the peer vanished")
    doc = dict(schema="whyperf.run/1", id="00000000000000aa", started=None, version=None, command=[], exit=1,
               error="the peer vanished after 1.0 s", test=dict(kind="tcp"), total={}, ledger={}, findings=[],
               hosts=[dict(role="client", cpus=[dict(cpu=0, busy_pct=None, busy_pct_why="/proc/stat could not be read",
                                                     trust="absent")])],
               flows=[dict(id="1", intervals=rows, received=none,
                           sent=dict(bytes=125000000, seconds=1.0, bits_per_second=1e9))])
    with open(os.path.join(HERE, "absent.json"), "w") as out:
        json.dump(doc, out, indent=1)
        out.write("\n")


def failed():
    record("failed", [], [host("client", [], [], asked=[0])], dict(streams=1, target="192.0.2.1"), exit=1,
           error="cannot connect to 192.0.2.1 port 9497: connection refused; is whyperf serve running there?",
           command=["whyperf", "tcp", "192.0.2.1", "--cpu", "0"])


def hostile():
    """Every text that another machine can send."""
    evil = "\u001b[2J\u202eevil\u0007\nname " + "x" * 120 + " \u2265 \u00b5 \u65e5\u672c"
    rows = [interval(t, 1e9) for t in range(2)]
    hosts = both_ends(n_seconds=2)
    hosts[1].pop("same_machine_as")
    hosts[1].update(name=evil, inventory=inventory(kernel=evil, cpu_model=evil, clocksource=evil, governor=evil),
                    cpus=[cpu(1, 50.0, 1.0, 40.0, 9.0, trust=evil)], placement_note=evil)
    record("hostile", [flow(1, rows, congestion=evil, note=evil)], hosts, dict(duration_s=2, target=evil), error=evil,
           exit=1, warnings=[evil], findings=[dict(rule="x", share_pct=1, confidence=evil, says=evil, evidence=[],
                                                   advice=[evil])])


def long():
    rows = [interval(t, 9e9 + (t % 60) * 5e7) for t in range(600)]
    record("long", [flow(1, rows)], both_ends(), dict(duration_s=600))


def reverse():
    rows = [interval(t, 10e9, sender=False) for t in range(2)]
    flows = [flow(1, rows, role="receiver", sent=end([interval(t, 10e9, retransmits=3) for t in range(2)]))]
    record("reverse", flows, both_ends(n_seconds=2), dict(duration_s=2, direction="reverse"))


# ---- datagrams and transactions ----------------------------------------------------------------------------------------

BITS = 7


def bucket(ns):
    """Lowest and highest value of the bucket that holds so many nanoseconds."""
    if ns < 1 << BITS:
        return ns, ns
    shift = ns.bit_length() - 1 - BITS
    return ns >> shift << shift, (ns >> shift << shift) + (1 << shift) - 1


def histogram(name, values_ns, **more):
    values = sorted(values_ns)
    counts = {}
    for v in values:
        counts[bucket(v)] = counts.get(bucket(v), 0) + 1

    def at(q):
        low, high = bucket(values[max(0, -(-int(q * 1e6) * len(values) // 1000000) - 1)])
        return (low + high) / 2 / 1e3

    h = dict(name=name, note=None, count=len(values), min_us=values[0] / 1e3, p50_us=at(.5), p90_us=at(.9),
             p99_us=at(.99), p999_us=at(.999), p9999_us=at(.9999), max_us=values[-1] / 1e3,
             mean_us=sum(values) / len(values) / 1e3, bits=BITS,
             buckets=[[low, high, n] for (low, high), n in sorted(counts.items())])
    h.update(more)
    return h


def sent_row(t, packets, length, width=1.0, **more):
    r = dict(start_s=round(t * width, 3), end_s=round((t + 1) * width, 3), omitted=False, packets=packets,
             bytes=packets * length, bits_per_second=packets * length * 8 / width, send_drops=0)
    r.update(more)
    return r


def received_row(t, packets, length, lost=0, width=1.0, **more):
    r = dict(start_s=round(t * width, 3), end_s=round((t + 1) * width, 3), omitted=False, packets=packets,
             bytes=packets * length, bits_per_second=packets * length * 8 / width, lost=lost, out_of_order=0,
             duplicated=0, jitter_us=2.0 + t / 4, socket_drops=lost)
    r.update(more)
    return r


def datagram_end(rows, **more):
    seconds = round(sum(r["end_s"] - r["start_s"] for r in rows), 3)
    keys = ("packets", "bytes", "lost", "out_of_order", "duplicated", "socket_drops", "send_drops")
    e = {k: sum(r[k] for r in rows) for k in keys if k in rows[0]}
    e.update(seconds=seconds, bits_per_second=e["bytes"] * 8 / seconds, all_packets=e["packets"])
    if "jitter_us" in rows[0]:
        e["jitter_us"] = rows[-1]["jitter_us"]
    for k in ("lost", "duplicated", "socket_drops", "send_drops"):
        if k in e:
            e["all_" + k] = e[k]
    e.update(more)
    return e


def datagram_flow(n, sent, received, role="sender", **more):
    mine, theirs = (sent, received) if role == "sender" else (received, sent)
    f = dict(id=str(n), local="10.97.0.1:%d" % (43208 + 2 * n), remote="10.97.0.2:9497", role=role, intervals=mine,
             peer_intervals=theirs, sent=datagram_end(sent), received=datagram_end(received, late=0),
             rcvbuf_asked_bytes=8388608, rcvbuf_bytes=16777216)
    f.update(more)
    return f


UDP = dict(kind="udp", protocol="UDP", send_method="sendmmsg", receive_method="recvmmsg", batch=None, gso=False,
           gro=False, connected=True, spin=False)


def flood():
    """Small packets flat out: the receiver's buffer runs over."""
    sent = [sent_row(t, 538201 + 1000 * t, 64) for t in range(4)]
    received = [received_row(t, 530110 + 900 * t, 64, 8091 + 100 * t) for t in range(4)]
    # The other end's clock started a moment later, and its last row is the tail.
    for r in received:
        r["start_s"] += 0.0004
        r["end_s"] += 0.0004
    received.append(received_row(4, 30, 64, -30, width=1.0, end_s=4.0012, start_s=4.0004))
    hosts = both_ends(n_seconds=4)
    hosts[0].update(cost_us_per_packet=0.61, histograms=[])
    hosts[1].update(cost_us_per_packet=0.58, histograms=[histogram("delay", [900 + 37 * n for n in range(3000)])])
    total_sent, total_lost = sum(r["packets"] for r in sent), sum(r["lost"] for r in received)
    record("flood", [datagram_flow(1, sent, received)], hosts,
           dict(UDP, duration_s=4, length_bytes=64, target_bps=None, target_bps_why="unlimited"),
           command=["whyperf", "udp", "lab", "-b", "0", "-l", "64", "--cpu", "0", "--peer-cpu", "1", "-t", "4"],
           ledger=dict(sent_packets=total_sent, delivered_packets=total_sent - total_lost, unexplained_packets=0,
                       stages=[dict(stage="socket buffer", host="server", packets=total_lost, source="SO_RXQ_OVFL")]))


def paced():
    """Two paced streams from the server, a path that loses, reorders and repeats."""
    flows = []
    for n in (1, 2):
        sent = [sent_row(t, 10000, 1400, send_drops=2 * n, shortfall_packets=5 * n) for t in range(3)]
        received = [received_row(t, 9950 + n, 1400, 53, socket_drops=0, out_of_order=7 * n, duplicated=3 + n)
                    for t in range(3)]
        flows.append(datagram_flow(n, sent, received, "receiver", local="10.0.0.1:%d" % (5000 + n),
                                   remote="192.0.2.7:9497"))
        flows[-1]["sent"]["shortfall_packets"] = 15 * n
    hosts = both_ends(n_seconds=3)
    hosts[1].pop("same_machine_as")
    hosts[1].update(name="beta", inventory=inventory(hostname="beta"), cost_us_per_packet=1.92,
                    histograms=[histogram("send_gap", [100000 + (n % 11 - 5) * 90 for n in range(4000)])])
    hosts[0].update(cost_us_per_packet=2.31,
                    histograms=[histogram("delay", [n * n // 50 for n in range(4000)], note="both clocks drift apart")])
    record("paced", flows, hosts,
           dict(UDP, duration_s=3, direction="reverse", target="192.0.2.7", length_bytes=1400, target_bps=112000000,
                target_pps=10000, gso=True, window_bytes=8388608),
           command=["whyperf", "udp", "192.0.2.7", "-R", "-P", "2", "-b", "10kpps", "--gso", "-w", "8M", "-t", "3"],
           ledger=dict(sent_packets=60000, delivered_packets=59682, unexplained_packets=28, refused_packets=18,
                       refused_by="qdisc of eth0",
                       stages=[dict(stage="qdisc", host="server", packets=200, source="qdisc drops of eth0"),
                               dict(stage="too late to place", host="client", packets=90, source="sequence numbers")]))


def tiny():
    """Three bytes hold no number; the other end's rows never came."""
    sent = [sent_row(t, 1000, 3) for t in range(2)]
    f = datagram_flow(1, sent, [received_row(0, 1990, 3, 10, width=2.0)])
    f.update(peer_intervals=[], rcvbuf_bytes=425984)
    for k in ("out_of_order", "duplicated", "jitter_us", "late"):
        f["received"].update({k: None, k + "_why": "below 4 bytes there is no sequence number"})
    hosts = both_ends(n_seconds=2)
    hosts[1]["inventory"]["rmem_max_bytes"] = 212992
    record("tiny", [f], hosts, dict(UDP, duration_s=2, length_bytes=3, target_bps=24000, target_pps=1000),
           command=["whyperf", "udp", "lab", "-l", "3", "-b", "1000pps", "-t", "2"],
           warnings=["10 Mbits/sec is the default of -b, not what the path can do; -b 0 sends flat out"])


RR = dict(kind="rr", length_bytes=1, request_bytes=1, response_bytes=1, connect=False, outstanding=1, rate_hz=None,
          rate_hz_why="closed loop", arrivals="closed loop", wait="auto", send_method="blocking",
          receive_method="blocking")


def transaction_row(t, n, p50, p99, top, **more):
    r = dict(start_s=float(t), end_s=float(t + 1), omitted=False, transactions=n, bytes=n, bits_per_second=8.0 * n,
             latency_p50_us=p50, latency_p99_us=p99, latency_max_us=top)
    r.update(more)
    return r


def transactions(name, rows, values_ns, test, hosts, **more):
    n = sum(r["transactions"] for r in rows)
    ends = dict(transactions=n, seconds=float(len(rows)), bytes=n, bits_per_second=8.0 * n / len(rows))
    ends.update({k: sum(r[k] for r in rows) for k in ("timeouts",) if k in rows[0]})
    h = histogram("latency", values_ns)
    hosts[0]["histograms"] = [h]
    latency = {k: h[k + "_us"] for k in ("min", "p50", "p90", "p99", "p999", "p9999", "max", "mean")}
    f = dict(id="1", local="10.97.0.1:43210", remote="10.97.0.2:9497", role="both", connections=1, intervals=rows,
             sent=ends, received=dict(ends))
    f.update(more)
    total = dict(transactions_per_s=n / len(rows), transactions=n, latency_us=latency)
    if "timeouts" in rows[0]:
        total["timeouts"] = ends["timeouts"]
    record(name, [f], hosts, dict(RR, **test), total=total)


def rr():
    """Two humps: most of it fast, some waits for a CPU; one outlier."""
    rng = random.Random(7)
    values = [int(rng.lognormvariate(10.0, .12)) for _ in range(60000)]
    values += [int(rng.lognormvariate(11.6, .3)) for _ in range(900)] + [5218113]
    hosts = both_ends(n_seconds=3)
    for h, cost in zip(hosts, (13.1, 12.7)):
        h.update(cost_us_per_transaction=cost, cost_us_per_kb=cost * 1024)
    hosts[0]["machine_cost_us_per_transaction"] = 27.9
    transactions("rr", [transaction_row(t, 20300 + 100 * t, 22.0 + t / 10, 110.2, 5218.1 if t == 1 else 412.0)
                        for t in range(3)], values, dict(duration_s=3, streams=1), hosts, congestion="cubic")


def rr_open():
    """Open loop over UDP, many sockets: some responses never came, and the rate was not kept."""
    rng = random.Random(8)
    values = [int(rng.expovariate(1 / 80000)) + 15000 for _ in range(9000)]
    hosts = both_ends(n_seconds=2)
    for h, cost in zip(hosts, (5.21, 4.04)):
        h.update(cost_us_per_transaction=cost)
    transactions("rr_open", [transaction_row(t, 4500, 70.1, 384.0, 901.5, timeouts=12 - t) for t in range(2)], values,
                 dict(duration_s=2, streams=64, protocol="UDP", request_bytes=64, response_bytes=1024, outstanding=4,
                      rate_hz=5000, arrivals="poisson", wait="epoll", send_method="epoll", receive_method="spin",
                      response_timeout_s=0.5), hosts, connections=64, connection_fairness=0.9731)


def with_rr():
    """A request/response test ran alone and beside the load."""
    note = "200 requests/s over TCP, client on CPU 1 (not pinned), server on CPU 0 (not pinned)"
    idle = histogram("latency_idle", [30100] * 20 + [36200] * 560 + [61100] * 15 + [140200], note=note)
    loaded = histogram("latency_loaded", [512000] * 50 + [5210000] * 1800 + [7710000] * 130 + [8120500] * 2, note=note)
    hosts = both_ends(n_seconds=2)
    hosts[0].update(histograms=[idle, loaded])
    rows = [interval(t, 0.191e9, rtt_us=4845) for t in range(2)]
    sides = {key: dict(p50=h["p50_us"], p99=h["p99_us"], max=h["max_us"], mean=h["mean_us"])
             for key, h in (("latency_idle_us", idle), ("latency_loaded_us", loaded))}
    total = dict(sent_bps=0.191e9, received_bps=0.191e9, added_latency_us=loaded["p50_us"] - idle["p50_us"],
                 added_latency_p99_us=loaded["p99_us"] - idle["p99_us"], rpm=60e6 / loaded["mean_us"],
                 latency_grade="A", **sides)
    record("with_rr", [flow(1, rows)], hosts, {"duration_s": 2, "with": "TCP", "with_rate_hz": 200, "idle_s": 3},
           total=total, command=["whyperf", "tcp", "lab", "-t", "2", "--with", "rr"])


if __name__ == "__main__":
    for make in (bulk, four, bidir, thousand, large, absent, failed, hostile, long, reverse, flood, paced, tiny, rr,
                 rr_open, with_rr):
        make()
