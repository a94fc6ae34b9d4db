/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_class - the classes of operations
 */
#include "nfs/ulb.h"

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

enum ulb_class ulb_nfs3_class(uint32_t proc)
{
	return proc < NFS3_PROCS ? nfs3[proc] : ULB_CLASS_other;
}

enum ulb_class ulb_nfs4_class(uint32_t op)
{
	return op < OP_LIMIT ? ulb_nfs4_ops[op].op_class : ULB_CLASS_other;
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
