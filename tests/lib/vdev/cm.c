/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm - connection manager: addresses, listeners, connections, channels
 *
 * What each end is told, and when, is as librdmacm and the kernel have it: on
 * InfiniBand and RoCE the side that connects learns of the answer when it takes
 * the event, which moves its queue pair and confirms the connection to the
 * other side; that may be late, and then the first message overtakes it. iWARP
 * has no confirmation, pads no private data, and tells an errno with a
 * rejection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "priv.h"

#define REQUEST_PRIV 56 /* octets of private data on InfiniBand */
#define ANSWER_PRIV 196
#define REJECT_PRIV 148
#define REJECT_NO_LISTENER 8
#define REJECT_CONSUMER 28
#define CONFIRM_MS 10 /* a confirmation that is late */
#define VDEV_OPTIONS (RDMA_OPTION_ID_ACK_TIMEOUT + 1)

enum id_state {
	ID_IDLE,
	ID_BOUND,
	ID_LISTENING,
	ID_RESOLVED, /* address or route */
	ID_CONNECTING,
	ID_REQUESTED,
	ID_ACCEPTED, /* not yet confirmed */
	ID_CONNECTED,
	ID_CLOSING, /* disconnected here, the peer has not answered */
	ID_CLOSED, /* disconnected there; or over */
};

struct id {
	struct rdma_cm_id id;
	TAILQ_ENTRY(id) link;
	struct vdevice *dev; /* NULL: of none */
	struct id *peer;
	enum id_state state;
	bool sync; /* has a channel of its own, and waits for each event */
	bool confirm; /* due at @due */
	uint64_t due;
	uint32_t qp_num;
	struct rdma_conn_param param; /* of its request or answer */
	unsigned int out; /* events told and not acknowledged */
	int option[VDEV_OPTIONS]; /* RDMA_OPTION_ID_*: a value, plus 1 */
};

struct event {
	struct rdma_cm_event ev;
	TAILQ_ENTRY(event) link;
	struct id *of; /* which acknowledges it: the listener of a request */
	uint8_t priv[256];
};

struct channel {
	struct rdma_event_channel ch;
	TAILQ_HEAD(event_queue, event) events;
};

static TAILQ_HEAD(, id) ids = TAILQ_HEAD_INITIALIZER(ids);
static uint16_t next_port = 30000;

static struct id *id_of(struct rdma_cm_id *id)
{
	return container_of(id, struct id, id);
}

static struct channel *channel_of(struct rdma_event_channel *ch)
{
	return container_of(ch, struct channel, ch);
}

static int error(int err)
{
	errno = err;
	return err ? -1 : 0;
}

/* ---- Events --------------------------------------------------------------- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	TAILQ_INIT(&ch->events);
	ch->ch.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return &ch->ch;
}

void rdma_destroy_event_channel(struct rdma_event_channel *ch)
{
	if (!TAILQ_EMPTY(&channel_of(ch)->events))
		vdev_rule("an event channel in use was destroyed");
	close(ch->fd);
	free(channel_of(ch));
}

/* @param is of the other end, whose view it is, and may be NULL; on InfiniBand
 * its private data come with @pad octets. */
static void deliver(struct id *id, enum rdma_cm_event_type type, int status,
		    const struct rdma_conn_param *param, size_t pad)
{
	struct event *e = calloc(1, sizeof(*e));
	struct rdma_conn_param *to;

	if (!e)
		abort();
	to = &e->ev.param.conn;
	e->of = id;
	e->ev.id = &id->id;
	e->ev.event = type;
	e->ev.status = status;
	if (param) {
		*to = *param;
		to->responder_resources = param->initiator_depth;
		to->initiator_depth = param->responder_resources;
		if (param->private_data_len)
			memcpy(e->priv, param->private_data,
			       param->private_data_len);
		if (!id->dev->profile->iwarp)
			to->private_data_len = (uint8_t)pad;
		to->private_data = to->private_data_len ? e->priv : NULL;
	}
	TAILQ_INSERT_TAIL(&channel_of(id->id.channel)->events, e, link);
	vdev_raise(id->id.channel->fd);
}

static void set_qp(struct id *id, const struct id *peer)
{
	struct vqp *qp = vdev_find_qp(id->qp_num);

	if (!qp)
		return;
	qp->qp.state = IBV_QPS_RTS;
	qp->peer = peer->qp_num;
	qp->rnr_retry = peer->param.rnr_retry_count;
	vdev_wake();
}

static void established(struct id *id)
{
	struct vqp *qp = vdev_find_qp(id->qp_num);

	id->confirm = false;
	if (id->state != ID_ACCEPTED)
		return;
	if (qp)
		qp->comm_est = false;
	id->state = ID_CONNECTED;
	deliver(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
}

/* The side that connects takes the answer. */
static void take_answer(struct event *e)
{
	struct id *id = e->of, *peer = id->peer;
	struct vqp *qp = vdev_find_qp(id->qp_num);

	if (!id->id.qp)
		return; /* it moves the queue pair by itself */
	if (!qp || qp->qp.state == IBV_QPS_ERR) {
		e->ev.event = RDMA_CM_EVENT_CONNECT_ERROR;
		e->ev.status = -EINVAL;
		return;
	}
	e->ev.event = RDMA_CM_EVENT_ESTABLISHED;
	if (id->state != ID_CONNECTING)
		return;
	id->state = ID_CONNECTED;
	if (!peer)
		return;
	set_qp(id, peer);
	peer->confirm = true;
	peer->due = vdev_now_ms();
	qp = vdev_find_qp(peer->qp_num);
	if (!vdev_choose(4) && qp) {
		peer->due += CONFIRM_MS;
		qp->comm_est = true;
	}
	vdev_wake();
}

int rdma_get_cm_event(struct rdma_event_channel *ch, struct rdma_cm_event **ev)
{
	struct channel *c = channel_of(ch);
	struct event *e;

	do {
		if (vdev_lower(ch->fd))
			return -1;
		pthread_mutex_lock(&vdev.lock);
		e = TAILQ_FIRST(&c->events);
		if (e) {
			TAILQ_REMOVE(&c->events, e, link);
			e->of->out++;
			if (e->ev.event == RDMA_CM_EVENT_CONNECT_RESPONSE)
				take_answer(e);
		}
		pthread_mutex_unlock(&vdev.lock);
		/* What it was of may have been destroyed. */
	} while (!e);
	*ev = &e->ev;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *ev)
{
	struct event *e = container_of(ev, struct event, ev);

	pthread_mutex_lock(&vdev.lock);
	e->of->out--;
	pthread_cond_broadcast(&vdev.acked);
	pthread_mutex_unlock(&vdev.lock);
	free(e);
	return 0;
}

/* A call without a channel waits for its event. */
static int wait_if_sync(struct id *id)
{
	struct rdma_cm_event *ev;
	int status;

	if (!id->sync)
		return 0;
	if (rdma_get_cm_event(id->id.channel, &ev))
		return -1;
	status = ev->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED :
						       -ev->status;
	rdma_ack_cm_event(ev);
	return error(status);
}

bool vdev_cm_turn(uint64_t *due)
{
	uint64_t now = vdev_now_ms();
	struct id *id;

	TAILQ_FOREACH(id, &ids, link)
	{
		if (id->confirm && id->due <= now)
			established(id);
		else if (id->confirm && id->due < *due)
			*due = id->due;
	}
	return false;
}

/* ---- Addresses ------------------------------------------------------------ */

static uint16_t port_of(const struct sockaddr *sa)
{
	/* It is in the same place in both families. */
	return ntohs(((const struct sockaddr_in *)(const void *)sa)->sin_port);
}

static void set_port(void *sa, uint16_t port)
{
	((struct sockaddr_in *)sa)->sin_port = htons(port);
}

static size_t addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

static bool is_any(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	return sa->sa_family == AF_INET6 ?
		       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) :
		       in->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *in_a = (const void *)a,
				 *in_b = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return false;
	return a->sa_family == AF_INET6 ?
		       !memcmp(&a6->sin6_addr, &b6->sin6_addr, 16) :
		       in_a->sin_addr.s_addr == in_b->sin_addr.s_addr;
}

/* Returns the device that has the address, or NULL. */
static struct vdevice *device_at(const struct sockaddr *sa)
{
	for (unsigned int i = 0; i < vdev.ndevs; i++) {
		struct sockaddr_storage at = { .ss_family = sa->sa_family };
		struct sockaddr_in *in = (void *)&at;
		struct sockaddr_in6 *in6 = (void *)&at;

		if (sa->sa_family == AF_INET6) {
			inet_pton(AF_INET6, "2001:db8::", &in6->sin6_addr);
			in6->sin6_addr.s6_addr[15] = (uint8_t)(i + 1);
		} else {
			in->sin_addr.s_addr = htonl(0xc6336401u + i);
		}
		if (!vdev.dev[i]->gone && same_host(sa, (void *)&at))
			return vdev.dev[i];
	}
	return NULL;
}

static void set_device(struct id *id, struct vdevice *dev)
{
	if (!dev->cm_ctx) {
		struct vpd *pd = calloc(1, sizeof(*pd));

		dev->cm_ctx = vdev_open(dev);
		if (!pd || !dev->cm_ctx)
			abort();
		pd->pd.context = dev->cm_ctx;
		dev->cm_pd = &pd->pd;
	}
	id->dev = dev;
	id->id.verbs = dev->cm_ctx;
	id->id.pd = dev->cm_pd;
	id->id.port_num = 1;
}

/* Is another id at this port of this address, or of any? */
static bool port_taken(const struct id *but, const struct sockaddr *sa,
		       uint16_t port)
{
	struct id *id;

	TAILQ_FOREACH(id, &ids, link)
	{
		struct sockaddr *at = &id->id.route.addr.src_addr;

		if (id != but &&
		    (id->state == ID_BOUND || id->state == ID_LISTENING) &&
		    at->sa_family == sa->sa_family && port_of(at) == port &&
		    (is_any(at) || is_any(sa) || same_host(at, sa)))
			return true;
	}
	return false;
}

static uint16_t free_port(const struct id *id, const struct sockaddr *sa)
{
	do {
		if (++next_port < 30000)
			next_port = 30000;
	} while (port_taken(id, sa, next_port));
	return next_port;
}

/* ---- Ids ------------------------------------------------------------------ */

static struct id *id_make(struct rdma_event_channel *ch, void *context)
{
	struct id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->id.channel = ch;
	id->id.context = context;
	id->id.ps = RDMA_PS_TCP;
	id->id.qp_type = IBV_QPT_RC;
	TAILQ_INSERT_TAIL(&ids, id, link);
	return id;
}

int rdma_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **out,
		   void *context, enum rdma_port_space ps)
{
	bool sync = !ch;
	struct id *id;

	if (sync)
		ch = rdma_create_event_channel();
	if (!ch)
		return error(ENOMEM);
	/* Devices are looked for at the first use. */
	ibv_free_device_list((ibv_get_device_list)(NULL));
	pthread_mutex_lock(&vdev.lock);
	id = id_make(ch, context);
	if (id) {
		id->sync = sync;
		*out = &id->id;
	}
	pthread_mutex_unlock(&vdev.lock);
	return error(id ? 0 : ENOMEM);
}

/* As drivers report it; see connect_rejected() of the provider. */
static int reject_status(const struct vdev_profile *p, bool nobody)
{
	if (!p->iwarp)
		return nobody ? REJECT_NO_LISTENER : REJECT_CONSUMER;
	return nobody == p->siw ? -ECONNREFUSED : -ECONNRESET;
}

static void refuse(struct id *peer, const struct rdma_conn_param *param)
{
	if (!peer || peer->state != ID_CONNECTING)
		return;
	peer->state = ID_CLOSED;
	deliver(peer, RDMA_CM_EVENT_REJECTED,
		reject_status(peer->dev->profile, false), param,
		param ? REJECT_PRIV : 0);
}

/* The peer of @id hears that this side goes, and is told of its own end. */
static void tell_peer(struct id *id)
{
	struct id *peer = id->peer;
	bool told = id->state == ID_CLOSED;

	id->state = ID_CLOSED;
	if (!peer)
		return;
	switch (peer->state) {
	case ID_CONNECTING: /* its answer is under way */
	case ID_ACCEPTED:
	case ID_CONNECTED:
		peer->state = ID_CLOSED;
		deliver(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		break;
	case ID_CLOSING: /* that was its own wish */
		peer->state = ID_CLOSED;
		deliver(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		break;
	case ID_REQUESTED:
		if (!told)
			deliver(peer, RDMA_CM_EVENT_REJECTED, 0, NULL, 0);
		peer->state = ID_CLOSED;
		break;
	default:
		break;
	}
}

static void id_free(struct id *id)
{
	struct id *other;

	TAILQ_REMOVE(&ids, id, link);
	TAILQ_FOREACH(other, &ids, link)
	if (other->peer == id)
		other->peer = NULL;
	free(id);
}

/* Forget what has not been told; a request was refused then. */
static void drop_events(struct id *id)
{
	struct channel *ch = channel_of(id->id.channel);
	struct event *e, *next;
	struct id *refused;

	for (e = TAILQ_FIRST(&ch->events); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->of != id)
			continue;
		TAILQ_REMOVE(&ch->events, e, link);
		refused = e->ev.listen_id ? id_of(e->ev.id) : NULL;
		free(e);
		if (!refused)
			continue;
		refuse(refused->peer, NULL);
		drop_events(refused);
		id_free(refused);
		next = TAILQ_FIRST(&ch->events);
	}
}

int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct id *id = id_of(cm_id);
	struct rdma_event_channel *ch = id->sync ? cm_id->channel : NULL;

	pthread_mutex_lock(&vdev.lock);
	if (cm_id->qp)
		vdev_rule("an id with a queue pair was destroyed");
	if (id->state == ID_REQUESTED)
		refuse(id->peer, NULL);
	else if (id->state >= ID_CONNECTING)
		tell_peer(id);
	drop_events(id);
	while (id->out)
		pthread_cond_wait(&vdev.acked, &vdev.lock);
	drop_events(id);
	id_free(id);
	pthread_mutex_unlock(&vdev.lock);
	if (ch)
		rdma_destroy_event_channel(ch);
	return 0;
}

/* The kernel takes them at any time; later than this they have no effect. */
int rdma_set_option(struct rdma_cm_id *cm_id, int level, int name, void *value,
		    size_t len)
{
	struct id *id = id_of(cm_id);
	bool octet = name == RDMA_OPTION_ID_TOS ||
		     name == RDMA_OPTION_ID_ACK_TIMEOUT;
	int number;

	if (level != RDMA_OPTION_ID || name < 0 || name >= VDEV_OPTIONS)
		return error(ENOSYS);
	if (len != (octet ? sizeof(uint8_t) : sizeof(int)))
		return error(EINVAL);
	if (octet)
		number = *(uint8_t *)value;
	else
		memcpy(&number, value, sizeof(number));
	pthread_mutex_lock(&vdev.lock);
	if (id->state != ID_IDLE && id->state != ID_REQUESTED)
		vdev_rule("option %d of an id was set too late", name);
	id->option[name] = number + 1;
	pthread_mutex_unlock(&vdev.lock);
	return 0;
}

int vdev_option(struct rdma_cm_id *cm_id, int name)
{
	int value;

	pthread_mutex_lock(&vdev.lock);
	value = id_of(cm_id)->option[name] - 1;
	pthread_mutex_unlock(&vdev.lock);
	return value;
}

int rdma_bind_addr(struct rdma_cm_id *cm_id, struct sockaddr *sa)
{
	struct id *id = id_of(cm_id);
	struct vdevice *dev;
	uint16_t port = port_of(sa);
	int rc = 0;

	pthread_mutex_lock(&vdev.lock);
	dev = device_at(sa);
	if (!dev && !is_any(sa))
		rc = vdev_choose(2) ? ENODEV : EADDRNOTAVAIL;
	else if (port && port_taken(id, sa, port))
		rc = EADDRINUSE;
	if (!rc) {
		memcpy(&cm_id->route.addr.src_storage, sa, addr_len(sa));
		if (!port)
			port = free_port(id, sa);
		set_port(&cm_id->route.addr.src_storage, port);
		id->state = ID_BOUND;
		if (dev)
			set_device(id, dev);
	}
	pthread_mutex_unlock(&vdev.lock);
	return error(rc);
}

int rdma_listen(struct rdma_cm_id *cm_id, int backlog)
{
	struct id *id = id_of(cm_id);
	int rc;

	pthread_mutex_lock(&vdev.lock);
	rc = id->state == ID_BOUND ? 0 : EINVAL;
	if (!rc)
		id->state = ID_LISTENING;
	pthread_mutex_unlock(&vdev.lock);
	return error(rc);
}

int rdma_resolve_addr(struct rdma_cm_id *cm_id, struct sockaddr *src,
		      struct sockaddr *dst, int timeout_ms)
{
	struct id *id = id_of(cm_id);
	struct rdma_addr *at = &cm_id->route.addr;
	struct vdevice *dev;

	pthread_mutex_lock(&vdev.lock);
	dev = device_at(dst);
	memcpy(&at->dst_storage, dst, addr_len(dst));
	if (dev) {
		memcpy(&at->src_storage, dst, addr_len(dst));
		set_port(&at->src_storage, free_port(id, dst));
		set_device(id, dev);
		id->state = ID_RESOLVED;
		deliver(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	} else {
		deliver(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, NULL, 0);
	}
	pthread_mutex_unlock(&vdev.lock);
	return wait_if_sync(id);
}

int rdma_resolve_route(struct rdma_cm_id *cm_id, int timeout_ms)
{
	struct id *id = id_of(cm_id);
	bool can;

	pthread_mutex_lock(&vdev.lock);
	can = id->state == ID_RESOLVED;
	if (can)
		deliver(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	pthread_mutex_unlock(&vdev.lock);
	return can ? wait_if_sync(id) : error(EINVAL);
}

/* ---- Queue pairs ---------------------------------------------------------- */

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	if (id->qp || (pd && pd->context != id->verbs))
		return error(EINVAL);
	if (!attr->send_cq)
		attr->send_cq = id->send_cq = ibv_create_cq(
			id->verbs, (int)attr->cap.max_send_wr, id, NULL, 0);
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq = ibv_create_cq(
			id->verbs, (int)attr->cap.max_recv_wr, id, NULL, 0);
	if (attr->send_cq && attr->recv_cq)
		id->qp = ibv_create_qp(pd ? pd : id->pd, attr);
	if (!id->qp)
		return -1;
	id->pd = id->qp->pd;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	if (id->send_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	id->send_cq = id->recv_cq = NULL;
}

/* ---- Connections ---------------------------------------------------------- */

static bool too_long(const struct id *id, const struct rdma_conn_param *p,
		     size_t most)
{
	return !id->dev->profile->iwarp && p->private_data_len > most;
}

/* Keep what is asked for; the queue pair that it goes with. */
static void keep_param(struct id *id, const struct rdma_conn_param *p)
{
	uint8_t most = (uint8_t)id->dev->profile->rd_atom;

	id->param = *p;
	id->qp_num = id->id.qp ? id->id.qp->qp_num : p->qp_num;
	if (p->initiator_depth == RDMA_MAX_INIT_DEPTH)
		id->param.initiator_depth = most;
	if (p->responder_resources == RDMA_MAX_RESP_RES)
		id->param.responder_resources = most;
}

static struct id *find_listener(const struct sockaddr *sa)
{
	struct id *id;

	TAILQ_FOREACH(id, &ids, link)
	{
		struct sockaddr *at = &id->id.route.addr.src_addr;

		if (id->state == ID_LISTENING &&
		    at->sa_family == sa->sa_family &&
		    port_of(at) == port_of(sa) &&
		    (is_any(at) || same_host(at, sa)))
			return id;
	}
	return NULL;
}

static void request(struct id *from, struct id *listener)
{
	struct id *id = id_make(listener->id.channel, listener->id.context);
	struct event *e;

	if (!id)
		abort();
	set_device(id, from->dev);
	id->id.route.addr.src_storage = from->id.route.addr.dst_storage;
	id->id.route.addr.dst_storage = from->id.route.addr.src_storage;
	id->state = ID_REQUESTED;
	id->peer = from;
	from->peer = id;
	deliver(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &from->param,
		REQUEST_PRIV);
	e = TAILQ_LAST(&channel_of(listener->id.channel)->events, event_queue);
	e->of = listener;
	e->ev.listen_id = &listener->id;
}

int rdma_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *p)
{
	struct id *id = id_of(cm_id), *listener;
	int rc = 0;

	pthread_mutex_lock(&vdev.lock);
	if (id->dev->gone)
		rc = ENODEV;
	else if (id->state != ID_RESOLVED || too_long(id, p, REQUEST_PRIV))
		rc = EINVAL;
	if (!rc) {
		keep_param(id, p);
		id->state = ID_CONNECTING;
		listener = find_listener(&cm_id->route.addr.dst_addr);
		if (id->dev->down) {
			deliver(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL,
				0);
		} else if (listener) {
			request(id, listener);
		} else {
			id->state = ID_CLOSED;
			deliver(id, RDMA_CM_EVENT_REJECTED,
				reject_status(id->dev->profile, true), NULL, 0);
		}
	}
	pthread_mutex_unlock(&vdev.lock);
	return rc ? error(rc) : wait_if_sync(id);
}

int rdma_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *p)
{
	struct id *id = id_of(cm_id), *peer;
	/* It moves the queue pair. */
	int rc = vdev_command(cm_id->verbs);

	if (rc)
		return error(rc);
	peer = id->peer;
	if (id->state != ID_REQUESTED || !peer || too_long(id, p, ANSWER_PRIV))
		rc = EINVAL;
	if (!rc) {
		keep_param(id, p);
		set_qp(id, peer);
		id->state = ID_ACCEPTED;
		deliver(peer, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &id->param,
			ANSWER_PRIV);
		if (id->dev->profile->iwarp) {
			set_qp(peer, id);
			established(id);
		}
	}
	pthread_mutex_unlock(&vdev.lock);
	return error(rc);
}

int rdma_reject(struct rdma_cm_id *cm_id, const void *priv, uint8_t len)
{
	struct id *id = id_of(cm_id);
	struct rdma_conn_param p = { .private_data = priv,
				     .private_data_len = len };

	pthread_mutex_lock(&vdev.lock);
	if (id->state == ID_REQUESTED)
		refuse(id->peer, len ? &p : NULL);
	id->state = ID_CLOSED;
	pthread_mutex_unlock(&vdev.lock);
	return 0;
}

int rdma_notify(struct rdma_cm_id *cm_id, enum ibv_event_type type)
{
	pthread_mutex_lock(&vdev.lock);
	established(id_of(cm_id));
	pthread_mutex_unlock(&vdev.lock);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *cm_id)
{
	struct id *id = id_of(cm_id);
	bool can;

	pthread_mutex_lock(&vdev.lock);
	if (cm_id->qp)
		vdev_qp_error(vqp(cm_id->qp));
	can = id->state >= ID_ACCEPTED && id->state <= ID_CLOSED;
	if (id->state == ID_CLOSED) {
		/* The answer, if the peer waits for it. */
		tell_peer(id);
	} else if (can) {
		tell_peer(id);
		id->state = ID_CLOSING;
		/* Nobody is there who could answer. */
		if (!id->peer) {
			id->state = ID_CLOSED;
			deliver(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		}
	}
	pthread_mutex_unlock(&vdev.lock);
	return can ? wait_if_sync(id) : error(EINVAL);
}

void vdev_cm_qp_ended(struct vqp *qp)
{
	struct id *id, *peer;

	TAILQ_FOREACH(id, &ids, link)
	if (id->qp_num == qp->qp.qp_num)
		break;
	if (!id || (id->state != ID_CONNECTED && id->state != ID_ACCEPTED))
		return;
	peer = id->peer;
	tell_peer(id);
	deliver(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	qp = peer ? vdev_find_qp(peer->qp_num) : NULL;
	if (qp)
		vdev_qp_error(qp);
}

void vdev_cm_removed(struct vdevice *dev)
{
	struct id *id;

	TAILQ_FOREACH(id, &ids, link)
	if (id->dev == dev)
		deliver(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
}
