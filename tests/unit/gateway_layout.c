/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record that rpcrdma-gateway makes of a Reply and of what has come through
 * its Write chunks, as each chunk was returned.
 */
#include <errno.h>

#include "gateway/client.h"
#include "ulb_xdr.h"

#define SINK_LEN 64

static struct xdr whole, cut;
static struct gw_call call;
static struct rt_request rq;

static uint32_t used(char how, unsigned int i)
{
	uint32_t len = i < cut.nitems ? cut.items[i].length : 0;

	return how == 'i' ? len :
	       how == 'f' ? SINK_LEN :
	       how == '+' ? len + 4 :
			    0;
}

/*
 * The Reply of @results to @head, with a Write chunk for each character of
 * @chunks. The chunk was returned with the length of its item (i), four octets
 * more (+), its full length (f), unused (0), or was empty (-). Returns what
 * gw_call_layout() does; *@placed likewise, *@same: the record is the Reply as it
 * is without chunks.
 */
static int layout(const struct ulb_call *head, const char *results,
		  const char *chunks, unsigned int *placed, bool *same)
{
	static uint8_t sink[4][SINK_LEN], record[X_MAX];
	static struct rt_piece piece[4];
	bool reduced[4] = { false };
	uint8_t mark[REC_MARK_LEN];
	size_t n = 0;
	int rc;

	memset(&call, 0, sizeof(call));
	memset(&rq, 0, sizeof(rq));
	memset(sink, 0xa5, sizeof(sink));
	call.rq = &rq;
	call.head = *head;
	rq.xid = 17;
	rq.sinks = call.sinks;
	rq.nsinks = (unsigned int)strlen(chunks);
	for (unsigned int i = 0; i < rq.nsinks; i++)
		reduced[i] = chunks[i] != '-';
	x_init(&whole);
	x_values(&whole, results);
	x_init(&cut);
	cut.reduced = reduced;
	cut.nreduced = rq.nsinks;
	x_values(&cut, results);
	for (unsigned int i = 0; i < rq.nsinks; i++) {
		if (chunks[i] == '-') {
			call.sinks[i].in_stream = true;
			continue;
		}
		piece[i] =
			(struct rt_piece){ .addr = sink[i], .len = SINK_LEN };
		call.sinks[i] = (struct rt_sink){ .addr = sink[i],
						  .len = SINK_LEN,
						  .pieces = &piece[i],
						  .npieces = 1,
						  .used = used(chunks[i], i) };
	}
	rq.nreply = 1;
	rq.reply_len = cut.len;
	rq.reply[0] = (struct rt_piece){ .addr = cut.b, .len = cut.len };
	rc = gw_call_layout(&call, placed);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < call.send.niov; i++) {
		const struct iovec *v = &call.send.iov[i];

		memcpy(record + n, v->iov_base, v->iov_len);
		n += v->iov_len;
	}
	rec_mark(mark, whole.len);
	*same = n == REC_MARK_LEN + whole.len &&
		!memcmp(record, mark, REC_MARK_LEN) &&
		!memcmp(record + REC_MARK_LEN, whole.b, whole.len);
	return 0;
}

struct row {
	const char *results, *chunks;
	int rc;
	unsigned int placed;
};

static void all(const struct ulb_call *head, const struct row *r)
{
	unsigned int placed;
	bool same;

	for (; r->results; r++) {
		same = false;
		CU_ASSERT_EQUAL(layout(head, r->results, r->chunks, &placed,
				       &same),
				r->rc);
		if (r->rc)
			continue;
		CU_ASSERT(same);
		CU_ASSERT_EQUAL(placed, r->placed);
		if (!same || placed != r->placed)
			printf(" %s: %s", r->results, r->chunks);
	}
}

/* Answers without results, whatever was called. */
static const struct row refusals[] = {
	{ "17 1 1 1 1", "f", 0, 0 }, /* AUTH_ERROR */
	{ "17 1 1 0 2 2", "f", 0, 0 }, /* RPC_MISMATCH */
	{ "17 1 0 0 0 4", "f", 0, 0 }, /* GARBAGE_ARGS */
	{ "17 1 0 0 0 5", "-f", 0, 0 }, /* SYSTEM_ERR */
	{ "17 1 0 0 0 5", "0", 0, 0 },	{ NULL, NULL, 0, 0 },
};

#define OK "17 1 0 0 0 0 "
#define ATTR "u u u u u h h u u h h u u u u u u "

static void nfs3_read(void)
{
	static const struct row t[] = {
		{ OK "0 1 " ATTR "9 1 D", "i", 0, 1 },
		{ OK "0 0 9 1 D", "-", 0, 0 },
		{ OK "0 0 0 1 0", "0", 0, 0 },
		{ OK "5 1 " ATTR "-", "f", 0, 0 },
		{ OK "5 1 " ATTR "-", "0", 0, 0 },
		{ OK "70 0 -", "f", 0, 0 },
		{ OK "70 0 -", "+", 0, 0 },
		/* An item that is there must be that of its chunk. */
		{ OK "0 0 9 1 D", "f", -EBADMSG, 0 },
		{ OK "0 0 9 1 D", "+", -EBADMSG, 0 },
		{ OK "0 0 9 1 D", "0", -EBADMSG, 0 },
		{ OK "0 0 0 1 0", "f", -EBADMSG, 0 },
		{ NULL, NULL, 0, 0 },
	};
	struct ulb_call head = x_nfs3(6);

	all(&head, t);
	all(&head, refusals);
}

static void nfs3_readlink(void)
{
	static const struct row t[] = {
		{ OK "0 1 " ATTR "D", "i", 0, 1 },
		{ OK "22 1 " ATTR "-", "f", 0, 0 },
		{ OK "70 0 -", "f", 0, 0 },
		{ OK "0 0 D", "f", -EBADMSG, 0 },
		{ NULL, NULL, 0, 0 },
	};
	struct ulb_call head = x_nfs3(5);

	all(&head, t);
	all(&head, refusals);
	/* Nothing of what GETATTR returns can be in a chunk. */
	head = x_nfs3(1);
	all(&head, (const struct row[]){ { OK "0 " ATTR, "f", -EBADMSG, 0 },
					 { NULL, NULL, 0, 0 } });
}

/* COMPOUND: status, tag, results. */
#define SEQ "53 0 n u u u u u "

static void compound(void)
{
	static const struct row t[] = {
		{ OK "0 s 2 22 0 25 0 1 D", "i", 0, 1 },
		{ OK "0 s 4 22 0 25 0 1 D 27 0 D 9 0 f", "ii", 0, 2 },
		{ OK "0 s 3 " SEQ "22 0 25 0 1 D", "i", 0, 1 },
		/* READ or READLINK fails, */
		{ OK "5 s 2 22 0 25 5 -", "f", 0, 0 },
		{ OK "22 s 2 22 0 27 22 -", "f", 0, 0 },
		{ OK "5 s 3 " SEQ "22 0 25 5 -", "f", 0, 0 },
		{ OK "5 s 3 22 0 25 0 1 D 25 5 -", "if", 0, 1 },
		{ OK "5 s 3 22 0 25 0 1 D 27 5 -", "-f", 0, 0 },
		/* the operation before it does, */
		{ OK "70 s 1 22 70", "f", 0, 0 },
		{ OK "10052 s 1 53 10052", "ff", 0, 0 },
		{ OK "70 s 3 22 0 25 0 1 D 22 70", "if", 0, 1 },
		{ OK "10044 s 2 22 0 10044 10044", "f", 0, 0 },
		/* or the whole COMPOUND. */
		{ OK "10021 s 0", "f", 0, 0 },
		/* What does not fit stays an error, also beside what failed. */
		{ OK "0 s 2 22 0 25 0 1 D", "f", -EBADMSG, 0 },
		{ OK "5 s 3 22 0 25 0 1 D 25 5 -", "ff", -EBADMSG, 0 },
		{ OK "5 s 3 22 0 25 0 1 D 25 5 -", "+f", -EBADMSG, 0 },
		{ OK "5 s 3 22 0 25 0 1 D 25 5 -", "0f", -EBADMSG, 0 },
		/* So does what an unknown operation may have in a chunk. */
		{ OK "0 s 3 22 0 4711 0 25 0 1 D", "f", -EBADMSG, 0 },
		{ OK "0 s 3 22 0 25 0 1 D 4711 0", "if", -EBADMSG, 0 },
		{ OK "0 s 3 22 0 25 0 1 D 4711 0", "i0", 0, 1 },
		{ NULL, NULL, 0, 0 },
	};
	struct ulb_call head = x_compound();

	for (head.minor = 0; head.minor <= 2; head.minor++) {
		all(&head, t);
		all(&head, refusals);
	}
}

static const struct unit_test tests[] = {
	{ "NFSv3 READ", nfs3_read },
	{ "NFSv3 READLINK", nfs3_readlink },
	{ "COMPOUND", compound },
	{ NULL, NULL },
};

UNIT_MAIN("gateway layout", tests)
