/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The listener keeps its pace (pace.h): whose request it reads at once, whose in
 * its turn, and whom it closes. The clock stands still but for what a test lets
 * pass.
 */
#include <netinet/tcp.h>
#include <sys/param.h>

#include "base/pace.h"
#include "fabric/iwarp/iw.h"
#include "iwarp_raw.h"
#include "test_clock.h"
#include "unit.h"

static struct world w;
static unsigned int heard, refusals;
static bool vouch;

static void on_line(void *ctx, int level, const char *text)
{
	/* From where unknown_hosts() has those that are too many. */
	if (strstr(text, "too many connections at once") &&
	    strstr(text, ": 127.2."))
		refusals++;
}

static void on_request(struct fab_listener *l, struct fab_conn *c,
		       const void *priv, size_t priv_len, void *user)
{
	heard++;
	if (vouch)
		fab_conn_vouch(c);
	fab_reject(c, NULL, 0);
	fab_conn_destroy_deferred(c, NULL, NULL);
}

/* Until nothing moves: on loopback what was sent is there. */
static void settle(void)
{
	for (int still = 0; still < 20;)
		still = fab_poller_run(w.poller, 0) > 0 ? 0 : still + 1;
}

/* @max_new: see struct fab_domain_params. */
static void begin(unsigned int max_new)
{
	const struct fab_domain_params p = { .max_startup = 256,
					     .max_new = max_new,
					     .log = on_line };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	test_clock_hold();
	memset(&w, 0, sizeof(w));
	heard = refusals = 0;
	vouch = false;
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_iwarp_ops, &p, &w.dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(w.dom, &w.poller), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(w.poller, (struct sockaddr *)&at,
					 sizeof(at), on_request, NULL,
					 &w.listener),
			      0);
	fab_listener_addr(w.listener, &w.addr);
}

static void end(void)
{
	fab_listener_close(w.listener);
	settle();
	fab_poller_destroy(w.poller);
	fab_domain_close(w.dom);
	test_clock_release();
}

/* A connection from 127.0.0.0 + @host with its request. */
static int dial(uint32_t host)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr =
					    htonl(0x7f000000 + host) };
	uint8_t f[64];
	size_t n = raw_mpa(f, false, 0, 1, NULL, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&from, sizeof(from)),
			      0);
	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&w.addr,
				      sizeof(struct sockaddr_in)),
			      0);
	CU_ASSERT_EQUAL_FATAL(send(fd, f, n, MSG_NOSIGNAL), (ssize_t)n);
	return fd;
}

/* Thousands may wait to be accepted, if the system permits it. */
static void backlog(void)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "r");
	struct iw_listener *l;
	unsigned int most = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fscanf(f, "%u", &most), 1);
	fclose(f);
	begin(0);
	l = container_of(w.listener, struct iw_listener, ev.fab);
	getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	/* Of a listener this is its backlog. */
	CU_ASSERT_EQUAL(info.tcpi_sacked, MIN(most, 4096u));
	end();
}

/* The same, heard or not, and gone. */
static void come_and_go(uint32_t host)
{
	int fd = dial(host);

	settle();
	close(fd);
	settle();
}

static bool closed(int fd)
{
	uint8_t octet;
	ssize_t n = recv(fd, &octet, 1, MSG_DONTWAIT);

	return !n || (n < 0 && errno == ECONNRESET);
}

static void one_host(void)
{
	enum { WAIT = 10 };
	int fd[WAIT];

	begin(0);
	for (int i = 0; i <= BASE_PACE_BURST; i++)
		come_and_go(2);
	CU_ASSERT_EQUAL(heard, BASE_PACE_BURST + 1);
	for (int i = 0; i < WAIT; i++)
		fd[i] = dial(2);
	settle();
	CU_ASSERT_EQUAL(heard, BASE_PACE_BURST + 1);
	/* Others do not wait. */
	come_and_go(3);
	CU_ASSERT_EQUAL(heard, BASE_PACE_BURST + 2);
	for (unsigned int i = 1; i <= WAIT; i++) {
		test_clock_pass(BASE_PACE_MS);
		settle();
		CU_ASSERT_EQUAL(heard, BASE_PACE_BURST + 2 + i);
	}
	for (int i = 0; i < WAIT; i++)
		close(fd[i]);
	end();
}

/* Beyond its share of those that wait it closes the newest, which are counted. */
static void one_host_waits(void)
{
	enum { SHARE = 256 / 4, MORE = SHARE + 10 };
	unsigned int shut = 0;
	int fd[MORE];

	begin(0);
	for (int i = 0; i <= BASE_PACE_BURST; i++)
		come_and_go(2);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 0);
	for (int i = 0; i < MORE; i++)
		fd[i] = dial(2);
	settle();
	for (int i = 0; i < MORE; i++)
		shut += closed(fd[i]);
	CU_ASSERT_EQUAL(shut, MORE - SHARE);
	CU_ASSERT_EQUAL(w.dom->failed_starts, shut);
	for (int i = 0; i < MORE; i++)
		close(fd[i]);
	end();
}

static void unknown_hosts(unsigned int max_new, unsigned int burst)
{
	enum { MORE = BASE_PACE_NEW_WAIT + 20, FIRST = 0x10000 };
	unsigned int n, shut = 0;
	int fd[MORE];

	begin(max_new);
	vouch = true;
	come_and_go(2);
	vouch = false;
	for (uint32_t i = 1; i <= burst; i++)
		come_and_go(FIRST + i);
	n = heard;
	CU_ASSERT_EQUAL(n, burst + 1);
	/* From now on they wait, and some are closed at once. */
	for (uint32_t i = 0; i < MORE; i++)
		fd[i] = dial(2 * FIRST + i);
	settle();
	CU_ASSERT_EQUAL(heard, n);
	for (int i = 0; i < MORE; i++)
		shut += closed(fd[i]);
	CU_ASSERT_TRUE(shut >= MORE - BASE_PACE_NEW_WAIT - 1 && shut <= 20);
	/* Each of them is counted, and one line names the first. */
	CU_ASSERT_EQUAL(w.dom->failed_starts, shut);
	CU_ASSERT_EQUAL(refusals, 1);
	/* One that is known is heard; the others are in their turn. */
	come_and_go(2);
	CU_ASSERT_EQUAL(heard, n + 1);
	test_clock_pass(BASE_PACE_NEW_MS * 10);
	settle();
	CU_ASSERT_TRUE(heard >= n + 1 + 9 && heard <= n + 1 + 11);
	test_clock_pass(BASE_PACE_NEW_MS * BASE_PACE_NEW_WAIT);
	settle();
	CU_ASSERT_EQUAL(heard, n + 1 + MORE - shut);
	for (int i = 0; i < MORE; i++)
		close(fd[i]);
	end();
}

static void few_unknown_hosts(void)
{
	unknown_hosts(1, BASE_PACE_NEW_BURST);
}

static void many_unknown_hosts(void)
{
	unknown_hosts(BASE_PACE_NEW_BURST + 100, BASE_PACE_NEW_BURST + 100);
}

static const struct unit_test tests[] = {
	{ "one host", one_host },
	{ "one host waits", one_host_waits },
	{ "backlog", backlog },
	{ "few unknown hosts", few_unknown_hosts },
	{ "many unknown hosts", many_unknown_hosts },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp-pace", tests)
