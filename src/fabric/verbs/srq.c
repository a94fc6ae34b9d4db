/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srq - shared receive queues
 *
 * A Receive of a connection is a promise (fab_srq_enable()): one message may
 * come. The shared queue of its device has the memory: as many Receives as its
 * connections have posted together or, if fewer are configured, that many. The
 * device chooses which one a message takes; it is replaced when its completion
 * is seen.
 *
 * Isolation. A peer that sends more than it was promised loses its connection,
 * which has no Receive left. Until then it may have consumed what others were
 * promised; their devices repeat these messages (VB_RNR_SHARED), so that only
 * the offender is harmed. iWARP cannot repeat: no shared queue there.
 *
 * Losses. A queue pair destroyed while a message comes in may take one Receive
 * along without a completion. Which one cannot be known, so the device keeps
 * its memory until the queue is destroyed. Each end of a connection counts as
 * one lost Receive, one with lost completions as more, and they are replaced.
 * When a quarter of a queue may be lost, new connections begin another queue;
 * with too many worn queues they have Receives of their own. If more are lost
 * than counted, the device reports that the queue runs low, which does not
 * happen with all promised Receives posted, and more are posted. A queue ends
 * with its last connection.
 *
 * Context: runners, and the poller thread for events. The device's srq_lock is a
 * leaf; memory is allocated and freed without it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "srq.h"
#include "vb.h"

struct vb_srq {
	struct vb_device *dev;
	TAILQ_ENTRY(vb_srq) link;
	struct ibv_srq *srq;
	unsigned int depth;
	unsigned int most; /* configured Receives, or 0: as many as promised */
	atomic_bool broken;

	/* srq_lock: what follows. */
	void **slot; /* memory of each number */
	uint32_t *unused; /* numbers */
	unsigned int nunused;
	unsigned int conns, promised, posted, lost;
	bool armed; /* an event is due when it runs low */
	bool mute; /* the device has no such events */
	uint64_t quiet_until;
};

static const struct fab_srq_params *share_of(const struct vb_device *dev)
{
	return &dev->dom->fab.srq;
}

/* ---- The queue ------------------------------------------------------- */

static void srq_free(struct vb_srq *s)
{
	const struct fab_srq_params *share = share_of(s->dev);
	int rc = s->srq ? ibv_destroy_srq(s->srq) : 0;

	/* The kernel has freed what a removed device had. Otherwise the device
	 * may still write there. */
	rc = atomic_load(&s->dev->gone) ? 0 : rc;
	if (rc)
		fab_domain_log(
			&s->dev->dom->fab, 4,
			"verbs: %s: a shared receive queue cannot be destroyed "
			"(%s); its memory is lost",
			s->dev->name, strerror(rc));
	for (unsigned int i = 0; !rc && s->slot && i < s->depth; i++)
		if (s->slot[i])
			share->free(share->ctx, s->slot[i]);
	free(s->slot);
	free(s->unused);
	free(s);
}

static void choose_depth(struct vb_srq *s)
{
	const struct fab_srq_params *share = share_of(s->dev);

	if (share->most) {
		/* More places, for losses. */
		s->depth = MIN(share->most + share->most / 2 + VB_SRQ_SPARE,
			       s->dev->max_srq_wr);
		s->most = MIN(share->most, s->depth - s->depth / 4);
		return;
	}
	s->depth = VB_SRQ_DEPTH;
	if (s->depth / 2 < share->each + VB_SRQ_SPARE)
		s->depth = 2 * (share->each + VB_SRQ_SPARE);
	s->depth = MIN(s->depth, s->dev->max_srq_wr);
}

/* Lock held. Returns NULL if there can be none. */
static struct vb_srq *srq_create(struct vb_device *dev)
{
	struct ibv_srq_init_attr attr = { .attr.max_sge = 1 };
	struct vb_srq *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dev = dev;
	choose_depth(s);
	s->slot = calloc(s->depth, sizeof(*s->slot));
	s->unused = calloc(s->depth, sizeof(*s->unused));
	if (!s->slot || !s->unused)
		goto fail;
	for (s->nunused = 0; s->nunused < s->depth; s->nunused++)
		s->unused[s->nunused] = s->depth - 1 - s->nunused;
	attr.srq_context = s;
	attr.attr.max_wr = s->depth;
	errno = 0;
	s->srq = ibv_create_srq(dev->pd, &attr);
	if (!s->srq) {
		fab_domain_log(
			&dev->dom->fab, 4,
			"verbs: %s: no shared receive queue of %u places: %s; "
			"each connection gets its own",
			dev->name, s->depth, strerror(errno));
		vb_memlock_hint(dev->dom, errno);
		goto fail;
	}
	TAILQ_INSERT_TAIL(&dev->srqs, s, link);
	return s;
fail:
	srq_free(s);
	return NULL;
}

/* Lock held. */
static bool is_worn(const struct vb_srq *s)
{
	return s->lost > s->depth / 4;
}

/* Lock held. Is there room for another connection, even after losses? */
static bool srq_has_room(const struct vb_srq *s)
{
	const struct fab_srq_params *share = share_of(s->dev);
	size_t promised = (s->conns + 1) * (size_t)share->each;

	if (atomic_load(&s->broken) || is_worn(s))
		return false;
	/* If the device has fewer than configured, each queue holds all that is
	 * promised. */
	if (s->most)
		return s->most == share->most || promised <= s->most;
	return promised + VB_SRQ_SPARE + s->depth / 4 <= s->depth;
}

/* Lock held. Each worn queue holds memory that no limit counts, so stop at
 * VB_SRQ_WORN. */
static bool worn_out(struct vb_device *dev)
{
	unsigned int n = 0;
	struct vb_srq *s;

	TAILQ_FOREACH(s, &dev->srqs, link)
	n += is_worn(s);
	if (n < VB_SRQ_WORN)
		return false;
	if (!dev->srq_worn_told)
		fab_domain_log(
			&dev->dom->fab, 4,
			"verbs: %s: too many connections of %u shared receive "
			"queues have broken off; new ones get Receives of their "
			"own until old ones end",
			dev->name, n);
	dev->srq_worn_told = true;
	return true;
}

/* Lock held. Returns how many Receives should be posted. */
static unsigned int wanted(const struct vb_srq *s)
{
	unsigned int n = s->promised + VB_SRQ_SPARE;

	if (s->most)
		n = MIN(n, s->most);
	return MIN(n + s->lost, s->depth);
}

/* ---- Connections ----------------------------------------------------- */

void vb_srq_join(struct vb_conn *c)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;
	struct vb_device *dev = c->dev;
	struct vb_srq *s;

	if (!share->alloc || !dev->max_srq_wr)
		return;
	pthread_mutex_lock(&dev->srq_lock);
	s = dev->srq;
	if (!s || !srq_has_room(s)) {
		s = NULL;
		if (!dev->srq_refused && !worn_out(dev)) {
			s = srq_create(dev);
			dev->srq_refused = !s;
		}
		dev->srq = s;
	}
	if (s)
		s->conns++;
	pthread_mutex_unlock(&dev->srq_lock);
	c->srq = s;
}

void vb_srq_leave(struct vb_conn *c)
{
	struct vb_device *dev = c->dev;
	struct vb_srq *s = c->srq;

	if (!s)
		return;
	c->srq = NULL;
	pthread_mutex_lock(&dev->srq_lock);
	/* The connection may never have been started. */
	s->promised -= c->promised;
	if (--s->conns) {
		s = NULL;
	} else {
		TAILQ_REMOVE(&dev->srqs, s, link);
		if (dev->srq == s)
			dev->srq = NULL;
	}
	pthread_mutex_unlock(&dev->srq_lock);
	if (s)
		srq_free(s);
}

struct ibv_srq *vb_srq_of(const struct vb_conn *c)
{
	return c->srq ? c->srq->srq : NULL;
}

bool vb_srq_broken(const struct vb_conn *c)
{
	return c->srq && atomic_load(&c->srq->broken);
}

void vb_srq_lost(struct vb_conn *c, unsigned int n)
{
	pthread_mutex_lock(&c->dev->srq_lock);
	c->srq->lost += n;
	pthread_mutex_unlock(&c->dev->srq_lock);
}

void vb_srq_promise(struct vb_conn *c, unsigned int n)
{
	c->promised += n;
	pthread_mutex_lock(&c->dev->srq_lock);
	c->srq->promised += n;
	pthread_mutex_unlock(&c->dev->srq_lock);
}

void vb_srq_redeem(struct vb_conn *c, unsigned int n)
{
	c->promised -= n;
	pthread_mutex_lock(&c->dev->srq_lock);
	c->srq->promised -= n;
	pthread_mutex_unlock(&c->dev->srq_lock);
}

/* ---- Receives -------------------------------------------------------- */

/* Returns how many of @n places it has reserved. */
static unsigned int srq_reserve(struct vb_srq *s, unsigned int n)
{
	unsigned int want;

	pthread_mutex_lock(&s->dev->srq_lock);
	want = wanted(s);
	n = want > s->posted ? MIN(n, want - s->posted) : 0;
	s->posted += n;
	pthread_mutex_unlock(&s->dev->srq_lock);
	return n;
}

/* Lock held. Request an event when the queue runs low. If that is normal,
 * rarely: a device would report it again and again. */
static void srq_arm(struct vb_srq *s)
{
	unsigned int low = s->most ? (s->most + 7) / 8 : VB_SRQ_SPARE / 2;
	struct ibv_srq_attr attr = { .srq_limit = low };

	if (s->armed || s->mute)
		return;
	if (s->most &&
	    (s->promised <= s->most || base_now_ms() < s->quiet_until))
		return;
	s->armed = !ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT);
	s->mute = !s->armed;
}

/* Post @n Receives into reserved places. */
static int srq_post(struct vb_conn *c, void *const *memory,
		    const struct fab_sge *from, unsigned int n)
{
	struct ibv_recv_wr w[VB_BATCH], *bad = NULL;
	struct ibv_sge sge[VB_BATCH];
	struct vb_srq *s = c->srq;
	unsigned int taken = n;
	int rc;

	pthread_mutex_lock(&s->dev->srq_lock);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t number = s->unused[--s->nunused];

		s->slot[number] = memory[i];
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)from[i].addr,
			.length = (uint32_t)share_of(s->dev)->size,
			.lkey = vb_lkey_of(c, from[i].mr),
		};
		w[i] = (struct ibv_recv_wr){ .wr_id = VB_RECV_ID | number,
					     .sg_list = &sge[i],
					     .num_sge = 1 };
		if (i)
			w[i - 1].next = &w[i];
	}
	rc = ibv_post_srq_recv(s->srq, w, &bad);
	rc = rc < 0 ? -rc : rc;
	if (rc == ENOMEM && bad >= w && bad < w + n)
		taken = (unsigned int)(bad - w);
	for (unsigned int i = n; i-- > taken;) {
		uint32_t number = (uint32_t)w[i].wr_id;

		s->slot[number] = NULL;
		s->unused[s->nunused++] = number;
		s->posted--;
	}
	/* After any other failure the memory stays here until the queue ends. */
	if (rc && taken == n)
		s->lost += n;
	else
		srq_arm(s);
	pthread_mutex_unlock(&s->dev->srq_lock);
	for (unsigned int i = taken; i < n; i++)
		share_of(s->dev)->free(share_of(s->dev)->ctx, memory[i]);
	return -rc;
}

int vb_srq_fill(struct vb_conn *c)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;
	struct vb_srq *s = c->srq;
	struct fab_sge sge[VB_BATCH];
	void *memory[VB_BATCH];
	unsigned int n, got;
	bool enough;
	int rc = 0;

	while (!rc && (n = srq_reserve(s, VB_BATCH))) {
		for (got = 0; got < n; got++) {
			memory[got] = share->alloc(share->ctx, &sge[got]);
			if (!memory[got])
				break;
		}
		pthread_mutex_lock(&s->dev->srq_lock);
		s->posted -= n - got;
		enough = s->most && s->posted;
		pthread_mutex_unlock(&s->dev->srq_lock);
		if (got)
			rc = srq_post(c, memory, sge, got);
		if (got < n)
			/* With fewer than promised, no connection has a claim
			 * on these: the next one tries again. */
			return rc || enough ? rc : -ENOMEM;
	}
	return rc;
}

unsigned int vb_srq_deficit(struct vb_conn *c)
{
	struct vb_srq *s = c->srq;
	unsigned int n = 0;

	pthread_mutex_lock(&s->dev->srq_lock);
	if (!s->most && s->promised > s->posted)
		n = s->promised - s->posted;
	pthread_mutex_unlock(&s->dev->srq_lock);
	return n;
}

void *vb_srq_take(struct vb_conn *c, uint64_t id)
{
	struct vb_srq *s = c->srq;
	uint64_t number = id & ~VB_RECV_ID;
	void *memory = NULL;

	pthread_mutex_lock(&s->dev->srq_lock);
	if (number < s->depth && s->slot[number]) {
		memory = s->slot[number];
		s->slot[number] = NULL;
		s->unused[s->nunused++] = (uint32_t)number;
		s->posted--;
	}
	pthread_mutex_unlock(&s->dev->srq_lock);
	return memory;
}

/* ---- Events, statistics ---------------------------------------------- */

void vb_srq_event(struct vb_srq *s, enum ibv_event_type type)
{
	struct vb_domain *d = s->dev->dom;

	if (type == IBV_EVENT_SRQ_ERR) {
		atomic_store(&s->broken, true);
		fab_domain_log(&d->fab, 3,
			       "verbs: %s: a shared receive queue broke",
			       s->dev->name);
		return;
	}
	pthread_mutex_lock(&s->dev->srq_lock);
	s->armed = false;
	s->quiet_until = base_now_ms() + VB_SRQ_QUIET_MS;
	s->dev->srq_low++;
	/* A peer sends too much, or that many are lost. */
	if (!s->most)
		s->lost += VB_SRQ_SPARE;
	pthread_mutex_unlock(&s->dev->srq_lock);
	if (s->most && !atomic_exchange(&d->low_told, true))
		fab_domain_log(
			&d->fab, 4,
			"verbs: %s: fewer than an eighth of the %u shared "
			"Receives were left; clients may have to send again. "
			"More of them, or as many as are promised, prevent it",
			s->dev->name, s->most);
}

void vb_srq_stats(struct fab_domain *fd, struct fab_srq_stats *out)
{
	struct vb_domain *d = vb_domain(fd);
	struct vb_srq *s;

	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!dev)
			break;
		pthread_mutex_lock(&dev->srq_lock);
		TAILQ_FOREACH(s, &dev->srqs, link)
		{
			out->queues++;
			out->connections += s->conns;
			out->promised += s->promised;
			out->posted += s->posted;
		}
		out->low += dev->srq_low;
		pthread_mutex_unlock(&dev->srq_lock);
	}
}
