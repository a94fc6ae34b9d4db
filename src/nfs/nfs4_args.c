/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_args - the arguments of every NFSv4 operation, as skip programs
 *
 * In the order of the operations' numbers. Names in comments are those of the
 * RFCs' XDR.
 *
 * A server must not be able to read a COMPOUND otherwise than it is read here, or
 * what nfs4.c finds in it is not what is executed. So all that Ganesha executes is
 * read as each supported release of Ganesha does: for a bool, ntirpc takes any word
 * but 0 as TRUE. Limits of lengths and counts are left to Ganesha. What it reads
 * otherwise than the RFCs have it, it does not execute:
 *
 *   COPY_NOTIFY, CLONE, and before release 15 COPY, OFFLOAD_CANCEL, OFFLOAD_STATUS:
 *     without arguments; NFS4ERR_NOTSUPP
 *   LAYOUTERROR (one device_error4, without a count), LAYOUTSTATS (io_info4 of
 *     three words, no device): is not shown them (ntirpc/quirks/withheld.h)
 *
 * tests/integration/decode.test compares the two.
 */
#include "nfs/nfs4_types.h"

/* clang-format off */
static const struct ulb_step void_args[] = { END };
static const struct ulb_step word[] = { WORD, END };
static const struct ulb_step hyper[] = { HYPER, END };
static const struct ulb_step nfstime[] = { TIME, END };
static const struct ulb_step stateid[] = { STATEID, END };
static const struct ulb_step opaque[] = { OPAQUE, END };
static const struct ulb_step netaddr[] = { NETADDR, END };
static const struct ulb_step bitmap[] = { BITMAP, END };
static const struct ulb_step fattr[] = { FATTR, END };

static const struct ulb_step close_args[] = { WORD, STATEID, END };
static const struct ulb_step commit_args[] = { HYPER, WORD, END };

/* createtype4: the link text is eligible [H1] */
static const struct ulb_step linkdata[] = { DATA, END };
static const struct ulb_arm createtype[] = {
	CASE(5 /* NF4LNK */, linkdata),
	CASE(3 /* NF4BLK */, hyper),
	CASE(4 /* NF4CHR */, hyper),
	DEFAULT(NULL)
};
static const struct ulb_step create_args[] = {
	UNION(createtype), OPAQUE, FATTR, END
};

static const struct ulb_step open_to_lock_owner[] = {
	WORD, STATEID, WORD, OWNER, END
};
static const struct ulb_step exist_lock_owner[] = { STATEID, WORD, END };
static const struct ulb_arm locker[] = {
	CASE(0, exist_lock_owner), DEFAULT(open_to_lock_owner)
};
static const struct ulb_step lock_args[] = {
	WORD, WORD, HYPER, HYPER, UNION(locker), END
};
static const struct ulb_step lockt_args[] = {
	WORD, HYPER, HYPER, OWNER, END
};
static const struct ulb_step locku_args[] = {
	WORD, WORD, STATEID, HYPER, HYPER, END
};

/* RFC 8881, 18.16: createhow4, openflag4, open_claim4 */
static const struct ulb_step create_both[] = { VERIFIER, FATTR, END };
static const struct ulb_arm createhow[] = {
	CASE(0 /* UNCHECKED4 */, fattr),
	CASE(1 /* GUARDED4 */, fattr),
	CASE(2 /* EXCLUSIVE4 */, hyper),
	CASE(3 /* EXCLUSIVE4_1 */, create_both),
	REFUSE
};
static const struct ulb_step open_create[] = { UNION(createhow), END };
static const struct ulb_arm openflag[] = {
	CASE(OPEN4_CREATE, open_create), DEFAULT(NULL)
};
static const struct ulb_step delegate_cur[] = { STATEID, OPAQUE, END };
static const struct ulb_arm open_claim[] = {
	CASE(0 /* CLAIM_NULL */, opaque),
	CASE(4 /* CLAIM_FH */, NULL),
	CASE(1 /* CLAIM_PREVIOUS */, word),
	CASE(2 /* CLAIM_DELEGATE_CUR */, delegate_cur),
	CASE(3 /* CLAIM_DELEGATE_PREV */, opaque),
	CASE(5 /* CLAIM_DELEG_CUR_FH */, stateid),
	CASE(6 /* CLAIM_DELEG_PREV_FH */, NULL),
	REFUSE
};
static const struct ulb_step open_args[] = {
	WORD, WORD, WORD, OWNER, UNION(openflag), UNION(open_claim), END
};
static const struct ulb_step open_confirm_args[] = { STATEID, WORD, END };
static const struct ulb_step open_downgrade_args[] = {
	STATEID, WORD, WORD, WORD, END
};

static const struct ulb_step read_args[] = { STATEID, HYPER, WORD, END };
static const struct ulb_step readdir_args[] = {
	HYPER, VERIFIER, WORD, WORD, BITMAP, END
};
static const struct ulb_step rename_args[] = { OPAQUE, OPAQUE, END };
static const struct ulb_step setattr_args[] = { STATEID, FATTR, END };
static const struct ulb_step setclientid_args[] = {
	VERIFIER, OPAQUE, WORD, NETADDR, WORD, END
};
static const struct ulb_step setclientid_confirm_args[] = {
	HYPER, VERIFIER, END
};
static const struct ulb_step write_args[] = {
	STATEID, HYPER, WORD, DATA, END
};
static const struct ulb_step release_lockowner_args[] = { OWNER, END };

/* RFC 8881, 18.33 and 18.36: callback_sec_parms4 */
static const struct ulb_step authsys_parms[] = {
	WORD, OPAQUE, WORD, WORD, VEC(1), END
};
static const struct ulb_step gss_cb_handles[] = { WORD, OPAQUE, OPAQUE, END };
static const struct ulb_arm cb_secflavor[] = {
	CASE(0 /* AUTH_NONE */, NULL),
	CASE(1 /* AUTH_SYS */, authsys_parms),
	CASE(6 /* RPCSEC_GSS */, gss_cb_handles),
	REFUSE
};
static const struct ulb_step cb_sec_parms[] = { UNION(cb_secflavor), END };
static const struct ulb_step backchannel_ctl_args[] = {
	WORD, EACH(cb_sec_parms), END
};
static const struct ulb_step bind_conn_to_session_args[] = {
	SESSIONID, WORD, WORD, END
};

static const struct ulb_step mach_ops[] = { PROTECT_OPS, END };
static const struct ulb_step ssv_parms[] = {
	PROTECT_OPS, EACH(opaque), EACH(opaque), WORD, WORD, END
};
static const struct ulb_arm state_protect_a[] = {
	CASE(0 /* SP4_NONE */, NULL),
	CASE(1 /* SP4_MACH_CRED */, mach_ops),
	CASE(2 /* SP4_SSV */, ssv_parms),
	REFUSE
};
static const struct ulb_step impl_id[] = { IMPL_ID, END };
static const struct ulb_step exchange_id_args[] = {
	VERIFIER, OPAQUE, WORD, UNION(state_protect_a), EACH(impl_id), END
};
static const struct ulb_step create_session_args[] = {
	HYPER, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS, WORD,
	EACH(cb_sec_parms), END
};
static const struct ulb_step sessionid[] = { SESSIONID, END };
static const struct ulb_step get_dir_delegation_args[] = {
	WORD, BITMAP, TIME, TIME, BITMAP, BITMAP, END
};
static const struct ulb_step getdeviceinfo_args[] = {
	DEVICEID, WORD, WORD, BITMAP, END
};
static const struct ulb_step getdevicelist_args[] = {
	WORD, WORD, HYPER, VERIFIER, END
};

static const struct ulb_arm newoffset[] = { CASE(0, NULL), DEFAULT(hyper) };
static const struct ulb_arm newtime[] = { CASE(0, NULL), DEFAULT(nfstime) };
static const struct ulb_step layoutcommit_args[] = {
	HYPER, HYPER, WORD, STATEID, UNION(newoffset), UNION(newtime),
	LAYOUT_BODY, END
};
static const struct ulb_step layoutget_args[] = {
	WORD, WORD, WORD, HYPER, HYPER, HYPER, STATEID, WORD, END
};
static const struct ulb_step layoutreturn_file[] = {
	HYPER, HYPER, STATEID, OPAQUE, END
};
static const struct ulb_arm layoutreturn[] = {
	CASE(1 /* LAYOUTRETURN4_FILE */, layoutreturn_file), DEFAULT(NULL)
};
static const struct ulb_step layoutreturn_args[] = {
	WORD, WORD, WORD, UNION(layoutreturn), END
};
static const struct ulb_step sequence_args[] = {
	SESSIONID, WORD, WORD, WORD, WORD, END
};
static const struct ulb_step set_ssv_args[] = { OPAQUE, OPAQUE, END };
static const struct ulb_step test_stateid_args[] = { EACH(stateid), END };
static const struct ulb_arm deleg_claim[] = {
	CASE(4 /* CLAIM_FH */, NULL),
	CASE(6 /* CLAIM_DELEG_PREV_FH */, NULL),
	CASE(1 /* CLAIM_PREVIOUS */, word),
	REFUSE
};
static const struct ulb_step want_delegation_args[] = {
	WORD, UNION(deleg_claim), END
};

/* RFC 7862 */
static const struct ulb_step allocate_args[] = { STATEID, HYPER, HYPER, END };
static const struct ulb_arm netloc_arms[] = {
	CASE(1 /* NL4_NAME */, opaque),
	CASE(2 /* NL4_URL */, opaque),
	CASE(3 /* NL4_NETADDR */, netaddr),
	REFUSE
};
static const struct ulb_step netloc[] = { UNION(netloc_arms), END };
static const struct ulb_step copy_args[] = {
	STATEID, STATEID, HYPER, HYPER, HYPER, WORD, WORD, EACH(netloc), END
};
static const struct ulb_step copy_notify_args[] = {
	STATEID, UNION(netloc_arms), END
};
static const struct ulb_step io_advise_args[] = {
	STATEID, HYPER, HYPER, BITMAP, END
};
static const struct ulb_step layouterror_args[] = {
	HYPER, HYPER, STATEID, VEC(6) /* device_error4 */, END
};
static const struct ulb_step layoutstats_args[] = {
	HYPER, HYPER, STATEID, WORDS(4) /* io_info4 */, WORDS(4), DEVICEID,
	LAYOUT_BODY, END
};
static const struct ulb_step seek_args[] = { STATEID, HYPER, WORD, END };
static const struct ulb_step write_same_args[] = {
	STATEID, WORD, HYPER, HYPER, HYPER, HYPER, WORD, HYPER, OPAQUE, END
};
static const struct ulb_step clone_args[] = {
	STATEID, STATEID, HYPER, HYPER, HYPER, END
};

/* RFC 8276 */
static const struct ulb_step setxattr_args[] = { WORD, OPAQUE, OPAQUE, END };
static const struct ulb_step listxattrs_args[] = { HYPER, WORD, END };
/* clang-format on */

const struct ulb_step *const ulb_nfs4_args[OP_LIMIT] = {
	[OP_ACCESS] = word,
	[OP_CLOSE] = close_args,
	[OP_COMMIT] = commit_args,
	[OP_CREATE] = create_args,
	[OP_DELEGPURGE] = hyper,
	[OP_DELEGRETURN] = stateid,
	[OP_GETATTR] = bitmap,
	[OP_GETFH] = void_args,
	[OP_LINK] = opaque,
	[OP_LOCK] = lock_args,
	[OP_LOCKT] = lockt_args,
	[OP_LOCKU] = locku_args,
	[OP_LOOKUP] = opaque,
	[OP_LOOKUPP] = void_args,
	[OP_NVERIFY] = fattr,
	[OP_OPEN] = open_args,
	[OP_OPENATTR] = word,
	[OP_OPEN_CONFIRM] = open_confirm_args,
	[OP_OPEN_DOWNGRADE] = open_downgrade_args,
	[OP_PUTFH] = opaque,
	[OP_PUTPUBFH] = void_args,
	[OP_PUTROOTFH] = void_args,
	[OP_READ] = read_args,
	[OP_READDIR] = readdir_args,
	[OP_READLINK] = void_args,
	[OP_REMOVE] = opaque,
	[OP_RENAME] = rename_args,
	[OP_RENEW] = hyper,
	[OP_RESTOREFH] = void_args,
	[OP_SAVEFH] = void_args,
	[OP_SECINFO] = opaque,
	[OP_SETATTR] = setattr_args,
	[OP_SETCLIENTID] = setclientid_args,
	[OP_SETCLIENTID_CONFIRM] = setclientid_confirm_args,
	[OP_VERIFY] = fattr,
	[OP_WRITE] = write_args,
	[OP_RELEASE_LOCKOWNER] = release_lockowner_args,
	[OP_BACKCHANNEL_CTL] = backchannel_ctl_args,
	[OP_BIND_CONN_TO_SESSION] = bind_conn_to_session_args,
	[OP_EXCHANGE_ID] = exchange_id_args,
	[OP_CREATE_SESSION] = create_session_args,
	[OP_DESTROY_SESSION] = sessionid,
	[OP_FREE_STATEID] = stateid,
	[OP_GET_DIR_DELEGATION] = get_dir_delegation_args,
	[OP_GETDEVICEINFO] = getdeviceinfo_args,
	[OP_GETDEVICELIST] = getdevicelist_args,
	[OP_LAYOUTCOMMIT] = layoutcommit_args,
	[OP_LAYOUTGET] = layoutget_args,
	[OP_LAYOUTRETURN] = layoutreturn_args,
	[OP_SECINFO_NO_NAME] = word,
	[OP_SEQUENCE] = sequence_args,
	[OP_SET_SSV] = set_ssv_args,
	[OP_TEST_STATEID] = test_stateid_args,
	[OP_WANT_DELEGATION] = want_delegation_args,
	[OP_DESTROY_CLIENTID] = hyper,
	[OP_RECLAIM_COMPLETE] = word,
	[OP_ALLOCATE] = allocate_args,
	[OP_COPY] = copy_args,
	[OP_COPY_NOTIFY] = copy_notify_args,
	[OP_DEALLOCATE] = allocate_args,
	[OP_IO_ADVISE] = io_advise_args,
	[OP_LAYOUTERROR] = layouterror_args,
	[OP_LAYOUTSTATS] = layoutstats_args,
	[OP_OFFLOAD_CANCEL] = stateid,
	[OP_OFFLOAD_STATUS] = stateid,
	[OP_READ_PLUS] = read_args,
	[OP_SEEK] = seek_args,
	[OP_WRITE_SAME] = write_same_args,
	[OP_CLONE] = clone_args,
	[OP_GETXATTR] = opaque,
	[OP_SETXATTR] = setxattr_args,
	[OP_LISTXATTRS] = listxattrs_args,
	[OP_REMOVEXATTR] = opaque,
};
