# SPDX-License-Identifier: BSD-3-Clause
"""A client of version 1 that mounts: what relay.py has noted of it."""

from . import kit
from .kit import Skip, Wrong


def noted(i):
    def fn(t):
        if i in t.wrong:
            raise Wrong(t.wrong[i])
        if not t.seen[i]:
            raise Skip("the client did nothing of the kind")
    return fn


def check(i, title):
    fn = noted(i)
    fn.__doc__ = title
    kit.check(i, role=kit.CLIENT)(fn)


check("V1-3.3.1-03", "No more Calls are outstanding than were granted.")
check("V1-3.3.1-04", "Each Call asks for a credit at least.")
check("V1-3.3.2-02", "No Call by RDMA_MSG is longer than the threshold.")
check("V1-3.3.3-02", "There is one Call until the first Reply.")
check("V1-3.4.2-01", "Only what is eligible is in a Read chunk.")
check("V1-3.4.5-05", "Positions are multiples of four, and in the stream.")
check("V1-3.4.5-06", "With its Read chunks a Call is a valid RPC message.")
check("V1-3.4.6-04", "A Write chunk has room for its result.")
check("V1-3.5.3-05", "A Long Call has a Position Zero chunk, no other has.")
check("V1-3.5.3-06", "A Reply chunk is offered where the Reply needs one.")
check("V1-4.2-02", "Headers and their lists can be read.")
check("V1-4.2.1-02", "The XID is that of the RPC message, and of no other "
      "Call.")
check("V1-4.2.2-02", "rdma_vers is 1.")
check("V1-4.2.4-02", "rdma_proc is RDMA_MSG or RDMA_NOMSG.")
check("V1-4.4.1-01", "Memory is closed when the Reply has come.")
check("V1-4.5-02", "A Reply, or an error, to no Call does no harm.")
check("V1-4.5-03", "Calls without a Reply come again on the next connection.")
check("PD-4-10", "The client's private data have the format.")
