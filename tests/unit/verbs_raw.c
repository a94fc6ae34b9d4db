/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_raw - peers that use librdmacm and libibverbs by themselves
 *
 * Threads: whose they are.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs_raw.h"

#define RECEIVES 16u
#define EACH 4096u

static struct rdma_conn_param param = { .retry_count = 7,
					.rnr_retry_count = 7 };

static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &attr);
}

static bool post(struct rdma_cm_id *id, struct ibv_mr *mr,
		 const struct raw_peer *p)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = p->length,
			       .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = p->opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = p->length > 0,
				  .wr.rdma = { .rkey = p->handle,
					       .remote_addr = p->offset } },
			   *bad;

	return !ibv_post_send(id->qp, &wr, &bad);
}

void *raw_peer_main(void *arg)
{
	struct raw_peer *p = arg;
	struct rdma_cm_id *id = NULL;
	struct ibv_mr *mr = NULL;
	void *data = calloc(1, RAW_MOST);

	/* Without a channel each call waits. */
	if (!data || rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, p->to, 5000) ||
	    rdma_resolve_route(id, 5000) || make_qp(id))
		goto out;
	mr = ibv_reg_mr(id->pd, data, RAW_MOST, IBV_ACCESS_LOCAL_WRITE);
	if (!mr || rdma_connect(id, &param))
		goto out;
	while (!atomic_load(&p->go))
		usleep(1000);
	p->right = post(id, mr, p);
	while (!atomic_load(&p->over))
		usleep(1000);
	rdma_disconnect(id);
out:
	if (mr)
		ibv_dereg_mr(mr);
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		rdma_destroy_id(id);
	free(data);
	return NULL;
}

/* ---- A server -------------------------------------------------------- */

static bool post_receives(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_recv_wr *bad;
	bool right = true;

	for (unsigned int i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)mr->addr + i * EACH,
				       .length = EACH,
				       .lkey = mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i,
					  .sg_list = &sge,
					  .num_sge = 1 };

		right &= !ibv_post_recv(id->qp, &wr, &bad);
	}
	return right;
}

/* RFC 8166 4.1: no Read list, one Write chunk or more. */
static void find_chunk(const uint32_t *word, uint32_t len, struct raw_peer *p)
{
	if (len < 44 || ntohl(word[1]) != 1 || word[3] || word[4] ||
	    ntohl(word[5]) != 1 || !word[6])
		return;
	p->handle = ntohl(word[7]);
	p->length = ntohl(word[8]);
	if (p->length > RAW_MOST)
		p->length = RAW_MOST;
	p->offset = (uint64_t)ntohl(word[9]) << 32 | ntohl(word[10]);
}

int raw_server(const char *addr, const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(port)) };
	struct raw_peer p = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };
	struct rdma_cm_id *listener, *id;
	char *data = calloc(2, RAW_MOST);
	struct ibv_mr *mr;
	struct ibv_wc wc;
	int n;

	if (!data || inet_pton(AF_INET, addr, &at.sin_addr) != 1 ||
	    rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&at) ||
	    rdma_listen(listener, 1))
		return 1;
	printf("listening\n");
	if (rdma_get_request(listener, &id) || make_qp(id))
		return 2;
	mr = ibv_reg_mr(id->pd, data, 2 * RAW_MOST, IBV_ACCESS_LOCAL_WRITE);
	if (!mr || !post_receives(id, mr) || rdma_accept(id, &param))
		return 3;
	do {
		n = ibv_poll_cq(id->recv_cq, 1, &wc);
	} while (!n);
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		return 4;
	find_chunk((uint32_t *)(void *)(data + wc.wr_id * EACH), wc.byte_len,
		   &p);
	if (!post(id, mr, &p))
		return 5;
	printf("wrote %u octets with Immediate\n", p.length);
	/* The client ends it, and flushes what is posted. */
	for (;;)
		pause();
}
