# SPDX-License-Identifier: BSD-3-Clause
"""The table of rooms, tests/architecture/rooms, and who includes what.

A header's room is the one that promises it, for those of include/rpcrdma, and else its folder.
"""

import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PUBLIC = "rpcrdma"  # include/rpcrdma, as it is included
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


class Room:
    def __init__(self, name, promises, may, known):
        self.name = name
        self.promises = promises  # headers of include/rpcrdma
        self.may = may  # rooms, and headers of include/rpcrdma
        self.known = known  # likewise, but ought not to


def read(path=os.path.join(HERE, "rooms")):
    """{name: Room} in the order of the table; ValueError if it does not hold together."""
    rooms = {}
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            try:
                head, tail = line.split(":")
                name, *promises = head.split()
                may, known = (tail + "!").split("!")[:2]
            except ValueError:
                raise ValueError("%s:%d: not ROOM [HEADER...] : ..." % (path, number)) from None
            may, known = may.split(), known.split()
            above = [m for m in may if not m.endswith(".h") and m not in rooms]
            if name in rooms or above:
                raise ValueError("%s:%d: %s" % (path, number, "not above: " + " ".join(above) if above else "again"))
            rooms[name] = Room(name, promises, may, known)
    return rooms


def owners(rooms):
    """{header of include/rpcrdma: name of the room that promises it}"""
    return {h: r.name for r in rooms.values() for h in r.promises}


def sources(top=TOP):
    """(room, or header of include/rpcrdma; path) of each file; paths relative to the top."""
    for path in sorted(glob.glob(os.path.join(top, "src", "**", "*.[ch]"), recursive=True)):
        path = os.path.relpath(path, top)
        yield os.path.dirname(path)[len("src/"):], path
    for path in sorted(glob.glob(os.path.join(top, "include", PUBLIC, "*.h"))):
        yield os.path.basename(path), os.path.relpath(path, top)


def includes(path, top=TOP):
    """(line number, what is included) of the project's own headers, as from the roots of includes."""
    with open(os.path.join(top, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            name = found.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if os.path.exists(os.path.join(top, beside)):
                name = beside.split("/", 1)[1]
            yield number, name


def allowed(room, wanted, rooms, also=()):
    """May a file of @room include @wanted, "ROOM/NAME.h" or "rpcrdma/NAME.h"? @also: rooms or headers beside its own list."""
    may = list(room.may) + list(also)
    place, name = os.path.dirname(wanted), os.path.basename(wanted)
    if place == PUBLIC:
        owner = owners(rooms).get(name)
        return name in room.promises or name in may or owner in may
    return place == room.name or place in may or wanted in may
