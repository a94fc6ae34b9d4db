/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lease - delegations from a Ganesha whose file systems know none
 *
 * The packaged FSALs of Ganesha 4.3 grant no leases, so the server grants no
 * delegations and never calls a client back. This library, preloaded into the
 * server by a test, has every lease granted: of what is delegated here only
 * this server knows, which is enough for its own clients. Deciding on a
 * delegation, recalling it and the callback are Ganesha's own code.
 *
 * Ganesha's headers are not packaged; what is used of its structures is laid
 * out here.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*any_fn)(void);

enum {
	OBJ_LEASE_OP2 = 49, /* in the table of an object's operations */
	EXP_FS_SUPPORTS = 11, /* in the table of an export's operations */
	FSO_DELEGATIONS_R = 13,
	FSO_DELEGATIONS_W = 14,
};

struct fsal_status {
	int major;
	int minor;
};

struct fsal_export {
	void *list[2];
	void *fsal;
	const void *up_ops;
	any_fn ops[EXP_FS_SUPPORTS + 1]; /* and more */
};

EXPORT void *dlopen(const char *file, int flags);
EXPORT void fsal_default_obj_ops_init(any_fn *ops);
EXPORT void fsal_export_init(struct fsal_export *exp);

static bool (*default_supports)(struct fsal_export *exp, int option);

static struct fsal_status lease(void *obj, void *state, void *owner, int kind)
{
	return (struct fsal_status){ 0, 0 };
}

static bool supports(struct fsal_export *exp, int option)
{
	return option == FSO_DELEGATIONS_R || option == FSO_DELEGATIONS_W ||
	       default_supports(exp, option);
}

static any_fn next(const char *name)
{
	any_fn f;

	*(void **)&f = dlsym(RTLD_NEXT, name);
	if (!f)
		abort(); /* not in Ganesha */
	return f;
}

/* Ganesha asks for modules that do not see what is preloaded. */
void *dlopen(const char *file, int flags)
{
	return ((void *(*)(const char *, int))next("dlopen"))(
		file, flags & ~RTLD_DEEPBIND);
}

void fsal_default_obj_ops_init(any_fn *ops)
{
	((void (*)(any_fn *))next("fsal_default_obj_ops_init"))(ops);
	ops[OBJ_LEASE_OP2] = (any_fn)lease;
}

/* Called with the configuration, by one thread, before there is any export. */
void fsal_export_init(struct fsal_export *exp)
{
	((void (*)(struct fsal_export *))next("fsal_export_init"))(exp);
	default_supports = (bool (*)(struct fsal_export *, int))(
				   void (*)(void))exp->ops[EXP_FS_SUPPORTS];
	exp->ops[EXP_FS_SUPPORTS] = (any_fn)supports;
}
