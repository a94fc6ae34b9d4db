#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A raw client for the test of host authentication.

    hostauth.py PORT call             begins with a Call
    hostauth.py PORT final            ... with CONNPROP_FINAL
    hostauth.py PORT version1         ... with a Call of version 1
    hostauth.py PORT token FILE N     ... with the token in FILE, N octets a part
    hostauth.py PORT middle           never shows a token
    hostauth.py PORT late             ... with most of a token, and no more
    hostauth.py PORT unfinished N     N connections with most of a long token,
                                      until it is ended
    hostauth.py PORT record LISTEN FILE   between a client and the server: what
                                      the client sends goes to FILE, too
    hostauth.py PORT replay FILE      sends that again

The server is at 127.0.0.1:PORT and requires host authentication: but for
`record` and `unfinished`, it must refuse, and nothing may have been answered. The refusal is
printed. None of the code is that of the transport.
"""

import json
import os
import select
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "conformance"))
from rpcrdma_conformance import iwarp, rpc, v2  # noqa: E402

NULL_CALL = [0, 2, 100003, 3, 0, 0, 0, 0, 0]
REFUSAL, CONTEXT = 0, 1


def connect(port):
    return v2.Conn(iwarp.Iwarp.connect("127.0.0.1", port, 60.0))


def null_call(xid):
    return struct.pack(">10I", xid, *NULL_CALL)


def value(kind, token):
    return struct.pack(">2I", kind, len(token)) + token + bytes(-len(token) % 4)


def parts(data, n):
    return [data[i:i + n] for i in range(0, len(data), n)]


def await_refusal(c):
    """A MIDDLE with the refusal, then the end; its token."""
    data = b""
    while True:
        h = c.take()
        if h.htype == v2.GRANT:
            continue
        assert h.htype == v2.PROP_MIDDLE, "%s instead of a refusal" % h
        for which, v in h.props:
            if which == v2.HOSTAUTH:
                n, = struct.unpack_from(">I", v)
                data += v[4:4 + n]
        if len(data) >= 8:
            break
    kind, n = struct.unpack_from(">2I", data)
    assert kind == REFUSAL, "a token of kind %d" % kind
    c.wait_end()
    print("refused, %d octets" % n)


def send_token(c, data, n):
    for part in parts(data, n):
        c.await_credit()
        c.send_props([(v2.HOSTAUTH, rpc.opaque(part))], v2.PROP_MIDDLE)


def unfinished(port, n):
    """Nobody of them ever comes to the end."""
    data = struct.pack(">2I", CONTEXT, 65000) + bytes(20000)
    conns = [connect(port) for _ in range(n)]
    for c in conns:
        send_token(c, data, 900)
    print("ready", flush=True)
    signal.pause()


def relay(port, listen, path):
    """Both ways until either end closes; what the client sends is kept, in
    one piece as long as the server says nothing."""
    with socket.create_server(("127.0.0.1", listen)) as s:
        print("ready", flush=True)
        client, _ = s.accept()
    server = socket.create_connection(("127.0.0.1", port))
    pieces, new = [], True
    with client, server:
        while True:
            a = select.select([client, server], [], [], 60)[0][0]
            data = a.recv(65536)
            if not data:
                break
            if a is client:
                if new:
                    pieces.append(b"")
                pieces[-1] += data
            new = a is server
            (server if a is client else client).sendall(data)
    with open(path, "w") as f:
        json.dump([p.hex() for p in pieces], f)


def replay(port, path):
    """The same octets, each piece when the server has answered the last."""
    with open(path) as f:
        pieces = [bytes.fromhex(p) for p in json.load(f)]
    got, sent = b"", 0
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(60)
        try:
            for p in pieces:
                s.sendall(p)
                sent += 1
                more = s.recv(65536)
                if not more:
                    break
                got += more
            while more:
                more = s.recv(65536)
        except ConnectionError:
            pass
    # Of an RPC Reply: REPLY (1), MSG_ACCEPTED, no verifier, SUCCESS.
    assert struct.pack(">5I", 1, 0, 0, 0, 0) not in got, "a Reply"
    assert sent < len(pieces), "nothing was refused"
    print("%d of %d pieces" % (sent, len(pieces)))


def main():
    port, what = int(sys.argv[1]), sys.argv[2]
    if what == "record":
        return relay(port, int(sys.argv[3]), sys.argv[4])
    if what == "unfinished":
        return unfinished(port, int(sys.argv[3]))
    if what == "replay":
        return replay(port, sys.argv[3])
    c = connect(port)
    if what == "call":
        c.send_call(null_call(77), 77)
        await_refusal(c)
    elif what == "final":
        c.send_props([])
        await_refusal(c)
    elif what == "middle":
        c.send_props([], v2.PROP_MIDDLE)
        assert c.take().htype == v2.PROP_MIDDLE
        c.send_call(null_call(78), 78)
        # 6.3.3: not where it stands, whoever the peer is.
        h = c.take()
        assert h.htype == v2.ERROR and h.error == (5,), h
        c.send_props([])
        await_refusal(c)
    elif what == "token":
        with open(sys.argv[3], "rb") as f:
            send_token(c, value(CONTEXT, f.read()), int(sys.argv[4]))
        await_refusal(c)
    elif what == "late":
        # Two messages, so that there is a credit for the refusal.
        send_token(c, value(CONTEXT, bytes(2000))[:1600], 800)
        await_refusal(c)
    elif what == "version1":
        c.iw.send(struct.pack(">7I", 79, 1, 1, 0, 0, 0, 0) + null_call(79))
        m = struct.unpack(">7I", c.iw.recv().data)
        assert m[:2] == (79, 1) and m[3:] == (4, 1, 2, 2), m
        print("ERR_VERS, 2 to 2")
    else:
        return "what is %s?" % what
    return None


sys.exit(main())
