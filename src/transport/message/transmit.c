/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transmit - the next message of a payload stream, of a Call or a Reply
 *
 * Runner only. A stream that does not fit one message goes in several: MIDDLEs,
 * and an INLINE that ends it (6.6.2).
 */
#include <errno.h>

#include "transport/message/message.h"

int rt_fragment_cut(const struct rt_conn *c, const struct rt_out *out,
		    size_t hlen, bool external, struct rt_fragment *f)
{
	rt_assert_strand(c);
	f->left = out->len - out->off;
	f->n = external ? 0 : f->left;
	f->last = external || hlen + f->left <= c->to_peer;
	if (f->last)
		return 0;
	/* Properties may have shrunk in the middle of it. */
	if (hlen + 4 > c->to_peer)
		return -EMSGSIZE;
	/* Something must be left for the INLINE that ends it. */
	f->n = rt_middle_room(c->to_peer);
	if (f->n > f->left - 4)
		f->n = f->left - 4;
	return 0;
}

void rt_fragment_goes(struct rt_conn *c, struct rt_outgoing *o,
		      const struct rt_fragment *f, bool external)
{
	bool continued = !f->last || c->cont;

	rt_assert_strand(c);
	if (!f->last)
		RT_COUNT(c, fragments_sent, 1);
	else if (c->cont)
		RT_COUNT(c, continued_sent, 1);
	else if (external)
		RT_COUNT(c, special_sent, 1);
	else
		RT_COUNT(c, inline_sent, 1);
	c->cont = f->last ? NULL : o;
	if (!f->n)
		return;
	RT_COUNT(c, inline_bytes_sent, f->n);
	if (continued)
		RT_COUNT(c, continued_bytes_sent, f->n);
}

size_t rt_fragment_middle(struct rt_conn *c, struct rt_work *w, uint32_t xid,
			  enum rt_out_kind kind, const struct rt_fragment *f)
{
	rt_assert_strand(c);
	return wire_encode_middle(w->buf->addr, RT_HEADER_ROOM, xid,
				  c->v->credit_word(c, kind),
				  kind == RT_OUT_REPLY,
				  (uint32_t)(f->left - f->n));
}
