/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd - many clients of one server, each a host, that connect again by themselves
 *
 *	rpcrdma-crowd SERVER FROM CLIENTS WRITERS EVERY DIRECTORY FILE LIST
 *
 * Client I connects from the address FROM + I, as a gateway does: again after 0.1 s, then
 * twice as long, at most 3 s, or 0.25 s while nobody listens; and it gives up a connection
 * that has been silent for 2 s. The first WRITERS of them do a Call each EVERY ms: stable
 * WRITEs to FILE, each of a block of its own with its number in it, as failover.py reads
 * them; and each eighth makes or removes a folder in DIRECTORY. The others send a NULL each
 * IDLE_MS. DIRECTORY and FILE are handles of NFSv3 in hexadecimal.
 *
 * A Call without a Reply is sent again with the same XID. LIST gets the number of each block
 * whose WRITE has been acknowledged. A folder that was there before it was made, or was not
 * when it was removed, is a Call that was executed twice: SIGTERM ends the crowd, and it prints
 * how many these were. It prints a line with the time of the day whenever all, half, one or
 * none of the clients are served.
 *
 * Threads: one, which runs the poller; the operations are called in it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "rpcargs.h"
#include "rpcrdma/request.h"
#include "tools/args.h"

#define BLOCK 8192u
#define CALL_ROOM (BLOCK + 512)
#define HANDLE_MAX 64
#define REPLY_ROOM 512
#define IDLE_MS 5000
#define SILENT_MS 2000
#define BACKOFF_FIRST_MS 100
#define BACKOFF_NEAR_MS 250
#define BACKOFF_LAST_MS 3000
#define AGAIN_MS 1000 /* NFS3ERR_JUKEBOX */
#define END_MS 60000
#define TURN 16

#define NFS_PROG 100003
#define NFS3ERR_NOENT 2
#define NFS3ERR_EXIST 17
#define NFS3ERR_JUKEBOX 10008
#define FILE_SYNC 2

enum proc { PROC_NULL = 0, PROC_WRITE = 7, PROC_MKDIR = 9, PROC_RMDIR = 13 };

struct crowd;

struct client {
	struct crowd *o;
	unsigned int index;
	struct rt_conn *conn; /* NULL: until @due there is none */
	bool up, down; /* set by the operations */
	int error;
	bool served; /* this connection has brought a Reply */
	unsigned int backoff_ms;
	uint64_t due, look; /* ms: the next Call or attempt; is it silent? */
	struct rt_request *rq;
	struct fab_buf *call;
	struct rt_piece piece;
	struct rt_item item; /* WRITE's data, for the server to read */
	enum proc proc;
	bool busy, sent; /* a Call without a Reply; on this connection */
	uint32_t xid;
	uint64_t done; /* Calls but NULL */
	uint64_t number; /* of the block */
};

struct handle {
	uint8_t octets[HANDLE_MAX];
	size_t len;
};

struct crowd {
	struct arg_addr server;
	struct sockaddr_in from;
	uint32_t clients, writers, every;
	struct handle dir, file;
	FILE *list;
	struct rt_instance *inst;
	unsigned int served, busy, twice;
	uint64_t attempts, blocks;
	struct client *client;
};

static volatile sig_atomic_t ended;
/* The address of the client that connects now. */
static const struct sockaddr_in *source;

static void on_signal(int sig)
{
	ended = 1;
}

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("rpcrdma-crowd: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/*
 * In the place of the C library's: the transport lets the system choose the address. Its second
 * attempt, with MPA revision 1, comes out of rt_run(), when the client is not known: it fails.
 */
int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (!source) {
		errno = ECONNRESET;
		return -1;
	}
	if (bind(fd, (const struct sockaddr *)source, sizeof(*source)))
		return -1;
	return (int)syscall(SYS_connect, fd, to, len);
}

/* ---- Calls -------------------------------------------------------------- */

static void put_handle(struct xw *w, const struct handle *h)
{
	xw_opaque(w, h->octets, h->len);
}

static void put_block(struct client *c, struct xw *w)
{
	struct crowd *o = c->o;
	char text[17], *data;

	c->number = c->done * o->writers + c->index;
	put_handle(w, &o->file);
	xw_u64(w, c->number * BLOCK);
	xw_u32(w, BLOCK);
	xw_u32(w, FILE_SYNC);
	xw_u32(w, BLOCK);
	if (w->overflow || w->size - w->len < BLOCK)
		die("no room for a block");
	snprintf(text, sizeof(text), "%15llu\n", (unsigned long long)c->number);
	c->item = (struct rt_item){ .position = (uint32_t)w->len,
				    .length = BLOCK,
				    .present = true };
	data = (char *)w->buf + w->len;
	for (size_t at = 0; at < BLOCK; at += 16)
		memcpy(data + at, text, 16);
	w->len += BLOCK;
}

static void put_folder(struct client *c, struct xw *w)
{
	char name[24];

	snprintf(name, sizeof(name), "crowd-%u", c->index);
	put_handle(w, &c->o->dir);
	xw_opaque(w, name, strlen(name));
	if (c->proc != PROC_MKDIR)
		return;
	xw_u32(w, 1); /* the mode alone */
	xw_u32(w, 0755);
	for (unsigned int i = 0; i < 5; i++)
		xw_u32(w, 0);
}

static void make_call(struct client *c)
{
	struct xw w;

	if (c->index >= c->o->writers)
		c->proc = PROC_NULL;
	else if (c->done % 8 != 7)
		c->proc = PROC_WRITE;
	else
		c->proc = c->done % 16 == 7 ? PROC_MKDIR : PROC_RMDIR;
	xw_init(&w, c->call->addr, CALL_ROOM);
	rpc_call_head(&w, ++c->xid, NFS_PROG, 3, c->proc, true);
	if (c->proc == PROC_WRITE)
		put_block(c, &w);
	else if (c->proc != PROC_NULL)
		put_folder(c, &w);
	c->piece = (struct rt_piece){ .addr = c->call->addr,
				      .len = w.len,
				      .mr = c->call->mr };
	c->busy = true;
	c->o->busy++;
}

/* @why a connection has ended, or an empty text. */
static void say(const struct crowd *o, const char *why)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	printf("%lld.%03ld %u served, %llu attempts%s%s\n", (long long)t.tv_sec,
	       t.tv_nsec / 1000000, o->served, (unsigned long long)o->attempts,
	       *why ? ": " : "", why);
	fflush(stdout);
}

static void set_served(struct client *c, bool served, const char *why)
{
	struct crowd *o = c->o;

	if (c->served == served)
		return;
	c->served = served;
	o->served += served ? 1 : -1;
	if (!o->served || o->served == o->clients ||
	    (served && (o->served == 1 || o->served == o->clients / 2)) ||
	    (!served && o->served == o->clients - 1))
		say(o, why);
}

/* The results up to where WRITE says how much it has written. Returns their status. */
static uint32_t results(const struct client *c, struct xr *r)
{
	uint32_t status = c->proc == PROC_NULL ? 0 : xr_u32(r);

	if (c->proc != PROC_WRITE || status)
		return status;
	if (xr_u32(r))
		xr_skip(r, 24);
	if (xr_u32(r))
		xr_skip(r, 84);
	if (xr_u32(r) != BLOCK || xr_u32(r) != FILE_SYNC || r->bad)
		die("client %u: a WRITE was not done as it was asked for",
		    c->index);
	return status;
}

static void answered(struct client *c, const uint8_t *reply, size_t len)
{
	struct crowd *o = c->o;
	struct rpc_reply rep;
	uint32_t status;
	struct xr r;

	if (rpc_reply_decode(reply, len, &rep) || rep.denied || rep.stat)
		die("client %u: bad Reply", c->index);
	xr_init(&r, reply, len);
	xr_skip(&r, rep.body);
	status = results(c, &r);
	c->busy = false;
	o->busy--;
	c->backoff_ms = BACKOFF_FIRST_MS;
	set_served(c, true, "");
	if (status == NFS3ERR_JUKEBOX) {
		c->due = base_now_ms() + AGAIN_MS;
		return;
	}
	c->due = base_now_ms() + (c->proc == PROC_NULL ? IDLE_MS : o->every);
	if ((c->proc == PROC_MKDIR && status == NFS3ERR_EXIST) ||
	    (c->proc == PROC_RMDIR && status == NFS3ERR_NOENT))
		o->twice++;
	else if (status)
		die("client %u: procedure %d: status %u", c->index, c->proc,
		    status);
	else if (c->proc == PROC_WRITE) {
		fprintf(o->list, "%llu\n", (unsigned long long)c->number);
		o->blocks++;
	}
	c->done++;
}

static void call_done(struct rt_request *rq)
{
	struct client *c = *(struct client **)rt_request_user(rq);
	uint8_t reply[REPLY_ROOM];
	size_t len = 0;

	c->sent = false;
	if (!rq->status) {
		for (unsigned int i = 0; i < rq->nreply; i++) {
			size_t n = MIN(rq->reply[i].len, sizeof(reply) - len);

			memcpy(reply + len, rq->reply[i].addr, n);
			len += n;
		}
		answered(c, reply, len);
	} else if (rq->status != -ECONNRESET && rq->status != -ENOTCONN) {
		die("client %u: a Call failed: %s", c->index,
		    strerror(-rq->status));
	}
	rt_request_reset(rq);
}

static void submit(struct client *c)
{
	struct rt_request *rq = c->rq;

	rq->xid = c->xid;
	rq->pieces = &c->piece;
	rq->npieces = 1;
	rq->items = &c->item;
	rq->nitems = c->proc == PROC_WRITE;
	rq->reply_max = REPLY_ROOM;
	rq->done = call_done;
	c->sent = true;
	rt_request_submit(c->conn, rq);
}

/* ---- Connections -------------------------------------------------------- */

static void on_established(struct rt_conn *conn)
{
	struct client *c = rt_conn_user(conn);

	c->up = true;
	c->due = 0;
}

static void on_closed(struct rt_conn *conn, int error, const char *reason)
{
	struct client *c = rt_conn_user(conn);

	c->down = true;
	c->error = error;
	set_served(c, false, reason ? reason : strerror(-error));
}

static const struct rt_ops ops = {
	.established = on_established,
	.closed = on_closed,
};

static void wait_to_connect(struct client *c, uint64_t now)
{
	bool nobody = c->error == -ECONNREFUSED || c->error == -ETIMEDOUT ||
		      c->error == -EHOSTUNREACH || c->error == -ENETUNREACH;
	unsigned int ms =
		MIN(c->backoff_ms, nobody ? BACKOFF_NEAR_MS : BACKOFF_LAST_MS);

	if (c->conn)
		rt_conn_put(c->conn);
	c->conn = NULL;
	c->up = c->down = false;
	c->due = now + ms;
	c->backoff_ms = 2 * ms;
}

static void connect_client(struct client *c, uint64_t now)
{
	struct crowd *o = c->o;
	struct sockaddr_in from = o->from;

	from.sin_addr.s_addr = htonl(ntohl(from.sin_addr.s_addr) + c->index);
	o->attempts++;
	source = &from;
	c->error = rt_connect(o->inst, 0, (struct sockaddr *)&o->server.addr,
			      o->server.len, &ops, c, &c->conn);
	source = NULL;
	if (c->error) {
		c->conn = NULL;
		wait_to_connect(c, now);
		return;
	}
	c->look = now;
}

static void step(struct client *c, uint64_t now)
{
	if (c->down && !c->sent)
		wait_to_connect(c, now);
	if (!c->conn) {
		if (now >= c->due && !(ended && !c->busy))
			connect_client(c, now);
		return;
	}
	if (now >= c->look && !c->down) {
		c->look = now + 1000;
		if (rt_conn_silent_ms(c->conn) >= SILENT_MS) {
			c->error = -ETIMEDOUT;
			rt_conn_close(c->conn, true);
		}
	}
	if (!c->up || c->down || c->sent || rt_conn_is_closing(c->conn))
		return;
	if (!c->busy && !ended && now >= c->due)
		make_call(c);
	if (c->busy)
		submit(c);
}

/* A few clients at a time: one that connects is about to send something. */
static void run(struct crowd *o)
{
	uint64_t now, until = 0;
	unsigned int at = 0;

	while (!ended || o->busy) {
		rt_run(o->inst, 0, at ? 0 : 1);
		now = base_now_ms();
		if (ended && !until)
			until = now + END_MS;
		if (until && now > until)
			die("%u Calls are not answered", o->busy);
		for (unsigned int n = 0; n < TURN; n++) {
			step(&o->client[at], now);
			at = (at + 1) % o->clients;
		}
		if (at < TURN)
			fflush(o->list);
	}
}

static void start(struct crowd *o)
{
	struct rt_params params = {
		.provider = fab_provider("iwarp"),
		.config = { .credits = 4, .request_user_size = sizeof(void *) },
	};
	int rc = rt_instance_create(&params, &o->inst);

	if (rc)
		die("%s", strerror(-rc));
	o->client = calloc(o->clients, sizeof(*o->client));
	if (!o->client)
		die("no memory");
	for (unsigned int i = 0; i < o->clients; i++) {
		struct client *c = &o->client[i];

		c->o = o;
		c->index = i;
		c->xid = i << 16;
		c->backoff_ms = BACKOFF_FIRST_MS;
		c->rq = rt_request_alloc(o->inst);
		c->call = fab_pool_get(rt_instance_pool(o->inst), CALL_ROOM);
		if (!c->rq || !c->call)
			die("no memory");
		*(struct client **)rt_request_user(c->rq) = c;
	}
}

static void stop(struct crowd *o)
{
	for (unsigned int i = 0; i < o->clients; i++)
		if (o->client[i].conn)
			rt_conn_put(o->client[i].conn);
	if (rt_instance_shutdown(o->inst, 5000, true))
		die("connections are left");
	for (unsigned int i = 0; i < o->clients; i++) {
		rt_request_free(o->client[i].rq);
		fab_pool_put(o->client[i].call);
	}
	free(o->client);
	rt_instance_destroy(o->inst);
}

/* ---- Command line ------------------------------------------------------- */

static void read_handle(const char *s, struct handle *h)
{
	unsigned int octet;

	for (; h->len < HANDLE_MAX && sscanf(s, "%2x", &octet) == 1; s += 2)
		h->octets[h->len++] = (uint8_t)octet;
	if (*s || !h->len)
		die("%s is no handle", s);
}

static uint32_t read_number(const char *s, uint32_t max)
{
	struct arg_err err;
	uint32_t n = 0;
	const char *fault = arg_number32(s, 1, max, &n, &err);

	if (fault)
		die("%s: %s", s, fault);
	return n;
}

int main(int argc, char **argv)
{
	struct crowd o = { .from = { .sin_family = AF_INET } };
	struct arg_err err;
	const char *fault;

	if (argc != 9)
		die("SERVER FROM CLIENTS WRITERS EVERY DIRECTORY FILE LIST");
	fault = arg_addr(argv[1], 20049, &o.server, &err);
	if (fault)
		die("%s: %s", argv[1], fault);
	if (inet_pton(AF_INET, argv[2], &o.from.sin_addr) != 1)
		die("%s is no address", argv[2]);
	o.clients = read_number(argv[3], 1 << 15);
	o.writers = read_number(argv[4], o.clients);
	o.every = read_number(argv[5], 3600000);
	read_handle(argv[6], &o.dir);
	read_handle(argv[7], &o.file);
	o.list = fopen(argv[8], "w");
	if (!o.list)
		die("%s: %s", argv[8], strerror(errno));
	signal(SIGTERM, on_signal);
	start(&o);
	run(&o);
	if (fclose(o.list))
		die("%s: %s", argv[8], strerror(errno));
	printf("%llu blocks, %u Calls done twice\n",
	       (unsigned long long)o.blocks, o.twice);
	stop(&o);
	return 0;
}
