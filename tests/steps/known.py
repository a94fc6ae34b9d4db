#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ctest knows of a build, for tests/run.

    known.py BUILD --list               labels and names
    known.py BUILD all|quick|names [NAME...]
                                        a regular expression of what is run then;
                                        "unit-" may be left out of a NAME;
                                        "releases" is all that begin with "release-"

Exit status 2: there is no such test.
"""

import json
import os
import re
import subprocess
import sys

KINDS = ("source", "unit", "sanitized", "integration", "guest", "machine")


def known(build):
    """{name: labels}"""
    r = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                       check=True, stdout=subprocess.PIPE)
    out = {}
    for test in json.loads(r.stdout)["tests"]:
        labels = [v for p in test.get("properties", ()) if p["name"] == "LABELS"
                  for v in p["value"]]
        out[test["name"]] = labels
    return out


def expand(tests, names):
    for name in names:
        found = [n for n in (name, "unit-" + name) if n in tests][:1]
        if name == "releases":
            found = [n for n in tests if n.startswith("release-")]
        if not found:
            sys.exit("tests/run: no test \"%s\"; tests/run --list has all" % name)
        yield from found


def main():
    build, mode = sys.argv[1:3]
    tests = known(build)
    if mode == "--list":
        for kind in KINDS:
            for name, labels in sorted(tests.items()):
                if kind in labels:
                    print("%-12s %s" % (kind, name))
        return
    if mode == "all":
        # Of the unit tests, which run with the sanitizers, the quick ones alone.
        chosen = [n for n, labels in tests.items()
                  if os.environ.get("RPCRDMA_ALL") or "quick" in labels
                  or not {"release", "unit"} & set(labels)]
    elif mode == "quick":
        chosen = [n for n, labels in tests.items()
                  if {"unit", "commit"} & set(labels)]
    else:
        chosen = sorted(set(expand(tests, sys.argv[3:])))
    print("^(%s)$" % "|".join(map(re.escape, chosen)))


if __name__ == "__main__":
    try:
        main()
    except SystemExit as e:
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
            sys.exit(2)
        raise
