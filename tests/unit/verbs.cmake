# SPDX-License-Identifier: BSD-3-Clause
#
# What every provider must do, over each that is real. Where there is no RDMA
# device, or RPCRDMA_VERBS_ADDR does not name its address, verbs is skipped;
# tests/integration/verbs.test runs it in a guest that has one.
add_executable(provider_test provider_main.c provider_life.c provider_data.c
	provider_bad.c provider_shared.c)
target_link_libraries(provider_test PRIVATE rpcrdma_fabric PkgConfig::CUNIT)
target_include_directories(provider_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
if(TARGET rpcrdma_verbs)
	target_compile_definitions(provider_test PRIVATE HAVE_VERBS)
	target_link_libraries(provider_test PRIVATE PkgConfig::RDMACM)
endif()
foreach(provider IN ITEMS iwarp verbs)
	if(TARGET rpcrdma_${provider})
		add_test(NAME unit-provider-${provider}
			COMMAND provider_test --provider ${provider})
		set_tests_properties(unit-provider-${provider} PROPERTIES
			TIMEOUT 1200 LABELS unit SKIP_RETURN_CODE 77)
	endif()
endforeach()

# It takes devices away: without what the guest's script names, it skips.
if(TARGET rpcrdma_verbs)
	rpcrdma_unit(verbs-ports verbs_ports.c LIBS rpcrdma_fabric
		rpcrdma_verbs)
	rpcrdma_unit(verbs-report verbs_report.c LIBS rpcrdma_fabric
		rpcrdma_verbs PkgConfig::RDMACM)
	rpcrdma_one_thread(unit-verbs-ports unit-verbs-report)
	rpcrdma_unit(verbs-events verbs_events.c verbs_abrupt.c
		verbs_half_open.c verbs_peer.c
		LIBS rpcrdma_fabric rpcrdma_verbs PkgConfig::RDMACM)
	set_tests_properties(unit-verbs-events PROPERTIES SKIP_RETURN_CODE 77)
	rpcrdma_unit(verbs-faults verbs_faults.c verbs_raw.c
		LIBS rpcrdma_fabric rpcrdma_verbs PkgConfig::RDMACM)
	set_tests_properties(unit-verbs-faults PROPERTIES SKIP_RETURN_CODE 77)
	# Over devices that are made up.
	rpcrdma_unit(verbs-devices verbs_devices.c
		LIBS rpcrdma_fabric rpcrdma_verbs PkgConfig::RDMACM)
endif()
