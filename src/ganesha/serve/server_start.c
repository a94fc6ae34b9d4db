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
#include "ganesha/config/exports.h"
#include "ganesha/serve/listeners.h"
#include "ganesha/serve/stats_dbus.h"
#include "ganesha/serve/xprt.h"
#include "gss/gss.h"
#include "ntirpc/svc_call.h"
#include "ntirpc/quirks/lend.h"
#include "rpcrdma/nfs.h"

/* ---- Listeners ------------------------------------------------------------ */

/* Close the listeners that the settings @cfg do not name. Returns true if there were any. */
static bool close_others(struct gr_server *s, const struct gr_config *cfg)
{
	struct gr_addrs want;

	gr_listen_addresses(cfg, &s->tcp, &want);
	if (want.n < cfg->bind.n)
		gsh_log(s->gsh, GSH_EVENT,
			"Bind_Addr: [::] is left out: NFS over TCP uses IPv4 only");
	return gr_listeners_want(s->gsh, &s->listeners, &want);
}

/* Open the listeners that are not open. With @fault, stop at the first failure, and return it. Without
 * it, log each failure that is not the last one again, and go on. Set *@changed if anything is new. */
static int open_all(struct gr_server *s, const struct gr_config *cfg,
		    char *fault, bool *changed)
{
	struct gr_listeners *t = &s->listeners;
	char text[GR_FAULT_ROOM];

	for (unsigned int i = 0; i < t->n; i++) {
		struct gr_listener *l = &t->of[i];
		int before = l->err, err;

		if (l->l)
			continue;
		err = gr_server_listen(s, cfg, l, fault ? fault : text);
		if (gr_listen_may_fail(cfg, i, err)) {
			/* It is the last one. */
			t->n = i;
			break;
		}
		if (err && fault)
			return err;
		if (err && err != before)
			gsh_log(s->gsh, GSH_WARN,
				"%s. The server goes on without it, and tries again every %d s",
				text, GR_LISTENERS_MS / 1000);
		*changed |= err != before || !err;
	}
	gr_listeners_publish(t, &s->source);
	return 0;
}

/* Have rpcbind name the first address of each family. */
static void register_first(struct gr_server *s)
{
	struct sockaddr_storage at = { 0 }, at6 = { 0 }, *first;

	for (unsigned int i = 0; i < s->listeners.n; i++) {
		const struct gr_listener *l = &s->listeners.of[i];

		first = l->at.ss_family == AF_INET6 ? &at6 : &at;
		if (l->l && !first->ss_family)
			*first = l->at;
	}
	gr_rpcbind_move(&s->rpcbind, &at, &at6);
}

/* ---- Statistics ------------------------------------------------------------ */

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

/* Log each listener once. */
static void log_serving(struct gr_server *s, const struct gr_config *cfg)
{
	for (unsigned int i = 0; i < s->listeners.n; i++) {
		struct gr_listener *l = &s->listeners.of[i];

		if (!l->l || l->logged)
			continue;
		l->logged = true;
		gsh_log(s->gsh, GSH_EVENT,
			"serving RPC-over-RDMA %s on %s, provider %s%s",
			versions_text(cfg->rt.versions), s->source.listener[i],
			s->provider, auth_text[cfg->auth]);
	}
}

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

/* ---- While it runs --------------------------------------------------------- */

static bool uses_devices(const struct gr_server *s)
{
	return !strcmp(s->provider, "verbs");
}

/* Check whether Provider = auto would now use a device. Returns true if that is new. */
static bool look_for_device(struct gr_server *s, const struct gr_config *cfg)
{
	bool there = gr_auto_has_devices(cfg, &s->tcp);

	if (atomic_exchange(&s->device_came, there) == there)
		return false;
	if (there)
		gsh_log(s->gsh, GSH_WARN,
			"Provider = auto: there is an RDMA device now, but this server uses iwarp: restart it to use the device, or set Provider = iwarp");
	return true;
}

/* struct stats_source.server */
static void describe(void *ctx, struct stats_server *out)
{
	struct gr_server *s = ctx;

	gr_admin_describe(&s->admin, out);
	out->exports = gr_exports_served();
	out->exports_expected = gr_exports_expected();
}

static bool is_open(const struct gr_listeners *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (!t->of[i].l)
			return false;
	return true;
}

/* Returns the time until attend() shall run again. */
static unsigned int next_look(const struct gr_server *s)
{
	if (uses_devices(s) || !is_open(&s->listeners))
		return GR_LISTENERS_MS;
	return s->lacks_device ? GR_DEVICE_MS : GR_ACCOUNTING_MS;
}

/* Bring the listeners in line with the settings in use and with the devices, and log whose
 * connections there are. Context: control thread, until it drains. */
static void attend(void *arg)
{
	struct gr_server *s = arg;
	struct gr_config cfg;
	bool changed = false;

	gr_admin_config(&s->admin, &s->cfg, &cfg);
	if (atomic_exchange(&s->reloaded, false))
		changed = close_others(s, &cfg);
	(void)open_all(s, &cfg, NULL, &changed);
	log_serving(s, &cfg);
	register_first(s);
	if (uses_devices(s)) {
		gr_port_watch_look(&s->ports, s->gsh, s->inst, base_now_ms());
		changed |=
			gr_listeners_check(s->gsh, &s->listeners, &s->source);
	} else if (s->lacks_device) {
		changed |= look_for_device(s, &cfg);
	}
	gr_accounting_look(&s->accounting, base_now_ms(), false);
	if (changed)
		s->state_changed();
	gr_control_every(&s->control, next_look(s), attend, s);
}

int gr_server_begin(struct gr_server *s, char *fault)
{
	struct gr_config cfg;
	bool changed = false;
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
	s->source.server = describe;
	s->source.server_ctx = s;
	err = bc_server_create(s->inst, NULL, &s->back);
	if (err)
		return err;
	gr_accounting_start(&s->accounting, s->gsh, s->inst, base_now_ms());
	/* The file may be read again meanwhile. */
	gr_admin_config(&s->admin, &s->cfg, &cfg);
	(void)close_others(s, &cfg);
	err = open_all(s, &cfg, fault, &changed);
	if (err)
		return err;
	register_first(s);
	nrt_lend_start();
	err = gr_workers_start(&s->workers, s->inst, s->free_cb, kind_of,
			       flow_of, workers_poll(s));
	if (err)
		return err;
	gr_liveness_set(&s->liveness, s->inst, &s->workers.watchdog);
	s->source.last_provider = gr_last_provider(
		s->gsh, s->recovery_root, s->provider, cfg.provider == GR_AUTO);
	start_stats(s);
	log_serving(s, &cfg);
	if (uses_devices(s))
		(void)gr_listeners_check(s->gsh, &s->listeners, &s->source);
	gr_control_every(&s->control, next_look(s), attend, s);
	return 0;
}
