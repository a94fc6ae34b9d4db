#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ganesha's duplicate request caches, once nobody has come back to them.

    drc.py NFS-PORT MOUNT-PORT RDMA-PORT LOG FILE

Ganesha has a cache for each client that it has not forgotten yet, all in one
tree ordered by address. If the addresses of clients by RDMA are not of the
family that those by TCP have, the order is none: it frees caches that it does
not find in the tree, and meets them there later. So: clients of many addresses,
by TCP and by RDMA in turn, each with a Call that is not idempotent; all
leave; time passes (FILE, see tests/tools/later.c); and one more comes, by which
Ganesha frees the caches of the others, and then some of them come back.
"""

import random
import sys
import time

from peers import Call, Tcp, Version2
from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import opaque, u32
from root import root

REMOVE, NOENT = 12, 2
CLIENTS = 60  # of each kind


class Clients:
    def __init__(self, fh, tcp, rdma):
        self.fh, self.ports = fh, {Tcp: tcp, Version2: rdma}

    def come(self, kind, source):
        """With a Call that Ganesha keeps the Reply of."""
        c = kind(self.ports[kind], source)
        m = rpc.call(random.getrandbits(30), vers=3, proc=REMOVE,
                     args=opaque(self.fh) + opaque("nothing"))
        status = rpc.Reply(u32(0) + c.call(Call(m))).r.u32()
        assert status == NOENT, "%s %s: status %d" % (kind.name, source, status)
        return c


def logged(path, text):
    with open(path, encoding="utf-8", errors="replace") as f:
        return sum(text in line for line in f)


def until(what, cond):
    end = time.monotonic() + 60
    while not cond():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def main(tcp, mount, rdma, log, later):
    here = [(kind, "127.1.%d.%d" % (n, random.randrange(1, 255)))
            for n in range(CLIENTS) for kind in (Tcp, Version2)]
    random.shuffle(here)
    clients = Clients(root(mount), tcp, rdma)
    for c in [clients.come(*who) for who in here]:
        c.close()
    # One more is that of MOUNT.
    left = len(here)
    until("the caches are still in use",
          lambda: logged(log, "for recycle") >= left)
    assert not logged(log, "remove expired drc"), "freed too early"
    open(later, "w", encoding="ascii").close()
    clients.come(Tcp, "127.2.0.1").close()
    until("no cache is freed",
          lambda: logged(log, "remove expired drc") >= left)
    random.shuffle(here)
    for who in here:
        clients.come(*who).close()


main(*(int(p) for p in sys.argv[1:4]), *sys.argv[4:])
