/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dialect_hooks - functions of Ganesha that are interposed for the dialect (dialect.h)
 *
 *   load_config_from_parse, load_config_from_node
 *                     read a block: with the keywords of keywords.h, and after the
 *                     Transports of its exports have been noted; exports that are missing
 *                     after a reload are reported
 *   nfs4_export_check_access
 *                     checks whether the client of a COMPOUND may use an export
 *   get_gsh_export    finds the export of an NFSv3 Call, among others
 *
 * Context: the first two any thread of Ganesha's that reads the file; the others any
 * thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

#include "ganesha/bind/gsh.h"
#include "ganesha/bind/next.h"
#include "ganesha/config/dialect.h"
#include "ganesha/config/exports.h"
#include "ganesha/hook/hooks.h"
#include "ganesha/keywords/keywords.h"
#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"

/* RFC 7530, 13.1; RFC 8881, 15.1. */
#define NFS4ERR_ACCESS 13
#define NFS4ERR_MINOR_VERS_MISMATCH 10021

GR_EXPORT int load_config_from_parse(struct gsh_config *tree,
				     const struct gsh_config_block *block,
				     void *param, bool unique,
				     struct gsh_config_errors *e);
GR_EXPORT int load_config_from_node(struct gsh_config *node,
				    const struct gsh_config_block *block,
				    void *param, bool unique,
				    struct gsh_config_errors *e);
GR_EXPORT int nfs4_export_check_access(struct svc_req *req);
GR_EXPORT struct gsh_export *get_gsh_export(uint16_t id);

#define HOOKED(X)                   \
	X(load_config_from_parse)   \
	X(load_config_from_node)    \
	X(nfs4_export_check_access) \
	X(get_gsh_export)

GR_NEXT(HOOKED)

static struct {
	pthread_once_t once;
	struct gsh gsh;
	bool fits; /* this is the Ganesha that this library was built for */
	atomic_bool
		misplaced; /* an export does not have its number where we look */
} bound = { .once = PTHREAD_ONCE_INIT };

static void bind_ganesha(void)
{
	bound.fits = !gsh_bind(&bound.gsh);
}

/* ---- Reading the file ---------------------------------------------------- */

static int load_block(gr_load_fn *load, struct gsh_config *tree,
		      const struct gsh_config_block *block, void *param,
		      bool unique, struct gsh_config_errors *e)
{
	pthread_once(&bound.once, bind_ganesha);
	if (!bound.fits)
		return load(tree, block, param, unique, e);
	gr_exports_read(&bound.gsh, load, tree, block->desc.name);
	return load(tree, gr_keywords_extend(block), param, unique, e);
}

GR_EXPORT int load_config_from_parse(struct gsh_config *tree,
				     const struct gsh_config_block *block,
				     void *param, bool unique,
				     struct gsh_config_errors *e)
{
	int n = load_block(next.load_config_from_parse, tree, block, param,
			   unique, e);

	if (bound.fits && !strcasecmp(block->desc.name, "EXPORT"))
		gr_hooks_exports_read(tree);
	return n;
}

GR_EXPORT int load_config_from_node(struct gsh_config *node,
				    const struct gsh_config_block *block,
				    void *param, bool unique,
				    struct gsh_config_errors *e)
{
	return load_block(next.load_config_from_node, node, block, param,
			  unique, e);
}

/* ---- Calls ---------------------------------------------------------------- */

/* Returns Ganesha's op_ctx of this thread, or NULL. */
static const struct gsh_context *call_context(void)
{
	static __thread struct gsh_context **at;

	if (!at)
		at = dlsym(RTLD_DEFAULT, "op_ctx");
	return at ? *at : NULL;
}

GR_EXPORT int nfs4_export_check_access(struct svc_req *req)
{
	int status = next.nfs4_export_check_access(req);
	struct gr_xprt *x = gr_xprt_of(req->rq_xprt);
	const struct gsh_context *ctx;

	if (status || !x || !x->srv->cfg.dialect)
		return status;
	ctx = call_context();
	if (!ctx || !ctx->of || atomic_load(&bound.misplaced))
		return NFS4ERR_ACCESS;
	if (!(x->srv->cfg.nfs_versions & GR_NFS_4(ctx->minor)))
		return NFS4ERR_MINOR_VERS_MISMATCH;
	if (!gr_exports_lacks_rdma(ctx->of->id))
		return status;
	gsh_log(&bound.gsh, GSH_INFO,
		"Export_Id %u: refused over RDMA, because its Transports lack it",
		ctx->of->id);
	return NFS4ERR_ACCESS;
}

GR_EXPORT struct gsh_export *get_gsh_export(uint16_t id)
{
	const struct gr_xprt *x = gr_xprt_of_nfs3_call();
	struct gsh_export *export;

	if (x && (!(x->srv->cfg.nfs_versions & GR_NFS_3) ||
		  gr_exports_lacks_rdma(id)))
		return NULL;
	export = next.get_gsh_export(id);
	if (export && export->id != id &&
	    !atomic_exchange(&bound.misplaced, true))
		gsh_log(&bound.gsh, GSH_CRIT,
			"Ganesha does not keep an export's Export_Id where release " GSH_VERSION
			" does");
	return export;
}
