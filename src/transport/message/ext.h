/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ext - what messages ask of an extension
 *
 * An extension has properties, and perhaps header types of its own, of which it
 * alone is asked. Those of an instance are in inst->exts, which assembly.c has
 * put together. What is asked for with each message is no question: an extension
 * sets values of the connection when they change.
 *
 * Runner only. What is NULL is left out.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_H
#define RPCRDMA_TRANSPORT_EXT_H

#include "transport/core/state.h"
#include "transport/flow/flow.h"
#include "transport/core/own.h"

/* From here on header types are extensions'. */
#define RT_EXT_HTYPES 0xffffff00u

/* Properties of all extensions in one message, and room for their values. */
#define RT_EXT_PROPS 6
#define RT_EXT_ROOM 160

/* Where an extension's own is, in rt_conn.ext and rt_instance.ext; and how optional
 * parts are named. */
enum rt_slot {
	RT_SLOT_AUTH,
	RT_SLOT_XCHAR,
	RT_SLOT_RTR,
	RT_SLOT_SEQUENCE,
	RT_SLOT_REQUESTER,
};

struct rt_ext {
	unsigned int bit; /* of rt_config.extensions, if it has one */

	/* ---- Messages ---- */
	/* Its header types, and one of them that may come between any others. */
	uint32_t first, last, beside;
	/* They carry Calls and Replies. */
	bool rpc;
	/* May this one of them come now? If not, it is not known here. */
	bool (*takes)(const struct rt_conn *c, uint32_t htype);
	/* What is wrong with the header, NULL: receive() says so. */
	enum wire_status (*check)(const struct rt_in *in);
	/* For the table of states; NULL: EV_MSG_EXT. */
	enum rt_event (*event)(uint32_t htype);
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Is it of a message of that direction, which has been refused? */
	bool (*directed)(const struct rt_conn *c, uint32_t htype, bool reply);
	/* It has been refused for where it stands between others. */
	void (*misplaced)(struct rt_conn *c, const struct wire_prefix *p);
	/* An ERROR that answers a message of it? Then it has been heeded. */
	bool (*error)(struct rt_conn *c, uint32_t xid,
		      const struct wire_error *err);

	/* ---- Properties ---- */
	/* Ours, at most RT_EXT_PROPS in all; their values in @buf, of @room
	 * octets. How many. */
	unsigned int (*props)(struct rt_conn *c, struct wire_prop *props,
			      void *buf, size_t room);
	/* The peer's. A message with some is being read: begin; each of them, of
	 * which the base ones go to @next; false: it cannot be. */
	void (*begin)(struct rt_conn *c);
	bool (*prop)(struct rt_conn *c, struct rt_properties *next,
		     const struct wire_prop *v);
	/* Are those that have been read others than those that hold? */
	bool (*changed)(const struct rt_conn *c);
	/* May they become those that hold? If not, the connection is ending. */
	bool (*covers)(struct rt_conn *c, const struct rt_properties *next);
	/* They do; it may change what holds of the base ones. */
	void (*taken)(struct rt_conn *c, struct rt_properties *next);
	/* How long messages may be has been worked out again. */
	void (*resized)(struct rt_conn *c);
	/* The peer's CONNPROP_FINAL is here. */
	void (*settled)(struct rt_conn *c);
	/* All of a CONNPROP message has been taken. */
	void (*heard)(struct rt_conn *c, const struct wire_msg *m);
	/* The peer has refused ours. */
	void (*refused)(struct rt_conn *c);
	/* Up to @room octets of property 6 for our next CONNPROP message; that
	 * has been sent. */
	size_t (*part)(struct rt_conn *c, size_t room, const uint8_t **part);
	void (*part_sent)(struct rt_conn *c);

	/* Where it is c->gate: may the message be taken, which is of an RPC or
	 * not? If not, it is dropped. */
	bool (*admits)(struct rt_conn *c, bool rpc);
};

/* Call @what of all extensions that have it. */
#define RT_EACH_EXT(c, what, ...)                                           \
	do {                                                                \
		for (const struct rt_ext *const *x_ = (c)->inst->exts; *x_; \
		     x_++)                                                  \
			if ((*x_)->what)                                    \
				(*x_)->what(__VA_ARGS__);                   \
	} while (0)

#endif /* RPCRDMA_TRANSPORT_EXT_H */
