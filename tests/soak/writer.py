#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client that writes, and remembers what it was told is stable.

    writer.py NAME VERS HOST PORT MOUNTPORT DIRECTORY SEED SOURCE

It obeys lines on its input: "go", and "rest", after which it says in one line
of JSON what has happened. NAME is a directory in the export, DIRECTORY where
that is on the disk. Blocks are written once: what a server that is slow, or a
gateway, sends or does twice then changes nothing. A block counts as stable when
a WRITE with FILE_SYNC has been answered so, or a COMMIT with the verifier of
the WRITE. Whatever goes wrong: the same again, by another connection. Files are
compared with what is on the disk when they are complete, before they are
removed, and at each rest.
"""

import json
import os
import random
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "integration"))
# pylint: disable=wrong-import-position
import nfsclient  # noqa: E402
from nfsclient import NfsError, opaque, u32, u64  # noqa: E402

UNSTABLE, FILE_SYNC = 0, 2
MB = 1 << 20
SIZES = (4096, 4096, 16384, 65536, 65536, 262144, MB)
FILE_SIZE = 4 * MB
KEEP = 12  # files; those before are compared and removed
RATE = 4 * MB  # a second, at most
PATIENCE = 60  # for a Reply
LAST = 240  # for all that is open, at rest
WRONG = (OSError, NfsError, ValueError, IndexError)


class File:
    def __init__(self, name, rng, seed):
        self.name = name
        self.blocks = []  # (offset, length)
        self.stable = set()  # their numbers
        at = 0
        while at < FILE_SIZE:
            n = rng.choice(SIZES)
            self.blocks.append((at, n))
            at += n
        rng.shuffle(self.blocks)
        self.base = random.Random("%s %s" % (seed, name)).randbytes(MB + 65536)

    def content(self, i):
        at, n = self.blocks[i]
        turn = at // 4096 % 65536
        head = b"%s %d %d\n" % (self.name.encode(), at, n)
        return head + self.base[turn:turn + n - len(head)]

    def open(self):
        return [i for i in range(len(self.blocks)) if i not in self.stable]


class Writer:
    def __init__(self, name, vers, host, port, mount, directory, seed, source):
        self.name, self.vers, self.seed = name, vers, seed
        self.where = host, int(port), int(mount)
        self.directory = directory
        self.rng = random.Random("%s %s" % (seed, name))
        self.client = None
        self.files, self.made = [], 0
        self.resting = threading.Event()
        self.late = None
        self.thread = None
        self.count = dict.fromkeys(
            ("files", "writes", "commits", "stable", "octets", "checked",
             "reads", "errors", "restarts"), 0)
        self.wrong = []
        nfsclient.Rpc.source = source

    # ---- Calls ----

    def connect(self):
        if self.client is None:
            self.client = nfsclient.connect(self.vers, *self.where,
                                            timeout=PATIENCE)
        return self.client

    def leave(self):
        c, self.client = self.client, None
        if c is not None:
            try:
                c.rpc.close()
            except OSError:
                pass

    def commit(self, c, f):
        if self.vers == "3":
            r = c.nfs(21, opaque(f) + u64(0) + u32(0), "COMMIT")
            c.wcc(r)
        else:
            r = c.compound([u32(nfsclient.PUTFH) + opaque(f.fh),
                            u32(nfsclient.COMMIT) + u64(0) + u32(0)], "COMMIT")
            r.skip(8)
            c.result(r, nfsclient.COMMIT)
        return r.fixed(8)

    def write(self, c, f, file, numbers, stable):
        """{number: verifier} of those that were written whole."""
        out = {}

        def sends():
            for i in numbers:
                data = file.content(i)
                yield i, c.send_write(f, file.blocks[i][0], data, stable)

        def finish(i, r):
            n = c.written(r)
            how, verifier = r.u32(), r.fixed(8)
            self.count["writes"] += 1
            if n == file.blocks[i][1] and how >= stable:
                out[i] = verifier

        c.pipeline(sends(), finish)
        return out

    def some(self, file):
        """A few blocks of it, until they are stable."""
        c = self.connect()
        f = c.open(self.name + "/" + file.name, create=True, keep=True)
        stable = self.rng.choice((UNSTABLE, FILE_SYNC))
        numbers = self.rng.sample(file.open(), min(8, len(file.open())))
        try:
            done = self.write(c, f, file, numbers, stable)
            if stable == UNSTABLE and done:
                verifier = self.commit(c, f)
                self.count["commits"] += 1
                for i in [i for i, v in done.items() if v != verifier]:
                    del done[i]
                    self.count["restarts"] += 1
        finally:
            for_later = self.client is not None
        file.stable.update(done)
        self.count["stable"] += len(done)
        size = sum(file.blocks[i][1] for i in done)
        self.count["octets"] += size
        if for_later:
            c.close(f)
        return size

    def read(self, file):
        c = self.connect()
        f = c.open(self.name + "/" + file.name)
        for i in self.rng.sample(sorted(file.stable), min(4, len(file.stable))):
            at, n = file.blocks[i]
            self.count["reads"] += 1
            if c.read(f, at, n) != file.content(i):
                self.wrong.append("%s: READ %d of %d: other data" %
                                  (file.name, n, at))
        c.close(f)

    # ---- What is on the disk ----

    def compare(self, file):
        try:
            with open(os.path.join(self.directory, file.name), "rb") as f:
                for i in file.stable:
                    at, n = file.blocks[i]
                    if os.pread(f.fileno(), n, at) != file.content(i):
                        self.wrong.append("%s: %d octets at %d are not there" %
                                          (file.name, n, at))
                    self.count["checked"] += 1
        except FileNotFoundError:
            if file.stable:
                self.wrong.append("%s is not there" % file.name)

    # ---- All ----

    def step(self):
        file = self.files[-1] if self.files else None
        if file is None or not file.open():
            if self.resting.is_set():
                return False
            self.made += 1
            file = File("f%d" % self.made, self.rng, self.seed)
            self.files.append(file)
            self.count["files"] += 1
        size = self.some(file)
        if not file.open():
            self.compare(file)
            self.read(file)
            while len(self.files) > KEEP:
                old = self.files[0]
                self.compare(old)
                self.files.pop(0)
                self.client.remove(self.name + "/" + old.name)
        self.resting.wait(size / RATE)
        return True

    def work(self):
        while True:
            if self.resting.is_set():
                self.late = self.late or time.monotonic() + LAST
                if time.monotonic() > self.late:
                    self.wrong.append("no end: %r" % self.last)
                    break
            try:
                if not self.step():
                    break
            except WRONG as e:
                self.last = e
                self.count["errors"] += 1
                self.leave()
                time.sleep(self.rng.uniform(0.1, 1))
            except Exception as e:  # pylint: disable=broad-except
                traceback.print_exc()
                self.wrong.append("%s: %s" % (type(e).__name__, e))
                break
        try:
            if self.client is not None:
                self.client.end()
        except WRONG:
            pass
        self.client = None

    def go(self):
        self.resting.clear()
        self.late, self.last = None, None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def rest(self):
        self.resting.set()
        self.thread.join()
        for file in self.files:
            self.compare(file)
        print(json.dumps({"name": self.name, "count": self.count,
                          "wrong": self.wrong[:5]}), flush=True)


def main():
    w = Writer(*sys.argv[1:])
    for line in sys.stdin:
        if line.strip() == "go":
            w.go()
        else:
            w.rest()


if __name__ == "__main__":
    main()
