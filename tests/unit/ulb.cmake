# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(ulb-nfs4 ulb_nfs4.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-rpc ulb_rpc.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-classes ulb_classes.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-nfs3 ulb_nfs3.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-chunks ulb_chunks.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-reads ulb_reads.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-bound ulb_bound.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-session ulb_session.c LIBS rpcrdma_nfs)
rpcrdma_unit(ulb-mutate ulb_mutate.c ulb_rows.c LIBS rpcrdma_nfs)
rpcrdma_one_thread(unit-ulb-bound unit-ulb-chunks unit-ulb-classes
	unit-ulb-mutate unit-ulb-nfs3 unit-ulb-nfs4 unit-ulb-reads unit-ulb-rpc
	unit-ulb-session)

# An NFS codec of another origin, where it is installed.
pkg_check_modules(LIBNFS IMPORTED_TARGET libnfs)
if(LIBNFS_FOUND)
	rpcrdma_unit(ulb-libnfs ulb_libnfs.c
		LIBS rpcrdma_nfs PkgConfig::LIBNFS)
endif()

# For decode.test.
add_executable(rpcrdma-decode-args decode_args.c ulb_rows.c)
target_link_libraries(rpcrdma-decode-args PRIVATE rpcrdma_nfs PkgConfig::CUNIT)
