/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_startup - MPA start-up, as initiator and as responder
 *
 * Threads: one.
 */
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "base/addr.h"
#include "fabric/iwarp/iw.h"
#include "iwarp_raw.h"
#include "test_clock.h"

static struct world w;
static struct raw r;
static uint8_t f[1024];

/* ---- Between two of our own ------------------------------------------ */

static void test_private_data(void)
{
	struct fab_domain_params p = { .crc = true };
	uint8_t a[512], b[512];

	fill_random(a, sizeof(a), 1);
	fill_random(b, sizeof(b), 2);
	for (size_t len = 0; len <= 512; len += len < 500 ? 25 : 1) {
		struct fab_conn_params cp = { .priv = a, .priv_len = len };
		struct fab_conn_info ci, si;

		world_open(&w, &p);
		w.accept.priv = b;
		/* With revision 2 its control words take four octets. */
		w.accept.priv_len = len > 508 ? len : 508 - len;
		world_join(&w, &cp);
		CU_ASSERT_EQUAL(w.req_priv_len, len);
		CU_ASSERT_EQUAL(memcmp(w.req_priv, a, len), 0);
		CU_ASSERT_EQUAL(w.cli.priv_len, w.accept.priv_len);
		CU_ASSERT_EQUAL(memcmp(w.cli.priv, b, w.accept.priv_len), 0);
		fab_conn_info(w.cli.c, &ci);
		fab_conn_info(w.srv.c, &si);
		CU_ASSERT_EQUAL(memcmp(&ci.local, &si.peer,
				       sizeof(struct sockaddr_in)),
				0);
		CU_ASSERT_EQUAL(memcmp(&ci.peer, &si.local,
				       sizeof(struct sockaddr_in)),
				0);
		CU_ASSERT_STRING_EQUAL(ci.provider, "iwarp");
		CU_ASSERT_TRUE(ci.crc && si.crc);
		world_close(&w);
	}
}

static bool has_reno(struct fab_conn *c)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	return !getsockopt(iw_conn(c)->fd, IPPROTO_TCP, TCP_CONGESTION, name,
			   &len) &&
	       !strncmp(name, "reno", sizeof(name));
}

/* Within one machine nothing is paced, whatever the system's choice: where that
 * is "reno" anyway, this shows nothing. */
static void test_unpaced(void)
{
	world_pair(&w, NULL);
	CU_ASSERT_TRUE(has_reno(w.cli.c));
	CU_ASSERT_TRUE(has_reno(w.srv.c));
	world_close(&w);
}

static void check_type(int fd, int level, int name, int want)
{
	socklen_t len = sizeof(int);
	int type = -1;

	CU_ASSERT_EQUAL(getsockopt(fd, level, name, &type, &len), 0);
	CU_ASSERT_EQUAL(type, want);
}

/* Listener and both ends send by the type of service that is set. */
static void test_service_type(void)
{
	static const struct fab_domain_params set = { .service_type_given =
							      true,
						      .service_type = 184 },
					      unset = { .service_type = 184 };
	const struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	static const struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT
	};

	for (int i = 0; i < 4; i++) {
		bool six = i & 1;
		const struct sockaddr *at = six ? (const void *)&in6 :
						  (const void *)&in;
		int want = i & 2 ? 184 : 0, fd[3];

		world_open_at(&w, i & 2 ? &set : &unset, at,
			      six ? sizeof(in6) : sizeof(in));
		world_join(&w, NULL);
		fd[0] = container_of(w.listener, struct iw_listener, ev.fab)->fd;
		fd[1] = iw_conn(w.srv.c)->fd;
		fd[2] = iw_conn(w.cli.c)->fd;
		for (int k = 0; k < 3; k++) {
			check_type(fd[k], IPPROTO_IP, IP_TOS, want);
			if (six)
				check_type(fd[k], IPPROTO_IPV6, IPV6_TCLASS,
					   want);
		}
		world_close(&w);
	}
}

static void test_private_data_refused(void)
{
	struct fab_domain_params p = { .crc = true };
	uint8_t a[513] = { 0 };
	struct fab_conn_params cp = { .priv = a, .priv_len = 513 };

	world_open(&w, &p);
	w.no_answer = true;
	CU_ASSERT_EQUAL(fab_conn_create(w.poller, ep_ready, &w.cli, &w.cli.c),
			0);
	CU_ASSERT_EQUAL(fab_connect(w.cli.c, (struct sockaddr *)&w.addr,
				    sizeof(w.addr), &cp),
			-EINVAL);
	cp.priv_len = 10;
	CU_ASSERT_EQUAL(fab_connect(w.cli.c, (struct sockaddr *)&w.addr,
				    sizeof(w.addr), &cp),
			0);
	PUMP_UNTIL(&w, w.requests == 1);
	cp.priv_len = 513;
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, &cp), -EINVAL);
	cp.priv_len = 509;
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, &cp), -EINVAL);
	cp.priv_len = 508;
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, &cp), 0);
	PUMP_UNTIL(&w, w.cli.established && w.srv.established);
	CU_ASSERT_EQUAL(w.cli.priv_len, 508);
	world_close(&w);
}

static void test_reject(void)
{
	struct fab_domain_params p = { .crc = true };
	struct fab_wr recv = { .op = FAB_RECV };
	struct fab_sge sge = { f, 10, NULL };

	recv.nsge = 1;
	recv.sge = &sge;
	world_open(&w, &p);
	w.reject = true;
	w.accept.priv = "no";
	w.accept.priv_len = 2;
	CU_ASSERT_EQUAL(fab_conn_create(w.poller, ep_ready, &w.cli, &w.cli.c),
			0);
	CU_ASSERT_EQUAL(fab_post_recv(w.cli.c, &recv), 0);
	CU_ASSERT_EQUAL(fab_connect(w.cli.c, (struct sockaddr *)&w.addr,
				    sizeof(w.addr), NULL),
			0);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -EPERM);
	CU_ASSERT_FALSE(w.cli.established);
	CU_ASSERT_EQUAL(w.cli.nwc, 1);
	CU_ASSERT_EQUAL(w.cli.wc[0].status, FAB_FLUSHED);
	CU_ASSERT_EQUAL(w.requests, 1);
	w.srv.disconnected = true;
	world_close(&w);
}

static void test_refused(void)
{
	struct fab_domain_params p = { .crc = true };

	world_open(&w, &p);
	fab_listener_close(w.listener);
	w.listener = NULL;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ECONNREFUSED);
	world_close(&w);
}

static void test_ipv6(void)
{
	struct fab_domain_params p = { .crc = true };
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Not every machine has the address. */
	if (probe < 0 || bind(probe, (struct sockaddr *)&sa, sizeof(sa))) {
		if (probe >= 0)
			close(probe);
		return;
	}
	close(probe);
	world_open_at(&w, &p, (struct sockaddr *)&sa, sizeof(sa));
	world_join(&w, NULL);
	world_close(&w);
}

/* Depths: each side's reads are bounded by what the other takes. */
static void test_depths(void)
{
	static const unsigned int d[] = { 1, 2, 5, 16 };

	for (unsigned int i = 0; i < 4; i++)
		for (unsigned int k = 0; k < 4; k++) {
			struct fab_domain_params p = { .crc = true };
			struct fab_conn_params cp = { .read_depth = d[i] };
			struct fab_conn_info info;
			unsigned int low = d[i] < d[k] ? d[i] : d[k];

			world_open(&w, &p);
			w.accept.read_depth = d[k];
			world_join(&w, &cp);
			fab_conn_info(w.cli.c, &info);
			CU_ASSERT_EQUAL(info.read_depth, low);
			fab_conn_info(w.srv.c, &info);
			CU_ASSERT_EQUAL(info.read_depth, low);
			world_close(&w);
		}
}

/* ---- As responder, to a raw initiator -------------------------------- */

static void dial_and_send(size_t len)
{
	raw_dial(&r, &w.addr);
	raw_write(&w, &r, f, len);
}

static void raw_done(void)
{
	close(r.fd);
	world_close(&w);
}

/* CRC is used if one side wants it; by default, ours does not on loopback. */
static void test_crc_bits(void)
{
	for (unsigned int mode = 0; mode < 3; mode++)
		for (unsigned int theirs = 0; theirs < 2; theirs++)
			for (unsigned int rev = 1; rev <= 2; rev++) {
				struct fab_domain_params p = {
					.crc = (enum fab_crc)mode
				};
				bool ours = mode == FAB_CRC_ON;
				struct fab_conn_info info;

				world_open(&w, &p);
				dial_and_send(raw_mpa(f, false,
						      theirs ? 0x40 : 0, rev,
						      NULL, 0));
				RAW_UNTIL(&w, &r, r.in_len == 20);
				CU_ASSERT_EQUAL(r.in[16],
						ours || theirs ? 0x40 : 0);
				CU_ASSERT_EQUAL(r.in[17], rev);
				PUMP_UNTIL(&w, w.srv.established);
				fab_conn_info(w.srv.c, &info);
				CU_ASSERT_EQUAL(info.crc, ours || theirs);
				raw_done();
			}
}

static size_t rev2(unsigned int flags, unsigned int ird, unsigned int ord,
		   const void *priv, size_t len)
{
	uint8_t b[512];

	put16(b, ird);
	put16(b + 2, ord);
	if (len)
		memcpy(b + 4, priv, len);
	return raw_mpa(f, false, 0x10 | flags, 2, b, len + 4);
}

static void test_enhanced(void)
{
	struct fab_domain_params p = { .crc = true, .read_depth = 8 };
	struct fab_conn_info info;

	world_open(&w, &p);
	w.accept.priv = "xyz";
	w.accept.priv_len = 3;
	dial_and_send(rev2(0x40, 3, 40, "hello", 5));
	RAW_UNTIL(&w, &r, r.in_len == 27);
	CU_ASSERT_EQUAL(r.in[16], 0x50);
	CU_ASSERT_EQUAL(r.in[17], 2);
	CU_ASSERT_EQUAL(r.in[19], 7);
	/* Its IRD: ours, their ORD being more; its ORD: their IRD. */
	CU_ASSERT_EQUAL(get32(r.in + 20), 8 << 16 | 3);
	CU_ASSERT_EQUAL(memcmp(r.in + 24, "xyz", 3), 0);
	CU_ASSERT_EQUAL(w.req_priv_len, 5);
	CU_ASSERT_EQUAL(memcmp(w.req_priv, "hello", 5), 0);
	PUMP_UNTIL(&w, w.srv.established);
	fab_conn_info(w.srv.c, &info);
	CU_ASSERT_EQUAL(info.read_depth, 3);
	raw_done();
	/* Depths not negotiated. */
	world_open(&w, &p);
	dial_and_send(rev2(0, 0x3fff, 0x3fff, NULL, 0));
	RAW_UNTIL(&w, &r, r.in_len == 24);
	CU_ASSERT_EQUAL(get32(r.in + 20), 8 << 16 | 8);
	raw_done();
}

/* Peer-to-peer start-up, and what the initiator then sends first. */
static void test_rtr(void)
{
	static const struct {
		unsigned int ird, ord, want;
	} c[] = {
		{ 0xc008, 0xc008, 0x80008000 }, /* anything: a Write */
		{ 0x8008, 0x8008, 0x80008000 }, /* a Write */
		{ 0x8008, 0x4008, 0x80004000 }, /* a Read */
		{ 0xc008, 0x0008, 0x80008000 }, /* a Send: better a Write */
	};
	struct fab_domain_params p = { .crc = true, .read_depth = 8 };
	struct fab_wr send = { .op = FAB_SEND, .flags = FAB_F_SIGNALED };

	for (unsigned int i = 0; i < 4; i++) {
		size_t n;

		world_open(&w, &p);
		dial_and_send(rev2(0x40, c[i].ird, c[i].ord, NULL, 0));
		RAW_UNTIL(&w, &r, r.in_len == 24);
		r.crc = true;
		CU_ASSERT_EQUAL(get32(r.in + 20), c[i].want | 8 << 16 | 8);
		raw_drop(&r, 24);
		PUMP_UNTIL(&w, w.srv.established);
		/* The responder may not send before the initiator has. */
		ep_post(&w.srv, &send);
		for (int k = 0; k < 30; k++)
			world_turn(&w, 1);
		raw_read(&r);
		CU_ASSERT_EQUAL(r.in_len, 0);
		CU_ASSERT_EQUAL(w.srv.nwc, 0);
		if (c[i].want & 0x4000)
			n = raw_read_req(f, 1, 0, 0, 0, 0, 0);
		else
			n = raw_tagged(f, 0, true, 0, 0, NULL, 0);
		raw_write(&w, &r, f, raw_seal(&r, f, n));
		RAW_UNTIL(&w, &r, raw_fpdu(&r));
		if (c[i].want & 0x4000) {
			/* Either order is right; both must come. */
			RAW_UNTIL(&w, &r, r.in_len == 44);
			CU_ASSERT_TRUE((r.in[3] == 0x42 &&
					r.in[raw_fpdu(&r) + 3] == 0x43) ||
				       (r.in[3] == 0x43 &&
					r.in[raw_fpdu(&r) + 3] == 0x42));
		} else {
			CU_ASSERT_EQUAL(r.in[3], 0x43);
		}
		PUMP_UNTIL(&w, w.srv.nwc == 1);
		raw_done();
	}
}

/* Refused with a reply that says so, and no request callback. */
static void test_refusals(void)
{
	static const struct {
		unsigned int flags, rev, reply_rev;
	} c[] = { { 0x80, 1, 1 },
		  { 0xc0, 2, 2 },
		  { 0, 3, 2 },
		  { 0x40, 255, 2 },
		  { 0, 0, 1 } };
	struct fab_domain_params p = { .crc = false };

	for (unsigned int i = 0; i < 5; i++) {
		world_open(&w, &p);
		dial_and_send(raw_mpa(f, false, c[i].flags, c[i].rev, "x", 1));
		RAW_UNTIL(&w, &r, r.eof);
		CU_ASSERT_EQUAL(r.in_len, 20);
		CU_ASSERT_EQUAL(memcmp(r.in, "MPA ID Rep Frame", 16), 0);
		/* The CRC bit is echoed; markers are not ours to give. */
		CU_ASSERT_EQUAL(r.in[16], 0x20 | (c[i].flags & 0x40));
		CU_ASSERT_EQUAL(r.in[17], c[i].reply_rev);
		CU_ASSERT_EQUAL(w.requests, 0);
		raw_done();
	}
}

static void test_garbage(void)
{
	struct fab_domain_params p = { .crc = true };
	size_t n;

	world_open(&w, &p);
	dial_and_send(0);
	raw_write(&w, &r, "GET / HTTP/1.0\r\n\r\n", 18);
	RAW_UNTIL(&w, &r, r.eof);
	CU_ASSERT_EQUAL(r.in_len, 0);
	close(r.fd);
	/* Too much private data. */
	n = raw_mpa(f, false, 0, 1, NULL, 0);
	put16(f + 18, 513);
	dial_and_send(n);
	RAW_UNTIL(&w, &r, r.eof);
	close(r.fd);
	/* Revision 2 without its control words. */
	dial_and_send(raw_mpa(f, false, 0x10, 2, "abc", 3));
	RAW_UNTIL(&w, &r, r.eof);
	close(r.fd);
	/* A reply where a request belongs. */
	dial_and_send(raw_mpa(f, true, 0, 1, NULL, 0));
	RAW_UNTIL(&w, &r, r.eof);
	close(r.fd);
	/* Truncated. */
	raw_mpa(f, false, 0, 1, "abcd", 4);
	dial_and_send(22);
	shutdown(r.fd, SHUT_WR);
	RAW_UNTIL(&w, &r, r.eof);
	CU_ASSERT_EQUAL(w.requests, 0);
	raw_done();
}

/* An octet now and then: good if it ends in time, else it is dropped. */
static void test_slow_drip(void)
{
	struct fab_domain_params p = { .crc = true, .startup_timeout_ms = 300 };
	size_t n = raw_mpa(f, false, 0x40, 1, "abcdefgh", 8);

	test_clock_hold();
	world_open(&w, &p);
	dial_and_send(0);
	for (size_t i = 0; i < n; i++) {
		raw_write(&w, &r, f + i, 1);
		test_clock_pass(1);
		world_turn(&w, 1);
	}
	RAW_UNTIL(&w, &r, r.in_len == 20);
	CU_ASSERT_EQUAL(w.requests, 1);
	CU_ASSERT_EQUAL(memcmp(w.req_priv, "abcdefgh", 8), 0);
	close(r.fd);
	PUMP_UNTIL(&w, w.srv.disconnected);
	ep_destroy(&w, &w.srv);

	dial_and_send(0);
	for (size_t i = 0; i < n - 1 && !r.eof; i++) {
		raw_write(&w, &r, f + i, 1);
		test_clock_pass(40);
		world_turn(&w, 1);
		raw_read(&r);
	}
	RAW_UNTIL(&w, &r, r.eof);
	CU_ASSERT_EQUAL(r.in_len, 0);
	CU_ASSERT_EQUAL(w.requests, 1);
	raw_done();
	test_clock_release();
}

/* @n that say nothing after the TCP connection is there. */
static void dial_idle(struct raw *idle, int n)
{
	for (int i = 0; i < n; i++) {
		raw_dial(&idle[i], &w.addr);
		for (int k = 0; k < 5; k++)
			world_turn(&w, 1);
	}
}

/* The two oldest have gone, the third is there. */
static void expect_two_gone(struct raw *idle)
{
	RAW_UNTIL(&w, &idle[0], idle[0].eof);
	RAW_UNTIL(&w, &idle[1], idle[1].eof);
	raw_read(&idle[2]);
	CU_ASSERT_FALSE(idle[2].eof);
}

static void close_idle(struct raw *idle, int n)
{
	for (int i = 0; i < n; i++)
		close(idle[i].fd);
}

struct refusals {
	unsigned int n;
	char last[256];
};

static void take_refusal(void *ctx, int level, const char *text)
{
	struct refusals *c = ctx;

	if (!strstr(text, "too many"))
		return;
	c->n++;
	snprintf(c->last, sizeof(c->last), "%s", text);
}

/* One line for all of them, which ends with the name of the first. */
static void expect_named(const struct refusals *c, const struct raw *first)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char name[64], *at;

	CU_ASSERT_EQUAL(getsockname(first->fd, (struct sockaddr *)&ss, &len),
			0);
	base_addr_name((struct sockaddr *)&ss, name, sizeof(name));
	CU_ASSERT_EQUAL(c->n, 1);
	at = strstr(c->last, name);
	CU_ASSERT_TRUE(at && !strcmp(at, name));
}

/* Over the limit of half-open ones the oldest goes, and a good one gets in. Each
 * that goes is counted, also who leaves by itself. */
static void test_half_open_limit(void)
{
	static struct raw idle[6];
	struct refusals lines = { 0 };
	struct fab_domain_params p = { .crc = true,
				       .max_startup = 4,
				       .log = take_refusal,
				       .log_ctx = &lines };

	world_open(&w, &p);
	dial_idle(idle, 6);
	expect_two_gone(idle);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 2);
	expect_named(&lines, &idle[0]);
	raw_connect(&w, &r, true);
	raw_read(&idle[2]);
	CU_ASSERT_TRUE(idle[2].eof);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 3);
	close_idle(idle, 6);
	PUMP_UNTIL(&w, w.dom->failed_starts == 6);
	CU_ASSERT_EQUAL(lines.n, 1);
	raw_done();
}

/* The listener closes while some are half-open. */
static void test_half_open_close(void)
{
	static struct raw idle[3];
	struct fab_domain_params p = { .crc = true };

	world_open(&w, &p);
	dial_idle(idle, 3);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 0);
	fab_listener_close(w.listener);
	w.listener = NULL;
	CU_ASSERT_EQUAL(w.dom->failed_starts, 3);
	close_idle(idle, 3);
	world_close(&w);
}

/* One host has a quarter of them, and gives way to itself beyond that. */
static void test_half_open_share(void)
{
	static struct raw idle[10], other;
	struct refusals lines = { 0 };
	struct fab_domain_params p = { .crc = true,
				       .max_startup = 32,
				       .log = take_refusal,
				       .log_ctx = &lines };
	struct sockaddr_in from = { .sin_family = AF_INET };

	world_open(&w, &p);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	memset(&other, 0, sizeof(other));
	other.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL(bind(other.fd, (struct sockaddr *)&from, sizeof(from)),
			0);
	CU_ASSERT_EQUAL(
		connect(other.fd, (struct sockaddr *)&w.addr, sizeof(from)), 0);
	raw_nonblock(&other);
	dial_idle(idle, 10);
	expect_two_gone(idle);
	raw_read(&other);
	CU_ASSERT_FALSE(other.eof);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 2);
	expect_named(&lines, &idle[0]);
	close_idle(idle, 10);
	close(other.fd);
	raw_connect(&w, &r, true);
	raw_done();
}

static void count_line(void *ctx, int level, const char *text)
{
	unsigned int *n = ctx;

	if (strstr(text, "pausing"))
		n[0]++;
	if (strstr(text, "taken again"))
		n[1]++;
}

/* Out of descriptors: the listener pauses instead of spinning, and is there
 * again when there are some, and says so. */
static void test_out_of_descriptors(void)
{
	unsigned int lines[2] = { 0, 0 };
	struct fab_domain_params p = { .crc = true,
				       .log = count_line,
				       .log_ctx = lines };
	struct rlimit old, low;
	int next;

	test_clock_hold();
	world_open(&w, &p);
	dial_and_send(0);
	next = dup(r.fd);
	close(next);
	CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)next;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (int i = 0; i < 50; i++) {
		test_clock_pass(100);
		world_turn(&w, 0);
	}
	/* However often it has tried. */
	CU_ASSERT_EQUAL(lines[0], 1);
	CU_ASSERT_EQUAL(lines[1], 0);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &old), 0);
	test_clock_pass(100);
	raw_write(&w, &r, f, raw_mpa(f, false, 0x40, 1, NULL, 0));
	PUMP_UNTIL(&w, w.srv.established);
	CU_ASSERT_EQUAL(w.requests, 1);
	CU_ASSERT_EQUAL(lines[1], 1);
	raw_done();
	test_clock_release();
}

/* A shortage that comes and goes is told once a minute. */
static void test_flapping(void)
{
	unsigned int lines[2] = { 0, 0 };
	struct fab_domain_params p = { .crc = true,
				       .log = count_line,
				       .log_ctx = lines };
	struct rlimit old, low;
	struct raw other;
	int next;

	test_clock_hold();
	world_open(&w, &p);
	CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int i = 0; i < 100; i++) {
		memset(&other, 0, sizeof(other));
		raw_dial(&other, &w.addr);
		next = dup(other.fd);
		close(next);
		low = old;
		low.rlim_cur = (rlim_t)next;
		CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &low), 0);
		world_turn(&w, 0);
		CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &old), 0);
		test_clock_pass(100);
		world_turn(&w, 0);
		close(other.fd);
		world_turn(&w, 0);
		world_turn(&w, 0);
	}
	CU_ASSERT_EQUAL(lines[0], 1);
	CU_ASSERT_EQUAL(lines[1], 1);
	world_close(&w);
	test_clock_release();
}

static void host_line(void *ctx, const struct in6_addr *host, int level,
		      const char *text)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct in6_addr loopback;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	loopback = base_addr_host((struct sockaddr *)&sa);
	if (strstr(text, "not an MPA request") &&
	    !memcmp(host, &loopback, sizeof(loopback)))
		++*(unsigned int *)ctx;
}

/* What a peer has caused counts for its host. */
static void test_log_host(void)
{
	unsigned int lines[2] = { 0, 0 };
	struct fab_domain_params p = { .crc = true,
				       .log = count_line,
				       .log_host = host_line,
				       .log_ctx = lines };

	world_open(&w, &p);
	memset(f, 'x', 64);
	dial_and_send(64);
	PUMP_UNTIL(&w, lines[0]);
	CU_ASSERT_EQUAL(lines[0], 1);
	raw_done();
}

/* ---- As initiator, to a raw responder -------------------------------- */

static int raw_listener(struct sockaddr_storage *addr)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 10), 0);
	getsockname(fd, (struct sockaddr *)addr, &len);
	return fd;
}

static int raw_lfd;

/* A world whose client connects to a raw listener. */
static void initiator_open(const struct fab_domain_params *p,
			   const struct fab_conn_params *cp)
{
	world_open(&w, p);
	raw_lfd = raw_listener(&w.addr);
	world_connect(&w, cp);
}

static void raw_accept(void)
{
	memset(&r, 0, sizeof(r));
	r.fd = -1;
	PUMP_UNTIL(&w, r.fd >= 0 || (r.fd = accept(raw_lfd, NULL, NULL)) >= 0);
	CU_ASSERT_TRUE_FATAL(r.fd >= 0);
	raw_nonblock(&r);
}

static void initiator_close(void)
{
	close(r.fd);
	close(raw_lfd);
	world_close(&w);
}

static void test_request_octets(void)
{
	struct fab_domain_params p = { .crc = true, .read_depth = 12 };
	struct fab_conn_params cp = { .priv = "p", .priv_len = 1 };
	struct fab_conn_info info;
	uint8_t rep[4];

	initiator_open(&p, &cp);
	raw_accept();
	RAW_UNTIL(&w, &r, r.in_len == 25);
	CU_ASSERT_EQUAL(memcmp(r.in, "MPA ID Req Frame", 16), 0);
	CU_ASSERT_EQUAL(r.in[16], 0x50);
	CU_ASSERT_EQUAL(r.in[17], 2);
	CU_ASSERT_EQUAL(r.in[19], 5);
	CU_ASSERT_EQUAL(get32(r.in + 20), 12 << 16 | 12);
	CU_ASSERT_EQUAL(r.in[24], 'p');
	put16(rep, 5);
	put16(rep + 2, 7);
	raw_write(&w, &r, f, raw_mpa(f, true, 0x50, 2, rep, 4));
	PUMP_UNTIL(&w, w.cli.established);
	fab_conn_info(w.cli.c, &info);
	CU_ASSERT_EQUAL(info.read_depth, 5);
	CU_ASSERT_TRUE(info.crc);
	CU_ASSERT_EQUAL(w.cli.priv_len, 0);
	initiator_close();
}

enum no_rev2 { REJECTS, REPLIES_1, CLOSES, RESETS, KINDS };

/* Seconds after which TCP asks whether the responder is there. */
static int keepalive_idle(void)
{
	int seconds = 0;
	socklen_t len = sizeof(seconds);

	getsockopt(iw_conn(w.cli.c)->fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds,
		   &len);
	return seconds;
}

/* Responders that know only revision 1 have several ways to say so. */
static void test_fall_back(void)
{
	static const struct linger reset = { 1, 0 };

	for (int turn = 0; turn < 3 * KINDS; turn++) {
		int kind = turn / 3;
		struct fab_domain_params p = { .crc = (enum fab_crc)(turn % 3),
					       .read_depth = 12 };
		/* Not by default: this is loopback. */
		uint8_t crc = p.crc == FAB_CRC_ON ? 0x40 : 0;
		struct fab_conn_params cp = { .priv = "priv", .priv_len = 4 };
		struct fab_conn_info info;

		initiator_open(&p, &cp);
		CU_ASSERT_EQUAL(fab_conn_silent_ms(w.cli.c), 0);
		CU_ASSERT_EQUAL(keepalive_idle(), 1);
		raw_accept();
		RAW_UNTIL(&w, &r, r.in_len == 28);
		CU_ASSERT_EQUAL(r.in[16] & 0x40, crc);
		if (kind == REJECTS)
			raw_write(&w, &r, f,
				  raw_mpa(f, true, 0x20, 1, NULL, 0));
		else if (kind == REPLIES_1)
			raw_write(&w, &r, f,
				  raw_mpa(f, true, 0x40, 1, NULL, 0));
		if (kind == RESETS)
			setsockopt(r.fd, SOL_SOCKET, SO_LINGER, &reset,
				   sizeof(reset));
		close(r.fd);
		raw_accept();
		RAW_UNTIL(&w, &r, r.in_len == 24);
		CU_ASSERT_EQUAL(r.in[16], crc);
		CU_ASSERT_EQUAL(r.in[17], 1);
		CU_ASSERT_EQUAL(memcmp(r.in + 20, "priv", 4), 0);
		raw_write(&w, &r, f, raw_mpa(f, true, crc, 1, "yes", 3));
		PUMP_UNTIL(&w, w.cli.established);
		CU_ASSERT_EQUAL(w.cli.priv_len, 3);
		fab_conn_info(w.cli.c, &info);
		CU_ASSERT_EQUAL(info.read_depth, 12);
		CU_ASSERT_EQUAL(info.crc, crc != 0);
		/* Silence is noticed on this socket, too. */
		fab_conn_silent_ms(w.cli.c);
		CU_ASSERT_EQUAL(keepalive_idle(), 1);
		initiator_close();
	}
}

static void test_bad_replies(void)
{
	static const struct {
		unsigned int flags, rev;
		bool request;
		int error;
	} c[] = {
		{ 0x70, 2, false, -EPERM }, /* rejected */
		{ 0x20, 2, false, -EPERM }, /* so, and bare */
		{ 0xd0, 2, false, -EPROTO }, /* wants markers */
		{ 0x10, 2, false, -EPROTO }, /* refuses CRC */
		{ 0x50, 3, false, -EPROTO }, /* of the future */
		{ 0x50, 2, true, -EPROTO }, /* not a reply */
	};

	for (unsigned int i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct fab_domain_params p = { .crc = true };
		static const uint8_t depths[4] = { 0, 4, 0, 4 };

		initiator_open(&p, NULL);
		raw_accept();
		RAW_UNTIL(&w, &r, r.in_len == 24);
		raw_write(&w, &r, f,
			  raw_mpa(f, !c[i].request, c[i].flags, c[i].rev,
				  depths, 4));
		PUMP_UNTIL(&w, w.cli.disconnected);
		CU_ASSERT_EQUAL(w.cli.error, c[i].error);
		CU_ASSERT_FALSE(w.cli.established);
		initiator_close();
	}
}

/* The responder would issue more Reads than were offered. */
static void test_reply_depth_too_high(void)
{
	struct fab_domain_params p = { .crc = true, .read_depth = 4 };
	static const uint8_t depths[4] = { 0, 4, 0, 5 };

	initiator_open(&p, NULL);
	raw_accept();
	RAW_UNTIL(&w, &r, r.in_len == 24);
	raw_drop(&r, 24);
	r.crc = true;
	raw_write(&w, &r, f, raw_mpa(f, true, 0x50, 2, depths, 4));
	RAW_UNTIL(&w, &r, r.eof);
	CU_ASSERT_EQUAL(raw_fpdu(&r), r.in_len);
	CU_ASSERT_EQUAL(get32(r.in + 20), 0x20060000);
	raw_check_crc(&r, r.in_len);
	shutdown(r.fd, SHUT_WR);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -EPROTO);
	CU_ASSERT_FALSE(w.cli.established);
	initiator_close();
}

static void test_silent_responder(void)
{
	struct fab_domain_params p = { .crc = true, .startup_timeout_ms = 100 };

	initiator_open(&p, NULL);
	raw_accept();
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ETIMEDOUT);
	initiator_close();
}

/* Half a reply, then the end: no second try for that. */
static void test_half_reply(void)
{
	struct fab_domain_params p = { .crc = true };

	initiator_open(&p, NULL);
	raw_accept();
	RAW_UNTIL(&w, &r, r.in_len == 24);
	raw_mpa(f, true, 0x40, 2, NULL, 0);
	raw_write(&w, &r, f, 10);
	shutdown(r.fd, SHUT_WR);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ECONNRESET);
	initiator_close();
}

/* A kernel that answers nothing is silent, a program that does not is not. */
static void test_silence(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct fab_domain_params p = { .startup_timeout_ms = 60000 };
	int lfd = socket(AF_INET, SOCK_STREAM, 0), other[2];
	socklen_t len = sizeof(sin);

	initiator_open(&p, NULL);
	raw_accept();
	RAW_UNTIL(&w, &r, r.in_len >= 20);
	CU_ASSERT_EQUAL(fab_conn_silent_ms(w.cli.c), 0);
	/* Linux delays an acknowledgement by up to 0.2 s. */
	usleep(250000);
	CU_ASSERT_EQUAL(fab_conn_silent_ms(w.cli.c), 0);
	initiator_close();
	/* A full queue: Linux drops the SYN. */
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(lfd, (struct sockaddr *)&sin, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(lfd, 0), 0);
	getsockname(lfd, (struct sockaddr *)&sin, &len);
	for (int i = 0; i < 2; i++) {
		other[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(other[i], (struct sockaddr *)&sin, len);
	}
	world_open(&w, &p);
	memcpy(&w.addr, &sin, sizeof(sin));
	world_connect(&w, NULL);
	CU_ASSERT_EQUAL(fab_conn_silent_ms(w.cli.c), 0);
	usleep(50000);
	CU_ASSERT_TRUE(fab_conn_silent_ms(w.cli.c) > 0);
	world_close(&w);
	for (int i = 0; i < 2; i++)
		close(other[i]);
	close(lfd);
}

static const struct unit_test tests[] = {
	{ "private_data", test_private_data },
	{ "private_data_refused", test_private_data_refused },
	{ "unpaced", test_unpaced },
	{ "service_type", test_service_type },
	{ "reject", test_reject },
	{ "refused", test_refused },
	{ "ipv6", test_ipv6 },
	{ "depths", test_depths },
	{ "crc_bits", test_crc_bits },
	{ "enhanced", test_enhanced },
	{ "rtr", test_rtr },
	{ "refusals", test_refusals },
	{ "garbage", test_garbage },
	{ "slow_drip", test_slow_drip },
	{ "half_open_limit", test_half_open_limit },
	{ "half-open share", test_half_open_share },
	{ "half-open close", test_half_open_close },
	{ "out_of_descriptors", test_out_of_descriptors },
	{ "flapping", test_flapping },
	{ "log_host", test_log_host },
	{ "request_octets", test_request_octets },
	{ "fall_back", test_fall_back },
	{ "bad_replies", test_bad_replies },
	{ "reply_depth_too_high", test_reply_depth_too_high },
	{ "silent_responder", test_silent_responder },
	{ "half_reply", test_half_reply },
	{ "silence", test_silence },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_startup", tests)
