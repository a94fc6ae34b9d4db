#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py: connections whose time has always come.

    timers.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]
"""

import time

import attack
from attack import (ENDED, MB, Attack, Peer, check, gather, nfs4_read, stats,
                    tcp, until, v2)


def there(host):
    """How many connections of this host the server has."""
    return sum(c["peer"].rsplit(":", 1)[0] == host
               for c in stats()["connections"])


class Overdue(Attack):
    """Calls wait on 120 connections of two hosts, which the server looks at
    again and again; meanwhile others say nothing, and have to end in time."""

    HOSTS, EACH, READS = ("127.0.0.2", "127.0.0.3"), 60, 6
    SILENT, SILENTS = "127.0.0.4", 8

    def begin(self):
        waits = stats()["totals"]["reply_waits"]
        self.hold, failed = gather(
            len(self.HOSTS) * self.EACH,
            lambda i: Peer(tcp(self.HOSTS[i % len(self.HOSTS)])))
        check(not failed, "%d not made" % failed)
        for p in self.hold:
            try:
                # None for the rest of a Reply that is continued.
                p.credit = 2
                for i in range(self.READS):
                    p.msg(v2.CALL_INLINE,
                          payload=nfs4_read(p.xid + 1, i * MB, MB))
            except ENDED:
                pass
        # As many as there are connections, and nearly all have some.
        until(lambda: stats()["totals"]["reply_waits"] - waits >=
              len(self.hold), 30)
        self.many = self.still = self.overdue()
        check(self.many > 64, "%d of them" % self.many)
        more, _ = gather(self.SILENTS,
                         lambda i: Peer(tcp(self.SILENT), greet=False))
        self.hold += more
        self.began = time.monotonic()
        self.took = None
        check(there(self.SILENT) > 0, "none is silent")

    def overdue(self):
        return sum(there(host) for host in self.HOSTS)

    def turn(self):
        if self.took is None and not there(self.SILENT):
            self.took = time.monotonic() - self.began
            self.still = self.overdue()
        self.stop.wait(0.2)

    def limit(self):
        # The others end, too, when they have had no credits for 60 s.
        until(lambda: self.took is not None or
              self.overdue() < self.many, 120)
        check(self.took is not None, "silent ones are there after %.1f s" %
              (time.monotonic() - self.began))
        self.note = " %d overdue, silent ones ended after %.1f s," % (
            self.still, self.took)
        check(self.still == self.many, "only with the others")


ATTACKS = (Overdue,)

if __name__ == "__main__":
    attack.main(ATTACKS)
