# SPDX-License-Identifier: BSD-3-Clause
"""The binding of NFS: draft-ietf-nfsv4-nfs-ulb-v2-07.

What the version 2 draft says of the same things is in the other files.
"""

import itertools

from . import kit, rpc, v2
from .kit import REQUESTER, check, expect, good, is_error, same
from .nfs import Reduced, external, stored

FILL = 0xaa
NO_ATTRIBUTES = rpc.u32(0) * 6  # sattr3
ATTRIBUTES3 = 84  # octets of fattr3


def lengths(chunk):
    return [s.length for s in chunk]


def shapes(chunks):
    return [[(s.handle, s.offset) for s in k] for k in chunks]


def untouched(c, chunk):
    for s in chunk:
        data = bytes(c.memory(s))
        same(data, bytes([FILL]) * len(data), "unused memory")


def unused(c, a, w):
    """@w have come back as they went, with nothing in them."""
    same(shapes(a.writes), shapes(w), "the Write list of the Reply")
    same(sum(sum(lengths(k)) for k in a.writes), 0, "octets written")
    for k in w:
        untouched(c, k)


# ---- NFSv4, as a server -------------------------------------------------


def example(t, xid):
    """The COMPOUND of the draft's example: READ, READLINK, READ."""
    d = t.files.dir
    look = [[rpc.putfh(d), rpc.u32(rpc.LOOKUP) + rpc.opaque(n)]
            for n in ("data", "link", "data")]
    return rpc.compound(xid, look[0] + [rpc.read(0, 777)] + look[1] +
                        [rpc.u32(rpc.READLINK)] + look[2] +
                        [rpc.read(5, 1501)])


# Fails with: never-reduced, writes-exchanged, empty-too-short
@check("UB-5.1.2.1-01", "UB-5.1.2.1-02", "UB-5.1.2.1-03", "UB-5.1.2.1-05")
def pairing(t):
    """READs and READLINKs take the Write chunks in turn; an empty one and the
    end of the list mean inline."""
    c, f = t.connect(), t.files
    want = [f.content[:777], b"x" * 1000, f.content[5:1506]]
    for n in range(5):
        for empty in itertools.product((False, True), repeat=n):
            w = [[] if e else c.write_chunk(1000, 1000) for e in empty]
            a = good(c.call(example(t, c.new_xid()), writes=w))
            same(shapes(a.writes), shapes(w), "the Write list of the Reply")
            r = rpc.Compound(a.payload)
            for i, op in enumerate((rpc.READ, rpc.READLINK, rpc.READ)):
                s = r.good(rpc.PUTFH, rpc.LOOKUP, op)
                if op == rpc.READ:
                    s.u32()
                if i < n and not empty[i]:
                    same(s.u32(), len(want[i]), "the length word")
                    same(sum(lengths(a.writes[i])), len(want[i]),
                         "octets in the chunk")
                    same(c.gather(a.writes[i]), want[i], "the chunk")
                else:
                    same(s.opaque(), want[i], "data inline")
            same(r.r.left(), 0, "octets behind the last")
            for k in a.writes[3:]:
                same(sum(lengths(k)), 0, "octets in a fourth chunk")
    # However short.
    for n in 0, 1, 3:
        w = c.write_chunk(100)
        a = good(c.call(rpc.compound(c.new_xid(), [
            rpc.putfh(f.data), rpc.read(7, n)]), writes=[w]))
        same(lengths(a.writes[0]), [n], "the chunk of a READ of %d" % n)
        same(c.gather(a.writes[0]), f.content[7:7 + n], "its data")


# Fails with: lengths-offered
@check("UB-5.1.2.1-04")
def no_eligible_result(t):
    """A READ or READLINK that fails leaves its Write chunk unused, as those
    behind it; the segments stay."""
    c, f = t.connect(), t.files
    good_ops = [rpc.putfh(f.data), rpc.read(0, 50)]
    bad = ((rpc.READ, [rpc.putfh(f.dir), rpc.read(0, 50)]),
           (rpc.READLINK, [rpc.putfh(f.data), rpc.u32(rpc.READLINK)]))
    for before in range(3):
        for op, ops in bad:
            w = [c.write_chunk(30, 30) for _ in range(4)]
            a = good(c.call(rpc.compound(
                c.new_xid(), good_ops * before + ops + good_ops), writes=w))
            same(shapes(a.writes), shapes(w), "the Write list of the Reply")
            r = rpc.Compound(a.payload)
            for _ in range(before):
                s = r.good(rpc.PUTFH, rpc.READ)
                s.u32()
                same(s.u32(), 50, "the length word")
            r.good(rpc.PUTFH)
            expect(r.take(op) != 0, "operation %d succeeds" % op)
            same(r.r.left(), 0, "octets behind the error")
            same([lengths(k) for k in a.writes],
                 [[30, 20]] * before + [[0, 0]] * (4 - before), "lengths")
            for k in w[before:]:
                untouched(c, k)


# Fails with: segments-not-joined, external-layout
@check("UB-5.1.2.2-01")
def chunk_lists(t):
    """A Call chunk, a Read chunk, both or neither; a Write chunk or none; a
    Reply chunk or none."""
    c, f = t.connect(), t.files
    for i, (body, read, write, reply) in enumerate(itertools.product(
            (False, True), repeat=4)):
        x, data = c.new_xid(), rpc.pattern(1501, i)
        ops = [rpc.putfh(f.data), rpc.read(9, 2000)]
        if read:
            m = Reduced(x).write(f.scratch, 0, len(data))
            for op in ops:
                m.op(op)
            m, (at,) = m.build()
            lists = {"reads": c.read_chunk(at, data, (700,))}
        else:
            m, lists = rpc.compound(x, [
                rpc.putfh(f.scratch), rpc.write(0, data)] + ops), {}
        if write:
            lists["writes"] = [c.write_chunk(1200, 1200)]
        if reply:
            lists["reply"] = c.write_chunk(9000)
        if body:
            external(c, m, (100,), **lists)
        else:
            c.send_call(m, **lists)
        a = good(c.answer(x))
        s = rpc.Compound(a.payload)
        r = s.good(rpc.PUTFH, rpc.WRITE)
        same(r.u32(), len(data), "the count of the WRITE")
        r.fixed(12)
        s.good(rpc.PUTFH, rpc.READ).u32()
        if write:
            same((r.u32(), lengths(a.writes[0])), (2000, [1200, 800]),
                 "the length word and the chunk")
            got = c.gather(a.writes[0])
        else:
            got = r.opaque()
        same(got, f.content[9:2009], "what was read")
        same(stored(t, c, 0, len(data)), data, "what was written")


class Session:
    """One of NFSv4.2, and its slot 0."""

    def __init__(self, c):
        self.c, self.sequence = c, 0
        r = self.call(rpc.EXCHANGE_ID, bytes(8) + rpc.opaque(
            "conformance-%x" % c.new_xid()) + rpc.u32(0, 0, 0))
        self.clientid, seq = r.u64(), r.u32()
        fore = rpc.u32(0, 1 << 16, 1 << 16, 4096, 16, 4, 0)
        r = self.call(rpc.CREATE_SESSION, rpc.u64(self.clientid) + rpc.u32(
            seq, 0) + fore + rpc.u32(0, 4096, 4096, 0, 4, 4, 0) + rpc.u32(
                0x40000000, 1, 0))
        self.id = r.fixed(16)

    def call(self, op, args):
        a = good(self.c.call(rpc.compound(
            self.c.new_xid(), [rpc.u32(op) + args], minor=2)))
        return rpc.Compound(a.payload).good(op)

    def compound(self, ops, **lists):
        self.sequence += 1
        a = good(self.c.call(rpc.compound(self.c.new_xid(), [
            rpc.u32(rpc.SEQUENCE) + self.id + rpc.u32(
                self.sequence, 0, 0, 0)] + ops, minor=2), **lists))
        s = rpc.Compound(a.payload)
        s.good(rpc.SEQUENCE).fixed(36)
        return a, s

    def end(self):
        self.call(rpc.DESTROY_SESSION, self.id)
        self.call(rpc.DESTROY_CLIENTID, rpc.u64(self.clientid))


# Fails with: lengths-offered
@check("UB-5.1.1-01")
def read_plus(t):
    """READ_PLUS uses no Write chunk, whether it is supported or not."""
    c, f = t.connect(), t.files
    s = Session(c)
    w = [c.write_chunk(100), c.write_chunk(4000)]
    a, r = s.compound([rpc.putfh(f.data), rpc.read(0, 100), rpc.u32(
        rpc.READ_PLUS) + rpc.ANONYMOUS + rpc.u64(0) + rpc.u32(2000)], writes=w)
    r.good(rpc.PUTFH, rpc.READ).u32()
    same(r.r.u32(), 100, "the length word of the READ")
    same([lengths(k) for k in a.writes], [[100], [0]], "lengths")
    untouched(c, w[1])
    if not r.take(rpc.READ_PLUS):
        r.r.u32()
        got = b""
        for _ in range(r.r.u32()):
            hole = r.r.u32()
            r.r.u64()
            got += bytes(r.r.u64()) if hole else r.r.opaque()
        same(got, f.content[:2000], "its contents")
    same(r.r.left(), 0, "octets behind it")
    s.end()


# ---- NFSv3 and its auxiliary protocols, as a server ---------------------


def call3(c, proc, args, **lists):
    """The Answer, and its results."""
    a = good(c.call(rpc.call(c.new_xid(), rpc.NFS, 3, proc, args), **lists))
    return a, a.rpc.r


def attributes(r):
    """Skip post_op_attr."""
    if r.u32():
        r.fixed(ATTRIBUTES3)


def read3(fh, offset, count):
    return rpc.opaque(fh) + rpc.u64(offset) + rpc.u32(count)


def reduced3(c, proc, args, data):
    """A Call whose last argument, @data, is in a Read chunk; its results."""
    x = c.new_xid()
    m = rpc.call(x, rpc.NFS, 3, proc, args + rpc.u32(len(data)))
    c.post(v2.CALL_INLINE, x, payload=m,
           reads=c.read_chunk(len(m), data, (1,)))
    return good(c.answer(x)).rpc.r


# Fails with: v3-link-inline, v3-symlink-whole
@check("UB-3.1-01")
def eligible3(t):
    """NFSv3: data of WRITE and READ, path of SYMLINK and READLINK are
    eligible, and a result that is there goes into the chunk."""
    h, f, c = t.files3, t.files, t.connect()
    for at, count, n in ((0, 1, 1), (3, 2001, 2001), (f.LENGTH - 5, 100, 5),
                         (f.LENGTH, 100, 0)):
        w = c.write_chunk(1500, 1500)
        a, r = call3(c, rpc.READ3, read3(h["data"], at, count), writes=[w])
        same(r.u32(), 0, "status of READ")
        attributes(r)
        same((r.u32(), bool(r.u32()), r.u32(), r.left()),
             (n, at + n == f.LENGTH, n, 0), "count, eof, length, and the rest")
        same(c.gather(a.writes[0]), f.content[at:at + n], "the chunk")
        same(shapes(a.writes), shapes([w]), "the Write list of the Reply")
    w = c.write_chunk(4096)
    a, r = call3(c, rpc.READLINK3, rpc.opaque(h["link"]), writes=[w])
    same(r.u32(), 0, "status of READLINK")
    attributes(r)
    same((r.u32(), r.left()), (1000, 0), "the length word, and the rest")
    same(c.gather(a.writes[0]), b"x" * 1000, "the chunk")
    data = rpc.pattern(2003, 7)
    r = reduced3(c, rpc.WRITE3, rpc.opaque(h["scratch"]) + rpc.u64(0) +
                 rpc.u32(len(data), 2), data)
    same(r.u32(), 0, "status of WRITE")
    same(stored(t, c, 0, len(data)), data, "what was written")
    r = reduced3(c, rpc.SYMLINK3, rpc.opaque(h["dir"]) + rpc.opaque("link3") +
                 NO_ATTRIBUTES, b"to/some/place")
    same(r.u32(), 0, "status of SYMLINK")
    same(r.u32(), 1, "a handle follows")
    _, r = call3(c, rpc.READLINK3, rpc.opaque(r.opaque()))
    r.u32()
    attributes(r)
    same(r.opaque(), b"to/some/place", "the link")
    call3(c, rpc.REMOVE3, rpc.opaque(h["dir"]) + rpc.opaque("link3"))


# Fails with: lengths-offered
@check("UB-3.1-02")
def ineligible3(t):
    """NFSv3: nothing else is eligible, no arm without data uses a chunk, and
    an empty chunk means inline."""
    h, f, c = t.files3, t.files, t.connect()
    for proc, args in (
            (rpc.READ3, read3(h["dir"], 0, 100)),
            (rpc.READLINK3, rpc.opaque(h["data"])),
            (rpc.LOOKUP3, rpc.opaque(h["dir"]) + rpc.opaque("data")),
            (rpc.READDIR3, rpc.opaque(h["dir"]) + bytes(16) + rpc.u32(1000))):
        plain, r = call3(c, proc, args)
        status = r.u32()
        same(status != 0, proc in (rpc.READ3, rpc.READLINK3),
             "an error of procedure %d" % proc)
        w = [c.write_chunk(50, 4000), c.write_chunk(10)]
        a, _ = call3(c, proc, args, writes=w)
        unused(c, a, w)
        if status:
            same(a.payload[4:], plain.payload[4:], "the Reply")
    w = c.write_chunk(100)
    a, r = call3(c, rpc.READ3, read3(h["data"], 0, 99), writes=[[], w])
    unused(c, a, [[], w])
    r.u32()
    attributes(r)
    r.fixed(8)
    same(r.opaque(), f.content[:99], "data inline")
    for proc in rpc.LOOKUP3, rpc.MKDIR3, rpc.REMOVE3:
        x = c.new_xid()
        m = rpc.call(x, rpc.NFS, 3, proc, rpc.opaque(h["dir"]) + rpc.u32(4))
        c.post(v2.CALL_INLINE, x, reads=c.read_chunk(len(m), b"name"),
               payload=m + (NO_ATTRIBUTES if proc == rpc.MKDIR3 else b""))
        is_error(c.answer(x), v2.READ_CHUNKS, 0)
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")


# Fails with: port-shown
@check("UB-3.4.2-01")
def replay(t):
    """NFSv3: a Call that is sent again on another connection, from another
    port, is a replay."""
    h, one, two = t.files3, t.connect(), t.connect()
    expect(one.iw.s.getsockname()[1] != two.iw.s.getsockname()[1], "one port")
    args = rpc.opaque(h["dir"]) + rpc.opaque("made") + NO_ATTRIBUTES
    x = one.new_xid()
    m = rpc.call(x, rpc.NFS, 3, rpc.MKDIR3, args)
    first = good(one.call(m))
    same(first.rpc.r.u32(), 0, "status of MKDIR")
    same(good(two.call(m)).payload, first.payload, "the Reply to the same")
    _, r = call3(two, rpc.MKDIR3, args)
    same(r.u32(), 17, "status of another MKDIR")
    call3(one, rpc.RMDIR3, rpc.opaque(h["dir"]) + rpc.opaque("made"))


@check("UB-4.1-01")
def mount_by_tcp(t):
    """MOUNT is served over TCP."""
    t.mount(0)
    r = t.mount(1, rpc.opaque(t.path))
    same(r.u32(), 0, "status of MNT")
    expect(0 < len(r.opaque()) <= 64, "no handle")


# Fails with: lengths-offered
@check("UB-4.2-01")
def nfsacl(t):
    """NFSACL comes on the connection of NFS, and nothing in it is eligible."""
    c = t.connect()
    x = c.new_xid()
    w = [c.write_chunk(1000)]
    a = c.call(rpc.call(x, rpc.NFSACL, 3, 0, b"", rpc.NONE), writes=w)
    expect(not a.error and not a.rpc.denied, "%s" % a.last)
    unused(c, a, w)
    if a.rpc.ok and t.mount_port:
        # GETACL: access and default ACL
        a = c.call(rpc.call(c.new_xid(), rpc.NFSACL, 3, 1, rpc.opaque(
            t.files3["data"]) + rpc.u32(15)), writes=w)
        expect(a.rpc.ok and a.rpc.r.u32() in (0, 10004), "%s" % a.last)
        unused(c, a, w)
    x = c.new_xid()
    m = rpc.call(x, rpc.NFSACL, 3, 2, rpc.u32(64), rpc.NONE)
    c.post(v2.CALL_INLINE, x, payload=m, reads=c.read_chunk(len(m), bytes(64)))
    is_error(c.answer(x), v2.READ_CHUNKS, 0)
    c.null()


# ---- A client -----------------------------------------------------------


def of_client(*ids, **more):
    return kit.check(*ids, role=REQUESTER, **more)


def result(op, *parts, status=0):
    return rpc.u32(op, status) + b"".join(parts)


def results(xid, ops, status=0):
    return rpc.reply(xid, rpc.u32(status, 0, len(ops)) + b"".join(ops))


def answer(c, call, m, writes=()):
    """@m by the Reply chunk, if there is one and it does not fit inline."""
    if call.reply and len(m) > 4000:
        c.post(v2.REPLY_EXTERNAL, call.xid, writes=list(writes),
               reply=c.place(call.reply, m))
    elif writes:
        c.post(v2.REPLY_INLINE, call.xid, writes=list(writes), payload=m)
    else:
        c.send_reply(m)


# Fails with: two-chunks
@of_client("UB-5.1.2.1-06", "UB-5.1.2.1-07", "UB-5.1.2.2-02")
def simple_lists(t):
    """One Read chunk, at the Position of its argument, and one Write chunk at
    most, for the first READ; none for what is to come inline."""
    _, tcp, c = t.connect(advertise=100)
    n = 20000
    data = [rpc.pattern(n, i) for i in range(2)]
    head = [rpc.putfh(b"fh"), rpc.read(0, n)]
    write = [op for d in data for op in (rpc.putfh(b"fh"), rpc.write(0, d))]
    m = rpc.compound(5, write + head * 3)
    tcp.send(m)
    call = c.get_call()
    same({s.position for s in call.reads},
         {m.index(data[0])}, "Positions of the Read list")
    same([sum(lengths(k)) for k in call.writes], [n], "the Write list")
    same(call.fetch(), m, "the Call")
    wrote = [result(rpc.PUTFH), result(rpc.WRITE, rpc.u32(n, 2), bytes(8))] * 2
    long = result(rpc.READ, rpc.u32(0), rpc.opaque(data[1]))
    short = result(rpc.READ, rpc.u32(0, n))
    other = [result(rpc.PUTFH), long] * 2
    answer(c, call, results(5, wrote + [result(rpc.PUTFH), short] + other),
           [c.fill(call, 0, data[0])])
    same(tcp.recv(), results(5, wrote + [result(rpc.PUTFH), result(
        rpc.READ, rpc.u32(0), rpc.opaque(data[0]))] + other), "the Reply")
    # What is wanted inline.
    tcp.send(rpc.compound(6, [rpc.putfh(b"fh"), rpc.read(0, 100)]))
    call = c.get_call()
    same((call.reads, call.writes), ([], []), "the lists of a short READ")
    m = results(6, [result(rpc.PUTFH), result(
        rpc.READ, rpc.u32(1), rpc.opaque(bytes(99)))])
    answer(c, call, m)
    same(tcp.recv(), m, "the Reply")


# Fails with: unused-refused
@of_client("UB-5.1.2.1-08")
def no_data(t):
    """The chunk of a READ or READLINK that failed: unused, empty, left out."""
    _, tcp, c = t.connect("--reduce-min", "1")
    bad4 = [result(rpc.PUTFH), result(rpc.READ, status=13)]
    cases = (
        (lambda x: rpc.compound(x, [rpc.putfh(b"fh"), rpc.read(0, 5000)]),
         lambda x: results(x, bad4, 13)),
        (lambda x: rpc.call(x, rpc.NFS, 3, rpc.READ3, read3(
            b"fh", 0, 5000)), lambda x: rpc.reply(x, rpc.u32(13, 0))),
        (lambda x: rpc.call(x, rpc.NFS, 3, rpc.READLINK3, rpc.opaque(
            b"fh")), lambda x: rpc.reply(x, rpc.u32(13, 0))))
    x = 100
    for make, reply in cases:
        for back in (lambda k: [[s._replace(length=0) for s in q] for q in k],
                     lambda k: [[] for _ in k], lambda k: []):
            x += 1
            tcp.send(make(x))
            call = c.get_call()
            expect(call.writes, "no Write chunk")
            c.post(v2.REPLY_INLINE, x, writes=back(call.writes),
                   payload=reply(x))
            same(tcp.recv(), reply(x), "the error")


# Fails with: write-chunk-short, reply-chunk-short
@of_client("UB-3.2-01", "UB-3.2-02")
def estimates(t):
    """A Write chunk for the longest result, a Reply chunk for the longest
    Reply."""
    _, tcp, c = t.connect("--reduce-min", "1")
    for n in 5, 4097, 1 << 20:
        tcp.send(rpc.call(n, rpc.NFS, 3, rpc.READ3, read3(b"fh", 0, n)))
        call = c.get_call()
        expect(sum(lengths(call.writes[0])) >= n, "a Write chunk too short")
        data = rpc.pattern(n, n)
        c.answer_inline(call, rpc.u32(0, 0, n, 0, n),
                        [c.fill(call, 0, data)])
        same(tcp.recv(), rpc.reply(n, rpc.u32(0, 0, n, 0) + rpc.opaque(data)),
             "the Reply to READ")
    for n in 70000, 1 << 18:
        # Attributes of the directory, and so many octets of entries.
        m = rpc.reply(n, rpc.u32(0, 1) + bytes(ATTRIBUTES3 + 8) +
                      bytes(n - 8))
        for proc, args in ((16, rpc.u32(n)), (17, rpc.u32(n, n))):
            tcp.send(rpc.call(n, rpc.NFS, 3, proc, rpc.opaque(b"fh") +
                              bytes(16) + args))
            call = c.get_call()
            expect(call.reply and sum(lengths(call.reply)) >= len(m),
                   "a Reply chunk too short for procedure %d" % proc)
            answer(c, call, m)
            same(tcp.recv(), m, "the Reply to procedure %d" % proc)


# Fails with: acl-is-nfs
@of_client("UB-4.2-02")
def client_nfsacl(t):
    """NFSACL goes by the connection of NFS, and nothing in it is reduced."""
    _, tcp, c = t.connect(advertise=100)
    tcp.send(rpc.null(1))
    c.answer_inline(c.get_call())
    tcp.recv()
    # Like READ and WRITE of NFSv3, whose numbers these would be.
    for proc in 1, 2, 6, 7:
        for args in (read3(b"fh", 0, 50000),
                     rpc.opaque(b"fh") + rpc.u64(0) + rpc.u32(30000, 2) +
                     rpc.opaque(bytes(30000))):
            m = rpc.call(50 + proc, rpc.NFSACL, 3, proc, args)
            tcp.send(m)
            call = c.get_call()
            same((call.reads, call.writes), ([], []), "the lists")
            same(call.fetch(), m, "the Call")
            m = rpc.reply(50 + proc, rpc.u32(0) + bytes(12000))
            answer(c, call, m)
            same(tcp.recv(), m, "the Reply")


# Fails with: read-plus-reduced
@of_client("UB-5.1.1-02")
def client_read_plus(t):
    """No Write chunk is offered for READ_PLUS."""
    _, tcp, c = t.connect(advertise=100)
    seq = rpc.u32(rpc.SEQUENCE) + bytes(16) + rpc.u32(1, 0, 0, 0)
    for n in 100, 50000:
        tcp.send(rpc.compound(n, [seq, rpc.putfh(b"fh"), rpc.u32(
            rpc.READ_PLUS) + rpc.ANONYMOUS + rpc.u64(0) + rpc.u32(n)],
            minor=2))
        call = c.get_call()
        same(call.writes, [], "the Write list")
        m = results(n, [result(rpc.SEQUENCE, bytes(36)), result(rpc.PUTFH),
                        result(rpc.READ_PLUS, rpc.u32(1, 1, 0), rpc.u64(0),
                               rpc.opaque(rpc.pattern(n)))])
        answer(c, call, m)
        same(tcp.recv(), m, "the Reply")
