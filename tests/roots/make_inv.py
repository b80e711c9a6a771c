#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the recorded trees inv-* beside itself: what the inventory readers and doctor see on other machines. They are
synthetic: paths and forms are those of real kernels, the figures are chosen so that tests can say what must come out.
Run it again after a change and commit what it wrote."""

import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
CPU = "sys/devices/system/cpu"


class Tree:
    def __init__(self, name):
        self.top = os.path.join(HERE, name)
        shutil.rmtree(self.top, ignore_errors=True)

    def put(self, path, text):
        full = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as f:
            f.write(str(text) + ("" if str(text).endswith("\n") else "\n"))

    def link(self, path, target):
        full = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        os.symlink(target, full)

    def puts(self, prefix, values):
        for name, value in values.items():
            self.put(prefix + "/" + name, value)


def ranges(cpus):
    out, run = [], []
    for c in sorted(cpus) + [None]:
        if run and c is not None and c == run[-1] + 1:
            run.append(c)
            continue
        if run:
            out.append(str(run[0]) if len(run) == 1 else "%d-%d" % (run[0], run[-1]))
        run = [c]
    return ",".join(out)


def mask(cpus, width=8):
    return "%0*x" % (width, sum(1 << c for c in cpus))


def cache(t, cpu, index, level, kind, size, shared, lists=True):
    d = "%s/cpu%d/cache/index%d" % (CPU, cpu, index)
    t.puts(d, {"level": level, "type": kind, "size": size, "shared_cpu_map": mask(shared)})
    if lists:
        t.put(d + "/shared_cpu_list", ranges(shared))


def topology(t, cpu, package, core, threads, lists=True):
    d = "%s/cpu%d/topology" % (CPU, cpu)
    t.puts(d, {"physical_package_id": package, "core_id": core, "thread_siblings": mask(threads)})
    if lists:
        t.put(d + "/thread_siblings_list", ranges(threads))


def net(t, name, fields, rx=None, tx=None):
    """rx, tx: masks of CPUs, one a queue"""
    d = "sys/class/net/" + name
    t.puts(d, dict({"type": 1, "tx_queue_len": 1000, "mtu": 1500, "operstate": "up", "carrier": 1}, **fields))
    for i, cpus in enumerate(rx or []):
        t.puts("%s/queues/rx-%d" % (d, i), {"rps_cpus": cpus, "rps_flow_cnt": 0})
    for i, cpus in enumerate(tx or []):
        t.put("%s/queues/tx-%d/xps_cpus" % (d, i), cpus)


def irq(t, number, name, cpus, effective=None, lists=True):
    d = "proc/irq/%d" % number
    t.put(d + "/smp_affinity", mask(cpus))
    t.put(d + "/%s/.keep" % name, "")
    if lists:
        t.put(d + "/smp_affinity_list", ranges(cpus))
        t.put("sys/kernel/irq/%d/actions" % number, name)
    if effective:
        t.put(d + "/effective_affinity_list", ranges(effective))


def sysctls(t, core, ipv4):
    t.puts("proc/sys/net/core", core)
    t.puts("proc/sys/net/ipv4", ipv4)


def stat(t, cpus, columns):
    """columns: of one CPU"""
    lines = ["cpu  " + " ".join(str(v * len(cpus)) for v in columns)]
    lines += ["cpu%d %s" % (c, " ".join(map(str, columns))) for c in cpus]
    lines += ["intr 5500000 0 0", "ctxt 251789", "btime 1796058971", "processes 4958", "procs_running 2",
              "procs_blocked 0"]
    t.put("proc/stat", "\n".join(lines))


def meminfo(t, total_kb, available_kb=None):
    lines = ["MemTotal:       %8d kB" % total_kb, "MemFree:        %8d kB" % (total_kb // 3)]
    if available_kb:
        lines.append("MemAvailable:   %8d kB" % available_kb)
    lines += ["Buffers:           92160 kB", "SwapTotal:             0 kB", "HugePages_Total:       0"]
    t.put("proc/meminfo", "\n".join(lines))


def kernel(t, release, version, hostname, cmdline, pretty=None):
    t.puts("proc/sys/kernel", {"osrelease": release, "version": version, "hostname": hostname, "ostype": "Linux"})
    t.put("proc/version", "Linux version %s (builder@example) (gcc) %s" % (release, version))
    t.put("proc/cmdline", cmdline)
    if pretty:
        t.put("etc/os-release", 'NAME="Linux"\nPRETTY_NAME="%s"\nVERSION_ID="1"' % pretty)


def vulnerabilities(t, says):
    t.puts(CPU + "/vulnerabilities", says)


CORE = {"rmem_max": 212992, "rmem_default": 212992, "wmem_max": 212992, "wmem_default": 212992, "optmem_max": 20480,
        "netdev_max_backlog": 1000, "netdev_budget": 300, "netdev_budget_usecs": 8000, "dev_weight": 64,
        "busy_poll": 0, "busy_read": 0, "default_qdisc": "fq_codel", "somaxconn": 4096, "rps_sock_flow_entries": 0}
IPV4 = {"tcp_rmem": "4096\t131072\t6291456", "tcp_wmem": "4096\t16384\t4194304", "tcp_mem": "190875\t254502\t381750",
        "udp_mem": "381750\t509003\t763500", "tcp_congestion_control": "cubic",
        "tcp_available_congestion_control": "reno cubic", "tcp_allowed_congestion_control": "reno cubic",
        "tcp_moderate_rcvbuf": 1, "tcp_no_metrics_save": 0, "tcp_slow_start_after_idle": 1, "tcp_timestamps": 1,
        "tcp_sack": 1, "tcp_window_scaling": 1, "tcp_mtu_probing": 0, "ip_local_port_range": "32768\t60999"}

X86_FLAGS = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat ht syscall nx rdtscp lm constant_tsc "


def x86_2s():
    """Two sockets, two cores each, two threads a core, two NUMA nodes; a 10 Gbit/s NIC with 4 queues on node 1."""
    t = Tree("inv-x86-2s")
    cpus = list(range(8))
    package = {c: (c % 4) // 2 for c in cpus}
    info = ""
    for c in cpus:
        info += ("processor\t: %d\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                 "model name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\nstepping\t: 4\n"
                 "cpu MHz\t\t: %.3f\ncache size\t: 22528 KB\nphysical id\t: %d\nsiblings\t: 4\ncore id\t\t: %d\n"
                 "cpu cores\t: 2\nflags\t\t: %sarch_perfmon nonstop_tsc aperfmperf pti hwp\n"
                 "bugs\t\t: cpu_meltdown spectre_v1\nbogomips\t: 4200.00\n\n"
                 % (c, 1000.0 + 300 * c, package[c], c % 2, X86_FLAGS))
    t.put("proc/cpuinfo", info)
    for c in cpus:
        threads = [c % 4, c % 4 + 4]
        socket = [x for x in cpus if package[x] == package[c]]
        topology(t, c, package[c], c % 2, threads)
        cache(t, c, 0, 1, "Data", "32K", threads)
        cache(t, c, 1, 1, "Instruction", "32K", threads)
        cache(t, c, 2, 2, "Unified", "1024K", threads)
        cache(t, c, 3, 3, "Unified", "22528K", socket)
        t.puts("%s/cpu%d/cpufreq" % (CPU, c), {
            "scaling_governor": "powersave", "scaling_driver": "intel_pstate", "scaling_min_freq": 1000000,
            "scaling_max_freq": 3700000, "cpuinfo_max_freq": 3700000, "scaling_cur_freq": 1000000 + 300000 * c,
            "energy_performance_preference": "balance_performance"})
    for i, (name, us) in enumerate([("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 133)]):
        t.puts("%s/cpu0/cpuidle/state%d" % (CPU, i), {"name": name, "latency": us, "disable": 0})
    t.puts(CPU + "/cpuidle", {"current_driver": "intel_idle", "current_governor": "menu"})
    t.puts(CPU + "/intel_pstate", {"no_turbo": 0, "status": "active"})
    t.puts(CPU, {"online": "0-7", "possible": "0-7", "present": "0-7", "isolated": "3,7", "nohz_full": "(null)",
                 "smt/active": 1, "smt/control": "on"})
    for n in (0, 1):
        t.put("sys/devices/system/node/node%d/cpulist" % n, ranges([c for c in cpus if package[c] == n]))
    vulnerabilities(t, {"meltdown": "Mitigation: PTI", "spectre_v2": "Mitigation: IBRS; IBPB: conditional",
                        "mds": "Mitigation: Clear CPU buffers; SMT vulnerable", "srbds": "Not affected",
                        "l1tf": "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable"})
    t.puts("sys/devices/system/clocksource/clocksource0",
           {"current_clocksource": "hpet", "available_clocksource": "hpet acpi_pm "})
    kernel(t, "6.1.0-18-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", "rack7",
           "BOOT_IMAGE=/vmlinuz-6.1.0-18-amd64 root=/dev/sda1 ro quiet isolcpus=3,7 tsc=unstable",
           "Debian GNU/Linux 12 (bookworm)")
    t.puts("proc/sys/kernel", {"sched_autogroup_enabled": 1, "numa_balancing": 1, "nmi_watchdog": 1,
                               "timer_migration": 1})
    t.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    meminfo(t, 65650776, 62000000)
    stat(t, cpus, [11200, 5, 9300, 981000, 700, 0, 1500, 0, 0, 0])
    sysctls(t, CORE, IPV4)
    t.puts("sys/class/dmi/id", {"sys_vendor": "Dell Inc.", "product_name": "PowerEdge R740"})
    t.put("proc/1/comm", "systemd")
    t.put("proc/1/cgroup", "0::/init.scope")
    t.put("proc/871/comm", "irqbalance")
    t.put("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope")
    t.put("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                                 "23 22 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n"
                                 "30 23 0:28 / /proc/sys/fs/binfmt_misc rw shared:14 - autofs systemd-1 rw")
    for g in ("", "/user.slice", "/user.slice/user-1000.slice", "/user.slice/user-1000.slice/session-3.scope"):
        t.put("sys/fs/cgroup%s/cpu.stat" % g, "usage_usec 5\nuser_usec 3\nsystem_usec 2")
    pci = "sys/devices/pci0000:80/0000:80:02.0/0000:81:00.0"
    t.puts(pci, {"numa_node": 1, "irq": 40})
    t.link(pci + "/driver", "../../../../bus/pci/drivers/ixgbe")
    t.link("sys/class/net/ens1f0/device", "../../../devices/pci0000:80/0000:80:02.0/0000:81:00.0")
    net(t, "ens1f0", {"ifindex": 2, "speed": 10000, "duplex": "full", "gro_flush_timeout": 0,
                      "napi_defer_hard_irqs": 0, "threaded": 0},
        rx=["00"] * 4, tx=["01", "02", "04", "08"])
    for q in range(4):
        irq(t, 41 + q, "ens1f0-TxRx-%d" % q, [q], [q])
        t.put(pci + "/msi_irqs/%d" % (41 + q), "msix")
    irq(t, 45, "ens1f0", cpus, [0])
    t.put(pci + "/msi_irqs/45", "msix")
    net(t, "lo", {"ifindex": 1, "type": 772, "mtu": 65536, "operstate": "unknown"}, rx=["00"], tx=["00"])


def arm64():
    """big.LITTLE: 4 Cortex-A53 and 2 Cortex-A72, no NUMA, a wired interrupt, one queue."""
    t = Tree("inv-arm64")
    cpus = list(range(6))
    info = ""
    for c in cpus:
        info += ("processor\t: %d\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid\n"
                 "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: %s\n"
                 "CPU revision\t: 4\n\n" % (c, "0xd03" if c < 4 else "0xd08"))
    t.put("proc/cpuinfo", info)
    for c in cpus:
        cluster = [0, 1, 2, 3] if c < 4 else [4, 5]
        topology(t, c, 0, c, [c])
        cache(t, c, 0, 1, "Data", "32K", [c])
        cache(t, c, 1, 1, "Instruction", "32K" if c < 4 else "48K", [c])
        cache(t, c, 2, 2, "Unified", "512K" if c < 4 else "1024K", cluster)
        t.put("%s/cpu%d/cpu_capacity" % (CPU, c), 485 if c < 4 else 1024)
        t.puts("%s/cpu%d/cpufreq" % (CPU, c), {
            "scaling_governor": "schedutil" if c < 4 else "performance", "scaling_driver": "cpufreq-dt",
            "scaling_min_freq": 408000, "scaling_max_freq": 1416000 if c < 4 else 1800000,
            "cpuinfo_max_freq": 1416000 if c < 4 else 1800000, "scaling_cur_freq": 408000 if c < 4 else 1800000})
    t.puts(CPU, {"online": "0-5", "possible": "0-5", "present": "0-5", "isolated": ""})
    vulnerabilities(t, {"meltdown": "Not affected", "spectre_v2": "Mitigation: Branch predictor hardening, BHB",
                        "spec_store_bypass": "Vulnerable"})
    t.puts("sys/devices/system/clocksource/clocksource0",
           {"current_clocksource": "arch_sys_counter", "available_clocksource": "arch_sys_counter "})
    kernel(t, "6.6.31-arm64", "#2 SMP PREEMPT Thu May 23 12:00:00 UTC 2024", "rockpro", "console=ttyS2 earlycon",
           "Armbian 24.5 bookworm")
    t.puts("proc/sys/kernel", {"arch": "aarch64", "sched_autogroup_enabled": 0})
    meminfo(t, 3902112, 3500000)
    stat(t, cpus, [11200, 5, 9300, 981000, 700, 120, 1500, 0, 0, 0])
    t.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=120")
    t.put("proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=991234")
    sysctls(t, dict(CORE, rmem_max=8388608, wmem_max=8388608), IPV4)
    t.put("proc/1/comm", "systemd")
    t.put("proc/1/cgroup", "0::/init.scope")
    dev = "sys/devices/platform/fe300000.ethernet"
    t.put(dev + "/uevent", "DRIVER=rk_gmac-dwmac")
    t.link(dev + "/driver", "../../../bus/platform/drivers/rk_gmac-dwmac")
    t.link("sys/class/net/end0/device", "../../../devices/platform/fe300000.ethernet")
    net(t, "end0", {"ifindex": 2, "speed": 1000, "duplex": "full"}, rx=["00"], tx=["00"])
    irq(t, 67, "end0", cpus, [0])


def vm():
    """Two virtual CPUs under KVM: no cpufreq, bbr, stolen time, virtio-net with one queue pair."""
    t = Tree("inv-vm")
    cpus = [0, 1]
    info = ""
    for c in cpus:
        info += ("processor\t: %d\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n"
                 "model name\t: AMD EPYC 7R32\nstepping\t: 0\ncpu MHz\t\t: 2799.998\ncache size\t: 512 KB\n"
                 "physical id\t: 0\nsiblings\t: 2\ncore id\t\t: %d\ncpu cores\t: 2\n"
                 "flags\t\t: %snonstop_tsc tsc_known_freq hypervisor\n\n" % (c, c, X86_FLAGS))
    t.put("proc/cpuinfo", info)
    for c in cpus:
        topology(t, c, 0, c, [c])
        cache(t, c, 0, 1, "Data", "32K", [c])
        cache(t, c, 1, 2, "Unified", "512K", [c])
        cache(t, c, 2, 3, "Unified", "16384K", cpus)
    t.puts(CPU, {"online": "0-1", "possible": "0-1", "present": "0-1", "isolated": "", "smt/active": 0,
                 "cpuidle/current_driver": "haltpoll", "cpuidle/current_governor": "haltpoll"})
    t.put("sys/devices/system/node/node0/cpulist", "0-1")
    vulnerabilities(t, {"meltdown": "Not affected", "retbleed": "Mitigation: untrained return thunk; SMT disabled",
                        "spectre_v2": "Mitigation: Retpolines; IBPB: conditional; STIBP: disabled"})
    t.puts("sys/devices/system/clocksource/clocksource0",
           {"current_clocksource": "kvm-clock", "available_clocksource": "kvm-clock tsc acpi_pm "})
    kernel(t, "6.12.9-cloud", "#1 SMP PREEMPT_DYNAMIC Mon Jan 13 10:00:00 UTC 2025", "vm-17",
           "root=/dev/vda1 ro console=ttyS0 mitigations=auto", "Ubuntu 24.04.1 LTS")
    t.puts("proc/sys/kernel", {"arch": "x86_64", "sched_autogroup_enabled": 1, "numa_balancing": 0})
    meminfo(t, 4028440, 3500000)
    stat(t, cpus, [21200, 5, 19300, 981000, 700, 0, 1500, 32000, 0, 0])
    t.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=120")
    sysctls(t, dict(CORE, default_qdisc="fq"),
            dict(IPV4, tcp_congestion_control="bbr", tcp_available_congestion_control="reno cubic bbr"))
    t.puts("sys/class/dmi/id", {"sys_vendor": "QEMU", "product_name": "Standard PC (Q35 + ICH9, 2009)"})
    t.put("proc/1/comm", "systemd")
    t.put("proc/1/cgroup", "0::/init.scope")
    t.put("proc/self/cgroup", "5:cpu,cpuacct:/app\n4:memory:/\n0::/")
    for g in ("", "/app"):
        t.put("sys/fs/cgroup/cpu%s/cpu.stat" % g, "nr_periods 0\nnr_throttled 0\nthrottled_time 0")
        t.puts("sys/fs/cgroup/cpu%s" % g, {"cpu.shares": 1024, "cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000})
    pci = "sys/devices/pci0000:00/0000:00:03.0"
    t.put(pci + "/numa_node", -1)
    t.put(pci + "/virtio2/features", "1")
    t.link(pci + "/virtio2/driver", "../../../../bus/virtio/drivers/virtio_net")
    t.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:03.0/virtio2")
    for n, name in ((37, "virtio2-config"), (38, "virtio2-input.0"), (39, "virtio2-output.0")):
        irq(t, n, name, cpus, [n % 2])
        t.put(pci + "/msi_irqs/%d" % n, "msix")
    net(t, "eth0", {"ifindex": 2, "speed": -1, "duplex": "unknown", "mtu": 9001}, rx=["3"], tx=["0"])


def container():
    """A container with lxcfs over /proc, a CPU quota, masked interrupts and no DMI; the link is a veth."""
    t = Tree("inv-container")
    t.put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9354 32-Core Processor\n"
                          "cpu MHz\t\t: 3250.000\nflags\t\t: %snonstop_tsc aperfmperf\n" % X86_FLAGS)
    t.puts(CPU, {"online": "0-7", "possible": "0-7", "present": "0-7", "isolated": ""})
    for c in range(8):
        threads = [c % 4, c % 4 + 4]
        topology(t, c, 0, c % 4, threads)
        for n, (level, kind, size) in enumerate([(1, "Data", "32K"), (2, "Unified", "1024K")]):
            d = "%s/cpu%d/cache/index%d" % (CPU, c, n)
            t.puts(d, {"level": level, "type": kind, "size": size,
                       "shared_cpu_list": ranges(threads)})
        base = c % 4 // 2 * 2
        t.puts("%s/cpu%d/cache/index2" % (CPU, c), {"level": 3, "type": "Unified", "size": "32768K", "shared_cpu_list":
               "%d-%d,%d-%d" % (base, base + 1, base + 4, base + 5)})
    t.put(CPU + "/smt/active", 1)
    t.puts("sys/devices/system/clocksource/clocksource0",
           {"current_clocksource": "tsc", "available_clocksource": "tsc hpet acpi_pm "})
    kernel(t, "5.15.0-101-generic", "#111-Ubuntu SMP Tue Mar 5 20:16:58 UTC 2024", "web-5b7c", "quiet",
           "Alpine Linux v3.19")
    t.put("etc/os-release", "NAME='Alpine Linux'\nID=alpine\nVERSION_ID=3.19.1\n")
    meminfo(t, 1048576, 900000)
    stat(t, [0], [100, 0, 50, 100000, 0, 0, 0, 0, 0, 0])
    sysctls(t, {"somaxconn": 4096}, dict(IPV4, tcp_rmem="4096\t131072\t33554432"))
    t.put(".dockerenv", "")
    t.put("proc/1/comm", "nginx")
    t.put("proc/1/cgroup", "0::/")
    t.put("proc/self/cgroup", "0::/")
    t.put("proc/self/mountinfo",
          "1034 900 0:85 / / rw,relatime - overlay overlay rw,lowerdir=/l\n"
          "1035 1034 0:88 / /proc rw,nosuid - proc proc rw\n"
          "1040 1035 0:70 /proc/cpuinfo /proc/cpuinfo rw master:1 - fuse.lxcfs lxcfs rw,user_id=0\n"
          "1041 1035 0:70 /proc/stat /proc/stat rw master:1 - fuse.lxcfs lxcfs rw,user_id=0\n"
          "1042 1035 0:88 /sys /proc/sys ro,nosuid - proc proc rw\n"
          "1043 1035 0:5 /null /proc/interrupts rw,nosuid - devtmpfs udev rw")
    t.puts("sys/fs/cgroup", {"cpu.max": "150000 100000", "cpu.weight": 100,
                             "cpu.stat": "usage_usec 9\nnr_periods 5000\nnr_throttled 410\nthrottled_usec 77"})
    net(t, "eth0", {"ifindex": 77, "speed": 10000, "duplex": "full"}, rx=["00000000,00000000"],
        tx=["00000000,00000000"])


def old():
    """Linux 2.6.32: masks only, no clocksource list worth the name, no vulnerabilities, no queues, PIO-era e1000."""
    t = Tree("inv-old")
    cpus = [0, 1, 2, 3]
    info = ""
    for c in cpus:
        info += ("processor\t: %d\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 15\n"
                 "model name\t: Intel(R) Core(TM)2 Quad CPU    Q6600  @ 2.40GHz\nstepping\t: 11\n"
                 "cpu MHz\t\t: 2400.000\nphysical id\t: 0\nsiblings\t: 4\ncore id\t\t: %d\ncpu cores\t: 4\n"
                 "flags\t\t: %sarch_perfmon\n\n" % (c, c, X86_FLAGS))
    t.put("proc/cpuinfo", info)
    for c in cpus:
        topology(t, c, 0, c, [c], lists=False)
        cache(t, c, 0, 1, "Data", "32K", [c], lists=False)
        cache(t, c, 1, 1, "Instruction", "32K", [c], lists=False)
        cache(t, c, 2, 2, "Unified", "4096K", [c // 2 * 2, c // 2 * 2 + 1], lists=False)
        t.puts("%s/cpu%d/cpufreq" % (CPU, c), {
            "scaling_governor": "ondemand", "scaling_driver": "acpi-cpufreq", "scaling_min_freq": 1596000,
            "scaling_max_freq": 2394000, "cpuinfo_max_freq": 2394000})
    t.puts(CPU, {"online": "0-3", "possible": "0-3", "present": "0-3"})
    t.puts("sys/devices/system/clocksource/clocksource0",
           {"current_clocksource": "acpi_pm", "available_clocksource": "tsc hpet acpi_pm "})
    t.put("proc/version", "Linux version 2.6.32-754.el6.x86_64 (mockbuild@example) (gcc version 4.4.7) #1 SMP "
                          "Tue Jun 19 21:26:04 UTC 2018")
    t.put("proc/cmdline", "ro root=/dev/sda1 rhgb quiet")
    t.put("etc/hostname", "legacy.example.org")
    meminfo(t, 8058560)
    stat(t, cpus, [11200, 5, 9300, 981000, 700, 12, 1500, 0, 0])
    core = {k: CORE[k] for k in ("rmem_default", "wmem_default", "netdev_max_backlog", "netdev_budget",
                                 "dev_weight", "somaxconn")}
    sysctls(t, dict(core, rmem_max=131071, wmem_max=131071),
            {k: IPV4[k] for k in ("tcp_rmem", "tcp_wmem", "tcp_mem", "tcp_congestion_control", "tcp_sack",
                                  "tcp_available_congestion_control", "tcp_timestamps", "tcp_window_scaling")})
    t.puts("sys/class/dmi/id", {"sys_vendor": "System manufacturer", "product_name": "P5K"})
    pci = "sys/devices/pci0000:00/0000:00:19.0"
    t.puts(pci, {"numa_node": -1, "irq": 28})
    t.link(pci + "/driver", "../../../bus/pci/drivers/e1000e")
    t.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:19.0")
    net(t, "eth0", {"ifindex": 2, "operstate": "unknown", "features": "0x1103a9"})
    irq(t, 28, "eth0", cpus, lists=False)


for make in (x86_2s, arm64, vm, container, old):
    make()
