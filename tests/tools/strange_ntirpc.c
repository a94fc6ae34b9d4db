/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strange_ntirpc - stands for an ntirpc that this project does not know
 *
 * Loaded between librpcrdma-ganesha and the packaged ntirpc by a test. As far
 * as can be seen from outside it is of another version (strange_ntirpc.map),
 * or, with STRANGE_RDMA, built with RDMA of its own. What it is asked for is
 * done by the real one behind it.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef STRANGE_RDMA

EXPORT void *rpc_rdma_ncreatef(void *attributes);

void *rpc_rdma_ncreatef(void *attributes)
{
	return NULL;
}

#else

EXPORT bool svc_init(void *params);

bool svc_init(void *params)
{
	bool (*next)(void *);

	*(void **)&next = dlsym(RTLD_NEXT, "svc_init");
	if (!next)
		abort();
	return next(params);
}

#endif
