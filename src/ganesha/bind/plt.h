/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plt - let one library call other functions than those that the loader has bound
 *
 * For functions of the C library: to interpose those would concern the whole process, at all
 * times. Prefix: gsh_plt_.
 */
#ifndef RPCRDMA_GANESHA_PLT_H
#define RPCRDMA_GANESHA_PLT_H

#include <stdbool.h>

struct gsh_plt {
	const char *name;
	void *to;
};

/*
 * Have the library that @address is in call @to instead of @name, for each of the @n entries of
 * @plt in their order. Returns false, and changes nothing, unless the library calls all of them
 * through its table. Context: any thread; others may be calling the functions.
 */
bool gsh_plt_redirect(const void *address, const struct gsh_plt *plt,
		      unsigned int n);

#endif /* RPCRDMA_GANESHA_PLT_H */
