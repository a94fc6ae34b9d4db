# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(timers timers.c LIBS test-clock rpcrdma_base)
rpcrdma_unit(clock clock.c LIBS test-clock rpcrdma_base)
rpcrdma_one_thread(unit-clock)
rpcrdma_unit(pace pace.c LIBS rpcrdma_base)
rpcrdma_one_thread(unit-pace)
rpcrdma_unit(prefix prefix.c LIBS rpcrdma_base)
rpcrdma_one_thread(unit-prefix)
