/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gsh - finding and checking the Ganesha around this library
 *
 * Threads: gsh_bind() is called once, by Ganesha's main thread during its
 * start; afterwards struct gsh is only read.
 */
#include "ganesha/gsh.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Is @function defined by the object file @soname? The file's real name is
 * compared: what was loaded may have been found by a link.
 */
static bool defined_by(const void *function, const char *soname)
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
	TAKE(g->init_error_type, "init_error_type");
	TAKE(g->report_config_errors, "report_config_errors");
	TAKE(g->config_errs_to_log, "config_errs_to_log");
	TAKE(g->load_config_from_parse, "load_config_from_parse");
	TAKE(g->dbus_register_path, "gsh_dbus_register_path");
	if (!g->log || !g->log_level || !g->init_error_type ||
	    !g->report_config_errors || !g->config_errs_to_log ||
	    !g->load_config_from_parse)
		return "this Ganesha lacks a function that release " GSH_VERSION
		       " has";

	/* The server library has no symbol versions: go by its name. */
	params = dlsym(RTLD_NEXT, "nfs_set_param_from_conf");
	if (!params || !defined_by(params, GSH_SONAME))
		return "this is not Ganesha " GSH_VERSION " (" GSH_SONAME
		       "), the release this was built for";

	params = dlvsym(RTLD_NEXT, "svc_init", NTIRPC_NODE);
	if (!params || params != dlsym(RTLD_NEXT, "svc_init"))
		return "the ntirpc in use has no interface " NTIRPC_NODE
		       ", for which this was built";
	return NULL;
}
