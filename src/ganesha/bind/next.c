/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * next - the functions that would be called without this library
 *
 * Threads: that which loads this library.
 */
#include "ganesha/bind/next.h"

#include <dlfcn.h>

#include "ganesha/bind/gsh.h"

/*
 * In a Ganesha of another release, the ntirpc that this library was built with
 * has come along and may be found before the one that Ganesha uses. Then only
 * what Ganesha's own library was linked to will do. NULL: it is the right one,
 * or no Ganesha at all.
 */
void *gr_next_library(void)
{
	void *theirs = dlsym(RTLD_NEXT, "nfs_set_param_from_conf");
	Dl_info info;

	if (!theirs || gsh_defined_by(theirs, GSH_SONAME) ||
	    !dladdr(theirs, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* By version where there is one, else whatever would be called without us. */
void *gr_next_find(void *library, const char *name)
{
	void *f = library ? dlsym(library, name) :
			    dlvsym(RTLD_NEXT, name, NTIRPC_NODE);

	return f ? f : dlsym(RTLD_NEXT, name);
}
