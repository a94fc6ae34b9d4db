/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strange_ntirpc - stands for an ntirpc and a Ganesha that this project does not know
 *
 * Loaded by refusal.test behind librpcrdma-ganesha. One of:
 *
 *   STRANGE_RDMA    the other kind of ntirpc: with RDMA of its own
 *   STRANGE_LAYOUT  what ntirpc keeps of an address is not what the library finds
 *   STRANGE_PARSER  the parser does not read the library's block
 *   STRANGE_CRASH   it crashes instead
 *
 * What it is asked for besides is done by the real one behind it.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef STRANGE_RDMA

EXPORT void *rpc_rdma_ncreatef(void *attributes);

void *rpc_rdma_ncreatef(void *attributes)
{
	return NULL;
}

#elif defined(STRANGE_LAYOUT)

#include <netinet/in.h>
#include <sys/socket.h>

/* Of the library's sockets another port, as if ntirpc kept it elsewhere. */
EXPORT int getsockname(int fd, __SOCKADDR_ARG address, socklen_t *len)
{
	int (*next)(int, __SOCKADDR_ARG, socklen_t *);
	struct sockaddr_in *in = (void *)address.__sockaddr__;
	Dl_info caller;
	int res;

	*(void **)&next = dlsym(RTLD_NEXT, "getsockname");
	res = next(fd, address, len);
	if (dladdr(__builtin_return_address(0), &caller) &&
	    strstr(caller.dli_fname, "librpcrdma-ganesha"))
		in->sin_port ^= 1;
	return res;
}

#else

/* As far as it has to be known: the name of a block is its second word. */
EXPORT int load_config_from_parse(void *tree, char **block, void *param,
				  bool unique, void *errors);

int load_config_from_parse(void *tree, char **block, void *param, bool unique,
			   void *errors)
{
	int (*next)(void *, char **, void *, bool, void *);

	*(void **)&next = dlsym(RTLD_NEXT, "load_config_from_parse");
	if (strcmp(block[1], "RPCRDMA_PARSER"))
		return next(tree, block, param, unique, errors);
#ifdef STRANGE_CRASH
	__builtin_trap();
#endif
	return 0;
}

#endif
