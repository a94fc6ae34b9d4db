/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lease - delegations and layouts from a Ganesha whose file systems know none
 *
 * The packaged FSALs of Ganesha grant no leases, so the server grants no
 * delegations and never calls a client back. This library, preloaded into the
 * server by a test, has every lease granted: of what is delegated here only
 * this server knows, which is enough for its own clients. Deciding on a
 * delegation, recalling it and the callback are Ganesha's own code.
 *
 * Nor have they pNFS. Here any file has a layout, with nothing in it, but one at
 * a time of all: who asks for another is told to try later, and the first is
 * recalled, by a thread as an FSAL would have for that.
 *
 * Its callbacks fit any message. With LEASE_TAG=N in the environment those without
 * credentials have a tag of N octets.
 *
 * Ganesha's headers are not packaged; what is used of its structures is laid
 * out here, for each release that is known.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rpc/rpc.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*any_fn)(void);

static const struct places {
	int lease_op2; /* in the table of an object's operations */
	int fs_supports; /* in the table of an export's operations */
	int delegations_r, delegations_w; /* what is asked of the latter */
	int maximum_segments, loc_body_size; /* in that table, too */
	int handle_to_key, layoutget, layoutreturn; /* in that of objects */
} release4 = { 49, 11, 13, 14, 27, 28, 30, 32, 33 },
  release5 = { 48, 12, 13, 14, 28, 29, 29, 31, 32 },
  release6 = { 48, 12, 14, 15, 28, 29, 29, 31, 32 }, /* and 9 */
	release15 = { 49, 12, 14, 15, 28, 29, 30, 32, 33 };

struct fsal_status {
	int major;
	int minor;
};

struct fsal_export {
	void *list[2];
	void *fsal;
	const void *up_ops;
	any_fn ops[32]; /* and more */
};

struct object {
	void *list[2];
	void *fs;
	void *fsal;
	any_fn *ops;
};

struct buffdesc {
	void *addr;
	size_t len;
};

struct segment {
	uint32_t io_mode;
	uint64_t offset, length;
};

/* What comes before them does not matter here. */
struct layoutget_res {
	struct segment segment;
	void *seg_data;
	bool return_on_close;
	void *context;
	bool last_segment, signal_available;
};

struct layoutreturn_arg {
	uint32_t type, return_type, circumstance;
	struct segment spec, cur;
	void *seg_data;
	bool dispose, last_segment;
};

struct up_vector {
	void *gsh_export, *fsal_export;
	bool ready, cancel;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	any_fn before[4];
	int (*layoutrecall)(const struct up_vector *vec,
			    struct buffdesc *handle, uint32_t type,
			    bool changed, const struct segment *segment,
			    void *cookie, void *spec);
};

EXPORT AUTH *authnone_ncreate(void);
EXPORT void *dlopen(const char *file, int flags);
EXPORT void fsal_default_obj_ops_init(any_fn *ops);
EXPORT void fsal_export_init(struct fsal_export *exp);

static bool (*default_supports)(struct fsal_export *exp, int option);

/* Known by the functions that each has first. */
static const struct places *places(void)
{
	if (dlsym(RTLD_DEFAULT, "fsal_buffered_copy_fd"))
		return &release15;
	if (dlsym(RTLD_DEFAULT, "connection_manager__callback_set"))
		return &release6;
	return dlsym(RTLD_DEFAULT, "find_unused_blocks") ? &release5 :
							   &release4;
}

static struct fsal_status lease(void *obj, void *state, void *owner, int kind)
{
	return (struct fsal_status){ 0, 0 };
}

/* ---- Layouts ---------------------------------------------------------- */

#define NFS4ERR_LAYOUTTRYLATER 10058
#define MAX_EXPORTS 16

/* Those of all exports there are; the one of a file has the same FSAL. */
static struct fsal_export *exports[MAX_EXPORTS];
static unsigned int nexports;

static struct held {
	pthread_mutex_t lock;
	bool is;
	bool recalled; /* once: each recall makes the stateid before it old */
	uint32_t type;
	uint8_t key[256];
	size_t len;
	const struct up_vector *up;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *recall(void *arg)
{
	struct segment all = { 3 /* any */, 0, UINT64_MAX };
	struct held copy;
	struct buffdesc key = { copy.key, 0 };

	pthread_mutex_lock(&held.lock);
	copy = held;
	pthread_mutex_unlock(&held.lock);
	key.len = copy.len;
	if (copy.is && copy.up)
		copy.up->layoutrecall(copy.up, &key, copy.type, false, &all,
				      NULL, NULL);
	return NULL;
}

static uint32_t layoutget(struct object *obj, void *body, const uint32_t *type,
			  struct layoutget_res *res)
{
	void (*to_key)(struct object *, struct buffdesc *) =
		(void (*)(struct object *,
			  struct buffdesc *))obj->ops[places()->handle_to_key];
	struct buffdesc key;
	pthread_t t;
	bool was, first;

	to_key(obj, &key);
	pthread_mutex_lock(&held.lock);
	was = held.is;
	first = was && !held.recalled;
	held.recalled = was;
	if (!was) {
		held.is = true;
		held.type = *type;
		held.len = key.len;
		if (key.len > sizeof(held.key))
			abort();
		memcpy(held.key, key.addr, key.len);
		for (unsigned int i = 0; i < nexports; i++)
			if (exports[i]->fsal == obj->fsal)
				held.up = exports[i]->up_ops;
	}
	pthread_mutex_unlock(&held.lock);
	if (was) {
		if (first && !pthread_create(&t, NULL, recall, NULL))
			pthread_detach(t);
		return NFS4ERR_LAYOUTTRYLATER;
	}
	res->segment.offset = 0;
	res->segment.length = UINT64_MAX;
	res->last_segment = true;
	return 0;
}

static uint32_t layoutreturn(struct object *obj, void *body,
			     const struct layoutreturn_arg *arg)
{
	if (arg->dispose) {
		pthread_mutex_lock(&held.lock);
		held.is = false;
		pthread_mutex_unlock(&held.lock);
	}
	return 0;
}

static size_t one(struct fsal_export *exp)
{
	return 1;
}

/* ---- Delegations ------------------------------------------------------ */

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

/* ---- Long callbacks --------------------------------------------------- */

/* CB_COMPOUND4args */
struct callback {
	uint32_t tag_len;
	char *tag;
	uint64_t rest[3];
};

static bool (*default_wrap)(AUTH *auth, XDR *xdrs, xdrproc_t proc, void *where);

/* ntirpc's own Calls are of ntirpc's functions. */
static bool is_callback(xdrproc_t proc, const void *where)
{
	Dl_info info;

	return where && dladdr(*(void **)(void *)&proc, &info) &&
	       info.dli_fname && strstr(info.dli_fname, "libganesha_nfsd");
}

static bool wrap_longer(AUTH *auth, XDR *xdrs, xdrproc_t proc, void *where)
{
	static char tag[8192];
	struct callback longer;

	if (!is_callback(proc, where))
		return default_wrap(auth, xdrs, proc, where);
	memcpy(&longer, where, sizeof(longer));
	longer.tag_len = (uint32_t)atoi(getenv("LEASE_TAG"));
	if (longer.tag_len > sizeof(tag))
		abort();
	longer.tag = tag;
	return default_wrap(auth, xdrs, proc, &longer);
}

AUTH *authnone_ncreate(void)
{
	AUTH *auth = ((AUTH * (*)(void)) next("authnone_ncreate"))();
	const char *tag = getenv("LEASE_TAG");
	static struct auth_ops ops;

	if (tag && atoi(tag) && auth->ah_ops != &ops) {
		ops = *auth->ah_ops;
		default_wrap = ops.ah_wrap;
		ops.ah_wrap = wrap_longer;
		auth->ah_ops = &ops;
	}
	return auth;
}

/* ---- Where it is put in ------------------------------------------------ */

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
	ops[places()->layoutget] = (any_fn)layoutget;
	ops[places()->layoutreturn] = (any_fn)layoutreturn;
}

/* Called with the configuration, by one thread, before there is any export. */
void fsal_export_init(struct fsal_export *exp)
{
	((void (*)(struct fsal_export *))next("fsal_export_init"))(exp);
	default_supports = (bool (*)(struct fsal_export *, int))(void (*)(
		void))exp->ops[places()->fs_supports];
	exp->ops[places()->fs_supports] = (any_fn)supports;
	exp->ops[places()->maximum_segments] = (any_fn)one;
	exp->ops[places()->loc_body_size] = (any_fn)one;
	if (nexports < MAX_EXPORTS)
		exports[nexports++] = exp;
}
