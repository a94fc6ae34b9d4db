# SPDX-License-Identifier: BSD-3-Clause
# Parts of rpcrdma-gateway; the whole is integration/gateway*.test's.
rpcrdma_unit(gateway-accept gateway_accept.c
	${PROJECT_SOURCE_DIR}/src/gateway/accept.c
	LIBS rpcrdma_gw_policy rpcrdma_tools rpcrdma_base)
rpcrdma_unit(gateway-layout gateway_layout.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/layout.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport rpcrdma_nfs)
rpcrdma_unit(gateway-options gateway_options.c
	${PROJECT_SOURCE_DIR}/src/gateway/options.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport rpcrdma_nfs)
rpcrdma_unit(gateway-plan gateway_plan.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/plan.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport rpcrdma_nfs)
rpcrdma_unit(gateway-hosts gateway_hosts.c LIBS rpcrdma_gw_policy)
rpcrdma_unit(gateway-memory gateway_memory.c LIBS rpcrdma_gw_policy Threads::Threads)
rpcrdma_unit(gateway-record gateway_record.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/tcp_record.c
	LIBS rpcrdma_gw_policy rpcrdma_hostauth rpcrdma_tools rpcrdma_transport
	rpcrdma_nfs rpcrdma_loop)
rpcrdma_unit(gateway-heads gateway_heads.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/answer.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/outstanding.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/shorten.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/plan.c
	${PROJECT_SOURCE_DIR}/src/gateway/call/tcp_record.c
	LIBS rpcrdma_gw_policy rpcrdma_hostauth rpcrdma_tools rpcrdma_transport
	rpcrdma_nfs)
target_link_options(unit-gateway-heads PRIVATE -Wl,--wrap=ulb_call_head)
rpcrdma_one_thread(unit-gateway-accept unit-gateway-heads unit-gateway-hosts
	unit-gateway-layout unit-gateway-options unit-gateway-plan
	unit-gateway-record)
