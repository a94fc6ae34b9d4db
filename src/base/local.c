/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/local.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int base_local_connect(const char *path, unsigned int timeout_ms)
{
	struct timeval tv = { .tv_sec = timeout_ms / 1000,
			      .tv_usec = timeout_ms % 1000 * 1000 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int type = SOCK_STREAM | SOCK_CLOEXEC, fd, rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, timeout_ms ? type : type | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) &&
	    !connect(fd, (const struct sockaddr *)&at, sizeof(at)))
		return fd;
	rc = timeout_ms && errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return rc;
}
