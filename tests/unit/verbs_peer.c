/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_peer - peers in processes of their own, and our end of them
 *
 * Threads: one.
 */
#include "verbs_peer.h"

struct subject subject;
struct world w;
struct ep many[MAX_HELD];
int nmany;
char self[4096];

void peer_look(struct ep *e)
{
	struct fab_wc wc[7];
	int n;

	e->ready = false;
	while ((n = fab_poll(e->c, wc, 7)) > 0) {
		for (int i = 0; i < n; i++) {
			e->established |= wc[i].kind == FAB_WC_ESTABLISHED;
			e->disconnected |= wc[i].kind == FAB_WC_DISCONNECTED;
			if (wc[i].kind == FAB_WC_DISCONNECTED)
				e->error = wc[i].error;
		}
	}
}

/* ---- The other side -------------------------------------------------- */

int peer_hold(char **argv)
{
	static struct ep held[MAX_HELD];
	struct sockaddr_in to = { .sin_family = AF_INET };
	int count = atoi(argv[3]), up = 0, down = 0;
	struct fab_domain *dom;
	struct fab_poller *p;

	to.sin_port = htons((uint16_t)atoi(argv[2]));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
	    count > MAX_HELD || !fab_provider(argv[0]) ||
	    fab_domain_open(fab_provider(argv[0]), NULL, &dom) ||
	    fab_poller_create(dom, &p))
		return 1;
	for (int i = 0; i < count; i++)
		if (fab_conn_create(p, ep_ready, &held[i], &held[i].c) ||
		    fab_connect(held[i].c, (struct sockaddr *)&to, sizeof(to),
				NULL))
			return 1;
	for (bool told = false; down < count;) {
		fab_poller_run(p, 1000);
		for (int i = up = down = 0; i < count; i++) {
			if (held[i].ready)
				peer_look(&held[i]);
			up += held[i].established;
			down += held[i].disconnected;
		}
		if (up == count && !told)
			printf("connected\n");
		told |= up == count;
		fflush(stdout);
	}
	return up < count;
}

pid_t peer_start(int count)
{
	const char *prefix = getenv("RPCRDMA_VERBS_PEER");
	const char *provider = getenv("RPCRDMA_VERBS_PEER_PROVIDER");
	char cmd[5000], addr[INET_ADDRSTRLEN];
	char sh[] = "/bin/sh", c[] = "-c";
	char *args[] = { sh, c, cmd, NULL };
	const struct sockaddr_in *in = (struct sockaddr_in *)&w.addr;
	pid_t pid = 0;

	inet_ntop(AF_INET, &in->sin_addr, addr, sizeof(addr));
	snprintf(cmd, sizeof(cmd), "exec %s '%s' --hold %s %s %d %d", prefix,
		 self, provider, addr, ntohs(in->sin_port), count);
	CU_ASSERT_EQUAL_FATAL(posix_spawn(&pid, sh, NULL, NULL, args, environ),
			      0);
	return pid;
}

void peer_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t command(const char *name)
{
	char sh[] = "/bin/sh", c[] = "-c";
	char *args[] = { sh, c, getenv(name), NULL };
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(posix_spawn(&pid, sh, NULL, NULL, args, environ),
			      0);
	return pid;
}

bool command_ended(pid_t *pid)
{
	int status = 0;

	if (*pid && waitpid(*pid, &status, WNOHANG) == *pid) {
		CU_ASSERT_EQUAL(status, 0);
		*pid = 0;
	}
	return !*pid;
}

/* ---- Many connections of peers --------------------------------------- */

static struct msg many_recv[MAX_HELD][MANY_RECEIVES];

static void many_request(struct fab_listener *l, struct fab_conn *c,
			 const void *priv, size_t priv_len, void *user)
{
	struct fab_conn_params none = { 0 };
	struct ep *e = &many[nmany];
	uint64_t offset;
	uint32_t handle;

	if (nmany == MAX_HELD) {
		fab_reject(c, NULL, 0);
		fab_conn_destroy_deferred(c, NULL, NULL);
		return;
	}
	memset(e, 0, sizeof(*e));
	e->c = c;
	e->mr = w.mr;
	if (subject.shared)
		e->done = share_done;
	fab_conn_set_ready(c, ep_ready, e);
	for (int i = 0; i < MANY_RECEIVES; i++)
		CU_ASSERT_EQUAL(ep_recv(e, msg_init(&w, &many_recv[nmany][i],
						    FAB_RECV, 0, 4096)),
				0);
	if (fab_accept(c, &none)) {
		fab_conn_destroy_deferred(c, NULL, NULL);
		e->c = NULL;
		return;
	}
	/* Nobody closes it: the end of the connection does. */
	fab_expose(c, w.mr, w.arena + 8192, 4096, FAB_REMOTE_WRITE, &handle,
		   &offset);
	nmany++;
}

void many_turn(void)
{
	fab_poller_run(w.poller, 50);
	for (int i = 0; i < nmany; i++)
		if (many[i].ready)
			ep_poll(&many[i]);
}

int many_count(size_t member)
{
	int n = 0;

	for (int i = 0; i < nmany; i++)
		n += *((bool *)((char *)&many[i] + member));
	return n;
}

void many_listen(void)
{
	world_domain(&w, 0);
	nmany = 0;
	CU_ASSERT_EQUAL_FATAL(listen_anywhere(&w, &subject.addr,
					      subject.addrlen, many_request, &w,
					      &w.listener),
			      0);
	fab_listener_addr(w.listener, &w.addr);
}

void many_destroy(void)
{
	int gone = 0;

	for (int i = 0; i < nmany; i++)
		fab_conn_destroy_deferred(many[i].c, ep_gone, &many[i]);
	for (int i = 0; i < 100 && gone < nmany; i++) {
		fab_poller_run(w.poller, 10);
		gone = 0;
		for (int k = 0; k < nmany; k++)
			gone += many[k].gone;
	}
	CU_ASSERT_EQUAL(gone, nmany);
	nmany = 0;
}
