/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/bind/gsh.h"

#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Returns the name of the file that defines @function. @real holds it, links resolved. */
static const char *file_of(const void *function, char real[PATH_MAX])
{
	const char *slash;
	Dl_info info;

	if (!function || !dladdr(function, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, real))
		return "no file";
	slash = strrchr(real, '/');
	return slash ? slash + 1 : real;
}

/* Returns true if both functions are of the same library. */
static bool is_beside(const void *function, const void *other)
{
	Dl_info one, two;

	return dladdr(function, &one) && dladdr(other, &two) &&
	       one.dli_fbase == two.dli_fbase;
}

const char *gsh_unfit(struct gsh *g, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(g->fault, sizeof(g->fault), format, args);
	va_end(args);
	n = strlen(g->fault);
	snprintf(
		g->fault + n, sizeof(g->fault) - n,
		": install the library of nfs-ganesha-rdma that was built for this Ganesha");
	return g->fault;
}

/* A function pointer out of dlsym() without a cast that ISO C forbids. */
#define TAKE(member, name) (*(void **)&(member) = dlsym(RTLD_DEFAULT, (name)))

static const char *check_release(struct gsh *g)
{
	static const char soname[] = "libganesha_nfsd.so.";
	unsigned int major, minor, our_major, our_minor;
	char real[PATH_MAX];
	const char *name = file_of(*(void **)&g->init_error_type, real);

	/* The server library has no symbol versions, so check its name. */
	sscanf(GSH_VERSION, "%u.%u", &our_major, &our_minor);
	if (!strncmp(name, soname, sizeof(soname) - 1) &&
	    sscanf(name + sizeof(soname) - 1, "%u.%u", &major, &minor) == 2 &&
	    major == our_major && minor >= our_minor)
		return NULL;
	return gsh_unfit(g,
			 "this Ganesha is %s, and the library is for "
			 "Ganesha " GSH_VERSION " and later releases %u",
			 name, our_major);
}

static const char *check_ntirpc(struct gsh *g)
{
	/* Only an ntirpc that was built with RDMA exports it. */
	bool has_rdma = dlsym(RTLD_NEXT, "rpc_rdma_ncreatef");
	char real[PATH_MAX];

	if (has_rdma == COMPAT_RDMA)
		return NULL;
	return gsh_unfit(
		g, "%s has %s of its own, and the library is for an ntirpc %s",
		file_of(dlsym(RTLD_NEXT, "svc_init"), real),
		has_rdma ? "RDMA" : "no RDMA",
		COMPAT_RDMA ? "with it" : "without");
}

const char *gsh_bind(struct gsh *g)
{
	const char *wrong;

	TAKE(g->log, "DisplayLogComponentLevel");
	TAKE(g->log_level, "component_log_level");
	TAKE(g->create_log_facility, "create_log_facility");
	TAKE(g->enable_log_facility, "enable_log_facility");
	TAKE(g->init_error_type, "init_error_type");
	TAKE(g->report_config_errors, "report_config_errors");
	TAKE(g->config_errs_to_log, "config_errs_to_log");
	/* dialect_hooks.c interposes this one. */
	*(void **)&g->load_config_from_parse =
		dlsym(RTLD_NEXT, "load_config_from_parse");
	TAKE(g->init_wait, "nfs_init_wait");
	TAKE(g->dbus_register_path, "gsh_dbus_register_path");
	if (!g->log || !g->log_level || !g->init_error_type ||
	    !g->report_config_errors || !g->config_errs_to_log ||
	    !g->load_config_from_parse)
		return gsh_unfit(
			g,
			"this Ganesha lacks a function that release " GSH_VERSION
			" has");

	wrong = check_release(g);
	return wrong ? wrong : check_ntirpc(g);
}

static bool is_socket(int fd, int type)
{
	socklen_t len = sizeof(int);
	int is = -1;

	return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &len) &&
	       is == type;
}

static uint16_t port_of(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ?
		       ((const struct sockaddr_in6 *)ss)->sin6_port :
		       ((const struct sockaddr_in *)ss)->sin_port;
}

/* Returns true if @to is the local address of @fd, as ntirpc keeps it. */
static bool is_local(const struct rpc_address *to, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return !getsockname(fd, (struct sockaddr *)&ss, &len) &&
	       to->nb.buf == &to->ss && to->nb.maxlen == sizeof(to->ss) &&
	       to->ss.ss_family == ss.ss_family &&
	       port_of(&to->ss) == port_of(&ss);
}

static bool is_listener(const struct gsh *g, const SVCXPRT *xprt)
{
	const void *ganeshas = *(void *const *)&g->init_error_type;
	const void *ends = *(void *const *)&xprt->xp_ops->xp_free_user_data;
	const void *takes = *(void *const *)&xprt->xp_dispatch.rendezvous_cb;
	bool tcp = xprt->xp_type == XPRT_TCP_RENDEZVOUS &&
		   is_socket(xprt->xp_fd, SOCK_STREAM);
	bool udp = (xprt->xp_type == XPRT_UDP_RENDEZVOUS ||
		    xprt->xp_type == XPRT_UDP) &&
		   is_socket(xprt->xp_fd, SOCK_DGRAM);

	/* Ganesha has just set both functions. */
	return (tcp || udp) && is_beside(ends, ganeshas) &&
	       is_beside(takes, ganeshas) &&
	       is_local(&xprt->xp_local, xprt->xp_fd) && !xprt->xp_parent &&
	       xprt->xp_refcnt > 0 && xprt->xp_refcnt < 16 &&
	       (xprt->xp_flags & COMPAT_XPRT_COMPLETE) == COMPAT_XPRT_COMPLETE;
}

/* Returns true if what Ganesha allocates for a Call of @xprt is a struct svc_req. */
static bool is_request(SVCXPRT *xprt, svc_xprt_alloc_fun_t alloc,
		       svc_xprt_free_fun_t release)
{
	XDR xdrs = { .x_op = XDR_DECODE };
	struct svc_req *req = alloc(xprt, &xdrs);
	bool is = req && req->rq_xprt == xprt && req->rq_xdrs == &xdrs &&
		  !req->rq_auth && req->rq_refcnt == 1;

	if (req)
		release(req, XPRT_IDLE);
	return is;
}

const char *gsh_check_listener(struct gsh *g, SVCXPRT *xprt,
			       svc_xprt_alloc_fun_t alloc,
			       svc_xprt_free_fun_t release)
{
	char real[PATH_MAX];

	if (is_listener(g, xprt) && is_request(xprt, alloc, release))
		return NULL;
	return gsh_unfit(
		g,
		"the structures of %s are not those of the ntirpc " COMPAT_NTIRPC
		" that this was built with: it is another "
		"release, or was built differently",
		file_of(dlsym(RTLD_NEXT, "svc_init"), real));
}
