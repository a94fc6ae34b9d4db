#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each operation that returns data, sent again in every way.

    replay.py KIND SHARE TCP-PORT MOUNT-PORT RDMA-PORT GATEWAY-PORT

The server exports /export, and is of FSAL KIND. Of all cases, SHARE (0 to 1) are tried,
chosen by chance. A case is an operation; the version of NFS; with a session, whether the
Reply is to be kept (sa_cachethis); the transport and the form of the first Call and of the
same Call again; and the way: by the same connection, by another while the first is there,
after the first was reset, after it was closed in order, or twice at once by one connection
or by two. It is sent a third time, as what the first has freed the second may still read.

What comes must be the first Reply again, octet by octet but for times of files; with a
session also NFS4ERR_RETRY_UNCACHED_REP, or NFS4ERR_DELAY while the first is being executed.
The first must have the data that the file has. By RDMA, NFSv4.0 does not both create and
read in one COMPOUND (docs/protocol.md [E12]): what it creates is created once.

Where TCP alone has to do with it, it is recorded what Ganesha does: it may die.
"""

import os
import random
import sys

from peers import Call, Gateway, Gone, KINDS, Rdma, SEQUENCE, Session, Silence, Tcp
from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import u32, u64, opaque
from driver import Driver
import nfsclient

LENGTH, NAMES = 70000, 30
LINK = "t" * 300
EXIST, RETRY_UNCACHED, DELAY, RESOURCE = 17, 10068, 10008, 10018
NOTSUPP, OP_ILLEGAL = 10004, 10044
WAYS = ("same", "beside", "broken", "closed", "at-once", "two-at-once")


class Tree:
    """What there is to be read, made by TCP."""

    def __init__(self, tcp, mount):
        self.name = "replay-%x" % random.getrandbits(40)
        self.content = random.Random(LENGTH).randbytes(LENGTH)
        c = nfsclient.connect("3", "127.0.0.1", tcp, mount)
        c.mkdir(self.name)
        c.put(self.name + "/f", self.content)
        c.symlink(self.name + "/l", LINK)
        c.mkdir(self.name + "/d")
        c.mkdir(self.name + "/c")
        for i in range(NAMES):
            c.mkdir("%s/d/%02d-%s" % (self.name, i, "n" * 60))
        self.fh = {n: c.lookup(self.name + "/" + n) for n in "fld"}
        c.end()
        c = nfsclient.connect("4.0", "127.0.0.1", tcp, mount)
        c.get(self.name + "/f")
        c.readlink(self.name + "/l")
        c.ls(self.name + "/d")
        c.end()


    def walk(self, name):
        return [u32(rpc.PUTROOTFH)] + [u32(rpc.LOOKUP) + opaque(n)
                                       for n in ("export", self.name, name)]


class Op:
    """args(tree) of NFSv3, or ops(tree) behind the file handle of @at.

    create: "CREATE" or "OPEN" is done before, for which Ganesha remembers NFSv4.0 Replies;
        "after": CREATE is done behind it
    given: Ganesha gives the data away
    data: octets of the file that the Reply must have
    """

    def __init__(self, name, at, body, result=0, most=800, data=b"", proc=None,
                 minors=(0, 1, 2), create=None, given=True):
        self.name, self.at, self.body, self.proc = name, at, body, proc
        self.result, self.most, self.data, self.minors = result, most, data, minors
        self.create, self.refused = create, bool(create) and given


def ops3(tree):
    def read(offset, count):
        return Op("READ-%d" % count, "f", u64(offset) + u32(count), count, count + 300,
                  tree.content[offset:offset + count], 6)
    return [read(77, 60001), read(3, 301),
            Op("READLINK", "l", b"", 1024, 1700, LINK.encode(), 5),
            Op("READDIR", "d", u64(0) + bytes(8) + u32(9000), 0, 9300, b"n" * 60, 16),
            Op("READDIRPLUS", "d", u64(0) + bytes(8) + u32(9000, 20000), 0, 20300,
               b"n" * 60, 17)]


def ops4(tree):
    def data(offset, count):
        return tree.content[offset:offset + count]
    getattrs = u32(rpc.GETATTR, 2, 1 << 1 | 1 << 3 | 1 << 4 | 1 << 19 | 1 << 20, 1 << 1)
    return [
        Op("READ-60001", "f", [rpc.read(77, 60001)], 60001, 61000, data(77, 60001)),
        Op("READ-301", "f", [rpc.read(3, 301)], 301, 1300, data(3, 301)),
        Op("READ-READ", "f", [rpc.read(0, 9001), rpc.read(9001, 8003)], 0, 18300,
           data(9001, 8003)),
        Op("READ-GETATTR", "f", [rpc.read(1, 5003), getattrs], 0, 6300, data(1, 5003)),
        Op("READLINK", "l", [u32(rpc.READLINK)], 1024, 2000, LINK.encode()),
        Op("READDIR", "d", [u32(rpc.READDIR) + u64(0) + bytes(8) +
                            u32(9000, 9000, 2, 1 << 1 | 1 << 4, 1 << 1)], 0, 9900,
           b"n" * 60),
        Op("CREATE-READ", "f", [rpc.read(7, 20003)], 20003, 21000, data(7, 20003),
           create="CREATE"),
        Op("CREATE-READLINK", "l", [u32(rpc.READLINK)], 1024, 2200, LINK.encode(),
           create="CREATE", given=False),
        Op("CREATE-READDIR", "d", [u32(rpc.READDIR) + u64(0) + bytes(8) +
                                   u32(5000, 5000, 1, 1 << 1)], 0, 5900, b"n" * 60,
           create="CREATE"),
        Op("OPEN-READ", "f", [rpc.read(9, 5003)], 5003, 6000, data(9, 5003), create="OPEN",
           minors=(0,)),
        Op("READ-CREATE", "f", [rpc.read(7, 5003)], 0, 6000, data(7, 5003), create="after"),
        Op("GETATTR", "f", [getattrs]),
        Op("SECINFO", "d", [u32(33) + opaque("00-" + "n" * 60)]),
        Op("SECINFO_NO_NAME", "d", [u32(52, 0)], minors=(1, 2)),
        Op("GETDEVICELIST", "f", [u32(48, 1, 100) + u64(0) + bytes(8)], minors=(1,)),
        Op("READ_PLUS", "f", [u32(68) + bytes(16) + u64(77) + u32(60001)], 0, 61000,
           minors=(2,)),
        Op("SEEK", "f", [u32(69) + bytes(16) + u64(0) + u32(0)], minors=(2,)),
        Op("GETXATTR", "f", [u32(72) + opaque("user.one")], minors=(2,)),
        Op("LISTXATTRS", "f", [u32(74) + u64(0) + u32(4096)], 0, 5000, minors=(2,)),
    ]


def untimed(op, reply):
    """@reply to NFSv3 without the times of its file attributes."""
    out, at = bytearray(reply), 20

    def attributes(at):
        if out[at:at + 4] == u32(1):
            out[at + 64:at + 88] = bytes(24)
            at += 84
        return at + 4

    def opaque_at(at):
        n = int.from_bytes(out[at:at + 4], "big")
        return at + 4 + n + -n % 4

    at = attributes(at + 4)
    if op.name == "READDIRPLUS" and not any(out[20:24]):
        at += 8
        while out[at:at + 4] == u32(1):
            at = attributes(opaque_at(at + 12) + 8)
            at = opaque_at(at + 4) if out[at:at + 4] == u32(1) else at + 4
    return bytes(out)


class Case:
    def __init__(self, op, minor, keep, first, second, way, forms):
        self.op, self.minor, self.keep, self.way = op, minor, keep, way
        self.first, self.second, self.forms = first, second, forms
        self.tcp_alone = first is second is Tcp

    def __str__(self):
        return "%s NFSv%s%s %s %s(%s) %s(%s)" % (
            self.op.name, "3" if self.minor is None else "4.%d" % self.minor,
            {None: "", True: " kept", False: " not kept"}[self.keep], self.way,
            self.first.name, "/".join(self.forms[0]),
            self.second.name, "/".join(self.forms[1]))


def client_of(c):
    """A client of NFSv4.0, for an OPEN: its number."""
    def do(*ops):
        return rpc.Compound(u32(1) + c.call(Call(rpc.compound(1, list(ops)))))
    r = do(u32(rpc.SETCLIENTID) + random.randbytes(8) +
           opaque("replay-%x" % random.getrandbits(60)) + u32(0x40000000) + opaque("tcp") +
           opaque("0.0.0.0.0.0") + u32(0)).good(rpc.SETCLIENTID)
    number, verf = r.u64(), r.fixed(8)
    do(u32(rpc.SETCLIENTID_CONFIRM) + u64(number) + verf).good(rpc.SETCLIENTID_CONFIRM)
    return number


def a_call(tree, op, minor, session=0, keep=None):
    """@session: if it has none, the client's number"""
    xid = random.getrandbits(32)
    if minor is None:
        m = rpc.call(xid, vers=3, proc=op.proc,
                     args=opaque(tree.fh[op.at]) + op.body)
    else:
        walk, behind = tree.walk(op.at), []
        name = opaque("%x" % random.getrandbits(60))
        made = tree.walk("c") + [u32(rpc.CREATE, 2) + name + u32(1, 0) + opaque(b"")]
        if op.create == "OPEN":
            made[-1] = u32(rpc.OPEN, 0, 2, 0) + u64(session) + opaque(name) + \
                u32(1, 0, 0, 0, 0) + name
        if op.create == "after":
            behind = made
        elif op.create:
            walk = made + walk
        if minor and session:
            walk.insert(0, session.sequence(keep=keep))
        m = rpc.compound(xid, walk + op.body + behind, minor=minor)
    return Call(m, None, op.result, op.most)


def cases(tree):
    pairs = [(a, b) for a in KINDS.values() for b in KINDS.values()]
    for minor in (None, 0, 1, 2):
        for op in (ops3(tree) if minor is None else ops4(tree)):
            if minor is not None and minor not in op.minors:
                continue
            probe = a_call(tree, op, minor)
            for keep in (False, True) if minor else (None,):
                for first, second in pairs:
                    for way in WAYS:
                        if way in ("same", "at-once") and first is not second:
                            continue
                        for f in probe.forms(first):
                            for g in probe.forms(second):
                                yield Case(op, minor, keep, first, second, way, (f, g))


class Wrong(Exception):
    pass


class Bench:
    def __init__(self, kind, tcp, mount, rdma, gateway):
        self.kind, self.mount = kind, mount
        self.ports = {k: rdma for k in KINDS.values()}
        self.ports[Tcp], self.ports[Gateway] = tcp, gateway
        self.tree = Tree(tcp, mount)
        self.open, self.patience = [], 20

    def connect(self, kind):
        c = kind(self.ports[kind], patience=self.patience)
        self.open.append(c)
        return c

    def alive(self):
        try:
            c = Tcp(self.ports[Tcp])
            c.call(Call(rpc.null(1)))
            c.close()
            return True
        except Gone:
            return False

    def judge(self, case, first, again, busy):
        op = case.op
        if op.refused and case.minor == 0:
            self.created(case, again, True)
            known = issubclass(case.first, Rdma) and issubclass(case.second, Rdma)
            if not known or case.way == "closed":
                return
        if case.minor is None:
            first, again = untimed(op, first), untimed(op, again)
        if first == again:
            return
        text = "%d octets instead of %d" % (len(again), len(first))
        try:
            c = rpc.Compound(u32(0) + again)
        except (rpc.Short, IndexError) as e:
            raise Wrong("%s: %s" % (text, e)) from None
        if case.minor == 0 and op.create and c.status == EXIST:
            return  # it has been executed again
        # By RDMA it is withheld: what Ganesha has seen is no operation. Of two at once
        # that by RDMA may be the first.
        if op.name == "READ_PLUS" and (
                case.second is Tcp and c.status == OP_ILLEGAL or
                case.first is Tcp and case.way == "two-at-once" and c.status == NOTSUPP):
            return
        if case.minor:
            if c.status == RETRY_UNCACHED or c.status == DELAY and busy:
                return
        if case.minor is not None:
            text += ", status %d" % c.status
        at = next((i for i, (a, b) in enumerate(zip(first, again)) if a != b), None)
        raise Wrong("%s, differs at %s" % (text, at))

    @staticmethod
    def created(case, reply, again):
        """A Reply of NFSv4.0 to what both creates and reads."""
        status = rpc.Compound(u32(0) + reply).status
        if status == EXIST and again:
            return  # it has been executed again
        if Tcp in (case.first, case.second) and not status and case.op.data in reply:
            return
        if status != RESOURCE:
            raise Wrong("status %d for what both creates and reads" % status)

    def run(self, case):
        op = case.op
        c = self.connect(case.first)
        session = Session(c, case.minor) if case.minor else 0
        if op.create == "OPEN":
            session = client_of(c)
        call = a_call(self.tree, op, case.minor, session, case.keep)
        f, g = case.forms
        if case.way in ("at-once", "two-at-once"):
            d = c if case.way == "at-once" else self.connect(case.second)
            c.send(call, f)
            d.send(call, g)
            # One may be all that comes to one client; or if there is a duplicate request
            # cache, which drops what is being executed.
            cached = case.minor == 0 and op.create
            replies = []
            for e, alone in ((c, False), (d, d is c)):
                try:
                    replies.append(e.receive(call.xid, 0.2 if alone else 2 if cached else
                                             None))
                except Silence:
                    if not alone and not cached:
                        raise
                except Gone:
                    # The client has to ask again, and is answered: drop() in
                    # ntirpc/svc_call.c.
                    if not cached or d is c:
                        raise
                    if e is c:
                        c = self.connect(case.first)
                        replies.append(c.call(call, f))
                    else:
                        d = self.connect(case.second)
                        replies.append(d.call(call, g))
            if not replies:
                raise Silence("nothing came to either")
            # Which was the first is not known.
            if case.minor:
                replies.sort(key=lambda m: rpc.Compound(u32(0) + m).status in
                             (DELAY, RETRY_UNCACHED))
            elif op.create:
                replies.sort(key=lambda m: rpc.Compound(u32(0) + m).status == EXIST)
            first = replies[0]
            self.content(case, first)
            for m in replies[1:]:
                self.judge(case, first, m, True)
        else:
            first = c.call(call, f)
            self.content(case, first)
            d = c
            if case.way == "broken":
                c.break_off()
            elif case.way == "closed":
                c.close()
            if case.way != "same":
                d = self.connect(case.second)
            d, again = self.repeat(case, d, call, g)
            self.judge(case, first, again, False)
        # What Ganesha has kept by TCP is not asked for by TCP again.
        if case.second is Tcp and case.first is not Tcp:
            if case.minor == 0 and op.create:
                return
            if case.way == "two-at-once":
                d, g = c, f
        d, again = self.repeat(case, d, call, g)
        self.judge(case, first, again, False)
        if case.minor:
            # The slot goes on; and this binds the connection, which may end the session.
            session.compound(d, session.sequence()).good(SEQUENCE)
            session.end(d)

    def repeat(self, case, d, call, form):
        """The connection and the Reply. Ganesha may not have finished the Call when its
        Reply is here: it drops the repetition, and the client asks again (drop() in
        ntirpc/svc_call.c)."""
        cached = case.minor == 0 and case.op.create
        try:
            return d, d.call(call, form)
        except Gone:
            if not cached:
                raise
            d = self.connect(type(d))
        except Silence:
            if not cached:
                raise
        return d, d.call(call, form)

    def content(self, case, first):
        r = rpc.Reply(u32(0) + first)
        if not r.ok:
            raise Wrong("the first is denied %d, status %r" % (r.denied, r.stat))
        if not case.op.data:
            return
        if case.op.refused and case.minor == 0:
            self.created(case, first, False)
            return
        status = r.r.u32()
        if status:
            raise Wrong("the first has status %d" % status)
        if case.op.data not in first:
            raise Wrong("the first has not the data of the file")

    def end(self):
        for c in self.open:
            try:
                c.close()
            except OSError:
                pass
        self.open = []


def main(kind, share, tcp, mount, *ports):
    driver = Driver()
    bench = Bench(kind, tcp, mount, *ports)
    every = list(cases(bench.tree))
    random.seed(driver.seed)
    chosen = [c for c in every if random.random() < float(share)]
    only = os.environ.get("REPLAY_ONLY", "")
    chosen = [c for c in chosen if only in str(c)]
    wrong, recorded = 0, {}
    for case in chosen:
        bench.patience = 3 if case.tcp_alone else 20
        try:
            bench.run(case)
            bench.end()
            if bench.alive():
                continue
            what = ""
        except (Wrong, Gone, Silence, rpc.Short) as e:
            what = "%s: %s" % (type(e).__name__, e)
        bench.end()
        alive = bench.alive()
        if not alive:
            what = "the server dies (%s)" % driver.died()
        elif case.tcp_alone:
            driver.kill()  # it may have written to memory that it had freed
        if not alive or case.tcp_alone:
            driver.start()
            if kind == "MEM":
                bench.tree = Tree(tcp, mount)
        if case.tcp_alone:
            recorded.setdefault(what, []).append(case)
            continue
        wrong += 1
        driver.say("# %s: %s" % (case, what))
        if wrong >= 100:
            break
    bench.end()
    for what, of in recorded.items():
        driver.say("# over TCP alone, %d times, as in %s: %s" % (len(of), of[0], what))
    driver.say("# %d of %d cases, seed %d: %d wrong" % (len(chosen), len(every),
                                                         driver.seed, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:7])))
