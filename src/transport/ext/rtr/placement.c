/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * placement - where items are placed in a peer's Receives, and found in ours
 *
 * Sending: rt_rtr_plan() chooses the target segments of the items of a message, in as
 * many transmissions as they need, and rt_rtr_fill() makes the gather list of one
 * transmission. Receiving: rt_rtr_locate() finds an item in the buffers of a group.
 *
 * Context: the runner, for functions with a connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/ext/rtr/rtr.h"

/* ---- Layouts ---------------------------------------------------------- */

/* Set @off and @len to offset and length of target segment @k, below l->targets. */
static void target_at(const struct rt_rtr_layout *l, uint32_t k, size_t *off,
		      size_t *len)
{
	const struct wire_rbgroup *g = l->group;

	*off = 0;
	for (; !(g->flags & XMRSFLAG_PLT) || k >= g->count; g++) {
		if (g->flags & XMRSFLAG_PLT)
			k -= g->count;
		*off += (size_t)g->count * g->length;
	}
	*off += (size_t)k * g->length;
	*len = g->length;
}

void rt_rtr_layout_set(struct rt_rtr_layout *l, const struct wire_rbstruct *b)
{
	struct wire_iter it = { 0 };
	struct wire_rbgroup g;

	memset(l, 0, sizeof(*l));
	while (wire_rbgroup_next(&b->groups, &it, &g)) {
		if (l->ngroups == RT_RTR_GROUPS ||
		    ((g.flags & XMRSFLAG_PLT) &&
		     (g.length < RT_RTR_LEAST || g.length % 4))) {
			l->targets = 0;
			return;
		}
		l->group[l->ngroups++] = g;
		if (g.flags & XMRSFLAG_PLT)
			l->targets += g.count;
	}
}

/* ---- Sending ---------------------------------------------------------- */

/* Plan with a first header of @head octets, which includes the numbers. */
static bool try_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		     size_t payload, unsigned int pieces,
		     const uint32_t *length, unsigned int n, unsigned int max,
		     struct rt_rtr_plan *p)
{
	size_t end, off, len, left;
	uint32_t k = 0;
	unsigned int x = 0;

	memset(p, 0, offsetof(struct rt_rtr_plan, bs));
	p->progress = (struct rt_rtr_progress){ 0 };
	if (head + 4 > room)
		return false;
	p->room = room;
	p->pay0 = (room - head) & ~(size_t)3;
	p->pay0 = MIN(p->pay0, payload);
	end = head + p->pay0;
	for (left = payload - p->pay0; left; x++) {
		size_t part = (room - WIRE_XMTCONT_LEN) & ~(size_t)3;

		part = MIN(part, left);
		left -= part;
		end = WIRE_XMTCONT_LEN + part;
	}
	p->nitems = n;
	for (unsigned int i = 0; i < n; i++) {
		p->first[i] = p->nbs;
		for (left = length[i]; left; k++) {
			if (!l->targets)
				return false;
			if (k == l->targets) {
				k = 0;
				x++;
				end = WIRE_XMTCONT_LEN;
			}
			if (x >= max)
				return false;
			target_at(l, k, &off, &len);
			if (off < end)
				continue; /* the payload covers it */
			len = MIN(len, left);
			if (off + len > room) {
				k = l->targets - 1; /* go on in the next one */
				continue;
			}
			if (p->nbs == RT_RTR_NUMBERS)
				return false;
			/* Padding takes elements of the gather list. */
			if (off > end)
				pieces += 2 + (unsigned int)((off - end) /
							     RT_RTR_ZEROS);
			p->bs[p->nbs++] = x * l->targets + k;
			end = off + len;
			left -= len;
		}
		p->n[i] = p->nbs - p->first[i];
	}
	p->count = x + 1;
	p->layout = *l;
	return p->count <= max && pieces <= RT_OUT_PIECES;
}

bool rt_rtr_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		 size_t payload, unsigned int pieces, const uint32_t *length,
		 unsigned int n, unsigned int max, struct rt_rtr_plan *p)
{
	unsigned int numbers = 0;

	/* The numbers make the header longer, which may move the items, so repeat. */
	for (unsigned int i = 0; i < 4; i++) {
		if (!try_plan(l, room, head + 4 * numbers, payload, pieces,
			      length, n, max, p))
			return false;
		if (p->nbs <= numbers)
			return true;
		numbers = p->nbs;
	}
	return false;
}

/* Append @len octets of @pieces from @skip on, and join adjacent ones. */
static int slice(struct rt_out *to, const struct rt_piece *pieces,
		 unsigned int npieces, size_t skip, size_t len)
{
	for (unsigned int i = 0; i < npieces && len; i++) {
		const struct rt_piece *p = &pieces[i];
		struct rt_piece *last =
			to->npieces ? &to->piece[to->npieces - 1] : NULL;
		uint8_t *addr = (uint8_t *)p->addr + skip;
		size_t n = p->len;

		if (skip >= n) {
			skip -= n;
			continue;
		}
		n -= skip;
		skip = 0;
		n = MIN(n, len);
		len -= n;
		if (last && last->mr == p->mr &&
		    (uint8_t *)last->addr + last->len == addr) {
			last->len += n;
			to->len += n;
		} else if (rt_out_add(to, addr, n, p->mr)) {
			return -E2BIG;
		}
	}
	return len ? -EINVAL : 0;
}

/* Pad with zeros, never with old memory ([R12], section 11). */
static int pad(const struct rt_conn *c, struct rt_out *to, size_t len)
{
	const struct fab_buf *z = c->inst->zeros;
	int rc = 0;

	while (len && !rc) {
		size_t n = MIN(len, RT_RTR_ZEROS);

		rc = rt_out_add(to, z->addr, n, z->mr);
		len -= n;
	}
	return rc;
}

int rt_rtr_fill(struct rt_conn *c, struct rt_rtr_plan *p, struct rt_out *pay,
		const struct rt_cuts *cuts, size_t head, struct rt_out *to,
		size_t *pslen)
{
	const struct rt_rtr_layout *l = &p->layout;
	struct rt_rtr_progress *g = &p->progress;
	size_t room = g->xnum ? (p->room - head) & ~(size_t)3 : p->pay0;
	size_t n = pay->len - pay->off, at, off, len;
	int rc;

	rt_assert_strand(c);
	rt_out_init(to);
	n = MIN(n, room);
	rc = slice(to, pay->piece, pay->npieces, pay->off, n);
	pay->off += n;
	*pslen = n;
	at = head + n;
	while (!rc && g->item < p->nitems) {
		const struct rt_cut *cut = &cuts->cut[p->cut[g->item]];

		if (g->at == p->n[g->item]) {
			g->item++;
			g->at = 0;
			g->done = 0;
			continue;
		}
		off = p->bs[p->first[g->item] + g->at];
		if (off / l->targets != g->xnum)
			break;
		target_at(l, (uint32_t)(off % l->targets), &off, &len);
		len = MIN(len, cut->length - g->done);
		rc = off < at ? -EMSGSIZE : pad(c, to, off - at);
		if (!rc)
			rc = slice(to, &cuts->piece[cut->first], cut->npieces,
				   g->done, len);
		RT_COUNT(c, placed_bytes_sent, len);
		g->done += len;
		g->at++;
		at = off + len;
	}
	g->xnum++;
	return rc;
}

/* ---- Receiving -------------------------------------------------------- */

static uint32_t bad_range(struct wire_repterr *err, uint32_t code,
			  uint32_t value, uint32_t min, uint32_t max)
{
	err->code = code;
	err->value = value;
	err->min = min;
	err->max = max;
	return code;
}

/* Returns the first target segment that transmission @x, of @len octets, does not
 * reach. */
static uint32_t not_reached(const struct rt_rtr_layout *l, uint32_t x,
			    size_t len)
{
	size_t n = 0;

	if (len > RT_RTR_HEAD)
		n = (len - RT_RTR_HEAD + RT_RTR_SEGMENT - 1) / RT_RTR_SEGMENT;
	return x * l->targets + (uint32_t)n;
}

/*
 * Segment @k is invalid, and so are all from @end on. 9.5: a value within the range would
 * mean that it is badly aligned, so the range ends before @k. [R12]: if no segment is
 * valid, REPTERR has no range to name.
 */
static uint32_t bad_number(struct wire_repterr *err, uint32_t k, uint32_t end)
{
	end = MIN(end, k);
	if (!end)
		return UINT32_MAX;
	return bad_range(err, OPTRERR_BADTBSN, k, 0, end - 1);
}

uint32_t rt_rtr_locate(const struct rt_conn *c, const struct wire_xitem *item,
		       struct rt_piece *piece, unsigned int *npieces,
		       unsigned int max, struct wire_repterr *err)
{
	const struct rt_rtr_layout *l = &rtr(c)->ours;
	const struct rt_rtr_group *g = &rtr(c)->group;
	uint32_t all = g->count * l->targets, left = item->length;
	size_t offset = item->offset;

	rt_assert_strand(c);
	*npieces = 0;
	if (item->nbsnum && offset >= RT_RTR_SEGMENT)
		return bad_range(err, OPTRERR_BADOFF, item->offset, 0,
				 RT_RTR_SEGMENT - 1);
	for (uint32_t i = 0; left && i < item->nbsnum; i++) {
		const struct rt_rtr_part *part;
		struct rt_piece *last = &piece[*npieces];
		uint32_t n = (uint32_t)(RT_RTR_SEGMENT - offset);
		uint32_t k = wire_bsnum(item, i);
		uint8_t *addr;
		size_t at;

		if (k >= all)
			return bad_number(err, k, all);
		part = &g->part[k / l->targets];
		at = RT_RTR_HEAD + (size_t)(k % l->targets) * RT_RTR_SEGMENT +
		     offset;
		n = MIN(n, left);
		if (at + n > part->len)
			return bad_number(err, k,
					  not_reached(l, k / l->targets,
						      part->len));
		addr = (uint8_t *)part->buf->addr + at;
		if (*npieces &&
		    (uint8_t *)last[-1].addr + last[-1].len == addr) {
			last[-1].len += n;
		} else if (*npieces == max) {
			return UINT32_MAX;
		} else {
			*last = (struct rt_piece){ addr, n, part->buf->mr };
			++*npieces;
		}
		left -= n;
		offset = 0;
	}
	/* If there are too few segments, no number is wrong. */
	return left ? UINT32_MAX : 0;
}
