/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proc_name - procedures as logs and statistics call them
 */
#include "nfs/ulb.h"

#define PROG_NFS_CB 0x40000000 /* the least of the transient programs */

static const char *const nfs3[] = {
	[NFS3_NULL] = "NFSv3 NULL",
	[NFS3_GETATTR] = "NFSv3 GETATTR",
	[NFS3_SETATTR] = "NFSv3 SETATTR",
	[NFS3_LOOKUP] = "NFSv3 LOOKUP",
	[NFS3_ACCESS] = "NFSv3 ACCESS",
	[NFS3_READLINK] = "NFSv3 READLINK",
	[NFS3_READ] = "NFSv3 READ",
	[NFS3_WRITE] = "NFSv3 WRITE",
	[NFS3_CREATE] = "NFSv3 CREATE",
	[NFS3_MKDIR] = "NFSv3 MKDIR",
	[NFS3_SYMLINK] = "NFSv3 SYMLINK",
	[NFS3_MKNOD] = "NFSv3 MKNOD",
	[NFS3_REMOVE] = "NFSv3 REMOVE",
	[NFS3_RMDIR] = "NFSv3 RMDIR",
	[NFS3_RENAME] = "NFSv3 RENAME",
	[NFS3_LINK] = "NFSv3 LINK",
	[NFS3_READDIR] = "NFSv3 READDIR",
	[NFS3_READDIRPLUS] = "NFSv3 READDIRPLUS",
	[NFS3_FSSTAT] = "NFSv3 FSSTAT",
	[NFS3_FSINFO] = "NFSv3 FSINFO",
	[NFS3_PATHCONF] = "NFSv3 PATHCONF",
	[NFS3_COMMIT] = "NFSv3 COMMIT",
};

static const char *const nfs4[] = {
	[NFS4_NULL] = "NFSv4 NULL",
	[NFS4_COMPOUND] = "NFSv4 COMPOUND",
};

static const char *const nfs_cb[] = { "NFSv4 CB_NULL", "NFSv4 CB_COMPOUND" };

static const char *const mount3[] = { "MOUNT NULL",    "MOUNT MNT",
				      "MOUNT DUMP",    "MOUNT UMNT",
				      "MOUNT UMNTALL", "MOUNT EXPORT" };

static const char *const nfsacl3[] = { "NFSACL NULL", "NFSACL GETACL",
				       "NFSACL SETACL" };

static const struct {
	uint32_t prog, vers; /* vers 0: any */
	const char *const *procs;
	uint32_t nprocs;
	const char *other;
} programs[] = {
#define PROCS(a) (a), sizeof(a) / sizeof((a)[0])
	{ ULB_PROG_NFS, 3, PROCS(nfs3), "NFSv3 unknown" },
	{ ULB_PROG_NFS, 4, PROCS(nfs4), "NFSv4 unknown" },
	{ ULB_PROG_NFS, 0, NULL, 0, "NFS of another version" },
	{ PROG_NFS_CB, 0, PROCS(nfs_cb), "NFSv4 CB unknown" },
	{ 100005, 0, PROCS(mount3), "MOUNT unknown" },
	{ 100021, 0, NULL, 0, "NLM" },
	{ 100024, 0, NULL, 0, "NSM" },
	{ 100011, 0, NULL, 0, "RQUOTA" },
	{ 100000, 0, NULL, 0, "RPCBIND" },
	{ 100227, 0, PROCS(nfsacl3), "NFSACL unknown" },
};

const char *ulb_proc_name(uint32_t prog, uint32_t vers, uint32_t proc)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (programs[i].prog != prog ||
		    (programs[i].vers && programs[i].vers != vers))
			continue;
		return proc < programs[i].nprocs ? programs[i].procs[proc] :
						   programs[i].other;
	}
	return "another program";
}
