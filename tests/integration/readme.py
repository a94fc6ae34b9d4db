#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md tells an operator to do, as it stands there.

    readme.py FILE command REGEX    the one command that matches
    readme.py FILE block REGEX      the block behind the line that matches

A command is a line of an indented block, where a comment behind it is left
out, or in `backquotes` in the text. Exit status 1, with the reason: there is
none, or more than one.
"""

import re
import sys


def section(text, title):
    m = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % title, text, re.M | re.S)
    if not m:
        sys.exit("there is no section '%s'" % title)
    return m.group(1)


def commands(text):
    for line in text.splitlines():
        if line.startswith("    "):
            yield re.sub(r"\s+# .*", "", line[4:])
    prose = "\n".join(x for x in text.splitlines()
                      if not x.startswith(("    ", "|")))
    for words in re.findall(r"`([^`]+)`", prose):
        yield " ".join(words.split())


def block(text, regex):
    """Indented lines, and empty ones between them."""
    lines = iter(text.splitlines())
    for line in lines:
        if re.search(regex, line):
            break
    out = []
    for line in lines:
        if line.startswith("    "):
            out.append(line[4:])
        elif out and line:
            break
        elif out:
            out.append("")
    return "\n".join(out).rstrip("\n")


def main(path, what, regex):
    with open(path) as f:
        text = section(f.read(), "For operators")
    if what == "block":
        found = block(text, regex)
        if not found:
            sys.exit("no block behind '%s'" % regex)
        print(found)
        return
    found = sorted({c for c in commands(text) if re.search(regex, c)})
    if len(found) != 1:
        sys.exit("%d commands match '%s': %s" % (len(found), regex, found))
    print(found[0])


main(*sys.argv[1:])
