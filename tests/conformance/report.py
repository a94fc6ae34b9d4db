#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make docs/conformance.md, a summary of requirements.tsv and reading.tsv, and
docs/conformance-1.md of matrix.tsv.

    report.py           write them, and in the checks which faults break them
    report.py --check   fail if that is out of date, if a test, a function or a
                        requirement that is named does not exist, if an
                        identifier has no row or two, or if a check has no fault
    report.py --table FILE
                        write the table of all requirements, sentences and faults
    report.py --fits    fail if a fault does not fit the sources
    report.py --record WHO FILE...
                        put what rpcrdma-conformance --json has said of WHO into
                        matrix.tsv, where remarks stay
    report.py --compare WHO FILE...
                        fail if WHO does otherwise than matrix.tsv says; of two
                        files the second counts

The last column of requirements.tsv says how a requirement stands, in parts
separated by "; ":

    check                       rpcrdma-conformance has a check of it
    unit PROGRAM/TEST           a test of tests/unit/PROGRAM.c
    integration FILE/TEST       a test of tests/integration/FILE
    not applicable: REASON
    otherwise: REASON           deliberately not as the text says; "; check"
                                behind it: what is done instead has a check
    not yet

reading.tsv has the sentences of the texts, in their order. Of its columns

    where           "; " between files or folders below src, each perhaps with
                    ": " and what is meant there, separated by ", ": functions
                    with "()", other names without, a comment in parentheses;
                    or "-"
    requirements    identifiers of requirements.tsv that look at it, or "-"
    state           met
                    n/a
                    otherwise [X]   deliberately, as a paragraph or a title of
                                    protocol.md says; several "[X]" may follow
                    part: REASON    not yet all of it
"""

import collections
import functools
import glob
import json
import os
import re
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DOC = os.path.join(TOP, "docs", "conformance.md")
DOC_1 = os.path.join(TOP, "docs", "conformance-1.md")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "mutation")]

import deliberate  # noqa: E402
from rpcrdma_conformance import kit, main  # noqa: E402

Row = collections.namedtuple("Row", "id spec section level role text state")
Sentence = collections.namedtuple(
    "Sentence", "spec section level role text where ids state remark")

SUMMARY = """\
<!-- Made by tests/conformance/report.py; do not edit. -->
# Conformance

How far this project meets the requirements of the texts that it implements. A requirement is **met** if a test
shows it, **otherwise** where the project deliberately departs from the letter, **not applicable**, or **not yet**
met. Letters in brackets point into [protocol.md](protocol.md).

%(counts)s

The full table, `requirements.md`, has each requirement with its tests. It is made in the build directory and installed
with the package rpcrdma-conformance, in `/usr/share/doc/rpcrdma-conformance`:

    cmake --build --preset release --target requirements        # build/release/requirements.md

The two extensions (`XC-`, `RT-`) are [off](protocol.md#extensions) unless they are enabled.
[conformance-1.md](conformance-1.md) has what this project and Linux do by version 1.

## Not met

%(unmet)s

## Met otherwise

| | Requirement | What is done instead |
|---|---|---|
%(otherwise)s

## Not applicable

%(na)s

## Sentence by sentence

Each sentence of the texts that demands something or says what an implementation does has a row in
tests/conformance/reading.tsv, with the place in the code that carries it out.

%(sentences)s

The parts that are not done:

%(parts)s

## The checks

%(checks)d of the requirements have a check in `rpcrdma-conformance`, which shares no code with the project: Python that
makes and reads the octets of MPA, DDP, RDMAP, RPC-over-RDMA, RPC and NFS, and sends them to a live server, or answers a
live Requester. rpcrdma-conformance(1) describes it; it is for other implementations as well:

    rpcrdma-conformance --host ADDRESS --port 20049 --path /export
    rpcrdma-conformance --host ADDRESS --only V2-7.1.4-01
    rpcrdma-conformance --list

Where the draft is silent the checks go by protocol.md. The server has to serve NFSv4.0 with a directory to write in.
`--no-raw` is for peers whose device or kernel does MPA, DDP and RDMAP: it leaves out what breaks these on purpose.

Each check has been seen to fail: `tests/mutate --faults` makes each of %(faults)d deliberate faults in a copy of the
sources and runs the checks that must fail with it. All of them did on %(seen)s, and passed without a fault.
"""

HEAD = """\
<!-- Made by tests/conformance/report.py. -->
# Requirements

Every requirement of the texts that this project implements, and how it stands:
**met** with the tests that show it, **not applicable**, **otherwise** where the
project deliberately departs from the letter, or **not yet**. Then the texts
[sentence by sentence](#sentence-by-sentence), each with the place in src that
carries it out. conformance.md is the summary. The words of the requirements are
ours; letters in brackets point into [protocol.md](protocol.md).

A test called `check` is the one of that identifier in rpcrdma-conformance(1),
with the [faults](#deliberate-faults) that break it behind it. Without raw access
(`--no-raw`) these are left out: %s.
`unit` tests are in tests/unit, `integration` tests in tests/integration.
"""

READING = """\

## Sentence by sentence

Each sentence of the texts that demands something or says what an implementation
does (of RFC 8166 those with a word such as MUST or MAY), where the code carries
it out, and whether it does.

- Sentences are quoted; "..." is where one was cut.
- *Level* has the word of the text as it is written there, or `plain` if it has
  none.
- *Where*: files below src, with the functions to begin with.
- *Looked at by*: the requirements whose tests look at the sentence, or at a
  part of it; `-` if none does. Then a reading of the code is all there is,
  unless a test is named beside the state.
- *State*: **met**; **n/a**, for sentences about others; **otherwise**, if
  deliberately so, with the paragraph of [protocol.md](protocol.md) that says
  why; or **part**, if not all of it is done, and what is not. Remarks say what
  was seen: "on the wire" and "tried" are with octets sent to a live server,
  client or gateway, beyond the tests; "read" is without.
"""
FAULTS = """\

## Deliberate faults

`tests/mutate --faults` makes each of these in a copy of the sources, builds
it and runs the checks that must fail with it. All of them did, and passed
without a fault, on %s. The edits are in tests/conformance/faults;
a test says when one of them no longer fits the sources, and fails if a check
has none.

| Fault | What is wrong then | Checks that fail |
|---|---|---|
"""
# When `tests/mutate --faults` was last run as a whole.
SEEN = "21 November 2026"

TITLES = (("version-two-07", "Version 2: draft-ietf-nfsv4-rpcrdma-version-two-07"),
          ("nfs-ulb-v2-07", "Binding of NFS: draft-ietf-nfsv4-nfs-ulb-v2-07"),
          ("rfc8166", "Version 1: RFC 8166"),
          ("rfc8797", "Private data: RFC 8797"),
          ("rfc8167", "Reverse direction of version 1: RFC 8167"),
          ("xcharext-02", "Characteristics: "
           "draft-dnoveck-nfsv4-rpcrdma-xcharext-02"),
          ("rtrext-03", "Fewer round trips: "
           "draft-dnoveck-nfsv4-rpcrdma-rtrext-03"))


# Whom matrix.tsv is about: the heading, and how it was run.
SERVERS = (
    ("this", "This server", "this server with Ganesha 4.3, provider iwarp, with "
     "`Versions = 1`: conformance.test; with the provider verbs on siw the same: "
     "`conformance-verbs.test --only 'V1-*,PD-*'`"),
    ("knfsd-6.1", "Linux 6.1's server", "knfsd of Linux 6.1, over siw in a guest: "
     "conformance-others.test"),
    ("knfsd-6.12", "Linux 6.12's server", "the same of Linux 6.12, with `RPCRDMA_KERNEL=6.12`"))
CLIENTS = (
    ("gateway", "This gateway", "`rpcrdma-gateway --version-rdma 1`, NFSv3, 4.0 and "
     "4.1: conformance.test"),
    ("linux-6.1", "Linux 6.1's client", "that of Linux 6.1, mounted with `proto=rdma` by "
     "NFSv3 and 4.1, over siw in a guest: conformance-others.test"),
    ("linux-6.12", "Linux 6.12's client", "the same of Linux 6.12"))
MATRIX = os.path.join(HERE, "matrix.tsv")
HEAD_1 = """\
<!-- Made by tests/conformance/report.py; do not edit. -->
# Version 1: what each implementation does

What `rpcrdma-conformance --version 1` has found, requirement by requirement of RFC
8166 (`V1-`), RFC 8797 (`PD-`) and RFC 8167 (`BD-`). [conformance.md](conformance.md)
has the levels and the tests of each requirement, and
[protocol.md](protocol.md#version-1) how this project reads them.

- **ok**: as the requirement says.
- **no**: otherwise; a [remark](#remarks) says what it does, and whether that breaks
  the text.
- **-**: not seen, for it did nothing of the kind or was not asked.

Where another implementation does otherwise, the reading was checked again, and the
check changed if that is allowed. It then passes for either choice.

| Column | What was run |
|---|---|
%s
The checks speak iWARP over TCP, so a peer needs an iWARP device: Linux' siw here. Over
RoCE (rxe) and InfiniBand they reach nobody. Ganesha 6.5 built with the RDMA of its own
ntirpc has no column: on siw it listens, but each request for a connection is rejected
(`siw_reject`) before its library logs an event. Of RFC 8167 there is what can be seen
without a program that calls back on demand; the other checks of it need
`--server-is callback` or `--requester`.
"""


def matrix():
    """{(who, id): (result, remark)}"""
    if not os.path.exists(MATRIX):
        return {}
    with open(MATRIX, encoding="utf-8") as f:
        lines = [x.rstrip("\n").split("\t") for x in f
                 if x.strip() and not x.startswith("#")]
    return {(a, b): (c, d) for a, b, c, d in lines[1:]}


def found(path):
    """{id: (result, reason)} of a document of rpcrdma-conformance --json."""
    with open(path, encoding="utf-8") as f:
        return {r["id"]: (r["result"], r["reason"])
                for r in json.load(f)["results"]}


def record(who, paths):
    table = matrix()
    for path in paths:
        for i, (result, reason) in found(path).items():
            before = table.get((who, i), ("", ""))
            if result == "skip" and before[0] or "needs --" in reason:
                continue
            table[who, i] = (result, "" if result != "not ok" else
                             before[1] if before[0] == result else reason)
    with open(MATRIX, "w", encoding="utf-8") as f:
        f.write("# SPDX-License-Identifier: BSD-3-Clause\n"
                "# What each implementation does; see report.py --record. The "
                "remarks are by hand.\nwho\tid\tresult\tremark\n")
        for key in sorted(table):
            f.write("\t".join(key + table[key]) + "\n")


def compare(who, paths):
    """Requirements at which it does otherwise than the matrix says."""
    table, bad, got = matrix(), 0, {}
    if who not in [w for w, _ in table]:
        print("skip matrix-%s conformance-1.md has no such column" % who)
        return 0
    for path in paths:
        got.update(found(path))
    for i, (result, reason) in sorted(got.items()):
        said = table.get((who, i), ("nothing", ""))[0]
        if result != "skip" and result != said:
            print("not ok matrix-%s-%s %s %s, and conformance-1.md says %s" % (
                who, i, result, reason, said))
            bad += 1
    if not bad:
        print("ok matrix-" + who)
    return bad


def document_1(table):
    seen = matrix()
    out = [HEAD_1 % "".join("| %s | %s |\n" % (title, how) for _, title, how in
                            SERVERS + CLIENTS)]
    show_as = {"ok": "ok", "not ok": "**no**", "skip": "-"}
    for title, whom in ("Servers", SERVERS), ("Clients", CLIENTS):
        ids = {i for who, i in seen if who in [w[0] for w in whom]}
        out.append("## %s\n" % title)
        out.append("| | Level | Requirement | %s |" % " | ".join(
            w[1] for w in whom))
        out.append("|---|---|---|" + "---|" * len(whom))
        for spec in "rfc8166", "rfc8797", "rfc8167":
            for r in table:
                if r.spec == spec and r.id in ids:
                    out.append("| %s | %s | %s | %s |" % (
                        r.id, r.level, r.text.replace("|", "\\|"), " | ".join(
                            show_as[seen.get((w[0], r.id), ("skip",))[0]]
                            for w in whom)))
        out.append("")
    out.append("## Remarks\n")
    for who, title, _ in SERVERS + CLIENTS:
        told = ["- %s: %s" % (i, remark) for (w, i), (_, remark) in
                sorted(seen.items()) if w == who and remark]
        if told:
            out += ["### %s\n" % title, *told, ""]
    return "\n".join(out).rstrip("\n") + "\n"


def rows():
    with open(os.path.join(HERE, "requirements.tsv"), encoding="utf-8") as f:
        lines = [x.rstrip("\n") for x in f
                 if x.strip() and not x.startswith("#")]
    return [Row(*line.split("\t")) for line in lines[1:]]


def source(*path):
    try:
        with open(os.path.join(TOP, *path), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def unit_exists(program, test):
    text = source("tests", "unit", program.replace("-", "_") + ".c")
    return text is not None and re.search(
        r'(\{|\w\()\s*"?%s"?\s*[,)]' % re.escape(test), text)


def integration_exists(name, test):
    text = source("tests", "integration", name)
    return text is not None and re.search(r"\b%s\b" % re.escape(test), text)


def sentences():
    with open(os.path.join(HERE, "reading.tsv"), encoding="utf-8") as f:
        lines = [x.rstrip("\n") for x in f
                 if x.strip() and not x.startswith("#")]
    return [Sentence(*line.split("\t")) for line in lines[1:]]


def top_of(path):
    """The headers that layers promise one another stand apart."""
    return "include" if path.startswith("rpcrdma/") else "src"


@functools.lru_cache(None)
def functions(path):
    """Names of the functions whose bodies are in a file of src or include."""
    text = re.sub(r"/\*.*?\*/", "", source(top_of(path), path), flags=re.S)
    return set(re.findall(r"^(?:[A-Za-z_][^\n;=()]*[\s*])?(\w+)\([^;{}]*\)"
                          r"\s*\{", text, re.M))


def lost(where):
    """What a place names and is not there."""
    out = []
    for part in where.split("; ") if where != "-" else ():
        # Without comments.
        path, _, items = re.sub(r" \([^()]+\)", "", part).partition(": ")
        if not os.path.exists(os.path.join(TOP, top_of(path), path)):
            out.append(part)
            continue
        for item in items.split(", ") if items else ():
            name = re.fullmatch(r"(\w+)(\(\))?", item)
            if not name or not path.endswith((".c", ".h")):
                out.append(part)
            elif name[2] and name[1] not in functions(path) or \
                    not re.search(r"\b%s\b" % name[1], source(top_of(path), path)):
                out.append("%s: %s" % (path, item))
    return out


def reading_problems(reading, table):
    out, known = [], {r.id for r in table}
    notes = source("docs", "protocol.md")
    told = set(re.findall(r"\*\*\[(\w+)\]", notes)) | \
        set(re.findall(r"^#+ (.*)$", notes, re.M))
    for s in reading:
        at = "reading.tsv, %s %s, %.40s" % (s.spec, s.section, s.text)
        if s.spec not in dict(TITLES) or not s.text:
            out.append("%s: of no text" % at)
        out += ["%s: there is no %s in src" % (at, x) for x in lost(s.where)]
        out += ["%s: there is no requirement %s" % (at, i)
                for i in s.ids.split() if i != "-" and i not in known]
        m = re.fullmatch(r"(?:met|n/a|part: .+|otherwise((?: \[[^\]]+\])+))",
                         s.state)
        if not m or not s.ids or not s.where:
            out.append("%s: state %r" % (at, s.state))
        else:
            out += ["%s: protocol.md has no [%s]" % (at, x)
                    for x in re.findall(r"\[([^\]]+)\]", m[1] or "") +
                    re.findall(r"\[([A-Z]\d+)\]", s.state + s.remark)
                    if x not in told]
        for kind, a, b in re.findall(
                r"\b(unit|integration) ([\w.-]+)/([\w ]+)", s.remark):
            if not (unit_exists if kind == "unit" else
                    integration_exists)(a, b):
                out.append("%s: there is no test %s %s/%s" % (at, kind, a, b))
    return out


def verdict(state):
    if state.startswith("not applicable: "):
        return "not applicable"
    if state.startswith("otherwise: "):
        return "otherwise"
    return "not yet" if state == "not yet" else "met"


def problems(table, broken):
    out = deliberate.problems(kit.CHECKS, *broken)
    count = collections.Counter(r.id for r in table)
    out += ["%s has %d rows" % (i, n) for i, n in count.items() if n > 1]
    out += ["%s has a check but no row" % i for i in kit.CHECKS
            if i not in count]
    out += ["matrix.tsv: %s of %s" % (i, who) for (who, i), (result, remark)
            in matrix().items() if i not in count or
            (result == "not ok") > bool(remark)]
    for r in table:
        parts = r.state.split("; ")
        if r.id in kit.CHECKS and "check" not in parts:
            out.append("%s has a check that its row does not name" % r.id)
        if verdict(r.state) != "met":
            continue
        for p in parts:
            kind, _, name = p.partition(" ")
            a, _, b = name.partition("/")
            if p == "check":
                fine = r.id in kit.CHECKS
            elif kind == "unit":
                fine = unit_exists(a, b)
            elif kind == "integration":
                fine = integration_exists(a, b)
            else:
                fine = False
            if not fine:
                out.append("%s: there is no test %r" % (r.id, p))
    return out


def show(state, broken_by):
    v = verdict(state)
    by = " (%s)" % ", ".join(broken_by) if broken_by else ""
    if v == "not yet":
        return "**not yet**"
    if v == "met":
        parts = ["`%s`" % p for p in state.split("; ")]
        parts[0] += by
        return "met: " + ", ".join(parts)
    if v == "otherwise" and state.endswith("; check"):
        return state[:-len("check")] + "`check`" + by
    return state


def breaking(broken, ids):
    """Names of the faults that break one of these checks."""
    return [f.name for f in broken[0] if set(f.breaks) & set(ids)]


def commented(text, broken):
    """The source of checks, with the faults over each of them."""
    lines, out = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        if line.startswith("# Fails with: "):
            while lines and lines[0].startswith("#   "):
                lines.pop(0)
            continue
        if re.match(r"@\w+\(", line):
            head = line
            for more in lines:
                if more.startswith("def "):
                    break
                head += more
            names = breaking(broken, re.findall(r'"([\w.-]+-\d\d)"', head))
            if names:
                out += textwrap.wrap(
                    "# Fails with: " + ", ".join(names), 79,
                    subsequent_indent="#   ", break_on_hyphens=False)
        out.append(line)
    return "\n".join(out)


def comments(broken, write):
    """Sources of checks whose comments are out of date."""
    old = []
    for path in sorted(glob.glob(os.path.join(
            HERE, "rpcrdma_conformance", "*_checks.py"))):
        with open(path, encoding="utf-8") as f:
            before = f.read()
        after = commented(before, broken)
        if after != before:
            old.append(os.path.basename(path))
            if write:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(after)
    return old


def stand(state):
    return re.match(r"n/a|\w+", state)[0]


def sentence_counts(reading):
    out = []
    total = collections.Counter((s.spec, stand(s.state)) for s in reading)
    alone = collections.Counter(s.spec for s in reading if s.ids == "-")
    kinds = ("met", "n/a", "otherwise", "part")
    out.append("| | " + " | ".join(kinds) + " | all | without a requirement |")
    out.append("|---|" + "--:|" * (len(kinds) + 2))
    titles = [x for x in TITLES if any(s.spec == x[0] for s in reading)]
    for spec, title in titles:
        n = [total[spec, k] for k in kinds]
        out.append("| %s | %s |" % (
            title, " | ".join(map(str, n + [sum(n), alone[spec]]))))
    return out


def sentence_part(reading):
    out = [READING, *sentence_counts(reading)]
    for spec, title in TITLES:
        if not any(s.spec == spec for s in reading):
            continue
        out.append("\n### Sentences of %s\n" % title.split(": ")[1])
        out.append("| Section | Level | Sentence | Where | Looked at by | "
                   "State |")
        out.append("|---|---|---|---|---|---|")
        for s in reading:
            if s.spec != spec:
                continue
            state = re.sub(r"^(n/a|\w+)", r"**\1**" if stand(s.state) in (
                "otherwise", "part") else r"\1", s.state)
            if s.remark:
                state += (". " if s.state.startswith("part") else ": ") + \
                    s.remark
            out.append("| %s | %s, %s | %s | %s | %s | %s |" % tuple(
                x.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
                if x is not state else x.replace("|", "\\|") for x in (
                    s.section, s.level, s.role, s.text, s.where, s.ids,
                    state)))
    return out


def counts(table):
    total = collections.Counter((r.spec, verdict(r.state)) for r in table)
    kinds = ("met", "otherwise", "not applicable", "not yet")
    out = ["| | " + " | ".join(kinds) + " | all |", "|---|" + "--:|" * (len(kinds) + 1)]
    for spec, title in TITLES:
        n = [total[spec, k] for k in kinds]
        prefix = next(r.id for r in table if r.spec == spec).partition("-")[0]
        out.append("| %s (`%s-`) | %s |" % (title, prefix, " | ".join(map(str, n + [sum(n)]))))
    return out


def summary(table, reading, broken):
    def told(r, word):
        return r.state.removeprefix(word + ": ").removesuffix("; check")

    by = {v: [r for r in table if verdict(r.state) == v] for v in ("otherwise", "not applicable", "not yet")}
    return SUMMARY % {
        "counts": "\n".join(counts(table)),
        "unmet": "\n".join("- %s: %s" % (r.id, r.text) for r in by["not yet"]) or
                 "No requirement is left unmet.",
        "otherwise": "\n".join("| %s | %s | %s |" % (r.id, r.text, told(r, "otherwise")) for r in by["otherwise"]),
        "na": "\n".join("- %s: %s" % (r.id, told(r, "not applicable")) for r in by["not applicable"]),
        "sentences": "\n".join(sentence_counts(reading)),
        "parts": "\n".join("- %s, %s: %s" % (s.spec, s.section, s.state.removeprefix("part: "))
                            for s in reading if stand(s.state) == "part"),
        "checks": len(kit.CHECKS), "faults": len(broken[0]), "seen": SEEN}


def document(table, reading, broken):
    out = [HEAD % ", ".join(i for i, c in sorted(kit.CHECKS.items()) if c.raw), *counts(table)]
    for spec, title in TITLES:
        out.append("\n## " + title)
        section = None
        for r in table:
            if r.spec != spec:
                continue
            if r.section != section:
                section = r.section
                out.append("\n### %s\n" % section)
                out.append("| | Level | Requirement | State |")
                out.append("|---|---|---|---|")
            out.append("| %s | %s, %s | %s | %s |" % (
                r.id, r.level, r.role, r.text.replace("|", "\\|"),
                show(r.state, breaking(broken, [r.id])).replace(
                    "|", "\\|")))
    out += sentence_part(reading)
    out.append(FAULTS.rstrip("\n") % SEEN)
    for f in broken[0]:
        out.append("| %s | %s | %s |" % (f.name, f.text.replace("|", "\\|"),
                                         " ".join(f.breaks)))
    for i, why in broken[1].items():
        out.append("\nNo fault breaks %s: %s" % (i, why))
    return "\n".join(out) + "\n"


def run(argv):
    if argv[1:2] == ["--record"] and len(argv) > 3:
        record(argv[2], argv[3:])
        return 0
    if argv[1:2] == ["--compare"] and len(argv) > 3:
        return 1 if compare(argv[2], argv[3:]) else 0
    main.load()
    table, reading, broken = rows(), sentences(), deliberate.read()
    if argv[1:] == ["--fits"]:
        bad = deliberate.misfits(broken[0])
    else:
        bad = problems(table, broken) + reading_problems(reading, table)
    for text in bad:
        print(text, file=sys.stderr)
    if argv[1:] == ["--fits"]:
        return 1 if bad else 0
    if argv[1:2] == ["--table"] and len(argv) == 3:
        with open(argv[2], "w", encoding="utf-8") as f:
            f.write(document(table, reading, broken))
        return 0
    text, text_1 = summary(table, reading, broken), document_1(table)
    if argv[1:] == ["--check"]:
        for name in comments(broken, False):
            bad.append(name)
            print("%s: comments out of date: run tests/conformance/report.py" %
                  name, file=sys.stderr)
        for name, now in ("conformance.md", text), ("conformance-1.md", text_1):
            if source("docs", name) != now:
                bad.append(name)
                print("docs/%s is out of date: run tests/conformance/report.py" %
                      name, file=sys.stderr)
        return 1 if bad else 0
    if bad:
        return 1
    comments(broken, True)
    for path, now in (DOC, text), (DOC_1, text_1):
        with open(path, "w", encoding="utf-8") as f:
            f.write(now)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv))
