#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long READs, WRITEs and READDIRs by TCP and through the gateway.

    long.py NAME VERS TCP-PORT GATEWAY-PORT MOUNT-PORT DATA GATEWAY-STATISTICS

Each Call goes both ways. What is done by TCP has to be done through the gateway;
it may be done in part, as any server may, but then from the beginning and more
than nothing, and the rest must follow. Prints "ok NAME" or "not ok NAME reason".
"""

import hashlib
import json
import os
import socket
import sys

import nfsclient
from nfsclient import NfsError, opaque, u32, u64

MB = 1 << 20
ANY = bytes(16)  # the anonymous stateid
PUTFH, READ, WRITE, READDIR, GETATTR = 22, 25, 38, 26, 9
PATTERN = bytes((7 * o + (o >> 8) + (o >> 16)) & 0xff
                for o in range(65521)) * 1100


def sha(b):
    return hashlib.sha256(b).hexdigest()


class Way:
    """One of the two: its client, and what its files begin with."""

    def __init__(self, name, vers, port, mount_port, data):
        self.name, self.data, self.v3 = name, data, vers == "3"
        if self.v3:
            self.c = nfsclient.V3("127.0.0.1", port, mount_port)
        else:
            self.c = nfsclient.V4("127.0.0.1", port, int(vers[2:]),
                                  sizes=100 * MB)
        self.files = 0

    def file(self, content=b""):
        """(filehandle, path) of a new one."""
        self.files += 1
        name = "%s-%d" % (self.name, self.files)
        path = os.path.join(self.data, name)
        with open(path, "wb") as f:
            f.write(content)
        return self.fh(name), path

    def fh(self, name):
        if self.v3:
            return self.c.lookup(name)
        return self.c.result(self.c.at(name, [u32(10)], name), 10).opaque()

    def ops(self, fh, *ops):
        """The Reply to a COMPOUND, at the results of @ops."""
        r = self.c.compound([u32(PUTFH) + opaque(fh), *ops], "COMPOUND")
        self.c.result(r, PUTFH)
        return r

    def got(self, r):
        self.c.result(r, READ)
        eof = r.u32()
        return r.opaque(), eof

    def took(self, r):
        self.c.result(r, WRITE)
        n = r.u32()
        r.skip(12)
        return n

    def read(self, fh, offset, count):
        if not self.v3:
            return self.got(self.ops(fh, read(offset, count)))
        return self.c.was_read(self.c.rpc.receive(
            self.c.send_read(fh, offset, count)))

    def write(self, fh, offset, data):
        if not self.v3:
            return self.took(self.ops(fh, write(offset, data)))
        return self.c.written(self.c.rpc.receive(
            self.c.send_write(fh, offset, data, 0)))


def read(offset, count):
    return u32(READ) + ANY + u64(offset) + u32(count)


def write(offset, data):
    return u32(WRITE) + ANY + u64(offset) + u32(0) + opaque(data)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def same(got, want, what):
    assert got == want, "%s: %.60r instead of %.60r" % (what, got, want)


def prefix(got, want, what):
    assert got and want.startswith(got), "%s: %d octets, of which some differ" \
        % (what, len(got))


# ---- Calls -----------------------------------------------------------------

def read_whole(w, count=9000000):
    """What fits the segments of a message comes as by TCP."""
    fh, _ = w.file(PATTERN[:10 * MB])
    data, eof = w.read(fh, 0, count)
    prefix(data, PATTERN, "READ")
    return len(data), eof


def read_to_the_end(w):
    fh, _ = w.file(PATTERN[:40 * MB])
    out, eof = b"", 0
    while not eof:
        data, eof = w.read(fh, len(out), 64 * MB)
        assert data or eof, "nothing, and no end"
        out += data
    same(sha(out), sha(PATTERN[:40 * MB]), "what was read")


def read_small_file(w):
    """A large count, and little to read."""
    fh, _ = w.file(b"little")
    return w.read(fh, 0, 64 * MB), w.read(fh, 100, 64 * MB)


def write_all(w):
    for size in (2 * MB + 70000, 4 * MB, 9000001, 64 * MB):
        fh, path = w.file()
        at = 0
        while at < size:
            n = w.write(fh, at, PATTERN[at:min(size, at + 3 * MB) if at else
                                        size])
            assert 0 < n <= size - at, "count %d of %d" % (n, size - at)
            at += n
        same(sha(content(path)), sha(PATTERN[:size]), "the file")


def too_much(w):
    """More than the server takes by TCP."""
    fh, _ = w.file()
    return w.write(fh, 0, PATTERN[:64 * MB + 1000000]) > 0


def writes(w, n, size, more=()):
    fh, path = w.file()
    r = w.ops(fh, *(write(i * size, PATTERN[i:i + size]) for i in range(n)),
              *more)
    took = [w.took(r) for _ in range(n)]
    with open(path, "rb") as f:
        for i in range(n):
            f.seek(i * size)
            same(sha(f.read(took[i])), sha(PATTERN[i:i + took[i]]),
                 "WRITE %d" % i)
    assert all(took), took
    return r


def compound_writes(w):
    writes(w, 3, 3 * MB)


def compound_many_writes(w):
    writes(w, 60, 100000)


def compound_write_then_more(w):
    """What follows the data is not lost."""
    r = writes(w, 1, 5 * MB, (u32(GETATTR, 1, 1 << 4),
                                       read(0, 5 * MB)))
    w.c.result(r, GETATTR)
    r.skip(12)
    size = r.u64()
    data, eof = w.got(r)
    prefix(data, PATTERN, "READ")
    assert size and eof == (len(data) == size), (size, len(data), eof)


def compound_reads(w):
    fh, _ = w.file(PATTERN[:20 * MB])
    r = w.ops(fh, *(read(i * 1000, 3 * MB) for i in range(4)))
    for i in range(4):
        prefix(w.got(r)[0], PATTERN[i * 1000:], "READ %d" % i)


def readdir(w):
    fh = w.fh("many")
    r = w.ops(fh, u32(READDIR) + u64(0) + bytes(8) +
              u32(16 * MB, 16 * MB, 1, 1 << 1))
    w.c.result(r, READDIR)
    r.skip(8)
    names = 0
    while r.u32():
        r.u64()
        assert r.opaque().startswith(b"a-name"), "a name"
        r.skip(4 * r.u32())
        r.opaque()
        names += 1
    r.u32()
    return names


def readdirplus(w):
    return len(w.c.ls("many", 16 * MB))


V3 = (read_whole, read_to_the_end, read_small_file, write_all, too_much,
      readdirplus)
V4 = (read_whole, read_to_the_end, read_small_file, write_all, too_much,
      compound_writes, compound_many_writes, compound_write_then_more,
      compound_reads, readdir)
# With little memory the count of what comes depends on it.
PARTLY = {("little", "read_whole")}


def statistics(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    text = b"".join(iter(lambda: s.recv(65536), b""))
    return json.loads(text)


def main(name, vers, tcp_port, gateway_port, mount_port, data, stats):
    failed = False
    for call in V3 if vers == "3" else V4:
        what = "long-%s-%s-%s" % (name, vers, call.__name__.replace("_", "-"))
        ways = [Way("%s-%s-%s" % (what, n, os.getpid()), vers, p,
                    int(mount_port), data)
                for n, p in (("tcp", int(tcp_port)), ("gw", int(gateway_port)))]
        try:
            try:
                want = call(ways[0])
            except (NfsError, ConnectionError) as e:
                print("skip %s by TCP: %s" % (what, e))
                continue
            got = call(ways[1])
            if (name, call.__name__) not in PARTLY:
                same(got, want, "through the gateway")
            print("ok %s" % what)
        except (AssertionError, NfsError, ConnectionError, ValueError) as e:
            failed = True
            print("not ok %s %s" % (what, str(e).replace("\n", " ")))
        finally:
            for w in ways:
                w.c.rpc.close()
            sys.stdout.flush()
    s = statistics(stats)["gateway"]
    if not failed and not (s["counts_lowered"] and s["writes_shortened"]):
        failed = True
        print("not ok long-%s-%s-statistics %r" % (name, vers, s))
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
