/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket_owner - which user of this machine is behind a TCP client
 */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "gateway/policy/socket_owner.h"

struct asked {
	struct nlmsghdr head;
	struct inet_diag_req_v2 what;
};

struct told {
	struct nlmsghdr head;
	struct inet_diag_msg what;
	char attributes[512];
};

/* IPv4 as such: the peer need not have it as IPv6 maps it. */
static int family_of(const struct sockaddr_storage *a, __be16 *port,
		     __be32 addr[4])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;

	*port = htons(base_addr_port(a));
	if (a->ss_family == AF_INET) {
		addr[0] = in->sin_addr.s_addr;
		return AF_INET;
	}
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(addr, in6->sin6_addr.s6_addr + 12, 4);
		return AF_INET;
	}
	memcpy(addr, &in6->sin6_addr, 16);
	return AF_INET6;
}

static uint32_t ask(int diag, const struct asked *q)
{
	struct told t;
	ssize_t n;

	if (send(diag, q, sizeof(*q), 0) != sizeof(*q))
		return GW_OWNER_UNKNOWN;
	/* It answers before it returns from the send. */
	n = recv(diag, &t, sizeof(t), MSG_DONTWAIT);
	if (n < (ssize_t)(sizeof(t.head) + sizeof(t.what)) ||
	    t.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return GW_OWNER_UNKNOWN;
	return t.what.idiag_uid;
}

uint32_t gw_socket_owner(int fd)
{
	struct sockaddr_storage peer = { 0 }, own = { 0 };
	socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
	struct asked q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.what = { .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = UINT32_MAX,
			  .id.idiag_cookie = { INET_DIAG_NOCOOKIE,
					       INET_DIAG_NOCOOKIE } },
	};
	uint32_t uid;
	int diag;

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) ||
	    getsockname(fd, (struct sockaddr *)&own, &own_len))
		return GW_OWNER_UNKNOWN;
	q.what.sdiag_family = (uint8_t)family_of(&peer, &q.what.id.idiag_sport,
						 q.what.id.idiag_src);
	family_of(&own, &q.what.id.idiag_dport, q.what.id.idiag_dst);
	diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0)
		return GW_OWNER_UNKNOWN;
	uid = ask(diag, &q);
	close(diag);
	return uid;
}
