# SPDX-License-Identifier: BSD-3-Clause
"""The clients of cluster.test: NFSv4.1 over TCP, through a gateway for each head.

    cluster.py across PORT OTHER	what is written through one head is read through the
					other, both ways; prints which server each says it is
    cluster.py hold PORT FILE LIST	lock FILE, and write blocks to it until LIST.stop is
					there; LIST gets the number of each block that has been
					acknowledged as stable, and when. What was open and
					locked is reclaimed when the server is another; the
					times of its first answer and of the last reclaimed go
					to stdout
    cluster.py contend PORT FILE LIST	ask for that lock again and again, which must be
					refused; LIST gets a line for each refusal
    cluster.py verify PORT FILE LIST	the lock is free, and all blocks of LIST are in FILE
    cluster.py hang PORT OTHER NOTIFY PID...
					stop these processes, which are the file system;
					only Calls that need it wait, and none is lost. What the
					server tells the service manager is in NOTIFY
"""

import os
import signal
import sys
import time

from nfsclient import (COMMIT, CREATE, LOCK, OPEN, PUTFH, RECLAIM_COMPLETE, WRITE, V4, NfsError,
                       opaque, u32, u64)

SIZE = 8192
# Beyond the lock that is held: one that is free.
BEYOND = 1 << 40
BOTH, RECLAIM, PREVIOUS = 3, 1, 1
UNSTABLE, FILE_SYNC = 0, 2
DELAY, GRACE = 10008, 10013
# What a server says that is not the one of before.
ANOTHER = 10022, 10023, 10052, 10078


def block(n):
    return (b"%15d\n" % n) * (SIZE // 16)


class Client(V4):
    def __init__(self, port, export="/srv"):
        self.file = None
        self.locked = False
        super().__init__("127.0.0.1", int(port), 1, export)

    def start_session(self, verifier, sizes):
        self.verifier, self.sizes = verifier, sizes
        r = self.patiently(lambda: self.exchange_id(verifier))
        seq = r.u32()
        r.skip(16)
        self.server = r.opaque(), r.opaque()
        self.create_session(seq, sizes)
        if self.file:
            self.reclaim()
        self.compound([u32(RECLAIM_COMPLETE, 0)], "RECLAIM_COMPLETE")

    def reclaim(self):
        f = self.file
        self.owners += 1
        owner = opaque("%s-%d" % (self.name, self.owners))
        r = self.compound([u32(PUTFH) + opaque(f.fh),
                           u32(OPEN, 0, BOTH, 0) + u64(self.clientid) + owner +
                           u32(0, PREVIOUS, 0)], "OPEN, reclaimed")
        r.skip(8)
        f.stateid = self.result(r, OPEN).fixed(16)
        if self.locked:
            self.lock_all(RECLAIM)

    def lock_all(self, reclaim=0):
        f = self.file
        self.owners += 1
        owner = opaque("%s-%d" % (self.name, self.owners))
        r = self.compound([u32(PUTFH) + opaque(f.fh),
                           u32(LOCK, 2, reclaim) + u64(0) + u64(BEYOND) + u32(1, 0) +
                           f.stateid + u32(0) + u64(self.clientid) + owner], "LOCK")
        r.skip(8)
        f.lock = self.result(r, LOCK).fixed(16)
        self.locked = True

    @staticmethod
    def patiently(what):
        while True:
            try:
                return what()
            except NfsError as e:
                if e.status not in (DELAY, GRACE):
                    raise
                time.sleep(0.05)

    def steadily(self, what):
        """Also if the server is another one meanwhile."""
        while True:
            try:
                return self.patiently(what)
            except NfsError as e:
                if e.status not in ANOTHER:
                    raise
            answered = time.monotonic()
            before, self.session = self.server, None
            self.of_xid.clear()
            self.start_session(self.verifier, self.sizes)
            assert self.server == before, (before, self.server)
            print("%.3f %.3f" % (answered, time.monotonic()), flush=True)

    def put_block(self, n):
        """Stable by COMMIT and by WRITE, in turn."""
        f = self.file
        stable = FILE_SYNC if n % 2 else UNSTABLE
        ops = [u32(PUTFH) + opaque(f.fh), u32(WRITE) + f.lock + u64(n * SIZE) + u32(stable) +
               opaque(block(n))]
        r = self.compound(ops, "WRITE")
        r.skip(8)
        assert self.result(r, WRITE).u32() == SIZE
        if r.u32() == UNSTABLE:
            verifier = r.fixed(8)
            r = self.compound([ops[0], u32(COMMIT) + u64(0) + u32(0)], "COMMIT")
            r.skip(8)
            if self.result(r, COMMIT).fixed(8) != verifier:
                self.put_block(n)


def across(port, other):
    a, b = Client(port), Client(other)
    for n, (one, two) in enumerate(((a, b), (b, a))):
        name, data = "across-%d" % n, os.urandom(300000)
        one.patiently(lambda: one.put(name, data))
        assert two.patiently(lambda: two.get(name)) == data, "written and not read"
        f = one.open(name, access=BOTH)
        g = two.open(name)
        for at in range(0, 10 * SIZE, SIZE):
            one.write(f, block(at), at, SIZE, UNSTABLE if at % (2 * SIZE) else FILE_SYNC)
            assert two.read(g, at, SIZE) == block(at), "changed, and the old is read"
        one.close(f)
        two.close(g)
        one.rename(name, name + "-moved")
        assert name.encode() + b"-moved" in two.ls(), "renamed, and not seen"
    print(a.server, b.server)
    assert a.server[0] != b.server[0] and a.server[1] == b.server[1]
    a.end()
    b.end()


def hold(port, name, listed):
    c = Client(port)
    c.file = c.patiently(lambda: c.open(name, create=True, access=BOTH))
    c.patiently(c.lock_all)
    n = 0
    with open(listed, "w", buffering=1) as out:
        while not os.path.exists(listed + ".stop"):
            c.steadily(lambda: c.put_block(n))
            out.write("%d %.3f\n" % (n, time.monotonic()))
            n += 1
            time.sleep(0.005)
    c.unlock(c.file, 0, BEYOND)
    c.close(c.file)
    c.end()


def contend(port, name, listed):
    c = Client(port)
    f = c.file = c.patiently(lambda: c.open(name, access=BOTH))
    n = 0

    def refused():
        if c.lock(f, True, 0, BEYOND):
            sys.exit("the lock of another client was granted after %d refusals" % n)

    def granted():
        """The server does grant what is free, and nobody else asks for."""
        at = BEYOND + (int(port) << 32) + n
        assert c.lock(f, True, at, 1)
        c.unlock(f, at, 1)

    with open(listed, "w", buffering=1) as out:
        while not os.path.exists(listed + ".stop"):
            c.steadily(refused)
            c.steadily(granted)
            n += 1
            out.write("%d %.3f\n" % (n, time.monotonic()))
            time.sleep(0.1)
    c.close(f)
    c.end()


def verify(port, name, listed):
    with open(listed) as f:
        numbers = [int(line.split()[0]) for line in f]
    assert numbers, "nothing was acknowledged"
    c = Client(port)
    c.file = c.open(name, access=BOTH)
    c.lock_all()
    data = c.read(c.file)
    for n in numbers:
        assert data[n * SIZE:(n + 1) * SIZE] == block(n), "block %d is lost" % n
    c.unlock(c.file, 0, BEYOND)
    c.close(c.file)
    c.end()


def pings(notify):
    with open(notify) as f:
        return f.read().count("WATCHDOG=1")


def hang(port, other, notify, *pids):
    writes, makes, local = Client(port), Client(port), Client(port, "/local")
    f = writes.open("hang", create=True, access=BOTH)
    writes.write(f, block(99), 0, SIZE, FILE_SYNC)
    g = local.open("file", create=True, access=BOTH)
    for pid in pids:
        os.kill(int(pid), signal.SIGSTOP)
    try:
        sent = [writes.send_write(f, i * SIZE, block(i), FILE_SYNC) for i in range(8)]
        made = makes.send(makes.walk("") + [u32(CREATE, 2) + opaque("made") +
                                            u32(2, 0, 1 << 1) + opaque(u32(0o755))])
        n, end = 0, pings(notify) + 5
        while n < 20 or pings(notify) < end:
            local.write(g, block(n), n * SIZE, SIZE, FILE_SYNC)
            assert local.read(g, n * SIZE, SIZE) == block(n)
            n += 1
            for c in writes, makes, local:
                c.null()
                assert c.size(g) == n * SIZE
            time.sleep(0.05)
        assert not writes.rpc.replies and not makes.rpc.replies, "the file system did not hang"
    finally:
        for pid in pids:
            os.kill(int(pid), signal.SIGCONT)
    for xid in sent:
        assert writes.written(writes.rpc.receive(xid)) == SIZE
        writes.free_slot(xid)
    makes.received(makes.rpc.receive(made), "CREATE")
    makes.free_slot(made)
    c = Client(other)
    assert c.get("hang") == b"".join(map(block, range(8))), "what was written is lost"
    assert b"made" in c.ls()
    for c in c, writes, makes, local:
        c.end()


{"across": across, "hold": hold, "contend": contend, "verify": verify,
 "hang": hang}[sys.argv[1]](*sys.argv[2:])
