/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway - rpcrdma-gateway: the main thread
 *
 * Threads: main waits for TCP connections and signals, and owns start and end
 * of all others. gw.h tells about the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "stats/socket.h"
#include "gateway/gw_client.h"
#include "tools/latency.h"
#include "tools/notify.h"

#define MAIN_FDS (1 + GW_MAX_LISTEN)
#define SHUTDOWN_MS 3000
/* How often it is looked whether lines that were left out can be told. */
#define LOG_MS 1000
/* How long nothing is accepted when there is no descriptor for it. */
#define ACCEPT_REST_MS 100
/* It is said again when it has been over for so long, ns. */
#define SHORT_AGAIN 10000000000ull

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
	int listen[GW_MAX_LISTEN];
	bool rest; /* accept nothing for a moment */
	uint64_t short_at; /* ns; when descriptors were last short */
	struct stats_socket *stats_socket;
	struct stats_source stats;
};

/* ---- Log ---------------------------------------------------------------- */

static void log_text(void *ctx, int level, const char *text)
{
	struct gateway *gw = ctx;
	struct timespec ts;
	struct tm tm;
	char when[32];

	if (level > gw->opt.log_level)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(stderr, "%s.%03ld rpcrdma-gateway: %s\n", when,
		ts.tv_nsec / 1000000, text);
}

void gw_log(struct gateway *gw, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (level > gw->opt.log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_text(gw, level, text);
}

/* ---- Statistics --------------------------------------------------------- */

void gw_stats_add(struct gw_stats *to, const struct gw_stats *from)
{
#define ADD(name, help) to->name += from->name;
	GW_STATS(ADD)
#undef ADD
}

void gw_stats_total(struct gateway *gw, struct gw_stats *out)
{
	pthread_mutex_lock(&gw->lock);
	*out = gw->ended;
	for (struct gw_client *c = gw->clients; c; c = c->all_next) {
		pthread_mutex_lock(&c->lock);
		gw_stats_add(out, &c->stats);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&gw->lock);
}

/* One JSON document. Any thread. */
static void stats_print(FILE *f, void *ctx)
{
	struct program *p = ctx;
	struct gateway *gw = &p->gw;
	const char *sep = "";
	struct gw_stats s;
	uint64_t accepted;

	gw_stats_total(gw, &s);
	pthread_mutex_lock(&gw->lock);
	accepted = gw->accepted;
	pthread_mutex_unlock(&gw->lock);
	fprintf(f,
		"{\"clients\": %u, \"clients_accepted\": %" PRIu64
		",\n \"gateway\": {",
		atomic_load(&gw->nclients), accepted);
#define PRINT(name, help)                                     \
	fprintf(f, "%s\"" #name "\": %" PRIu64, sep, s.name); \
	sep = ", ";
	GW_STATS(PRINT)
#undef PRINT
	fputs("},\n \"transport\":\n", f);
	stats_json(f, &p->stats);
	fputs("}\n", f);
}

static void stats_report(struct program *p)
{
	const char *path = p->gw.opt.stats_file;
	FILE *f;
	bool bad;

	if (p->gw.opt.stats) {
		stats_print(stdout, p);
		fflush(stdout);
	}
	if (path) {
		f = fopen(path, "we");
		if (f)
			stats_print(f, p);
		bad = !f || ferror(f);
		if (f && fclose(f))
			bad = true;
		if (bad)
			gw_log(&p->gw, LOG_ERR, "--stats-file %s: %s", path,
			       strerror(errno));
	}
}

/* ---- Start -------------------------------------------------------------- */

static int stats_start(struct program *p)
{
	const char *path = p->gw.opt.stats_socket;
	int rc;

	if (!path)
		return 0;
	rc = stats_socket_start_with(path, stats_print, p, &p->stats_socket);
	if (rc)
		gw_log(&p->gw, LOG_ERR, "--stats-socket %s: %s", path,
		       strerror(-rc));
	return rc;
}

static int tcp_listen(const struct arg_addr *a)
{
	int one = 1, rc;
	int fd = socket(a->addr.ss_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&a->addr, a->len) ||
	    listen(fd, 128)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static int listen_all(struct program *p)
{
	struct gateway *gw = &p->gw;
	char name[64];

	for (unsigned int i = 0; i < gw->opt.nlisten; i++) {
		struct sockaddr_storage addr = { 0 };
		socklen_t len = sizeof(addr);

		fab_addr_name((struct sockaddr *)&gw->opt.listen[i].addr, name,
			      sizeof(name));
		p->listen[i] = tcp_listen(&gw->opt.listen[i]);
		if (p->listen[i] < 0) {
			gw_log(gw, LOG_ERR, "--listen %s: %s", name,
			       strerror(-p->listen[i]));
			return p->listen[i];
		}
		getsockname(p->listen[i], (struct sockaddr *)&addr, &len);
		fab_addr_name((struct sockaddr *)&addr,
			      p->stats.listener[p->stats.nlisteners++],
			      sizeof(p->stats.listener[0]));
	}
	return 0;
}

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
			rc = gw_worker_start(&gw->workers[i], gw, i);
		}
	}
	return rc;
}

/* What a Receive has beside what rtrext places in it. */
#define RECEIVE_HEAD 4096

/* The half that is not shared out must do for the Receives of all: else who
 * comes last has no connection, and those who have one no memory for Calls. */
static void clients_fit(struct gateway *gw)
{
	const struct rt_config *c = &gw->opt.config;
	size_t each = c->recv_size < RECEIVE_HEAD ? RECEIVE_HEAD : c->recv_size;
	size_t most;

	if ((c->extensions & RT_EXT_RTR) && !c->no_placement &&
	    each < RECEIVE_HEAD + c->placement_size)
		each = RECEIVE_HEAD + c->placement_size;
	each *= c->credits + c->reverse_credits + RT_CREDIT_BEYOND;
	most = c->max_memory / 2 / each;
	if (!most)
		most = 1;
	if (gw->opt.max_clients <= most)
		return;
	gw_log(gw, LOG_WARNING,
	       "--max-memory is enough for the connections of %zu clients: no "
	       "more at once",
	       most);
	gw->opt.max_clients = (unsigned int)most;
}

static int instance_start(struct program *p)
{
	struct gw_options *o = &p->gw.opt;
	struct rt_params params = {
		.provider = fab_provider(o->provider),
		.domain = { .log = log_text, .log_ctx = &p->gw, .crc = o->crc },
		.pollers = o->threads,
		.config = o->config,
		.log = log_text,
		.log_ctx = &p->gw,
	};
	char fault[RT_AUTH_TEXT];
	int rc;

	rc = hostauth_start(&o->hostauth, &params, &p->gw.auth, fault);
	if (rc && *fault)
		gw_log(&p->gw, LOG_ERR, "host authentication: %s", fault);
	if (!rc)
		rc = rt_instance_create(&params, &p->gw.inst);
	if (rc)
		return rc;
	p->stats = (struct stats_source){ .inst = p->gw.inst,
					  .program = "rpcrdma-gateway",
					  .provider = o->provider,
					  .started = stats_now() };
	p->gw.pool = rt_instance_pool(p->gw.inst);
	clients_fit(&p->gw);
	gw_shares_init(&p->gw.shares, o->config.max_memory / 2,
		       gw_mem_size(o->max_record + sizeof(struct gw_buf)));
	gw_client_ops(&p->gw.ops, o->config.reverse != RDMA2_RVRSDIR_NONE);
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

/* Does @a have a port that only root could bind? */
static bool is_reserved(const struct sockaddr_storage *a)
{
	in_port_t port = a->ss_family == AF_INET6 ?
				 ((const struct sockaddr_in6 *)a)->sin6_port :
				 ((const struct sockaddr_in *)a)->sin_port;

	return ntohs(port) < IPPORT_RESERVED;
}

static void __attribute__((format(printf, 3, 4)))
turned_away(struct gateway *gw, const struct sockaddr_storage *from,
	    const char *fmt, ...)
{
	const struct sockaddr *sa = (const struct sockaddr *)from;
	struct in6_addr host = fab_addr_host(sa);
	char name[64];
	va_list ap;

	fab_addr_name(sa, name, sizeof(name));
	va_start(ap, fmt);
	fab_log_vput(gw->log, NULL, &host, name, LOG_WARNING, fmt, ap);
	va_end(ap);
}

/*
 * No descriptor, or no memory in the kernel, for another client: idle ones give
 * way, and those that wait to be accepted wait for a moment more.
 */
static void accept_short(struct program *p, int err)
{
	uint64_t now = lat_now();

	if (!p->short_at || now - p->short_at > SHORT_AGAIN)
		fab_log_put(p->gw.log, NULL, NULL, NULL, LOG_ERR,
			    "accept: %s: new clients wait, idle ones give way",
			    strerror(err));
	p->short_at = now;
	p->rest = true;
	gw_watch_give_way(&p->gw);
}

/* One more? If not, somebody idle may leave for it. */
static bool has_room(struct gateway *gw)
{
	unsigned int n = atomic_load(&gw->nclients), most = gw->opt.max_clients;

	if (n - atomic_load(&gw->leaving) < most)
		return true;
	/* Those that leave are there for a while longer. */
	return n < 2 * most && gw_watch_give_way(gw);
}

static void accept_clients(struct program *p, int lfd)
{
	struct gateway *gw = &p->gw;

	for (;;) {
		struct sockaddr_storage from = { 0 };
		socklen_t len = sizeof(from);
		int fd = accept4(lfd, (struct sockaddr *)&from, &len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				return;
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			accept_short(p, errno);
			return;
		}
		if (gw->opt.reserved_ports && !is_reserved(&from)) {
			turned_away(gw, &from,
				    "a client turned away: this is not a port "
				    "below 1024, which --reserved-ports wants");
			close(fd);
			continue;
		}
		if (!has_room(gw)) {
			turned_away(gw, &from,
				    "a client turned away: --max-clients %u, "
				    "and none is idle",
				    gw->opt.max_clients);
			close(fd);
			continue;
		}
		gw_client_new(gw, fd);
	}
}

/* True: it is time to end. */
static bool take_signal(struct program *p)
{
	struct signalfd_siginfo si;

	if (read(p->sigfd, &si, sizeof(si)) != sizeof(si))
		return false;
	if (si.ssi_signo != SIGUSR1)
		return true;
	stats_report(p);
	return false;
}

static void serve(struct program *p)
{
	struct pollfd fds[MAIN_FDS];
	unsigned int n = 0, first;

	fds[n++] = (struct pollfd){ .fd = p->sigfd, .events = POLLIN };
	first = n;
	for (unsigned int i = 0; i < p->gw.opt.nlisten; i++)
		fds[n++] =
			(struct pollfd){ .fd = p->listen[i], .events = POLLIN };
	for (;;) {
		/* While resting, the signals alone. */
		if (poll(fds, p->rest ? first : n,
			 p->rest ? ACCEPT_REST_MS : LOG_MS) < 0 &&
		    errno != EINTR)
			return;
		fab_log_tick(p->gw.log);
		if (p->rest)
			for (unsigned int i = first; i < n; i++)
				fds[i].revents = 0;
		p->rest = false;
		if ((fds[0].revents & POLLIN) && take_signal(p))
			return;
		for (unsigned int i = first; i < n; i++)
			if (fds[i].revents & POLLIN)
				accept_clients(p, fds[i].fd);
	}
}

/* The whole of it back; false if a connection would not go. */
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
	for (unsigned int i = 0; i < GW_MAX_LISTEN; i++)
		p->listen[i] = -1;
	pthread_mutex_init(&p->gw.lock, NULL);
	if (pthread_key_create(&p->gw.batch_key, NULL)) {
		free(p);
		return 1;
	}
	if (gw_options_parse(&p->gw.opt, argc, argv, &status))
		goto out;
	status = 1;
	p->gw.log = fab_log_create(log_text, &p->gw);
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
	rc = instance_start(p);
	if (rc) {
		gw_log(&p->gw, LOG_ERR, "provider %s: %s", p->gw.opt.provider,
		       arg_provider_fault(rc));
		goto stop;
	}
	rc = threads_start(p);
	if (rc) {
		gw_log(&p->gw, LOG_ERR, "start: %s", strerror(-rc));
		goto stop;
	}
	if (listen_all(p) || stats_start(p))
		goto stop;
	for (unsigned int i = 0; i < p->stats.nlisteners; i++)
		gw_log(&p->gw, LOG_NOTICE, "listening on %s",
		       p->stats.listener[i]);
	rc = notify_manager("READY=1");
	if (rc)
		gw_log(&p->gw, LOG_WARNING, "NOTIFY_SOCKET: %s", strerror(-rc));
	serve(p);
	gw_log(&p->gw, LOG_NOTICE, "ending");
	notify_manager("STOPPING=1");
	status = 0;
stop:
	for (unsigned int i = 0; i < GW_MAX_LISTEN; i++)
		if (p->listen[i] >= 0)
			close(p->listen[i]);
	clean = threads_stop(p);
	if (!status)
		stats_report(p);
	stats_socket_stop(p->stats_socket);
	if (!clean) {
		/* Still referenced: leave it to the end of the process. */
		gw_log(&p->gw, LOG_ERR, "connections left over at the end");
		_exit(1);
	}
	if (p->gw.inst)
		rt_instance_destroy(p->gw.inst);
	auth_gss_destroy(p->gw.auth);
out:
	if (p->sigfd >= 0)
		close(p->sigfd);
	fab_log_destroy(p->gw.log);
	gw_options_free(&p->gw.opt);
	free(p->gw.workers);
	free(p->pollers);
	pthread_key_delete(p->gw.batch_key);
	if (p->gw.shares.limit)
		gw_shares_fini(&p->gw.shares);
	pthread_mutex_destroy(&p->gw.lock);
	free(p);
	return status;
}
