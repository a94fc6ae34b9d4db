/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_items - the settings of the blocks RDMA and RDMA_Debug, for the test of
 * the manual
 *
 * A line for each: BLOCK NAME TYPE, and where there are such LEAST LARGEST
 * DEFAULT, or the words and the defaults with commas.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ganesha/config/setting.h"

static void put_size(uint64_t size)
{
	char text[32];

	gr_size_text(size, text, sizeof(text));
	printf(" %s", text);
}

static void put_words(const struct gsh_config_item *i, bool all)
{
	const char *comma = " ";

	for (const struct gsh_config_token *t = i->u.lst.tokens; t->token;
	     t++) {
		bool is_default = i->type == GSH_CONFIG_LIST && t->value ?
					  t->value & i->u.lst.def :
					  t->value == i->u.lst.def;

		if (!all && !is_default)
			continue;
		printf("%s%s", comma, t->token);
		comma = ",";
	}
}

int main(void)
{
	static const char *const blocks[] = { "RDMA", "RDMA_Debug", NULL };

	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		const struct gsh_config_item *i = &s->item;

		if (s->hidden || !blocks[s->block])
			continue;
		printf("%s %s ", blocks[s->block], i->name);
		switch (i->type) {
		case GSH_CONFIG_BOOL:
			printf("switch %s", i->u.b ? "true" : "false");
			break;
		case GSH_CONFIG_UINT16:
			printf("number %u %u %u", i->u.u16.min, i->u.u16.max,
			       i->u.u16.def);
			break;
		case GSH_CONFIG_UINT32:
			printf("number %" PRIu32 " %" PRIu32 " %" PRIu32,
			       i->u.u32.min, i->u.u32.max, i->u.u32.def);
			break;
		case GSH_CONFIG_TOKEN:
		case GSH_CONFIG_LIST:
			fputs(i->type == GSH_CONFIG_TOKEN ? "one" : "any",
			      stdout);
			put_words(i, true);
			put_words(i, false);
			break;
		case GSH_CONFIG_STRING:
			printf("text %d %s", i->u.str.maxsize, i->u.str.def);
			break;
		case GSH_CONFIG_PATH:
			printf("path %d %s", i->u.str.maxsize, i->u.str.def);
			break;
		default:
			fputs(s->step ? "size" : "other", stdout);
			if (!s->step)
				break;
			put_size(s->min);
			put_size(s->max);
			put_size(s->def);
		}
		putchar('\n');
	}
	return 0;
}
