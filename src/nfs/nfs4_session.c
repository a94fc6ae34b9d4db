/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_session - what a COMPOUND and its results say of sessions (RFC 8881)
 */
#include "nfs/ulb.h"

/* csr_flags (18.36.1) */
#define CONN_BACK_CHAN 2u

int ulb_get_session(struct ulb_cur *cur, uint8_t id[ULB_SESSION_ID])
{
	uint32_t word;

	for (unsigned int i = 0; i < ULB_SESSION_ID; i += sizeof(word)) {
		if (ulb_get32(cur, &word))
			return -EBADMSG;
		word = htobe32(word);
		memcpy(id + i, &word, sizeof(word));
	}
	return 0;
}

/* SEQUENCE4resok */
static int get_sequence(struct ulb_cur *cur, struct ulb_session *s)
{
	if (ulb_get_session(cur, s->of) || ulb_skip(cur, 16))
		return -EBADMSG;
	s->flags_at = (uint32_t)cur->pos;
	if (ulb_get32(cur, &s->flags))
		return -EBADMSG;
	s->sequence = true;
	return 0;
}

/* CREATE_SESSION4resok: the identifier, csr_sequence, csr_flags, and the
 * attributes of the fore channel and the back channel. */
static int get_created(struct ulb_cur *cur, struct ulb_session *s)
{
	uint32_t flags, ird, call_max;

	if (ulb_get_session(cur, s->id) || ulb_skip(cur, 4) ||
	    ulb_get32(cur, &flags))
		return -EBADMSG;
	/* channel_attrs4 is six words and ca_rdma_ird<1>. ca_maxrequestsize is
	 * the second word. */
	if (ulb_skip(cur, 24) || ulb_get32(cur, &ird) ||
	    ulb_skip(cur, (uint64_t)ird * 4 + 4) || ulb_get32(cur, &call_max))
		return -EBADMSG;
	s->bound = true;
	s->call_max = call_max;
	if (flags & CONN_BACK_CHAN)
		s->event = ULB_SESSION_BACK;
	return 0;
}

/* BIND_CONN_TO_SESSION4resok and ...args: both begin alike. */
static int get_bound(struct ulb_cur *cur, struct ulb_cur *args,
		     struct ulb_session *s)
{
	if (ulb_get_session(cur, s->id))
		return -EBADMSG;
	s->bound = true;
	s->given_at = (uint32_t)cur->pos;
	if (ulb_get32(cur, &s->given))
		return -EBADMSG;
	if (args && !ulb_skip(args, ULB_SESSION_ID) &&
	    ulb_get32(args, &s->wanted))
		s->wanted = 0;
	if (s->given & ULB_DIR_BACK)
		s->event = ULB_SESSION_BACK;
	return 0;
}

/* EXCHANGE_ID4resok and SETCLIENTID4resok: both begin with the client's number. */
static int get_client(struct ulb_cur *cur, struct ulb_session *s)
{
	uint32_t high, low;

	if (ulb_get32(cur, &high) || ulb_get32(cur, &low))
		return -EBADMSG;
	s->named = true;
	s->client = (uint64_t)high << 32 | low;
	return 0;
}

static int get_ended(struct ulb_cur *args, struct ulb_session *s)
{
	if (!args || ulb_get_session(args, s->id))
		return 0;
	s->event = ULB_SESSION_ENDED;
	return 0;
}

/* Returns a cursor at the arguments of the operation at @index, before which
 * only a SEQUENCE comes (36 octets with its number), or NULL if they cannot be
 * read. */
static struct ulb_cur *args_of(const struct ulb_call *c,
			       const struct iovec *call, unsigned int ncall,
			       unsigned int index, struct ulb_cur *args)
{
	if (!c->ddp)
		return NULL;
	ulb_cur_init(args, call, ncall);
	if (ulb_skip(args, c->body) || ulb_skip_opaque(args) ||
	    ulb_skip(args, 8) || /* minor version, number of operations */
	    ulb_skip(args, (uint64_t)index * 36 + 4))
		return NULL;
	return args;
}

int ulb_read_session(const struct ulb_call *c, const struct iovec *call,
		     unsigned int ncall, const struct iovec *results,
		     unsigned int nresults, struct ulb_session *s)
{
	struct ulb_cur cur, args;
	uint32_t count, op, status;

	memset(s, 0, sizeof(*s));
	if (!c->nfs || c->vers != 4 || c->proc != NFS4_COMPOUND)
		return 0;
	ulb_cur_init(&cur, results, nresults);
	if (ulb_skip(&cur, 4) || ulb_skip_opaque(&cur) ||
	    ulb_get32(&cur, &count))
		return -EBADMSG;
	for (unsigned int i = 0; i < 2 && i < count; i++) {
		if (ulb_get32(&cur, &op) || ulb_get32(&cur, &status))
			return -EBADMSG;
		if (status)
			return 0;
		switch (op) {
		case OP_SEQUENCE:
			if (i || get_sequence(&cur, s))
				return -EBADMSG;
			break;
		case OP_EXCHANGE_ID:
		case OP_SETCLIENTID:
			return get_client(&cur, s);
		case OP_CREATE_SESSION:
			return get_created(&cur, s);
		case OP_BIND_CONN_TO_SESSION:
			return get_bound(&cur,
					 args_of(c, call, ncall, i, &args), s);
		case OP_DESTROY_SESSION:
			return get_ended(args_of(c, call, ncall, i, &args), s);
		default:
			return 0;
		}
	}
	return 0;
}

bool ulb_client_owner(const struct iovec *args, unsigned int n, size_t at,
		      char *name, size_t room)
{
	uint32_t count, op, len, word = 0;
	struct ulb_cur cur;

	ulb_cur_init(&cur, args, n);
	/* Before the name there is a verifier, in both. */
	if (ulb_skip(&cur, at) || ulb_skip_opaque(&cur) || ulb_skip(&cur, 4) ||
	    ulb_get32(&cur, &count) || !count || ulb_get32(&cur, &op) ||
	    (op != OP_EXCHANGE_ID && op != OP_SETCLIENTID) ||
	    ulb_skip(&cur, 8) || ulb_get32(&cur, &len) || !len)
		return false;
	if (len >= room)
		len = (uint32_t)room - 1;
	for (uint32_t i = 0; i < len; i++, word <<= 8) {
		if (!(i % 4) && ulb_get32(&cur, &word))
			return false;
		name[i] = '?';
		if (word >> 24 >= ' ' && word >> 24 <= '~')
			name[i] = (char)(word >> 24);
	}
	name[len] = '\0';
	return true;
}

int ulb_last_result(const struct iovec *results, unsigned int n, size_t len,
		    uint32_t index, uint32_t *op, uint32_t *status)
{
	uint32_t failed, count;
	struct ulb_cur cur;

	ulb_cur_init(&cur, results, n);
	if (len < 8 || ulb_get32(&cur, &failed) || !failed ||
	    ulb_skip_opaque(&cur) || ulb_get32(&cur, &count) ||
	    count != (uint64_t)index + 1)
		return -EBADMSG;
	/* Behind the status of a failed operation there is nothing. */
	ulb_cur_init(&cur, results, n);
	if (ulb_skip(&cur, len - 8) || ulb_get32(&cur, op) ||
	    ulb_get32(&cur, status) || *status != failed)
		return -EBADMSG;
	return 0;
}

#define OP_CB_SEQUENCE 11

int ulb_read_callback(const struct iovec *reply, unsigned int n,
		      uint32_t *status)
{
	uint32_t type, stat, accept, count, op;
	struct ulb_cur cur;

	ulb_cur_init(&cur, reply, n);
	if (ulb_skip(&cur, 4) || ulb_get32(&cur, &type) || type != RPC_REPLY ||
	    ulb_get32(&cur, &stat) || stat != RPC_MSG_ACCEPTED ||
	    ulb_skip(&cur, 4) || ulb_skip_opaque(&cur) ||
	    ulb_get32(&cur, &accept) || accept || ulb_skip(&cur, 4) ||
	    ulb_skip_opaque(&cur) || ulb_get32(&cur, &count) || !count ||
	    ulb_get32(&cur, &op) || op != OP_CB_SEQUENCE ||
	    ulb_get32(&cur, status))
		return -EBADMSG;
	return 0;
}
