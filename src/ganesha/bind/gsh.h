/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gsh - find and check the Ganesha that this library is loaded into
 *
 * Neither Ganesha's library nor ntirpc is linked, because later releases have other names.
 * ntirpc's functions are bound when this library is loaded, Ganesha's are looked up.
 *
 * Context: Ganesha's main thread, during its start. Afterwards struct gsh is only read, by any
 * thread.
 */
#ifndef RPCRDMA_GANESHA_GSH_H
#define RPCRDMA_GANESHA_GSH_H

#include "compat/ganesha.h"

struct gsh {
	gsh_log_fn *log;
	int **log_level; /* component_log_level */
	/* Have @log called for messages of @max_level and worse. It must not log itself.
	 * Returns 0 for success. NULL where there is none. */
	int (*create_log_facility)(const char *name,
				   int (*log)(int headers, void *private,
					      int level, void *buffer,
					      char *component, char *message),
				   int max_level, int headers, void *private);
	int (*enable_log_facility)(const char *name);
	bool (*init_error_type)(struct gsh_config_errors *e);
	void (*report_config_errors)(
		struct gsh_config_errors *e, void *dest,
		void (*logger)(char *, void *, struct gsh_config_errors *));
	void (*config_errs_to_log)(char *msg, void *dest,
				   struct gsh_config_errors *e);
	int (*load_config_from_parse)(struct gsh_config *tree,
				      const struct gsh_config_block *block,
				      void *param, bool unique,
				      struct gsh_config_errors *e);
	/* Wait until Ganesha has started. NULL where there is none. */
	void (*init_wait)(void);
	/* Returns 1 for success. NULL where Ganesha is built without D-Bus. */
	int32_t (*dbus_register_path)(
		const char *name,
		const struct gsh_dbus_interface *const *interfaces);
	char fault[512]; /* why this library does not fit */
};

/* Format why this library does not fit, and what to do about it. Returns g->fault. */
__attribute__((format(printf, 2, 3))) const char *
gsh_unfit(struct gsh *g, const char *format, ...);

/*
 * Look up all functions, and check that Ganesha is the release that this library was built for,
 * or a later one with the same major version. Returns NULL, or the fault, as one line in @g.
 * gsh_log() works as soon as the function has been found, also after a fault.
 */
const char *gsh_bind(struct gsh *g);

/*
 * Check the layout of ntirpc's structures. @xprt is a listener that Ganesha has just created;
 * @alloc and @release create and free its requests. Returns NULL, or the fault.
 */
const char *gsh_check_listener(struct gsh *g, SVCXPRT *xprt,
			       svc_xprt_alloc_fun_t alloc,
			       svc_xprt_free_fun_t release);

/*
 * Check what compat/ganesha.h says of the parser, with a file of known content. Returns NULL, or
 * the fault. Context: before Ganesha has parsed its own file.
 */
const char *gsh_check_parser(struct gsh *g);

/* A text that the parser has read. */
struct gsh_parsed {
	struct gsh_config *tree;
	struct gsh_config_errors e;
	char path[32]; /* as errors name it */
	int fd;
	void (*release)(struct gsh_config *tree);
};

enum gsh_parse_result {
	GSH_PARSED,
	GSH_PARSE_SYNTAX,
	GSH_PARSE_FAILED, /* no memory, or no descriptors */
};
/* Parse @text as a file. Only after GSH_PARSED there is something to end. Context: any thread. */
enum gsh_parse_result gsh_parse_text(const struct gsh *g, const char *text,
				     struct gsh_parsed *p);
void gsh_parse_end(struct gsh_parsed *p);

/* Write one line to Ganesha's log, component RPC. GSH_FATAL does not return. Context: any
 * thread. */
#define gsh_log(g, lvl, ...)                                                   \
	do {                                                                   \
		if (gsh_logs((g), (lvl)))                                      \
			(g)->log(GSH_RPC, __FILE__, __LINE__, __func__, (lvl), \
				 "rpcrdma: " __VA_ARGS__);                     \
	} while (0)

static inline bool gsh_logs(const struct gsh *g, int level)
{
	return g->log && (level == GSH_FATAL || !g->log_level ||
			  !*g->log_level || (*g->log_level)[GSH_RPC] >= level);
}

#endif /* RPCRDMA_GANESHA_GSH_H */
