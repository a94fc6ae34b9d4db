/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_faults - what is wrong with a block, a line for each fault
 *
 * Threads: Ganesha's main thread only, during its start.
 *
 * Ganesha's parser says where a wrong value is, but neither of which item it is
 * nor what would be right, and four lines where one is enough. So each item of
 * a block that was refused is read once more, alone: if that fails, it is at
 * fault, and what is allowed is known from its description.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha/config/config.h"
#include "ganesha/config/place.h"

#define LINES 64

struct said {
	unsigned int n;
	char *line[LINES];
};

static void listen_to(char *msg, void *dest, struct gsh_config_errors *e)
{
	struct said *said = dest;

	if (said->n < LINES)
		said->line[said->n] = strdup(msg);
	if (said->n < LINES && said->line[said->n])
		said->n++;
}

static void forget(struct said *said)
{
	while (said->n)
		free(said->line[--said->n]);
}

static void put_words(FILE *f, const struct gsh_config_token *t)
{
	for (; t->token; t++)
		fprintf(f, " %s%s", t->token, t[1].token ? "," : "");
}

/* What the item may be. Items with a handler of their own have said it. */
static void put_allowed(FILE *f, const struct gsh_config_item *item)
{
	uint64_t min = 0, max = 0;

	switch (item->type) {
	case GSH_CONFIG_BOOL:
		fprintf(f, "; %s is true or false", item->name);
		return;
	case GSH_CONFIG_TOKEN:
		fprintf(f, "; %s is one of", item->name);
		put_words(f, item->u.lst.tokens);
		return;
	case GSH_CONFIG_LIST:
		fprintf(f, "; %s is any of", item->name);
		put_words(f, item->u.lst.tokens);
		return;
	case GSH_CONFIG_STRING:
	case GSH_CONFIG_PATH:
		fprintf(f, "; %s is text", item->name);
		return;
	case GSH_CONFIG_UINT16:
		min = item->u.u16.min;
		max = item->u.u16.max;
		break;
	case GSH_CONFIG_UINT32:
		min = item->u.u32.min;
		max = item->u.u32.max;
		break;
	default:
		return;
	}
	fprintf(f, "; %s is a number from %" PRIu64 " to %" PRIu64, item->name,
		min, max);
}

void gr_config_first(struct gr_config *cfg, const char *path, unsigned int line,
		     const char *text)
{
	if (*cfg->fault && cfg->fault_line <= line)
		return;
	cfg->fault_line = line;
	snprintf(cfg->fault, sizeof(cfg->fault), "%.200s:%u: %s", path, line,
		 text);
}

/* @item: that of the fault; NULL: of none. */
static void tell(const struct gsh *g, const char *line,
		 const struct gsh_config_item *item,
		 struct gsh_config_errors *e, struct gr_config *cfg)
{
	struct gr_place at;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	fputs(line, f);
	if (item)
		put_allowed(f, item);
	if (!fclose(f)) {
		if (item && gr_place_read(text, &at))
			gr_config_first(cfg, at.path, at.line, at.text);
		g->config_errs_to_log(text, NULL, e);
	}
	free(text);
}

/* What the library says of @item alone; false: there is no fault in it. */
static bool read_alone(const struct gsh *g, struct gsh_config *tree,
		       const struct gsh_config_block *block,
		       const struct gsh_config_item *item, struct said *said,
		       struct gsh_config_errors *e)
{
	struct gsh_config_item only[] = { *item, { .name = NULL } };
	struct gsh_config_block b = *block;
	struct gsh_config_errors after;
	struct gr_config cfg;
	int found;

	b.desc.u.blk.params = only;
	b.desc.u.blk.commit = gr_block_accept;
	memset(&cfg, 0, sizeof(cfg));
	if (!g->init_error_type(e))
		return false;
	found = g->load_config_from_parse(tree, &b, &cfg, true, e);
	after = *e;
	g->report_config_errors(e, said, listen_to);
	*e = after;
	return found < 0 || e->errors || e->invalid;
}

/* Has one of @lines been told already, as it stands? */
static bool among(const struct said *lines, const char *line)
{
	for (unsigned int i = 0; i < lines->n; i++) {
		if (!strcmp(lines->line[i], line))
			return true;
	}
	return false;
}

/* Sums of what has been told: of errors, not of faults. */
static bool is_sum(const char *line)
{
	static const char *const sums[] = { " errors while processing ",
					    ": Errors processing block ",
					    " errors found block ",
					    " validation errors in block " };

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		if (strstr(line, sums[i]))
			return true;
	}
	return false;
}

void gr_config_faults(const struct gsh *g, struct gsh_config *tree,
		      const struct gsh_config_block *block,
		      struct gsh_config_errors *e, struct gsh_config_item *good,
		      struct gr_config *cfg)
{
	struct said all = { 0 }, told = { 0 };
	struct gsh_config_errors whole = *e;

	g->report_config_errors(e, &all, listen_to);
	for (const struct gsh_config_item *item = block->desc.u.blk.params;
	     item->name; item++) {
		struct said said = { 0 };
		struct gsh_config_errors alone;

		if (!read_alone(g, tree, block, item, &said, &alone)) {
			*good++ = *item;
		} else {
			for (unsigned int i = 0; i < said.n; i++) {
				/* Of others it says that it knows them not. */
				if (is_sum(said.line[i]) ||
				    strstr(said.line[i], "Unknown parameter") ||
				    among(&told, said.line[i]))
					continue;
				tell(g, said.line[i], item, &alone, cfg);
				listen_to(said.line[i], &told, NULL);
			}
		}
		forget(&said);
	}
	for (unsigned int i = 0; i < all.n; i++) {
		if (!is_sum(all.line[i]) && !among(&told, all.line[i]))
			tell(g, all.line[i], NULL, &whole, cfg);
	}
	good->name = NULL;
	forget(&all);
	forget(&told);
}
