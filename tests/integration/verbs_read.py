#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ask a gateway for 64 KiB by NFSv3 READ, and wait for how it goes.

    verbs_read.py PORT

Exit status 0 if the connection was made, whatever became of it.
"""

import socket
import struct
import sys


def main():
    call = struct.pack(">6I", 77, 0, 2, 100003, 3, 6)
    call += struct.pack(">4I", 0, 0, 0, 0)
    call += struct.pack(">I8sQI", 8, b"a handle", 0, 65536)
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        s.settimeout(5)
        s.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        try:
            while s.recv(65536):
                pass
        except OSError:
            pass


main()
