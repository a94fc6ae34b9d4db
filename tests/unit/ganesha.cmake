# SPDX-License-Identifier: BSD-3-Clause
# With the parser of the Ganesha that is installed.
if(GANESHA_NFSD AND TARGET rpcrdma_ntirpc)
	rpcrdma_unit(ganesha-config ganesha_config.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config.c
		LIBS rpcrdma_ntirpc rpcrdma_transport ${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-config PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
endif()

if(TARGET rpcrdma-ganesha)
	rpcrdma_unit(ganesha-stats ganesha_stats.c
		${PROJECT_SOURCE_DIR}/src/ganesha/stats_dbus.c
		LIBS unit-rt rpcrdma_stats rpcrdma_ntirpc PkgConfig::DBUS)
endif()
