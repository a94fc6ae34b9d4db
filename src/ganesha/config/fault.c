/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 64

/* Messages of the parser. */
struct messages {
	unsigned int n;
	char *line[MAX_LINES];
};

static void collect_line(char *msg, void *dest, struct gsh_config_errors *e)
{
	struct messages *said = dest;

	if (said->n < MAX_LINES)
		said->line[said->n] = strdup(msg);
	if (said->n < MAX_LINES && said->line[said->n])
		said->n++;
}

static void free_messages(struct messages *said)
{
	while (said->n)
		free(said->line[--said->n]);
}

static void print_tokens(FILE *f, const struct gsh_config_token *t)
{
	for (; t->token; t++)
		fprintf(f, " %s%s", t->token, t[1].token ? "," : "");
}

void gr_fault_allowed(FILE *f, const char *before,
		      const struct gsh_config_item *item)
{
	uint64_t min = 0, max = 0;

	switch (item->type) {
	case GSH_CONFIG_BOOL:
		fprintf(f, "%s%s is true or false", before, item->name);
		return;
	case GSH_CONFIG_TOKEN:
		fprintf(f, "%s%s is one of", before, item->name);
		print_tokens(f, item->u.lst.tokens);
		return;
	case GSH_CONFIG_LIST:
		fprintf(f, "%s%s is any of", before, item->name);
		print_tokens(f, item->u.lst.tokens);
		return;
	case GSH_CONFIG_STRING:
	case GSH_CONFIG_PATH:
		fprintf(f, "%s%s is text", before, item->name);
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
	fprintf(f, "%s%s is a number from %" PRIu64 " to %" PRIu64, before,
		item->name, min, max);
}

bool gr_location_parse(const char *message, struct gr_location *at)
{
	static const char begin[] = "Config File (", behind[] = "): ";
	const char *path = strstr(message, begin);
	const char *end = path ? strstr(path, behind) : NULL;
	const char *colon = end;

	if (!end)
		return false;
	path += sizeof(begin) - 1;
	while (colon > path && *colon != ':')
		colon--;
	if (colon == path || (size_t)(colon - path) >= sizeof(at->path))
		return false;
	memcpy(at->path, path, (size_t)(colon - path));
	at->path[colon - path] = '\0';
	at->line = (unsigned int)strtoul(colon + 1, NULL, 10);
	at->text = end + sizeof(behind) - 1;
	return true;
}

void gr_fault_keep(struct gr_config *cfg, const char *path, unsigned int line,
		   const char *text)
{
	if (*cfg->fault && cfg->fault_line <= line)
		return;
	cfg->fault_line = line;
	snprintf(cfg->fault, sizeof(cfg->fault), "%.200s:%u: %s", path, line,
		 text);
}

/* Log @line, with the values that @item may have. @item may be NULL. */
static void log_fault(const struct gsh *g, const char *line,
		      const struct gsh_config_item *item,
		      struct gsh_config_errors *e, struct gr_config *cfg)
{
	struct gr_location at;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	fputs(line, f);
	if (item)
		gr_fault_allowed(f, "; ", item);
	if (!fclose(f)) {
		if (item && gr_location_parse(text, &at))
			gr_fault_keep(cfg, at.path, at.line, at.text);
		g->config_errs_to_log(text, NULL, e);
	}
	free(text);
}

/* Read @item of the block by itself, and collect_line in @said what the parser says. Returns true if it
 * has a fault. */
static bool read_alone(const struct gsh *g, struct gsh_config *tree,
		       const struct gsh_config_block *block,
		       const struct gsh_config_item *item,
		       struct messages *said, struct gsh_config_errors *e)
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
	g->report_config_errors(e, said, collect_line);
	*e = after;
	return found < 0 || e->errors || e->invalid;
}

static bool has_line(const struct messages *lines, const char *line)
{
	for (unsigned int i = 0; i < lines->n; i++) {
		if (!strcmp(lines->line[i], line))
			return true;
	}
	return false;
}

/* Returns true for lines that only count errors. */
static bool is_summary(const char *line)
{
	static const char *const summaries[] = {
		" errors while processing ", ": Errors processing block ",
		" errors found block ", " validation errors in block "
	};

	for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++) {
		if (strstr(line, summaries[i]))
			return true;
	}
	return false;
}

void gr_fault_report(const struct gsh *g, struct gsh_config *tree,
		     const struct gsh_config_block *block,
		     struct gsh_config_errors *e, struct gsh_config_item *good,
		     struct gr_config *cfg)
{
	struct messages all = { 0 }, told = { 0 };
	struct gsh_config_errors whole = *e;

	g->report_config_errors(e, &all, collect_line);
	for (const struct gsh_config_item *item = block->desc.u.blk.params;
	     item->name; item++) {
		struct messages said = { 0 };
		struct gsh_config_errors alone;

		if (!read_alone(g, tree, block, item, &said, &alone)) {
			*good++ = *item;
		} else {
			for (unsigned int i = 0; i < said.n; i++) {
				/* All other items are unknown here. */
				if (is_summary(said.line[i]) ||
				    strstr(said.line[i], "Unknown parameter") ||
				    has_line(&told, said.line[i]))
					continue;
				log_fault(g, said.line[i], item, &alone, cfg);
				collect_line(said.line[i], &told, NULL);
			}
		}
		free_messages(&said);
	}
	for (unsigned int i = 0; i < all.n; i++) {
		if (!is_summary(all.line[i]) && !has_line(&told, all.line[i]))
			log_fault(g, all.line[i], NULL, &whole, cfg);
	}
	good->name = NULL;
	free_messages(&all);
	free_messages(&told);
}
