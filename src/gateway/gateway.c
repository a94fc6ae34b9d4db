/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway - the main thread of rpcrdma-gateway
 *
 * It starts and ends all others, and waits for TCP connections and signals.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/accept.h"
#include "gateway/client.h"
#include "gateway/report.h"
#include "base/notify.h"

#define MAIN_FDS (1 + GW_MAX_LISTEN)
#define SHUTDOWN_MS 3000
/* How long clients may have their Calls answered after a signal to stop, and how often
 * it is looked whether any is left. */
#define DRAIN_MS 5000
#define DRAIN_LOOK_MS 10
/* How often base_log_tick(), gw_probe_run() and gw_server_look() are called. */
#define TICK_MS 1000
/* How long nothing is accepted when there is no descriptor for it. */
#define ACCEPT_PAUSE_MS 100

struct poller {
	struct gateway *gw;
	unsigned int index;
	pthread_t thread;
	bool started;
	atomic_bool stop;
};

struct program {
	struct gateway gw;
	struct poller *pollers;
	unsigned int npollers;
	int sigfd;
	struct gw_accept accept;
	struct gw_report report;
};

/* ---- Start -------------------------------------------------------------- */

static void *poller_main(void *arg)
{
	struct poller *q = arg;
	struct gw_batch batch;

	gw_batch_open(q->gw, &batch);
	while (!atomic_load(&q->stop)) {
		rt_run(q->gw->inst, q->index, -1);
		gw_batch_flush(&batch);
	}
	return NULL;
}

static int threads_start(struct program *p)
{
	struct gateway *gw = &p->gw;
	int rc = 0;

	p->pollers = calloc(gw->opt.threads, sizeof(*p->pollers));
	gw->workers = calloc(gw->opt.threads, sizeof(*gw->workers));
	if (!p->pollers || !gw->workers)
		return -ENOMEM;
	for (unsigned int i = 0; i < gw->opt.threads && !rc; i++) {
		struct poller *q = &p->pollers[i];

		q->gw = gw;
		q->index = i;
		p->npollers = i + 1;
		rc = -pthread_create(&q->thread, NULL, poller_main, q);
		q->started = !rc;
		if (!rc) {
			gw->nworkers = i + 1;
			rc = gw_worker_start(&gw->workers[i], gw, i,
					     gw_client_event);
		}
	}
	return rc;
}

/* Lower --max-clients to what --max-memory has Receives and allowances for, and share
 * the places out. Returns false if it is not enough for one connection. */
static bool clients_fit(struct gateway *gw)
{
	const struct rt_config *c = &gw->opt.rdma.config;
	size_t each = rt_config_receives(c, true);
	size_t most =
		MIN(c->max_memory / 2 / each, gw_memory_clients(c->max_memory));
	unsigned int users = 0;

	if (each > c->max_memory - c->max_memory / RT_POOL_RESERVE) {
		gw_log(gw, LOG_ERR,
		       "--max-memory holds no connection: each needs %zu MiB for "
		       "its --credits",
		       (each + (1u << 20) - 1) >> 20);
		return false;
	}
	if (!most)
		most = 1;
	if (gw->opt.max_clients > most) {
		gw_log(gw, LOG_WARNING,
		       "--max-clients is %zu: --max-memory is not enough for more",
		       most);
		gw->opt.max_clients = (unsigned int)most;
	}
	if (gw->opt.reserved_ports)
		users = gw_user_places(gw->opt.max_clients);
	gw_places_init(&gw->users, users);
	gw_places_init(&gw->hosts, MAX(gw->opt.max_clients - users, 1u));
	return true;
}

static int instance_start(struct program *p)
{
	struct gw_options *o = &p->gw.opt;
	struct rt_params params = {
		.provider = fab_provider(o->rdma.provider),
		.domain = o->rdma.domain,
		.pollers = o->threads,
		.config = o->rdma.config,
		.log = gw_log_text,
		.log_ctx = &p->gw,
	};
	char fault[RT_AUTH_TEXT];
	int rc;

	params.domain.log = params.log;
	params.domain.log_ctx = params.log_ctx;
	rc = hostauth_start(&o->rdma.hostauth, &params, &p->gw.auth, fault);
	if (*fault)
		gw_log(&p->gw, rc ? LOG_ERR : LOG_WARNING,
		       "host authentication: %s", fault);
	if (rc && *fault)
		return rc;
	if (!rc)
		rc = rt_instance_create(&params, &p->gw.inst);
	if (rc) {
		gw_log(&p->gw, LOG_ERR, "provider %s: %s", o->rdma.provider,
		       arg_provider_fault(rc));
		return rc;
	}
	p->report.source = (struct stats_source){ .inst = p->gw.inst,
						  .program = "rpcrdma-gateway",
						  .provider = o->rdma.provider,
						  .started = base_now_ns() };
	p->gw.pool = rt_instance_pool(p->gw.inst);
	gw_memory_init(&p->gw.memory, o->rdma.config.max_memory,
		       p->gw.hosts.n + p->gw.users.n);
	gw_link_ops(&p->gw.ops, o->rdma.config.reverse != RDMA2_RVRSDIR_NONE);
	return 0;
}

/* One descriptor for each TCP connection and one or two for its server's. */
static void raise_nofile(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* ---- Main loop ---------------------------------------------------------- */

/* Returns true if the gateway is to end. */
static bool take_signal(struct program *p)
{
	struct signalfd_siginfo si;

	if (read(p->sigfd, &si, sizeof(si)) != sizeof(si))
		return false;
	if (si.ssi_signo != SIGUSR1)
		return true;
	gw_report(&p->report);
	return false;
}

static void serve(struct program *p)
{
	struct pollfd fds[MAIN_FDS];
	unsigned int n = 0, first;

	fds[n++] = (struct pollfd){ .fd = p->sigfd, .events = POLLIN };
	first = n;
	for (unsigned int i = 0; i < p->gw.opt.nlisten; i++)
		fds[n++] = (struct pollfd){ .fd = p->accept.fd[i],
					    .events = POLLIN };
	for (;;) {
		/* While accepting is paused, the signals alone. */
		if (poll(fds, p->accept.paused ? first : n,
			 p->accept.paused ? ACCEPT_PAUSE_MS : TICK_MS) < 0 &&
		    errno != EINTR)
			return;
		base_log_tick(p->gw.log);
		gw_probe_run(&p->gw.probe, &p->gw);
		gw_server_look(&p->gw);
		if (p->accept.paused)
			for (unsigned int i = first; i < n; i++)
				fds[i].revents = 0;
		p->accept.paused = false;
		if ((fds[0].revents & POLLIN) && take_signal(p))
			return;
		for (unsigned int i = first; i < n; i++)
			if (fds[i].revents & POLLIN)
				gw_accept_clients(&p->accept, fds[i].fd);
	}
}

/* Returns when all clients have left, after DRAIN_MS, or with a second signal. */
static void drain(struct program *p)
{
	uint64_t end = base_now_ns() + DRAIN_MS * 1000000ull;
	struct pollfd fd = { .fd = p->sigfd, .events = POLLIN };

	gw_accept_stop(&p->accept);
	gw_disconnect_all(&p->gw);
	while (atomic_load(&p->gw.nclients) && base_now_ns() < end)
		if (poll(&fd, 1, DRAIN_LOOK_MS) > 0 && take_signal(p))
			return;
}

/* Returns false if connections are still open. */
static bool threads_stop(struct program *p)
{
	struct gateway *gw = &p->gw;
	bool clean;

	for (unsigned int i = 0; i < gw->nworkers; i++)
		gw_worker_signal_stop(&gw->workers[i]);
	for (unsigned int i = 0; i < gw->nworkers; i++)
		gw_worker_join(&gw->workers[i]);
	clean = !atomic_load(&gw->nclients);
	if (gw->inst && rt_instance_shutdown(gw->inst, SHUTDOWN_MS, false))
		clean = false;
	for (unsigned int i = 0; i < p->npollers; i++) {
		atomic_store(&p->pollers[i].stop, true);
		rt_wake(gw->inst, i);
		if (p->pollers[i].started)
			pthread_join(p->pollers[i].thread, NULL);
	}
	return clean;
}

int main(int argc, char **argv)
{
	struct program *p = calloc(1, sizeof(*p));
	int status = 1, rc;
	bool clean;
	sigset_t set;

	if (!p)
		return 1;
	p->sigfd = -1;
	gw_accept_init(&p->accept, &p->gw);
	p->report.gw = &p->gw;
	pthread_mutex_init(&p->gw.lock, NULL);
	if (pthread_key_create(&p->gw.batch_key, NULL)) {
		free(p);
		return 1;
	}
	if (gw_options_parse(&p->gw.opt, argc, argv, &status))
		goto out;
	p->gw.server.addrs = p->gw.opt.rdma.server;
	status = 1;
	p->gw.log = base_log_create(gw_log_text, &p->gw);
	if (!p->gw.log)
		goto out;
	raise_nofile();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	p->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->sigfd < 0)
		goto out;
	if (!clients_fit(&p->gw))
		goto stop;
	rc = instance_start(p);
	if (rc)
		goto stop;
	rc = threads_start(p);
	if (rc) {
		gw_log(&p->gw, LOG_ERR, "start: %s", strerror(-rc));
		goto stop;
	}
	if (gw_accept_start(&p->accept, &p->report.source) ||
	    gw_report_start(&p->report))
		goto stop;
	for (unsigned int i = 0; i < p->report.source.nlisteners; i++)
		gw_log(&p->gw, LOG_NOTICE, "listening on %s",
		       p->report.source.listener[i]);
	rc = base_notify("READY=1");
	if (rc)
		gw_log(&p->gw, LOG_WARNING, "NOTIFY_SOCKET: %s", strerror(-rc));
	serve(p);
	gw_log(&p->gw, LOG_NOTICE, "ending");
	base_notify("STOPPING=1");
	drain(p);
	status = 0;
stop:
	gw_accept_stop(&p->accept);
	clean = threads_stop(p);
	if (!status)
		gw_report(&p->report);
	gw_report_stop(&p->report);
	if (!clean) {
		/* Still referenced: leave it to the end of the process. */
		gw_log(&p->gw, LOG_ERR, "connections are still open at exit");
		_exit(1);
	}
	if (p->gw.inst)
		rt_instance_destroy(p->gw.inst);
	auth_gss_destroy(p->gw.auth);
out:
	if (p->sigfd >= 0)
		close(p->sigfd);
	base_log_destroy(p->gw.log);
	gw_server_end(&p->gw);
	gw_options_free(&p->gw.opt);
	free(p->gw.workers);
	free(p->pollers);
	pthread_key_delete(p->gw.batch_key);
	pthread_mutex_destroy(&p->gw.lock);
	free(p);
	return status;
}
