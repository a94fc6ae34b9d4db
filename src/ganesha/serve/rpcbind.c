/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcbind - register NFS on netids rdma and rdma6, and withdraw it
 *
 * ntirpc's function for that knows only netids with sockets, and needs ntirpc's threads,
 * which may hang when the server fails. So use a socket of our own, and ntirpc's XDR.
 */
#include "ganesha/serve/rpcbind.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rpc/rpcb_prot.h>
#include <rpc/xdr_inline.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/local.h"

#define TIMEOUT_MS 3000
#define NFS_V3 3
#define NFS_V4 4
/* Room for the longest message. */
#define MESSAGE 1024
#define REFUSED (-EADDRINUSE)
#define LAST_FRAGMENT 0x80000000u /* RFC 5531, 11 */

static const char netid4[] = "rdma", netid6[] = "rdma6";

static const char *path_of(const struct gr_rpcbind *rb)
{
	return rb->path ? rb->path : GR_RPCBIND_SOCKET;
}

static int rpcbind_open(const struct gr_rpcbind *rb)
{
	return base_local_connect(path_of(rb), TIMEOUT_MS);
}

/* Returns 0 after receiving @len octets, or a negative errno. */
static int recv_all(int fd, void *to, size_t len)
{
	ssize_t n = recv(fd, to, len, MSG_WAITALL);

	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return (size_t)n == len ? 0 : -EPROTO;
}

/* Encode the Call with its record mark. Returns its length, or 0. */
static size_t encode_call(uint8_t *buf, uint32_t xid, uint32_t proc, RPCB *what)
{
	struct rpc_msg msg = { .rm_xid = xid, .rm_direction = CALL };
	size_t len = 0;
	uint32_t mark;
	XDR xdrs;

	msg.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	msg.cb_prog = RPCBPROG;
	msg.cb_vers = RPCBVERS;
	msg.cb_proc = proc;
	msg.cb_cred.oa_flavor = AUTH_NONE;
	msg.cb_verf.oa_flavor = AUTH_NONE;
	xdrmem_ncreate(&xdrs, (char *)buf + sizeof(mark),
		       MESSAGE - sizeof(mark), XDR_ENCODE);
	if (xdr_ncallmsg(&xdrs, &msg) && xdr_rpcb(&xdrs, what)) {
		len = XDR_GETPOS(&xdrs);
		mark = htonl(LAST_FRAGMENT | (uint32_t)len);
		memcpy(buf, &mark, sizeof(mark));
		len += sizeof(mark);
	}
	XDR_DESTROY(&xdrs);
	return len;
}

/* Returns the result of the Call, 1 or 0 (refused), or a negative errno. */
static int recv_reply(int fd, uint8_t *buf, uint32_t xid)
{
	struct rpc_msg msg = { 0 };
	bool_t done = 0;
	uint32_t mark;
	XDR xdrs;
	int err;

	err = recv_all(fd, &mark, sizeof(mark));
	if (err)
		return err;
	mark = ntohl(mark);
	if (!(mark & LAST_FRAGMENT))
		return -EPROTO;
	mark &= ~LAST_FRAGMENT;
	if (!mark || mark > MESSAGE)
		return -EPROTO;
	err = recv_all(fd, buf, mark);
	if (err)
		return err;
	msg.RPCM_ack.ar_results.proc = (xdrproc_t)xdr_bool;
	msg.RPCM_ack.ar_results.where = &done;
	xdrmem_ncreate(&xdrs, (char *)buf, mark, XDR_DECODE);
	if (!xdr_nreplymsg(&xdrs, &msg) || msg.rm_xid != xid ||
	    msg.rm_reply.rp_stat != MSG_ACCEPTED ||
	    msg.RPCM_ack.ar_stat != SUCCESS)
		err = -EPROTO;
	XDR_DESTROY(&xdrs);
	return err ? err : done != 0;
}

static int rpcbind_call(int fd, uint32_t proc, uint32_t prog, uint32_t vers,
			const char *netid, const char *address)
{
	char owner[16]; /* rpcbind uses the owner of the socket */
	RPCB what = { .r_prog = prog,
		      .r_vers = vers,
		      .r_netid = (char *)(uintptr_t)netid,
		      .r_addr = (char *)(uintptr_t)address,
		      .r_owner = owner };
	uint32_t xid = (uint32_t)getpid() ^ vers << 24 ^ proc << 16;
	uint8_t buf[MESSAGE];
	size_t len;
	ssize_t n;

	snprintf(owner, sizeof(owner), "%u", geteuid());
	len = encode_call(buf, xid, proc, &what);
	if (!len)
		return -EINVAL;
	n = send(fd, buf, len, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return (size_t)n == len ? recv_reply(fd, buf, xid) : -EPROTO;
}

/* Format a universal address (RFC 5665, 5.2.3.3 and 5.2.3.4). */
static void format_uaddr(const struct sockaddr_storage *ss, char *to,
			 size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	unsigned int port = base_addr_port(ss);
	char host[INET6_ADDRSTRLEN] = "";

	inet_ntop(ss->ss_family,
		  ss->ss_family == AF_INET6 ? (const void *)&in6->sin6_addr :
					      (const void *)&in->sin_addr,
		  host, sizeof(host));
	snprintf(to, size, "%s.%u.%u", host, port >> 8, port & 0xff);
}

static int unset_both(int fd, uint32_t prog, uint32_t vers)
{
	int rc = rpcbind_call(fd, RPCBPROC_UNSET, prog, vers, netid4, "");

	return rc < 0 ?
		       rc :
		       rpcbind_call(fd, RPCBPROC_UNSET, prog, vers, netid6, "");
}

static int set_one(struct gr_rpcbind *rb, int fd, uint32_t vers,
		   const struct sockaddr_storage *at, const char *netid)
{
	char address[80];
	int rc;

	if (!at->ss_family)
		return 0;
	format_uaddr(at, address, sizeof(address));
	rc = rpcbind_call(fd, RPCBPROC_SET, rb->prog, vers, netid, address);
	if (rc == 1)
		gsh_log(rb->gsh, GSH_INFO,
			"rpcbind: program %u version %u is on %s at %s",
			rb->prog, vers, netid, address);
	return rc ? rc : REFUSED;
}

/* Register version @vers at both addresses. Returns a negative errno after a failure. */
static int set_both(struct gr_rpcbind *rb, int fd, uint32_t vers)
{
	int rc = set_one(rb, fd, vers, &rb->at, netid4);

	return rc < 0 ? rc : set_one(rb, fd, vers, &rb->at6, netid6);
}

static void log_not_registered(const struct gr_rpcbind *rb, int err)
{
	gsh_log(rb->gsh, GSH_EVENT,
		"not registered with rpcbind (%s: %s): clients have "
		"to be told the port; set Rpcbind = false in the RDMA block "
		"if that is intended",
		path_of(rb),
		err == REFUSED ? "another server is registered" :
				 strerror(-err));
}

/* Caller holds the lock. */
static void register_version(struct gr_rpcbind *rb, uint32_t prog,
			     uint32_t vers)
{
	int fd, rc;

	rb->prog = prog;
	fd = rpcbind_open(rb);
	rc = fd < 0 ? fd : 0;
	/* A server that crashed may have registered other versions and addresses. */
	for (uint32_t v = NFS_V3; rc >= 0 && !rb->began && v <= NFS_V4; v++)
		rc = unset_both(fd, prog, v);
	rb->began = true;
	if (rc >= 0) {
		/* To be withdrawn even if only one of the netids can be set. */
		rb->versions |= 1u << vers;
		rc = set_both(rb, fd, vers);
	}
	if (rc < 0) {
		rb->failed = true;
		log_not_registered(rb, rc);
	}
	if (fd >= 0)
		close(fd);
}

void gr_rpcbind_set(struct gr_rpcbind *rb, uint32_t prog, uint32_t vers)
{
	if (!rb->gsh || vers >= 32)
		return;
	pthread_mutex_lock(&rb->lock);
	if (!rb->failed && !rb->ended && !(rb->versions & 1u << vers))
		register_version(rb, prog, vers);
	pthread_mutex_unlock(&rb->lock);
}

/* Ask rpcbind to forget all versions, and with @again to take them at the present addresses. Caller
 * holds the lock. Returns a negative errno after a failure. */
static int unset_all(struct gr_rpcbind *rb, bool again)
{
	int fd = rpcbind_open(rb), rc = fd < 0 ? fd : 0;

	for (uint32_t v = 0; rc >= 0 && v < 32; v++) {
		if (!(rb->versions & 1u << v))
			continue;
		rc = unset_both(fd, rb->prog, v);
		if (rc >= 0 && again)
			rc = set_both(rb, fd, v);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

void gr_rpcbind_move(struct gr_rpcbind *rb, const struct sockaddr_storage *at,
		     const struct sockaddr_storage *at6)
{
	int rc = 0;

	pthread_mutex_lock(&rb->lock);
	if (!base_addr_equal(&rb->at, at) || !base_addr_equal(&rb->at6, at6)) {
		rb->at = *at;
		rb->at6 = *at6;
		if (rb->gsh && rb->versions)
			rc = unset_all(rb, true);
		if (rc < 0)
			log_not_registered(rb, rc);
	}
	pthread_mutex_unlock(&rb->lock);
}

void gr_rpcbind_withdraw(struct gr_rpcbind *rb)
{
	int rc = 0;

	pthread_mutex_lock(&rb->lock);
	rb->ended = true;
	if (rb->versions)
		rc = unset_all(rb, false);
	rb->versions = 0;
	if (rc < 0)
		gsh_log(rb->gsh, GSH_WARN, "not removed from rpcbind (%s: %s)",
			path_of(rb), strerror(-rc));
	pthread_mutex_unlock(&rb->lock);
}
