/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/server.h"

#include <string.h>
#include <sys/random.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ganesha/serve/stats_dbus.h"
#include "gss/gss.h"
#include "ntirpc/read_buffer.h"

static void report_fault(struct gr_server *s, const char *what,
			 const char *then)
{
	snprintf(s->fault, sizeof(s->fault), "%s", what);
	/* For a server started by hand, and for the journal. */
	fprintf(stderr, "rpcrdma: %s\n", what);
	if (s->cfg.required)
		gsh_log(s->gsh, GSH_FATAL,
			"%s. The server exits because of Required = true",
			what);
	gsh_log(s->gsh, GSH_CRIT, "%s. %s (Required = false)", what, then);
}

void gr_server_fault(struct gr_server *s, const char *what)
{
	report_fault(s, what, "NFS is served without RDMA");
}

void gr_server_fault_tcp(struct gr_server *s, const char *what)
{
	report_fault(s, what, "NFS is not served at all");
}

/* ---- Starting --------------------------------------------------------- */

struct start {
	struct gr_server *s;
	int err;
	char fault[GR_FAULT_ROOM];
};

/* Context: control thread. After an error, free_all() frees what was created. */
static void start_all(void *arg)
{
	struct start *st = arg;

	st->err = gr_server_begin(st->s, st->fault);
}

/*
 * Ganesha binds an IPv6 socket to the IPv4-mapped Bind_Addr. If no interface has an IPv6 address,
 * it listens on all addresses instead. RDMA listens on Bind_Addr only.
 */
static void keep_to_bind_addr(struct gr_server *s)
{
	char text[BASE_ADDR_TEXT];
	uint16_t port = base_addr_port(&s->tcp);

	if (s->tcp.ss_family != AF_INET6 || !base_addr_is_any(&s->tcp) ||
	    s->bind.ss_family != AF_INET || base_addr_is_any(&s->bind))
		return;
	s->tcp = s->bind;
	base_addr_set_port(&s->tcp, port);
	base_addr_text((struct sockaddr *)&s->tcp, text, sizeof(text));
	base_addr_map(&s->tcp);
	gsh_log(s->gsh, GSH_WARN,
		"NFS_Core_Param: Ganesha does not heed Bind_Addr = %s: NFS over TCP listens on all addresses, because no interface has an IPv6 address. RDMA listens on Bind_Addr only",
		text);
}

bool gr_server_start(struct gr_server *s, SVCXPRT *parent)
{
	struct start st = { .s = s };
	socklen_t len = sizeof(s->tcp);

	SVC_REF(parent, SVC_REF_FLAG_NONE);
	s->parent = parent;
	memset(&s->tcp, 0, sizeof(s->tcp));
	if (getsockname(parent->xp_fd, (struct sockaddr *)&s->tcp, &len))
		s->tcp.ss_family = AF_UNSPEC;
	keep_to_bind_addr(s);
	memset(&s->source, 0, sizeof(s->source));
	s->listeners =
		(struct gr_listeners){ .lock = PTHREAD_MUTEX_INITIALIZER };
	s->source.lock = &s->listeners.lock;
	s->rpcbind = (struct gr_rpcbind){ .lock = PTHREAD_MUTEX_INITIALIZER };
	memset(&s->ports, 0, sizeof(s->ports));
	memset(&s->accounting, 0, sizeof(s->accounting));
	nrt_names_init(&s->names);
	gr_hosts_init(&s->hosts, s->cfg.rt.max_connections, gr_server_resume);
	/* Without a secret, the checksum of a Call can be predicted, which does little harm. */
	if (getrandom(&s->secret, sizeof(s->secret), 0) < 0)
		s->secret = 0;
	s->rpcbind.gsh = s->cfg.rpcbind ? s->gsh : NULL;
	st.err = gr_control_start(&s->control);
	if (!st.err)
		gr_control_do(&s->control, start_all, &st);
	if (!st.err)
		return true;
	if (!*st.fault)
		snprintf(st.fault, sizeof(st.fault), "cannot start: %s",
			 strerror(-st.err));
	gr_server_free(s);
	gr_server_fault(s, st.fault);
	return false;
}

void gr_server_reload(struct gr_server *s)
{
	if (!s->admin.gsh)
		return;
	pthread_mutex_lock(&s->admin.lock);
	/* Otherwise the control thread ends, or has ended. */
	if (s->admin.inst) {
		atomic_store(&s->reloaded, true);
		gr_control_ask(&s->control);
	}
	pthread_mutex_unlock(&s->admin.lock);
}

/* ---- Ending ----------------------------------------------------------- */

/* For connections to end after Drain_Timeout. */
#define DRAIN_SLACK_MS 1000

/* Context: control thread. */
static void drain_all(void *arg)
{
	struct gr_server *s = arg;
	unsigned int left;

	gr_control_every(&s->control, 0, NULL, NULL);
	gr_liveness_set(&s->liveness, NULL, NULL);
	gr_stats_dbus_stop();
	gr_admin_stop(&s->admin);
	stats_socket_stop(s->stats);
	s->stats = NULL;
	bc_server_close(s->back);
	left = rt_instance_shutdown(
		s->inst, s->cfg.drain_timeout * 1000 + DRAIN_SLACK_MS, false);
	if (!gr_workers_stop(&s->workers, 10000)) {
		/* It may use anything, so nothing is freed. */
		gsh_log(s->gsh, GSH_WARN,
			"a worker does not return from a request");
		s->abandoned = true;
		return;
	}
	if (left)
		left = rt_instance_shutdown(s->inst, 1000, true);
	gr_accounting_look(&s->accounting, base_now_ms(), true);
	gsh_log(s->gsh, GSH_EVENT, "no longer serving RPC-over-RDMA%s",
		left ? ", some connections did not close" : "");
	/* ntirpc can still free the listener. */
	SVC_RELEASE(s->parent, SVC_RELEASE_FLAG_NONE);
	s->parent = NULL;
}

void gr_server_drain(struct gr_server *s)
{
	gr_control_do(&s->control, drain_all, s);
	if (s->abandoned)
		gr_control_stop(&s->control);
}

/* Context: control thread. */
static void free_all(void *arg)
{
	struct gr_server *s = arg;

	gr_admin_stop(&s->admin);
	/* Do the work that the fabric has deferred to its poller. */
	if (s->inst && rt_instance_shutdown(s->inst, 1000, true))
		return;
	gr_workers_free(&s->workers);
	/*
	 * Any thread may put a remaining reference, even while exit() unloads the device's
	 * libraries. The last one would close the device then, so leave that to the kernel.
	 */
	if (s->inst && (rt_instance_held(s->inst) || nrt_read_count() ||
			(s->back && bc_server_busy(s->back))))
		return;
	/*
	 * Ganesha keeps sessions, and so CLIENTs and SVCXPRTs, beyond its shutdown. They do not
	 * use the transport any more. What the CLIENTs need stays until the process exits.
	 */
	if (!atomic_load(&s->clients))
		bc_server_destroy(s->back);
	s->back = NULL;
	if (s->inst)
		rt_instance_destroy(s->inst);
	s->inst = NULL;
	auth_gss_destroy(s->auth);
	s->auth = NULL;
}

void gr_server_free(struct gr_server *s)
{
	if (s->abandoned)
		return;
	atomic_store(&s->workers_gone, true);
	if (s->control.running)
		gr_control_do(&s->control, free_all, s);
	gr_control_stop(&s->control);
	if (s->parent)
		SVC_RELEASE(s->parent, SVC_RELEASE_FLAG_NONE);
	s->parent = NULL;
	/* s->hosts and s->names stay, because SVCXPRTs that Ganesha keeps refer to them. */
}
