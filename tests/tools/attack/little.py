#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Good clients of a gateway that has little memory: none of them may be ended.

    little.py PID STATS TCP-PORT - [TURN...]

PID, STATS and TCP-PORT are the gateway's. Its memory is less than what all
clients want at once, so they wait for it, one behind the other, and for nothing
else: each of their Calls must be answered.
"""

import struct
import sys
import threading
import time

from attack import (ENDED, MB, Wrong, check, nfs4_read, rpc, stats, tcp,
                    until)

LONG = 120


def call(msg):
    return struct.pack(">I", len(msg) | 1 << 31) + msg


def exactly(s, n):
    got = bytearray()
    while len(got) < n:
        data = s.recv(n - len(got))
        if not data:
            raise ConnectionResetError("the end")
        got += data
    return got


def replies(s, xids):
    """Until there is one for each, in any order."""
    xids = set(xids)
    while xids:
        n, = struct.unpack(">I", exactly(s, 4))
        xids.remove(struct.unpack(">I", exactly(s, n & 0x7fffffff)[:4])[0])


def writer(s, n):
    """So many Calls of 1 MiB, with no regard to Replies."""
    def send():
        try:
            for xid in range(n):
                s.sendall(call(rpc(xid, 100003, 4, 0, bytes(MB))))
        except OSError:
            pass  # the other thread sees it

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    replies(s, range(n))
    thread.join()


def all_at_once(count, work):
    """@count clients that do this at the same time."""
    clients, failed = [], []
    for _ in range(count):
        clients.append(tcp("127.0.0.2"))
        clients[-1].settimeout(LONG)

    def run(s):
        try:
            work(s)
        except OSError as e:
            failed.append(repr(e))

    threads = [threading.Thread(target=run, args=(s,)) for s in clients]
    begin = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("# %d clients: %.1f s, %d times one waited for memory" %
          (count, time.monotonic() - begin,
           stats()["gateway"].get("memory_waits", 0)))
    for s in clients:
        s.close()
    check(not failed, "%d of %d: %s" % (len(failed), count, failed[:1]))


def writers():
    """What has begun behind a long Call holds no more than it needs."""
    all_at_once(12, lambda s: writer(s, 4))


def many_clients():
    """More than it has memory for: whoever is not turned away is served."""
    clients, ends = [tcp("127.0.0.2") for _ in range(40)], []

    def run(s):
        s.settimeout(LONG)
        try:
            for xid in range(1, 4):
                writer(s, 1)
                s.sendall(call(nfs4_read(xid, xid * MB, MB)))
                replies(s, [xid])
            ends.append("served")
        except TimeoutError:
            ends.append("neither")
        except ENDED:
            ends.append("turned away")

    threads = [threading.Thread(target=run, args=(s,)) for s in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("# of %d clients %d are served, %d turned away" % (
        len(clients), ends.count("served"), ends.count("turned away")))
    check("neither" not in ends, "neither served nor turned away")
    check(ends.count("served") >= 16, "too few are served")
    for s in clients:
        s.close()


def beyond_eight(source, n):
    """The server has connections for eight clients; and @n more of @source."""
    served = [tcp("127.0.0.2") for _ in range(8)]
    for s in served:
        s.settimeout(LONG)
        s.sendall(call(rpc(1, 100003, 4, 0)))
        replies(s, [1])
    others = [tcp(source) for _ in range(n)]
    for s in others:
        s.sendall(call(nfs4_read(1, 0, MB)))
    check(until(lambda: stats()["clients"] == 8 + n, 30), "not all are clients")
    return served, others


def unserved():
    """Clients for which the server has no connection, which it has for eight."""
    served, others = beyond_eight("127.0.0.3", 30)
    for xid in range(2, 20):
        for s in served:
            s.sendall(call(nfs4_read(xid, xid * MB, MB)))
        for s in served:
            replies(s, [xid])
    for s in served + others:
        s.close()


def early():
    """Who has waited long for a server that does not take it gives way."""
    served, others = beyond_eight("127.0.0.2", 4)
    end = time.monotonic() + 12
    while time.monotonic() < end:
        for s in served:
            s.sendall(call(rpc(2, 100003, 4, 0)))
            replies(s, [2])
        time.sleep(0.2)
    before = stats()
    last = tcp("127.0.0.2")
    check(until(lambda: stats()["clients_accepted"] > before["clients_accepted"],
                10), "the new one was turned away")
    check(until(lambda: stats()["gateway"]["gave_way"] == 1, 10),
          "none gave way")
    ended = 0
    for s in others:
        s.settimeout(0.2)
        try:
            ended += not s.recv(1)
        except TimeoutError:
            pass
    check(ended == 1, "%d of those that waited have ended" % ended)
    for s in served:
        s.sendall(call(rpc(3, 100003, 4, 0)))
        replies(s, [3])
    for s in [*served, *others, last]:
        s.close()


def huge():
    """Counts that no memory is enough for: Calls are answered all the same."""
    before = stats()["gateway"]
    s = tcp("127.0.0.2")
    s.settimeout(LONG)
    s.sendall(call(nfs4_read(1, 0, 600 * MB)))
    n = struct.unpack(">I", exactly(s, 4))[0] & 0x7fffffff
    exactly(s, n)
    check(n >= MB, "a Reply of %d octets" % n)
    # GETDEVICEINFO
    s.sendall(call(rpc(2, 100003, 4, 1, struct.pack(">4I", 0, 1, 1, 47) +
                       bytes(16) + struct.pack(">3I", 1, 600 * MB, 0))))
    replies(s, [2])
    after = stats()["gateway"]
    for what, n in (("records_refused", 0), ("evictions", 0),
                    ("counts_lowered", 1)):
        check(after[what] - before[what] == n, "%s: %d" % (what, after[what]))
    s.close()


TURNS = (writers, many_clients, huge, unserved, early)


def main():
    wanted, failed = sys.argv[5:], False
    for turn in TURNS:
        if wanted and turn.__name__ not in wanted:
            continue
        try:
            turn()
            check(until(lambda: stats()["clients"] == 0, 60),
                  "clients are left")
            check(stats()["gateway"].get("evictions", 0) == 0,
                  "clients have been ended")
            print("ok gateway-little-%s" % turn.__name__)
        except (OSError, Wrong) as e:
            failed = True
            print("not ok gateway-little-%s %s" % (turn.__name__, e))
        sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
