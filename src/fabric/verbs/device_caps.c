/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_caps - what a device can do, and what it only claims
 *
 * Context: any thread.
 */
#include <string.h>
#include <sys/param.h>

#include "device.h"

/*
 * Linux' siw. Local rights suffice for the sink of a Read. Sends with
 * invalidation have no inline data, or it hangs. A Receive or Read of nothing
 * needs one element, of no octets. As of 6.1 it does not check the right to
 * remote reading before it answers a Read: a peer that guesses a key (one of
 * 2^24, one attempt per connection) can read what is registered. The log says
 * that.
 */
#define VENDOR_SIW 0x626d74u
/*
 * Linux' rxe. As of 6.1, its windows grant all of the registration they are
 * bound to, and its kernel part crashes when a peer invalidates one that is not
 * bound: no peer may ever reach one. It reports invalidation by the kernel's
 * flag, which is not the library's.
 */
#define VENDOR_RXE 0xffffffu

/* The driver claims windows; the library of some (bnxt_re) has none. */
static bool allocates_window(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mw *mw = pd ? ibv_alloc_mw(pd, IBV_MW_TYPE_2) : NULL;

	if (mw)
		ibv_dealloc_mw(mw);
	if (pd)
		ibv_dealloc_pd(pd);
	return mw;
}

static bool has_windows(const struct vb_domain *d, struct ibv_context *ctx,
			const struct ibv_device_attr *a)
{
	if (a->vendor_id == VENDOR_RXE && !d->any_windows)
		return false;
	return a->max_mw > 0 &&
	       (a->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				       IBV_DEVICE_MEM_WINDOW_TYPE_2B)) &&
	       allocates_window(ctx);
}

/* Returns true if the device sends with invalidate. Its flag alone does not tell, and trying takes
 * a connection, so the flag counts only with libraries that are known to do it. */
static bool sends_inv(const struct ibv_device_attr *a)
{
	static const uint32_t vendors[] = {
		VENDOR_RXE, VENDOR_SIW, 0x0002c9u, /* Mellanox, NVIDIA */
		0x008086u, /* Intel */
		0x001425u, /* Chelsio */
		0x001077u, /* QLogic, Marvell */
		0x0019e5u, /* HiSilicon */
	};

	if (!(a->device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS))
		return false;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (a->vendor_id == vendors[i])
			return true;
	return false;
}

static unsigned int count_of(int n)
{
	return n > 0 ? (unsigned int)n : 0;
}

static unsigned int depth_of(int d)
{
	return d <= 0 ? 0 : d > (int)VB_MAX_DEPTH ? VB_MAX_DEPTH : (unsigned)d;
}

size_t vb_next_name(const char **at)
{
	static const char between[] = ", ";

	*at += strspn(*at, between);
	return strcspn(*at, between);
}

bool vb_device_is_chosen(const char *devices, const char *name)
{
	const char *at = devices ? devices : "";
	size_t n = vb_next_name(&at);

	if (!n)
		return true;
	for (; n; at += n, n = vb_next_name(&at))
		if (n == strlen(name) && !memcmp(at, name, n))
			return true;
	return false;
}

/* Returns false, and says why, if the device cannot do what a connection needs. */
static bool is_useful(const struct vb_domain *d, struct ibv_context *ctx,
		      const struct ibv_device_attr *a)
{
	const char *name = ibv_get_device_name(ctx->device);

	if (a->max_sge > 0 && a->max_sge < (int)VB_MIN_SGE)
		fab_domain_log(&d->fab, 4,
			       "verbs: %s is not used: a work request takes at "
			       "most %d elements (max_sge), and %d are needed",
			       name, a->max_sge, (int)VB_MIN_SGE);
	else if (a->max_qp_rd_atom <= 0 || a->max_qp_init_rd_atom <= 0)
		fab_domain_log(&d->fab, 4,
			       "verbs: %s is not used: it has no RDMA Reads "
			       "(max_qp_rd_atom %d, max_qp_init_rd_atom %d)",
			       name, a->max_qp_rd_atom, a->max_qp_init_rd_atom);
	else
		return true;
	return false;
}

static bool is_siw(const struct ibv_context *ctx,
		   const struct ibv_device_attr *a)
{
	return ctx->device->transport_type == IBV_TRANSPORT_IWARP &&
	       a->vendor_id == VENDOR_SIW;
}

int vb_device_limits(struct vb_domain *d, struct ibv_context *ctx,
		     struct fab_limits *l)
{
	enum ibv_transport_type type = ctx->device->transport_type;
	struct ibv_device_attr a;
	struct ibv_port_attr port;

	if (ibv_query_device(ctx, &a))
		return -ENODEV;
	if (!is_useful(d, ctx, &a))
		return -EOPNOTSUPP;
	if (is_siw(ctx, &a) && !atomic_exchange(&d->siw_told, true))
		fab_domain_log(
			&d->fab, 4,
			"verbs: %s: its driver does not check the right to remote "
			"reading; use it among trusted hosts, or the iwarp "
			"provider instead",
			ibv_get_device_name(ctx->device));
	*l = (struct fab_limits){
		.caps = FAB_CAP_BOUND,
		.max_sge = VB_MAX_SGE,
		.max_read_depth = MIN(depth_of(a.max_qp_rd_atom),
				      depth_of(a.max_qp_init_rd_atom)),
		.max_message = VB_MAX_MESSAGE,
	};
	l->max_read_depth = MIN(l->max_read_depth, d->depth);
	if (sends_inv(&a))
		l->caps |= FAB_CAP_SEND_INV;
	if (has_windows(d, ctx, &a))
		l->caps |= FAB_CAP_EXPOSE;
	if (a.max_sge > 0)
		l->max_sge = MIN(l->max_sge, (unsigned int)a.max_sge);
	for (unsigned int i = 1; i <= a.phys_port_cnt; i++)
		if (!ibv_query_port(ctx, (uint8_t)i, &port) && port.max_msg_sz)
			l->max_message =
				MIN(l->max_message, (size_t)port.max_msg_sz);
	/* EFA and usNIC have no reliable connections. */
	if (type != IBV_TRANSPORT_IB && type != IBV_TRANSPORT_IWARP)
		return -EOPNOTSUPP;
	return 0;
}

void vb_limits_intersect(struct fab_limits *l, const struct fab_limits *other)
{
	l->caps &= other->caps;
	l->max_sge = MIN(l->max_sge, other->max_sge);
	l->max_read_depth = MIN(l->max_read_depth, other->max_read_depth);
	l->max_message = MIN(l->max_message, other->max_message);
}

void vb_device_read_caps(struct vb_device *dev, const struct ibv_device_attr *a)
{
	dev->max_wr = (unsigned int)a->max_qp_wr;
	dev->max_sge_rd = a->max_sge_rd > 0 ? (unsigned int)a->max_sge_rd : 1;
	dev->max_cqe = (unsigned int)a->max_cqe;
	dev->most[VB_QP] = count_of(a->max_qp);
	dev->most[VB_CQ] = count_of(a->max_cq);
	dev->most[VB_MR] = count_of(a->max_mr);
	atomic_init(&dev->inline_room, VB_INLINE);
	dev->out_depth = depth_of(a->max_qp_init_rd_atom);
	dev->in_depth = depth_of(a->max_qp_rd_atom);
	dev->iwarp = dev->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	/* Not on iWARP, see srq.c. */
	if (!dev->iwarp && a->max_srq > 0 && a->max_srq_wr > 0)
		dev->max_srq_wr = (unsigned int)a->max_srq_wr;
	dev->windows = dev->limits.caps & FAB_CAP_EXPOSE;
	dev->siw = is_siw(dev->ctx, a);
	dev->sink_rights = dev->iwarp && !dev->siw;
	/* One key for each part of a Read. */
	if (dev->sink_rights)
		dev->max_sge_rd = 1;
	dev->inv_flag = IBV_WC_WITH_INV;
	if (a->vendor_id == VENDOR_RXE)
		dev->inv_flag |= IBV_WC_IP_CSUM_OK;
}
