#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""READs and WRITEs of 4 MiB, as Linux 7.2 makes them, by versions 1 and 2.

    long_rdma.py RDMA-PORT SEGMENTS

SEGMENTS is how many segments the server takes in one header; each chunk has as
many. Data go in Read and Write chunks, and whole messages in Call and Reply
chunks, as with RPCSEC_GSS integrity. Prints "ok NAME" or "not ok NAME reason".
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, nfs, rpc, v1, v2  # noqa: E402
from rpcrdma_conformance.private_checks import private  # noqa: E402

SIZE = 4 << 20
ROOM = 4096  # of a message beside its data, in a Reply chunk


class Version1:
    def __init__(self, bench):
        self.c = v1.Conn(bench.iwarp(private=private(receive=4096)),
                         threshold=4096)

    def call(self, payload, **lists):
        h, reply = self.c.call(payload, **lists)
        assert not h.error, h
        return reply, h.writes

    def call_external(self, payload, **lists):
        """The Position-Zero Read chunk is the beginning of the Read list."""
        h = self.c.answer(self.c.post(payload, proc=v1.NOMSG, **lists))
        assert not h.error, h
        return h.payload, h.writes


class Version2:
    def __init__(self, bench):
        self.c = bench.connect()

    @staticmethod
    def take(a):
        assert not a.error, a.last
        return a.payload, a.last.writes

    def call(self, payload, **lists):
        return self.take(self.c.call(payload, **lists))

    def call_external(self, payload, reads):
        xid = int.from_bytes(payload[:4], "big")
        self.c.post(v2.CALL_EXTERNAL, xid, call=reads)
        return self.take(self.c.answer(xid))


class Run:
    def __init__(self, bench, version, segments):
        self.fh, self.v = bench.files.scratch, version(bench)
        self.c, self.segments = self.v.c, segments
        self.seed = 0

    def cuts(self, size):
        step = -(-size // self.segments)
        return range(step, size, step)

    def lengths(self, size):
        edges = [0, *self.cuts(size), size]
        return [b - a for a, b in zip(edges, edges[1:])]

    def fresh(self):
        self.seed += 1
        return rpc.pattern(SIZE, self.seed)

    def write_item(self, data):
        payload, (at,) = nfs.Reduced(self.c.new_xid()).write(
            self.fh, 0, SIZE).build()
        reply, _ = self.v.call(
            payload, reads=self.c.read_chunk(at, data, self.cuts(SIZE)))
        nfs.write_results(reply, SIZE)

    def write_body(self, data):
        x = self.c.new_xid()
        payload = rpc.compound(x, [rpc.putfh(self.fh), rpc.write(0, data)])
        reply, _ = self.v.call_external(payload, reads=self.c.read_chunk(
            0, payload, self.cuts(len(payload))))
        nfs.write_results(reply, SIZE)

    def read_call(self):
        return rpc.compound(self.c.new_xid(), [rpc.putfh(self.fh),
                                               rpc.read(0, SIZE)])

    def read_item(self):
        chunk = self.c.write_chunk(*self.lengths(SIZE))
        reply, (back,) = self.v.call(self.read_call(), writes=[chunk])
        assert nfs.read_results(reply, True) == [SIZE], "the length word"
        return self.c.gather(back)

    def read_body(self):
        chunk = self.c.write_chunk(*self.lengths(SIZE + ROOM))
        reply, _ = self.v.call(self.read_call(), reply=chunk)
        return nfs.read_results(reply, False)[0]

    def all(self):
        for write in self.write_item, self.write_body:
            data = self.fresh()
            write(data)
            for read in self.read_item, self.read_body:
                assert read() == data, "%s after %s" % (read.__name__,
                                                        write.__name__)


def main():
    port, segments = int(sys.argv[1]), int(sys.argv[2])
    bench = kit.Server("127.0.0.1", port, "export", 60)
    failed = False
    for version in Version1, Version2:
        name = "long-rdma-%s-%d" % (version.__name__.lower(), segments)
        try:
            Run(bench, version, segments).all()
            print("ok", name)
        except Exception as e:  # whatever went wrong
            print("not ok", name, type(e).__name__, str(e)[:300])
            failed = True
        bench.end()
    sys.exit(failed)


if __name__ == "__main__":
    main()
