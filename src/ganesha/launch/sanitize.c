/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sanitize - preloaded before the sanitizer's runtime, in builds that have one
 *
 * Ganesha loads its FSALs with RTLD_DEEPBIND, so that their calls pass the
 * sanitizer's allocator by. The sanitizers end the program when they see the
 * flag; here it is taken away before they do. And it unloads them at the end.
 */
#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int);

	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(file, mode & ~RTLD_DEEPBIND);
}

/* What is unloaded has no names in a report of leaks, which comes last. */
EXPORT int dlclose(void *handle)
{
	return 0;
}

/*
 * It is initialised by the first allocation. By this, which comes before all other
 * constructors (-z initfirst): libgpg-error's allocates in bindtextdomain(), whose
 * lock the C library does not keep when the sanitizer asks it for an error message.
 */
__attribute__((constructor)) static void allocate(void)
{
	void *volatile p = malloc(1);

	free(p);
}

/* AddressSanitizer ends programs whose first library it is not. */
EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
