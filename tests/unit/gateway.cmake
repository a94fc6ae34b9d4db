# SPDX-License-Identifier: BSD-3-Clause
# Parts of rpcrdma-gateway; the whole is integration/gateway.test's.
rpcrdma_unit(gateway-options gateway_options.c
	${PROJECT_SOURCE_DIR}/src/gateway/options.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport rpcrdma_nfs)
rpcrdma_unit(gateway-plan gateway_plan.c
	${PROJECT_SOURCE_DIR}/src/gateway/plan.c
	LIBS rpcrdma_hostauth rpcrdma_tools rpcrdma_transport rpcrdma_nfs)
rpcrdma_one_thread(unit-gateway-options unit-gateway-plan)
