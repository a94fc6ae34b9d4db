# SPDX-License-Identifier: BSD-3-Clause
"""Calls that several files of checks make."""

from . import rpc, v2
from .kit import Wrong, good, same


def read_call(t, xid, *spans, fh=None, tag=b""):
    """A COMPOUND of READs (offset, count)."""
    return rpc.compound(xid, [rpc.putfh(fh or t.files.data)] +
                        [rpc.read(o, n) for o, n in spans], tag)


def read_results(payload, *reduced):
    """For each READ: its data, or the length if it was reduced."""
    c = rpc.Compound(payload)
    c.good(rpc.PUTFH)
    out = []
    for was in reduced:
        r = c.good(rpc.READ)
        r.u32()
        out.append(r.u32() if was else r.opaque())
    if r.left():
        raise Wrong("%d octets behind the last READ" % r.left())
    return out


def read_inline(t, c, offset, count, **lists):
    """A READ without a Write chunk, checked; the Answer."""
    a = good(c.call(read_call(t, c.new_xid(), (offset, count)), **lists))
    data, = read_results(a.payload, False)
    same(data, t.files.content[offset:offset + count], "what was read")
    return a


class Reduced:
    """A COMPOUND whose WRITEs may be reduced: the stream without their data,
    and where the data would be."""

    def __init__(self, xid, cred=rpc.SYS, tag=b""):
        self.xid, self.cred, self.tag = xid, cred, tag
        self.ops, self.n = [], 0  # octets, or (length,) where data was

    def op(self, octets):
        self.ops.append(octets)
        self.n += 1
        return self

    def write(self, fh, offset, length):
        self.op(rpc.putfh(fh)).op(rpc.write_head(offset, length))
        self.ops.append((length,))
        return self

    def build(self):
        """(payload without the data, Positions)"""
        out = rpc.call(self.xid, rpc.NFS, 4, 1, rpc.opaque(self.tag) +
                       rpc.u32(0, self.n), self.cred)
        extra, positions = 0, []
        for part in self.ops:
            if isinstance(part, tuple):
                positions.append(len(out) + extra)
                extra += part[0] + -part[0] % 4
            else:
                out += part
        return out, positions


def write_results(payload, *counts):
    c = rpc.Compound(payload)
    for n in counts:
        r = c.good(rpc.PUTFH, rpc.WRITE)
        same(r.u32(), n, "the count of a WRITE")
        r.fixed(12)


def stored(t, c, offset, count, fh=None):
    """What the scratch file has, read plainly."""
    a = good(c.call(read_call(t, c.new_xid(), (offset, count),
                              fh=fh or t.files.scratch)))
    return read_results(a.payload, False)[0]


def write_by_chunk(t, c, data, cuts=(), offset=0, **lists):
    """WRITE @data to the scratch file by one Read chunk; the Answer."""
    x = c.new_xid()
    payload, (at,) = Reduced(x).write(t.files.scratch, offset,
                                      len(data)).build()
    a = good(c.call(payload, reads=c.read_chunk(at, data, cuts), **lists))
    write_results(a.payload, len(data))
    same(stored(t, c, offset, len(data)), data, "what has been written")
    return a


def external(c, payload, cuts=(), **lists):
    """Send a Call in Special format; its xid."""
    xid = int.from_bytes(payload[:4], "big")
    c.post(v2.CALL_EXTERNAL, xid, call=c.read_chunk(0, payload, cuts), **lists)
    return xid
