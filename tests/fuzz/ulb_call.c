/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_call - the scan of a Call for its DDP-eligible items
 *
 * Input: the cut (cut.h), then the Call. If its first octet is under 16, it
 * is a short form: the head of a Call of NFS is put before the rest, so that
 * it need not be found.
 */
#include <errno.h>

#include "cut.h"
#include "rpcrdma/nfs.h"

static size_t head(uint8_t *h, uint8_t kind)
{
	uint32_t vers = kind & 1 ? 4 : 3, proc = kind & 1;
	static const uint32_t procs[] = { 7, 6, 5, 10, 1, 16, 17, 0 };
	unsigned int i = 0;

	if (vers == 3)
		proc = procs[kind / 2 % 8];
	fuzz_put32(h + 4 * i++, 0x11);
	fuzz_put32(h + 4 * i++, 0);
	fuzz_put32(h + 4 * i++, 2);
	fuzz_put32(h + 4 * i++, ULB_PROG_NFS);
	fuzz_put32(h + 4 * i++, vers);
	fuzz_put32(h + 4 * i++, proc);
	while (i < 10)
		fuzz_put32(h + 4 * i++, 0);
	if (vers == 4) {
		fuzz_put32(h + 4 * i++, 0); /* tag */
		fuzz_put32(h + 4 * i++, kind / 2 % 3); /* minor */
	}
	return 4u * i;
}

static void check(const struct ulb_scan *s, size_t len)
{
	size_t end = 0;

	FUZZ_CHECK(s->nargs <= ULB_MAX_ITEMS && s->nresults <= ULB_MAX_ITEMS);
	for (unsigned int i = 0; i < s->nargs; i++) {
		const struct ulb_item *it = &s->args[i];

		FUZZ_CHECK(it->present && it->position >= end);
		end = (size_t)it->position + it->length;
		FUZZ_CHECK(end <= len);
	}
}

static bool none_bound(void *ctx, const uint8_t id[ULB_SESSION_ID])
{
	return false;
}

static void check_foreign(void *ctx, size_t at)
{
	FUZZ_CHECK(at + 12 <= *(const size_t *)ctx);
}

/* Results that make it look into the arguments: of a DESTROY_SESSION and of a
 * BIND_CONN_TO_SESSION. */
static void check_session(const struct ulb_call *c, const struct iovec *iov,
			  unsigned int n)
{
	static const uint8_t op[] = { 44, 41 };
	uint8_t results[20 + 24];
	struct iovec v = { results, sizeof(results) };
	struct ulb_withheld withheld;
	struct ulb_stray stray;
	struct ulb_session s;
	char name[24], printable[96] = "";
	size_t len = 0;

	for (int i = 0; i < 95; i++)
		printable[i] = (char)(' ' + i);
	for (unsigned int i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (ulb_client_owner(iov, n, c->body, name, sizeof(name))) {
		FUZZ_CHECK(*name && strlen(name) < sizeof(name));
		FUZZ_CHECK(strspn(name, printable) == strlen(name));
	}
	if (ulb_stray_end(iov, n, c->body, none_bound, NULL, &stray))
		FUZZ_CHECK(stray.at + ULB_SESSION_ID <= len);
	if (ulb_find_withheld(iov, n, c->body, check_foreign, &len,
			      &withheld)) {
		FUZZ_CHECK(withheld.count_at + 4 <= len);
		FUZZ_CHECK(withheld.unread || withheld.at + 4 <= len);
	}
	for (unsigned int i = 0; i < 2; i++) {
		memset(results, 0, sizeof(results));
		results[11] = 1; /* operation */
		results[15] = op[i];
		FUZZ_CHECK(!ulb_read_session(c, iov, n, &v, 1, &s));
	}
}

/* Chunks of no octets: where the eligible arguments are, which fit only those
 * of no octets; at their lengths; and anywhere. */
static void check_reads(const struct ulb_call *head, const struct ulb_scan *s,
			const struct iovec *iov, unsigned int n, uint32_t any)
{
	struct ulb_call c = *head;
	struct ulb_read r[ULB_MAX_ITEMS];
	bool misfit, octets = false;
	unsigned int most;

	for (unsigned int i = 0; i < s->nargs; i++) {
		r[i] = (struct ulb_read){ s->args[i].position, 0 };
		octets = octets || s->args[i].length;
	}
	FUZZ_CHECK(ulb_take_reads(iov, n, &c, r, s->nargs, s->nargs,
				  ULB_MAX_ITEMS, &most, &misfit));
	FUZZ_CHECK(misfit == octets);
	FUZZ_CHECK(most >= s->nargs);
	for (unsigned int i = 0; i < s->nargs; i++) {
		r[i].position -= 4;
		FUZZ_CHECK(!ulb_take_reads(iov, n, &c, &r[i], 1, 1,
					   ULB_MAX_ITEMS, &most, &misfit));
		FUZZ_CHECK(!most);
	}
	r[0] = (struct ulb_read){ any & ~3u, any };
	ulb_take_reads(iov, n, &c, r, 1, 1, ULB_MAX_ITEMS, &most, &misfit);
	FUZZ_CHECK(most <= ULB_MAX_ITEMS);
}

/* One that is served has a whole head; a handle more or less makes no other
 * difference. */
static void check_denial(const struct iovec *iov, unsigned int n,
			 const struct ulb_call *h)
{
	struct ulb_denial d, any;
	bool is = ulb_deny(iov, n, 16, &d), is_any = ulb_deny(iov, n, 0, &any);

	FUZZ_CHECK(is || !is_any);
	FUZZ_CHECK(!is || d.why);
	FUZZ_CHECK(!is || is_any || (d.auth_stat == 13 && h->readable));
	FUZZ_CHECK(!is_any || any.auth_stat == d.auth_stat);
	if (!is && h->readable && h->flavor == 6)
		FUZZ_CHECK(h->cred_len >= 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct iovec iov[CUT_MAX + 1];
	uint8_t first[64], kind;
	struct ulb_scan s;
	struct ulb_call h, c, k;
	unsigned int n = 0;
	int rc;

	if (!size)
		return 0;
	kind = fuzz_u8(&in);
	if (kind < 16) {
		iov[0].iov_base = first;
		iov[0].iov_len = head(first, kind);
		n = 1;
	}
	n += fuzz_cut(&in, iov + n);
	ulb_call_head(iov, n, &h);
	check_denial(iov, n, &h);
	c = k = h;
	if (h.readable) {
		FUZZ_CHECK(h.body <= fuzz_cut_len(iov, n));
		FUZZ_CHECK(ulb_max_read_chunks(&h, 8) <= 8);
		FUZZ_CHECK(ulb_proc_name(h.prog, h.vers, h.proc));
	}
	ulb_classify(iov, n, &k);
	rc = ulb_scan_call(iov, n, &c, &s);
	FUZZ_CHECK(rc == 0 || rc == -EBADMSG);
	FUZZ_CHECK(rc || h.readable);
	/* Both find the same. */
	FUZZ_CHECK(!memcmp(&c, &k, sizeof(c)));
	if (h.readable) {
		FUZZ_CHECK(k.op_class < ULB_NCLASSES);
		check_session(&k, iov, n);
	}
	check(&s, fuzz_cut_len(iov, n));
	if (!rc)
		check_reads(&h, &s, iov, n, (uint32_t)size * 5);
	if (rc)
		FUZZ_CHECK(!s.nargs && !s.nresults && !s.reply_max);
	fuzz_cut_free(kind < 16 ? iov + 1 : iov, kind < 16 ? n - 1 : n);
	return 0;
}
