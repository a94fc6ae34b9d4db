#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py, by sessions whose connections end at once.

    sessions.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]

ATTACK_NFS is where the same server takes TCP: what Ganesha keeps of each
session is told beside what it keeps of one that came so.
"""

import os
import random
import socket
import struct
import sys

import attack
from attack import (ENDED, HOST_CONNS, MB, PORT, Attack, Peer, auth_sys, check,
                    name, stats, status, tcp, until, v2)

NFS_PORT = int(os.environ["ATTACK_NFS"].rsplit(":", 1)[1])
ENOUGH = int(os.environ.get("ATTACK_SESSIONS", "4000"))
EXCHANGE_ID, CREATE_SESSION = 42, 43
BACK_CHANNEL = 2
CALLBACK = 0x40000000


def compound(xid, op):
    return (struct.pack(">6I", xid, 0, 2, 100003, 4, 1) + auth_sys() +
            name("") + struct.pack(">II", 1, 1) + op)


def exchange_id():
    """By a client that nobody has heard of."""
    return (struct.pack(">IQ", EXCHANGE_ID, random.getrandbits(64)) +
            name("sessions-%016x" % random.getrandbits(64)) +
            struct.pack(">III", 0, 0, 0))


def create_session(client, sequence):
    fore = struct.pack(">7I", 0, 65536, 65536, 4096, 16, 4, 0)
    back = struct.pack(">7I", 0, 4096, 4096, 0, 4, 4, 0)
    return (struct.pack(">IQII", CREATE_SESSION, client, sequence,
                        BACK_CHANNEL) + fore + back +
            struct.pack(">III", CALLBACK, 1, 0))


def result(reply, op):
    """What follows the status of @op, the only one of a COMPOUND."""
    words = struct.unpack(">%dI" % (len(reply) // 4), reply)
    # xid, REPLY, accepted, verifier (2), SUCCESS, status, tag, count
    if words[1:4] != (1, 0, 0) or words[5:10] != (0, 0, 0, 1, op) or words[10]:
        raise attack.Wrong("a Reply of %r" % (words[:11],))
    return words[11:]


class Rdma(Peer):
    """Of version 2, and takes reverse-direction Calls."""

    def __init__(self, source):
        super().__init__(tcp(source), greet=False)
        self.msg(v2.PROP_FINAL, props=((v2.RBSIZ, 65536), (v2.BRS, 1)))
        self.recv()

    def call(self, op):
        """The result of a COMPOUND of one operation."""
        self.credit += 1
        self.msg(v2.CALL_INLINE, payload=compound(self.xid + 1, op))
        while True:
            h = v2.Header(self.recv())
            if h.htype == v2.REPLY_INLINE:
                return result(h.payload, struct.unpack(">I", op[:4])[0])


class Tcp:
    """The same over a TCP socket."""

    def __init__(self, source):
        self.sock = socket.socket()
        self.sock.bind((source, 0))
        self.sock.settimeout(10)
        self.sock.connect(("127.0.0.1", NFS_PORT))
        self.stream = self.sock.makefile("rb")

    def exactly(self, n):
        data = self.stream.read(n)
        if len(data) < n:
            raise ConnectionResetError("the end")
        return data

    def call(self, op):
        record = compound(random.getrandbits(31), op)
        self.sock.sendall(struct.pack(">I", 1 << 31 | len(record)) + record)
        n = struct.unpack(">I", self.exactly(4))[0]
        return result(self.exactly(n & 0x7fffffff),
                      struct.unpack(">I", op[:4])[0])

    def close(self, _abort):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.stream.close()
        self.sock.close()


def new_session(peer):
    """Has it a back channel?"""
    got = peer.call(exchange_id())
    # The client's number and sequence; session, sequence, what was bound.
    got = peer.call(create_session(got[0] << 32 | got[1], got[2]))
    return bool(got[5] & BACK_CHANNEL)


class Sessions(Attack):
    """A session with a back channel, a RST, and again."""

    kind = Rdma

    def begin(self):
        self.made = self.bound = self.ended = 0
        self.before = status("VmRSS")
        # As fast as they come, before anything else is asked of the server.
        while self.made + self.ended < ENOUGH // 2:
            self.turn()

    def turn(self):
        if self.made + self.ended >= ENOUGH:
            self.stop.wait(0.05)
            return
        p = None
        try:
            p = self.kind("127.0.0.2")
            self.bound += new_session(p)
            self.made += 1
        except ENDED:
            self.ended += 1
        finally:
            if p:
                p.close(True)

    def limit(self):
        until(lambda: self.made + self.ended >= ENOUGH, 60)
        # Where the connections are gone, so is what they had.
        gone = until(lambda: stats()["connections_now"] == 0, 30)
        pool = stats()["pool"]["bytes_in_use"]
        grown = status("VmRSS") - self.before
        self.note = (" %d sessions, %d with a back channel, %d refused, %d MB "
                     "of the pool in use, heap %.1f KB each," % (
                         self.made, self.bound, self.ended, pool // MB,
                         grown / 1024 / max(self.made, 1)))
        check(gone, "%d connections" % stats()["connections_now"])
        check(pool == 0, "%d octets of the pool in use" % pool)
        # As long as there is memory for Receives at all.
        check(self.ended == 0, "%d were refused" % self.ended)


class SessionsInUse(Attack):
    """More and more sessions with a back channel, and all of them stay."""

    MOST = 4 * HOST_CONNS  # whose connections have not ended

    def begin(self):
        self.hold = [Rdma("127.0.0.2")]
        self.bound = 0

    def turn(self):
        self.bound += new_session(self.hold[0])

    def limit(self):
        check(until(lambda: self.turns > 2 * self.MOST, 60),
              "%d sessions" % self.turns)
        self.note = " %d with a back channel," % self.bound
        check(self.bound == self.MOST, "%d with a back channel" % self.bound)


class SessionsTcp(Sessions):
    """No attack on what is ours: the same over TCP."""

    kind = Tcp


ATTACKS = (Sessions, SessionsInUse, SessionsTcp)

if __name__ == "__main__":
    check(PORT != NFS_PORT, "one port for both")
    attack.main(ATTACKS)
