# SPDX-License-Identifier: BSD-3-Clause
"""Good clients that are programs: run again and again, in threads.

A program may fail: its server is killed, or has neither memory nor descriptors
left. But each must succeed at times, and none may get data that are wrong.
"""

import random
import subprocess
import threading

from machine import begin, end

TIME = 120  # seconds for one run


class Load:
    """@make(rng) gives (argv or shell command, what it may never say)."""

    def __init__(self, name, make, seed):
        self.name, self.make = name, make
        self.rng = random.Random("%s %s" % (seed, name))
        self.good = self.bad = 0
        self.last, self.wrong = "", []
        self.stop = threading.Event()
        self.thread = self.process = None

    def once(self):
        command = self.make(self.rng)
        self.process = begin(["bash", "-c", command], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        try:
            out, _ = self.process.communicate(timeout=TIME)
        except subprocess.TimeoutExpired:
            end(self.process, 5)
            out, _ = self.process.communicate()
        text = out.decode("utf-8", "replace").strip()
        if self.process.returncode == 0:
            self.good += 1
            return
        self.bad += 1
        self.last = text[-200:]
        if "wrong data" in text or "differ" in text:
            self.wrong.append("%s: %s" % (self.name, self.last))

    def run(self):
        while not self.stop.is_set():
            before = self.bad
            self.once()
            if self.bad != before:
                self.stop.wait(self.rng.uniform(0.1, 1))
            self.stop.wait(self.rng.uniform(0, 0.3))

    def go(self):
        self.stop.clear()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def rest(self):
        self.stop.set()

    def rested(self):
        self.thread.join(TIME + 30)
        return not self.thread.is_alive()


def bench(program, transport, server, place, name, options=""):
    """Writes a file, reads it back and compares, then loads for a second."""
    mount, nfs = place

    def make(rng):
        return ("exec '%s' --transport %s --server %s --mount %s "
                "--nfs %s --file %s --file-size 4M --block %s --depth %d "
                "--seconds 1 --tests %s %s %s" % (
                    program, transport, server, mount, nfs, name,
                    rng.choice(("64K", "256K", "1M")), rng.choice((1, 4, 16)),
                    rng.choice(("null", "read4k", "readseq", "writeseq",
                                "readseq,writeseq")),
                    rng.choice(("", "--file-sync")), options))
    return make


def ping(program, server, options=""):
    def make(rng):
        return ("exec '%s' --server %s --flood --quiet --timeout "
                "20000 --count %d --depth %d %s" % (
                    program, server, rng.choice((1, 100, 20000)),
                    rng.choice((1, 8, 32)), options))
    return make


def libnfs(port, mount, digest):
    """Reads a file by NFSv3 or 4 and compares it."""
    def make(rng):
        query = rng.choice(("version=4&nfsport=%d" % port,
                            "version=3&nfsport=%d&mountport=%d" %
                            (port, mount)))
        return ("d=$(timeout 60 nfs-cat 'nfs://127.0.0.1/export/file?%s' | "
                "sha256sum; exit ${PIPESTATUS[0]}) || { echo nfs-cat; exit 1; "
                "}; [ \"${d%%%% *}\" = %s ] || { echo differ; exit 1; }" % (
                    query, digest))
    return make


def settle(loads):
    """All of them have ended; the names of those that do not."""
    for load in loads:
        load.rest()
    return [x.name for x in loads if not x.rested()]
