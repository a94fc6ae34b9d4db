/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lease - delegations from a Ganesha whose file systems know none
 *
 * The packaged FSALs of Ganesha grant no leases, so the server grants no
 * delegations and never calls a client back. This library, preloaded into the
 * server by a test, has every lease granted: of what is delegated here only
 * this server knows, which is enough for its own clients. Deciding on a
 * delegation, recalling it and the callback are Ganesha's own code.
 *
 * Ganesha's headers are not packaged; what is used of its structures is laid
 * out here, for each release that is known.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*any_fn)(void);

static const struct places {
	int lease_op2; /* in the table of an object's operations */
	int fs_supports; /* in the table of an export's operations */
	int delegations_r, delegations_w; /* what is asked of the latter */
} release43 = { 49, 11, 13, 14 }, release65 = { 48, 12, 14, 15 };

struct fsal_status {
	int major;
	int minor;
};

struct fsal_export {
	void *list[2];
	void *fsal;
	const void *up_ops;
	any_fn ops[13]; /* and more */
};

EXPORT void *dlopen(const char *file, int flags);
EXPORT void fsal_default_obj_ops_init(any_fn *ops);
EXPORT void fsal_export_init(struct fsal_export *exp);

static bool (*default_supports)(struct fsal_export *exp, int option);

/* Only the later one has this function. */
static const struct places *places(void)
{
	return dlsym(RTLD_DEFAULT, "find_unused_blocks") ? &release65 :
							   &release43;
}

static struct fsal_status lease(void *obj, void *state, void *owner, int kind)
{
	return (struct fsal_status){ 0, 0 };
}

static bool supports(struct fsal_export *exp, int option)
{
	return option == places()->delegations_r ||
	       option == places()->delegations_w ||
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
	ops[places()->lease_op2] = (any_fn)lease;
}

/* Called with the configuration, by one thread, before there is any export. */
void fsal_export_init(struct fsal_export *exp)
{
	((void (*)(struct fsal_export *))next("fsal_export_init"))(exp);
	default_supports = (bool (*)(struct fsal_export *, int))(void (*)(
		void))exp->ops[places()->fs_supports];
	exp->ops[places()->fs_supports] = (any_fn)supports;
}
