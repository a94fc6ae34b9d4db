# SPDX-License-Identifier: BSD-3-Clause
"""A Requester: how it starts, what it calls, what it does with answers."""

from . import kit, rpc, v2
from .iwarp import Silence
from .kit import REQUESTER, expect, same
from .requester import Responder1, read3, read3_head, write3, \
    write3_head, write3_results

SYSTEM_ERR = 5


def check(*ids, **more):
    return kit.check(*ids, role=REQUESTER, **more)


def null_works(tcp, c, xid=0x77777):
    tcp.send(rpc.null(xid))
    call = c.get_call()
    c.answer_inline(call)
    same(tcp.reply().stat, 0, "accept_stat of NULL")
    return call


def fails(tcp, xid):
    """The Call ends with an RPC error, for the one that made it."""
    r = tcp.reply()
    same((r.xid, r.denied, r.stat), (xid, 0, SYSTEM_ERR),
         "xid, denied, accept_stat")


# ---- Start --------------------------------------------------------------


# Fails with: first-two, first-long, props-reverse
@check("V2-4.3-03", "V2-4.3-04", "V2-5.2.5-01")
def first_message(t):
    """The first message: version 2, 1024 octets at most, and only one."""
    for level, want in (("none", 0), ("simple", 1), ("continued", 2),
                        ("general", 3)):
        s = t.start("--reverse", level, "--recv-size", "65536")
        tcp = s.tcp()
        for x in range(1, 4):
            tcp.send(write3(x, bytes(50000)))
        c = t.accept(s)
        h = c.next()
        same(h.vers, 2, "rdma_vers")
        expect(h.size <= 1024, "the first message has %d octets" % h.size)
        expect(h.xid != 0, "its xid is 0")
        same(c.theirs.get(v2.BRS, 0), want, "Reverse-Direction Support")
        expect(c.iw.quiet(0.3), "a second message before ours")
        c.send_props()
        c.get_call()
        t.stop()


def version_1_offered(t, *options):
    """Started with a Call, and its first message refused: ERR_VERS 1..1."""
    s = t.start(*options)
    tcp = s.tcp()
    tcp.send(rpc.null(0x123))
    iw = t.accept_iwarp(s)
    iw.send(rpc.u32(v2.Header(iw.recv()).xid, 2, 32, 4, 1, 1, 1))
    return s, tcp, iw


# Fails with: no-fall-back, falls-back-always, versions-overlooked,
#   err-vers-again
@check("V2-4.3.2-02", "V2-7.1.1-02", "V2-7.1.1-03")
def offered_version_1(t):
    """After ERR_VERS 1..1 it goes on with version 1 on the connection."""
    _, tcp, iw = version_1_offered(t)
    c = Responder1(iw, threshold=4096)
    h = c.get_call()
    same((h.xid, h.vers, h.proc), (0x123, 1, 0), "the Call")
    c.answer_inline(h)
    same(tcp.reply().stat, 0, "accept_stat")
    for x in range(3):
        tcp.send(rpc.null(x))
        c.answer_inline(c.get_call())
        tcp.reply()
    same({h.vers for h in c.seen}, {1}, "versions on the connection")
    t.stop()
    # Without version 1 it closes, and sends nothing outside of the range.
    iw = version_1_offered(t, "--version-rdma", "2")[2]
    iw.wait_end()
    same(iw.inbox, [], "messages after ERR_VERS")
    t.stop()
    refused_later(t)


def refused_later(t):
    """ERR_VERS when version 2 has been spoken: its Call ends, no more of
    version 2 comes, and the next connection is of version 1."""
    for about in "Call", "nothing":
        s, tcp, c = t.connect()
        null_works(tcp, c)
        tcp.send(rpc.null(50))
        tcp.send(rpc.null(51))
        same({c.get_call().xid, c.get_call().xid}, {50, 51}, "Calls")
        c.error(50 if about == "Call" else 0x7654321, v2.VERS, 1, 1)
        no_more(c)
        if about == "Call":
            fails(tcp, 50)
        c = Responder1(t.accept_iwarp(s), threshold=4096)
        again = {51} if about == "Call" else {50, 51}
        while again:
            h = c.get_call()
            same(h.vers, 1, "the version then")
            again.remove(h.xid)
            c.answer_inline(h)
            same(tcp.reply().stat, 0, "accept_stat")
        t.stop()


# Fails with: not-remembered
@check("V2-4.3.2-03")
def no_loop(t):
    """ERR_VERS and an end: the next connection begins with version 1."""
    s, tcp, iw = version_1_offered(t)
    iw.close()
    for _ in range(3):
        c = Responder1(t.accept_iwarp(s), threshold=4096)
        h = c.get_call()
        same((h.xid, h.vers), (0x123, 1), "the first message then")
        c.iw.close()
    c = Responder1(t.accept_iwarp(s), threshold=4096)
    c.answer_inline(c.get_call())
    same(tcp.reply().stat, 0, "accept_stat")


# Fails with: not-remembered, version-1-error
@check("V2-4.3.2-04")
def unanswered(t):
    """No answer to the first message: the next begins with version 1. So does
    the next on the connection after any RDMA_ERROR of version 1."""
    s = t.start()
    tcp = s.tcp()
    tcp.send(rpc.null(0x124))
    iw = t.accept_iwarp(s)
    same(v2.Header(iw.recv()).vers, 2, "the first message")
    iw.close()
    c = Responder1(t.accept_iwarp(s), threshold=4096)
    h = c.get_call()
    same((h.xid, h.vers), (0x124, 1), "the first message then")
    c.answer_inline(h)
    same(tcp.reply().stat, 0, "accept_stat")
    t.stop()
    for error in (2,), (77,), ():
        s = t.start()
        tcp = s.tcp()
        tcp.send(rpc.null(0x125))
        iw = t.accept_iwarp(s)
        iw.send(rpc.u32(v2.Header(iw.recv()).xid, 1, 32, 4, *error))
        c = Responder1(iw, threshold=4096)
        h = c.get_call()
        same((h.xid, h.vers), (0x125, 1), "the message then")
        c.answer_inline(h)
        same(tcp.reply().stat, 0, "accept_stat")
        t.stop()


# Fails with: error-version-1
@check("V2-4.3.3-02")
def one_version(t):
    """In a long mixed workload the version never changes."""
    _, tcp, c = t.connect()
    for i in range(10):
        null_works(tcp, c, i)
        tcp.send(write3(100 + i, bytes(i * 3000)))
        call = c.get_call()
        c.answer_inline(call, write3_results(i * 3000))
        tcp.reply()
        c.raw(5, 2, None, 99)  # and errors in between
        h = c.take()
        same(h.error, (v2.INVAL_HTYPE,), "its answer")
    same({h.vers for h in c.seen}, {2}, "versions")


# ---- Calls --------------------------------------------------------------


# Fails with: xids-halved
@check("V2-3.1.3-01")
def own_xids(t):
    """Calls outstanding have XIDs of their own, also with equal ones from
    two clients."""
    s, tcp, c = t.connect(advertise=200)
    pending = set()
    for x in range(60):
        tcp.send(rpc.null(x))
    tcp.send(rpc.null(7))  # again, while it is outstanding
    for _ in range(60):
        call = c.get_call()
        expect(call.xid not in pending, "%#x is outstanding twice" % call.xid)
        same(call.payload[:4], rpc.u32(call.xid), "the XID of the RPC Call")
        pending.add(call.xid)
    expect(t.quiet(c, 0.2), "one of them twice")
    other = s.tcp()
    c2 = t.accept(s)
    c2.greet()
    other.send(rpc.null(3))
    same(c2.get_call().xid, 3, "the XID on a connection of its own")


# Fails with: not-sent-again
@check("V2-3.1.5.1-01", "UB-5.4.2-03")
def sent_again(t):
    """Calls pending when the connection is lost come again on the next."""
    s, tcp, c = t.connect()
    want = set(range(1000, 1010))
    for x in want:
        tcp.send(rpc.null(x))
    same({c.get_call().xid for _ in want}, want, "Calls")
    c.iw.close(reset=True)
    c = t.accept(s)
    c.greet()
    again = [c.get_call() for _ in want]
    same({a.xid for a in again}, want, "Calls again")
    for a in again:
        c.answer_inline(a)
    same({tcp.reply().xid for _ in want}, want, "Replies")


# Fails with: memory-stays-open, memory-closed-early
@check("V2-4.5.1.3-01", "V2-4.5.2.3-01", "V2-11.1.3-01")
def memory_until_reply(t):
    """Chunk memory is open until the Reply, and not after it."""
    for kind in "read", "write":
        s, tcp, c = t.connect("--no-invalidate")
        if kind == "read":
            data = rpc.pattern(5000, 2)
            tcp.send(write3(1, data))
            call = c.get_call()
            expect(call.reads, "no Read chunk")
            seg, = call.reads
            for _ in range(3):  # late, and again
                t.quiet(c, 0.1)
                same(c.iw.read(seg.handle, seg.offset, seg.length), data,
                     "the Read chunk")
            c.answer_inline(call, write3_results(len(data)))
        else:
            tcp.send(read3(1, 5000))
            call = c.get_call()
            expect(call.writes, "no Write chunk")
            for seed in 3, 4:
                t.quiet(c, 0.1)
                data = rpc.pattern(5000, seed)
                returned = c.fill(call, 0, data)
            seg = call.writes[0][0]
            c.answer_inline(call, read3_head(5000), [returned])
        got = tcp.reply()
        same(got.stat, 0, "accept_stat")
        if kind == "write":
            same(got.r.data[-5000:], data, "what the client got")
        # Now it is closed.
        if kind == "read":
            c.iw.start_read(seg.handle, seg.offset, 4)
            want = (0, 1, 0)
        else:
            c.iw.write(seg.handle, seg.offset, b"late")
            want = (1, 1, 0)
        t.ended(c.iw, want, "a late RDMA " + kind)
        t.stop()


# Fails with: write-chunk-short, write-chunk-roundup
@check("V2-4.5.2-01", "V2-4.5.2.4-01")
def write_chunk_sizes(t):
    """A Write chunk has the octets asked for, and no roundup."""
    _, tcp, c = t.connect("--reduce-min", "1")
    for n in (1, 2, 3, 5, 7, 100, 1023, 4097, 65535, 100001, 1 << 20):
        tcp.send(read3(n, n))
        call = c.get_call()
        same([sum(s.length for s in k) for k in call.writes], [n],
             "the Write chunk for a READ of %d" % n)
        data = rpc.pattern(min(n, 5000), n)
        short = len(data)
        c.answer_inline(call, read3_head(short), [c.fill(call, 0, data)])
        r = tcp.reply()
        same(r.r.data[r.r.at:], read3_head(short) + data +
             bytes(-short % 4), "the Reply, put together")


# Fails with: reply-chunk-never, reply-chunk-always
@check("V2-4.5.2.2-01", "V2-A.2-01")
def reply_chunk_offered(t):
    """A Reply chunk is offered for long Replies only."""
    _, tcp, c = t.connect()
    for proc, args, want in (
            (0, b"", False), (1, rpc.opaque(b"fh"), False),
            (3, rpc.opaque(b"fh") + rpc.opaque(b"name"), False),
            (16, rpc.opaque(b"fh") + bytes(16) + rpc.u32(8192), False),
            (16, rpc.opaque(b"fh") + bytes(16) + rpc.u32(1 << 18), True)):
        tcp.send(rpc.call(proc + 1, rpc.NFS, 3, proc, args))
        call = c.get_call()
        same(call.reply is not None, want, "a Reply chunk for procedure %d" %
             proc)
        if want:
            # NFS3ERR_NOTDIR, by the Reply chunk.
            m = rpc.reply(call.xid, rpc.u32(20, 0) + bytes(50000))
            c.post(v2.REPLY_EXTERNAL, call.xid,
                   reply=c.place(call.reply, m))
            same(tcp.recv(), m, "what the client got")
        else:
            c.answer_inline(call, rpc.u32(20, 0) if proc else b"")
            tcp.reply()


# Fails with: props-buffer, never-special
@check("V2-5.2.2-02")
def size_decides(t):
    """The peer's Receive Buffer Size decides how a Call comes."""
    for size, n, want in ((4096, 6000, 2), (8192, 6000, 1), (16384, 6000, 1),
                          (2048, 6000, 3), (1024, 900, 1), (4096, 200000, 0)):
        _, tcp, c = t.connect("--reduce-min", "4294967295",
                              props=[(v2.RBSIZ, size)], advertise=100)
        data = rpc.pattern(n, n)
        tcp.send(write3(1, data))
        call = c.get_call()
        got = 0 if call.external else len(call.headers)
        expect((got == want) if want < 3 else got > 2,
               "%d messages for %d octets with size %d" % (got, n, size))
        for h in call.headers:
            expect(h.size <= size, "%s has %d octets" % (h, h.size))
        same(call.fetch(), write3(1, data), "the stream")
        c.answer_inline(call, write3_results(n))
        same(tcp.reply().stat, 0, "accept_stat")
        t.stop()


# Fails with: segment-size
@check("V2-5.2.3-01")
def segment_size(t):
    """No segment is longer than the peer's Maximum Segment Size."""
    for size in 65536, 5000, 1 << 20:
        _, tcp, c = t.connect(props=[(v2.RSSIZ, size), (v2.RCSIZ, 32)])
        n = 100000
        data = rpc.pattern(n, 1)
        tcp.send(write3(1, data))
        call = c.get_call()
        for s in call.segments():
            expect(0 < s.length <= size, "a segment of %d octets" % s.length)
        expect(call.reads, "no Read chunk")
        same(call.fetch(), write3(1, data), "the stream")
        c.answer_inline(call, write3_results(n))
        tcp.reply()
        tcp.send(read3(2, n))
        call = c.get_call()
        expect(call.writes, "no Write chunk")
        for s in call.segments():
            expect(0 < s.length <= size, "a segment of %d octets" % s.length)
        c.answer_inline(call, read3_head(n), [c.fill(call, 0, data)])
        r = tcp.reply()
        same(r.r.data[-n:], data, "what the client got")
        t.stop()


# Fails with: nowhere-but-in-chunk, segment-count
@check("V2-5.2.4-01")
def segment_count(t):
    """No header has more segments than the peer's Maximum Segment Count."""
    for count, size in ((2, 65536), (1, 4096), (3, 40000), (0, 65536)):
        _, tcp, c = t.connect(props=[(v2.RSSIZ, size), (v2.RCSIZ, count)],
                              advertise=100)
        n = 100000
        data = rpc.pattern(n, 1)
        tcp.send(write3(1, data))
        call = c.get_call()
        expect(len(call.segments()) <= count, "%d segments" %
               len(call.segments()))
        for s in call.segments():
            expect(0 < s.length <= size, "a segment of %d octets" % s.length)
        same(call.fetch(), write3(1, data), "the stream")
        c.answer_inline(call, write3_results(n))
        same(tcp.reply().stat, 0, "accept_stat")
        tcp.send(read3(2, n))
        call = c.get_call()
        expect(len(call.segments()) <= count, "%d segments" %
               len(call.segments()))
        # It may ask for less than its client did.
        part = int.from_bytes(call.fetch()[-4:], "big")
        expect(0 < part <= n, "%d octets are asked for" % part)
        # What found no chunk is in the Reply.
        if any(call.writes):
            c.answer_inline(call, read3_head(part),
                            [c.fill(call, 0, data[:part])])
        else:
            c.send_reply(rpc.reply(2, read3_head(part) + data[:part]))
        same(tcp.reply().r.data[-part:], data[:part], "what the client got")
        t.stop()


# Fails with: call-remaining, call-fragment-xid
@check("V2-6.3.6-02", "V2-6.3.6-03")
def continued_call(t):
    """A continued Call: one xid, and rdma_remaining that adds up."""
    _, tcp, c = t.connect("--call-format", "continued", "--reduce-min",
                          "4294967295", advertise=100)
    for n in 4500, 10001, 70000:
        m = write3(n, rpc.pattern(n, n))
        tcp.send(m)
        call = c.get_call()
        expect(len(call.headers) > 1, "one message")
        left = len(m)
        for h in call.headers:
            same(h.xid, n, "the xid of a fragment")
            left -= len(h.payload)
            if h.htype == v2.CALL_MIDDLE:
                same(h.remaining, left, "rdma_remaining")
        same((left, call.payload), (0, m), "the stream")
        c.answer_inline(call, write3_results(n))
        tcp.reply()


# Fails with: arguments-never-reduced
@check("V2-6.6.1.1-01")
def may_reduce(t):
    """Short data stay in the stream, long ones are reduced."""
    _, tcp, c = t.connect()
    for n in 10, 3000, 10000:
        data = rpc.pattern(n, n)
        tcp.send(write3(n, data))
        call = c.get_call()
        expect(bool(call.reads) == (n > 4000), "%d octets: Read chunks %r" %
               (n, call.reads))
        if call.reads:
            same({s.position for s in call.reads},
                 {len(write3_head(n, n))}, "its Position")
            same(sum(s.length for s in call.reads), n, "its length")
        same(call.fetch(), write3(n, data), "the stream")
        c.answer_inline(call, write3_results(n))
        tcp.reply()


# ---- Invalidation -------------------------------------------------------


# Fails with: handle-not-in-header, handle-always
@check("V2-6.5-01", "V2-6.5-02", "V2-C.7-01")
def inv_handle(t):
    """rdma_inv_handle is one of the header's handles, or 0."""
    _, tcp, c = t.connect()
    same(null_works(tcp, c).inv, 0, "without chunks")
    tcp.send(read3(1, 5000))
    call = c.get_call()
    # RFC 8797 4.1: a Requester whose device cannot invalidate says so.
    if c.iw.private[5] & 1:
        expect(call.inv in {s.handle for s in call.segments()},
               "%#x is in no segment" % call.inv)
    else:
        same(call.inv, 0, "where nothing can be invalidated")
    data = rpc.pattern(5000, 1)
    c.answer_inline(call, read3_head(5000), [c.fill(call, 0, data)],
                    inv=call.inv or None)
    same(tcp.reply().r.data[-5000:], data, "what the client got")
    # It is gone now.
    seg = call.writes[0][0]
    c.iw.write(seg.handle, seg.offset, b"late")
    t.ended(c.iw, (1, 1, 0), "a late RDMA Write")
    t.stop()
    _, tcp, c = t.connect("--no-invalidate")
    tcp.send(read3(1, 5000))
    same(c.get_call().inv, 0, "with invalidation off")


# Fails with: fragments-invalidate-not
@check("V2-6.5-07")
def invalidated_by_a_fragment(t):
    """Any message of a Reply may invalidate, not only its last."""
    for first in True, False:
        _, tcp, c = t.connect()
        tcp.send(read3(1, 5000))
        call = c.get_call()
        # RFC 8797 4.1: a Requester whose device cannot invalidate says so.
        inv = call.inv or None
        expect(inv or not c.iw.private[5] & 1, "no handle to invalidate")
        data = rpc.pattern(5000, 1)
        m = rpc.reply(call.xid, read3_head(5000))
        writes = [c.fill(call, 0, data)]
        c.post(v2.REPLY_MIDDLE, 1, payload=m[:8], remaining=len(m) - 8,
               to_inv=inv if first else None)
        c.post(v2.REPLY_MIDDLE, 1, payload=m[8:16], remaining=len(m) - 16,
               to_inv=None if first else inv)
        c.post(v2.REPLY_INLINE, 1, payload=m[16:], writes=writes)
        same(tcp.reply().r.data[-5000:], data, "what the client got")
        null_works(tcp, c)
        t.stop()


# Fails with: handles-repeat
@check("V2-11.1.2-01")
def fresh_handles(t):
    """Each Call has handles of its own, which cannot be told ahead."""
    _, tcp, c = t.connect()
    seen = []
    for i in range(200):
        tcp.send(read3(i, 5000))
        call = c.get_call()
        handle = call.writes[0][0].handle
        expect(handle not in seen[-1:], "handle %#x again" % handle)
        seen.append(handle)
        c.answer_inline(call, rpc.u32(10006, 0))
        tcp.reply()
    # Chance may bring an earlier one back, but not often.
    expect(len(set(seen)) > 195, "only %d handles" % len(set(seen)))
    steps = {b - a for a, b in zip(seen, seen[1:])}
    expect(len(steps) > 150, "handles follow a rule: %d steps" % len(steps))
    high = {h >> 24 for h in seen}
    expect(len(high) > 60, "only %d values of the high octet" % len(high))


# Fails with: rights-ignored
@check("V2-11.1.1-01", raw=True)
def other_connection(t):
    """A handle of one connection is nothing on another; and on its own it
    opens its segment, for what the chunk is for."""
    rights_and_bounds(t)
    s, tcp, c = t.connect()
    tcp.send(read3(1, 5000))
    call = c.get_call()
    seg = call.writes[0][0]
    tcp2 = s.tcp()
    c2 = t.accept(s)
    c2.greet()
    null_works(tcp2, c2)
    c2.iw.write(seg.handle, seg.offset, b"foreign!")
    t.ended(c2.iw, (1, 1, 0), "an RDMA Write on the other connection")
    data = rpc.pattern(5000, 4)
    c.answer_inline(call, read3_head(5000), [c.fill(call, 0, data)])
    same(tcp.reply().r.data[-5000:], data, "what the client got")


def rights_and_bounds(t):
    """Only what a chunk is for, and only inside its segments."""
    for kind, wrong, want in (
            ("read", "write", (0, 1, 2)), ("read", "beyond", (0, 1, 1)),
            ("read", "before", (0, 1, 1)), ("write", "read", (0, 1, 2)),
            ("write", "beyond", (1, 1, 1)), ("write", "before", (1, 1, 1))):
        _, tcp, c = t.connect()
        tcp.send(write3(1, bytes(5000)) if kind == "read" else read3(1, 5000))
        call = c.get_call()
        s = call.segments()[0]
        at = {"beyond": s.offset + s.length - 3,
              "before": s.offset - 4}.get(wrong, s.offset)
        op = kind if wrong in ("beyond", "before") else wrong
        if op == "write":
            c.iw.write(s.handle, at & 0xffffffffffffffff, b"four")
        else:
            c.iw.start_read(s.handle, at & 0xffffffffffffffff, 4)
        t.ended(c.iw, want, "an RDMA %s %s a %s chunk" % (op, wrong, kind))
        t.stop()


# Fails with: memory-stays-open
@check("V2-11.1.3-02")
def abnormal_end(t):
    """The regions of a Call that failed are closed before it is told."""
    _, tcp, c = t.connect()
    tcp.send(read3(1, 5000))
    call = c.get_call()
    seg = call.writes[0][0]
    c.error(call.xid, v2.SYSTEM)
    fails(tcp, 1)
    c.iw.write(seg.handle, seg.offset, b"late")
    t.ended(c.iw, (1, 1, 0), "a late RDMA Write")


# ---- Errors -------------------------------------------------------------


def error_ends(t, *error, again=True):
    """A Call answered by @error fails; others and the connection do not."""
    _, tcp, c = t.connect()
    tcp.send(rpc.null(50))
    tcp.send(rpc.null(51))
    a, b = c.get_call(), c.get_call()
    c.error(a.xid, *error)
    fails(tcp, a.xid)
    c.answer_inline(b)
    same(tcp.reply().stat, 0, "the other Call")
    if again:
        null_works(tcp, c)
    return tcp, c


def no_more(c):
    """The Requester ends the connection, and sends nothing before that."""
    before = len(c.seen)
    expect(c.closed(), "the connection goes on")
    same([str(h) for h in c.seen[before:]], [], "messages after the ERROR")


# Fails with: mismatch-for-good, versions-overlooked
@check("V2-7.1.2-02", "V2-7.1.2-03")
def vers_mismatch(t):
    """VERS_MISMATCH: no more of that version on the connection; the Calls
    come again on another."""
    s, tcp, c = t.connect()
    null_works(tcp, c)
    tcp.send(rpc.null(50))
    tcp.send(rpc.null(51))
    xids = {c.get_call().xid, c.get_call().xid}
    c.error(50, v2.VERS_MISMATCH)
    no_more(c)
    c = t.accept(s)
    c.greet()
    for _ in range(2):
        call = c.get_call()
        xids.remove(call.xid)
        c.answer_inline(call)
        same(tcp.reply().stat, 0, "accept_stat")
    null_works(tcp, c)
    t.stop()
    # About nothing of its own it means nothing.
    s, tcp, c = t.connect()
    c.error(0x7654321, v2.VERS_MISMATCH)
    null_works(tcp, c)


# Fails with: errors-end-nothing
@check("V2-7.1.3-02")
def inval_htype(t):
    """INVAL_HTYPE ends the Call."""
    error_ends(t, v2.INVAL_HTYPE)


# Fails with: errors-end-nothing
@check("V2-7.1.4-03")
def inval_cont(t):
    """INVAL_CONT ends the Call."""
    error_ends(t, v2.INVAL_CONT)


# Fails with: errors-end-nothing
@check("V2-7.2.1-02", "UB-5.4.2-02")
def bad_xdr(t):
    """BAD_XDR ends the Call."""
    error_ends(t, v2.BAD_XDR)


# Fails with: call-as-reply
@check("V2-7.2-05")
def call_as_reply(t):
    """An RPC Call where a Reply is due: BAD_XDR, and the Call fails."""
    _, tcp, c = t.connect()
    for x, payload in ((0x51, rpc.null(0x51)), (0x52, rpc.u32(0x52)),
                       (0x53, rpc.u32(0x53, 2))):
        tcp.send(rpc.null(x))
        call = c.get_call()
        c.post(v2.REPLY_INLINE, call.xid, payload=payload)
        h = c.take()
        same((h.xid, h.error), (call.xid, (v2.BAD_XDR,)), "its answer")
        fails(tcp, x)
    null_works(tcp, c)


# Fails with: system-tried-again
@check("V2-7.4.1-03")
def system(t):
    """ERR_SYSTEM ends the Call at once, without a second try."""
    _, c = error_ends(t, v2.SYSTEM, again=False)
    expect(t.quiet(c), "the Call again")


def refused_for_good(t, make, error):
    """A Call that is refused each time ends with an error at last."""
    _, tcp, c = t.connect("--reduce-min", "1000", advertise=100)
    tcp.send(make(9))
    for _ in range(10):
        call = c.get_call()
        same(call.xid, 9, "the Call")
        c.error(9, *error)
        if t.which(c, tcp) is c:
            continue
        fails(tcp, 9)
        null_works(tcp, c)
        return
    expect(False, "tried ten times")


def again_without(t, c, tcp, m, error, answer):
    """@m, refused with @error, comes again with the same xid, for @answer."""
    call = c.get_call()
    c.error(call.xid, *error)
    expect(t.which(c, tcp) is c, "it is not sent again after %r" % (error,))
    again = c.get_call()
    same((again.xid, again.fetch()), (call.xid, m), "xid and stream then")
    answer(again)


# Fails with: chunks-not-fewer
@check("V2-7.3.1-04")
def without_read_chunks(t):
    """READ_CHUNKS with fewer than it has, and it comes again without them:
    continued or in Special format, if that is not refused too."""
    _, tcp, c = t.connect(advertise=200)

    def none_and(external, then):
        def look(call):
            same((call.reads, call.external), ([], external),
                 "Read chunks, and a Call chunk")
            then(call)
        return look

    for n, external in (20000, False), (200000, True):
        m = write3(n, rpc.pattern(n, n))

        def done(call):
            c.answer_inline(call, write3_results(n))
            same(tcp.reply().stat, 0, "accept_stat")

        tcp.send(m)
        again_without(t, c, tcp, m, (v2.READ_CHUNKS, 0),
                      none_and(external, done))
        null_works(tcp, c)
    # Nor in a Call chunk.
    tcp.send(m)
    again_without(t, c, tcp, m, (v2.READ_CHUNKS, 0), none_and(
        True, lambda call: c.error(call.xid, v2.READ_CHUNKS, 0)))
    none_and(False, done)(c.get_call())


# Fails with: chunks-not-fewer, reply-chunk-not-instead
@check("V2-7.3.2-04")
def without_write_chunks(t):
    """WRITE_CHUNKS with fewer than it has, and it comes again with a Reply
    chunk in their place; then without that."""
    for n in 3000, 20000, 200000:
        _, tcp, c = t.connect("--reduce-min", "1000", advertise=100)
        m = read3(n, n)
        r = rpc.reply(n, read3_head(n) + rpc.pattern(n, 8))
        tcp.send(m)

        def whole(call):
            same(call.writes, [], "Write chunks")
            if n < 4000:
                c.send_reply(r)
                return
            expect(call.reply and sum(s.length for s in call.reply) >= len(r),
                   "Reply chunk %r for %d octets" % (call.reply, len(r)))
            c.post(v2.REPLY_EXTERNAL, n, reply=c.place(call.reply, r))

        again_without(t, c, tcp, m, (v2.WRITE_CHUNKS, 0), whole)
        same(tcp.recv(), r, "what the client got")
        null_works(tcp, c)
        if n < 4000:
            t.stop()
            continue
        tcp.send(m)
        again_without(t, c, tcp, m, (v2.WRITE_CHUNKS, 0),
                      lambda call: c.error(call.xid, v2.WRITE_CHUNKS, 0))
        call = c.get_call()
        same((call.writes, call.reply), ([], None), "chunks for its Reply")
        c.send_reply(r)
        same(tcp.recv(), r, "what the client got")
        t.stop()


# Fails with: resources-end-nothing
@check("V2-7.3.1-03")
def read_chunks(t):
    """READ_CHUNKS: another form, or an error; it never hangs."""
    for most in 0, 1, 5:
        refused_for_good(t, lambda x: write3(x, bytes(20000)),
                         (v2.READ_CHUNKS, most))


# Fails with: resources-end-nothing
@check("V2-7.3.2-02")
def write_chunks(t):
    """WRITE_CHUNKS: another form, or an error; it never hangs."""
    for most in 0, 1:
        refused_for_good(t, lambda x: read3(x, 20000),
                         (v2.WRITE_CHUNKS, most))


# Fails with: resources-end-nothing
@check("V2-7.3.3-02")
def segments(t):
    """SEGMENTS: another form, or an error; it never hangs."""
    for most in 0, 1:
        refused_for_good(t, lambda x: read3(x, 20000), (v2.SEGMENTS, most))


# Fails with: resources-end-nothing
@check("V2-7.3.4-04")
def write_resource(t):
    """WRITE_RESOURCE with 0, or again and again: an error at last."""
    for error in (0, 0), (1, 0), (1, 70000), (9, 70000), (1, 0xffffffff):
        refused_for_good(t, lambda x: read3(x, 20000),
                         (v2.WRITE_RESOURCE,) + error)


# Fails with: resources-end-nothing
@check("V2-7.3.5-03")
def reply_resource(t):
    """REPLY_RESOURCE with 0, or again and again: an error at last."""
    for need in 0, 70000, 0xffffffff:
        refused_for_good(t, rpc.null, (v2.REPLY_RESOURCE, need))


# Fails with: resources-end-nothing, retry-never, retry-always
@check("V2-6.6.4-03")
def retried_with_more(t):
    """With the length that an error names the Call is tried again."""
    _, tcp, c = t.connect(advertise=100)
    tcp.send(rpc.call(1, rpc.NFS, 3, 1, rpc.opaque(b"fh")))
    call = c.get_call()
    same(call.reply, None, "a Reply chunk at first")
    c.error(1, v2.REPLY_RESOURCE, 70000)
    call = c.get_call()
    expect(call.reply and sum(s.length for s in call.reply) >= 70000,
           "Reply chunk %r" % (call.reply,))
    m = rpc.reply(1, bytes(70000 - 24))
    c.post(v2.REPLY_EXTERNAL, 1, reply=c.place(call.reply, m))
    same(tcp.recv(), m, "what the client got")
    tcp.send(read3(2, 5000))
    call = c.get_call()
    c.error(2, v2.WRITE_RESOURCE, 1, 6000)
    call = c.get_call()
    expect(sum(s.length for s in call.writes[0]) >= 6000, "%r" % call.writes)
    data = rpc.pattern(6000, 1)
    c.answer_inline(call, read3_head(6000), [c.fill(call, 0, data)])
    same(tcp.reply().r.data[-6000:], data, "what the client got")
    # Not what would do harm a second time: REMOVE, alone or before a READ,
    # and what cannot be read.
    remove = rpc.u32(rpc.REMOVE) + rpc.opaque(b"name")
    read = rpc.read(0, 4000)
    for x, m in enumerate((
            rpc.call(3, rpc.NFS, 3, 12, rpc.opaque(b"fh") + rpc.opaque(b"n")),
            rpc.compound(4, [rpc.putfh(b"fh"), remove]),
            rpc.compound(5, [rpc.putfh(b"fh"), remove, read]),
            rpc.call(6, rpc.NFS, 3, 77)), 3):
        tcp.send(m)
        same(c.get_call().xid, x, "the Call")
        c.error(x, v2.REPLY_RESOURCE, 70000)
        expect(t.which(c, tcp) is tcp, "Call %d was sent again" % x)
        fails(tcp, x)
    # A session keeps it from being executed twice.
    m = rpc.compound(7, [rpc.u32(53) + bytes(16 + 4 * 4), rpc.putfh(b"fh"),
                         remove], minor=1)
    tcp.send(m)
    c.get_call()
    c.error(7, v2.REPLY_RESOURCE, 70000)
    call = c.get_call()
    same((call.xid, call.payload), (7, m), "the Call, once more")
    m = rpc.reply(7, bytes(40))
    c.send_reply(m)
    same(tcp.recv(), m, "what the client got")


PLAIN = "--reduce-min", "4294967295"


# Fails with: errors-end-nothing, htype-again
@check("V2-7.1.3-01")
def not_that_type_again(t):
    """A header type that was refused does not come again: another format
    does, while there is one."""
    _, tcp, c = t.connect(*PLAIN, advertise=100)

    def comes_as(*types):
        """A WRITE comes in one of these types, or is failed; how."""
        x = c.new_xid()
        m = write3(x, rpc.pattern(12000, x))
        tcp.send(m)
        if t.which(c, tcp) is tcp:
            fails(tcp, x)
            same((), types, "types in which it could come")
            return None
        call = c.get_call()
        same([h.htype for h in call.headers if h.htype not in types], [],
             "other types")
        same(call.fetch(), m, "the stream")
        return call

    def refused(call):
        c.error(call.xid, v2.INVAL_HTYPE)
        fails(tcp, call.xid)

    def answered(call):
        c.answer_inline(call, write3_results(12000))
        same(tcp.reply().stat, 0, "accept_stat")

    long = v2.CALL_MIDDLE, v2.CALL_INLINE
    call = comes_as(*long)
    expect(len(call.headers) > 1, "in one message")
    refused(call)
    for _ in range(3):
        answered(comes_as(v2.CALL_EXTERNAL))
    null_works(tcp, c)
    refused(comes_as(v2.CALL_EXTERNAL))
    comes_as()
    null_works(tcp, c)
    t.stop()
    # The other way round.
    _, tcp, c = t.connect(*PLAIN, "--call-format", "special", advertise=100)
    refused(comes_as(v2.CALL_EXTERNAL))
    answered(comes_as(*long))
    t.stop()
    # What is short, as well.
    _, tcp, c = t.connect(advertise=100)
    tcp.send(rpc.null(3))
    call = c.get_call()
    same(call.last.htype, v2.CALL_INLINE, "how NULL comes")
    refused(call)
    tcp.send(rpc.null(4))
    call = c.get_call()
    same((call.last.htype, call.fetch()), (v2.CALL_EXTERNAL, rpc.null(4)),
         "how NULL comes then")
    c.answer_inline(call)
    same(tcp.reply().stat, 0, "accept_stat of NULL")
    answered(comes_as(v2.CALL_EXTERNAL))
    t.stop()
    # On another connection it is another matter.
    _, tcp, c = t.connect()
    same(null_works(tcp, c).last.htype, v2.CALL_INLINE, "how NULL comes")


# ---- Replies ------------------------------------------------------------


# Fails with: interrupted
@check("V2-6.3.9-04")
def reply_interrupted(t):
    """A continued Reply that is broken: INVAL_CONT, and its Call fails."""
    for kind in "other reply", "props", "call":
        _, tcp, c = t.connect()
        tcp.send(rpc.null(60))
        tcp.send(rpc.null(61))
        x = {c.get_call().xid, c.get_call().xid}
        same(x, {60, 61}, "Calls")
        c.post(v2.REPLY_MIDDLE, 60, payload=rpc.reply(60)[:8], remaining=16)
        if kind == "other reply":
            c.post(v2.REPLY_INLINE, 61, payload=rpc.reply(61))
            want = {60: 5, 61: 5}
        elif kind == "props":
            y = c.send_props()
            want = {60: 5, y: 5}
        else:
            c.post(v2.CALL_INLINE, 62, payload=rpc.null(62))
            want = {60: 5, 62: 5}
        got = {}
        for _ in want:
            h = c.take()
            expect(h.htype == v2.ERROR, str(h))
            got[h.xid] = h.error[0]
        same(got, want, "ERRORs")
        fails(tcp, 60)
        if kind == "other reply":
            fails(tcp, 61)
        else:
            c.post(v2.REPLY_INLINE, 61, payload=rpc.reply(61))
            same(tcp.reply().stat, 0, "the other Call")
        null_works(tcp, c)
        t.stop()
    # A wrong rdma_remaining, and no end of it.
    for bad in "too many", "too few", "zero", "grows", "huge":
        _, tcp, c = t.connect()
        tcp.send(rpc.null(60))
        c.get_call()
        m = rpc.reply(60)
        c.post(v2.REPLY_MIDDLE, 60, payload=m[:8],
               remaining={"huge": 0xfffffff0, "zero": 0}.get(bad, 16))
        if bad == "too many":
            c.post(v2.REPLY_INLINE, 60, payload=m[8:] + bytes(4))
        elif bad == "too few":
            c.post(v2.REPLY_INLINE, 60, payload=m[8:-4])
        elif bad == "grows":
            c.post(v2.REPLY_MIDDLE, 60, payload=m[8:12], remaining=16)
        h = kit.is_error(c.take(), v2.INVAL_CONT)
        same(h.xid, 60, "xid of the ERROR")
        # A Reply that is too long may fail its Call at its end.
        if bad != "huge":
            fails(tcp, 60)
        if bad in ("zero", "grows", "huge"):
            # The rest of what was refused: no word about it.
            c.post(v2.REPLY_INLINE, 60, payload=m[8:])
        if bad == "huge":
            fails(tcp, 60)
        null_works(tcp, c)
        t.stop()


# Fails with: remaining-with
@check("V2-6.3.9-06")
def reply_remaining_with(t):
    """rdma_remaining of a Reply may count the octets of its own message."""
    _, tcp, c = t.connect()
    for steps in (8, 8, 4), (8, 4, 12), (12, 4, 4):
        tcp.send(rpc.null(60))
        c.get_call()
        m, at = rpc.reply(60) + bytes(40), 0
        for n in steps:
            c.post(v2.REPLY_MIDDLE, 60, payload=m[at:at + n],
                   remaining=len(m) - at)
            at += n
        c.post(v2.REPLY_INLINE, 60, payload=m[at:])
        same(tcp.recv(), m, "what the client got")


# Fails with: early-error
@check("V2-6.3.6-07")
def call_refused(t):
    """A Call that is refused amid its fragments is completed all the same;
    then it may come again."""
    m = write3(9, bytes(30000))
    for error in (v2.SYSTEM,), (v2.REPLY_RESOURCE, 5000):
        _, tcp, c = t.connect("--call-format", "continued", "--reduce-min",
                              "4294967295", advertise=2, replenish=False)
        tcp.send(m)
        headers = [c.take()]
        same(headers[0].htype, v2.CALL_MIDDLE, "how the Call begins")
        c.error(9, *error)
        c.advertise = 32
        c.grant()
        same(b"".join(h.payload for h in call_rest(c, headers)), m, "the Call")
        if error[0] == v2.SYSTEM:
            fails(tcp, 9)
        else:
            headers = call_rest(c, [c.take()])
            same(b"".join(h.payload for h in headers), m, "the Call again")
            c.answer_inline(headers[-1], write3_results(30000))
            same(tcp.reply().stat, 0, "accept_stat")
        t.stop()


def call_rest(c, headers):
    """Those of a Call that has begun, to its last."""
    while headers[-1].htype == v2.CALL_MIDDLE:
        headers.append(c.take())
    same(headers[-1].htype, v2.CALL_INLINE, "how the Call ends")
    return headers


# Fails with: errors-between
@check("V2-6.3.6-05")
def call_undisturbed(t):
    """Between the fragments of a Call nothing is sent but GRANTs."""
    _, tcp, c = t.connect("--call-format", "continued", "--reduce-min",
                          "4294967295", advertise=2, replenish=False)
    m = write3(9, bytes(30000))
    tcp.send(m)
    headers = [c.take()]
    same(headers[0].htype, v2.CALL_MIDDLE, "how the Call begins")
    for x in range(3):
        c.raw(0x9000 + x, 2, None, 99, force=True)
        headers.append(c.take())
    c.advertise = 32
    c.grant()
    while headers[-1].htype == v2.CALL_MIDDLE:
        headers.append(c.take())
    same({h.htype for h in headers}, {v2.CALL_MIDDLE, v2.CALL_INLINE},
         "types amid the Call")
    same(b"".join(h.payload for h in headers), m, "the Call")
    for x in range(3):
        same(kit.is_error(c.take(), v2.INVAL_HTYPE).xid, 0x9000 + x,
             "xid of the ERROR behind it")
    c.answer_inline(headers[-1], write3_results(30000))
    same(tcp.reply().stat, 0, "accept_stat")


def failed_reads():
    """Calls whose operation failed: (Call, its results)."""
    yield read3(3, 5000), rpc.u32(5, 0)
    yield rpc.call(4, rpc.NFS, 3, rpc.READLINK3, rpc.opaque(b"fh"),
                   rpc.NONE), rpc.u32(22, 0)
    sequence = rpc.u32(rpc.SEQUENCE) + bytes(16) + rpc.u32(1, 0, 0, 0)
    for minor in 0, 1, 2:
        ops, head, n = [rpc.putfh(b"fh")], rpc.u32(rpc.PUTFH, 0), 2
        if minor:
            ops.insert(0, sequence)
            head = rpc.u32(rpc.SEQUENCE, 0) + bytes(36) + head
            n = 3
        for op, args in ((rpc.READ, rpc.read(0, 5000)),
                         (rpc.READLINK, rpc.u32(rpc.READLINK))):
            yield (rpc.compound(5 + minor, ops + [args], minor=minor),
                   rpc.u32(5) + rpc.opaque(b"") + rpc.u32(n) + head +
                   rpc.u32(op, 5))
        # It was never reached.
        yield (rpc.compound(5 + minor, ops + [rpc.read(0, 5000)],
                            minor=minor),
               rpc.u32(70) + rpc.opaque(b"") + rpc.u32(n - 1) +
               head[:-4] + rpc.u32(70))


def full_but_failed(tcp, c):
    """The Write list comes back as the Call had it although the operation
    failed: the client gets what the server says of it."""
    for m, results in failed_reads():
        tcp.send(m)
        call = c.get_call()
        expect(call.writes and call.writes[0][0].length, "no Write chunk")
        c.answer_inline(call, results, call.writes)
        same(tcp.recv(), m[:4] + rpc.reply(0, results)[4:],
             "what the client got")


# Fails with: reply-not-looked-at, full-but-failed
@check("V2-A.1-01")
def not_reduced(t):
    """Data inline although a Write chunk was offered; or what is no data in
    the chunk: the RPC ends with an error. Without data the chunk does not
    matter."""
    full_but_failed(*t.connect()[1:])
    tcp, iw = version_1_offered(t)[1:]
    c = Responder1(iw, threshold=4096)
    c.answer_inline(c.get_call())
    tcp.reply()
    full_but_failed(tcp, c)
    t.stop()
    _, tcp, c = t.connect()
    tcp.send(read3(1, 5000))
    call = c.get_call()
    x = call.xid
    m = rpc.reply(x, read3_head(2000) + bytes(2000))
    c.post(v2.REPLY_INLINE, x, payload=m,
           writes=[[s._replace(length=0) for s in k] for k in call.writes])
    fails(tcp, 1)
    null_works(tcp, c)
    # The length word is not that of the chunk.
    for results in read3_head(4000), read3_head(5004):
        tcp.send(read3(2, 5000))
        call = c.get_call()
        c.answer_inline(call, results, [c.fill(call, 0, bytes(4996))])
        fails(tcp, 2)
        null_works(tcp, c)


# Fails with: reply-not-looked-at
@check("V1-6.1-02")
def not_reduced_1(t):
    """The same in version 1."""
    tcp, iw = version_1_offered(t)[1:]
    c = Responder1(iw, threshold=4096)
    c.answer_inline(c.get_call())
    tcp.reply()
    tcp.send(read3(1, 2000))
    call = c.get_call()
    c.answer_inline(call, read3_head(2000) + bytes(2000), [
        [s._replace(length=0) for s in k] for k in call.writes])
    fails(tcp, 1)
    null_works(tcp, c)


# Fails with: error-type
@check("V2-6.1-01")
def error_octets(t):
    """ERROR, octet by octet: the prefix with type 4, the code, no more."""
    _, tcp, c = t.connect()
    c.raw(0x99, 2, None, 42, 1, 2, 3)
    h = c.take()
    same(h.message.data[:8] + h.message.data[12:],
         rpc.u32(0x99, 2, 4, 4), "the ERROR")
    null_works(tcp, c)


# Fails with: first-long
@check("V2-B.2-01")
def no_extensions(t):
    """No optional header types or properties are sent unasked."""
    _, tcp, c = t.connect(props=[(0xffffff01, bytes(4)), (77, bytes(8))])
    for i in range(5):
        null_works(tcp, c, i)
    tcp.send(write3(100, bytes(30000)))
    c.answer_inline(c.get_call(), write3_results(30000))
    tcp.reply()
    for h in c.seen:
        expect(4 <= h.htype <= 13, "%s" % h)
        for which, _ in getattr(h, "props", ()):
            expect(1 <= which <= 6, "property %d" % which)


# ---- RPCSEC_GSS: what a Requester can tell from a credential --------------


def gss(service, proc=0):
    """A credential and verifier of RPCSEC_GSS (RFC 2203)."""
    return rpc.u32(6) + rpc.opaque(rpc.u32(1, proc, 9, service) +
                                   rpc.opaque(b"ctx!")) + \
        rpc.u32(6) + rpc.opaque(bytes(40))


def gss_write(xid, service, data):
    """WRITE. Under integrity or privacy its arguments are one opaque, and a
    checksum; here so that the two look like a WRITE that is not protected."""
    args = (rpc.opaque(b"fh") + rpc.u64(0) + rpc.u32(len(data), 2) +
            rpc.opaque(data))
    if service > 1:
        args = rpc.opaque(rpc.u32(9) + bytes(20)) + \
            rpc.opaque(rpc.u32(0, len(data), 2) + rpc.opaque(data))
    return rpc.call(xid, rpc.NFS, 3, rpc.WRITE3, args, gss(service))


# Fails with: gss-control
@check("V2-11.2.2-01")
def gss_control(t):
    """Messages that make or end a GSS context are never reduced."""
    _, tcp, c = t.connect("--reduce-min", "1", advertise=100)

    def message(proc, n, procedure):
        # A token with the looks of the arguments of a WRITE.
        cred = gss(1, proc)
        if proc < 3:
            cred = rpc.u32(6) + rpc.opaque(
                rpc.u32(1, proc, 9, 1) + rpc.opaque(b"" if proc == 1 else b"ctx!")
            ) + rpc.u32(0, 0)
        return rpc.call(n, rpc.NFS, 3, procedure, rpc.opaque(b"fh") + rpc.u64(0) +
                        rpc.u32(n, 2) + rpc.opaque(rpc.pattern(n, proc)), cred)

    def unreduced(call, m):
        same((call.reads, call.writes), ([], []), "data item chunks")
        same(call.fetch(), m, "the stream")
        c.answer_inline(call)
        tcp.recv()

    for proc in 1, 2, 3:
        for n in 100, 9000:
            m = message(proc, n, 0)
            tcp.send(m)
            unreduced(c.get_call(), m)
        # RFC 2203, 5.2.2: with NULL only. It may be denied, but not be reduced.
        m = message(proc, 9001, rpc.WRITE3)
        tcp.send(m)
        try:
            call = c.get_call(1)
        except Silence:
            expect(rpc.Reply(tcp.recv()).denied, "not a denial")
        else:
            unreduced(call, m)


# Fails with: gss-none
@check("V2-11.2.2.2-01")
def gss_none(t):
    """With service none the usual items are reduced."""
    _, tcp, c = t.connect()
    data = rpc.pattern(6001, 1)
    m = gss_write(1, 1, data)
    tcp.send(m)
    call = c.get_call()
    same(sum(s.length for s in call.reads), 6001, "the Read chunk")
    same(call.fetch(), m, "the stream")
    c.answer_inline(call, write3_results(6001))
    tcp.recv()
    tcp.send(rpc.call(2, rpc.NFS, 3, rpc.READ3, rpc.opaque(b"fh") +
                      rpc.u64(0) + rpc.u32(6001), gss(1)))
    call = c.get_call()
    same(sum(s.length for s in call.writes[0]), 6001, "the Write chunk")
    c.answer_inline(call, read3_head(6001), [c.fill(call, 0, data)])
    same(tcp.reply().r.data[-6004:-3], data, "what the client got")
    # Its client would not believe an accepted Reply that is not the server's.
    tcp.send(gss_write(3, 1, data))
    c.error(c.get_call().xid, v2.BAD_XDR)
    same(tcp.recv(), rpc.u32(3, 1, 1, 1, 7), "the denial after an ERROR")


# Fails with: never-special, gss-protected
@check("V2-11.2.2.3-01", "V2-11.2.2.3-02")
def gss_protected(t):
    """Under integrity and privacy nothing is reduced; body chunks carry
    the whole."""
    for service in 2, 3:
        s, tcp, c = t.connect("--reduce-min", "1", advertise=100)
        for n in 50, 6001, 200000:
            m = gss_write(n, service, rpc.pattern(n, n))
            tcp.send(m)
            call = c.get_call()
            same(call.reads, [], "Read chunks")
            if n == 200000:
                expect(call.external, "not in a Call chunk")
            same(call.fetch(), m, "the stream")
            c.answer_inline(call)
            tcp.recv()
        # How long a protected Reply will be nobody can tell from its Call:
        # what fits the Reply chunk goes there, what does not is continued.
        args = rpc.opaque(rpc.u32(9) + rpc.opaque(b"fh")) + \
            rpc.opaque(rpc.u32(0, 1 << 20) + bytes(16))
        for n in 60, 9000, 300000:
            tcp.send(rpc.call(n, rpc.NFS, 3, rpc.READ3, args, gss(service)))
            call = c.get_call()
            same(call.writes, [], "Write chunks")
            m = rpc.reply(n, rpc.opaque(rpc.pattern(n, 9)))
            if n < 1000:
                c.send_reply(m)
            elif sum(s.length for s in call.reply or []) >= len(m):
                c.post(v2.REPLY_EXTERNAL, n, reply=c.place(call.reply, m))
            else:
                expect(n > 100000, "no Reply chunk for %d octets" % n)
                c.send_reply(m)
            same(tcp.recv(), m, "what the client got")
        # What finds no room is not sent again by the Requester, since the
        # sequence number is used up: its client has to, on a new connection.
        tcp.send(rpc.call(5, rpc.NFS, 3, rpc.READ3, args, gss(service)))
        c.get_call()
        c.error(5, v2.REPLY_RESOURCE, 400000)
        same(tcp.end(), b"", "what the client got")
        tcp = s.tcp()
        c = t.accept(s, 100)
        c.greet()
        tcp.send(rpc.call(6, rpc.NFS, 3, rpc.READ3, args, gss(service)))
        call = c.get_call()
        expect(call.reply and sum(k.length for k in call.reply) >= 400000,
               "Reply chunk %r after REPLY_RESOURCE" % (call.reply,))
        m = rpc.reply(6, rpc.opaque(rpc.pattern(399000, 9)))
        c.post(v2.REPLY_EXTERNAL, 6, reply=c.place(call.reply, m))
        same(tcp.recv(), m, "what the client got then")
        t.stop()
