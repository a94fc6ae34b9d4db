/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * classes - of what class which operation is
 */
#include "nfs/rows.h"

#define C(name) ULB_CLASS_##name

static const uint8_t nfs3[NFS3_PROCS] = {
	[NFS3_NULL] = C(null),	     [NFS3_GETATTR] = C(lookup),
	[NFS3_SETATTR] = C(change),  [NFS3_LOOKUP] = C(lookup),
	[NFS3_ACCESS] = C(lookup),   [NFS3_READLINK] = C(lookup),
	[NFS3_READ] = C(read),	     [NFS3_WRITE] = C(write),
	[NFS3_CREATE] = C(change),   [NFS3_MKDIR] = C(change),
	[NFS3_SYMLINK] = C(change),  [NFS3_MKNOD] = C(change),
	[NFS3_REMOVE] = C(change),   [NFS3_RMDIR] = C(change),
	[NFS3_RENAME] = C(change),   [NFS3_LINK] = C(change),
	[NFS3_READDIR] = C(readdir), [NFS3_READDIRPLUS] = C(readdir),
	[NFS3_FSSTAT] = C(lookup),   [NFS3_FSINFO] = C(lookup),
	[NFS3_PATHCONF] = C(lookup), [NFS3_COMMIT] = C(commit),
};

/* What only says where the next operation is at work is metadata read. */
static const uint8_t nfs4[OP_LIMIT] = {
	[OP_ACCESS] = C(lookup),
	[OP_CLOSE] = C(open),
	[OP_COMMIT] = C(commit),
	[OP_CREATE] = C(change),
	[OP_DELEGPURGE] = C(open),
	[OP_DELEGRETURN] = C(open),
	[OP_GETATTR] = C(lookup),
	[OP_GETFH] = C(lookup),
	[OP_LINK] = C(change),
	[OP_LOCK] = C(lock),
	[OP_LOCKT] = C(lock),
	[OP_LOCKU] = C(lock),
	[OP_LOOKUP] = C(lookup),
	[OP_LOOKUPP] = C(lookup),
	[OP_NVERIFY] = C(lookup),
	[OP_OPEN] = C(open),
	[OP_OPENATTR] = C(open),
	[OP_OPEN_CONFIRM] = C(open),
	[OP_OPEN_DOWNGRADE] = C(open),
	[OP_PUTFH] = C(lookup),
	[OP_PUTPUBFH] = C(lookup),
	[OP_PUTROOTFH] = C(lookup),
	[OP_READ] = C(read),
	[OP_READDIR] = C(readdir),
	[OP_READLINK] = C(lookup),
	[OP_REMOVE] = C(change),
	[OP_RENAME] = C(change),
	[OP_RENEW] = C(session),
	[OP_RESTOREFH] = C(lookup),
	[OP_SAVEFH] = C(lookup),
	[OP_SECINFO] = C(lookup),
	[OP_SETATTR] = C(change),
	[OP_SETCLIENTID] = C(session),
	[OP_SETCLIENTID_CONFIRM] = C(session),
	[OP_VERIFY] = C(lookup),
	[OP_WRITE] = C(write),
	[OP_RELEASE_LOCKOWNER] = C(lock),
	[OP_BACKCHANNEL_CTL] = C(session),
	[OP_BIND_CONN_TO_SESSION] = C(session),
	[OP_EXCHANGE_ID] = C(session),
	[OP_CREATE_SESSION] = C(session),
	[OP_DESTROY_SESSION] = C(session),
	[OP_FREE_STATEID] = C(open),
	[OP_GET_DIR_DELEGATION] = C(open),
	[OP_GETDEVICEINFO] = C(open),
	[OP_GETDEVICELIST] = C(open),
	[OP_LAYOUTCOMMIT] = C(open),
	[OP_LAYOUTGET] = C(open),
	[OP_LAYOUTRETURN] = C(open),
	[OP_SECINFO_NO_NAME] = C(lookup),
	[OP_SEQUENCE] = C(session),
	[OP_SET_SSV] = C(session),
	[OP_TEST_STATEID] = C(open),
	[OP_WANT_DELEGATION] = C(open),
	[OP_DESTROY_CLIENTID] = C(session),
	[OP_RECLAIM_COMPLETE] = C(session),
	[OP_ALLOCATE] = C(write),
	[OP_COPY] = C(write),
	[OP_COPY_NOTIFY] = C(open),
	[OP_DEALLOCATE] = C(write),
	[OP_IO_ADVISE] = C(lookup),
	[OP_LAYOUTERROR] = C(open),
	[OP_LAYOUTSTATS] = C(open),
	[OP_OFFLOAD_CANCEL] = C(open),
	[OP_OFFLOAD_STATUS] = C(open),
	[OP_READ_PLUS] = C(read),
	[OP_SEEK] = C(lookup),
	[OP_WRITE_SAME] = C(write),
	[OP_CLONE] = C(write),
	[OP_GETXATTR] = C(lookup),
	[OP_SETXATTR] = C(change),
	[OP_LISTXATTRS] = C(lookup),
	[OP_REMOVEXATTR] = C(change),
};

enum ulb_class ulb_nfs3_class(uint32_t proc)
{
	return proc < NFS3_PROCS ? nfs3[proc] : ULB_CLASS_other;
}

enum ulb_class ulb_nfs4_class(uint32_t op)
{
	return op < OP_LIMIT ? nfs4[op] : ULB_CLASS_other;
}

bool ulb_class_once(enum ulb_class op_class)
{
	return op_class == ULB_CLASS_change || op_class == ULB_CLASS_write ||
	       op_class == ULB_CLASS_open || op_class == ULB_CLASS_lock ||
	       op_class == ULB_CLASS_protected;
}

const char *ulb_class_name(unsigned int op_class)
{
	static const char *const name[ULB_NCLASSES] = {
#define NAME(nm, help) #nm,
		ULB_CLASSES(NAME)
#undef NAME
	};

	return name[op_class < ULB_NCLASSES ? op_class : ULB_CLASS_other];
}
