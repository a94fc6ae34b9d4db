# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(ulb-nfs4 ulb_nfs4.c ulb_rows.c LIBS rpcrdma_ulb)
