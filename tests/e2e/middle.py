# SPDX-License-Identifier: GPL-2.0-or-later
"""A host in the middle that loses, doubles and delays datagrams by a plan, and says exactly what it did: run as a program
in its own network namespace, between two interfaces. It hands every other frame on as it is.

    middle.py LEFT RIGHT PAYLOAD [lose=N] [double=N] [swap=N]

Of the UDP datagrams with so many bytes of payload that come from LEFT, every Nth is lost, sent twice, or held back until
two more have passed. SIGTERM ends it: it then prints what it did as JSON.
"""
import json
import select
import signal
import socket
import struct
import sys

ETH_P_ALL = 3


def open_port(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind((name, 0))
    return s


def is_data(frame, payload):
    kind = struct.unpack_from('!H', frame, 12)[0]
    if kind == 0x0800:
        return frame[23] == 17 and struct.unpack_from('!H', frame, 16)[0] == 20 + 8 + payload
    if kind == 0x86dd:
        return frame[20] == 17 and struct.unpack_from('!H', frame, 18)[0] == 8 + payload
    return False


class Plan:
    def __init__(self, out, every):
        self.out, self.every = out, every
        self.done = {'seen': 0, 'lose': 0, 'double': 0, 'swap': 0}
        self.held, self.passed = None, 0

    def turn(self, what):
        n = self.every.get(what, 0)
        if not n or self.done['seen'] % n:
            return False
        self.done[what] += 1
        return True

    def release(self):
        if self.held is not None:
            self.out.send(self.held)
            self.done['swap'] -= not self.passed  # overtaken by nothing, so in order after all
        self.held = None

    def take(self, frame):
        self.done['seen'] += 1
        if self.turn('lose'):
            return
        if self.held is None and self.turn('swap'):
            self.held, self.passed = frame, 0
            return
        self.out.send(frame)
        if self.turn('double'):
            self.out.send(frame)
        self.passed += 1
        if self.passed == 2:
            self.release()


def main():
    left, right = open_port(sys.argv[1]), open_port(sys.argv[2])
    payload = int(sys.argv[3])
    plan = Plan(right, {k: int(v) for k, v in (a.split('=') for a in sys.argv[4:])})
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    print('ready', flush=True)
    while not stop:
        for s in select.select([left, right], [], [], 0.2)[0]:
            frame, address = s.recvfrom(65536)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            if s is left and is_data(frame, payload):
                plan.take(frame)
            else:
                if s is left:
                    plan.release()  # what ends the stream does not overtake it
                (right if s is left else left).send(frame)
    plan.release()
    print(json.dumps(plan.done), flush=True)


main()
