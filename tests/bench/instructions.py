#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Have Calls made with one end under callgrind, and print what they took.

See tests/bench/instructions, which starts this.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

FACTOR = 3  # the longer run has so many times the Calls
TITLES = {"null": "NULL", "read4k": "READ 4 KiB", "write4k": "WRITE 4 KiB"}


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--who", choices=("client", "server"))
    p.add_argument("--calls", type=int)
    p.add_argument("--rows")
    p.add_argument("--functions", type=int)
    p.add_argument("--pid", type=int)
    p.add_argument("--build")
    p.add_argument("--grind")
    p.add_argument("bench", nargs="+")
    return p.parse_args()


def read(path):
    """Instructions of a profile by (object, function): lines "fn=(number) name"
    and "ob=(number) name", where the name stands once, and "LINE COUNT"; what
    follows "calls=" is of the function called."""
    names, found, now = {}, {}, {"ob": "?", "fn": "?"}
    of_callee = False
    for line in open(path, errors="replace"):
        m = re.match(r"c?(ob|fn)=\((\d+)\)(?: (.*))?", line)
        if m:
            if m[3]:
                names[m[1], m[2]] = m[3]
            if line[0] != "c":
                now[m[1]] = names[m[1], m[2]]
        elif line.startswith("calls="):
            of_callee = True
        elif re.match(r"[+*\d-]", line):
            if not of_callee:
                key = now["ob"], now["fn"]
                found[key] = found.get(key, 0) + int(line.split()[1])
            of_callee = False
    return found


class Counter:
    def __init__(self, o):
        self.o = o

    def bench(self, row, calls, *before):
        subprocess.run([*before, *self.o.bench, "--tests", row, "--calls",
                        str(calls)], stdout=subprocess.DEVNULL, check=True)

    def dump(self):
        """What the server did since the last one."""
        for path in glob.glob(os.path.join(self.o.grind, "server.*")):
            os.unlink(path)
        subprocess.run(["callgrind_control", "--dump", str(self.o.pid)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True)
        (path,) = glob.glob(os.path.join(self.o.grind, "server.*"))
        return read(path)

    def client(self, row, calls):
        path = os.path.join(self.o.grind, "client")
        self.bench(row, calls, "valgrind", "--quiet", "--tool=callgrind",
                   "--callgrind-out-file=" + path)
        return read(path)

    def server(self, row, calls):
        self.dump()
        self.bench(row, calls)
        return self.dump()

    def measure(self, row):
        o = self.o
        run = getattr(self, o.who)
        self.bench(row, 50)  # so that the file is there, and memory
        less, more = run(row, o.calls), run(row, o.calls * FACTOR)
        each = {k: (n - less.get(k, 0)) / (o.calls * (FACTOR - 1))
                for k, n in more.items()}
        ours = sum(n for (ob, _), n in each.items()
                   if ob.startswith(o.build + "/"))
        print("| %s | %s | %.0f | %.0f |" % (TITLES.get(row, row), o.who,
                                             sum(each.values()), ours))
        most = sorted(each.items(), key=lambda item: -item[1])
        for (ob, fn), n in most[:o.functions]:
            print("| | %s (%s) | %.0f | |" % (fn, os.path.basename(ob), n))


def main():
    o = arguments()
    o.build = os.path.realpath(o.build)
    if o.who == "client":
        print("| instructions for a Call | | all | this build's |")
        print("|---|---|--:|--:|")
    sys.stdout.flush()
    for row in o.rows.split(","):
        Counter(o).measure(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
