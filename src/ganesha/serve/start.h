/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start - what the files of the server share: server.c, start.c, listen.c, ops.c
 */
#ifndef RPCRDMA_GANESHA_START_H
#define RPCRDMA_GANESHA_START_H

#include "ganesha/serve/server.h"

/* ops.c: the operations of connections. */
extern const struct rt_ops gr_server_ops;
/* Resume a Call that waited at its gate. Context: any thread. */
void gr_server_resume(struct gr_gates *g, struct svc_req *req);

/*
 * listen.c: create s->inst with the provider that s->cfg chooses for the addresses that go with
 * s->tcp, and listen on one of these. Both return 0, or a negative errno with a @fault as below.
 * Nothing is accepted before a poller runs. Context: control thread.
 */
int gr_server_create(struct gr_server *s, char *fault);
int gr_server_listen(struct gr_server *s, const struct sockaddr_storage *at,
		     char *fault);

/*
 * start.c: make everything from the keys to the statistics. Returns 0 or a negative errno; then
 * @fault, of GR_FAULT_ROOM, says what to do or is unchanged, and gr_server_free() frees what was
 * made. Context: control thread.
 */
int gr_server_begin(struct gr_server *s, char *fault);

#endif /* RPCRDMA_GANESHA_START_H */
