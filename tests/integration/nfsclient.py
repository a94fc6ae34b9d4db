#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small NFS client over TCP: version 3, 4.0, 4.1 and 4.2, nothing cached.

For tests that must choose what is in a Call and see what is in a Reply: any
size and alignment of READ and WRITE, many of them outstanding on one
connection, and, with a 4.1 session, Calls of the server (CB_NULL and
CB_RECALL) on the same connection. As a program:

    nfsclient.py VERS HOST PORT MOUNTPORT put LOCAL REMOTE [OCTETS-A-WRITE]
    nfsclient.py VERS HOST PORT MOUNTPORT get REMOTE LOCAL [OCTETS-A-READ]
    nfsclient.py VERS HOST PORT MOUNTPORT ls REMOTE

REMOTE begins with the name of the export; MOUNTPORT is for version 3 only.
"""

import os
import random
import socket
import struct
import sys
import time

NFS, MOUNT = 100003, 100005


class NfsError(Exception):
    def __init__(self, what, status):
        super().__init__("%s: status %d" % (what, status))
        self.status = status


class Reader:
    """XDR."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        value, = struct.unpack_from(">I", self.data, self.at)
        self.at += 4
        return value

    def u64(self):
        value, = struct.unpack_from(">Q", self.data, self.at)
        self.at += 8
        return value

    def fixed(self, n):
        value = bytes(self.data[self.at:self.at + n])
        if len(value) != n:
            raise ValueError("a Reply ends early")
        self.at += n + -n % 4
        return value

    def opaque(self):
        return self.fixed(self.u32())

    def skip(self, n):
        self.at += n


def u32(*values):
    return struct.pack(">%dI" % len(values), *values)


def u64(value):
    return struct.pack(">Q", value)


def opaque(data):
    if isinstance(data, str):
        data = data.encode()
    return u32(len(data)) + bytes(data) + bytes(-len(data) % 4)


class Rpc:
    """Record-marked RPC; Replies may come in any order."""

    source = None  # address of this end; None for any

    def __init__(self, host, port, timeout=120):
        self.s = socket.create_connection(
            (host, port), timeout, self.source and (self.source, 0))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.xid = random.getrandbits(32)
        self.replies = {}
        self.on_call = None  # (xid, program, version, procedure, Reader)
        # -> bytes or None
        cred = u32(0) + opaque("test") + u32(0, 0, 0)
        self.cred = u32(1) + opaque(cred) + u32(0, 0)

    def close(self):
        self.s.close()

    def exactly(self, n):
        data = bytearray(n)
        view = memoryview(data)
        while n:
            got = self.s.recv_into(view[len(data) - n:])
            if not got:
                raise ConnectionError("the connection has been closed")
            n -= got
        return data

    def record(self):
        parts, last = [], False
        while not last:
            mark, = struct.unpack(">I", self.exactly(4))
            last = bool(mark >> 31)
            parts.append(self.exactly(mark & 0x7fffffff))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, message):
        self.s.sendall(u32(len(message) | 1 << 31) + message)

    def send(self, program, version, proc, args=b""):
        self.xid = (self.xid + 1) & 0xffffffff
        self.write(u32(self.xid, 0, 2, program, version, proc) + self.cred +
                   args)
        return self.xid

    def take(self):
        """One message from the connection; a Call is answered."""
        r = Reader(self.record())
        xid, kind = r.u32(), r.u32()
        if kind:
            self.replies[xid] = r
            return
        r.u32()
        program, version, proc = r.u32(), r.u32(), r.u32()
        for _ in range(2):
            r.u32()
            r.opaque()
        body = self.on_call(xid, program, version, proc, r)
        if body is not None:  # None: no answer
            self.write(u32(xid, 1, 0, 0, 0, 0) + body)

    def receive(self, xid):
        while xid not in self.replies:
            self.take()
        r = self.replies.pop(xid)
        denied = r.u32()
        if denied:
            raise NfsError("RPC denied", r.u32())
        r.u32()
        r.opaque()
        accept = r.u32()
        if accept:
            raise NfsError("RPC not accepted", accept)
        return r

    def call(self, *what):
        return self.receive(self.send(*what))


class Client:
    """What all versions have in common. Paths are relative to the export."""

    depth = 8  # Calls outstanding at most

    def pipeline(self, calls, finish):
        """Keep @depth of the Calls outstanding; finish(key, Reader) each."""
        waiting = []
        for key, xid in calls:
            waiting.append((key, xid))
            if len(waiting) >= self.depth:
                k, x = waiting.pop(0)
                finish(k, self.rpc.receive(x))
        for k, x in waiting:
            finish(k, self.rpc.receive(x))

    def put(self, name, data, wsize=1 << 20, stable=0):
        """Create @name and write @data in WRITEs of @wsize octets."""
        f = self.open(name, create=True)
        self.write(f, data, 0, wsize, stable)
        self.close(f)

    def get(self, name, rsize=1 << 20):
        f = self.open(name)
        data = self.read(f, 0, None, rsize)
        self.close(f)
        return data

    def write(self, f, data, offset=0, wsize=1 << 20, stable=0):
        data = memoryview(data)

        def finish(at, r):
            n = min(wsize, len(data) - at)
            got = self.written(r)
            if got < n:  # the server may take less
                self.write(f, data[at + got:at + n], offset + at + got,
                           wsize, stable)

        self.pipeline(((at, self.send_write(f, offset + at,
                                            data[at:at + wsize], stable))
                       for at in range(0, len(data), wsize)), finish)
        if len(data) and stable == 0:
            self.commit(f)

    def read(self, f, offset=0, count=None, rsize=1 << 20):
        """@count octets from @offset; None: up to the end of the file."""
        if count is None:
            count = max(0, self.size(f) - offset)
        out = bytearray(count)

        def finish(at, r):
            n = min(rsize, count - at)
            data, eof = self.was_read(r)
            out[at:at + len(data)] = data
            if len(data) < n:
                if eof:
                    raise NfsError("READ: an early end of file", 0)
                out[at + len(data):at + n] = self.read(
                    f, offset + at + len(data), n - len(data), rsize)

        self.pipeline(((at, self.send_read(f, offset + at,
                                           min(rsize, count - at)))
                       for at in range(0, count, rsize)), finish)
        return bytes(out)


class V3(Client):
    def __init__(self, host, port, mount_port, export="/export", timeout=120):
        m = Rpc(host, mount_port, timeout)
        try:
            r = m.call(MOUNT, 3, 1, opaque(export))
        finally:
            m.close()
        status = r.u32()
        if status:
            raise NfsError("MNT " + export, status)
        self.root = r.opaque()
        self.rpc = Rpc(host, port, timeout)

    def end(self):
        self.rpc.close()

    def nfs(self, proc, args, what):
        r = self.rpc.call(NFS, 3, proc, args)
        status = r.u32()
        if status:
            raise NfsError(what, status)
        return r

    @staticmethod
    def attr(r):
        """The size in a post_op_attr; None if there is none."""
        if not r.u32():
            return None
        r.skip(20)
        size = r.u64()
        r.skip(56)
        return size

    @classmethod
    def wcc(cls, r):
        if r.u32():
            r.skip(24)
        cls.attr(r)

    def null(self):
        self.rpc.call(NFS, 3, 0)

    def lookup(self, name):
        fh = self.root
        for part in name.strip("/").split("/") if name.strip("/") else []:
            fh = self.nfs(3, opaque(fh) + opaque(part), name).opaque()
        return fh

    def parent(self, name):
        head, _, tail = name.strip("/").rpartition("/")
        return opaque(self.lookup(head)) + opaque(tail)

    def open(self, name, create=False, keep=False):
        if not create:
            return self.lookup(name)
        # UNCHECKED, mode 0644, size 0 unless to @keep what is in it
        size = u32(0) if keep else u32(1, 0, 0)
        r = self.nfs(8, self.parent(name) +
                     u32(0, 1, 0o644, 0, 0) + size + u32(0, 0), name)
        return r.opaque() if r.u32() else self.lookup(name)

    def close(self, f):
        pass

    def size(self, f):
        r = self.nfs(1, opaque(f), "GETATTR")
        r.skip(20)
        return r.u64()

    def send_write(self, f, offset, data, stable):
        return self.rpc.send(NFS, 3, 7, opaque(f) + u64(offset) +
                             u32(len(data), stable) + opaque(data))

    def written(self, r):
        status = r.u32()
        if status:
            raise NfsError("WRITE", status)
        self.wcc(r)
        return r.u32()

    def send_read(self, f, offset, count):
        return self.rpc.send(NFS, 3, 6, opaque(f) + u64(offset) + u32(count))

    def was_read(self, r):
        status = r.u32()
        if status:
            raise NfsError("READ", status)
        self.attr(r)
        count, eof = r.u32(), r.u32()
        data = r.opaque()
        if len(data) != count:
            raise NfsError("READ: count differs from data", 0)
        return data, eof

    def commit(self, f):
        self.nfs(21, opaque(f) + u64(0) + u32(0), "COMMIT")

    def truncate(self, f, size):
        self.nfs(2, opaque(f) + u32(0, 0, 0, 1) + u64(size) + u32(0, 0, 0),
                 "SETATTR")

    def rename(self, name, to):
        self.nfs(14, self.parent(name) + self.parent(to), "RENAME " + name)

    def rmdir(self, name):
        self.nfs(13, self.parent(name), name)

    def mkdir(self, name):
        self.nfs(9, self.parent(name) + u32(1, 0o755, 0, 0, 0, 0, 0), name)

    def symlink(self, name, target):
        self.nfs(10, self.parent(name) + u32(0, 0, 0, 0, 0, 0) +
                 opaque(target), name)

    def readlink(self, name):
        r = self.nfs(5, opaque(self.lookup(name)), name)
        self.attr(r)
        return r.opaque()

    def remove(self, name):
        self.nfs(12, self.parent(name), name)

    def ls(self, name="", maximum=1 << 20):
        """Names, by READDIRPLUS."""
        fh, cookie, verf, names = self.lookup(name), 0, bytes(8), []
        while True:
            r = self.nfs(17, opaque(fh) + u64(cookie) + verf +
                         u32(maximum, maximum), "READDIRPLUS")
            self.attr(r)
            verf = r.fixed(8)
            while r.u32():
                r.u64()
                names.append(r.opaque())
                cookie = r.u64()
                self.attr(r)
                if r.u32():
                    r.opaque()
            if r.u32():
                return [n for n in names if n not in (b".", b"..")]


class Open:
    def __init__(self, fh, stateid, owner, delegation):
        self.fh, self.stateid, self.owner = fh, stateid, owner
        self.delegation = delegation


(CLOSE, COMMIT, CREATE, DELEGRETURN, GETATTR, GETFH) = (4, 5, 6, 8, 9, 10)
(LOOKUP, OPEN, OPEN_CONFIRM, PUTFH, PUTROOTFH) = (15, 18, 20, 22, 24)
(READ, READDIR, READLINK, REMOVE) = (25, 26, 27, 28)
(LOCK, LOCKU, RENAME, SAVEFH, SETATTR) = (12, 14, 29, 32, 34)
(SETCLIENTID, SETCLIENTID_CONFIRM, WRITE) = (35, 36, 38)
(BIND_CONN, EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION) = (41, 42, 43, 44)
(LAYOUTGET, LAYOUTRETURN) = (50, 51)
(SEQUENCE, DESTROY_CLIENTID, RECLAIM_COMPLETE) = (53, 57, 58)
DENIED = 10010
CLIENTID_BUSY = 10074
SLOTS = 16


class V4(Client):
    def __init__(self, host, port, minor=0, export="/export", timeout=120,
                 name=None, sizes=(1 << 20) + 8192, callback=4096):
        self.minor, self.export = minor, export.strip("/")
        self.where = host, port, timeout
        self.rpc = Rpc(*self.where)
        self.rpc.on_call = self.answer
        self.callback = callback  # the longest that it takes
        self.cb_null = self.cb_calls = 0
        self.cb_slots = {}  # slot: sequence of the latest callback
        self.cb_seen = []  # (XID, slot, sequence) of all that came
        self.misordered = 0  # callbacks refused
        self.silent = False  # take callbacks, and do not answer
        self.status_flags = 0  # of the latest SEQUENCE
        self.recalled = []  # stateids
        self.layouts_recalled = []  # likewise
        self.session, self.owners, self.of_xid = None, 0, {}
        self.name = name or "rpcrdma-%x" % random.getrandbits(64)
        verifier = random.getrandbits(64).to_bytes(8, "big")
        try:
            if minor:
                self.start_session(verifier, sizes)
            else:
                self.set_clientid(verifier)
        except BaseException:
            self.rpc.close()  # nobody else has it
            raise

    def set_clientid(self, verifier):
        r = self.compound([u32(SETCLIENTID) + verifier + opaque(self.name) +
                           u32(0x40000000) + opaque("tcp") +
                           opaque("0.0.0.0.0.0") + u32(0)], "SETCLIENTID")
        self.result(r, SETCLIENTID)
        self.clientid, confirm = r.u64(), r.fixed(8)
        self.compound([u32(SETCLIENTID_CONFIRM) + u64(self.clientid) +
                       confirm], "SETCLIENTID_CONFIRM")

    def exchange_id(self, verifier):
        """Returns what comes behind the client's id."""
        r = self.compound([u32(EXCHANGE_ID) + verifier + opaque(self.name) +
                           u32(0, 0, 0)], "EXCHANGE_ID")
        self.result(r, EXCHANGE_ID)
        self.clientid = r.u64()
        return r

    def start_session(self, verifier, sizes):
        self.create_session(self.exchange_id(verifier).u32(), sizes)
        self.compound([u32(RECLAIM_COMPLETE, 0)], "RECLAIM_COMPLETE")

    def create_session(self, seq, sizes):
        channel = u32(0, sizes, sizes, 4096, 16, SLOTS, 0)
        back = u32(0, self.callback, 4096, 0, 4, 4, 0)
        r = self.compound([u32(CREATE_SESSION) + u64(self.clientid) +
                           u32(seq, 2) + channel + back +
                           u32(0x40000000, 1, 0)], "CREATE_SESSION")
        self.result(r, CREATE_SESSION)
        session, _, self.flags = r.fixed(16), r.u32(), r.u32()
        r.skip(20)
        # What the server grants of Calls outstanding.
        self.slots = min(SLOTS, r.u32())
        self.depth = min(self.depth, self.slots)
        self.sequence, self.free = [0] * self.slots, list(range(self.slots))
        self.session = session

    def another(self):
        """The session goes on by another connection, to which nothing is bound.
        That of before is returned."""
        before, self.rpc = self.rpc, Rpc(*self.where)
        self.rpc.xid, self.rpc.on_call = before.xid, self.answer
        return before

    def reconnect(self):
        self.rpc.close()
        self.another()

    def bind(self, direction=3):
        """BIND_CONN_TO_SESSION: the direction that the server gives."""
        session, self.session = self.session, None  # without SEQUENCE
        r = self.compound([u32(BIND_CONN) + session + u32(direction, 0)],
                          "BIND_CONN_TO_SESSION")
        self.session = session
        self.result(r, BIND_CONN)
        if r.fixed(16) != session:
            raise NfsError("BIND_CONN_TO_SESSION: another session", 0)
        return r.u32()

    def end(self):
        try:
            if self.session:
                session, self.session = self.session, None
                self.compound([u32(DESTROY_SESSION) + session],
                              "DESTROY_SESSION")
                self.destroy_clientid()
        finally:
            self.rpc.close()

    def destroy_clientid(self):
        """Something of the client's may still be ended by another thread."""
        for left in reversed(range(50)):
            try:
                self.compound([u32(DESTROY_CLIENTID) + u64(self.clientid)],
                              "DESTROY_CLIENTID")
                return
            except NfsError as e:
                if e.status != CLIENTID_BUSY or not left:
                    raise
                time.sleep(0.1)

    # ---- COMPOUND ----

    def send(self, ops, tag=b""):
        slot = None
        if self.session:
            slot = self.free.pop()
            self.sequence[slot] += 1
            ops = [u32(SEQUENCE) + self.session +
                   u32(self.sequence[slot], slot, self.slots - 1, 0)] + ops
        xid = self.rpc.send(NFS, 4, 1, opaque(tag) +
                            u32(self.minor, len(ops)) + b"".join(ops))
        if slot is not None:
            self.of_xid[xid] = slot
        return xid

    def received(self, r, what):
        """Status and SEQUENCE of a COMPOUND's result."""
        status = r.u32()
        r.opaque()
        r.u32()
        if self.session and not (status and r.at >= len(r.data)):
            op, first = r.u32(), r.u32()
            if op != SEQUENCE or first:
                raise NfsError(what + ": SEQUENCE", first)
            r.skip(32)
            self.status_flags = r.u32()
        if status:
            raise NfsError(what, status)
        return r

    def free_slot(self, xid):
        if xid in self.of_xid:
            self.free.append(self.of_xid.pop(xid))

    def compound(self, ops, what):
        xid = self.send(ops)
        r = self.rpc.receive(xid)
        self.free_slot(xid)
        return self.received(r, what)

    def pipeline(self, calls, finish):
        def end(item):
            key, xid = item
            r = self.rpc.receive(xid)
            self.free_slot(xid)
            finish(key, r)

        waiting = []
        for item in calls:
            waiting.append(item)
            if len(waiting) >= self.depth:
                end(waiting.pop(0))
        for item in waiting:
            end(item)

    @staticmethod
    def result(r, op):
        got, status = r.u32(), r.u32()
        if got != op or status:
            raise NfsError("operation %d instead of %d" % (got, op), status)
        return r

    def walk(self, name):
        """Operations that lead to @name, and their number."""
        parts = [p for p in (self.export + "/" + name).split("/") if p]
        return [u32(PUTROOTFH)] + [u32(LOOKUP) + opaque(p) for p in parts]

    def at(self, name, ops, what):
        walk = self.walk(name)
        r = self.compound(walk + ops, what)
        r.skip(8 * len(walk))
        return r

    def split(self, name):
        head, _, tail = name.strip("/").rpartition("/")
        return head, tail

    # ---- Callbacks ----

    def in_order(self, slot, seq):
        """As RFC 8881, 2.10.6.1 has it for a slot."""
        last = self.cb_slots.get(slot, 0)
        if seq not in (last, last + 1):
            self.misordered += 1
            return False
        self.cb_slots[slot] = seq
        return True

    def answer(self, xid, program, version, proc, r):
        if proc == 0:
            self.cb_null += 1
            return b""
        self.cb_calls += 1
        r.opaque()
        r.u32()
        r.u32()
        out = []
        n = r.u32()
        for _ in range(n):
            op = r.u32()
            if op == 11:  # CB_SEQUENCE
                session, seq = r.fixed(16), r.u32()
                slot, highest, _ = r.u32(), r.u32(), r.u32()
                for _ in range(r.u32()):
                    r.skip(16)
                    r.skip(8 * r.u32())
                self.cb_seen.append((xid, slot, seq))
                if self.silent:
                    return None
                if not self.in_order(slot, seq):
                    out.append(u32(11, 10063))
                    break
                out.append(u32(11, 0) + session +
                           u32(seq, slot, highest, highest))
            elif op == 4:  # CB_RECALL
                self.recalled.append(r.fixed(16))
                r.u32()
                r.opaque()
                out.append(u32(4, 0))
            elif op == 5:  # CB_LAYOUTRECALL, of a file
                r.skip(16)
                r.opaque()
                r.skip(16)
                self.layouts_recalled.append(r.fixed(16))
                out.append(u32(5, 0))
            else:
                out.append(u32(op, 10004))
                break
        status, = struct.unpack(">I", out[-1][4:8]) if out else (0,)
        return u32(status) + opaque("") + u32(len(out)) + b"".join(out)

    # ---- Files ----

    def null(self):
        self.rpc.call(NFS, 4, 0)

    def open(self, name, create=False, access=None, want=0, keep=False):
        head, tail = self.split(name)
        self.owners += 1
        access = access or (2 if create else 1)
        how = u32(0)
        if create:  # UNCHECKED, size 0, mode 0644
            how = u32(1, 0, 2, 1 << 4, 1 << 1) + opaque(u64(0) + u32(0o644))
        if create and keep:  # what is in it
            how = u32(1, 0, 2, 0, 1 << 1) + opaque(u32(0o644))
        # Each open has an owner of its own: no order among them.
        owner = opaque("%s-%d" % (self.name, self.owners))
        r = self.at(head, [u32(OPEN, 0, access | want, 0) +
                           u64(self.clientid) + owner + how + u32(0) +
                           opaque(tail), u32(GETFH)], "OPEN " + name)
        self.result(r, OPEN)
        stateid = r.fixed(16)
        r.skip(20)
        flags = r.u32()
        r.skip(4 * r.u32())
        delegation = self.delegation(r)
        fh = self.result(r, GETFH).opaque()
        if flags & 2:
            r = self.compound([u32(PUTFH) + opaque(fh),
                               u32(OPEN_CONFIRM) + stateid + u32(1)],
                              "OPEN_CONFIRM")
            r.skip(8)
            stateid = self.result(r, OPEN_CONFIRM).fixed(16)
        return Open(fh, stateid, 2 if flags & 2 else 1, delegation)

    @staticmethod
    def delegation(r):
        kind = r.u32()
        if kind in (1, 2):
            stateid = r.fixed(16)
            r.u32()
            if kind == 2:
                r.skip(12)
            r.skip(12)
            r.opaque()
            return stateid
        if kind == 3:
            if r.u32() in (1, 2):
                r.u32()
        return None

    def delegreturn(self, f):
        self.compound([u32(PUTFH) + opaque(f.fh),
                       u32(DELEGRETURN) + f.delegation], "DELEGRETURN")

    def layoutget(self, f):
        """A layout of the whole file for reading: its stateid."""
        r = self.compound([u32(PUTFH) + opaque(f.fh),
                           u32(LAYOUTGET, 0, 1, 1) + u64(0) +
                           u64((1 << 64) - 1) + u64(0) + f.stateid + u32(4096)],
                          "LAYOUTGET")
        r.skip(8)
        self.result(r, LAYOUTGET).u32()
        return r.fixed(16)

    def layoutreturn(self, f, layout):
        self.compound([u32(PUTFH) + opaque(f.fh),
                       u32(LAYOUTRETURN, 0, 1, 1, 1) + u64(0) +
                       u64((1 << 64) - 1) + layout + opaque("")],
                      "LAYOUTRETURN")

    def close(self, f):
        self.compound([u32(PUTFH) + opaque(f.fh),
                       u32(CLOSE, f.owner) + f.stateid], "CLOSE")

    def size(self, f):
        r = self.compound([u32(PUTFH) + opaque(f.fh),
                           u32(GETATTR, 1, 1 << 4)], "GETATTR")
        r.skip(8)
        self.result(r, GETATTR)
        r.skip(4 * r.u32())
        r.u32()
        return r.u64()

    def send_write(self, f, offset, data, stable):
        return self.send([u32(PUTFH) + opaque(f.fh),
                          u32(WRITE) + f.stateid + u64(offset) +
                          u32(stable) + opaque(data)])

    def written(self, r):
        self.received(r, "WRITE")
        r.skip(8)
        return self.result(r, WRITE).u32()

    def send_read(self, f, offset, count):
        return self.send([u32(PUTFH) + opaque(f.fh),
                          u32(READ) + f.stateid + u64(offset) + u32(count)])

    def was_read(self, r):
        self.received(r, "READ")
        r.skip(8)
        eof = self.result(r, READ).u32()
        return r.opaque(), eof

    def read_all(self, f, spans):
        """Several READs in one COMPOUND: the data of each."""
        r = self.compound([u32(PUTFH) + opaque(f.fh)] +
                          [u32(READ) + f.stateid + u64(o) + u32(n)
                           for o, n in spans], "READs")
        r.skip(8)
        out = []
        for _ in spans:
            self.result(r, READ).u32()
            out.append(r.opaque())
        return out

    def write_all(self, f, parts):
        """Several stable WRITEs in one COMPOUND."""
        r = self.compound([u32(PUTFH) + opaque(f.fh)] +
                          [u32(WRITE) + f.stateid + u64(o) + u32(2) +
                           opaque(d) for o, d in parts], "WRITEs")
        r.skip(8)
        for _, d in parts:
            if self.result(r, WRITE).u32() != len(d):
                raise NfsError("WRITE: short", 0)
            r.skip(12)

    def commit(self, f):
        self.compound([u32(PUTFH) + opaque(f.fh),
                       u32(COMMIT) + u64(0) + u32(0)], "COMMIT")

    def truncate(self, f, size):
        self.compound([u32(PUTFH) + opaque(f.fh), u32(SETATTR) + f.stateid +
                       u32(1, 1 << 4) + opaque(u64(size))], "SETATTR")

    def rename(self, name, to):
        head, tail = self.split(name)
        to_head, to_tail = self.split(to)
        # Two walks may be more operations than a session takes.
        fh = self.result(self.at(head, [u32(GETFH)], "GETFH"), GETFH).opaque()
        self.compound([u32(PUTFH) + opaque(fh), u32(SAVEFH)] + self.walk(to_head) +
                      [u32(RENAME) + opaque(tail) + opaque(to_tail)],
                      "RENAME " + name)

    def lock(self, f, exclusive, offset, length):
        """A range of @f, by an owner of its own. Returns False if it is denied."""
        self.owners += 1
        owner = opaque("%s-%d" % (self.name, self.owners))
        ops = [u32(PUTFH) + opaque(f.fh),
               u32(LOCK, 2 if exclusive else 1, 0) + u64(offset) +
               u64(length) + u32(1, f.owner) + f.stateid + u32(0) +
               u64(self.clientid) + owner]
        f.owner += 1
        try:
            r = self.compound(ops, "LOCK")
        except NfsError as e:
            if e.status != DENIED:
                raise
            return False
        r.skip(8)
        f.lock = self.result(r, LOCK).fixed(16)
        return True

    def unlock(self, f, offset, length):
        self.compound([u32(PUTFH) + opaque(f.fh), u32(LOCKU, 1, 1) + f.lock +
                       u64(offset) + u64(length)], "LOCKU")

    def create(self, name, kind):
        head, tail = self.split(name)
        self.at(head, [u32(CREATE) + kind + opaque(tail) +
                       u32(2, 0, 1 << 1) + opaque(u32(0o755))], name)

    def mkdir(self, name):
        self.create(name, u32(2))

    def symlink(self, name, target):
        self.create(name, u32(5) + opaque(target))

    def readlink(self, name):
        r = self.at(name, [u32(READLINK)], name)
        return self.result(r, READLINK).opaque()

    def remove(self, name):
        head, tail = self.split(name)
        self.at(head, [u32(REMOVE) + opaque(tail)], name)

    rmdir = remove

    def ls(self, name="", maximum=1 << 20):
        cookie, verf, names = 0, bytes(8), []
        while True:
            r = self.at(name, [u32(READDIR) + u64(cookie) + verf +
                               u32(maximum, maximum, 1, 1 << 1 | 1 << 4)],
                        "READDIR")
            self.result(r, READDIR)
            verf = r.fixed(8)
            while r.u32():
                cookie = r.u64()
                names.append(r.opaque())
                r.skip(4 * r.u32())
                r.opaque()
            if r.u32():
                return names


def connect(vers, host, port, mount_port, export="/export", timeout=120):
    if vers == "3":
        return V3(host, port, mount_port, export, timeout)
    return V4(host, port, int(vers.partition(".")[2] or 0), export, timeout)


def main(argv):
    if len(argv) < 7:
        print(__doc__, file=sys.stderr)
        return 2
    vers, host, port, mount_port, what = argv[1:6]
    names = argv[6:8]
    size = int(argv[8]) if len(argv) > 8 else 1 << 20
    remote = names[1] if what == "put" else names[0]
    _, export, path = ("/" + remote.lstrip("/") + "/").split("/", 2)
    c = connect(vers, host, int(port), int(mount_port), "/" + export)
    path = path.strip("/")
    if what == "put":
        with open(names[0], "rb") as f:
            c.put(path, f.read(), size)
    elif what == "get":
        with open(names[1], "wb") as f:
            f.write(c.get(path, size))
    else:
        for name in sorted(c.ls(path)):
            print(os.fsdecode(name))
    c.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
