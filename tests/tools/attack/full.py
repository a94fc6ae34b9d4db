#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py, by many hosts together: all memory is taken.

    full.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]

No share of a host holds that. What must hold: a client that is connected goes
on, while memory becomes full and while it is, and new ones are refused. So the
good client here has one connection all the time; only afterwards, when all has
been given back, the good command must succeed too. It prints what Calls the
good client had answered in a second, alone and during the attack.
"""

import resource
import sys
import threading
import time
import traceback

import attack
from good import run as good_command
from attack import (ENDED, MB, MAX_MEMORY, PID, Continuation, Peer, Wrong,
                    check, gather, given_back, many_hosts, nfs4_read, rpc,
                    stats, status, tcp, until, v2)

OCTETS = 2000000
READ = 200000


class Good(threading.Thread):
    """NULLs, 16 at a time, and now and then a READ whose Reply is continued."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peer = Peer(tcp("127.0.0.1"))
        self.stop = threading.Event()
        self.done = 0
        self.longest = 0.0
        self.failed = None

    def reply(self):
        """The XID of a whole Reply."""
        p = self.peer
        while True:
            if p.got() + 16 > p.credit:
                p.credit = p.got() + 48
                p.msg(v2.GRANT)
            h = v2.Header(p.recv())
            p.limit = h.credit
            if h.htype in (v2.REPLY_MIDDLE, v2.GRANT):
                continue
            check(h.htype == v2.REPLY_INLINE, "an answer of type %d" % h.htype)
            return h.xid

    def calls(self, make, n):
        p, left, sent = self.peer, set(), 0
        while sent < n or left:
            # It keeps to its credits.
            while sent < n and p.sent() < p.limit:
                p.credit = p.got() + 48
                left.add(p.msg(v2.CALL_INLINE, payload=make(p.xid + 1)))
                sent += 1
            left.remove(self.reply())
            self.done += 1

    def run(self):
        turns = 0
        try:
            while not self.stop.is_set():
                begin = time.monotonic()
                self.calls(lambda xid: rpc(xid, 100003, 3, 0), 16)
                if not turns % 20:
                    self.calls(lambda xid: nfs4_read(xid, 0, READ), 1)
                turns += 1
                self.longest = max(self.longest, time.monotonic() - begin)
        except Exception as e:  # pylint: disable=broad-except
            self.failed = "%s: %s" % (type(e).__name__, e)

    def rate(self, seconds):
        begin, done = time.monotonic(), self.done
        while time.monotonic() - begin < seconds and not self.failed:
            time.sleep(0.05)
        check(not self.failed, "the good client, after %d Calls: %s" %
              (self.done, self.failed))
        return (self.done - done) / (time.monotonic() - begin)


class Full:
    """Messages without end of three hosts, then connections of others, each
    with Calls whose Replies it does not take, until no more are accepted."""

    def __init__(self):
        self.hold = []
        self.refused = self.admitted = 0

    def more(self, host):
        """Connections of more hosts, until ten in a row are refused."""
        row, new = 0, []
        for i in range(600):
            try:
                new.append(Peer(tcp(many_hosts(host + i // 32))))
                row = 0
            except ENDED:
                row += 1
                self.refused += 1
                if row == 10:
                    break
        self.hold += new
        self.admitted += len(new)
        for p in new:
            try:
                p.credit = 2
                for _ in range(40):
                    p.msg(v2.CALL_INLINE,
                          payload=rpc(p.xid + 1, 100003, 3, 0))
            except ENDED:
                pass

    def begin(self):
        for host in range(3):
            new, _ = gather(40, lambda i, h=host: Peer(tcp(many_hosts(h))))
            self.hold += new
            for p in new:
                try:
                    Continuation.fragments(p, OCTETS, OCTETS // 4000 - 20)
                except ENDED:
                    pass
        for host in (100, 200, 300):
            self.more(host)

    def end(self):
        for p in self.hold:
            try:
                p.close(True)
            except OSError:
                pass


def full():
    good = Good()
    good.start()
    alone = good.rate(2)
    good.longest = 0
    kind = Full()
    before = status("VmRSS")
    try:
        kind.begin()
        during = good.rate(3)
        used = stats()["pool"]["bytes_in_use"]
        check(kind.refused >= 10, "only %d were refused" % kind.refused)
    finally:
        kind.end()
    check(until(lambda: stats()["connections_now"] == 1, 60),
          "connections are left")
    after = good.rate(2)
    good.stop.set()
    good.join(60)
    check(not good.failed, "the good client: %s" % good.failed)
    good.peer.close(True)
    check(until(given_back, 60), "not all is given back: %r" % stats()["pool"])
    good_command(attack.GOOD, PID)
    print("# %-16s good %d Calls/s alone, %d when it is full, %d after; %.2f s "
          "at most for 16; %d admitted, %d refused, %d of %d MB in use, RSS %d,"
          " then %d MB" %
          ("Full", alone, during, after, good.longest, kind.admitted,
           kind.refused, used // MB, MAX_MEMORY // MB, before // MB,
           status("VmRSS") // MB))


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    failed = False
    try:
        check(PID, "no server")
        full()
        print("ok attack-Full")
    except Exception as e:  # pylint: disable=broad-except
        failed = True
        if not isinstance(e, Wrong):
            traceback.print_exc(file=sys.stdout)
        print("not ok attack-Full %s" % str(e).replace("\n", " "))
    sys.exit(failed)


if __name__ == "__main__":
    main()
