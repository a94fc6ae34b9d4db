/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha - the parts of Ganesha's binary interface that are used
 *
 * Distributions package libganesha_nfsd without its headers. So the layouts, numbers and
 * prototypes that are needed are declared here, from the public source of releases 4.3 to
 * 15.2 for x86-64 and aarch64 (LP64). ntirpc.h and ganesha_*.h have what differs between
 * these. At run time gsh_bind() checks the release, and gsh_check_parser() the parser;
 * tests/unit/ganesha_facts.c checks the rest. Nothing outside of this folder depends on
 * Ganesha's internals.
 */
#ifndef RPCRDMA_COMPAT_GANESHA_H
#define RPCRDMA_COMPAT_GANESHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>
#include <time.h>

#include "compat/ntirpc.h"

#define GSH_VERSION COMPAT_GANESHA

/* ---- Log -------------------------------------------------------------- */

enum gsh_level {
	GSH_FATAL = 1, /* the server ends, status 2 */
	GSH_MAJ,
	GSH_CRIT,
	GSH_WARN,
	GSH_EVENT,
	GSH_INFO,
	GSH_DEBUG,
	GSH_MID_DEBUG,
	GSH_FULL_DEBUG,
};

enum gsh_component {
	GSH_RPC = COMPAT_LOG_COMPONENT,
};

/* For create_log_facility(): no header before a message. */
#define GSH_HEADERS_NONE 0

typedef void gsh_log_fn(int component, const char *file, int line,
			const char *function, int level, const char *format,
			...) __attribute__((format(printf, 6, 7)));

/* ---- Exports, FSALs and op_ctx ------------------------------------------ */

/* An FSAL's export, as far as ganesha/quirks/context.c needs it for 4.3. */
struct gsh_fsal_export {
	void *before[35];
	void (*free_state)(struct gsh_fsal_export *export, void *state);
	void *behind[64];
};
_Static_assert(offsetof(struct gsh_fsal_export, free_state) == 280, "Ganesha");

struct gsh_config_errors;

struct gsh_fsal_status {
	int major, minor;
};

struct gsh_fsal_module {
	void *lists[8];
	char *path, *name;
	void *library;
	void *unload, *configure[2 + COMPAT_FSAL_UPDATES];
	struct gsh_fsal_status (*create_export)(struct gsh_fsal_module *m,
						void *node,
						struct gsh_config_errors *e,
						const void *up);
};
_Static_assert(offsetof(struct gsh_fsal_module, name) == 72, "Ganesha");
_Static_assert(offsetof(struct gsh_fsal_module, create_export) ==
		       112 + 8 * COMPAT_FSAL_UPDATES,
	       "Ganesha");

/* op_ctx. */
struct gsh_context {
	struct gsh_context *saved;
	void *credentials[10];
	void *caller; /* the client's address; NULL: no Call is executed */
	void *clientid;
	uint32_t version, minor; /* of NFS */
	void *client[2];
	struct gsh_export *of; /* the export of the Call's file */
	void *paths[2];
	struct gsh_fsal_export *export;
	void *behind[32];
};
_Static_assert(offsetof(struct gsh_context, caller) == 88, "Ganesha");
_Static_assert(offsetof(struct gsh_context, minor) == 108, "Ganesha");
_Static_assert(offsetof(struct gsh_context, of) == 128, "Ganesha");
_Static_assert(offsetof(struct gsh_context, export) == 152, "Ganesha");

struct gsh_export {
	char before[COMPAT_EXPORT_ID];
	uint16_t id; /* Export_Id */
};

/* The beginning and the end of what fsal_read2() is to do (COMPAT_READ2). */
struct gsh_read {
	void (*release)(void *data); /* NULL: nothing to free */
	void *release_data;
	size_t done;
	void *plus; /* READ_PLUS: what is found */
	void *between[5];
	int count; /* of iov */
	size_t *room;
	struct iovec *iov; /* a NULL iov_base: memory is to be allocated */
};
_Static_assert(offsetof(struct gsh_read, plus) == 24, "Ganesha");
_Static_assert(offsetof(struct gsh_read, count) == 72, "Ganesha");
_Static_assert(offsetof(struct gsh_read, iov) == 88, "Ganesha");

/* ---- COMPOUND ----------------------------------------------------------- */

/* The results, to which their encoder gets a pointer. */
struct gsh_compound {
	uint32_t status;
	struct {
		uint32_t len;
		char *val;
	} tag;
	struct {
		uint32_t len;
		void *val;
	} operations;
	int32_t refs; /* of the Call, and of the slot that keeps them */
};
_Static_assert(offsetof(struct gsh_compound, tag.val) == 16, "Ganesha");
_Static_assert(offsetof(struct gsh_compound, refs) == 40, "Ganesha");

/* ---- Configuration ---------------------------------------------------- */

struct gsh_config; /* a parse tree */

struct gsh_config_errors {
	/* In the order of the library's bit fields. */
	bool scan : 1;
	bool parse : 1;
	bool init : 1;
	bool fsal : 1;
	bool cur_exp_create_err : 1;
	bool all_exp_create_err : 1;
	bool resource : 1;
	bool unique : 1;
	bool invalid : 1;
	bool missing : 1;
	bool validate : 1;
	bool exists : 1;
	bool internal : 1;
	bool bogus : 1;
	bool deprecated : 1;
	bool dispose : 1;
	uint32_t errors;
	char *diag_buf;
	size_t diag_buf_size;
	FILE *fp; /* messages, each ended by a form feed */
};
_Static_assert(sizeof(struct gsh_config_errors) == 32, "Ganesha");

/* Returns true if the tree can be used: nothing stops Ganesha's start, or an FSAL from loading. */
static inline bool gsh_harmless(const struct gsh_config_errors *e)
{
	return !(e->scan || e->parse || e->init || e->fsal || e->resource ||
		 e->internal || e->invalid || e->all_exp_create_err ||
		 e->missing || e->unique || e->exists || e->dispose);
}

_Static_assert(offsetof(struct gsh_config_errors, errors) == 4, "Ganesha");

/* The beginning of a node of the parse tree. */
struct gsh_config_node {
	void *links[4];
	const char *filename;
	int line;
};
_Static_assert(offsetof(struct gsh_config_node, line) == 40, "Ganesha");

/* A node that is a word of the file. The @node of an item's handler is one if its @word is the
 * token that the handler was given. */
struct gsh_config_word {
	struct gsh_config_node node;
	bool found;
	int kind;
#if COMPAT_WORD_HAS_PARENT
	void *parent;
#endif
	int type;
	const char *sign; /* "-" before a number; NULL: none */
	const char *word;
};
_Static_assert(offsetof(struct gsh_config_word, sign) ==
		       (COMPAT_WORD_HAS_PARENT ? 72 : 64),
	       "Ganesha");

enum gsh_config_type {
	GSH_CONFIG_UINT16 = 2,
	GSH_CONFIG_UINT32 = 4,
	GSH_CONFIG_STRING = 9,
	GSH_CONFIG_PATH = 10,
	GSH_CONFIG_LIST = 11,
	GSH_CONFIG_TOKEN = 13,
	GSH_CONFIG_BOOL = 14,
	GSH_CONFIG_BLOCK = 17,
	GSH_CONFIG_PROC = 18,
};

#define GSH_CONFIG_UNIQUE 0x001
#define GSH_CONFIG_RELAX 0x008 /* ignore unknown items */

/* Types of words. */
#define GSH_TERM_TRUE 7
#define GSH_TERM_FALSE 8

struct gsh_config_token {
	const char *token;
	uint32_t value;
};

struct gsh_config_item {
	const char *name;
	const char *altname;
	int type;
	int flags;
	union {
		bool b;
		struct {
			int minsize, maxsize;
			const char *def;
		} str;
		struct {
			uint16_t min, max, def;
			bool zero_ok;
		} u16;
		struct {
			uint32_t min, max, def;
			bool zero_ok;
		} u32;
		struct {
			uint64_t min, max, def;
			bool zero_ok;
			uint32_t bit;
			size_t set_off;
		} u64;
		struct {
			uint32_t def, mask;
			const struct gsh_config_token *tokens;
			size_t set_off;
		} lst;
		struct {
			void *(*init)(void *link_mem, void *self);
			const struct gsh_config_item *params;
			int (*commit)(void *node, void *link_mem, void *self,
				      struct gsh_config_errors *errors);
			void (*display)(const char *step, void *node,
					void *link_mem, void *self);
			bool (*check)(void *self,
				      struct gsh_config_errors *errors);
		} blk;
		struct {
			size_t set_off;
			void *(*init)(void *link_mem, void *self);
			int (*handler)(const char *token, int term,
				       struct gsh_config_item *item,
				       void *param, void *node,
				       struct gsh_config_errors *errors);
		} proc;
	} u;
	size_t off; /* of the value in the structure */
};
_Static_assert(offsetof(struct gsh_config_item, u) == 24, "Ganesha");
_Static_assert(offsetof(struct gsh_config_item, off) == 64, "Ganesha");
_Static_assert(sizeof(struct gsh_config_item) == 72, "Ganesha");

#define GSH_MEMORY_CONFIG 4

struct gsh_config_block {
	const char *dbus_interface_name;
	struct gsh_config_item desc;
	int memory; /* the part of Ganesha that accounts for it; since release 15 */
	void *behind[7]; /* of later releases; 0 is a default */
};
_Static_assert(offsetof(struct gsh_config_block, memory) == 80, "Ganesha");

/* ---- D-Bus, where Ganesha is built with it ------------------------------ */

struct DBusMessageIter;
struct DBusMessage;
struct DBusError;

struct gsh_dbus_arg {
	const char *name; /* NULL: the end of the list */
	const char *type;
	const char *direction; /* "in", "out" */
};

struct gsh_dbus_method {
	const char *name;
	/* @args is NULL without arguments. Returns false if @error is the answer. */
	bool (*method)(struct DBusMessageIter *args, struct DBusMessage *reply,
		       struct DBusError *error);
	struct gsh_dbus_arg args[];
};

struct gsh_dbus_interface {
	const char *name;
	bool signal_props;
	const void *const *props;
	/* All lists end with NULL. */
	const struct gsh_dbus_method *const *methods;
	const void *const *signals;
};

struct gsh_start_info;

#endif /* RPCRDMA_COMPAT_GANESHA_H */
