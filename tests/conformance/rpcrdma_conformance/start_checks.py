# SPDX-License-Identifier: BSD-3-Clause
"""The start of a connection, versions, and whom a server answers at all."""

import struct

from . import rpc, v2
from .kit import check, expect, good, is_error, same
from .v2 import words


def null_v1(xid, credit=32):
    """RDMA_MSG of version 1 with a NULL Call."""
    return rpc.u32(xid, 1, credit, 0, 0, 0, 0) + rpc.null(xid)


def err_vers(h, xid, vers, low, high):
    w = words(h)
    same(h.size, 28, "octets of RDMA2_ERR_VERS")
    same(w[:2] + w[3:], [xid, vers, 4, 1, low, high], "RDMA2_ERR_VERS")


# Fails with: connprop-version, type-14
@check("V2-4.1-01", "V2-6.4-01", "V2-6.2.1-01")
def prefix(t):
    """Every message begins with the four words of the prefix."""
    c = t.connect()
    f = t.files
    good(c.call(rpc.compound(c.new_xid(), [rpc.putfh(f.data),
                                           rpc.read(0, 20000)])))
    for h in c.seen:
        expect(h.size >= 16, "a message of %d octets" % h.size)
        same(h.vers, 2, "rdma_vers")
        expect(4 <= h.htype <= 13, "rdma_htype %d" % h.htype)


# Fails with: second-at-once
@check("V2-4.3-01", "V2-4.2.1-04")
def one_outstanding(t):
    """A server sends one message until the client's second has come."""
    c = t.raw(replenish=False)
    x = c.new_xid()
    c.send_call(rpc.null(x))
    good(c.answer(x))
    expect(t.quiet(c), "a second message before the client's second")
    c.send_props(force=True)
    same(c.take().htype, v2.PROP_FINAL, "what follows the second message")


# Fails with: props-never-late
@check("V2-4.3-05")
def properties_after_a_call(t):
    """A client that began with a Call, and waits, gets the server's FINAL."""
    for credits in 32, 1:
        c = t.raw(advertise=credits, replenish=False)
        x = c.new_xid()
        c.send_call(rpc.null(x))
        good(c.answer(x))
        if credits == 1:  # it has none for that
            expect(t.quiet(c, 2), "a message without a credit")
            c.grant(c.received + 1)
        same(c.take().htype, v2.PROP_FINAL, "what comes at last")
        c.send_props(force=True)
        c.null()


# Fails with: connprop-version
@check("V2-4.3.1-01")
def answers_in_version_2(t):
    """To a first message of version 2 all answers have rdma_vers 2."""
    for first in "props", "call", "grant":
        c = t.raw()
        if first == "props":
            c.send_props()
        elif first == "call":
            c.send_call(rpc.null(c.new_xid()))
        else:
            c.post(v2.GRANT, 0)
        c.next()
        c.null()
        for h in c.seen:
            same(h.vers, 2, "rdma_vers of %s" % h)


# Fails with: version-2-always
@check("V2-4.3.3-01")
def first_version_holds(t):
    """What the first message settles holds for all that the server sends."""
    iw = t.iwarp()
    for x in range(100, 105):
        iw.send(null_v1(x))
        w = struct.unpack_from(">4I", iw.recv().data)
        same((w[0], w[1], w[3]), (x, 1, 0), "an answer of version 1")
    c = t.connect()
    for _ in range(5):
        c.null()
    same({h.vers for h in c.seen}, {2}, "rdma_vers on the other connection")


# Fails with: grant-grows
@check("V2-4.3-02")
def credit_by_version(t):
    """rdma_credit: a constant grant in version 1, a growing limit in 2."""
    iw, seen = t.iwarp(), []
    for x in range(200, 204):
        iw.send(null_v1(x))
        seen.append(struct.unpack_from(">I", iw.recv().data, 8)[0])
    same(len(set(seen)), 1, "grants of version 1: %r" % seen)
    expect(seen[0] > 0, "a grant of 0")
    c = t.connect()
    limits = [c.null().last.credit for _ in range(4)]
    for a, b in zip(limits, limits[1:]):
        same(v2.ahead(b, a), 1, "the step of the limit in version 2")


# Fails with: err-vers-range
@check("V2-7.1.1-01", "V2-6.3.1-01", "V2-8.4-01")
def unsupported_first(t):
    """Versions 0 and 3: ERR_VERS of 28 octets with the range, no Reply."""
    for vers in 0, 3, 0xffffffff:
        c = t.raw()
        c.put(rpc.u32(0x5000 + vers & 0xffffffff, vers, 32, 10) +
              rpc.u32(0, 0, 0, 0) + rpc.null(0x5000 + vers & 0xffffffff))
        h = v2.Header(c.iw.recv())
        err_vers(h, 0x5000 + vers & 0xffffffff, vers, 1, 2)
        # The connection is of use, and nothing reached the RPC layer.
        c.sent = c.received = 0
        c.unchecked = True
        c.send_props(force=True)
        same(c.take().htype, v2.PROP_FINAL, "the answer to version 2")
    # Or of use for version 1. An ERROR, of whatever version, has no answer.
    iw = t.iwarp()
    iw.send(rpc.u32(7, 3, 32, 4, 1, 1, 2))
    iw.send(rpc.u32(8, 3, 32, 10))
    err_vers(v2.Header(iw.recv()), 8, 3, 1, 2)
    iw.send(null_v1(5))
    w = struct.unpack_from(">4I", iw.recv().data)
    same((w[0], w[1], w[3]), (5, 1, 0), "the answer to version 1")


# Fails with: err-vers-version
@check("V2-7-03")
def error_repeats_version(t):
    """rdma_vers of an ERROR is that of the message reported."""
    for vers in 0, 3, 77:
        c = t.raw()
        c.put(rpc.u32(9, vers, 32, 10))
        same(words(v2.Header(c.iw.recv()))[1], vers, "rdma_vers of the ERROR")
    c = t.connect()
    c.raw(10, 2, None, 99)
    same(c.take().vers, 2, "rdma_vers of the ERROR")


# Fails with: err-vers-range
@check("V2-C.1-01")
def version_first(t):
    """The version is looked at before anything else of a header."""
    c = t.connect()
    c.unchecked = True
    x = c.new_xid()
    c.raw(x, 3, None, 0x12345678, 0xffffffff)
    h = c.take()
    err_vers(h, x, 3, 1, 2)
    c.null()


# Fails with: mismatch-as-vers, error-longer
@check("V2-7.1.2-01", "V2-8.4-11")
def mismatch(t):
    """A known version that is not the connection's: VERS_MISMATCH."""
    c = t.connect()
    c.unchecked = True
    x = c.new_xid()
    c.put(null_v1(x, c.credit()))
    w = words(c.take())
    same(w[:2] + w[3:], [x, 1, 4, 11], "RDMA2_ERR_VERS_MISMATCH")
    c.null()
    # And the other way round; version 3 is none of either.
    iw = t.iwarp()
    iw.send(null_v1(20))
    iw.recv()
    iw.send(rpc.u32(21, 2, 32, 10, 0, 0, 0, 0) + rpc.null(21))
    w = words(v2.Header(iw.recv()))
    same(w[:2] + w[3:], [21, 2, 4, 11], "RDMA2_ERR_VERS_MISMATCH")
    iw.send(rpc.u32(22, 3, 32, 10))
    err_vers(v2.Header(iw.recv()), 22, 3, 1, 2)
    iw.send(null_v1(23))
    w = struct.unpack_from(">4I", iw.recv().data)
    same((w[0], w[1], w[3]), (23, 1, 0), "the next answer")


# Fails with: short-answered
@check("V2-7-01")
def short(t):
    """Messages under 16 octets are dropped in silence."""
    c = t.connect()
    for n in 0, 1, 4, 12, 15:
        c.put(bytes(n))
    c.put(rpc.u32(77, 2, c.credit()))
    x = c.new_xid()
    c.raw(x, 2, None, 99)
    same(is_error(c.take(), v2.INVAL_HTYPE).xid, x, "the only answer")
    c.null()


# Fails with: error-type, error-xid
@check("V2-7-02", "V2-7-05")
def error_repeats_xid(t):
    """rdma_xid of an ERROR is that of the message reported, htype is 4."""
    c = t.connect()
    for x in 0, 1, 0x80000000, 0xffffffff:
        c.raw(x, 2, None, 200)
        h = is_error(c.take(), v2.INVAL_HTYPE)
        same((h.xid, h.htype), (x, 4), "xid and type of the ERROR")


# Fails with: error-credit
@check("V2-7-04")
def error_has_credit(t):
    """rdma_credit of an ERROR follows the count of received messages."""
    c = t.connect()
    base = c.null().last.credit
    for i in range(1, 6):
        c.raw(i, 2, None, 50)
        h = is_error(c.take(), v2.INVAL_HTYPE)
        same(v2.ahead(h.credit, base), i, "the step of rdma_credit")


# Fails with: error-longer, htype-as-xdr
@check("V2-6.1-12", "V2-8.4-04", "V2-6.3.1-03")
def unknown_type(t):
    """Unknown header types: INVAL_HTYPE of 20 octets; the next Call works."""
    c = t.connect()
    for htype in 14, 15, 100, 0x7fffffff, 0xfffffffe, 0xffffffff:
        x = c.new_xid()
        c.raw(x, 2, None, htype, 0, 0, 0, 0, tail=rpc.null(x))
        h = is_error(c.take(), v2.INVAL_HTYPE)
        same((h.xid, h.size), (x, 20), "xid and size of the ERROR")
        c.null()


# Fails with: old-types
@check("V2-6.3-01")
def version_1_procedures(t):
    """Types 0 to 3 are not valid in version 2."""
    c = t.connect()
    for htype in range(4):
        x = c.new_xid()
        c.raw(x, 2, None, htype, 0, 0, 0, tail=rpc.null(x))
        same(is_error(c.take(), v2.INVAL_HTYPE).xid, x, "xid of the ERROR")
    c.null()


# Fails with: errors-answered
@check("V2-7-06")
def unknown_error(t):
    """ERRORs with unknown codes are dropped; so are those about nothing."""
    c = t.connect()
    for code in 0, 12, 99, 101, 0xffffffff:
        c.raw(c.new_xid(), 2, None, v2.ERROR, code)
    for code in 2, 4, 5, 11, 100:
        c.raw(c.new_xid(), 2, None, v2.ERROR, code)
    c.raw(5, 2, None, v2.ERROR)
    c.null()
    same([h.htype for h in c.seen if h.htype == v2.ERROR], [], "answers")


# Fails with: type-unknown
@check("V2-6.1-11")
def all_types_known(t):
    """None of the ten header types is answered with INVAL_HTYPE."""
    c = t.connect()
    x = c.new_xid()
    c.post(v2.ERROR, x, error=(100,))
    c.post(v2.GRANT, 0)
    for htype, fields in (
            (v2.PROP_MIDDLE, {}), (v2.PROP_FINAL, {}),
            (v2.CALL_EXTERNAL, {}), (v2.CALL_MIDDLE, {}),
            (v2.CALL_INLINE, {}), (v2.REPLY_EXTERNAL, {}),
            (v2.REPLY_MIDDLE, {}), (v2.REPLY_INLINE, {})):
        c.post(htype, c.new_xid(), **fields)
    c.raw(x, 2, None, 14)
    while True:
        h = c.take()
        if h.htype == v2.ERROR and h.error == (v2.INVAL_HTYPE,):
            break
    same(h.xid, x, "whom INVAL_HTYPE answers")


# Fails with: write-anywhere
@check("V2-11.1-01")
def memory_of_the_server(t):
    """Memory that was never offered cannot be reached."""
    for op in "read", "write":
        iw = t.iwarp()
        c = v2.Conn(iw)
        c.hello()
        if op == "read":
            iw.start_read(0x12345678, 0, 64)
        else:
            iw.write(0x12345678, 0, bytes(64))
        t.ended(iw, (0, 1, 0) if op == "read" else (1, 1, 0),
                "an RDMA %s" % op)


# Fails with: one-version-range
@check("V2-4.3.2-01", server_is="version-1")
def without_version_2(t):
    """A server without version 2: ERR_VERS 1..1 of 28 octets; then it goes
    on with version 1 on the connection."""
    for x in 7, 0xffffffff:
        c = t.raw()
        c.post(v2.PROP_FINAL, x)
        err_vers(v2.Header(c.iw.recv()), x, 2, 1, 1)
        c.iw.send(null_v1(5))
        w = struct.unpack_from(">4I", c.iw.recv().data)
        same((w[0], w[1], w[3]), (5, 1, 0), "an answer of version 1")


# Fails with: default-port
@check("V2-9-01", "UB-3.3-01", "UB-5.3-01", server_is="default-port")
def default_port(t):
    """A server without a setting for it is on port 20049."""
    same(t.port, 20049, "the port")
    t.connect().null()
