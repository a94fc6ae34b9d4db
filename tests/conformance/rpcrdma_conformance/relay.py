# SPDX-License-Identifier: BSD-3-Clause
"""The server of any client of version 1, which passes Calls on by TCP.

A client that mounts is a Requester that nobody can be told what to call. So this
end is its server: it takes the RPC messages out of version 1, lets a real NFS
server answer them by TCP, and puts the Replies into version 1 again. What the
client does on the way is noted by the requirement that it is about; the checks of
client_checks.py read these notes.

It also does what a server may: without private data on the first connection and
with it on the next, with few credits at first, with Replies that nobody waits for;
and it ends the first connections amid Calls, after a look at memory that should be
closed by then.

One thread; Calls of a connection have a TCP connection of their own.
"""

import collections
import select
import signal
import socket
import struct
import time

from . import iwarp, rpc, v1, v2
from .kit import Bench
from .private_checks import MAGIC, private

# Credits granted by the first so many Replies of a connection, then by the next.
GRANTS = ((10, 1), (10, 2), (20, 8), (1 << 62, 32))
# The first connection with so many Calls ends with this one; then the next.
ENDS = (20, 60)
STRAY = 8  # so many Replies later there is one that nobody waits for
SIZE = 4096  # announced as Send and Receive Size
EXPECTED_V4 = {53: 36, 22: 0}  # octets of the results of SEQUENCE and PUTFH


def items(call, reply):
    """[(offset, length)] of the octets of @reply that may be in Write chunks."""
    r = rpc.Reader(call)
    r.at = 12
    prog, vers, proc = r.u32(), r.u32(), r.u32()
    a = rpc.Reply(reply)
    if not a.ok or prog != rpc.NFS:
        return []
    r, out = a.r, []

    def opaque():
        n = r.u32()
        out.append((r.at, n))
        r.fixed(n)

    if vers == 3 and proc in (rpc.READ3, rpc.READLINK3):
        status = r.u32()
        if r.u32():
            r.fixed(84)
        if status:
            return []
        if proc == rpc.READ3:
            r.fixed(8)
        opaque()
    elif vers == 4 and proc == 1:
        r.u32()
        r.opaque()
        for _ in range(r.u32()):
            op, status = r.u32(), r.u32()
            if status:
                break
            if op == rpc.READ:
                r.u32()
                opaque()
            elif op == rpc.READLINK:
                opaque()
            elif op in EXPECTED_V4:
                r.fixed(EXPECTED_V4[op])
            else:
                break
    return out


def takes_chunks(call):
    """Does the procedure have an argument that may be in a Read chunk?"""
    prog, vers, proc = struct.unpack_from(">3I", call, 12)
    if prog != rpc.NFS:
        return False
    return proc in (rpc.WRITE3, rpc.SYMLINK3) if vers == 3 else proc == 1


class Connection:
    def __init__(self, relay, sock):
        self.relay, n = relay, relay.connections
        relay.connections += 1
        own = private(SIZE, SIZE, 1) if n else b""
        self.iw = iw = iwarp.Iwarp.accept(sock, relay.patience, private=own,
                                          crc=relay.crc)
        theirs = iw.private
        at = theirs.find(MAGIC)
        if theirs:
            relay.note("PD-4-10", at >= 0 and len(theirs) >= at + 8 and
                       theirs[at + 4] == 1 and not theirs[at + 5] & 0xfe,
                       "private data %s" % theirs[at:at + 8].hex())
        send, receive, self.r = 1024, 1024, False
        if at >= 0:
            send, receive = ((x + 1) * 1024 for x in theirs[at + 6:at + 8])
            self.r = bool(theirs[at + 5] & 1)
        ours = SIZE if own else 1024
        self.takes = min(send, ours)  # Calls
        self.sends = min(receive, ours)  # Replies
        self.r = self.r and bool(own)
        self.tcp = socket.create_connection(relay.to, relay.patience)
        self.record = b""
        self.waiting = {}  # xid -> (header, RPC Call)
        self.calls = self.replies = 0
        self.granted = 1
        self.old = None  # a segment of a Call that has been answered
        # The last Call that may have been sent before the stray Reply came.
        self.stray_at = self.others = 0
        self.open = True

    # ---- From the client ----

    def arrived(self):
        """All that has come by now."""
        try:
            while self.iw.pump(0):
                pass
            self.open = False
        except iwarp.Silence:
            pass
        while self.iw.inbox and self.open:
            self.message(self.iw.inbox.pop(0))

    def message(self, m):
        note = self.relay.note
        vers, _, proc = struct.unpack_from(">3I", m.data.ljust(16, b"\xff"), 4)
        note("V1-4.2.2-02", vers == 1, "rdma_vers is %d" % vers)
        note("V1-4.2.4-02", proc in (v1.MSG, v1.NOMSG, v1.ERROR),
             "rdma_proc is %d" % proc)
        try:
            h = v1.Header(m)
        except rpc.Short as e:
            note("V1-4.2-02", False, "a message of %d octets: %s" % (
                len(m.data), e))
            return
        note("V1-4.2-02", True)
        note("V1-3.3.2-02", h.size <= self.takes,
             "a Send of %d octets to one who takes %d" % (h.size, self.takes))
        if h.error:
            return
        if h.proc == v1.MSG and h.payload[4:8] == rpc.u32(1):
            self.tcp_send(h.payload)  # to a Call of the server
            return
        self.call(h)

    def call(self, h):
        note = self.relay.note
        if self.stray_at and self.calls >= self.stray_at:
            note("V1-4.5-02", True)
        note("V1-3.3.3-02", self.replies > 0 or not self.waiting,
             "%d Calls before the first Reply" % (len(self.waiting) + 1))
        note("V1-3.3.1-03", len(self.waiting) < self.granted,
             "%d Calls outstanding, %d were granted" % (
                 len(self.waiting) + 1, self.granted))
        note("V1-3.3.1-04", h.credit > 0, "0 credits requested")
        positions = [s.position for s in h.reads]
        if h.proc == v1.NOMSG or 0 in positions:
            note("V1-3.5.3-05", h.proc == v1.NOMSG and 0 in positions,
                 "%s with Positions %r" % (h, positions))
        stream = self.fetch(h)
        if stream is None:
            return
        note("V1-4.2.1-02", h.xid not in self.waiting and
             stream[:8] == rpc.u32(h.xid, 0),
             "rdma_xid %#x, the RPC message begins with %s" % (
                 h.xid, stream[:8].hex()))
        self.waiting[h.xid] = h, stream
        if h.xid in self.relay.lost:
            self.relay.lost.discard(h.xid)
            note("V1-4.5-03", True)
        self.calls += 1
        if self.relay.ends and self.calls >= self.relay.ends[0]:
            self.relay.ends.pop(0)
            self.end_it()
            return
        self.tcp_send(stream)

    def fetch(self, h):
        """The Call as it was before chunks were taken out."""
        note = self.relay.note
        chunks = collections.OrderedDict()
        for s in h.reads:
            chunks.setdefault(s.position, []).append(s)
        try:
            data = {p: b"".join(self.iw.read(s.handle, s.offset, s.length)
                                for s in segments)
                    for p, segments in chunks.items()}
        except (iwarp.Closed, iwarp.Silence) as e:
            note("V1-3.4.5-06", False, "RDMA Read: %s" % e)
            return None
        out = data.pop(0, h.payload)
        for p in sorted(data):
            d = data[p] + bytes(-len(data[p]) % 4)
            note("V1-3.4.5-05", p % 4 == 0 and p <= len(out),
                 "a Position of %d in a stream of %d octets" % (p, len(out)))
            n = int.from_bytes(out[p - 4:p], "big")
            # A data item that may be reduced has its length before it.
            note("V1-3.4.2-01", takes_chunks(out) and
                 n + -n % 4 == len(d),
                 "a chunk of %d octets at Position %d, behind %d" % (
                     len(data[p]), p, n))
            out = out[:p] + d + out[p:]
        return out

    def tcp_send(self, m):
        try:
            self.tcp.sendall(struct.pack(">I", len(m) | 1 << 31) + m)
        except OSError:
            self.open = False

    def over(self):
        """The client has ended it, or this end has."""
        self.iw.close()
        self.tcp.close()
        if self.stray_at and self.calls <= self.stray_at:
            # Was it because of the stray Reply? If it had no more to say, no.
            self.relay.ended.append((bool(self.waiting), self.others))

    def end_it(self):
        """End the connection, after a look at what should be closed."""
        self.open = False
        self.relay.lost |= set(self.waiting)
        if self.old:
            time.sleep(0.5)  # the client may just be at it
            try:
                self.iw.read(self.old.handle, self.old.offset, 4)
                got = True
            except (iwarp.Closed, iwarp.Silence):
                got = False
            self.relay.note("V1-4.4.1-01", not got,
                            "memory of a Call that has been answered is open")

    # ---- From the server ----

    def answered(self):
        data = self.tcp.recv(1 << 18)
        if not data:
            self.open = False
            return
        self.record += data
        while len(self.record) >= 4:
            n = int.from_bytes(self.record[:4], "big") & 0x7fffffff
            if len(self.record) < n + 4:
                return
            m, self.record = self.record[4:4 + n], self.record[n + 4:]
            if m[4:8] == rpc.u32(0):
                self.iw.send(v1.encode(v1.MSG, int.from_bytes(m[:4], "big"), 1,
                                       payload=m))
            else:
                time.sleep(0.002)  # in which more Calls may come
                self.arrived()
                if not self.open:
                    return
                self.reply(m)

    def fill(self, chunk, data):
        """Write @data to @chunk; the chunk as returned, None if it is short."""
        out, at = [], 0
        for s in chunk:
            part = data[at:at + s.length]
            if part:
                self.iw.write(s.handle, s.offset, part)
            out.append(v2.Segment(s.handle, len(part), s.offset))
            at += len(part)
        return out if at >= len(data) else None

    def grant(self):
        n = self.replies
        for count, grant in GRANTS:
            if n < count:
                return grant
            n -= count
        return 32

    def reply(self, m):
        note, xid = self.relay.note, int.from_bytes(m[:4], "big")
        if xid not in self.waiting:
            return
        h, call = self.waiting.pop(xid)
        note("V1-3.4.5-06", rpc.Reply(m).stat != 4, "GARBAGE_ARGS for a Call")
        writes = [[s._replace(length=0) for s in k] for k in h.writes]
        cut = items(call, m) if h.writes else []
        for i, (at, n) in list(enumerate(cut[:len(h.writes)]))[::-1]:
            room = sum(s.length for s in h.writes[i])
            note("V1-3.4.6-04", n <= room,
                 "a Write chunk of %d octets for %d" % (room, n))
            writes[i] = self.fill(h.writes[i], m[at:at + n]) or writes[i]
            m = m[:at] + m[at + n + -n % 4:]
        grant = self.grant()
        head = dict(writes=writes)
        if len(v1.encode(v1.MSG, xid, grant, payload=m, **head)) <= self.sends:
            message = v1.encode(v1.MSG, xid, grant, payload=m, **head)
        else:
            room = sum(s.length for s in h.reply or ())
            note("V1-3.5.3-06", room >= len(m),
                 "a Reply chunk of %d octets for a Reply of %d" % (
                     room, len(m)))
            if room < len(m):
                message = rpc.u32(xid, 1, grant, v1.ERROR, v1.ERR_CHUNK)
            else:
                message = v1.encode(v1.NOMSG, xid, grant,
                                    reply=self.fill(h.reply, m), **head)
        offered = self.segments(h)
        inv = offered[0].handle if self.r and offered else None
        self.iw.send(message, inv)
        # What is not closed by its device.
        self.old = next((s for s in offered if s.handle != inv), self.old)
        self.replies += 1
        self.granted = grant
        if self.replies == STRAY:
            x = (xid ^ 0x40000000) & 0xffffffff
            if x not in self.waiting:
                self.iw.send(v1.encode(v1.MSG, x, grant, payload=rpc.reply(x)))
                self.iw.send(rpc.u32(x + 1, 1, grant, v1.ERROR, v1.ERR_CHUNK))
                # Of Calls, one more than were granted needs a later Reply.
                self.stray_at = self.replies + grant
                self.others = self.relay.connections

    @staticmethod
    def segments(h):
        """The segments that @h has offered."""
        return [v2.Segment(s.handle, s.length, s.offset) for s in [
            *h.reads, *(s for k in h.writes for s in k), *(h.reply or ())]
            if s.length]


class Client(Bench):
    """What a client has done, by requirement."""

    def __init__(self, at, to, patience, **how):
        super().__init__(**how)
        self.to, self.patience = to, patience
        self.seen = collections.Counter()
        self.wrong = {}
        self.connections, self.ends = 0, list(ENDS)
        self.lost = set()  # XIDs of Calls that had no Reply when one ended
        # (were there Calls without Replies, connections until the stray Reply)
        self.ended = []
        self.faulty = True
        family, _, _, _, address = socket.getaddrinfo(
            *at, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.listener = socket.create_server(address, family=family)

    def note(self, i, good, text=""):
        self.seen[i] += 1
        if not good:
            self.wrong.setdefault(i, text)

    def serve(self, ready):
        """Until SIGTERM, SIGINT or SIGHUP, and what has come by then."""
        stop, last = [], None
        for s in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN:
                signal.signal(s, lambda *_: stop.append(1))
        conns = []
        with self.listener as listener:
            ready()
            while True:
                if stop and last is None:
                    last = time.monotonic() + 1
                socks = {c.iw.s: c for c in conns}
                socks.update({c.tcp: c for c in conns})
                found = select.select([listener, *socks], [], [], 0 if stop else 0.2)[0]
                if last and (not found or time.monotonic() > last):
                    break
                for s in found:
                    c = socks.get(s)
                    try:
                        if s is listener:
                            sock = listener.accept()[0]
                            conns.append(Connection(self, sock))
                        elif not c.open:
                            pass
                        elif s is c.tcp:
                            c.answered()
                        else:
                            c.arrived()
                    except (iwarp.Closed, iwarp.Silence, iwarp.Refused,
                            OSError) as e:
                        if c:
                            c.open = False
                        self.note("connection", True, str(e))
                for c in [c for c in conns if not c.open]:
                    c.over()
                    conns.remove(c)
        for c in conns:
            c.iw.close()
            c.tcp.close()
        if not self.seen["V1-4.5-02"] and any(
                calls or self.connections > n for calls, n in self.ended):
            self.note("V1-4.5-02", False, "each connection ended after a Reply "
                      "that nobody waited for")
        if self.lost:
            self.note("V1-4.5-03", False, "Calls %s did not come again" %
                      ", ".join("%#x" % x for x in sorted(self.lost)[:4]))
