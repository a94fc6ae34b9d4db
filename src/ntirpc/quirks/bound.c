/* SPDX-License-Identifier: BSD-3-Clause */
#include "ntirpc/quirks/bound.h"

#include <string.h>
#include <sys/param.h>

#include "ntirpc/quirks/rewrite.h"

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

/* Caller holds b->lock. */
static bool bound_has(const struct nrt_bound *b,
		      const uint8_t id[ULB_SESSION_ID])
{
	unsigned int n = MIN(b->n, NRT_BOUND_MAX);

	for (unsigned int i = 0; i < n; i++)
		if (!memcmp(b->id[i], id, ULB_SESSION_ID))
			return true;
	return false;
}

void nrt_bound_add(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID])
{
	pthread_mutex_lock(&b->lock);
	if (!bound_has(b, id)) {
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
	yes = bound_has(b, id);
	pthread_mutex_unlock(&b->lock);
	return yes;
}

static bool is_bound(void *ctx, const uint8_t id[ULB_SESSION_ID])
{
	return nrt_bound_has(ctx, id);
}

void nrt_bound_check(struct nrt_call *nc, XDR *xdrs, void *what, size_t length)
{
	struct iovec iov[RT_MAX_PIECES];
	uint8_t no_session[ULB_SESSION_ID];
	unsigned int n;
	size_t at;

	if (!nc->bound || (!nc->head.ends_session &&
			   nc->head.op_class != ULB_CLASS_protected))
		return;
	n = nrt_args_find(nc, xdrs, what, length, iov, &at);
	if (!ulb_stray_end(iov, n, at, is_bound, nc->bound, &nc->stray))
		return;
	nc->is_stray = true;
	/* Ganesha numbers its sessions from 0. */
	memset(no_session, 0xff, sizeof(no_session));
	nrt_args_write(iov, n, nc->stray.at, no_session, sizeof(no_session));
}

bool nrt_bound_correct(const struct nrt_call *nc, XDR *xdrs, u_int at)
{
	u_int end = XDR_GETPOS(xdrs);

	/* After an operation that fails none is executed. */
	if (!nc->is_stray ||
	    !nrt_results_end_with(xdrs, at, nc->stray.index, OP_DESTROY_SESSION,
				  NFS4ERR_BADSESSION))
		return true;
	return xs_encode_patch(xdrs, at, NFS4ERR_CONN_NOT_BOUND_TO_SESSION) &&
	       xs_encode_patch(xdrs, end - 4,
			       NFS4ERR_CONN_NOT_BOUND_TO_SESSION);
}
