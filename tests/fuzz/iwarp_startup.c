/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_startup - MPA start-up of a connection, as either side, over TCP
 *
 * The other side sends what the input says, in pieces, and ends as it says.
 * However it goes, the connection is up or has ended, and all is given back.
 *
 * Input: an octet of settings, then for each connection attempt an octet that
 * says what to send: the length of a piece, what comes with it and after it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test_clock.h"
#include "fabric/iwarp/iw.h"
#include "fuzz.h"

#define SET_ACTIVE 0x01u /* the provider connects */
#define SET_CRC 0x02u
#define SET_REJECT 0x04u /* passive: refuse what is good */
#define SET_LATE 0x08u /* passive: answer when all has come */

struct side {
	struct fab_conn *c;
	bool established, disconnected, gone, asked;
	unsigned int set;
	struct fab_wr recv;
	struct fab_sge sge;
	uint8_t buf[512];
};

static struct fab_domain *doms[2];

static void ready(struct fab_conn *c, void *user)
{
	struct side *s = user;
	struct fab_wc wc;

	while (!s->disconnected && fab_poll(c, &wc, 1) == 1) {
		switch (wc.kind) {
		case FAB_WC_ESTABLISHED:
			FUZZ_CHECK(!s->established);
			s->established = true;
			FUZZ_CHECK(wc.priv_len <= MPA_MAX_PD);
			if (wc.priv_len)
				fuzz_exact_free(fuzz_exact(wc.priv,
							   wc.priv_len),
						wc.priv_len);
			break;
		case FAB_WC_CLOSED:
			FUZZ_CHECK(false);
			break;
		case FAB_WC_DISCONNECTED:
			s->disconnected = true;
			FUZZ_CHECK(wc.reason);
			break;
		case FAB_WC_WORK:
			FUZZ_CHECK(wc.wr == &s->recv);
			break;
		}
	}
}

static void answer(struct side *s)
{
	static const uint8_t priv[8] = "private";
	struct fab_conn_params p = { .priv = priv, .priv_len = sizeof(priv) };

	if (s->set & SET_REJECT) {
		fab_reject(s->c, priv, sizeof(priv));
		s->disconnected = true;
		return;
	}
	s->recv = (struct fab_wr){ .op = FAB_RECV, .nsge = 1, .sge = &s->sge };
	s->sge = (struct fab_sge){ s->buf, sizeof(s->buf), NULL };
	FUZZ_CHECK(!fab_post_recv(s->c, &s->recv));
	FUZZ_CHECK(!fab_accept(s->c, &p));
}

static void request(struct fab_listener *l, struct fab_conn *c,
		    const void *priv, size_t len, void *user)
{
	struct side *s = user;

	FUZZ_CHECK(!s->c && len <= MPA_MAX_PD);
	if (len)
		fuzz_exact_free(fuzz_exact(priv, len), len);
	s->c = c;
	s->asked = true;
	fab_conn_set_ready(c, ready, s);
	if (!(s->set & SET_LATE)) {
		s->asked = false;
		answer(s);
	}
}

static void turn(struct fab_poller *p)
{
	fab_poller_run(p, 0);
}

/* What is sent by TCP on loopback is there when send() returns, nearly always;
 * nothing below counts on it. */
static void settle(struct fab_poller *p)
{
	turn(p);
	turn(p);
	turn(p);
}

/* Without TIME_WAIT, or there would soon be no ports left. */
static void reset(int fd)
{
	static const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Send the script of one connection; -1 when it has closed it. */
static int play(int fd, struct fuzz_in *in, struct fab_poller *p, bool reply)
{
	while (in->left) {
		uint8_t op = fuzz_u8(in), len, mpa[MPA_FRAME_HDR];
		const uint8_t *b;
		size_t n;

		switch (op & 7) {
		case 0:
		case 1:
			b = fuzz_take(in, op >> 3, &n);
			if (n && send(fd, b, n, MSG_NOSIGNAL) < 0)
				return fd;
			break;
		case 2: /* a head of a frame */
		case 3:
			memcpy(mpa,
			       reply ? "MPA ID Rep Frame" : "MPA ID Req Frame",
			       16);
			len = fuzz_u8(in);
			mpa[16] = fuzz_u8(in);
			mpa[17] = op >> 3 & 3;
			mpa[18] = op >> 7;
			mpa[19] = len;
			if (send(fd, mpa, sizeof(mpa), MSG_NOSIGNAL) < 0)
				return fd;
			break;
		case 4:
			settle(p);
			break;
		case 5:
			test_clock_pass(op & 0x80 ? 20000 : 100);
			turn(p);
			break;
		case 6:
			shutdown(fd, SHUT_WR);
			break;
		default:
			if (op >> 3 == 31) {
				reset(fd);
				return -1;
			}
			return fd;
		}
	}
	return fd;
}

static int tcp_listen(struct sockaddr_in *sa)
{
	socklen_t len = sizeof(*sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	sa->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	FUZZ_CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)sa, len) &&
		   !listen(fd, 16));
	getsockname(fd, (struct sockaddr *)sa, &len);
	return fd;
}

/* A port may be in use for a moment: this comes by thousands a second. */
static int tcp_connect(const struct sockaddr_storage *at)
{
	int fd, failed = 0;

	for (int i = 0; i < 5; i++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		FUZZ_CHECK(fd >= 0);
		if (!connect(fd, (const struct sockaddr *)at,
			     sizeof(struct sockaddr_in)))
			return fd;
		failed = errno;
		close(fd);
		if (failed != EADDRNOTAVAIL && failed != EADDRINUSE)
			break;
		usleep(1000);
	}
	errno = failed;
	FUZZ_CHECK(!"connected");
	return -1;
}

static void passive(struct side *s, struct fab_domain *dom, struct fuzz_in *in)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct sockaddr_storage at;
	struct fab_listener *l;
	struct fab_poller *p;
	int fd;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	FUZZ_CHECK(!fab_poller_create(dom, &p));
	FUZZ_CHECK(!fab_listen(p, (struct sockaddr *)&sa, sizeof(sa), request,
			       s, &l));
	fab_listener_addr(l, &at);
	fd = play(tcp_connect(&at), in, p, false);
	settle(p);
	if (s->asked && !s->disconnected)
		answer(s);
	settle(p);
	if (fd >= 0)
		reset(fd);
	settle(p);
	fab_listener_close(l);
	if (s->c && !s->disconnected)
		fab_disconnect(s->c, true);
	settle(p);
	if (s->c) {
		FUZZ_CHECK(s->disconnected);
		fab_conn_destroy_deferred(s->c, NULL, NULL);
	}
	turn(p);
	fab_poller_destroy(p);
}

static void active(struct side *s, struct fab_domain *dom, struct fuzz_in *in)
{
	static const uint8_t priv[8] = "private";
	struct fab_conn_params params = { .priv = priv,
					  .priv_len = sizeof(priv) };
	struct sockaddr_in listen_addr;
	struct fab_poller *p;
	uint8_t got[1024];
	int fd, listen_fd = tcp_listen(&listen_addr);

	FUZZ_CHECK(!fab_poller_create(dom, &p));
	FUZZ_CHECK(!fab_conn_create(p, ready, s, &s->c));
	FUZZ_CHECK(!fab_connect(s->c, (struct sockaddr *)&listen_addr,
				sizeof(listen_addr), &params));
	/* Twice at most: with revision 2, then with 1. */
	for (int i = 0; i < 3; i++) {
		struct pollfd pfd = { .fd = listen_fd, .events = POLLIN };

		settle(p);
		if (s->disconnected || poll(&pfd, 1, 0) != 1)
			break;
		FUZZ_CHECK(i < 2);
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		FUZZ_CHECK(fd >= 0);
		settle(p);
		FUZZ_CHECK(recv(fd, got, sizeof(got), MSG_DONTWAIT) <
			   (ssize_t)sizeof(got));
		fd = play(fd, in, p, true);
		settle(p);
		if (fd >= 0)
			reset(fd);
	}
	/* Everything it connected is gone or has been too slow by now. */
	settle(p);
	test_clock_pass(20000);
	settle(p);
	FUZZ_CHECK(s->disconnected || s->established);
	if (!s->disconnected)
		fab_disconnect(s->c, true);
	settle(p);
	FUZZ_CHECK(s->disconnected);
	fab_conn_destroy_deferred(s->c, NULL, NULL);
	turn(p);
	fab_poller_destroy(p);
	close(listen_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct side s = { 0 };
	struct fab_domain **dom;

	test_clock_hold();
	s.set = fuzz_u8(&in);
	dom = &doms[!!(s.set & SET_CRC)];
	if (!*dom) {
		struct fab_domain_params p = { .crc = s.set & SET_CRC };

		FUZZ_CHECK(!fab_domain_open(&fab_iwarp_ops, &p, dom));
	}
	if (s.set & SET_ACTIVE)
		active(&s, *dom, &in);
	else
		passive(&s, *dom, &in);
	FUZZ_CHECK(!atomic_load(&iw_domain(*dom)->startups));
	return 0;
}
