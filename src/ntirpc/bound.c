/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound - which sessions a connection is bound to
 */
#include "ntirpc/bound.h"

#include <string.h>

#include "ntirpc/call.h"
#include "ntirpc/session.h"

#define OP_DESTROY_SESSION 44
#define NFS4ERR_BADSESSION 10052
#define NFS4ERR_CONN_NOT_BOUND_TO_SESSION 10055

void nrt_bound_init(struct nrt_bound *b)
{
	memset(b, 0, sizeof(*b));
	pthread_mutex_init(&b->lock, NULL);
}

void nrt_bound_destroy(struct nrt_bound *b)
{
	pthread_mutex_destroy(&b->lock);
}

/* Lock held. */
static bool has(const struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID])
{
	unsigned int n = b->n < NRT_BOUND_MAX ? b->n : NRT_BOUND_MAX;

	for (unsigned int i = 0; i < n; i++)
		if (!memcmp(b->id[i], id, ULB_SESSION_ID))
			return true;
	return false;
}

void nrt_bound_add(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID])
{
	pthread_mutex_lock(&b->lock);
	if (!has(b, id)) {
		memcpy(b->id[b->n % NRT_BOUND_MAX], id, ULB_SESSION_ID);
		if (++b->n == 2 * NRT_BOUND_MAX)
			b->n = NRT_BOUND_MAX;
	}
	pthread_mutex_unlock(&b->lock);
}

bool nrt_bound_has(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID])
{
	bool yes;

	pthread_mutex_lock(&b->lock);
	yes = has(b, id);
	pthread_mutex_unlock(&b->lock);
	return yes;
}

static bool is_bound(void *ctx, const uint8_t id[ULB_SESSION_ID])
{
	return nrt_bound_has(ctx, id);
}

/* Ganesha counts its sessions from 0. */
static void spoil(const struct iovec *iov, unsigned int n, size_t at)
{
	size_t left = ULB_SESSION_ID;

	for (unsigned int i = 0; i < n && left; i++) {
		size_t here = iov[i].iov_len;

		if (at >= here) {
			at -= here;
			continue;
		}
		here = here - at < left ? here - at : left;
		memset((uint8_t *)iov[i].iov_base + at, 0xff, here);
		left -= here;
		at = 0;
	}
}

void nrt_bound_check(struct nrt_call *nc, XDR *xdrs, void *what, size_t length)
{
	bool protected = nc->head.op_class == ULB_CLASS_protected;
	struct iovec iov[RT_MAX_PIECES] = { { what, length } };
	struct nrt_decode *d = nrt_decode_of(xdrs);
	unsigned int n = 1;
	size_t at;

	if (!nc->bound || !nc->readable ||
	    (!nc->head.ends_session && !protected))
		return;
	if (d && what == d->xdrs.x_data)
		n = nrt_decode_rest(d, iov);
	/* What is protected begins with the sequence number of the credential
	 * (RFC 2203, 5.3.2.2). */
	at = protected ? 4 : 0;
	if (!ulb_stray_end(iov, n, at, is_bound, nc->bound, &nc->stray))
		return;
	nc->is_stray = true;
	spoil(iov, n, nc->stray.at);
}

bool nrt_bound_correct(const struct nrt_call *nc, XDR *xdrs, u_int at)
{
	struct nrt_encode *e = nrt_encode_of(xdrs);
	u_int end = XDR_GETPOS(xdrs);
	struct iovec iov[RT_MAX_PIECES];
	uint32_t op, status;

	/* What fails is the last one: its number and status. */
	if (!nc->is_stray || !e || end < at + 8 ||
	    ulb_last_result(iov, nrt_encode_look(e, at, iov, RT_MAX_PIECES),
			    end - at, nc->stray.index, &op, &status) ||
	    op != OP_DESTROY_SESSION || status != NFS4ERR_BADSESSION)
		return true;
	return nrt_put_at(xdrs, at, NFS4ERR_CONN_NOT_BOUND_TO_SESSION) &&
	       nrt_put_at(xdrs, end - 4, NFS4ERR_CONN_NOT_BOUND_TO_SESSION);
}
