/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpa_startup - MPA connection start-up (RFC 5044 section 7.1, RFC 6581)
 *
 * The initiator offers revision 2 and its read depths. A responder that knows
 * only revision 1 refuses that, answers with revision 1 or just closes: then a
 * second TCP connection is tried with revision 1, once. Private data that
 * leaves no room for the control words of revision 2 goes with revision 1 at
 * once.
 *
 * Reads are exact: not an octet behind the start-up frame is read.
 *
 * Context: the runner; iw_startup_request(): the poller thread, before there is
 * a runner.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "iw.h"

int iw_socket_service_type(const struct fab_domain *d, int fd, int family)
{
	int type = d->params.service_type;

	if (!d->params.service_type_given)
		return 0;
	/* A socket of IPv6 may have an IPv4 peer. */
	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &type, sizeof(type)) ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &type, sizeof(type))))
		return -errno;
	return 0;
}

int iw_startup_socket_options(const struct fab_domain *d, int fd, int family)
{
	static const int on = 1, idle = 30, interval = 10, count = 3;
	static const unsigned int user_timeout_ms = 60000;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
		       sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms,
		       sizeof(user_timeout_ms)))
		return -errno;
	return iw_socket_service_type(d, fd, family);
}

static unsigned int iw_wanted_depth(const struct iw_conn *c,
				    const struct fab_conn_params *params)
{
	if (params->read_depth && params->read_depth < c->depth)
		return params->read_depth;
	return c->depth;
}

/* ---- Both sides: moving a frame -------------------------------------- */

/* Returns 1 when all is sent, 0 if the socket is full or not connected yet, or
 * -errno. */
static int send_frame(struct iw_conn *c)
{
	while (c->mpa_out_sent < c->mpa_out_len) {
		ssize_t n;

		if (!c->can_write)
			return 0;
		n = send(c->fd, c->mpa_out + c->mpa_out_sent,
			 c->mpa_out_len - c->mpa_out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		c->ev.count.syscalls++;
		if (n >= 0) {
			c->mpa_out_sent += (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK ||
			   errno == ENOTCONN) {
			c->can_write = false;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 1;
}

/* Returns the length of the complete frame, 0 if more has to come, -EPROTO if
 * it is no such frame, or another -errno if the stream ended. */
static int receive_frame(struct iw_conn *c, bool reply, struct mpa_frame *f)
{
	for (;;) {
		size_t need = MPA_FRAME_HDR;
		ssize_t n;
		int rc = iw_mpa_decode(c->mpa_in, c->mpa_in_len, reply, f,
				       &need);

		if (rc || !c->can_read)
			return rc;
		n = recv(c->fd, c->mpa_in + c->mpa_in_len, need - c->mpa_in_len,
			 MSG_DONTWAIT);
		c->ev.count.syscalls++;
		if (n > 0)
			c->mpa_in_len += (size_t)n;
		else if (n == 0)
			return -ECONNRESET;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			c->can_read = false;
		else if (errno != EINTR)
			return -errno;
	}
}

static bool is_same_machine(const struct iw_conn *c)
{
	struct sockaddr_storage local = { 0 }, peer = { 0 };
	socklen_t len = sizeof(local), peer_len = sizeof(peer);

	return !getsockname(c->fd, (struct sockaddr *)&local, &len) &&
	       !getpeername(c->fd, (struct sockaddr *)&peer, &peer_len) &&
	       iw_mpa_same_machine(&local, &peer);
}

static bool crc_wanted(const struct iw_conn *c)
{
	enum fab_crc crc = iw_conn_domain(c)->fab.params.crc;

	if (crc != FAB_CRC_AUTO)
		return crc == FAB_CRC_ON;
	return !c->same_machine;
}

/* Some congestion controls, such as BBR, pace what is sent, with a timer for
 * each part. Within one machine there is no link to be congested. Every kernel
 * has "reno"; failure does no harm. */
static void disable_pacing(struct iw_conn *c)
{
	static const char reno[] = "reno";

	setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

void iw_startup_done(struct iw_conn *c)
{
	if (c->same_machine)
		disable_pacing(c);
	fab_ev_conn_timer_stop(&c->ev);
	c->state = IW_ST_OPEN;
	c->ev.done.established = true;
}

static int encode_frame(struct iw_conn *c, const struct mpa_frame *f)
{
	int n = iw_mpa_encode(c->mpa_out, f);

	if (n < 0)
		return n;
	c->mpa_out_len = (size_t)n;
	c->mpa_out_sent = 0;
	return 0;
}

/* ---- Initiator ------------------------------------------------------- */

static int prepare_request(struct iw_conn *c)
{
	struct mpa_frame f = {
		.rev = c->mpa_rev,
		.enhanced = c->mpa_rev > 1,
		.ird = (uint16_t)c->ev.ird,
		.ord = (uint16_t)c->ev.ord,
		.priv = c->priv,
		.priv_len = c->priv_len,
	};

	c->same_machine = is_same_machine(c);
	f.crc = crc_wanted(c);
	return encode_frame(c, &f);
}

/* The frame is encoded when TCP knows both addresses. */
static void prepare_attempt(struct iw_conn *c, uint8_t rev)
{
	c->mpa_rev = rev;
	c->fall_back_ok = rev > 1;
	c->mpa_in_len = 0;
	c->mpa_out_len = 0;
	c->mpa_out_sent = 0;
}

static int start_tcp(struct iw_conn *c)
{
	const struct sockaddr *to = (const struct sockaddr *)&c->ev.peer;
	int rc;

	c->fd = socket(c->ev.peer.ss_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	rc = iw_startup_socket_options(&iw_conn_domain(c)->fab, c->fd,
				       c->ev.peer.ss_family);
	if (rc)
		return rc;
	c->can_read = false;
	c->can_write = false;
	c->hup = false;
	/* Its keepalives are slow, until the next iw_silent_ms(). */
	c->watched_since = 0;
	/* Watched only from here on: a fresh socket reports EPOLLHUP. */
	if (connect(c->fd, to, base_addr_len(&c->ev.peer)) &&
	    errno != EINPROGRESS)
		return -errno;
	return fab_ev_loop_watch(iw_conn_poller(c), c->fd, &c->src,
				 IW_CONN_EVENTS);
}

int iw_connect(struct fab_conn *fc, const struct sockaddr *addr,
	       socklen_t addrlen, const struct fab_conn_params *params)
{
	struct iw_conn *c = iw_conn(fc);
	int rc;

	if (c->state != IW_ST_IDLE)
		return -EISCONN;
	memcpy(&c->ev.peer, addr, addrlen);
	if (params->priv_len)
		memcpy(c->priv, params->priv, params->priv_len);
	c->priv_len = params->priv_len;
	c->ev.ird = c->ev.ord = iw_wanted_depth(c, params);
	prepare_attempt(c, c->priv_len > MPA_MAX_PD - MPA_V2_CTRL ? 1 : 2);
	c->state = IW_ST_CONNECTING;
	iw_conn_timer_set(c, IW_TIMER_STARTUP);
	rc = start_tcp(c);
	if (rc) {
		/* As if the answer had come a moment later. */
		iw_conn_end(c, rc, "connect failed");
		iw_conn_schedule(c);
	}
	return 0;
}

/* Try again with revision 1. */
static void fall_back(struct iw_conn *c)
{
	int rc;

	close(c->fd);
	c->fd = -1;
	/* Events of the old socket do not count. */
	atomic_fetch_and(&c->ev.events, IW_EV_STARTUP);
	c->state = IW_ST_CONNECTING;
	prepare_attempt(c, 1);
	rc = start_tcp(c);
	if (rc)
		iw_conn_end(c, rc, "connect failed");
}

static void reply_arrived(struct iw_conn *c, const struct mpa_frame *f)
{
	socklen_t len = sizeof(c->ev.local);

	if (f->rev < 2 && c->fall_back_ok) {
		/* The peer does not know the control words, and takes them for
		 * private data. */
		fall_back(c);
		return;
	}
	if (f->reject) {
		iw_conn_end(c, -EPERM,
			    "rejected by the peer (its log says why)");
		return;
	}
	if (f->rev > 2 || !f->rev) {
		iw_conn_end(c, -EPROTO, "MPA reply of an unknown revision");
		return;
	}
	if (f->markers) {
		iw_conn_end(c, -EPROTO, "the peer wants MPA markers");
		return;
	}
	/* RFC 5044 section 7.1.1: CRC is used if one side asks for it, and
	 * the responder says so. */
	if (!f->crc && crc_wanted(c)) {
		iw_conn_end(c, -EPROTO, "the peer refuses CRC");
		return;
	}
	c->crc = f->crc;
	getsockname(c->fd, (struct sockaddr *)&c->ev.local, &len);
	c->ev.done.priv = f->priv;
	c->ev.done.priv_len = f->priv_len;
	/* If this process is killed the server must see a reset: a FIN would
	 * mean that the client has finished. */
	iw_reset_on_close(c, true);
	c->state = IW_ST_OPEN;
	if (f->enhanced) {
		if (f->ird != MPA_DEPTH_NONE && f->ird < c->ev.ord)
			c->ev.ord = f->ird;
		if (f->ord != MPA_DEPTH_NONE && f->ord > c->ev.ird) {
			/* RFC 6581 section 9: more Reads than we accept. */
			iw_tx_terminate(c, TERM_MPA_IRD, NULL);
			return;
		}
	}
	iw_startup_done(c);
}

static void await_reply(struct iw_conn *c)
{
	struct mpa_frame f;
	int rc = receive_frame(c, true, &f);

	if (rc > 0)
		reply_arrived(c, &f);
	else if (rc == -EPROTO)
		iw_conn_end(c, rc, "not an MPA reply");
	else if (rc && c->fall_back_ok && !c->mpa_in_len)
		fall_back(c);
	else if (rc)
		iw_conn_end(c, rc, "closed during start-up");
}

void iw_startup_progress(struct iw_conn *c)
{
	int rc;

	if (c->state == IW_ST_CONNECTING && c->can_write) {
		rc = c->mpa_out_len ? 0 : prepare_request(c);
		if (!rc)
			rc = send_frame(c);
		if (rc < 0)
			iw_conn_end(c, rc, "connect failed");
		else if (rc > 0)
			c->state = IW_ST_AWAIT_REPLY;
	}
	if (c->state == IW_ST_AWAIT_REPLY)
		await_reply(c);
	if (c->state == IW_ST_REPLYING) {
		rc = send_frame(c);
		if (rc < 0)
			iw_conn_end(c, rc, "closed during start-up");
		else if (rc > 0)
			iw_startup_done(c);
	}
}

/* ---- Responder ------------------------------------------------------- */

static int prepare_reply(struct iw_conn *c, bool reject, const void *priv,
			 size_t priv_len)
{
	struct mpa_frame f = {
		.reply = true,
		.rev = c->peer_rev,
		.crc = c->crc,
		.reject = reject,
		.enhanced = c->peer_enhanced,
		.p2p = c->rtr_write || c->rtr_read,
		.rtr_write = c->rtr_write,
		.rtr_read = c->rtr_read,
		.ird = (uint16_t)c->ev.ird,
		.ord = (uint16_t)c->ev.ord,
		.priv = priv,
		.priv_len = priv_len,
	};

	return encode_frame(c, &f);
}

/* Send the rejection if the socket takes it at once. */
static void send_reject(struct iw_conn *c, const void *priv, size_t priv_len)
{
	c->can_write = true;
	if (!prepare_reply(c, true, priv, priv_len))
		send_frame(c);
	shutdown(c->fd, SHUT_WR);
}

int iw_startup_request(struct iw_conn *c, struct mpa_frame *f)
{
	int rc = receive_frame(c, false, f);

	if (rc <= 0)
		return rc;
	c->peer_rev = f->rev;
	c->peer_enhanced = f->enhanced;
	c->peer_ird = f->ird;
	c->peer_ord = f->ord;
	c->same_machine = is_same_machine(c);
	c->crc = f->crc || crc_wanted(c);
	if (f->p2p) {
		/* RFC 6581 section 9.2: the responder chooses. An empty Write
		 * costs nothing. */
		c->rtr_read = f->rtr_read && !f->rtr_write;
		c->rtr_write = !c->rtr_read;
	}
	if (f->rev >= 1 && f->rev <= 2 && !f->markers)
		return 1;
	/* Answer with a revision that we have: the initiator may try it. */
	if (f->rev > 2) {
		c->peer_rev = 2;
		c->peer_enhanced = false;
	} else if (!f->rev) {
		c->peer_rev = 1;
	}
	send_reject(c, NULL, 0);
	return -EPROTO;
}

static unsigned int lower_depth(unsigned int ours, uint16_t theirs)
{
	return theirs != MPA_DEPTH_NONE && theirs < ours ? theirs : ours;
}

int iw_accept(struct fab_conn *fc, const struct fab_conn_params *params)
{
	struct iw_conn *c = iw_conn(fc);
	unsigned int depth = iw_wanted_depth(c, params);
	int rc;

	if (c->state != IW_ST_REQUESTED)
		return -ENOTCONN;
	c->ev.ird = lower_depth(depth, c->peer_ord);
	c->ev.ord = lower_depth(depth, c->peer_ird);
	rc = prepare_reply(c, false, params->priv, params->priv_len);
	if (!rc && c->moved)
		/* Edge-triggered: what has arrived by now is reported. */
		rc = fab_ev_loop_watch(iw_conn_poller(c), c->fd, &c->src,
				       IW_CONN_EVENTS);
	if (rc)
		return rc;
	c->state = IW_ST_REPLYING;
	c->can_write = true;
	/* RFC 5044 section 7.1.2: the initiator's first FPDU comes first. */
	c->tx.hold = true;
	iw_conn_timer_set(c, IW_TIMER_STARTUP);
	iw_startup_progress(c);
	iw_conn_schedule(c);
	return 0;
}

void iw_reject(struct fab_conn *fc, const void *priv, size_t priv_len)
{
	struct iw_conn *c = iw_conn(fc);

	if (c->state != IW_ST_REQUESTED)
		return;
	c->ev.ird = lower_depth(c->depth, c->peer_ord);
	c->ev.ord = lower_depth(c->depth, c->peer_ird);
	send_reject(c, priv, priv_len);
	c->state = IW_ST_REJECTED;
}

void iw_reset_on_close(struct iw_conn *c, bool reset)
{
	struct linger how = { .l_onoff = reset, .l_linger = 0 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &how, sizeof(how));
}
