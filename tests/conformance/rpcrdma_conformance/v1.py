# SPDX-License-Identifier: BSD-3-Clause
"""Version 1: the headers of RFC 8166, and one connection."""

import random
import struct

from . import rpc, v2
from .rpc import Reader, Short, u32

MSG, NOMSG, MSGP, DONE, ERROR = range(5)
ERR_VERS, ERR_CHUNK = 1, 2


def encode(proc, xid, credit, reads=(), writes=(), reply=None, payload=b""):
    return (u32(xid, 1, credit, proc) + v2.put_reads(reads) +
            v2.put_writes(writes) + v2.put_reply(reply) + payload)


class Header:
    def __init__(self, message):
        r = Reader(message.data)
        self.message, self.size = message, len(message.data)
        self.xid, self.vers, self.credit, self.proc = (
            r.u32(), r.u32(), r.u32(), r.u32())
        self.invalidated = message.invalidated
        self.error = None
        self.reads = self.writes = ()
        self.reply, self.payload = None, b""
        if self.vers != 1:
            raise Short("%s on a connection of version 1" % self)
        if self.proc == ERROR:
            code = r.u32()
            self.error = (code,) + tuple(
                r.u32() for _ in range(2 if code == ERR_VERS else 0))
            if r.left():
                raise Short("%d octets behind RDMA_ERROR" % r.left())
            return
        if self.proc not in (MSG, NOMSG):
            raise Short("%s" % self)
        self.reads, self.writes = v2.get_reads(r), v2.get_writes(r)
        self.reply = v2.get_reply(r)
        self.payload = r.data[r.at:]
        if self.proc == NOMSG and self.payload:
            raise Short("%s with a payload" % self)

    def __str__(self):
        return "version %d procedure %d xid %#x" % (self.vers, self.proc,
                                                    self.xid)

    @property
    def is_call(self):
        return self.proc == MSG and self.payload[4:8] == bytes(4)


class Conn:
    """A connection of version 1, seen from the client."""

    def __init__(self, iw, credits=32, threshold=1024):
        self.iw, self.credits, self.threshold = iw, credits, threshold
        self.xid = random.getrandbits(28) << 3
        self.calls, self.backlog, self.seen = [], [], []
        self.faults = iw.faults
        self.chunks = v2.Conn(iw)  # for its memory only
        self.write_chunk = self.chunks.write_chunk
        self.read_chunk = self.chunks.read_chunk
        self.memory, self.gather = self.chunks.memory, self.chunks.gather

    def new_xid(self):
        self.xid += 1
        return self.xid

    def post(self, payload, xid=None, proc=MSG, credit=None, **lists):
        xid = struct.unpack_from(">I", payload)[0] if xid is None else xid
        self.iw.send(encode(proc, xid,
                            self.credits if credit is None else credit,
                            payload=payload if proc == MSG else b"", **lists))
        return xid

    def next(self, patience=None):
        h = Header(self.iw.recv(patience))
        self.seen.append(h)
        if h.size > self.threshold:
            self.faults.append("%s has %d octets" % (h, h.size))
        return h

    def answer(self, xid):
        for h in self.backlog:
            if h.xid == xid:
                self.backlog.remove(h)
                return h
        while True:
            h = self.next()
            if h.is_call:
                self.calls.append(h)
            elif h.xid == xid:
                return h
            else:
                self.backlog.append(h)

    def call(self, payload, **lists):
        """(header, RPC Reply)"""
        h = self.answer(self.post(payload, **lists))
        if h.error:
            return h, None
        data = h.payload if h.proc == MSG else self.gather(h.reply or [])
        return h, data

    def good(self, payload, **lists):
        """(header, RPC message) of an accepted Reply."""
        h, data = self.call(payload, **lists)
        if h.error:
            raise Short("%s with error %r" % (h, h.error))
        reply = rpc.Reply(data)
        if not reply.ok:
            raise Short("RPC: denied %d, status %d" % (reply.denied,
                                                       reply.stat))
        return h, data

    def null(self):
        h, data = self.call(rpc.null(self.new_xid()))
        if h.error or not rpc.Reply(data).ok:
            raise Short("NULL was not answered")
        return h
