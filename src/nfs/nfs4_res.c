/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_res - the results of every NFSv4 operation, as skip programs
 *
 * Each is a union by status; those that end with DEFAULT(NULL) carry nothing
 * with a status they do not list. In the order of the operations' numbers.
 */
#include "nfs/nfs4_types.h"

#define NFS4ERR_TOOSMALL 10005
#define NFS4ERR_DENIED 10010
#define NFS4ERR_CLID_INUSE 10017
#define NFS4ERR_LAYOUTTRYLATER 10058
#define NFS4ERR_OFFLOAD_NO_REQS 10094

/* clang-format off */
static const struct ulb_step word[] = { WORD, END };
static const struct ulb_step hyper[] = { HYPER, END };
static const struct ulb_step stateid[] = { STATEID, END };
static const struct ulb_step opaque[] = { OPAQUE, END };
static const struct ulb_step netaddr[] = { NETADDR, END };
static const struct ulb_step bitmap[] = { BITMAP, END };
static const struct ulb_step fattr[] = { FATTR, END };
static const struct ulb_step change_info[] = { CHANGE_INFO, END };

/* Shapes that several operations have. */
static const struct ulb_arm status_only[] = { DEFAULT(NULL) };
static const struct ulb_arm hyper_res[] = { CASE(0, hyper), DEFAULT(NULL) };
static const struct ulb_arm stateid_res[] = {
	CASE(0, stateid), DEFAULT(NULL)
};
static const struct ulb_arm opaque_res[] = { CASE(0, opaque), DEFAULT(NULL) };
static const struct ulb_arm bitmap_res[] = { CASE(0, bitmap), DEFAULT(NULL) };
static const struct ulb_arm change_info_res[] = {
	CASE(0, change_info), DEFAULT(NULL)
};

static const struct ulb_step create_ok[] = { CHANGE_INFO, BITMAP, END };
static const struct ulb_arm create_res[] = {
	CASE(0, create_ok), DEFAULT(NULL)
};
static const struct ulb_arm getattr_res[] = { CASE(0, fattr), DEFAULT(NULL) };

static const struct ulb_step lock_denied[] = {
	HYPER, HYPER, WORD, OWNER, END
};
static const struct ulb_arm lock_res[] = {
	CASE(0, stateid), CASE(NFS4ERR_DENIED, lock_denied), DEFAULT(NULL)
};
static const struct ulb_arm lockt_res[] = {
	CASE(NFS4ERR_DENIED, lock_denied), DEFAULT(NULL)
};

/* open_delegation4, RFC 8881, 18.16; the last two types are RFC 9754's */
#define NFSACE WORDS(3), OPAQUE
static const struct ulb_arm space_limit[] = {
	CASE(1 /* NFS_LIMIT_SIZE */, hyper),
	CASE(2 /* NFS_LIMIT_BLOCKS */, hyper),
	REFUSE
};
static const struct ulb_step read_delegation[] = {
	STATEID, WORD, NFSACE, END
};
static const struct ulb_step write_delegation[] = {
	STATEID, WORD, UNION(space_limit), NFSACE, END
};
static const struct ulb_arm why_none[] = {
	CASE(1 /* WND4_CONTENTION */, word),
	CASE(2 /* WND4_RESOURCE */, word),
	DEFAULT(NULL)
};
static const struct ulb_step none_ext[] = { UNION(why_none), END };
static const struct ulb_arm delegation[] = {
	CASE(0 /* OPEN_DELEGATE_NONE */, NULL),
	CASE(3 /* OPEN_DELEGATE_NONE_EXT */, none_ext),
	CASE(1 /* OPEN_DELEGATE_READ */, read_delegation),
	CASE(2 /* OPEN_DELEGATE_WRITE */, write_delegation),
	CASE(4 /* OPEN_DELEGATE_READ_ATTRS_DELEG */, read_delegation),
	CASE(5 /* OPEN_DELEGATE_WRITE_ATTRS_DELEG */, write_delegation),
	REFUSE
};
static const struct ulb_step open_ok[] = {
	STATEID, CHANGE_INFO, WORD, BITMAP, UNION(delegation), END
};
static const struct ulb_arm open_res[] = { CASE(0, open_ok), DEFAULT(NULL) };

/* Eligible [H1] */
static const struct ulb_step read_ok[] = { WORD, DATA, END };
static const struct ulb_arm read_res[] = { CASE(0, read_ok), DEFAULT(NULL) };
static const struct ulb_step readlink_ok[] = { DATA, END };
static const struct ulb_arm readlink_res[] = {
	CASE(0, readlink_ok), DEFAULT(NULL)
};

static const struct ulb_step entry[] = { HYPER, OPAQUE, FATTR, END };
static const struct ulb_step readdir_ok[] = {
	VERIFIER, LIST(entry), WORD, END
};
static const struct ulb_arm readdir_res[] = {
	CASE(0, readdir_ok), DEFAULT(NULL)
};
static const struct ulb_step rename_ok[] = { CHANGE_INFO, CHANGE_INFO, END };
static const struct ulb_arm rename_res[] = {
	CASE(0, rename_ok), DEFAULT(NULL)
};

static const struct ulb_step gss_info[] = { OPAQUE, WORD, WORD, END };
static const struct ulb_arm secinfo_flavor[] = {
	CASE(RPC_FLAVOR_GSS, gss_info), DEFAULT(NULL)
};
static const struct ulb_step secinfo[] = { UNION(secinfo_flavor), END };
static const struct ulb_step secinfo_ok[] = { EACH(secinfo), END };
static const struct ulb_arm secinfo_res[] = {
	CASE(0, secinfo_ok), DEFAULT(NULL)
};

/* A structure, not a union: the bitmap follows every status. */
static const struct ulb_arm setattr_res[] = { DEFAULT(bitmap) };

static const struct ulb_step setclientid_ok[] = { HYPER, VERIFIER, END };
static const struct ulb_arm setclientid_res[] = {
	CASE(0, setclientid_ok), CASE(NFS4ERR_CLID_INUSE, netaddr),
	DEFAULT(NULL)
};
static const struct ulb_step write_ok[] = { WORD, WORD, VERIFIER, END };
static const struct ulb_arm write_res[] = { CASE(0, write_ok), DEFAULT(NULL) };

/* RFC 8881 */
static const struct ulb_step bind_conn_ok[] = { SESSIONID, WORD, WORD, END };
static const struct ulb_arm bind_conn_res[] = {
	CASE(0, bind_conn_ok), DEFAULT(NULL)
};

static const struct ulb_step mach_ops[] = { PROTECT_OPS, END };
static const struct ulb_step ssv_info[] = {
	PROTECT_OPS, WORD, WORD, WORD, WORD, EACH(opaque), END
};
static const struct ulb_arm state_protect_r[] = {
	CASE(0 /* SP4_NONE */, NULL),
	CASE(1 /* SP4_MACH_CRED */, mach_ops),
	CASE(2 /* SP4_SSV */, ssv_info),
	REFUSE
};
static const struct ulb_step impl_id[] = { IMPL_ID, END };
static const struct ulb_step exchange_id_ok[] = {
	HYPER, WORD, WORD, UNION(state_protect_r), HYPER, OPAQUE, OPAQUE,
	EACH(impl_id), END
};
static const struct ulb_arm exchange_id_res[] = {
	CASE(0, exchange_id_ok), DEFAULT(NULL)
};
static const struct ulb_step create_session_ok[] = {
	SESSIONID, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS, END
};
static const struct ulb_arm create_session_res[] = {
	CASE(0, create_session_ok), DEFAULT(NULL)
};

static const struct ulb_step dir_delegation[] = {
	VERIFIER, STATEID, BITMAP, BITMAP, BITMAP, END
};
static const struct ulb_arm dir_delegation_non_fatal[] = {
	CASE(0 /* GDD4_OK */, dir_delegation),
	CASE(1 /* GDD4_UNAVAIL */, word),
	REFUSE
};
static const struct ulb_step get_dir_delegation_ok[] = {
	UNION(dir_delegation_non_fatal), END
};
static const struct ulb_arm get_dir_delegation_res[] = {
	CASE(0, get_dir_delegation_ok), DEFAULT(NULL)
};

static const struct ulb_step getdeviceinfo_ok[] = { LAYOUT_BODY, BITMAP, END };
static const struct ulb_arm getdeviceinfo_res[] = {
	CASE(0, getdeviceinfo_ok), CASE(NFS4ERR_TOOSMALL, word), DEFAULT(NULL)
};
static const struct ulb_step getdevicelist_ok[] = {
	HYPER, VERIFIER, VEC(4), WORD, END
};
static const struct ulb_arm getdevicelist_res[] = {
	CASE(0, getdevicelist_ok), DEFAULT(NULL)
};

static const struct ulb_arm newsize[] = {
	CASE(0, NULL), CASE(1, hyper), REFUSE
};
static const struct ulb_step layoutcommit_ok[] = { UNION(newsize), END };
static const struct ulb_arm layoutcommit_res[] = {
	CASE(0, layoutcommit_ok), DEFAULT(NULL)
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
static const struct ulb_step layoutreturn_ok[] = {
	UNION(layoutreturn_stateid), END
};
static const struct ulb_arm layoutreturn_res[] = {
	CASE(0, layoutreturn_ok), DEFAULT(NULL)
};

static const struct ulb_step sequence_ok[] = {
	SESSIONID, WORD, WORD, WORD, WORD, WORD, END
};
static const struct ulb_arm sequence_res[] = {
	CASE(0, sequence_ok), DEFAULT(NULL)
};
static const struct ulb_step want_delegation_ok[] = {
	UNION(delegation), END
};
static const struct ulb_arm want_delegation_res[] = {
	CASE(0, want_delegation_ok), DEFAULT(NULL)
};

/* RFC 7862 */
#define WRITE_RESPONSE VEC(4) /* of at most one */, HYPER, WORD, VERIFIER
static const struct ulb_step copy_ok[] = { WRITE_RESPONSE, WORD, WORD, END };
static const struct ulb_step copy_requirements[] = { WORD, WORD, END };
static const struct ulb_arm copy_res[] = {
	CASE(0, copy_ok), CASE(NFS4ERR_OFFLOAD_NO_REQS, copy_requirements),
	DEFAULT(NULL)
};
static const struct ulb_arm netloc_arms[] = {
	CASE(1 /* NL4_NAME */, opaque),
	CASE(2 /* NL4_URL */, opaque),
	CASE(3 /* NL4_NETADDR */, netaddr),
	REFUSE
};
static const struct ulb_step netloc[] = { UNION(netloc_arms), END };
static const struct ulb_step copy_notify_ok[] = {
	TIME, STATEID, EACH(netloc), END
};
static const struct ulb_arm copy_notify_res[] = {
	CASE(0, copy_notify_ok), DEFAULT(NULL)
};
static const struct ulb_step offload_status_ok[] = { HYPER, VEC(1), END };
static const struct ulb_arm offload_status_res[] = {
	CASE(0, offload_status_ok), DEFAULT(NULL)
};

/* Its data are not eligible with version 2 [H1]. */
static const struct ulb_step plus_data[] = { HYPER, OPAQUE, END };
static const struct ulb_step plus_hole[] = { HYPER, HYPER, END };
static const struct ulb_arm plus_content[] = {
	CASE(0 /* NFS4_CONTENT_DATA */, plus_data),
	CASE(1 /* NFS4_CONTENT_HOLE */, plus_hole),
	DEFAULT(NULL)
};
static const struct ulb_step plus_segment[] = { UNION(plus_content), END };
static const struct ulb_step read_plus_ok[] = {
	WORD, EACH(plus_segment), END
};
static const struct ulb_arm read_plus_res[] = {
	CASE(0, read_plus_ok), DEFAULT(NULL)
};
static const struct ulb_step seek_ok[] = { WORD, HYPER, END };
static const struct ulb_arm seek_res[] = { CASE(0, seek_ok), DEFAULT(NULL) };
static const struct ulb_step write_same_ok[] = { WRITE_RESPONSE, END };
static const struct ulb_arm write_same_res[] = {
	CASE(0, write_same_ok), DEFAULT(NULL)
};

/* RFC 8276 */
static const struct ulb_step listxattrs_ok[] = {
	HYPER, EACH(opaque), WORD, END
};
static const struct ulb_arm listxattrs_res[] = {
	CASE(0, listxattrs_ok), DEFAULT(NULL)
};
/* clang-format on */

const struct ulb_arm *const ulb_nfs4_res[OP_LIMIT] = {
	[OP_ACCESS] = hyper_res,
	[OP_CLOSE] = stateid_res,
	[OP_COMMIT] = hyper_res,
	[OP_CREATE] = create_res,
	[OP_DELEGPURGE] = status_only,
	[OP_DELEGRETURN] = status_only,
	[OP_GETATTR] = getattr_res,
	[OP_GETFH] = opaque_res,
	[OP_LINK] = change_info_res,
	[OP_LOCK] = lock_res,
	[OP_LOCKT] = lockt_res,
	[OP_LOCKU] = stateid_res,
	[OP_LOOKUP] = status_only,
	[OP_LOOKUPP] = status_only,
	[OP_NVERIFY] = status_only,
	[OP_OPEN] = open_res,
	[OP_OPENATTR] = status_only,
	[OP_OPEN_CONFIRM] = stateid_res,
	[OP_OPEN_DOWNGRADE] = stateid_res,
	[OP_PUTFH] = status_only,
	[OP_PUTPUBFH] = status_only,
	[OP_PUTROOTFH] = status_only,
	[OP_READ] = read_res,
	[OP_READDIR] = readdir_res,
	[OP_READLINK] = readlink_res,
	[OP_REMOVE] = change_info_res,
	[OP_RENAME] = rename_res,
	[OP_RENEW] = status_only,
	[OP_RESTOREFH] = status_only,
	[OP_SAVEFH] = status_only,
	[OP_SECINFO] = secinfo_res,
	[OP_SETATTR] = setattr_res,
	[OP_SETCLIENTID] = setclientid_res,
	[OP_SETCLIENTID_CONFIRM] = status_only,
	[OP_VERIFY] = status_only,
	[OP_WRITE] = write_res,
	[OP_RELEASE_LOCKOWNER] = status_only,
	[OP_BACKCHANNEL_CTL] = status_only,
	[OP_BIND_CONN_TO_SESSION] = bind_conn_res,
	[OP_EXCHANGE_ID] = exchange_id_res,
	[OP_CREATE_SESSION] = create_session_res,
	[OP_DESTROY_SESSION] = status_only,
	[OP_FREE_STATEID] = status_only,
	[OP_GET_DIR_DELEGATION] = get_dir_delegation_res,
	[OP_GETDEVICEINFO] = getdeviceinfo_res,
	[OP_GETDEVICELIST] = getdevicelist_res,
	[OP_LAYOUTCOMMIT] = layoutcommit_res,
	[OP_LAYOUTGET] = layoutget_res,
	[OP_LAYOUTRETURN] = layoutreturn_res,
	[OP_SECINFO_NO_NAME] = secinfo_res,
	[OP_SEQUENCE] = sequence_res,
	[OP_SET_SSV] = opaque_res,
	/* An array of words, as a bitmap is. */
	[OP_TEST_STATEID] = bitmap_res,
	[OP_WANT_DELEGATION] = want_delegation_res,
	[OP_DESTROY_CLIENTID] = status_only,
	[OP_RECLAIM_COMPLETE] = status_only,
	[OP_ALLOCATE] = status_only,
	[OP_COPY] = copy_res,
	[OP_COPY_NOTIFY] = copy_notify_res,
	[OP_DEALLOCATE] = status_only,
	[OP_IO_ADVISE] = bitmap_res,
	[OP_LAYOUTERROR] = status_only,
	[OP_LAYOUTSTATS] = status_only,
	[OP_OFFLOAD_CANCEL] = status_only,
	[OP_OFFLOAD_STATUS] = offload_status_res,
	[OP_READ_PLUS] = read_plus_res,
	[OP_SEEK] = seek_res,
	[OP_WRITE_SAME] = write_same_res,
	[OP_CLONE] = status_only,
	[OP_GETXATTR] = opaque_res,
	[OP_SETXATTR] = change_info_res,
	[OP_LISTXATTRS] = listxattrs_res,
	[OP_REMOVEXATTR] = change_info_res,
};
