#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Have Calls made, read what they took, and compare it with the limits.

See tests/bench/counts, which starts this. The limits are lines of

    ROW WHO COUNT LIMIT

with ROW a test of rpcrdma-bench, "@N" behind it for N Calls a second, "-registered"
behind all of it (tests/bench/counts has both); WHO server or client; "#" begins a comment.
"""

import argparse
import glob
import os
import struct
import subprocess
import sys
import time

FACTOR = 3  # the longer run has so many times the Calls
TITLES = {"null": "NULL", "read4k": "READ 4 KiB", "write4k": "WRITE 4 KiB",
          "readseq": "READ 1 MiB", "writeseq": "WRITE 1 MiB"}
SECONDS = 0.5  # for the shorter run of a row with a rate
# What is over a limit is measured again so often, so many seconds later: for SLOW_MS of
# leader.c the server has other threads run Calls after two that took long, whatever the
# reason, and all rounds of a row may fall into that.
AGAIN = 2
PAUSE = 1.5


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--check", action="store_true")
    p.add_argument("--registered", action="store_true")
    p.add_argument("--limits")
    p.add_argument("--calls", type=int)
    p.add_argument("--rounds", type=int)
    p.add_argument("--rows")
    p.add_argument("--pid", type=int)
    p.add_argument("--counts")
    p.add_argument("--preload")
    p.add_argument("bench", nargs="+")
    return p.parse_args()


def read(directory, pid):
    """What has been counted of a process, by name."""
    data = open(os.path.join(directory, str(pid)), "rb").read()
    found = {}
    for i in range(0, len(data), 32):
        name, value = struct.unpack("24sQ", data[i:i + 32])
        found[name.rstrip(b"\0").decode()] = value
    return found


def sleeps(pid):
    total = 0
    for path in glob.glob("/proc/%d/task/*/status" % pid):
        try:
            text = open(path).read()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def difference(after, before):
    return {k: after[k] - before.get(k, 0) for k in after}


class Counter:
    def __init__(self, o):
        self.o = o
        self.limits = limits(o.limits)

    def limit(self, row, who, name):
        """None if there is none."""
        return self.limits.get((row + "-registered" * self.o.registered,
                                who, name))

    def is_over(self, row, key, value):
        most = self.limit(row, *key)
        return most is not None and value > most

    def run(self, row, calls, *more):
        """What that took of (server, client), with all that is before and
        after the Calls."""
        o = self.o
        test, _, rate = row.partition("@")
        more += ("--rate", rate) if rate else ()
        before = read(o.counts, o.pid)
        before["sleeps"] = sleeps(o.pid)
        env = dict(os.environ, LD_PRELOAD=o.preload)
        p = subprocess.Popen(o.bench + ["--tests", test, "--calls", str(calls)] +
                             list(more), env=env, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        if status:
            sys.exit("rpcrdma-bench %s: status %d" % (row, status))
        client = read(o.counts, p.pid)
        client["sleeps"] = usage.ru_nvcsw
        os.unlink(os.path.join(o.counts, str(p.pid)))
        after = read(o.counts, o.pid)
        after["sleeps"] = sleeps(o.pid)
        return {"server": difference(after, before), "client": client}

    def measure(self, row):
        """The least of each count for a Call, as {(who, count): value}."""
        o = self.o
        best = {}
        test, _, rate = row.partition("@")
        calls = int(int(rate) * SECONDS) if rate else o.calls
        self.run(test, 50)  # so that the file is there, and memory
        for n in range(o.rounds * (1 + AGAIN)):
            if n and n % o.rounds == 0:
                if not any(self.is_over(row, *item) for item in best.items()):
                    break
                time.sleep(PAUSE)
            less = self.run(row, calls, "--no-fill")
            more = self.run(row, calls * FACTOR, "--no-fill")
            for who in less:
                d = difference(more[who], less[who])
                for name, value in d.items():
                    value /= calls * (FACTOR - 1)
                    key = (who, name)
                    best[key] = min(best.get(key, value), value)
        return best

    def system_calls(self, row):
        """Those of the server for a Call, by name, or None."""
        o = self.o
        names = ["raw_syscalls:sys_enter"]
        for s in ("futex", "epoll_wait", "recvfrom", "recvmsg", "sendmsg",
                  "write", "pread64", "preadv", "pwrite64", "pwritev",
                  "clock_nanosleep", "madvise"):
            names.append("syscalls:sys_enter_" + s)
        both = []
        for calls in (o.calls, o.calls * FACTOR):
            out = os.path.join(o.counts, "perf")
            try:
                p = subprocess.Popen(["perf", "stat", "-x", ",", "-o", out,
                                      "-e", ",".join(names), "-p", str(o.pid)],
                                     stderr=subprocess.DEVNULL)
            except OSError:
                return None
            subprocess.run(["sleep", "0.5"])
            if p.poll() is not None:
                return None
            self.run(row, calls, "--no-fill")
            p.send_signal(2)
            p.wait()
            found = {}
            for line in open(out):
                w = line.split(",")
                if len(w) > 2 and w[0].isdigit():
                    found[w[2].split(":")[1].replace("sys_enter_", "")] = \
                        int(w[0])
            os.unlink(out)
            both.append(found)
        if not both[0]:
            return None
        return {k.replace("sys_enter", "all"): v / (o.calls * (FACTOR - 1))
                for k, v in difference(both[1], both[0]).items()}


def limits(path):
    found = {}
    for line in open(path):
        w = line.split("#")[0].split()
        if w:
            found[(w[0], w[1], w[2])] = float(w[3])
    return found


def show(x):
    return "%.0f" % x if x >= 1000 else "%.2f" % max(x, 0)


def title(row):
    test, _, rate = row.partition("@")
    return TITLES.get(test, test) + (", %s a second" % rate if rate else "")


def main():
    o = arguments()
    counter = Counter(o)
    bad = 0
    for row in o.rows.split(","):
        got = counter.measure(row)
        if not o.check:
            print("\n%s\n%-18s%12s%10s%12s%10s" % (
                title(row), "for a Call", "server", "limit",
                "client", "limit"))
        for name in dict.fromkeys(n for _, n in got):
            line = "%-18s" % name.replace("_", " ")
            for who in ("server", "client"):
                value = got[(who, name)]
                most = counter.limit(row, who, name)
                over = counter.is_over(row, (who, name), value)
                bad += over
                if over and o.check:
                    print("%s, %s: %s %s, the limit is %s" % (
                        title(row), who, show(value),
                        name.replace("_", " "), show(most)))
                line += "%12s%10s" % (
                    show(value), ("!" if over else "") + show(most)
                    if most is not None else "")
            if not o.check and any(got[(w, name)] >= 0.005
                                   for w in ("server", "client")):
                print(line.rstrip())
        if not o.check:
            found = "@" not in row and counter.system_calls(row)
            if found:
                print("system calls of the server: " + ", ".join(
                    "%s %.2f" % (k, v) for k, v in found.items() if v >= 0.005))
            sys.stdout.flush()
    return 1 if bad else 0


sys.exit(main())
