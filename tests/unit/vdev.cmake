# SPDX-License-Identifier: BSD-3-Clause
#
# The provider verbs over emulated devices (tests/lib/vdev), one family after the
# other: what every provider must do, and then what devices do to it.
if(NOT TARGET rpcrdma_vdev)
	return()
endif()

function(over_vdev name profile)
	add_test(NAME unit-vdev-${name} COMMAND
		${CMAKE_CURRENT_SOURCE_DIR}/over_vdev $<TARGET_FILE:rpcrdma_vdev>
		${profile} ${ARGN})
	set_tests_properties(unit-vdev-${name} PROPERTIES TIMEOUT 600 LABELS unit)
endfunction()

set(short --pair-steps 100 --patience 300)
set(families mlx5 bnxt_re irdma cxgb4 qedr hns rxe siw)
foreach(profile IN LISTS families ITEMS no-windows type-1 no-invalidate no-inline
		no-inline-room one-read no-srq no-flush full slow)
	over_vdev(${profile} ${profile}
		$<TARGET_FILE:provider_test> --provider verbs ${short})
endforeach()
foreach(profile IN ITEMS mlx5 qedr rxe no-flush full)
	over_vdev(${profile}-shared ${profile}
		$<TARGET_FILE:provider_test> --provider verbs --shared 0 ${short})
endforeach()
add_executable(vdev_transport vdev_transport.c)
target_link_libraries(vdev_transport PRIVATE unit-rt rpcrdma_fabric)
foreach(profile IN LISTS families ITEMS no-flush full-recvs slow)
	over_vdev(transport-${profile} ${profile} $<TARGET_FILE:vdev_transport>)
endforeach()
over_vdev(transport-few-pairs few-pairs $<TARGET_FILE:vdev_transport> refused)

# The library first, since this calls it; over_vdev gives it the environment.
foreach(program IN ITEMS vdev_events vdev_probe)
	add_executable(${program} ${program}.c)
	target_link_libraries(${program} PRIVATE rpcrdma_vdev rpcrdma_fabric
		rpcrdma_verbs PkgConfig::RDMACM PkgConfig::CUNIT)
	target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
foreach(profile IN ITEMS mlx5 cxgb4 siw no-flush full)
	over_vdev(events-${profile} ${profile} $<TARGET_FILE:vdev_events>)
endforeach()
foreach(profile IN ITEMS mlx5 irdma siw)
	over_vdev(probe-${profile} ${profile} $<TARGET_FILE:vdev_probe>)
endforeach()

# It knows which flaws an rxe has.
over_vdev(faults rxe $<TARGET_FILE:unit-verbs-faults>)
over_vdev(faults-shared rxe $<TARGET_FILE:unit-verbs-faults> --shared)
# It looks at memory in which the device is at work.
rpcrdma_one_thread(unit-vdev-faults unit-vdev-faults-shared)

# Whatever src/fabric/verbs calls of the two libraries, the emulated one has.
add_test(NAME unit-vdev-calls COMMAND sh -c "
	nm -D --defined-only '$<TARGET_FILE:rpcrdma_vdev>' | sed 's/.* T //' | sort >vdev-has
	nm -u '$<TARGET_FILE:rpcrdma_verbs>' |
		sed -n 's/^ *U //p' | grep -E '^(ibv|rdma)_' | sort -u >vdev-needs
	test -s vdev-needs && ! comm -13 vdev-has vdev-needs | grep .")
set_tests_properties(unit-vdev-calls PROPERTIES LABELS unit)

# What rpcrdma-ping reports of each family.
if(TARGET rpcrdma-ping)
	function(report_of profile expression)
		over_vdev(report-${profile} ${profile} $<TARGET_FILE:rpcrdma-ping>
			--provider verbs --report)
		set_tests_properties(unit-vdev-report-${profile} PROPERTIES
			PASS_REGULAR_EXPRESSION "${expression}")
	endfunction()
	report_of(mlx5 "remote invalidation: on\n *memory windows: on\n *shared receive queues: on\n")
	report_of(bnxt_re "remote invalidation: off: its library .*memory windows: off: the driver has some")
	report_of(irdma "transport: iWARP.*memory windows: on\n.*each part has a registration.*warning: iwpmd")
	report_of(cxgb4 "memory windows: off: the device has none of type 2\n.*SGEs of a request: 4\n")
	report_of(type-1 "memory windows: off: the device has none of type 2\n")
	report_of(siw "warning: its driver does not check the right to remote reading")
endif()
