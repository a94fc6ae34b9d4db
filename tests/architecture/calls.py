# SPDX-License-Identifier: BSD-3-Clause
"""Who calls whom, as the objects of a build tell it.

A file needs another if its object has an undefined symbol that the other's defines: a call, a function whose address it takes,
a table. What goes through a table or a callback is no such need of the file that calls it. Calls of inline functions in headers
are not seen.

A room is a folder of sources.
"""

import collections
import json
import os
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


def circles(graph):
    """Lists of nodes, each of which reaches all others of its list; the longest first."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for other in sorted(graph[node]):
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
