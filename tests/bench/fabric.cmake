# SPDX-License-Identifier: BSD-3-Clause
add_executable(fabric-bench fabric_bench.c)
target_link_libraries(fabric-bench PRIVATE rpcrdma_fabric)
