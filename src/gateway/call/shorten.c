/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shorten - Calls that bring, or ask for, more than can be carried: shorten.h
 */
#include "gateway/client.h"

#include <string.h>
#include <sys/param.h>

/* As many as a COMPOUND of Ganesha's may have operations, and some. */
#define BULKS_MAX 128
/* A COMPOUND whose WRITEs must be shorter than this is not carried. */
#define SHORTEN_MIN 4096u
/* Kept free for what is not data, of the longest record. */
#define HEADROOM_PART 32

const struct ulb_call *gw_shorten_head(struct gw_shorten *f,
				       const struct gw_record *r)
{
	struct iovec iov[GW_PIECES];

	if (!f->head.readable)
		ulb_call_head(iov, rt_to_iov(r->piece, r->npieces, iov),
			      &f->head);
	return &f->head;
}

static unsigned int scan(const struct gw_record *r, const struct ulb_call *head,
			 struct ulb_bulk *b)
{
	struct iovec iov[GW_PIECES];

	return ulb_scan_bulk(iov, rt_to_iov(r->piece, r->npieces, iov), head, b,
			     BULKS_MAX);
}

static size_t most(const struct gw_client *c)
{
	size_t max = c->gw->opt.max_record;

	return max - max / HEADROOM_PART;
}

static void count(struct gw_client *c, uint64_t *counter, unsigned int n)
{
	pthread_mutex_lock(&c->lock);
	*counter += n;
	pthread_mutex_unlock(&c->lock);
}

/* ---- WRITE -------------------------------------------------------------- */

static size_t data_at(const struct ulb_bulk *b)
{
	return (size_t)b->at + 4;
}

/* How long the record is when no WRITE has more than @w octets. */
static size_t length_with(const struct gw_record *r, const struct ulb_bulk *b,
			  unsigned int n, size_t w)
{
	size_t len = r->len;

	for (unsigned int i = 0; i < n; i++) {
		size_t whole = gw_round4(b[i].count), here = whole;

		if (b[i].kind != ULB_BULK_WRITE)
			continue;
		/* Of the last one the rest is still to come. */
		if (here > r->len - data_at(&b[i]))
			here = r->len - data_at(&b[i]);
		len = len - here + MIN(whole, w);
	}
	return len;
}

static void shorten(struct gw_shorten *f, struct gw_record *r,
		    const struct ulb_bulk *b, size_t w)
{
	size_t whole = gw_round4(b->count), here = r->len - data_at(b);

	here = MIN(here, whole);
	gw_record_poke(r, b->at, (uint32_t)w);
	if (b->also)
		gw_record_poke(r, b->also, (uint32_t)w);
	if (here > w)
		gw_record_cut(r, data_at(b) + w, here - w);
	/* The rest of the last one is still to come. */
	if (here < whole) {
		f->keep = here < w ? w - here : 0;
		f->drop = whole - here - f->keep;
	}
}

/* Could there be what could be left out, by its head? */
static bool ever(const struct ulb_call *head)
{
	return head->nfs && head->ddp &&
	       (head->op_class == ULB_CLASS_write || head->vers == 4);
}

/*
 * @r is as long as a record may be, and more is to come. Let less of its WRITEs
 * pass: keep and drop say what becomes of the next octets. False: there is
 * nothing that could be left out.
 */
static bool shorten_writes(struct gw_client *c, struct gw_record *r)
{
	struct ulb_bulk b[BULKS_MAX];
	unsigned int n = scan(r, gw_shorten_head(&c->shorten, r), b), cut = 0;
	size_t w = SHORTEN_MIN;

	if (!n || n > BULKS_MAX)
		return false;
	while (2 * w <= c->gw->opt.max_record)
		w *= 2;
	while (w >= SHORTEN_MIN && length_with(r, b, n, w) > most(c))
		w /= 2;
	if (w < SHORTEN_MIN)
		return false;
	/* From the last, so that the others stay where they are. */
	while (n--) {
		if (b[n].kind != ULB_BULK_WRITE || b[n].count <= w)
			continue;
		shorten(&c->shorten, r, &b[n], w);
		cut++;
	}
	count(c, &c->stats.writes_shortened, cut);
	return true;
}

bool gw_shorten_fails(struct gw_client *c, struct gw_record *r, size_t left)
{
	size_t max = c->gw->opt.max_record;
	struct gw_shorten *f = &c->shorten;

	if (!left || gw_shorten_is_active(f) || r->len + left <= max)
		return false;
	/* As soon as that can be told. */
	if (r->len >= GW_CALL_HEAD_MAX && !ever(gw_shorten_head(f, r)))
		return true;
	return r->len >= max && !shorten_writes(c, r);
}

size_t gw_shorten_run(const struct gw_client *c, const struct gw_record *r,
		      size_t n)
{
	const struct gw_shorten *f = &c->shorten;
	size_t most = c->gw->opt.max_record - r->len;

	if (f->keep)
		most = f->keep;
	else if (f->drop)
		most = f->drop;
	return MIN(n, most);
}

void gw_shorten_advance(struct gw_shorten *f, size_t n)
{
	if (gw_shorten_drops(f))
		f->drop -= n;
	else if (f->keep)
		f->keep -= n;
}

/* ---- READ, READDIR ------------------------------------------------------ */

void gw_shorten_set_segments(struct gw_shorten *f,
			     const struct rt_properties *theirs)
{
	f->segments = MIN(theirs->segments, RT_MAX_SEGMENTS);
	f->segment_size = theirs->segment_size;
}

/*
 * Octets that the results in Write chunks may have: a stretch of memory takes as
 * many segments as it must, the Reply chunk one, and the Call's own pieces some.
 */
static size_t chunk_room(const struct gw_client *c, const struct gw_call *call)
{
	size_t size = c->shorten.segment_size, stretch = FAB_POOL_MAX_BUF, room;
	unsigned int used = 1 + call->rec.npieces, left, each;

	if (call->plain || !size || c->shorten.segments <= used)
		return 0;
	left = c->shorten.segments - used;
	each = (unsigned int)((stretch + size - 1) / size);
	room = left % each * size;
	room = left / each * stretch + MIN(room, stretch);
	return room < gw_sinks_most(c->gw) ? room : gw_sinks_most(c->gw);
}

/* No more than @room octets in all of those that are @chunk. */
static unsigned int lower(struct gw_call *call, const struct ulb_bulk *b,
			  unsigned int n, bool chunk, unsigned int nchunks,
			  size_t room)
{
	unsigned int some = 0, lowered = 0;
	uint64_t sum = 0;
	size_t each;

	for (unsigned int pass = 0; pass < 2; pass++)
		for (unsigned int i = 0; i < n; i++) {
			if (b[i].kind == ULB_BULK_WRITE ||
			    (b[i].kind == ULB_BULK_READ &&
			     b[i].nth < nchunks) != chunk)
				continue;
			if (!pass) {
				sum += b[i].count;
				some++;
				continue;
			}
			each = room / some & ~(size_t)(SHORTEN_MIN - 1);
			each = MAX(each, SHORTEN_MIN);
			if (sum <= room || b[i].count <= each)
				continue;
			gw_record_poke(&call->rec, b[i].at, (uint32_t)each);
			lowered++;
		}
	return lowered;
}

void gw_shorten_counts(struct gw_call *call)
{
	struct ulb_bulk b[BULKS_MAX];
	struct gw_client *c = call->c;
	unsigned int n = scan(&call->rec, &call->head, b), nchunks, lowered;
	size_t room = chunk_room(c, call);

	n = MIN(n, BULKS_MAX);
	nchunks = room >= SHORTEN_MIN ?
			  c->gw->opt.rdma.config.call_write_chunks :
			  0;
	lowered = lower(call, b, n, true, nchunks, room);
	lowered += lower(call, b, n, false, nchunks, most(c));
	if (lowered)
		count(c, &c->stats.counts_lowered, lowered);
}
