/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs3 - the eligible items of NFSv3 (RFC 1813) [H1]
 */
#include "nfs/ulb.h"

/* clang-format off */
#define FH3		OPAQUE
#define ATTR3		WORDS(21)

static const struct ulb_step attr3[] = { ATTR3, END };
static const struct ulb_arm post_op_attr[] = {
	CASE(0, NULL), CASE(1, attr3), REFUSE
};

static const struct ulb_step read_ok[] = {
	UNION(post_op_attr), WORDS(1) /* count */, WORDS(1) /* eof */, DATA, END
};
static const struct ulb_arm read_res[] = { CASE(0, read_ok), DEFAULT(NULL) };

static const struct ulb_step readlink_ok[] = {
	UNION(post_op_attr), DATA, END
};
static const struct ulb_arm readlink_res[] = {
	CASE(0, readlink_ok), DEFAULT(NULL)
};

static const struct ulb_step write_args[] = {
	FH3, WORDS(2) /* offset */, WORDS(1) /* count */, WORDS(1) /* stable */,
	DATA, END
};

static const struct ulb_step one_word[] = { WORDS(1), END };
static const struct ulb_step two_words[] = { WORDS(2), END };
static const struct ulb_arm set_mode[] = {
	CASE(0, NULL), CASE(1, one_word), REFUSE
};
static const struct ulb_arm set_size[] = {
	CASE(0, NULL), CASE(1, two_words), REFUSE
};
static const struct ulb_arm set_time[] = {
	CASE(0, NULL), CASE(1, NULL), CASE(2, two_words), REFUSE
};
#define SATTR3								\
	UNION(set_mode), UNION(set_mode) /* uid */,			\
	UNION(set_mode) /* gid */, UNION(set_size),			\
	UNION(set_time), UNION(set_time)

static const struct ulb_step symlink_args[] = {
	FH3, OPAQUE /* name */, SATTR3, DATA, END
};

static const struct ulb_step sattr[] = { SATTR3, END };
static const struct ulb_step device[] = { SATTR3, WORDS(2), END };
static const struct ulb_arm create_how[] = {
	CASE(0 /* UNCHECKED */, sattr), CASE(1 /* GUARDED */, sattr),
	CASE(2 /* EXCLUSIVE */, two_words), REFUSE
};
static const struct ulb_arm mknod_data[] = {
	CASE(3 /* NF3CHR */, device), CASE(4 /* NF3BLK */, device),
	CASE(6 /* NF3SOCK */, sattr), CASE(7 /* NF3FIFO */, sattr),
	DEFAULT(NULL)
};
static const struct ulb_step setattr_args[] = {
	FH3, SATTR3, UNION(set_size) /* guard */, END
};
static const struct ulb_step create_args[] = {
	FH3, OPAQUE, UNION(create_how), END
};
static const struct ulb_step mkdir_args[] = { FH3, OPAQUE, SATTR3, END };
static const struct ulb_step mknod_args[] = {
	FH3, OPAQUE, UNION(mknod_data), END
};
static const struct ulb_step remove_args[] = { FH3, OPAQUE, END };
static const struct ulb_step rename_args[] = { FH3, OPAQUE, FH3, OPAQUE, END };
static const struct ulb_step link_args[] = { FH3, FH3, OPAQUE, END };

/* Of the procedures that change something. */
static const struct ulb_step *const changing[NFS3_PROCS] = {
	[NFS3_SETATTR] = setattr_args,	[NFS3_WRITE] = write_args,
	[NFS3_CREATE] = create_args,	[NFS3_MKDIR] = mkdir_args,
	[NFS3_SYMLINK] = symlink_args,	[NFS3_MKNOD] = mknod_args,
	[NFS3_REMOVE] = remove_args,	[NFS3_RMDIR] = remove_args,
	[NFS3_RENAME] = rename_args,	[NFS3_LINK] = link_args,
};
/* clang-format on */

/*
 * Bounds of the results, RFC 1813, 3.3: a status, at most 88 octets of
 * attributes of an object, 116 of weak cache consistency data, 72 of an
 * optional file handle.
 */
#define STATUS 4
#define OBJ 88
#define WCC (28 + OBJ)
#define NEWFH 72

static const uint16_t fixed[NFS3_PROCS] = {
	[NFS3_NULL] = 0,
	[NFS3_GETATTR] = STATUS + OBJ,
	[NFS3_SETATTR] = STATUS + WCC,
	[NFS3_LOOKUP] = STATUS + NEWFH + OBJ + OBJ,
	[NFS3_ACCESS] = STATUS + OBJ + 4,
	[NFS3_READLINK] = STATUS + OBJ + 4,
	[NFS3_READ] = STATUS + OBJ + 12,
	[NFS3_WRITE] = STATUS + WCC + 16,
	[NFS3_CREATE] = STATUS + NEWFH + OBJ + WCC,
	[NFS3_MKDIR] = STATUS + NEWFH + OBJ + WCC,
	[NFS3_SYMLINK] = STATUS + NEWFH + OBJ + WCC,
	[NFS3_MKNOD] = STATUS + NEWFH + OBJ + WCC,
	[NFS3_REMOVE] = STATUS + WCC,
	[NFS3_RMDIR] = STATUS + WCC,
	[NFS3_RENAME] = STATUS + WCC + WCC,
	[NFS3_LINK] = STATUS + OBJ + WCC,
	/*
	 * count and maxcount are said to bound the whole result. Some servers
	 * do not count the attributes and the end of the list; an entry that
	 * hardly fits may stand beyond the bound: a name, its attributes and
	 * handle.
	 */
	[NFS3_READDIR] = STATUS + OBJ + 16 + 288,
	[NFS3_READDIRPLUS] = STATUS + OBJ + 16 + 288 + OBJ + NEWFH,
	[NFS3_FSSTAT] = STATUS + OBJ + 52,
	[NFS3_FSINFO] = STATUS + OBJ + 48,
	[NFS3_PATHCONF] = STATUS + OBJ + 24,
	[NFS3_COMMIT] = STATUS + WCC + 8,
};

int ulb_nfs3_scan_call(const struct ulb_call *c, struct ulb_walk *w,
		       struct ulb_scan *scan)
{
	uint64_t bound = ULB_REPLY_HEAD;
	uint32_t count;
	int rc = 0;

	if (c->proc >= NFS3_PROCS)
		return 0;
	bound += fixed[c->proc];

	switch (c->proc) {
	case NFS3_READ: /* fh, offset, count */
		if (ulb_skip_opaque(&w->cur) || ulb_skip(&w->cur, 8) ||
		    ulb_get32(&w->cur, &count))
			return -EBADMSG;
		ulb_expect(scan, count, c->body);
		break;
	case NFS3_READLINK:
		if (ulb_skip_opaque(&w->cur))
			return -EBADMSG;
		ulb_expect(scan, ULB_LINK_MAX, c->body);
		break;
	case NFS3_WRITE:
		rc = ulb_walk(w, write_args);
		break;
	case NFS3_SYMLINK:
		rc = ulb_walk(w, symlink_args);
		break;
	case NFS3_READDIR: /* fh, cookie, verifier, count */
		if (ulb_skip_opaque(&w->cur) || ulb_skip(&w->cur, 16) ||
		    ulb_get32(&w->cur, &count))
			return -EBADMSG;
		bound += count;
		break;
	case NFS3_READDIRPLUS: /* ... dircount, maxcount */
		if (ulb_skip_opaque(&w->cur) || ulb_skip(&w->cur, 20) ||
		    ulb_get32(&w->cur, &count))
			return -EBADMSG;
		bound += count;
		break;
	}
	scan->reply_max = ulb_reply_max(bound);
	return rc;
}

bool ulb_empty_read(const struct iovec *args, unsigned int n, size_t at,
		    const struct ulb_call *c, size_t *offset_at,
		    uint64_t *offset)
{
	uint32_t high, low, count;
	struct ulb_cur cur;

	if (!c->nfs || c->vers != 3 || c->proc != NFS3_READ)
		return false;
	ulb_cur_init(&cur, args, n);
	if (ulb_skip(&cur, at) || ulb_skip_opaque(&cur))
		return false;
	*offset_at = (size_t)cur.pos;
	if (ulb_get32(&cur, &high) || ulb_get32(&cur, &low) ||
	    ulb_get32(&cur, &count))
		return false;
	*offset = (uint64_t)high << 32 | low;
	return !count;
}

int ulb_nfs3_args(const struct ulb_call *c, struct ulb_walk *w)
{
	if (c->proc >= NFS3_PROCS || !changing[c->proc])
		return -EBADMSG;
	return ulb_walk(w, changing[c->proc]);
}

void ulb_nfs3_bulk(const struct ulb_call *c, struct ulb_walk *w,
		   struct ulb_bulks *b)
{
	/* Octets between the filehandle and the count. */
	static const uint8_t before[NFS3_PROCS] = {
		[NFS3_READ] = 8,
		[NFS3_WRITE] = 8,
		[NFS3_READDIR] = 16,
		[NFS3_READDIRPLUS] = 20,
	};
	struct ulb_bulk k = { .kind = c->proc == NFS3_READ ? ULB_BULK_READ :
							     ULB_BULK_LIST };

	if (c->proc >= NFS3_PROCS || !before[c->proc] ||
	    ulb_skip_opaque(&w->cur) || ulb_skip(&w->cur, before[c->proc]))
		return;
	k.at = (uint32_t)w->cur.pos;
	if (ulb_get32(&w->cur, &k.count))
		return;
	if (c->proc == NFS3_WRITE) {
		k.kind = ULB_BULK_WRITE;
		k.also = k.at;
		if (ulb_skip(&w->cur, 4))
			return;
		k.at = (uint32_t)w->cur.pos;
		if (ulb_get32(&w->cur, &k.count))
			return;
	}
	ulb_bulk_add(b, k);
}

int ulb_nfs3_scan_reply(const struct ulb_call *c, struct ulb_walk *w)
{
	int rc;

	switch (c->proc) {
	case NFS3_READ:
		rc = ulb_walk_union(w, read_res);
		break;
	case NFS3_READLINK:
		rc = ulb_walk_union(w, readlink_res);
		break;
	default:
		w->unknown = true;
		return 0;
	}
	if (!rc && !w->n)
		rc = ulb_walk_void(w);
	return rc;
}
