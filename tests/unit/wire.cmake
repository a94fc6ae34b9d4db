# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(wire-headers wire_headers.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-lists wire_lists.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-encode wire_encode.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-cm wire_cm.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-robust wire_robust.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-v1 wire_v1.c LIBS rpcrdma_wire)
rpcrdma_unit(wire-xchar wire_xchar.c LIBS rpcrdma_wire)
rpcrdma_one_thread(unit-wire-cm unit-wire-encode unit-wire-headers
	unit-wire-lists unit-wire-robust unit-wire-v1 unit-wire-xchar)

find_program(RPCGEN rpcgen)
pkg_check_modules(TIRPC IMPORTED_TARGET libtirpc)
if(RPCGEN AND TIRPC_FOUND)
	add_subdirectory(${PROJECT_SOURCE_DIR}/tests/xdr
		${PROJECT_BINARY_DIR}/tests/xdr)
	rpcrdma_unit(wire-xdr wire_xdr.c wire_xdr_row.c LIBS rpcrdma_wire rpcrdma_xdrref)
	rpcrdma_unit(wire-xchar-xdr wire_xchar_xdr.c LIBS rpcrdma_wire rpcrdma_xdrrefx)
	rpcrdma_unit(wire-rtr wire_rtr.c LIBS rpcrdma_wire rpcrdma_xdrrefx)
	rpcrdma_unit(wire-v1-xdr wire_v1_xdr.c LIBS rpcrdma_wire rpcrdma_xdrref1)
	rpcrdma_one_thread(unit-wire-xdr unit-wire-xchar-xdr unit-wire-rtr
		unit-wire-v1-xdr)
else()
	message(WARNING "no rpcgen or libtirpc: the codec is not compared with "
		"the draft's XDR")
endif()
