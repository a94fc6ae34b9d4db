/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * private - private data of the connection manager, RFC 8797
 *
 * Runner only, or before it runs.
 */
#include "transport/message/message.h"

void rt_private_ours(const struct rt_instance *inst, bool server,
		     struct wire_cm_private *p)
{
	unsigned int caps = inst->limits->caps;
	/* [B7], [P5]: Receives are never under 4096. */
	size_t size = MAX(inst->cfg.recv_size, WIRE_DEFAULT_INLINE);
	uint8_t octets[WIRE_CM_LEN];

	*p = (struct wire_cm_private){
		.send_size = inst->cfg.send_size,
		/* Those that are posted may have another size. */
		.recv_size = (uint32_t)MIN(size, rt_config_receive(&inst->cfg)),
		/* [P4]: every handle of ours is made by fab_expose() for one
		 * RPC, or none may be invalidated. */
		.remote_invalidation =
			!inst->cfg.no_remote_invalidation &&
			(caps & (server ? FAB_CAP_SEND_INV : FAB_CAP_EXPOSE)),
	};
	/* What is announced is rounded, and holds as announced [P3]. */
	wire_cm_encode(octets, p);
	wire_cm_decode(octets, sizeof(octets), p);
}

void rt_private_data(const struct rt_instance *inst, bool server,
		     uint8_t out[WIRE_CM_LEN])
{
	struct wire_cm_private p;

	rt_private_ours(inst, server, &p);
	wire_cm_encode(out, &p);
}

void rt_private_take(struct rt_conn *c, const void *priv, size_t len)
{
	rt_assert_strand(c);
	/* RFC 8797 5.1: what its absence means. */
	c->msg.private = (struct wire_cm_private){
		.send_size = WIRE1_DEFAULT_INLINE,
		.recv_size = WIRE1_DEFAULT_INLINE,
	};
	if (priv)
		(void)wire_cm_decode(priv, len, &c->msg.private);
}
