# SPDX-License-Identifier: BSD-3-Clause
add_executable(stats-bench stats_bench.c)
target_link_libraries(stats-bench PRIVATE rpcrdma_nfs rpcrdma_base)
