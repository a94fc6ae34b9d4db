/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of rpcbind, octet by octet, and an rpcbind that answers
 * nonsense or not at all. The real one is in rpcbind.test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/un.h>
#include <unistd.h>

#include "ganesha/serve/rpcbind.h"
#include "unit.h"

#define CALLS 32

/* How it answers; the last for ever. */
enum answer {
	YES,
	NO,
	CLOSES, /* without a word */
	CUT, /* in the middle */
	NO_MARK, /* ends within the record mark */
	EMPTY, /* a record of no octets */
	HUGE, /* one that is longer than any message */
	FRAGMENT, /* not the last one */
	OTHER_XID,
	NO_REPLY, /* a Call */
	DENIES,
	PROG_MISMATCHES,
};

struct asked {
	uint32_t proc, prog, vers;
	char netid[16], address[80];
};

static struct {
	char path[64];
	int listener;
	pthread_t thread;
	const enum answer *script;
	unsigned int n; /* of the script's answers that were given */
	unsigned int calls, connections;
	struct asked asked[CALLS];
} fake;

static char said[1024];
static unsigned int lines;

static void listen_to(int component, const char *file, int line,
		      const char *function, int level, const char *format, ...)
{
	va_list args;

	if (level > GSH_EVENT)
		return;
	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	lines++;
}

static const struct gsh gsh = { .log = listen_to };

static uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

/* An XDR string of less than @size octets; where it ends. */
static const uint8_t *text(const uint8_t *at, char *to, size_t size)
{
	uint32_t len = word(at);

	memset(to, 0, size);
	if (len < size)
		memcpy(to, at + 4, len);
	return at + 4 + (len + 3) / 4 * 4;
}

/* RFC 5531, 9: XID, CALL, 2, program, version, procedure, two AUTH_NONE. */
static bool take_call(int fd, uint32_t *xid)
{
	struct asked *a = &fake.asked[fake.calls % CALLS];
	uint8_t buf[512];
	const uint8_t *at = buf + 40;
	uint32_t mark, len;
	char owner[16];

	if (recv(fd, &mark, 4, MSG_WAITALL) != 4)
		return false;
	len = ntohl(mark) & 0x7fffffff;
	if (!(ntohl(mark) >> 31) || len > sizeof(buf) || len < 60 ||
	    recv(fd, buf, len, MSG_WAITALL) != (ssize_t)len)
		return false;
	*xid = word(buf);
	if (word(buf + 4) || word(buf + 8) != 2 || word(buf + 12) != 100000 ||
	    word(buf + 16) != 3 || word(buf + 24) || word(buf + 28) ||
	    word(buf + 32) || word(buf + 36))
		return false;
	a->proc = word(buf + 20);
	a->prog = word(at);
	a->vers = word(at + 4);
	at = text(at + 8, a->netid, sizeof(a->netid));
	at = text(at, a->address, sizeof(a->address));
	at = text(at, owner, sizeof(owner));
	if (at != buf + len || strtoul(owner, NULL, 10) != geteuid())
		return false;
	fake.calls++;
	return true;
}

static bool give(int fd, enum answer how, uint32_t xid)
{
	/* A record of XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, SUCCESS, bool. */
	uint32_t w[8] = { 0x8000001c, xid, 1, 0, 0, 0, 0, how != NO };
	size_t len = sizeof(w);
	bool goes_on = true;

	switch (how) {
	case CLOSES:
		return false;
	case CUT:
		len = 20;
		goes_on = false;
		break;
	case NO_MARK:
		len = 3;
		goes_on = false;
		break;
	case EMPTY:
		w[0] = 0x80000000;
		len = 4;
		break;
	case HUGE:
		w[0] = 0xffffffff;
		break;
	case FRAGMENT:
		w[0] = 0x1c;
		break;
	case OTHER_XID:
		w[1]++;
		break;
	case NO_REPLY:
		w[2] = 0;
		break;
	case DENIES:
		w[3] = 1;
		break;
	case PROG_MISMATCHES:
		w[6] = 2;
		break;
	default:
		break;
	}
	for (unsigned int i = 0; i < 8; i++)
		w[i] = htonl(w[i]);
	return send(fd, w, len, MSG_NOSIGNAL) == (ssize_t)len && goes_on;
}

static void *serve(void *arg)
{
	uint32_t xid;
	int fd;

	while ((fd = accept(fake.listener, NULL, NULL)) >= 0) {
		fake.connections++;
		while (take_call(fd, &xid)) {
			enum answer how = fake.script[fake.n];

			if (how != YES || fake.script[fake.n + 1] != YES)
				fake.n++;
			if (!give(fd, how, xid))
				break;
		}
		close(fd);
	}
	return NULL;
}

/* @script ends with YES, YES. */
static void open_fake(const enum answer *script)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	memset(&fake, 0, sizeof(fake));
	said[0] = '\0';
	lines = 0;
	fake.script = script;
	snprintf(fake.path, sizeof(fake.path), "/tmp/rpcrdma-rpcbind.%d",
		 (int)getpid());
	strcpy(addr.sun_path, fake.path);
	unlink(fake.path);
	fake.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_FATAL(fake.listener >= 0);
	CU_ASSERT_FATAL(
		!bind(fake.listener, (struct sockaddr *)&addr, sizeof(addr)));
	CU_ASSERT_FATAL(!listen(fake.listener, 8));
	CU_ASSERT_FATAL(!pthread_create(&fake.thread, NULL, serve, NULL));
}

static void close_fake(void)
{
	shutdown(fake.listener, SHUT_RDWR);
	pthread_join(fake.thread, NULL);
	close(fake.listener);
	unlink(fake.path);
}

static void fill(struct gr_rpcbind *rb)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&rb->at;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&rb->at6;

	memset(rb, 0, sizeof(*rb));
	pthread_mutex_init(&rb->lock, NULL);
	rb->gsh = &gsh;
	rb->path = fake.path;
	in->sin_family = AF_INET;
	in->sin_port = htons(20049);
	inet_pton(AF_INET, "192.0.2.1", &in->sin_addr);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(20049);
	inet_pton(AF_INET6, "2001:db8::1", &in6->sin6_addr);
}

static void was(unsigned int i, uint32_t proc, uint32_t vers, const char *netid,
		const char *address)
{
	const struct asked *a = &fake.asked[i];

	CU_ASSERT(a->proc == proc && a->prog == 100003 && a->vers == vers);
	CU_ASSERT_STRING_EQUAL(a->netid, netid);
	CU_ASSERT_STRING_EQUAL(a->address, address);
}

#define SET 1
#define UNSET 2

static void asks(void)
{
	static const enum answer yes[] = { YES, YES };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	gr_rpcbind_set(&rb, 100003, 3);
	gr_rpcbind_set(&rb, 100003, 3);
	gr_rpcbind_set(&rb, 100003, 4);
	gr_rpcbind_set(&rb, 100003, 3);
	gr_rpcbind_withdraw(&rb);
	gr_rpcbind_withdraw(&rb);
	close_fake();
	CU_ASSERT_EQUAL(fake.calls, 12);
	CU_ASSERT_EQUAL(fake.connections, 3);
	for (unsigned int v = 3; v <= 4; v++) {
		was(2 * v - 6, UNSET, v, "rdma", "");
		was(2 * v - 5, UNSET, v, "rdma6", "");
		was(2 * v - 2, SET, v, "rdma", "192.0.2.1.78.81");
		was(2 * v - 1, SET, v, "rdma6", "2001:db8::1.78.81");
		was(2 * v + 2, UNSET, v, "rdma", "");
		was(2 * v + 3, UNSET, v, "rdma6", "");
	}
	CU_ASSERT_EQUAL(lines, 0);
}

static void one_family(void)
{
	static const enum answer yes[] = { YES, YES };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	memset(&rb.at, 0, sizeof(rb.at));
	gr_rpcbind_set(&rb, 100003, 4);
	close_fake();
	CU_ASSERT_EQUAL(fake.calls, 5);
	was(4, SET, 4, "rdma6", "2001:db8::1.78.81");
}

static void not_wanted(void)
{
	static const enum answer yes[] = { YES, YES };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	rb.gsh = NULL;
	gr_rpcbind_set(&rb, 100003, 4);
	gr_rpcbind_withdraw(&rb);
	gr_rpcbind_move(&rb, &rb.at6, &rb.at);
	close_fake();
	CU_ASSERT_EQUAL(fake.connections, 0);
}

/* All versions are registered at the new addresses; nothing is asked if they are the same, if nothing
 * is registered, or after the end. */
static void moves(void)
{
	static const enum answer yes[] = { YES, YES };
	struct sockaddr_storage at, at6, none = { 0 };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	at = rb.at;
	at6 = rb.at6;
	gr_rpcbind_move(&rb, &at, &none);
	gr_rpcbind_set(&rb, 100003, 3);
	gr_rpcbind_set(&rb, 100003, 4);
	gr_rpcbind_move(&rb, &at, &none);
	CU_ASSERT_EQUAL(fake.calls, 6);
	((struct sockaddr_in *)&at)->sin_port = htons(20050);
	gr_rpcbind_move(&rb, &at, &at6);
	gr_rpcbind_move(&rb, &at, &at6);
	CU_ASSERT_EQUAL(fake.calls, 14);
	gr_rpcbind_withdraw(&rb);
	gr_rpcbind_move(&rb, &none, &at6);
	gr_rpcbind_set(&rb, 100003, 3);
	close_fake();
	CU_ASSERT_EQUAL(fake.calls, 18);
	was(4, SET, 3, "rdma", "192.0.2.1.78.81");
	was(5, SET, 4, "rdma", "192.0.2.1.78.81");
	for (unsigned int v = 3; v <= 4; v++) {
		was(4 * v - 6, UNSET, v, "rdma", "");
		was(4 * v - 5, UNSET, v, "rdma6", "");
		was(4 * v - 4, SET, v, "rdma", "192.0.2.1.78.82");
		was(4 * v - 3, SET, v, "rdma6", "2001:db8::1.78.81");
	}
	CU_ASSERT_EQUAL(lines, 0);
}

static void moves_not(void)
{
	static const enum answer yes[] = { YES, YES };
	struct sockaddr_storage none = { 0 };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	gr_rpcbind_set(&rb, 100003, 3);
	close_fake();
	CU_ASSERT_EQUAL(lines, 0);
	gr_rpcbind_move(&rb, &rb.at, &none);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "not registered with rpcbind"));
}

static void refuses(void)
{
	/* Nothing to take away; then somebody else has the second netid. */
	static const enum answer no[] = { NO, NO, NO, NO, YES, NO, YES, YES };
	struct gr_rpcbind rb;

	open_fake(no);
	fill(&rb);
	gr_rpcbind_set(&rb, 100003, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "another server is registered"));
	gr_rpcbind_set(&rb, 100003, 4);
	CU_ASSERT_EQUAL(lines, 1);
	/* What could be set is withdrawn. */
	gr_rpcbind_withdraw(&rb);
	close_fake();
	CU_ASSERT_EQUAL(fake.calls, 8);
	was(6, UNSET, 3, "rdma", "");
	CU_ASSERT_EQUAL(lines, 1);
}

static void nonsense(void)
{
	static const enum answer first[] = { CLOSES,	     CUT,      NO_MARK,
					     EMPTY,	     HUGE,     FRAGMENT,
					     OTHER_XID,	     NO_REPLY, DENIES,
					     PROG_MISMATCHES };
	struct gr_rpcbind rb;

	for (unsigned int i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		for (unsigned int after = 0; after < 2; after++) {
			enum answer script[] = { NO,	   NO,	NO, NO,
						 first[i], YES, YES };

			/* At once, or when something was to be set. */
			open_fake(script + (after ? 0 : 4));
			fill(&rb);
			gr_rpcbind_set(&rb, 100003, 3);
			gr_rpcbind_set(&rb, 100003, 4);
			CU_ASSERT_PTR_NOT_NULL(strstr(said, "Protocol error"));
			CU_ASSERT_EQUAL(lines, 1);
			gr_rpcbind_withdraw(&rb);
			close_fake();
			CU_ASSERT_EQUAL(fake.calls, after ? 7 : 1);
		}
	}
}

static void absent(void)
{
	static const enum answer yes[] = { YES, YES };
	struct gr_rpcbind rb;

	open_fake(yes);
	fill(&rb);
	gr_rpcbind_set(&rb, 100003, 3);
	close_fake();
	CU_ASSERT_EQUAL(lines, 0);
	gr_rpcbind_withdraw(&rb);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "not removed from rpcbind"));
	fill(&rb);
	gr_rpcbind_set(&rb, 100003, 3);
	gr_rpcbind_set(&rb, 100003, 4);
	gr_rpcbind_withdraw(&rb);
	CU_ASSERT_EQUAL(lines, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "No such file or directory"));
}

static const struct unit_test tests[] = {
	{ "asks", asks },
	{ "one_family", one_family },
	{ "not_wanted", not_wanted },
	{ "moves", moves },
	{ "moves_not", moves_not },
	{ "refuses", refuses },
	{ "nonsense", nonsense },
	{ "absent", absent },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-rpcbind", tests)
