# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(loop loop.c LIBS rpcrdma_loop rpcrdma_fabric)
rpcrdma_unit(loop-work loop_work.c LIBS rpcrdma_loop rpcrdma_fabric)
rpcrdma_unit(loop-faults loop_faults.c LIBS rpcrdma_loop rpcrdma_fabric)
rpcrdma_unit(loop-threads loop_threads.c LIBS rpcrdma_loop rpcrdma_fabric)
