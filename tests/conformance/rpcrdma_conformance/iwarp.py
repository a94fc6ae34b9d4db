# SPDX-License-Identifier: BSD-3-Clause
"""iWARP over a TCP socket: MPA (RFC 5044, 6581), DDP (5041), RDMAP (5040).

One thread. Nothing is read from the socket unless somebody waits for
something: then everything that comes is handled in order. Sends are queued for
recv(), RDMA Writes are placed, RDMA Reads answered. What the peer does against
the RFCs is collected in `faults`, and what it did at all in `events`.
"""

import random
import select
import socket
import struct
import time

WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERM = \
    range(8)
REQ_KEY, REP_KEY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
# RFC 8797: what a peer of either version of RPC-over-RDMA may put there.
PRIVATE = bytes.fromhex("f6ab0e18") + bytes([1, 0, 3, 3])


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc, table = 0xffffffff, _TABLE
    for octet in data:
        crc = table[(crc ^ octet) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


class Closed(Exception):
    """The connection has ended while something was awaited."""


class Silence(Exception):
    """Nothing came in time."""


class Refused(Exception):
    """The peer does not make the connection."""


class Region:
    """Memory that the peer may use: self.data, from tagged offset self.base."""

    def __init__(self, stag, base, data, read, write):
        self.stag, self.base, self.data = stag, base, data
        self.read, self.write = read, write
        self.valid = True
        self.reads = []  # (offset, length) the peer has read
        self.writes = []  # likewise, written


class Message:
    def __init__(self, data, op, stag):
        self.data, self.op = data, op
        self.invalidated = stag if op in (SEND_INV, SEND_SE_INV) else None


class _Collect:
    """In the place of a socket: keeps what is sent."""

    def __init__(self):
        self.octets = b""

    def sendall(self, data):
        self.octets += data


class Iwarp:
    segment = 8192  # octets of payload in one FPDU that is sent
    patience = 10.0

    def __init__(self, sock):
        self.s = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.crc = True
        self.inbox, self.regions = [], {}
        self.faults, self.events = [], []
        self.terminated = None  # (layer, type, code), said by the peer
        self.term_headers = b""
        self.ended = False
        self.ird = self.ord = None  # as the peer has said
        self.private = b""
        self._in = b""
        self._msn_out = {0: 1, 1: 1, 2: 1}
        self._msn_in = {0: 1, 1: 1, 2: 1}
        self._partial = bytearray()
        self._partial_op = None
        self._reads = []  # of our own: [stag, base, length, bytearray]
        self.hold_reads = False  # do not answer RDMA Reads for now
        self.held = []

    # ---- Start-up (RFC 5044 7.1, RFC 6581 9) ----

    @staticmethod
    def frame(key, private=PRIVATE, rev=2, crc=True, markers=False,
              reject=False, ird=16, ord_=16):
        flags = (markers and 0x80) | (crc and 0x40) | (reject and 0x20)
        body = private
        if rev >= 2:
            flags |= 0x10
            body = struct.pack(">HH", ird, ord_) + private
        return key + bytes([flags, rev]) + struct.pack(">H", len(body)) + body

    def _exactly(self, n, deadline):
        while len(self._in) < n:
            self._more(deadline)
        out, self._in = self._in[:n], self._in[n:]
        return out

    def _read_frame(self, key):
        deadline = time.monotonic() + self.patience
        head = self._exactly(20, deadline)
        if head[:16] != key:
            raise Refused("not an MPA frame")
        flags, rev, n = struct.unpack(">BBH", head[16:])
        body = self._exactly(n, deadline)
        if flags & 0x10 and rev >= 2 and n >= 4:
            ird, ord_ = struct.unpack(">HH", body[:4])
            self.ird, self.ord, body = ird & 0x3fff, ord_ & 0x3fff, body[4:]
        self.rev, self.flags, self.private = rev, flags, body
        return flags, rev

    @classmethod
    def connect(cls, host, port, patience=10.0, source=None, address="",
                **options):
        """@source, @address: port and address of this end; without, any."""
        me = cls(socket.create_connection(
            (host, port), patience,
            (address, source or 0) if source or address else None))
        me.patience = patience
        me.initiator = True
        me.s.sendall(cls.frame(REQ_KEY, **options))
        try:
            flags, _ = me._read_frame(REP_KEY)
        except Closed:
            raise Refused("closed during start-up") from None
        if flags & 0x20:
            raise Refused("rejected")
        me.crc = bool(flags & 0x40)
        return me

    @classmethod
    def accept(cls, sock, patience=10.0, **options):
        me = cls(sock)
        me.patience = patience
        me.initiator = False
        flags, rev = me._read_frame(REQ_KEY)
        me.crc = bool(flags & 0x40) or options.get("crc", True)
        options["crc"] = me.crc
        options.setdefault("rev", min(rev, 2))
        me.s.sendall(cls.frame(REP_KEY, **options))
        return me

    # ---- Sending ----

    def raw(self, data):
        self.s.sendall(data)

    def in_one_write(self, act):
        """What @act sends goes to TCP at once."""
        held, self.s = self.s, _Collect()
        try:
            act()
        finally:
            octets, self.s = self.s.octets, held
        try:
            self.raw(octets)
        except OSError as e:
            raise Closed(str(e)) from None

    def fpdu(self, ulpdu, bad_crc=False):
        f = struct.pack(">H", len(ulpdu)) + ulpdu
        f += bytes(-len(f) % 4)
        crc = crc32c(f) if self.crc else 0
        if bad_crc:
            crc ^= 1
        try:
            self.s.sendall(f + struct.pack("<I", crc))
        except OSError as e:
            raise Closed(str(e)) from None

    def untagged(self, op, qn, msn, mo, payload=b"", last=True, word=0,
                 ddp=1, rdmap=1, **more):
        self.fpdu(struct.pack(">BBIIII", (last and 0x40) | ddp,
                              rdmap << 6 | op, word, qn, msn, mo) + payload,
                  **more)

    def tagged(self, op, stag, to, payload=b"", last=True, ddp=1, rdmap=1,
               **more):
        self.fpdu(struct.pack(">BBIQ", 0x80 | (last and 0x40) | ddp,
                              rdmap << 6 | op, stag,
                              to & 0xffffffffffffffff) + payload, **more)

    def send(self, data, inv=None):
        msn, op = self._msn_out[0], SEND if inv is None else SEND_INV
        self._msn_out[0] += 1
        for at in range(0, len(data) or 1, self.segment):
            part = data[at:at + self.segment]
            self.untagged(op, 0, msn, at, part, at + len(part) >= len(data),
                          inv or 0)

    def write(self, stag, to, data):
        """RDMA Write."""
        for at in range(0, len(data), self.segment):
            part = data[at:at + self.segment]
            self.tagged(WRITE, stag, to + at, part,
                        at + len(part) >= len(data))

    def start_read(self, stag, to, length):
        sink = random.getrandbits(31) | 1
        entry = [sink, 0, length, bytearray()]
        self._reads.append(entry)
        msn = self._msn_out[1]
        self._msn_out[1] += 1
        self.untagged(READ_REQ, 1, msn, 0,
                      struct.pack(">IQIIQ", sink, 0, length, stag, to))
        return entry

    def read(self, stag, to, length):
        """RDMA Read: the octets."""
        entry = self.start_read(stag, to, length)
        deadline = time.monotonic() + self.patience
        while entry in self._reads:
            if not self.pump(deadline):
                raise Closed("during an RDMA Read")
        return bytes(entry[3])

    def expose(self, data, read=False, write=False):
        """Let the peer use @data (octets, or how many)."""
        stag = random.getrandbits(32) or 1
        while stag in self.regions:
            stag = random.getrandbits(32) or 1
        base = random.getrandbits(40) << 4
        region = Region(stag, base, bytearray(data), read, write)
        self.regions[stag] = region
        return region

    def close(self, reset=False):
        if reset:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
        self.s.close()
        self.ended = True

    # ---- Receiving ----

    def _more(self, deadline):
        left = deadline - time.monotonic()
        if self.ended:
            raise Closed("the connection has ended")
        if not select.select([self.s], [], [], max(0, left))[0]:
            raise Silence("nothing came")
        try:
            data = self.s.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            raise Closed("the connection has ended")
        self._in += data

    def pump(self, deadline):
        """One FPDU; False if the connection has ended, Silence if late."""
        try:
            while True:
                if len(self._in) >= 2:
                    n, = struct.unpack_from(">H", self._in)
                    total = n + 2 + -(n + 2) % 4 + 4
                    if len(self._in) >= total:
                        break
                self._more(deadline)
        except Closed:
            return False
        f, self._in = self._in[:total], self._in[total:]
        if self.crc:
            got, = struct.unpack("<I", f[-4:])
            if got != crc32c(f[:-4]):
                self.fault("a CRC is wrong")
        self._segment(f[2:2 + n])
        return True

    def fault(self, text):
        self.faults.append(text)

    def _segment(self, u):
        tagged, last = u[0] & 0x80, bool(u[0] & 0x40)
        op = u[1] & 0x0f
        if u[0] & 3 != 1 or u[1] >> 6 != 1:
            self.fault("version of DDP %d, of RDMAP %d" %
                       (u[0] & 3, u[1] >> 6))
        if tagged:
            _, _, stag, to = struct.unpack_from(">BBIQ", u)
            if op == WRITE:
                self._placed(stag, to, u[14:])
            elif op == READ_RESP:
                self._response(stag, to, u[14:], last)
            else:
                self.fault("opcode %d in a tagged segment" % op)
            return
        _, _, word, qn, msn, mo = struct.unpack_from(">BBIIII", u)
        payload = u[18:]
        queue = {READ_REQ: 1, TERM: 2}.get(op, 0)
        if qn != queue:
            self.fault("opcode %d on queue %d" % (op, qn))
        if op == TERM:
            cause, = struct.unpack_from(">I", payload)
            self.terminated = (cause >> 28, cause >> 24 & 15, cause >> 16 & 255)
            self.term_headers = payload
            return
        if msn != self._msn_in[queue]:
            self.fault("MSN %d instead of %d" % (msn, self._msn_in[queue]))
        if op == READ_REQ:
            self._msn_in[1] += 1
            self.held.append(struct.unpack(">IQIIQ", payload))
            if not self.hold_reads:
                self.release_reads()
        elif op in (SEND, SEND_INV, SEND_SE, SEND_SE_INV):
            if mo != len(self._partial):
                self.fault("MO %d instead of %d" % (mo, len(self._partial)))
            self._partial += payload
            if last:
                self._msn_in[0] += 1
                m = Message(bytes(self._partial), op, word)
                self._partial = bytearray()
                if m.invalidated is not None:
                    region = self.regions.get(m.invalidated)
                    if not region or not region.valid:
                        self.fault("invalidates %#x, which is nothing" %
                                   m.invalidated)
                    else:
                        region.valid = False
                self.events.append(("send", m))
                self.inbox.append(m)
        else:
            self.fault("opcode %d in an untagged segment" % op)

    def release_reads(self, most=1 << 30):
        while self.held and most:
            self._serve(*self.held.pop(0))
            most -= 1

    def _find(self, stag, to, n, what):
        region = self.regions.get(stag)
        if not region or not region.valid:
            self.fault("%s of unknown memory %#x" % (what, stag))
        elif to < region.base or to + n > region.base + len(region.data):
            self.fault("%s beyond memory %#x" % (what, stag))
        elif not getattr(region, what):
            self.fault("%s of memory not meant for it" % what)
        else:
            return region
        return None

    def _placed(self, stag, to, payload):
        if not payload:
            self.events.append(("write", None, 0, 0))
            return
        region = self._find(stag, to, len(payload), "write")
        if region:
            at = to - region.base
            region.data[at:at + len(payload)] = payload
            region.writes.append((at, len(payload)))
            self.events.append(("write", region, at, len(payload)))

    def _serve(self, sink, sink_to, length, stag, to):
        region = self._find(stag, to, length, "read") if length else None
        data = b""
        if region:
            at = to - region.base
            region.reads.append((at, length))
            data = bytes(region.data[at:at + length])
        elif length:
            # RFC 5040 4.8: remote protection error.
            self.terminate(0, 1, 0)
            return
        # Before the first message it is not for a Call: a device looks
        # whether anybody is there.
        if length or any(e[0] == "send" for e in self.events):
            self.events.append(("read", region, length))
        for at in range(0, len(data) or 1, self.segment):
            part = data[at:at + self.segment]
            self.tagged(READ_RESP, sink, sink_to + at, part,
                        at + len(part) >= len(data))

    def _response(self, stag, to, payload, last):
        if not self._reads or self._reads[0][0] != stag:
            self.fault("a Read Response for nothing")
            return
        entry = self._reads[0]
        entry[3] += payload
        if last:
            if len(entry[3]) != entry[2]:
                self.fault("a Read Response of %d octets instead of %d" %
                           (len(entry[3]), entry[2]))
            self._reads.pop(0)

    def terminate(self, layer, kind, code):
        self.untagged(TERM, 2, 1, 0,
                      struct.pack(">I", layer << 28 | kind << 24 | code << 16))

    # ---- Waiting ----

    def recv(self, patience=None):
        """The next Send. Closed, Silence."""
        deadline = time.monotonic() + (self.patience if patience is None
                                       else patience)
        while not self.inbox:
            if not self.pump(deadline):
                raise Closed(self.why())
        return self.inbox.pop(0)

    def pump_until(self, cond):
        """Handle what comes until @cond(). Closed, Silence."""
        deadline = time.monotonic() + self.patience
        while not cond():
            if not self.pump(deadline):
                raise Closed(self.why())

    def quiet(self, seconds=0.3):
        """True if no Send comes for so long."""
        deadline = time.monotonic() + seconds
        try:
            while not self.inbox:
                if not self.pump(deadline):
                    raise Closed(self.why())
        except Silence:
            return True
        return False

    def why(self):
        if self.terminated:
            return "Terminate %d/%d/%02x" % self.terminated
        return "the connection has ended"

    def wait_end(self, patience=None):
        """Until the peer ends the connection; what it sent goes to inbox."""
        deadline = time.monotonic() + (patience or self.patience)
        while self.pump(deadline):
            pass
        return self.terminated
