# SPDX-License-Identifier: BSD-3-Clause
add_executable(delay-relay delay_relay.c)
target_link_libraries(delay-relay PRIVATE rpcrdma_tools)
