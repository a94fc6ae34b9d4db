/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv - the objects of the emulated devices
 *
 * Each begins with what the application sees of it. Everything is protected by
 * vdev.lock unless said otherwise.
 */
#ifndef VDEV_PRIV_H
#define VDEV_PRIV_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <sys/queue.h>

#include "profile.h"
#include "vdev.h"

#define VDEV_MAX 4u
#define VDEV_KEYS 65536u
#define VDEV_MAX_SGE 32
#define VDEV_MAX_INLINE 1024
#define VDEV_VECTORS 4

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct vevent {
	TAILQ_ENTRY(vevent) link;
	struct ibv_async_event ev;
	unsigned int *out; /* of its object, told and not acknowledged */
};
TAILQ_HEAD(vevent_queue, vevent);

struct vctx {
	struct ibv_context ctx;
	struct vdevice *dev;
	TAILQ_ENTRY(vctx) link;
	struct vevent_queue events;
};
TAILQ_HEAD(vctx_queue, vctx);

struct vdevice {
	struct ibv_device dev;
	struct vdevice *before; /* in its place */
	const struct vdev_profile *profile;
	unsigned int number;
	bool gone, down;
	struct vctx_queue contexts;
	struct ibv_context *cm_ctx; /* librdmacm's, and its domain */
	struct ibv_pd *cm_pd;
	int nqp, ncq;
	unsigned int objects; /* that the application has of it */
};

struct vpd {
	struct ibv_pd pd;
	unsigned int users;
};

/* What a key names: a registration or a window. */
struct vkey {
	bool window;
	bool valid; /* for a window: it is bound */
	uint32_t key;
	struct ibv_pd *pd;
	uint64_t addr, len;
	unsigned int access;
	uint32_t qp_num; /* a window's */
	struct vmr *mr; /* to which a window is bound */
};

struct vmr {
	struct ibv_mr mr;
	struct vkey key;
	unsigned int windows;
};

struct vmw {
	struct ibv_mw mw;
	struct vkey key;
};

struct vchannel {
	struct ibv_comp_channel ch;
	TAILQ_HEAD(, vcq) ready;
	unsigned int users;
};

struct vcqe {
	struct ibv_wc wc;
	struct vqp *qp; /* NULL: it was destroyed */
	uint64_t upto; /* places of its queue that are free again */
	bool recv;
};

struct vcq {
	struct ibv_cq cq;
	TAILQ_ENTRY(vcq) link;
	struct vcqe *ring;
	uint64_t head, tail;
	bool armed, ready, broken;
	unsigned int users, out, async_out;
};

struct vrecv {
	uint64_t id;
	int nsge;
	struct ibv_sge sge[VDEV_MAX_SGE];
};

struct vsend {
	struct ibv_send_wr wr; /* without sg_list and next */
	struct ibv_sge sge[VDEV_MAX_SGE];
	uint8_t data[VDEV_MAX_INLINE];
};

/* A queue of Receives: a pair's own or a shared one. */
struct vrq {
	struct vrecv *ring;
	unsigned int depth;
	int max_sge;
	uint64_t head, tail;
	uint64_t freed; /* up to here places may be used again */
};

struct vsrq {
	struct ibv_srq srq;
	struct vrq rq;
	unsigned int limit, users, async_out;
	bool broken;
};

struct vqp {
	struct ibv_qp qp;
	TAILQ_ENTRY(vqp) link;
	struct vdevice *dev;
	uint32_t peer; /* its number */
	struct vsend *ring;
	unsigned int depth;
	int max_sge;
	unsigned int max_inline;
	uint64_t head, tail, freed; /* performed up to tail */
	/* A Read that others may pass is done, but not complete: its place and
	 * one more, or 0. */
	uint64_t passed;
	struct vrq rq;
	unsigned int signaled; /* not yet polled */
	bool comm_est; /* the first message is to be told */
	bool flushing;
	unsigned int rnr_retry; /* 7: for ever */
	uint64_t due; /* not before, in ms */
	uint64_t silent_since; /* the peer does not answer */
	unsigned int async_out;
};
TAILQ_HEAD(vqp_queue, vqp);

struct vdev {
	pthread_mutex_t lock;
	pthread_cond_t work, acked;
	bool running, hold;
	uint32_t seed;
	unsigned int ndevs;
	struct vdevice *dev[VDEV_MAX];
	struct vkey *key[VDEV_KEYS];
	unsigned int next_key;
	uint32_t next_qp_num;
	struct vqp_queue qps;
	unsigned int broken_rules;
	unsigned int slow_us;
	void (*on_command)(void);
};
extern struct vdev vdev;

static inline struct vctx *vctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct vctx, ctx);
}

static inline struct vdevice *vdevice_of(struct ibv_context *ctx)
{
	return vctx(ctx)->dev;
}

static inline struct vcq *vcq(struct ibv_cq *cq)
{
	return container_of(cq, struct vcq, cq);
}

static inline struct vqp *vqp(struct ibv_qp *qp)
{
	return container_of(qp, struct vqp, qp);
}

static inline struct vsrq *vsrq(struct ibv_srq *srq)
{
	return container_of(srq, struct vsrq, srq);
}

static inline struct vpd *vpd(struct ibv_pd *pd)
{
	return container_of(pd, struct vpd, pd);
}

/* device.c. Caller holds the lock unless said otherwise. */
/* One of @n, by the seed. */
unsigned int vdev_choose(unsigned int n);
/* Say that the application has broken a rule. Without the lock, too. */
void vdev_rule(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint64_t vdev_now_ms(void);
/* The device thread has something to do. */
void vdev_wake(void);
/* A command of the device begins: takes its time, without the lock, then takes
 * the lock. Returns 0, or EIO, without the lock, if the device has gone. */
int vdev_command(struct ibv_context *ctx);
/* A command that destroys begins. The lock is taken; returns what the command
 * shall: if the device has gone there is nothing left of the object, but a
 * library may say EIO. */
int vdev_destroy(struct ibv_context *ctx);
/* Raise the count of a descriptor, or lower it: waits if there is nothing and
 * the descriptor blocks. Without the lock; returns 0 or -1 and errno. */
void vdev_raise(int fd);
int vdev_lower(int fd);
/* Queue @ev for one context; @out counts those told of its object. */
void vdev_async(struct ibv_context *ctx, const struct ibv_async_event *ev,
		unsigned int *out);
void vdev_async_qp(struct vqp *qp, enum ibv_event_type type);
/* Forget what was not told of an object, and wait for what was to be
 * acknowledged. */
void vdev_async_end(struct ibv_context *ctx, unsigned int *out);
struct ibv_context *vdev_open(struct vdevice *dev);

/* memory.c. Caller holds the lock. */
/* Returns what @key names if @qp may access that range, or NULL. */
struct vkey *vdev_remote(const struct vqp *qp, uint32_t key, uint64_t addr,
			 uint64_t len, unsigned int access);
/* Returns false unless all of @sge may be accessed by this device. */
bool vdev_local(const struct vqp *qp, const struct ibv_sge *sge, int n,
		unsigned int access);
/* Bind a window as @wr says; or invalidate what @key names. Return false if
 * that is not allowed. */
bool vdev_bind(struct vqp *qp, const struct ibv_send_wr *wr);
bool vdev_invalidate(struct vqp *qp, uint32_t key);
struct ibv_mw *vdev_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vdev_dealloc_mw(struct ibv_mw *mw);

/* cq.c. Caller holds the lock. */
void vdev_complete(struct vcq *cq, const struct vcqe *e);
/* The queue pair is destroyed. */
void vdev_cq_forget(struct vcq *cq, const struct vqp *qp);
int vdev_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int vdev_req_notify_cq(struct ibv_cq *cq, int solicited);

/* queue.c. Caller holds the lock. */
struct vqp *vdev_find_qp(uint32_t num);
/* It enters the error state, once; its device begins to flush it. */
void vdev_qp_error(struct vqp *qp);
int vdev_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad);
int vdev_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad);
int vdev_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);

/* perform.c. Caller holds the lock. */
/* Let each queue pair have a turn. Returns true if there is more to do now, or
 * sets *@due to when. */
bool vdev_turn(uint64_t *due);
/* Binds that nothing waits before are performed at once: to tests that let a
 * peer use a key without having told it by a message. */
void vdev_bind_first(struct vqp *qp);

/* cm.c. Caller holds the lock. */
/* Deliver what is due. As vdev_turn(). */
bool vdev_cm_turn(uint64_t *due);
/* An iWARP connection ends with its queue pair. */
void vdev_cm_qp_ended(struct vqp *qp);
/* Every id of the device is told. */
void vdev_cm_removed(struct vdevice *dev);

#endif /* VDEV_PRIV_H */
