/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * next - find the original of an interposed function
 *
 * This library comes before ntirpc and the server library in the search order of the
 * loader, which so binds Ganesha's calls of some functions to definitions here. Each calls
 * the next function of its name.
 */
#ifndef RPCRDMA_GANESHA_NEXT_H
#define RPCRDMA_GANESHA_NEXT_H

#include <dlfcn.h>

#define GR_EXPORT __attribute__((visibility("default")))

#define GR_NEXT_FIELD(name) __typeof__(name) *name;
#define GR_NEXT_FIND(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name);

/* For a file that interposes the functions of LIST(X), which is X(name) for each: next.name
 * is the original, or NULL, as soon as this library is loaded. */
#define GR_NEXT(LIST)                                            \
	static struct {                                          \
		LIST(GR_NEXT_FIELD)                              \
	} next;                                                  \
                                                                 \
	__attribute__((constructor)) static void find_next(void) \
	{                                                        \
		LIST(GR_NEXT_FIND)                               \
	}

#endif /* RPCRDMA_GANESHA_NEXT_H */
