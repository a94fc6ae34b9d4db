# SPDX-License-Identifier: BSD-3-Clause
add_executable(rpcrdma-bench nfs_bench.c nfs_load.c nfs_options.c nfs_rdma.c
	nfs_setup.c nfs_tcp.c)
target_link_libraries(rpcrdma-bench PRIVATE rpcrdma_tools rpcrdma_transport
	rpcrdma_fabric)
