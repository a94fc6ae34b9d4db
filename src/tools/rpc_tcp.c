/* SPDX-License-Identifier: BSD-3-Clause */
/* rpc_tcp - one Call over TCP (RFC 5531, section 11) */
#include "tools/rpc_tcp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/be.h"
#include "base/clock.h"
#include "tools/record.h"
#include "tools/rpcmsg.h"

#define XID 0x70696e67u

static bool await(int fd, short events, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = until - (int64_t)base_now_ms();

	return left > 0 && poll(&p, 1, (int)left) > 0;
}

bool rpc_tcp_answers(const struct sockaddr *addr, socklen_t len,
		     uint32_t program, uint32_t version, int ms)
{
	int64_t until = (int64_t)base_now_ms() + ms;
	uint8_t call[128], reply[12];
	bool answers = false;
	size_t got = 0;
	struct xw w;
	int fd = socket(addr->sa_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	xw_init(&w, call + 4, sizeof(call) - 4);
	rpc_call_head(&w, XID, program, version, 0, false);
	be32_put(call, REC_LAST_FRAGMENT | (uint32_t)w.len);
	if (connect(fd, addr, len) && errno != EINPROGRESS)
		goto out;
	if (!await(fd, POLLOUT, until) ||
	    send(fd, call, w.len + 4, MSG_NOSIGNAL) != (ssize_t)w.len + 4)
		goto out;
	while (got < sizeof(reply) && await(fd, POLLIN, until)) {
		ssize_t n = recv(fd, reply + got, sizeof(reply) - got, 0);

		if (n <= 0)
			goto out;
		got += (size_t)n;
	}
	answers = got == sizeof(reply) && be32_get(reply + 4) == XID &&
		  be32_get(reply + 8) == RPC_REPLY;
out:
	close(fd);
	return answers;
}
