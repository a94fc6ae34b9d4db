# SPDX-License-Identifier: BSD-3-Clause
"""A Responder of version 1: RFC 8166."""

import contextlib
import struct

from . import rpc, v1, v2
from .chunk_checks import ineligible
from .iwarp import Closed, Silence
from .kit import Skip, Wrong, check, expect, same
from .nfs import Reduced, read_call, read_results, write_results
from .private_checks import private
from .v1 import ERR_CHUNK, ERR_VERS, MSG, NOMSG


@contextlib.contextmanager
def about(what):
    """Say what was sent when there is no answer to it."""
    try:
        yield
    except (Closed, Silence, rpc.Short) as e:
        raise Wrong("%s: %s" % (what, e)) from None


def connect(t, data=None, threshold=4096, **more):
    """A connection of version 1; @data: the private data."""
    # What takes long to make is there before the server waits for us.
    t.files
    return v1.Conn(t.iwarp(private=private() if data is None else data),
                   threshold=threshold, **more)


def read(t, c, offset, count, reduced=False, **lists):
    """A READ, checked; the header of its Reply."""
    h, data = c.good(read_call(t, c.new_xid(), (offset, count)), **lists)
    got, = read_results(data, reduced)
    want = t.files.content[offset:offset + count]
    same(got, len(want) if reduced else want, "what was read")
    return h


def stored(t, c, offset, count):
    """What the scratch file has, read plainly."""
    _, data = c.good(read_call(t, c.new_xid(), (offset, count),
                               fh=t.files.scratch))
    return read_results(data, False)[0]


def write(t, c, data, reads_of, offset=0):
    """WRITE @data to the scratch file by reads_of(Position), and look."""
    m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, offset,
                                          len(data)).build()
    with about("a WRITE of %d octets" % len(data)):
        h, reply = c.good(m, reads=reads_of(at))
    write_results(reply, len(data))
    look = min(len(data), 2000)
    same(stored(t, c, offset, look), data[:look], "what has been written")
    same(stored(t, c, offset + len(data) - look, look), data[-look:],
         "what has been written last")
    return h


def err_chunk(h, xid, what):
    """@h is RDMA_ERROR with ERR_CHUNK, octet by octet."""
    if h.error != (ERR_CHUNK,):
        raise Wrong("%s: %s%s instead of ERR_CHUNK" % (
            what, h, " with error %r" % (h.error,) if h.error else
            " of %d octets, lengths %r" % (
                h.size, [lengths(k) for k in h.writes])))
    same((h.xid, h.vers, h.size), (xid, 1, 20),
         "%s: xid, version and octets of RDMA_ERROR" % what)


def refused(c, message, xid, what):
    """@message is answered with ERR_CHUNK, and the connection goes on."""
    c.iw.send(message)
    with about(what):
        err_chunk(c.next(), xid, what)
        c.null()


def lengths(chunk):
    return [s.length for s in chunk]


def same_places(got, ours, what):
    same([(s.handle, s.offset) for s in got],
         [(s.handle, s.offset) for s in ours], "handles and offsets of " + what)


# Fails with: version-word-1, reply-has-reads-1
@check("V1-4.2-01", "V1-4.2.1-01", "V1-4.2.2-01", "V1-4.2.4-01",
       "V1-4.3.1-01")
def headers(t):
    """Replies: xid, version 1, credits, RDMA_MSG or RDMA_NOMSG, no Read list."""
    c = connect(t)
    for x in 0, 1, 0x7fffffff, 0x80000000, 0xffffffff:
        _, data = c.good(rpc.null(x))
        same(data[:8], rpc.u32(x, 1), "xid and msg_type of the RPC")
    read(t, c, 0, 100)
    read(t, c, 5, 5000, True, writes=[c.write_chunk(5000)])
    read(t, c, 5, 20000, reply=c.write_chunk(21000))
    write(t, c, bytes(100), lambda at: c.read_chunk(at, bytes(100)))
    for h in c.seen:
        w = struct.unpack_from(">4I", h.message.data)
        same((w[1], w[3] in (MSG, NOMSG)), (1, True), "version and procedure")
        same(h.reads, [], "the Read list of a Reply")
        if h.proc == MSG:
            same(h.payload[:4], rpc.u32(h.xid), "xid of the RPC message")


# Fails with: grant-zero-1
@check("V1-3.3.1-01", "V1-4.2.3-01")
def always_granted(t):
    """Each Reply grants a credit at least, whatever was requested."""
    for request in 1, 0, 32, 0xffffffff, 0x80000000:
        c = connect(t)
        for _ in range(3):
            x = c.post(rpc.null(c.new_xid()), credit=request)
            h = c.answer(x)
            same(h.error, None, "the answer")
            expect(h.credit > 0, "a grant of 0 when %d are requested" % request)


# Fails with: grant-beyond-1
@check("V1-3.3.1-02")
def window(t):
    """As many Calls as were granted are taken at once."""
    c = connect(t, credits=256)
    for _ in range(2):
        n = min(c.null().credit, 256)
        x = set()
        # So that all of them are in progress at once.
        c.iw.hold_reads = True

        def all_of_them():
            for _ in range(n):
                m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0,
                                                      100).build()
                x.add(c.post(m, reads=c.read_chunk(at, bytes(100))))
        c.iw.in_one_write(all_of_them)
        c.iw.pump_until(lambda: c.iw.held)
        c.iw.hold_reads = False
        c.iw.release_reads()
        for y in x:
            h = c.answer(y)
            same(h.error, None, "an answer of %d" % n)
            write_results(h.payload, 100)


# Fails with: long-refused-1
@check("V1-3.3.3-01")
def call_by_default(t):
    """Without private data a Call of 1024 octets is taken inline."""
    c = connect(t, b"", 1024)
    x = c.new_xid()
    n = 1024 - 28 - len(rpc.compound(x, [rpc.putfh(t.files.scratch),
                                         rpc.write(0, b"")]))
    data = rpc.pattern(n, 4)
    m = rpc.compound(x, [rpc.putfh(t.files.scratch), rpc.write(0, data)])
    same(len(m) + 28, 1024, "octets of the message")
    write_results(c.good(m)[1], n)
    same(stored(t, c, 0, 500), data[:500], "what has been written")


# Fails with: private-needed
@check("V1-3.3.2-01")
def reply_fits(t):
    """No Reply by RDMA_MSG is longer than the threshold, with a Reply chunk
    or without."""
    for data, size in (b"", 1024), (private(receive=2048), 2048):
        for chunk in True, False:
            c = connect(t, data, 1 << 20)
            for n in size - 200, size, size + 500:
                x = c.post(read_call(t, c.new_xid(), (0, n)),
                           reply=c.write_chunk(n + 200) if chunk else None)
                try:
                    h = c.answer(x)
                except (Closed, Silence):
                    break
                expect(h.size <= size, "a Send of %d octets to one who takes "
                       "%d, %s Reply chunk" % (h.size, size, "with a" if chunk
                                               else "without a"))


# Fails with: read-chunks-refused-1
@check("V1-3.4.5-01", "V1-3.4.4-01")
def read_chunk(t):
    """The data of a WRITE by one Read chunk at its Position."""
    c = connect(t)
    for n in 4, 400, 5000, 60000:
        data = rpc.pattern(n, n)
        write(t, c, data, lambda at: c.read_chunk(at, data))


# Fails with: segments-not-joined
@check("V1-3.4.3-01", "V1-3.4.5-02")
def read_segments(t):
    """Read segments of one Position are one chunk, in their order, cut at any
    octet."""
    c = connect(t)
    data = rpc.pattern(6001, 7)
    for cuts in (3000,), (1, 2, 5), (1023, 1024, 4099, 6000):
        write(t, c, data, lambda at: c.read_chunk(at, data, cuts))


# Fails with: roundup-not-counted
@check("V1-3.4.5-03")
def read_chunks(t):
    """Two Read chunks in a Call are carried out, or ERR_CHUNK; the same if the
    first has roundup."""
    c = connect(t)
    taken = []
    for n in 3000, 3001:
        one, two = rpc.pattern(n, 8), rpc.pattern(501, n)
        m, (a, b) = Reduced(c.new_xid()).write(t.files.scratch, 0, n).write(
            t.files.scratch, n, 501).build()
        with about("two Read chunks"):
            h, data = c.call(m, reads=c.read_chunk(a, one) +
                             c.read_chunk(b, two))
        taken.append(not h.error)
        if h.error:
            err_chunk(h, h.xid, "two Read chunks")
        else:
            write_results(data, n, 501)
            same(stored(t, c, 2000, n - 1499), (one + two)[2000:],
                 "what is there")
    same(len(set(taken)), 1, "ways to take two Read chunks")


# Fails with: read-chunks-refused-1
@check("V1-3.4.5.2-01")
def read_roundup(t):
    """Octets of roundup are left out of a Read chunk, and of its length."""
    c = connect(t)
    for n in 1, 2, 3, 5, 1001, 5003:
        data = rpc.pattern(n, n)
        write(t, c, data, lambda at: c.read_chunk(at, data))
    # What follows the item is found.
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 5).op(
        rpc.u32(rpc.GETFH)).build()
    _, reply = c.good(m, reads=c.read_chunk(at, b"abcde"))
    r = rpc.Compound(reply)
    r.good(rpc.PUTFH, rpc.WRITE).fixed(16)
    same(r.good(rpc.GETFH).opaque(), t.files.scratch, "the handle")


# Fails with: roundup-refused
@check("V1-3.4.5.2-02")
def read_roundup_sent(t):
    """Roundup in a Read chunk, in its segment or one of its own, does no
    harm."""
    c = connect(t)
    for n, cuts in (5, ()), (1002, ()), (7, (7,)):
        data = rpc.pattern(n, n)
        write(t, c, data, lambda at: c.read_chunk(at, data + bytes(-n % 4),
                                                  cuts))


# Fails with: never-reduced
@check("V1-3.4.6-01", "V1-3.4.4-02", "V1-3.4.4.1-01")
def write_chunk(t):
    """The data of a READ are in the Write chunk, and its length is theirs."""
    c = connect(t)
    for n, room in (4, 4), (5000, 5000), (60000, 60000), (5000, 9000):
        w = c.write_chunk(room)
        h = read(t, c, 100, n, True, writes=[w])
        same([lengths(k) for k in h.writes], [[n]], "the length returned")
        same(bytes(c.memory(w[0])[:n]), t.files.content[100:100 + n],
             "what was written")


# Fails with: lengths-not-written
@check("V1-3.4.6-02", "V1-4.3.2-01")
def write_segments(t):
    """Segments are filled in their order, and all come back, with their
    handles and offsets and what each has got."""
    c = connect(t)
    for n, want in (4500, [1000, 2001, 1499, 0]), (999, [999, 0, 0, 0]), (
            1000, [1000, 0, 0, 0]), (6501, [1000, 2001, 3000, 500]):
        w = c.write_chunk(1000, 2001, 3000, 500)
        h = read(t, c, 7, n, True, writes=[w])
        same([lengths(k) for k in h.writes], [want], "lengths of the segments")
        same_places(h.writes[0], w, "the Write chunk")
        same(c.gather(h.writes[0]), t.files.content[7:7 + n],
             "what was written")
        for s, used in zip(w, want):
            same(set(c.memory(s)[used:]) - {0xaa}, set(),
                 "octets beyond the data")


# Fails with: writes-exchanged
@check("V1-3.4.6-03")
def write_chunks(t):
    """Write chunks are for the results in their order; or ERR_CHUNK if there
    are too many."""
    c = connect(t)
    w = [c.write_chunk(3000), c.write_chunk(2000)]
    h, data = c.call(read_call(t, c.new_xid(), (0, 3000), (5000, 1500)),
                     writes=w)
    if h.error:
        err_chunk(h, h.xid, "two Write chunks")
        return
    same(read_results(data, True, True), [3000, 1500], "the counts")
    same([lengths(k) for k in h.writes], [[3000], [1500]], "lengths")
    same(bytes(c.memory(w[0][0])), t.files.content[:3000], "the first")
    same(bytes(c.memory(w[1][0])[:1500]), t.files.content[5000:6500],
         "the second")


# Fails with: lengths-offered
@check("V1-3.4.6.1-01")
def write_chunk_unused(t):
    """A Write chunk without its result comes back with lengths of 0."""
    c = connect(t)
    w = c.write_chunk(600, 400)
    h, data = c.good(read_call(t, c.new_xid(), (0, 1000), fh=t.files.dir),
                     writes=[w])
    r = rpc.Compound(data)
    r.good(rpc.PUTFH)
    expect(r.take(rpc.READ), "a directory can be read")
    same([lengths(k) for k in h.writes], [[0, 0]], "lengths returned")
    same_places(h.writes[0], w, "the Write chunk")
    same(set(c.memory(w[0])) | set(c.memory(w[1])), {0xaa}, "the memory")


# Fails with: empty-as-offered
@check("V1-3.4.6.1-02")
def write_chunk_empty(t):
    """Of a result without octets the length is 0."""
    c = connect(t)
    w = c.write_chunk(1000)
    h = read(t, c, len(t.files.content), 1000, True, writes=[w])
    same([lengths(k) for k in h.writes], [[0]], "lengths returned")


# Fails with: roundup-written
@check("V1-3.4.6.2-01", "V1-3.4.4.4-01")
def write_roundup(t):
    """A Write chunk needs no room for roundup, and its length has none."""
    c = connect(t)
    for n in 1, 5, 1002, 4003:
        w = c.write_chunk(n)
        h = read(t, c, 0, n, True, writes=[w])
        same([lengths(k) for k in h.writes], [[n]], "the length returned")
        same(bytes(c.memory(w[0])), t.files.content[:n], "what was written")
    # There may be room for it, and a result behind it.
    w = c.write_chunk(8), c.write_chunk(6)
    h, data = c.call(read_call(t, c.new_xid(), (0, 5), (9, 6)),
                     writes=list(w))
    if not h.error:
        same(read_results(data, True, True), [5, 6], "the counts")
        same([lengths(k) for k in h.writes], [[5], [6]], "lengths returned")


# Fails with: empty-too-short
@check("V1-4.3.2.3-01")
def empty_write_chunk(t):
    """Of two results the one whose Write chunk is empty is inline, and that
    chunk comes back empty; the other is in its chunk."""
    c = connect(t)
    spans, want = ((3, 500), (9, 1000)), t.files.content
    m = read_call(t, c.new_xid(), *spans)
    if c.call(m, writes=[c.write_chunk(500), c.write_chunk(1000)])[0].error:
        raise Skip("takes no two Write chunks")
    for empty in 0, 1:
        w = [c.write_chunk(n) for _, n in spans]
        w[empty] = []
        with about("an empty Write chunk and another"):
            h, data = c.good(read_call(t, c.new_xid(), *spans), writes=w)
        got = read_results(data, empty == 1, empty == 0)
        same(got[empty], want[spans[empty][0]:][:spans[empty][1]],
             "the result inline")
        same([lengths(k) for k in h.writes],
             [[] if k == [] else [k[0].length] for k in w], "the Write list")


def long_call(t, xid, n):
    """A Call of WRITE with its data in the stream, and the data."""
    data = rpc.pattern(n, n)
    return rpc.compound(xid, [rpc.putfh(t.files.scratch),
                              rpc.write(0, data)]), data


# Fails with: nomsg-refused-1
@check("V1-3.5.3-01", "V1-3.4.5-04")
def position_zero(t):
    """RDMA_NOMSG with a Position Zero Read chunk is a Call."""
    c = connect(t)
    for n, cuts in (100, ()), (5000, ()), (30001, (44, 2000)):
        m, data = long_call(t, c.new_xid(), n)
        h, reply = c.good(m, proc=NOMSG, reads=c.read_chunk(0, m, cuts))
        write_results(reply, n)
        look = min(n, 2000)
        same(stored(t, c, n - look, look), data[-look:], "what is there")


def beside_position_zero(t, n):
    """A WRITE of @n octets, and GETFH behind it, with two chunks."""
    c = connect(t)
    data = rpc.pattern(n, 11)
    m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0, n).op(
        rpc.u32(rpc.GETFH)).build()
    with about("a Position Zero chunk, and one of %d octets" % n):
        _, reply = c.good(m, proc=NOMSG, reads=c.read_chunk(0, m) +
                          c.read_chunk(at, data))
        r = rpc.Compound(reply)
        r.good(rpc.PUTFH)
        same(r.good(rpc.WRITE).u32(), n, "the count")
        r.r.fixed(12)
        same(r.good(rpc.GETFH).opaque(), t.files.scratch, "the handle")
    look = min(n, 2000)
    same(stored(t, c, n - look, look), data[-look:], "what is there")


# Fails with: nomsg-refused-1
@check("V1-3.5.3-02")
def position_zero_and_data(t):
    """A Position Zero Read chunk, and a Read chunk for the data beside it."""
    for n in 16, 3004, 30000:
        beside_position_zero(t, n)


# Fails with: nomsg-refused-1
@check("V1-3.4.5.2-03")
def position_zero_and_odd_data(t):
    """... which has no roundup."""
    for n in 15, 3001, 30002:
        beside_position_zero(t, n)


# Fails with: external-lengths
@check("V1-3.5.3-03", "V1-3.5.3-07", "V1-4.3.3-01")
def reply_chunk(t):
    """A long Reply is in the Reply chunk, by RDMA_NOMSG, whose segments come
    back with what each has got."""
    c = connect(t)
    for n, sizes in (20000, (30000,)), (5001, (1000, 4001, 100, 3000)):
        w = c.write_chunk(*sizes)
        h = read(t, c, 3, n, reply=w)
        same((h.proc, h.payload), (NOMSG, b""), "procedure and payload")
        same_places(h.reply, w, "the Reply chunk")
        left = sum(lengths(h.reply))
        for s in w:
            used = min(left, s.length)
            same(set(c.memory(s)[used:]) - {0xaa}, set(),
                 "octets beyond the Reply")
            left -= used


# Fails with: external-lengths
@check("V1-3.5.3-04")
def reply_and_write_chunk(t):
    """A result in the Write chunk, and the rest by RDMA_NOMSG."""
    c = connect(t)
    w, room = c.write_chunk(2000), c.write_chunk(20000)
    h, data = c.good(read_call(t, c.new_xid(), (0, 2000), (9, 10000)),
                     writes=[w], reply=room)
    count, inline = read_results(data, True, False)
    same((count, inline), (2000, t.files.content[9:10009]), "the results")
    same([lengths(k) for k in h.writes], [[2000]], "lengths returned")
    same(bytes(c.memory(w[0])), t.files.content[:2000], "what was written")


# Fails with: reply-chunk-kept-1, reply-chunk-absent-1, reply-chunk-uncounted-1
@check("V1-4.3.3-02")
def reply_chunk_unused(t):
    """A Reply chunk that is not used comes back in RDMA_MSG with lengths of 0,
    and no message is longer than the threshold for it."""
    c = connect(t)
    for _ in range(3):
        returned(c, rpc.null(c.new_xid()), c.write_chunk(500, 500))
    # Around what fits beside the Reply chunk, and what fits without it.
    for n in range(3800, 4096, 4):
        returned(c, read_call(t, c.new_xid(), (1, n)), c.write_chunk(5000))


def returned(c, call, chunk):
    """The Reply to @call brings this Reply chunk back, as used as it is."""
    h, data = c.good(call, reply=chunk)
    expect(h.reply is not None, "the Reply has no Reply chunk")
    same_places(h.reply, chunk, "the Reply chunk")
    same(sum(lengths(h.reply)), 0 if h.proc == MSG else len(data),
         "the length of the Reply chunk")


# Fails with: threshold-half-1
@check("V1-3.5.1-01")
def short(t):
    """A Reply that fits comes inline, by RDMA_MSG, without a Reply chunk."""
    c = connect(t)
    for n in 1, 100, 900, 3000:
        h = read(t, c, 1, n)
        same((h.proc, h.reply, h.writes), (MSG, None, []), "the header")


# Fails with: err-vers-turned
@check("V1-4.5.1-01")
def err_vers(t):
    """Another version: ERR_VERS of 28 octets, with the range."""
    for vers in 0, 3, 0xffffffff:
        iw = t.iwarp()
        iw.send(rpc.u32(0x900, vers, 32, 0, 0, 0, 0) + rpc.null(0x900))
        data = iw.recv().data
        same(len(data), 28, "octets of the answer to version %d" % vers)
        w = struct.unpack(">7I", data)
        same((w[0], w[3], w[4]), (0x900, v1.ERROR, ERR_VERS),
             "xid, procedure and error")
        expect(w[5] <= 1 <= w[6] and not w[5] <= vers <= w[6],
               "versions %d to %d for version %d" % (w[5], w[6], vers))


# Fails with: err-vers-version
@check("V1-4.5-05")
def error_like_request(t):
    """RDMA_ERROR has the xid and the version of what it answers."""
    c = connect(t)
    c.null()
    for vers, proc in (1, 77), (3, MSG), (0xffffffff, NOMSG):
        x = c.new_xid()
        c.iw.send(rpc.u32(x, vers, 32, proc, 0, 0, 0) + rpc.null(x))
        same(struct.unpack_from(">4I", c.iw.recv().data)[:2], (x, vers),
             "xid and version of the answer to version %d" % vers)


# Fails with: err-vers-ends
@check("V1-4.5.1-02")
def after_err_vers(t):
    """After ERR_VERS the connection is of use with version 1."""
    c = connect(t)
    c.null()
    c.iw.send(rpc.u32(9, 3, 32, 0, 0, 0, 0) + rpc.null(9))
    same(struct.unpack_from(">4I", c.iw.recv().data)[3], v1.ERROR,
         "the procedure of the answer")
    c.null()


# Fails with: procedure-dropped-1, err-chunk-number
@check("V1-4.5.2-01")
def unknown_procedure(t):
    """A procedure that there is not: ERR_CHUNK."""
    c = connect(t)
    for proc in 5, 77, 0x10000, 0xffffffff:
        x = c.new_xid()
        refused(c, rpc.u32(x, 1, 32, proc, 0, 0, 0) + rpc.null(x), x,
                "procedure %d" % proc)


# Fails with: nomsg-dropped-1
@check("V1-4.5.2-02")
def no_message(t):
    """RDMA_NOMSG without any chunk: ERR_CHUNK."""
    c = connect(t)
    x = c.new_xid()
    refused(c, v1.encode(NOMSG, x, 32), x, "RDMA_NOMSG without chunks")


# Fails with: xid-not-compared-1
@check("V1-4.5.2-03")
def other_xid(t):
    """An rdma_xid that is not that of the RPC message: ERR_CHUNK."""
    c = connect(t)
    x = c.new_xid()
    refused(c, v1.encode(MSG, x, 32, payload=rpc.null(x ^ 0x100)), x,
            "RDMA_MSG with another xid")


# Fails with: lists-dropped-1
@check("V1-4.5.2-04")
def lists_cut(t):
    """Lists that break off: ERR_CHUNK."""
    c = connect(t)
    # Announced and not there: a Read segment, a Write chunk, its segments, a
    # Reply chunk.
    for name, tail in (
            ("the Read list", rpc.u32(1, 0, 7)),
            ("the Read list after a segment",
             rpc.u32(1, 0, 7, 100, 0, 0, 1)),
            ("the Write list", rpc.u32(0, 1, 1, 7, 100)),
            ("a Write chunk of many segments",
             rpc.u32(0, 1, 0x01000000, 7, 100, 0, 0)),
            ("the Reply chunk", rpc.u32(0, 0, 1, 2, 7, 100, 0, 0))):
        x = c.new_xid()
        refused(c, rpc.u32(x, 1, 32, MSG) + tail, x, name)


# Fails with: lengths-not-compared
@check("V1-4.5.2-05")
def garbage(t):
    """A Read chunk that does not fit its item: the RPC fails, by a Reply or by
    ERR_CHUNK, and nothing is written."""
    c = connect(t)
    write(t, c, bytes(2000), lambda at: c.read_chunk(at, bytes(2000)))
    data = rpc.pattern(2012, 12)
    for size, shift in ((1000, 0), (1996, 0), (2012, 0), (2000, -4),
                        (2000, 4)):
        m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0,
                                              2000).build()
        what = "a chunk of %d octets for 2000, %+d" % (size, shift)
        with about(what):
            h, reply = c.call(m, reads=c.read_chunk(at + shift, data[:size]))
        if h.error:
            err_chunk(h, h.xid, what)
        else:
            r = rpc.Reply(reply)
            # NFS4ERR_BADXDR is how NFSv4 says it.
            expect(not r.denied and (r.stat == 4 or r.stat == 0 and
                                     r.r.u32() == 10036),
                   "%s: status %d" % (what, r.stat))
            same(h.proc, MSG, "%s: the procedure of the Reply" % what)
        with about("a READ after " + what):
            same(stored(t, c, 0, 2000), bytes(2000), "%s: the file" % what)


# Fails with: reads-not-compared
@check("V1-6.1-01")
def ineligible_reduced(t):
    """A reduced argument that is not eligible: ERR_CHUNK or GARBAGE_ARGS, and
    it is not carried out."""
    c = connect(t)
    for m, at, end, data in ineligible(t, c.new_xid):
        if data:
            continue
        what = "octets %d to %d of %s" % (at, end, m.hex())
        with about(what):
            h, reply = c.call(m[:at] + m[end:],
                              reads=c.read_chunk(at, m[at:end]))
        if h.error:
            err_chunk(h, h.xid, what)
        else:
            same(rpc.Reply(reply).stat, 4, "status for " + what)
    c.null()


def too_small(t, what, offset, count, make):
    """A READ whose result has no room: ERR_CHUNK, and the next works."""
    c = connect(t)
    w = make(c)
    x = c.post(read_call(t, c.new_xid(), (offset, count)), **w)
    err_chunk(c.answer(x), x, what)
    c.null()


# Fails with: write-passed-over
@check("V1-4.5.3-01")
def write_chunk_too_small(t):
    """A Write chunk too small for its result: ERR_CHUNK, or the upper layer has
    it fail."""
    c = connect(t)
    w = c.write_chunk(200, 300)
    x = c.post(read_call(t, c.new_xid(), (0, 1000)), writes=[w])
    h = c.answer(x)
    if h.error or not rpc.Compound(h.payload).status:
        err_chunk(h, x, "a Write chunk of 500 octets for 1000")
    else:
        same([lengths(k) for k in h.writes], [[0, 0]], "lengths returned")
    c.null()


# Fails with: err-chunk-number
@check("V1-4.5.3-02")
def reply_chunk_too_small(t):
    """A Reply chunk too small for the Reply: ERR_CHUNK."""
    too_small(t, "a Reply chunk of 5000 octets for 20000", 0, 20000,
              lambda c: {"reply": c.write_chunk(5000)})


# Fails with: err-chunk-number
@check("V1-4.5.3-03")
def no_reply_chunk(t):
    """A Reply beyond the threshold without a Reply chunk: ERR_CHUNK."""
    too_small(t, "no Reply chunk for 20000 octets", 0, 20000, lambda c: {})


# Fails with: read-fails-hard
@check("V1-4.5.3-04")
def bad_handle(t):
    """Memory that is not there costs no more than its connection."""
    other = connect(t)
    other.null()
    t.faulty = True
    for lists in "read", "write":
        c = connect(t)
        x = c.new_xid()
        if lists == "read":
            m, (at,) = Reduced(x).write(t.files.scratch, 0, 100).build()
            c.post(m, reads=[v2.ReadSegment(at, 0x12345678, 100, 0)])
        else:
            c.post(read_call(t, x, (0, 100)), writes=[[
                v2.Segment(0x12345678, 100, 0)]])
            c.iw.pump_until(lambda: c.iw.faults or c.iw.inbox)
            c.iw.terminate(1, 1, 0)
            c.iw.close()
            continue
        c.iw.wait_end()
    other.null()
    connect(t).null()


# Fails with: errors-answered-1
@check("V1-4.5-01")
def errors_dropped(t):
    """RDMA_ERROR, and a Reply to no Call, have no answer."""
    c = connect(t)
    c.null()
    for tail in rpc.u32(ERR_CHUNK), rpc.u32(ERR_VERS, 1, 1), rpc.u32(77):
        c.iw.send(rpc.u32(c.new_xid(), 1, 32, v1.ERROR) + tail)
    x = c.new_xid()
    c.iw.send(v1.encode(MSG, x, 32, payload=rpc.reply(x)))
    y = c.post(rpc.null(c.new_xid()))
    same(c.next().xid, y, "what comes next")


# Fails with: err-chunk-number, padded-dropped
@check("V1-4.6.1-01")
def padded(t):
    """RDMA_MSGP is no longer supported: ERR_CHUNK."""
    c = connect(t)
    x = c.new_xid()
    refused(c, rpc.u32(x, 1, 32, v1.MSGP, 64, 1024, 0, 0, 0) + rpc.null(x), x,
            "RDMA_MSGP")


# Fails with: done-refused
@check("V1-4.6.2-01")
def done(t):
    """RDMA_DONE is dropped in silence."""
    c = connect(t)
    c.null()
    for tail in b"", rpc.u32(0, 0, 0):
        c.iw.send(rpc.u32(c.new_xid(), 1, 32, v1.DONE) + tail)
        y = c.post(rpc.null(c.new_xid()))
        same(c.next().xid, y, "what comes next")
