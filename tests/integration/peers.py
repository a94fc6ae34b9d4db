# SPDX-License-Identifier: BSD-3-Clause
"""Clients that choose the transport, the form and the connection of every single Call.

Each kind of connection has the same functions, so a test can send one Call by TCP, by
version 1 and by version 2 and compare what comes. Whoever imports this has the
conformance kit in its path.
"""

import os
import random
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))
# pylint: disable=wrong-import-position
from rpcrdma_conformance import iwarp, rpc, v1, v2  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402

INLINE, CHUNK, EXTERNAL, WRITE, REPLY = "inline", "chunk", "external", "write", "reply"
(EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION) = (42, 43, 44)
(SEQUENCE, DESTROY_CLIENTID, RECLAIM_COMPLETE) = (53, 57, 58)


class Gone(Exception):
    """The connection has ended, or cannot be made."""


class Silence(Exception):
    """Nothing came in time."""


class Call:
    """An RPC Call, and what of it may go by chunks.

    item: (offset, length) of the argument that may be reduced
    result: the most octets of the result that may be reduced
    most: the most octets of the Reply
    """

    def __init__(self, message, item=None, result=0, most=800):
        self.message, self.item, self.result, self.most = message, item, result, most
        self.xid, = struct.unpack_from(">I", message)

    def forms(self, kind):
        """How it may go by @kind: (form of the Call, form of the Reply)."""
        if not issubclass(kind, Rdma):
            return [(INLINE, INLINE)]
        asks = [EXTERNAL] + [CHUNK] * bool(self.item)
        if kind is Version2 or len(self.message) < 900:
            asks.insert(0, INLINE)
        # Without a chunk, version 1 has nothing for a long Reply.
        replies = [WRITE] * bool(self.result) + [REPLY]
        if kind is Version2 or self.most < 900:
            replies.insert(0, INLINE)
        return [(a, r) for a in asks for r in replies]


class Tcp:
    name = "tcp"

    def __init__(self, port, address="127.0.0.1", source=0, patience=20):
        self.patience, self.replies = patience, []
        self.s = socket.socket()
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.s.settimeout(patience)
        self.s.bind((address, source))
        try:
            self.s.connect(("127.0.0.1", port))
        except OSError as e:
            raise Gone(str(e)) from None
        self.source = self.s.getsockname()[1]
        self._in = b""

    def send(self, call, form=None):
        m = call.message
        try:
            self.s.sendall(struct.pack(">I", 1 << 31 | len(m)) + m)
        except OSError as e:
            raise Gone(str(e)) from None

    def _exactly(self, n, deadline):
        while len(self._in) < n:
            if not select.select([self.s], [], [],
                                 max(0, deadline - time.monotonic()))[0]:
                raise Silence("nothing came")
            try:
                data = self.s.recv(1 << 18)
            except OSError:
                data = b""
            if not data:
                raise Gone("the connection has ended")
            self._in += data
        out, self._in = self._in[:n], self._in[n:]
        return out

    def _message(self, deadline):
        m, last = b"", False
        while not last:
            mark, = struct.unpack(">I", self._exactly(4, deadline))
            last = mark >> 31
            m += self._exactly(mark & 0x7fffffff, deadline)
        return m

    def receive(self, xid, patience=None):
        """The next Reply with that XID, without its XID. Gone, Silence."""
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        for i, m in enumerate(self.replies):
            if m[:4] == u32(xid):
                return self.replies.pop(i)[4:]
        while True:
            m = self._message(deadline)
            if m[:8] == u32(xid, 1):
                return m[4:]
            self.replies.append(m)

    def call(self, call, form=None):
        self.send(call, form)
        return self.receive(call.xid)

    def sock(self):
        return self.s

    def shut(self):
        """Say that nothing more comes, and look at nothing."""
        self.sock().shutdown(socket.SHUT_WR)

    def close(self):
        """In order: the other end has seen it and has closed, too."""
        s = self.sock()
        try:
            s.shutdown(socket.SHUT_WR)
            s.settimeout(self.patience)
            while s.recv(1 << 18):
                pass
        except OSError:
            pass
        s.close()

    def break_off(self):
        """By a reset, as when the host has gone."""
        s = self.sock()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


class Gateway(Tcp):
    name = "gateway"


class Rdma(Tcp):
    conn = None  # class of the kit

    def __init__(self, port, address="127.0.0.1", source=0, patience=20):
        # pylint: disable=super-init-not-called
        self.source, self.patience = source, patience
        try:
            self.c = self.conn(iwarp.Iwarp.connect("127.0.0.1", port, patience,
                                                   address=address, crc=False))
            self.begin()
        except (OSError, iwarp.Closed, iwarp.Refused) as e:
            raise Gone(str(e)) from None
        self.replies = []

    def begin(self):
        pass

    def sock(self):
        return self.c.iw.s

    def lists(self, call, form):
        """(message, Read list, other lists)"""
        m, lists = call.message, {}
        reads = []
        if form[0] == CHUNK:
            at, n = call.item
            reads = self.c.read_chunk(at, m[at:at + n], (n // 3,) if n > 2 else ())
            m = m[:at] + m[at + n + -n % 4:]
        if form[1] == WRITE:
            # In two segments that are not alike.
            n = call.result
            lists["writes"] = [self.c.write_chunk(n // 3, n - n // 3)]
        if form[1] == REPLY or form[1] == WRITE and call.most > 900:
            lists["reply"] = self.c.write_chunk(call.most)
        return m, reads, lists

    def put(self, call, form):
        raise NotImplementedError

    def send(self, call, form=None):
        try:
            self.put(call, form or call.forms(type(self))[0])
        except iwarp.Closed as e:
            raise Gone(str(e)) from None

    def whole(self, payload, writes):
        """The Reply as it would be without a chunk: what is reduced is at its end."""
        data = self.c.gather([s for s in writes[0] if s.length]) if writes else b""
        return payload + data + bytes(-len(data) % 4)

    def take(self, xid, patience):
        raise NotImplementedError

    def receive(self, xid, patience=None):
        try:
            m = self.take(xid, self.patience if patience is None else patience)
        except iwarp.Closed as e:
            raise Gone(str(e)) from None
        except iwarp.Silence as e:
            raise Silence(str(e)) from None
        return m[4:]


class Version1(Rdma):
    name, conn = "v1", v1.Conn

    def put(self, call, form):
        m, reads, lists = self.lists(call, form)
        if form[0] != EXTERNAL:
            self.c.post(m, reads=reads, **lists)
        else:
            self.c.post(m, proc=v1.NOMSG, reads=self.c.read_chunk(0, m) + reads, **lists)

    def take(self, xid, patience):
        self.c.iw.patience = patience
        h = self.c.answer(xid)
        if h.error:
            return u32(xid) + b"error %r" % (h.error,)
        m = h.payload if h.proc == v1.MSG else self.c.gather(h.reply or [])
        return self.whole(m, h.writes)


class Version2(Rdma):
    name, conn = "v2", v2.Conn

    def begin(self):
        self.c.hello()

    def put(self, call, form):
        m, reads, lists = self.lists(call, form)
        if form[0] != EXTERNAL:
            self.c.send_call(m, call.xid, reads=reads, **lists)
        else:
            self.c.post(v2.CALL_EXTERNAL, call.xid, call=self.c.read_chunk(0, m),
                        reads=reads, **lists)

    def take(self, xid, patience):
        self.c.iw.patience = patience
        a = self.c.answer(xid)
        if a.error:
            return u32(xid) + b"error %r" % (a.error,)
        return self.whole(a.payload, a.writes)


KINDS = {kind.name: kind for kind in (Tcp, Gateway, Version1, Version2)}


def sys_cred(machine="peer", uid=0, stamp=None):
    stamp = random.getrandbits(32) if stamp is None else stamp
    return u32(1) + opaque(u32(stamp) + opaque(machine) + u32(uid, uid, 0)) + u32(0, 0)


class Session:
    """A session of NFSv4.1 or 4.2, made over the connection @c."""

    def __init__(self, c, minor=1, slots=4, name=None, verifier=None, size=1 << 20):
        self.minor, self.xid = minor, random.getrandbits(30)
        r = self.compound(c, u32(EXCHANGE_ID) + (verifier or random.randbytes(8)) +
                          opaque(name or "peer-%x" % random.getrandbits(64)) +
                          u32(0, 0, 0)).good(EXCHANGE_ID)
        self.client, seq = r.u64(), r.u32()
        channel = u32(0, size, size, size, 16, slots, 0)
        self.sid = self.compound(
            c, u32(CREATE_SESSION) + u64(self.client) + u32(seq, 0) + channel + channel +
            u32(0x40000000, 1, 0)).good(CREATE_SESSION).fixed(16)
        self.seqs = [0] * slots
        self.compound(c, self.sequence(), u32(RECLAIM_COMPLETE, 0)).good(SEQUENCE)
        self.used = tuple(self.seqs)  # by this

    def exchange(self, c, message):
        """The Reply."""
        return message[:4] + c.call(Call(message))

    def compound(self, c, *ops):
        self.xid += 1
        return rpc.Compound(self.exchange(c, rpc.compound(self.xid, list(ops),
                                                          minor=self.minor)))

    def sequence(self, again=False, keep=False, slot=0):
        """The operation for the next Call of @slot, or for the last once more."""
        self.seqs[slot] += not again
        return u32(SEQUENCE) + self.sid + u32(self.seqs[slot], slot, len(self.seqs) - 1,
                                              keep)

    def end(self, c):
        done = self.compound(c, u32(DESTROY_SESSION) + self.sid)
        assert not done.status, "DESTROY_SESSION: status %d" % done.status
        done = self.compound(c, u32(DESTROY_CLIENTID) + u64(self.client))
        assert not done.status, "DESTROY_CLIENTID: status %d" % done.status
