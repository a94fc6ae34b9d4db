/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/hook/rados.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ganesha/bind/block.h"

/* Returns true if @library is in the directory of Ganesha's own, or if that is unknown. */
static bool is_installed(const char *library)
{
	void *theirs = dlsym(RTLD_NEXT, "nfs_set_param_from_conf");
	char path[PATH_MAX];
	Dl_info info;
	const char *slash;

	if (!theirs || !dladdr(theirs, &info) || !info.dli_fname)
		return true;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return true;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname),
		 info.dli_fname, library);
	return !access(path, F_OK);
}

static bool check_library(const struct gsh *g, const char *what,
			  const char *library, const char *package, FILE *also)
{
	char text[512];

	if (is_installed(library))
		return true;
	snprintf(
		text, sizeof(text),
		"%s needs %s, which is not installed: install nfs-ganesha-ceph "
		"on Debian, %s from an RPM",
		what, library, package);
	gsh_log(g, GSH_CRIT, "%s", text);
	if (also)
		fprintf(also, "rpcrdma: %s\n", text);
	return false;
}

static int note_rados(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	*(bool *)param = !strncasecmp(token, "rados", 5);
	return 0;
}

/* Returns true if Ganesha keeps the state of clients in RADOS. */
static bool backend_is_rados(const struct gsh *g, struct gsh_config *tree)
{
	static const struct gsh_config_item items[] = {
		{ .name = "RecoveryBackend",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_block_keep, .handler = note_rados } },
		{ .name = NULL },
	};
	bool is_rados = false;

	gr_block_peek(g, g->load_config_from_parse, tree, "NFSv4", items, NULL,
		      &is_rados);
	return is_rados;
}

bool gr_rados_check(const struct gsh *g, struct gsh_config *tree,
		    const struct gsh_config_errors *e, FILE *also)
{
	bool good = true;

	if (e->fp && !fflush(e->fp) && e->diag_buf &&
	    strstr(e->diag_buf, "rados://"))
		good = check_library(g, "%url rados://",
				     "libganesha_rados_urls.so",
				     "nfs-ganesha-rados-urls", also);
	if (backend_is_rados(g, tree))
		good &= check_library(g, "RecoveryBackend in RADOS",
				      "libganesha_rados_recov.so",
				      "nfs-ganesha-rados-grace", also);
	return good;
}
