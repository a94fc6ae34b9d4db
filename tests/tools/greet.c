/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet - a Ganesha that takes its time before it says whether it serves a client
 *
 * Release 6 writes the client's address down when it is told of a connection.
 * This library, preloaded into the server by a test, keeps it at that for as
 * long as the file is there that RPCRDMA_TEST_GREET names.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int (*display_fn)(void *to, const void *addr, bool ignore_port);

__attribute__((visibility("default"))) int
display_sockaddr_port(void *to, const void *addr, bool ignore_port);

int display_sockaddr_port(void *to, const void *addr, bool ignore_port)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	const char *file = getenv("RPCRDMA_TEST_GREET");
	display_fn next = (display_fn)dlsym(RTLD_NEXT, "display_sockaddr_port");

	while (file && !access(file, F_OK))
		nanosleep(&nap, NULL);
	return next(to, addr, ignore_port);
}
