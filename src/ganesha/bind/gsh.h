/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gsh - the Ganesha that this library finds itself in
 *
 * Neither Ganesha's library nor ntirpc is linked: a later release has another name.
 * ntirpc's functions are bound when this library is loaded, Ganesha's are looked up.
 */
#ifndef RPCRDMA_GANESHA_GSH_H
#define RPCRDMA_GANESHA_GSH_H

#include "compat/ganesha.h"

struct gsh {
	gsh_log_fn *log;
	int **log_level; /* component_log_level */
	/* A further place for log messages of @max_level and graver. @log gets each
	 * without its header, and must not log. 0: done. NULL where there is none. */
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
	/* Returns when Ganesha has started. NULL where there is none. */
	void (*init_wait)(void);
	/* NULL where Ganesha is built without D-Bus. 1, or it did not work. */
	int32_t (*dbus_register_path)(
		const char *name,
		const struct gsh_dbus_interface *const *interfaces);
	char fault[512]; /* what is wrong */
};

/* Put together what does not fit, and what to do about it. Returns it. */
__attribute__((format(printf, 2, 3))) const char *
gsh_unfit(struct gsh *g, const char *format, ...);

/*
 * Look everything up and check that it is the release this was built for, or a later one
 * with the same major version. Returns NULL, or what is wrong, as one line in @g. The
 * log works as soon as its function has been found, also when something else is wrong.
 */
const char *gsh_bind(struct gsh *g);

/*
 * Check the layout of ntirpc's structures. @xprt is a listener that Ganesha has just made,
 * @alloc and @release are how it makes and frees a request. Returns NULL, or what is wrong,
 * as one line in @g.
 */
const char *gsh_check_listener(struct gsh *g, SVCXPRT *xprt,
			       svc_xprt_alloc_fun_t alloc,
			       svc_xprt_free_fun_t release);

/*
 * Check what ganesha.h says of the parser, by a file of known content. Returns NULL, or what
 * is wrong. Context: before Ganesha has parsed a file of its own.
 */
const char *gsh_check_parser(struct gsh *g);

/*
 * Write one line to Ganesha's log, component RPC, if its level lets it
 * through. GSH_FATAL does not return. Any thread.
 */
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
