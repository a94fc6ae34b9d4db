/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4 - the eligible items of NFSv4 COMPOUNDs [H1]
 */
#include "nfs/ulb.h"

/* The last operation of each minor version. */
static const uint32_t last_op[] = { OP_RELEASE_LOCKOWNER, OP_RECLAIM_COMPLETE,
				    OP_LIMIT - 1 };

static int compound_head(struct ulb_call *c, struct ulb_cur *cur, uint32_t *tag,
			 uint32_t *count)
{
	if (ulb_get32(cur, tag) || ulb_skip(cur, ulb_roundup(*tag)) ||
	    ulb_get32(cur, &c->minor) || ulb_get32(cur, count))
		return -EBADMSG;
	return 0;
}

/* The session's client is the one whose state may be named. */
static void note_sequence(struct ulb_call *c, struct ulb_walk *w)
{
	struct ulb_cur args = w->cur;
	uint32_t keep;

	c->sequence = !ulb_get_session(&args, c->session);
	if (!c->sequence)
		return;
	memcpy(&c->client, c->session, sizeof(c->client));
	ulb_name(&w->before, c->client);
	/* sa_sequenceid, sa_slotid, sa_highest_slotid, sa_cachethis */
	if (!ulb_skip(&args, 12) && !ulb_get32(&args, &keep) && keep)
		w->cache_at = args.pos - 4;
}

/* Ganesha gives these results away with a Reply, even one that it keeps. */
static bool returns_data(uint32_t op)
{
	return op == OP_READ || op == OP_READDIR;
}

static bool creates_file(uint32_t op, struct ulb_cur args)
{
	uint32_t owner = 0, how = 0;

	/* OPEN4args: seqid, access, deny; owner: clientid, opaque; openhow */
	return op == OP_CREATE ||
	       (op == OP_OPEN && !ulb_skip(&args, 20) &&
		!ulb_get32(&args, &owner) &&
		!ulb_skip(&args, ulb_roundup(owner)) &&
		!ulb_get32(&args, &how) && how == OPEN4_CREATE);
}

static bool lock_waits(uint32_t op, struct ulb_cur args, uint32_t *type)
{
	return op == OP_LOCK && !ulb_get32(&args, type) &&
	       (*type == READW_LT || *type == WRITEW_LT);
}

static void withhold(struct ulb_call *c, struct ulb_walk *w, uint32_t status)
{
	c->withheld = true;
	w->status = status;
}

/*
 * Ganesha keeps the Reply: for the session's slot or, of a COMPOUND of 4.0 that
 * creates something, in its duplicate request cache.
 */
static void note_kept(struct ulb_call *c, struct ulb_walk *w, uint32_t op)
{
	bool reads = returns_data(op),
	     makes = !c->minor && creates_file(op, w->cur);

	if (c->minor) {
		c->keeps_data |= reads && w->cache_at;
		return;
	}
	if ((reads && w->creates) || (makes && w->returns_data)) {
		withhold(c, w, NFS4ERR_RESOURCE);
		return;
	}
	w->returns_data |= reads;
	w->creates |= makes;
}

/* LOCK ends, if refused, what it has made for a new owner. */
static bool ends_state(uint32_t op)
{
	return op == OP_CLOSE || op == OP_DELEGRETURN || op == OP_LOCK;
}

/* If they fail after they have made state. */
static bool may_end(uint32_t op)
{
	return op == OP_OPEN || op == OP_LAYOUTGET || op == OP_LAYOUTRETURN;
}

/* They name state, but no file. */
static bool names_state(uint32_t op)
{
	return op == OP_FREE_STATEID || op == OP_TEST_STATEID ||
	       op == OP_RELEASE_LOCKOWNER;
}

/*
 * Read the number of the operation at @index, and note what it means for the
 * COMPOUND. Returns 1 at its arguments; 0 if Ganesha has no such operation in
 * this minor version, and executes nothing from here on; or -EBADMSG. Behind a
 * withheld operation only the class is noted.
 */
static int next_op(struct ulb_call *c, struct ulb_walk *w, uint32_t index,
		   uint32_t *op)
{
	uint32_t type;

	if (ulb_get32(&w->cur, op)) {
		c->unread |= !c->withheld;
		return -EBADMSG;
	}
	if (c->minor >= sizeof(last_op) / sizeof(last_op[0]) ||
	    *op > last_op[c->minor] || !ulb_nfs4_ops[*op].args)
		return 0;
	if (ulb_nfs4_class(*op) > c->op_class)
		c->op_class = ulb_nfs4_class(*op);
	if (c->withheld)
		return 1;
	if (*op == OP_DESTROY_SESSION)
		c->ends_session = true;
	else if (*op == OP_GET_DIR_DELEGATION || *op == OP_READ_PLUS ||
		 *op == OP_LAYOUTERROR || *op == OP_LAYOUTSTATS)
		withhold(c, w, NFS4ERR_NOTSUPP);
	else if (*op == OP_SEQUENCE && !index)
		note_sequence(c, w);
	else
		note_kept(c, w, *op);
	c->waits |= !c->minor && lock_waits(*op, w->cur, &type);
	c->once |= ulb_class_once(ulb_nfs4_class(*op));
	return 1;
}

/*
 * In 4.0, does Ganesha refuse an operation of the clients @of, because one of
 * them or the client before belongs to another instance? It returns the status
 * by which a client learns of the restart (STALE_STATEID, STALE_CLIENTID), and
 * executes nothing behind it.
 */
static bool is_stale(const struct ulb_call *c, const struct ulb_named *of)
{
	return !c->minor &&
	       (of->stale ||
		(c->has_client && ulb_other_instance(c->client, of->client)));
}

/*
 * Note the client whose state @op ends or names: it must be the session's or,
 * without a session, the only one in the COMPOUND; otherwise the operation is
 * withheld. A special stateid of zeros may stand for any named before.
 */
static void note_client(struct ulb_call *c, struct ulb_walk *w, uint32_t op)
{
	struct ulb_named of = w->named;

	if (of.any)
		ulb_name(&w->before, of.client);
	w->before.mixed |= of.mixed;
	if (c->withheld)
		return;
	if (c->sequence && (may_end(op) || op == OP_TEST_STATEID)) {
		/* TEST_STATEID answers for each stateid of another client. */
		c->has_client = true;
		c->foreign |= op == OP_TEST_STATEID && of.any &&
			      (of.mixed || of.client != c->client);
		return;
	}
	if (may_end(op)) {
		if (of.any && !c->has_client) {
			c->has_client = true;
			c->client = of.client;
		}
		return;
	}
	if (!ends_state(op) && !names_state(op))
		return;
	if (of.current)
		of = w->before;
	if (!of.any || (!w->named.current && is_stale(c, &of)))
		return;
	if (of.mixed ||
	    ((c->has_client || c->sequence) && c->client != of.client)) {
		withhold(c, w, NFS4ERR_BAD_STATEID);
		return;
	}
	c->has_client = true;
	c->client = of.client;
}

/* Walk the arguments of @op, from next_op(). */
static int walk_args(struct ulb_call *c, struct ulb_walk *w, uint32_t op)
{
	w->named = (struct ulb_named){ 0 };
	w->owners = !c->minor;
	if (ulb_walk(w, ulb_nfs4_ops[op].args)) {
		c->unread |= !c->withheld;
		return -EBADMSG;
	}
	note_client(c, w, op);
	return 0;
}

void ulb_nfs4_classify(struct ulb_call *c, struct ulb_walk *w)
{
	uint32_t tag, count, op;

	if (compound_head(c, &w->cur, &tag, &count))
		return;
	for (uint32_t i = 0; i < count && next_op(c, w, i, &op) > 0; i++)
		if (walk_args(c, w, op))
			break;
}

void ulb_waiting_locks(const struct iovec *args, unsigned int n, size_t at,
		       void (*lock)(void *ctx, size_t at, uint32_t type),
		       void *ctx)
{
	struct ulb_call c = { 0 };
	struct ulb_walk w = { 0 };
	uint32_t tag, count, op, type;

	ulb_cur_init(&w.cur, args, n);
	if (ulb_skip(&w.cur, at) || compound_head(&c, &w.cur, &tag, &count) ||
	    c.minor)
		return;
	for (uint32_t i = 0; i < count && next_op(&c, &w, i, &op) > 0; i++) {
		if (lock_waits(op, w.cur, &type))
			lock(ctx, (size_t)w.cur.pos, type);
		if (walk_args(&c, &w, op))
			break;
	}
}

int ulb_nfs4_args_end(struct ulb_walk *w)
{
	struct ulb_call c = { 0 };
	uint32_t tag, count, op;

	if (compound_head(&c, &w->cur, &tag, &count))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++)
		if (next_op(&c, w, i, &op) <= 0 || walk_args(&c, w, op))
			return -EBADMSG;
	return 0;
}

bool ulb_stray_end(const struct iovec *args, unsigned int n, size_t at,
		   bool (*bound)(void *ctx, const uint8_t id[ULB_SESSION_ID]),
		   void *ctx, struct ulb_stray *stray)
{
	uint8_t id[ULB_SESSION_ID];
	struct ulb_call c = { 0 };
	struct ulb_walk w = { 0 };
	uint32_t tag, count, op;
	struct ulb_cur here;

	ulb_cur_init(&w.cur, args, n);
	if (ulb_skip(&w.cur, at) || compound_head(&c, &w.cur, &tag, &count))
		return false;
	for (uint32_t i = 0; i < count && next_op(&c, &w, i, &op) > 0; i++) {
		here = w.cur;
		if (op == OP_DESTROY_SESSION && !ulb_get_session(&here, id) &&
		    !bound(ctx, id) &&
		    !(c.sequence && !memcmp(id, c.session, sizeof(id)))) {
			stray->index = i;
			stray->at = (size_t)w.cur.pos;
			return true;
		}
		if (walk_args(&c, &w, op) || c.withheld)
			break;
	}
	return false;
}

/* Of TEST_STATEID. */
static void each_foreign(const struct ulb_call *c, struct ulb_cur args,
			 void (*foreign)(void *ctx, size_t at), void *ctx)
{
	uint32_t count;
	size_t at;

	if (ulb_get32(&args, &count))
		return;
	while (count--) {
		struct ulb_named of = { 0 };

		at = (size_t)args.pos + 4;
		if (ulb_get_stateid(&args, &of))
			return;
		if (!of.current && !(of.any && of.client == c->client))
			foreign(ctx, at);
	}
}

bool ulb_find_withheld(const struct iovec *args, unsigned int n, size_t at,
		       void (*foreign)(void *ctx, size_t at), void *ctx,
		       struct ulb_withheld *withheld)
{
	struct ulb_call c = { 0 };
	struct ulb_walk w = { 0 };
	uint32_t tag, count, op;

	*withheld = (struct ulb_withheld){ 0 };
	ulb_cur_init(&w.cur, args, n);
	if (ulb_skip(&w.cur, at) || compound_head(&c, &w.cur, &tag, &count))
		return false;
	withheld->count_at = (size_t)w.cur.pos - 4;
	for (uint32_t i = 0; i < count && next_op(&c, &w, i, &op) > 0; i++) {
		withheld->index = i;
		withheld->op = op;
		withheld->at = (size_t)w.cur.pos - 4;
		if (c.keeps_data)
			withheld->cache_at = (size_t)w.cache_at;
		if (!c.withheld && op == OP_TEST_STATEID && c.sequence)
			each_foreign(&c, w.cur, foreign, ctx);
		if (!c.withheld && walk_args(&c, &w, op))
			break;
		withheld->status = w.status;
		if (c.withheld)
			return true;
	}
	withheld->unread = c.unread;
	return c.unread;
}

int ulb_nfs4_scan_call(struct ulb_call *c, struct ulb_walk *w,
		       struct ulb_scan *scan)
{
	uint64_t bound = ULB_REPLY_HEAD + 4 /* status */ + 4 /* count */;
	uint32_t tag, count, op, max;
	uint64_t b, origin;
	int rc;

	if (compound_head(c, &w->cur, &tag, &count))
		return -EBADMSG;
	/* The tag of a Call returns with its Reply. */
	bound += 4 + ulb_roundup(tag);

	for (uint32_t i = 0; i < count; i++) {
		origin = w->cur.pos;
		rc = next_op(c, w, i, &op);
		if (rc < 0)
			return rc;
		if (!rc) {
			/* The end of its arguments is unknown. */
			bound = ULB_UNBOUNDED;
			w->unknown = true;
			break;
		}
		b = ulb_nfs4_bound(op, &w->cur);
		if (op == OP_READ || op == OP_READLINK) {
			struct ulb_cur args = w->cur;

			/* READ4args: stateid, offset, count */
			max = ULB_LINK_MAX;
			if (op == OP_READ &&
			    (ulb_skip(&args, 24) || ulb_get32(&args, &max))) {
				w->cur = args;
				c->unread |= !c->withheld;
				return -EBADMSG;
			}
			/* Without room it will not be reduced. */
			if (!ulb_expect(scan, max, origin))
				b += ulb_roundup(max);
		}
		if (b > UINT32_MAX || bound > UINT32_MAX)
			bound = ULB_UNBOUNDED;
		else
			bound += b;
		if (walk_args(c, w, op))
			return -EBADMSG;
	}
	scan->reply_max = ulb_reply_max(bound);
	return 0;
}

void ulb_nfs4_bulk(const struct ulb_call *call, struct ulb_walk *w,
		   struct ulb_bulks *b)
{
	/* Octets of the arguments before the count. */
	static const uint8_t before[OP_LIMIT] = {
		[OP_READ] = 24,
		[OP_READ_PLUS] = 24,
		[OP_READDIR] = 20,
		[OP_WRITE] = 28,
	};
	struct ulb_call c = *call;
	uint32_t tag, count, op;
	unsigned int nth = 0;

	if (compound_head(&c, &w->cur, &tag, &count))
		return;
	for (uint32_t i = 0; i < count && next_op(&c, w, i, &op) > 0; i++) {
		struct ulb_cur args = w->cur;
		struct ulb_bulk k = { .kind = op == OP_READ  ? ULB_BULK_READ :
					      op == OP_WRITE ? ULB_BULK_WRITE :
							       ULB_BULK_LIST,
				      .nth = nth };

		if (before[op]) {
			if (ulb_skip(&args, before[op]))
				return;
			k.at = (uint32_t)args.pos;
			if (ulb_get32(&args, &k.count) || args.pos > UINT32_MAX)
				return;
			ulb_bulk_add(b, k);
		}
		nth += op == OP_READ || op == OP_READLINK;
		if (ulb_walk(w, ulb_nfs4_ops[op].args))
			return;
	}
}

int ulb_nfs4_scan_reply(struct ulb_walk *w)
{
	static const struct ulb_arm status_only[] = { DEFAULT(NULL) };
	const struct ulb_arm *arms;
	uint32_t count, op;
	unsigned int n;

	/* status, tag, resarray */
	if (ulb_skip(&w->cur, 4) || ulb_skip_opaque(&w->cur) ||
	    ulb_get32(&w->cur, &count))
		return -EBADMSG;

	while (count--) {
		if (ulb_get32(&w->cur, &op))
			return -EBADMSG;
		if (op == OP_ILLEGAL) {
			arms = status_only;
		} else if (op >= OP_LIMIT || !ulb_nfs4_ops[op].res) {
			/* Nothing after it can be found or reduced. */
			w->unknown = true;
			return 0;
		} else {
			arms = ulb_nfs4_ops[op].res;
		}
		n = w->n;
		if (ulb_walk_union(w, arms))
			return -EBADMSG;
		if ((op == OP_READ || op == OP_READLINK) && w->n == n &&
		    ulb_walk_void(w))
			return -EBADMSG;
	}
	return 0;
}
