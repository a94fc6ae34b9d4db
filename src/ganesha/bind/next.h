/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * next - the functions that would be called without this library
 *
 * The loader binds Ganesha's calls of some names to definitions here, because
 * this library comes before ntirpc and the server library in the order of
 * search. Each definition passes on to the next one of its name.
 */
#ifndef RPCRDMA_GANESHA_NEXT_H
#define RPCRDMA_GANESHA_NEXT_H

#include <dlfcn.h>

#define GR_EXPORT __attribute__((visibility("default")))

#define GR_NEXT_FIELD(name) __typeof__(name) *name;
#define GR_NEXT_FIND(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name);

/* In a file that stands before LIST(X), which is X(name) for each: next.name is the
 * next one, or NULL, from the time when this library is loaded. */
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
