# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(fabric fabric.c LIBS rpcrdma_loop rpcrdma_fabric)
rpcrdma_unit(log log.c LIBS test-clock rpcrdma_fabric)
