/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/keywords/keywords.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BLOCKS 16
/* The most that a list or a block gets. */
#define MAX_TOKENS 2
#define MAX_ITEMS 4
/* Ganesha's own description of a block ends here. */
#define BLOCK_SIZE                                                            \
	(COMPAT_RELEASE >= 1500 ? offsetof(struct gsh_config_block, behind) : \
				  offsetof(struct gsh_config_block, memory))

static void *keep_value(void *link_mem, void *self)
{
	return self;
}

static int ignore_word(const char *token, int term,
		       struct gsh_config_item *item, void *param, void *node,
		       struct gsh_config_errors *e)
{
	return 0;
}

#define WORD(nm)                                                          \
	{                                                                 \
		.name = (nm), .type = GSH_CONFIG_PROC,                    \
		.u.proc = { .init = keep_value, .handler = ignore_word }, \
	}

/* What Ganesha's own RDMA adds to NFS_Core_Param. */
static const struct gsh_config_item core_words[MAX_ITEMS + 1] = {
	WORD("NFS_RDMA_Port"),
	WORD("NFS_RDMA_Protocol_Versions"),
	WORD("RPC_Max_RDMA_Connections"),
	WORD("MaxRPCRdmaCredits"),
	{ .name = NULL },
};
static const struct gsh_config_item *const no_items = &core_words[MAX_ITEMS];

static const struct gsh_config_token protocol_words[MAX_TOKENS + 1] = {
	{ "nfsrdma", 0 },
	{ "rpcrdma", 0 },
	{ NULL, 0 },
};

static const struct gsh_config_token transport_words[] = {
	{ "RDMA", GR_EXPORT_RDMA },
	{ NULL, 0 },
};

/* Lists that get more tokens: items of a block, or of a block in it. */
static const struct {
	const char *block, *list;
	const struct gsh_config_token *tokens;
} additions[] = {
	{ "NFS_Core_Param", "Protocols", protocol_words },
	{ "NFS_Core_Param", "NFS_Protocols", protocol_words },
	{ "EXPORT", "Transports", transport_words },
	{ "EXPORT_DEFAULTS", "Transports", transport_words },
	{ "PSEUDOFS", "Transports", transport_words },
};
#define NADDITIONS (sizeof(additions) / sizeof(additions[0]))

static bool has_token(const struct gsh_config_token *tokens, const char *token)
{
	for (; tokens->token; tokens++)
		if (!strcasecmp(tokens->token, token))
			return true;
	return false;
}

bool gr_keywords_is_rdma(const char *token)
{
	return has_token(protocol_words, token);
}

/* Returns @tokens followed by those of @more that it lacks, or NULL without memory. */
static const struct gsh_config_token *
add_tokens(const struct gsh_config_token *tokens,
	   const struct gsh_config_token *more)
{
	struct gsh_config_token *all;
	size_t n = 0;

	while (tokens[n].token)
		n++;
	all = calloc(n + MAX_TOKENS + 1, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, tokens, n * sizeof(*all));
	for (; more->token; more++)
		if (!has_token(tokens, more->token))
			all[n++] = *more;
	return all;
}

static bool has_item(const struct gsh_config_item *items, const char *name)
{
	for (; items->name; items++)
		if (!strcasecmp(items->name, name))
			return true;
	return false;
}

/* Returns the @items of @block followed by those of @more that it lacks, with the additions
 * to its lists; or NULL without memory. */
static const struct gsh_config_item *
add_items(const char *block, const struct gsh_config_item *items,
	  const struct gsh_config_item *more)
{
	struct gsh_config_item *all;
	size_t n = 0;

	while (items[n].name)
		n++;
	all = calloc(n + MAX_ITEMS + 1, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, items, n * sizeof(*all));
	for (; more->name; more++)
		if (!has_item(items, more->name))
			all[n++] = *more;
	for (struct gsh_config_item *i = all; i->name; i++) {
		if (i->type == GSH_CONFIG_BLOCK && i->u.blk.params) {
			i->u.blk.params =
				add_items(block, i->u.blk.params, no_items);
			if (!i->u.blk.params)
				return NULL;
		}
		for (size_t a = 0; a < NADDITIONS; a++) {
			if (i->type != GSH_CONFIG_LIST ||
			    strcasecmp(additions[a].block, block) ||
			    strcasecmp(additions[a].list, i->name))
				continue;
			i->u.lst.tokens = add_tokens(i->u.lst.tokens,
						     additions[a].tokens);
			if (!i->u.lst.tokens)
				return NULL;
		}
	}
	return all;
}

static bool is_extended(const char *name)
{
	for (size_t a = 0; a < NADDITIONS; a++)
		if (!strcasecmp(additions[a].block, name))
			return true;
	return false;
}

const struct gsh_config_block *
gr_keywords_extend(const struct gsh_config_block *block)
{
	/* Ganesha has few descriptions, and reads by each many times. */
	static struct {
		struct gsh_config_block of, with;
	} known[MAX_BLOCKS];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static size_t nknown;
	const struct gsh_config_block *with = block;
	const struct gsh_config_item *items;
	size_t i = 0;

	if (!block->desc.name || !is_extended(block->desc.name))
		return block;
	pthread_mutex_lock(&lock);
	while (i < nknown && memcmp(&known[i].of, block, BLOCK_SIZE))
		i++;
	if (i < nknown) {
		with = &known[i].with;
	} else if (nknown < MAX_BLOCKS) {
		items = add_items(block->desc.name, block->desc.u.blk.params,
				  strcasecmp(block->desc.name,
					     "NFS_Core_Param") ?
					  no_items :
					  core_words);
		if (items) {
			memcpy(&known[nknown].of, block, BLOCK_SIZE);
			memcpy(&known[nknown].with, block, BLOCK_SIZE);
			known[nknown].with.desc.u.blk.params = items;
			with = &known[nknown++].with;
		}
	}
	pthread_mutex_unlock(&lock);
	return with;
}
