/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Once it has what it needs, a connection takes no more: over the software
 * iWARP, RPCs of all kinds and sizes are carried without an allocation and
 * without a registration. The linker turns such calls to the counters here.
 *
 * Time stands still: when a machine leaves it no processor for a second, a
 * connection may rest and give back what it has, and rightly so.
 *
 * Threads: one, which runs both ends.
 */
#include <arpa/inet.h>
#include <sys/mman.h>

#include "rt_pair.h"
#include "test_clock.h"
#include "unit.h"

#define WARM 60
#define ROUNDS 60

static unsigned int allocs, regs;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t a, size_t n);
int __real_posix_memalign(void **p, size_t a, size_t n);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __real_fab_reg(struct fab_domain *dom, void *addr, size_t len,
		   struct fab_mr **mr);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t a, size_t n);
int __wrap_posix_memalign(void **p, size_t a, size_t n);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __wrap_fab_reg(struct fab_domain *dom, void *addr, size_t len,
		   struct fab_mr **mr);

void *__wrap_malloc(size_t n)
{
	allocs++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	allocs++;
	return __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	allocs++;
	return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t a, size_t n)
{
	allocs++;
	return __real_aligned_alloc(a, n);
}

int __wrap_posix_memalign(void **p, size_t a, size_t n)
{
	allocs++;
	return __real_posix_memalign(p, a, n);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off)
{
	allocs++;
	return __real_mmap(addr, len, prot, flags, fd, off);
}

int __wrap_fab_reg(struct fab_domain *dom, void *addr, size_t len,
		   struct fab_mr **mr)
{
	regs++;
	return __real_fab_reg(dom, addr, len, mr);
}

static struct {
	struct rt_pair answers; /* only its counts are used */
	struct rt_instance *inst[2];
	struct rt_conn *c;
	bool up;
	unsigned int closed;
} t;

static void *server_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	return ctx;
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	rt_pair_answer(&t.answers, call);
}

static void server_closed(struct rt_conn *c, int error, const char *reason)
{
	t.closed++;
	rt_conn_put(c);
}

static void client_up(struct rt_conn *c)
{
	t.up = true;
}

static void client_closed(struct rt_conn *c, int error, const char *reason)
{
	t.closed++;
}

static const struct rt_ops server_ops = { .open = server_open,
					  .call = on_call,
					  .closed = server_closed };
static const struct rt_ops client_ops = { .established = client_up,
					  .call = on_call,
					  .closed = client_closed };

static void turn(void)
{
	rt_run(t.inst[0], 0, 1);
	rt_run(t.inst[1], 0, 1);
}

static void rpc_done(struct rt_request *rq)
{
	(*(struct rt_rpc **)rt_request_user(rq))->done = true;
}

/* Sixteen RPCs at once: inline, continued, with chunks, with long Replies. */
static void one_round(uint32_t xid)
{
	static const size_t call[] = { 0, 900, 9000, 200000 };
	static const size_t reply[] = { 64, 1000, 8000, 100000 };
	static struct rt_rpc r[16];
	unsigned int left = 16;

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int items = i % 2;

		rt_rpc_init(&t.answers, t.c, &r[i], xid + i, call[i % 4], i & 8,
			    reply[i / 4], items, items ? 70000 : 0, items,
			    items ? 70000 : 0);
		r[i].rq->done = rpc_done;
		rt_rpc_submit(t.c, &r[i]);
	}
	for (unsigned int n = 0; left && n < 20000; n++) {
		turn();
		left = 0;
		for (unsigned int i = 0; i < 16; i++)
			left += !r[i].done;
	}
	CU_ASSERT_EQUAL_FATAL(left, 0);
	rt_rpc_finish(r, 16);
}

static void run(unsigned int vers)
{
	struct rt_params params = {
		.provider = fab_provider("iwarp"),
		.config = { .versions = 1u << vers, .request_user_size = 8 },
	};
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage addr;
	struct rt_listener *l;
	uint32_t xid = 1;

	test_clock_hold();
	memset(&t, 0, sizeof(t));
	t.answers.v1 = vers == WIRE_VERS1;
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(rt_instance_create(&params, &t.inst[i]),
				      0);
	CU_ASSERT_EQUAL_FATAL(rt_listen(t.inst[1], (struct sockaddr *)&in,
					sizeof(in), &server_ops, &t, &l),
			      0);
	rt_listener_addr(l, &addr);
	CU_ASSERT_EQUAL_FATAL(rt_connect(t.inst[0], 0, (struct sockaddr *)&addr,
					 sizeof(in), &client_ops, &t, &t.c),
			      0);
	for (unsigned int n = 0; !t.up && n < 5000; n++)
		turn();
	CU_ASSERT_TRUE_FATAL(t.up);
	for (unsigned int n = 0; n < WARM; n++, xid += 16)
		one_round(xid);
	CU_ASSERT_TRUE(allocs > 0 && regs > 0);
	allocs = 0;
	rt_pair_allocs = 0;
	regs = 0;
	for (unsigned int n = 0; n < ROUNDS; n++, xid += 16)
		one_round(xid);
	CU_ASSERT_EQUAL(allocs, rt_pair_allocs);
	CU_ASSERT_EQUAL(regs, 0);
	rt_conn_close(t.c, false);
	for (unsigned int n = 0; t.closed < 2 && n < 5000; n++)
		turn();
	CU_ASSERT_EQUAL(t.closed, 2);
	rt_conn_put(t.c);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(rt_instance_shutdown(t.inst[i], 5000, true), 0);
		rt_instance_destroy(t.inst[i]);
	}
	test_clock_release();
}

static void version_2(void)
{
	run(WIRE_VERS2);
}

static void version_1(void)
{
	run(WIRE_VERS1);
}

static const struct unit_test tests[] = {
	{ "version 2", version_2 },
	{ "version 1", version_1 },
	{ NULL, NULL },
};

UNIT_MAIN("transport-steady", tests)
