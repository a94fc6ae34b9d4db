#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Peers that want all of a server for themselves, and one that is good.

    attack.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]

For each attack: how many Calls a second the good command gets answered alone,
while it goes on, and beside a control (good.py); and the memory of the server (VmRSS: before,
peak, after). The good command must succeed, the limit must hold, and everything
must be given back. Rates are printed, not judged. Prints "ok NAME", "not ok
NAME reason", and lines "# ...".

More attacks are in files of their own, which take from here what they need and
call main(); attack.test tells what it has in the environment for them.
"""

import json
import os
import random
import resource
import socket
import struct
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "conformance"))
# pylint: disable=wrong-import-position
import good  # noqa: E402
from rpcrdma_conformance import v2  # noqa: E402
from rpcrdma_conformance.iwarp import (Closed, Iwarp, REP_KEY,  # noqa: E402
                                       REQ_KEY, Refused, Silence, TERM)

PID, STATS, PORT, GOOD = (int(sys.argv[1]), sys.argv[2], int(sys.argv[3]),
                          sys.argv[4])
MB = 1 << 20
# What attack.test configures; docs/security.md tells the defaults.
MAX_MEMORY, HOST_MEMORY, HOST_CONNS, HALF_OPEN = 256 * MB, 64 * MB, 64, 256
STARTUP = 3
# For each connection. Ganesha with ThreadSanitizer reads a hundred times slower.
READS = int(os.environ.get("ATTACK_READS", "60"))
# Beside the pool: sockets' own state and staging, Replies on their way, the
# allocator. Nothing an attack does may take more.
# Of the pool; the Receives of its connections are beside a host's share.
IN_USE = HOST_MEMORY + HOST_CONNS * 65 * 4096 + 16 * MB
WORKERS = 256  # each may be at a Reply of 1 MiB when the limit is reached
# A Reply is 1 MiB, and half as much for what the allocator makes of it.
RSS_BOUND = MAX_MEMORY + HOST_MEMORY + (HOST_CONNS + WORKERS) * MB * 3 // 2
if "ASAN_OPTIONS" in os.environ:
    RSS_BOUND += 256 * MB  # that it keeps of what has been freed
ENDED = (Closed, Silence, Refused, OSError)


def status(field):
    with open("/proc/%d/status" % PID, encoding="ascii") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise KeyError(field)


def descriptors():
    return len(os.listdir("/proc/%d/fd" % PID))


def stats():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(STATS)
    with s.makefile("rb") as f:
        return json.loads(f.read())


def until(cond, seconds):
    end = time.monotonic() + seconds
    while not cond():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


class Wrong(Exception):
    pass


def check(cond, text):
    if not cond:
        raise Wrong(text)


def tcp(source, rcvbuf=None):
    s = socket.socket()
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.bind((source, 0))
    s.settimeout(10)
    s.connect(("127.0.0.1", PORT))
    return s


def many_hosts(n):
    return "127.%d.%d.%d" % (2 + n // 60000, n // 250 % 240, 1 + n % 250)


class Peer(Iwarp):
    """A version 2 client that keeps to nothing."""

    def __init__(self, sock, greet=True):
        super().__init__(sock)
        self.patience = 10
        sock.sendall(self.frame(REQ_KEY, crc=False))
        try:
            flags, _ = self._read_frame(REP_KEY)
        except Closed:
            raise Refused("closed during start-up") from None
        if flags & 0x20:
            raise Refused("rejected")
        self.crc = bool(flags & 0x40)
        self.xid = random.getrandbits(31)
        self.credit = 48
        if greet:
            self.msg(v2.PROP_FINAL, props=((v2.RBSIZ, 65536),))
            self.limit = v2.Header(self.recv()).credit

    def sent(self):
        return self._msn_out[0]

    def got(self):
        return self._msn_in[0] - 1

    def msg(self, htype, **fields):
        self.xid += 1
        self.send(v2.encode(htype, self.xid, self.credit, **fields))
        return self.xid


def gather(n, make):
    """Up to @n of what @make(i) gives, and how many failed."""
    out, failed = [], 0
    for i in range(n):
        try:
            out.append(make(i))
        except ENDED:
            failed += 1
    return out, failed


def auth_sys():
    body = struct.pack(">II", 0, 1) + b"x\0\0\0" + struct.pack(">III", 0, 0, 0)
    return struct.pack(">II", 1, len(body)) + body + struct.pack(">II", 0, 0)


def rpc(xid, prog, vers, proc, args=b""):
    return struct.pack(">6I", xid, 0, 2, prog, vers, proc) + auth_sys() + args


def name(text):
    b = text.encode()
    return struct.pack(">I", len(b)) + b + bytes(-len(b) % 4)


def nfs4_read(xid, offset, count):
    """PUTROOTFH, LOOKUP twice, READ with the anonymous stateid."""
    return rpc(xid, 100003, 4, 1, name("") + struct.pack(">II", 0, 4) +
               struct.pack(">I", 24) + struct.pack(">I", 15) +
               name("export") + struct.pack(">I", 15) + name("large") +
               struct.pack(">I", 25) + bytes(16) +
               struct.pack(">QI", offset, count))


def nfs3_write_head(xid, count):
    """A WRITE without its data: the chunk is to bring them."""
    return rpc(xid, 100003, 3, 7, struct.pack(">I", 8) + bytes(8) +
               struct.pack(">QIII", 0, count, 0, count))


class Attack:
    """begin() sets it up; turn() goes on with it, in a thread, until stopped;
    limit() looks whether it held; end() lets go."""

    hold = ()

    def __init__(self):
        self.stop = threading.Event()
        self.going = threading.Event()
        self.going.set()
        self.turns = 0
        self.note = ""
        self.base_fds = self.most_fds = descriptors()

    def begin(self):
        pass

    def turn(self):
        time.sleep(0.05)

    def pause(self):
        """No turn more; one may still be going on."""
        self.going.clear()

    def go_on(self):
        self.going.set()

    @property
    def pauses(self):
        """Is all of it turns, and not what it holds?"""
        return type(self).turn is not Attack.turn

    def limit(self):
        pass

    def end(self):
        for p in self.hold:
            try:
                if isinstance(p, Iwarp):
                    p.close(True)
                else:
                    p.close()
            except OSError:
                pass

    def few_descriptors(self, most):
        """Now, and when it began: time has passed since."""
        now = max(descriptors(), self.most_fds) - self.base_fds
        self.note += " %d descriptors more," % now
        check(now <= most, "%d descriptors more, not %d" % (now, most))


class SlowStartup(Attack):
    """600 hosts send an octet of their MPA request now and then."""

    def begin(self):
        self.hold, _ = gather(600, lambda i: tcp(many_hosts(i)))

    def turn(self):
        at = self.turns % 20
        for s in self.hold:
            try:
                s.send(REQ_KEY[at % 16:at % 16 + 1])
            except OSError:
                pass
        time.sleep(0.1)

    def limit(self):
        self.few_descriptors(HALF_OPEN + 40)


class HalfOpen(Attack):
    """4000 TCP connections of one host that say nothing."""

    def begin(self):
        self.before = stats()["failed_starts"]
        self.hold, _ = gather(4000, lambda i: tcp("127.0.0.2"))

    def limit(self):
        # Each that has gone is counted, once; and so may be those that the attack
        # before had half-open.
        many = len(self.hold)
        check(until(lambda: stats()["failed_starts"] - self.before >=
                    many - HALF_OPEN // 4, 30) and
              stats()["failed_starts"] - self.before <= many + HALF_OPEN,
              "%d of %d counted" % (
                  stats()["failed_starts"] - self.before, many))
        self.few_descriptors(HALF_OPEN // 4 + 40)


class Silent(Attack):
    """One host makes 300 connections and sends no first message."""

    def begin(self):
        self.hold, self.refused = gather(
            300, lambda i: Peer(tcp("127.0.0.2"), greet=False))
        # Should that take longer than STARTUP, the first have made room.
        self.there = stats()["connections_now"]

    def limit(self):
        self.note = " %d of 300 refused," % self.refused
        check(self.there < HOST_CONNS + 10, "%d are there" % self.there)
        check(self.refused > 0, "none was refused")
        self.few_descriptors(HOST_CONNS + 40)
        check(until(lambda: stats()["connections_now"] < 10, 60),
              "they are still there")


class MostConnections(Attack):
    """One host makes 300 connections and exchanges properties on each."""

    def begin(self):
        self.hold, self.refused = gather(
            300, lambda i: Peer(tcp("127.0.0.2")))

    def limit(self):
        self.note = " %d of 300 refused," % self.refused
        check(len(self.hold) == HOST_CONNS, "%d made" % len(self.hold))


class Counts(Attack):
    """Headers with the largest counts and lengths there can be."""

    forms = (
        # Reads, Write chunks, Reply chunk: the words after rdma_inv_handle.
        (0, 1, 0xffffffff), (0, 0, 1, 0xffffffff), (0, 0, 1, 0x10000000),
        (0, 1, 1, 5, 0xffffffff, 0, 0, 0, 0, 0),
        (0, 0, 1, 1, 5, 0xffffffff, 0, 0), (1, 0xffffffff, 5, 0xffffffff,
                                            0, 0, 0, 0, 0, 0),
        (1, 4, 5, 0xffffffff, 0, 0) * 100 + (0, 0, 0),
        (0,) + (1, 0) * 400 + (0, 0))

    def turn(self):
        p = None
        try:
            p = Peer(tcp("127.0.0.2"))
            for words in self.forms:
                for htype in (v2.CALL_INLINE, v2.CALL_EXTERNAL,
                              v2.REPLY_EXTERNAL, v2.PROP_MIDDLE):
                    p.xid += 1
                    p.send(struct.pack(">%dI" % (5 + len(words)), p.xid, 2,
                                       p.credit, htype, 0, *words)[:4096])
                    p.credit += 1
                    p.quiet(0.02)
                    p.inbox.clear()
        except ENDED:
            pass
        finally:
            if p:
                p.close(True)


class Continuation(Attack):
    """One host has a message without end on each of its connections."""

    OCTETS = 2000000

    def begin(self):
        before = self.errors()
        self.hold, _ = gather(HOST_CONNS, lambda i: Peer(tcp("127.0.0.2")))
        for p in self.hold:
            # More than a message may have: refused at once.
            self.fragments(p, 0xfffffff0, 1)
            self.fragments(p, self.OCTETS, self.OCTETS // 4000 - 20)
        # One for each of the former, and one for each of the latter that goes
        # beyond what the host may have. Not all have been read by the peer.
        self.least = HOST_CONNS + HOST_CONNS - HOST_MEMORY // (
            self.OCTETS - 80000) - 1
        until(lambda: self.errors() - before >= self.least, 30)
        self.refused = self.errors() - before

    @staticmethod
    def errors():
        return stats()["totals"]["errors_sent"]

    @staticmethod
    def fragments(p, total, n):
        p.xid += 1
        for i in range(n):
            p.credit += 1
            p.send(v2.encode(v2.CALL_MIDDLE, p.xid, p.credit,
                             remaining=total - (i + 1) * 4000,
                             payload=struct.pack(">I", p.xid) + bytes(3996)))
            while n == 1 or p.limit < p.sent():
                h = v2.Header(p.recv())
                p.limit = h.credit
                if h.htype == v2.ERROR:
                    return

    def limit(self):
        used = stats()["pool"]["bytes_in_use"]
        self.note = " %d refused, %d MB of the pool in use," % (
            self.refused, used // MB)
        check(self.refused >= self.least, "only %d refused, not %d" %
              (self.refused, self.least))
        check(used <= IN_USE, "%d octets in use" % used)


class ReadsAnywhere(Attack):
    """Read chunks that name memory which is not there."""

    def turn(self):
        p = None
        try:
            p = Peer(tcp("127.0.0.2"))
            for _ in range(8):
                xid = p.xid + 1
                head = nfs3_write_head(xid, 65536)
                p.msg(v2.CALL_INLINE, payload=head, reads=[
                    v2.ReadSegment(len(head), random.getrandbits(32), 65536,
                                   random.getrandbits(64))])
            p.recv(1)
        except ENDED:
            pass
        finally:
            if p:
                p.close(True)


class ReadsUnanswered(Attack):
    """Read chunks of 1 MiB, 40 for each connection, never answered."""

    def begin(self):
        self.hold, _ = gather(HOST_CONNS, lambda i: Peer(tcp("127.0.0.2")))
        for p in self.hold:
            try:
                for _ in range(40):
                    head = nfs3_write_head(p.xid + 1, MB)
                    p.msg(v2.CALL_INLINE, payload=head, reads=[
                        v2.ReadSegment(len(head), 5, MB, 0)])
            except ENDED:
                pass

    def limit(self):
        used = stats()["pool"]["bytes_in_use"]
        self.note = " %d MB of the pool in use," % (used // MB)
        check(used <= IN_USE, "%d octets in use" % used)


class Untaken(Attack):
    """READs of 1 MiB whose Replies cannot go: READS for each connection."""

    rcvbuf = None
    chunks = False
    conns = HOST_CONNS

    def begin(self):
        self.waits = stats()["totals"]["reply_waits"]
        self.hold, _ = gather(self.conns, lambda i: Peer(
            tcp("127.0.0.2", self.rcvbuf)))
        sent = 0
        for p in self.hold:
            try:
                # As many as there are credits for, and no more of ours.
                p.credit = 2
                for i in range(READS):
                    writes = [[v2.Segment(7, MB, 0)]] if self.chunks else ()
                    p.msg(v2.CALL_INLINE, writes=writes,
                          payload=nfs4_read(p.xid + 1, i * MB, MB))
                    sent += 1
            except ENDED:
                pass
        self.note = " %d READs," % sent

    def limit(self):
        waits = stats()["totals"]["reply_waits"] - self.waits
        self.note += " %d times a Call waited," % waits
        check(waits, "no Call waited")


class Credits(Untaken):
    """Credits are never given back: READs of 1 MiB wait to be continued."""


class Late(Untaken):
    """No attack: more than Max_Host_Memory is read, but taken only later."""

    # Of so many not all can be at a worker before the first is answered.
    conns = min(HOST_CONNS, 2 * WORKERS // READS + 1)

    def limit(self):
        super().limit()
        for p in self.hold:
            left = {p.xid - i for i in range(READS)}
            size = 0
            while left:
                if p.got() + 16 > p.credit:
                    p.credit = p.got() + 48
                    p.msg(v2.GRANT)
                h = v2.Header(p.recv())
                size += len(h.payload)
                if h.htype != v2.REPLY_MIDDLE:
                    check(h.htype == v2.REPLY_INLINE, "an answer of type %d"
                          % h.htype)
                    check(size > MB, "a Reply of %d octets" % size)
                    left.remove(h.xid)
                    size = 0


class Window(Untaken):
    """The TCP window is closed: READs of 1 MiB by Write chunks."""

    rcvbuf = 4096
    chunks = True


class Terminates(Attack):
    """Connections that send a Terminate, one after the other."""

    def turn(self):
        try:
            p = Peer(tcp("127.0.0.2"))
            p.untagged(TERM, 2, 1, 0, struct.pack(">I", 0x11000000))
            p.close(self.turns % 2)
        except ENDED:
            pass


class Grants(Attack):
    """GRANTs without end, each of another value."""

    def begin(self):
        self.hold, _ = gather(8, lambda i: Peer(tcp("127.0.0.2")))
        self.sent = 0

    def turn(self):
        for i, p in enumerate(self.hold):
            try:
                for _ in range(50):
                    p.credit += 1
                    p.msg(v2.GRANT)
                    self.sent += 1
                p.quiet(0)
            except ENDED:
                try:
                    p.close(True)
                    self.hold[i] = Peer(tcp("127.0.0.2"))
                except ENDED:
                    pass

    def limit(self):
        self.note = " %d GRANTs," % self.sent


ATTACKS = (SlowStartup, HalfOpen, Silent, MostConnections, Counts,
           Continuation, ReadsAnywhere, ReadsUnanswered, Credits, Late,
           Window, Terminates, Grants)


def given_back():
    s = stats()
    return s["connections_now"] == 0 and s["pool"]["bytes_in_use"] == 0


def go_on(attack):
    while not attack.stop.is_set():
        attack.going.wait()
        attack.turn()
        attack.turns += 1


def beside(attack, work, back):
    """work() while the attack goes on; and afterwards back() must become true.
    The most that the process had, VmHWM."""
    thread = threading.Thread(target=go_on, args=(attack,), daemon=True)
    with open("/proc/%d/clear_refs" % PID, "w", encoding="ascii") as f:
        f.write("5")
    try:
        attack.begin()
        attack.most_fds = descriptors()
        thread.start()
        work()
    finally:
        attack.stop.set()
        attack.go_on()
        if thread.ident:
            thread.join(60)
        attack.end()
    peak = status("VmHWM")
    check(until(back, 60), "not all is given back: %r" %
          {k: v for k, v in stats().items()
           if k in ("connections_now", "pool", "clients", "transport")})
    return peak


def run(kind):
    attack = kind()
    level = good.level(GOOD, PID, attack)
    before = status("VmRSS")
    amid = None

    def work():
        nonlocal amid
        amid = good.Amid(GOOD, PID, attack, level)
        attack.limit()

    peak = beside(attack, work, given_back)
    after = status("VmRSS")
    print("# %-16s %s; %s%s RSS %d, at most %d, then %d MB" %
          (kind.__name__, good.told(GOOD, PID, amid),
           "%d turns," % attack.turns if attack.pauses else "",
           attack.note, before // MB, peak // MB, after // MB))
    check(peak - before <= RSS_BOUND, "%d MB more" % ((peak - before) // MB))


def main(attacks=ATTACKS):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    wanted = sys.argv[5:]
    failed = False
    for kind in attacks:
        if wanted and kind.__name__ not in wanted:
            continue
        try:
            run(kind)
            print("ok attack-%s" % kind.__name__)
        except Exception as e:  # pylint: disable=broad-except
            failed = True
            if not isinstance(e, (Wrong, good.Failed)):
                traceback.print_exc(file=sys.stdout)
            print("not ok attack-%s %s" % (kind.__name__,
                                           str(e).replace("\n", " ")))
        sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
