# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(iwarp-data iwarp_data.c LIBS rpcrdma_fabric)
