/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_items - the gr_config_items of the RDMA { } block, for the test of the manual
 *
 * A line for each: NAME TYPE, and where there are such LEAST LARGEST DEFAULT,
 * or the words and the defaults with commas.
 */
#include "ganesha/config.c" /* its table is its own */

#include <inttypes.h>

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
	for (const struct gsh_config_item *i = gr_config_items; i->name; i++) {
		printf("%s ", i->name);
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
		case GSH_CONFIG_UINT64:
			printf("number %" PRIu64 " %" PRIu64 " %" PRIu64,
			       i->u.u64.min, i->u.u64.max, i->u.u64.def);
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
			fputs("other", stdout);
		}
		putchar('\n');
	}
	return 0;
}
