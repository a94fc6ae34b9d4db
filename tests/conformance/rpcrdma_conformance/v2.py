# SPDX-License-Identifier: BSD-3-Clause
"""Version 2: the headers of section 6 as one table, and one connection.

Credits are counted as docs/protocol.md [A1], [A2] and [A5] read 4.2.1.
"""

import random
import struct
from collections import namedtuple

from . import rpc
from .iwarp import Closed
from .rpc import Reader, Short, u32

(ERROR, GRANT, PROP_MIDDLE, PROP_FINAL, CALL_EXTERNAL, CALL_MIDDLE,
 CALL_INLINE, REPLY_EXTERNAL, REPLY_MIDDLE, REPLY_INLINE) = range(4, 14)
TYPES = ("ERROR GRANT CONNPROP_MIDDLE CONNPROP_FINAL CALL_EXTERNAL "
         "CALL_MIDDLE CALL_INLINE REPLY_EXTERNAL REPLY_MIDDLE "
         "REPLY_INLINE").split()
OTHERS = {}  # names of more types, by number; see ext.py
(VERS, BAD_XDR, BAD_PROPVAL, INVAL_HTYPE, INVAL_CONT, READ_CHUNKS,
 WRITE_CHUNKS, SEGMENTS, WRITE_RESOURCE, REPLY_RESOURCE, VERS_MISMATCH) = \
    range(1, 12)
SYSTEM = 100
SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH = range(1, 7)

Segment = namedtuple("Segment", "handle length offset")
ReadSegment = namedtuple("ReadSegment", "position handle length offset")

# ---- XDR of section 8.3 and 8.4: for each kind of field a pair (in, out).


def put_segment(s):
    return struct.pack(">IIQ", s.handle, s.length, s.offset)


def get_segment(r):
    return Segment(r.u32(), r.u32(), r.u64())


def flag(r):
    more = r.u32()
    if more > 1:
        raise Short("%d is not a bool" % more)
    return more


def put_reads(entries):
    return b"".join(struct.pack(">IIIIQ", 1, *e) for e in entries) + u32(0)


def get_reads(r):
    out = []
    while flag(r):
        out.append(ReadSegment(r.u32(), r.u32(), r.u32(), r.u64()))
    return out


def put_chunk(chunk):
    return u32(len(chunk)) + b"".join(map(put_segment, chunk))


def get_chunk(r):
    return [get_segment(r) for _ in range(r.u32())]


def put_writes(chunks):
    return b"".join(u32(1) + put_chunk(c) for c in chunks) + u32(0)


def get_writes(r):
    out = []
    while flag(r):
        out.append(get_chunk(r))
    return out


def put_reply(chunk):
    return u32(0) if chunk is None else u32(1) + put_chunk(chunk)


def get_reply(r):
    return get_chunk(r) if flag(r) else None


def put_props(props):
    """(number, octets or uint32) each."""
    out = [u32(len(props))]
    for which, value in props:
        if isinstance(value, int):
            value = u32(value)
        out.append(u32(which) + rpc.opaque(value))
    return b"".join(out)


def get_props(r):
    return [(r.u32(), r.opaque()) for _ in range(r.u32())]


EXTRA = {VERS: 2, READ_CHUNKS: 1, WRITE_CHUNKS: 1, SEGMENTS: 1,
         WRITE_RESOURCE: 2, REPLY_RESOURCE: 1}


def put_error(e):
    return u32(*e)


def get_error(r):
    code = r.u32()
    return (code,) + tuple(r.u32() for _ in range(EXTRA.get(code, 0)))


FIELDS = {
    "inv": (lambda v: u32(v), lambda r: r.u32(), 0),
    "remaining": (lambda v: u32(v), lambda r: r.u32(), 0),
    "call": (put_reads, get_reads, ()),
    "reads": (put_reads, get_reads, ()),
    "writes": (put_writes, get_writes, ()),
    "reply": (put_reply, get_reply, None),
    "props": (put_props, get_props, ()),
    "error": (put_error, get_error, ()),
    "payload": (bytes, lambda r: r.data[r.at:], b""),
}

# Table 2 and the structures of 6.3.
LAYOUT = {
    ERROR: ("error",),
    GRANT: (),
    PROP_MIDDLE: ("props",),
    PROP_FINAL: ("props",),
    CALL_EXTERNAL: ("inv", "call", "reads", "writes", "reply"),
    CALL_MIDDLE: ("remaining", "payload"),
    CALL_INLINE: ("inv", "reads", "writes", "reply", "payload"),
    REPLY_EXTERNAL: ("writes", "reply"),
    REPLY_MIDDLE: ("remaining", "payload"),
    REPLY_INLINE: ("writes", "payload"),
}


def encode(htype, xid, credit, vers=2, **fields):
    out = [u32(xid, vers, credit, htype)]
    for name in LAYOUT[htype]:
        put, _, default = FIELDS[name]
        out.append(put(fields.pop(name, default)))
    if fields:
        raise TypeError("no such field: %s" % ", ".join(fields))
    return b"".join(out)


class Header:
    """A message that has come; its fields are attributes."""

    def __init__(self, message):
        self.message, data = message, message.data
        self.size = len(data)
        r = Reader(data)
        self.xid, self.vers, self.credit, self.htype = (
            r.u32(), r.u32(), r.u32(), r.u32())
        self.invalidated = message.invalidated
        self.surplus = 0
        if self.vers == 2:
            if self.htype not in LAYOUT:
                raise Short("header type %d" % self.htype)
            for name in LAYOUT[self.htype]:
                setattr(self, name, FIELDS[name][1](r))
            if "payload" in LAYOUT[self.htype]:
                if len(self.payload) < 4:
                    raise Short("%s without payload" % self)
            elif "rest" not in LAYOUT[self.htype]:
                self.surplus = r.left()

    def __str__(self):
        name = (TYPES[self.htype - 4] if 4 <= self.htype <= 13
                else OTHERS.get(self.htype, "type %#x" % self.htype))
        text = "%s xid %#x vers %d credit %d" % (name, self.xid, self.vers,
                                                 self.credit)
        if self.htype == ERROR and self.vers == 2:
            text += " error %r" % (self.error,)
        return text


def ahead(a, b):
    """How far a is ahead of b, modulo 2^32."""
    return ((a - b + 0x80000000) & 0xffffffff) - 0x80000000


class Answer:
    """What came in answer to one Call, whichever format it had."""

    def __init__(self, xid):
        self.xid, self.headers = xid, []
        self.payload = b""
        self.writes, self.error, self.external = [], None, False
        self.invalidated = None

    @property
    def last(self):
        return self.headers[-1]

    @property
    def rpc(self):
        return rpc.Reply(self.payload)


class Conn:
    """One connection of version 2, of which this end is either.

    advertise: Advertised credits; replenish: send a GRANT when half of them
    are used.
    """

    extensions = False  # see ext.py

    def __init__(self, iw, advertise=32, replenish=True):
        self.iw = iw
        self.advertise, self.replenish = advertise, replenish
        self.sent = self.received = 0
        self.limit = 1  # Received credits
        self.told = 1  # the most that we have told
        self.last = 1  # what we have told last
        self.recv_size = 4096  # ours, as announced
        self.props, self.theirs = None, {}
        self.faults = iw.faults
        self.backlog, self.calls, self.seen = [], [], []
        self.xid = random.getrandbits(28) << 3
        self.unchecked = False

    # ---- Sending ----

    def new_xid(self):
        self.xid += 1
        return self.xid

    def credit(self):
        return (self.received + self.advertise) & 0xffffffff

    def put(self, data, credit=None, inv=None):
        """Octets as they are; @credit: what they tell the peer."""
        self.sent += 1
        if credit is not None:
            self.last = credit
            if ahead(credit, self.told) > 0:
                self.told = credit
        self.iw.send(data, inv)

    def can_send(self, reserve=0):
        return ahead(self.limit, self.sent + 1) + reserve >= 0

    def await_credit(self):
        while not self.can_send():
            self.backlog.append(self.next())

    def post(self, htype, xid, credit=None, force=False, to_inv=None,
             vers=2, **fields):
        if not force:
            self.await_credit()
        if credit is None:
            credit = self.credit()
        data = encode(htype, xid, credit, vers, **fields)
        self.put(data, credit, to_inv)

    def raw(self, *words, tail=b"", force=False):
        """Words of a header as they are; None for the credit word."""
        if not force:
            self.await_credit()
        credit = self.credit()
        self.put(u32(*(credit if w is None else w for w in words)) + tail,
                 credit)

    def grant(self, credit=None):
        if self.can_send(1):
            self.post(GRANT, 0, credit, force=True)

    def send_props(self, props=(), htype=PROP_FINAL, xid=None, **more):
        for which, value in props:
            if which == RBSIZ and isinstance(value, int):
                self.recv_size = max(value, 1024)
        xid = xid or self.new_xid()
        self.post(htype, xid, props=list(props), **more)
        return xid

    def send_call(self, payload, xid=None, **lists):
        """As one message, or continued if it must be."""
        xid = struct.unpack_from(">I", payload)[0] if xid is None else xid
        room = self.room() - len(encode(CALL_INLINE, 0, 0, **lists))
        if len(payload) <= room:
            self.post(CALL_INLINE, xid, payload=payload, **lists)
            return xid
        at, step = 0, (self.room() - 20) & ~3
        while len(payload) - at > room:
            part = payload[at:at + min(step, len(payload) - at - 4)]
            at += len(part)
            self.post(CALL_MIDDLE, xid, remaining=len(payload) - at,
                      payload=part)
        self.post(CALL_INLINE, xid, payload=payload[at:], **lists)
        return xid

    def room(self):
        """The longest message that the peer takes."""
        return self.theirs.get(RBSIZ, 4096)

    def send_reply(self, m):
        """An RPC Reply without chunks, continued if it must be."""
        xid, at = struct.unpack_from(">I", m)[0], 0
        room = (self.room() - 20) & ~3
        while len(m) - at > room:
            part = m[at:at + min(room, len(m) - at - 4)]
            at += len(part)
            self.post(REPLY_MIDDLE, xid, payload=part, remaining=len(m) - at)
        self.post(REPLY_INLINE, xid, payload=m[at:])

    # ---- Receiving ----

    def next(self, patience=None):
        """The next message, GRANTs too."""
        h = Header(self.iw.recv(patience))
        self.received += 1
        self.seen.append(h)
        over = ahead(self.received, self.told)
        if not self.unchecked:
            if over > (1 if h.htype == GRANT else 0):
                self.fault("%s beyond its credits: message %d, told %d" %
                           (h, self.received, self.told))
            if h.htype not in range(4, 14) and not self.extensions:
                self.fault("%s, unasked" % h)
            if h.vers != 2 and h.htype != ERROR:
                self.fault("%s on a connection of version 2" % h)
            if h.size > max(self.recv_size, 1024):
                self.fault("%s has %d octets" % (h, h.size))
            if h.surplus:
                self.fault("%s has %d octets too many" % (h, h.surplus))
            if h.htype == GRANT and h.xid:
                self.fault("%s: the xid is not zero" % h)
        self.limit = h.credit
        if h.htype in (PROP_MIDDLE, PROP_FINAL):
            self.theirs.update(
                (k, struct.unpack(">I", v)[0]) for k, v in h.props
                if len(v) == 4 and k < HOSTAUTH)
        if (self.replenish and
                ahead(self.last, self.received) <= self.advertise // 2):
            self.grant()
        return h

    def fault(self, text):
        self.faults.append(text)

    def take(self, patience=None):
        """The next message that is not a GRANT."""
        while True:
            h = self.backlog.pop(0) if self.backlog else self.next(patience)
            if h.htype != GRANT:
                return h

    def props_of_peer(self):
        """Its CONNPROPs up to FINAL."""
        while True:
            h = self.take()
            if h.htype == PROP_FINAL:
                return h
            if h.htype != PROP_MIDDLE:
                raise Short("%s instead of CONNPROP" % h)

    def hello(self, props=()):
        """The beginning of a client: our FINAL, its FINAL."""
        self.send_props(props)
        return self.props_of_peer()

    def answer(self, xid, patience=None):
        """All messages that answer the Call @xid. Others are kept."""
        a, kept = Answer(xid), []
        try:
            while True:
                h = self.take(patience)
                if h.htype in (CALL_EXTERNAL, CALL_MIDDLE, CALL_INLINE):
                    self.calls.append(h)
                    continue
                if (h.xid != xid or h.htype in (PROP_MIDDLE, PROP_FINAL) or
                        h.htype > REPLY_INLINE):
                    kept.append(h)
                    continue
                a.headers.append(h)
                if h.htype == ERROR:
                    a.error = h.error
                    return a
                if h.htype == REPLY_MIDDLE:
                    a.payload += h.payload
                    continue
                if h.htype == REPLY_INLINE:
                    a.payload += h.payload
                else:
                    a.external = True
                    a.payload = self.gather(h.reply or [])
                a.writes, a.invalidated = h.writes, h.invalidated
                return a
        finally:
            self.backlog = kept + self.backlog

    def gather(self, chunk):
        """What has been written to the segments of a chunk of ours."""
        out = b""
        for s in chunk:
            region = self.iw.regions.get(s.handle)
            if region is None:
                raise Short("a segment that was never offered")
            at = s.offset - region.base
            out += bytes(region.data[at:at + s.length])
        return out

    def call(self, payload, **lists):
        return self.answer(self.send_call(payload, **lists))

    def null(self):
        """A Call that must be answered: all before it has been handled."""
        a = self.call(rpc.null(self.new_xid()))
        if a.error or not a.rpc.ok:
            raise Short("NULL was not answered: %s" % a.last)
        return a

    # ---- Chunks ----

    def read_chunk(self, position, data, cuts=()):
        """Read segments for @data, cut at the offsets @cuts."""
        out, edges = [], [0, *cuts, len(data)]
        for a, b in zip(edges, edges[1:]):
            m = self.iw.expose(data[a:b], read=True)
            out.append(ReadSegment(position, m.stag, b - a, m.base))
        return out

    def write_chunk(self, *lengths, fill=0xaa):
        out = []
        for n in lengths:
            m = self.iw.expose(bytes([fill]) * max(n, 1), write=True)
            out.append(Segment(m.stag, n, m.base))
        return out

    def memory(self, segment):
        return self.iw.regions[segment.handle].data

    def wait_end(self, patience=None):
        return self.iw.wait_end(patience)

    def closed(self):
        """True if the peer ends the connection; messages are dropped."""
        try:
            while True:
                self.next()
        except Closed:
            return True


def words(h):
    """A message as 32-bit words."""
    data = h.message.data
    return list(struct.unpack(">%dI" % (len(data) // 4),
                              data[:len(data) & ~3]))
