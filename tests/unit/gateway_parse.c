/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rpcrdma-gateway keeps of a record when it has taken it.
 */
#include "base/be.h"
#include "gateway/client.h"
#include "unit.h"

/* ---- In the place of the rest of the gateway ---------------------------- */

static enum gw_take taken;
static unsigned int replies, waits;

enum gw_take gw_call_take(struct gw_client *c, struct gw_record *rec,
			  uint32_t xid, const struct ulb_denial *denial)
{
	return taken;
}

void gw_reverse_reply(struct gw_client *c, struct gw_record *rec, uint32_t xid)
{
	replies++;
}

bool gw_record_add(struct gw_record *r, struct gw_buf *b, uint8_t *p, size_t n)
{
	r->piece[0] = (struct rt_piece){ .addr = p, .len = n };
	r->npieces = 1;
	r->len = n;
	return true;
}

void gw_record_peek(const struct gw_record *r, void *out, size_t n)
{
	memcpy(out, r->piece[0].addr, n);
}

const struct ulb_call *gw_shorten_head(struct gw_shorten *f,
				       const struct gw_record *r)
{
	static const struct ulb_call head = { .readable = true };

	return &head;
}

bool gw_shorten_fails(struct gw_client *c, struct gw_record *r, size_t left)
{
	return false;
}

size_t gw_shorten_run(const struct gw_client *c, const struct gw_record *r,
		      size_t n)
{
	return n;
}

void gw_shorten_advance(struct gw_shorten *f, size_t n)
{
}

void gw_disconnect_wait_memory(struct gw_client *c)
{
	waits++;
}

void gw_client_kill(struct gw_client *c, int level, const char *why)
{
	CU_FAIL("the client is disconnected");
}

struct rt_conn *gw_calls_hold(struct gw_client *c)
{
	return NULL;
}

void gw_calls_unhold(struct rt_conn *rc)
{
}

void gw_worker_flush(struct gw_client *c)
{
}

/* ---- Tests -------------------------------------------------------------- */

#define MEMORY (16u << 20)
#define NEEDS (64u << 10)

static struct gateway gw;
static struct gw_client c = { .gw = &gw };
static union {
	struct gw_buf buf;
	uint8_t room[256];
} rx;

/* Receive a record of @type, for which a loan was promised. */
static bool receive(uint32_t type)
{
	const uint32_t word[] = {
		REC_LAST_FRAGMENT | 40, 7, type, 2, 100003, 3, 0, 0, 0, 0, 0
	};

	rec_init(&c.rx.rec, MEMORY);
	c.rx.acc.len = c.rx.acc.npieces = 0;
	c.rx.buf = &rx.buf;
	c.rx.pos = c.rx.fill = 0;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		be32_put(rx.buf.data + c.rx.fill, word[i]);
		c.rx.fill += 4;
	}
	CU_ASSERT_TRUE_FATAL(
		gw_account_take(&c.account, gw.memory.allowance, NEEDS));
	CU_ASSERT_TRUE_FATAL(gw_account_take(&c.account, 1024, NEEDS));
	CU_ASSERT_EQUAL(c.account.promised, NEEDS - 1024);
	return gw_rx_parse(&c);
}

static void begin(void)
{
	taken = GW_TAKEN;
	replies = waits = 0;
	pthread_mutex_init(&c.lock, NULL);
	gw_memory_init(&gw.memory, MEMORY, 8, NULL);
	gw_account_open(&gw.memory, &c.account);
}

static void end(void)
{
	CU_ASSERT_EQUAL(c.account.promised, 0);
	CU_ASSERT_EQUAL(atomic_load(&c.account.used),
			gw.memory.allowance + 1024);
	gw_account_close(&c.account);
	gw_memory_destroy(&gw.memory);
	pthread_mutex_destroy(&c.lock);
}

/* What was promised for the Call that the record might have been is lent to others. */
static void reply(void)
{
	begin();
	CU_ASSERT_TRUE(receive(RPC_REPLY));
	CU_ASSERT_EQUAL(replies, 1);
	end();
}

/* gw_call_take() has dropped it, or taken less. */
static void call(void)
{
	begin();
	CU_ASSERT_TRUE(receive(RPC_CALL));
	end();
}

/* It keeps the promise as long as it waits. */
static void waiting(void)
{
	begin();
	taken = GW_NO_MEMORY;
	CU_ASSERT_FALSE(receive(RPC_CALL));
	CU_ASSERT_EQUAL(waits, 1);
	CU_ASSERT_EQUAL(c.account.promised, NEEDS - 1024);
	taken = GW_TAKEN;
	CU_ASSERT_TRUE(gw_rx_parse(&c));
	end();
}

static const struct unit_test tests[] = {
	{ "reply", reply },
	{ "call", call },
	{ "waiting", waiting },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-parse", tests)
