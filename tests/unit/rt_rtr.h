/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt_rtr - a raw peer (rt_raw.h) that knows rtrext
 */
#ifndef RPCRDMA_RT_RTR_H
#define RPCRDMA_RT_RTR_H

#include "rt_raw.h"
#include "rpcrdma/rtr.h"

#define RTR_ALL (RTRS_XREQ | RTRS_XRESP | RTRS_XCONT)
#define RTR_PAGE 4096

extern const struct rt_config rt_rtr_on;

/* Our FINAL: support, a page and @targets pages, both limits. */
void rt_rtr_announce(struct rt_raw *r, uint32_t support, uint32_t targets,
		     uint32_t limit);
/* A client that has all of it, against a server of these settings. */
bool rt_rtr_client(struct rt_raw *r, const struct rt_config *cfg);
/* A server with so many target segments; the client is up. */
bool rt_rtr_server(struct rt_raw *r, const struct rt_config *cfg,
		   uint32_t targets);

/*
 * A transmission: header, payload of @len octets, zeros, @n octets of @data at
 * octet @at of the message.
 */
void rt_rtr_request(struct rt_raw *r, uint32_t xid,
		    const struct wire_xmt_desc *d, const void *payload,
		    size_t len, size_t at, const void *data, size_t n);
void rt_rtr_response(struct rt_raw *r, uint32_t xid,
		     const struct wire_xmt_desc *d, const void *payload,
		     size_t len, size_t at, const void *data, size_t n);
void rt_rtr_cont(struct rt_raw *r, uint32_t xid, uint32_t xnum, uint32_t itype,
		 uint32_t pslen, const void *payload, size_t at,
		 const void *data, size_t n);
void rt_rtr_report_raw(struct rt_raw *r, const struct wire_repterr *e);

/* The next message, GRANTs passed over: an XMTREQ or XMTRESP of this XID, one
 * of a group of @count; in @m. */
bool rt_rtr_is(struct rt_raw *r, uint32_t htype, uint32_t xid, uint32_t count,
	       struct wire_xmt *m);
bool rt_rtr_is_repterr(struct rt_raw *r, uint32_t xid, uint32_t code,
		       struct wire_repterr *e);
uint32_t rt_rtr_word(const uint8_t *p);

#endif /* RPCRDMA_RT_RTR_H */
