/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - protection domains, registrations, windows
 *
 * A key is the number of its place and an octet: of the seed for a
 * registration; for a window the one that the application has bound last.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct vpd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	errno = vdev_command(ctx);
	if (errno) {
		free(pd);
		return NULL;
	}
	pd->pd.context = ctx;
	vdevice_of(ctx)->objects++;
	pthread_mutex_unlock(&vdev.lock);
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct vpd *pd = vpd(ibpd);
	struct vdevice *dev = vdevice_of(ibpd->context);
	int rc = vdev_destroy(ibpd->context);

	if (pd->users && !dev->gone) {
		vdev_rule("a protection domain in use was deallocated");
		pthread_mutex_unlock(&vdev.lock);
		return EBUSY;
	}
	dev->objects--;
	pthread_mutex_unlock(&vdev.lock);
	free(pd);
	return rc;
}

/* ---- Keys ----------------------------------------------------------------- */

/* Returns 0 or ENOMEM. */
static int key_add(struct vkey *k)
{
	for (unsigned int tries = 0; tries < VDEV_KEYS; tries++) {
		unsigned int n = vdev.next_key++ % VDEV_KEYS;

		if (!n || vdev.key[n])
			continue;
		vdev.key[n] = k;
		k->key = n << 8 | vdev_choose(256);
		vpd(k->pd)->users++;
		vdevice_of(k->pd->context)->objects++;
		return 0;
	}
	return ENOMEM;
}

static void key_remove(struct vkey *k)
{
	vdev.key[k->key >> 8] = NULL;
	vpd(k->pd)->users--;
	vdevice_of(k->pd->context)->objects--;
}

static struct vkey *key_find(uint32_t key)
{
	struct vkey *k = key >> 8 < VDEV_KEYS ? vdev.key[key >> 8] : NULL;

	return k && k->key == key && k->valid ? k : NULL;
}

static bool key_allows(const struct vkey *k, const struct vqp *qp,
		       uint64_t addr, uint64_t len, unsigned int access)
{
	return k && k->pd == qp->qp.pd && addr >= k->addr && len <= k->len &&
	       addr - k->addr <= k->len - len && (k->access & access) == access;
}

struct vkey *vdev_remote(const struct vqp *qp, uint32_t key, uint64_t addr,
			 uint64_t len, unsigned int access)
{
	struct vkey *k = key_find(key);

	if (k && k->window && k->qp_num != qp->qp.qp_num)
		return NULL;
	/* siw does not look whether reading is allowed. */
	if (qp->dev->profile->siw)
		access &= ~(unsigned int)IBV_ACCESS_REMOTE_READ;
	/* rxe's windows grant all of what they are bound to. */
	if (k && k->window && qp->dev->profile->rxe && k->mr)
		return key_allows(&k->mr->key, qp, addr, len, 0) &&
				       (k->access & access) == access ?
			       k :
			       NULL;
	return key_allows(k, qp, addr, len, access) ? k : NULL;
}

bool vdev_local(const struct vqp *qp, const struct ibv_sge *sge, int n,
		unsigned int access)
{
	for (int i = 0; i < n; i++) {
		uint64_t len = sge[i].length;
		const struct vkey *k = key_find(sge[i].lkey);

		if (!len && qp->dev->profile->zero_is_2gib)
			len = (uint64_t)1 << 31;
		if (!len)
			continue;
		if (!key_allows(k, qp, sge[i].addr, len, access) || k->window)
			return false;
	}
	return true;
}

/* ---- Registrations -------------------------------------------------------- */

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t len,
			  unsigned int access)
{
	struct vmr *mr = calloc(1, sizeof(*mr));
	int rc;

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	rc = vdev_command(pd->context);
	if (!rc) {
		mr->key = (struct vkey){ .valid = true,
					 .pd = pd,
					 .addr = (uintptr_t)addr,
					 .len = len,
					 .access = access };
		rc = EINVAL;
		/* Remote rights to write need local ones. */
		if (!(access & IBV_ACCESS_REMOTE_WRITE) ||
		    (access & IBV_ACCESS_LOCAL_WRITE))
			rc = key_add(&mr->key);
		pthread_mutex_unlock(&vdev.lock);
	}
	if (rc) {
		free(mr);
		errno = rc;
		return NULL;
	}
	mr->mr = (struct ibv_mr){ .context = pd->context,
				  .pd = pd,
				  .addr = addr,
				  .length = len,
				  .lkey = mr->key.key,
				  .rkey = mr->key.key };
	return &mr->mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return reg(pd, addr, len, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len,
				uint64_t iova, unsigned int access)
{
	return reg(pd, addr, len, access);
}

int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct vmr *mr = container_of(ibmr, struct vmr, mr);
	int rc = vdev_destroy(ibmr->context);

	if (mr->windows && !vdevice_of(ibmr->context)->gone) {
		vdev_rule("a registration with windows was deregistered");
		pthread_mutex_unlock(&vdev.lock);
		return EBUSY;
	}
	key_remove(&mr->key);
	pthread_mutex_unlock(&vdev.lock);
	free(mr);
	return rc;
}

/* ---- Windows -------------------------------------------------------------- */

static void unbind(struct vkey *k)
{
	if (k->mr)
		k->mr->windows--;
	k->mr = NULL;
	k->valid = false;
}

struct ibv_mw *vdev_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const struct vdev_profile *p = vdevice_of(pd->context)->profile;
	struct vmw *mw = calloc(1, sizeof(*mw));
	int rc = mw ? vdev_command(pd->context) : ENOMEM;

	if (!rc) {
		mw->key = (struct vkey){ .window = true, .pd = pd };
		rc = EOPNOTSUPP;
		if (type == IBV_MW_TYPE_1 || p->windows != WINDOWS_TYPE_1)
			rc = key_add(&mw->key);
		pthread_mutex_unlock(&vdev.lock);
	}
	if (rc) {
		free(mw);
		errno = rc;
		return NULL;
	}
	mw->mw = (struct ibv_mw){ .context = pd->context,
				  .pd = pd,
				  .rkey = mw->key.key,
				  .type = type };
	return &mw->mw;
}

int vdev_dealloc_mw(struct ibv_mw *ibmw)
{
	struct vmw *mw = container_of(ibmw, struct vmw, mw);
	int rc = vdev_destroy(ibmw->context);

	unbind(&mw->key);
	key_remove(&mw->key);
	pthread_mutex_unlock(&vdev.lock);
	free(mw);
	return rc;
}

bool vdev_bind(struct vqp *qp, const struct ibv_send_wr *wr)
{
	struct vmw *mw = container_of(wr->bind_mw.mw, struct vmw, mw);
	struct vmr *mr = container_of(wr->bind_mw.bind_info.mr, struct vmr, mr);
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	unsigned int need = IBV_ACCESS_MW_BIND;

	if (info->mw_access_flags & IBV_ACCESS_REMOTE_WRITE)
		need |= IBV_ACCESS_LOCAL_WRITE;
	if (mw->key.valid || wr->bind_mw.rkey >> 8 != mw->key.key >> 8 ||
	    wr->bind_mw.rkey == mw->key.key ||
	    !key_allows(&mr->key, qp, info->addr, info->length, need))
		return false;
	mw->key.valid = true;
	mw->key.key = wr->bind_mw.rkey;
	mw->key.addr = info->addr;
	mw->key.len = info->length;
	mw->key.access = info->mw_access_flags;
	mw->key.qp_num = qp->qp.qp_num;
	mw->key.mr = mr;
	mr->windows++;
	return true;
}

bool vdev_invalidate(struct vqp *qp, uint32_t key)
{
	struct vkey *k = key_find(key);

	if (!k || k->pd != qp->qp.pd)
		return false;
	if (k->window && k->qp_num != qp->qp.qp_num)
		return false;
	/* Only siw lets a peer close a registration of an application. */
	if (!k->window && !qp->dev->profile->siw)
		return false;
	unbind(k);
	return true;
}
