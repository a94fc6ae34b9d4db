/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sequence - reassembly of a continued message (6.6.2)
 *
 * Context: the runner.
 */
#include <string.h>
#include <sys/param.h>

#include "transport/message/message.h"

void rt_sequence_free_buffers(struct rt_conn *c)
{
	struct rt_sequence *s = &c->msg.seq;

	rt_assert_strand(c);
	rt_memory_uncharge(c, s->memory);
	rt_bufs_put(&s->bufs);
	s->memory = 0;
}

void rt_sequence_reset(struct rt_conn *c)
{
	rt_assert_strand(c);
	rt_sequence_free_buffers(c);
	memset(&c->msg.seq, 0, sizeof(c->msg.seq));
	rt_part_set(c, RT_SLOT_SEQUENCE, false);
}

void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply)
{
	rt_assert_strand(c);
	c->msg.discard[1] = c->msg.discard[0];
	c->msg.discard[0] = (struct rt_discard){ true, reply, xid };
}

void rt_sequence_abandon(struct rt_conn *c, uint32_t xid, bool reply, bool more)
{
	rt_assert_strand(c);
	rt_sequence_reset(c);
	if (more)
		rt_sequence_discard(c, xid, reply);
	if (reply)
		rt_refuse_reply(c, xid);
}

/* Returns the octets of a buffer for reassembly: so many that a message has few pieces,
 * and so few that little memory is allocated before octets have been received [D6]. */
static size_t fragment_room(const struct rt_conn *c)
{
	size_t n = 65536;

	while (c->inst->cfg.max_message / n > RT_MAX_PIECES / 2)
		n *= 4;
	return n;
}

bool rt_sequence_append(struct rt_conn *c, const struct wire_msg *m)
{
	struct rt_sequence *s = &c->msg.seq;
	const uint8_t *data = m->payload;
	size_t room = fragment_room(c), len = m->payload_len;
	/* While both readings of rdma_remaining are possible, use the smaller one. */
	size_t all = s->len + (s->inclusive && m->remaining ? 0 : len);

	rt_assert_strand(c);
	if (all + m->remaining > c->inst->cfg.max_message)
		return false;
	s->len += len;
	while (len) {
		struct rt_piece *p;
		size_t n;

		if (!s->tail || s->tail_used == s->tail->size ||
		    s->tail_used == room) {
			struct fab_buf *b;

			if (s->npieces == RT_MAX_PIECES / 2 + 1)
				return false;
			b = rt_memory_get(c, s->memory, room);
			if (!b)
				return false;
			s->memory += b->size;
			rt_bufs_add(&s->bufs, b);
			s->tail = b;
			s->tail_used = 0;
			s->piece[s->npieces++] =
				(struct rt_piece){ b->addr, 0, b->mr };
		}
		p = &s->piece[s->npieces - 1];
		n = room - s->tail_used;
		n = MIN(n, len);
		memcpy((uint8_t *)p->addr + p->len, data, n);
		p->len += n;
		s->tail_used += n;
		data += n;
		len -= n;
	}
	return true;
}

/*
 * rdma_remaining counts the octets after this message, or those of this message too [D1].
 * The first fragment that agrees with only one reading decides. With either reading each
 * fragment must bring the end nearer by its length, which is not zero.
 */
bool rt_sequence_remaining_ok(struct rt_conn *c, const struct wire_msg *m,
			      bool middle)
{
	struct rt_sequence *s = &c->msg.seq;
	/* rt_sequence_append() refuses a Reply that is too long. */
	const uint64_t most = m->p.htype == RDMA2_REPLY_MIDDLE ?
				      UINT64_MAX :
				      c->inst->cfg.max_message;
	const uint64_t len = m->payload_len, all = s->len + len;
	const uint64_t left = middle ? m->remaining : 0;

	rt_assert_strand(c);
	if (s->active) {
		s->exclusive &= s->remaining == len + left;
		s->inclusive &= s->remaining == s->last + (middle ? left : len);
	} else {
		s->exclusive = s->inclusive = true;
	}
	if (middle) {
		s->exclusive &= left && all + left <= most;
		s->inclusive &= left > len && s->len + left <= most;
	}
	return s->exclusive || s->inclusive;
}

/* Returns true if the message can be a fragment, or the end, of that continued
 * message. */
static bool belongs(const struct wire_prefix *p, uint32_t xid, bool reply)
{
	uint32_t middle = reply ? RDMA2_REPLY_MIDDLE : RDMA2_CALL_MIDDLE;
	uint32_t last = reply ? RDMA2_REPLY_INLINE : RDMA2_CALL_INLINE;

	return p->xid == xid && (p->htype == middle || p->htype == last);
}

bool rt_sequence_continues(const struct rt_conn *c, const struct wire_prefix *p)
{
	rt_assert_strand(c);
	return c->msg.seq.active &&
	       belongs(p, c->msg.seq.xid, c->msg.seq.reply);
}

bool rt_sequence_discards(const struct rt_conn *c, const struct wire_prefix *p)
{
	rt_assert_strand(c);
	for (unsigned int i = 0; i < 2; i++)
		if (c->msg.discard[i].on &&
		    belongs(p, c->msg.discard[i].xid, c->msg.discard[i].reply))
			return true;
	return false;
}

/* ---- The hooks of struct rt_part, while a sequence is open ----------------- */

static uint64_t sequence_due(struct rt_conn *c)
{
	return c->msg.seq.active ? c->msg.seq.deadline : 0;
}

static void sequence_expire(struct rt_conn *c, uint64_t now)
{
	if (!sequence_due(c) || sequence_due(c) > now)
		return;
	rt_log(c, LOG_WARNING, "a continued message was not completed in time");
	rt_error_code(c, c->msg.seq.xid, RDMA2_ERR_INVAL_CONT);
	rt_sequence_abandon(c, c->msg.seq.xid, c->msg.seq.reply, true);
}

const struct rt_part rt_part_sequence = {
	.slot = RT_SLOT_SEQUENCE,
	.optional = true,
	.due = sequence_due,
	.expire = sequence_expire,
	.disconnected = rt_sequence_reset,
};
