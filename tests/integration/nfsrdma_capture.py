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

Where TCP has sent something again, in another order, or cut where tshark does not
expect it, tshark loses its place; a veth pair does that under load. So it gets
what the receivers take in (tcp_order.py), and nothing may be missing there.

It also has to read the capture twice (-2): what went by Write chunks is put
back in the second pass, and in the first the Reply without is "malformed".

The last line printed tells what was there. Exit status 1: something is not so.
"""

import collections
import json
import subprocess
import sys

import tcp_order
from pcap import TSHARK

FIELDS = ("frame.number frame.protocols iwarp_rdma.opcode rpcordma.version "
          "rpcordma.msg_type rpcordma.reads_count rpcordma.writes_count "
          "rpcordma.reply_count rpcordma.rdma_length rpc.msgtyp nfs.procedure_v3 "
          "nfs.opcode _ws.malformed _ws.expert.severity _ws.expert.message "
          "iwarp_rdma.terminate iwarp_mpa.rej_flag tcp.stream "
          "rpcordma.xid").split()
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE = 0, 1, 2, 3, 4
TERMINATE = 7
ERROR = 0x800000
MALFORMED = ["[Malformed Packet: NFS]", "_ws.malformed"]


def tshark(capture, *argv):
    done = subprocess.run([*TSHARK, "-2", "-r", capture, *argv],
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


def alone(messages):
    """Where the Calls without a Reply are, a line for each."""
    for stream, xids in messages.items():
        seen = collections.Counter(xids)
        for at, xid in enumerate(seen):
            if seen[xid] == 1:
                yield (f"connection {stream}: Call {xid} has no Reply, with "
                       f"{len(seen) - at - 1} Calls behind it")


def last_words(messages):
    """How many Calls at the end of the connections have no Reply.

    A client that unmounts waits for no Reply to what it sent unasked, a SEQUENCE
    that renews its lease, say; the server then counts a Reply whose connection
    is gone. MESSAGES: the XIDs by connection, a Call's twice.
    """
    unanswered = 0
    for xids in messages.values():
        seen = collections.Counter(xids)
        # In the order of the Calls.
        for xid in reversed(list(seen)):
            if seen[xid] > 1:
                break
            unanswered += 1
    return unanswered


def main(captured, statistics):
    with open(statistics) as f:
        totals = json.load(f)["totals"]
    capture = captured + ".in-order"
    with open(captured, "rb") as source, open(capture, "wb") as sink:
        wrong = tcp_order.in_order(source, sink)
    count = {name: collections.Counter() for name in FIELDS}
    chunks = collections.Counter()
    messages = collections.defaultdict(list)
    for row in rows(capture):
        number = row["frame.number"][0]
        for name in FIELDS:
            count[name].update(row[name])
        for stream in row["tcp.stream"]:
            messages[stream] += row["rpcordma.xid"]
        if "tcp" not in row["frame.protocols"][0].split(":"):
            wrong.append(f"frame {number} is none of TCP")
        want = MALFORMED if padded(row) else []
        if row["_ws.malformed"] != want:
            wrong.append(f"frame {number}: malformed: "
                         f"{row['_ws.malformed']}, not {want}")
        elif padded(row):
            chunks["padded"] += 1
        elif row["rpc.msgtyp"] == ["1"] and row["rpcordma.writes_count"] == ["1"]:
            chunks["whole"] += 1
        errors = [m for m, s in zip(row["_ws.expert.message"],
                                    row["_ws.expert.severity"])
                  if int(s) >= ERROR and "Malformed Packet" not in m]
        if errors:
            wrong.append(f"frame {number}: {errors}")

    def equal(what, found, wanted):
        if found != wanted:
            wrong.append(f"{what}: {found}, not {wanted}")

    unanswered = last_words(messages)

    def but_for_the_last(what, found, wanted):
        if not found <= wanted <= found + unanswered:
            wrong.append(f"{what}: {found}, not {wanted}")

    def some(what, found):
        if not found:
            wrong.append(f"no {what}")

    def opcode(n):
        return count["iwarp_rdma.opcode"][f"0x{n:02x}"]

    calls, replies = totals["calls_received"], totals["replies_sent"]
    back = totals["reverse_calls_sent"]
    some("Calls", calls)
    equal("versions", list(count["rpcordma.version"]), ["1"])
    equal("messages of version 1", count["rpcordma.version"]["1"],
          calls + replies + 2 * back - unanswered)
    equal("RPC Calls", count["rpc.msgtyp"]["0"], calls + back)
    equal("RPC Replies", count["rpc.msgtyp"]["1"],
          replies + back - unanswered)
    but_for_the_last("RDMA_NOMSG", count["rpcordma.msg_type"]["1"],
          totals["special_sent"] + totals["special_received"])
    equal("RDMA_ERROR", count["rpcordma.msg_type"]["4"], 0)
    but_for_the_last("Sends with Invalidate", opcode(SEND_INVALIDATE),
                     totals["invalidations_sent"])
    equal("Calls with Read chunks",
          sum(v for k, v in count["rpcordma.reads_count"].items() if k != "0"),
          totals["read_chunks"])
    equal("Terminates", opcode(TERMINATE), 0)
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
        if "CRC check:" in line:
            crcs["good" if "Good CRC32" in line else "wrong"] += 1
    some("CRC", crcs["good"])
    equal("CRCs that are wrong", crcs["wrong"], 0)
    for line in wrong[:20]:
        print(line)
    for line in list(alone(messages))[:3] if wrong else []:
        print(line)
    print(f"{calls} Calls, {replies} Replies, {opcode(WRITE)} Write, "
          f"{opcode(READ_RESPONSE)} Read Response and {opcode(SEND)} + "
          f"{opcode(SEND_INVALIDATE)} Send segments; {chunks['whole']} Write "
          f"chunks without padding, {chunks['padded']} with; "
          f"{crcs['good']} CRCs; {unanswered} Calls that the client did not "
          f"wait for; {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
