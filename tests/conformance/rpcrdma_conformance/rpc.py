# SPDX-License-Identifier: BSD-3-Clause
"""ONC RPC (RFC 5531) and as much of NFS as the checks need."""

import random
import struct

NFS = 100003
MOUNT, NFSACL = 100005, 100227
NULL3, GETATTR3, LOOKUP3, READLINK3, READ3, WRITE3 = 0, 1, 3, 5, 6, 7
(MKDIR3, SYMLINK3, REMOVE3, RMDIR3, READDIR3) = (9, 10, 12, 13, 16)


class Short(Exception):
    """An XDR stream ends early."""


class NoDirectory(Short):
    """The directory for the files of the checks is not there, or no other can
    be made in it."""


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def fixed(self, n):
        end = self.at + n + -n % 4
        if end > len(self.data):
            raise Short("an XDR stream ends early")
        out = bytes(self.data[self.at:self.at + n])
        self.at = end
        return out

    def u32(self):
        return struct.unpack(">I", self.fixed(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.fixed(8))[0]

    def opaque(self):
        return self.fixed(self.u32())

    def left(self):
        return len(self.data) - self.at


def u32(*values):
    return struct.pack(">%dI" % len(values), *(v & 0xffffffff for v in values))


def u64(value):
    return struct.pack(">Q", value)


def opaque(data):
    if isinstance(data, str):
        data = data.encode()
    return u32(len(data)) + bytes(data) + bytes(-len(data) % 4)


SYS = u32(1) + opaque(u32(0) + opaque("conformance") + u32(0, 0, 0)) + \
    u32(0, 0)
NONE = u32(0, 0, 0, 0)


def call(xid, prog=NFS, vers=3, proc=0, args=b"", cred=SYS):
    return u32(xid, 0, 2, prog, vers, proc) + cred + args


def null(xid, vers=4):
    return call(xid, NFS, vers, 0, b"", NONE)


def reply(xid, results=b"", stat=0):
    """An accepted Reply."""
    return u32(xid, 1, 0, 0, 0, stat) + results


class Reply:
    """The head of an RPC Reply; the results are left in `r`."""

    def __init__(self, data):
        r = Reader(data)
        self.xid, self.kind = r.u32(), r.u32()
        if self.kind != 1:
            raise Short("not a Reply")
        self.denied = r.u32()
        self.stat = None
        if self.denied:
            self.stat = r.u32()
        else:
            r.u32()
            r.opaque()
            self.stat = r.u32()
        self.r = r

    @property
    def ok(self):
        return not self.denied and self.stat == 0


# ---- NFSv4.0 ----

(CLOSE, CREATE, GETATTR, GETFH, LOOKUP, OPEN) = (4, 6, 9, 10, 15, 18)
(OPEN_CONFIRM, PUTFH, PUTROOTFH, READ, READDIR) = (20, 22, 24, 25, 26)
(READLINK, REMOVE, SETCLIENTID, SETCLIENTID_CONFIRM, WRITE) = \
    (27, 28, 35, 36, 38)
(EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION, SEQUENCE) = (42, 43, 44, 53)
(DESTROY_CLIENTID, READ_PLUS) = (57, 68)
ANONYMOUS = bytes(16)
NOENT = 2


def compound(xid, ops, tag=b"", minor=0, cred=SYS):
    return call(xid, NFS, 4, 1, opaque(tag) + u32(minor, len(ops)) +
                b"".join(ops), cred)


def putfh(fh):
    return u32(PUTFH) + opaque(fh)


def read(offset, count):
    return u32(READ) + ANONYMOUS + u64(offset) + u32(count)


def write_head(offset, count):
    """A WRITE up to the length word of its data."""
    return u32(WRITE) + ANONYMOUS + u64(offset) + u32(2, count)


def write(offset, data):
    return write_head(offset, len(data)) + bytes(data) + bytes(-len(data) % 4)


def readdir(count):
    return u32(READDIR) + u64(0) + bytes(8) + u32(count, count, 1, 1 << 1)


class Compound:
    """The result of a COMPOUND; walk it with take()."""

    def __init__(self, data):
        rep = Reply(data)
        if not rep.ok:
            raise Short("the RPC was not accepted: %r" % rep.stat)
        self.r = rep.r
        self.status = self.r.u32()
        self.r.opaque()
        self.n = self.r.u32()

    def take(self, op):
        """The status of the next operation, which must be @op."""
        got = self.r.u32()
        if got != op:
            raise Short("operation %d instead of %d" % (got, op))
        return self.r.u32()

    def good(self, *ops):
        for op in ops:
            status = self.take(op)
            if status:
                raise Short("operation %d: status %d" % (op, status))
        return self.r


def names(r):
    """The names in a READDIR result that begins at @r."""
    r.fixed(8)
    out = []
    while r.u32():
        r.u64()
        out.append(r.opaque())
        for _ in range(r.u32()):
            r.u32()
        r.opaque()
    r.u32()
    return out


def pattern(n, seed=1):
    return random.Random(seed).randbytes(n)


class Files:
    """What the checks read and write, made once by plain Calls."""

    LENGTH = 300000
    NAMES = 64

    def __init__(self, call_fn, path):
        """call_fn(message) -> the payload of its Reply"""
        self.do, self.path = call_fn, [p for p in path.split("/") if p]
        self.xid = random.getrandbits(30)
        self.name = "conformance-%x" % random.getrandbits(48)
        self.content = pattern(self.LENGTH)
        self.long_names = [("%03d-" % i + "n" * 201).encode()
                           for i in range(self.NAMES)]
        self.begun, self.dir = False, None

    def compound(self, *ops):
        self.xid += 1
        return Compound(self.do(compound(self.xid, list(ops))))

    def at(self, *ops):
        """Operations on the directory of the checks, and what leads there."""
        walk = [u32(PUTROOTFH)] + [u32(LOOKUP) + opaque(p) for p in self.path]
        c = self.compound(*walk, *ops)
        c.good(PUTROOTFH)
        for name in self.path:
            status = c.take(LOOKUP)
            if status:
                raise NoDirectory("status %d of LOOKUP %s" % (status, name))
        return c

    def make(self):
        r = self.compound(u32(SETCLIENTID) + random.randbytes(8) +
                          opaque(self.name) + u32(0x40000000) + opaque("tcp") +
                          opaque("0.0.0.0.0.0") + u32(0)).good(SETCLIENTID)
        self.clientid, verf = r.u64(), r.fixed(8)
        self.compound(u32(SETCLIENTID_CONFIRM) + u64(self.clientid) +
                      verf).good(SETCLIENTID_CONFIRM)
        mode = u32(2, 0, 1 << 1)
        self.begun = True
        c = self.at(u32(CREATE, 2) + opaque(self.name) + mode +
                    opaque(u32(0o755)), u32(GETFH))
        status = c.take(CREATE)
        if status:
            raise NoDirectory("status %d of CREATE in it" % status)
        c.r.fixed(20)
        for _ in range(c.r.u32()):
            c.r.u32()
        self.dir = c.good(GETFH).opaque()
        self.data = self.create("data")
        self.scratch = self.create("scratch")
        self.empty = self.create("empty")
        for at in range(0, self.LENGTH, 2048):
            self.compound(putfh(self.data), write(at, self.content[
                at:at + 2048])).good(PUTFH, WRITE)
        for at in range(0, self.NAMES, 4):
            self.compound(*[op for n in self.long_names[at:at + 4] for op in (
                putfh(self.dir), u32(CREATE, 2) + opaque(n) + mode +
                opaque(u32(0o755)))])
        self.compound(putfh(self.dir), u32(CREATE, 5) + opaque("x" * 1000) +
                      opaque("link") + u32(0, 0)).good(PUTFH, CREATE)
        self.link = self.lookup("link")

    def lookup(self, name):
        return self.compound(putfh(self.dir), u32(LOOKUP) + opaque(name),
                             u32(GETFH)).good(PUTFH, LOOKUP, GETFH).opaque()

    def create(self, name):
        how = u32(1, 0, 2, 1 << 4, 1 << 1) + opaque(u64(0) + u32(0o644))
        c = self.compound(
            putfh(self.dir), u32(OPEN, 0, 3, 0) + u64(self.clientid) +
            opaque(self.name + name) + how + u32(0) + opaque(name),
            u32(GETFH))
        r = c.good(PUTFH, OPEN)
        stateid = r.fixed(16)
        r.fixed(20)
        flags = r.u32()
        for _ in range(r.u32()):
            r.u32()
        if r.u32():
            raise Short("a delegation that nobody wanted")
        fh = c.good(GETFH).opaque()
        seq = 1
        if flags & 2:
            stateid = self.compound(
                putfh(fh), u32(OPEN_CONFIRM) + stateid + u32(seq)).good(
                    PUTFH, OPEN_CONFIRM).fixed(16)
            seq = 2
        self.compound(putfh(fh), u32(CLOSE, seq) + stateid).good(PUTFH, CLOSE)
        return fh

    def remove(self):
        """What there is of it: each four names were made in this order."""
        todo = ["data", "scratch", "empty", "link", *self.long_names]
        for at in range(0, len(todo) if self.dir else 0, 4):
            self.compound(*[op for n in todo[at:at + 4] for op in (
                putfh(self.dir), u32(REMOVE) + opaque(n))])
        status = self.at(u32(REMOVE) + opaque(self.name)).take(REMOVE)
        if status not in (0, NOENT):
            raise Short("status %d of REMOVE" % status)
