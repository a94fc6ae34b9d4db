/* SPDX-License-Identifier: BSD-3-Clause */
/* admits.h says what this is. */
#include "ganesha/admits.h"

#include "ganesha/config/config.h"

struct perms {
	uint32_t options, set;
};

/* What EXPORT_DEFAULTS is read into. */
struct defaults {
	struct perms own, client; /* the CLIENT that is read */
	bool admits;
};

bool gr_admits_is_set(const void *self, const struct gsh_config_item *i)
{
	const uint32_t *set =
		(const void *)((const char *)self + i->u.lst.set_off);

	return *set & i->u.lst.mask;
}

bool gr_admits_any(const void *self, const struct gsh_config_item *i)
{
	const uint32_t *options = (const void *)((const char *)self + i->off);

	return gr_admits_is_set(self, i) && *options & i->u.lst.mask;
}

static bool admits(const struct perms *p)
{
	return p->set && p->options;
}

/* Of the block around it, of this one, and of its end. */
static void *in_place(void *link_mem, void *self)
{
	if (!link_mem)
		return self;
	return self ? NULL : link_mem;
}

static int client_read(void *node, void *link_mem, void *self,
		       struct gsh_config_errors *e)
{
	struct defaults *d =
		(void *)((char *)link_mem - offsetof(struct defaults, client));

	d->admits |= admits(self);
	d->client = (struct perms){ .set = 0 };
	return 0;
}

/* Ganesha's item, to be read into @place. False: it has none. */
static bool take(const struct gsh_config_item *theirs, size_t place,
		 struct gsh_config_item to[2])
{
	const struct gsh_config_item *i = gr_config_find(theirs, "Access_Type");

	if (!i)
		return false;
	to[0] = *i;
	to[0].off = place + offsetof(struct perms, options);
	to[0].u.lst.set_off = place + offsetof(struct perms, set);
	to[1] = (struct gsh_config_item){ .name = NULL };
	return true;
}

struct gr_admits gr_admits_by_default(const struct gsh *g,
				      struct gsh_config *tree,
				      const struct gsh_config_block *theirs)
{
	const struct gsh_config_item *params = theirs->desc.u.blk.params;
	const struct gsh_config_item *client = gr_config_find(params, "Client");
	struct gsh_config_item items[3] = { 0 }, in_client[2];
	struct gsh_config_block b = *theirs;
	struct defaults d = { .admits = false };
	struct gsh_config_errors e;

	if (!take(params, offsetof(struct defaults, own), items))
		return (struct gr_admits){ .all = false };
	if (client && client->type == GSH_CONFIG_BLOCK &&
	    take(client->u.blk.params, 0, in_client)) {
		items[1] = *client;
		items[1].off = offsetof(struct defaults, client);
		items[1].u.blk.init = in_place;
		items[1].u.blk.params = in_client;
		items[1].u.blk.commit = client_read;
	}
	b.desc.u.blk.init = in_place;
	b.desc.u.blk.params = items;
	b.desc.u.blk.commit = gr_config_accept;
	if (!g->init_error_type(&e))
		return (struct gr_admits){ .all = false };
	g->load_config_from_parse(tree, &b, &d, true, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
	return (struct gr_admits){ admits(&d.own), d.admits };
}
