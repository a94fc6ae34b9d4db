# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(tools-record tools_record.c LIBS rpcrdma_tools)
rpcrdma_unit(tools-args tools_args.c LIBS rpcrdma_tools rpcrdma_base)
target_link_options(unit-tools-args PRIVATE -Wl,--wrap=getaddrinfo)
rpcrdma_unit(tools-hostauth tools_hostauth.c LIBS rpcrdma_hostauth rpcrdma_tools)
rpcrdma_unit(tools-latency tools_latency.c LIBS rpcrdma_tools)
rpcrdma_unit(tools-rpc tools_rpc.c LIBS rpcrdma_tools)
rpcrdma_unit(tools-conf tools_conf.c LIBS rpcrdma_tools)
rpcrdma_unit(tools-ping-options tools_ping_options.c
	${PROJECT_SOURCE_DIR}/src/tools/ping_options.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport)
rpcrdma_unit(tools-notify tools_notify.c LIBS rpcrdma_base)
rpcrdma_one_thread(unit-tools-args unit-tools-conf unit-tools-hostauth
	unit-tools-latency unit-tools-notify unit-tools-ping-options
	unit-tools-record unit-tools-rpc)
