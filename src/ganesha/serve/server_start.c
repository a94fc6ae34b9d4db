/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_start - start the server: keys, provider, listeners, workers, statistics
 *
 * Context: control thread (control.h).
 */
#include "ganesha/serve/server.h"

#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ganesha/serve/listeners.h"
#include "ganesha/serve/stats_dbus.h"
#include "ganesha/serve/xprt.h"
#include "gss/gss.h"
#include "ntirpc/svc_call.h"
#include "ntirpc/quirks/lend.h"
#include "rpcrdma/nfs.h"

static int listen_all(struct gr_server *s, char *fault)
{
	struct gr_addrs at;

	_Static_assert(GR_MAX_ADDRS <= STATS_MAX_LISTENERS, "room for all");
	gr_listen_addresses(&s->cfg, &s->tcp, &at);
	if (at.n < s->cfg.bind.n)
		gsh_log(s->gsh, GSH_EVENT,
			"Bind_Addr: [::] is left out: NFS over TCP uses IPv4 only");
	for (unsigned int i = 0; i < at.n; i++) {
		int err = gr_server_listen(s, &at.addr[i], fault);

		if (gr_listen_may_fail(&s->cfg, i, err))
			err = 0;
		if (err)
			return err;
	}
	return 0;
}

static void start_stats(struct gr_server *s)
{
	const char *path = s->cfg.stats_socket;
	const char *wrong;
	int err;

	wrong = s->cfg.stats_dbus ?
			gr_stats_dbus_start(s->gsh, &s->source, &s->admin,
					    s->state_changed) :
			NULL;
	if (wrong)
		gsh_log(s->gsh, GSH_EVENT, "no statistics on D-Bus: %s", wrong);
	if (!path || !*path)
		return;
	err = stats_socket_start(path, &s->source, &s->stats);
	if (err)
		gsh_log(s->gsh, GSH_WARN,
			"no statistics at %s: %s: set Stats_Socket in the RDMA "
			"block to a path in an existing directory that "
			"no other server uses",
			path, strerror(-err));
}

static const char *versions_text(uint32_t set)
{
	if (set == 1u << WIRE_VERS1)
		return "version 1";
	return set == 1u << WIRE_VERS2 ? "version 2" : "versions 1 and 2";
}

static const char *const auth_text[] = {
	[RT_AUTH_NONE] = "",
	[RT_AUTH_OPTIONAL] = ", host authentication optional",
	[RT_AUTH_REQUIRED] = ", host authentication required",
};

/* Returns true if workers may poll: the device does not check their credentials. */
static bool workers_poll(const struct gr_server *s)
{
	if (!s->cfg.worker_polling)
		return false;
	if (!rt_instance_bound(s->inst))
		return true;
	gsh_log(s->gsh, GSH_EVENT,
		"provider %s: each poller has a thread of its own",
		s->provider);
	return false;
}

/* Returns the class of the request's operations, or ULB_NCLASSES for the end of an SVCXPRT. */
static unsigned int kind_of(struct svc_req *req)
{
	_Static_assert(ULB_NCLASSES < GR_KINDS, "a number for each, and one");
	return req->rq_xdrs ? nrt_call_of(req->rq_xdrs)->call->op_class :
			      ULB_NCLASSES;
}

/* The cost of a Call, beside its octets and those of its results in Write chunks. */
#define CALL_COST 4096

static struct gr_flow *flow_of(struct svc_req *req, size_t *cost)
{
	const struct nrt_call *nc;

	*cost = 0;
	if (!req->rq_xdrs)
		return NULL;
	nc = nrt_call_of(req->rq_xdrs);
	*cost = CALL_COST + nc->call->len + nc->write_room;
	return &gr_xprt_of(req->rq_xprt)->host->flow;
}

/* Context: control thread, until it drains. */
static void check_devices(void *arg)
{
	struct gr_server *s = arg;

	gr_port_watch_look(&s->ports, s->gsh, s->inst, base_now_ms());
	if (gr_listeners_check(s->gsh, &s->source, s->listener))
		s->state_changed();
}

/* Check whether Provider = auto would now use a device. Context: control thread. */
static void look_for_device(void *arg)
{
	struct gr_server *s = arg;
	bool there = gr_auto_has_devices(&s->cfg, &s->tcp);

	if (atomic_exchange(&s->device_came, there) == there)
		return;
	if (there)
		gsh_log(s->gsh, GSH_WARN,
			"Provider = auto: there is an RDMA device now, but this server uses iwarp: restart it to use the device, or set Provider = iwarp");
	s->state_changed();
}

int gr_server_begin(struct gr_server *s, char *fault)
{
	int err;

	/* FSAL_VFS changes the user of Ganesha's workers, but not of this thread. */
	err = gr_auth_create(s->gsh, &s->cfg, &s->auth, fault);
	if (!err)
		err = gr_server_create(s, fault);
	if (err)
		return err;
	s->source.inst = s->inst;
	s->source.program = "ganesha";
	s->source.program_version = GSH_VERSION;
	s->source.provider = s->provider;
	s->source.started = base_now_ns();
	gr_admin_start(&s->admin, s->gsh, s->inst, &s->cfg);
	s->source.not_of_file = gr_admin_not_of_file;
	s->source.not_of_file_ctx = &s->admin;
	err = bc_server_create(s->inst, NULL, &s->back);
	if (err)
		return err;
	err = listen_all(s, fault);
	if (err)
		return err;
	nrt_lend_start();
	err = gr_workers_start(&s->workers, s->inst, s->free_cb, kind_of,
			       flow_of, workers_poll(s));
	if (err)
		return err;
	gr_liveness_set(&s->liveness, s->inst, &s->workers.watchdog);
	start_stats(s);
	for (unsigned int i = 0; i < s->source.nlisteners; i++)
		gsh_log(s->gsh, GSH_EVENT,
			"serving RPC-over-RDMA %s on %s, provider %s%s",
			versions_text(rt_instance_config(s->inst)->versions),
			s->source.listener[i], s->provider,
			auth_text[s->cfg.auth]);
	if (!strcmp(s->provider, "verbs")) {
		(void)gr_listeners_check(s->gsh, &s->source, s->listener);
		gr_control_every(&s->control, GR_LISTENERS_MS, check_devices,
				 s);
	} else if (s->lacks_device) {
		gr_control_every(&s->control, GR_DEVICE_MS, look_for_device, s);
	}
	return 0;
}
