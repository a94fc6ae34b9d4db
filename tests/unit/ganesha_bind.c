/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Knowing what one is in: a program that is not Ganesha, a listener as ntirpc
 * makes it, listeners and requests whose fields are elsewhere, the installed
 * Ganesha's parser, and what its library calls.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ganesha/bind/gsh.h"
#include "ganesha/bind/plt.h"
#include "unit.h"

/* It does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static struct gsh gsh;
static void *of_ganesha; /* some function of the real one */

static void not_ganesha(void)
{
	struct gsh g;

	memset(&g, 0, sizeof(g));
	CU_ASSERT_PTR_NOT_NULL(gsh_bind(&g));
}

/* What Ganesha allocates for a Call, as if its ntirpc had @request_shift octets more. */
static long request_shift;
static unsigned int requests;

static struct svc_req *make_request(SVCXPRT *xprt, XDR *xdrs)
{
	struct {
		uint8_t before[16];
		struct svc_req req;
		uint8_t behind[16];
	} *all = calloc(1, sizeof(*all));
	struct svc_req req;

	memset(&req, 0, sizeof(req));
	req.rq_xprt = xprt;
	req.rq_xdrs = xdrs;
	req.rq_refcnt = 1;
	memcpy((uint8_t *)&all->req + request_shift, &req, sizeof(req));
	if (request_shift) {
		/* It begins in the same way. */
		memset(&all->req, 0, 16);
		all->req.rq_xprt = xprt;
	}
	requests++;
	return &all->req;
}

static void free_request(struct svc_req *req, enum xprt_stat stat)
{
	CU_ASSERT_EQUAL(stat, XPRT_IDLE);
	requests--;
	free((uint8_t *)req - 16);
}

static bool fits(SVCXPRT *xprt)
{
	bool is = !gsh_check_listener(&gsh, xprt, make_request, free_request);

	CU_ASSERT_EQUAL(requests, 0);
	return is;
}

static enum xprt_stat somebody_else(SVCXPRT *xprt)
{
	return XPRT_IDLE;
}

struct listener {
	union {
		SVCXPRT xprt;
		uint8_t octets[sizeof(SVCXPRT) + 64];
	} u;
	struct xp_ops ops;
};

static void make(struct listener *l, enum xprt_type type, int fd)
{
	SVCXPRT *xprt = &l->u.xprt;

	memset(l, 0, sizeof(*l));
	xprt->xp_ops = &l->ops;
	xprt->xp_type = type;
	xprt->xp_fd = fd;
	xprt->xp_refcnt = 1;
	xprt->xp_flags = COMPAT_XPRT_COMPLETE;
	__rpc_address_setup(&xprt->xp_local);
	(void)getsockname(fd, xprt->xp_local.nb.buf, &xprt->xp_local.nb.len);
	*(void **)&xprt->xp_dispatch.rendezvous_cb = of_ganesha;
	*(void **)&l->ops.xp_free_user_data = of_ganesha;
}

/* A socket with a port, as a listener's. */
static int open_socket(int type)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

static void listeners(void)
{
	int tcp = open_socket(SOCK_STREAM), udp = open_socket(SOCK_DGRAM);
	struct listener l;

	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	CU_ASSERT_TRUE(fits(&l.u.xprt));
	make(&l, XPRT_UDP_RENDEZVOUS, udp);
	CU_ASSERT_TRUE(fits(&l.u.xprt));

	make(&l, XPRT_TCP_RENDEZVOUS, udp);
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, -1);
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_UNKNOWN, tcp);
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_refcnt = 0;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_dispatch.rendezvous_cb = somebody_else;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.ops.xp_free_user_data = somebody_else;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	((struct sockaddr_in *)&l.u.xprt.xp_local.ss)->sin_port ^= 1;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_local.nb.maxlen++;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_parent = &l.u.xprt;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_flags = SVC_XPRT_FLAG_NONE;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	close(tcp);
	close(udp);
}

/* A word more or less somewhere: what is behind it is not where it was. */
static void shifted(void)
{
	int tcp = open_socket(SOCK_STREAM);
	struct listener l;

	for (size_t at = 8; at <= offsetof(SVCXPRT, xp_refcnt); at += 8) {
		make(&l, XPRT_TCP_RENDEZVOUS, tcp);
		memmove(l.u.octets + at + 8, l.u.octets + at,
			sizeof(SVCXPRT) - at);
		memset(l.u.octets + at, 0, 8);
		CU_ASSERT_FALSE(fits(&l.u.xprt));

		make(&l, XPRT_TCP_RENDEZVOUS, tcp);
		memmove(l.u.octets + at, l.u.octets + at + 8,
			sizeof(SVCXPRT) - at);
		CU_ASSERT_FALSE(fits(&l.u.xprt));
	}
	close(tcp);
}

static void table_shifted(void)
{
	int tcp = open_socket(SOCK_STREAM);
	struct listener l;

	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	memmove((uint8_t *)&l.ops, (uint8_t *)&l.ops + 8, sizeof(l.ops) - 8);
	*(void **)((uint8_t *)&l.ops + sizeof(l.ops) - 8) = NULL;
	CU_ASSERT_FALSE(fits(&l.u.xprt));
	close(tcp);
}

static void request_shifted(void)
{
	int tcp = open_socket(SOCK_STREAM);
	struct listener l;

	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	for (request_shift = -16; request_shift <= 16; request_shift += 8)
		CU_ASSERT_EQUAL(fits(&l.u.xprt), !request_shift);
	request_shift = 0;
	close(tcp);
}

static void found(void)
{
	void *lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_GLOBAL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(lib);
	of_ganesha = dlsym(lib, "init_error_type");
	CU_ASSERT_PTR_NOT_NULL_FATAL(of_ganesha);
	CU_ASSERT_PTR_NULL_FATAL(gsh_bind(&gsh));
}

static void parser(void)
{
	CU_ASSERT_PTR_NULL(gsh_check_parser(&gsh));
}

static unsigned int counted;

static void *count_malloc(size_t size)
{
	counted++;
	return malloc(size);
}

/* What Ganesha's library allocates, until it is to call the C library again, and what
 * nobody else does. */
static void redirected(void)
{
	const struct gsh_plt count[] = {
		{ "malloc", (void *)(uintptr_t)count_malloc },
		{ "no_such_function", (void *)(uintptr_t)count_malloc },
	};
	const struct gsh_plt back[] = {
		{ "free", (void *)(uintptr_t)free },
		{ "posix_memalign", (void *)(uintptr_t)posix_memalign },
		{ "malloc", (void *)(uintptr_t)malloc },
	};
	unsigned int n;

	/* All or nothing. */
	CU_ASSERT_FALSE(gsh_plt_redirect(of_ganesha, count, 2));
	CU_ASSERT_FALSE(gsh_plt_redirect(&n, count, 1));
	parser();
	CU_ASSERT_EQUAL(counted, 0);
	CU_ASSERT_TRUE(gsh_plt_redirect(of_ganesha, count, 1));
	parser();
	n = counted;
	CU_ASSERT_TRUE(n > 0);
	free(strdup("here"));
	free(malloc(n));
	CU_ASSERT_EQUAL(counted, n);
	CU_ASSERT_TRUE(gsh_plt_redirect(of_ganesha, back, 3));
	parser();
	CU_ASSERT_EQUAL(counted, n);
}

static const struct unit_test tests[] = {
	/* Before there is a Ganesha in this program. */
	{ "not Ganesha", not_ganesha },
	{ "found", found },
	{ "listeners", listeners },
	{ "structure shifted", shifted },
	{ "table shifted", table_shifted },
	{ "request shifted", request_shifted },
	{ "parser", parser },
	{ "redirected", redirected },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-bind", tests)
