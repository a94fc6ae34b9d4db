# SPDX-License-Identifier: BSD-3-Clause
"""The reverse direction: 4.6, 5.2.5, and RFC 8167.

A server that is "callback" has a program 0x20049001, version 1, whose
procedure 4 (count, size) sends so many reverse-direction Calls of program
0x20049002, procedure 1, with an opaque of so many octets, wants each echoed,
and then answers (good, bad). A third word, if there is one, stands for the
ca_maxrequestsize of a session. tests/tools/echo_server.c is one.
"""

import socket

from . import kit, rpc, v1, v2
from .kit import REQUESTER, check, expect, good, same
from .private_checks import private
from .requester import Responder, Responder1, write3, write3_results

PROG, CB_PROG = 0x20049001, 0x20049002


# ---- A server that calls ------------------------------------------------


def callback(xid, count, size, *longest):
    return rpc.call(xid, PROG, 1, 4, rpc.u32(count, size, *longest), rpc.NONE)


def results_of(h):
    """What the program of "callback" has answered: a Reader."""
    reply = rpc.Reply(h.payload)
    expect(reply.ok, "program %#x is not served as --server-is callback "
           "wants it: %s, status %d" % (
               PROG, "denied" if reply.denied else "accepted", reply.stat))
    return reply.r


def callbacks_of(c, x, most=64):
    """Answer the reverse Calls that come until the Reply to @x has come:
    (the Calls as lists of headers, the Reply's results)"""
    calls, parts = [], []
    while True:
        h = c.take()
        if h.htype in (v2.REPLY_INLINE, v2.ERROR):
            same((h.xid, h.htype), (x, v2.REPLY_INLINE), "the answer")
            r = results_of(h)
            return calls, (r.u32(), r.u32())
        if h.htype in (v2.PROP_FINAL, v2.PROP_MIDDLE):
            continue
        parts.append(h)
        if h.htype == v2.CALL_MIDDLE:
            continue
        same(h.htype, v2.CALL_INLINE, "the type of a reverse Call")
        calls.append(parts)
        payload = b"".join(p.payload for p in parts)
        r = rpc.Reader(payload)
        xid, kind = r.u32(), r.u32()
        same((xid, kind), (h.xid, 0), "xid and msg_type of the RPC Call")
        same((r.u32(), r.u32(), r.u32(), r.u32()), (2, CB_PROG, 1, 1),
             "the rest of its header")
        for _ in range(2):
            r.u32()
            r.opaque()
        c.send_reply(rpc.reply(xid, rpc.opaque(r.opaque())))
        parts = []
        expect(len(calls) <= most, "%d reverse Calls" % len(calls))


def make_callbacks(t, level, count, size, **more):
    c = t.connect([(v2.BRS, level)] if level is not None else [], **more)
    x = c.new_xid()
    c.send_call(callback(x, count, size))
    return (c,) + callbacks_of(c, x)


# Fails with: reverse-xid, call-version, call-credit
@check("V2-4.6.1-01", "V2-4.6.1-02", "V2-4.6.1-03", "UB-6.2-01",
       server_is="callback")
def reverse_calls(t):
    """Reverse Calls: xid, version, type and credits as in any Call."""
    c, calls, result = make_callbacks(t, 2, 10, 100)
    same(result, (10, 0), "good and bad")
    same(len(calls), 10, "reverse Calls")
    most = v2.ahead(c.seen[0].credit, 1)
    for parts in calls:
        for h in parts:
            same((h.vers, h.htype), (2, v2.CALL_INLINE), "version and type")
            # A credit more for each reverse Call outstanding, at most.
            expect(0 < v2.ahead(h.credit, 2) <= most + 10 + c.sent,
                   "%s" % h)
    xids = [p[0].xid for p in calls]
    same(len(set(xids)), 10, "different XIDs")


# Fails with: call-as-reply
@check("V2-7.2-07", server_is="callback")
def no_reply(t):
    """What is no Reply to a reverse Call: BAD_XDR, and that Call fails."""
    c = t.connect([(v2.BRS, 2)])
    for make in (lambda x: rpc.u32(x), lambda x: rpc.u32(x, 0),
                 lambda x: rpc.u32(x, 2, 0, 0, 0, 0)):
        x = c.new_xid()
        c.send_call(callback(x, 1, 10))
        h = c.take()
        same(h.htype, v2.CALL_INLINE, "the reverse Call")
        c.post(v2.REPLY_INLINE, h.xid, payload=make(h.xid))
        a = c.take()
        same((a.xid, a.error), (h.xid, (v2.BAD_XDR,)), "its answer")
        a = good(c.answer(x))
        same(a.payload[-8:], rpc.u32(0, 1), "good and bad")


# Fails with: reverse-unasked
@check("V2-4.6.3-01", "V2-5.2.5-02", server_is="callback")
def none_announced(t):
    """Without Reverse-Direction Support, or with 0, no reverse Calls."""
    for level in None, 0, 4, 0xffffffff:
        _, calls, result = make_callbacks(t, level, 3, 10)
        same((calls, result), ([], (0, 3)), "with level %r" % level)
    # Not before the CONNPROP has said so, either.
    c = t.raw()
    x = c.new_xid()
    c.send_call(callback(x, 3, 10))
    calls, result = callbacks_of(c, x)
    same((calls, result), ([], (0, 3)), "before any CONNPROP")


# Fails with: reverse-continued
@check("V2-5.2.5-03", server_is="callback")
def simple_only(t):
    """Level 1: what does not fit one message is not called."""
    c, calls, result = make_callbacks(t, 1, 2, 2000)
    same((len(calls), result), (2, (2, 0)), "short ones")
    x = c.new_xid()
    c.send_call(callback(x, 2, 20000))
    calls, result = callbacks_of(c, x)
    same((calls, result), ([], (0, 2)), "long ones")


# Fails with: reverse-chunks
@check("V2-5.2.5-04", "V2-4.6.4-02", "UB-6.2-05", server_is="callback")
def continued(t):
    """Level 2: long reverse Calls are continued, without chunks."""
    c, calls, result = make_callbacks(t, 2, 3, 30000, advertise=100)
    same((len(calls), result), (3, (3, 0)), "long ones")
    x = c.new_xid()
    c.send_call(callback(x, 2, 150000))
    more, result = callbacks_of(c, x)
    same((len(more), result), (2, (2, 0)), "very long ones")
    for parts in calls + more:
        expect(len(parts) > 5, "%d messages" % len(parts))
        left = sum(len(p.payload) for p in parts)
        for p in parts[:-1]:
            left -= len(p.payload)
            same((p.htype, p.xid, p.remaining),
                 (v2.CALL_MIDDLE, parts[0].xid, left), "a fragment")
        last = parts[-1]
        same((last.htype, last.reads, last.writes, last.reply, last.inv),
             (v2.CALL_INLINE, [], [], None, 0), "the last")
    general_level(t)


# Fails with: session-not-asked
@check("UB-6.2-04", server_is="callback")
def long_for_session(t):
    """Level 3 and a session: chunks only if its ca_maxrequestsize exceeds the
    inline threshold."""
    for size, longest in ((4096, 0), (4096, 4096), (8192, 4100), (8192, 8192)):
        c = t.connect([(v2.BRS, 3), (v2.RBSIZ, size)], advertise=200)
        c.recv_size = size
        x = c.new_xid()
        c.send_call(callback(x, 2, 200000, longest))
        calls, result = callbacks_of(c, x)
        same((len(calls), result), (2, (2, 0)), "with %d" % longest)
        for parts in calls:
            expect(len(parts) > 20, "%d messages" % len(parts))
            last = parts[-1]
            same((last.reads, last.writes, last.reply), ([], [], None),
                 "the lists with %d" % longest)
        general_level(t, size, size + 4)


def general_level(t, size=4096, *longest):
    """Level 3: long reverse Calls may have chunks; the handle that is named
    may be invalidated, and is of no use afterwards."""
    c = t.connect([(v2.BRS, 3), (v2.RBSIZ, size)], advertise=100)
    c.recv_size = size
    x = c.new_xid()
    c.send_call(callback(x, 2, 200000, *longest))
    for _ in range(2):
        call = Responder.get_call(c)
        expect(call.external, "%s instead of CALL_EXTERNAL" % call.last)
        handles = {s.handle for s in call.segments()}
        expect(call.inv in handles | {0}, "rdma_inv_handle %#x" % call.inv)
        m = call.fetch()
        r = rpc.Reader(m, 40)
        answer = rpc.reply(call.xid, rpc.opaque(r.opaque()))
        if call.reply:
            c.post(v2.REPLY_EXTERNAL, call.xid, to_inv=call.inv or None,
                   reply=Responder.place(c, call.reply, answer))
        else:
            c.send_reply(answer)
    a = good(c.answer(x))
    same(a.payload[-8:], rpc.u32(2, 0), "good and bad")
    seg = call.segments()[0]
    c.iw.start_read(seg.handle, seg.offset, 4)
    t.ended(c.iw, (0, 1, 0), "a late RDMA Read")


# Fails with: server-connects
@check("V2-4.6.5-02", "BD-2-01", "BD-5.4-02", server_is="callback")
def never_connects(t):
    """A server whose client has gone with Calls pending waits for it."""
    for version in (2, 1) if t.version == 2 else (1,):
        if version == 2:
            c = t.connect([(v2.BRS, 2)])
            c.send_call(callback(c.new_xid(), 3, 10))
            c.take()
        else:
            c = v1.Conn(t.iwarp(private=private()), threshold=4096)
            c.null1 = c.post(rpc.call(c.new_xid(), PROG, 1, 0, b"", rpc.NONE))
            c.answer(c.null1)
            c.post(callback(c.new_xid(), 3, 10))
            c.next()
        name = c.iw.s.getsockname()
        c.iw.close(reset=True)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(name)
            s.listen()
            s.settimeout(0.7)
            try:
                s.accept()
                expect(False, "the server has made a connection")
            except socket.timeout:
                pass
        # It goes on, and nothing is called that nobody asked for here.
        if version == 2:
            _, calls, result = make_callbacks(t, 2, 1, 10)
            same((len(calls), result), (1, (1, 0)), "afterwards")
        else:
            c = v1.Conn(t.iwarp(private=private()), threshold=4096)
            call_v1(c, 0, b"")
            same(call_v1(c, 4, rpc.u32(1, 10))[1], rpc.u32(1, 0), "afterwards")
            same(len(c.calls), 1, "reverse Calls afterwards")


# Fails with: reverse-xid, call-credit, call-version-1, forward-grant-varies
@check("BD-5.1-01", "BD-5.1-02", "BD-5.1-03", "BD-4.1-02",
       server_is="callback")
def reverse_calls_v1(t):
    """Version 1: fresh XIDs, a credit request, version, msg_type; the
    forward grant is what it was."""
    c = v1.Conn(t.iwarp(private=private()), threshold=4096)
    grant = first = call_v1(c, 0, b"")[0].credit
    seen = []
    for _ in range(3):
        h, results = call_v1(c, 4, rpc.u32(4, 100))
        same(results, rpc.u32(4, 0), "good and bad")
        grant = h.credit
        same(grant, first, "the forward grant")
    for h in c.calls:
        same((h.vers, h.proc, h.reads, h.writes, h.reply),
             (1, v1.MSG, [], [], None), "the header")
        expect(h.credit > 0, "a request for no credits")
        same(h.payload[:8], rpc.u32(h.xid, 0), "xid and msg_type")
        seen.append(h.xid)
    same((len(seen), len(set(seen))), (12, 12), "fresh XIDs")


def call_v1(c, proc, args, held=None):
    """Call the program of "callback"; its reverse Calls are answered, or
    put into @held."""
    x = c.post(rpc.call(c.new_xid(), PROG, 1, proc, args, rpc.NONE))
    return finish_v1(c, x, held)


def echo_v1(c, h, credit=16):
    c.calls.append(h)
    c.iw.send(v1.encode(v1.MSG, h.xid, credit, payload=rpc.reply(
        h.xid, h.payload[40:])))


def finish_v1(c, x, held=None):
    while True:
        h = c.next()
        if h.is_call:
            if held is None:
                echo_v1(c, h)
            else:
                held.append(h)
        elif h.xid == x:
            return h, results_of(h).data[24:]
        else:
            c.backlog.append(h)


# Fails with: reverse-chunks
@check("BD-5.3-02", "BD-4.2-01", server_is="callback")
def inline_only_v1(t):
    """Version 1: reverse Calls fit the threshold of forward Replies, or are
    not made."""
    for size in 1024, 2048, 4096:
        c = v1.Conn(t.iwarp(private=private(receive=size)), threshold=size)
        call_v1(c, 0, b"")
        fits = size - 28 - 44
        h, results = call_v1(c, 4, rpc.u32(2, fits))
        same(results, rpc.u32(2, 0), "those that fit %d" % size)
        same(max(k.size for k in c.calls), size, "the longest")
        h, results = call_v1(c, 4, rpc.u32(2, fits + 4))
        same(results, rpc.u32(0, 2), "those that do not")


def waiting_v1(c, n=1):
    """@n messages that come, and whatever else does."""
    out = [c.next() for _ in range(n)]
    while not c.iw.quiet(0.3):
        out.append(c.next())
    return out


# Fails with: receives-forward
@check("BD-4.1-01", "BD-4.3.2-01", "BD-4.3-01",
       server_is="callback")
def full_window_v1(t):
    """Version 1: a full forward window of Calls that wait for reverse ones:
    credits and Receives of the two directions are apart."""
    c = v1.Conn(t.iwarp(private=private()), threshold=4096)
    grant = call_v1(c, 0, b"")[0].credit
    if grant > 16:
        raise kit.Skip("it grants %d credits; give it 16 or fewer" % grant)
    # The first reverse Reply grants more than one.
    same(call_v1(c, 4, rpc.u32(1, 50))[1], rpc.u32(1, 0), "a reverse Call")
    # The reverse window full and unanswered: a forward Call goes through.
    x = c.post(rpc.call(c.new_xid(), PROG, 1, 4, rpc.u32(12, 50), rpc.NONE))
    held = waiting_v1(c, 12)
    same(len(held), 12, "reverse Calls at once")
    same(call_v1(c, 0, b"", held)[0].error, None, "a forward Call")
    # All the Replies with all the Calls that may come, at once.
    xids = set()

    def both():
        for h in held:
            echo_v1(c, h)
        for _ in range(grant - 1):
            xids.add(c.post(rpc.call(c.new_xid(), PROG, 1, 0, b"",
                                     rpc.NONE)))
    c.iw.in_one_write(both)
    same(finish_v1(c, x)[1], rpc.u32(12, 0), "all of the reverse Calls")
    for y in xids:
        same(c.answer(y).error, None, "a forward Call")
    # And the other way round.
    for _ in range(3):
        xids = {c.post(rpc.call(c.new_xid(), PROG, 1, 4, rpc.u32(1, 50),
                                rpc.NONE)) for _ in range(grant)}
        for h in waiting_v1(c):
            expect(h.is_call, "%s" % h)
            echo_v1(c, h)
        while xids:
            h = c.next()
            if h.is_call:
                echo_v1(c, h)
                continue
            same(results_of(h).data[24:], rpc.u32(1, 0), "results")
            xids.remove(h.xid)


def reverse_waits_v1(t):
    """A connection on which a reverse Call is unanswered, and it; two more
    wait for a grant."""
    c = v1.Conn(t.iwarp(private=private()), threshold=4096)
    call_v1(c, 0, b"")
    x = c.post(rpc.call(c.new_xid(), PROG, 1, 4, rpc.u32(3, 50), rpc.NONE))
    h, = waiting_v1(c)
    expect(h.is_call, "%s" % h)
    return c, x, h


# Fails with: nomsg-grants
@check("BD-4.1-07", server_is="callback")
def nomsg_grants_nothing(t):
    """Version 1: RDMA_NOMSG with a Reply chunk that answers no Call does not
    say its direction, so its rdma_credit is ignored."""
    c, x, h = reverse_waits_v1(t)
    for xid in h.xid ^ 0x5a5a5a5a, c.new_xid():
        c.iw.send(v1.encode(v1.NOMSG, xid, 16, reply=c.write_chunk(40)))
    same(waiting_v1(c, 0), [], "what came after a grant from nowhere")
    echo_v1(c, h)
    same(finish_v1(c, x)[1], rpc.u32(3, 0), "all of the reverse Calls")


# Fails with: unclear-answered
@check("BD-2.4.1-02", server_is="callback")
def unclear_reply_v1(t):
    """Version 1: what may be a reverse Reply and cannot be read is dropped: the
    client may have a Call of that XID, which RDMA_ERROR would end."""
    for proc, words in ((v1.MSG, rpc.u32(0, 1, 3, 0, 0, 0, 0)),
                        (v1.NOMSG, rpc.u32(0, 0, 0)),
                        (v1.MSGP, rpc.u32(0, 0, 0)),
                        (77, rpc.u32(0, 0, 0))):
        c, x, h = reverse_waits_v1(t)
        # As if it were under way when the reverse Call came.
        c.iw.send(rpc.u32(h.xid, 1, 4, proc) + words)
        for m in waiting_v1(c, 0):
            expect(m.is_call or m.xid == x, "%s %r" % (m, m.error))
        c.null1 = call_v1(c, 0, b"", [])
    # With an XID that nobody waits for it may be a Call.
    y = c.new_xid()
    c.iw.send(rpc.u32(y, 1, 4, v1.MSGP) + bytes(12))
    same(c.answer(y).error, (v1.ERR_CHUNK,), "the answer to RDMA_MSGP")


# Fails with: nomsg-reads-dropped
@check("BD-5.3-04")
def no_position_zero(t):
    """Version 1: RDMA_NOMSG with a Read list that does not begin at Position
    Zero is a Call, and ERR_CHUNK is the answer."""
    c = v1.Conn(t.iwarp(private=private()), threshold=4096)
    for lists in {}, dict(reply=c.write_chunk(400)), dict(
            writes=[c.write_chunk(40)]):
        x = c.new_xid()
        c.post(b"", x, v1.NOMSG, reads=c.read_chunk(8, bytes(400)), **lists)
        same(c.answer(x).error, (v1.ERR_CHUNK,), "the answer")
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")
    c.null()


# Fails with: unasked
@check("BD-6-01")
def nfs_without_session(t):
    """NFSv3 and 4.0 traffic on version 1: never a reverse message."""
    f = t.files
    c = v1.Conn(t.iwarp(private=private()), threshold=4096)
    for _ in range(20):
        c.null()
        h, data = c.call(rpc.compound(c.new_xid(), [
            rpc.putfh(f.data), rpc.read(0, 100)]))
        rpc.Compound(data).good(rpc.PUTFH, rpc.READ)
    expect(c.iw.quiet(0.5), "a message nobody waited for")
    same((c.calls, c.backlog), ([], []), "reverse Calls, and others")


# ---- A client that is called --------------------------------------------


def of_client(*ids, **more):
    return kit.check(*ids, role=REQUESTER, **more)


def cb_call(xid, size=10):
    return rpc.call(xid, CB_PROG, 1, 1, rpc.opaque(bytes(size)), rpc.NONE)


def reverse(tcp, c, xid, size=10, answer=10, **lists):
    """A reverse Call and its Answer; the TCP client gets it and replies."""
    m = cb_call(xid, size)
    c.send_call(m, **lists)
    same(tcp.recv(), m, "the reverse Call at the client")
    tcp.send(rpc.reply(xid, rpc.opaque(bytes(answer))))
    a = good(c.answer(xid))
    same(a.payload, rpc.reply(xid, rpc.opaque(bytes(answer))), "the Reply")
    return a


# Fails with: reply-xid, reply-version, reply-credit
@of_client("V2-4.6.2-01", "V2-4.6.2-02", "V2-4.6.2-03", "UB-6.2-02")
def reverse_replies(t):
    """Reverse Replies: xid in both places, version, type, credits."""
    _, tcp, c = t.connect("--reverse", "continued")
    limits = []
    for x in 1, 0x80000000, 0xffffffff, 77:
        a = reverse(tcp, c, x)
        h = a.last
        same((h.xid, h.vers, h.htype, a.payload[:4]),
             (x, 2, v2.REPLY_INLINE, rpc.u32(x)), "the header")
        limits.append(h.credit)
    for p, q in zip(limits, limits[1:]):
        same(v2.ahead(q, p), 1, "the step of the limit")


# Fails with: same-xid
@of_client("V2-3.1.5.4-01")
def same_xid(t):
    """A forward and a reverse Call with one XID are two transactions."""
    _, tcp, c = t.connect("--reverse", "continued")
    for order in range(2):
        tcp.send(rpc.null(500))
        call = c.get_call()
        same(call.xid, 500, "the forward Call")
        if order:
            c.answer_inline(call)
            same(tcp.recv(), rpc.reply(500), "the forward Reply")
            reverse(tcp, c, 500)
        else:
            reverse(tcp, c, 500)
            c.answer_inline(call)
            same(tcp.recv(), rpc.reply(500), "the forward Reply")


# Fails with: reverse-chunks-taken, reverse-none-system, reverse-write-chunks
@of_client("V2-4.6.4-01", "V2-4.6.4-03", "V2-7.3.2-03")
def chunks_refused(t):
    """Without support for chunks: READ_CHUNKS or WRITE_CHUNKS with 0; where
    there is no continuation either REPLY_RESOURCE for the latter."""
    for level in "none", "simple", "continued":
        results = (v2.WRITE_CHUNKS if level == "continued" else
                   v2.REPLY_RESOURCE)
        _, tcp, c = t.connect("--reverse", level)
        x = 10
        for kind, lists, code in (
                (v2.CALL_INLINE, "reads", v2.READ_CHUNKS),
                (v2.CALL_EXTERNAL, "call", v2.READ_CHUNKS),
                (v2.CALL_INLINE, "writes", results),
                (v2.CALL_INLINE, "reply", results)):
            x += 1
            value = {"reads": c.read_chunk(8, bytes(8)),
                     "call": c.read_chunk(0, cb_call(x)),
                     "writes": [c.write_chunk(10)],
                     "reply": c.write_chunk(10)}[lists]
            more = {} if kind == v2.CALL_EXTERNAL else {
                "payload": cb_call(x)}
            c.post(kind, x, **{lists: value}, **more)
            h = kit.is_error(c.take(), code, 0)
            same(h.xid, x, "xid of the ERROR")
        same(c.iw.held, [], "RDMA Reads")
        if level != "none":
            reverse(tcp, c, 99)
        t.stop()


# Fails with: reverse-never-general
@of_client("V2-5.2.5-05")
def general(t):
    """Level 3: reverse Calls by Call chunk, and Replies by Reply chunk."""
    _, tcp, c = t.connect("--reverse", "general")
    m = cb_call(5, 50000)
    c.post(v2.CALL_EXTERNAL, 5, call=c.read_chunk(0, m, (1000,)))
    c.iw.pump_until(lambda: sum(e[0] == "read" for e in c.iw.events) == 2)
    same(tcp.recv(), m, "the reverse Call at the client")
    tcp.send(rpc.reply(5, rpc.opaque(bytes(10))))
    good(c.answer(5))
    w = c.write_chunk(60000)
    a = reverse(tcp, c, 6, 10, 50000, reply=w, inv=w[0].handle)
    expect(a.external, "%s instead of REPLY_EXTERNAL" % a.last)
    same(a.invalidated, w[0].handle, "what was invalidated")
    # What neither level has: too short a chunk is not used.
    w = c.write_chunk(4000)
    a = reverse(tcp, c, 7, 10, 20000, reply=w)
    expect(not a.external and len(a.headers) > 2, "%s" % a.last)


# Fails with: reverse-reads-taken
@of_client("V2-A.1-03", "UB-6.2-03")
def ineligible_callback(t):
    """Level 3: no argument of a callback is eligible, so none is reduced."""
    _, tcp, c = t.connect("--reverse", "general")
    m = cb_call(5, 40)
    for at in 8, len(m) - 40, len(m):
        x = 0x100 + at
        c.post(v2.CALL_INLINE, x, payload=rpc.u32(x) + m[4:at] + m[at + 4:],
               reads=c.read_chunk(at, bytes(4)))
        same(kit.is_error(c.take(), v2.READ_CHUNKS, 0).xid, x,
             "xid of the ERROR")
    x = 0x200
    c.post(v2.CALL_EXTERNAL, x, call=c.read_chunk(0, rpc.u32(x) + m[4:]),
           reads=c.read_chunk(len(m), bytes(4)))
    same(kit.is_error(c.take(), v2.READ_CHUNKS, 0).xid, x, "xid of the ERROR")
    reverse(tcp, c, 99)


# Fails with: idle-not-again
@of_client("V2-4.6.5-01")
def stays_connected(t):
    """A client without work connects again when its connection is lost."""
    s, tcp, c = t.connect("--reverse", "continued")
    reverse(tcp, c, 1)
    for x in 2, 3:
        c.iw.close(reset=True)
        c = t.accept(s)
        c.greet()
        reverse(tcp, c, x)


def connect1(t, *options, **private_data):
    s = t.start("--version-rdma", "1", *options)
    tcp = s.tcp()
    iw = t.accept_iwarp(s, private=private(**private_data))
    return s, tcp, Responder1(iw, threshold=1 << 20)


def reverse1(tcp, c, xid, size=10):
    m = cb_call(xid, size)
    c.iw.send(v1.encode(v1.MSG, xid, 5, payload=m))
    same(tcp.recv(), m, "the reverse Call at the client")
    tcp.send(rpc.reply(xid))
    h = c.next()
    same((h.xid, h.vers, h.proc, h.payload), (xid, 1, v1.MSG, rpc.reply(xid)),
         "the reverse Reply")
    return h


# Fails with: reply-version-1, reply-xid-1, reverse-credits-forward,
#   reverse-grant-too-many
@of_client("BD-5.2-01", "BD-5.2-02", "BD-5.2-03", "BD-4.1-03",
           "BD-4.1-04")
def reverse_replies_v1(t):
    """Version 1: xid, version, msg_type, and a grant that is the client's
    own for that direction."""
    _, tcp, c = connect1(t, "--credits", "64")
    tcp.send(rpc.null(1))
    call = c.get_call()
    same(call.credit, 64, "the forward request")
    c.answer_inline(call)
    tcp.recv()
    grants = {reverse1(tcp, c, x).credit for x in range(10, 15)}
    same(len(grants), 1, "grants %r" % grants)
    grant = grants.pop()
    expect(grant > 0 and grant != 64, "a reverse grant of %d" % grant)
    # So many at once are taken.
    for x in range(100, 100 + grant):
        c.iw.send(v1.encode(v1.MSG, x, grant, payload=cb_call(x)))
    for x in range(100, 100 + grant):
        same(tcp.recv(), cb_call(x), "a reverse Call")
        tcp.send(rpc.reply(x))
    same({c.next().xid for _ in range(grant)}, set(range(100, 100 + grant)),
         "reverse Replies")


# Fails with: idle-not-again, receives-forward
@of_client("BD-4.3.1-01")
def receives_v1(t):
    """Forward Replies and a full reverse window come at once, also after a
    reconnect: there is a Receive for each."""
    s, tcp, c = connect1(t, "--credits", "32")
    for _ in range(2):
        tcp.send(rpc.null(1))
        c.answer_inline(c.get_call())
        tcp.recv()
        grant = reverse1(tcp, c, 3).credit
        for x in range(200, 232):
            tcp.send(rpc.null(x))
        calls = [c.get_call() for _ in range(32)]

        def both():
            for x in range(100, 100 + grant):
                c.iw.send(v1.encode(v1.MSG, x, grant, payload=cb_call(x)))
            for h in calls:
                c.answer_inline(h)
        c.iw.in_one_write(both)
        got = [tcp.recv() for _ in range(32 + grant)]
        for m in got:
            if m[4:8] == bytes(4):
                tcp.send(rpc.reply(int.from_bytes(m[:4], "big")))
        for _ in range(grant):
            c.next()
        c.iw.close(reset=True)
        c = Responder1(t.accept_iwarp(s, private=private()),
                       threshold=1 << 20)


# Fails with: same-xid
@of_client("BD-2.4-01", "BD-2.4.1-01")
def same_xid_v1(t):
    """Version 1: one XID in both directions at once."""
    _, tcp, c = connect1(t)
    tcp.send(rpc.null(700))
    call = c.get_call()
    reverse1(tcp, c, 700)
    c.answer_inline(call)
    same(tcp.recv(), rpc.reply(700), "the forward Reply")


# Fails with: unclear-ends-call
@of_client("BD-2.4.1-03")
def refused_reverse_v1(t):
    """Version 1: a procedure that is not supported, with the XID of a forward
    Call, is refused as the reverse Call that it may be; the other goes on."""
    _, tcp, c = connect1(t)
    m = cb_call(700)
    for proc, words in ((v1.MSGP, rpc.u32(64, 1024, 0, 0, 0) + m),
                        (v1.MSGP, bytes(12) + m), (77, bytes(12) + m)):
        tcp.send(rpc.null(700))
        call = c.get_call()
        c.iw.send(rpc.u32(700, 1, 5, proc) + words)
        d = c.iw.recv().data
        same(d[:8] + d[12:], rpc.u32(700, 1, 4, 2), "RDMA_ERROR")
        c.answer_inline(call)
        same(tcp.recv(), rpc.reply(700), "the forward Reply")
    # One that says that it is a Reply ends its Call.
    tcp.send(rpc.null(700))
    c.get_call()
    c.iw.send(rpc.u32(700, 1, 5, v1.MSGP, 64, 1024, 0, 0, 0) + rpc.reply(700))
    same(tcp.reply().stat, 5, "the Call with an answer by RDMA_MSGP")


# Fails with: replies-grant-both, errors-grant, nomsg-grants
@of_client("BD-4.1-05", "BD-4.1-06")
def grants_by_direction(t):
    """Only a forward Reply changes the forward grant: a reverse Call's
    rdma_credit is a request, and that of RDMA_ERROR is nothing, nor is that
    of a message which does not say what it is."""
    _, tcp, c = connect1(t, "--credits", "64")
    tcp.send(rpc.null(1))
    c.answer_inline(c.get_call(), credit=4)
    tcp.recv()
    c.iw.send(v1.encode(v1.MSG, 9, 50, payload=cb_call(9)))
    tcp.recv()
    tcp.send(rpc.reply(9))
    c.next()
    for x in range(100, 110):
        tcp.send(rpc.null(x))
    calls = [c.get_call() for _ in range(4)]
    expect(c.iw.quiet(0.3), "more than the four that were granted")
    c.iw.send(v1.encode(v1.NOMSG, 999, 50, reply=c.write_chunk(40)))
    expect(c.iw.quiet(0.3), "more, granted by RDMA_NOMSG without a Call")
    # An error about one of them, with a word that would be a wider grant.
    c.iw.send(rpc.u32(calls[0].xid, 1, 60, 4, 2))
    same(tcp.reply().stat, 5, "the Call that got ERR_CHUNK")
    calls[0] = c.get_call()
    expect(c.iw.quiet(0.3), "more than four again")
    for h in calls:
        c.answer_inline(h, credit=32)
    rest = [c.get_call() for _ in range(5)]
    for h in rest:
        c.answer_inline(h)
    for _ in range(9):
        tcp.recv()


# Fails with: reverse-chunks-taken, nomsg-reads-dropped
@of_client("BD-5.3-01", "BD-5.3-03")
def chunks_refused_v1(t):
    """Version 1: chunks in a reverse Call are ERR_CHUNK of 20 octets."""
    _, tcp, c = connect1(t)
    tcp.send(rpc.null(1))
    c.answer_inline(c.get_call())
    tcp.recv()
    for x, lists in ((20, dict(reads=c.read_chunk(8, bytes(8)))),
                     (21, dict(writes=[c.write_chunk(8)])),
                     (22, dict(reply=c.write_chunk(8)))):
        c.iw.send(v1.encode(v1.MSG, x, 5, payload=cb_call(x), **lists))
        d = c.iw.recv().data
        same(d[:8] + d[12:], rpc.u32(x, 1, 4, 2), "RDMA_ERROR")
    for x, at in (23, 0), (24, 8):
        # Also with the XID of a forward Call.
        tcp.send(rpc.null(x))
        call = c.get_call()
        c.iw.send(v1.encode(v1.NOMSG, x, 5, reads=c.read_chunk(
            at, cb_call(x))))
        d = c.iw.recv().data
        same(d[:8] + d[12:], rpc.u32(x, 1, 4, 2), "RDMA_ERROR")
        c.answer_inline(call)
        same(tcp.recv(), rpc.reply(x), "the forward Reply")
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")
    reverse1(tcp, c, 30)


# Fails with: idle-not-again
@of_client("BD-5.4-01", raw=True)  # for it sends before the initiator has
def stays_connected_v1(t):
    """Version 1: a client without work connects again, too."""
    s, tcp, c = connect1(t)
    tcp.send(rpc.null(1))
    c.answer_inline(c.get_call())
    tcp.recv()
    c.iw.close(reset=True)
    c = Responder1(t.accept_iwarp(s, private=private()), threshold=1 << 20)
    reverse1(tcp, c, 5)


# Fails with: private-not-smaller
@of_client("PD-4.2-03")
def client_to_server(t):
    """From the client: the smaller of its Send and the server's Receive
    Size."""
    for send, receive, want in ((8192, 4096, 4096), (8192, 2048, 2048),
                                (2048, 8192, 2048), (65536, 16384, 16384)):
        s, tcp, c = connect1(t, "--send-size", str(send), "--reduce-min",
                             "4294967295", receive=receive)
        p = c.iw.private
        same((p[:4].hex(), len(p), p[4], p[6]),
             ("f6ab0e18", 8, 1, send // 1024 - 1), "its private data")
        for extra, inline in ((0, True), (4, False)):
            n = want - 28 - len(write3(1, b"")) + extra
            m = write3(5, bytes(n))
            tcp.send(m)
            h = c.get_call()
            same(h.proc, v1.MSG if inline else v1.NOMSG,
                 "a Call of %d octets with sizes %d and %d" % (
                     len(m) + 28, send, receive))
            c.answer_inline(h, write3_results(n))
            tcp.recv()
        t.stop()
