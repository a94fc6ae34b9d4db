/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_half_open - peers that send before they confirm the connection
 *
 * Such a peer makes its queue pair without the connection manager's help, which
 * therefore leaves the confirmation to it. Our end can receive from its answer
 * on.
 *
 * Threads: one.
 */
#include <rdma/rdma_cma.h>

#include "verbs_peer.h"

#define LEN 64

/* ---- The peer, in a process of its own ------------------------------- */

struct peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t data[LEN];
};

static bool await_event(struct peer *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	bool right;

	if (rdma_get_cm_event(p->channel, &ev))
		return false;
	right = ev->event == type;
	rdma_ack_cm_event(ev);
	return right;
}

static bool make_qp(struct peer *p, unsigned int count)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = count,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	p->pd = ibv_alloc_pd(p->id->verbs);
	p->cq = ibv_create_cq(p->id->verbs, (int)count + 1, NULL, NULL, 0);
	if (!p->pd || !p->cq)
		return false;
	attr.send_cq = attr.recv_cq = p->cq;
	p->qp = ibv_create_qp(p->pd, &attr);
	p->mr = ibv_reg_mr(p->pd, p->data, LEN, 0);
	return p->qp && p->mr;
}

static bool move_qp(struct peer *p, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };
	int mask;

	return !rdma_init_qp_attr(p->id, &attr, &mask) &&
	       !ibv_modify_qp(p->qp, &attr, mask);
}

static bool send_all(struct peer *p, unsigned int count)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->data,
			       .length = LEN,
			       .lkey = p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	bool right = true;

	for (unsigned int i = 0; i < count; i++)
		right &= !ibv_post_send(p->qp, &wr, &bad);
	return right;
}

/* All of them are there: the other end has received them. */
static bool sent_all(struct peer *p, unsigned int count)
{
	struct ibv_wc wc;

	while (count) {
		int n = ibv_poll_cq(p->cq, 1, &wc);

		if (n < 0 || (n && wc.status != IBV_WC_SUCCESS))
			return false;
		count -= (unsigned int)n;
	}
	return true;
}

int half_open(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned int count = (unsigned int)atoi(argv[2]);
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct peer p = { .channel = rdma_create_event_channel() };

	to.sin_port = htons((uint16_t)atoi(argv[1]));
	if (!p.channel || inet_pton(AF_INET, argv[0], &to.sin_addr) != 1 ||
	    rdma_create_id(p.channel, &p.id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(p.id, NULL, (struct sockaddr *)&to, 5000) ||
	    !await_event(&p, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    rdma_resolve_route(p.id, 5000) ||
	    !await_event(&p, RDMA_CM_EVENT_ROUTE_RESOLVED) ||
	    !make_qp(&p, count))
		return 1;
	param.qp_num = p.qp->qp_num;
	if (rdma_connect(p.id, &param) ||
	    !await_event(&p, RDMA_CM_EVENT_CONNECT_RESPONSE) ||
	    !move_qp(&p, IBV_QPS_INIT) || !move_qp(&p, IBV_QPS_RTR) ||
	    !move_qp(&p, IBV_QPS_RTS) || !send_all(&p, count))
		return 2;
	if (!strcmp(argv[3], "confirm") &&
	    (!sent_all(&p, count) || rdma_establish(p.id)))
		return 3;
	for (;;)
		pause();
}

static pid_t start(unsigned int count, const char *then)
{
	const struct sockaddr_in *in = (struct sockaddr_in *)&w.addr;
	char addr[INET_ADDRSTRLEN], port[8], n[8], how[16];
	char option[] = "--half-open";
	char *args[] = { self, option, addr, port, n, how, NULL };
	pid_t pid = 0;

	inet_ntop(AF_INET, &in->sin_addr, addr, sizeof(addr));
	snprintf(port, sizeof(port), "%d", ntohs(in->sin_port));
	snprintf(n, sizeof(n), "%u", count);
	snprintf(how, sizeof(how), "%s", then);
	CU_ASSERT_EQUAL_FATAL(
		posix_spawn(&pid, self, NULL, NULL, args, environ), 0);
	return pid;
}

/* ---- Our end --------------------------------------------------------- */

static bool able(void)
{
	return strstr(getenv("RPCRDMA_VERBS_DEVICE"), "rxe");
}

/* What comes before the confirmation is told after it. */
void test_early(void)
{
	pid_t pid;

	if (!able())
		return;
	many_listen();
	pid = start(MANY_RECEIVES, "confirm");
	MANY_UNTIL(nmany == 1 && many[0].nwc == MANY_RECEIVES);
	CU_ASSERT_TRUE(many[0].established);
	CU_ASSERT_EQUAL(ep_count(&many[0], FAB_OK), MANY_RECEIVES);
	peer_kill(pid);
	MANY_UNTIL(many[0].disconnected);
	many_destroy();
	world_close(&w);
}

/* One that never confirms takes more than it was promised, and so all that is
 * there for another: it is found out at once, and not when its time to start is
 * over, and the other goes on. */
void test_half_open(void)
{
	pid_t pid;

	if (!able() || !subject.shared)
		return;
	many_listen();
	vb_domain(w.dom)->startup_ms = 600000;
	pid = start(200, "never");
	MANY_UNTIL(nmany == 1 && many[0].disconnected);
	CU_ASSERT_FALSE(many[0].established);
	CU_ASSERT_EQUAL(many[0].error, -EPROTO);
	CU_ASSERT_EQUAL(ep_count(&many[0], FAB_OK), MANY_RECEIVES);
	peer_kill(pid);
	pid = start(MANY_RECEIVES, "confirm");
	MANY_UNTIL(nmany == 2 && many[1].nwc == MANY_RECEIVES);
	CU_ASSERT_EQUAL(ep_count(&many[1], FAB_OK), MANY_RECEIVES);
	peer_kill(pid);
	MANY_UNTIL(many[1].disconnected);
	many_destroy();
	world_close(&w);
}

/* One that never confirms, and whose queue pair here the device breaks: that ends it at
 * once, too. */
void test_half_broken(void)
{
	pid_t pid;

	if (!able())
		return;
	many_listen();
	vb_domain(w.dom)->startup_ms = 600000;
	pid = start(1, "never");
	MANY_UNTIL(nmany == 1 && vb_conn(many[0].c)->state == VB_ST_ACCEPTED);
	device_breaks(many[0].c);
	MANY_UNTIL(many[0].disconnected);
	CU_ASSERT_FALSE(many[0].established);
	CU_ASSERT_EQUAL(many[0].error, -ECONNRESET);
	peer_kill(pid);
	many_destroy();
	world_close(&w);
}
