# SPDX-License-Identifier: BSD-3-Clause
"""A delegation of one client, recalled because another opens the file.

    delegation.py HOST PORT MINOR DATA

By NFSv4.MINOR. DATA is the exported directory. Exit status 0 if the first
client was given a delegation, was called back on the connection it had made,
and the second could open the file once the delegation was returned.
"""

import os
import sys
import time

from nfsclient import V4, NfsError

DELAY = 10008


def open_when_returned(holder, held, other, name):
    """The other's open for writing; answers the recall meanwhile."""
    returned = False
    for _ in range(600):
        try:
            return other.open(name, access=2), returned
        except NfsError as e:
            if e.status != DELAY:
                raise
        holder.null()  # takes what has come
        if holder.recalled and not returned:
            if holder.recalled[0][4:] != held.delegation[4:]:
                sys.exit("another delegation is recalled than was given")
            holder.delegreturn(held)
            returned = True
        time.sleep(0.1)
    sys.exit("the second client cannot open the file: recalled %d times" %
             len(holder.recalled))


def main(host, port, minor, data):
    # No other file: Ganesha grants nothing soon after a recall.
    name = "delegated-%d" % os.getpid()
    with open(os.path.join(data, name), "w") as f:
        f.write("some octets")
    first = V4(host, int(port), int(minor))
    second = V4(host, int(port), int(minor))
    held = first.open(name)
    if not held.delegation:
        sys.exit("no delegation is given")
    mine, returned = open_when_returned(first, held, second, name)
    if not returned:
        sys.exit("opened in spite of the delegation")
    second.close(mine)
    first.close(held)
    first.end()
    second.end()


main(*sys.argv[1:])
