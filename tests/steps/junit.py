#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A line "ok NAME", "not ok NAME reason" or "skip NAME reason" for each test of
a report of ctest (--output-junit).

    junit.py REPORT [--prefix WORD] [--logs DIR [--only LIST | --except LIST]]

With --logs, a test that tests/steps/one has run has the lines of its log there
instead, the output of another that failed is put there, and how long each took
is added to the file "seconds": "SECONDS NAME [SECONDS of a processor]" (not if there is a
LIST). LIST has names of tests, separated by commas. Exit status 1 if there is no report,
or nothing in it.
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

RESULT = re.compile(r"(ok|not ok|skip) (\S+) ?(.*)")
LAST = re.compile(r"# \S+: \d+ s, (\d+) s of a processor, ")
# Where CUnit, a sanitizer, assert() or a test that gives up says what is wrong.
FAULT = re.compile(r"^ *\d+\. \S+:\d+ +- |ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|"
                   r"^SUMMARY: |runtime error: |Assertion .* failed|^stuck$")


def verdict(case):
    name, status = case.get("name"), case.get("status")
    if status == "run":
        return "ok", name, ""
    node = case.find("skipped" if status in ("notrun", "disabled")
                     else "failure")
    why = node.get("message", "") if node is not None else ""
    if status in ("notrun", "disabled"):
        # "Not run" is also what ctest says of a program it cannot find.
        gone = any(w in why.lower() for w in ("find", "unable", "fixture"))
        return "not ok" if gone else "skip", name, why
    return "not ok", name, why or "failed"


def faults(case):
    """The first lines that say what is wrong, or the last line of all: the log
    itself is lost with the machine that ran the test."""
    lines = case.findtext("system-out", default="").strip().splitlines()
    found = [line for line in lines if FAULT.search(line)][:4] or lines[-1:]
    return "".join(": " + line.strip()[:200] for line in found)


def of_log(logs, name, run):
    """(results, seconds of a processor): what a test said by itself"""
    path = logs / (name + ".log")
    if not run or not path.exists():
        return [], ""
    text = path.read_text(encoding="utf-8", errors="replace")
    used = LAST.findall(text)
    if not used:
        return [], ""
    out = []
    for line in text.splitlines():
        m = RESULT.match(line)
        if m:
            why = m[3] + ("; see %s" % path if m[1] == "not ok" else "")
            out.append((m[1], m[2], why))
    return out, used[-1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("report")
    p.add_argument("--prefix", default="")
    p.add_argument("--logs", type=pathlib.Path)
    p.add_argument("--only", type=lambda names: names.split(","))
    p.add_argument("--except", dest="omit", type=lambda names: names.split(","), default=[])
    o = p.parse_args()
    try:
        cases = list(tree.parse(o.report).getroot().iter("testcase"))
    except (OSError, tree.ParseError) as e:
        print("junit.py: %s" % e, file=sys.stderr)
        return 1
    for case in cases:
        name = case.get("name")
        if name in o.omit or (o.only and name not in o.only):
            continue
        result = verdict(case)
        results, used = [], ""
        if o.logs:
            results, used = of_log(o.logs, name, case.find("system-out") is not None)
            if not (o.omit or o.only):
                with open(o.logs / "seconds", "a", encoding="utf-8") as f:
                    print(round(float(case.get("time", 0))), name, used, file=f)
        # It may also have ended otherwise than it said.
        if not results or (result[0] == "not ok" and not any(
                r[0] == "not ok" for r in results)):
            if o.logs and result[0] == "not ok":
                path = o.logs / (name + ".log")
                if not used:
                    path.write_text(case.findtext("system-out", default=""),
                                    encoding="utf-8")
                result = (*result[:2], "%s; see %s" % (result[2], path))
            if result[0] == "not ok" and not used:
                result = (*result[:2], result[2] + faults(case))
            results.append(result)
        for status, what, why in results:
            print("%s %s%s %s" % (status, o.prefix, what, why))
    return 0 if cases else 1


if __name__ == "__main__":
    sys.exit(main())
