/* SPDX-License-Identifier: BSD-3-Clause */
/* ports.h says what this is. */
#include "ganesha/ports.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "ganesha/config/config.h"
#include "ganesha/holder.h"
#include "ganesha/running.h"

/* Of Ganesha's program RQUOTA. */
#define RQUOTA_PORT 875
#define NFS_PROGRAM 100003
#define MNT_PROGRAM 100005

enum { NFS, MNT, NLM, RQUOTA, PROGRAMS };

static const char *const items_of[PROGRAMS] = { "NFS_Port", "MNT_Port",
						"NLM_Port", "Rquota_Port" };

struct core {
	uint16_t port[PROGRAMS];
	uint32_t nfs, mnt; /* their numbers */
	bool listed, v3, v4; /* Protocols, if there are any */
	bool nlm, rquota;
	bool udp, udp_mount;
};

struct trial {
	const struct gr_ports *p;
	int fd[2 * PROGRAMS];
	unsigned int n;
	bool free;
};

static int take_protocol(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	struct core *c = param;

	c->listed = true;
	c->v3 |= gr_config_is_version(token, '3');
	c->v4 |= gr_config_is_version(token, '4');
	return 0;
}

static int take_udp(const char *token, int term, struct gsh_config_item *item,
		    void *param, void *node, struct gsh_config_errors *e)
{
	struct core *c = param;

	c->udp_mount = !strcasecmp(token, "mount");
	c->udp = !c->udp_mount && strcasecmp(token, "false") &&
		 strcasecmp(token, "no") && strcasecmp(token, "off");
	return 0;
}

static void read_core(const struct gsh *g, struct gsh_config *tree,
		      struct core *c)
{
	static const struct gsh_config_item items[] = {
		{ .name = "NFS_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX, .def = 2049, .zero_ok = true },
		  .off = offsetof(struct core, port[NFS]) },
		{ .name = "MNT_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX, .zero_ok = true },
		  .off = offsetof(struct core, port[MNT]) },
		{ .name = "NLM_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX, .zero_ok = true },
		  .off = offsetof(struct core, port[NLM]) },
		{ .name = "Rquota_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX,
			     .def = RQUOTA_PORT,
			     .zero_ok = true },
		  .off = offsetof(struct core, port[RQUOTA]) },
		{ .name = "NFS_Program",
		  .type = GSH_CONFIG_UINT32,
		  .u.u32 = { .min = 1, .max = INT32_MAX, .def = NFS_PROGRAM },
		  .off = offsetof(struct core, nfs) },
		{ .name = "MNT_Program",
		  .type = GSH_CONFIG_UINT32,
		  .u.u32 = { .min = 1, .max = INT32_MAX, .def = MNT_PROGRAM },
		  .off = offsetof(struct core, mnt) },
		{ .name = "Protocols",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = take_protocol },
		  .off = 0 },
		{ .name = "Enable_UDP",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = take_udp },
		  .off = 0 },
		{ .name = "Enable_NLM",
		  .type = GSH_CONFIG_BOOL,
		  .u.b = true,
		  .off = offsetof(struct core, nlm) },
		{ .name = "Enable_RQUOTA",
		  .type = GSH_CONFIG_BOOL,
		  .u.b = true,
		  .off = offsetof(struct core, rquota) },
		{ .name = NULL },
	};
	struct gsh_config_block block =
		gr_config_block("org.ganesha.nfsd.config.core",
				"NFS_Core_Param", items, gr_config_accept);
	struct gsh_config_errors e;

	*c = (struct core){ .port = { [NFS] = 2049, [RQUOTA] = RQUOTA_PORT },
			    .nfs = NFS_PROGRAM,
			    .mnt = MNT_PROGRAM,
			    .nlm = true,
			    .rquota = true,
			    .udp = true };
	if (!g->init_error_type(&e))
		return;
	g->load_config_from_parse(tree, &block, c, true, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
}

static bool is_on(const struct core *c, unsigned int program)
{
	bool v3 = !c->listed || c->v3;

	return program == NFS ? true :
	       program == MNT ? v3 :
	       program == NLM ? v3 && c->nlm :
				c->rquota;
}

/* As Ganesha does, which binds all of them before any listens. */
static int bind_one(struct trial *t, const struct sockaddr_storage *at,
		    bool udp)
{
	int fd = socket(at->ss_family,
			(udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	t->fd[t->n++] = fd;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)at, fab_addr_len(at)))
		return -errno;
	return 0;
}

/* Is it the server that this configuration is for, which would be stopped first? */
static bool is_ours(const struct gr_ports *p, struct gr_holder *h)
{
	struct gr_running r;
	bool ours;

	if (h->by != GR_HELD_PROCESS || !gr_running_is(h->pid, h->name, NULL))
		return false;
	if (gr_running_is(h->pid, h->name, p->file))
		return true;
	gr_running_ask(&r, p->socket, GR_STATS_SOCKET, p->file);
	ours = r.how == GR_RUNS && r.pid == h->pid;
	/* Another file may be meant for it. */
	if (r.how == GR_RUNS_UNKNOWN)
		h->by = GR_HELD_UNKNOWN;
	gr_running_free(&r);
	return ours;
}

static void tell(struct trial *t, const char *item,
		 const struct sockaddr_storage *at, bool udp)
{
	const char *over = udp ? "UDP" : "TCP";
	unsigned int port = fab_addr_port(at);
	const struct gr_ports *p = t->p;
	struct gr_holder h;

	gr_holder_find(p->proc, at, udp, &h);
	if (is_ours(p, &h)) {
		fprintf(p->out,
			"# The running server, process %d, has %s = %u.\n",
			(int)h.pid, item, port);
		return;
	}
	switch (h.by) {
	case GR_HELD_UNKNOWN:
		fprintf(p->said,
			"rpcrdma: NFS_Core_Param: %s = %u is in use over %s. "
			"Ignore this if it is this server, already running\n",
			item, port, over);
		return;
	case GR_HELD_PROCESS:
		fprintf(p->said,
			"rpcrdma: NFS_Core_Param: %s = %u is in use over %s by "
			"%s, process %d: stop that program or set another %s%s\n",
			item, port, over, h.name, (int)h.pid, item,
			gr_running_is(h.pid, h.name, NULL) ?
				". Ignore this if that server is to take this "
				"file: restart it" :
				"");
		break;
	case GR_HELD_KERNEL:
		fprintf(p->said,
			"rpcrdma: NFS_Core_Param: %s = %u is in use over %s by no "
			"process that is seen here, perhaps the kernel's NFS "
			"server: stop it (systemctl disable --now "
			"nfs-kernel-server) or set another %s\n",
			item, port, over, item);
	}
	t->free = false;
}

static void tell_low(struct trial *t, const char *item, unsigned int port)
{
	t->free = false;
	fprintf(t->p->said,
		"rpcrdma: NFS_Core_Param: %s = %u: ports below 1024 need "
		"CAP_NET_BIND_SERVICE: run this as root, as the server runs, "
		"or set another %s\n",
		item, port, item);
}

bool gr_ports_check(const struct gsh *g, struct gsh_config *tree,
		    const struct gr_ports *p)
{
	struct trial t = { .p = p, .free = true };
	struct core c;
	int err;

	read_core(g, tree, &c);
	for (unsigned int i = 0; i < PROGRAMS; i++) {
		bool udp = c.udp || (c.udp_mount && i == MNT);
		struct sockaddr_storage at = p->at;

		if (!is_on(&c, i))
			continue;
		fab_addr_set_port(&at, c.port[i]);
		/* One line for each is enough. */
		err = bind_one(&t, &at, false);
		if (err == -EADDRINUSE)
			tell(&t, items_of[i], &at, false);
		else if (err == -EACCES)
			tell_low(&t, items_of[i], c.port[i]);
		else if (udp && bind_one(&t, &at, true) == -EADDRINUSE)
			tell(&t, items_of[i], &at, true);
	}
	while (t.n)
		close(t.fd[--t.n]);
	/* It would register version 3 of both. */
	if (is_on(&c, MNT) && c.nfs == c.mnt) {
		t.free = false;
		fprintf(p->said,
			"rpcrdma: NFS_Core_Param: NFS_Program and MNT_Program "
			"are both %u, and Ganesha exits: remove them\n",
			c.nfs);
	}
	return t.free;
}

bool gr_ports_clash(const struct gsh *g, struct gsh_config *tree,
		    const struct gr_ports *p)
{
	bool clash = false;
	struct core c;

	read_core(g, tree, &c);
	for (unsigned int i = NFS + 1; i < PROGRAMS; i++) {
		if (!is_on(&c, i) || !p->rdma || c.port[i] != p->rdma)
			continue;
		clash = true;
		fprintf(p->said,
			"rpcrdma: NFS_Core_Param: %s = %u is the Port of the "
			"RDMA block, so that program is not served over TCP: "
			"set another %s\n",
			items_of[i], p->rdma, items_of[i]);
	}
	return clash;
}

bool gr_ports_nfs4(const struct gsh *g, struct gsh_config *tree)
{
	struct core c;

	read_core(g, tree, &c);
	return !c.listed || c.v4;
}
