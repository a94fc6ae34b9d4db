#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients whose XIDs begin anew on each connection.

    xid.py data|objects|chunked|outstanding|held|waiting tcp|rdma PORT TCP-PORT MOUNT-PORT FOLDER

The server exports FOLDER as /export; PORT is its port for RDMA, or a gateway's for TCP.
By RDMA everything is done by version 1 and by version 2.

    data         A WRITE is sent with the XID, file handle, offset and length of another,
                 and other data: it is executed, whatever has become of the connection that
                 the other was sent by, wherever its data differ, and however they came.
    objects      MKDIR, CREATE and REMOVE have the XID and the arguments that they had on a
                 connection that has been closed in order. They are executed.
    chunked      A Call comes again by another connection, after the first has broken:
                 by other chunks, in other messages, with another stamp. It is the same
                 Call: its Reply is the first one, and nothing is done.
    outstanding  A connection is reset with a Call outstanding, or closed with a Reply that
                 the client has not looked at. When the Call comes again it has not been
                 executed twice.
    held         The server is slow. A connection is closed in order with a WRITE
                 outstanding, and the WRITE comes again: it is not executed after another
                 client's that came later.
    waiting      A Call comes again while it is being executed. When that has been done it is
                 answered: by TCP if it comes once more, by RDMA if it comes on another
                 connection, as this one is ended; a gateway sees to that.
"""

import fcntl
import os
import random
import select
import signal
import sys
import time

import nfsclient
from peers import Call, Gone, Tcp, Version1, Version2, REPLY, Silence, sys_cred
from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import u32, u64, opaque

SETATTR, WRITE, CREATE, MKDIR, REMOVE, RMDIR = 2, 7, 8, 9, 12, 13
LONG = 9000
CRED = sys_cred("xid", stamp=1)


class Hand:
    """Another client, whose changes the server knows of."""

    def __init__(self, tcp, mount):
        self.v3 = nfsclient.connect("3", "127.0.0.1", tcp, mount)
        self.v4 = nfsclient.connect("4.0", "127.0.0.1", tcp, mount)

    def make(self, name):
        """A file: its handles."""
        self.v3.put(name, b"")
        return self.handles(name)

    def handles(self, name):
        r = self.v4.at(name, [u32(rpc.GETFH)], "GETFH")
        return self.v3.lookup(name), self.v4.result(r, rpc.GETFH).opaque()

    def mkdir(self, name):
        self.v3.mkdir(name)

    def remove(self, name, proc=REMOVE):
        self.v3.nfs(proc, self.v3.parent(name), "removing " + name)

    def write(self, name, octets):
        self.v3.write(self.v3.lookup(name), octets, stable=2)

    def chmod(self, name, mode):
        self.v3.nfs(SETATTR, opaque(self.v3.lookup(name)) +
                    u32(1, mode, 0, 0, 0, 0, 0, 0), "chmod")

    def changed(self, name):
        """ctime, as NFS has it."""
        r = self.v3.nfs(1, opaque(self.v3.lookup(name)), "GETATTR")
        r.skip(76)
        return r.fixed(8)


class Bench:
    def __init__(self, kind, port, fh, folder, hand):
        self.kind, self.port, self.fh, self.folder = kind, port, fh, folder
        self.hand, self.open = hand, []
        # A host of its own: nothing is left of what another has done.
        self.address = "127.3.%d.%d" % (random.randrange(256), random.randrange(1, 255))

    def another(self):
        self.address = "127.3.%d.%d" % (random.randrange(256), random.randrange(1, 255))

    def connect(self):
        c = self.kind(self.port, self.address)
        self.open.append(c)
        return c

    def end(self):
        for c in self.open:
            try:
                c.close()
            except OSError:
                pass
        self.open = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write3(self, xid, fh, data, cred=CRED):
        head = rpc.call(xid, vers=3, proc=WRITE, cred=cred,
                        args=opaque(fh) + u64(0) + u32(len(data), 2, len(data)))
        return Call(head + data + bytes(-len(data) % 4), (len(head), len(data)))

    def write4(self, xid, fh, data, cred=CRED):
        head = rpc.compound(xid, [rpc.putfh(fh), rpc.write_head(0, len(data))], cred=cred)
        return Call(head + data + bytes(-len(data) % 4), (len(head), len(data)))

    def proc3(self, xid, proc, args, cred=CRED):
        return Call(rpc.call(xid, vers=3, proc=proc, args=args, cred=cred))

    def where(self, name):
        return opaque(self.fh) + opaque(name)


def status_of(reply):
    r = rpc.Reply(u32(0) + reply)
    assert r.ok, "denied %s, status %s" % (r.denied, r.stat)
    return r.r.u32()


WAYS = {"same": lambda c: c, "beside": lambda c: None, "broken": lambda c: c.break_off(),
        "closed": lambda c: c.close()}


def data(b):
    wrong = []
    name = "xid-%x" % random.getrandbits(40)
    for writer, fh in zip((b.write3, b.write4), b.hand.make(name)):
        for length, at in ((LONG, 0), (LONG, 300), (LONG, LONG - 1), (LONG, LONG // 2),
                           (600, 400), (600, 599), (200, 150)):
            one = random.randbytes(length)
            two = one[:at] + bytes([one[at] ^ 1]) + one[at + 1:]
            for form in writer(1, fh, one).forms(b.kind):
                if form[1] == REPLY:
                    continue
                for way, act in WAYS.items():
                    b.another()
                    c, got = b.connect(), []
                    try:
                        got.append(status_of(c.call(writer(1, fh, one), form)))
                        d = act(c) or b.connect()
                        got.append(status_of(d.call(writer(1, fh, two), form)))
                    except Silence:
                        got.append("none")
                    b.end()
                    there = read(b.path(name))[:length]
                    if got != [0, 0] or there != two:
                        wrong.append("%s of %d octets (%s), octet %d differs, %s: status %s, "
                                     "the file has %s" % (
                                         writer.__name__, length, form[0], at, way, got,
                                         "the first" if there == one else
                                         "the second" if there == two else "neither"))
    b.hand.remove(name)
    return wrong


def objects(b):
    wrong = []
    exclusive = u32(2) + random.randbytes(8)
    for what, proc, more in (("MKDIR", MKDIR, u32(1, 0o755, 0, 0, 0, 0, 0)),
                             ("CREATE", CREATE, u32(0, 1, 0o644, 0, 0, 0, 0, 0)),
                             ("CREATE GUARDED", CREATE, u32(1, 1, 0o644, 0, 0, 0, 0, 0)),
                             ("CREATE EXCLUSIVE", CREATE, exclusive),
                             ("REMOVE", REMOVE, b"")):
        name = "xid-%x" % random.getrandbits(40)
        b.another()
        for i in range(3):
            if proc == REMOVE:
                b.hand.make(name)
            c = b.connect()
            # What is done before does not make it another Call.
            for x in range(1, 4):
                c.call(Call(rpc.null(x)))
            got = status_of(c.call(b.proc3(4, proc, b.where(name) + more)))
            there = os.path.lexists(b.path(name))
            if got or there != (proc != REMOVE):
                wrong.append("%s on connection %d: status %d, the object is %s" % (
                    what, i, got, "there" if there else "not there"))
            c.close()
            if there:
                b.hand.remove(name, RMDIR if proc == MKDIR else REMOVE)
    return wrong


def chunked(b):
    wrong = []
    name = "xid-%x" % random.getrandbits(40)
    fh, _ = b.hand.make(name)
    one = random.randbytes(600)
    when = b.hand.changed(name)
    made = u32(1, 0o755, 0, 0, 0, 0, 0)

    def proc3(proc, args):
        return lambda xid, cred: b.proc3(xid, proc, args, cred)

    # What the Call is, and what is done behind it: that it is done again is then seen.
    for what, make, undo in (
            ("SETATTR", proc3(SETATTR, opaque(fh) + u32(1, 0o600, 0, 0, 0, 0, 0, 1) + when),
             lambda: b.hand.chmod(name, 0o640)),
            ("WRITE", lambda xid, cred: b.write3(xid, fh, one, cred),
             lambda: b.hand.write(name, b"other")),
            ("REMOVE", proc3(REMOVE, b.where(name)), lambda: b.hand.make(name)),
            ("MKDIR", proc3(MKDIR, b.where(name + "d") + made),
             lambda: b.hand.remove(name + "d", RMDIR)),
            ("CREATE EXCLUSIVE", proc3(CREATE, b.where(name + "x") + u32(2) + b"exclusiv"),
             lambda: b.hand.remove(name + "x"))):
        xid = random.getrandbits(31)
        b.another()
        b.connect()  # the host remains
        c = b.connect()
        call = make(xid, CRED)
        forms = call.forms(b.kind)
        first = c.call(call, forms[0])
        if status_of(first):
            wrong.append("%s: status %d" % (what, status_of(first)))
            continue
        undo()
        before = snapshot(b, name)
        for stamp in (1, 2):
            for form in forms:
                for way in ("broken", "beside", "same"):
                    if way == "broken":
                        c.break_off()
                    if way != "same":
                        c = b.connect()
                    again = c.call(make(xid, sys_cred("xid", stamp=stamp)), form)
                    now = snapshot(b, name)
                    if again != first or now != before:
                        wrong.append("%s again (%s, stamp %d), %s: status %d, %s" % (
                            what, "/".join(form), stamp, way, status_of(again),
                            "done again" if now != before else "another Reply"))
                        before = now
        b.end()
    if os.path.lexists(b.path(name)):
        b.hand.remove(name)
    return wrong


def snapshot(b, name):
    out = []
    for n in sorted(os.listdir(b.folder)):
        if n.startswith(name):
            s = os.stat(b.path(n))
            out.append((n, s.st_mode, s.st_ino, s.st_mtime_ns))
    return out


def answer(b, call):
    """The Reply; a Call that is being executed may get none as often as it comes again."""
    c = b.connect()
    for _ in range(20):
        try:
            c.send(call)
            return c.receive(call.xid, 2)
        except Silence:
            pass
        except Gone:
            # It had waited for the Call: call_drop() in ntirpc/svc_call.c.
            c = b.connect()
    raise Silence("no answer, however often it is sent")


def outstanding(b):
    wrong = []
    for i in range(40):
        name = "xid-%x" % random.getrandbits(40)
        b.another()
        c = b.connect()
        call = b.proc3(i, MKDIR, b.where(name) + u32(1, 0o755, 0, 0, 0, 0, 0))
        way = ("reset", "reset later", "unread")[i % 3]
        c.send(call)
        if way == "reset later":
            time.sleep(0.002 * (i % 5))
        if way == "unread":
            # TCP resets what is closed with octets that nobody has read.
            select.select([c.sock()], [], [], 20)
            c.sock().close()
        else:
            c.break_off()
        # A reset may have overtaken the Call, so that it was not executed before.
        got = status_of(answer(b, call))
        there = os.path.isdir(b.path(name))
        if got or not there:
            wrong.append("MKDIR again, %s: status %d, the object is %s" % (
                way, got, "there" if there else "not there"))
        b.end()
        if there:
            b.hand.remove(name, RMDIR)
    return wrong


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Slow:
    """A file that nobody else can open as long as this is held."""

    def __init__(self, b):
        self.name = "xid-%x" % random.getrandbits(40)
        self.path = b.path(self.name)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
        self.file = open(self.path, "wb")
        self.handles = b.hand.handles(self.name)
        fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)

    @staticmethod
    def opened():
        """Somebody opens it now, and waits."""
        assert signal.sigtimedwait([signal.SIGIO], 20), "the file is not opened"

    def let(self):
        fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        self.file.close()


def held(b):
    wrong = []
    for v4, writer in enumerate((b.write3, b.write4)):
        one, two = random.randbytes(600), random.randbytes(600)
        b.another()
        slow = Slow(b)
        call = writer(1, slow.handles[v4], one)
        c = b.connect()
        c.send(call)
        slow.opened()
        c.close()
        slow.let()
        while read(slow.path) != one:
            time.sleep(0.01)
        b.hand.write(slow.name, two)
        got = status_of(answer(b, call))
        there = read(slow.path)
        if got or there != two:
            wrong.append("%s: status %s, the file has %s" % (
                writer.__name__, got, "the first" if there == one else
                "the second" if there == two else "neither"))
        b.end()
        b.hand.remove(slow.name)
    return wrong


def waiting(b):
    wrong = []
    for v4, writer in enumerate((b.write3, b.write4)):
        for way in "broken", "beside", "same":
            b.another()
            slow = Slow(b)
            call = writer(1, slow.handles[v4], random.randbytes(600))
            c = b.connect()
            c.send(call)
            slow.opened()
            d = WAYS[way](c) or b.connect()
            d.send(call)
            try:
                d.receive(call.xid, 0.5)
                wrong.append("%s, %s: a Reply before it is done" % (writer.__name__, way))
            except Silence:
                pass
            slow.let()
            got = None
            for _ in range(5):
                try:
                    got = status_of(d.receive(call.xid, 1))
                    break
                except Silence:
                    d.send(call)
                except Gone:
                    d = b.connect()
                    d.send(call)
            if got is None:
                wrong.append("%s, %s: no answer" % (writer.__name__, way))
            elif got:
                wrong.append("%s, %s: status %d" % (writer.__name__, way, got))
            b.end()
            b.hand.remove(slow.name)
    return wrong


def main(what, how, port, tcp, mount, folder):
    hand = Hand(tcp, mount)
    failed = 0
    for kind in (Tcp,) if how == "tcp" else (Version1, Version2):
        b = Bench(kind, port, hand.v3.root, folder, hand)
        wrong = {"data": data, "objects": objects, "chunked": chunked,
                 "outstanding": outstanding,
                 "held": held, "waiting": waiting}[what](b)
        b.end()
        for line in wrong:
            print("%s: %s" % (kind.name, line))
        failed += len(wrong)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:6]), sys.argv[6]))
