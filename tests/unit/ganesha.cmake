# SPDX-License-Identifier: BSD-3-Clause
# With the parser of the Ganesha that is installed.
if(TARGET rpcrdma_ntirpc)
	string(REGEX MATCH "^[0-9]+" major ${GANESHA_RELEASE})
	file(GLOB GANESHA_NFSD /usr/lib/ganesha/libganesha_nfsd.so.${major}.*
		/usr/lib64/ganesha/libganesha_nfsd.so.${major}.*)
endif()
set(GANESHA_NFSD "${GANESHA_NFSD}" PARENT_SCOPE) # for the fuzz targets
if(GANESHA_NFSD AND TARGET rpcrdma_ntirpc)
	rpcrdma_unit(ganesha-config ganesha_config.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/config.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/fault.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/block.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/setting.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/value.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/config_print.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/dialect.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/exports.c
		${PROJECT_SOURCE_DIR}/src/ganesha/keywords/keywords.c
		LIBS rpcrdma_ntirpc rpcrdma_transport ${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-config PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
	target_link_options(unit-ganesha-config PRIVATE
		-Wl,--wrap=strdup,--wrap=free)
	rpcrdma_unit(ganesha-dialect ganesha_dialect.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/config.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/fault.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/block.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/setting.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/value.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/dialect.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/exports.c
		${PROJECT_SOURCE_DIR}/src/ganesha/keywords/keywords.c
		LIBS rpcrdma_ntirpc rpcrdma_transport ${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-dialect PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
	target_link_options(unit-ganesha-dialect PRIVATE -Wl,--wrap=dlsym)
	rpcrdma_unit(ganesha-check ganesha_check.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/exports.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/gsh.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/check.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/file.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/rados.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/parser.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/reload.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/admin.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/last_provider.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/server_listen.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/resource.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/listeners.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/config.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/fault.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/block.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/setting.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/value.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/config_print.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/dialect.c
		${PROJECT_SOURCE_DIR}/src/ganesha/keywords/keywords.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/text.c
		LIBS rpcrdma_ntirpc rpcrdma_gss rpcrdma_transport rpcrdma_fabric
		${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-check PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
	rpcrdma_unit(ganesha-text ganesha_text.c
		${PROJECT_SOURCE_DIR}/src/ganesha/config/text.c)
	rpcrdma_unit(ganesha-bind ganesha_bind.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/block.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/gsh.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/parser.c
		${PROJECT_SOURCE_DIR}/src/ganesha/bind/plt.c
		LIBS rpcrdma_ntirpc ${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-bind PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
	rpcrdma_unit(ganesha-facts ganesha_facts.c
		LIBS rpcrdma_ntirpc ${CMAKE_DL_LIBS})
	target_compile_definitions(unit-ganesha-facts PRIVATE
		GANESHA_NFSD="${GANESHA_NFSD}")
	rpcrdma_unit(ganesha-rpcbind ganesha_rpcbind.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/rpcbind.c
		LIBS rpcrdma_ntirpc ${CMAKE_DL_LIBS})
	rpcrdma_unit(ganesha-host ganesha_host.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/host.c
		LIBS test-clock rpcrdma_ntirpc)
	rpcrdma_unit(ganesha-heads ganesha_heads.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/conn_ops.c
		LIBS rpcrdma_ntirpc rpcrdma_loop)
	target_link_options(unit-ganesha-heads PRIVATE
		-Wl,--wrap=ulb_call_head)
	rpcrdma_unit(ganesha-server ganesha_server.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/control.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/server.c
		LIBS rpcrdma_ntirpc_streams rpcrdma_base Threads::Threads)
	rpcrdma_unit(ganesha-control ganesha_control.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/control.c
		LIBS rpcrdma_base Threads::Threads)
	rpcrdma_unit(ganesha-leader ganesha_leader.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/workers.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/leader.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/fair_queue.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/blocking.c
		LIBS rpcrdma_ntirpc_streams rpcrdma_base Threads::Threads)
	target_link_options(unit-ganesha-leader PRIVATE
		-Wl,--wrap=pthread_join,--wrap=nanosleep,--wrap=pthread_create
		-Wl,--wrap=sem_clockwait,--wrap=timerfd_settime,--wrap=read)
	rpcrdma_unit(ganesha-blocking ganesha_blocking.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/blocking.c LIBS test-clock rpcrdma_base)
	target_link_options(unit-ganesha-blocking PRIVATE -Wl,--wrap=getrusage)
	rpcrdma_one_thread(unit-ganesha-blocking)
	rpcrdma_unit(ganesha-manager ganesha_manager.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/manager.c
		LIBS rpcrdma_base Threads::Threads)
	rpcrdma_unit(ganesha-liveness ganesha_liveness.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/liveness.c
		LIBS rpcrdma_ntirpc_streams Threads::Threads)
	rpcrdma_unit(ganesha-listeners ganesha_listeners.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/listeners.c
		LIBS rpcrdma_ntirpc rpcrdma_base)
	rpcrdma_unit(ganesha-accounting ganesha_accounting.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/accounting.c
		LIBS rpcrdma_ntirpc rpcrdma_base)
	rpcrdma_one_thread(unit-ganesha-accounting)
	rpcrdma_unit(ganesha-port-watch ganesha_port_watch.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/port_watch.c
		LIBS rpcrdma_ntirpc rpcrdma_base)
	rpcrdma_one_thread(unit-ganesha-port-watch)
	rpcrdma_unit(ganesha-trim ganesha_trim.c
		${PROJECT_SOURCE_DIR}/src/ganesha/hook/trim.c LIBS rpcrdma_base)
	target_link_options(unit-ganesha-trim PRIVATE -Wl,--wrap=sleep
		-Wl,--wrap=clock_gettime,--wrap=mallinfo2,--wrap=malloc_trim)
	# Release 4.3 has no codec of its own for these data.
	if(GANESHA_RELEASE VERSION_GREATER 6)
		rpcrdma_unit(ganesha-io ganesha_io.c
			LIBS rpcrdma_ntirpc_streams ${CMAKE_DL_LIBS})
		target_compile_definitions(unit-ganesha-io PRIVATE
			GANESHA_NFSD="${GANESHA_NFSD}")
	endif()
endif()

if(TARGET rpcrdma-ganesha)
	rpcrdma_unit(ganesha-stats ganesha_stats.c
		${PROJECT_SOURCE_DIR}/src/ganesha/serve/stats_dbus.c
		LIBS unit-rt rpcrdma_stats rpcrdma_ntirpc PkgConfig::DBUS)
endif()
