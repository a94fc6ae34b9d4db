/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setting - a table of the settings of the blocks RDMA and RDMA_Debug
 *
 * A row has all that the code knows of a setting: how it is read, its range and default,
 * where its value is kept, and how it is printed. ganesha-rdma-config(8) describes it;
 * manual.test compares the first line of that with the row.
 *
 * Context: Ganesha's main thread.
 */
#ifndef RPCRDMA_GANESHA_SETTING_H
#define RPCRDMA_GANESHA_SETTING_H

#include <stdio.h>

#include "ganesha/bind/block.h"

struct gr_config;

enum gr_setting_block {
	GR_RDMA,
	GR_RDMA_DEBUG, /* version 0.1 had them in RDMA, where they still work */
	GR_OLD, /* in RDMA, of version 0.1 only */
};

struct gr_setting {
	/* What Ganesha's parser is given; off is in struct gr_config. */
	struct gsh_config_item item;
	enum gr_setting_block block;
	size_t width; /* of the value, in bytes */
	/* A second value that is read from the setting before it. Not printed. */
	bool hidden;
	/* It can change while the server runs, see serve/admin.h; by_file: only when the file is
	 * read again, because the outcome comes later. */
	bool changeable, by_file;

	/* For a size, a type that Ganesha's parser lacks. step is 0 for others. */
	uint64_t min, max, def;
	unsigned int step;

	/* The value is seconds: the member of struct gr_config that has milliseconds. 0: none. */
	size_t milliseconds;
	/* The value is a switch: the member that has the opposite. 0: none. */
	size_t opposite;

	/* Print the value. NULL: the type of the item says how. */
	void (*print)(FILE *f, const void *value);
	/* What to do about the setting in the RDMA block, if it is of version 0.1. */
	const char *instead;
};

/* Those of a block are next to each other. The last row has no name. */
extern const struct gr_setting gr_settings[];

/* Returns the setting of this name, in whichever block, or NULL. */
const struct gr_setting *gr_setting_lookup(const char *name);
/* Returns the value of @s in @cfg. */
const void *gr_setting_value(const struct gr_setting *s,
			     const struct gr_config *cfg);
/* Returns true if the value differs from that of a file without the setting. @s is of
 * GR_RDMA_DEBUG. */
bool gr_setting_is_changed(const struct gr_setting *s,
			   const struct gr_config *cfg);

/* Set @text to the value as the file has it, cut off at its end; to "not set" if the file would
 * not have the setting. */
#define GR_SETTING_ROOM 256
void gr_setting_text(const struct gr_setting *s, const struct gr_config *cfg,
		     char text[GR_SETTING_ROOM]);

/* ---- value.c: types that Ganesha's parser does not know ----------------- */

/* A size such as "4096" or "64K". The row of the setting has the range. */
gr_handler_fn gr_size_read;
void gr_size_set(void *value, size_t width, uint64_t size);
uint64_t gr_size_value(const void *value, size_t width);
void gr_size_print(FILE *f, const void *value, size_t width);
/* Format a size as it may be given: "4K", "1000". @room: 24. */
void gr_size_text(uint64_t size, char *text, size_t room);
/* Bind_Addr, a struct gr_addrs. */
void *gr_addrs_init(void *link_mem, void *self);
gr_handler_fn gr_addrs_read;
void gr_addrs_print(FILE *f, const void *value);
/* Allow, a struct rt_allow. */
void *gr_allow_init(void *link_mem, void *self);
gr_handler_fn gr_allow_read;
void gr_allow_print(FILE *f, const void *value);
/* Device, a struct gr_devices. */
void *gr_devices_init(void *link_mem, void *self);
gr_handler_fn gr_devices_read;
void gr_devices_print(FILE *f, const void *value);
/* CRC, an enum fab_crc in 32 bits. */
void *gr_crc_init(void *link_mem, void *self);
gr_handler_fn gr_crc_read;
void gr_crc_print(FILE *f, const void *value);
/* Shared_Receives, a struct gr_shared. */
void *gr_shared_init(void *link_mem, void *self);
gr_handler_fn gr_shared_read;
void gr_shared_print(FILE *f, const void *value);
/* Set a bool to the switch that is read. */
gr_handler_fn gr_switch_read;
/* Set a bool to true, whatever is read. */
gr_handler_fn gr_presence_read;

#endif /* RPCRDMA_GANESHA_SETTING_H */
