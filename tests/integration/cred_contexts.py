#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Contexts of RPCSEC_GSS, and what is wrong only within them.

    cred_contexts.py RDMA-PORT SERVICE@HOST

The contexts are libgssapi's, the messages of version 2. Calls whose verifier is
right bring bodies of integrity and privacy whose lengths lie, or that end at any
octet; sequence numbers come twice, or too late; clients go away before they
have the Reply to RPCSEC_GSS_INIT; and a context is used after its end. Whatever
that is answered with, no such Call is executed, and the server goes on.
"""

import ctypes
import ctypes.util
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc, v2  # noqa: E402
from rpcrdma_conformance.rpc import u32, opaque  # noqa: E402

LIB = ctypes.CDLL(ctypes.util.find_library("gssapi_krb5"))
FLAGS = 2 | 16 | 32  # mutual, confidentiality, integrity
DATA, INIT, DESTROY = 0, 1, 3
PLAIN, INTEGRITY, PRIVACY = 1, 2, 3
CREDPROBLEM, CTXPROBLEM = ("denied", 13), ("denied", 14)
GARBAGE = ("accepted", 4)
HUGE = 0xffffffff
NO_OPS = opaque(b"") + u32(0, 0)
# More than one buffer has; the WRITE to a directory fails.
LONG = opaque(b"") + u32(0, 2, rpc.PUTROOTFH) + rpc.write(0, bytes(50000))


class Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]

    @classmethod
    def of(cls, data):
        b = cls(len(data))
        b.keep = ctypes.create_string_buffer(data, len(data) or 1)
        b.value = ctypes.addressof(b.keep)
        return b

    def bytes(self):
        return ctypes.string_at(self.value, self.length)


def gss(name, *args):
    minor = ctypes.c_uint32()
    major = getattr(LIB, name)(ctypes.byref(minor), *args)
    assert not major >> 16, (name, hex(major), minor.value)


def symbol(name):
    return ctypes.c_void_p.in_dll(LIB, name)


class Context:
    @classmethod
    def new(cls, peer, target, service):
        """The server does not know of it."""
        self = cls.__new__(cls)
        self.peer, self.service, self.seq = peer, service, 0
        self.ctx, self.name = ctypes.c_void_p(), ctypes.c_void_p()
        gss("gss_import_name", ctypes.byref(Buffer.of(target.encode())),
            symbol("GSS_C_NT_HOSTBASED_SERVICE"), ctypes.byref(self.name))
        return self

    def __init__(self, peer, target, service):
        self.__dict__ = self.new(peer, target, service).__dict__
        r = peer.ask(self.init())
        assert r.ok, (r.denied, r.stat)
        self.handle = r.r.opaque()
        r.r.fixed(12)
        self.token(r.r.opaque())

    def token(self, answer=b""):
        out = Buffer()
        gss("gss_init_sec_context", None, ctypes.byref(self.ctx), self.name,
            symbol("gss_mech_krb5"), FLAGS, 0, None,
            ctypes.byref(Buffer.of(answer)), None, ctypes.byref(out), None,
            None)
        return out.bytes() if out.length else b""

    def init(self):
        return self.head(INIT, 0, b"") + u32(0, 0) + opaque(self.token())

    def head(self, proc, seq, handle, nfs_proc=0, service=None):
        return u32(self.peer.new_xid(), 0, 2, rpc.NFS, 4, nfs_proc, 6) + \
            opaque(u32(1, proc, seq, service or self.service) +
                   opaque(handle))

    def mic(self, data):
        out = Buffer()
        gss("gss_get_mic", self.ctx, 0, ctypes.byref(Buffer.of(data)),
            ctypes.byref(out))
        return out.bytes()

    def wrap(self, data):
        out, sealed = Buffer(), ctypes.c_int()
        gss("gss_wrap", self.ctx, 1, 0, ctypes.byref(Buffer.of(data)),
            ctypes.byref(sealed), ctypes.byref(out))
        return out.bytes()

    def message(self, body=None, proc=DATA, seq=None, args=NO_OPS, verf=None):
        """Of a COMPOUND, or to end the context."""
        if seq is None:
            self.seq += 1
            seq = self.seq
        head = self.head(proc, seq, self.handle, proc == DATA)
        if body is None and proc == DATA:
            body = self.body(args, seq)
        mic = self.mic(head) if verf is None else verf
        return head + u32(6) + opaque(mic) + (body or b"")

    def body(self, args, seq):
        if self.service == PLAIN:
            return args
        args = u32(seq) + args
        if self.service == INTEGRITY:
            return opaque(args) + opaque(self.mic(args))
        return opaque(self.wrap(args))


class Peer:
    def __init__(self, port):
        self.bench = kit.Server("127.0.0.1", port, "/export", 20)
        self.xid = 0
        self.c = self.bench.connect()

    def new_xid(self):
        self.xid += 1
        return self.xid

    def ask(self, message):
        a = self.c.call(message)
        assert a.last.htype != v2.ERROR, a.last
        return rpc.Reply(a.payload)

    def status(self, message):
        r = self.ask(message)
        if not r.denied:
            return "accepted", r.stat
        return "denied", r.r.u32()

    def renew(self):
        self.c.iw.close()
        self.c = self.bench.connect()


def bodies(x):
    """Bodies of a Call with the next sequence number, none of them right."""
    seq = x.seq + 1
    args = u32(seq) + NO_OPS
    lies = (0, 1, 3, 4, len(args) - 4, len(args) + 4, len(args) + 64, 4096,
            0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffc, HUGE)
    if x.service == INTEGRITY:
        mic = x.mic(args)
        yield from (u32(n) + args + opaque(mic) for n in lies)
        yield from (opaque(args) + u32(n) + mic for n in lies)
        yield opaque(args) + opaque(bytes(len(mic)))
        late = u32(seq - 1) + args[4:]
        yield opaque(late) + opaque(x.mic(late))
        yield opaque(b"") + opaque(x.mic(b""))
        whole = opaque(args) + opaque(mic)
    else:
        token = x.wrap(args)
        yield from (u32(n) + token for n in lies)
        yield opaque(bytes(len(token)))
        yield opaque(x.wrap(u32(seq - 1) + args[4:]))
        yield opaque(x.wrap(b""))
        yield opaque(token[:16] + bytes(len(token) - 16))
        # A token of any length, which claims any rotation.
        yield from (opaque(token[:n]) for n in range(1, len(token)))
        yield from (opaque(token[:6] + u32(n) + token[10:]) for n in lies[1:])
        whole = opaque(token)
    yield from (whole[:n] for n in range(0, len(whole), 4))


def broken(peer, target):
    n = 0
    for service in INTEGRITY, PRIVACY:
        x = Context(peer, target, service)
        for args in NO_OPS, LONG:
            assert peer.status(x.message(args=args)) == ("accepted", 0)
        again = Context(peer, target, service)
        # What is taken depends on the sequence number: made anew for each.
        for i in range(len(list(bodies(again)))):
            body = next(b for k, b in enumerate(bodies(x)) if k == i)
            got = peer.status(x.message(body))
            assert got == GARBAGE, (service, i, body, got)
            n += 1
        assert peer.status(x.message()) == ("accepted", 0)
    return n


def sequence(peer, target):
    x = Context(peer, target, PLAIN)
    assert peer.status(x.message()) == ("accepted", 0)
    assert peer.status(x.message(seq=0x80000001)) == CTXPROBLEM
    # A replay is dropped, and the connection may be ended.
    for seq in x.seq, 0:
        peer.c.send_call(x.message(seq=seq))
        peer.renew()
        assert peer.status(rpc.null(peer.new_xid(), 4)) == ("accepted", 0)
    x.seq = 0x7fffffff
    assert peer.status(x.message()) == ("accepted", 0)


def end(peer, target):
    x = Context(peer, target, PLAIN)
    assert peer.status(x.message(proc=DESTROY, verf=bytes(28))) == CREDPROBLEM
    assert peer.status(x.message()) == ("accepted", 0)
    assert peer.status(x.message(proc=DESTROY)) == ("accepted", 0)
    for proc in DATA, DESTROY, DATA:
        assert peer.status(x.message(proc=proc)) == CREDPROBLEM


def away(peer, target):
    """At any time from when the Calls have come until they are answered."""
    for i in range(200):
        calls = [Context.new(peer, target, PLAIN).init() for _ in range(8)]
        for call in calls:
            peer.c.send_call(call)
        time.sleep(i % 20 / 5000)
        peer.renew()
    Context(peer, target, PLAIN)


def main(port, target):
    peer = Peer(port)
    print("broken: %d bodies" % broken(peer, target))
    sequence(peer, target)
    end(peer, target)
    away(peer, target)
    assert peer.status(rpc.null(peer.new_xid(), 4)) == ("accepted", 0)


main(int(sys.argv[1]), sys.argv[2])
