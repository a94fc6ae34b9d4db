#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the documents tell an operator to do, as it stands there.

    readme.py command REGEX    the one command that matches
    readme.py block REGEX      the block behind the line that matches

README.md is searched first, then docs/operations.md. A command is a line of
an indented block, without the comment behind it, or in `backquotes` in the
text. Exit status 1, with the reason: neither document has one, or a document
has more than one.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DOCUMENTS = ("README.md", "docs/operations.md")


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


def main(what, regex):
    for name in DOCUMENTS:
        with open(os.path.join(TOP, name)) as f:
            text = f.read()
        if what == "block":
            found = block(text, regex)
            found = [found] if found else []
        else:
            found = sorted({c for c in commands(text) if re.search(regex, c)})
        if len(found) > 1:
            sys.exit("%s: %d commands match '%s': %s" % (
                name, len(found), regex, found))
        if found:
            print(found[0])
            return
    sys.exit("no %s in %s for '%s'" % (what, " or ".join(DOCUMENTS), regex))


main(*sys.argv[1:])
