# SPDX-License-Identifier: BSD-3-Clause
"""A capture of TCP as the receivers take it in: in order, and each octet once.

    tcp_order.py FROM TO    leave in TO what FROM, a pcap file, has
    tcp_order.py --test     try it with streams that are disturbed at random

What was sent again, or came in another order, makes tshark lose its place in
the protocols above, though TCP hands it on as if nothing had been. So this
does with the segments what a receiver does: a segment that begins too late
waits until what is missing has come, and is then put behind it, and what has
been there is cut away. Segments without data are left out, but for those that
begin or end a connection.

Nor does tshark 4.0 find its way where FPDUs (RFC 5044) lie in segments as it does
not expect: behind one of which a segment has no more than the first few octets,
behind the end of one with others and the beginning of one, and of several
messages it may overlook one. So a frame has one FPDU, or a part of one, and its
beginning is put off where it is too short. No FPDU is whole in a later frame
than it was.

What is missing to the end is told, and makes the exit status 1: whoever made
the capture has lost it. Status 2: FROM is no such capture.
"""

import copy
import io
import random
import struct
import sys

HALF = 1 << 31
FIN, SYN, RST = 1, 2, 4
START_KEYS = (b"MPA ID Req Frame", b"MPA ID Rep Frame")
START_SIZE = 20
MARKERS = 0x80
KNOWN = 8  # octets of an FPDU


class Segment:
    """A frame of Ethernet, IPv4 and TCP."""

    def __init__(self, frame):
        if len(frame) < 54 or frame[12:14] != b"\x08\0" or \
                frame[14] >> 4 != 4 or frame[23] != 6:
            raise ValueError("a frame that is none of TCP over IPv4")
        self.tcp = 14 + (frame[14] & 15) * 4
        begin = self.tcp + (frame[self.tcp + 12] >> 4) * 4
        size, = struct.unpack_from(">H", frame, 16)
        self.head = bytearray(frame[:begin])
        self.data = frame[begin:14 + size]
        if len(frame) < 14 + size:
            raise ValueError("a frame that was captured in part")
        self.flow = frame[26:34] + frame[self.tcp:self.tcp + 4]
        self.seq, = struct.unpack_from(">I", frame, self.tcp + 4)
        self.flags = frame[self.tcp + 13]

    def set(self, data, ahead):
        """DATA instead, which begins so many octets behind its own."""
        self.data = data
        self.seq = (self.seq + ahead) % (1 << 32)
        struct.pack_into(">I", self.head, self.tcp + 4, self.seq)
        struct.pack_into(">H", self.head, 16,
                         len(self.head) - 14 + len(self.data))

    def part(self, begin, end):
        """Of its data; it does not end the connection."""
        part = copy.copy(self)
        part.head = bytearray(self.head)
        part.flags &= ~FIN
        part.head[part.tcp + 13] = part.flags
        part.set(self.data[begin:end], begin)
        return part

    def end(self):
        self.flags |= FIN
        self.head[self.tcp + 13] = self.flags

    def frame(self):
        return bytes(self.head) + self.data


class Fpdus:
    """Where the FPDUs of a flow begin."""

    def __init__(self):
        self.started = False
        self.followed = True
        self.at = 0  # of the next, from the next octet on
        self.kept = b""

    def cuts(self, data):
        """Where in DATA to cut, and where what must wait begins."""
        found = set()
        if not self.started and data:
            self.followed &= any(k.startswith(data[:16]) for k in START_KEYS)
        while self.followed and self.at < len(data):
            left = len(data) - self.at
            found.add(self.at)
            if left < (KNOWN if self.started else START_SIZE):
                return found, self.at
            if self.started:
                size, = struct.unpack_from(">H", data, self.at)
                self.at += 2 + size + -(2 + size) % 4 + 4
            else:
                self.started = True
                self.followed = not data[16] & MARKERS
                self.at = START_SIZE + struct.unpack_from(">H", data, 18)[0]
        return found, len(data)

    def hand_on(self, segment):
        """As many segments as it is to be now."""
        segment.set(self.kept + segment.data, -len(self.kept))
        data = segment.data
        cuts, end = self.cuts(data)
        if segment.flags & FIN:
            end = len(data)
        self.kept = data[end:]
        self.at -= end
        begins = [0, *sorted(c for c in cuts if 0 < c < end)]
        parts = [segment.part(*p) for p in zip(begins, [*begins[1:], end])]
        if segment.flags & FIN:
            parts[-1].end()
        return [p for p in parts if p.data or p.flags & FIN]


class Flow:
    """One direction of a connection."""

    def __init__(self, syn):
        self.first = syn.seq
        self.next = (syn.seq + 1) % (1 << 32)
        self.waiting = []
        self.ended = False
        self.fpdus = Fpdus()

    def take(self, segment):
        """The segments that can be handed on now."""
        self.waiting.append(segment)
        handed = []
        while True:
            for s in self.waiting:
                behind = (self.next - s.seq) % (1 << 32)
                if behind < HALF:
                    break
            else:
                return handed
            self.waiting.remove(s)
            end = len(s.data)
            if behind < end:
                s.set(s.data[behind:], behind)
            elif not s.flags & FIN or self.ended or behind > end:
                continue
            else:
                s.set(b"", end)
            self.next = (self.next + len(s.data)) % (1 << 32)
            if s.flags & FIN:
                self.next = (self.next + 1) % (1 << 32)
                self.ended = True
            handed += self.fpdus.hand_on(s)


def records(f):
    head = f.read(24)
    if head[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        raise ValueError("no pcap file of a little-endian machine")
    yield head
    while len(head := f.read(16)) == 16:
        size, = struct.unpack_from("<I", head, 8)
        frame = f.read(size)
        if len(frame) < size:
            raise ValueError("it ends in the midst of a frame")
        yield head[:8], frame


def in_order(source, sink):
    """Copy a capture; return what is missing, a line for each flow."""
    frames = records(source)
    sink.write(next(frames))
    flows = {}
    seen = []
    for time, frame in frames:
        s = Segment(frame)
        flow = flows.get(s.flow)
        if s.flags & SYN:
            # The same one again, or the first of another connection.
            if flow and flow.first == s.seq:
                continue
            flow = flows[s.flow] = Flow(s)
            seen.append(flow)
            handed = [s]
        elif s.flags & RST:
            handed = [s]
        elif not s.data and not s.flags & FIN:
            continue
        elif not flow:
            raise ValueError("a connection whose beginning is missing")
        else:
            handed = flow.take(s)
        for h in handed:
            out = h.frame()
            sink.write(time + struct.pack("<II", len(out), len(out)) + out)
    return [f"{(min((w.seq - f.next) % (1 << 32) for w in f.waiting))} octets "
            f"of a stream are missing before {len(f.waiting)} segments"
            for f in seen if f.waiting]


def disturbed(rng, seq, text, largest=9):
    """The frames of one stream, some of them twice, cut otherwise or late."""
    def frame(at, data, flags):
        tcp = struct.pack(">HHIIBBHHH", 1, 2, (seq + at) % (1 << 32), 0, 0x50,
                          flags, 65535, 0, 0) + data
        ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6,
                         0, 192, 0, 2, 1, 192, 0, 2, 2)
        # What a short frame is filled up with is none of its data.
        return bytes(12) + b"\x08\0" + (ip + tcp).ljust(46, b"\xee")

    frames = []
    at = 0
    while at < len(text):
        size = rng.randint(1, largest)
        last = at + size >= len(text)
        frames.append(frame(1 + at, text[at:at + size], FIN if last else 0x10))
        if rng.random() < 0.3:
            begin = rng.randint(max(0, at - largest), at)
            frames.append(frame(1 + begin, text[begin:at + size],
                                FIN if last else 0x10))
        if rng.random() < 0.2:
            frames.append(frame(at, b"", 0x10))
        at += size
    for i in range(len(frames) - 1):
        if rng.random() < 0.4:
            j = min(len(frames) - 1, i + rng.randint(1, 4))
            frames[i], frames[j] = frames[j], frames[i]
    return [frame(0, b"", SYN)] + frames


def fpdus(rng):
    """The octets of a stream, and where in it something begins or ends."""
    private = rng.randbytes(rng.choice((0, 8, 40)))
    text = rng.choice(START_KEYS) + struct.pack(">BBH", 0x40, 1, len(private))
    text += private
    begins = [0, len(text)]
    for _ in range(rng.randint(1, 12)):
        body = rng.randbytes(rng.choice((2, rng.randint(2, 60))))
        text += struct.pack(">H", len(body)) + body
        text += bytes(-len(text[begins[-1]:]) % 4) + rng.randbytes(4)
        begins.append(len(text))
    return text, begins


def try_fpdus(n, frames, got, begins):
    """Is each begun with what tshark needs, and whole as early as it was?"""
    whole = {}
    there = set()
    for time, s in enumerate(frames):
        at = (s.seq - frames[0].seq - 1) % (1 << 32)
        there.update(range(at, at + len(s.data)))
        for begin, end in zip(begins, begins[1:]):
            if end not in whole and there.issuperset(range(end)):
                whole[end] = time
    at = 0
    for time, s in got[1:]:
        end = at + len(s.data)
        for begin in begins:
            least = KNOWN if begin else START_SIZE
            assert not begin < end < begin + least, (n, begin, end)
            if at < begin <= end:
                assert time == whole[begin], (n, begin, time)
        assert not any(at < begin < end for begin in begins), (n, at, end)
        at = end


def try_it():
    def capture(frames):
        return io.BytesIO(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0,
                                      262144, 1) + b"".join(
            struct.pack("<IIII", n, 0, len(f), len(f)) + f
            for n, f in enumerate(frames)))

    for n in range(600):
        rng = random.Random(n)
        if n % 2:
            text, begins = rng.randbytes(rng.randint(1, 300)), []
        else:
            text, begins = fpdus(rng)
        frames = disturbed(rng, rng.choice((7, (1 << 32) - 40)), text,
                           rng.choice((9, 60)))
        out = io.BytesIO()
        missing = in_order(capture(frames), out)
        assert not missing, (n, missing)
        out.seek(0)
        got = records(out)
        next(got)
        got = [(struct.unpack("<I4x", t)[0], Segment(f)) for t, f in got]
        found = [s for _, s in got]
        assert b"".join(s.data for s in found) == text, n
        seq = found[0].seq + 1
        for s in found[1:]:
            assert s.seq == seq % (1 << 32), n
            seq += len(s.data)
        assert [bool(s.flags & FIN) for s in found].count(True) == 1, n
        assert found[-1].flags & FIN, n
        if begins:
            try_fpdus(n, [Segment(f) for f in frames], got, begins)
    # Nothing is put off where there are no FPDUs.
    frames = [f for f in disturbed(random.Random(1), 7, b"abc" * 5)
              if not Segment(f).flags & FIN]
    out = io.BytesIO()
    assert not in_order(capture(frames), out)
    octets = sum(len(Segment(f).data) for _, f in [*records(io.BytesIO(
        out.getvalue()))][1:])
    last = max(Segment(f).seq + len(Segment(f).data) for f in frames)
    assert octets == last - 8 > 4, octets
    # What is not there is told.
    frames = disturbed(random.Random(1), 7, bytes(4) + b"abc")
    lost = [f for f in frames if Segment(f).flags & SYN or
            b"c" in Segment(f).data and Segment(f).seq > 8]
    assert len(lost) > 1 and in_order(capture(lost), io.BytesIO()), lost


def main(argv):
    if argv == ["--test"]:
        try_it()
        return 0
    if len(argv) != 2:
        print("tcp_order.py FROM TO, two pcap files", file=sys.stderr)
        return 2
    try:
        with open(argv[0], "rb") as source, open(argv[1], "wb") as sink:
            missing = in_order(source, sink)
    except (OSError, ValueError) as e:
        print(f"{argv[0]}: {e}", file=sys.stderr)
        return 2
    for line in missing:
        print(line)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
