#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Uses a share of a processor and does nothing else.

    burn.py SHARE

Until it is killed. It works in pieces of a millisecond, as one does that sends
and then waits; what it did not get, because others had the processor, it makes
up for.
"""

import sys
import time

PIECE = 0.001
MOST = 0.1  # behind, in seconds: more is not made up for


def main():
    share = float(sys.argv[1])
    at = time.monotonic()
    due = 0.0
    while True:
        now = time.monotonic()
        due = min(due + (now - at) * share, MOST)
        at = now
        if due < PIECE:
            time.sleep(PIECE)
            continue
        begin = time.thread_time()
        while time.thread_time() - begin < PIECE:
            pass
        due -= time.thread_time() - begin


if __name__ == "__main__":
    main()
