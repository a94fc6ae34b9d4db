# SPDX-License-Identifier: BSD-3-Clause
"""Who calls whom, as the objects and the preprocessed sources of a build tell it.

needs(): a file needs another if its object has an undefined symbol that the other's defines: a call, a function whose address it
takes, a table.

inside(): within a room also what objects do not show. An inline function in a header is a need of the header; whoever calls it
needs the header. A call of a member of a structure is a need of each file of the room that has a function in a table of such
structures, under the name of that member. Pointers to functions that stand in no table, such as that of a completion, are no need.

A room is a folder of sources.
"""

import collections
import json
import os
import re
import shlex
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def objects(build, under):
    """{source, relative to the top: [objects]} of what is built of the sources below @under."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    found = collections.defaultdict(list)
    for c in commands:
        source = os.path.relpath(os.path.join(c["directory"], c["file"]), TOP)
        words = shlex.split(c["command"])
        out = os.path.join(c["directory"], words[words.index("-o") + 1])
        if source.startswith(under + os.sep) and os.path.exists(out):
            found[source].append(out)
    return dict(found)


def symbols(path):
    """(defined, undefined) global names of an object."""
    out = subprocess.run(["nm", "-g", "-P", path], check=True, capture_output=True, text=True).stdout
    defined, undefined = set(), set()
    for line in out.splitlines():
        name, kind = line.split()[:2]
        (undefined if kind in "Uw" else defined).add(name)
    return defined, undefined


def needs(files):
    """{file: {file that it needs: {symbols}}} of what objects() has found."""
    defined, used = {}, {}
    for source, paths in files.items():
        both = [symbols(p) for p in paths]
        defined[source] = set().union(*(d for d, _ in both))
        used[source] = set().union(*(u for _, u in both))
    owners = collections.defaultdict(set)
    for source, names in defined.items():
        for name in names:
            owners[name].add(source)
    graph = {source: collections.defaultdict(set) for source in files}
    for source, names in used.items():
        for name in names - defined[source]:
            found = owners[name]
            # Programs may have functions of the same name: the nearest.
            near = {o for o in found if room(o) == room(source)}
            for owner in near or found:
                graph[source][owner].add(name)
    return graph


def room(source):
    return os.path.dirname(source)


def between_rooms(graph):
    """The same for rooms."""
    out = {room(f): collections.defaultdict(set) for f in graph}
    for f, needed in graph.items():
        for g, names in needed.items():
            if room(f) != room(g):
                out[room(f)][room(g)] |= names
    return out


def within(graph, place):
    """What the files of one room need of each other."""
    return {f: {g: n for g, n in needed.items() if room(g) == place}
            for f, needed in graph.items() if room(f) == place}


LINE = re.compile(r'^# \d+ "([^"]+)"')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
INLINE = re.compile(r"\bstatic (?:inline|__inline__) [^;{}]*?\b(\w+)\([^;{}]*\)\s*\{")
STATIC = re.compile(r"\bstatic [^;{}=]*?\b(\w+)\([^;{}]*\)\s*\{")
STRUCT = re.compile(r"\bstruct (\w+)\s*\{")
TABLE = re.compile(r"\bstruct (\w+) \w+\s*(?:\[\w*\]\s*)?=\s*\{")
POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")
ENTRY = re.compile(r"\.(\w+)\s*=\s*&?(\w+)")
TYPED = re.compile(r"\bstruct (\w+)\s+(?:const\s+)?[*\s]*(?:const\s+)?\*?\s*(\w+)\b")
MEMBER = re.compile(r"\b(?=(\w+)(?:\[[^][]*(?:\[[^][]*\])?[^][]*\])?\)*\s*(?:->|\.)\s*(\w+)\b)")
WORD = re.compile(r"\b\w+\b")


def braced(text, at):
    """The text from behind the brace at @at to the one that closes it."""
    depth = 0
    for m in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if m.group() == "{" else -1
        if not depth:
            return text[at + 1:m.start()]
    return text[at + 1:]


def preprocessed(build, under):
    """{source: {file of ours: its text, with macros expanded}}"""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    found = {}
    for c in commands:
        source = os.path.relpath(os.path.join(c["directory"], c["file"]), TOP)
        if not source.startswith(under + os.sep) or source in found:
            continue
        words = shlex.split(c["command"])
        words = [w for w in words[:words.index("-o")] if os.path.basename(w) != "ccache"]
        out = subprocess.run(words + ["-w", "-E", c["file"]], cwd=c["directory"], check=True, capture_output=True, text=True).stdout
        texts, name, ours = collections.defaultdict(list), None, {}
        for line in out.splitlines():
            m = LINE.match(line)
            if not m:
                if name:
                    texts[name].append(line)
                continue
            if m.group(1) not in ours:
                path = os.path.relpath(os.path.realpath(os.path.join(c["directory"], m.group(1))), os.path.realpath(TOP))
                ours[m.group(1)] = path if path.startswith(("src/", "include/")) else None
            name = ours[m.group(1)]
        found[source] = {n: STRING.sub('""', "\n".join(lines)) for n, lines in texts.items()}
    return found


class Room:
    """What the files of a room have: inline functions, static ones, and functions in tables."""

    def __init__(self, place, sources):
        self.texts, self.of, types = {}, {}, collections.defaultdict(set)
        self.pointers = {}  # structure: its members that point to functions
        for source, texts in sources.items():
            for name, text in texts.items():
                if name not in self.of:
                    self.of[name] = text
                    for m in STRUCT.finditer(text):
                        members = set(POINTER.findall(braced(text, m.end() - 1)))
                        if members:
                            self.pointers.setdefault(m.group(1), set()).update(members)
                if room(name) == place:
                    self.texts[name] = text
        for text in self.of.values():
            bodies = [braced(text, m.end() - 1) for m in STRUCT.finditer(text)]
            for body in bodies:
                text = text.replace(body, "")
            for member, where in [(True, b) for b in bodies] + [(False, text)]:
                for kind, name in TYPED.findall(where):
                    if kind in self.pointers:
                        types[member, name].add(kind)
        self.types = types  # {(is a member, name): structures}
        self.inline = {f: n for n, t in self.texts.items() if n.endswith(".h") for f in INLINE.findall(t)}

    def tables(self, owner):
        """{(structure, member): files that have such a function in a table}; @owner tells whose a global one is"""
        found = collections.defaultdict(set)
        for name, text in self.texts.items():
            static = set(STATIC.findall(text))
            for m in TABLE.finditer(text):
                for member, value in ENTRY.findall(braced(text, m.end() - 1)):
                    if member not in self.pointers.get(m.group(1), ()):
                        continue
                    file = name if value in static else owner.get(value)
                    if file:
                        found[m.group(1), member].add(file)
        return found


def inside(graph, place, sources, owner):
    """within(), and what else the files of the room @place need of each other. @sources: preprocessed(), of those of the room."""
    out = {f: collections.defaultdict(set, {g: set(n) for g, n in needed.items()})
           for f, needed in within(graph, place).items()}
    here = Room(place, sources)
    for name in here.texts:
        out.setdefault(name, collections.defaultdict(set))
    tables = here.tables(owner)
    for name, text in here.texts.items():
        for word in set(WORD.findall(text)):
            header = here.inline.get(word)
            if header and header != name:
                out[name][header].add(word)
        if name.endswith(".h"):
            bodies = "".join(braced(text, m.end() - 1) for m in INLINE.finditer(text))
            for word in set(WORD.findall(bodies)):
                if word in owner and room(owner[word]) == place:
                    out[name][owner[word]].add(word)
        used = {(text[max(0, m.start() - 8):m.start()].rstrip().endswith(("->", ".")), m.group(1), m.group(2)) for m in MEMBER.finditer(text)}
        for of_member, pointer, member in used:
            for kind in here.types.get((of_member, pointer), ()):
                for file in tables.get((kind, member), ()):
                    if file != name and room(file) == place:
                        out[name][file].add("%s->%s" % (kind, member))
    return out


def owners(files):
    """{global name: the source that defines it} of what objects() has found."""
    out = {}
    for source, paths in files.items():
        for path in paths:
            for name in symbols(path)[0]:
                out[name] = source
    return out


def circles(graph):
    """Lists of nodes, each of which reaches all others of its list; the longest first."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            found = []
            while not found or found[-1] != node:
                found.append(stack.pop())
                on.discard(found[-1])
            if len(found) > 1:
                out.append(sorted(found))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(out, key=lambda c: (-len(c), c))
