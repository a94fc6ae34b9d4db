/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rpcrdma-gateway listens on, and that it closes this, and nothing else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/accept.h"
#include "gateway/client.h"
#include "unit.h"

/* ---- In the place of the rest of the gateway ---------------------------- */

static unsigned int given_way, clients;
static bool nobody_leaves;

void gw_log(struct gateway *gw, int level, const char *fmt, ...)
{
}

bool gw_disconnect_for_place(struct gateway *gw, const struct gw_places *p,
			     const struct in6_addr *addr)
{
	given_way++;
	return !nobody_leaves;
}

void gw_disconnect_for_descriptor(struct gateway *gw, const struct gw_client *c)
{
	given_way++;
}

int gw_client_new(struct gateway *gw, int fd, const struct in6_addr *host,
		  bool only_gss)
{
	clients++;
	return close(fd);
}

struct in6_addr gw_user_host(int fd)
{
	return (struct in6_addr){ 0 };
}

/* ---- Tests -------------------------------------------------------------- */

static struct gateway gw;
static struct gw_accept a;
static struct stats_source stats;

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Port @port of loopback as well. */
static void listen_too(unsigned int port)
{
	struct arg_addr *at = &gw.opt.listen[gw.opt.nlisten++];
	struct sockaddr_in *in = (struct sockaddr_in *)&at->addr;

	at->len = sizeof(*in);
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons((uint16_t)port);
}

static unsigned int port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	CU_ASSERT_FATAL(!getsockname(fd, (struct sockaddr *)&in, &len));
	return ntohs(in.sin_port);
}

static void begin(void)
{
	/* Of a number that is to stay open there must be something. */
	if (!is_open(0))
		CU_ASSERT_EQUAL_FATAL(open("/dev/null", O_RDONLY), 0);
	memset(&gw, 0, sizeof(gw));
	memset(&stats, 0, sizeof(stats));
	pthread_mutex_init(&gw.lock, NULL);
	gw.opt.max_clients = 1;
	given_way = clients = 0;
	nobody_leaves = false;
	gw_accept_init(&a, &gw);
}

/* It has never come to listen. */
static void test_nothing(void)
{
	begin();
	gw_accept_stop(&a);
	CU_ASSERT_TRUE(is_open(0));
}

static void test_some(void)
{
	int fd[2];

	begin();
	listen_too(0);
	listen_too(0);
	CU_ASSERT_EQUAL_FATAL(gw_accept_start(&a, &stats), 0);
	CU_ASSERT_EQUAL(stats.nlisteners, 2);
	for (unsigned int i = 0; i < 2; i++) {
		char name[64];

		fd[i] = a.fd[i];
		snprintf(name, sizeof(name), "127.0.0.1:%u", port_of(fd[i]));
		CU_ASSERT_STRING_EQUAL(stats.listener[i], name);
	}
	gw_accept_stop(&a);
	CU_ASSERT_FALSE(is_open(fd[0]) || is_open(fd[1]));
	CU_ASSERT_TRUE(is_open(0));
}

/* Another one has the second port. */
static void test_in_use(void)
{
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	begin();
	listen_too(0);
	listen_too(0);
	CU_ASSERT_FATAL(!bind(other, (struct sockaddr *)&gw.opt.listen[0].addr,
			      gw.opt.listen[0].len) &&
			!listen(other, 1));
	gw.opt.nlisten = 1;
	listen_too(port_of(other));
	CU_ASSERT_EQUAL(gw_accept_start(&a, &stats), -EADDRINUSE);
	CU_ASSERT_EQUAL(stats.nlisteners, 1);
	fd = a.fd[0];
	gw_accept_stop(&a);
	CU_ASSERT_FALSE(is_open(fd));
	CU_ASSERT_TRUE(is_open(0) && is_open(other));
	close(other);
}

/* There is a place for each, or it is turned away. */
static void test_clients(void)
{
	int s;

	begin();
	listen_too(0);
	CU_ASSERT_EQUAL_FATAL(gw_accept_start(&a, &stats), 0);
	gw_accept_clients(&a, a.fd[0]);
	CU_ASSERT_EQUAL(clients, 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct sockaddr_in in;
		socklen_t len = sizeof(in);
		struct pollfd come = { .fd = a.fd[0], .events = POLLIN };

		nobody_leaves = i == 2;
		getsockname(a.fd[0], (struct sockaddr *)&in, &len);
		s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CU_ASSERT_EQUAL_FATAL(connect(s, (struct sockaddr *)&in, len),
				      0);
		CU_ASSERT_EQUAL(poll(&come, 1, -1), 1);
		gw_accept_clients(&a, a.fd[0]);
		CU_ASSERT_EQUAL(clients, i ? 2 : 1);
		CU_ASSERT_EQUAL(given_way, i + 1);
		CU_ASSERT_FALSE(a.paused);
		close(s);
	}
	/* No descriptor for another: it rests, and somebody is to leave. */
	gw_accept_clients(&a, -1);
	CU_ASSERT_TRUE(a.paused);
	CU_ASSERT_EQUAL(given_way, 4);
	gw_accept_stop(&a);
}

static const struct unit_test tests[] = {
	{ "nothing", test_nothing },
	{ "some", test_some },
	{ "in use", test_in_use },
	{ "clients", test_clients },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-accept", tests)
