#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Send Calls at a few rates, and print what the server took.

See tests/bench/rates, which starts this. A way is TRANSPORT:NAME:PID:PORT.
"""

import argparse
import glob
import subprocess
import sys
import time
from statistics import median

SETTLE = 1  # seconds, to connect in


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int)
    p.add_argument("--seconds", type=int)
    p.add_argument("--rates")
    p.add_argument("--way", action="append", default=[])
    p.add_argument("bench")
    return p.parse_args()


def cpu(pid):
    """Processor time of a process, of threads that have ended, too, in ms."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


def sleeps(pid):
    """How often each of its threads went to sleep."""
    found = {}
    for path in glob.glob("/proc/%d/task/*/status" % pid):
        try:
            for line in open(path):
                if line.startswith("voluntary_ctxt_switches:"):
                    found[path] = int(line.split()[1])
        except OSError:
            pass
    return found


def measure(o, way, rate):
    """Processor time, in ms, and sleeps of a second."""
    transport, _, pid, port = way.split(":")
    client = None
    if rate:
        client = subprocess.Popen(
            [o.bench, "--transport", transport, "--server",
             "127.0.0.1:" + port, "--tests", "null", "--depth", "1",
             "--rate", str(rate), "--seconds", str(o.seconds + 2 * SETTLE)],
            stdout=subprocess.DEVNULL)
        time.sleep(SETTLE)
    start, before, slept = time.monotonic(), cpu(int(pid)), sleeps(int(pid))
    time.sleep(o.seconds)
    after, now = cpu(int(pid)), sleeps(int(pid))
    took = time.monotonic() - start
    if client and client.wait():
        sys.exit("rpcrdma-bench: status %d" % client.returncode)
    return ((after - before) / took,
            sum(n - slept.get(path, 0) for path, n in now.items()) / took)


def main():
    o = arguments()
    rates = [int(r) for r in o.rates.split(",")]
    got = {}
    for _ in range(o.rounds):
        for rate in rates:
            for way in o.way:
                got.setdefault((rate, way), []).append(measure(o, way, rate))
    print("| Calls/s | %s |" % " | ".join(
        "%s: CPU, ms/s | sleeps/s" % w.split(":")[1] for w in o.way))
    print("|--:|%s" % ("--:|--:|" * len(o.way)))
    for rate in rates:
        base = [median(x) for x in zip(*got[rate, o.way[0]])]
        cells = []
        for way in o.way:
            for i, x in enumerate(zip(*got[rate, way])):
                cells.append("%.2f (%.2f)" % (median(x), median(x) / base[i]))
        print("| %d | %s |" % (rate, " | ".join(cells)))
    print("\nMedians of %d rounds of %d s; in parentheses, divided by that of %s." %
          (o.rounds, o.seconds, o.way[0].split(":")[1]))


main()
