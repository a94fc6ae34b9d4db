/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block - read a block of ganesha.conf with Ganesha's parser
 *
 * Context: the thread of Ganesha's that reads the file.
 */
#ifndef RPCRDMA_GANESHA_BLOCK_H
#define RPCRDMA_GANESHA_BLOCK_H

#include "ganesha/bind/gsh.h"

typedef int gr_commit_fn(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e);
/* The handler of an item of GSH_CONFIG_PROC: store @token at @param. Returns the number of
 * errors, about which it has complained. */
typedef int gr_handler_fn(const char *token, int term,
			  struct gsh_config_item *item, void *param, void *node,
			  struct gsh_config_errors *e);
/* One of Ganesha's functions load_config_from_parse() and load_config_from_node(), which
 * takes a node of the tree. */
typedef int gr_load_fn(struct gsh_config *tree,
		       const struct gsh_config_block *block, void *param,
		       bool unique, struct gsh_config_errors *e);

/* Returns a block that the file may have once. Its @items are read into the @param of
 * load_config_from_parse(). */
struct gsh_config_block gr_block(const char *name,
				 const struct gsh_config_item *items,
				 gr_commit_fn *commit);
/*
 * Read the @items of a block @name that Ganesha reads as well, which reports the faults.
 * @load finds it in @tree, which may be NULL. The file may have the block once, or, with a
 * @commit, many times, each of which is read into the same @param.
 */
void gr_block_peek(const struct gsh *g, gr_load_fn *load,
		   struct gsh_config *tree, const char *name,
		   const struct gsh_config_item *items, gr_commit_fn *commit,
		   void *param);

/* The init of a block: read it into the memory that is given. */
void *gr_block_init(void *link_mem, void *self);
/* A commit that does nothing. */
gr_commit_fn gr_block_accept;
/* An init of an item that leaves the value as it is. */
void *gr_block_keep(void *link_mem, void *self);
/* A logger that drops every line. */
void gr_block_silent(char *msg, void *dest, struct gsh_config_errors *e);
/* Add a line to @e in Ganesha's form, with the file and line of @node, which may be NULL. */
__attribute__((format(printf, 3, 4))) void
gr_block_complain(const void *node, struct gsh_config_errors *e,
		  const char *format, ...);

#endif /* RPCRDMA_GANESHA_BLOCK_H */
