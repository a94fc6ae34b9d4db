# SPDX-License-Identifier: BSD-3-Clause
"""What tshark, which nobody here wrote, makes of a capture of version 1.

    nfsrdma_capture.py CAPTURE STATISTICS

CAPTURE has all of an iWARP server's traffic with Linux' client, from the start
of the connections; STATISTICS is what the server then says of itself. Each
message has to be there, taken apart down to NFS, and none may be malformed
but for what tshark 4.0 cannot do:

    A Reply's item that went by a Write chunk has its XDR padding neither in
    the chunk nor in the rest (RFC 8166 section 3.4.6.2). tshark puts the item
    back without padding and then wants it: an item whose length is no
    multiple of four makes an otherwise sound Reply "malformed". That this
    alone is the reason is tested: of all such Replies those with padding are
    reported, and none else.

    Where TCP has sent something again, or in another order, tshark loses the
    RDMA Reads or Writes that it was part of, and with them what they carry: of
    a Call with a Read chunk there is then no RPC message at all. Such Calls and
    Replies are those with a frame of that kind between the Call and its Reply;
    they are counted, and none else is let off. It may also lose its place in
    that connection, and take data for headers: for Terminates, and for frames
    whose CRC is wrong. Those are let off from such a frame on, in that
    connection; both ends check CRCs themselves, and all messages have to be there.

    With what comes in another order it can deal if it is told to, for which
    there is a preference; a veth pair does that under load.

It also has to read the capture twice (-2): what went by Write chunks is put
back in the second pass, and in the first the Reply without is "malformed".

The last line printed tells what was there. Exit status 1: something is not so.
"""

import collections
import json
import subprocess
import sys

FIELDS = ("frame.number frame.protocols iwarp_rdma.opcode rpcordma.version "
          "rpcordma.msg_type rpcordma.reads_count rpcordma.writes_count "
          "rpcordma.reply_count rpcordma.rdma_length rpc.msgtyp nfs.procedure_v3 "
          "nfs.opcode _ws.malformed _ws.expert.severity _ws.expert.message "
          "iwarp_rdma.terminate iwarp_mpa.rej_flag rpcordma.xid rpc.xid "
          "tcp.analysis.retransmission tcp.analysis.out_of_order "
          "tcp.stream").split()
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE = 0, 1, 2, 3, 4
TERMINATE = 7
ERROR = 0x800000
MALFORMED = ["[Malformed Packet: NFS]", "_ws.malformed"]


def tshark(capture, *argv):
    done = subprocess.run(["tshark", "-2", "-n", "-o",
                           "tcp.reassemble_out_of_order:TRUE", "-r", capture, *argv],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("tshark: " + done.stderr)
    return done.stdout


def rows(capture):
    argv = ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=;"]
    for name in FIELDS:
        argv += ["-e", name]
    for line in tshark(capture, *argv).splitlines():
        yield {name: [v for v in value.split(";") if v]
               for name, value in zip(FIELDS, line.split("\t"))}


def padded(row):
    """Is there padding that neither chunk nor message has?"""
    return row["rpc.msgtyp"] == ["1"] and \
        row["rpcordma.writes_count"] == ["1"] and \
        sum(map(int, row["rpcordma.rdma_length"])) % 4


class Disturbed:
    """The frames from which on tshark may have lost something."""

    def __init__(self, all_rows):
        self.frames = []
        self.begin = {}  # the first of each connection
        for r in all_rows:
            if r["tcp.analysis.retransmission"] or r["tcp.analysis.out_of_order"]:
                self.frames.append(int(r["frame.number"][0]))
                for stream in r["tcp.stream"]:
                    self.begin.setdefault(stream, self.frames[-1])
        self.called, self.replied = {}, {}
        for row in all_rows:
            number = int(row["frame.number"][0])
            for xid in row["rpcordma.xid"]:
                # The first message with an XID is the Call.
                if xid in self.called:
                    self.replied.setdefault(xid, number)
                self.called.setdefault(xid, number)

    def since(self, row):
        """Was there one before in this connection?"""
        number = int(row["frame.number"][0])
        return any(self.begin.get(s, number) < number for s in row["tcp.stream"])

    def between(self, xid):
        """Is there one between the Call and its Reply?"""
        first, last = self.called[xid], self.replied.get(xid, 1 << 62)
        return any(first < f <= last for f in self.frames)


def unread_calls(all_rows):
    """The XIDs of Calls with Read chunks that no RPC Call was made of."""
    read = {x for row in all_rows
            for x, kind in zip(row["rpc.xid"], row["rpc.msgtyp"]) if kind == "0"}
    return {x for row in all_rows
            for x, n in zip(row["rpcordma.xid"], row["rpcordma.reads_count"])
            if n != "0"} - read


def main(capture, statistics):
    with open(statistics) as f:
        totals = json.load(f)["totals"]
    count = {name: collections.Counter() for name in FIELDS}
    chunks = collections.Counter()
    wrong = []
    all_rows = list(rows(capture))
    disturbed = Disturbed(all_rows)
    lost = {x for x in unread_calls(all_rows) if disturbed.between(x)}
    unsure, let_off = set(), collections.Counter()
    for row in all_rows:
        number = row["frame.number"][0]
        for name in FIELDS:
            count[name].update(row[name])
        if "tcp" not in row["frame.protocols"][0].split(":"):
            wrong.append(f"frame {number} is none of TCP")
        want = MALFORMED if padded(row) else []
        if row["_ws.malformed"] != want:
            # A frame may have several messages. Then one of them is the
            # reason, and only NFS may be what is malformed.
            several = len(row["rpcordma.version"]) > 1
            again = any(disturbed.between(x) for x in row["rpcordma.xid"])
            if not (several or again) or set(row["_ws.malformed"]) - set(MALFORMED):
                wrong.append(f"frame {number}: malformed: "
                             f"{row['_ws.malformed']}, not {want}")
        elif padded(row):
            chunks["padded"] += 1
        elif row["rpc.msgtyp"] == ["1"] and row["rpcordma.writes_count"] == ["1"]:
            chunks["whole"] += 1
        errors = [m for m, s in zip(row["_ws.expert.message"],
                                    row["_ws.expert.severity"])
                  if int(s) >= ERROR and "Malformed Packet" not in m]
        if errors and disturbed.since(row):
            let_off["errors"] += 1
        elif errors:
            wrong.append(f"frame {number}: {errors}")
        if disturbed.since(row):
            unsure.add(number)
            let_off["Terminates"] += \
                row["iwarp_rdma.opcode"].count(f"0x{TERMINATE:02x}")

    def equal(what, found, wanted):
        if found != wanted:
            wrong.append(f"{what}: {found}, not {wanted}")

    def some(what, found):
        if not found:
            wrong.append(f"no {what}")

    def opcode(n):
        return count["iwarp_rdma.opcode"][f"0x{n:02x}"]

    calls, replies = totals["calls_received"], totals["replies_sent"]
    back = totals["reverse_calls_sent"]
    some("Calls", calls)
    equal("messages of version 1", count["rpcordma.version"],
          {"1": calls + replies + 2 * back})
    equal("RPC Calls", count["rpc.msgtyp"]["0"] + len(lost), calls + back)
    equal("RPC Replies", count["rpc.msgtyp"]["1"], replies + back)
    equal("RDMA_NOMSG", count["rpcordma.msg_type"]["1"],
          totals["special_sent"] + totals["special_received"])
    equal("RDMA_ERROR", count["rpcordma.msg_type"]["4"], 0)
    equal("Sends with Invalidate", opcode(SEND_INVALIDATE),
          totals["invalidations_sent"])
    equal("Calls with Read chunks",
          sum(v for k, v in count["rpcordma.reads_count"].items() if k != "0"),
          totals["read_chunks"])
    equal("Terminates", opcode(TERMINATE) - let_off["Terminates"], 0)
    equal("refused connections", count["iwarp_mpa.rej_flag"]["1"], 0)
    for n in (WRITE, READ_REQUEST, READ_RESPONSE, SEND):
        some(f"RDMAP opcode {n}", opcode(n))
    for name, n in (("GETATTR", 1), ("READ", 6), ("WRITE", 7), ("CREATE", 8)):
        some(f"NFSv3 {name}", count["nfs.procedure_v3"][str(n)])
    some("NFSv3 READDIR(PLUS)", count["nfs.procedure_v3"]["16"] +
         count["nfs.procedure_v3"]["17"])
    for name, n in (("OPEN", 18), ("READ", 25), ("READDIR", 26), ("WRITE", 38),
                    ("SEQUENCE", 53)):
        some(f"NFSv4 {name}", count["nfs.opcode"][str(n)])
    some("Reply with a Write chunk that needs no padding", chunks["whole"])
    some("Reply chunk that was used", totals["reply_chunks"])
    # The CRC is text alone.
    crcs = collections.Counter()
    for line in tshark(capture, "-O", "iwarp_mpa", "-Y",
                       "iwarp_mpa.crc_check").splitlines():
        if line.startswith("Frame "):
            frame = line.split()[1].rstrip(":")
        elif "CRC check:" in line:
            crcs["good" if "Good CRC32" in line else
                 "let off" if frame in unsure else "wrong"] += 1
    some("CRC", crcs["good"])
    equal("CRCs that are wrong", crcs["wrong"], 0)
    for line in wrong[:20]:
        print(line)
    print(f"{calls} Calls, {replies} Replies, {opcode(WRITE)} Write, "
          f"{opcode(READ_RESPONSE)} Read Response and {opcode(SEND)} + "
          f"{opcode(SEND_INVALIDATE)} Send segments; {chunks['whole']} Write "
          f"chunks without padding, {chunks['padded']} with; "
          f"{crcs['good']} CRCs; lost to retransmission: {len(lost)} Calls, "
          f"{crcs['let off']} CRCs, {let_off['Terminates']} Terminates, "
          f"{let_off['errors']} errors; {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
