/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sanitize - for a launcher built with a sanitizer, and only there
 *
 * Ganesha loads its FSALs with RTLD_DEEPBIND, so that their calls pass the
 * sanitizer's allocator by. The sanitizers end the program when they see the
 * flag; here it is taken away before they do. And it unloads them at the end.
 */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int);

	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(file, mode & ~RTLD_DEEPBIND);
}

/* What is unloaded has no names in a report of leaks, which comes last. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
	return 0;
}
