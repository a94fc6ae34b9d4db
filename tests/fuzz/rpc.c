/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc - the head of an RPC message, by ntirpc's decoder over our stream
 *
 * The same octets are decoded from one piece and from several; and Calls by
 * our own decoder as well, which must not take what ntirpc refuses.
 *
 * Input: the cut (cut.h), then the message.
 */
#include "ntirpc/stream/xdr_stream.h"

#include <rpc/rpc.h>
#include <rpc/rpc_msg.h>

#include "cut.h"
#include "rpcrdma/nfs.h"

static bool decode(const struct rt_piece *p, unsigned int n,
		   struct rpc_msg *msg, u_int *pos)
{
	struct xs_decode d;
	bool ok;

	memset(msg, 0, sizeof(*msg));
	xs_decode_init(&d, p, n, NULL);
	ok = xdr_dplx_decode(&d.xdrs, msg);
	*pos = XDR_GETPOS(&d.xdrs);
	XDR_DESTROY(&d.xdrs);
	return ok;
}

/* Of a reject_stat that there is not, ntirpc's two ways of decoding (words in
 * a row, and one by one) say yes alike but stop in different places. */
static bool strange_refusal(const struct rpc_msg *msg)
{
	return msg->rm_direction == REPLY &&
	       msg->rm_reply.rp_stat == MSG_DENIED &&
	       msg->RPCM_rej.rj_stat != RPC_MISMATCH &&
	       msg->RPCM_rej.rj_stat != AUTH_ERROR;
}

static size_t rest_of(const struct xs_decode *d)
{
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n = xs_decode_rest(d, iov);
	size_t len = 0;

	for (unsigned int i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

/* Every operation of a decode stream at some place. */
static void operations(const struct rt_piece *p, unsigned int n, size_t len,
		       struct fuzz_in in)
{
	struct xs_decode d;
	uint8_t buf[64];
	uint32_t v;

	xs_decode_init(&d, p, n, NULL);
	for (int i = 0; i < 16 && in.left; i++) {
		uint8_t op = fuzz_u8(&in), arg = fuzz_u8(&in);
		u_int was = XDR_GETPOS(&d.xdrs);

		switch (op % 5) {
		case 0:
			if (XDR_GETUINT32(&d.xdrs, &v))
				FUZZ_CHECK(XDR_GETPOS(&d.xdrs) == was + 4);
			break;
		case 1:
			arg %= sizeof(buf);
			if (XDR_GETBYTES(&d.xdrs, (char *)buf, arg))
				FUZZ_CHECK(XDR_GETPOS(&d.xdrs) == was + arg);
			break;
		case 2:
			FUZZ_CHECK(XDR_SETPOS(&d.xdrs, arg) == (arg <= len));
			break;
		case 3:
			FUZZ_CHECK(rest_of(&d) == len - was);
			break;
		default: {
			int cnt = XDR_IOVCOUNT(&d.xdrs, was, arg);
			xdr_vio vec[CUT_MAX];

			FUZZ_CHECK(cnt <= CUT_MAX);
			if (cnt > 0)
				XDR_FILLBUFS(&d.xdrs, was, vec, arg);
			break;
		}
		}
		FUZZ_CHECK(XDR_GETPOS(&d.xdrs) <= len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct rpc_msg one, many;
	struct iovec iov[CUT_MAX], flat;
	struct rt_piece p[CUT_MAX], all;
	unsigned int n = fuzz_cut(&in, iov);
	size_t len = fuzz_cut_len(iov, n), at = 0;
	u_int pos_one, pos_many;
	uint8_t *joined = malloc(len + 1);
	struct ulb_call head;
	bool ok;

	FUZZ_CHECK(joined);
	for (unsigned int i = 0; i < n; i++) {
		p[i] = (struct rt_piece){ iov[i].iov_base, iov[i].iov_len,
					  NULL };
		memcpy(joined + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	flat = (struct iovec){ fuzz_exact(joined, len), len };
	all = (struct rt_piece){ flat.iov_base, len, NULL };
	ok = decode(&all, 1, &one, &pos_one);
	FUZZ_CHECK(decode(p, n, &many, &pos_many) == ok);
	if (ok) {
		FUZZ_CHECK(pos_one <= len && pos_many <= len);
		FUZZ_CHECK(pos_one == pos_many || strange_refusal(&one));
		FUZZ_CHECK(one.rm_xid == many.rm_xid &&
			   one.rm_direction == many.rm_direction);
	}
	ulb_call_head(iov, n, &head);
	/* What is shown to ntirpc it can decode. */
	FUZZ_CHECK(!head.readable || ok);
	if (ok && one.rm_direction == CALL && head.readable) {
		FUZZ_CHECK(head.xid == one.rm_xid);
		FUZZ_CHECK(head.prog == one.cb_prog &&
			   head.vers == one.cb_vers &&
			   head.proc == one.cb_proc);
	}
	operations(p, n, len, (struct fuzz_in){ joined, len < 32 ? len : 32 });
	free(joined);
	fuzz_exact_free(flat.iov_base, len);
	fuzz_cut_free(iov, n);
	return 0;
}
