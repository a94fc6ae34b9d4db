#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every header type, property and error, written and read back by tshark.

wireshark_synthetic.py DISSECTOR DIRECTORY: prints "ok NAME" or "not ok NAME
reason" for each frame that has something to check.
"""

import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conformance")]

from pcap import (CLIENT, READ_RESPONSE, SERVER, TSHARK, WRITE,  # noqa: E402
                  Pcap, read_request, tagged)
from rpcrdma_conformance import v2  # noqa: E402
from rpcrdma_conformance.v2 import ReadSegment, Segment  # noqa: E402

FAR = 0xfedcba9876543210  # an offset that no double holds


def u32(*v):
    return struct.pack(">%dI" % len(v), *v)


def opaque(b):
    return u32(len(b)) + b + bytes(-len(b) % 4)


def call(xid, proc, args=b""):
    return u32(xid, 0, 2, 100003, 3, proc, 0, 0, 0, 0) + args


def reply(xid, results=b""):
    return u32(xid, 1, 0, 0, 0, 0) + results


def ext(htype, xid, body):
    return u32(xid, 2, 9, htype) + body


class Checks:
    def __init__(self):
        self.want = {}  # frame: (name, {field: value})

    def add(self, frame, name, **fields):
        self.want[frame] = (name, fields)

    def names(self):
        found = {"frame.number", "_ws.malformed", "_ws.lua.error",
                 "rpcrdma2.xid", "rpcrdma2.expert.bad_xdr",
                 "rpcrdma2.expert.bad_propval", "rpcrdma2.expert.htype",
                 "rpcrdma2.expert.inval_cont", "rpcrdma2.expert.missing"}
        for _, fields in self.want.values():
            found.update(map(full, fields))
        return sorted(found)


def full(field):
    if field.startswith(("rpc__", "nfs__", "X__")):
        return field.removeprefix("X__").replace("__", ".")
    return "rpcrdma2." + field.replace("__", ".")


EXPERTS = ("bad_xdr", "bad_propval", "htype", "inval_cont", "missing")


def write(pcap, checks):
    def put(end, name, octets, cut=None, **fields):
        checks.add(pcap.send(end, octets, cut), name, **fields)

    # ---- Properties ----
    put(CLIENT, "connprop-middle", v2.encode(
        v2.PROP_MIDDLE, 0x101, 17, props=[(v2.SBSIZ, 65536),
                                          (v2.RBSIZ, 8192)]),
        htype=6, vers=2, credit=17, props=2, prop="1,2",
        prop__value="65536,8192", prop__length="4,4")
    put(CLIENT, "connprop-final", v2.encode(
        v2.PROP_FINAL, 0x102, 17, props=[
            (v2.RSSIZ, 1 << 20), (v2.RCSIZ, 16), (v2.BRS, 2),
            (v2.HOSTAUTH, opaque(b"who")), (77, b"abcde"),
            (v2.RBSIZ, b"")]),
        htype=7, props=6, prop="3,4,5,6,77,2", prop__value="1048576,16",
        prop__reverse=2, prop__data="0000000377686f00,6162636465",
        prop__length="4,4,4,8,5,0")
    put(SERVER, "connprop-extensions", v2.encode(
        v2.PROP_FINAL, 0x103, 18, props=[
            (0xFFFFFF00, 15), (0xFFFFFF02, 1), (0xFFFFFF13, 7),
            (0xFFFFFF14, u32(8192, 2, 1, 4096, 8, 0, 1, 4096, 4096, 1)),
            (0xFFFFFF15, 4), (0xFFFFFF16, 5)]),
        prop="4294967040,4294967042,4294967059,4294967060,4294967061,"
             "4294967062", prop__value="15,1,7,4,5", rbs__length=8192,
        rbs__count="1,1", rbs__seg_length="4096,4096", rbs__align="8,4096",
        rbs__flags="0x00000000,0x00000001")
    put(CLIENT, "bad-propval", v2.encode(
        v2.PROP_FINAL, 1, 1, props=[(v2.RBSIZ, b"abc"), (v2.BRS, 9),
                                    (v2.SBSIZ, 8)]),
        expert__bad_propval=3)
    put(CLIENT, "bad-buffer-structure", v2.encode(
        v2.PROP_FINAL, 1, 1, props=[(0xFFFFFF14, u32(8192, 9, 1))]),
        expert__bad_propval=1)
    put(CLIENT, "props-break-off",
        v2.encode(v2.PROP_FINAL, 1, 1)[:-4] + u32(1, 2, 400, 1),
        expert__bad_xdr=1)
    put(CLIENT, "props-too-many",
        v2.encode(v2.PROP_FINAL, 1, 1)[:-4] + u32(0xffffffff, 2, 4, 1),
        expert__bad_xdr=1)

    # ---- Control ----
    put(SERVER, "grant", v2.encode(v2.GRANT, 0, 40), htype=5, credit=40,
        xid="0x00000000")
    put(SERVER, "surplus", v2.encode(v2.GRANT, 0, 40) + bytes(8), surplus=8)
    for code, words, fields in (
            (1, (2, 2), {"vers_low": 2, "vers_high": 2}),
            (2, (), {}), (3, (), {}), (4, (), {}), (5, (), {}),
            (6, (8,), {"max_chunks": 8}), (7, (9,), {"max_chunks": 9}),
            (8, (16,), {"max_segments": 16}),
            (9, (1, 4096), {"chunk_index": 1, "length_needed": 4096}),
            (10, (70000,), {"length_needed": 70000}), (11, (), {}),
            (100, (), {})):
        put(SERVER, "error-%d" % code, v2.encode(
            v2.ERROR, 0x200 + code, 41, error=(code, *words)),
            htype=4, err=code, **fields)
        if words:
            put(SERVER, "error-%d-breaks-off" % code, v2.encode(
                v2.ERROR, 1, 41, error=(code, *words))[:-2],
                expert__bad_xdr=1)
    put(SERVER, "error-of-version-3", v2.encode(
        v2.ERROR, 7, 41, vers=3, error=(1, 1, 2)), err=1, vers=3,
        vers_low=1, vers_high=2)
    put(SERVER, "mismatch-of-version-1", v2.encode(
        v2.ERROR, 7, 41, vers=1, error=(11,)), err=11, vers=1)
    put(SERVER, "unknown-header-type", u32(9, 2, 1, 3) + bytes(8), htype=3,
        expert__htype=1)

    # ---- Calls and Replies ----
    put(CLIENT, "call-inline", v2.encode(
        v2.CALL_INLINE, 0x300, 20, inv=0xabcd, payload=call(0x300, 0)),
        htype=10, inv_handle="0x0000abcd", reads=0, writes=0,
        payload__length=40, whole__length=40, whole__fragments=1,
        rpc__msgtyp=0, rpc__xid="0x00000300", rpc__procedure=0)
    put(SERVER, "reply-inline", v2.encode(
        v2.REPLY_INLINE, 0x300, 20, payload=reply(0x300)), htype=13,
        payload__length=24, rpc__msgtyp=1, rpc__xid="0x00000300")
    put(CLIENT, "in-segments", v2.encode(
        v2.CALL_INLINE, 0x301, 20, payload=call(0x301, 0)), cut=24,
        htype=10, whole__length=40, rpc__xid="0x00000301")
    put(CLIENT, "two-in-a-frame", v2.encode(v2.GRANT, 0, 21), htype=5)
    frame = pcap.put(SERVER, *pcap.send_fpdus(SERVER, v2.encode(
        v2.REPLY_INLINE, 0x301, 20, payload=reply(0x301))),
        *pcap.send_fpdus(SERVER, v2.encode(v2.GRANT, 0, 22)))
    checks.add(frame, "reply-and-grant", htype="13,5", credit="20,22",
               rpc__xid="0x00000301")
    for name, octets in (
            ("no-payload", v2.encode(v2.CALL_INLINE, 1, 1)),
            ("list-of-2", u32(1, 2, 1, 10, 0, 2)),
            ("reads-break-off", u32(1, 2, 1, 10, 0, 1, 4, 5, 6)),
            ("writes-break-off", u32(1, 2, 1, 10, 0, 0, 1, 9, 6)),
            ("remaining-breaks-off", u32(1, 2, 1, 9))):
        put(CLIENT, name, octets, expert__bad_xdr=1)

    # A READ of two results' worth of lists, and its data by RDMA Write.
    data = bytes(range(256)) * 20 + b"end"
    put(CLIENT, "call-with-write-chunks", v2.encode(
        v2.CALL_INLINE, 0x310, 20, inv=0x51, reads=[],
        writes=[[Segment(0x51, 4096, FAR), Segment(0x52, 4096, 8)],
                [Segment(0x53, 64, 0)]], reply=[Segment(0x54, 512, 1)],
        payload=call(0x310, 6, opaque(b"handle00") + u32(0, 0, len(data)))),
        writes=2, chunk__segments="2,1,1",
        handle="0x00000051,0x00000052,0x00000053,0x00000054",
        length="4096,4096,64,512",
        offset="0xfedcba9876543210,0x0000000000000008,0x0000000000000000,"
               "0x0000000000000001", rpc__procedure=6)
    pcap.put(SERVER, tagged(WRITE, 0x51, FAR, data[:3000], False),
             tagged(WRITE, 0x51, FAR + 3000, data[3000:4096]))
    pcap.put(SERVER, tagged(WRITE, 0x52, 8, data[4096:]))
    put(SERVER, "reply-with-write-chunks", v2.encode(
        v2.REPLY_INLINE, 0x310, 20,
        writes=[[Segment(0x51, 4096, FAR),
                 Segment(0x52, len(data) - 4096, 8)], [Segment(0x53, 0, 0)]],
        payload=reply(0x310, u32(0, 0, len(data), 1, len(data)))),
        whole__placed=len(data), whole__length=44 + len(data) + 1,
        nfs__data=data.hex(), rpc__xid="0x00000310")
    put(SERVER, "data-not-captured", v2.encode(
        v2.REPLY_INLINE, 0x311, 20, writes=[[Segment(0x99, 8, FAR)]],
        payload=reply(0x311, u32(0, 0, 8, 1, 8))), expert__missing=1)

    # A WRITE with its data in two chunks' segments, by RDMA Read.
    stream = call(0x320, 7, opaque(b"handle00") +
                  u32(0, 0, len(data), 0, len(data)))
    put(CLIENT, "call-with-read-chunk", v2.encode(
        v2.CALL_INLINE, 0x320, 20, reads=[
            ReadSegment(len(stream), 0x61, 2048, FAR),
            ReadSegment(len(stream), 0x62, len(data) - 2048, FAR - 9)],
        payload=stream), reads=1, position="%d,%d" % ((len(stream),) * 2),
        handle="0x00000061,0x00000062", rpc__xid="")
    pcap.put(SERVER, read_request(1, 0x71, FAR, 2048, 0x61, FAR),
             read_request(2, 0x72, 0, len(data) - 2048, 0x62, FAR - 9))
    pcap.put(CLIENT, tagged(READ_RESPONSE, 0x71, FAR, data[:1000], False),
             tagged(READ_RESPONSE, 0x71, FAR + 1000, data[1000:2048]))
    checks.add(pcap.put(CLIENT, tagged(READ_RESPONSE, 0x72, 0, data[2048:])),
               "call-whole-after-reads", whole__placed=len(data),
               call_frame=pcap.frames - 3, rpc__xid="0x00000320",
               nfs__data=data.hex())

    # Special format, both ways.
    whole = call(0x330, 7, opaque(b"handle00") +
                 u32(0, 0, 9, 0) + opaque(b"ninewords"))
    put(CLIENT, "call-external", v2.encode(
        v2.CALL_EXTERNAL, 0x330, 20, inv=3, call=[
            ReadSegment(0, 0x63, 40, 0), ReadSegment(0, 0x64, 44, 100)],
        reply=[Segment(0x65, 100, FAR)]), htype=8,
        handle="0x00000063,0x00000064,0x00000065", position="0,0",
        rpc__xid="")
    pcap.put(SERVER, read_request(3, 0x73, 0, 40, 0x63, 0),
             read_request(4, 0x73, 40, 44, 0x64, 100))
    checks.add(pcap.put(
        CLIENT, tagged(READ_RESPONSE, 0x73, 0, whole[:40]),
        tagged(READ_RESPONSE, 0x73, 40, whole[40:])),
        "call-chunk-read", whole__length=len(whole),
        nfs__data=b"ninewords".hex(), rpc__procedure=7)
    answer = reply(0x330, u32(0, 0, 0, 9, 0, 1, 2))
    frame = pcap.put(SERVER, tagged(WRITE, 0x65, FAR, answer),
                     *pcap.send_fpdus(SERVER, v2.encode(
                         v2.REPLY_EXTERNAL, 0x330, 20,
                         reply=[Segment(0x65, len(answer), FAR)])))
    checks.add(frame, "reply-external", htype=11,
               whole__placed=len(answer), rpc__msgtyp=1,
               rpc__xid="0x00000330")

    # Continued format; a GRANT may come in between.
    whole = call(0x340, 0) + bytes(0)
    put(CLIENT, "call-middle", v2.encode(
        v2.CALL_MIDDLE, 0x340, 20, remaining=28, payload=whole[:12]),
        htype=9, remaining=28, payload__length=12, rpc__xid="")
    put(CLIENT, "grant-between", v2.encode(v2.GRANT, 0, 23), htype=5)
    put(CLIENT, "call-middle-again", v2.encode(
        v2.CALL_MIDDLE, 0x340, 20, remaining=8, payload=whole[12:32]),
        remaining=8)
    put(CLIENT, "call-continued", v2.encode(
        v2.CALL_INLINE, 0x340, 20, payload=whole[32:]), whole__length=40,
        whole__fragments=3, rpc__xid="0x00000340")
    # One whose rdma_remaining counts the octets of its own message, too.
    whole = call(0x343, 0) + bytes(0)
    put(CLIENT, "call-middle-with", v2.encode(
        v2.CALL_MIDDLE, 0x343, 20, remaining=40, payload=whole[:12]),
        htype=9, remaining=40)
    put(CLIENT, "call-middle-with-again", v2.encode(
        v2.CALL_MIDDLE, 0x343, 20, remaining=28, payload=whole[12:32]),
        remaining=28)
    put(CLIENT, "call-continued-with", v2.encode(
        v2.CALL_INLINE, 0x343, 20, payload=whole[32:]), whole__length=40,
        whole__fragments=3, rpc__xid="0x00000343")
    whole = reply(0x340)
    put(SERVER, "reply-middle", v2.encode(
        v2.REPLY_MIDDLE, 0x340, 20, remaining=8, payload=whole[:16]),
        htype=12, remaining=8)
    put(SERVER, "reply-continued", v2.encode(
        v2.REPLY_INLINE, 0x340, 20, payload=whole[16:]), whole__fragments=2,
        rpc__msgtyp=1)
    put(SERVER, "middle-alone", v2.encode(
        v2.REPLY_MIDDLE, 0x341, 20, remaining=8, payload=whole[:16]))
    put(SERVER, "another-inside", v2.encode(
        v2.REPLY_INLINE, 0x342, 20, payload=whole[16:]),
        expert__inval_cont=1, rpc__xid="")
    # Reverse direction.
    put(SERVER, "reverse-call", v2.encode(
        v2.CALL_INLINE, 0x350, 20, payload=call(0x350, 0)),
        rpc__xid="0x00000350")
    put(CLIENT, "reverse-reply", v2.encode(
        v2.REPLY_INLINE, 0x350, 20, payload=reply(0x350)), rpc__msgtyp=1)

    # ---- xcharext ----
    props = v2.put_props([(v2.RBSIZ, 16384), (v2.BRS, 1)])
    put(CLIENT, "initxch", ext(0xFFFFFF01, 0x401, props + u32(1, 2)),
        htype=0xFFFFFF01, prop="2,5", prop__value=16384, prop__reverse=1,
        subset__start="0x00000002")
    put(CLIENT, "reqxch", ext(0xFFFFFF02, 0x402, props), props=2)
    put(SERVER, "respxch", ext(0xFFFFFF03, 0x402, u32(1, 1, 1, 2, 2, 4, 8)),
        subset__done="0x00000001", subset__rej="0x00000002",
        subset__pend="0x00000004,0x00000008")
    put(SERVER, "updxch", ext(0xFFFFFF04, 0x403, props[4:16] + u32(1)),
        prop=2, prop__value=16384, pendclr=1)
    put(SERVER, "updxch-breaks-off", ext(0xFFFFFF04, 0x403, props[4:16]),
        expert__bad_xdr=1)

    # ---- rtrext ----
    seg = v2.put_chunk([Segment(0x81, 10, FAR)])
    put(CLIENT, "xmtreq-items", ext(0xFFFFFF15, 0x501, u32(
        4, 100, 10, 1) + seg + u32(120, 9, 2, 8, 2, 0, 1, 200, 4, 5, 300, 4,
                                   6) +
        u32(1, 0, 50, 4, 0, 2, 1, 3) + seg + u32(2, 4, 4096) + seg +
        u32(3, 1) + seg + u32(1, 2, 40) + call(0x501, 0)),
        items=4, item__disp="100,120,200,300", item__length="10,9,4,4",
        place="1,2,5,6,2,3,4,1", place__offset=8, place__bsn="0,1", rsd=1,
        rsd__begin=0, rsd__end=50, rsd__items=4, place__minlen="0,1,2,3",
        place__threshold=4096, count=1, rsbuf=2, pslen=40,
        expert__missing=1, handle="0x00000081,0x00000081,0x00000081,"
                                  "0x00000081")
    put(CLIENT, "xmtreq", ext(0xFFFFFF15, 0x502, u32(
        0, 0, 2, 1, 24) + call(0x502, 0)[:24]), items=0, rsd=0, count=2,
        rsbuf=1, pslen=24, rpc__xid="")
    put(CLIENT, "xmtcont", ext(0xFFFFFF17, 0x502, u32(
        1, 0xFFFFFF15, 16) + call(0x502, 0)[24:] + bytes(12)), xnum=1,
        itype="0xffffff15", pslen=16, whole__length=40, whole__fragments=2,
        rpc__xid="0x00000502")
    put(SERVER, "xmtresp", ext(0xFFFFFF16, 0x502, u32(
        0, 1, 24) + reply(0x502)), count=1, rpc__msgtyp=1)
    put(SERVER, "xmtcont-alone", ext(0xFFFFFF17, 0x502, u32(
        1, 0xFFFFFF16, 4, 0)), expert__inval_cont=1)
    put(SERVER, "xmtresp-too-long", ext(0xFFFFFF16, 0x502, u32(
        0, 1, 28) + reply(0x502)), expert__bad_xdr=1)
    put(SERVER, "xmtreq-bad-place", ext(0xFFFFFF15, 0x502, u32(
        1, 0, 4, 3, 0, 0, 0, 0, 0)), expert__bad_xdr=1)
    for code in range(1, 9):
        words, fields = (), {}
        if code in (1, 2, 4, 5):
            words = (11, 12)
            fields = {"opterr__expect": 11, "opterr__current": 12}
        elif code > 5:
            words = (13, 14, 15)
            fields = {"opterr__value": 13, "opterr__min": 14,
                      "opterr__max": 15}
        lead = (1, 8, 0, 1) if code % 2 else (0,)
        if code % 2:
            fields.update(lead__xid="0x00000008", lead__dir=0, lead__seq=1)
        put(SERVER, "repterr-%d" % code, ext(0xFFFFFF18, 0x600 + code, u32(
            0x600, 1, 2, *lead, code, *words)), opterr=code,
            bad__xid="0x00000600", bad__dir=1, bad__seq=2, **fields)
    put(SERVER, "repterr-unknown", ext(0xFFFFFF18, 1, u32(1, 0, 0, 0, 99)),
        opterr=99, expert__bad_xdr=1)
    put(CLIENT, "short", u32(1, 2, 3)[:11], xid="",
        expert__bad_xdr=1)


def read_back(dissector, path, names, twice):
    argv = [*TSHARK, "-X", "lua_script:" + dissector, "-r", path,
            "-T", "fields", "-E", "separator=|"]
    for name in names:
        argv += ["-e", name]
    if twice:
        argv.append("-2")
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120)
    if r.returncode or "lua" in r.stderr.lower():
        raise SystemExit("not ok tshark " + " ".join(r.stderr.split()))
    return {int(row["frame.number"]): row for row in (
        dict(zip(names, line.split("|"))) for line in r.stdout.splitlines())}


def main():
    dissector, where = sys.argv[1:]
    path = os.path.join(where, "synthetic.pcap")
    pcap, checks = Pcap(path), Checks()
    write(pcap, checks)
    pcap.close()
    names = checks.names()
    failed = False
    # As it is read, and again when all has been read, as Wireshark shows it.
    for twice in (False, True):
        rows = read_back(dissector, path, names, twice)
        bad = []
        for frame, (name, fields) in checks.want.items():
            row, wrong = rows[frame], []
            want = {full(k): str(v) for k, v in fields.items()}
            for e in EXPERTS:
                n = int(want.pop("rpcrdma2.expert." + e, 0))
                got = row["rpcrdma2.expert." + e]
                if (len(got.split(",")) if got else 0) != n:
                    wrong.append("%s: %r" % (e, got))
            malformed = row["_ws.malformed"]
            if row["_ws.lua.error"] or (malformed and
                                        "expert__bad_xdr" not in fields):
                wrong.append(malformed + row["_ws.lua.error"])
            wrong += ["%s is %r, not %r" % (k, row[k][:200], v[:200])
                      for k, v in want.items() if row[k] != v]
            if wrong:
                bad.append("%s (frame %d): %s" % (name, frame,
                                                  "; ".join(wrong)))
            elif not twice:
                print("ok synthetic-" + name)
        for line in bad:
            print("not ok synthetic%s-%s" % ("-again" if twice else "", line))
        if twice and not bad:
            print("ok synthetic-again")
        # Frames without a check of their own must be sound as well.
        strange = [n for n, row in rows.items() if n not in checks.want and (
            row["_ws.malformed"] or row["_ws.lua.error"])]
        if strange:
            print("not ok synthetic-others", strange)
        failed = failed or bad or strange
    sys.exit(1 if failed else 0)


main()
