/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_libnfs - positions agree with the NFS codec of libnfs
 *
 * Streams of words that are likely counts, booleans and discriminants are
 * decoded by libnfs. Whatever it takes, the skip programs must take, and come
 * out at the same octet: an operation with an item follows there. Structures
 * filled as clients fill them go the other way, through its encoder.
 */
#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-nfs4.h>

#include "ulb_xdr.h"

#define ROUNDS 200000
#define BODY 1024

static struct xdr x;
static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static uint32_t word(void)
{
	static const uint32_t status[] = { 10005, 10010, 10017, 10008, 5 };
	uint32_t r = rnd(100);

	if (r < 40)
		return 0;
	if (r < 60)
		return 1;
	if (r < 80)
		return rnd(8);
	if (r < 92)
		return rnd(40);
	return status[rnd(5)];
}

static uint32_t body[BODY / 4];

static void fill(uint32_t first, bool has_first)
{
	for (size_t i = 0; i < BODY / 4; i++)
		body[i] = htobe32(word());
	if (has_first)
		body[0] = htobe32(first);
	/* Half of all results are successes. */
	if (rnd(2))
		body[has_first] = 0;
}

/* The octets libnfs takes for an operation, 0 if it does not take it. */
static uint32_t taken(zdrproc_t proc, void *obj, size_t size)
{
	ZDR z;
	uint32_t len = 0;

	memset(obj, 0, size);
	zdrmem_create(&z, (char *)body, BODY, ZDR_DECODE);
	if (proc(&z, obj))
		len = zdr_getpos(&z);
	zdr_destroy(&z);
	return len;
}

/* A boolean must be one; libnfs takes any word for TRUE. */
static bool strict(uint32_t op)
{
	switch (op) {
	case OP_LOCK:
	case OP_READDIR:
		return false;
	default:
		return true;
	}
}

static void report(uint32_t op, uint32_t len)
{
	fprintf(stderr, "operation %u:", op);
	for (uint32_t i = 0; i < len / 4; i++)
		fprintf(stderr, " %u", be32toh(body[i]));
	fprintf(stderr, "\n");
}

static void results4(void)
{
	struct ulb_item items[4];
	struct ulb_call c = x_compound();
	struct iovec v = { x.b, 0 };
	unsigned int n, own, seen = 0;
	nfs_resop4 res;
	uint32_t op, len;
	bool ok;
	int rc;

	seed = 1;
	for (int i = 0; i < ROUNDS; i++) {
		op = 3 + rnd(37);
		fill(op, true);
		len = taken((zdrproc_t)zdr_nfs_resop4, &res, sizeof(res));
		if (!len)
			continue;
		x_init(&x);
		x_compound_reply(&x, 0, 2);
		x_raw(&x, body, len);
		x_values(&x, "25 0 1 D");
		v.iov_len = x.len;
		rc = ulb_scan_reply(&c, &v, 1, NULL, 0, items, 4, &n);
		if (rc && !strict(op))
			continue;
		own = op == OP_READ || op == OP_READLINK;
		ok = !rc && n == own + 1 && items[own].present &&
		     items[own].position == x.items[0].position;
		if (ok && own && !body[1])
			ok = items[0].present;
		if (!ok)
			report(op, len);
		CU_ASSERT(ok);
		seen++;
	}
	CU_ASSERT(seen > ROUNDS / 2);
}

static void arguments4(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v = { x.b, 0 };
	nfs_argop4 arg;
	unsigned int seen = 0;
	uint32_t op, len;
	bool ok;
	int rc;

	seed = 2;
	for (int i = 0; i < ROUNDS; i++) {
		op = 3 + rnd(37);
		fill(op, true);
		len = taken((zdrproc_t)zdr_nfs_argop4, &arg, sizeof(arg));
		if (!len)
			continue;
		x_init(&x);
		x_compound_call(&x, 0, 2);
		x_raw(&x, body, len);
		x_values(&x, "38 i h 0 D");
		v.iov_len = x.len;
		rc = x_scan_call(&v, 1, &c, &s);
		if (rc && !strict(op))
			continue;
		ok = !rc && s.nargs &&
		     s.args[s.nargs - 1].position == x.items[0].position;
		if (!ok)
			report(op, len);
		CU_ASSERT(ok);
		seen++;
	}
	CU_ASSERT(seen > ROUNDS / 2);
}

/* The data of these are last, so their end is that of the stream. */
static void nfs3(void)
{
	static const struct {
		uint32_t proc;
		bool call;
		zdrproc_t zdr;
	} t[] = {
		{ 5, false, (zdrproc_t)zdr_READLINK3res },
		{ 6, false, (zdrproc_t)zdr_READ3res },
		{ 7, true, (zdrproc_t)zdr_WRITE3args },
		{ 10, true, (zdrproc_t)zdr_SYMLINK3args },
	};
	union {
		READLINK3res readlink;
		READ3res read;
		WRITE3args write;
		SYMLINK3args symlink;
	} obj;
	struct ulb_call c;
	struct ulb_scan s;
	struct ulb_item item[1];
	struct iovec v = { x.b, 0 };
	unsigned int seen[4] = { 0 }, n;
	uint32_t len;
	bool call;
	int rc, k;

	seed = 3;
	for (int i = 0; i < ROUNDS / 4; i++) {
		k = (int)rnd(4);
		call = t[k].call;
		fill(0, false);
		/* Mostly booleans */
		for (size_t w = 0; w < 40; w++)
			if (rnd(8))
				body[w] = htobe32(rnd(2));
		len = taken(t[k].zdr, &obj, sizeof(obj));
		if (!len || (!call && body[0]))
			continue;
		x_init(&x);
		if (call)
			x_call(&x, ULB_PROG_NFS, 3, t[k].proc);
		else
			x_reply(&x);
		x_raw(&x, body, len);
		v.iov_len = x.len;
		if (call) {
			rc = x_scan_call(&v, 1, &c, &s);
			n = s.nargs;
			item[0] = s.args[0];
		} else {
			c = x_nfs3(t[k].proc);
			rc = ulb_scan_reply(&c, &v, 1, NULL, 0, item, 1, &n);
		}
		/* libnfs takes any word for TRUE */
		if (rc)
			continue;
		CU_ASSERT_EQUAL(n, 1);
		CU_ASSERT(item[0].present);
		CU_ASSERT_EQUAL((item[0].position + item[0].length + 3) & ~3u,
				x.len);
		seen[k]++;
	}
	for (k = 0; k < 4; k++)
		CU_ASSERT(seen[k] > 1000);
}

/* What libnfs encodes of a structure, at the end of the stream. */
static void encode(zdrproc_t proc, void *obj)
{
	ZDR z;
	uint32_t len;

	zdrmem_create(&z, (char *)x.b + x.len, (uint32_t)(X_MAX - x.len),
		      ZDR_ENCODE);
	CU_ASSERT_FATAL(proc(&z, obj));
	len = zdr_getpos(&z);
	zdr_destroy(&z);
	x.len += len;
}

/* Where the mark stands in the stream, to be compared with a position. */
static bool marked(const struct ulb_item *i, const char *mark)
{
	return i->present && i->length == strlen(mark) &&
	       i->position + i->length <= x.len &&
	       !memcmp(x.b + i->position, mark, i->length);
}

/* PUTFH, WRITE, GETATTR, then CREATE of a link and READ, as libnfs does. */
static void compound_call(void)
{
	static char fh[] = "filehandle", data[] = "written data",
		    name[] = "name", text[] = "../link/text", attrs[] = "\0";
	uint32_t mask[2] = { 0x0010011a, 0x00b0a23a };
	nfs_argop4 op[6];
	COMPOUND4args args = { 0 };
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v = { x.b, 0 };
	GETATTR4args *ga;
	CREATE4args *ca;
	WRITE4args *wa;

	memset(op, 0, sizeof(op));
	op[0].argop = OP_PUTFH;
	op[0].nfs_argop4_u.opputfh.object.nfs_fh4_val = fh;
	op[0].nfs_argop4_u.opputfh.object.nfs_fh4_len = sizeof(fh) - 1;
	op[1].argop = OP_WRITE;
	wa = &op[1].nfs_argop4_u.opwrite;
	wa->stable = FILE_SYNC4;
	wa->data.data_val = data;
	wa->data.data_len = sizeof(data) - 1;
	op[2].argop = OP_GETATTR;
	ga = &op[2].nfs_argop4_u.opgetattr;
	ga->attr_request.bitmap4_val = mask;
	ga->attr_request.bitmap4_len = 2;
	op[3].argop = OP_CREATE;
	ca = &op[3].nfs_argop4_u.opcreate;
	ca->objtype.type = NF4LNK;
	ca->objtype.createtype4_u.linkdata.utf8string_val = text;
	ca->objtype.createtype4_u.linkdata.utf8string_len = sizeof(text) - 1;
	ca->objname.utf8string_val = name;
	ca->objname.utf8string_len = sizeof(name) - 1;
	ca->createattrs.attrmask.bitmap4_val = mask;
	ca->createattrs.attrmask.bitmap4_len = 2;
	ca->createattrs.attr_vals.attrlist4_val = attrs;
	ca->createattrs.attr_vals.attrlist4_len = sizeof(attrs);
	op[4].argop = OP_READ;
	op[4].nfs_argop4_u.opread.count = 123456;
	op[5].argop = OP_READLINK;
	args.argarray.argarray_val = op;
	args.argarray.argarray_len = 6;

	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 4, 1);
	encode((zdrproc_t)zdr_COMPOUND4args, &args);
	v.iov_len = x.len;
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT_EQUAL_FATAL(s.nargs, 2);
	CU_ASSERT(marked(&s.args[0], data));
	CU_ASSERT(marked(&s.args[1], text));
	CU_ASSERT_EQUAL(s.nresults, 2);
	CU_ASSERT_EQUAL(s.results[0], 123456);
	CU_ASSERT_EQUAL(s.results[1], 4096);
	CU_ASSERT(s.reply_max > 0);
}

static void compound_reply(void)
{
	static char data[] = "file data", text[] = "link text", vals[] = "1234",
		    owner[] = "owner";
	uint32_t mask[2] = { 0x0010011a, 0x00b0a23a };
	nfs_resop4 op[7];
	COMPOUND4res res = { 0 };
	struct ulb_call c = x_compound();
	struct ulb_item items[4];
	struct iovec v = { x.b, 0 };
	open_write_delegation4 *wd;
	GETATTR4resok *ga;
	READ4resok *rd;
	OPEN4resok *oo;
	unsigned int n;

	memset(op, 0, sizeof(op));
	op[0].resop = OP_PUTFH;
	op[1].resop = OP_OPEN;
	oo = &op[1].nfs_resop4_u.opopen.OPEN4res_u.resok4;
	oo->attrset.bitmap4_val = mask;
	oo->attrset.bitmap4_len = 1;
	oo->delegation.delegation_type = OPEN_DELEGATE_WRITE;
	wd = &oo->delegation.open_delegation4_u.write;
	wd->space_limit.limitby = NFS_LIMIT_SIZE;
	wd->permissions.who.utf8string_val = owner;
	wd->permissions.who.utf8string_len = sizeof(owner) - 1;
	op[2].resop = OP_GETATTR;
	ga = &op[2].nfs_resop4_u.opgetattr.GETATTR4res_u.resok4;
	ga->obj_attributes.attrmask.bitmap4_val = mask;
	ga->obj_attributes.attrmask.bitmap4_len = 2;
	ga->obj_attributes.attr_vals.attrlist4_val = vals;
	ga->obj_attributes.attr_vals.attrlist4_len = sizeof(vals) - 1;
	op[3].resop = OP_READ;
	rd = &op[3].nfs_resop4_u.opread.READ4res_u.resok4;
	rd->data.data_val = data;
	rd->data.data_len = sizeof(data) - 1;
	op[4].resop = OP_SAVEFH;
	op[5].resop = OP_READLINK;
	op[5].nfs_resop4_u.opreadlink.READLINK4res_u.resok4.link.utf8string_val =
		text;
	op[5].nfs_resop4_u.opreadlink.READLINK4res_u.resok4.link.utf8string_len =
		sizeof(text) - 1;
	op[6].resop = OP_READ;
	op[6].nfs_resop4_u.opread.status = NFS4ERR_IO;
	res.status = NFS4ERR_IO;
	res.resarray.resarray_val = op;
	res.resarray.resarray_len = 7;

	x_init(&x);
	x_reply(&x);
	encode((zdrproc_t)zdr_COMPOUND4res, &res);
	v.iov_len = x.len;
	CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, NULL, 0, items, 4, &n), 0);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(marked(&items[0], data));
	CU_ASSERT(marked(&items[1], text));
	CU_ASSERT(!items[2].present);
}

static const struct unit_test tests[] = {
	{ "results of 4.0", results4 },
	{ "arguments of 4.0", arguments4 },
	{ "NFSv3", nfs3 },
	{ "a Call", compound_call },
	{ "a Reply", compound_reply },
	{ NULL, NULL },
};

UNIT_MAIN("ulb against libnfs", tests)
