# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(iwarp-proto iwarp_proto.c LIBS rpcrdma_iwarp PkgConfig::ISAL)
rpcrdma_one_thread(unit-iwarp-proto)
rpcrdma_unit(iwarp-data iwarp_data.c LIBS rpcrdma_fabric)
rpcrdma_unit(iwarp-bad iwarp_bad.c LIBS rpcrdma_fabric)
rpcrdma_unit(iwarp-startup iwarp_startup.c LIBS test-clock rpcrdma_fabric)
rpcrdma_unit(iwarp-conn iwarp_conn.c LIBS test-clock rpcrdma_fabric)
rpcrdma_unit(iwarp-threads iwarp_threads.c LIBS rpcrdma_fabric)
rpcrdma_unit(iwarp-pace iwarp_pace.c LIBS test-clock rpcrdma_fabric)
