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
 * start.c: from Kerberos' keys to the statistics; what is there after an error
 * gr_server_free() gives back. 0, or a negative errno; @fault, of GR_FAULT_ROOM,
 * says what to do about it, or is untouched. Control thread.
 */
int gr_server_begin(struct gr_server *s, char *fault);

#endif /* RPCRDMA_GANESHA_START_H */
