# SPDX-License-Identifier: BSD-3-Clause
"""RFC 8797: private data, and what it means on a connection of version 1."""

from . import rpc, v1, v2
from .kit import check, expect, same
from .nfs import Reduced, read_call, read_results, write_results

MAGIC = bytes.fromhex("f6ab0e18")


def private(send=4096, receive=4096, flags=0, version=1):
    return MAGIC + bytes([version, flags, send // 1024 - 1,
                          receive // 1024 - 1])


def connect(t, data, threshold=1 << 20):
    # To make them takes long, and a server does not wait for ever for the
    # first message of a connection.
    t.files
    return v1.Conn(t.iwarp(private=data), threshold=threshold)


def reply_threshold(t, c, want, what):
    """Replies of just @want octets come inline, longer ones by a Reply
    chunk, which others may use for those that are shorter, too."""
    for extra in 0, 4:
        n = want - 28 - 60 + extra
        w = c.write_chunk(n + 100) if extra else None
        h, data = c.call(read_call(t, c.new_xid(), (0, n)), reply=w)
        expect(h.error is None, "%s: error %r" % (what, h.error))
        same(read_results(data, False)[0], t.files.content[:n], "data")
        same(h.proc, v1.NOMSG if extra else v1.MSG,
             "%s: how a Reply of %d octets comes" % (what, want + extra))


def invalidates(t, c):
    """Does a Reply invalidate one of its Call's handles?"""
    w = c.write_chunk(100)
    h, data = c.call(read_call(t, c.new_xid(), (0, 100)), writes=[w])
    same(read_results(data, True), [100], "the count of the READ")
    if h.invalidated is not None:
        same(h.invalidated, w[0].handle, "what is invalidated")
    return h.invalidated is not None


# Fails with: private-needed
@check("PD-1-01", "PD-5.1-01")
def optional(t):
    """Without private data of that format the defaults hold."""
    for data in (b"", MAGIC + bytes(3), bytes(8), b"\xf6\xab\x0e\x19" +
                 bytes([1, 1, 3, 3]), private()[:7]):
        c = connect(t, data, 1024)
        c.null()
        reply_threshold(t, c, 1024, "private data %s" % data.hex())
        same(invalidates(t, c), False, "invalidation")
    c = connect(t, private())
    c.null()
    reply_threshold(t, c, 4096, "with private data")


# Fails with: private-needed
@check("PD-3.1-01")
def default_threshold(t):
    """Without private data a version 1 server sends 1024 octets at most."""
    c = connect(t, b"", 1024)
    reply_threshold(t, c, 1024, "no private data")
    for n in 10, 5000, 40000:
        c.call(read_call(t, c.new_xid(), (0, n)), reply=c.write_chunk(50000))
    same(max(h.size for h in c.seen), 1024, "the longest Send")


# Fails with: private-magic, private-none, private-layout, private-reserved,
#   private-units
@check("PD-4-01", "PD-4-05", "PD-4-06", "PD-4-08", "PD-4.2-01")
def of_the_server(t):
    """The server's own private data: eight octets of the format."""
    for data in b"", private():
        got = t.iwarp(private=data).private
        same(len(got), 8, "octets")
        same((got[:4], got[4]), (MAGIC, 1), "identifier and version")
        expect(got[5] in (0, 1), "flags %#x" % got[5])
    if t.version == 2:  # which announces the same Receive Size
        c = t.connect()
        same((got[7] + 1) * 1024, c.theirs.get(2, 4096) & ~1023,
             "Receive Size")
    expect((got[6] + 1) * 1024 >= 1024, "Send Size")


# Fails with: private-first
@check("PD-4-03")
def other_values_later(t):
    """After a reconnect other values hold."""
    for size in 4096, 1024, 8192, 2048:
        c = connect(t, private(receive=size))
        reply_threshold(t, c, size, "Receive Size %d" % size)
        c.iw.close()


# Fails with: private-version
@check("PD-4-07")
def other_version(t):
    """Private data of another version are none."""
    for version in 0, 2, 9, 255:
        c = connect(t, private(version=version, flags=1))
        reply_threshold(t, c, 1024, "version %d" % version)
        same(invalidates(t, c), False, "invalidation")


# Fails with: private-flags
@check("PD-4-09")
def reserved_bits(t):
    """Reserved bits are ignored."""
    seen = {0: set(), 1: set()}
    for flags in 0, 0xfe, 1, 0xff, 0x80, 0x81:
        c = connect(t, private(flags=flags))
        reply_threshold(t, c, 4096, "flags %#x" % flags)
        seen[flags & 1].add(invalidates(t, c))
    for r, what in seen.items():
        same(len(what), 1, "kinds of Replies to R = %d" % r)


# Fails with: private-one-sided
@check("PD-4.1-01")
def r_allows(t):
    """R of both allows invalidation; that of the client alone does not."""
    server = t.iwarp(private=private()).private[5] & 1
    same(invalidates(t, connect(t, private(flags=0))), False,
         "invalidation without the client's R")
    c = connect(t, private(flags=1))
    got = [invalidates(t, c) for _ in range(3)]
    expect(server or not any(got),
           "a server that says R = 0 invalidates a handle")
    # What one may do and does is done the same way each time.
    same(len(set(got)), 1, "kinds of Replies")


# Fails with: invalidates-another
@check("PD-4.1-02")
def of_that_xid(t):
    """A Reply invalidates a handle of its own Call only."""
    c = connect(t, private(flags=1))
    c.null()
    mine = {}
    for i in range(8):
        x = c.new_xid()
        w = c.write_chunk(50, 60)
        mine[x] = {s.handle for s in w}
        c.post(read_call(t, x, (i, 110)), writes=[w])
    for x, handles in mine.items():
        h = c.answer(x)
        expect(h.invalidated is None or h.invalidated in handles,
               "%s invalidates another's handle" % h)


# Fails with: invalidates-empty
@check("PD-4.1-04")
def not_the_empty(t):
    """The STag of an empty segment need not be a real one, so no Reply
    invalidates it: the first segment with a length is, or none."""
    c = connect(t, private(flags=1))
    may = invalidates(t, c)
    none = v2.Segment(0x12345678, 0, 0)
    for before, after in ((1, 0), (2, 1), (0, 1)):
        real = c.write_chunk(100)
        h, data = c.call(read_call(t, c.new_xid(), (0, 100)),
                         writes=[[none] * before + real + [none] * after])
        same(read_results(data, True), [100], "the count of the READ")
        expect(h.invalidated in (None, may and real[0].handle),
               "behind %d empty segments, what is invalidated: %#x" % (
                   before, h.invalidated or 0))
    h, data = c.call(read_call(t, c.new_xid(), (0, 0)), writes=[[none]])
    same(read_results(data, True), [0], "the count of a READ of nothing")
    same(h.invalidated, None, "what a READ of no octets invalidates")
    m, (at,) = Reduced(c.new_xid()).write(t.files.empty, 0, 0).build()
    h, data = c.call(m, reads=[v2.ReadSegment(at, 0x12345678, 0, 0)])
    write_results(data, 0)
    same(h.invalidated, None, "what a WRITE of no octets invalidates")
    c.null()


# Fails with: invalidates-shared
@check("PD-4.1-05")
def of_two_calls(t):
    """An STag that two Calls in progress have is of neither alone: as long as
    both are, no Reply invalidates it."""
    c = connect(t, private(flags=1))
    may = invalidates(t, c)
    c.iw.hold_reads = True
    shared, own = (c.iw.expose(bytes(200), read=True, write=True)
                   for _ in range(2))

    def write(m, **lists):
        """A WRITE of what is in @m, which waits for its RDMA Read."""
        x, n = c.new_xid(), len(c.iw.held)
        payload, (at,) = Reduced(x).write(t.files.scratch, 0, 100).build()
        c.post(payload, reads=[v2.ReadSegment(at, m.stag, 100, m.base)],
               **lists)
        c.iw.pump_until(lambda: len(c.iw.held) > n)
        return x

    def done(x):
        write_results(c.answer(x).payload, 100)
        return c.seen[-1].invalidated

    # The second of them is done first.
    first = write(shared)
    h, data = c.call(read_call(t, c.new_xid(), (0, 100)),
                     writes=[[v2.Segment(shared.stag, 100, shared.base)]])
    same(read_results(data, True), [100], "the count of the READ")
    same(h.invalidated, None, "what the second Reply invalidates")
    c.iw.release_reads()
    expect(done(first) in (None, shared.stag), "another's handle")
    # The first of them is, and the second has that handle in its last chunk.
    if not shared.valid:
        shared = c.iw.expose(bytes(200), read=True, write=True)
    first = write(shared)
    second = write(own, reply=[v2.Segment(shared.stag, 100, shared.base)])
    c.iw.release_reads(1)
    same(done(first), None, "what the first Reply invalidates")
    c.iw.release_reads()
    expect(done(second) in (None, may and own.stag),
           "what the second Reply invalidates: %#x" % (
               c.seen[-1].invalidated or 0))
    c.null()


# Fails with: private-one-sided
@check("PD-4.1-03")
def without_r(t):
    """Without R in ours the server never invalidates."""
    c = connect(t, private(flags=0))
    for i in range(20):
        same(invalidates(t, c), False, "invalidation")


# Fails with: private-units-in, private-not-smaller
@check("PD-4.2-02", "PD-4.2-04")
def server_to_client(t):
    """From the server: the smaller of its Send and our Receive Size."""
    iw = t.iwarp(private=private())
    sends = (iw.private[6] + 1) * 1024
    for octet in 0, 1, 3, 15, 63, 255:
        size = (octet + 1) * 1024
        c = connect(t, MAGIC + bytes([1, 0, 3, octet]))
        reply_threshold(t, c, min(size, sends), "Receive Size %d" % size)


# Fails with: private-offset
@check("PD-5.2-01")
def any_offset(t):
    """The identifier is found at any octet."""
    for at in 0, 1, 2, 3, 7, 20:
        c = connect(t, bytes([0x55] * at) + private())
        reply_threshold(t, c, 4096, "offset %d" % at)


# Fails with: private-needed
@check("PD-5.2-02")
def not_found(t):
    """Other private data without the identifier are none."""
    for seed in range(3):
        c = connect(t, rpc.pattern(56, seed))
        reply_threshold(t, c, 1024, "noise")


# Fails with: private-version
@check("PD-5.2-03")
def cut_or_old(t):
    """An identifier too near the end, or another version: none."""
    for tail in MAGIC, MAGIC + b"\1", private()[:6], private()[:7]:
        c = connect(t, bytes(20) + tail)
        reply_threshold(t, c, 1024, "cut after %d octets" % len(tail))
    c = connect(t, private(receive=1024, version=9) + private())
    reply_threshold(t, c, 4096, "version 9, then 1")


# Fails with: private-says-r
@check("PD-3.2-01", server_is="no-invalidation")
def responder_without(t):
    """A Responder that cannot invalidate says so, and does not."""
    iw = t.iwarp(private=private(flags=1))
    same(iw.private[5] & 1, 0, "its R")
    c = connect(t, private(flags=1))
    for _ in range(5):
        same(invalidates(t, c), False, "invalidation")
