/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gsh - the Ganesha that this library finds itself in
 *
 * Ganesha's functions are looked up when Ganesha first calls into this
 * library and are not linked, so that the library can be loaded into any
 * program and does nothing there.
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
	/* NULL where there is none. */
	void (*register_cleanup)(struct gsh_cleanup *c);
	/* Returns when Ganesha has started. NULL where there is none. */
	void (*init_wait)(void);
	/* NULL where Ganesha is built without D-Bus. 1, or it did not work. */
	int32_t (*dbus_register_path)(
		const char *name,
		const struct gsh_dbus_interface *const *interfaces);
};

/*
 * Look everything up and check that it is the release this was built for.
 * NULL, or what is wrong, as one line. The log works as soon as its function
 * has been found, also when something else is wrong.
 */
const char *gsh_bind(struct gsh *g);

/*
 * Is @function defined by the object file @soname? The file's real name is
 * compared: what was loaded may have been found by a link.
 */
bool gsh_defined_by(const void *function, const char *soname);

/*
 * @xprt is a listener that Ganesha has just made by ntirpc: is what is in it
 * where it was expected to be? NULL, or what is wrong.
 */
const char *gsh_check_listener(const SVCXPRT *xprt);

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
