#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the recorded trees of other machines beside itself. They are synthetic: the forms are those of real kernels,
the figures are chosen so that tests can say what must come out. NAME_a and NAME_b are two readings of one machine.
Run it again after a change and commit what it wrote."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]


def put(root, path, text):
    full = os.path.join(HERE, root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as f:
        f.write(text)


def stat(cpus, intr=0, total=None, tail=""):
    """cpus: {cpu: columns}"""
    columns = list(cpus.values())
    total = total or [sum(c[i] for c in columns) for i in range(len(columns[0]))]
    lines = ["cpu  " + " ".join(map(str, total))]
    lines += ["cpu%d %s" % (c, " ".join(map(str, v))) for c, v in cpus.items()]
    lines.append("intr %d %s" % (intr, " ".join(["0"] * 40)))
    lines += ["ctxt 251789", "btime 1796058971", "processes 4958", "procs_running 2", "procs_blocked 0"]
    lines.append("softirq 84723 0 10044 4 749 33908 0 3 22959 0 17056")
    return "\n".join(lines) + "\n" + tail


def interrupts(cpus, rows, total_only=(("ERR", 0), ("MIS", 0))):
    """rows: (label, counts, text)"""
    out = "           " + "".join("CPU%-8d" % c for c in cpus).rstrip(" ").ljust(1) + "\n"
    for label, counts, text in rows:
        out += "%3s:%s  %s\n" % (label, "".join(" %10d" % (v & 0xFFFFFFFF) for v in counts), text)
    for label, count in total_only:
        out += "%3s: %10u\n" % (label, count)
    return out


def softirqs(cpus, rows):
    out = "                    " + "".join("CPU%-8d" % c for c in cpus) + "\n"
    for kind in KINDS:
        counts = rows.get(kind, [0] * len(cpus))
        out += "%12s:%s\n" % (kind, "".join(" %10d" % (v & 0xFFFFFFFF) for v in counts))
    return out


def softnet(rows, columns):
    """rows: (cpu, processed, dropped, squeezed, rps)"""
    out = ""
    for cpu, processed, dropped, squeezed, rps in rows:
        v = [processed, dropped, squeezed, 0, 0, 0, 0, 0, 0, rps, 0, 0, cpu, 0, 0, 0, 0][:columns]
        out += " ".join("%08x" % (x & 0xFFFFFFFF) for x in v) + "\n"
    return out


def pairs(groups):
    out = ""
    for group, values in groups:
        out += "%s: %s\n" % (group, " ".join(values.keys()))
        out += "%s: %s\n" % (group, " ".join(map(str, values.values())))
    return out


def snmp(received, segments, retransmits, icmp=None, new=True, udp_rcvbuf=0):
    ip = {"Forwarding": 2, "DefaultTTL": 64, "InReceives": received, "InHdrErrors": 0, "InDelivers": received}
    if new:
        ip["OutTransmits"] = received - 10
    groups = [("Ip", ip), ("Icmp", {"InMsgs": 1, "InErrors": 0})]
    if icmp:
        groups.append(("IcmpMsg", icmp))
    groups.append(("Tcp", {"RtoAlgorithm": 1, "RtoMin": 200, "RtoMax": 120000, "MaxConn": -1, "ActiveOpens": 13,
                           "CurrEstab": 2 if received < 1000 else 9, "InSegs": received - 20, "OutSegs": segments,
                           "RetransSegs": retransmits}))
    groups.append(("Udp", {"InDatagrams": 26, "NoPorts": 0, "InErrors": udp_rcvbuf, "OutDatagrams": 27,
                           "RcvbufErrors": udp_rcvbuf}))
    return pairs(groups)


def netstat(backlog_drop, ect, mptcp=True):
    ext = {"SyncookiesSent": 0, "PruneCalled": 0, "TW": 11}
    ext.update({"Filler%d" % i: 0 for i in range(120)})
    ext["TCPBacklogDrop"] = backlog_drop
    groups = [("TcpExt", ext), ("IpExt", {"InNoRoutes": 0, "InOctets": 90000, "InNoECTPkts": ect})]
    if mptcp:
        groups.append(("MPTcpExt", {"MPCapableSYNRX": 0, "MPCurrEstab": 0}))
    return pairs(groups)


def snmp6(received):
    return "".join("%-32s\t%d\n" % (n, v) for n, v in
                   [("Ip6InReceives", received), ("Ip6InHdrErrors", 0), ("Udp6RcvbufErrors", 0)])


def dev(rows, touching=False):
    out = ("Inter-|   Receive                                                |  Transmit\n"
           " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
           "carrier compressed\n")
    for name, rx_bytes, rx_packets, rx_drop, tx_bytes, tx_packets, tx_drop in rows:
        v = [rx_bytes, rx_packets, 0, rx_drop, 0, 0, 0, 0, tx_bytes, tx_packets, 0, tx_drop, 0, 0, 0, 0]
        out += ("%6s:%s\n" if touching else "%6s: %s\n") % (name, " ".join(map(str, v)))
    return out


def vm2():
    """Two CPUs, ticks, 10 s apart at USER_HZ 100. CPU 0: 40 % in no column. CPU 1: saturated."""
    for name, k in (("vm2_a", 0), ("vm2_b", 1)):
        put(name, "proc/stat", stat({
            0: [761 + 5 * k, 0, 644 + 100 * k, 55128 + 490 * k, 4, 0, 7 + 3 * k, 2 + 2 * k, 0, 0],
            1: [1237 + 50 * k, 10 * k, 947 + 500 * k, 54002, 332, 0, 24 + 437 * k, 7 + 3 * k, 0, 0],
        }, intr=3119727 + 5000 * k))
        put(name, "proc/interrupts", interrupts([0, 1], [
            ("24", [1, 0], "IO-APIC   5-edge      ACPI:Ged"),
            ("41", [1730 + 7000 * k, 0], "PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx"),
            ("42", [0, 3392 + 12 * k], "PCI-MSIX-0000:00:04.0   2-edge      virtio3-tx"),
            ("LOC", [13794 + 2500 * k, 13276 + 2501 * k], "Local timer interrupts"),
            ("RES", [3819 + 10 * k, 2771 + 132480 * k], "Rescheduling interrupts"),
        ]))
        put(name, "proc/softirqs", softirqs([0, 1], {
            "TIMER": [5156 + 100 * k, 4888 + 200 * k], "NET_RX": [324 + 7000 * k, 425 + 132480 * k],
            "NET_TX": [3, 1 + k], "SCHED": [12326 + 400 * k, 10633 + 401 * k], "RCU": [8011, 9045 + 9 * k],
            "BLOCK": [0, 33908], "HRTIMER": [k, 0]}))
        put(name, "proc/net/softnet_stat", softnet([(0, 0x13 + 8000 * k, 0, 0, 0),
                                                    (1, 0x294 + 132480 * k, 17 * k, 3 * k, 132480 * k)], 15))
        put(name, "proc/net/snmp", snmp(677 + 132500 * k, 399 + 9000 * k, 0 + 5 * k,
                                        icmp={"InType3": 1, "OutType3": 4} if k else None, udp_rcvbuf=33 * k))
        put(name, "proc/net/netstat", netstat(4 * k, 677 + 662400 * k))
        put(name, "proc/net/snmp6", snmp6(1))
        put(name, "proc/net/dev", dev([("lo", 3267, 29, 0, 3267, 29, 0),
                                       ("eth0", 27306804 + 10 ** 9 * k, 650 + 8000 * k, 2 * k, 33795, 405, 0)]))
        put(name, "proc/pressure/cpu", "some avg10=0.00 avg60=0.05 avg300=0.22 total=%d\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n" % (4585741 + 1000 * k))
        put(name, "proc/sys/kernel/osrelease", "6.18.44\n")
        put(name, "proc/cmdline", "console=ttyS0 quiet\n")
        put(name, "sys/devices/system/cpu/online", "0-1\n")
        put(name, "sys/devices/system/cpu/possible", "0-1\n")


def big():
    """512 possible CPUs, 64 online in four groups with holes (one socket is off), 1 s apart; only CPU 300 works."""
    online = [c for c in range(512) if (c // 64) in (0, 2, 4, 6) and c % 64 < 16 and c != 5]
    possible = list(range(512))
    for name, k in (("big_a", 0), ("big_b", 1)):
        cpus = {c: [1000, 0, 2000, 900000 + 100 * k, 0, 0, 0, 0, 0, 0] for c in online}
        busy = online[40]
        cpus[busy] = [1000 + 10 * k, 0, 2000 + 40 * k, 900000 + 25 * k, 0, 5 * k, 20 * k, 0, 0, 0]
        put(name, "proc/stat", stat(cpus, intr=5 * 10 ** 9 + k, total=[9 * 10 ** 12] * 10))
        put(name, "proc/interrupts", interrupts(online, [
            ("0", [40] + [0] * (len(online) - 1), "IR-IO-APIC    2-edge      timer"),
            ("1523", [77 * k if c == busy else 0 for c in online],
             "IR-PCI-MSI 134742016-edge      mlx5_comp0@pci:0000:81:00.0"),
            ("1524", [0] * len(online), "3w-chip that begins with a digit 7-edge  driver, other driver"),
            ("LOC", [10 ** 9 + 1000 * k] * len(online), "Local timer interrupts"),
        ]))
        put(name, "proc/softirqs", softirqs(possible, {"NET_RX": [900 * k if c == busy else 7 for c in possible]}))
        put(name, "proc/net/softnet_stat", softnet([(c, 5 + (900 * k if c == busy else 0), 0, 0, 0)
                                                    for c in online], 13))
        put(name, "proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n")
        put(name, "sys/devices/system/cpu/online", "0-4,6-15,128-143,256-271,384-399\n")
        put(name, "sys/devices/system/cpu/possible", "0-511\n")
        put(name, "sys/devices/system/cpu/nohz_full", " (null)\n")


def arm64():
    """Four small and four big cores, interrupt time accounted, 10 s apart."""
    for name, k in (("arm64_a", 0), ("arm64_b", 1)):
        cpus = {c: [500 + 100 * k, 0, 300 + 200 * k, 40000 + 600 * k, 10, 33 + 40 * k, 44 + 60 * k, 0, 0, 0]
                for c in range(8)}
        put(name, "proc/stat", stat(cpus, intr=900000 + k))
        rows = [("11", [100 + 9 * k] * 8, "GICv3  27 Level     arch_timer"),
                ("38", [55 + 4000 * k] + [0] * 7, "GICv3 142 Level     eth0, wol irq"),
                ("IPI0", [7] * 8, "     Rescheduling interrupts"),
                ("IPI1", [9 + 20 * k] * 8, "     Function call interrupts")]
        text = interrupts(range(8), rows, total_only=[("Err", 5 + k)])
        put(name, "proc/interrupts", text.replace("Err:", "FIQ:              usb_fiq\nErr:"))
        put(name, "proc/softirqs", softirqs(range(8), {"NET_RX": [50 + 4000 * k] + [0] * 7}))
        put(name, "proc/net/softnet_stat", softnet([(c, 5 + 4000 * k if c == 0 else 0, 0, 0, 0) for c in range(8)], 15))
        put(name, "proc/pressure/cpu", "some avg10=1.00 avg60=0.05 avg300=0.22 total=99\n")
        put(name, "proc/pressure/irq", "full avg10=0.12 avg60=0.05 avg300=0.01 total=%d\n" % (812345 + k))
        put(name, "proc/sys/kernel/osrelease", "6.6.31-rpi\n")
        put(name, "sys/devices/system/cpu/online", "0-7\n")
        put(name, "sys/devices/system/cpu/possible", "0-7\n")
        for c in range(8):
            put(name, "sys/devices/system/cpu/cpu%d/cpu_capacity" % c, "%d\n" % (446 if c < 4 else 1024))


def old():
    """2.6.32: nine columns, CPU 2 of four offline, no CPU number in softnet_stat, colon touching in net/dev."""
    for name, k in (("old2632_a", 0), ("old2632_b", 1)):
        put(name, "proc/stat", stat({c: [100, 0, 200 + 300 * k, 9000 + 690 * k, 0, 1, 5 + 10 * k, 0, 0]
                                     for c in (0, 1, 3)}, intr=400000))
        put(name, "proc/interrupts", interrupts([0, 1, 3], [
            ("0", [131 + k, 0, 0], "IO-APIC-edge      timer"),
            ("16", [0, 5000 + 100 * k, 0], "IO-APIC-fasteoi   uhci_hcd:usb3, eth0"),
            ("LOC", [90 + 10 * k] * 3, "Local timer interrupts")]))
        put(name, "proc/softirqs", softirqs(range(4), {"NET_RX": [1, 50 + 100 * k, 0, 0]})
            .replace("IRQ_POLL", "BLOCK_IOPOLL"))
        put(name, "proc/net/softnet_stat", softnet([(0, 9, 0, 0, 0), (1, 9 + 100 * k, 0, k, 0), (3, 9, 0, 0, 0)], 9))
        put(name, "proc/net/snmp", snmp(600 + 100 * k, 400 + k, 0, new=False))
        put(name, "proc/net/netstat", netstat(0, 600, mptcp=False))
        put(name, "proc/net/dev", dev([("lo", 3267, 29, 0, 3267, 29, 0),
                                       ("eth0", 123456789 + 1000 * k, 650 + k, 0, 33795, 405, 0)], touching=True))
        put(name, "proc/sys/kernel/osrelease", "2.6.32-754.el6.x86_64\n")
        put(name, "sys/devices/system/cpu/online", "0-1,3\n")


def newer():
    """A kernel of tomorrow: more columns, rows, lines and names everywhere."""
    put("newer", "proc/stat", stat({c: [10, 0, 20, 30, 0, 4, 5, 0, 0, 0, 777, 888] for c in (0, 1)}, intr=9,
                                   tail="novelty 1 2 3\n"))
    put("newer", "proc/interrupts", interrupts([0, 1], [("24", [3, 4], "chip: 7 novelty"), ("NEW", [1, 2], "")]))
    put("newer", "proc/softirqs", softirqs([0, 1], {"NET_RX": [5, 6]}) + "%12s: %10d %10d\n" % ("NOVEL", 8, 9))
    put("newer", "proc/net/softnet_stat", softnet([(0, 5, 6, 7, 8), (1, 9, 1, 2, 3)], 17))
    put("newer", "proc/net/snmp", pairs([("Ip", {"Novel": 1, "InReceives": 5, "Forwarding": 1}), ("Quic", {"In": 4})]))
    put("newer", "proc/net/netstat", netstat(1, 2) + pairs([("NovelExt", {"A": 1})]))
    put("newer", "proc/net/snmp6", snmp6(4))
    put("newer", "proc/net/dev", dev([("eth0", 1, 2, 3, 4, 5, 6)]).rstrip("\n") + " 9 9\n")
    put("newer", "proc/pressure/cpu", "some avg10=0.00 novel=1 total=4\nfull avg10=0.00 total=0\n")
    put("newer", "proc/sys/kernel/osrelease", "9.1.0-rc1\n")
    put("newer", "sys/devices/system/cpu/online", "0-1\n")


def container():
    """lxcfs: two CPUs renumbered where the host has eight, idle of 10^18, decreasing values; most files missing."""
    for name, k in (("container_a", 0), ("container_b", 1)):
        put(name, "proc/stat", stat({0: [90 - 40 * k, 0, 20, 10 ** 18 + 5 * 10 ** 6 * k, 0, 0, 0, 0, 0, 0],
                                     1: [90, 0, 20 + 10 * k, 5000 + 990 * k, 0, 0, 0, 0, 0, 0]}, intr=3))
        put(name, "proc/net/snmp", snmp(600 + 100 * k, 400, 0))
        put(name, "proc/net/netstat", netstat(0, 600))
        put(name, "proc/net/dev", dev([("lo", 1, 1, 0, 1, 1, 0)]))
        put(name, "sys/devices/system/cpu/online", "0-7\n")
    put("gvisor", "proc/stat", stat({c: [0] * 10 for c in range(4)}))


def wrap():
    """Every 32-bit counter passes 2^32 between the readings; a device was made again; 1 s apart."""
    top = 1 << 32
    for name, k in (("wrap_a", 0), ("wrap_b", 1)):
        put(name, "proc/stat", stat({0: [10, 0, 20 + 50 * k, 30 + 50 * k, 0, 0, 0, 0, 0, 0]}, intr=7))
        put(name, "proc/interrupts", interrupts([0], [("40", [top - 10 + 110 * k], "nic"),
                                                      ("LOC", [500 - 100 * k], "Local timer interrupts")]))
        put(name, "proc/softirqs", softirqs([0], {"NET_RX": [top - 1 + 1000 * k], "TIMER": [7]}))
        put(name, "proc/net/softnet_stat", softnet([(0, top - 5 + 8000 * k, top - 1 + 3 * k, 0, 0)], 15))
        put(name, "proc/net/snmp", snmp(600 + k, 400, 0))
        put(name, "proc/net/dev", dev([("eth0", 5000 - 4000 * k, 90 - 80 * k, 0, 5, 5, 0)]))
        put(name, "sys/devices/system/cpu/online", "0\n")


def unplug():
    """CPU 2 of four goes, CPU 1 went and came back (idle steps back, other counters stay), CPU 5 comes; 10 s."""
    for name, k in (("unplug_a", 0), ("unplug_b", 1)):
        cpus = [0, 1, 3, 5] if k else [0, 1, 2, 3]
        rows = {0: [10, 0, 20 + 500 * k, 9000 + 500 * k, 50 - 7 * k, 0, 0, 0, 0, 0],
                1: [10 + k, 0, 20, 9000 - 3000 * k, 0, 0, 0, 0, 0, 0],
                2: [10, 0, 20, 9000, 0, 0, 0, 0, 0, 0],
                3: [10, 0, 20 + 10 * k, 9000 + 990 * k, 0, 0, 0, 0, 0, 0],
                5: [1, 0, 2, 30, 0, 0, 0, 0, 0, 0]}
        put(name, "proc/stat", stat({c: rows[c] for c in cpus}, intr=7))
        put(name, "proc/interrupts", interrupts(cpus, [("40", [100 * c + 11 * k for c in cpus], "nic"),
                                                       ("LOC", [1000] * 4, "Local timer interrupts")]))
        put(name, "proc/softirqs", softirqs(range(8), {"NET_RX": [10 * c + 5 * k for c in range(8)]}))
        put(name, "proc/net/softnet_stat", softnet([(c, 100 * c + 9 * k, 0, 0, 0) for c in cpus], 10))
        put(name, "sys/devices/system/cpu/online", "0-1,3,5\n" if k else "0-3\n")


for make in (vm2, big, arm64, old, newer, container, wrap, unplug):
    make()
