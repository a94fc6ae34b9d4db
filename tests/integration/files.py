#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The part of files.test and fsal.test that is a client: real files through the gateway.

    files.py WHAT DIR NFSPORT MOUNTPORT SERVER-STATISTICS GATEWAY-STATISTICS [ARG...]

Prints "ok NAME" or "not ok NAME reason"; the status tells whether all is well.
DIR is the exported directory: what a client has written is looked at there. With
tcp:PORT it is looked at by NFS over TCP, past the gateway.
"""

import hashlib
import json
import os
import random
import socket
import sys
import threading
import time
import traceback

import nfsclient
import release
from nfsclient import opaque, u32, u64

VERSIONS = ("3", "4.0", "4.1", "4.2")
NOENT = 2
# Around every limit: words, the default reduce limit, inline sizes, the longest
# READ and WRITE, and several of them.
SIZES = (0, 1, 2, 3, 4, 5, 1000, 1023, 1024, 1025, 4095, 4096, 4097, 8192,
         65535, 65536, 65537, 262144, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
         5 * (1 << 20) + 3)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Disk:
    """The exported directory, on this machine's own file system."""

    def __init__(self, top):
        self.top = top

    def path(self, name):
        return os.path.join(self.top, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def create(self, name):
        with open(self.path(name), "w"):
            pass

    def mkdir(self, name):
        os.mkdir(self.path(name))

    def readlink(self, name):
        return os.fsencode(os.readlink(self.path(name)))

    def remove(self, name):
        os.unlink(self.path(name))

    def missing(self, name):
        return not os.path.lexists(self.path(name))


class Direct:
    """The same, by NFSv4.1 over TCP. A connection for each thread."""

    def __init__(self, port):
        self.port, self.local = port, threading.local()

    def __getattr__(self, what):
        """get, mkdir, readlink and so on of the client."""
        if not hasattr(self.local, "client"):
            self.local.client = nfsclient.connect("4.1", "127.0.0.1",
                                                  self.port, 0)
        return getattr(self.local.client, what)

    def read(self, name):
        return self.get(name)

    def create(self, name):
        self.put(name, b"")

    def missing(self, name):
        try:
            self.ls(name)
        except nfsclient.NfsError as e:
            return e.status == NOENT
        return False


class World:
    def __init__(self, argv):
        self.what, self.dir = argv[1], argv[2]
        kind, _, port = self.dir.partition(":")
        self.tcp = int(port) if kind == "tcp" else None
        self.disk = Direct(self.tcp) if self.tcp else Disk(self.dir)
        self.port, self.mount_port = int(argv[3]), int(argv[4])
        self.paths, self.args = argv[5:7], argv[7:]
        self.bad = 0
        self.rnd = random.Random(20049)

    def test(self, name, fn, *args):
        try:
            fn(*args)
            print("ok " + name)
        except Exception as e:
            self.bad += 1
            why = str(e) if isinstance(e, AssertionError) else \
                traceback.format_exc(limit=-3)
            print("not ok %s %s" % (name, " ".join(why.split())))
        sys.stdout.flush()

    def connect(self, vers):
        return nfsclient.connect(vers, "127.0.0.1", self.port,
                                 self.mount_port)

    def data(self, n):
        return self.rnd.randbytes(n)

    def same_on_disk(self, name, data):
        got = self.disk.read(name)
        assert digest(got) == digest(data), \
            "%s: %d octets in the file system, others than the %d written" % (
                name, len(got), len(data))

    def stats(self):
        """(server, gateway): documents as the programs give them."""
        docs = []
        for path in self.paths:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(60)
            s.connect(path)
            with s.makefile() as f:
                docs.append(json.load(f))
            s.close()
        return docs

    def totals(self):
        server, gateway = self.stats()
        return server["totals"], gateway["transport"]["totals"], \
            gateway["gateway"]

    def settled(self):
        """Totals when nothing is on its way any more. Errors answer Calls,
        or, all of them, a version."""
        end = time.monotonic() + 60
        while True:
            server, gateway = self.stats()
            s, g = server["totals"], gateway["transport"]["totals"]
            if s["replies_sent"] == g["replies_received"] and \
                    s["errors_sent"] == g["errors_received"] and \
                    s["calls_received"] - s["replies_sent"] in \
                    (0, s["errors_sent"]) and \
                    gateway["clients"] == 0 and \
                    server["connections_now"] == 0:
                return s, g, gateway["gateway"]
            assert time.monotonic() < end, "statistics do not agree: " \
                "%r %r" % (s, g)
            time.sleep(0.05)


# ---- What is done ---------------------------------------------------------

def sizes(w, vers, limit=1 << 62, io=1 << 20):
    c = w.connect(vers)
    for n in SIZES:
        if n > limit:
            continue
        data, name = w.data(n), "size-%s-%d" % (vers, n)
        c.put(name, data, io)
        w.same_on_disk(name, data)
        got = c.get(name, io)
        assert got == data, "%s: %d octets read differ" % (name, len(got))
        w.disk.remove(name)
    c.end()


def unaligned(w, vers):
    """Spans of any size at any offset, in any order, over one another."""
    c = w.connect(vers)
    name = "unaligned-" + vers
    want = bytearray(w.data(300001))
    f = c.open(name, create=True)
    c.write(f, want, 0, 1 << 16)
    for _ in range(60):
        at = w.rnd.randrange(len(want))
        n = min(len(want) - at, int(10 ** w.rnd.uniform(0, 5)))
        if w.rnd.random() < 0.5:
            part = w.data(n)
            c.write(f, part, at, w.rnd.choice((n or 1, 1021, 4099, 65537)))
            want[at:at + n] = part
        else:
            got = c.read(f, at, n, w.rnd.choice((n or 1, 1023, 4097, 33333)))
            assert got == want[at:at + n], "%d octets at %d differ" % (n, at)
    assert c.read(f) == want, "the whole differs"
    c.close(f)
    w.same_on_disk(name, want)
    c.end()


def beyond_the_end(w, vers):
    """READs that get less than they ask for, down to nothing."""
    c = w.connect(vers)
    data = w.data(5000)
    c.put("short-" + vers, data)
    f = c.open("short-" + vers)
    for at, n in ((0, 1 << 20), (1, 5000), (4999, 4096), (5000, 4096),
                  (70000, 1 << 20), (0, 0)):
        # It ends Ganesha 6.5, by any transport.
        if not n and vers == "3" and release.at_least("6.5") and \
                not release.at_least("9.14"):
            continue
        xid = c.send_read(f, at, n)
        r = c.rpc.receive(xid)
        if vers != "3":
            c.free_slot(xid)
        got, eof = c.was_read(r)
        assert got == data[at:at + n], "READ of %d octets at %d" % (n, at)
        assert not n or eof, "no end of file at %d" % at
    c.close(f)
    c.end()


def many_small(w, vers):
    c = w.connect(vers)
    top = "many-" + vers
    c.mkdir(top)
    want = {}
    for i in range(120):
        name = "%s/file-%03d" % (top, i)
        want[name] = w.data(w.rnd.randrange(3000))
        c.put(name, want[name])
    for name, data in want.items():
        w.same_on_disk(name, data)
        assert c.get(name) == data, name + " differs"
    names = c.ls(top)
    assert sorted(names) == sorted(
        os.path.basename(n).encode() for n in want), "names differ"
    c.end()


def large_directory(w, vers):
    top = "large-" + vers
    w.disk.mkdir(top)
    want = ["a-name-of-some-length-%05d" % i
            for i in range(300 if w.tcp else 1500)]
    for name in want:
        w.disk.create(top + "/" + name)
    c = w.connect(vers)
    for maximum in (1 << 20, 65536, 6144, 4096):
        names = c.ls(top, maximum)
        assert sorted(names) == [n.encode() for n in want], \
            "%d names of %d with %d octets" % (len(names), len(want), maximum)
    c.end()


def symlinks(w, vers):
    c = w.connect(vers)
    for n in (1, 3, 4, 5, 254, 1023, 1024, 1025, 3999, 4000, 4095):
        name, target = "link-%s-%d" % (vers, n), b"t" * n
        # Path elements have their own limit.
        target = b"/".join(target[i:i + 200] for i in range(0, n, 201))
        target = (target + b"x" * n)[:n]
        c.symlink(name, target)
        assert w.disk.readlink(name) == target
        assert c.readlink(name) == target, "READLINK of %d octets" % n
        c.remove(name)
        assert w.disk.missing(name)
    c.end()


def compounds(w, vers):
    """Several eligible operations in one COMPOUND, in both directions."""
    c = w.connect(vers)
    name = "compound-" + vers
    want = bytearray(200000)
    f = c.open(name, create=True, access=3)
    c.write(f, want)
    for spans in (((0, 5000), (5000, 1), (7000, 30000)),
                  ((100, 10), (40000, 60000), (110000, 2), (150000, 49999)),
                  ((0, 65536), (65536, 65536))):
        parts = [(o, w.data(n)) for o, n in spans]
        c.write_all(f, parts)
        for o, d in parts:
            want[o:o + len(d)] = d
        for (o, n), got in zip(spans, c.read_all(f, spans)):
            assert got == want[o:o + n], "READ of %d at %d" % (n, o)
    # One of them fails: those before it have their results.
    got = c.read_all(f, ((199990, 5000), (300000, 5000), (0, 4)))
    assert got == [want[199990:], b"", want[:4]], "READs beyond the end"
    c.close(f)
    w.same_on_disk(name, want)
    c.end()


def at_once(w, vers, n=24):
    """Many clients at once, each with files of its own."""
    errors = []
    # Ganesha makes up its name for the first one; two at once do so twice, and
    # one of the names is lost.
    w.connect(vers).end()

    def one(i):
        try:
            rnd = random.Random(i)
            c = w.connect(vers)
            for k in range(4):
                data = rnd.randbytes(int(10 ** rnd.uniform(0, 5.9)))
                name = "at-once-%s-%d-%d" % (vers, i, k)
                c.put(name, data, rnd.choice((5000, 65536, 1 << 20)))
                w.same_on_disk(name, data)
                got = c.get(name, rnd.choice((5000, 65536, 1 << 20)))
                assert got == data, name + " differs"
                w.disk.remove(name)
            c.end()
        except Exception as e:
            errors.append("client %d: %s" % (
                i, traceback.format_exc(limit=-2) if not
                isinstance(e, AssertionError) else e))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


# ---- The same Calls by both ways --------------------------------------------

def results_v3(c, top):
    """(name, result) of Calls whose results say nothing of who asks."""
    dir_, file_, link = (opaque(c.lookup(top + name))
                         for name in ("", "/file", "/link"))
    for name, proc, args in (
            ("GETATTR", 1, file_), ("LOOKUP", 3, dir_ + opaque("file")),
            ("LOOKUP of nothing", 3, dir_ + opaque("none")),
            ("ACCESS", 4, file_ + u32(0x3f)), ("READLINK", 5, link),
            ("READLINK of a file", 5, file_),
            ("READ", 6, file_ + u64(3) + u32(60001)),
            ("READ of a directory", 6, dir_ + u64(0) + u32(1000)),
            ("WRITE to a directory", 7, dir_ + u64(0) + u32(5000, 2) +
             opaque(bytes(5000))),
            ("REMOVE of nothing", 12, dir_ + opaque("none")),
            ("RMDIR of what is not empty", 13,
             opaque(c.root) + opaque(top)),
            ("READDIR", 16, dir_ + u64(0) + bytes(8) + u32(8000)),
            ("READDIRPLUS", 17, dir_ + u64(0) + bytes(8) + u32(8000, 8000)),
            ("FSINFO", 19, dir_), ("PATHCONF", 20, dir_)):
        r = c.rpc.call(nfsclient.NFS, 3, proc, args)
        got = bytes(r.data[r.at:])
        # Those that read set the time of access, 60 octets into the attributes.
        if proc in (5, 6, 16, 17):
            got = got[:68] + bytes(8) + got[76:]
        yield name, got


# Neither those that change (free space, the time of access) nor rdattr_error.
ATTRIBUTES = u32(2, 0xff1ff7ff, 0x00be63ff)


def results_v4(c, top):
    none = bytes(16)  # the anonymous stateid
    get = u32(nfsclient.GETATTR) + ATTRIBUTES
    for name, path, ops in (
            ("GETATTR", "/file", [get]), ("GETATTR of a directory", "", [get]),
            ("LOOKUP of nothing", "", [u32(nfsclient.LOOKUP) + opaque("none")]),
            ("ACCESS", "/file", [u32(3, 0x3f)]),
            ("GETFH", "/file", [u32(nfsclient.GETFH)]),
            ("READLINK", "/link", [u32(nfsclient.READLINK), get]),
            ("READ", "/file", [u32(nfsclient.READ) + none + u64(3) +
                               u32(60001)]),
            ("two READs", "/file", [u32(nfsclient.READ) + none + u64(at) +
                                    u32(30000) for at in (1, 50000)]),
            ("READ of a directory", "", [u32(nfsclient.READ) + none + u64(0) +
                                         u32(1000)]),
            ("WRITE to a directory", "", [u32(nfsclient.WRITE) + none + u64(0) +
                                          u32(2) + opaque(bytes(5000))]),
            ("REMOVE of nothing", "", [u32(nfsclient.REMOVE) + opaque("none")]),
            ("READDIR", "", [u32(nfsclient.READDIR) + u64(0) + bytes(8) +
                             u32(8000, 8000) + ATTRIBUTES])):
        xid = c.send(c.walk(top + path) + ops)
        r = c.rpc.receive(xid)
        c.free_slot(xid)
        status = r.u32()
        r.skip(8)  # no tag; how many
        if c.session:
            r.skip(44)
        yield name, u32(status) + bytes(r.data[r.at:])


def same_results(w, vers):
    """Each octet of a Reply is that of the Reply over TCP."""
    top = "results-%s-%d" % (vers, w.port)
    c = w.connect(vers)
    c.mkdir(top)
    c.put(top + "/file", w.data(70001))
    c.symlink(top + "/link", b"to/something")
    for i in range(20):
        c.put("%s/more-%d" % (top, i), b"")
    d = nfsclient.connect(vers, "127.0.0.1", w.tcp, w.mount_port)
    of = results_v3 if vers == "3" else results_v4
    list(of(c, top))  # With relatime only the first READ sets the time of access.
    for (name, ours), (_, theirs) in zip(of(c, top), of(d, top)):
        assert ours == theirs, "%s: %s by the gateway, %s over TCP" % (
            name, ours[:200].hex(), theirs[:200].hex())
    c.end()
    d.end()


# ---- What the statistics say ----------------------------------------------

def quiet(s, g, gw, errors=False):
    """Both ends tell the same, and nobody complains."""
    for ours, theirs in (("calls_received", "calls_sent"),
                         ("replies_sent", "replies_received"),
                         ("inline_sent", "inline_received"),
                         ("inline_received", "inline_sent"),
                         ("continued_sent", "continued_received"),
                         ("continued_received", "continued_sent"),
                         ("fragments_sent", "fragments_received"),
                         ("fragments_received", "fragments_sent"),
                         ("continued_bytes_sent",
                          "continued_bytes_received"),
                         ("continued_bytes_received",
                          "continued_bytes_sent"),
                         ("special_sent", "special_received"),
                         ("special_received", "special_sent"),
                         ("read_chunks", "read_chunks"),
                         ("read_bytes", "read_bytes"),
                         ("invalidations_sent", "invalidations_received"),
                         ("write_bytes", "write_bytes")):
        assert s[ours] == g[theirs], "%s %d at the server, %s %d at the " \
            "gateway" % (ours, s[ours], theirs, g[theirs])
    for doc in (s, g):
        zero(doc, "dropped", "surplus")
        if not errors:
            zero(doc, "errors_sent", "errors_received")
    for name in ("retransmits", "reconnects", "errors_answered",
                 "records_refused", "duplicates"):
        assert not gw[name], "%s is %d" % (name, gw[name])
    assert gw["tcp_calls"] == gw["tcp_replies"], "Calls without Replies"


def above(doc, **least):
    for name, n in least.items():
        assert doc[name] > n, "%s is %d" % (name, doc[name])


def zero(doc, *names):
    for name in names:
        assert not doc[name], "%s is %d" % (name, doc[name])


def credits_in_range(w):
    """Of a connection in use: what it may send, what it has granted."""
    c = w.connect("3")
    c.null()
    f = c.open("credits", create=True)
    seen = 0
    for _ in range(20):
        c.write(f, w.data(200000), 0, 20000)
        server, gateway = w.stats()
        for doc in (server, gateway["transport"]):
            for conn in doc["connections"]:
                assert conn["version"] == 2, "version %r" % conn["version"]
                if not conn["theirs"]["complete"]:
                    continue
                seen += 1
                limit = server["connections"][0]["advertised"] + 64
                assert 0 < conn["advertised"] <= 64, conn["advertised"]
                left = (conn["credit_limit"] - conn["sent"]) & 0xffffffff
                assert left <= limit, "%d credits left" % left
    assert seen, "no connection seen"
    c.end()


def chunks(w):
    s, g, gw = w.settled()
    quiet(s, g, gw)
    above(s, read_chunks=100, read_bytes=20 << 20, write_chunks=100,
          write_bytes=20 << 20, invalidations_sent=100, continued_sent=0,
          inline_sent=1000, inline_received=1000)
    above(gw, arguments_reduced=100, results_reduced=100)
    # Payload by chunks is not copied, and does not go inline as well.
    assert s["inline_bytes_received"] < s["read_bytes"] / 4
    server, gateway = w.stats()
    for pool in (server["pool"], gateway["transport"]["pool"]):
        assert not pool["refused"], "memory was refused"


# ---- Programs -------------------------------------------------------------

def all_versions(w, *what):
    for vers in VERSIONS:
        for fn in what:
            if fn is compounds and vers == "3":
                continue
            w.test("%s-v%s" % (fn.__name__.replace("_", "-"), vers), fn, w,
                   vers)


def plain(w):
    all_versions(w, sizes, unaligned, beyond_the_end, many_small,
                 large_directory, symlinks, compounds)
    w.test("credits-in-range", credits_in_range, w)
    w.test("chunks-really", chunks, w)


def variant(w):
    """One way of starting both programs; ARG: name, checks in Python."""
    name, longest, io = w.args[0], int(w.args[1]), int(w.args[2])
    for vers in ("3", "4.1"):
        w.test("%s-sizes-v%s" % (name, vers), sizes, w, vers, longest, io)
    # A Call that failed for want of a Reply chunk is sent again, but a session
    # executes it once: where that is to happen, Replies must have known sizes.
    errors = any("errors" in test for test in w.args[3:])
    if not errors:
        w.test("%s-compounds" % name, compounds, w, "4.2")
    w.test("%s-directory" % name, large_directory, w, "3")
    w.test("%s-symlinks" % name, symlinks, w, "4.0")
    os.system("rm -rf '%s'/*" % w.dir)

    def counters():
        s, g, gw = w.settled()
        quiet(s, g, gw, errors)
        for test in w.args[3:]:
            assert eval(test, {}, dict(s=s, g=g, gw=gw, w=w)), "%s: %r" % (
                test, {k: v for k, v in s.items() if v})

    w.test("%s-statistics" % name, counters)


def long_results(w, vers):
    """Results of NFSv4 longer than goes inline, of each kind."""
    c = w.connect(vers)
    name = "long-" + vers
    f = c.open(name, create=True, access=3)
    c.write(f, w.data(100000))
    # Every attribute that may be asked for, the ACL among them.
    every = nfsclient.u32(nfsclient.GETATTR, 2, 0xfffff7ff, 0x00bef7ff)
    plain = nfsclient.u32(nfsclient.GETATTR, 2, 0x0018091a, 0x00b0a23a)
    for op, n in ((every, 1), (plain, 8), (every, 4), (every, 8)):
        r = c.at(name, [op] * n, "GETATTR")
        for _ in range(n):
            c.result(r, nfsclient.GETATTR)
            r.skip(4 * r.u32())
            assert len(r.opaque()) > 100, "few attributes"
    # As many READs in one COMPOUND as find no Write chunk.
    spans = [(k * 5000, 5000) for k in range(6)]
    assert [len(d) for d in c.read_all(f, spans)] == [5000] * 6
    c.close(f)
    c.end()


def sessions(w):
    """A server that does not continue Replies: there are no errors."""
    for vers in ("4.0", "4.1", "4.2"):
        w.test("sessions-results-v" + vers, long_results, w, vers)
        w.test("sessions-directory-v" + vers, large_directory, w, vers)
        w.test("sessions-compounds-v" + vers, compounds, w, vers)

    def counters():
        s, g, gw = w.settled()
        quiet(s, g, gw)
        above(s, reply_chunks=20)
        zero(s, "continued_sent")
        zero(gw, "resource_retries")

    w.test("sessions-statistics", counters)


def copies(w):
    """What the server copies of data by chunks; ARG: the file that counts it."""
    n = 16 << 20
    data = w.data(n)

    def copied():
        with open(w.args[0], "rb") as f:
            return int.from_bytes(f.read(8), sys.byteorder)

    def moved(what, before, way, sent):
        s = w.settled()[0]
        assert s[way] - sent[way] >= n, "%s did not go by chunks" % what
        got = copied() - before
        assert got < n / 16, \
            "%d octets copied for a %s of %d" % (got, what, n)
        assert s["copied_bytes"] == sent["copied_bytes"], "for the transport"

    def written(vers):
        before, sent = copied(), w.settled()[0]
        c = w.connect(vers)
        c.put("copies-" + vers, data, 1 << 20)
        c.end()
        w.same_on_disk("copies-" + vers, data)
        moved("WRITE", before, "read_bytes", sent)

    def read(vers):
        before, sent = copied(), w.settled()[0]
        c = w.connect(vers)
        assert c.get("copies-" + vers, 1 << 20) == data, "others were read"
        c.end()
        moved("READ", before, "write_bytes", sent)

    for vers in VERSIONS:
        w.test("copies-write-v" + vers, written, vers)
        w.test("copies-read-v" + vers, read, vers)


def concurrent(w):
    for vers in VERSIONS:
        w.test("at-once-v" + vers, at_once, w, vers)
    w.test("at-once-agree", lambda: quiet(*w.settled()))


def fsal(w):
    """On any file system. ARG: its name, the longest file."""
    name, longest = w.args[0], int(w.args[1])
    for vers in VERSIONS:
        for fn, args in ((sizes, (longest,)), (unaligned, ()),
                         (beyond_the_end, ()), (many_small, ()),
                         (large_directory, ()), (symlinks, ()),
                         (compounds, ()), (at_once, (8,)), (same_results, ())):
            if fn is not compounds or vers != "3":
                w.test("%s-%s-v%s" % (name, fn.__name__.replace("_", "-"),
                                      vers), fn, w, vers, *args)

    def counters():
        s, g, gw = w.settled()
        quiet(s, g, gw)
        above(s, read_chunks=50, write_chunks=50, invalidations_sent=50)

    w.test(name + "-statistics", counters)


def results(w):
    """The same Calls only. ARG: a name."""
    for vers in VERSIONS:
        w.test("%s-same-results-v%s" % (w.args[0], vers), same_results, w, vers)


def through(w):
    """Write and read a large file, whatever happens to the server."""
    n = int(w.args[0]) << 20
    data = w.data(n)
    read = {}

    def reader():
        try:
            c = w.connect("3")
            read["data"] = c.get("to-read", 65536)
            c.end()
        except Exception as e:
            read["error"] = str(e)

    with open(os.path.join(w.dir, "to-read"), "wb") as f:
        f.write(data)
    t = threading.Thread(target=reader)

    def writer():
        c = w.connect("3")
        t.start()
        c.put("to-write", data, 65536)
        c.end()
        w.same_on_disk("to-write", data)

    w.test("restart-write", writer)
    t.join()

    def compare():
        assert "data" in read, read.get("error")
        assert read["data"] == data, "the file read differs"

    w.test("restart-read", compare)
    gw = w.stats()[1]["gateway"]

    def again():
        above(gw, reconnects=0, retransmits=0)
        assert gw["tcp_calls"] >= 2 * n // 65536
        zero(gw, "errors_answered")

    w.test("restart-reconnected", again)


def main():
    w = World(sys.argv)
    {"plain": plain, "variant": variant, "concurrent": concurrent,
     "sessions": sessions, "copies": copies,
     "fsal": fsal, "results": results, "through": through}[w.what](w)
    return 1 if w.bad else 0


if __name__ == "__main__":
    sys.exit(main())
