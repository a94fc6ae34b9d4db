# SPDX-License-Identifier: BSD-3-Clause
"""Keep programs in memory when caches are dropped.

    resident.py PROGRAM...

In a guest each program comes from the host by a slow way, and would come again
after each /proc/sys/vm/drop_caches, which is meant for the files of a test.
What somebody has mapped is not dropped: so this maps the programs, the
libraries that they are linked with, and Python with some modules. It says
"resident" when that is done, and then waits for its end.
"""

import json  # noqa: F401, for those that will import it
import mmap
import os
import random  # noqa: F401
import shutil
import signal
import socket  # noqa: F401
import subprocess
import sys


def libraries(path):
    # What ldd does, in one process less.
    said = subprocess.run([path], env={"LD_TRACE_LOADED_OBJECTS": "1"},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL, text=True, check=False)
    return [w for w in said.stdout.split() if w.startswith("/")]


def is_program(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def keep(path, kept):
    path = os.path.realpath(path)
    if path in kept or not os.path.isfile(path) or not os.path.getsize(path):
        return
    fd = os.open(path, os.O_RDONLY)
    kept[path] = mmap.mmap(fd, 0, mmap.MAP_SHARED | mmap.MAP_POPULATE,
                           mmap.PROT_READ)
    os.close(fd)


def main(programs):
    kept = {}
    for name in programs:
        path = shutil.which(name)
        if path and is_program(path):
            for file in [path] + libraries(path):
                keep(file, kept)
    keep(sys.executable, kept)
    for module in list(sys.modules.values()):
        for file in (getattr(module, "__cached__", None),
                     getattr(module, "__file__", None)):
            if file:
                keep(file, kept)
    print("resident", flush=True)
    signal.pause()


main(sys.argv[1:])
