/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Knowing what one is in: a program that is not Ganesha, a listener as ntirpc
 * makes it, and listeners whose fields are elsewhere.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ganesha/bind/gsh.h"
#include "unit.h"

/* It does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static void *of_ganesha; /* some function of the real one */

static void not_ganesha(void)
{
	struct gsh g;

	memset(&g, 0, sizeof(g));
	CU_ASSERT_PTR_NOT_NULL(gsh_bind(&g));
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
	memset(l, 0, sizeof(*l));
	l->u.xprt.xp_ops = &l->ops;
	l->u.xprt.xp_type = type;
	l->u.xprt.xp_fd = fd;
	l->u.xprt.xp_refcnt = 1;
	*(void **)&l->u.xprt.xp_dispatch.rendezvous_cb = of_ganesha;
	*(void **)&l->ops.xp_free_user_data = of_ganesha;
}

static void listeners(void)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct listener l;

	CU_ASSERT_TRUE_FATAL(tcp >= 0 && udp >= 0);
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	CU_ASSERT_PTR_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_UDP_RENDEZVOUS, udp);
	CU_ASSERT_PTR_NULL(gsh_check_listener(&l.u.xprt));

	make(&l, XPRT_TCP_RENDEZVOUS, udp);
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, -1);
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_UNKNOWN, tcp);
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_refcnt = 0;
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.u.xprt.xp_dispatch.rendezvous_cb = somebody_else;
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	l.ops.xp_free_user_data = somebody_else;
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	close(tcp);
	close(udp);
}

/* A word more or less somewhere: what is behind it is not where it was. */
static void shifted(void)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	struct listener l;

	CU_ASSERT_TRUE_FATAL(tcp >= 0);
	for (size_t at = 8; at <= offsetof(SVCXPRT, xp_refcnt); at += 8) {
		make(&l, XPRT_TCP_RENDEZVOUS, tcp);
		memmove(l.u.octets + at + 8, l.u.octets + at,
			sizeof(SVCXPRT) - at);
		memset(l.u.octets + at, 0, 8);
		CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));

		make(&l, XPRT_TCP_RENDEZVOUS, tcp);
		memmove(l.u.octets + at, l.u.octets + at + 8,
			sizeof(SVCXPRT) - at);
		CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	}
	close(tcp);
}

static void table_shifted(void)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	struct listener l;

	CU_ASSERT_TRUE_FATAL(tcp >= 0);
	make(&l, XPRT_TCP_RENDEZVOUS, tcp);
	memmove((uint8_t *)&l.ops, (uint8_t *)&l.ops + 8, sizeof(l.ops) - 8);
	*(void **)((uint8_t *)&l.ops + sizeof(l.ops) - 8) = NULL;
	CU_ASSERT_PTR_NOT_NULL(gsh_check_listener(&l.u.xprt));
	close(tcp);
}

static void found(void)
{
	void *lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_LOCAL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(lib);
	of_ganesha = dlsym(lib, "init_error_type");
	CU_ASSERT_PTR_NOT_NULL_FATAL(of_ganesha);
}

static const struct unit_test tests[] = {
	/* Before there is a Ganesha in this program. */
	{ "not Ganesha", not_ganesha },	    { "found", found },
	{ "listeners", listeners },	    { "structure shifted", shifted },
	{ "table shifted", table_shifted }, { NULL, NULL },
};

UNIT_MAIN("ganesha-bind", tests)
