# SPDX-License-Identifier: BSD-3-Clause
"""The list of deliberate faults, `faults`, and how it goes with the rest.

    fault NAME: what is wrong then
    in FOLDER or FILE
    -old lines
    +new lines
    breaks IDENTIFIER...

The old lines stand in one place of the folder. A fault may have several edits, in one file or, each after an `in`, in more.
`breaks` may stand on several lines. `none IDENTIFIER: reason` is for a check that no edit can break.
"""

import collections
import os

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

Edit = collections.namedtuple("Edit", "file old new")


class Fault:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.edits, self.breaks = [], []


class Bad(Exception):
    pass


def read(path=os.path.join(HERE, "faults")):
    """([Fault], {identifier: reason})"""
    faults, none = [], {}
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            word, _, rest = line.partition(" ")
            if not line or line.startswith("#"):
                continue
            if word == "fault":
                name, _, text = rest.partition(": ")
                faults.append(Fault(name, text))
            elif word == "none":
                i, _, text = rest.partition(": ")
                none[i] = text
            elif word == "in":
                faults[-1].edits.append(Edit(rest, [], []))
            elif word == "breaks":
                faults[-1].breaks += rest.split()
            elif line[0] in "-+" and faults and faults[-1].edits:
                e = faults[-1].edits[-1]
                if line[0] == "-" and e.new:
                    e = Edit(e.file, [], [])
                    faults[-1].edits.append(e)
                (e.old if line[0] == "-" else e.new).append(line[1:])
            else:
                raise Bad("faults:%d: %r" % (n, line))
    return faults, none


def sources(path):
    if not os.path.isdir(path):
        return [path]
    return sorted(os.path.join(d, f) for d, _, files in os.walk(path)
                  for f in files if f.endswith((".c", ".h")))


def edited(edit, top, now):
    """Make @edit in the sources at @top, of which @now has those that were
    edited before: {path: text}. It must fit in just one place."""
    old = "".join(x + "\n" for x in edit.old)
    found = []
    for path in sources(os.path.join(top, edit.file)):
        text = now.get(path)
        if text is None:
            with open(path, encoding="utf-8") as f:
                text = f.read()
        # Whole lines.
        found += [(path, text)] * ("\n" + text).count("\n" + old)
    if len(found) != 1:
        raise Bad("%s has %d times %r" % (edit.file, len(found), old))
    path, text = found[0]
    new = "".join(x + "\n" for x in edit.new)
    now[path] = ("\n" + text).replace("\n" + old, "\n" + new)[1:]


def apply(fault, top):
    """Make @fault in the sources at @top; what the files were before."""
    now, before = {}, {}
    for e in fault.edits:
        edited(e, top, now)
    for path, text in now.items():
        with open(path, encoding="utf-8") as f:
            before[path] = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return before


def misfits(faults, top=TOP):
    """Faults that the sources have outgrown."""
    out = []
    for f in faults:
        now = {}
        try:
            for e in f.edits:
                edited(e, top, now)
        except (Bad, OSError) as error:
            out.append("fault %s: %s" % (f.name, error))
    return out


def problems(checks, faults, none):
    """What does not go together; @checks: identifiers of all checks."""
    out, named = [], set()
    names = collections.Counter(f.name for f in faults)
    out += ["two faults %s" % n for n, k in names.items() if k > 1]
    for f in faults:
        if not f.text or not f.edits or not f.breaks:
            out.append("fault %s is not complete" % f.name)
        named.update(f.breaks)
    out += ["%s is broken by a fault, but there is no such check" % i
            for i in sorted((named | set(none)) - set(checks))]
    out += ["no fault breaks the check of %s" % i
            for i in sorted(set(checks) - named - set(none))]
    out += ["%s is broken by a fault and by none" % i
            for i in sorted(named & set(none))]
    return out
