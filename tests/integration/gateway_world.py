# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of rpcrdma-gateway share: TCP clients written here, the programs, and main().

Each test of gateway*.test is a function with the decorator @test, which gets a World: what it
starts there ends with it. main() prints "ok NAME", "not ok NAME reason" or "skip NAME reason"
for each, and returns 1 if one failed; with arguments it runs only those tests. RPCRDMA_BUILD
is the build directory. Everything listens on loopback, on ports that were free.
"""

import errno
import json
import os
import random
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "conformance"))

BUILD = os.environ.get("RPCRDMA_BUILD", "build/release")
GATEWAY = os.path.join(BUILD, "bin/rpcrdma-gateway")
PING = os.path.join(BUILD, "bin/rpcrdma-ping")
BENCH = os.path.join(BUILD, "tests/bench/rpcrdma-bench")
SERVER = os.path.join(BUILD, "tests/tools/rpcrdma-echo-server")
# What joins the gateway and the server; its address.
PROVIDER = os.environ.get("RPCRDMA_TEST_PROVIDER", "iwarp")
ADDRESS = os.environ.get("RPCRDMA_TEST_ADDRESS", "127.0.0.1")
# How long anything may take before it counts as never.
PATIENCE = float(os.environ.get("PATIENCE", 60))
ECHO_PROG, CB_PROG = 0x20049001, 0x20049002
NULL, ECHO, DELAY, MAKE, CALLBACK, SILENCE = range(6)
NFS, READLINK, READ, WRITE, SYMLINK = 100003, 5, 6, 7, 10
FILE_SIZE = 1 << 30
PERIOD = bytes((7 * o + (o >> 8)) & 0xFF for o in range(65536))


def pattern(offset, n):
    start = offset % 65536
    return (PERIOD * ((start + n) // 65536 + 1))[start:start + n]


def opaque(b):
    return struct.pack(">I", len(b)) + b + bytes(-len(b) % 4)


def call_msg(xid, prog, vers, proc, args):
    return struct.pack(">10I", xid, 0, 2, prog, vers, proc, 0, 0, 0, 0) + args


def mark(b, last=True):
    return struct.pack(">I", len(b) | (0x80000000 if last else 0)) + b


class Failed(Exception):
    pass


def check(cond, what):
    if not cond:
        raise Failed(what)


def same(got, want, what):
    if got != want:
        text = "%s: %.80r instead of %.80r" % (what, got, want)
        raise Failed(text)


class Client:
    """A TCP client that speaks record-marked RPC."""

    def __init__(self, port, rcvbuf=None, reserved=False):
        self.s = socket.socket()
        if reserved:
            bind_reserved(self.s)
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(PATIENCE)
        self.s.connect(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.xid = random.getrandbits(31)
        self.buf = b""

    def next_xid(self):
        self.xid = (self.xid + 1) & 0xFFFFFFFF
        return self.xid

    def send(self, prog, vers, proc, args=b"", xid=None):
        xid = self.next_xid() if xid is None else xid
        self.s.sendall(mark(call_msg(xid, prog, vers, proc, args)))
        return xid

    def exactly(self, n):
        parts, got = [], 0
        while got < n:
            b = self.s.recv(min(n - got, 1 << 20))
            if not b:
                raise Failed("the gateway closed the connection")
            parts.append(b)
            got += len(b)
        return b"".join(parts)

    def record(self):
        out, last = b"", False
        while not last:
            word, = struct.unpack(">I", self.exactly(4))
            last = bool(word & 0x80000000)
            out += self.exactly(word & 0x7FFFFFFF)
        return out

    def reply(self, want_stat=0):
        """(xid, results) of the next Reply."""
        r = self.record()
        xid, typ, stat, flavor, vlen, accept = struct.unpack(">6I", r[:24])
        same((typ, stat, vlen), (1, 0, 0), "head of a Reply")
        same(accept, want_stat, "accept_stat")
        return xid, r[24:]

    def call(self, prog, vers, proc, args=b"", want_stat=0):
        xid = self.send(prog, vers, proc, args)
        got, res = self.reply(want_stat)
        same(got, xid, "XID")
        return res

    def echo(self, n, proc=ECHO, head=b""):
        data = pattern(0, n)
        res = self.call(ECHO_PROG, 1, proc, head + opaque(data))
        check(res == opaque(data), "ECHO of %d octets came back wrong" % n)

    def closed(self):
        """Wait for the gateway to close; anything it sends is a failure."""
        try:
            b = self.s.recv(1)
        except ConnectionResetError:
            return
        check(b == b"", "data instead of a closed connection")

    def close(self):
        self.s.close()

    def abort(self):
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        self.s.close()


def bind_reserved(s):
    """To a port below 1024; PermissionError if that is not for us."""
    for port in range(1023, 600, -1):
        try:
            s.bind(("127.0.0.1", port))
            return
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
    raise Failed("no port below 1024 is free")


def fh(n=0):
    return opaque(struct.pack(">I", n) + b"\0" * 4)


def nfs_read(c, offset, count):
    return c.call(NFS, 3, READ, fh() + struct.pack(">QI", offset, count))


def read_result(offset, count, eof=0):
    return struct.pack(">IIII", 0, 0, count, eof) + \
        opaque(pattern(offset, count))


def check_read(c, offset, count):
    res = nfs_read(c, offset, count)
    check(res == read_result(offset, count),
          "READ of %d octets at %d came back wrong" % (count, offset))


def write_args(offset, data):
    return fh() + struct.pack(">QII", offset, len(data), 2) + opaque(data)


WRITE_OK = struct.pack(">III", 0, 0, 0)


def check_write(c, offset, count):
    res = c.call(NFS, 3, WRITE, write_args(offset, pattern(offset, count)))
    same(res[:16], WRITE_OK + struct.pack(">I", count),
         "WRITE of %d octets" % count)


class Proc:
    """A program of ours; its stderr goes to a file, which is kept on failure."""

    def __init__(self, where, name, argv, ready, stream, env=None):
        self.name = name
        self.path = os.path.join(where, "%s.%d" % (name, time.monotonic_ns()))
        self.err = open(self.path + ".err", "wb")
        self.out = open(self.path + ".out", "wb")
        self.p = subprocess.Popen(argv, stdout=self.out, stderr=self.err,
                                  stdin=subprocess.DEVNULL,
                                  env={**os.environ, **(env or {})})
        until = time.monotonic() + PATIENCE
        m = None
        while not m:
            m = re.search(ready, self.text(stream))
            if m:
                break
            if self.p.poll() is not None or time.monotonic() > until:
                raise Failed("%s does not start: %s"
                             % (name, self.text("err")[-500:]))
            time.sleep(0.01)
        self.port = int(m.group(1))

    def text(self, stream="err"):
        with open(self.path + "." + stream, errors="replace") as f:
            return f.read()

    def last_words(self):
        """The end of stderr, or a sanitizer's report from its beginning."""
        text = self.text("err")
        at = max(text.find("ERROR: "), text.find("WARNING: Thread"))
        return text[at:at + 6000] if at >= 0 else text[-2000:]

    def signal(self, sig):
        self.p.send_signal(sig)

    def kill(self):
        self.p.kill()
        self.p.wait()
        self.close()

    def close(self):
        self.err.close()
        self.out.close()

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
        try:
            status = self.p.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("%s does not end" % self.name)
        finally:
            self.close()
        if status:
            raise Failed("%s ended with status %d: %s"
                         % (self.name, status, self.last_words()))


class World:
    """What one test starts."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="gateway-test.")
        self.procs = []
        self.log = os.path.join(self.dir, "calls")

    def server(self, *args, port=0, under=()):
        # Somebody else may have taken the port meanwhile: then it is lost.
        p = Proc(self.dir, "echo-server",
                 [*under, SERVER, "--listen", "%s:%d" % (ADDRESS, port),
                  "--provider", PROVIDER, "--log", self.log, *args],
                 r"listening on [\d.]+:(\d+)", "out")
        self.procs.append(p)
        return p

    def gateway(self, server, *args, env=None, under=()):
        port = server if isinstance(server, int) else server.port
        if "--server" not in args:
            args = ("--server", "%s:%d" % (ADDRESS, port), *args)
        p = Proc(self.dir, "gateway",
                 [*under, GATEWAY, "--listen", "127.0.0.1:0",
                  "--provider", PROVIDER,
                  "--stats-socket", os.path.join(self.dir, "stats"), *args],
                 r"listening on 127\.0\.0\.1:(\d+)", "err", env)
        self.procs.append(p)
        return p

    def both(self, *args, server=()):
        s = self.server(*server)
        return s, self.gateway(s, *args)

    def forget(self, p):
        self.procs.remove(p)

    def stats(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE)
        s.connect(os.path.join(self.dir, "stats"))
        parts = []
        while True:
            b = s.recv(65536)
            if not b:
                break
            parts.append(b)
        s.close()
        return json.loads(b"".join(parts))

    def until(self, cond, what):
        """Wait for the statistics to satisfy @cond."""
        end = time.monotonic() + PATIENCE
        while True:
            s = self.stats()
            if cond(s):
                return s
            check(time.monotonic() < end, "never: " + what)
            time.sleep(0.02)

    def calls(self):
        """The server's log: (xid, prog, vers, proc, len, connection)."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as f:
            return [(int(w[0], 16), *map(int, w[1:]))
                    for w in (line.split() for line in f)
                    if len(w) == 6]

    def ends(self, n):
        """How the server saw its first @n connections end: 0 in order, or a
        negative errno."""
        until = time.monotonic() + PATIENCE
        while True:
            with open(self.log) as f:
                got = [int(w[1]) for w in (line.split() for line in f)
                       if len(w) == 2]
            if len(got) >= n:
                return got[:n]
            check(time.monotonic() < until, "never: %d ends" % n)
            time.sleep(0.02)

    def end(self):
        """Gateways first: they are to end with their server alive."""
        bad = None
        for p in reversed(self.procs):
            try:
                p.stop()
            except Failed as e:
                bad = bad or e
        self.procs = []
        if bad:
            raise bad

    def clear(self):
        for p in self.procs:
            if p.p.poll() is None:
                p.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


# Around the inline thresholds of 4096 with and without each header, around
# sixteen fragments, the pool's classes and the segment size.
SIZES = [0, 1, 2, 3, 4, 5, 100, 1023, 1024, 3900, 3960] + \
    list(range(3964, 4100, 7)) + \
    [4096, 8000, 8150, 12000, 16383, 16384, 32000, 65535, 65536, 65537,
     100000, 262143, 262144, 300001, 1048575, 1048576]


def gone(s):
    """No client, and no memory that is still held for one."""
    return s["clients"] == 0 and s["transport"]["pool"]["bytes_in_use"] == 0


NFS_SIZES = [0, 1, 2, 3, 4, 5, 511, 1000, 1023, 1024, 1025, 3800, 3900, 4000,
             4095, 4096, 4097, 16384, 65535, 65536, 65537, 131072, 524289,
             1048575, 1048576]


def worker(port, seed, fail):
    rnd = random.Random(seed)
    try:
        c = Client(port)
        for _ in range(25):
            n = rnd.choice((0, 10, 1500, 4000, 9000, 70000, 300000))
            what = rnd.randrange(3)
            if what == 0:
                c.echo(n)
            elif what == 1:
                check_read(c, rnd.randrange(1 << 20), n)
            else:
                check_write(c, rnd.randrange(1 << 20), n)
        c.close()
    except Exception as e:
        fail.append(e)


def lines(g, text):
    return [t for t in g.text().splitlines() if text in t]


def said(g, text, times=1):
    """Wait for so many lines with @text in the gateway's log."""
    until = time.monotonic() + PATIENCE
    while len(lines(g, text)) < times:
        check(time.monotonic() < until,
              "never: %r; %s" % (text, g.text()[-500:]))
        time.sleep(0.02)


def main():
    for path in (GATEWAY, PING, BENCH, SERVER):
        if not os.access(path, os.X_OK):
            print("skip gateway %s is not built" % path)
            return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    failed = 0
    names = sys.argv[1:]
    for fn in TESTS:
        if names and fn.__name__ not in names:
            continue
        w = World()
        err = None
        try:
            fn(w)
            w.end()
        except (Failed, OSError) as e:
            err = e
        except Exception:
            err = traceback.format_exc()
        if err:
            failed += 1
            print("not ok %s %s" % (fn.__name__, " ".join(str(err).split())))
            for p in w.procs:
                for line in p.last_words().splitlines():
                    print("# %s: %s" % (p.name, line))
        else:
            print("ok %s" % fn.__name__)
        sys.stdout.flush()
        w.clear()
    return 1 if failed else 0
