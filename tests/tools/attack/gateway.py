#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP clients that want all of a gateway for themselves, and one that is good.

    gateway.py PID STATS TCP-PORT - [ATTACK...]

PID, STATS and TCP-PORT are the gateway's. For each attack: what the good client
reads in a second when it is alone, when the attack begins, and some time
later; and the gateway's memory and descriptors. The good client must never be
ended, or be refused, and everything must be given back. Rates are printed, not
judged. The output is that of attack.py.
"""

import os
import socket
import struct
import subprocess
import sys
import time
import traceback

import attack
from attack import (ENDED, MB, PID, PORT, Attack, Wrong, check, descriptors,
                    nfs4_read, rpc, stats, status, tcp, until)

# How long the good client works beside an attack, and what is looked at: the
# first and the last seconds. Between is GW_TURN_SECONDS (src/gateway/disconnect.h).
# It works as fast as it can in the first and the last FAST of them, or in all that is
# looked at where rates are asked for, and at its leisure else: PAUSE seconds after each
# Reply.
BESIDE = int(os.environ.get("ATTACK_SECONDS", "12"))
WINDOW = 3
FAST = WINDOW if os.environ.get("ATTACK_RUNS", "0") != "0" else 1
PAUSE = 0.05
DEPTH = 8
RECORD = 2 * MB


def mark(n, last=True):
    return struct.pack(">I", n | (last << 31))


def call(msg):
    return mark(len(msg)) + msg


# ---- The good client, a process of its own ---------------------------------

def good_connect():
    """One that is ended or refused shows so at the latest by its Reply."""
    s = socket.socket()
    s.settimeout(120)
    s.connect(("127.0.0.1", PORT))
    s.sendall(call(rpc(1, 100003, 4, 0)))
    if not s.recv(4096):
        raise ConnectionResetError("the end instead of a Reply")
    return s


def exactly(s, buf, n):
    got = 0
    while got < n:
        k = s.recv_into(memoryview(buf)[got:n])
        if not k:
            raise ConnectionResetError("the end")
        got += k


def good(seconds):
    """READs of 1 MiB: octets in each second, and how often it was ended."""
    buf = bytearray(4 * MB)
    begin = time.monotonic()
    done = [0] * (seconds + 1)
    ended = 0
    s, due, xid = None, 0, 7
    while time.monotonic() - begin < seconds:
        try:
            if s is None:
                s, due = good_connect(), 0
            while due < DEPTH:
                xid += 1
                s.sendall(call(nfs4_read(xid, xid % 60 * MB, MB)))
                due += 1
            exactly(s, buf, 4)
            n = struct.unpack(">I", buf[:4])[0] & 0x7fffffff
            exactly(s, buf, n)
            due -= 1
            if n < MB:
                raise OSError("a Reply of %d octets" % n)
            at = int(time.monotonic() - begin)
            done[min(at, seconds)] += n
            if FAST <= at < seconds - FAST:
                time.sleep(PAUSE)
        except OSError as e:
            sys.stderr.write("%.1f s: %s\n" % (time.monotonic() - begin, e))
            ended += 1
            if s:
                s.close()
            s = None
            time.sleep(0.2)
    if s:
        s.close()
    print(ended, *done[:seconds])


class Good:
    def __init__(self, seconds):
        self.p = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:5], "--good", str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self):
        """(times ended, octets of each second)"""
        out, self.err = self.p.communicate(timeout=600)
        ended, *done = map(int, out.split())
        return ended, done


def rate(done):
    return sum(done) / len(done) / MB


# ---- The others ------------------------------------------------------------

class Many(Attack):
    """Clients that are made again when they have been ended."""

    count = 9
    rcvbuf = 4096
    again = False
    may_refuse = False  # at first: then the good client tries again

    def begin(self):
        self.hold, self.pending, self.ended = [], {}, 0
        for _ in range(self.count):
            self.one()

    def one(self):
        try:
            s = tcp("127.0.0.2", self.rcvbuf)
            s.setblocking(False)
            self.hold.append(s)
            self.pending[s] = memoryview(self.what())
            self.push(s)
        except ENDED:
            self.ended += 1

    def what(self):
        return b""

    def push(self, s, most=1 << 30):
        """As much of what it has to send as goes now. False: it is gone."""
        try:
            while self.pending[s]:
                n = s.send(self.pending[s][:min(most, 1 << 20)])
                self.pending[s] = self.pending[s][n:]
                if n >= most:
                    break
        except BlockingIOError:
            pass
        except OSError:
            self.gone(s)
            return False
        return True

    def gone(self, s):
        self.ended += 1
        self.hold.remove(s)
        del self.pending[s]
        s.close()

    def step(self, s):
        self.push(s)

    def turn(self):
        for s in list(self.hold):
            self.step(s)
        while self.again and len(self.hold) < self.count and (
                not self.stop.is_set()):
            self.one()
        self.stop.wait(0.1)

    def limit(self):
        self.note += " %d ended," % self.ended


READS = b"".join(call(nfs4_read(i, i % 60 * MB, MB)) for i in range(128))


LONG = call(rpc(5, 100003, 3, 7, struct.pack(">3I", 8, 0, 0) +
                struct.pack(">QIII", 0, 64 * MB, 2, 64 * MB) + bytes(64 * MB)))


class SlowReaders(Many):
    """Nine clients ask for 128 MiB each, and read 20 KB/s."""

    def what(self):
        return READS

    def step(self, s):
        try:
            if not s.recv(2000):
                return self.gone(s)
        except BlockingIOError:
            pass
        except OSError:
            return self.gone(s)
        return self.push(s)


class NeverRead(Many):
    """Nine clients ask for 128 MiB each, and read nothing."""

    def what(self):
        return READS

    def limit(self):
        check(until(lambda: stats()["clients"] == 0, 120), "they are not ended")
        super().limit()


class HalfClosed(NeverRead):
    """The same, and they send no more: what is due may still be taken."""

    closed = ()

    def step(self, s):
        if self.push(s) and not self.pending[s] and s not in self.closed:
            s.shutdown(socket.SHUT_WR)
            self.closed = (*self.closed, s)


class Unfinished(Many):
    """250 records of 2 MiB without their last octet."""

    count = 250
    rcvbuf = None

    def what(self):
        return mark(RECORD) + bytes(RECORD - 1)


class UnfinishedAgain(Unfinished):
    """The same, and each is sent again when its client has been ended."""

    again = True


class Crumbs(Many):
    """250 records of 2 MiB, an octet at a time."""

    count = 250
    rcvbuf = None

    def what(self):
        return mark(RECORD) + bytes(RECORD)

    def step(self, s):
        self.push(s, 1)


class Largest(Many):
    """40 clients send Calls of 2 MiB, one after the other."""

    count = 40
    rcvbuf = None
    again = True

    def what(self):
        return call(rpc(5, 100003, 4, 0, bytes(RECORD)))

    def step(self, s):
        try:
            if not s.recv(1 << 20):
                return self.gone(s)
        except BlockingIOError:
            pass
        except OSError:
            return self.gone(s)
        if self.push(s) and not self.pending[s]:
            self.pending[s] = memoryview(self.what())
        return True


class Longest(Largest):
    """40 clients send WRITEs of 64 MiB, of which 2 MiB pass on."""

    def what(self):
        return LONG

    def limit(self):
        super().limit()
        n = stats()["gateway"]["writes_shortened"]
        self.note += " %d WRITEs in part," % n
        check(n, "none passed on")


class Idle(Many):
    """Twice as many clients as there may be, which say nothing."""

    count = 512
    rcvbuf = None

    def begin(self):
        super().begin()
        # For the first second nobody counts as idle.
        time.sleep(2)

    def limit(self):
        super().limit()
        s = stats()
        self.note += " %d at once," % s["clients"]
        check(s["clients"] <= 256 + 20, "%d at once" % s["clients"])


class Places(Many):
    """A host wants all places, and a NULL every 0.9 s keeps it from being idle."""

    count = 300
    rcvbuf = None
    again = True
    call = call(rpc(1, 100003, 4, 0))

    def begin(self):
        self.quiet = [tcp("127.0.0.%d" % i) for i in range(3, 7)]
        self.sent = {}
        super().begin()
        check(until(lambda: stats()["clients"] == 256, 20),
              "%d clients" % stats()["clients"])
        # The quiet ones have been idle for longest by now.
        end = time.monotonic() + 2
        while time.monotonic() < end:
            self.turn()

    def what(self):
        return self.call

    def step(self, s):
        now = time.monotonic()
        try:
            if not s.recv(4096):
                return self.gone(s)
        except BlockingIOError:
            pass
        except OSError:
            return self.gone(s)
        if now > self.sent.get(s, 0) + 0.9 and not self.pending[s]:
            self.sent[s] = now
            self.pending[s] = memoryview(self.what())
        return self.push(s)

    def served(self, s):
        try:
            s.sendall(self.call)
            return s.recv(4096)
        except ENDED:
            return b""

    def limit(self):
        super().limit()
        check(all(map(self.served, self.quiet)), "an idle client was ended")
        new = [tcp("127.0.0.%d" % i) for i in range(7, 27)]
        served = sum(bool(self.served(s)) for s in new)
        self.note += " %d of 20 new hosts served," % served
        check(served == 20, "%d of 20 new hosts served" % served)
        for s in new + self.quiet:
            s.close()


class Storm(Many):
    """Clients that connect and go, some with a Call, as fast as they can."""

    count = 0
    may_refuse = True

    def turn(self):
        s = None
        try:
            s = tcp("127.0.0.2")
            if self.turns % 3:
                s.sendall(call(nfs4_read(1, 0, MB)))
        except ENDED:
            self.ended += 1
        finally:
            if s:
                s.close()


ATTACKS = (SlowReaders, NeverRead, HalfClosed, Unfinished, UnfinishedAgain,
           Crumbs, Largest, Longest, Idle, Places, Storm)


def given_back():
    s = stats()
    return (s["clients"] == 0 and s["transport"]["connections_now"] == 0 and
            s["transport"]["pool"]["bytes_in_use"] == 0)


def run(kind, alone):
    one = kind()
    before, fds = status("VmRSS"), descriptors()

    def work():
        good_one = Good(BESIDE)
        ended, done = good_one.result()
        print("# %-16s good %d MB/s alone, %d at first, %d later; ended %d "
              "times" % (kind.__name__, alone, rate(done[:WINDOW]),
                         rate(done[-WINDOW:]), ended))
        sys.stdout.flush()
        check(not ended or one.may_refuse,
              "the good client was ended: %.300s" % good_one.err)
        check(sum(done[-WINDOW:]), "the good client does not go on")
        one.limit()

    peak = attack.beside(one, work, given_back)
    check(until(lambda: descriptors() <= fds, 30), "%d descriptors, not %d" %
          (descriptors(), fds))
    s = stats()["gateway"]
    print("# %-16s%s %d overdue, %d evicted, %d gave way so far; RSS %d, at "
          "most %d, then %d MB" %
          ("", one.note, s.get("overdue", 0), s.get("evictions", 0),
           s.get("gave_way", 0), before // MB, peak // MB,
           status("VmRSS") // MB))


def main():
    wanted = sys.argv[5:]
    if wanted[:1] == ["--good"]:
        good(int(wanted[1]))
        return
    attack.resource.setrlimit(attack.resource.RLIMIT_NOFILE, (8192, 8192))
    failed = False
    Good(1).result()
    ended, done = Good(WINDOW).result()
    alone = rate(done)
    print("# %-16s good %d MB/s, ended %d times" % ("none", alone, ended))
    for kind in ATTACKS:
        if wanted and kind.__name__ not in wanted:
            continue
        try:
            run(kind, alone)
            print("ok gateway-attack-%s" % kind.__name__)
        except Exception as e:  # pylint: disable=broad-except
            failed = True
            if not isinstance(e, Wrong):
                traceback.print_exc(file=sys.stdout)
            print("not ok gateway-attack-%s %s" % (
                kind.__name__, str(e).replace("\n", " ")))
        sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
