/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ext - what messages ask of an extension
 *
 * An extension has properties, and perhaps header types of its own. assembly.c puts
 * those of an instance into inst->exts. What every message would have to ask for is a
 * value of the connection instead, which the extension sets when it changes.
 *
 * Context: the runner. A member that is NULL is left out.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_H
#define RPCRDMA_TRANSPORT_EXT_H

#include "transport/core/state_table.h"
#include "transport/flow/flow.h"
#include "transport/core/room_state.h"

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
	/* The range of its header types, and one that may come anywhere. */
	uint32_t first, last, anywhere;
	bool carries_rpc; /* its messages are of Calls and Replies */
	/* Returns false if the header type is unknown at present. */
	bool (*accepts)(const struct rt_conn *c, uint32_t htype);
	/* Returns what is wrong with the header. If NULL, receive() finds out. */
	enum wire_status (*check)(const struct rt_in *in);
	/* Returns the event for the table of states. If NULL, EV_MSG_EXT. */
	enum rt_event (*event)(uint32_t htype);
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Returns true if the header type is of a Reply or, unless @reply, a Call. */
	bool (*is_of)(const struct rt_conn *c, uint32_t htype, bool reply);
	/* The message was refused because of its place between others. */
	void (*misplaced)(struct rt_conn *c, const struct wire_prefix *p);
	/* An ERROR has come. Returns true if it was about a message of the extension. */
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

	/* While it is c->gate: returns false if the message, of an RPC or not, is to
	 * be dropped. */
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
