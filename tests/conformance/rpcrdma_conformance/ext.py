# SPDX-License-Identifier: BSD-3-Clause
"""The two extensions: draft-dnoveck-nfsv4-rpcrdma-xcharext-02 and -rtrext-03.

Their header types, properties and structures as docs/protocol.md has them on
version 2 ([M1], [M6]), and what a sender and a receiver of them has to count:
where the placement-targetable segments of a Receive are, and what is in them.
"""

import struct
from collections import namedtuple

from . import rpc, v2
from .rpc import Reader, Short, u32

# ---- Numbers [M1] ----

INITXCH, REQXCH, RESPXCH, UPDXCH = range(0xffffff01, 0xffffff05)
XMTREQ, XMTRESP, XMTCONT, REPTERR = range(0xffffff15, 0xffffff19)
NAMES = {INITXCH: "INITXCH", REQXCH: "REQXCH", RESPXCH: "RESPXCH",
         UPDXCH: "UPDXCH", XMTREQ: "XMTREQ", XMTRESP: "XMTRESP",
         XMTCONT: "XMTCONT", REPTERR: "REPTERR"}
XCHAR_TYPES = (INITXCH, REQXCH, RESPXCH, UPDXCH)
RTR_TYPES = (XMTREQ, XMTRESP, XMTCONT, REPTERR)

XCHSUPP, REQREMINV = 0xffffff00, 0xffffff02
RTRSUPP, RBSTRUCT, REQRXLIM, RESPSXLIM = range(0xffffff13, 0xffffff17)
INIT, REQ, RESP, UPD = 1, 2, 4, 8  # bits of XCHSUPP
XREQ, XRESP, XCONT = 1, 2, 4  # bits of RTRSUPP

EXRW, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM = range(1, 7)
(BADHMT, BADOMT, BADCONT, BADSEQ, BADXID, BADOFF, BADTBSN, BADPL) = range(1, 9)
PLT = 1  # a segment is a placement target
CALL, REPLY = 0, 1


def is_ext(htype):
    return htype >= 0xffffff00


# ---- XDR [M6] ----

Item = namedtuple("Item", "disp length type where")
Direction = namedtuple("Direction", "minlen type where")
Range = namedtuple("Range", "begin end items")
Bysize = namedtuple("Bysize", "threshold segments")
Target = namedtuple("Target", "offset numbers")
Id = namedtuple("Id", "xid dir seq")
Group = namedtuple("Group", "count length align flags")


def numbers(r):
    n = r.u32()
    if n * 4 > r.left():
        raise Short("%d words in %d octets" % (n, r.left()))
    return [r.u32() for _ in range(n)]


def put_numbers(words):
    return u32(len(words), *words)


def put_value(v):
    which, value = v
    if isinstance(value, int):
        value = u32(value)
    return u32(which) + rpc.opaque(value)


def get_value(r):
    return r.u32(), r.opaque()


def put_item(i):
    out = u32(i.disp, i.length, i.type)
    if i.type in (TOOSHORT, NOITEM):
        return out
    if i.type == TBSN:
        return out + u32(i.where[0]) + put_numbers(i.where[1])
    return out + v2.put_chunk(i.where)


def get_item(r):
    disp, length, kind = r.u32(), r.u32(), r.u32()
    if kind == EXRW:
        where = v2.get_chunk(r)
    elif kind == TBSN:
        where = Target(r.u32(), numbers(r))
    elif kind in (TOOSHORT, NOITEM):
        where = None
    else:
        raise Short("an item of type %d" % kind)
    return Item(disp, length, kind, where)


def put_dp(items):
    return u32(len(items)) + b"".join(map(put_item, items))


def get_dp(r):
    return [get_item(r) for _ in range(r.u32())]


def put_direction(d):
    out = u32(d.minlen, d.type)
    if d.type in (EXRW, CHOICE):
        return out + v2.put_chunk(d.where)
    if d.type == BYSIZE:
        return out + u32(d.where[0]) + v2.put_chunk(d.where[1])
    return out


def get_direction(r):
    minlen, kind = r.u32(), r.u32()
    if kind in (EXRW, CHOICE):
        where = v2.get_chunk(r)
    elif kind == BYSIZE:
        where = Bysize(r.u32(), v2.get_chunk(r))
    elif kind == TBSN:
        where = None
    else:
        raise Short("a direction of type %d" % kind)
    return Direction(minlen, kind, where)


def put_rsd(ranges):
    return u32(len(ranges)) + b"".join(
        u32(r.begin, r.end, len(r.items)) + b"".join(map(put_direction,
                                                         r.items))
        for r in ranges)


def get_rsd(r):
    return [Range(r.u32(), r.u32(), [get_direction(r)
                                     for _ in range(r.u32())])
            for _ in range(r.u32())]


def put_id(i):
    return u32(*i)


def get_id(r):
    i = Id(r.u32(), r.u32(), r.u32())
    if i.dir > 1:
        raise Short("direction %d" % i.dir)
    return i


def get_lead(r):
    return get_id(r) if v2.flag(r) else None


INFO = {BADHMT: 2, BADOMT: 2, BADCONT: 0, BADSEQ: 2, BADXID: 2, BADOFF: 3,
        BADTBSN: 3, BADPL: 3}


def get_info(r):
    code = r.u32()
    if code not in INFO:
        raise Short("code %d in REPTERR" % code)
    return (code,) + tuple(r.u32() for _ in range(INFO[code]))


def put_structure(groups, length=None):
    """What is in RBSTRUCT."""
    if length is None:
        length = sum(g.count * g.length for g in groups)
    return u32(length, len(groups)) + b"".join(u32(*g) for g in groups)


def get_structure(value):
    """(xmrbuf_length, groups)"""
    r = Reader(value)
    length, n = r.u32(), r.u32()
    groups = [Group(r.u32(), r.u32(), r.u32(), r.u32()) for _ in range(n)]
    if r.left():
        raise Short("%d octets behind RBSTRUCT" % r.left())
    return length, groups


def word(v):
    return u32(v)


def get_word(r):
    return r.u32()


v2.FIELDS.update({
    "start": (v2.put_props, v2.get_props, ()),
    "nochg": (put_numbers, numbers, ()),
    "want": (v2.put_props, v2.get_props, ()),
    "done": (put_numbers, numbers, ()),
    "rej": (put_numbers, numbers, ()),
    "pend": (put_numbers, numbers, ()),
    "now": (put_value, get_value, (0, b"")),
    "pendclr": (word, v2.flag, 0),
    "dp": (put_dp, get_dp, ()),
    "rsd": (put_rsd, get_rsd, ()),
    "count": (word, get_word, 1),
    "rsbuf": (word, get_word, 1),
    "pslen": (word, get_word, 0),
    "xnum": (word, get_word, 0),
    "itype": (word, get_word, 0),
    "bad": (put_id, get_id, Id(0, 0, 0)),
    "lead": (lambda i: u32(0) if i is None else u32(1, *i), get_lead, None),
    "info": (lambda i: u32(*i), get_info, (BADCONT,)),
    # All behind the structure: pslen octets of payload, padding, items.
    "rest": (bytes, lambda r: r.data[r.at:], b""),
})
LAYOUT = {
    INITXCH: ("start", "nochg"),
    REQXCH: ("want",),
    RESPXCH: ("done", "rej", "pend"),
    UPDXCH: ("now", "pendclr"),
    XMTREQ: ("dp", "rsd", "count", "rsbuf", "pslen", "rest"),
    XMTRESP: ("dp", "count", "pslen", "rest"),
    XMTCONT: ("xnum", "itype", "pslen", "rest"),
    REPTERR: ("bad", "lead", "info"),
}
v2.LAYOUT.update(LAYOUT)
v2.OTHERS.update(NAMES)


def bits(subset, n):
    """Which of @n elements a subset has."""
    return {i for i in range(n) if i // 32 < len(subset) and
            subset[i // 32] >> i % 32 & 1}


def subset(members):
    words = [0] * (max(members) // 32 + 1 if members else 0)
    for i in members:
        words[i // 32] |= 1 << i % 32
    return words


# ---- Receives with targetable segments ----


class Structure:
    """One Receive as RBSTRUCT has it: self.targets, (offset, length) each."""

    def __init__(self, groups):
        self.groups = [Group(*g) for g in groups]
        self.targets, self.size = [], 0
        for g in self.groups:
            for _ in range(g.count):
                if g.flags & PLT:
                    self.targets.append((self.size, g.length))
                self.size += g.length

    def value(self):
        return put_structure(self.groups)

    def find(self, number):
        """(transmission, offset in it, length) of a targetable segment."""
        if not self.targets:
            raise Short("segment %d, where none is targetable" % number)
        at, length = self.targets[number % len(self.targets)]
        return number // len(self.targets), at, length


def plain_and_targets(head, n, length=4096, align=4096):
    return Structure([Group(1, head, 0, 0), Group(n, length, align, PLT)])


# What this end says of its own Receives, and keeps to.
OURS = plain_and_targets(4096, 15)


def spans(structure, item):
    """(transmission, offset, length) for each piece of an item by TBSN."""
    left, offset, out = item.length, item.where.offset, []
    for number in item.where.numbers:
        t, at, size = structure.find(number)
        if offset > size:
            raise Short("offset %d in a segment of %d" % (offset, size))
        n = min(left, size - offset)
        out.append((t, at + offset, n))
        left -= n
        offset = 0
    if left:
        raise Short("%d octets of an item are in no segment" % left)
    return out


def build(structure, payload, data, initial, first=None, offset=0, parts=None,
          spare=None, least=0):
    """A group by send-based placement to @structure: its dp, its count, and
    for each transmission [header from rdma_htype on or None for XMTCONT,
    octets of payload, all behind the header].

    payload: the stream without items; data: (disp, octets) each, or an Item
    that goes another way; initial: a function (dp, count, pslen) -> the header
    from rdma_htype on; first: the lowest segment number to use; offset: in the
    first segment of each item; parts: how many octets of payload each
    transmission has; spare: numbers of segments not to use; least:
    transmissions at least.
    """
    spare = set(spare or ())
    parts = list(parts or [len(payload)])
    n = len(structure.targets)

    def head_of(t, dp, count):
        if t:
            return 16 + 12
        return 12 + len(initial(dp, count, parts[0]))

    # The length of the header depends on how many segments there are, not
    # which: so twice.
    dp, count = [i if isinstance(i, Item) else
                 Item(i[0], len(i[1]), TBSN, Target(offset, [0])) for i in
                 data], 1
    for _ in range(8):
        out, number = [], first or 0
        for i in data:
            if isinstance(i, Item):
                out.append(i)
                continue
            d, x = i
            used, left, at = [], len(x), offset
            while left > 0 or not used:
                t, where, size = structure.find(number)
                here = head_of(t, dp, count) + (parts[t] if t < len(parts)
                                                else 0)
                if where < here or number in spare:
                    number += 1
                    continue
                used.append(number)
                left -= size - at
                at = 0
                number += 1
            out.append(Item(d, len(x), TBSN, Target(offset, used)))
        last = max([i.where.numbers[-1] // n for i in out
                    if i.type == TBSN] or [0])
        steady, dp, count = out == dp, out, max(last + 1, len(parts), least)
        if steady:
            break
    bodies, at = [], 0
    for t in range(count):
        size = parts[t] if t < len(parts) else 0
        piece = payload[at:at + size]
        at += size
        if t == 0:
            head = initial(dp, count, size)
        else:
            head = None
        bodies.append([head, size, bytearray(piece)])
    for item, given in zip(dp, data):
        if isinstance(given, Item):
            continue
        x, done = given[1], 0
        for t, where, size in spans(structure, item):
            body = bodies[t]
            begin = where - (28 if t else 12 + len(body[0]))
            if begin < body[1]:
                raise Short("an item over the payload")
            body[2] += bytes(max(0, begin + size - len(body[2])))
            body[2][begin:begin + size] = x[done:done + size]
            done += size
    return dp, count, bodies


class Gathered:
    """An RPC message that came as a group of transmissions."""

    def __init__(self, headers, structure, iw=None):
        """@structure: of the Receives it came to."""
        h = headers[0]
        self.headers, self.first, self.xid = headers, h, h.xid
        self.dp, self.count = h.dp, h.count
        self.payload = b"".join(x.rest[:x.pslen] for x in headers)
        self.items = []
        used = [[] for _ in headers]
        for x, u in zip(headers, used):
            u.append((0, x.size - len(x.rest) + x.pslen))
        self.items = [self._item(i, structure, used, iw) for i in h.dp]
        self.padding = []  # octets that are neither
        for x, u in zip(headers, used):
            at, data = 0, x.message.data
            for begin, end in sorted(u) + [(x.size, x.size)]:
                self.padding.append(data[at:max(at, begin)])
                at = max(at, end)

    def _item(self, i, structure, used, iw):
        if i.type == TBSN:
            out = b""
            for t, at, n in spans(structure, i):
                if t >= len(self.headers):
                    raise Short("an item beyond the group")
                data = self.headers[t].message.data
                if at + n > len(data):
                    raise Short("an item beyond its transmission")
                out += data[at:at + n]
                used[t].append((at, at + n))
            return out
        if i.type == EXRW and iw is not None:
            return b"".join(iw.read(s.handle, s.offset, s.length)
                            for s in i.where if s.length)
        return None

    def stream(self):
        """The whole RPC message, items put back with their roundup."""
        out = self.payload
        for i, data in zip(self.dp, self.items):
            if data is None:
                continue
            out = out[:i.disp] + data + bytes(-len(data) % 4) + out[i.disp:]
        return out


# ---- A connection ----


def init_props(xch=INIT | REQ | RESP | UPD, rtr=XREQ | XRESP | XCONT,
               structure=OURS, reqrx=4, respsx=4, more=()):
    """What an end with both extensions announces."""
    props = list(more)
    if xch:
        props.append((XCHSUPP, xch))
    if rtr:
        props.append((RTRSUPP, rtr))
    if structure is not None:
        props.append((RBSTRUCT, structure.value()))
    if reqrx is not None:
        props.append((REQRXLIM, reqrx))
    if respsx is not None:
        props.append((RESPSXLIM, respsx))
    return props


class Ext:
    """For a connection: what the extensions add to it. A mixin of v2.Conn."""

    own = None  # the structure of our Receives
    extensions = True

    def send_props(self, props=(), htype=v2.PROP_FINAL, xid=None, **more):
        props = list(props)
        for which, value in props:
            if which == RBSTRUCT and isinstance(value, bytes) and value:
                self.own = Structure(get_structure(value)[1])
                self.recv_size = self.own.size
        return super().send_props(props, htype, xid, **more)

    def next(self, patience=None):
        h = super().next(patience)
        values = h.start if h.htype == INITXCH else \
            [h.now] if h.htype == UPDXCH else ()
        for k, v in values:
            if k < v2.HOSTAUTH and len(v) in (0, 4):
                self.theirs.pop(k, None)
                if v:
                    self.theirs[k], = struct.unpack(">I", v)
        return h

    def room(self):
        if v2.RBSIZ in self.theirs:
            return self.theirs[v2.RBSIZ]
        s = self.structure
        return s.size if s else 4096

    def announced(self, which):
        """A value that the peer has announced, or None."""
        for h in reversed(self.seen):
            for k, v in (h.props if h.htype in (6, 7) else
                         h.start if h.htype == INITXCH else ()):
                if k == which:
                    return v
        return None

    def number(self, which, default=0):
        v = self.announced(which)
        return struct.unpack(">I", v)[0] if v else default

    @property
    def structure(self):
        """Of the peer's Receives."""
        v = self.announced(RBSTRUCT)
        return Structure(get_structure(v)[1]) if v else None

    def group(self, htype, xid, payload, data=(), rsd=(), rsbuf=1, count=None,
              between=None, **how):
        """Send a request or a response as a group; (dp, count)."""
        def initial(dp, n, pslen):
            fields = dict(dp=dp, count=n if count is None else count,
                          pslen=pslen)
            if htype == XMTREQ:
                fields.update(rsd=rsd, rsbuf=rsbuf)
            return v2.encode(htype, 0, 0, **fields)[12:]

        dp, n, bodies = build(self.structure or Structure([(1, self.room(), 0,
                                                           0)]),
                              payload, data, initial, **how)
        for t, (head, size, body) in enumerate(bodies):
            if t and between:
                between(t)
            if t:
                self.post(XMTCONT, xid, xnum=t, itype=htype, pslen=size,
                          rest=bytes(body))
            else:
                self.await_credit()
                credit = self.credit()
                self.put(u32(xid, 2, credit) + head + bytes(body), credit)
        return dp, n

    def call_ext(self, payload, data=(), **more):
        """A Call by XMTREQ, and what answers it."""
        xid = struct.unpack_from(">I", payload)[0]
        self.group(XMTREQ, xid, payload, data, **more)
        return self.answer_ext(xid)

    def answer_ext(self, xid, patience=None):
        """A Gathered; or the RDMA2_ERROR, REPTERR or base Reply."""
        kept, parts = [], []
        try:
            while True:
                h = self.take(patience)
                if h.htype in (v2.CALL_INLINE, v2.PROP_FINAL, v2.PROP_MIDDLE,
                               *XCHAR_TYPES) or h.xid != xid:
                    kept.append(h)
                    continue
                if h.htype not in (XMTRESP, XMTCONT):
                    return h
                if (h.htype == XMTCONT) != bool(parts):
                    raise Short("%s out of place" % h)
                parts.append(h)
                if h.pslen > len(h.rest) or h.pslen % 4:
                    raise Short("%s: pslen %d of %d octets" % (
                        h, h.pslen, len(h.rest)))
                if parts[1:] and (h.xnum, h.itype) != (len(parts) - 1,
                                                       XMTRESP):
                    raise Short("%s: number %d of type %#x" % (h, h.xnum,
                                                               h.itype))
                if len(parts) >= parts[0].count:
                    g = Gathered(parts, self.own or OURS)
                    g.items = [self.gather(i.where) if i.type == EXRW else x
                               for i, x in zip(g.dp, g.items)]
                    return g
        finally:
            self.backlog = kept + self.backlog

    def take_ext(self, htype, patience=None):
        """The next message of that type; others are kept."""
        kept = []
        try:
            while True:
                h = self.take(patience)
                if h.htype == htype:
                    return h
                kept.append(h)
        finally:
            self.backlog = kept + self.backlog

    def have(self, htype):
        """Messages of that type that have come, ever."""
        return [h for h in self.seen if h.htype == htype]

    def poll(self, seconds=0.05):
        """Take in what is there."""
        while not self.iw.quiet(seconds):
            self.backlog.append(self.next())


class Conn(Ext, v2.Conn):
    """This end as a client with the extensions."""
