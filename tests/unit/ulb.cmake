# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(ulb-nfs4 ulb_nfs4.c ulb_rows.c LIBS rpcrdma_ulb)
rpcrdma_unit(ulb-rpc ulb_rpc.c LIBS rpcrdma_ulb)
rpcrdma_unit(ulb-nfs3 ulb_nfs3.c LIBS rpcrdma_ulb)
rpcrdma_unit(ulb-chunks ulb_chunks.c ulb_rows.c LIBS rpcrdma_ulb)
