/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start - between the files of the server
 */
#ifndef RPCRDMA_GANESHA_START_H
#define RPCRDMA_GANESHA_START_H

#include "ganesha/serve/server.h"

/* ops.c: what connections ask for. */
extern const struct rt_ops gr_server_ops;
/* A Call that waited at its gate goes on. */
void gr_server_resume(struct gr_gates *g, struct svc_req *req);

/*
 * listen.c: set s->inst to one of the provider that s->cfg takes at the addresses that
 * go with s->tcp, and listen at one of these. Both return 0, or a negative errno with a
 * @fault as below. Nothing is accepted until somebody polls. Context: control thread.
 */
int gr_server_create(struct gr_server *s, char *fault);
int gr_server_listen(struct gr_server *s, const struct sockaddr_storage *at,
		     char *fault);

/*
 * start.c: from Kerberos' keys to the statistics; what is there after an error
 * gr_server_free() gives back. 0, or a negative errno; @fault, of GR_FAULT_ROOM,
 * says what to do about it, or is untouched. Control thread.
 */
int gr_server_begin(struct gr_server *s, char *fault);

#endif /* RPCRDMA_GANESHA_START_H */
