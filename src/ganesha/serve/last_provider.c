/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/last_provider.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ganesha/bind/block.h"
#include "rpcrdma/fabric.h"

#define FILE_NAME "rdma-provider"

static int store_root(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, GR_ROOT_ROOM, "%s", token);
	return 0;
}

void gr_recovery_root(const struct gsh *g, struct gsh_config *tree,
		      char root[GR_ROOT_ROOM])
{
	static const struct gsh_config_item items[] = {
		{ .name = "RecoveryRoot",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_block_keep, .handler = store_root } },
		{ .name = NULL },
	};

	snprintf(root, GR_ROOT_ROOM, "/var/lib/nfs/ganesha");
	gr_block_peek(g, g->load_config_from_parse, tree, "NFSv4", items, NULL,
		      root);
}

/* Returns the name of a provider that is built in, or NULL. */
static const char *read_name(const char *path)
{
	char text[16] = "";
	const struct fab_ops *ops;
	FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	ops = fab_provider(text);
	return ops ? ops->name : NULL;
}

/* Returns 0 or an errno. A reader sees the old file or the new one. */
static int write_name(const char *path, const char *name)
{
	char new[GR_ROOT_ROOM + 32];
	int err = 0;
	FILE *f;

	snprintf(new, sizeof(new), "%s.new", path);
	unlink(new);
	f = fopen(new, "wex");
	if (!f)
		return errno;
	/* The server has no umask. */
	if (fchmod(fileno(f), 0600) || fprintf(f, "%s\n", name) < 0)
		err = errno;
	if (fclose(f) && !err)
		err = errno;
	if (!err && rename(new, path))
		err = errno;
	if (err)
		unlink(new);
	return err;
}

const char *gr_last_provider(const struct gsh *g, const char *root,
			     const char *provider, bool chosen)
{
	char path[GR_ROOT_ROOM + 16];
	const char *last;
	int err;

	snprintf(path, sizeof(path), "%s/" FILE_NAME, root);
	last = read_name(path);
	if (last && !strcmp(last, provider))
		return NULL;
	if (last && chosen)
		gsh_log(g, GSH_WARN,
			"Provider = auto: using %s, where the last start used %s: clients of that may not be able to connect",
			provider, last);
	err = write_name(path, provider);
	if (err && chosen)
		gsh_log(g, GSH_EVENT,
			"Provider = auto: %s cannot be written (%s): the next start will not notice another choice",
			path, strerror(err));
	return chosen ? last : NULL;
}
