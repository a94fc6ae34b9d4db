# SPDX-License-Identifier: BSD-3-Clause
if(NOT TARGET rpcrdma_ntirpc)
	return()
endif()
rpcrdma_unit(ntirpc-decode ntirpc_decode.c LIBS rpcrdma_ntirpc_streams)
rpcrdma_one_thread(unit-ntirpc-decode)
rpcrdma_unit(ntirpc-encode ntirpc_encode.c LIBS rpcrdma_ntirpc_streams)
rpcrdma_unit(ntirpc-call ntirpc_call.c LIBS rpcrdma_ntirpc)
rpcrdma_unit(ntirpc-replay ntirpc_replay.c LIBS rpcrdma_ntirpc)
rpcrdma_unit(ntirpc-lend ntirpc_lend.c LIBS rpcrdma_ntirpc)
rpcrdma_unit(ntirpc-session ntirpc_session.c LIBS rpcrdma_ntirpc)
# This one defines the GSS-API functions that libntirpc then calls.
rpcrdma_unit(ntirpc-gss ntirpc_gss.c LIBS rpcrdma_ntirpc)
set_target_properties(unit-ntirpc-gss PROPERTIES ENABLE_EXPORTS ON)
if(TARGET rpcrdma_iwarp)
	rpcrdma_unit(ntirpc-clnt ntirpc_clnt.c ntirpc_ends.c LIBS rpcrdma_ntirpc)
	rpcrdma_unit(ntirpc-follow ntirpc_follow.c ntirpc_ends.c
		LIBS rpcrdma_ntirpc)
	rpcrdma_unit(ntirpc-back ntirpc_back.c ntirpc_ends.c
		LIBS rpcrdma_ntirpc)
	# ntirpc's clnt_req_fill() locks a mutex in every request, which another
	# thread may unlock; races are still found.
	set_tests_properties(unit-ntirpc-clnt unit-ntirpc-follow unit-ntirpc-back
		PROPERTIES ENVIRONMENT
		"TSAN_OPTIONS=report_mutex_bugs=0 report_destroy_locked=0 detect_deadlocks=0")
endif()
