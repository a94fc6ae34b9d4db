/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transmit - the next message of a payload stream, of a Call or a Reply
 *
 * Runner only. A stream that does not fit one message goes in several: MIDDLEs,
 * and an INLINE that ends it (6.6.2).
 */
#include <errno.h>
#include <sys/param.h>

#include "transport/message/message.h"

/* A message with @n octets of the stream goes. */
static void count(struct rt_conn *c, const struct rt_transmission *t, size_t n,
		  bool last)
{
	if (!last)
		RT_COUNT(c, fragments_sent, 1);
	else if (c->cont)
		RT_COUNT(c, continued_sent, 1);
	else if (t->external)
		RT_COUNT(c, special_sent, 1);
	else
		RT_COUNT(c, inline_sent, 1);
	if (!n)
		return;
	RT_COUNT(c, inline_bytes_sent, n);
	if (!last || c->cont)
		RT_COUNT(c, continued_bytes_sent, n);
}

/* What is reserved to copy into, of a message that is longer; 0: it is not. */
static size_t shorten(const struct rt_conn *c, size_t n)
{
	size_t most = fab_pool_promised(c->inst->pool) & ~(size_t)3;

	most = MIN(most, rt_middle_room(c->to_peer));
	return most < n ? most : 0;
}

int rt_transmit(struct rt_conn *c, struct rt_work *w,
		const struct rt_transmission *t, size_t *hlen, bool *last)
{
	struct rt_out *out = t->out;
	size_t left = out->len - out->off;
	size_t n = t->external ? 0 : left;
	int rc;

	rt_assert_strand(c);
	*last = t->external || t->hlen + left <= c->to_peer;
	if (!*last) {
		/* Properties may have shrunk in the middle of it. */
		if (t->hlen + 4 > c->to_peer)
			return -EMSGSIZE;
		/* Something must be left for the INLINE that ends it. */
		n = MIN(rt_middle_room(c->to_peer), left - 4);
	}
	rc = n ? rt_gather(c, w, out, n) : 0;
	if (rc == -ENOMEM && t->shorter && shorten(c, n)) {
		n = shorten(c, n);
		*last = false;
		rc = rt_gather(c, w, out, n);
	}
	if (rc)
		return rc;
	if (t->external)
		out->off = out->len;
	count(c, t, n, *last);
	if (*last)
		return 0;
	/* Its credit is to draw the fragments that follow. */
	if (t->kind == RT_OUT_REPLY)
		c->credit.drawing = true;
	*hlen = wire_encode_middle(w->buf->addr, RT_HEADER_ROOM, t->xid,
				   c->v->credit_word(c, t->kind),
				   t->kind == RT_OUT_REPLY,
				   (uint32_t)(left - n));
	return 0;
}
