# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(stats-socket stats_socket.c LIBS rpcrdma_stats)
target_link_options(unit-stats-socket PRIVATE -Wl,--wrap=calloc)
