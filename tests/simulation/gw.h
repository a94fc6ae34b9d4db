/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw - a world with rpcrdma-gateway in it, from main() to its end
 *
 * TCP clients send NFS Calls to the gateway, which runs with all its threads as
 * contexts of the platform's (platform.c), over sockets of net.c. Behind it are one or
 * two servers: instances of the transport, with an upper layer of the model's. What
 * each Call is, and what its Reply must be, follows from a number in its credential.
 *
 * A step runs a thread of the gateway or a server, has octets arrive or be taken, lets
 * time pass, connects, calls, answers, sends a callback, or has something go wrong.
 * Threads lose the processor when they take or give back a lock, and in system calls.
 *
 * A Call must get one Reply, with its own data, or its TCP connection must end: then
 * its client would send it again. No server may see more of a Call than it was sent,
 * on one connection, unless it has refused it for want of room; and what cannot be
 * repeated only once. In a calm world no connection may end by itself, and no Call may
 * fail.
 *
 * A client is spoiled when it has sent what no client may send.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_SIMULATE_GW_H
#define RPCRDMA_SIMULATE_GW_H

#include "gateway/gateway.h"
#include "net.h"
#include "simulate.h"
#include "tools/record.h"

#define GWS_CLIENTS 16
#define GWS_RPCS 2048
#define GWS_SERVERS 2
#define GWS_CONNS 64
#define GWS_HELD 512
#define GWS_BACKS 256
#define GWS_BULKS 2

enum gws_kind {
	GWS_NULL,
	GWS_GETATTR,
	GWS_READ,
	GWS_WRITE,
	GWS_READLINK,
	GWS_READDIR,
	GWS_READ4,
	GWS_WRITE4,
	GWS_MOUNT,
	GWS_GSS,
	GWS_DENIED, /* by the gateway itself */
	GWS_KINDS
};

struct gws_client;

/* One Call, as the model has it. */
struct gws_rpc {
	uint64_t id; /* its place is that modulo GWS_RPCS; 0: none */
	struct gws_client *from; /* NULL: its connection has ended */
	uint32_t xid;
	uint64_t salt;
	enum gws_kind kind;
	bool session; /* a COMPOUND with SEQUENCE */
	bool fails; /* the server answers an error of NFS's */
	bool refused; /* ... or of the transport's */
	size_t len; /* of the record */
	unsigned int nbulks;
	uint32_t count[GWS_BULKS]; /* asked for, or brought */
	size_t at[GWS_BULKS]; /* where that stands */
	uint32_t seen[GWS_BULKS]; /* by the server */
	unsigned int copies, replies;
	unsigned int delivered,
		on_this; /* on the connection that it came by last */
	uint64_t conn;
};

/* A reverse-direction Call. */
struct gws_back {
	struct rt_request *rq; /* NULL: none */
	struct gws_conn *on;
	uint32_t xid;
	uint64_t salt;
	size_t len, reply_len;
	struct rt_piece piece;
	struct gws_client *at; /* it has been seen there, */
	bool seen, answered; /* and answered */
	bool waits; /* its client has not answered yet */
};

struct gws_client {
	struct net_conn *net; /* NULL: none */
	unsigned int index;
	uint64_t serial;
	bool spoiled, shut, reads;
	bool was_reset; /* by itself */
	bool had_back; /* was asked something itself */
	uint16_t port;
	uint32_t next_xid;
	unsigned int waiting; /* Calls without a Reply */
	struct rec rec;
	uint8_t *acc; /* the record that comes */
	size_t len, size;
};

struct gws_conn {
	struct rt_conn *c; /* NULL: none */
	struct gws_server *server;
	bool established;
	unsigned int backs; /* that are out */
	unsigned int held;
	uint64_t of; /* whose Calls come by it: its serial number */
};

struct gws_server {
	unsigned int index;
	unsigned int starts; /* its connections are numbered anew after each */
	struct rt_instance *inst;
	struct rt_listener *listener;
	struct rt_config cfg;
	bool holds;
};

struct gws_held {
	struct rt_call *call;
	struct gws_conn *conn;
	uint64_t id;
};

struct gws_world {
	struct sim_world *w;
	struct gateway *gw; /* once it has started */
	pthread_t main;
	bool over; /* it has returned, */
	int status; /* with this */
	int argc;
	char argv[40][48];
	char *args[41];
	unsigned int max_calls;
	bool reserved_ports;
	bool large; /* many Calls are longer than a record may be */
	unsigned int nservers;
	struct gws_server server[GWS_SERVERS];
	struct gws_client client[GWS_CLIENTS];
	struct gws_rpc rpc[GWS_RPCS];
	uint64_t next_id, serials;
	struct gws_conn conn[GWS_CONNS];
	struct gws_held held[GWS_HELD];
	unsigned int nheld;
	struct gws_back back[GWS_BACKS];
	unsigned int next_back;
	unsigned int answers, answers_gone;
	bool stopping;
};

extern struct gws_world gws;

/* gw_world.c */
void gws_open(struct sim_world *w, const struct sim_options *opt);
void gws_close(struct sim_world *w);
bool gws_server_start(struct gws_server *s);
void gws_server_crash(struct gws_server *s);
void gws_run_quiet(void);
/* All that is on its way arrives, and all that has come is read. */
void gws_flush(void);

/* gw_model.c: octets. @count: as they stand in the Call. */
/* What it is, and how long. */
void gws_make(struct gws_rpc *r, struct draw *d);
/* Into @to, which has room for all that was asked; and where the counts stand. */
void gws_write(struct gws_rpc *r, uint8_t *to);
size_t gws_call(const struct gws_rpc *r, const uint32_t count[], uint8_t *to);
/* What the server answers, with the items that may be reduced. */
size_t gws_reply(const struct gws_rpc *r, uint8_t *to, struct rt_item *item,
		 unsigned int *nitems);
size_t gws_call_most(const struct gws_rpc *r);
size_t gws_reply_most(const struct gws_rpc *r);
uint64_t gws_id_of(const uint8_t *call, size_t len);
bool gws_repeatable(const struct gws_rpc *r);
void gws_pattern(uint8_t *to, uint64_t salt, size_t len);
struct gws_rpc *gws_find(uint64_t id);

/* gw_tcp.c */
bool gws_connect(struct draw *d);
void gws_send(struct gws_client *c, struct draw *d);
void gws_again(struct gws_client *c, struct draw *d);
void gws_spoil(struct gws_client *c, struct draw *d);
void gws_take(struct gws_client *c, size_t n);
void gws_answer_back(struct gws_back *b, struct draw *d);
/* It has ended by its own will, or the gateway's. */
void gws_gone(struct gws_client *c);

/* gw_server.c */
extern const struct rt_ops gws_ops;
void gws_answer(unsigned int i);
void gws_drop(unsigned int i);
void gws_forget_back(struct gws_back *b);
bool gws_call_back(struct gws_conn *c, struct draw *d);

/* gw_steps.c */
void gws_step(unsigned int i);
unsigned int gws_kinds(void);

/* gw_count.c: what the gateway has done, and which events have come to clients in
 * which states. */
const char *gws_count_name(unsigned int i, bool *never);
void gws_count_stats(void);

/* gw_check.c: after a step, when nothing moves, and has not for a while. */
enum gws_quiet { GWS_STEP, GWS_QUIET, GWS_IDLE };
void gws_check(enum gws_quiet quiet);
/* Who has what, into the log. */
void gws_tell(void);

#endif /* RPCRDMA_SIMULATE_GW_H */
