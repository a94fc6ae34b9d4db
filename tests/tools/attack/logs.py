#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py: who has the server write lines to its log.

    logs.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]

In the environment attack.test tells both logs, and where the gateway is.
"""

import os
import re
import resource
import socket
import struct
import time

import attack
from attack import (ENDED, PID, PORT, Attack, Peer, check, many_hosts,
                    stats, tcp, until, v2)

LOG = os.environ["ATTACK_LOG"]
GATEWAY = int(os.environ["ATTACK_GATEWAY_PID"])
GATEWAY_PORT = int(os.environ["ATTACK_GATEWAY"].rsplit(":", 1)[1])
GATEWAY_LOG = os.environ["ATTACK_GATEWAY_LOG"]
# Thirty lines of a host at once, 100 of all; later at most
# five each second, and for each of those one that tells how many were left
# out. With 300 octets for each, and no more than that however long it takes.
LINE, BURST, RATE = 300, 200, 10


def no_error(p):
    """An ERROR of a code that there is not: it is never answered."""
    p.xid += 1
    return struct.pack(">5I", p.xid, 2, p.credit, v2.ERROR, 4096)


class Logs(Attack):
    """Provokes lines for SECONDS at least, while the good client works."""

    SECONDS = 5
    log = LOG

    def begin(self):
        self.size = os.path.getsize(self.log)
        self.began = time.monotonic()
        self.sent = 0

    def written(self):
        with open(self.log, "rb") as f:
            f.seek(self.size)
            return f.read()

    def limit(self):
        until(lambda: time.monotonic() - self.began > self.SECONDS,
              self.SECONDS + 1)
        took = time.monotonic() - self.began
        text = self.written()
        self.note = " %d provoked, %d lines, %d octets a second," % (
            self.sent, text.count(b"\n"), len(text) / took)
        check(len(text) < LINE * (BURST + RATE * took),
              "%d octets in %.1f s" % (len(text), took))
        self.judge(text)

    def judge(self, text):
        """How many were left out is known, once that may be said."""
        check(until(lambda: re.search(rb"\d+ more lines? left out",
                                      self.written()), 60),
              "it is not told what was left out")


class LogOne(Logs):
    """One connection, with ERRORs that are none: a warning for each."""

    def begin(self):
        super().begin()
        self.peer = Peer(tcp("127.0.0.2"))
        self.hold = [self.peer]

    def turn(self):
        p = self.peer
        try:
            for _ in range(500):
                p.credit = p.got() + 48
                while p.limit <= p.sent():
                    p.limit = v2.Header(p.recv()).credit
                p.send(no_error(p))
                self.sent += 1
        except ENDED:
            self.stop.wait(0.1)


class LogDenied(LogOne):
    """One connection, with RPC of another version and credentials that are too
    long: one line, and none of Ganesha's decoder."""

    def turn(self):
        p = self.peer
        try:
            for i in range(500):
                p.credit = p.got() + 48
                while p.limit <= p.sent():
                    p.limit = v2.Header(p.recv()).credit
                p.msg(v2.CALL_INLINE, payload=struct.pack(
                    ">8I", p.xid + 1, 0, 2 + i % 2, 100003, 4, 0, 1,
                    401 + i) + bytes(404 + i))
                self.sent += 1
        except ENDED:
            self.stop.wait(0.1)

    def judge(self, text):
        check(text.count(b"\n") < 10, "%d lines" % text.count(b"\n"))
        check(text.count(b"Call refused") == 1, "it is not told")


class LogShort(Logs):
    """Short connections of one host, each with lines of its own."""

    def source(self):
        return "127.0.0.2"

    def turn(self):
        p = None
        try:
            p = Peer(tcp(self.source()))
            for _ in range(8):
                p.send(no_error(p))
                self.sent += 1
            # As much as ends it, with a warning.
            for _ in range(200):
                p.msg(v2.CALL_INLINE, payload=b"\0" * 4)
            p.quiet(0.05)
        except ENDED:
            pass
        finally:
            if p:
                p.close(True)


class LogHosts(LogShort):
    """The same, each from another host."""

    def source(self):
        return many_hosts(self.turns)


class LogNoClient(Logs):
    """One host sends what is no MPA request; then another one does, too."""

    def turn(self):
        self.send_http("127.0.0.8")

    def send_http(self, source):
        try:
            with tcp(source) as s:
                s.settimeout(1)
                s.sendall(b"GET / HTTP/1.1\r\n\r\n" * 4)
                self.sent += 1
                s.recv(1)
        except OSError:
            pass

    def judge(self, text):
        self.send_http("127.0.0.9")
        check(until(lambda: b"MPA request from 127.0.0.9:" in self.written(),
                    10), "the other host's line was left out")


class LogDescriptors(Logs):
    """Clients that come while all descriptors are in use. Ganesha opens its
    log for each line, and so has none then."""

    pid, port = PID, PORT

    def begin(self):
        super().begin()
        most = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir("/proc/%d/fd" % self.pid))
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (used, most[1]))
        socks = []
        try:
            while time.monotonic() - self.began < self.SECONDS:
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(("127.0.0.1", self.port))
                socks.append(s)
                self.sent += 1
                time.sleep(0.005)
            super().limit()
        finally:
            for s in socks:
                s.close()
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, most)
        # Those that it still takes are ended, and their connections are.
        check(until(lambda: stats()["connections_now"] < 10, 60),
              "they are still there")

    def limit(self):
        """It has been judged; the good client comes afterwards."""

    def judge(self, text):
        pass


class LogGatewayDescriptors(LogDescriptors):
    """The same for the gateway."""

    pid, port, log = GATEWAY, GATEWAY_PORT, GATEWAY_LOG

    def judge(self, text):
        check(b"accept: " in text, "no shortage was seen")


class LogGateway(Logs):
    """Clients of the gateway that send a record which is none, and again."""

    log = GATEWAY_LOG

    def turn(self):
        try:
            with socket.create_connection(("127.0.0.1", GATEWAY_PORT)) as s:
                s.settimeout(1)
                s.sendall(b"\x80\0\0\x04abcd")
                self.sent += 1
                s.recv(1)
        except OSError:
            pass


# LogHosts uses up the lines of all hosts together.
ATTACKS = (LogNoClient, LogOne, LogDenied, LogShort, LogHosts, LogDescriptors,
           LogGateway, LogGatewayDescriptors)

if __name__ == "__main__":
    attack.main(ATTACKS)
