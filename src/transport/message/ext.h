/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ext - the hooks of an extension in messages and properties
 *
 * An extension has properties, and perhaps header types of its own. assembly.c lists the
 * extensions of an instance, inst->exts. What would have to be asked for each message is
 * a member of the connection instead, which the extension sets when it changes.
 *
 * Context: the runner. A hook may be NULL.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_H
#define RPCRDMA_TRANSPORT_EXT_H

#include "transport/core/state_table.h"
#include "transport/flow/flow.h"
#include "transport/core/room_state.h"

/* Header types from here on belong to extensions. */
#define RT_EXT_HTYPES 0xffffff00u

/* The most properties of all extensions in one message, and octets of their values. */
#define RT_EXT_PROPS 6
#define RT_EXT_ROOM 160

/* Indices of rt_conn.ext and rt_instance.ext, and names of optional parts. */
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
	/* The range of its header types, and one that may come between any others. */
	uint32_t first, last, anywhere;
	bool carries_rpc; /* its messages carry Calls and Replies */
	/* Returns false if the header type is unknown at present. */
	bool (*accepts)(const struct rt_conn *c, uint32_t htype);
	/* Check the header. If NULL, receive() does so. */
	enum wire_status (*check)(const struct rt_in *in);
	/* Returns the event for the table of states. If NULL, it is EV_MSG_EXT. */
	enum rt_event (*event)(uint32_t htype);
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Returns true if the header type carries Replies (@reply) or Calls. */
	bool (*is_of)(const struct rt_conn *c, uint32_t htype, bool reply);
	/* The message was refused, since it may not come between these others. */
	void (*misplaced)(struct rt_conn *c, const struct wire_prefix *p);
	/* An ERROR was received. Returns true if it was about a message of the
	 * extension. */
	bool (*error)(struct rt_conn *c, uint32_t xid,
		      const struct wire_error *err);

	/* ---- Properties ---- */
	/* Put our properties into @props, and their values into @buf, of @room octets.
	 * Returns how many. All extensions together have at most RT_EXT_PROPS. */
	unsigned int (*props)(struct rt_conn *c, struct wire_prop *props,
			      void *buf, size_t room);
	/* The peer's properties are read from a message, and then applied or discarded:
	 * read_begin is called first, then read_prop for each of them. It may change
	 * @next, and returns false if the value is invalid. */
	void (*read_begin)(struct rt_conn *c);
	bool (*read_prop)(struct rt_conn *c, struct rt_properties *next,
			  const struct wire_prop *v);
	/* Returns true if the values that were read differ from those in force. */
	bool (*props_changed)(const struct rt_conn *c);
	/* Returns false, and ends the connection, if they must not be applied. */
	bool (*props_allowed)(struct rt_conn *c,
			      const struct rt_properties *next);
	/* Apply them. It may change @next before that is applied. */
	void (*props_applied)(struct rt_conn *c, struct rt_properties *next);
	/* The inline thresholds have been worked out again. */
	void (*thresholds_changed)(struct rt_conn *c);
	/* The peer's CONNPROP_FINAL was received, and its values have been applied. */
	void (*props_complete)(struct rt_conn *c);
	/* A CONNPROP message was received, and its values have been applied. */
	void (*connprop_received)(struct rt_conn *c, const struct wire_msg *m);
	/* The peer has refused our properties. */
	void (*props_refused)(struct rt_conn *c);
	/* Set @part to the next octets, at most @room, of the token (property 6) for our
	 * next CONNPROP message. Returns how many. token_part_sent is called when that
	 * has been posted. */
	size_t (*token_part)(struct rt_conn *c, size_t room,
			     const uint8_t **part);
	void (*token_part_sent)(struct rt_conn *c);

	/* Called while the extension is c->gate. Returns false if the message is to be
	 * dropped. @rpc: it carries a Call or Reply. */
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
