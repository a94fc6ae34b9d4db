# SPDX-License-Identifier: BSD-3-Clause
"""Deliberate faults: the list tests/conformance/faults, and whether the checks of the
conformance suite notice each.

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
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(TOP, "tests", "conformance", "faults")
TARGETS = ("ganesha-rdma.nfsd", "rpcrdma-gateway", "rpcrdma-echo-server")
PATIENCE = "5"  # seconds in which the faultless server answers

Edit = collections.namedtuple("Edit", "file old new")


class Fault:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.edits, self.breaks = [], []


class Bad(Exception):
    pass


def read(path=LIST):
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


class Trial:
    """A build of a copy of the sources, with one fault at a time."""

    def __init__(self, tree, verbs):
        self.top, self.build = tree.dir, tree.build("release")
        self.test = tree.dir / "tests" / "integration" / (
            "conformance-verbs.test" if verbs else "conformance.test")
        self.build.make(TARGETS)

    def check(self, ids):
        """({identifier: (result, reason)}, other lines that are not "ok")"""
        r = subprocess.run(
            [self.test, "--only", ",".join(ids), "--patience", PATIENCE],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT, errors="replace", check=False,
            env={**os.environ, "RPCRDMA_BUILD": str(self.build.dir)})
        results, rest = {}, []
        for line in r.stdout.splitlines():
            m = re.match(r"(ok|not ok|skip) (\S+) ?(.*)", line)
            if m and m[2] in ids:
                results[m[2]] = (m[1], m[3])
            elif not m or m[1] != "ok":
                rest.append(line)
        return results, rest

    def unspoilt(self, ids):
        """Reasons why the checks cannot be used: they fail without a fault."""
        results, rest = self.check(ids)
        return ["%s %s" % (i, results.get(i)) for i in ids
                if results.get(i, ("",))[0] != "ok"] + rest

    def noticed(self, fault):
        """Returns true if each check that @fault has to break fails with it."""
        before = {}
        try:
            before = apply(fault, self.top)
            self.build.make(TARGETS)
            results, rest = self.check(fault.breaks)
        finally:
            for path, text in before.items():
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
        for i in fault.breaks:
            print("    %s: %s %s" % (i, *results.get(i, ("no result", ""))))
        for line in rest:
            print("    also " + line[:150])
        return all(results.get(i, ("",))[0] == "not ok" for i in fault.breaks)


def select(faults, only, ids, checks, verbs):
    """Those of names in @only, if there are any, that break one of @ids."""
    chosen = [f for f in faults if (not only or f.name in only)
              and (not ids or set(f.breaks) & set(ids))]
    if verbs:  # the guest's device decides about some checks, and has no iWARP of ours
        for f in chosen:
            f.breaks = [i for i in f.breaks if not checks[i].raw]
        chosen = [f for f in chosen if f.breaks and not any(
            e.file.startswith("src/fabric/iwarp") for e in f.edits)]
    return chosen


def try_all(tree, chosen, verbs, failed):
    """Try each of @chosen. Returns the names of those that were not noticed."""
    trial, bad = Trial(tree, verbs), []
    if why := trial.unspoilt(sorted({i for f in chosen for i in f.breaks})):
        return ["none, since checks fail without a fault: " + " ".join(why)]
    for fault in chosen:
        try:
            good = trial.noticed(fault)
        except (Bad, failed) as e:
            good = False
            print("    %s" % e)
        print("%s %s" % ("ok" if good else "not ok", fault.name), flush=True)
        if not good:
            bad.append(fault.name)
    return bad
