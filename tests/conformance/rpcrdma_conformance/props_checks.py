# SPDX-License-Identifier: BSD-3-Clause
"""Transport properties: section 5, 6.3.3, 6.3.4, 7.2.2, 4.2.2."""

import struct

from . import rpc, v2
from .kit import check, expect, good, is_error, same
from .nfs import read_call, read_inline, read_results
from .v2 import BRS, HOSTAUTH, RBSIZ, RCSIZ, RSSIZ, SBSIZ

LONG = 40000  # octets of a READ whose Reply is continued


def longest(t, c):
    """The longest Send that the server makes now."""
    return max(h.size for h in read_inline(t, c, 0, LONG).headers)


def threshold(t, c, want, what):
    got = longest(t, c)
    # Fragments are multiples of four.
    expect(want - 4 < got <= want, "%s: Sends of %d octets instead of %d" %
           (what, got, want))


def after_middle(t, c, what):
    """One that takes part in host authentication keeps its FINAL back."""
    same(c.take().htype, v2.PROP_MIDDLE if t.takes_part else v2.PROP_FINAL,
         what)


def token(kind, data):
    """What is in property 6, as protocol.md has it."""
    return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 4)


# Values of property 6; the first two have no octet of a token.
TOKENS = (b"", rpc.opaque(b""), rpc.opaque(bytes(64)), rpc.opaque(bytes(63)),
          rpc.opaque(bytes(61)))
NO_OPAQUE = (bytes(1), bytes(3), bytes(5), struct.pack(">I", 1),
             struct.pack(">I", 9) + bytes(8), struct.pack(">I", 4) + bytes(8),
             struct.pack(">I", 1) + bytes(3), struct.pack(">I", 0) + bytes(4),
             struct.pack(">I", 0xffffffff) + bytes(4))


def bad_set(c, tail, count=1, htype=v2.PROP_FINAL):
    """A CONNPROP whose set is @tail; its xid."""
    x = c.new_xid()
    c.raw(x, 2, None, htype, count, tail=tail, force=True)
    return x


# Fails with: props-buffer
@check("V2-4.2.2-01")
def two_thresholds(t):
    """The two directions have thresholds of their own."""
    c = t.connect([(RBSIZ, 8192)])
    threshold(t, c, 8192, "server to client")
    room = c.theirs.get(RBSIZ, 4096)
    x = c.new_xid()
    good(c.answer(c.send_call(rpc.compound(x, [
        rpc.putfh(t.files.scratch), rpc.write(0, bytes(20000))]))))
    expect(room != 8192, "the server has the same size; nothing is shown")


# Fails with: props-buffer
@check("V2-4.2.2-02")
def default_thresholds(t):
    """Without CONNPROP both thresholds are 4096 octets."""
    t.files
    c = t.raw()
    x = c.new_xid()
    args = [rpc.putfh(t.files.scratch)]
    spare = 4096 - 32 - len(rpc.compound(x, args + [rpc.write(0, b"")]))
    message = rpc.compound(x, args + [rpc.write(0, bytes(spare))])
    c.send_call(rpc.null(c.new_xid()))
    good(c.answer(c.xid))
    c.post(v2.CALL_INLINE, x, payload=message)
    same(len(message) + 32, 4096, "octets of the Call")
    good(c.answer(x))
    threshold(t, c, 4096, "server to client")


# Fails with: props-final, props-count
@check("V2-5.1-01", "V2-6.3.3-01", "V2-6.1-04", "V2-6.3.4-01")
def final_of_the_server(t):
    """The server sends one FINAL, well formed, and no CONNPROP after it."""
    c = t.connect()
    h = c.seen[-1]
    same(h.htype, 7, "rdma_htype of the last CONNPROP")
    n, = struct.unpack_from(">I", h.message.data, 16)
    same(n, len(h.props), "word 4, the count of properties")
    size = 20
    for which, value in h.props:
        expect(1 <= which <= 6, "property %d" % which)
        if which < HOSTAUTH:
            same(len(value), 4, "octets of property %d" % which)
        size += 8 + len(value) + -len(value) % 4
    same(h.size, size, "octets of the message")
    read_inline(t, c, 0, LONG)
    c.null()
    same(sum(h.htype in (6, 7) for h in c.seen), 1, "CONNPROPs")


# Fails with: props-sorted
@check("V2-5.1-02")
def any_order(t):
    """The order of properties in a set does not matter."""
    props = [(SBSIZ, 8192), (RBSIZ, 8192), (RSSIZ, 65536), (RCSIZ, 8),
             (BRS, 0)]
    for order in props, props[::-1]:
        threshold(t, t.connect(order), 8192, "after %r" % (order,))


# Fails with: props-buffer
@check("V2-5.1-04")
def zero_length(t):
    """A value of length zero is the default."""
    threshold(t, t.connect([(RBSIZ, b"")]), 4096, "a size of no octets")
    c = t.connect([(i, b"") for i in range(1, 7)])
    threshold(t, c, 4096, "all of no octets")
    # Also in place of another value that came before.
    c = t.connect([(RBSIZ, 16384), (RBSIZ, b"")])
    threshold(t, c, 4096, "16384, then nothing")


# Fails with: error-longer, props-any-length
@check("V2-5.1-05", "V2-8.4-03")
def not_of_its_type(t):
    """A value that is not of the property's type: BAD_PROPVAL."""
    for which, value in ((BRS, bytes(8)), (RBSIZ, bytes(5)),
                         (SBSIZ, bytes(16)), (RSSIZ, bytes(1))):
        c = t.raw()
        x = c.send_props([(which, value)])
        h = is_error(c.take(), v2.BAD_PROPVAL)
        same((h.xid, h.size), (x, 20), "xid and size of the ERROR")


# Fails with: props-any-length
@check("V2-5.1-06")
def too_short(t):
    """Too few octets for the type, but not none: BAD_PROPVAL."""
    for which in SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS:
        for n in 1, 2, 3:
            c = t.raw()
            x = c.send_props([(which, bytes(n))])
            same(is_error(c.take(), v2.BAD_PROPVAL).xid, x, "xid")


# Fails with: props-beyond
@check("V2-5.1-07")
def beyond_the_message(t):
    """A length beyond the message: BAD_PROPVAL, known property or not."""
    for which in RBSIZ, HOSTAUTH, 0x7fffffff:
        for n in 0x10000, 0xffffffff, 0x7fffffff, 13:
            c = t.raw()
            x = bad_set(c, rpc.u32(which, n) + bytes(12))
            same(is_error(c.take(), v2.BAD_PROPVAL).xid, x,
                 "xid of the ERROR about property %#x" % which)


# Fails with: props-unknown
@check("V2-5.1-08")
def unknown_skipped(t):
    """Unknown properties are passed over, the others take effect."""
    c = t.connect([(0x7fffffff, bytes(12)), (RBSIZ, 8192), (0, b"x"),
                   (7, bytes(500))])
    threshold(t, c, 8192, "with unknown properties")


# Fails with: props-unknown
@check("V2-B.3-01")
def far_numbers(t):
    """Numbers of properties need not be small."""
    c = t.connect([(0xfffffffe, bytes(4)), (0xffffffff, b""),
                   (0x80000000, bytes(4)), (RBSIZ, 8192)])
    threshold(t, c, 8192, "with large numbers")


# Fails with: props-send-size
@check("V2-5.2.1-01")
def send_size(t):
    """No Send is longer than the Maximum Send Size announced, or 4096."""
    c = t.connect([(RBSIZ, 262144)])
    size = c.theirs.get(SBSIZ, 4096)
    a = read_inline(t, c, 0, 250000)
    for h in a.headers:
        expect(h.size <= size, "a Send of %d octets, %d were announced" %
               (h.size, size))
    expect(max(h.size for h in a.headers) > size - 8, "none so long")


# Fails with: props-small-send
@check("V2-5.2.1-02")
def any_send_size(t):
    """Maximum Send Size is information: any is taken, with its set."""
    for size in 0, 1, 512, 1023, 0x7fffffff, 0xffffffff:
        threshold(t, t.connect([(SBSIZ, size), (RBSIZ, 8192)]), 8192,
                  "with Maximum Send Size %d" % size)


# Fails with: props-small-receive
@check("V2-5.2.2-04")
def small_receive_size(t):
    """A Receive Buffer Size below that of a first message: its set is taken,
    and nothing longer than such a message comes."""
    for size in 0, 1, 512, 1023:
        c = t.connect([(RBSIZ, size)])
        threshold(t, c, 1024, "with Receive Buffer Size %d" % size)


# Fails with: props-buffer
@check("V2-5.2.2-01")
def receive_size(t):
    """Both Receive Buffer Sizes are obeyed, and posted."""
    for size in 1024, 2048, 5000, 16384:
        c = t.connect([(RBSIZ, size)])
        c.recv_size = size
        threshold(t, c, size & ~3, "Receive Buffer Size %d" % size)
        room = c.room()
        x = c.new_xid()
        ops = [rpc.putfh(t.files.scratch)]
        n = room - 32 - len(rpc.compound(x, ops + [rpc.write(0, b"")]))
        message = rpc.compound(x, ops + [rpc.write(0, bytes(n))])
        c.post(v2.CALL_INLINE, x, payload=message)
        same(len(message) + 32, room, "octets of the Call")
        good(c.answer(x))


# Fails with: hostauth-empty, hostauth-known
@check("V2-5.2.6-01")
def host_authentication(t):
    """Property 6 is an opaque<>: who knows it refuses what is none; to all
    others it is an unknown property."""
    for value in TOKENS[:2 if t.takes_part else None]:
        c = t.connect([(HOSTAUTH, value), (RBSIZ, 8192)])
        threshold(t, c, 8192, "with a property 6 of %d octets" % len(value))
    for value in NO_OPAQUE:
        if t.takes_part:
            c = t.raw()
            c.send_props([(RBSIZ, 8192), (HOSTAUTH, value)])
            is_error(c.take(), v2.BAD_PROPVAL)
            threshold(t, c, 4096, "with what is no opaque<>")
        else:
            c = t.connect([(RBSIZ, 8192), (HOSTAUTH, value)])
            threshold(t, c, 8192, "with what is no opaque<>")
        # That is the type of 6, and of no other.
        for which in 0, 7:
            c = t.connect([(which, value), (RBSIZ, 8192)])
            threshold(t, c, 8192, "with property %d" % which)


# Fails with: hostauth-absent, hostauth-judged, hostauth-shown
@check("V2-5.2.6-02")
def unauthenticated(t):
    """Without property 6 the connection goes on; with it, by the policy."""
    t.connect().null()
    starts = [[]]
    if not t.takes_part:
        # A server that takes no part in it does not look at what it says.
        starts += [[(HOSTAUTH, rpc.opaque(token(kind, data)))]
                   for kind in range(3) for data in (b"", bytes(100))]
    for props in starts:
        c = t.raw()
        c.send_props(props, v2.PROP_MIDDLE)
        after_middle(t, c, "the answer to a MIDDLE")
        c.send_props(props)
        c.null()
        shown = [h for h in c.seen if h.htype in (6, 7) and
                 any(which == HOSTAUTH for which, _ in h.props)]
        same(shown, [], "messages with property 6")
    # Nor is there need of any property.
    c = t.raw()
    c.send_call(rpc.null(c.new_xid()))
    good(c.answer(c.xid))


# Fails with: middle-is-final
@check("V2-6.1-03", "V2-6.3.3-02")
def middle_and_final(t):
    """MIDDLEs and a FINAL: each counts, GRANTs between them do no harm."""
    c = t.raw()
    c.send_props([(RSSIZ, 65536)], v2.PROP_MIDDLE)
    after_middle(t, c, "the answer to a MIDDLE")
    c.send_props([(RBSIZ, 8192)], v2.PROP_MIDDLE)
    c.grant()
    c.send_props([], v2.PROP_MIDDLE)
    c.send_props([(SBSIZ, 8192)])
    threshold(t, c, 8192, "by MIDDLE")
    late(t)
    same([h.htype for h in c.seen if h.htype in (4, 6)],
         [v2.PROP_MIDDLE] if t.takes_part else [], "others")


def late(t):
    """The exchange may come late, and in the middle of a continued Reply."""
    c = t.raw(advertise=60, replenish=False)
    c.send_call(rpc.null(c.new_xid()))
    good(c.answer(c.xid))
    for _ in range(5):
        c.null()
    threshold(t, c, 4096, "without properties")
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=read_call(t, x, (0, LONG)),
           credit=c.received + 2)
    c.backlog += [c.next(), c.next()]
    c.send_props([(RSSIZ, 65536)], v2.PROP_MIDDLE, credit=c.received)
    c.send_props([(RBSIZ, 8192)])
    a = good(c.answer(x))
    same(read_results(a.payload, False)[0], t.files.content[:LONG], "data")
    threshold(t, c, 8192, "after a late exchange")


# Fails with: calls-inside-props
@check("V2-6.3.3-03")
def middle_interrupted(t):
    """What comes between MIDDLE and FINAL is dropped with INVAL_CONT."""
    t.files
    c = t.raw()
    c.send_props([(RBSIZ, 8192)], v2.PROP_MIDDLE)
    after_middle(t, c, "the answer to a MIDDLE")
    for kind in v2.CALL_INLINE, v2.CALL_MIDDLE, v2.CALL_EXTERNAL:
        x = c.new_xid()
        if kind == v2.CALL_EXTERNAL:
            c.post(kind, x, call=c.read_chunk(0, rpc.null(x)))
        else:
            c.post(kind, x, payload=rpc.null(x),
                   **{"remaining": 8} if kind == v2.CALL_MIDDLE else {})
        same(is_error(c.take(), v2.INVAL_CONT).xid, x, "xid of the ERROR")
    c.send_props([])
    threshold(t, c, 8192, "after a FINAL at last")


# Fails with: props-refused-open
@check("V2-6.3.3-04")
def refused_middle(t):
    """A MIDDLE that is refused for what is in it is a MIDDLE all the same."""
    t.files

    def refused(x, code):
        h = c.take()
        while h.htype in (v2.PROP_MIDDLE, v2.PROP_FINAL):
            h = c.take()
        same(is_error(h, code).xid, x, "xid of the ERROR")

    for tail, code in ((rpc.u32(RBSIZ, 2) + bytes(4), v2.BAD_PROPVAL),
                       (rpc.u32(RBSIZ), v2.BAD_XDR)):
        # The first message, and one after a FINAL that was refused.
        c = t.raw()
        for _ in range(2):
            for kind in v2.PROP_MIDDLE, v2.PROP_FINAL:
                refused(bad_set(c, tail, htype=kind), code)
                refused(c.send_call(rpc.null(c.new_xid())), v2.INVAL_CONT)
        c.send_props([(RBSIZ, 8192)])
        threshold(t, c, 8192, "after a FINAL at last")


# Fails with: first-long
@check("V2-6.3.4-02")
def connprop_length(t):
    """The server's CONNPROPs have 4096 octets at most."""
    for first in [], [(RBSIZ, 262144)]:
        c = t.connect(first)
        for h in c.seen:
            if h.htype in (6, 7):
                expect(h.size <= 4096, "%s has %d octets" % (h, h.size))
    c = t.raw()
    c.send_props([(RBSIZ, 1024)])
    c.recv_size = 1024
    c.props_of_peer()
    # A first message of 1024 octets and a later one of 4096 are taken.
    c = t.raw()
    c.send_props([(77, bytes(1024 - 16 - 4 - 8 - 12)), (RSSIZ, 65536)],
                 v2.PROP_MIDDLE)
    after_middle(t, c, "the answer to 1024 octets")
    c.send_props([(77, bytes(4096 - 16 - 4 - 8 - 12)), (RBSIZ, 8192)])
    threshold(t, c, 8192, "by 4096 octets of properties")


# Fails with: props-again
@check("V2-6.3.4-03")
def after_final(t):
    """A CONNPROP after FINAL: INVAL_CONT, and it has no effect."""
    for kind in v2.PROP_FINAL, v2.PROP_MIDDLE:
        c = t.connect()
        x = c.send_props([(RBSIZ, 16384)], kind)
        same(is_error(c.take(), v2.INVAL_CONT).xid, x, "xid of the ERROR")
        threshold(t, c, 4096, "after a CONNPROP too many")


# Fails with: props-one-by-one
@check("V2-7.2.2-01")
def nothing_applied(t):
    """Nothing of a set with a bad value takes effect."""
    for props in ([(RBSIZ, 8192), (BRS, bytes(5))],
                  [(BRS, bytes(8)), (RBSIZ, 8192)],
                  [(RBSIZ, 8192), (RBSIZ, bytes(2))]):
        c = t.raw()
        c.send_props(props)
        is_error(c.take(), v2.BAD_PROPVAL)
        threshold(t, c, 4096, "after a refused set")
        # The FINAL has not been received, so another may come [F2].
        c.send_props([(RBSIZ, 8192)])
        threshold(t, c, 8192, "after a good one")


# Fails with: fragments-short
@check("V2-4.1-02", "V2-6.6.2-01")
def any_boundary(t):
    """A Call may be split anywhere; its parts are joined as they came."""
    c = t.connect()
    data = rpc.pattern(400, 7)
    for step in 4, 8, 20, 64, 200, 7, 13:
        x = c.new_xid()
        message = rpc.compound(x, [rpc.putfh(t.files.scratch),
                                   rpc.write(0, data)])
        at = 0
        while len(message) - at > step + 4:
            c.post(v2.CALL_MIDDLE, x, payload=message[at:at + step],
                   remaining=len(message) - at - step)
            at += step
        c.post(v2.CALL_INLINE, x, payload=message[at:])
        good(c.answer(x))
        a = good(c.call(rpc.compound(c.new_xid(), [
            rpc.putfh(t.files.scratch), rpc.read(0, len(data))])))
        expect(data in a.payload, "what was written by %d octets" % step)
