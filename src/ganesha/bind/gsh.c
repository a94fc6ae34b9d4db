/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gsh - finding and checking the Ganesha around this library
 *
 * Threads: gsh_bind() is called once, by Ganesha's main thread during its
 * start, and so is gsh_check_listener(); afterwards struct gsh is only read.
 */
#include "ganesha/bind/gsh.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool gsh_defined_by(const void *function, const char *soname)
{
	char real[PATH_MAX];
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	if (!strcmp(file_name(info.dli_fname), soname))
		return true;
	return realpath(info.dli_fname, real) &&
	       !strcmp(file_name(real), soname);
}

/* A function pointer out of dlsym() without a cast that ISO C forbids. */
#define TAKE(member, name) (*(void **)&(member) = dlsym(RTLD_DEFAULT, (name)))

const char *gsh_bind(struct gsh *g)
{
	void *params;

	TAKE(g->log, "DisplayLogComponentLevel");
	TAKE(g->log_level, "component_log_level");
	TAKE(g->create_log_facility, "create_log_facility");
	TAKE(g->enable_log_facility, "enable_log_facility");
	TAKE(g->init_error_type, "init_error_type");
	TAKE(g->report_config_errors, "report_config_errors");
	TAKE(g->config_errs_to_log, "config_errs_to_log");
	TAKE(g->load_config_from_parse, "load_config_from_parse");
	TAKE(g->register_cleanup, "RegisterCleanup");
	TAKE(g->init_wait, "nfs_init_wait");
	TAKE(g->dbus_register_path, "gsh_dbus_register_path");
	if (!g->log || !g->log_level || !g->init_error_type ||
	    !g->report_config_errors || !g->config_errs_to_log ||
	    !g->load_config_from_parse)
		return "this Ganesha lacks a function that release " GSH_VERSION
		       " has";

	/* The server library has no symbol versions: go by its name. */
	params = dlsym(RTLD_NEXT, "nfs_set_param_from_conf");
	if (!params || !gsh_defined_by(params, GSH_SONAME))
		return "this is not Ganesha " GSH_VERSION " (" GSH_SONAME
		       "), the release this was built for";

	params = dlvsym(RTLD_NEXT, "svc_init", NTIRPC_NODE);
	if (!params || params != dlsym(RTLD_NEXT, "svc_init") ||
	    !gsh_defined_by(params, NTIRPC_SONAME))
		return "the ntirpc in use is not " NTIRPC_SONAME
		       " with the interface " NTIRPC_NODE
		       ", for which this was built";
	if (dlsym(RTLD_NEXT, NTIRPC_WITH_RDMA))
		return "the ntirpc in use is built with RDMA of its own, which "
		       "changes its structures";
	return NULL;
}

static bool is_socket(int fd, int type)
{
	socklen_t len = sizeof(int);
	int is = -1;

	return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &len) &&
	       is == type;
}

const char *gsh_check_listener(const SVCXPRT *xprt)
{
	void *ends = *(void *const *)&xprt->xp_ops->xp_free_user_data;
	void *takes = *(void *const *)&xprt->xp_dispatch.rendezvous_cb;
	bool kind = (xprt->xp_type == XPRT_TCP_RENDEZVOUS &&
		     is_socket(xprt->xp_fd, SOCK_STREAM)) ||
		    ((xprt->xp_type == XPRT_UDP_RENDEZVOUS ||
		      xprt->xp_type == XPRT_UDP) &&
		     is_socket(xprt->xp_fd, SOCK_DGRAM));

	/* Both functions Ganesha has set a moment ago. */
	if (kind && xprt->xp_refcnt > 0 && gsh_defined_by(ends, GSH_SONAME) &&
	    gsh_defined_by(takes, GSH_SONAME))
		return NULL;
	return "the ntirpc in use calls itself " COMPAT_NTIRPC ", but its "
	       "structures differ from those of the packaged one: it was built differently";
}
