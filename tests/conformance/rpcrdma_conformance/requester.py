# SPDX-License-Identifier: BSD-3-Clause
"""The other role: a Requester is started, and this end answers it.

rpcrdma-gateway takes RPC over TCP (here: whatever a check wants to be called)
and carries it over RPC-over-RDMA to the port of this process, where the check
is the server. Everything is in one thread: a record is written to the gateway,
then its messages are read here, then the answer is read from TCP.
"""

import socket
import struct
import subprocess
import time

from . import iwarp, rpc, v1, v2
from .kit import Bench, Wrong


class Tcp:
    """The gateway's client: record-marked RPC.

    The first octet of the first mark goes at once, since the Requester does not
    connect to its server before."""

    def __init__(self, host, port, patience, may_come=lambda: False):
        """@may_come: will somebody listen there soon?"""
        end = time.monotonic() + max(patience, 60)
        while True:
            try:
                self.s = socket.create_connection((host, port), patience)
                break
            except ConnectionRefusedError:
                if not may_come() or time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.patience = patience
        self.s.settimeout(patience)
        self.sent = b"\x80"
        self.s.sendall(self.sent)

    def send(self, message):
        record = struct.pack(">I", len(message) | 1 << 31) + message
        self.s.sendall(record[len(self.sent):])
        self.sent = b""

    def _exactly(self, n):
        out = b""
        while len(out) < n:
            part = self.s.recv(n - len(out))
            if not part:
                raise iwarp.Closed("the Requester has closed TCP")
            out += part
        return out

    def recv(self):
        """The next record."""
        out, last = b"", False
        while not last:
            mark, = struct.unpack(">I", self._exactly(4))
            last = bool(mark >> 31)
            out += self._exactly(mark & 0x7fffffff)
        return out

    def reply(self):
        return rpc.Reply(self.recv())

    def quiet(self, seconds=0.3):
        self.s.settimeout(seconds)
        try:
            return not self.s.recv(1, socket.MSG_PEEK)
        except socket.timeout:
            return True
        finally:
            self.s.settimeout(self.patience)

    def end(self):
        """All that comes until the Requester closes."""
        out = b""
        while True:
            try:
                part = self.s.recv(1 << 16)
            except ConnectionResetError:
                part = b""
            if not part:
                return out
            out += part


class Call:
    """A Call as it came: its headers, and its stream as sent."""

    def __init__(self, conn, headers):
        self.conn, self.headers = conn, headers
        h = headers[-1]
        self.last, self.xid = h, h.xid
        self.reads, self.writes, self.reply = h.reads, h.writes, h.reply
        self.inv = h.inv
        self.external = h.htype == v2.CALL_EXTERNAL
        self.payload = b"".join(x.payload for x in headers
                                if x.htype != v2.CALL_EXTERNAL)

    def fetch(self):
        """The whole stream, by RDMA Read."""
        iw = self.conn.iw
        out = self.payload
        if self.external:
            out = b"".join(iw.read(s.handle, s.offset, s.length)
                           for s in self.last.call)
        chunks = {}
        for s in self.reads:
            chunks.setdefault(s.position, []).append(
                iw.read(s.handle, s.offset, s.length))
        for at in sorted(chunks):
            data = b"".join(chunks[at])
            data += bytes(-len(data) % 4)
            out = out[:at] + data + out[at:]
        return out

    def segments(self):
        """All segments of the header."""
        out = [v2.Segment(s.handle, s.length, s.offset) for s in
               list(getattr(self.last, "call", ())) + list(self.reads)]
        for k in list(self.writes) + ([self.reply] if self.reply else []):
            out += k
        return out


class Responder(v2.Conn):
    """This end as server of a connection that the Requester has made."""

    def greet(self, props=()):
        """Its first message, and our FINAL."""
        h = self.next()
        if h.htype != v2.PROP_FINAL:
            raise Wrong("%s is the first message" % h)
        self.send_props(props)
        return h

    def get_call(self, patience=None):
        """The next Call, whatever its format."""
        headers = []
        while True:
            h = self.take(patience)
            if h.htype == v2.ERROR:
                raise Wrong("%s instead of a Call" % h)
            if h.htype in (v2.PROP_MIDDLE, v2.PROP_FINAL):
                continue
            headers.append(h)
            if h.htype == v2.CALL_MIDDLE:
                continue
            return Call(self, headers)

    def fill(self, call, n, data):
        """Write @data to Write chunk @n; the chunk as returned."""
        return self.place(call.writes[n], data)

    def place(self, chunk, data):
        out, at = [], 0
        for s in chunk:
            part = data[at:at + s.length]
            if part:
                self.iw.write(s.handle, s.offset, part)
            out.append(v2.Segment(s.handle, len(part), s.offset))
            at += len(part)
        if at < len(data):
            raise Wrong("a chunk of %d octets for %d" % (at, len(data)))
        return out

    def answer_inline(self, call, results=b"", writes=None, stat=0, inv=None):
        """REPLY_INLINE."""
        if writes is None:
            writes = [[s._replace(length=0) for s in k] for k in call.writes]
        self.post(v2.REPLY_INLINE, call.xid, writes=writes, to_inv=inv,
                  payload=rpc.reply(call.xid, results, stat))

    def error(self, xid, *error):
        self.post(v2.ERROR, xid, error=error)


def read3(xid, count, offset=0):
    return rpc.call(xid, rpc.NFS, 3, rpc.READ3, rpc.opaque(b"fh") +
                    rpc.u64(offset) + rpc.u32(count), rpc.NONE)


def read3_head(n, eof=0):
    """Results of READ up to and with the length word."""
    return rpc.u32(0, 0, n, eof, n)


def write3_head(xid, n):
    """A WRITE up to the data."""
    return rpc.call(xid, rpc.NFS, 3, rpc.WRITE3, rpc.opaque(b"fh") +
                    rpc.u64(0) + rpc.u32(n, 2, n), rpc.NONE)


def write3(xid, data):
    return write3_head(xid, len(data)) + data + bytes(-len(data) % 4)


def write3_results(n):
    return rpc.u32(0, 0, 0, n, 2) + bytes(8)


def serve(host):
    """A listening socket at an address of any family."""
    family, _, _, _, at = socket.getaddrinfo(
        host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(at, family=family)


def both(host, port):
    """As programs take it: 192.0.2.1:1, [2001:db8::1]:1."""
    return ("[%s]:%d" if ":" in host else "%s:%d") % (host, port)


class Session:
    """One gateway, and the port where it looks for its server."""

    def __init__(self, program, patience, own, at, options):
        self.patience, self.at = patience, at
        self.listener = serve(own)
        self.listener.settimeout(patience)
        with serve(own) as s:
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "--listen", both(at, self.port), "--server",
             both(own, self.listener.getsockname()[1]), "--quiet", *options], stderr=subprocess.PIPE)
        self.clients = []

    def tcp(self):
        c = Tcp(self.at, self.port, self.patience,
                lambda: self.process.poll() is None)
        self.clients.append(c)
        return c

    def end(self):
        for c in self.clients:
            c.s.close()
        self.listener.close()
        self.process.terminate()
        try:
            _, err = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return ["the Requester did not end"]
        bad = [x for x in err.decode(errors="replace").splitlines()
               if "ERROR:" in x or "runtime error" in x or "WARNING: T" in x]
        if self.process.returncode not in (0, None):
            bad.append("the Requester ended with status %d" %
                       self.process.returncode)
        return bad


class Requester(Bench):
    """@own: where it finds us as its server; @at: where we find it, by TCP."""

    def __init__(self, program, patience, own, at, **how):
        super().__init__(**how)
        self.program, self.patience = program, patience
        self.own, self.at = own, at
        self.sessions, self.ends = [], []

    def start(self, *options):
        s = Session(self.program, self.patience, self.own, self.at, options)
        self.sessions.append(s)
        return s

    def accept_iwarp(self, session, **options):
        options.setdefault("crc", self.crc)
        try:
            s, _ = session.listener.accept()
        except socket.timeout:
            raise iwarp.Silence("no connection") from None
        return self.keep(iwarp.Iwarp.accept(s, self.patience, **options))

    def which(self, c, tcp):
        """Who has something first, GRANTs apart: @c or @tcp."""
        deadline = time.monotonic() + self.patience
        while True:
            if not c.iw.quiet(0.02):
                c.backlog.append(c.next())
            c.backlog = [h for h in c.backlog if h.htype != v2.GRANT]
            if c.backlog:
                return c
            if not tcp.quiet(0.02):
                return tcp
            if time.monotonic() > deadline:
                raise iwarp.Silence("nothing came")

    def accept(self, session, advertise=32, replenish=True, kind=Responder,
               **options):
        """A connection on which nothing has been sent."""
        return kind(self.accept_iwarp(session, **options), advertise,
                    replenish)

    def connect(self, *options, props=(), **more):
        """(session, TCP client, connection past the properties)"""
        session = self.start(*options)
        tcp = session.tcp()
        c = self.accept(session, **more)
        c.greet(props)
        return session, tcp, c

    def faults(self):
        self.stop()
        return super().faults() + self.ends

    def stop(self):
        for s in self.sessions:
            self.ends += s.end()
        self.sessions = []

    def end(self):
        self.stop()
        self.ends = []
        super().end()


class Responder1(v1.Conn):
    """This end as server of a connection of version 1."""

    def get_call(self, patience=None):
        h = self.next(patience)
        if h.error:
            raise Wrong("%s instead of a Call" % h)
        return h

    def answer_inline(self, h, results=b"", writes=(), credit=32, inv=None):
        self.iw.send(v1.encode(v1.MSG, h.xid, credit, writes=writes,
                               payload=rpc.reply(h.xid, results)), inv)
