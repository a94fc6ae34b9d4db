/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb - what the files of this room share about NFS and RPC. Prefix: ulb_.
 */
#ifndef RPCRDMA_NFS_ULB_H
#define RPCRDMA_NFS_ULB_H

#include "nfs/xdr_walk.h"

/* RFC 5531, 9 */
#define RPC_CALL 0
#define RPC_REPLY 1
#define RPC_VERSION 2
#define RPC_MSG_ACCEPTED 0
#define RPC_MSG_DENIED 1
#define RPC_AUTH_MAX 400 /* opaque_auth body, 8.2 */

/* RFC 2203, 5 */
#define RPC_FLAVOR_GSS 6
#define GSS_PROC_DATA 0
#define GSS_SERVICE_NONE 1

/* The longest link text to expect: PATH_MAX, since XDR has no bound. */
#define ULB_LINK_MAX 4096

/* The longest head of an accepted Reply: six words and the verifier. */
#define ULB_REPLY_HEAD (24 + RPC_AUTH_MAX)

enum nfs3_proc {
	NFS3_NULL,
	NFS3_GETATTR,
	NFS3_SETATTR,
	NFS3_LOOKUP,
	NFS3_ACCESS,
	NFS3_READLINK,
	NFS3_READ,
	NFS3_WRITE,
	NFS3_CREATE,
	NFS3_MKDIR,
	NFS3_SYMLINK,
	NFS3_MKNOD,
	NFS3_REMOVE,
	NFS3_RMDIR,
	NFS3_RENAME,
	NFS3_LINK,
	NFS3_READDIR,
	NFS3_READDIRPLUS,
	NFS3_FSSTAT,
	NFS3_FSINFO,
	NFS3_PATHCONF,
	NFS3_COMMIT,
	NFS3_PROCS
};

#define NFS4_NULL 0
#define NFS4_COMPOUND 1

/* nfsstat4 */
#define NFS4ERR_NOTSUPP 10004
#define NFS4ERR_RESOURCE 10018
#define NFS4ERR_BAD_STATEID 10025

#define OPEN4_CREATE 1 /* opentype4 */
#define READW_LT 3 /* nfs_lock_type4 */
#define WRITEW_LT 4

enum nfs4_op {
	OP_ACCESS = 3,
	OP_CLOSE,
	OP_COMMIT,
	OP_CREATE,
	OP_DELEGPURGE,
	OP_DELEGRETURN,
	OP_GETATTR,
	OP_GETFH,
	OP_LINK,
	OP_LOCK,
	OP_LOCKT,
	OP_LOCKU,
	OP_LOOKUP,
	OP_LOOKUPP,
	OP_NVERIFY,
	OP_OPEN,
	OP_OPENATTR,
	OP_OPEN_CONFIRM,
	OP_OPEN_DOWNGRADE,
	OP_PUTFH,
	OP_PUTPUBFH,
	OP_PUTROOTFH,
	OP_READ,
	OP_READDIR,
	OP_READLINK,
	OP_REMOVE,
	OP_RENAME,
	OP_RENEW,
	OP_RESTOREFH,
	OP_SAVEFH,
	OP_SECINFO,
	OP_SETATTR,
	OP_SETCLIENTID,
	OP_SETCLIENTID_CONFIRM,
	OP_VERIFY,
	OP_WRITE,
	OP_RELEASE_LOCKOWNER, /* the last of 4.0 */
	OP_BACKCHANNEL_CTL,
	OP_BIND_CONN_TO_SESSION,
	OP_EXCHANGE_ID,
	OP_CREATE_SESSION,
	OP_DESTROY_SESSION,
	OP_FREE_STATEID,
	OP_GET_DIR_DELEGATION,
	OP_GETDEVICEINFO,
	OP_GETDEVICELIST,
	OP_LAYOUTCOMMIT,
	OP_LAYOUTGET,
	OP_LAYOUTRETURN,
	OP_SECINFO_NO_NAME,
	OP_SEQUENCE,
	OP_SET_SSV,
	OP_TEST_STATEID,
	OP_WANT_DELEGATION,
	OP_DESTROY_CLIENTID,
	OP_RECLAIM_COMPLETE, /* the last of 4.1 */
	OP_ALLOCATE,
	OP_COPY,
	OP_COPY_NOTIFY,
	OP_DEALLOCATE,
	OP_IO_ADVISE,
	OP_LAYOUTERROR,
	OP_LAYOUTSTATS,
	OP_OFFLOAD_CANCEL,
	OP_OFFLOAD_STATUS,
	OP_READ_PLUS,
	OP_SEEK,
	OP_WRITE_SAME,
	OP_CLONE,
	OP_GETXATTR,
	OP_SETXATTR,
	OP_LISTXATTRS,
	OP_REMOVEXATTR,
	OP_LIMIT,
	OP_ILLEGAL = 10044
};

/* Bounds of parts of results; see nfs4_bound.c. */
#define STR(n) (4 + (n))
#define BITMAP_MAX (4 + 64)
#define WHO STR(256)
#define LIMIT STR(1024)
#define ULB_NFS4_NO_BOUND UINT16_MAX

struct ulb_nfs4_op {
	const struct ulb_step *args; /* NULL: there is no such operation */
	const struct ulb_arm *res; /* from the status on */
	uint16_t bound; /* of the result, after the status */
	uint8_t op_class;
};
extern const struct ulb_nfs4_op ulb_nfs4_ops[OP_LIMIT];

/*
 * Returns the longest result of an operation, with number and status but
 * without an eligible item; ULB_UNBOUNDED if unknown. @args, at the arguments,
 * is not moved.
 */
#define ULB_UNBOUNDED UINT64_MAX
uint64_t ulb_nfs4_bound(uint32_t op, const struct ulb_cur *args);

/*
 * rpc_head.c: read the head of a Reply up to the accept_stat. Returns 1 if
 * results follow, 0 for another answer, or -EBADMSG.
 */
int ulb_reply_head(struct ulb_cur *cur);

/* Scan the body of a Call or Reply, at the cursor of @w. */
int ulb_nfs3_scan_call(const struct ulb_call *c, struct ulb_walk *w,
		       struct ulb_scan *scan);
int ulb_nfs3_scan_reply(const struct ulb_call *c, struct ulb_walk *w);
int ulb_nfs4_scan_call(struct ulb_call *c, struct ulb_walk *w,
		       struct ulb_scan *scan);
int ulb_nfs4_scan_reply(struct ulb_walk *w);
/* Read arguments to their end. Returns 0 or -EBADMSG. */
int ulb_nfs3_args(const struct ulb_call *c, struct ulb_walk *w);
int ulb_nfs4_args_end(struct ulb_walk *w);
/* ulb_scan_bulk(); @w->items is not used. */
struct ulb_bulks {
	struct ulb_bulk *bulk;
	unsigned int max, n;
};
void ulb_nfs3_bulk(const struct ulb_call *c, struct ulb_walk *w,
		   struct ulb_bulks *b);
void ulb_nfs4_bulk(const struct ulb_call *call, struct ulb_walk *w,
		   struct ulb_bulks *b);

/* op_class.c: by procedure and by operation number. */
enum ulb_class ulb_nfs3_class(uint32_t proc);
enum ulb_class ulb_nfs4_class(uint32_t op);
/* Returns true if an operation of this class must not be executed twice. */
bool ulb_class_once(enum ulb_class op_class);
/* Set c->op_class of a COMPOUND, for ulb_classify(). */
void ulb_nfs4_classify(struct ulb_call *c, struct ulb_walk *w);

/* sessionid4 */
int ulb_get_session(struct ulb_cur *cur, uint8_t id[ULB_SESSION_ID]);

/* Note an expected result of the operation at @origin. Returns false if there
 * is no room. */
static inline bool ulb_expect(struct ulb_scan *scan, uint32_t max,
			      uint64_t origin)
{
	if (scan->nresults == ULB_MAX_ITEMS)
		return false;
	scan->origins[scan->nresults] = origin > UINT32_MAX ? 0 :
							      (uint32_t)origin;
	scan->results[scan->nresults++] = max;
	return true;
}

/* The value for scan->reply_max. */
static inline size_t ulb_reply_max(uint64_t bound)
{
	/* Positions have 32 bits. */
	return bound > UINT32_MAX ? 0 : (size_t)bound;
}

/* Note @bulk, or only count it if there is no room. */
static inline void ulb_bulk_add(struct ulb_bulks *b, struct ulb_bulk bulk)
{
	if (b->n < b->max)
		b->bulk[b->n] = bulk;
	b->n++;
}

#endif /* RPCRDMA_NFS_ULB_H */
