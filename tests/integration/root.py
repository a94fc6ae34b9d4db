# SPDX-License-Identifier: BSD-3-Clause
"""The filehandle of a server's export, by MOUNT over TCP. Whoever imports this has
the conformance kit in its path."""

import socket
import struct

from rpcrdma_conformance import rpc
from rpcrdma_conformance.rpc import opaque

MOUNT = 100005


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
