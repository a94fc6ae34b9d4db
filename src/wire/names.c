/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names - the names of section 8 for logs
 *
 * No state; any thread.
 */
#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"

#define NAME(x) \
	case x: \
		return #x

const char *wire_htype_name(uint32_t htype)
{
	switch (htype) {
		NAME(RDMA2_ERROR);
		NAME(RDMA2_GRANT);
		NAME(RDMA2_CONNPROP_MIDDLE);
		NAME(RDMA2_CONNPROP_FINAL);
		NAME(RDMA2_CALL_EXTERNAL);
		NAME(RDMA2_CALL_MIDDLE);
		NAME(RDMA2_CALL_INLINE);
		NAME(RDMA2_REPLY_EXTERNAL);
		NAME(RDMA2_REPLY_MIDDLE);
		NAME(RDMA2_REPLY_INLINE);
		NAME(RDMA2_X_INITXCH);
		NAME(RDMA2_X_REQXCH);
		NAME(RDMA2_X_RESPXCH);
		NAME(RDMA2_X_UPDXCH);
		NAME(RDMA2_X_XMTREQ);
		NAME(RDMA2_X_XMTRESP);
		NAME(RDMA2_X_XMTCONT);
		NAME(RDMA2_X_REPTERR);
	default:
		return "?";
	}
}

const char *wire1_proc_name(uint32_t proc)
{
	switch (proc) {
	case RDMA1_MSG:
		return "RDMA_MSG";
	case RDMA1_NOMSG:
		return "RDMA_NOMSG";
	case RDMA1_MSGP:
		return "RDMA_MSGP";
	case RDMA1_DONE:
		return "RDMA_DONE";
	case RDMA1_ERROR:
		return "RDMA_ERROR";
	default:
		return "?";
	}
}

const char *wire_errcode_name(uint32_t code)
{
	switch (code) {
		NAME(RDMA2_ERR_VERS);
		NAME(RDMA2_ERR_BAD_XDR);
		NAME(RDMA2_ERR_BAD_PROPVAL);
		NAME(RDMA2_ERR_INVAL_HTYPE);
		NAME(RDMA2_ERR_INVAL_CONT);
		NAME(RDMA2_ERR_READ_CHUNKS);
		NAME(RDMA2_ERR_WRITE_CHUNKS);
		NAME(RDMA2_ERR_SEGMENTS);
		NAME(RDMA2_ERR_WRITE_RESOURCE);
		NAME(RDMA2_ERR_REPLY_RESOURCE);
		NAME(RDMA2_ERR_VERS_MISMATCH);
		NAME(RDMA2_ERR_SYSTEM);
	case RDMA1_ERR_CHUNK:
		return "ERR_CHUNK";
	default:
		return "?";
	}
}

const char *wire_propid_name(uint32_t propid)
{
	switch (propid) {
		NAME(RDMA2_PROPID_SBSIZ);
		NAME(RDMA2_PROPID_RBSIZ);
		NAME(RDMA2_PROPID_RSSIZ);
		NAME(RDMA2_PROPID_RCSIZ);
		NAME(RDMA2_PROPID_BRS);
		NAME(RDMA2_PROPID_HOSTAUTH);
		NAME(RDMA2_PROPID_X_XCHSUPP);
		NAME(RDMA2_PROPID_X_REQREMINV);
		NAME(RDMA2_PROPID_X_RTRSUPP);
		NAME(RDMA2_PROPID_X_RBSTRUCT);
		NAME(RDMA2_PROPID_X_REQRXLIM);
		NAME(RDMA2_PROPID_X_RESPSXLIM);
	default:
		return "?";
	}
}

const char *wire_status_name(enum wire_status s)
{
	switch (s) {
	case WIRE_OK:
		return "ok";
	case WIRE_SHORT:
		return "shorter than a header prefix";
	case WIRE_VERSION:
		return "another version";
	case WIRE_BAD_HTYPE:
		return "unknown header type";
	case WIRE_BAD_XDR:
		return "malformed header";
	case WIRE_BAD_PROPVAL:
		return "malformed property value";
	case WIRE_BAD_ERROR:
		return "unreadable error";
	case WIRE_IGNORE:
		return "not to be answered";
	}
	return "?";
}
