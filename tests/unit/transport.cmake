# SPDX-License-Identifier: BSD-3-Clause
add_library(unit-rt STATIC rt_pair.c rt_watch.c rt_raw.c rt_raw1.c rt_rtr.c)
# What those that take long do most of the time.
target_compile_options(unit-rt PRIVATE -O1)
target_link_libraries(unit-rt PUBLIC test-clock rpcrdma_transport rpcrdma_loop
	PkgConfig::CUNIT)
target_include_directories(unit-rt PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})

# rpcrdma_unit_of(EXTENSIONS NAME SOURCES... LIBS lib...): if all of these are in
# this build (RPCRDMA_EXTENSIONS)
function(rpcrdma_unit_of extensions name)
	foreach(extension IN LISTS extensions)
		if(NOT extension IN_LIST RPCRDMA_EXTENSIONS)
			return()
		endif()
	endforeach()
	rpcrdma_unit(${name} ${ARGN})
endfunction()

rpcrdma_unit(credit credit.c)
rpcrdma_one_thread(unit-credit)
rpcrdma_unit(transport transport.c LIBS unit-rt)
rpcrdma_unit(transport-version transport_version.c LIBS unit-rt)
rpcrdma_unit(transport-cont transport_cont.c LIBS unit-rt)
rpcrdma_unit(transport-built transport_built.c LIBS unit-rt)
foreach(extension IN LISTS RPCRDMA_EXTENSIONS)
	string(TOUPPER ${extension} extension)
	target_compile_definitions(unit-transport-built PRIVATE WITH_${extension})
endforeach()
rpcrdma_unit_of(xchar transport-xchar transport_xchar.c LIBS unit-rt)
rpcrdma_unit_of("xchar;rtr" transport-xchar-pair transport_xchar_pair.c
	LIBS unit-rt)
rpcrdma_unit(transport-props transport_props.c LIBS unit-rt)
rpcrdma_unit_of(auth transport-auth transport_auth.c auth_script.c LIBS unit-rt)
rpcrdma_unit_of("auth;xchar;rtr" transport-auth-raw transport_auth_raw.c auth_script.c
	LIBS unit-rt)
rpcrdma_unit(transport-chunks transport_chunks.c LIBS unit-rt)
rpcrdma_unit(transport-formats transport_formats.c LIBS unit-rt)
rpcrdma_unit(transport-returned transport_returned.c LIBS unit-rt)
rpcrdma_unit(transport-wrong transport_wrong.c LIBS unit-rt)
rpcrdma_unit(transport-limits transport_limits.c LIBS unit-rt)
rpcrdma_unit(transport-provider transport_provider.c LIBS unit-rt)
rpcrdma_unit(transport-v1 transport_v1.c LIBS unit-rt)
rpcrdma_unit(transport-v1-raw transport_v1_raw.c LIBS unit-rt)
rpcrdma_unit(transport-v1-client transport_v1_client.c LIBS unit-rt)
rpcrdma_unit(transport-negotiate transport_negotiate.c LIBS unit-rt)
rpcrdma_unit(transport-credit transport_credit.c LIBS unit-rt)
rpcrdma_unit(transport-grants transport_grants.c LIBS unit-rt)
rpcrdma_unit(transport-reverse transport_reverse.c LIBS unit-rt)
rpcrdma_unit(transport-end transport_end.c LIBS unit-rt rpcrdma_fabric)
target_link_options(unit-transport-end PRIVATE -Wl,--wrap=rt_conn_new)
rpcrdma_unit(transport-admission transport_admission.c LIBS unit-rt rpcrdma_fabric)
target_link_options(unit-transport-admission PRIVATE -Wl,--wrap=fab_conn_info)
rpcrdma_unit(transport-faults transport_faults.c LIBS unit-rt)
target_compile_definitions(unit-transport-faults PRIVATE VERSION=2)
rpcrdma_unit(transport-faults-v1 transport_faults.c LIBS unit-rt)
target_compile_definitions(unit-transport-faults-v1 PRIVATE VERSION=1)
rpcrdma_unit_of("xchar;rtr" transport-threads transport_threads.c
	LIBS unit-rt rpcrdma_fabric)
rpcrdma_unit_of(rtr transport-rtr transport_rtr.c LIBS unit-rt)
rpcrdma_unit_of(rtr transport-rtr-raw transport_rtr_raw.c LIBS unit-rt)
rpcrdma_unit_of(rtr transport-rtr-client transport_rtr_client.c LIBS unit-rt)
rpcrdma_unit_of(rtr transport-rtr-results transport_rtr_results.c LIBS unit-rt)
rpcrdma_unit_of("xchar;rtr" transport-ext transport_ext.c LIBS unit-rt)
rpcrdma_unit(transport-bound transport_bound.c LIBS unit-rt)
rpcrdma_unit(transport-shortage transport_shortage.c LIBS unit-rt test-clock)
rpcrdma_unit(transport-wait transport_wait.c LIBS unit-rt)
rpcrdma_unit(transport-reads transport_reads.c LIBS unit-rt test-clock)
target_link_options(unit-transport-reads PRIVATE -Wl,--wrap=base_addr_host
	-Wl,--wrap=fab_post,--wrap=fab_poll,--wrap=rt_replies_over_limit)
rpcrdma_unit(transport-nap transport_nap.c LIBS unit-rt test-clock)
target_link_options(unit-transport-nap PRIVATE -Wl,--wrap=fab_poller_run,--wrap=nanosleep)
rpcrdma_unit(transport-run-later transport_run_later.c LIBS unit-rt)
target_link_options(unit-transport-run-later PRIVATE -Wl,--wrap=fab_poller_run)
rpcrdma_unit(transport-timers transport_timers.c LIBS unit-rt)
rpcrdma_unit(transport-reserve transport_reserve.c LIBS unit-rt)
target_link_options(unit-transport-reserve PRIVATE -Wl,--wrap=fab_pool_get_spare)
target_link_options(unit-transport-reserve PRIVATE -Wl,--wrap=fab_conn_trim)
rpcrdma_unit(transport-stages transport_stages.c LIBS unit-rt)
rpcrdma_unit(transport-steady transport_steady.c
	LIBS unit-rt rpcrdma_fabric)
# Every way to get memory, and to have it registered, is counted.
target_link_options(unit-transport-steady PRIVATE -Wl,--wrap=malloc,--wrap=calloc
	-Wl,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign
	-Wl,--wrap=mmap,--wrap=fab_reg)

# The same, with Receives that bring no memory.
foreach(name IN ITEMS transport transport-bound transport-faults
		transport-faults-v1 transport-provider transport-rtr transport-steady transport-threads
		transport-xchar-pair)
	if(TARGET unit-${name})
		add_test(NAME unit-${name}-shared COMMAND unit-${name})
		set_tests_properties(unit-${name}-shared PROPERTIES TIMEOUT 1200
			LABELS unit ENVIRONMENT RPCRDMA_TEST_SHARED=1)
	endif()
endforeach()

foreach(name IN ITEMS transport-credit transport-faults transport-faults-v1
		transport-rtr transport-steady transport-xchar-pair)
	foreach(test IN ITEMS unit-${name} unit-${name}-shared)
		if(TEST ${test})
			rpcrdma_one_thread(${test})
		endif()
	endforeach()
endforeach()

rpcrdma_one_thread(unit-transport-shared unit-transport-timers unit-transport-v1
	unit-transport-wait)

# What tests/steps/extensions builds and runs.
get_property(transport_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER transport_targets INCLUDE REGEX "^unit-transport")
list(REMOVE_ITEM transport_targets unit-transport-threads unit-transport-faults
	unit-transport-faults-v1)
add_custom_target(transport-units DEPENDS ${transport_targets})
set_property(TEST ${transport_targets} APPEND PROPERTY LABELS transport)
