/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_walk - the interpreter of skip programs
 */
#include "nfs/xdr_walk.h"

static int record(struct ulb_walk *w, uint64_t pos, uint32_t len, bool present)
{
	/* Positions are 32 bits on the wire; what ends later cannot be told. */
	if (pos + len > UINT32_MAX)
		return -EBADMSG;
	if (w->n < w->max) {
		w->items[w->n].position = (uint32_t)pos;
		w->items[w->n].length = len;
		w->items[w->n].present = present;
	}
	w->n++;
	return 0;
}

/* An item is in a Read chunk, with its roundup if the peer likes that. */
static int skip_read(struct ulb_walk *w, uint32_t len)
{
	uint32_t there = w->reads[w->nread++].length;

	w->misfit = there != len && there != ulb_roundup(len);
	if (w->misfit)
		return -EBADMSG;
	ulb_cur_absent(&w->cur, ulb_roundup(len));
	return 0;
}

static int walk_data(struct ulb_walk *w)
{
	struct ulb_cur *c = &w->cur;
	uint64_t pos;
	uint32_t len;

	if (ulb_get32(c, &len))
		return -EBADMSG;
	pos = c->pos;
	if (w->n < w->nchunk && w->chunk[w->n] != UINT32_MAX) {
		/*
		 * A server must not return it inline nor in part (A.1). Some
		 * of version 1 write the roundup too (RFC 8166 3.4.6.2 tells
		 * them not to).
		 */
		if (w->chunk[w->n] != len && w->chunk[w->n] != ulb_roundup(len))
			return -EBADMSG;
		ulb_cur_absent(c, ulb_roundup(len));
	} else if (w->nread < w->nreads && w->reads[w->nread].position == pos) {
		if (skip_read(w, len))
			return -EBADMSG;
	} else if (ulb_skip(c, ulb_roundup(len))) {
		return -EBADMSG;
	}
	return record(w, pos, len, true);
}

int ulb_walk_void(struct ulb_walk *w)
{
	return record(w, w->cur.pos, 0, false);
}

int ulb_walk_union(struct ulb_walk *w, const struct ulb_arm *arms)
{
	uint32_t v;

	if (ulb_get32(&w->cur, &v))
		return -EBADMSG;
	while (arms->kind == ARM_CASE && arms->value != v)
		arms++;
	if (arms->kind == ARM_REFUSE)
		return -EBADMSG;
	return arms->body ? ulb_walk(w, arms->body) : 0;
}

static int walk_each(struct ulb_walk *w, const struct ulb_step *body)
{
	uint32_t count;

	if (ulb_get32(&w->cur, &count))
		return -EBADMSG;
	while (count--)
		if (ulb_walk(w, body))
			return -EBADMSG;
	return 0;
}

static int walk_list(struct ulb_walk *w, const struct ulb_step *body)
{
	uint32_t more;

	for (;;) {
		if (ulb_get32(&w->cur, &more) || more > 1)
			return -EBADMSG;
		if (!more)
			return 0;
		if (ulb_walk(w, body))
			return -EBADMSG;
	}
}

static int walk_vec(struct ulb_walk *w, unsigned int words)
{
	uint32_t count;

	if (ulb_get32(&w->cur, &count))
		return -EBADMSG;
	return ulb_skip(&w->cur, (uint64_t)count * words * 4);
}

/* RFC 8881, 8.2.3: all zeros or all ones are nobody's. */
int ulb_get_stateid(struct ulb_cur *cur, struct ulb_named *named)
{
	uint32_t word[4];
	uint64_t client;

	for (unsigned int i = 0; i < 4; i++) {
		if (ulb_get32(cur, &word[i]))
			return -EBADMSG;
		word[i] = htobe32(word[i]);
	}
	if (!word[1] && !word[2] && !word[3]) {
		named->current = true;
	} else if ((word[1] & word[2] & word[3]) != UINT32_MAX) {
		memcpy(&client, &word[1], sizeof(client));
		ulb_name(named, client);
	}
	return 0;
}

static int walk_client(struct ulb_walk *w)
{
	uint32_t high, low;

	if (ulb_get32(&w->cur, &high) || ulb_get32(&w->cur, &low))
		return -EBADMSG;
	if (w->owners)
		ulb_name(&w->named, (uint64_t)high << 32 | low);
	return 0;
}

int ulb_walk(struct ulb_walk *w, const struct ulb_step *s)
{
	int rc = 0;

	for (; !rc && s->op != STEP_END; s++) {
		switch (s->op) {
		case STEP_WORDS:
			rc = ulb_skip(&w->cur, (uint64_t)s->n * 4);
			break;
		case STEP_OPAQUE:
			rc = ulb_skip_opaque(&w->cur);
			break;
		case STEP_VEC:
			rc = walk_vec(w, s->n);
			break;
		case STEP_EACH:
			rc = walk_each(w, s->body);
			break;
		case STEP_LIST:
			rc = walk_list(w, s->body);
			break;
		case STEP_UNION:
			rc = ulb_walk_union(w, s->arms);
			break;
		case STEP_DATA:
			rc = walk_data(w);
			break;
		case STEP_STATEID:
			rc = ulb_get_stateid(&w->cur, &w->named);
			break;
		case STEP_CLIENT:
			rc = walk_client(w);
			break;
		}
	}
	return rc;
}
