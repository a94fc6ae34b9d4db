# SPDX-License-Identifier: BSD-3-Clause
"""The Calls of duplicates.py: an operation of the model as NFSv3, 4.0, 4.1 and 4.2 have it,
and what there is in their Replies."""

from peers import Call, sys_cred
from duplicates_model import LENGTH, OK, READS, Seen, content
from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import u32, u64, opaque

SLOTS = 2


class Message:
    """A Call of version @vers ("3", "4.0", ...) and what of it the model has to know."""

    def __init__(self, run, client, vers, xid, op, session=None, slot=0, seq=0, keep=False):
        self.run, self.client, self.vers, self.xid, self.op = run, client, vers, xid, op
        self.v4, self.minor = vers != "3", int(vers[2:] or 0)
        self.live, self.slot, self.seq, self.keep = session, slot, seq, keep
        self.session = session and session.sid
        self.dead = False
        self.key = (client.name, vers, xid, op, self.session, slot, seq, keep)

    def call(self, stamp):
        cred = sys_cred(self.client.name, stamp=stamp)
        if not self.v4:
            return self.call3(cred)
        return self.call4(cred)

    def call3(self, cred):
        what, *a = self.op
        run, item, result, most = self.run, None, 0, 800
        here = opaque(run.dir3)
        attr = u32(1, 0o755, 0, 0, 0, 0, 0)
        if what == "mkdir":
            proc, args = 9, here + opaque(a[0]) + attr
        elif what == "create":
            how = {"unchecked": u32(0) + attr, "guarded": u32(1) + attr}.get(
                a[1], u32(2) + (a[1] * 8)[:8].encode())
            proc, args = 8, here + opaque(a[0]) + how
        elif what in ("remove", "rmdir"):
            proc, args = 12 + (what == "rmdir"), here + opaque(a[0])
        elif what == "rename":
            proc, args = 14, here + opaque(a[0]) + here + opaque(a[1])
        elif what == "readdir":
            proc, args, most = 16, here + u64(0) + bytes(8) + u32(1500), 1800
        else:
            fh = opaque(run.file3[a[0]])
            if what == "write":
                proc, args = 7, fh + u64(0) + u32(LENGTH, 2) + opaque(content(a[1]))
                item = -LENGTH
            elif what == "setattr":
                proc, args = 2, fh + u32(1, a[1], 0, 0, 0, 0, 0, 0)
            elif what == "read":
                proc, args, result, most = 6, fh + u64(0) + u32(2000), 2000, 2400
            else:
                proc, args = 1, fh
        m = rpc.call(self.xid, vers=3, proc=proc, args=args, cred=cred)
        return Call(m, item and (len(m) + item, LENGTH), result, most)

    def call4(self, cred):
        what, *a = self.op
        run, item, result, most = self.run, None, 0, 800
        here = [rpc.putfh(run.dir4)]
        if what == "mkdir":
            ops = here + [u32(rpc.CREATE, 2) + opaque(a[0]) + u32(2, 0, 2) +
                          opaque(u32(0o755))]
        elif what in ("remove", "rmdir"):
            ops = here + [u32(rpc.REMOVE) + opaque(a[0])]
        elif what == "rename":
            ops = here + [u32(32), u32(29) + opaque(a[0]) + opaque(a[1])]
        elif what == "readdir":
            ops, most = here + [rpc.readdir(1500)], 2000
        else:
            ops = [rpc.putfh(run.file4[a[0]])]
            if what == "write":
                ops.append(rpc.write(0, content(a[1])))
                item = -LENGTH
            elif what == "setattr":
                ops.append(u32(34) + bytes(16) + u32(2, 0, 2) + opaque(u32(a[1])))
            elif what == "read":
                ops.append(rpc.read(0, 2000))
                result, most = 2000, 2400
            else:
                ops.append(u32(rpc.GETATTR, 2, 0, 2))
        if self.session:
            ops.insert(0, u32(53) + self.session + u32(self.seq, self.slot, SLOTS - 1,
                                                       self.keep))
        m = rpc.compound(self.xid, ops, minor=self.minor, cred=cred)
        return Call(m, item and (len(m) + item, LENGTH), result, most)

    def seen(self, reply):
        r = rpc.Reply(u32(self.xid) + reply)
        if not r.ok:
            return Seen(reply, "RPC %s/%s" % (r.denied, r.stat), None)
        what = self.op[0]
        if self.v4:
            c = rpc.Compound(u32(self.xid) + reply)
            try:
                return self.seen4(reply, c, what)
            except rpc.Short:  # the Reply to another in its slot
                return Seen(reply, c.status, None)
        r = r.r
        status, got = r.u32(), None
        if status == OK and what in READS:
            if what == "getattr":
                r.u32()
                got = r.u32() & 0o777
            else:
                if r.u32():
                    r.fixed(84)
                if what == "read":
                    r.fixed(8)
                    got = r.opaque()
                else:
                    r.fixed(8)
                    got = []
                    while r.u32():
                        r.u64()
                        got.append(r.opaque().decode())
                        r.u64()
                    got = tuple(sorted(n for n in got if n not in (".", "..")))
        return Seen(reply, status, got)

    def seen4(self, reply, c, what):
        got = None
        if c.status == OK and what in READS:
            if self.session:
                c.good(53).fixed(36)
            c.good(rpc.PUTFH)
            if what == "getattr":
                r = c.good(rpc.GETATTR)
                for _ in range(r.u32()):
                    r.u32()
                r.u32()
                got = r.u32() & 0o777
            elif what == "read":
                r = c.good(rpc.READ)
                r.u32()
                got = r.opaque()
            else:
                got = tuple(sorted(n.decode() for n in rpc.names(c.good(rpc.READDIR))))
        return Seen(reply, c.status, got)
