# SPDX-License-Identifier: BSD-3-Clause
"""A raw peer for RPC-over-RDMA, and checks of the requirements on the other.

Nothing here is built from the project's own codecs. From the bottom:

    iwarp   MPA, DDP and RDMAP over a TCP socket
    v2, v1  headers of RPC-over-RDMA, and one connection that counts credits
    rpc     ONC RPC and as much of NFS as the checks need
    kit     what a check is, and what runs it
    *_checks  the checks, one for each identifier of a requirement
"""
