# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(ntirpc-decode ntirpc_decode.c LIBS rpcrdma_ntirpc_streams)
rpcrdma_unit(ntirpc-encode ntirpc_encode.c LIBS rpcrdma_ntirpc_streams)
