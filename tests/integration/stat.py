# SPDX-License-Identifier: BSD-3-Clause
"""stat.py - parts of stat.test

    stat.py liar PATH TEXT...   a socket that gives each TEXT once, the last
                                for ever; "": nothing, and it stays silent
    stat.py crowded PATH DONE   a socket whose backlog is full; DONE says so. It
                                answers after a while, and then no more
    stat.py nonsense STAT       options that are refused
    stat.py forms STAT PATH P   each form of output at socket PATH of program P
    stat.py foreign STAT PATH SOCKET
                                a document with more in it than is known
    stat.py dbus STAT PATH      the object on the bus says what the socket says
    stat.py differences LINES N objects of --interval, 40 Calls after N of them
    stat.py stay PORT MP DONE   a connection that was used; DONE says so
    stat.py named PORT DONE     one of a client with a session, which was on
                                another connection before
    stat.py client STAT PATH    what is known of that client
    stat.py http STAT PATH      requests by HTTP, good and bad
    stat.py hold PORT S1 S2 F   connections, and readers who do not read
    stat.py deaf N              asks N times by D-Bus and reads nothing
"""

import json
import math
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree

import nfsclient

BUS_NAME = "org.ganesha.nfsd"
OBJECT = "/org/ganesha/nfsd/rdma"
INTERFACE = "org.ganesha.nfsd.rdma"


def output_of(*argv):
    r = subprocess.run(argv, text=True, stdin=subprocess.DEVNULL, timeout=60,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert r.returncode == 0 and not r.stderr, (argv, r.stderr)
    return r.stdout


def outputs_of(argvs):
    """At the same time: most of what a program takes is its start."""
    running = [subprocess.Popen(a, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for a in argvs]
    told = [r.communicate(timeout=60) for r in running]
    return [(r.returncode, *t) for r, t in zip(running, told)]


def nonsense(stat):
    """Refused, by one line that says what is allowed."""
    cases = (
        ("not a number from 0.01 to 86400", "--interval", "0"),
        ("not a number from 0.01 to 86400", "--interval", "86401"),
        ("not a number from 0.01 to 86400", "--interval", "often"),
        ("not a number from 0.01 to 86400", "--interval", "nan"),
        ("not a number from 0.01 to 86400", "--timeout", "-1"),
        ("not a number from 1 to 86400", "--interval", "1", "--count", "0"),
        ("--count needs --interval", "--count", "3"),
        ("choose one", "--json", "--prometheus"),
        ("--http needs --prometheus", "--http"),
        ("--http needs --prometheus", "--http", "--json"),
        ("neither --output nor", "--http", "--prometheus", "--output", "a"),
        ("neither --output nor", "--http", "--prometheus", "--interval", "1"),
        ("choose one", "--socket", "a", "--dbus-name", "b.c"),
        ("not a name on a bus, such as " + BUS_NAME, "--dbus-name", "ganesha"),
        ("not a name on a bus, such as " + BUS_NAME, "--dbus-name", "a.b;c"),
        ("unrecognized arguments", "--all"),
        ("unrecognized arguments", "all"),
        ("1 to 107 bytes", "--socket", "0" * 108),
        ("1 to 107 bytes", "--socket", ""),
    )
    results = outputs_of([(stat, *c[1:]) for c in cases])
    for (want, *_), (status, out, err) in zip(cases, results):
        lines = err.splitlines()
        assert status == 2 and not out, (want, status, out)
        assert len(lines) == 1, err
        assert lines[0].startswith("rpcrdma-stat: "), err
        assert want in lines[0], (want, err)


def document(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        return json.loads(s.makefile().read())


# ---- Text exposition format 0.0.4, strictly ------------------------------


def unescape(text):
    assert re.fullmatch(r'(?:[^"\\\n]|\\[\\"n])*', text), text
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def families(text):
    """{name: (kind, help, {labels: value})}; labels are sorted pairs."""
    assert text.endswith("\n") and "\n\n" not in text
    out, name, kind, told = {}, None, None, None
    parts = {}
    for line in text[:-1].split("\n"):
        comment = re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (\S.*)",
                               line, re.ASCII)
        if comment and comment[1] == "HELP":
            assert name is None or (name in out and out[name][2]), line
            name, kind, told = comment[2], None, comment[3]
            assert name not in out, "%s comes twice" % name
            assert "\\" not in told.replace(r"\\", "").replace(r"\n", "")
            continue
        if comment:
            assert comment[2] == name and kind is None, line
            kind = comment[3]
            assert kind in ("counter", "gauge", "histogram", "summary"), line
            out[name] = (kind, told, {})
            check_name(name, kind)
            continue
        sample = re.fullmatch(
            r"([a-zA-Z_:][\w:]*)\{(.*)\} (\d+(?:\.\d+)?(?:e[+-]?\d+)?)",
            line, re.ASCII)
        assert sample and kind, line
        part = ""
        if kind in ("histogram", "summary"):
            part = sample[1].removeprefix(name)
            assert part in ("_sum", "_count") or (
                part == "_bucket" and kind == "histogram"), line
        assert sample[1] == name + part, line
        labels = re.findall(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)',
                            sample[2], re.ASCII)
        assert ",".join('%s="%s"' % p for p in labels) == sample[2], line
        if part == "_bucket":
            le = labels.pop()
            assert le[0] == "le", line
        names = [k for k, _ in labels]
        assert len(set(names)) == len(names), line
        assert not [k for k in names if k.startswith("__") or
                    k in ("le", "quantile", "instance", "job")], line
        series = tuple(sorted((k, unescape(v)) for k, v in labels))
        if part:
            parts.setdefault((name, series), []).append(
                (le[1] if part == "_bucket" else part, float(sample[3])))
            if part != "_count":
                continue
        assert series not in out[name][2], "%s comes twice" % line
        assert all({k for k, _ in s} == set(names) for s in out[name][2]), line
        out[name][2][series] = float(sample[3])
    assert out[name][2], name
    for (name, series), told in parts.items():
        if out[name][0] == "histogram":
            check_histogram(told)
        else:
            assert [p for p, _ in told] == ["_sum", "_count"], told
        out[name][2][series] = dict(told)
    return out


def check_histogram(told):
    """Buckets from the lowest, cumulative, then the sum and the count."""
    *buckets, total, count = told
    assert total[0] == "_sum" and count[0] == "_count", told
    bounds = [float(b) for b, _ in buckets]
    assert bounds == sorted(set(bounds)) and buckets[-1][0] == "+Inf", told
    assert len(bounds) > 20 and 1e-7 < bounds[0] < 1e-4 < 1 < bounds[-2], told
    values = [n for _, n in buckets]
    assert values == sorted(values) and values[-1] == count[1], told
    # No Call can have taken less than the bucket before its own allows.
    assert sum((n - m) * b for (_, m), (_, n), b in zip(
        buckets, buckets[1:], bounds)) <= total[1] * 1.000001 + 1e-9, told


def check_name(name, kind):
    words = name.split("_")
    assert words[0] == "rpcrdma" and name == name.lower(), name
    assert (words[-1] == "total") == (kind == "counter"), name
    for unit in ("bytes", "seconds"):
        assert unit not in words[:-2 if kind == "counter" else -1], name
    assert not {"ms", "us", "ns", "kb", "mb", "octets", "percent"} & \
        set(words), name


def prometheus_name(key, kind="counter"):
    words = [w for w in key.split("_") if w != "bytes"]
    if "bytes" in key.split("_"):
        words.append("bytes")
    return "_".join(["rpcrdma"] + words + ["total"] * (kind == "counter"))


# ---- Forms ---------------------------------------------------------------


def forms(stat, path, program):
    def run(*options):
        return output_of(stat, "--socket", path, *options)

    doc = document(path)
    gateway = doc.get("gateway", {})
    doc = doc.get("transport", doc)
    totals, conns = doc["totals"], doc["connections"]
    assert len(conns) == 1, conns

    text = run()
    versions = {"version": doc["version"]}
    if program == "ganesha":
        # Debian's, and this project's.
        versions["program_version"] = doc["program_version"]
        name = "rpcrdma %s, Ganesha %s, provider " % tuple(versions.values())
        assert re.fullmatch(r"\d+\.\d+", doc["program_version"]), doc
    else:
        assert "program_version" not in doc, doc
        versions["program_version"] = doc["version"]
        name = "%s %s, provider " % (program, doc["version"])
    assert text.startswith(name), text
    rows = {line[:30].rstrip(): line[30:].split()
            for line in text.splitlines() if len(line) > 40}
    for label, *keys in (
            ("Calls", "calls_sent", "calls_received", None),
            ("Bytes inline", "inline_bytes_sent", "inline_bytes_received",
             None),
            ("  in Continued format", "continued_bytes_sent",
             "continued_bytes_received", None),
            ("Write chunks", "write_chunks", None, "write_bytes")):
        want = [str(totals[k]) if k else "-" for k in keys]
        assert rows[label] == want, (label, rows[label], want)
    assert totals["write_bytes"] > 300000 and totals["read_bytes"] > 300000
    # Every counter has its place in the table.
    with open(stat) as f:
        classes = f.read().split("CLASSES = (")[1].split("\n)\n")[0]
    missing = [k for k in totals if '"%s"' % k not in classes]
    assert not missing, missing
    for k, v in gateway.items():
        assert re.search(r"^gateway: %s +%d$" % (k.replace("_", " "), v),
                         text, re.M), (k, text)

    with_stages(text, doc["stages"], rows)
    with_operations(text, doc["operations"])
    for some in doc, conns[0]:
        replies = (some.get("totals") or some["stats"])[
            "replies_received" if gateway else "replies_sent"]
        assert sum(o["count"] for o in some["operations"].values()) == \
            replies > 0, (some, replies)
    # What was read and written, and by which way.
    ops, out, back = doc["operations"], "sent", "received"
    if gateway:
        out, back = back, out
    for name, way, other in ("read", out, back), ("write", back, out):
        o = ops[name]
        assert o["octets_" + way] > o["rdma_" + way] >= 300001, (name, o)
        assert 0 < o["octets_" + other] < 300001, (name, o)
        assert o["rdma_" + other] == 0, (name, o)
    assert {"null", "lookup", "change", "commit", "open", "session"} <= \
        set(ops), ops
    assert not {"other", "callback", "protected"} & set(ops), ops

    lines = run("--connections").splitlines()
    at = [i for i, x in enumerate(lines) if x.startswith("id ")][0]
    assert len(lines) == at + 2, lines
    row = dict(zip(lines[at].split(), lines[at + 1].split()))
    c = conns[0]
    assert c["stats"]["write_bytes"] > 0
    assert row["id"] == str(c["id"]) and row["peer"] == c["peer"], row
    assert row["v"] == "2" and row["state"] == c["state"], row
    assert row["crc"] == ("yes" if c["crc"] else "no"), row
    assert re.fullmatch(r"\d+:\d\d", row["age"]) and c["age"] > 0, row
    assert row["session"] == row["client"] == "-", row
    assert row["bytes-writ"] == str(c["stats"]["write_bytes"]), row

    # How long this client's Calls took.
    ns = sum(o["sum_ns"] for o in c["operations"].values())
    calls = sum(o["count"] for o in c["operations"].values())
    assert row["mean-us"] == "%.1f" % (ns / calls / 1000), row
    bounds = sorted((math.inf if b is None else b, n)
                    for o in c["operations"].values()
                    for b, n in o["up_to_ns"])
    bounds = [b for b, n in bounds for _ in range(n)]
    assert row["99%-us"] == "%.1f" % (
        bounds[math.ceil(0.99 * len(bounds)) - 1] / 1000), row

    one = json.loads(run("--json"))
    assert one["totals"] == totals and one["time"] > 0
    assert one.get("gateway", {}) == gateway
    assert "interval" not in one

    for options in (), ("--connections",):
        seen = families(run("--prometheus", *options))
        base = {("source", path), ("program", program)}
        for name, (_, _, series) in seen.items():
            for labels in series:
                assert name == "rpcrdma_up" or base <= set(labels), name

        def single(name, seen=seen):
            (_, value), = seen[name][2].items()
            return value

        assert single("rpcrdma_up") == 1
        info, = seen["rpcrdma_info"][2]
        assert set(versions.items()) <= set(info), info
        told = {dict(k)["stage"]: v for k, v in
                seen["rpcrdma_stage_duration_seconds"][2].items()}
        assert set(told) == set(doc["stages"])
        for stage, s in doc["stages"].items():
            assert told[stage]["_count"] == s["count"] > 0
            assert abs(told[stage]["_sum"] * 1e9 - s["sum_ns"]) < 2
            at = 0
            for bound, n in s["up_to_ns"]:
                at += n
                le = "+Inf" if bound is None else "%.9g" % (bound / 1e9)
                assert told[stage][le] == at, (stage, bound)
        told = {dict(k)["operation"]: v for k, v in
                seen["rpcrdma_operation_duration_seconds"][2].items()}
        assert set(told) == set(doc["operations"])
        for name, o in doc["operations"].items():
            assert told[name]["_count"] == o["count"] > 0
            assert abs(told[name]["_sum"] * 1e9 - o["sum_ns"]) < 2
            for key in "octets_received", "octets_sent", "rdma_sent":
                words = key.removeprefix("octets_")
                series, = [v for k, v in seen[
                    "rpcrdma_operation_%s_bytes_total" % words][2].items()
                    if dict(k)["operation"] == name]
                assert series == o[key], (name, key)
        for k, v in totals.items():
            assert single(prometheus_name(k)) == v, k
        for k, v in gateway.items():
            assert single(prometheus_name("gateway_" + k)) == v, k
        assert single("rpcrdma_connections") == 1
        for k in "connections_refused", "failed_starts":
            assert single("rpcrdma_%s_total" % k) == doc[k], k
        assert single("rpcrdma_pool_limit_bytes") == doc["pool"]["limit"]
        assert single("rpcrdma_pool_in_use_peak_bytes") > 0
        for k, v in doc["shared_receives"].items():
            assert single(prometheus_name(
                "shared_receives_" + k,
                "counter" if k == "low" else "gauge")) == v
        # What is in use, and of how much.
        assert single("rpcrdma_connections_limit") == doc["connections_limit"]
        for k in "host_connections_limit", "host_memory_limit_bytes", \
                "reply_limit_bytes":
            assert single("rpcrdma_" + k) == doc[k] > 0, k
        assert 3 < single("rpcrdma_descriptors_used") < \
            single("rpcrdma_descriptors_limit")
        assert single("rpcrdma_calls_in_progress") == 0
        assert single("rpcrdma_credits_advertised") == c["advertised"]
        assert ("rpcrdma_exports_served" in seen) == (program == "ganesha")
        if program == "ganesha":
            assert single("rpcrdma_exports_served") == 1
            assert single("rpcrdma_exports_expected") == 1
            for k in "draining", "settings_changed", "reload_failed", \
                    "reload_time_seconds", "evicted":
                assert single("rpcrdma_" + k) == 0, k
        else:
            info, = seen["rpcrdma_gateway_server_info"][2]
            assert dict(info)["server"] == c["peer"], info
            assert 0 <= single("rpcrdma_gateway_server_seconds") < 600
        # By host, of a server, and nothing by port.
        by_host = prometheus_name("host_write_bytes")
        assert (by_host in seen) == (bool(options) and program == "ganesha")
        assert not [n for n, (_, _, series) in seen.items() for labels in series
                    if {"peer", "id"} & set(dict(labels))], seen
        if by_host in seen:
            host, = doc["hosts"]
            assert host["host"] == "127.0.0.1" == c["host"], host
            assert single("rpcrdma_host_connections") == 1
            assert single(by_host) == host["stats"]["write_bytes"] >= \
                c["stats"]["write_bytes"]
            took = single("rpcrdma_host_call_duration_seconds")
            assert took["_count"] == host["calls"] >= calls, took
            assert abs(took["_sum"] * 1e9 - host["call_ns"]) < 2, took
            info, = seen["rpcrdma_host_info"][2]
            assert {"host": "127.0.0.1", "client": "", "principal": "",
                    "version": "2"}.items() <= dict(info).items(), info


CLIENT = "Linux NFSv4.1 \x1b[1mclient"


def named(port, done):
    client = nfsclient.V4("127.0.0.1", int(port), 1, name=CLIENT)
    client.get("long")
    client.reconnect()
    client.get("long")
    with open(done, "w"):
        time.sleep(600)


def client(stat, path):
    """The name came on another connection than the one that there is."""
    doc = document(path)
    c, = [c for c in doc["connections"] if c["client"]]
    assert c["client"] == CLIENT.replace("\x1b", "?"), c
    assert re.fullmatch("[0-9a-f]{32}", c["session"]), c
    row, = [line for line in output_of(
        stat, "--socket", path, "--connections").splitlines()
        if line.startswith("%d " % c["id"])]
    assert row.endswith(" - " + c["client"]), row
    assert row.split()[16] == c["session"], row
    seen = families(output_of(stat, "--socket", path, "--prometheus",
                              "--connections"))
    got = {dict(s)["client"] for s in seen["rpcrdma_host_info"][2]}
    assert got == {"", c["client"]}, got


def http(stat, path):
    command = (stat, "--prometheus", "--http", "--socket")

    def ask(request, where=path, *options):
        ours, theirs = socket.socketpair()
        with ours, subprocess.Popen([*command, where, *options], stdin=theirs,
                                    stdout=theirs,
                                    stderr=subprocess.PIPE) as p:
            theirs.close()
            ours.settimeout(60)
            try:
                ours.sendall(request)
            except BrokenPipeError:
                pass  # it has read enough
            text = b""
            try:
                while part := ours.recv(1 << 16):
                    text += part
            except ConnectionResetError:
                pass  # and answered, without taking the rest
            p.stderr.read()
            assert p.wait() == 0, p.returncode
        head, body = text.split(b"\r\n\r\n", 1)
        status, *lines = head.decode().split("\r\n")
        fields = dict(line.split(": ") for line in lines)
        assert fields["Connection"] == "close", fields
        assert fields["Content-Type"] == "text/plain; version=0.0.4", fields
        if not request.startswith(b"HEAD"):
            assert int(fields["Content-Length"]) == len(body), fields
        return status, body.decode()

    get = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
    status, body = ask(get)
    assert status == "HTTP/1.1 200 OK", status
    assert families(body)["rpcrdma_connections"]
    assert ask(get.replace(b"s H", b"s?a=b H"))[0] == status
    assert ask(get.replace(b"\r", b""))[0] == status
    assert ask(get.replace(b"GET", b"HEAD")) == (status, "")
    assert "rpcrdma_host_connections" in ask(get, path, "--connections")[1]
    # Without a server it says just that.
    status, body = ask(get, path + ".none")
    assert status == "HTTP/1.1 200 OK" and body.count("\n") == 3, body
    assert re.search(r"(?m)^rpcrdma_up\{.*\} 0$", body), body
    for request, want in (
            (get.replace(b"/metrics", b"/"), "404"),
            (get.replace(b"/metrics", b"/../metrics"), "404"),
            (get.replace(b"GET", b"POST"), "405"),
            (get.replace(b"HTTP/1.1", b"HTTP/9"), "400"),
            (b"\x16\x03\x01\r\n\r\n", "400"), (b"\r\n\r\n", "400"),
            (b"G" * 100000, "400")):
        status, body = ask(request)
        assert status.split()[1] == want and not body, (request[:20], status)
    # Who says nothing is not waited for.
    before = time.monotonic()
    assert ask(b"GET", path, "--timeout", "0.2")[0].split()[1] == "400"
    assert time.monotonic() - before < 10


def with_stages(text, stages, rows):
    assert stages
    for stage, s in stages.items():
        count, mean, half, most = rows["  " + stage]
        assert int(count) == s["count"]
        assert mean == "%.1f" % (s["sum_ns"] / s["count"] / 1000)
        bounds = [b for b, n in s["up_to_ns"] for _ in range(n)]
        for shown, share in (half, 0.5), (most, 0.99):
            b = bounds[max(0, math.ceil(share * len(bounds)) - 1)]
            assert shown == ("-" if b is None else "%.1f" % (b / 1000)), stage


def with_operations(text, operations):
    rows = {line[:12].rstrip(): line[12:].split()
            for line in text.splitlines() if len(line) > 100}
    for name, o in operations.items():
        row = rows["  " + name]
        assert row[:5] == [str(o[k]) for k in (
            "count", "octets_received", "rdma_received", "octets_sent",
            "rdma_sent")], (name, row, o)
        assert row[5] == "%.1f" % (o["sum_ns"] / o["count"] / 1000)


def foreign(stat, path, other):
    """What a later server may say, and what a peer may be called."""
    doc = document(path)
    inner = doc.get("transport", doc)
    names = 'a"b\\c', "d\ne", "}{,=", "\x1b[1m"
    inner["latency"] = {"read": {"buckets": [1, 2], "sum": 0.5}}
    inner["stages"]["later"] = {"count": 3, "sum_ns": 7 * 10**10, "new": [],
                                "up_to_ns": [[3500, 2], [None, 1]]}
    inner["operations"]["later"] = {"count": 1, "sum_ns": 5, "new": "?",
                                    "up_to_ns": [[1023, 1]], "sealed": 4}
    inner["totals"]["stages"] = {"a": 1}
    inner["totals"]["new_counter"] = 7
    inner["totals"]["Not-A-Name\n"] = 8
    inner["totals"]["yes"] = True
    inner["pool"]["names"] = ["x"]
    model = inner["connections"][0]
    model["stats"]["stages"] = [1, 2]
    inner["connections"] = [{**model, "id": i, "principal": n, "news": None}
                            for i, n in enumerate(names)]
    other = "%s.%d" % (other, os.getpid())
    process = subprocess.Popen([sys.executable, __file__, "liar", other,
                                json.dumps(doc)])
    try:
        while not os.path.exists(other):
            assert process.poll() is None
            time.sleep(0.02)
        results = outputs_of(
            [(stat, "--socket", other, *options, *form)
             for options in ((), ("--interval", "0.01", "--count", "2"))
             for form in ((), ("--connections",), ("--json",),
                          ("--prometheus", "--connections"))])
        assert not [r for r in results if r[0] or r[2]], results
        seen = families(results[3][1])
    finally:
        process.kill()
        process.wait()
    assert set(seen["rpcrdma_new_counter_total"][2].values()) == {7}
    later = {dict(k)["stage"]: v for k, v in
             seen["rpcrdma_stage_duration_seconds"][2].items()}["later"]
    assert later["3.5e-06"] == 2 and later["+Inf"] == 3
    later, = seen["rpcrdma_operation_sealed_bytes_total"][2].items()
    assert dict(later[0])["operation"] == "later" and later[1] == 4
    assert not [n for n in seen if "stages" in n or "yes" in n]
    if inner is doc:
        got = {dict(s)["principal"] for s in seen["rpcrdma_host_info"][2]}
        assert got == set(names), got
    # A terminal gets none of it.
    assert "\x1b" not in results[1][1] and "d?e" in results[1][1]


def differences(path, before):
    with open(path) as f:
        lines = [json.loads(line) for line in f]
    later = lines[int(before):]
    assert later
    assert all(x["interval"]["seconds"] > 0 for x in lines)
    assert sum(x["interval"]["totals"]["calls_received"] for x in later) == 40
    assert sum(x["interval"]["operations"]["null"]["count"]
               for x in later) == 40
    first, last = lines[0], lines[-1]
    assert {k: v["count"] for k, v in first["operations"].items()} == \
        {k: v["count"] for k, v in first["interval"]["operations"].items()}
    assert first["interval"]["totals"] == first["totals"]
    assert sum(x["interval"]["totals"]["calls_received"]
               for x in lines) == last["totals"]["calls_received"]


# ---- D-Bus ---------------------------------------------------------------


def bus(method, *options):
    return output_of("dbus-send", "--system", "--print-reply" +
                     "".join(options), "--reply-timeout=30000",
                     "--dest=" + BUS_NAME, OBJECT, method)


def dbus(stat, path):
    doc = document(path)

    def lasting(doc):
        """Without what is another each time."""
        doc = {k: v for k, v in doc.items()
               if k not in ("uptime", "time", "descriptors", "grace")}
        doc["connections"] = [{k: v for k, v in c.items() if k != "age"}
                              for c in doc["connections"]]
        return doc

    def same(other):
        return lasting(other) == lasting(doc)

    assert same(json.loads(bus(INTERFACE + ".GetStatistics", "=literal")))
    # By default, and by name.
    assert same(json.loads(output_of(stat, "--json")))
    assert same(json.loads(output_of(stat, "--json", "--dbus-name",
                                     BUS_NAME)))
    # Ganesha says so; this one is Graceless.
    assert json.loads(output_of(stat, "--json"))["grace"] is False
    assert "rpcrdma_grace" in families(output_of(stat, "--prometheus"))
    assert ('source="default"' in
            output_of(stat, "--prometheus").splitlines()[2])

    text = bus("org.freedesktop.DBus.Introspectable.Introspect", "=literal")
    tree = xml.etree.ElementTree.fromstring(
        re.sub(r"<!DOCTYPE[^>]*>", "", text.strip()))
    ours = tree.find("interface[@name='%s']" % INTERFACE)
    methods = {m.get("name"): [(a.get("direction"), a.get("type"))
                               for a in m.findall("arg")]
               for m in ours.findall("method")}
    assert methods == {
        "GetStatistics": [("out", "s")],
        "Evict": [("in", "s"), ("in", "u"), ("out", "s")],
        "Drain": [("in", "u"), ("out", "s")],
        "Undrain": [("out", "s")],
        "Set": [("in", "s"), ("in", "s"), ("out", "s")]}, methods


def bus_call(serial, dest, path, interface, member):
    """A method call without arguments, in D-Bus' wire format, version 1."""
    fields = b""
    for code, kind, text in ((1, b"o", path), (2, b"s", interface),
                             (3, b"s", member), (6, b"s", dest)):
        fields += b"\0" * (-len(fields) % 8)
        fields += struct.pack("<BB1sBI", code, 1, kind, 0, len(text))
        fields += text.encode() + b"\0"
    head = struct.pack("<4BIII", ord("l"), 1, 0, 1, 0, serial, len(fields))
    return head + fields + b"\0" * (-len(fields) % 8)


def deaf(count):
    path = os.environ["DBUS_SYSTEM_BUS_ADDRESS"].removeprefix("unix:path=")
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(b"\0AUTH EXTERNAL %s\r\n" %
              str(os.getuid()).encode().hex().encode())
    assert s.recv(1000).startswith(b"OK ")
    s.sendall(b"BEGIN\r\n" + bus_call(
        1, "org.freedesktop.DBus", "/org/freedesktop/DBus",
        "org.freedesktop.DBus", "Hello"))
    assert s.recv(1000)
    for serial in range(2, int(count) + 2):
        s.sendall(bus_call(serial, BUS_NAME, OBJECT, INTERFACE,
                           "GetStatistics"))
    print("asked", flush=True)
    time.sleep(600)


# ---- Peers ---------------------------------------------------------------


def liar(path, *texts):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path + ".new")
    s.listen()
    os.rename(path + ".new", path)  # whoever sees it can connect
    held = []
    while True:
        c = s.accept()[0]
        text, *texts = texts if len(texts) > 1 else texts * 2
        if text:
            c.sendall(os.fsencode(text))
            c.close()
        held.append(c)


def crowded(path, done):
    def fill():
        while True:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            try:
                s.connect(path)
            except BlockingIOError:
                return
            waiting.append(s)

    waiting = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0)
    fill()
    open(done, "w").close()
    time.sleep(3)
    for _ in range(len(waiting) + 1):
        listener.accept()[0].close()
    fill()
    time.sleep(600)


def stay(port, mount_port, done):
    """A connection that has read and written, and is still there."""
    client = nfsclient.V3("127.0.0.1", int(port), int(mount_port))
    client.put("kept", client.get("long"))
    with open(done, "w"):
        time.sleep(600)


def hold(port, server, gateway, done):
    """So many connections that a document is longer than a socket's buffer;
    then more readers than a server has places for, who take none of it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096,) * 2)
    clients = [socket.create_connection(("127.0.0.1", int(port)))
               for _ in range(250)]
    null = struct.pack(">I10I", 1 << 31 | 40, 1, 0, 2, 100003, 3, *[0] * 5)
    for c in clients:
        c.sendall(null)
    until = time.monotonic() + 60
    while document(server)["connections_now"] < len(clients):
        assert time.monotonic() < until, "not connected"
        time.sleep(0.1)
    size = min(len(json.dumps(document(p))) for p in (server, gateway))
    held = []
    for path in server, gateway:
        for _ in range(12):
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            held.append(s)
    with open(done + ".new", "w") as f:
        f.write("%d\n" % size)
    os.rename(done + ".new", done)
    time.sleep(600)


if __name__ == "__main__":
    {f.__name__: f for f in (
        nonsense, crowded, liar, forms, foreign, dbus, differences, stay,
        named, client, http, hold, deaf)}[sys.argv[1]](*sys.argv[2:])
