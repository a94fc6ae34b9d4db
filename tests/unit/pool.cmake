# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(pool pool.c LIBS test-clock rpcrdma_fabric)
# Every way the pool may get memory is counted.
target_link_options(unit-pool PRIVATE -Wl,--wrap=malloc,--wrap=calloc
	-Wl,--wrap=aligned_alloc,--wrap=mmap,--wrap=munmap,--wrap=free)
