/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of other kinds than Linux has in software, several in one machine: which of
 * them count, what each connection may do, which addresses can be reached, and how a
 * device goes and comes back. The functions of libibverbs and librdmacm that this takes
 * are here, for a machine that is made up.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric/verbs/device.h"
#include "unit.h"

/* ---- The machine --------------------------------------------------------- */

#define MLX5 0x0002c9u
#define BROADCOM 0x0014e4u
#define SIW 0x626d74u

struct machine_device {
	struct ibv_device dev;
	struct ibv_context ctx;
	struct ibv_device_attr attr;
	const char *addr;
	bool down;
	struct ibv_async_event event;
	bool event_due;
};

static struct machine_device machine[3];
static unsigned int ndevices, pds, ids, rejects;
static char said[8192];

static void keep(void *ctx, int level, const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%d %s\n", level, text);
}

static struct machine_device *device_of(struct ibv_context *ctx)
{
	return container_of(ctx, struct machine_device, ctx);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = calloc(1, sizeof(*mw));

	mw->context = pd->context;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	free(mw);
	return 0;
}

/* One that has all there is; the test takes away what its kind lacks. */
static struct machine_device *add_device(const char *name, uint32_t vendor,
					 const char *addr)
{
	struct machine_device *m = &machine[ndevices++];

	*m = (struct machine_device){
		.dev.transport_type = IBV_TRANSPORT_IB,
		.ctx = { .device = &m->dev,
			 .ops = { .alloc_mw = alloc_mw,
				  .dealloc_mw = dealloc_mw },
			 .cmd_fd = eventfd(0, EFD_NONBLOCK),
			 .async_fd = eventfd(0, EFD_NONBLOCK) },
		.attr = { .vendor_id = vendor,
			  .max_sge = 30,
			  .max_sge_rd = 30,
			  .max_qp = 100,
			  .max_cq = 100,
			  .max_mr = 100,
			  .max_mw = 100,
			  .max_qp_wr = 1024,
			  .max_cqe = 4096,
			  .max_qp_rd_atom = 16,
			  .max_qp_init_rd_atom = 16,
			  .phys_port_cnt = 1,
			  .device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS |
					      IBV_DEVICE_MEM_WINDOW_TYPE_2B },
		.addr = addr,
	};
	snprintf(m->dev.name, sizeof(m->dev.name), "%s", name);
	return m;
}

static void clear_machine(void)
{
	for (unsigned int i = 0; i < ndevices; i++) {
		close(machine[i].ctx.cmd_fd);
		close(machine[i].ctx.async_fd);
	}
	ndevices = 0;
	*said = '\0';
	CU_ASSERT_EQUAL(pds, 0);
	CU_ASSERT_EQUAL(ids, 0);
}

/* ---- Its libraries ------------------------------------------------------- */

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = calloc(ndevices + 1, sizeof(*list));

	for (unsigned int i = 0; i < ndevices; i++)
		list[i] = &machine[i].dev;
	if (n)
		*n = (int)ndevices;
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

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	return &container_of(dev, struct machine_device, dev)->ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	return 0;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	*a = device_of(ctx)->attr;
	return 0;
}

int(ibv_query_port)(struct ibv_context *ctx, uint8_t n,
		    struct _compat_ibv_port_attr *to)
{
	struct ibv_port_attr *port = (struct ibv_port_attr *)(void *)to;

	port->max_msg_sz = 1u << 31;
	port->state = device_of(ctx)->down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = ctx;
	pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	pds--;
	free(pd);
	return 0;
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *ev)
{
	struct machine_device *m = device_of(ctx);

	errno = EAGAIN;
	if (!m->event_due)
		return -1;
	m->event_due = false;
	*ev = m->event;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *ev)
{
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *ch = calloc(1, sizeof(*ch));

	ch->fd = eventfd(0, EFD_NONBLOCK);
	return ch;
}

void rdma_destroy_event_channel(struct rdma_event_channel *ch)
{
	close(ch->fd);
	free(ch);
}

int rdma_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps)
{
	*id = calloc(1, sizeof(**id));
	(*id)->context = context;
	ids++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	ids--;
	free(id);
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	char text[INET_ADDRSTRLEN];

	memcpy(&id->route.addr.src_sin, in, sizeof(*in));
	id->port_num = 1;
	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	for (unsigned int i = 0; i < ndevices; i++)
		if (machine[i].addr && !strcmp(machine[i].addr, text))
			id->verbs = &machine[i].ctx;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value,
		    size_t len)
{
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *ch, struct rdma_cm_event **ev)
{
	errno = EAGAIN;
	return -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *ev)
{
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *priv, uint8_t priv_len)
{
	rejects++;
	return 0;
}

/* Each device's address, and one that belongs to none. */
int getifaddrs(struct ifaddrs **all)
{
	static struct sockaddr_in at[4];
	static struct ifaddrs list[4];

	*all = NULL;
	for (unsigned int i = 0; i <= ndevices; i++) {
		const char *addr = i < ndevices ? machine[i].addr : "192.0.2.9";

		if (!addr)
			continue;
		at[i] = (struct sockaddr_in){ .sin_family = AF_INET };
		inet_pton(AF_INET, addr, &at[i].sin_addr);
		list[i] = (struct ifaddrs){
			.ifa_next = *all,
			.ifa_addr = (struct sockaddr *)&at[i],
			.ifa_flags = IFF_UP,
		};
		*all = &list[i];
	}
	return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
}

/* ---- What the tests do --------------------------------------------------- */

static struct vb_domain *open_domain(const char *devices)
{
	struct fab_domain_params p = { .log = keep, .devices = devices };
	struct fab_domain *dom;

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_verbs_ops, &p, &dom), 0);
	return vb_domain(dom);
}

/* A connection comes over @m. */
static struct vb_device *use(struct vb_domain *d, struct machine_device *m,
			     int *rc)
{
	struct rdma_cm_id id = { .verbs = &m->ctx };
	struct sockaddr_in *in = &id.route.addr.src_sin;

	*rc = 0;
	in->sin_family = AF_INET;
	inet_pton(AF_INET, m->addr, &in->sin_addr);
	return vb_device_get(d, &id, rc);
}

static struct sockaddr *addr_of(const char *text)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET };
	inet_pton(AF_INET, text, &in.sin_addr);
	return (struct sockaddr *)&in;
}

static void never(struct fab_listener *l, struct fab_conn *c, const void *priv,
		  size_t priv_len, void *user)
{
}

/* ---- Tests --------------------------------------------------------------- */

static void test_names(void)
{
	static const struct {
		const char *devices, *name;
		bool chosen;
	} rows[] = {
		{ NULL, "mlx5_0", true },
		{ "", "mlx5_0", true },
		{ " ,", "mlx5_0", true },
		{ "mlx5_0", "mlx5_0", true },
		{ "mlx5_0", "mlx5_00", false },
		{ "mlx5_00", "mlx5_0", false },
		{ "mlx5_1, mlx5_0", "mlx5_0", true },
		{ "mlx5_1,mlx5_0 ", "mlx5_0", true },
		{ "mlx5_1, irdma0", "mlx5_0", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(vb_device_is_chosen(rows[i].devices,
						    rows[i].name),
				rows[i].chosen);
}

/* A device that nobody uses takes nothing from one that is used. */
static void test_own_limits(void)
{
	struct machine_device *mlx5, *bnxt, *efa;
	struct vb_device *dev;
	struct vb_domain *d;
	int rc;

	mlx5 = add_device("mlx5_0", MLX5, "192.0.2.1");
	bnxt = add_device("bnxt_re0", BROADCOM, "192.0.2.2");
	bnxt->ctx.ops.alloc_mw = NULL;
	bnxt->attr.max_sge = 6;
	bnxt->attr.max_qp_rd_atom = 1;
	efa = add_device("efa_0", 0x1d0f, "192.0.2.3");
	efa->dev.transport_type = IBV_TRANSPORT_UNSPECIFIED;
	efa->attr.max_sge = 2;
	d = open_domain(NULL);
	/* What holds for any connection. */
	CU_ASSERT_EQUAL(d->fab.limits.caps, FAB_CAP_BOUND);
	CU_ASSERT_EQUAL(d->fab.limits.max_sge, 6);
	CU_ASSERT_EQUAL(d->fab.limits.max_read_depth, 1);
	dev = use(d, mlx5, &rc);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
	CU_ASSERT_EQUAL(dev->limits.caps,
			FAB_CAP_BOUND | FAB_CAP_SEND_INV | FAB_CAP_EXPOSE);
	CU_ASSERT_EQUAL(dev->limits.max_sge, VB_MAX_SGE);
	CU_ASSERT_EQUAL(dev->limits.max_read_depth, 16);
	CU_ASSERT_TRUE(dev->windows);
	vb_device_put(dev);
	dev = use(d, bnxt, &rc);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
	CU_ASSERT_EQUAL(dev->limits.caps, FAB_CAP_BOUND);
	CU_ASSERT_EQUAL(dev->limits.max_sge, 6);
	CU_ASSERT_FALSE(dev->windows);
	vb_device_put(dev);
	CU_ASSERT_PTR_NULL(use(d, efa, &rc));
	CU_ASSERT_EQUAL(rc, -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "efa_0: this device cannot be "));
	fab_domain_close(&d->fab);
	clear_machine();
}

/* Before the first connection, and once. */
static void test_siw(void)
{
	static const char warning[] =
		"4 verbs: siw0: its driver does not check";
	struct machine_device *siw = add_device("siw0", SIW, "192.0.2.1");
	struct fab_limits l;
	struct vb_domain *d;
	char *at;

	siw->dev.transport_type = IBV_TRANSPORT_IWARP;
	d = open_domain(NULL);
	at = strstr(said, warning);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_EQUAL(vb_device_limits(d, &siw->ctx, &l), 0);
	CU_ASSERT_PTR_NULL(strstr(at + 1, warning));
	fab_domain_close(&d->fab);
	clear_machine();
}

/* Without any device that can be used. */
static void test_unfit(void)
{
	struct fab_domain *dom;

	CU_ASSERT_EQUAL(fab_domain_open(&fab_verbs_ops, NULL, &dom), -ENODEV);
	add_device("few0", MLX5, "192.0.2.1")->attr.max_sge = 3;
	CU_ASSERT_EQUAL(fab_domain_open(&fab_verbs_ops, NULL, &dom),
			-EOPNOTSUPP);
	clear_machine();
}

static void count_device(const struct fab_device *device, void *arg)
{
	CU_ASSERT_STRING_EQUAL(device->name, "mlx5_0");
	++*(unsigned int *)arg;
}

static void test_chosen(void)
{
	struct fab_domain_params none = { .log = keep, .devices = "mlx5_2" };
	struct machine_device *one, *other;
	struct fab_listener *l;
	struct fab_poller *p;
	struct fab_domain *dom;
	struct vb_device *dev;
	struct vb_domain *d;
	unsigned int devices = 0;
	int rc;

	one = add_device("mlx5_0", MLX5, "192.0.2.1");
	other = add_device("bnxt_re0", BROADCOM, "192.0.2.2");
	CU_ASSERT_EQUAL(fab_domain_open(&fab_verbs_ops, &none, &dom), -ENODEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "there is no RDMA device mlx5_2"));
	*said = '\0';
	d = open_domain("mlx5_0, mlx5_1");
	CU_ASSERT_TRUE(d->fab.limits.caps & FAB_CAP_SEND_INV);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "there is no RDMA device mlx5_1"));
	CU_ASSERT_PTR_NULL(use(d, other, &rc));
	CU_ASSERT_EQUAL(rc, -EACCES);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p), 0);
	CU_ASSERT_EQUAL(fab_listen(p, addr_of("192.0.2.2"),
				   sizeof(struct sockaddr_in), never, NULL, &l),
			-EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(fab_listen(p, addr_of("192.0.2.1"),
				   sizeof(struct sockaddr_in), never, NULL, &l),
			0);
	CU_ASSERT_TRUE(fab_listener_up(l));
	/* It is known from now on. */
	fab_for_each_device(&d->fab, count_device, &devices);
	CU_ASSERT_EQUAL(devices, 1);
	dev = use(d, one, &rc);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
	vb_device_put(dev);
	fab_listener_close(l);
	fab_poller_destroy(p);
	fab_domain_close(&d->fab);
	clear_machine();
}

/* An address that no device has, a port that is down or not used: nobody comes there. */
static void test_reachable(void)
{
	struct machine_device *one, *other;
	struct fab_listener *any, *l;
	struct fab_poller *p;
	struct vb_domain *d;

	CU_ASSERT_FALSE(vb_owns(addr_of("0.0.0.0"), NULL));
	one = add_device("mlx5_0", MLX5, "192.0.2.1");
	other = add_device("mlx5_1", MLX5, "192.0.2.2");
	CU_ASSERT_TRUE(vb_owns(addr_of("0.0.0.0"), NULL));
	CU_ASSERT_TRUE(vb_owns(addr_of("192.0.2.1"), NULL));
	CU_ASSERT_FALSE(vb_owns(addr_of("192.0.2.9"), NULL));
	CU_ASSERT_FALSE(vb_owns(addr_of("192.0.2.1"), "mlx5_1"));
	CU_ASSERT_FALSE(vb_owns(addr_of("0.0.0.0"), "mlx5_2"));
	d = open_domain("mlx5_0");
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(p, addr_of("0.0.0.0"),
					 sizeof(struct sockaddr_in), never,
					 NULL, &any),
			      0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(p, addr_of("192.0.2.1"),
					 sizeof(struct sockaddr_in), never,
					 NULL, &l),
			      0);
	CU_ASSERT_TRUE(fab_listener_up(any));
	/* The port of a device that is not used is up, and no client gets through. */
	one->down = true;
	CU_ASSERT_FALSE(fab_listener_up(any));
	CU_ASSERT_FALSE(fab_listener_up(l));
	CU_ASSERT_FALSE(vb_owns(addr_of("192.0.2.1"), NULL));
	one->down = false;
	CU_ASSERT_TRUE(fab_listener_up(any));
	CU_ASSERT_TRUE(fab_listener_up(l));
	fab_listener_close(any);
	fab_listener_close(l);
	fab_poller_destroy(p);
	fab_domain_close(&d->fab);
	(void)other;
	clear_machine();
}

static bool refuse_others(void *ctx, const struct sockaddr_storage *peer,
			  bool chosen)
{
	unsigned int *asked = ctx;

	*asked += 1 + 100 * chosen;
	return false;
}

/* Whoever comes by a device that is not to be used is the upper layer's to refuse and to
 * count, like all that it does not admit. */
static void test_other_device(void)
{
	struct fab_domain_params params = { .log = keep,
					    .admit = refuse_others,
					    .devices = "mlx5_0" };
	struct rdma_cm_event ev = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct machine_device *both[2];
	unsigned int asked = 0;
	struct vb_listener *vl;
	struct fab_listener *l;
	struct fab_domain *dom;
	struct fab_poller *p;

	params.admit_ctx = &asked;
	both[0] = add_device("mlx5_0", MLX5, "192.0.2.1");
	both[1] = add_device("mlx5_1", MLX5, "192.0.2.2");
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_verbs_ops, &params, &dom),
			      0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(dom, &p), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(p, addr_of("0.0.0.0"),
					 sizeof(struct sockaddr_in), never,
					 NULL, &l),
			      0);
	vl = container_of(l, struct vb_listener, ev.fab);
	rejects = 0;
	for (unsigned int i = 0; i < 2; i++) {
		rdma_create_id(NULL, &ev.id, NULL, RDMA_PS_TCP);
		ev.id->verbs = &both[i]->ctx;
		ev.listen_id = vl->id;
		CU_ASSERT_EQUAL(vl->src.event(&vl->src, &ev), 0);
		CU_ASSERT_EQUAL(rejects, i + 1);
		CU_ASSERT_EQUAL(asked, 101 + i);
	}
	CU_ASSERT_EQUAL(dom->failed_starts, 0);
	CU_ASSERT_PTR_NULL(strstr(said, "refused"));
	fab_listener_close(l);
	fab_poller_destroy(p);
	fab_domain_close(dom);
	clear_machine();
}

/* The address of a listener moves to another device: it listens there. */
static void test_moved(void)
{
	struct machine_device *one, *other;
	struct fab_listener *l;
	struct vb_listener *vl;
	struct fab_poller *p;
	struct vb_domain *d;

	one = add_device("mlx5_0", MLX5, "192.0.2.1");
	other = add_device("mlx5_1", MLX5, NULL);
	d = open_domain(NULL);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(p, addr_of("192.0.2.1"),
					 sizeof(struct sockaddr_in), never,
					 NULL, &l),
			      0);
	vl = container_of(l, struct vb_listener, ev.fab);
	CU_ASSERT_PTR_EQUAL(vl->id->verbs, &one->ctx);
	one->addr = NULL;
	CU_ASSERT_FALSE(fab_listener_up(l));
	CU_ASSERT_PTR_NOT_NULL(vl->id);
	other->addr = "192.0.2.1";
	CU_ASSERT_FALSE(fab_listener_up(l));
	CU_ASSERT_PTR_NULL(vl->id);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "moved to another device"));
	for (uint64_t end = base_now_ms() + 10000;
	     !vl->id && base_now_ms() < end;)
		fab_poller_run(p, 100);
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl->id);
	CU_ASSERT_PTR_EQUAL(vl->id->verbs, &other->ctx);
	CU_ASSERT_TRUE(fab_listener_up(l));
	fab_listener_close(l);
	fab_poller_destroy(p);
	fab_domain_close(&d->fab);
	clear_machine();
}

/* The kernel's setting for programs that bind to an address before it comes, in a network of
 * this process's own. Returns false if that cannot be had. */
static bool allow_nonlocal(void)
{
	FILE *f = unshare(CLONE_NEWNET) ?
			  NULL :
			  fopen("/proc/sys/net/ipv4/ip_nonlocal_bind", "w");
	bool done = f && putc('1', f) == '1';

	return f && !fclose(f) && done;
}

/* A listener whose address is not here yet waits for it, if the administrator wants that. */
static void test_comes_later(void)
{
	struct machine_device *one = add_device("mlx5_0", MLX5, NULL);
	struct machine_device *other =
		add_device("bnxt_re0", BROADCOM, "192.0.2.1");
	struct vb_domain *d = open_domain("mlx5_0");
	struct fab_listener *l;
	struct fab_poller *p;
	bool allowed;

	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p), 0);
	CU_ASSERT_EQUAL(fab_listen(p, addr_of("192.0.2.1"),
				   sizeof(struct sockaddr_in), never, NULL, &l),
			-EADDRNOTAVAIL);
	allowed = allow_nonlocal();
	if (allowed) {
		CU_ASSERT_EQUAL_FATAL(fab_listen(p, addr_of("192.0.2.1"),
						 sizeof(struct sockaddr_in),
						 never, NULL, &l),
				      0);
		CU_ASSERT_FALSE(fab_listener_up(l));
		other->addr = NULL;
		one->addr = "192.0.2.1";
		for (uint64_t end = base_now_ms() + 10000;
		     !fab_listener_up(l) && base_now_ms() < end;)
			fab_poller_run(p, 100);
		CU_ASSERT_TRUE(fab_listener_up(l));
		CU_ASSERT_PTR_NOT_NULL(strstr(said, "a listener is up"));
		fab_listener_close(l);
	}
	fab_poller_destroy(p);
	fab_domain_close(&d->fab);
	clear_machine();
}

/* Devices come and go more often than there are indexes; one stays. */
static void test_removals(void)
{
	struct machine_device *goes, *stays;
	struct vb_device *dev, *was, *kept;
	struct fab_poller *p[2];
	struct vb_domain *d;
	int rc;

	stays = add_device("mlx5_0", MLX5, "192.0.2.1");
	goes = add_device("mlx5_1", MLX5, "192.0.2.2");
	d = open_domain(NULL);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p[0]), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(&d->fab, &p[1]), 0);
	kept = use(d, stays, &rc);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
	for (unsigned int i = 0; i < 3 * VB_MAX_DEVICES; i++) {
		dev = use(d, goes, &rc);
		CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
		CU_ASSERT_EQUAL(dev->index, 1);
		vb_device_lost(d, &goes->ctx);
		/* While a connection has it, it keeps its index. */
		vb_device_reclaim(vb_poller(p[0]));
		vb_device_reclaim(vb_poller(p[1]));
		CU_ASSERT_PTR_NOT_NULL(dev->ctx);
		vb_device_put(dev);
		vb_device_reclaim(vb_poller(p[0]));
		CU_ASSERT_PTR_NOT_NULL(dev->ctx);
		vb_device_reclaim(vb_poller(p[1]));
		CU_ASSERT_PTR_NULL(dev->ctx);
		was = dev;
		dev = use(d, goes, &rc);
		CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
		CU_ASSERT_PTR_NOT_EQUAL(dev, was);
		CU_ASSERT_PTR_EQUAL(atomic_load(&d->dev[1]), dev);
		CU_ASSERT_FALSE(atomic_load(&dev->gone));
		/* Each poller hears of its events again. */
		CU_ASSERT_EQUAL(vb_poller(p[0])->left, 0);
		CU_ASSERT_EQUAL(vb_poller(p[1])->left, 0);
		vb_device_lost(d, &goes->ctx);
		vb_device_put(dev);
		vb_device_reclaim(vb_poller(p[0]));
		vb_device_reclaim(vb_poller(p[1]));
		CU_ASSERT_PTR_NULL(dev->ctx);
	}
	CU_ASSERT_EQUAL(kept->index, 0);
	CU_ASSERT_EQUAL(d->ndevs, 2);
	vb_device_put(kept);
	fab_poller_destroy(p[0]);
	fab_poller_destroy(p[1]);
	fab_domain_close(&d->fab);
	clear_machine();
}

static const struct unit_test tests[] = {
	{ "names", test_names },
	{ "own_limits", test_own_limits },
	{ "siw", test_siw },
	{ "unfit", test_unfit },
	{ "chosen", test_chosen },
	{ "reachable", test_reachable },
	{ "other_device", test_other_device },
	{ "moved", test_moved },
	{ "removals", test_removals },
	{ "comes_later", test_comes_later },
	{ NULL, NULL },
};

UNIT_MAIN("verbs-devices", tests)
