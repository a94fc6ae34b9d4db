#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How the server knows a client that comes back.

    again.py answered|anew|apart|secret|session|trunk|bound|withheld|nothing|waits|state|stale|privileged NFS-PORT MOUNT-PORT RDMA-PORT DIR
                                            the server exports DIR as /export

By RDMA a client has another port on each connection, so Ganesha is told of a
port that does not change. Version 1 and 2 of the transport.

    answered    A connection that breaks leaves its client without some Replies;
                it connects again and sends those Calls with the XIDs that they
                had. What may not be done twice must not be: the server knows it
                by its duplicate request cache. NFSv3.
    anew        A client that has closed its connection in order begins with the
                same XIDs again: the same Call is another one, and is executed.
    apart       Two clients of one address that use the same XIDs for the same do
                not get each other's Replies.
    secret      The same Call at another start of the server has another checksum:
                nobody can compute one that is taken for another's. This part makes
                the Call, twice; again.test reads the server's log.
    session     An NFSv4.1 session that has been used over many connections, more
                than Ganesha remembers, can still be used, and ended.
    trunk       It can be used over 64 connections at once, as four mounts with 16 each
                make them, and over those that are left when some have ended.
    bound       A session is ended over a connection that is bound to it, by
                whatever binds one; over no other, though it be of the same address.
    withheld    What Ganesha is not to see (src/ntirpc/quirks/withheld.h) is answered in
                its place, and a client that asks again hears it again.
    nothing     An NFSv3 READ of 0 bytes gets none of the file, wherever it begins.
    waits       A client of NFSv4.0 that waits for a lock gets it once it is free.
    state       What `stale` needs of a start of the server.
    stale       At another start of the server: each operation that takes a stateid
                or a client's number, with those of `state`. By NFSv4.0 the
                answer is that over TCP, STALE_STATEID or STALE_CLIENTID, by which
                a client learns of the restart; by 4.1 and 4.2, where SEQUENCE tells
                it, there is no STALE_STATEID from what answers for Ganesha.
    privileged  An export with PrivilegedPort serves whoever has a port below
                1024, and nobody else.
"""

import errno
import json
import os
import random
import socket
import struct
import sys
import time

import peers
import release
from peers import DESTROY_SESSION, SEQUENCE, sys_cred
from rpcrdma_conformance import kit, rpc, v1
from rpcrdma_conformance.rpc import u32, u64, opaque
from root import root

GETATTR, REMOVE, RMDIR = 1, 12, 13
NOENT, ACCES, NOTDIR = 2, 13, 20
BIND_CONN_TO_SESSION, BADSESSION, NOT_BOUND = 41, 10052, 10055
GET_DIR_DELEGATION, READ_PLUS, NOTSUPP = 46, 68, 10004
LAYOUTERROR, LAYOUTSTATS, TEST_STATEID, BAD_STATEID = 64, 65, 55, 10025
LOCK, LOCKU, FREE_STATEID, LOCK_DENIED = 12, 14, 45, 10010
AUTH_TOOWEAK = 5
STALE_CLIENTID, STALE_STATEID = 10022, 10023
CONNECTIONS = 40  # Ganesha counts 16 of a session
AT_ONCE = 64


class Version1:
    name = "version 1"

    def __init__(self, bench):
        self.bench = bench

    def connect(self, **options):
        return v1.Conn(self.bench.iwarp(**options))

    def lose(self):
        """All connections break."""
        for iw in self.bench.conns:
            iw.close(reset=True)
        self.bench.conns = []

    @staticmethod
    def call(c, message):
        """The RPC Reply."""
        return c.call(message)[1]


class Version2(Version1):
    name = "version 2"

    def connect(self, **options):
        return self.bench.connect(**options)

    @staticmethod
    def call(c, message):
        answer = c.call(message)
        assert not answer.error, answer.last
        return answer.payload


class Tcp:
    name = "TCP"

    def __init__(self, port):
        self.port = port

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    @staticmethod
    def call(c, message):
        c.sendall(struct.pack(">I", 1 << 31 | len(message)) + message)
        n = struct.unpack(">I", c.recv(4, socket.MSG_WAITALL))[0] & 0x7fffffff
        return c.recv(n, socket.MSG_WAITALL)


def answered(v, fh, folder):
    name = "again-%x" % random.getrandbits(40)
    path = os.path.join(folder, name)
    open(path, "w").close()
    xid = random.getrandbits(30)
    status = []
    for i in (0, 0, 0, 1):
        m = rpc.call(xid + i, vers=3, proc=REMOVE,
                     args=opaque(fh) + opaque(name))
        status.append(rpc.Reply(v.call(v.connect(), m)).r.u32())
        assert not os.path.exists(path), "it is still there"
        v.lose()
    assert status == [0, 0, 0, NOENT], "first, again, again, another: %s" % \
        status


def anew(v, fh, folder):
    name = "again-%x" % random.getrandbits(40)
    path = os.path.join(folder, name)
    xid = random.getrandbits(30)
    beside = v.connect()  # another connection of the host stays

    def remove():
        iw = len(v.bench.conns)
        m = rpc.call(xid, vers=3, proc=REMOVE, args=opaque(fh) + opaque(name))
        status = rpc.Reply(v.call(v.connect(), m)).r.u32()
        v.bench.conns.pop(iw).close()
        return status

    for i in range(3):
        open(path, "w").close()
        assert remove() == 0 and not os.path.exists(path), \
            "REMOVE %d got the Reply of an earlier one" % i
    v.call(beside, rpc.call(xid + 1, vers=3, proc=0))
    v.bench.end()


def apart(v, fh, folder):
    name = "again-%x" % random.getrandbits(40)
    path = os.path.join(folder, name)
    xid = random.getrandbits(30)

    def ask(proc, machine, uid=0):
        """Anew each time: of another stamp, on another connection."""
        m = rpc.call(xid, vers=3, proc=proc, args=opaque(fh) + opaque(name),
                     cred=sys_cred(machine, uid, random.getrandbits(32)))
        got = rpc.Reply(v.call(v.connect(), m)).r.u32()
        v.lose()
        return got

    def check(what, want, got):
        assert got == want, "%s: status %d, not %d" % (what, got, want)

    open(path, "w").close()
    check("REMOVE", 0, ask(REMOVE, "one"))
    open(path, "w").close()
    check("REMOVE again", 0, ask(REMOVE, "one"))
    assert os.path.exists(path), "a repetition was executed"
    check("REMOVE of another machine", 0, ask(REMOVE, "two"))
    assert not os.path.exists(path), "another machine got this one's Reply"
    check("REMOVE of a third, where nothing is", NOENT, ask(REMOVE, "three"))
    # The same arguments for another procedure.
    open(path, "w").close()
    check("RMDIR", NOTDIR, ask(RMDIR, "one"))
    check("REMOVE of another user", ACCES, ask(REMOVE, "one", uid=1))
    os.unlink(path)
    check("REMOVE again", 0, ask(REMOVE, "one"))


def secret(v, fh, folder):
    """The file handle is not in it, as it may be another."""
    for _ in range(2):
        m = rpc.call(0x5ec2e700, vers=3, proc=REMOVE,
                     args=opaque(b"none") + opaque("none"),
                     cred=sys_cred("one", 0, 0))
        v.call(v.connect(), m)
        v.lose()


class Session(peers.Session):
    """An NFSv4.1 client with a session, made over @c."""

    def __init__(self, v, c):
        self.v = v
        super().__init__(c, size=4096)

    def exchange(self, c, message):
        return self.v.call(c, message)


def session(v, fh, folder):
    c = v.connect()
    s = Session(v, c)
    for i in range(CONNECTIONS):
        v.bench.end()
        c = v.connect()
        done = s.compound(c, s.sequence(), u32(rpc.PUTROOTFH))
        assert not done.status, "connection %d: status %d" % (i + 2,
                                                              done.status)
    s.end(c)
    v.bench.end()


def trunk(v, fh, folder):
    def used(conns):
        for c in conns:
            done = s.compound(c, s.sequence(), u32(rpc.PUTROOTFH))
            assert not done.status, "status %d" % done.status

    conns = [v.connect() for _ in range(AT_ONCE)]
    s = Session(v, conns[0])
    used(conns)
    for _ in range(AT_ONCE // 2):
        v.bench.conns.pop(0).close(reset=True)
    used(conns[AT_ONCE // 2:])
    s.end(conns[-1])
    v.bench.end()


def bound(v, fh, folder):
    def refused(what, done, count=1):
        assert done.status == NOT_BOUND, "%s: status %d" % (what, done.status)
        r = done.r
        for i in range(count):
            op, status = r.u32(), r.u32()
            if op == SEQUENCE and not status:
                r.fixed(36)
        assert (op, status) == (DESTROY_SESSION, NOT_BOUND), (op, status)

    def lives(s, c):
        done = s.compound(c, s.sequence(), u32(rpc.PUTROOTFH))
        assert not done.status, "the session is gone: %d" % done.status

    def destroy(s):
        return u32(DESTROY_SESSION) + s.sid

    # Another client of this address has no say, nor has a connection without a
    # session.
    c = v.connect()
    mine = Session(v, c)
    other = v.connect()
    refused("a new connection", mine.compound(other, destroy(mine)))
    lives(mine, c)
    theirs = Session(v, other)
    refused("another client", theirs.compound(other, destroy(mine)))
    refused("another client's session",
            theirs.compound(other, theirs.sequence(), destroy(mine)), 2)
    refused("behind its own",
            theirs.compound(other, theirs.sequence(), u32(rpc.PUTROOTFH),
                            destroy(mine), destroy(theirs)), 3)
    lives(mine, c)
    lives(theirs, other)
    # Behind an operation that Ganesha reads otherwise than its RFC has it.
    theirs.minor = 2
    done = theirs.compound(other, theirs.sequence(), u32(LAYOUTERROR) +
                           bytes(48) + u32(5, 25), destroy(mine))
    assert done.status, "a session is ended by another client"
    theirs.minor = 1
    lives(mine, c)
    lives(theirs, other)
    # Each over its own.
    theirs.end(other)
    done = mine.compound(c, mine.sequence(), destroy(mine))
    assert not done.status, "behind its SEQUENCE: status %d" % done.status
    done = mine.compound(c, destroy(mine))
    assert done.status == BADSESSION, "ended twice: status %d" % done.status
    v.bench.end()
    # Over the next connection, once it is bound: by itself, ...
    for bind in ("no", "sequence", "same", "bind"):
        s = Session(v, v.connect())
        v.bench.end()
        c = v.connect()
        if bind == "no":
            refused("after it has come back", s.compound(c, destroy(s)))
            lives(s, c)
        elif bind == "sequence":
            lives(s, c)
        elif bind == "bind":
            done = s.compound(c, u32(BIND_CONN_TO_SESSION) + s.sid +
                              u32(1, 0))
            assert not done.status, "BIND_CONN_TO_SESSION: %d" % done.status
        else:
            done = s.compound(c, s.sequence(), destroy(s))
            assert not done.status, "with SEQUENCE: status %d" % done.status
            v.bench.end()
            continue
        s.end(c)
        v.bench.end()


def withheld(v, fh, folder):
    c = v.connect()
    s = Session(v, c)
    for minor, op, args in (
            (1, GET_DIR_DELEGATION, u32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
            (2, READ_PLUS, bytes(16) + u64(0) + u32(4096)),
            # By the RFC, and by Ganesha.
            (2, LAYOUTERROR, bytes(32) + u32(1) + bytes(16) + u32(5, 25)),
            (2, LAYOUTERROR, bytes(48) + u32(5, 25)),
            (2, LAYOUTSTATS, bytes(80) + u32(4, 0))):
        s.minor = minor
        # Twice, and the second time once more.
        for again in (False, False, True):
            done = s.compound(c, s.sequence(again, keep=1), u32(rpc.PUTROOTFH),
                              u32(op) + args, u32(rpc.PUTROOTFH))
            r, got = done.r, []
            for i in range(done.n):
                got.append((r.u32(), r.u32()))
                if got[-1] == (SEQUENCE, 0):
                    r.fixed(36)
            assert (done.status, got) == \
                (NOTSUPP, [(SEQUENCE, 0), (rpc.PUTROOTFH, 0), (op, NOTSUPP)]), \
                (done.status, got)
        # What stands behind it has not been undone.
        done = s.compound(c, s.sequence(), u32(rpc.PUTROOTFH))
        assert not done.status, "the next Call: status %d" % done.status
    s.minor = 1
    # State of another client: TEST_STATEID says of each that there is none, and goes on;
    # what would end it is not done.
    mine, other = [u32(1) + client + u32(1)
                   for client in (s.sid[:8], random.randbytes(8))]
    done = s.compound(c, s.sequence(), u32(TEST_STATEID, 3) + other + mine + other,
                      u32(TEST_STATEID, 1) + other)
    assert (done.status, done.n) == (0, 3), (done.status, done.n)
    r = done.r
    assert (r.u32(), r.u32()) == (SEQUENCE, 0)
    r.fixed(36)
    got = [r.u32() for _ in range(6)]
    assert got[:3] == [TEST_STATEID, 0, 3], got
    assert got[3] == got[5] == BAD_STATEID, got
    assert [r.u32() for _ in range(4)] == [TEST_STATEID, 0, 1, BAD_STATEID]
    for op in (u32(FREE_STATEID) + other,
               u32(LOCK, 2, 0) + u64(0) + u64(9) + u32(1, 0) + other +
               u32(0) + u64(0) + opaque("owner")):
        done = s.compound(c, s.sequence(), u32(rpc.PUTROOTFH), op)
        assert (done.status, done.n) == (BAD_STATEID, 3), (done.status, done.n)
    s.end(c)
    v.bench.end()


class Files4(rpc.Files):
    """An NFSv4.0 client."""

    def __init__(self, v, c):
        super().__init__(lambda m: v.call(c, m), "/export")
        r = self.compound(u32(rpc.SETCLIENTID) + random.randbytes(8) +
                          opaque(self.name) + u32(0x40000000) + opaque("tcp") +
                          opaque("0.0.0.0.0.0") + u32(0)).good(rpc.SETCLIENTID)
        self.clientid, verf = r.u64(), r.fixed(8)
        self.compound(u32(rpc.SETCLIENTID_CONFIRM) + u64(self.clientid) +
                      verf).good(rpc.SETCLIENTID_CONFIRM)

    def opened(self):
        """Handle and stateid."""
        how = u32(1, 0, 2, 1 << 4, 1 << 1) + opaque(u64(0) + u32(0o644))
        c = self.at(u32(rpc.OPEN, 0, 3, 0) + u64(self.clientid) + opaque("owner") +
                    how + u32(0) + opaque(self.name), u32(rpc.GETFH))
        r = c.good(rpc.OPEN)
        stateid = r.fixed(16)
        r.fixed(24)
        r.fixed(4 * r.u32())
        assert not r.u32(), "a delegation"
        fh = c.good(rpc.GETFH).opaque()
        return fh, self.compound(rpc.putfh(fh), u32(rpc.OPEN_CONFIRM) + stateid +
                                 u32(1)).good(rpc.PUTFH, rpc.OPEN_CONFIRM).fixed(16)

    def locked(self, fh, stateid):
        return self.compound(rpc.putfh(fh), u32(LOCK, 2, 0) + u64(0) + u64(9) +
                             u32(1, 2) + stateid + u32(0) + u64(self.clientid) +
                             opaque("lock")).good(rpc.PUTFH, LOCK).fixed(16)


def nothing(v, fh, folder):
    name = "again-%x" % random.getrandbits(40)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(bytes(5000))
    os.chmod(f.name, 0o666)
    c = v.connect()
    xid = random.getrandbits(30)
    r = rpc.Reply(v.call(c, rpc.call(xid, vers=3, proc=3, args=opaque(fh) +
                                     opaque(name)))).r
    assert r.u32() == 0
    handle = r.opaque()
    for at in 0, 4999, 5000, 6000, 1 << 40:
        xid += 1
        r = rpc.Reply(v.call(c, rpc.call(xid, vers=3, proc=6, args=opaque(handle) +
                                         u64(at) + u32(0)))).r
        assert (r.u32(), r.u32()) == (0, 1), "status, attributes"
        r.fixed(84)
        count, eof, data = r.u32(), r.u32(), r.opaque()
        assert (count, data) == (0, b""), (at, count, data)
        # By itself Ganesha never says so.
        shown = release.at_least("6.5") and not release.at_least("9.14")
        assert eof == (at >= 5000) or not eof and not shown, \
            "at %d eof is %d" % (at, eof)
    v.bench.end()


def waits(v, fh, folder):
    def lock(c, handle, stateid, how, seqid):
        return c.compound(rpc.putfh(handle), u32(LOCK, how, 0) + u64(0) + u64(9) +
                          u32(1, seqid) + stateid + u32(0) + u64(c.clientid) +
                          opaque("lock"))

    for how in 3, 4:  # READW_LT, WRITEW_LT
        one, two = (Files4(v, v.connect()) for _ in range(2))
        two.name = one.name
        handle, mine = one.opened()
        held = one.locked(handle, mine)
        same, theirs = two.opened()
        assert same == handle
        asked = lock(two, handle, theirs, how, 2)
        assert asked.status == LOCK_DENIED, "held by another: %d" % asked.status
        one.compound(rpc.putfh(handle), u32(14, 2, 1) + held + u64(0) +
                     u64(9)).good(rpc.PUTFH, LOCKU)
        time.sleep(0.5)  # in which a server might tell it
        asked = lock(two, handle, theirs, how, 3)
        assert asked.status == 0, "free: %d" % asked.status
    v.bench.end()


def stale_ops(old, mine, minor):
    """Each operation that names state of another start of the server, by its name. @mine:
    the client's number of this one."""
    open_, lock, client = (bytes.fromhex(old[k]) for k in ("open", "lock", "client"))
    span = u64(0) + u64(9)
    ops = {
        "CLOSE": u32(rpc.CLOSE, 1) + open_,
        "DELEGRETURN": u32(8) + open_,
        "LOCK": u32(LOCK, 2, 0) + span + u32(1, 3) + open_ + u32(0) + client +
        opaque("lock"),
        "LOCK, a new owner": u32(LOCK, 2, 0) + span + u32(1, 3) + open_ + u32(0) +
        mine + opaque("lock"),
        "LOCK, an old owner": u32(LOCK, 2, 0) + span + u32(0) + lock + u32(1),
        "LOCKU": u32(14, 2, 1) + lock + span,
        "OPEN_DOWNGRADE": u32(21) + open_ + u32(1, 1, 0),
        "READ": u32(rpc.READ) + open_ + u64(0) + u32(9),
        "SETATTR": u32(34) + open_ + u32(1, 1 << 4) + opaque(u64(0)),
        "WRITE": u32(rpc.WRITE) + open_ + u64(0) + u32(2) + opaque("data"),
    }
    if not minor:
        ops.update({
            "OPEN_CONFIRM": u32(rpc.OPEN_CONFIRM) + open_ + u32(1),
            "LOCKT": u32(13, 2) + span + client + opaque("lock"),
            "RELEASE_LOCKOWNER": u32(39) + client + opaque("lock"),
            "RENEW": u32(30) + client,
            "OPEN": u32(rpc.OPEN, 7, 1, 0) + client + opaque("owner") +
            u32(0, 0) + opaque("stale"),
        })
    else:
        ops["FREE_STATEID"] = u32(FREE_STATEID) + open_
        ops["TEST_STATEID"] = u32(TEST_STATEID, 1) + open_
        ops["LAYOUTRETURN"] = u32(51, 0, 1, 1, 1) + u64(0) + u64(1 << 63) + open_ + \
            opaque("")
    if minor == 2:
        ops["SEEK"] = u32(69) + open_ + u64(0) + u32(0)
        ops["ALLOCATE"] = u32(59) + open_ + span
        ops["DEALLOCATE"] = u32(62) + open_ + span
    return ops


ENDS_OR_NAMES = ("CLOSE", "DELEGRETURN", "LOCK", "LOCK, a new owner",
                 "LOCK, an old owner", "FREE_STATEID", "TEST_STATEID")


def state(v, fh, folder):
    c = Files4(v, v.connect())
    handle, stateid = c.opened()
    lock = c.locked(handle, stateid)
    with open(folder + ".state", "w", encoding="ascii") as f:
        json.dump({"fh": handle.hex(), "open": stateid.hex(), "lock": lock.hex(),
                   "client": u64(c.clientid).hex()}, f)
    v.bench.end()


def stale(tcp, v, fh, folder):
    with open(folder + ".state", encoding="ascii") as f:
        old = json.load(f)
    putfh = rpc.putfh(bytes.fromhex(old["fh"]))
    here, there = [(w, w.connect()) for w in (tcp, v)]
    one, two = Files4(*here), Files4(*there)
    assert u64(two.clientid) > bytes.fromhex(old["client"]), "the same start"

    def of_40(c, op, behind):
        ops = [u32(39) + u64(c.clientid) + opaque("none")] if behind else []
        done = c.compound(*ops, putfh, op)
        return done.status, done.n

    wants = {"LOCKT": STALE_CLIENTID, "RELEASE_LOCKOWNER": STALE_CLIENTID,
             "RENEW": STALE_CLIENTID, "OPEN": STALE_CLIENTID}
    names = stale_ops(old, b"", 0)
    for name in names:
        for behind in False, True:
            got = [of_40(c, stale_ops(old, u64(c.clientid), 0)[name], behind)
                   for c in (one, two)]
            want = (wants.get(name, STALE_STATEID), 2 + behind)
            assert got == [want, want], "4.0 %s%s: %s by TCP and RDMA, not %s" % (
                name, " behind a client's" if behind else "", got, want)
    sessions = [Session(*w) for w in (here, there)]
    for minor in 1, 2:
        for name, op in stale_ops(old, u64(0), minor).items():
            got = []
            for s, (_, c) in zip(sessions, (here, there)):
                s.minor = minor
                done = s.compound(c, s.sequence(), putfh, op)
                assert done.n == 3, (name, done.n, done.status)
                status = done.status
                if name == "TEST_STATEID":
                    done.good(SEQUENCE).fixed(36)
                    r = done.good(rpc.PUTFH, TEST_STATEID)
                    status = (r.u32(), r.u32())[1]
                got.append(status)
            # RFC 8881, 15.1.16.5. Ganesha before 6 has it all the same.
            want = BAD_STATEID if name in ENDS_OR_NAMES else got[0]
            assert want in (BAD_STATEID, STALE_STATEID), (minor, name, got)
            assert got[1] == want, "4.%d %s: %s by TCP and RDMA" % (minor, name, got)
    here[1].close()
    v.bench.end()


def privileged(v, fh, folder):
    def getattr_from(port):
        c = v.connect(source=port)
        got = rpc.Reply(v.call(c, rpc.call(7, vers=3, proc=GETATTR,
                                           args=opaque(fh))))
        v.bench.end()
        return (got.denied, got.stat)

    taken = 0
    for port in random.sample(range(600, 1024), 5):
        try:
            assert getattr_from(port) == (0, 0), "refused from %d" % port
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
            taken += 1
    assert taken < 5, "no port below 1024 is free"
    assert getattr_from(None) == (1, 1), "served from any port"


def main(what, nfs_port, mount_port, port, folder):
    fh = root(mount_port)
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    for v in Version1(bench), Version2(bench):
        try:
            {"answered": answered, "anew": anew, "apart": apart,
             "secret": secret, "session": session, "trunk": trunk,
             "bound": bound, "withheld": withheld,
             "nothing": nothing, "waits": waits,
             "state": state, "stale": lambda *args: stale(Tcp(nfs_port), *args),
             "privileged": privileged}[what](v, fh, folder)
        except AssertionError as e:
            raise SystemExit("%s: %s" % (v.name, e))


main(sys.argv[1], *(int(p) for p in sys.argv[2:5]), sys.argv[5])
