/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager - the socket of a service manager, as sd_notify(3) tells it
 */
#ifndef RPCRDMA_UNIT_MANAGER_H
#define RPCRDMA_UNIT_MANAGER_H

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "unit.h"

/* A manager that listens at @name, "@..." for one without a file. */
static inline int manager_at(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CU_ASSERT_FATAL(fd >= 0 && len < sizeof(addr.sun_path));
	memcpy(addr.sun_path, name, len);
	if (*name == '@')
		addr.sun_path[0] = 0;
	CU_ASSERT_EQUAL_FATAL(
		bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		0);
	return fd;
}

#endif /* RPCRDMA_UNIT_MANAGER_H */
