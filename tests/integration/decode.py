#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does Ganesha read the operations of a COMPOUND as src/nfs does?

    rpcrdma-decode-args SEED COUNT | decode.py NFS-PORT

Ganesha decodes all operations before it executes the first. So each is sent behind
an OP_ILLEGAL, over TCP, which this project has no part in: if its arguments can be
read the answer is OP_ILLEGAL, else GARBAGE_ARGS. Where they end is known from a
Call of that length, which can be read, and one that is a word shorter, which cannot.
"""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))
# pylint: disable=wrong-import-position
import release  # noqa: E402
from rpcrdma_conformance import rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32  # noqa: E402

ILLEGAL, GARBAGE_ARGS = 10044, 4
AT_ONCE = 32
PUTFH, BACKCHANNEL_CTL, EXCHANGE_ID, CREATE_SESSION = 22, 40, 42, 43
# Ganesha limits lengths and counts that are in reach here.
LIMITED = (PUTFH, BACKCHANNEL_CTL, EXCHANGE_ID, CREATE_SESSION)
LAYOUTERROR, LAYOUTSTATS = 64, 65
# No release takes a list of servers to copy from.
REFUSED = "COPY between servers"
# Read otherwise than the RFCs have it, as src/nfs/nfs4_op.c says: what is a
# COMPOUND's end for them.
OTHERWISE = {
    60: b"", 61: b"", 66: b"", 67: b"", 71: b"",
    LAYOUTERROR: bytes(56),
    LAYOUTSTATS: bytes(64),
}
if release.at_least("15.2"):
    # It has COPY, OFFLOAD_CANCEL and OFFLOAD_STATUS.
    for implemented in 60, 66, 67:
        del OTHERWISE[implemented]


class Server:
    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port), 60)
        self.f = self.s.makefile("rb")
        self.xid = 0

    def take(self):
        n, = struct.unpack(">I", self.f.read(4))
        message = self.f.read(n & 0x7fffffff)
        reply = rpc.Reply(message)
        xid, = struct.unpack(">I", message[:4])
        if reply.denied:
            raise SystemExit("a Call was denied")
        if reply.stat == GARBAGE_ARGS:
            return xid, False
        status = reply.r.u32() if not reply.stat else None
        if status != ILLEGAL:
            raise SystemExit("RPC %d, status %s" % (reply.stat, status))
        return xid, True

    def ask(self, calls):
        """[(op, args)]: can each be read?"""
        out = {}
        for i in range(0, len(calls), AT_ONCE):
            part = calls[i:i + AT_ONCE]
            xids = []
            for op, args in part:
                self.xid += 1
                m = rpc.compound(self.xid, [u32(ILLEGAL), u32(op) + args],
                                 minor=0)
                xids.append(self.xid)
                self.s.sendall(struct.pack(">I", 1 << 31 | len(m)) + m)
            got = dict(self.take() for _ in part)
            out.update({i + n: got[x] for n, x in enumerate(xids)})
        return [out[n] for n in range(len(calls))]


def main(port):
    server = Server(port)
    calls, what = [], []
    for line in sys.stdin:
        op, length, octets, name = line.rstrip("\n").split(" ", 3)
        op, length, octets = int(op), int(length), bytes.fromhex(octets)
        if op in OTHERWISE:
            continue
        if length < 0:
            calls.append((op, octets))
            what.append((op, name, "refused here, with", octets, False))
            continue
        calls.append((op, octets[:length]))
        what.append((op, name, "read here", octets[:length], True))
        if length:
            calls.append((op, octets[:length - 4]))
            what.append((op, name, "read here with a word more",
                         octets[:length - 4], False))
    for op, args in OTHERWISE.items():
        calls.append((op, args))
        what.append((op, "operation %d" % op, "without", args, True))
        if args:
            calls.append((op, args[:-4]))
            what.append((op, "operation %d" % op, "shorter", args[:-4], False))
    faults, limited = [], 0
    for got, (op, name, how, args, expected) in zip(server.ask(calls), what):
        if got and not expected:
            faults.append("Ganesha reads %s, %s: %s" % (name, how, args.hex()))
        elif expected and not got:
            if op in LIMITED or name == REFUSED:
                limited += 1
            else:
                faults.append("Ganesha refuses %s, %s: %s" % (name, how,
                                                              args.hex()))
    print("# %d Calls, %d that Ganesha has a limit for" % (len(calls), limited))
    for fault in faults[:20]:
        print("# " + fault)
    if len(calls) < 1000:
        raise SystemExit("too few to tell")
    if faults:
        raise SystemExit("%d differences" % len(faults))


main(int(sys.argv[1]))
