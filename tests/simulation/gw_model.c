/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_model - Calls of NFS and their Replies, octet by octet
 *
 * The number of a Call stands in its credential: the stamp of AUTH_SYS, the sequence
 * number of RPCSEC_GSS.
 *
 * Threads: one.
 */
#include <string.h>
#include <sys/param.h>

#include "base/be.h"
#include "gw.h"
#include "rpcrdma/nfs.h"

#define FH_LEN 32
#define LARGEST (200u << 10)

struct to {
	uint8_t *buf;
	size_t at;
};

static void put(struct to *t, uint32_t v)
{
	be32_put(t->buf + t->at, v);
	t->at += 4;
}

static void put_pattern(struct to *t, uint64_t salt, size_t len)
{
	gws_pattern(t->buf + t->at, salt, len);
	t->at += len;
	for (; t->at % 4; t->at++)
		t->buf[t->at] = 0;
}

static void put_opaque(struct to *t, uint64_t salt, uint32_t len)
{
	put(t, len);
	put_pattern(t, salt, len);
}

void gws_pattern(uint8_t *to, uint64_t salt, size_t len)
{
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t v = (salt + at) * 0x9e3779b97f4a7c15ull;

		v ^= v >> 29;
		memcpy(to + at, &v, 8);
	}
	for (; at < len; at++)
		to[at] = (uint8_t)(salt + at);
}

struct gws_rpc *gws_find(uint64_t id)
{
	struct gws_rpc *r = &gws.rpc[id % GWS_RPCS];

	return id && (uint32_t)r->id == (uint32_t)id ? r : NULL;
}

/* ---- Calls ------------------------------------------------------------------ */

static const struct {
	uint32_t prog, vers, proc;
	unsigned int nbulks;
} kinds[GWS_KINDS] = {
	[GWS_NULL] = { ULB_PROG_NFS, 3, 0, 0 },
	[GWS_GETATTR] = { ULB_PROG_NFS, 3, 1, 0 },
	[GWS_READ] = { ULB_PROG_NFS, 3, 6, 1 },
	[GWS_WRITE] = { ULB_PROG_NFS, 3, 7, 1 },
	[GWS_READLINK] = { ULB_PROG_NFS, 3, 5, 0 },
	[GWS_READDIR] = { ULB_PROG_NFS, 3, 16, 1 },
	[GWS_READ4] = { ULB_PROG_NFS, 4, 1, 2 },
	[GWS_WRITE4] = { ULB_PROG_NFS, 4, 1, 1 },
	[GWS_MOUNT] = { 100005, 3, 1, 0 },
	[GWS_GSS] = { ULB_PROG_NFS, 4, 1, 0 },
	[GWS_DENIED] = { ULB_PROG_NFS, 3, 1, 0 },
};

static uint32_t length(struct draw *d)
{
	static const uint32_t up_to[] = { 64,	400,   1000,  4096,   5000,
					  9000, 20000, 70000, LARGEST };

	return 1 + draw_below(d, DRAW_OF(d, up_to));
}

void gws_make(struct gws_rpc *r, struct draw *d)
{
	r->salt = draw(d);
	r->kind = draw_below(d, GWS_KINDS);
	r->session = draw_one_in(d, 2);
	r->fails = draw_one_in(d, 12);
	r->refused = draw_one_in(d, 60);
	r->nbulks = kinds[r->kind].nbulks;
	for (unsigned int i = 0; i < r->nbulks; i++)
		r->count[i] = length(d);
	/* Beyond any record. */
	if (r->nbulks && draw_one_in(d, gws.large ? 5 : 60) && !gws.w->calm)
		r->count[0] = (1u << 20) + draw_below(d, 3u << 20);
	if (r->kind == GWS_READDIR)
		r->count[0] = MAX(r->count[0], 200u);
}

static void put_cred(struct to *t, const struct gws_rpc *r)
{
	uint32_t name = (uint32_t)(r->salt >> 8) % 20;

	if (r->kind == GWS_GSS) {
		put(t, 6);
		put(t, 28);
		put(t, 1);
		put(t, 0);
		put(t, (uint32_t)r->id);
		put(t, 2 + (uint32_t)(r->salt & 1));
		put_opaque(t, 1, 8);
		put(t, 6);
		put_opaque(t, r->salt, 20);
		return;
	}
	/* AUTH_TLS with a body is no credential. */
	put(t, r->kind == GWS_DENIED ? 7 : 1);
	put(t, 20 + ((name + 3) & ~3u));
	put(t, (uint32_t)r->id);
	put_opaque(t, 2, name);
	put(t, 0);
	put(t, 0);
	put(t, 0);
	put(t, 0);
	put(t, 0);
}

static void put_fh(struct to *t, const struct gws_rpc *r)
{
	put_opaque(t, r->salt * 3, FH_LEN);
}

static void put_sequence(struct to *t, const struct gws_rpc *r)
{
	put(t, 53);
	put_pattern(t, 5, 16);
	put(t, (uint32_t)r->id);
	put(t, 0);
	put(t, 0);
	put(t, 0);
}

static void put_read4(struct to *t, const struct gws_rpc *r,
		      const uint32_t count[], size_t at[])
{
	for (unsigned int i = 0; i < 2; i++) {
		put(t, 25);
		put_pattern(t, 3, 24);
		at[i] = t->at;
		put(t, count[i]);
	}
}

static void put_write4(struct to *t, const struct gws_rpc *r,
		       const uint32_t count[], size_t at[])
{
	put(t, 38);
	put_pattern(t, 3, 24);
	put(t, 0);
	at[0] = t->at;
	put_opaque(t, r->salt, count[0]);
}

static void put_compound(struct to *t, const struct gws_rpc *r,
			 const uint32_t count[], size_t at[])
{
	put_opaque(t, 4, (uint32_t)(r->salt >> 16) % 12);
	put(t, r->session);
	put(t, r->session + 1u + r->nbulks);
	if (r->session)
		put_sequence(t, r);
	put(t, 22);
	put_fh(t, r);
	if (r->kind == GWS_READ4)
		put_read4(t, r, count, at);
	else
		put_write4(t, r, count, at);
}

static size_t make_call(const struct gws_rpc *r, const uint32_t count[],
			size_t at[], uint8_t *to)
{
	struct to t = { .buf = to };

	put(&t, r->xid);
	put(&t, 0);
	put(&t, 2);
	put(&t, kinds[r->kind].prog);
	put(&t, kinds[r->kind].vers);
	put(&t, kinds[r->kind].proc);
	put_cred(&t, r);
	switch (r->kind) {
	case GWS_GETATTR:
	case GWS_READLINK:
	case GWS_DENIED:
		put_fh(&t, r);
		break;
	case GWS_READ:
		put_fh(&t, r);
		put_pattern(&t, 6, 8);
		at[0] = t.at;
		put(&t, count[0]);
		break;
	case GWS_WRITE:
		put_fh(&t, r);
		put_pattern(&t, 6, 8);
		put(&t, count[0]);
		put(&t, 2);
		at[0] = t.at;
		put_opaque(&t, r->salt, count[0]);
		break;
	case GWS_READDIR:
		put_fh(&t, r);
		put_pattern(&t, 6, 16);
		at[0] = t.at;
		put(&t, count[0]);
		break;
	case GWS_READ4:
	case GWS_WRITE4:
		put_compound(&t, r, count, at);
		break;
	case GWS_MOUNT:
		put_opaque(&t, r->salt, (uint32_t)(r->salt % 900));
		break;
	case GWS_GSS:
		put_opaque(&t, r->salt, (uint32_t)(r->salt % 9000));
		put_opaque(&t, r->salt, 16);
		break;
	default:
		break;
	}
	return t.at;
}

size_t gws_call(const struct gws_rpc *r, const uint32_t count[], uint8_t *to)
{
	size_t at[GWS_BULKS];

	return make_call(r, count, at, to);
}

void gws_write(struct gws_rpc *r, uint8_t *to)
{
	r->len = make_call(r, r->count, r->at, to);
}

uint64_t gws_id_of(const uint8_t *call, size_t len)
{
	size_t at;

	if (len < 48)
		return 0;
	at = be32_get(call + 24) == 6 ? 40 : 32;
	return be32_get(call + at);
}

/* May a server be asked the same once more, on the same connection? */
bool gws_repeatable(const struct gws_rpc *r)
{
	switch (r->kind) {
	case GWS_GSS:
		return false;
	case GWS_READ4:
	case GWS_WRITE4:
		return r->session;
	default:
		return true;
	}
}

/* ---- Replies ---------------------------------------------------------------- */

/* How much of what was asked for the server has. */
static uint32_t has(const struct gws_rpc *r, unsigned int i)
{
	uint32_t n = r->seen[i];

	if (r->kind == GWS_READDIR)
		return n > 160 ? (n - 120) & ~3u : 40;
	return (r->salt >> i) % 3 ? n : (uint32_t)(r->salt >> 20) % (n + 1);
}

static void put_item(struct to *t, struct rt_item *item, uint64_t salt,
		     uint32_t len)
{
	put(t, len);
	*item = (struct rt_item){ .position = (uint32_t)t->at,
				  .length = len,
				  .present = true };
	put_pattern(t, salt, len);
}

static unsigned int put_results4(struct to *t, const struct gws_rpc *r,
				 struct rt_item *item)
{
	unsigned int n = 0;

	put(t, r->fails ? 5 : 0);
	put_opaque(t, 4, (uint32_t)(r->salt >> 16) % 12);
	put(t, r->session + 1u + (r->fails ? 1 : r->nbulks));
	if (r->session) {
		put(t, 53);
		put(t, 0);
		put_pattern(t, 5, 16);
		put_pattern(t, 7, 20);
	}
	put(t, 22);
	put(t, 0);
	for (unsigned int i = 0; i < r->nbulks; i++) {
		put(t, r->kind == GWS_READ4 ? 25 : 38);
		put(t, r->fails ? 5 : 0);
		if (r->fails)
			break;
		if (r->kind == GWS_READ4) {
			put(t, 1);
			put_item(t, &item[n++], ~r->salt + i, has(r, i));
			continue;
		}
		put(t, r->seen[0]);
		put(t, 2);
		put_pattern(t, 8, 8);
	}
	return n;
}

static unsigned int put_results(struct to *t, const struct gws_rpc *r,
				struct rt_item *item)
{
	if (r->kind == GWS_READ4 || r->kind == GWS_WRITE4)
		return put_results4(t, r, item);
	if (r->kind == GWS_NULL)
		return 0;
	if (r->kind == GWS_MOUNT || r->kind == GWS_GSS) {
		put_opaque(t, ~r->salt,
			   (uint32_t)(r->salt >> 30) %
				   (gws.w->calm || r->kind == GWS_MOUNT ?
					    200 :
					    60000));
		return 0;
	}
	put(t, r->fails ? 5 : 0);
	if (r->kind == GWS_GETATTR && !r->fails)
		put_pattern(t, ~r->salt, 84);
	if (r->kind == GWS_GETATTR)
		return 0;
	put(t, 0); /* no attributes */
	if (r->kind == GWS_WRITE)
		put(t, 0);
	if (r->fails)
		return 0;
	switch (r->kind) {
	case GWS_READ:
		put(t, has(r, 0));
		put(t, 1);
		put_item(t, item, ~r->salt, has(r, 0));
		return 1;
	case GWS_READLINK:
		put_item(t, item, ~r->salt, (uint32_t)(r->salt >> 40) % 4000);
		return 1;
	case GWS_WRITE:
		put(t, r->seen[0]);
		put(t, 2);
		put_pattern(t, 8, 8);
		return 0;
	default:
		put_pattern(t, ~r->salt, has(r, 0));
		return 0;
	}
}

size_t gws_call_most(const struct gws_rpc *r)
{
	return 16384 + (size_t)r->count[0] + r->count[1];
}

size_t gws_reply_most(const struct gws_rpc *r)
{
	return 65536 + (size_t)r->seen[0] + r->seen[1];
}

size_t gws_reply(const struct gws_rpc *r, uint8_t *to, struct rt_item *item,
		 unsigned int *nitems)
{
	struct to t = { .buf = to };

	put(&t, r->xid);
	put(&t, 1);
	put(&t, 0);
	put(&t, 0);
	put(&t, 0);
	put(&t, 0);
	*nitems = put_results(&t, r, item);
	return t.at;
}
