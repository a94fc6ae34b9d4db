/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * user_host - which user of this machine is behind a TCP client
 *
 * Fit for sharing out places, not for rights: a socket that its owner has closed
 * counts as root's.
 */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "gateway/policy/hosts.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 what;
};

struct answer {
	struct nlmsghdr head;
	struct inet_diag_msg what;
	char attributes[512];
};

/* IPv4 as such: the peer need not have it as IPv6 maps it. Returns the family. */
static uint8_t endpoint(const struct sockaddr_storage *a, __be16 *port,
			__be32 addr[4])
{
	struct sockaddr_storage mapped = *a;
	const struct in6_addr *in6;

	*port = htons(base_addr_port(a));
	base_addr_map(&mapped);
	in6 = &((const struct sockaddr_in6 *)&mapped)->sin6_addr;
	if (IN6_IS_ADDR_V4MAPPED(in6)) {
		memcpy(addr, in6->s6_addr + 12, 4);
		return AF_INET;
	}
	memcpy(addr, in6, 16);
	return AF_INET6;
}

/* Returns UINT32_MAX if the kernel does not say. */
static uint32_t owner(int fd)
{
	struct sockaddr_storage peer = { 0 }, own = { 0 };
	socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
	struct question q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.what = { .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = UINT32_MAX,
			  .id.idiag_cookie = { INET_DIAG_NOCOOKIE,
					       INET_DIAG_NOCOOKIE } },
	};
	struct answer a = { 0 };
	ssize_t n = -1;
	int diag;

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) ||
	    getsockname(fd, (struct sockaddr *)&own, &own_len))
		return UINT32_MAX;
	q.what.sdiag_family =
		endpoint(&peer, &q.what.id.idiag_sport, q.what.id.idiag_src);
	endpoint(&own, &q.what.id.idiag_dport, q.what.id.idiag_dst);
	diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0)
		return UINT32_MAX;
	/* It answers before it returns from the send. */
	if (send(diag, &q, sizeof(q), 0) == sizeof(q))
		n = recv(diag, &a, sizeof(a), MSG_DONTWAIT);
	close(diag);
	return n >= (ssize_t)(sizeof(a.head) + sizeof(a.what)) &&
			       a.head.nlmsg_type == SOCK_DIAG_BY_FAMILY ?
		       a.what.idiag_uid :
		       UINT32_MAX;
}

struct in6_addr gw_user_host(int fd)
{
	struct in6_addr a = { 0 };
	uint32_t uid = owner(fd);

	memcpy(&a.s6_addr[12], &uid, sizeof(uid));
	return a;
}
