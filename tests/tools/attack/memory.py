#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What connections cost a server, as a table. Run by tests/bench/memory.

    memory.py PID STATS RDMA-PORT CONNECTIONS MOST
    memory.py PID STATS RDMA-PORT check

RSS, and of that the heap (what malloc has), and what is in use of the pool, in
octets for each connection, or in all; of so many connections that are idle, that
have been busy once, that have ended, and of MOST that are idle. What a Receive
has not been used for yet is in use, but not resident.

With "check", whether the heap is given back: of what some connections have needed,
busy all at once, no more than KEPT for each may be left when they are at rest. And
malloc must have few arenas, as the server sees two processors.
"""

import os
import resource
import select
import sys
import time

sys.argv[4:] = ["true"] + sys.argv[4:]
# pylint: disable=wrong-import-position
from attack import (ENDED, PID, Peer, check, gather,  # noqa: E402
                    many_hosts, nfs4_read, rpc, stats, tcp, until, v2)

def poll(r, w, x, timeout):
    """select() knows no descriptor above 1023."""
    p = select.poll()
    for s in r:
        p.register(s, select.POLLIN)
    for s in w:
        p.register(s, select.POLLOUT)
    got = dict(p.poll(timeout * 1000))
    return ([s for s in r if s.fileno() in got],
            [s for s in w if s.fileno() in got], x)


select.select = poll
ARENA = 64 << 20  # malloc's, at such a multiple
CALLS = 60
# Measured: 50 to 180 KiB; 1,060 if the connections keep their free lists, 2,720 if
# malloc keeps what they have freed.
KEPT = 400 << 10
# Two, and what may happen to begin where one would.
MOST_ARENAS = 4


def memory():
    """(RSS, of that heap), and in how many pieces that is"""
    rss = heap = pieces = 0
    ours = False
    with open("/proc/%d/smaps" % PID, encoding="ascii") as f:
        for line in f:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                start = int(words[0].split("-")[0], 16)
                name = words[5] if len(words) > 5 else ""
                ours = name == "[heap]" or (not name and not start % ARENA)
                pieces += ours
            elif words[0] == "Rss:":
                rss += int(words[1]) << 10
                heap += int(words[1]) << 10 if ours else 0
    return rss, heap, pieces


def figures():
    return memory()[:2] + (stats()["pool"]["bytes_in_use"],)


def row(title, was, now, n=0):
    if n:
        print("| %s | %s |" % (title, " | ".join(
            "%.1f KiB" % ((b - a) / n / 1024) for a, b in zip(was, now))))
    else:
        print("| %s | %s |" % (title, " | ".join(
            "%.1f MiB" % (b / (1 << 20)) for b in now)))
    sys.stdout.flush()


def connect(n):
    hold, failed = gather(n, lambda i: Peer(tcp(many_hosts(i // 50))))
    check(not failed, "%d of %d were refused" % (failed, n))
    return hold


def replies(p, n):
    while n:
        if p.got() + 16 > p.credit:
            p.credit = p.got() + 48
            p.msg(v2.GRANT)
        n -= v2.Header(p.recv()).htype == v2.REPLY_INLINE


def read(p, n, length):
    """Long Replies, which wait until replies() takes them."""
    p.credit = p.got() + 2
    for _ in range(n):
        p.msg(v2.CALL_INLINE, payload=nfs4_read(p.xid + 1, 0, length))


def busy(p):
    """As many Calls at once as there are credits for; and long Replies."""
    p.credit = p.got() + 100
    for _ in range(CALLS):
        p.msg(v2.CALL_INLINE, payload=rpc(p.xid + 1, 100003, 3, 0))
    replies(p, CALLS)
    read(p, CALLS - 10, 32768)
    replies(p, CALLS - 10)


def end(hold):
    for p in hold:
        try:
            p.close(True)
        except ENDED:
            pass
    check(until(lambda: not stats()["connections_now"], 60), "not ended")


def look():
    arenas = memory()[2]
    n = 40
    one = connect(1)
    busy(one[0])
    end(one)
    hold = connect(n)
    was = memory()[1]

    def each():
        return (memory()[1] - was) // n

    def given_back():
        # Nobody asks the server meanwhile: it is to be at rest.
        time.sleep(0.5)
        return each() < KEPT

    for p in hold:
        read(p, CALLS - 10, 32768)
    for p in hold:
        replies(p, CALLS - 10)
    needed = each()
    until(given_back, 60)
    print("# %d arenas; of the heap for each of %d connections: %d KiB when it was "
          "busy, %d at rest" % (arenas, n, needed >> 10, each() >> 10))
    check(arenas <= MOST_ARENAS, "more than %d arenas" % MOST_ARENAS)
    check(needed > 2 * KEPT, "they were not busy")
    check(each() < KEPT, "more than %d KiB at rest" % (KEPT >> 10))
    end(hold)


def processor(seconds):
    """The share of a processor that the server takes, in percent."""
    def taken():
        with open("/proc/%d/stat" % PID, encoding="ascii") as f:
            words = f.read().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])

    before = taken()
    time.sleep(seconds)
    return 100 * (taken() - before) / os.sysconf("SC_CLK_TCK") / seconds


def main():
    if sys.argv[5] == "check":
        look()
        return
    n, most = int(sys.argv[5]), int(sys.argv[6])
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    print("| | RSS | heap | pool in use |\n|---|--:|--:|--:|")
    one = connect(1)
    busy(one[0])
    end(one)
    base = figures()
    row("server, no connection", None, base)
    hold = connect(n)
    row("a connection, idle (of %d)" % n, base, figures(), n)
    for p in hold:
        busy(p)
    row("the same, just after it was busy", base, figures(), n)
    time.sleep(6)
    row("the same, 6 s later", base, figures(), n)
    end(hold)
    time.sleep(6)
    row("server, after these have ended", None, figures())
    for _ in range(2):
        hold = connect(n)
        for p in hold:
            busy(p)
        end(hold)
    time.sleep(6)
    row("server, after twice as many more", None, figures())
    base = figures()
    hold = connect(most)
    row("a connection, idle (of %d)" % most, base, figures(), most)
    row("server with these", None, figures())
    time.sleep(10)
    idle = processor(30)
    end(hold)
    time.sleep(6)
    row("server, after these have ended", None, figures())
    print("\n%d idle connections take %.1f %% of a processor." % (most, idle))


main()
