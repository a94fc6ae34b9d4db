# SPDX-License-Identifier: BSD-3-Clause
"""What the field's suites said, and how it compares: for run and table.

A result is the log of one suite by one way and version of NFS, WAY-VERSION.log, as
inside.sh wrote it. It becomes {test: "pass", "fail" or "skip"}; test "(ended)" fails
if the suite did not come to its end.
"""

import fnmatch
import os
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
RESULTS = TOP / "build" / "suites"
NFSTEST = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"),
                       "rpcrdma-vm", "nfstest")

# Each way to reach a server; what it is compared with, and what it says beside.
ORACLE = "tcp"
KNFSD = {"tcp": "knfsd-siw", "rxe": "knfsd-rxe", "siw": "knfsd-siw",
         "gateway": "knfsd-siw"}
WAYS = ("tcp", "knfsd-rxe", "knfsd-siw", "rxe", "siw", "gateway")
NFSTEST_WAYS = {
    "rdma": ("knfsd-rxe", "knfsd-siw", "rxe", "siw"),
    "interop": ("tcp", "rxe", "siw", "gateway"),  # knfsd's path by NFSv3 is another
}
NAMES = {"tcp": "Ganesha, TCP", "knfsd-rxe": "knfsd, rxe",
         "knfsd-siw": "knfsd, siw", "rxe": "this server, rxe",
         "siw": "this server, siw", "gateway": "the gateway"}
ALL = ("3", "4.0", "4.1", "4.2")


def own(text):
    """Lines of inside.sh's function one."""
    kinds = {"ok": "pass", "not": "fail", "skip": "skip"}
    return {m[1]: kinds[m[2]] for m in
            re.finditer(r"^= (\S+) (ok|not|skip)\b", text, re.M)}


def dbench(text):
    """It says what went wrong, and ends well. A semaphore has nothing to do with files."""
    out = own(text)
    bad = [line for line in re.findall("(?im)^[^#=].*(?:fail|error|invalid).*", text)
           if "barrier semaphore" not in line]
    out["complaints"] = "fail" if bad else "pass"
    return out


def cthon_basic(text):
    out = {m[1]: "fail" for m in re.finditer(r"^(?:TESTARG.*\n)?\./(test\w+):", text, re.M)}
    out.update((m[1], "pass") for m in re.finditer(r"^\s+\./(test\w+) ok\.", text, re.M))
    return out


def cthon_sections(names):
    """Headings, of which each but the last that is there has been passed."""
    def parse(text):
        seen = [(text.find(line), name) for name, line in names if line in text]
        seen = [name for _, name in sorted(seen)]
        out = {name: "pass" for name in seen}
        if seen and not re.search(r"^(Special|General) tests complete", text, re.M):
            out[seen[-1]] = "fail"
        return out
    return parse


def cthon_lock(text):
    out, part = {}, ""
    for line in text.splitlines():
        if line.startswith("Testing "):
            part = "64-" if "non-native" in line else ""
        m = re.search(r":\s*(\d+\.\d+)\s+-.*?(PASSED|FAILED|WARNING)?[.!]*\s*$", line)
        if m and m[2]:
            name = part + m[1]
            bad = m[2] == "FAILED" or out.get(name) == "fail"
            out[name] = "fail" if bad else "pass"
    return out


def nfstest(text):
    out, name = {}, None
    for line in text.splitlines():
        m = re.match(r"\*\*\* (.*)", line) or re.match(r"    TEST: Running test '(\w+)'", line)
        if m:
            name = m[1]
        m = re.match(r"    (PASS|FAIL|WARN|IGNO|BUG )\S*: (.*)", line)
        if m:
            # Names, addresses and identifiers are others each time; a failure adds counts.
            text = re.sub(r"nfstest_\w+|0x[0-9a-f]+|\d+(\.\d+){3}|\d{5,}", "N", m[2])
            if m[1] == "FAIL":
                text = re.sub(r"\d+", "N", text)
            key = " ".join("{}: {}".format(name or "", text).split())
            out[key] = "fail" if m[1] in ("FAIL", "BUG ") or out.get(key) == "fail" else "pass"
    return out


def xfstests(text):
    out = {}
    for m in re.finditer(r"^(\w+/\d+)\s+(.*)$", text, re.M):
        said = m[2]
        if "[not run]" in said:
            out[m[1]] = "skip"
        elif "[failed" in said or "- output mismatch" in said or "_check" in said:
            out[m[1]] = "fail"
        elif re.search(r"\d+s\s*$", said):
            out[m[1]] = "pass"
    return out


class Suite:
    def __init__(self, parse, seconds, versions=ALL, wants="", program="", ways=WAYS,
                 apart=False):
        self.parse, self.versions, self.ways = parse, versions, ways
        self.seconds = seconds  # until it is taken for hung, in a guest that is slow
        self.apart = apart      # Ganesha and knfsd not in one guest: it wants port 20049
        self.wants = wants      # a program below SUITES
        self.program = program  # of a Debian package


SPECIAL = (("unlink", "proper open/unlink"), ("rename-open", "proper open/rename"),
           ("chmod", "proper open/chmod 0"), ("lost-reply", "check for lost reply"),
           ("exclusive", "test exclusive create"), ("negative-seek", "test negative seek"),
           ("rename", "test rename"), ("truncate", "test truncate"),
           ("holes", "test holey file"), ("lost-reply-2", "second check for lost reply"),
           ("rewind", "test rewind"), ("telldir", "test telldir"),
           ("freesp", "test freesp"), ("large-file", "write/read 30 MB"),
           ("4GiB", "write/read at 2GB, 4GB edges"))
GENERAL = (("small-compile", "Small Compile"), ("tbl", "\nTbl"), ("nroff", "\nNroff"),
           ("large-compile", "Large Compile"), ("four-compiles", "Four simultaneous"),
           ("makefile", "\nMakefile"))

SUITES = {
    "cthon04-basic": Suite(cthon_basic, 1200, wants="cthon04/basic/test1"),
    "cthon04-special": Suite(cthon_sections(SPECIAL), 1800, wants="cthon04/special/op_unlk"),
    "cthon04-lock": Suite(cthon_lock, 1200, wants="cthon04/lock/tlocklfs"),
    "cthon04-general": Suite(cthon_sections(GENERAL), 3600, wants="cthon04/basic/test1"),
    "fsx": Suite(own, 1800, wants="xfstests/ltp/fsx"),
    "fsstress": Suite(own, 1800, wants="xfstests/ltp/fsstress"),
    "dbench": Suite(dbench, 1200, program="dbench"),
    "fio": Suite(own, 1200, program="fio"),
    "stress-ng": Suite(own, 3600, program="stress-ng"),
    "xfstests": Suite(xfstests, 3600, ("3", "4.2"), wants="xfstests/check"),
}
for name, versions in (("posix", ALL), ("lock", ("4.0", "4.1", "4.2")),
                       ("alloc", ("4.2",)), ("sparse", ("4.2",)),
                       ("dio", ALL), ("interop", ("4.2",)), ("rdma", ("3", "4.1"))):
    SUITES["nfstest-" + name] = Suite(nfstest, 3600, versions, program="nfstest",
                                      ways=NFSTEST_WAYS.get(name, WAYS),
                                      apart=name not in ("posix", "lock", "interop"))


class Result:
    def __init__(self, suite, path):
        text = path.read_text(errors="replace")
        m = re.search(r"^#! status (\S+) after (\d+) s", text, re.M)
        self.status, self.seconds = (m[1], int(m[2])) if m else ("lost", 0)
        self.tests = SUITES[suite].parse(text)
        # Up to 123 it is the suite's own; it says of which test.
        ended = self.status.isdigit() and int(self.status) < 124 and self.tests
        self.tests["(ended)"] = "pass" if ended else "fail"

    def count(self, *verdicts):
        return sum(v in verdicts for v in self.tests.values())


def load(suite, way, version):
    path = RESULTS / suite / ("%s-%s.log" % (way, version))
    return Result(suite, path) if path.exists() else None


def expected(path=HERE / "differences.tsv"):
    """Rows of suite, test, way, versions, reason; the first four are patterns."""
    rows = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            row = line.split("\t")
            if len(row) != 5 or not row[4]:
                raise SystemExit("%s: not five columns: %s" % (path, line))
            rows.append(row)
    return rows


def reason(rows, suite, test, way, version):
    for row in rows:
        if all(fnmatch.fnmatchcase(value, pattern)
               for value, pattern in zip((suite, test, way, version), row)):
            return row[4]
    return None


def differences(a, b):
    """[(test, verdict of a, verdict of b)] where these are not the same."""
    out = []
    for test in sorted(a.tests.keys() | b.tests.keys()):
        one, two = a.tests.get(test, "none"), b.tests.get(test, "none")
        if one != two:
            out.append((test, one, two))
    return out


def compared(suite, version, rows):
    """(way, differences without a reason, count of those with one), for what has run;
    None for the former: there is nothing to compare with.

    Ways to this server are compared with TCP, or with knfsd if the suite does not run by
    TCP. TCP is compared with knfsd: what differs there is Ganesha's own.
    """
    have = {way: load(suite, way, version) for way in WAYS}
    for way in WAYS:
        oracle = ORACLE if ORACLE in SUITES[suite].ways else KNFSD.get(way)
        if way == ORACLE:
            oracle = KNFSD[way]
        elif way in KNFSD.values():
            oracle = "knfsd-rxe" if way == "knfsd-siw" else None
        if have[way] is None or oracle is None:
            continue
        if have[oracle] is None:
            yield way, None, 0
            continue
        bad, explained = [], 0
        for test, got, want in differences(have[way], have[oracle]):
            if reason(rows, suite, test, way, version):
                explained += 1
            else:
                bad.append("%s: %s, with %s: %s" % (test, got, oracle, want))
        yield way, bad, explained
