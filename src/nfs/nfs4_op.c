/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_op - every NFSv4 operation: its class, arguments and results
 *
 * RFC 7530 (4.0), RFC 8881 and 5662 (4.1), RFC 7862 and 7863 (4.2), RFC 8276. Names
 * in comments are those of the RFCs' XDR. A result is a union by status.
 *
 * A server must not read a COMPOUND otherwise than it is read here, or what nfs4.c
 * finds in it is not what is executed. So all that Ganesha executes is read as each
 * supported release of Ganesha reads it: for a bool, ntirpc takes any word but 0 as
 * TRUE. Limits of lengths and counts are left to Ganesha. What it reads otherwise
 * than the RFCs have it, it does not execute:
 *
 *   COPY_NOTIFY, CLONE, and before release 15 COPY, OFFLOAD_CANCEL, OFFLOAD_STATUS:
 *     without arguments; NFS4ERR_NOTSUPP
 *   LAYOUTERROR (one device_error4, without a count), LAYOUTSTATS (io_info4 of
 *     three words, no device): is not shown them (ntirpc/quirks/withheld.h)
 *
 * tests/integration/decode.test compares the two.
 */
#include "nfs/ulb.h"

#define NFS4ERR_TOOSMALL 10005
#define NFS4ERR_DENIED 10010
#define NFS4ERR_CLID_INUSE 10017
#define NFS4ERR_LAYOUTTRYLATER 10058
#define NFS4ERR_OFFLOAD_NO_REQS 10094

/* clang-format off */
#define WORD		WORDS(1)
#define HYPER		WORDS(2)
#define TIME		WORDS(3)	/* nfstime4 */
#define VERIFIER	WORDS(2)
#define SESSIONID	WORDS(4)
#define DEVICEID	WORDS(4)
#define BITMAP		VEC(1)
#define FATTR		BITMAP, OPAQUE
#define OWNER		CLIENT, OPAQUE	/* state_owner4 */
#define NETADDR		OPAQUE, OPAQUE	/* netid, address */
#define CHANGE_INFO	WORDS(5)
#define LAYOUT_BODY	WORD, OPAQUE	/* a type and its opaque body */
#define IMPL_ID		OPAQUE, OPAQUE, TIME
#define CHANNEL_ATTRS	WORDS(6), VEC(1)
#define PROTECT_OPS	BITMAP, BITMAP	/* state_protect_ops4 */
#define NFSACE		WORDS(3), OPAQUE
#define WRITE_RESPONSE	VEC(4) /* at most one */, HYPER, WORD, VERIFIER

static const struct ulb_step word[] = { WORD, END };
static const struct ulb_step hyper[] = { HYPER, END };
static const struct ulb_step nfstime[] = { TIME, END };
static const struct ulb_step stateid[] = { STATEID, END };
static const struct ulb_step opaque[] = { OPAQUE, END };
static const struct ulb_step netaddr[] = { NETADDR, END };
static const struct ulb_step bitmap[] = { BITMAP, END };
static const struct ulb_step fattr[] = { FATTR, END };
/* createtype4: the link text is eligible [H1] */
static const struct ulb_step linkdata[] = { DATA, END };
static const struct ulb_arm createtype[] = {
	CASE(5 /* NF4LNK */, linkdata), CASE(3 /* NF4BLK */, hyper),
	CASE(4 /* NF4CHR */, hyper), DEFAULT(NULL)
};
static const struct ulb_step open_to_lock_owner[] = {
	WORD, STATEID, WORD, OWNER, END
};
static const struct ulb_step exist_lock_owner[] = { STATEID, WORD, END };
static const struct ulb_arm locker[] = {
	CASE(0, exist_lock_owner), DEFAULT(open_to_lock_owner)
};
/* RFC 8881, 18.16: createhow4, openflag4, open_claim4 */
static const struct ulb_step create_both[] = { VERIFIER, FATTR, END };
static const struct ulb_arm createhow[] = {
	CASE(0 /* UNCHECKED4 */, fattr), CASE(1 /* GUARDED4 */, fattr),
	CASE(2 /* EXCLUSIVE4 */, hyper),
	CASE(3 /* EXCLUSIVE4_1 */, create_both), REFUSE
};
static const struct ulb_step open_create[] = { UNION(createhow), END };
static const struct ulb_arm openflag[] = {
	CASE(OPEN4_CREATE, open_create), DEFAULT(NULL)
};
static const struct ulb_step delegate_cur[] = { STATEID, OPAQUE, END };
static const struct ulb_arm open_claim[] = {
	CASE(0 /* CLAIM_NULL */, opaque), CASE(4 /* CLAIM_FH */, NULL),
	CASE(1 /* CLAIM_PREVIOUS */, word),
	CASE(2 /* CLAIM_DELEGATE_CUR */, delegate_cur),
	CASE(3 /* CLAIM_DELEGATE_PREV */, opaque),
	CASE(5 /* CLAIM_DELEG_CUR_FH */, stateid),
	CASE(6 /* CLAIM_DELEG_PREV_FH */, NULL), REFUSE
};
/* RFC 8881, 18.33 and 18.36: callback_sec_parms4 */
static const struct ulb_step authsys_parms[] = {
	WORD, OPAQUE, WORD, WORD, VEC(1), END
};
static const struct ulb_step gss_cb_handles[] = { WORD, OPAQUE, OPAQUE, END };
static const struct ulb_arm cb_secflavor[] = {
	CASE(0 /* AUTH_NONE */, NULL), CASE(1 /* AUTH_SYS */, authsys_parms),
	CASE(6 /* RPCSEC_GSS */, gss_cb_handles), REFUSE
};
static const struct ulb_step cb_sec_parms[] = { UNION(cb_secflavor), END };
static const struct ulb_step mach_ops[] = { PROTECT_OPS, END };
static const struct ulb_step ssv_parms[] = {
	PROTECT_OPS, EACH(opaque), EACH(opaque), WORD, WORD, END
};
static const struct ulb_arm state_protect_a[] = {
	CASE(0 /* SP4_NONE */, NULL), CASE(1 /* SP4_MACH_CRED */, mach_ops),
	CASE(2 /* SP4_SSV */, ssv_parms), REFUSE
};
static const struct ulb_step impl_id[] = { IMPL_ID, END };
static const struct ulb_arm newoffset[] = { CASE(0, NULL), DEFAULT(hyper) };
static const struct ulb_arm newtime[] = { CASE(0, NULL), DEFAULT(nfstime) };
static const struct ulb_step layoutreturn_file[] = {
	HYPER, HYPER, STATEID, OPAQUE, END
};
static const struct ulb_arm layoutreturn[] = {
	CASE(1 /* LAYOUTRETURN4_FILE */, layoutreturn_file), DEFAULT(NULL)
};
static const struct ulb_arm deleg_claim[] = {
	CASE(4 /* CLAIM_FH */, NULL), CASE(6 /* CLAIM_DELEG_PREV_FH */, NULL),
	CASE(1 /* CLAIM_PREVIOUS */, word), REFUSE
};
static const struct ulb_arm netloc_arms[] = {
	CASE(1 /* NL4_NAME */, opaque), CASE(2 /* NL4_URL */, opaque),
	CASE(3 /* NL4_NETADDR */, netaddr), REFUSE
};
static const struct ulb_step netloc[] = { UNION(netloc_arms), END };
static const struct ulb_step lock_denied[] = { HYPER, HYPER, WORD, OWNER, END };
static const struct ulb_arm lock_res[] = {
	CASE(0, stateid), CASE(NFS4ERR_DENIED, lock_denied), DEFAULT(NULL)
};
static const struct ulb_arm lockt_res[] = {
	CASE(NFS4ERR_DENIED, lock_denied), DEFAULT(NULL)
};
/* open_delegation4, RFC 8881, 18.16; the last two types are RFC 9754's */
static const struct ulb_arm space_limit[] = {
	CASE(1 /* NFS_LIMIT_SIZE */, hyper),
	CASE(2 /* NFS_LIMIT_BLOCKS */, hyper), REFUSE
};
static const struct ulb_step read_delegation[] = { STATEID, WORD, NFSACE, END };
static const struct ulb_step write_delegation[] = {
	STATEID, WORD, UNION(space_limit), NFSACE, END
};
static const struct ulb_arm why_none[] = {
	CASE(1 /* WND4_CONTENTION */, word), CASE(2 /* WND4_RESOURCE */, word),
	DEFAULT(NULL)
};
static const struct ulb_step none_ext[] = { UNION(why_none), END };
static const struct ulb_arm delegation[] = {
	CASE(0 /* OPEN_DELEGATE_NONE */, NULL),
	CASE(3 /* OPEN_DELEGATE_NONE_EXT */, none_ext),
	CASE(1 /* OPEN_DELEGATE_READ */, read_delegation),
	CASE(2 /* OPEN_DELEGATE_WRITE */, write_delegation),
	CASE(4 /* OPEN_DELEGATE_READ_ATTRS_DELEG */, read_delegation),
	CASE(5 /* OPEN_DELEGATE_WRITE_ATTRS_DELEG */, write_delegation), REFUSE
};
static const struct ulb_step entry[] = { HYPER, OPAQUE, FATTR, END };
static const struct ulb_step gss_info[] = { OPAQUE, WORD, WORD, END };
static const struct ulb_arm secinfo_flavor[] = {
	CASE(RPC_FLAVOR_GSS, gss_info), DEFAULT(NULL)
};
static const struct ulb_step secinfo[] = { UNION(secinfo_flavor), END };
/* A structure: the bitmap follows every status. */
static const struct ulb_arm setattr_res[] = { DEFAULT(bitmap) };
static const struct ulb_step setclientid_ok[] = { HYPER, VERIFIER, END };
static const struct ulb_arm setclientid_res[] = {
	CASE(0, setclientid_ok), CASE(NFS4ERR_CLID_INUSE, netaddr),
	DEFAULT(NULL)
};
static const struct ulb_step ssv_info[] = {
	PROTECT_OPS, WORD, WORD, WORD, WORD, EACH(opaque), END
};
static const struct ulb_arm state_protect_r[] = {
	CASE(0 /* SP4_NONE */, NULL), CASE(1 /* SP4_MACH_CRED */, mach_ops),
	CASE(2 /* SP4_SSV */, ssv_info), REFUSE
};
static const struct ulb_step dir_delegation[] = {
	VERIFIER, STATEID, BITMAP, BITMAP, BITMAP, END
};
static const struct ulb_arm dir_delegation_non_fatal[] = {
	CASE(0 /* GDD4_OK */, dir_delegation),
	CASE(1 /* GDD4_UNAVAIL */, word), REFUSE
};
static const struct ulb_step getdeviceinfo_ok[] = { LAYOUT_BODY, BITMAP, END };
static const struct ulb_arm getdeviceinfo_res[] = {
	CASE(0, getdeviceinfo_ok), CASE(NFS4ERR_TOOSMALL, word), DEFAULT(NULL)
};
static const struct ulb_arm newsize[] = {
	CASE(0, NULL), CASE(1, hyper), REFUSE
};
static const struct ulb_step layout[] = {
	HYPER, HYPER, WORD, LAYOUT_BODY, END
};
static const struct ulb_step layoutget_ok[] = {
	WORD, STATEID, EACH(layout), END
};
static const struct ulb_arm layoutget_res[] = {
	CASE(0, layoutget_ok), CASE(NFS4ERR_LAYOUTTRYLATER, word),
	DEFAULT(NULL)
};
static const struct ulb_arm layoutreturn_stateid[] = {
	CASE(1, stateid), CASE(0, NULL), REFUSE
};
static const struct ulb_step copy_ok[] = { WRITE_RESPONSE, WORD, WORD, END };
static const struct ulb_step copy_requirements[] = { WORD, WORD, END };
static const struct ulb_arm copy_res[] = {
	CASE(0, copy_ok), CASE(NFS4ERR_OFFLOAD_NO_REQS, copy_requirements),
	DEFAULT(NULL)
};
/* READ_PLUS data are not eligible with version 2 [H1]. */
static const struct ulb_step plus_data[] = { HYPER, OPAQUE, END };
static const struct ulb_step plus_hole[] = { HYPER, HYPER, END };
static const struct ulb_arm plus_content[] = {
	CASE(0 /* NFS4_CONTENT_DATA */, plus_data),
	CASE(1 /* NFS4_CONTENT_HOLE */, plus_hole), DEFAULT(NULL)
};
static const struct ulb_step plus_segment[] = { UNION(plus_content), END };

/* Bounds of results after the status; see nfs4_bound.c. */
#define CINFO 20
#define NETADDR_MAX (8 + 256)
#define DELEGATION (4 + 16 + 4 + 12 + 12 + WHO)
#define DENIED (8 + 8 + 4 + 8 + LIMIT)
#define WRITE_RESPONSE_MAX (4 + 16 + 8 + 4 + 8)
#define CHANNEL (24 + 8)
/* 16 security flavors, more than a server can have, each with an OID. */
#define SECINFO_MAX (4 + 16 * (4 + STR(64) + 8))
#define NONE ULB_NFS4_NO_BOUND

#define ARGS(...)	((const struct ulb_step[]){ __VA_ARGS__, END })
#define NO_ARGS		((const struct ulb_step[]){ END })
#define RES(...)	((const struct ulb_arm[]){			\
				CASE(0, ARGS(__VA_ARGS__)), DEFAULT(NULL) })
#define NO_RES		((const struct ulb_arm[]){ DEFAULT(NULL) })
#define OP(name, cls, max, a, r)					\
	[OP_##name] = { .args = (a), .res = (r), .bound = (max),	\
			.op_class = ULB_CLASS_##cls }

/* In the order of their numbers. GETFH etc. only say what the next one works on:
 * metadata read. */
const struct ulb_nfs4_op ulb_nfs4_ops[OP_LIMIT] = {
	OP(ACCESS, lookup, 8, ARGS(WORD), RES(HYPER)),
	OP(CLOSE, open, 16, ARGS(WORD, STATEID), RES(STATEID)),
	OP(COMMIT, commit, 8, ARGS(HYPER, WORD), RES(HYPER)),
	OP(CREATE, change, CINFO + BITMAP_MAX,
	   ARGS(UNION(createtype), OPAQUE, FATTR),
	   RES(CHANGE_INFO, BITMAP)),
	OP(DELEGPURGE, open, 0, ARGS(HYPER), NO_RES),
	OP(DELEGRETURN, open, 0, ARGS(STATEID), NO_RES),
	OP(GETATTR, lookup, NONE, ARGS(BITMAP), RES(FATTR)),
	OP(GETFH, lookup, STR(128), NO_ARGS, RES(OPAQUE)),
	OP(LINK, change, CINFO, ARGS(OPAQUE), RES(CHANGE_INFO)),
	OP(LOCK, lock, DENIED,
	   ARGS(WORD, WORD, HYPER, HYPER, UNION(locker)), lock_res),
	OP(LOCKT, lock, DENIED, ARGS(WORD, HYPER, HYPER, OWNER), lockt_res),
	OP(LOCKU, lock, 16,
	   ARGS(WORD, WORD, STATEID, HYPER, HYPER), RES(STATEID)),
	OP(LOOKUP, lookup, 0, ARGS(OPAQUE), NO_RES),
	OP(LOOKUPP, lookup, 0, NO_ARGS, NO_RES),
	OP(NVERIFY, lookup, 0, ARGS(FATTR), NO_RES),
	OP(OPEN, open, 16 + CINFO + 4 + BITMAP_MAX + DELEGATION,
	   ARGS(WORD, WORD, WORD, OWNER, UNION(openflag),
		UNION(open_claim)),
	   RES(STATEID, CHANGE_INFO, WORD, BITMAP, UNION(delegation))),
	OP(OPENATTR, open, 0, ARGS(WORD), NO_RES),
	OP(OPEN_CONFIRM, open, 16, ARGS(STATEID, WORD), RES(STATEID)),
	OP(OPEN_DOWNGRADE, open, 16,
	   ARGS(STATEID, WORD, WORD, WORD), RES(STATEID)),
	OP(PUTFH, lookup, 0, ARGS(OPAQUE), NO_RES),
	OP(PUTPUBFH, lookup, 0, NO_ARGS, NO_RES),
	OP(PUTROOTFH, lookup, 0, NO_ARGS, NO_RES),
	OP(READ, read, 8, ARGS(STATEID, HYPER, WORD), RES(WORD, DATA)),
	OP(READDIR, readdir, NONE,
	   ARGS(HYPER, VERIFIER, WORD, WORD, BITMAP),
	   RES(VERIFIER, LIST(entry), WORD)),
	OP(READLINK, lookup, 4, NO_ARGS, RES(DATA)),
	OP(REMOVE, change, CINFO, ARGS(OPAQUE), RES(CHANGE_INFO)),
	OP(RENAME, change, 2 * CINFO,
	   ARGS(OPAQUE, OPAQUE), RES(CHANGE_INFO, CHANGE_INFO)),
	OP(RENEW, session, 0, ARGS(HYPER), NO_RES),
	OP(RESTOREFH, lookup, 0, NO_ARGS, NO_RES),
	OP(SAVEFH, lookup, 0, NO_ARGS, NO_RES),
	OP(SECINFO, lookup, SECINFO_MAX, ARGS(OPAQUE), RES(EACH(secinfo))),
	OP(SETATTR, change, BITMAP_MAX, ARGS(STATEID, FATTR), setattr_res),
	OP(SETCLIENTID, session, NETADDR_MAX,
	   ARGS(VERIFIER, OPAQUE, WORD, NETADDR, WORD), setclientid_res),
	OP(SETCLIENTID_CONFIRM, session, 0, ARGS(HYPER, VERIFIER), NO_RES),
	OP(VERIFY, lookup, 0, ARGS(FATTR), NO_RES),
	OP(WRITE, write, 16,
	   ARGS(STATEID, HYPER, WORD, DATA), RES(WORD, WORD, VERIFIER)),
	OP(RELEASE_LOCKOWNER, lock, 0, ARGS(OWNER), NO_RES),
	OP(BACKCHANNEL_CTL, session, 0, ARGS(WORD, EACH(cb_sec_parms)), NO_RES),
	OP(BIND_CONN_TO_SESSION, session, 24,
	   ARGS(SESSIONID, WORD, WORD), RES(SESSIONID, WORD, WORD)),
	OP(EXCHANGE_ID, session, NONE,
	   ARGS(VERIFIER, OPAQUE, WORD, UNION(state_protect_a),
		EACH(impl_id)),
	   RES(HYPER, WORD, WORD, UNION(state_protect_r), HYPER, OPAQUE,
		OPAQUE, EACH(impl_id))),
	OP(CREATE_SESSION, session, 24 + 2 * CHANNEL,
	   ARGS(HYPER, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS, WORD,
		EACH(cb_sec_parms)),
	   RES(SESSIONID, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS)),
	OP(DESTROY_SESSION, session, 0, ARGS(SESSIONID), NO_RES),
	OP(FREE_STATEID, open, 0, ARGS(STATEID), NO_RES),
	OP(GET_DIR_DELEGATION, open, 4 + 8 + 16 + 3 * BITMAP_MAX,
	   ARGS(WORD, BITMAP, TIME, TIME, BITMAP, BITMAP),
	   RES(UNION(dir_delegation_non_fatal))),
	OP(GETDEVICEINFO, open, NONE,
	   ARGS(DEVICEID, WORD, WORD, BITMAP), getdeviceinfo_res),
	OP(GETDEVICELIST, open, NONE,
	   ARGS(WORD, WORD, HYPER, VERIFIER),
	   RES(HYPER, VERIFIER, VEC(4), WORD)),
	OP(LAYOUTCOMMIT, open, 12,
	   ARGS(HYPER, HYPER, WORD, STATEID, UNION(newoffset),
		UNION(newtime), LAYOUT_BODY),
	   RES(UNION(newsize))),
	OP(LAYOUTGET, open, NONE,
	   ARGS(WORD, WORD, WORD, HYPER, HYPER, HYPER, STATEID, WORD),
	   layoutget_res),
	OP(LAYOUTRETURN, open, 20,
	   ARGS(WORD, WORD, WORD, UNION(layoutreturn)),
	   RES(UNION(layoutreturn_stateid))),
	OP(SECINFO_NO_NAME, lookup, SECINFO_MAX,
	   ARGS(WORD), RES(EACH(secinfo))),
	OP(SEQUENCE, session, 36,
	   ARGS(SESSIONID, WORD, WORD, WORD, WORD),
	   RES(SESSIONID, WORD, WORD, WORD, WORD, WORD)),
	OP(SET_SSV, session, LIMIT, ARGS(OPAQUE, OPAQUE), RES(OPAQUE)),
	OP(TEST_STATEID, open, NONE, ARGS(EACH(stateid)), RES(BITMAP)),
	OP(WANT_DELEGATION, open, DELEGATION,
	   ARGS(WORD, UNION(deleg_claim)), RES(UNION(delegation))),
	OP(DESTROY_CLIENTID, session, 0, ARGS(HYPER), NO_RES),
	OP(RECLAIM_COMPLETE, session, 0, ARGS(WORD), NO_RES),
	OP(ALLOCATE, write, 0, ARGS(STATEID, HYPER, HYPER), NO_RES),
	OP(COPY, write, WRITE_RESPONSE_MAX + 8,
	   ARGS(STATEID, STATEID, HYPER, HYPER, HYPER, WORD, WORD,
		EACH(netloc)),
	   copy_res),
	OP(COPY_NOTIFY, open, NONE,
	   ARGS(STATEID, UNION(netloc_arms)),
	   RES(TIME, STATEID, EACH(netloc))),
	OP(DEALLOCATE, write, 0, ARGS(STATEID, HYPER, HYPER), NO_RES),
	OP(IO_ADVISE, lookup, BITMAP_MAX,
	   ARGS(STATEID, HYPER, HYPER, BITMAP), RES(BITMAP)),
	OP(LAYOUTERROR, open, 0,
	   ARGS(HYPER, HYPER, STATEID, VEC(6) /* device_error4 */),
	   NO_RES),
	OP(LAYOUTSTATS, open, 0,
	   ARGS(HYPER, HYPER, STATEID, WORDS(4) /* io_info4 */, WORDS(4),
		DEVICEID, LAYOUT_BODY),
	   NO_RES),
	OP(OFFLOAD_CANCEL, open, 0, ARGS(STATEID), NO_RES),
	OP(OFFLOAD_STATUS, open, 16, ARGS(STATEID), RES(HYPER, VEC(1))),
	OP(READ_PLUS, read, NONE,
	   ARGS(STATEID, HYPER, WORD), RES(WORD, EACH(plus_segment))),
	OP(SEEK, lookup, 12, ARGS(STATEID, HYPER, WORD), RES(WORD, HYPER)),
	OP(WRITE_SAME, write, WRITE_RESPONSE_MAX,
	   ARGS(STATEID, WORD, HYPER, HYPER, HYPER, HYPER, WORD, HYPER,
		OPAQUE),
	   RES(WRITE_RESPONSE)),
	OP(CLONE, write, 0,
	   ARGS(STATEID, STATEID, HYPER, HYPER, HYPER), NO_RES),
	OP(GETXATTR, lookup, NONE, ARGS(OPAQUE), RES(OPAQUE)),
	OP(SETXATTR, change, CINFO,
	   ARGS(WORD, OPAQUE, OPAQUE), RES(CHANGE_INFO)),
	OP(LISTXATTRS, lookup, NONE,
	   ARGS(HYPER, WORD), RES(HYPER, EACH(opaque), WORD)),
	OP(REMOVEXATTR, change, CINFO, ARGS(OPAQUE), RES(CHANGE_INFO)),
};
/* clang-format on */
