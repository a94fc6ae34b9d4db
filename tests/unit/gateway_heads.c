/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the head of one Call is decoded on its way through rpcrdma-gateway:
 * from its first octets until its Reply is on its way, however often it is sent.
 */
#include <errno.h>

#include "base/be.h"
#include "gateway/client.h"
#include "heads.h"
#include "unit.h"

/* ---- In the place of the transport and the rest of the gateway ---------- */

static struct {
	struct rt_request rq;
	struct gw_call call;
} only;
static unsigned int submitted, kicked, written;
static bool no_memory;

struct rt_request *rt_request_alloc(struct rt_instance *inst)
{
	memset(&only, 0, sizeof(only));
	return &only.rq;
}

void *rt_request_user(struct rt_request *rq)
{
	return &only.call;
}

void rt_request_reset(struct rt_request *rq)
{
}

void rt_request_free(struct rt_request *rq)
{
}

void rt_request_submit(struct rt_conn *c, struct rt_request *rq)
{
	submitted++;
}

bool rt_response_is_reply(struct rt_conn *c, const struct rt_request *rq)
{
	return true;
}

bool rt_conn_hold(struct rt_conn *c)
{
	return false;
}

void rt_conn_unhold(struct rt_conn *c)
{
}

void rt_conn_get(struct rt_conn *c)
{
}

void rt_conn_put(struct rt_conn *c)
{
}

size_t gw_sinks_most(const struct gateway *gw)
{
	return 1 << 20;
}

bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len, bool must)
{
	return !no_memory;
}

void gw_sinks_release(struct gw_call *call)
{
}

int gw_call_layout(struct gw_call *call, unsigned int *placed)
{
	*placed = 0;
	return 0;
}

void gw_send_queue_push(struct gw_client *c, struct gw_send *o)
{
	o->done(c, o, true);
	written++;
}

void gw_client_get(struct gw_client *c)
{
}

void gw_client_put(struct gw_client *c)
{
}

void gw_wakeup(struct gw_client *c, unsigned int events)
{
	kicked |= events;
}

/* ---- Records ------------------------------------------------------------ */

#define RECORD_MOST 65536u

static struct gateway gw;
static struct gw_client client = { .gw = &gw };
static struct gw_record rec;
static uint8_t msg[2 * RECORD_MOST];
static size_t len;

static void begin(uint32_t vers, uint32_t proc)
{
	struct gw_options *o = &gw.opt;
	const uint32_t head[] = { 7, 0, 2, 100003, vers, proc, 0, 0, 0, 0 };

	memset(o, 0, sizeof(*o));
	rt_config_defaults(&o->rdma.config);
	o->max_record = RECORD_MOST;
	o->max_calls = 1;
	o->reduce_min = 1024;
	if (!gw.memory.allowance) {
		pthread_mutex_init(&client.lock, NULL);
		gw_memory_init(&gw.memory, 128 << 20, 1);
		client.account.memory = &gw.memory;
	}
	/* Nobody looks into it. */
	gw_calls_open(&client, (struct rt_conn *)(void *)&client, false);
	gw_shorten_reset(&client.shorten);
	no_memory = false;
	heads = submitted = kicked = written = 0;
	memset(msg, 0, sizeof(msg));
	for (len = 0; len < sizeof(head); len += 4)
		be32_put(msg + len, head[len / 4]);
}

static void word(uint32_t v)
{
	be32_put(msg + len, v);
	len += 4;
}

/* The first @n octets are here. */
static void here(size_t n)
{
	memset(&rec, 0, sizeof(rec));
	rec.len = n;
	rec.npieces = 1;
	rec.piece[0] = (struct rt_piece){ .addr = msg, .len = n };
}

static void done(int status)
{
	only.rq.status = status;
	gw_call_done(&only.rq);
}

/* Taken, sent; again, with more room; again, without chunks; answered. */
static void journey(void)
{
	here(len);
	CU_ASSERT_EQUAL_FATAL(gw_call_take(&client, &rec, 7, NULL), GW_TAKEN);
	CU_ASSERT_EQUAL(submitted, 1);
	only.rq.error = (struct wire_error){ .code = RDMA2_ERR_REPLY_RESOURCE,
					     .length_needed = 30000 };
	done(-EREMOTEIO);
	CU_ASSERT_TRUE(kicked & GW_EV_RESEND);
	gw_calls_submit(&client);
	CU_ASSERT_EQUAL(submitted, 2);
	CU_ASSERT_EQUAL(only.rq.reply_max, 30000);
	kicked = 0;
	done(-E2BIG);
	CU_ASSERT_TRUE(kicked & GW_EV_RESEND);
	gw_calls_submit(&client);
	CU_ASSERT_EQUAL(submitted, 3);
	CU_ASSERT_EQUAL(only.rq.nitems + only.rq.nsinks, 0);
	done(0);
	CU_ASSERT_EQUAL(written, 1);
	CU_ASSERT_EQUAL(gw_calls_outstanding(&client.calls), 0);
}

/* ---- Tests -------------------------------------------------------------- */

static void nfs3_read(void)
{
	begin(3, 6);
	word(4);
	word(0xf11e);
	word(0);
	word(0);
	word(100000);
	/* It waits for memory first. */
	no_memory = true;
	here(len);
	CU_ASSERT_EQUAL(gw_call_take(&client, &rec, 7, NULL), GW_NO_MEMORY);
	no_memory = false;
	journey();
	CU_ASSERT_EQUAL(heads, 1);
}

/* A session executes it once, whatever it is. */
static void nfs4_write(void)
{
	begin(4, 1);
	word(0);
	word(1);
	word(3);
	word(53); /* SEQUENCE */
	len += 32;
	word(38); /* WRITE */
	len += 28;
	word(8192);
	len += 8192;
	word(9); /* GETATTR */
	word(0);
	journey();
	CU_ASSERT_EQUAL(heads, 1);
	CU_ASSERT_TRUE(only.call.head.sequence);
}

/* Longer than a record may be: it is looked at before it is whole, and cut. */
static void too_long(void)
{
	begin(3, 7);
	word(4);
	word(0xf11e);
	word(0);
	word(0);
	word(100000);
	word(2);
	word(100000);
	here(GW_CALL_HEAD_MAX);
	CU_ASSERT_FALSE(gw_shorten_fails(&client, &rec, 100000));
	CU_ASSERT_TRUE(client.shorten.head.readable);
	here(RECORD_MOST);
	CU_ASSERT_FALSE(gw_shorten_fails(&client, &rec, 50000));
	CU_ASSERT_EQUAL(rec.len, len + 32768);
	client.shorten.drop = 0;
	len = rec.len;
	here(len);
	CU_ASSERT_EQUAL(gw_call_take(&client, &rec, 7, NULL), GW_TAKEN);
	CU_ASSERT_EQUAL(only.rq.items[0].length, 32768);
	done(0);
	CU_ASSERT_EQUAL(heads, 1);
	/* The next one is another. */
	begin(4, 0);
	here(len);
	CU_ASSERT_EQUAL(gw_call_take(&client, &rec, 7, NULL), GW_TAKEN);
	CU_ASSERT_EQUAL(only.call.head.vers, 4);
	done(0);
	CU_ASSERT_EQUAL(heads, 1);
}

static const struct unit_test tests[] = {
	{ "NFSv3 READ", nfs3_read },
	{ "NFSv4 WRITE", nfs4_write },
	{ "too long", too_long },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-heads", tests)
