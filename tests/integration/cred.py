#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Credentials and verifiers that make no sense, and some that do.

    cred.py rdma RDMA-PORT
    cred.py gateway GATEWAY-PORT
    cred.py tcp NFS-PORT FROM PID

A grid of Calls: every flavor, and every field of a credential with what it may
and may not be, two of them changed at a time. want() says what RFC 5531, RFC
2203 and RFC 9289 have a server answer; each Call must get that, and a NULL
behind it on the same connection its Reply. Over RDMA that is done by both
versions. Over TCP it is Ganesha itself that answers: one of each kind is sent,
and what becomes of it is printed. If the server PID ends, this exits with status
3 and the number of the next case is on the last line.
"""

import itertools
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import iwarp, kit, rpc, v1, v2  # noqa: E402
from rpcrdma_conformance.rpc import u32, opaque  # noqa: E402

NONE, SYS, SHORT, DH, GSS, TLS = 0, 1, 2, 3, 6, 7
BADCRED, REJECTEDCRED, BADVERF, CREDPROBLEM, CTXPROBLEM = 1, 2, 3, 13, 14
DATA, INIT, CONTINUE, DESTROY = range(4)
HUGE = 0xffffffff
HANDLE = 16
NO_CALL = "no Call"  # an ERROR; the gateway closes the connection


def auth(flavor, body=b"", length=None):
    """An opaque_auth whose length may be another than that of its body."""
    return u32(flavor, len(body) if length is None else length) + body + \
        bytes(-len(body) % 4)


def sys_body(name=4, gids=0, says_name=None, says_gids=None, uid=0, more=b""):
    return u32(7, name if says_name is None else says_name) + b"h" * name + \
        bytes(-name % 4) + u32(uid, 0, gids if says_gids is None else
                               says_gids) + u32(5) * gids + more


def gss_body(version=1, proc=DATA, seq=1, service=1, handle=HANDLE,
             says=None, more=b""):
    return u32(version, proc, seq, service,
               handle if says is None else says) + b"\x11" * handle + \
        bytes(-handle % 4) + more


class Case:
    def __init__(self, name, cred, verf=auth(NONE), proc=0, args=b"", vers=2,
                 kind=True):
        self.name, self.cred, self.verf = name, cred, verf
        self.proc, self.args, self.vers = proc, args, vers
        self.kind = kind  # sent over TCP as well

    def message(self, xid):
        return u32(xid, 0, self.vers, rpc.NFS, 4, self.proc) + self.cred + \
            self.verf + self.args


class Early(Exception):
    pass


class Fields:
    """What a careful server reads: never beyond the end."""

    def __init__(self, data):
        self.data = data

    def take(self, n):
        n += -n % 4
        if n > len(self.data):
            raise Early
        out, self.data = self.data[:n], self.data[n:]
        return out

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def auth(self, too_long):
        flavor, n = self.u32(), self.u32()
        if n > 400:
            return flavor, None, too_long
        return flavor, self.take(n)[:n], None


def want(case):
    """An auth_stat that the Call is refused with, "mismatch", NO_CALL, or None:
    the server itself is to answer it."""
    if case.vers != 2:
        return "mismatch"
    f = Fields(case.cred + case.verf + case.args)
    try:
        flavor, cred, wrong = f.auth(BADCRED)
        if wrong:
            return wrong
        verf_flavor, verf, wrong = f.auth(BADVERF)
        if wrong:
            return wrong
    except Early:
        return NO_CALL
    c = Fields(cred)
    if flavor == SYS:
        try:
            c.u32()
            n = c.u32()
            c.take(n)
            c.take(8)
            gids = c.u32()
            c.take(4 * gids)
        except Early:
            return BADCRED
        return BADCRED if n > 255 or gids > 16 else None
    if flavor != GSS:
        return None if flavor == NONE else REJECTEDCRED
    try:
        version, proc, _, service, handle = (c.u32() for _ in range(5))
        c.take(handle)
    except Early:
        return BADCRED
    if version != 1 or proc > DESTROY or (proc != DATA and case.proc):
        return BADCRED
    if proc in (INIT, CONTINUE):
        if proc == INIT and handle:
            return BADCRED
        if verf_flavor != NONE or verf:
            return BADVERF
        try:
            f.take(f.u32())
        except Early:
            return BADCRED
        return None
    if not 1 <= service <= 3:
        return BADCRED
    if verf_flavor != GSS:
        return BADVERF
    return None if handle == HANDLE else CREDPROBLEM


def server_says(case):
    """What Ganesha may answer if it is to answer: OK or auth_stats."""
    flavor, = struct.unpack_from(">I", case.cred)
    if flavor == NONE:
        return {0}
    if flavor == SYS:
        return {0, BADCRED}  # a uid that is nobody's
    proc, seq = struct.unpack_from(">II", case.cred, 12)
    if proc in (DATA, DESTROY):
        return {CTXPROBLEM if seq > 0x80000000 else CREDPROBLEM}
    return {BADCRED, REJECTEDCRED, 7, CTXPROBLEM}


def verifiers():
    for flavor, n in itertools.product((NONE, SYS, GSS, 9, HUGE),
                                       (0, 1, 4, 37, 400)):
        yield "%#x of %d" % (flavor, n), auth(flavor, b"v" * n)
    for says in (401, 404, 0x7fffffff, 0x80000000, 0xfffffffd, HUGE):
        yield "that says %#x" % says, auth(GSS, b"v" * 36, says)
    for n in (0, 4, 8):
        yield "that ends at %d" % n, auth(GSS, b"v" * 36)[:n]


def flavors():
    for flavor in (NONE, SYS, SHORT, DH, 4, 5, GSS, TLS, 8, 390003, 390004,
                   0x7fffffff, 0x80000000, HUGE):
        for n in (0, 1, 3, 4, 8, 16, 19, 20, 21, 24, 36, 399, 400):
            yield Case("flavor %#x of %d" % (flavor, n),
                       auth(flavor, b"\xa5" * n), kind=n in (0, 8, 400))
        for says in (401, 404, 0x7fffffff, 0x80000000, 0xfffffffd, HUGE):
            yield Case("flavor %#x that says %#x" % (flavor, says),
                       auth(flavor, b"\xa5" * 40, says),
                       kind=flavor == SYS)
        yield Case("flavor %#x that ends" % flavor,
                   auth(flavor, b"\xa5" * 40)[:20], b"", kind=False)
        yield Case("flavor %#x, a COMPOUND" % flavor, auth(flavor), proc=1,
                   args=opaque(b"") + u32(0, 0))


def sys_cases():
    name = [(0, None), (1, None), (4, None), (255, None), (256, None),
            (300, None), (4, 5), (4, 255), (4, 0), (4, 256), (4, 0x7fffffff),
            (4, 0xfffffffd), (4, HUGE)]
    gids = [(0, None), (1, None), (16, None), (17, None), (64, None),
            (0, 1), (0, 16), (0, 17), (4, 16), (0, 0x40000000), (0, HUGE)]
    for (n, sn), (g, sg) in itertools.product(name, gids):
        body = sys_body(n, g, sn, sg)
        if len(body) > 400:
            continue
        yield Case("AUTH_SYS name %s gids %s" % ((n, sn), (g, sg)),
                   auth(SYS, body), kind=not (n - 4 or g) or sn == sg == None)
    for n in range(0, len(sys_body()) + 1):
        yield Case("AUTH_SYS cut at %d" % n, auth(SYS, sys_body()[:n]),
                   kind=not n % 4)
    yield Case("AUTH_SYS with more", auth(SYS, sys_body(more=bytes(12))))
    yield Case("AUTH_SYS of -1", auth(SYS, sys_body(uid=HUGE)))
    for what, verf in verifiers():
        yield Case("AUTH_SYS, verifier " + what, auth(SYS, sys_body()), verf)


def gss_cases():
    values = {
        "version": (1, 0, 2, 3, HUGE),
        "proc": (DATA, INIT, CONTINUE, DESTROY, 4, HUGE),
        "seq": (1, 0, 0x7fffffff, 0x80000000, 0x80000001, HUGE),
        "service": (1, 0, 2, 3, 4, HUGE),
        "handle": (16, 0, 1, 3, 4, 8, 12, 15, 17, 20, 24, 376, 380),
        "says": (None, 0, 8, 15, 17, 20, 400, 0x7fffffff, 0xfffffffc,
                 0xfffffffd, HUGE),
        "more": (b"", bytes(4), bytes(40)),
    }
    mic = auth(GSS, b"v" * 28)
    seen = set()
    for proc in values["proc"]:
        for one, other in itertools.combinations(values, 2):
            for a, b in itertools.product(values[one], values[other]):
                fields = {"proc": proc, one: a, other: b}
                body = gss_body(**fields)
                if len(body) > 400 or body in seen:
                    continue
                seen.add(body)
                control = fields["proc"] in (INIT, CONTINUE)
                changed = sum(v != values[k][0] for k, v in fields.items())
                yield Case("RPCSEC_GSS %s" % fields, auth(GSS, body),
                           auth(NONE) if control else mic,
                           args=opaque(b"token") if control else b"",
                           kind=changed <= 1)
    for proc, handle in itertools.product(values["proc"], (0, 16)):
        body = gss_body(proc=proc, handle=handle)
        for what, verf in verifiers():
            yield Case("RPCSEC_GSS %d, handle %d, verifier %s" %
                       (proc, handle, what), auth(GSS, body), verf,
                       args=opaque(b"token"), kind=handle == 16 and "of 37" in what)
        yield Case("RPCSEC_GSS %d, handle %d, a COMPOUND" % (proc, handle),
                   auth(GSS, body), mic, 1, opaque(b"") + u32(0, 0),
                   kind=handle == 16)
        # The token of a context; what integrity and privacy put there.
        for says in (0, 1, 4, 5, 24576, 0x7fffffff, 0xfffffffc, HUGE):
            for service in (1, 2, 3):
                yield Case("RPCSEC_GSS %d, handle %d, service %d, body of %#x"
                           % (proc, handle, service, says),
                           auth(GSS, gss_body(proc=proc, handle=handle,
                                              service=service)),
                           auth(NONE) if proc in (INIT, CONTINUE) else mic,
                           args=u32(says) + b"abcd",
                           kind=handle == 16 and service == 1)
        yield Case("RPCSEC_GSS %d, handle %d, no token" % (proc, handle),
                   auth(GSS, body), kind=handle == 16)


def cases():
    out = [Case("version %#x of RPC" % v, auth(SYS, sys_body()), vers=v)
           for v in (0, 1, 3, HUGE)]
    out += [*flavors(), *sys_cases(), *gss_cases()]
    return out


def said(message):
    """(kind, value) of a Reply."""
    r = rpc.Reply(message)
    if not r.denied:
        return 0 if r.stat == 0 else "accepted, %d" % r.stat
    if r.stat == 0:
        assert (r.r.u32(), r.r.u32()) == (2, 2)
        return "mismatch"
    return r.r.u32()


# ---- Ways to the server --------------------------------------------------

class Rdma:
    """By several connections in turn: each may send 100 wrong ones a second."""

    def __init__(self, port):
        self.bench = kit.Server("127.0.0.1", port, "/export", 60)
        self.conns = [self.connect() for _ in range(12)]
        self.xid = 1

    def ask(self, case):
        self.xid += 1
        if case:
            self.conns.append(self.conns.pop(0))
        return self.call(self.conns[-1], case.message(self.xid) if case else
                         rpc.null(self.xid))


class Rdma2(Rdma):
    def connect(self):
        return self.bench.connect()

    @staticmethod
    def call(conn, message):
        a = conn.call(message)
        return NO_CALL if a.last.htype == v2.ERROR else said(a.payload)


class Rdma1(Rdma):
    def connect(self):
        return v1.Conn(self.bench.iwarp())

    @staticmethod
    def call(conn, message):
        h = conn.call(message)[0]
        return said(h.payload) if h.proc == v1.MSG else NO_CALL


class Tcp:
    def __init__(self, port, patience=60):
        self.port, self.patience = port, patience
        self.s, self.xid = None, 1

    def exactly(self, n):
        out = b""
        while len(out) < n:
            part = self.s.recv(n - len(out))
            if not part:
                raise iwarp.Closed("closed")
            out += part
        return out

    def ask(self, case):
        if not self.s:
            self.s = socket.create_connection(("127.0.0.1", self.port),
                                              self.patience)
        self.xid += 1
        message = case.message(self.xid) if case else rpc.null(self.xid)
        try:
            self.s.sendall(u32(len(message) | 1 << 31) + message)
            mark, = struct.unpack(">I", self.exactly(4))
            return said(self.exactly(mark & 0x7fffffff))
        except (iwarp.Closed, ConnectionError):
            self.s.close()
            self.s = None
            return NO_CALL


def compare(way, which):
    bad = n = 0
    for case in which:
        n += 1
        wanted = want(case)
        may = server_says(case) if wanted is None else {wanted}
        try:
            got = way.ask(case)
            after = way.ask(None)
        except Exception as e:
            sys.exit("%s: %s: %s: %s" % (type(way).__name__, case.name,
                                         type(e).__name__, e))
        if got not in may or after != 0:
            bad += 1
            print("%s: %s: %s instead of %s; then %s" %
                  (type(way).__name__, case.name, got, may, after))
    print("%s: %d Calls, %d wrong" % (type(way).__name__, n, bad))
    return bad


def is_alive(pid):
    """It has ended a connection, by intent or with itself."""
    time.sleep(0.5)
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def tcp(port, at, pid):
    """What Ganesha makes of it."""
    some = [c for c in cases() if c.kind]
    for i, case in enumerate(some[at:], at):
        way = Tcp(port, 5)
        try:
            got = way.ask(case)
        except socket.timeout:
            got = "nothing"
        except OSError as e:
            got = str(e)
        alive = got != NO_CALL or is_alive(pid)
        print("# tcp: %s: %s%s" % (case.name, got,
                                   "" if alive else ", the server ends"),
              flush=True)
        if not alive:
            print(i + 1)
            sys.exit(3)


def main(how, port, *more):
    if how == "tcp":
        tcp(port, *more)
    elif how == "gateway":
        sys.exit(bool(compare(Tcp(port), cases())))
    else:
        sys.exit(bool(sum([compare(way(port), cases())
                           for way in (Rdma2, Rdma1)])))


main(sys.argv[1], *map(int, sys.argv[2:]))
