/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A socket that takes no more than the first FPDU of several: what has gone is of
 * no concern to the rest.
 */
#include <sys/uio.h>

#include "iwarp_util.h"
#include "unit.h"

#define LEN 4000
#define READ_RESPONSE 2 /* RDMAP opcode */
#define MOST_IOV 64

static bool armed, cut;

ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);

/* The next that begins with a Read Response and has more behind it is cut. */
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	const uint8_t *head = m->msg_iov[0].iov_base;
	struct iovec iov[MOST_IOV];
	struct msghdr first = *m;
	size_t left, n = 0;

	if (!armed || m->msg_iov[0].iov_len < 4 ||
	    (head[3] & 15) != READ_RESPONSE)
		return __real_sendmsg(fd, m, flags);
	/* Length, padding, CRC: RFC 5044. */
	left = (((size_t)head[0] << 8 | head[1]) + 2 + 3) / 4 * 4 + 4;
	first.msg_iov = iov;
	for (; n < m->msg_iovlen && n < MOST_IOV && left; n++) {
		iov[n] = m->msg_iov[n];
		if (iov[n].iov_len > left)
			iov[n].iov_len = left;
		left -= iov[n].iov_len;
	}
	if (left || n == m->msg_iovlen)
		return __real_sendmsg(fd, m, flags);
	first.msg_iovlen = n;
	armed = false;
	cut = true;
	return __real_sendmsg(fd, &first, flags);
}

/* Two Reads; the memory of the first is closed when its response has gone. */
static void test_closed_behind(void)
{
	static uint8_t src[2][LEN], dst[2][LEN];
	struct fab_sge sge[2] = { { dst[0], LEN, NULL },
				  { dst[1], LEN, NULL } };
	struct fab_wr read[2] = {
		{ .op = FAB_READ, .nsge = 1, .sge = sge },
		{ .op = FAB_READ, .nsge = 1, .sge = sge + 1 }
	};
	struct fab_wr send = { .op = FAB_SEND, .flags = FAB_F_SIGNALED };
	static uint8_t room[8];
	struct fab_sge tiny = { room, sizeof(room), NULL };
	struct fab_wr recv = { .op = FAB_RECV, .nsge = 1, .sge = &tiny };
	static struct world w;
	struct fab_mr *mr;

	world_pair(&w, NULL);
	memset(src[0], 1, LEN);
	memset(src[1], 2, LEN);
	CU_ASSERT_EQUAL_FATAL(fab_reg(w.dom, src, sizeof(src), &mr), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			fab_expose(w.srv.c, mr, src[i], LEN, FAB_REMOTE_READ,
				   &read[i].handle, &read[i].offset),
			0);
	CU_ASSERT_EQUAL(fab_post_recv(w.srv.c, &recv), 0);
	read[0].next = &read[1];
	armed = true;
	cut = false;
	ep_post(&w.cli, read);
	PUMP_UNTIL(&w, cut);
	CU_ASSERT_TRUE(fab_unexpose(w.srv.c, read[0].handle, NULL));
	/* What comes in also tells that the socket takes more. */
	ep_post(&w.cli, &send);
	PUMP_UNTIL(&w, w.cli.nwc == 3 || w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.disconnected || w.srv.disconnected);
	CU_ASSERT_EQUAL(memcmp(src, dst, sizeof(src)), 0);
	fab_unexpose(w.srv.c, read[1].handle, NULL);
	fab_dereg(mr);
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "closed behind", test_closed_behind },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp-partial", tests)
