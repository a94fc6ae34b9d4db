# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(auth-gss auth_gss.c LIBS rpcrdma_gss)
