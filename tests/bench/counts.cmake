# SPDX-License-Identifier: BSD-3-Clause
#
# For tests/bench/counts. A sanitizer has an allocator of its own.
if(NOT RPCRDMA_SANITIZE)
	add_library(rpcrdma-counts MODULE counts.c)
	set_target_properties(rpcrdma-counts PROPERTIES PREFIX "")
	target_include_directories(rpcrdma-counts PRIVATE ${PROJECT_SOURCE_DIR}/src
		${PROJECT_SOURCE_DIR}/include)
	target_compile_options(rpcrdma-counts PRIVATE -fno-builtin -U_FORTIFY_SOURCE
		-fno-tree-loop-distribute-patterns)
	target_link_libraries(rpcrdma-counts PRIVATE ${CMAKE_DL_LIBS})
endif()
