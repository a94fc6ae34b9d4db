/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse - records in what has been received: rx.h
 */
#include <string.h>
#include <syslog.h>

#include "base/be.h"
#include "gateway/client.h"

static void refuse(struct gw_client *c, const char *why)
{
	gw_client_count(c, records_refused);
	gw_client_kill(c, LOG_WARNING, why);
}

/* Returns true if the server would deny the Call as well: that need not cost it
 * time. */
static bool is_denied(const struct gw_record *r, struct ulb_denial *d)
{
	struct iovec iov[GW_PIECES];

	return ulb_deny(iov, rt_to_iov(r->piece, r->npieces, iov), 0, d);
}

/* The record in c->rx.acc is whole. Returns true if it was taken and reading may go
 * on. */
static bool take_record(struct gw_client *c)
{
	uint8_t head[8];
	uint32_t xid, type;
	struct ulb_denial denial;
	bool denied;

	if (c->rx.acc.len < sizeof(head) || c->rx.acc.len % 4) {
		refuse(c, "a record that cannot be an RPC message: closed");
		return false;
	}
	gw_record_peek(&c->rx.acc, head, sizeof(head));
	xid = be32_get(head);
	type = be32_get(head + 4);
	if (type > RPC_REPLY) {
		refuse(c, "a record neither Call nor Reply: closed");
		return false;
	}
	if (type == RPC_REPLY) {
		gw_reverse_reply(c, &c->rx.acc, xid);
	} else {
		denied = is_denied(&c->rx.acc, &denial);
		if (!denied &&
		    !gw_shorten_head(&c->shorten, &c->rx.acc)->readable) {
			refuse(c, "a Call that ends in its header: closed");
			return false;
		}
		switch (gw_call_take(c, &c->rx.acc, xid,
				     denied ? &denial : NULL)) {
		case GW_TAKEN:
			break;
		case GW_PAUSE:
			gw_account_stop_waiting(&c->account);
			return false;
		case GW_NO_MEMORY:
			gw_disconnect_wait_memory(c);
			return false;
		}
	}
	c->rx.have_record = false;
	/* A Reply needs nothing of what was promised, nor does a Call that is dropped. */
	gw_account_break_promise(&c->account);
	gw_shorten_reset(&c->shorten);
	/* Of its memory what nothing has come of. */
	gw_account_break_promise(&c->account);
	gw_account_stop_waiting(&c->account);
	return true;
}

/* How many of the received octets are treated alike: kept, or dropped. */
static size_t run_length(const struct gw_client *c)
{
	size_t n = c->rx.fill - c->rx.pos;

	return c->rx.rec.left ? gw_shorten_run(c, &c->rx.acc, n) : n;
}

/* Take payload of the record. Returns false if it is in too many pieces. */
static bool take_data(struct gw_client *c, uint8_t *p, size_t n)
{
	if (!gw_shorten_drops(&c->shorten) &&
	    !gw_record_add(&c->rx.acc, c->rx.buf, p, n))
		return false;
	gw_shorten_advance(&c->shorten, n);
	return true;
}

static bool parse_all(struct gw_client *c)
{
	size_t used;

	if (c->rx.have_record && !take_record(c))
		return false;
	for (;;) {
		uint8_t *p = c->rx.buf ? c->rx.buf->data + c->rx.pos : NULL;

		if (gw_shorten_fails(c, &c->rx.acc, c->rx.rec.left)) {
			refuse(c, "a record over the limit: closed");
			return false;
		}
		switch (rec_next(&c->rx.rec, p, run_length(c), &used)) {
		case REC_MORE:
			c->rx.pos += used;
			return true;
		case REC_MARK:
			break;
		case REC_DATA:
			if (!take_data(c, p, used)) {
				refuse(c, "a record over the limit: closed");
				return false;
			}
			break;
		case REC_END:
			if (gw_shorten_is_active(&c->shorten)) {
				refuse(c, "a record that ends in its data: "
					  "closed");
				return false;
			}
			c->rx.have_record = true;
			gw_progress_in_record(&c->progress, false);
			if (!take_record(c))
				return false;
			break;
		case REC_LONG:
			refuse(c, "a record over the limit: closed");
			return false;
		}
		c->rx.pos += used;
	}
}

/* The Calls in it are sent together. */
bool gw_rx_parse(struct gw_client *c)
{
	struct rt_conn *rc = gw_calls_hold(c);
	bool all = parse_all(c);

	gw_calls_unhold(rc);
	gw_worker_flush(c);
	return all;
}
