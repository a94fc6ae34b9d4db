/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - devices, contexts, asynchronous events, the thread, the controls
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "priv.h"

struct vdev vdev = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.acked = PTHREAD_COND_INITIALIZER,
	.qps = TAILQ_HEAD_INITIALIZER(vdev.qps),
	.next_key = 1,
	.next_qp_num = 0x11,
};

/* ---- Choices, rules, time ------------------------------------------------- */

unsigned int vdev_choose(unsigned int n)
{
	vdev.seed = vdev.seed * 1664525u + 1013904223u;
	return (vdev.seed >> 12) % n;
}

void vdev_rule(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "vdev: broken rule: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	__atomic_fetch_add(&vdev.broken_rules, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void at_the_end(void)
{
	unsigned int left = vdev_objects(), broken = vdev_broken_rules();

	if (!left && !broken)
		return;
	fprintf(stderr, "vdev: %u objects are left, %u rules were broken\n",
		left, broken);
	fflush(NULL);
	_exit(99);
}

uint64_t vdev_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void vdev_raise(int fd)
{
	static const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		vdev_rule("a descriptor of a channel was closed");
}

int vdev_lower(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? 0 : -1;
}

/* ---- The thread ----------------------------------------------------------- */

void vdev_wake(void)
{
	pthread_cond_signal(&vdev.work);
}

static void wait_until(uint64_t due)
{
	struct timespec ts = { .tv_sec = (time_t)(due / 1000),
			       .tv_nsec = (long)(due % 1000) * 1000000 };

	if (due == UINT64_MAX)
		pthread_cond_wait(&vdev.work, &vdev.lock);
	else
		pthread_cond_timedwait(&vdev.work, &vdev.lock, &ts);
}

static void *run(void *unused)
{
	pthread_mutex_lock(&vdev.lock);
	for (;;) {
		uint64_t due = UINT64_MAX;
		bool more = vdev_cm_turn(&due);

		if (!vdev.hold)
			more |= vdev_turn(&due);
		if (!more)
			wait_until(due);
		/* Others may look at what has been done so far. */
		pthread_mutex_unlock(&vdev.lock);
		pthread_mutex_lock(&vdev.lock);
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_condattr_t attr;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&vdev.work, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
	pthread_detach(thread);
	vdev.running = true;
}

/* ---- Devices -------------------------------------------------------------- */

static const struct vdev_profile *find_profile(const char *name, size_t len)
{
	const struct vdev_profile *p = vdev_profiles;

	while (p->name &&
	       (strlen(p->name) != len || strncmp(p->name, name, len)))
		p++;
	return p->name ? p : NULL;
}

/* Lock held. It may be a new one in the place of one that has gone, whose
 * contexts still name that. */
static void make_device(unsigned int n, const struct vdev_profile *p)
{
	struct vdevice *dev = calloc(1, sizeof(*dev));

	if (!dev)
		abort();
	dev->profile = p;
	dev->number = n;
	TAILQ_INIT(&dev->contexts);
	dev->dev.node_type = p->iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
	dev->dev.transport_type = p->iwarp ? IBV_TRANSPORT_IWARP :
					     IBV_TRANSPORT_IB;
	snprintf(dev->dev.name, sizeof(dev->dev.name), "%s_%u", p->name, n);
	snprintf(dev->dev.dev_name, sizeof(dev->dev.dev_name), "uverbs%u", n);
	dev->before = vdev.dev[n];
	vdev.dev[n] = dev;
}

static void setup(const char *profiles, unsigned int seed)
{
	vdev.seed = seed * 2654435761u;
	vdev.ndevs = 0;
	while (*profiles && vdev.ndevs < VDEV_MAX) {
		size_t len = strcspn(profiles, ",");
		const struct vdev_profile *p = find_profile(profiles, len);

		if (!p) {
			fprintf(stderr, "vdev: no profile %s\n", profiles);
			_exit(2);
		}
		make_device(vdev.ndevs++, p);
		profiles += len + (profiles[len] == ',');
	}
}

/* Takes the lock. */
static void lock_ready(void)
{
	const char *profiles = getenv("VDEV"), *seed = getenv("VDEV_SEED");

	pthread_mutex_lock(&vdev.lock);
	if (!vdev.running)
		start_thread();
	if (!vdev.ndevs)
		setup(profiles ? profiles : "mlx5",
		      seed ? (unsigned int)strtoul(seed, NULL, 10) : 1);
}

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(VDEV_MAX + 1, sizeof(*list));
	int n = 0;

	lock_ready();
	for (unsigned int i = 0; list && i < vdev.ndevs; i++)
		if (!vdev.dev[i]->gone)
			list[n++] = &vdev.dev[i]->dev;
	pthread_mutex_unlock(&vdev.lock);
	if (num)
		*num = n;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

struct ibv_context *vdev_open(struct vdevice *dev)
{
	struct vctx *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dev = dev;
	TAILQ_INIT(&c->events);
	c->ctx.device = &dev->dev;
	c->ctx.async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	c->ctx.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	c->ctx.num_comp_vectors = VDEV_VECTORS;
	c->ctx.ops.poll_cq = vdev_poll_cq;
	c->ctx.ops.req_notify_cq = vdev_req_notify_cq;
	c->ctx.ops.post_send = vdev_post_send;
	c->ctx.ops.post_recv = vdev_post_recv;
	c->ctx.ops.post_srq_recv = vdev_post_srq_recv;
	if (dev->profile->windows != WINDOWS_NONE &&
	    dev->profile->windows != WINDOWS_CLAIMED) {
		c->ctx.ops.alloc_mw = vdev_alloc_mw;
		c->ctx.ops.dealloc_mw = vdev_dealloc_mw;
	}
	TAILQ_INSERT_TAIL(&dev->contexts, c, link);
	return &c->ctx;
}

struct ibv_context *ibv_open_device(struct ibv_device *ibdev)
{
	struct vdevice *dev = container_of(ibdev, struct vdevice, dev);
	struct ibv_context *ctx = NULL;

	lock_ready();
	errno = ENODEV;
	if (!dev->gone)
		ctx = vdev_open(dev);
	dev->objects += !!ctx;
	pthread_mutex_unlock(&vdev.lock);
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	struct vctx *c = vctx(ctx);
	struct vevent *e;

	pthread_mutex_lock(&vdev.lock);
	while ((e = TAILQ_FIRST(&c->events))) {
		TAILQ_REMOVE(&c->events, e, link);
		free(e);
	}
	TAILQ_REMOVE(&c->dev->contexts, c, link);
	c->dev->objects--;
	pthread_mutex_unlock(&vdev.lock);
	close(ctx->async_fd);
	close(ctx->cmd_fd);
	free(c);
	return 0;
}

static void take_time(const struct vdevice *dev)
{
	unsigned int us = __atomic_load_n(&vdev.slow_us, __ATOMIC_RELAXED);
	void (*fn)(void) = __atomic_load_n(&vdev.on_command, __ATOMIC_ACQUIRE);

	us = us ? us : dev->profile->command_us;
	if (fn)
		fn();
	else if (us)
		usleep(us);
	pthread_mutex_lock(&vdev.lock);
}

int vdev_command(struct ibv_context *ctx)
{
	struct vdevice *dev = vdevice_of(ctx);

	take_time(dev);
	if (!dev->gone)
		return 0;
	pthread_mutex_unlock(&vdev.lock);
	return EIO;
}

int vdev_destroy(struct ibv_context *ctx)
{
	struct vdevice *dev = vdevice_of(ctx);

	take_time(dev);
	return dev->gone && vdev_choose(2) ? EIO : 0;
}

static unsigned int cap_flags(const struct vdev_profile *p)
{
	static const unsigned int windows[] = {
		[WINDOWS_TYPE_1] = IBV_DEVICE_MEM_WINDOW,
		[WINDOWS_2B] = IBV_DEVICE_MEM_WINDOW |
			       IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		[WINDOWS_2] = IBV_DEVICE_MEM_WINDOW |
			      IBV_DEVICE_MEM_WINDOW_TYPE_2A |
			      IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		[WINDOWS_CLAIMED] = IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B,
	};

	return windows[p->windows] |
	       (p->sends_inv ? IBV_DEVICE_MEM_MGT_EXTENSIONS : 0);
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	const struct vdev_profile *p = vdevice_of(ctx)->profile;
	int rc = vdev_command(ctx);

	if (rc)
		return rc;
	pthread_mutex_unlock(&vdev.lock);
	*a = (struct ibv_device_attr){
		.fw_ver = "1.0",
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 4096,
		.vendor_id = p->vendor,
		.max_qp = p->max_qp,
		.max_qp_wr = p->max_qp_wr,
		.device_cap_flags = cap_flags(p),
		.max_sge = p->max_sge,
		.max_sge_rd = p->max_sge_rd,
		.max_cq = p->max_cq,
		.max_cqe = p->max_cqe,
		.max_mr = VDEV_KEYS - 1,
		.max_pd = 1024,
		.max_qp_rd_atom = p->rd_atom,
		.max_qp_init_rd_atom = p->rd_atom,
		.max_mw = p->windows == WINDOWS_NONE ? 0 : VDEV_KEYS - 1,
		.max_srq = p->max_srq_wr ? 256 : 0,
		.max_srq_wr = p->max_srq_wr,
		.max_srq_sge = p->max_srq_wr ? p->max_sge : 0,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t num,
		   struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)(void *)attr;
	int rc = vdev_command(ctx);

	if (rc)
		return rc;
	a->state = vdevice_of(ctx)->down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	pthread_mutex_unlock(&vdev.lock);
	a->max_mtu = a->active_mtu = IBV_MTU_4096;
	a->gid_tbl_len = 1;
	a->max_msg_sz = 1u << 30;
	a->pkey_tbl_len = 1;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	return num == 1 ? 0 : EINVAL;
}

/* ---- Asynchronous events -------------------------------------------------- */

void vdev_async(struct ibv_context *ctx, const struct ibv_async_event *ev,
		unsigned int *out)
{
	struct vevent *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	e->ev = *ev;
	e->out = out;
	TAILQ_INSERT_TAIL(&vctx(ctx)->events, e, link);
	vdev_raise(ctx->async_fd);
}

void vdev_async_qp(struct vqp *qp, enum ibv_event_type type)
{
	struct ibv_async_event ev = { .element.qp = &qp->qp,
				      .event_type = type };

	vdev_async(qp->qp.context, &ev, &qp->async_out);
}

/* To everybody who has the device open. */
static void async_all(struct vdevice *dev, enum ibv_event_type type)
{
	struct ibv_async_event ev = { .element.port_num = 1,
				      .event_type = type };
	struct vctx *c;

	TAILQ_FOREACH(c, &dev->contexts, link)
	vdev_async(&c->ctx, &ev, NULL);
}

void vdev_async_end(struct ibv_context *ctx, unsigned int *out)
{
	struct vctx *c = vctx(ctx);
	struct vevent *e, *next;

	for (e = TAILQ_FIRST(&c->events); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->out != out)
			continue;
		TAILQ_REMOVE(&c->events, e, link);
		free(e);
	}
	while (*out)
		pthread_cond_wait(&vdev.acked, &vdev.lock);
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *ev)
{
	struct vevent *e;

	do {
		if (vdev_lower(ctx->async_fd))
			return -1;
		pthread_mutex_lock(&vdev.lock);
		e = TAILQ_FIRST(&vctx(ctx)->events);
		if (e)
			TAILQ_REMOVE(&vctx(ctx)->events, e, link);
		if (e && e->out)
			(*e->out)++;
		pthread_mutex_unlock(&vdev.lock);
		/* What it was of may have been destroyed. */
	} while (!e);
	*ev = e->ev;
	free(e);
	return 0;
}

static unsigned int *events_out(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &vcq(ev->element.cq)->async_out;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &vsrq(ev->element.srq)->async_out;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return &vqp(ev->element.qp)->async_out;
	default:
		return NULL;
	}
}

void ibv_ack_async_event(struct ibv_async_event *ev)
{
	unsigned int *out = events_out(ev);

	pthread_mutex_lock(&vdev.lock);
	if (out && !*out)
		vdev_rule("an event was acknowledged twice");
	else if (out)
		(*out)--;
	pthread_cond_broadcast(&vdev.acked);
	pthread_mutex_unlock(&vdev.lock);
}

/* ---- Controls ------------------------------------------------------------- */

void vdev_setup(const char *profiles, unsigned int seed)
{
	lock_ready();
	setup(profiles, seed);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_remove(unsigned int n)
{
	struct vdevice *dev;

	lock_ready();
	dev = vdev.dev[n];
	dev->gone = true;
	/* Who is told first, and of what, is chance. */
	if (vdev_choose(2))
		async_all(dev, IBV_EVENT_DEVICE_FATAL);
	vdev_cm_removed(dev);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_add(unsigned int n)
{
	lock_ready();
	make_device(n, vdev.dev[n]->profile);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_link(unsigned int n, bool up)
{
	lock_ready();
	vdev.dev[n]->down = !up;
	async_all(vdev.dev[n], up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	vdev_wake();
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_event(unsigned int n, enum ibv_event_type type)
{
	lock_ready();
	async_all(vdev.dev[n], type);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_break_qp(struct ibv_qp *qp, enum ibv_event_type type)
{
	pthread_mutex_lock(&vdev.lock);
	vdev_async_qp(vqp(qp), type);
	vdev_qp_error(vqp(qp));
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_break_cq(struct ibv_cq *cq)
{
	struct ibv_async_event ev = { .element.cq = cq,
				      .event_type = IBV_EVENT_CQ_ERR };

	pthread_mutex_lock(&vdev.lock);
	vcq(cq)->broken = true;
	vdev_async(cq->context, &ev, &vcq(cq)->async_out);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_break_srq(struct ibv_srq *srq)
{
	struct ibv_async_event ev = { .element.srq = srq,
				      .event_type = IBV_EVENT_SRQ_ERR };

	pthread_mutex_lock(&vdev.lock);
	vsrq(srq)->broken = true;
	vdev_async(srq->context, &ev, &vsrq(srq)->async_out);
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_hold(bool hold)
{
	lock_ready();
	vdev.hold = hold;
	vdev_wake();
	pthread_mutex_unlock(&vdev.lock);
}

void vdev_slow(unsigned int us)
{
	__atomic_store_n(&vdev.slow_us, us, __ATOMIC_RELAXED);
}

void vdev_on_command(void (*fn)(void))
{
	__atomic_store_n(&vdev.on_command, fn, __ATOMIC_RELEASE);
}

unsigned int vdev_objects(void)
{
	unsigned int n = 0;

	pthread_mutex_lock(&vdev.lock);
	for (unsigned int i = 0; i < vdev.ndevs; i++)
		n += vdev.dev[i]->gone ? 0 : vdev.dev[i]->objects;
	pthread_mutex_unlock(&vdev.lock);
	return n;
}

unsigned int vdev_broken_rules(void)
{
	return __atomic_load_n(&vdev.broken_rules, __ATOMIC_RELAXED);
}
