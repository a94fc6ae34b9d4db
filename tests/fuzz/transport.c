/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - a whole connection over the loop provider, against a peer that
 * sends any messages in any order, as client or as server
 *
 * The input is a script: two octets of settings, then steps. A step sends a
 * message (any octets, or one of a type with lists that point to memory that
 * is open, or is not), answers a Call that came, lets the upper layer of the
 * transport's end answer or call, moves the clock, ends or breaks the
 * connection, or makes a new one.
 *
 * What must hold: the rules that rt_watch knows, for each message that the
 * transport sends; every Call of its upper layer is completed once; when the
 * connections have ended, none is left, and no memory.
 */
#include <errno.h>

#include "peer.h"
#include "test_clock.h"
#include "transport_upper.h"

#define SET_SERVER 0x01u /* the peer is the server */
#define SET_GREET 0x02u /* begin with the usual exchange */
#define SET_XCHAR 0x08u /* both have xcharext */
#define SET_RTR 0x10u /* and rtrext */

struct fuzz {
	struct fuzz_peer peer;
	struct upper u;
};

/* ---- Steps -------------------------------------------------------------- */

static void new_connection(struct fuzz_peer *f)
{
	/* The helper knows one at a time. */
	if (f->r.p.client || f->r.p.server)
		return;
	if (rt_raw_again(&f->r))
		fuzz_peer_open(f);
}

static void end(struct fuzz_peer *f, uint8_t op)
{
	struct rt_pair *p = &f->r.p;

	switch (op >> 4) {
	case 13:
		loop_break(f->r.fab, -ECONNRESET);
		break;
	case 14:
		fab_disconnect(f->r.fab, op & 0x10);
		break;
	case 15:
		rt_conn_close(p->client ? p->client : p->server, false);
		break;
	case 12:
		rt_conn_close(p->client ? p->client : p->server, true);
		break;
	default:
		break;
	}
}

static void step(struct fuzz *f, struct fuzz_in *in)
{
	struct fuzz_peer *peer = &f->peer;
	struct rt_pair *p = &peer->r.p;
	uint8_t op = fuzz_u8(in);

	switch (op & 15) {
	case 9:
		upper_answer(p, in);
		break;
	case 10:
		upper_call(&f->u, p, in);
		break;
	case 14:
		if (op >> 4 == 15)
			new_connection(peer);
		else if (op & 0x10)
			peer->vers = peer->vers == WIRE_VERS1 ? WIRE_VERS2 :
								WIRE_VERS1;
		else
			test_clock_pass(100u * fuzz_u8(in));
		break;
	case 15:
		if (p->client || p->server)
			end(peer, op);
		break;
	default:
		fuzz_peer_step(peer, in, op);
		break;
	}
	rt_raw_run(&peer->r);
	/* The helper has room for some. */
	while (p->nheld > 100)
		upper_answer(p, in);
}

static struct rt_config settings(uint8_t a)
{
	static const unsigned int credits[] = { 0, 1, 3, 8 };
	struct rt_config cfg = {
		.credits = credits[a & 3],
		.versions =
			a & 4 ? (a & 8 ? 1u << WIRE_VERS1 : 1u << WIRE_VERS2) :
				0,
		.max_message = 65536 << (a >> 4 & 1),
		.reverse = a >> 5 & 3,
		.request_user_size = sizeof(void *),
	};

	cfg.max_conn_memory = a & 0x80 ? cfg.max_message : 0;
	if (a & 0x40)
		cfg.recv_size = 1024;
	if (a & 0x10) {
		cfg.max_segments = 4;
		cfg.max_read_chunks = 2;
		cfg.no_remote_invalidation = true;
		cfg.call_read_chunks = 3;
		cfg.call_write_chunks = 3;
	}
	if (a & 0x20)
		cfg.call_format = 1 + (a >> 3 & 1);
	if ((a & 0x88) == 0x88)
		cfg.idle_ms = 3000;
	return cfg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct fuzz *f = calloc(1, sizeof(*f));
	uint8_t set = fuzz_u8(&in);
	struct rt_config cfg = settings(fuzz_u8(&in));
	bool up;

	FUZZ_CHECK(f);
	if (set & SET_XCHAR && cfg.versions != 1u << WIRE_VERS1) {
		cfg.extensions = RT_EXT_XCHAR;
		if (set & SET_RTR)
			cfg.extensions |= RT_EXT_RTR;
		cfg.idle_recv_ms = 2000;
		cfg.idle_recv_size = 1024;
	}
	f->peer.vers = (set & 4) ? WIRE_VERS1 : WIRE_VERS2;
	f->peer.xid = 0x100;
	up = set & SET_SERVER ? rt_raw_server(&f->peer.r, &cfg) :
				rt_raw_client(&f->peer.r, &cfg);
	FUZZ_CHECK(up);
	f->peer.r.p.hold = true;
	f->peer.r.credits = RAW_RECVS - 4;
	fuzz_peer_open(&f->peer);
	if (set & SET_GREET && cfg.extensions)
		fuzz_peer_greet(&f->peer, set & SET_RTR);
	else if (set & SET_GREET)
		rt_raw_greet(&f->peer.r);
	for (int i = 0; i < 100 && in.left; i++)
		step(f, &in);
	/* The end, by the peer: whatever was held is answered after it. */
	rt_raw_run(&f->peer.r);
	if (f->peer.r.p.client)
		rt_conn_close(f->peer.r.p.client, set & 0x80);
	if (f->peer.r.p.server)
		rt_conn_close(f->peer.r.p.server, set & 0x80);
	rt_raw_run(&f->peer.r);
	fab_disconnect(f->peer.r.fab, true);
	rt_raw_run(&f->peer.r);
	while (f->peer.r.p.nheld)
		upper_answer(&f->peer.r.p, &in);
	rt_raw_run(&f->peer.r);
	FUZZ_CHECK(!f->peer.r.p.client && !f->peer.r.p.server);
	upper_check(&f->u);
	rt_raw_close(&f->peer.r);
	free(f);
	return 0;
}
