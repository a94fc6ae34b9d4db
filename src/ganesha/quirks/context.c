/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/quirks/context.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "compat/ganesha.h"
#include "ganesha/bind/next.h"

GR_EXPORT void release_op_context(void);
GR_EXPORT int hashtable_getlatch(void *table, const void *key, void *value,
				 bool may_write, void *latch);

#define HOOKED(X)             \
	X(hashtable_getlatch) \
	X(release_op_context)

GR_NEXT(HOOKED)

static struct {
	atomic_bool serving;
	/* Ganesha's cc_process_cb, which is the same for all its Calls. */
	void (*_Atomic process)(struct clnt_req *cc);
} context;

static __thread struct {
	struct gsh_context **at; /* Ganesha's op_ctx of this thread */
	struct gsh_context none;
	bool serves; /* this thread executes Calls */
} mine;

static void free_state(struct gsh_fsal_export *export, void *state)
{
	free(state);
}

static struct gsh_fsal_export export = { .free_state = free_state };

/* Returns where this thread's op_ctx is, or NULL if it must not be changed. */
static struct gsh_context **op_ctx_of_thread(void)
{
	if (!COMPAT_CONTEXTS || !atomic_load(&context.serving))
		return NULL;
	if (!mine.at)
		mine.at = dlsym(RTLD_NEXT, "op_ctx");
	return mine.at;
}

static struct gsh_context *stand_in(void)
{
	mine.none = (struct gsh_context){ .export = &export };
	return &mine.none;
}

static bool is_of_call(const struct gsh_context *op_ctx)
{
	return op_ctx && op_ctx->caller;
}

void gr_context_serve(bool serving)
{
	atomic_store(&context.serving, serving);
}

static void answered(struct clnt_req *cc)
{
	void (*process)(struct clnt_req * cc) = atomic_load(&context.process);
	struct gsh_context **op_ctx = op_ctx_of_thread();

	if (!op_ctx || *op_ctx) {
		process(cc);
		return;
	}
	*op_ctx = stand_in();
	process(cc);
	if (*op_ctx == &mine.none)
		*op_ctx = NULL;
}

void gr_context_call(struct clnt_req *cc)
{
	void (*process)(struct clnt_req * cc) = NULL;

	if (!op_ctx_of_thread() || !cc->cc_process_cb ||
	    cc->cc_process_cb == answered)
		return;
	if (atomic_compare_exchange_strong(&context.process, &process,
					   cc->cc_process_cb) ||
	    process == cc->cc_process_cb)
		cc->cc_process_cb = answered;
}

/* Ganesha restores the context that this thread had before. */
GR_EXPORT void release_op_context(void)
{
	struct gsh_context **op_ctx = op_ctx_of_thread();
	bool of_call = op_ctx && is_of_call(*op_ctx);

	next.release_op_context();
	if (!op_ctx)
		return;
	if (of_call) {
		/* The Call may have begun in another thread, which had a stand-in. */
		mine.serves = true;
		*op_ctx = NULL;
	} else if (!*op_ctx || *op_ctx == &mine.none) {
		/* Ganesha may have set an export in the stand-in, which may be freed. */
		*op_ctx = stand_in();
	}
}

/* Ganesha looks something up. It may be state. */
GR_EXPORT int hashtable_getlatch(void *table, const void *key, void *value,
				 bool may_write, void *latch)
{
	struct gsh_context **op_ctx = op_ctx_of_thread();

	if (op_ctx && !*op_ctx && !mine.serves)
		*op_ctx = stand_in();
	else if (op_ctx && is_of_call(*op_ctx) && !(*op_ctx)->export)
		(*op_ctx)->export = &export;
	return next.hashtable_getlatch(table, key, value, may_write, latch);
}
