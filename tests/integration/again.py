#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How the server knows a client that comes back.

    again.py answered|session|privileged MOUNT-PORT RDMA-PORT DIR
                                            the server exports DIR as /export

By RDMA a client has another port on each connection, so Ganesha is told of a
port that does not change. Version 1 and 2 of the transport.

    answered    A connection that breaks leaves its client without some Replies;
                it connects again and sends those Calls with the XIDs that they
                had. What may not be done twice must not be: the server knows it
                by its duplicate request cache. NFSv3; of what it is asked by
                NFSv4.0 Ganesha 4.3 remembers nothing.
    session     An NFSv4.1 session that has been used over many connections, more
                than Ganesha remembers, can still be used, and ended.
    privileged  An export with PrivilegedPort serves whoever has a port below
                1024, and nobody else.
"""

import errno
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc, v1  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402

MOUNT, GETATTR, REMOVE, NOENT = 100005, 1, 12, 2
(EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION) = (42, 43, 44)
(SEQUENCE, DESTROY_CLIENTID, RECLAIM_COMPLETE) = (53, 57, 58)
AUTH_TOOWEAK = 5
CONNECTIONS = 40  # Ganesha counts 16 of a session


class Version1:
    name = "version 1"

    def __init__(self, bench):
        self.bench = bench

    def connect(self, **options):
        return v1.Conn(self.bench.iwarp(**options))

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


def root(port):
    """The filehandle of /export."""
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        m = rpc.call(1, MOUNT, 3, 1, opaque("/export"))
        s.sendall(struct.pack(">I", 0x80000000 | len(m)) + m)
        f = s.makefile("rb")
        n, = struct.unpack(">I", f.read(4))
        r = rpc.Reader(f.read(n & 0x7fffffff)[24:])
    assert r.u32() == 0, "no mount"
    return r.opaque()


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
        v.bench.end()
    assert status == [0, 0, 0, NOENT], "first, again, again, another: %s" % \
        status


def session(v, fh, folder):
    xid = random.getrandbits(30)

    def compound(c, *ops):
        nonlocal xid
        xid += 1
        return rpc.Compound(v.call(c, rpc.compound(xid, list(ops), minor=1)))

    c = v.connect()
    r = compound(c, u32(EXCHANGE_ID) + random.randbytes(8) +
                 opaque("again-%x" % random.getrandbits(64)) +
                 u32(0, 0, 0)).good(EXCHANGE_ID)
    client, seq = r.u64(), r.u32()
    channel = u32(0, 4096, 4096, 4096, 16, 4, 0)
    sid = compound(c, u32(CREATE_SESSION) + u64(client) + u32(seq, 0) +
                   channel + channel + u32(0x40000000, 1, 0)) \
        .good(CREATE_SESSION).fixed(16)
    seq = 0

    def sequence():
        nonlocal seq
        seq += 1
        return u32(SEQUENCE) + sid + u32(seq, 0, 0, 0)

    compound(c, sequence(), u32(RECLAIM_COMPLETE, 0)).good(SEQUENCE)
    for i in range(CONNECTIONS):
        v.bench.end()
        c = v.connect()
        done = compound(c, sequence(), u32(rpc.PUTROOTFH))
        assert not done.status, "connection %d: status %d" % (i + 2,
                                                              done.status)
    done = compound(c, u32(DESTROY_SESSION) + sid)
    assert not done.status, "DESTROY_SESSION: status %d" % done.status
    done = compound(c, u32(DESTROY_CLIENTID) + u64(client))
    assert not done.status, "DESTROY_CLIENTID: status %d" % done.status
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


def main(what, mount_port, port, folder):
    fh = root(mount_port)
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    for v in Version1(bench), Version2(bench):
        try:
            {"answered": answered, "session": session,
             "privileged": privileged}[what](v, fh, folder)
        except AssertionError as e:
            raise SystemExit("%s: %s" % (v.name, e))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
