#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""While Ganesha is asked whether it serves a client, it serves the others.

    greet.py RDMA-PORT FILE

Ganesha has 16 workers, and does not answer as long as FILE is there
(tests/tools/greet.c). A client sends more Calls than that over two connections, of
which it has not been asked; one that was there before is served meanwhile, and in
the end all are.
"""

import os
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402

CALLS = 24  # over each connection


def main(port, file):
    bench = kit.Server("127.0.0.1", port, "/export", 30)
    good = bench.connect()
    good.null()
    new = [bench.connect() for _ in range(2)]
    with open(file, "w", encoding="ascii"):
        pass
    sent = [(c, c.send_call(rpc.null(c.new_xid())))
            for _ in range(CALLS) for c in new]
    for _ in range(1000):
        good.null()
    # Or nothing has been shown.
    assert not select.select([c.iw.s for c in new], [], [], 0)[0], \
        "Ganesha was not asked"
    os.unlink(file)
    for c, xid in sent:
        c.answer(xid)
    for c in new:
        c.null()
    bench.end()


main(int(sys.argv[1]), sys.argv[2])
