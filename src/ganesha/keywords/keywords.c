/* SPDX-License-Identifier: BSD-3-Clause */
/* keywords.h says what this is. */
#include "ganesha/keywords/keywords.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BLOCKS 16
/* Ganesha's own description of a block ends here. */
#define BLOCK_SIZE                                                            \
	(COMPAT_RELEASE >= 1500 ? offsetof(struct gsh_config_block, behind) : \
				  offsetof(struct gsh_config_block, memory))

static void *keep(void *link_mem, void *self)
{
	return self;
}

static int ignore_word(const char *token, int term,
		       struct gsh_config_item *item, void *param, void *node,
		       struct gsh_config_errors *e)
{
	return 0;
}

#define WORD(nm)                                                    \
	{                                                           \
		.name = (nm), .type = GSH_CONFIG_PROC,              \
		.u.proc = { .init = keep, .handler = ignore_word }, \
	}

/* What Ganesha's own RDMA adds to NFS_Core_Param. */
static const struct gsh_config_item core_words[] = {
	WORD("NFS_RDMA_Port"),
	WORD("NFS_RDMA_Protocol_Versions"),
	WORD("RPC_Max_RDMA_Connections"),
	WORD("MaxRPCRdmaCredits"),
	{ .name = NULL },
};

static const struct gsh_config_token protocol_words[] = {
	{ "nfsrdma", 0 },
	{ "rpcrdma", 0 },
	{ NULL, 0 },
};

static const struct gsh_config_token transport_words[] = {
	{ "RDMA", GR_EXPORT_RDMA },
	{ NULL, 0 },
};

static const struct {
	const char *block;
	const char *list; /* item of it, or of a block in it */
	const struct gsh_config_token *tokens; /* which that gets */
	const struct gsh_config_item *items; /* which the block gets */
} additions[] = {
	{ "NFS_Core_Param", "Protocols", protocol_words, core_words },
	{ "NFS_Core_Param", "NFS_Protocols", protocol_words, NULL },
	{ "EXPORT", "Transports", transport_words, NULL },
	{ "EXPORT_DEFAULTS", "Transports", transport_words, NULL },
	{ "PSEUDOFS", "Transports", transport_words, NULL },
};
#define NADDITIONS (sizeof(additions) / sizeof(additions[0]))

static size_t count_items(const struct gsh_config_item *items)
{
	size_t n = 0;

	while (items && items[n].name)
		n++;
	return n;
}

static size_t count_tokens(const struct gsh_config_token *tokens)
{
	size_t n = 0;

	while (tokens[n].token)
		n++;
	return n;
}

static bool has_token(const struct gsh_config_token *tokens, const char *token)
{
	for (; tokens->token; tokens++)
		if (!strcasecmp(tokens->token, token))
			return true;
	return false;
}

static bool has_item(const struct gsh_config_item *items, const char *name)
{
	for (; items->name; items++)
		if (!strcasecmp(items->name, name))
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
	size_t n = count_tokens(tokens);
	struct gsh_config_token *all =
		calloc(n + count_tokens(more) + 1, sizeof(*all));

	if (!all)
		return NULL;
	memcpy(all, tokens, n * sizeof(*all));
	for (; more->token; more++)
		if (!has_token(tokens, more->token))
			all[n++] = *more;
	return all;
}

/* Returns @items with the additions for @block, or NULL without memory. */
static struct gsh_config_item *add_items(const char *block,
					 const struct gsh_config_item *items)
{
	size_t n = count_items(items);
	struct gsh_config_item *all =
		calloc(n + count_items(core_words) + 1, sizeof(*all));

	if (!all)
		return NULL;
	memcpy(all, items, n * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		if (all[i].type == GSH_CONFIG_BLOCK && all[i].u.blk.params) {
			all[i].u.blk.params =
				add_items(block, all[i].u.blk.params);
			if (!all[i].u.blk.params)
				return NULL;
		}
		for (size_t a = 0; a < NADDITIONS; a++) {
			if (all[i].type != GSH_CONFIG_LIST ||
			    strcasecmp(additions[a].block, block) ||
			    strcasecmp(additions[a].list, all[i].name))
				continue;
			all[i].u.lst.tokens = add_tokens(all[i].u.lst.tokens,
							 additions[a].tokens);
			if (!all[i].u.lst.tokens)
				return NULL;
		}
	}
	return all;
}

/* Append to @all, which has room, the items for @block itself that it lacks. */
static void append_items(const char *block, struct gsh_config_item *all)
{
	size_t n = count_items(all);

	for (size_t a = 0; a < NADDITIONS; a++) {
		const struct gsh_config_item *more = additions[a].items;

		if (strcasecmp(additions[a].block, block))
			continue;
		for (; more && more->name; more++)
			if (!has_item(all, more->name))
				all[n++] = *more;
	}
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
	/* Ganesha has one for each purpose, and reads by each many times. */
	static struct {
		struct gsh_config_block of, with;
	} known[MAX_BLOCKS];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static size_t nknown;
	const struct gsh_config_block *with = block;
	struct gsh_config_item *items;
	size_t i = 0;

	if (!block->desc.name || !is_extended(block->desc.name))
		return block;
	pthread_mutex_lock(&lock);
	while (i < nknown && memcmp(&known[i].of, block, BLOCK_SIZE))
		i++;
	if (i < nknown) {
		with = &known[i].with;
	} else if (nknown < MAX_BLOCKS) {
		items = add_items(block->desc.name, block->desc.u.blk.params);
		if (items) {
			append_items(block->desc.name, items);
			memcpy(&known[nknown].of, block, BLOCK_SIZE);
			memcpy(&known[nknown].with, block, BLOCK_SIZE);
			known[nknown].with.desc.u.blk.params = items;
			with = &known[nknown++].with;
		}
	}
	pthread_mutex_unlock(&lock);
	return with;
}
