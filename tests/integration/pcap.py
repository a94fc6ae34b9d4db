# SPDX-License-Identifier: BSD-3-Clause
"""A pcap file with one iWARP connection over TCP, octet by octet.

What is in a frame is one or more FPDUs; CRC and markers are off, as the start
frames say (RFC 5044). DDP is RFC 5041, RDMAP RFC 5040.
"""

import struct

# To look first at what a connection carries: the port that a client happens to
# get may be one that Wireshark knows another protocol by.
TSHARK = ["tshark", "-n", "-o", "tcp.try_heuristic_first:TRUE"]
CLIENT, SERVER = 0, 1
WRITE, READ_REQUEST, READ_RESPONSE, SEND = 0, 1, 2, 3


def fpdu(ulpdu):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    return body + bytes(-len(body) % 4) + bytes(4)


def untagged(opcode, qn, msn, mo, data, last=True):
    return fpdu(struct.pack(">BB4xIII", 0x41 if last else 0x01, 0x40 | opcode,
                            qn, msn, mo) + data)


def tagged(opcode, stag, to, data, last=True):
    return fpdu(struct.pack(">BBIQ", 0xc1 if last else 0x81, 0x40 | opcode,
                            stag, to) + data)


def read_request(msn, sink, sink_to, size, source, source_to):
    return untagged(READ_REQUEST, 1, msn, 0, struct.pack(
        ">IQIIQ", sink, sink_to, size, source, source_to))


class Pcap:
    def __init__(self, path, port=20049):
        self.f = open(path, "wb")
        self.f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144,
                                 1))
        # The client's is PMPROXY's, see TSHARK.
        self.ports = (44322, port)
        self.seq = [1000, 2000]
        self.msn = [0, 0]
        self.frames = 0
        self.tcp(CLIENT, 0x02)
        self.tcp(SERVER, 0x12)
        self.tcp(CLIENT, 0x10)
        self.tcp(CLIENT, 0x18, b"MPA ID Req Frame" + b"\0\1\0\0")
        self.tcp(SERVER, 0x18, b"MPA ID Rep Frame" + b"\0\1\0\0")

    def tcp(self, end, flags, data=b""):
        """One frame; its number."""
        other = 1 - end
        ack = self.seq[other] if flags & 0x10 else 0
        segment = struct.pack(">HHIIBBHHH", self.ports[end],
                              self.ports[other], self.seq[end], ack, 0x50,
                              flags, 65535, 0, 0) + data
        ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(segment), 0, 0,
                         64, 6, 0, 192, 0, 2, 1 + end, 192, 0, 2, 1 + other)
        frame = bytes(12) + b"\x08\0" + ip + segment
        self.f.write(struct.pack("<IIII", self.frames, 0, len(frame),
                                 len(frame)) + frame)
        self.seq[end] += len(data) + (flags >> 1 & 1)
        self.frames += 1
        return self.frames

    def put(self, end, *fpdus):
        return self.tcp(end, 0x18, b"".join(fpdus))

    def send_fpdus(self, end, message, cut=None):
        """A Send, in one DDP segment or cut into several."""
        self.msn[end] += 1
        cut = cut or max(len(message), 1)
        return [untagged(SEND, 0, self.msn[end], at, message[at:at + cut],
                         at + cut >= len(message))
                for at in range(0, max(len(message), 1), cut)]

    def send(self, end, message, cut=None):
        return self.put(end, *self.send_fpdus(end, message, cut))

    def close(self):
        self.f.close()
