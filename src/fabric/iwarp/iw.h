/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iw - the objects of the iwarp provider
 *
 * Software RDMA over a TCP socket: MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and
 * RDMAP (RFC 5040), for any iWARP peer, software or adapter. It needs neither a
 * device nor a kernel module. Prefix: iw_.
 *
 * Context: struct iw_conn has one owner at a time. A passive connection whose
 * MPA request is incomplete (half-open) belongs to the poller thread, under the
 * lock of its listener. From the request callback on, as every active one from
 * its creation, it belongs to the runner. Only what event_loop.h says is
 * shared.
 *
 * Lock order: listener, then the event loop's. Neither is held over a ready
 * callback; the listener's is held over its request callback.
 */
#ifndef RPCRDMA_IWARP_IW_H
#define RPCRDMA_IWARP_IW_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/uio.h>
#include <syslog.h>

#include "fabric/provider/event_loop.h"
#include "ddp.h"
#include "mpa.h"
#include "stag.h"
#include "terminate.h"

#define IW_MAX_SGE 64u
#define IW_MAX_MESSAGE ((size_t)1 << 30)
#define IW_MAX_DEPTH 256u

/* Limits of one sendmsg. */
#define TX_FRAMES 64u
#define TX_IOV 256u
#define TX_BATCH_BYTES ((size_t)5 << 18)
/* The longest header (Read Request), padding and CRC. */
#define TX_SCRATCH_FRAME 56u
/* What one fab_poll() or fab_post() sends and receives at most, so that other
 * connections get their turn. */
#define IW_TURN_BYTES ((size_t)2 << 20)

#define RX_STAGING ((size_t)64 << 10)
#define RX_PAGE ((size_t)4 << 10)
/* Payloads from this length on are received in place. */
#define RX_DIRECT_MIN 2048u
/* How much to ask for behind a payload received in place: its trailer and a
 * following small message, but not payload that would then be copied. */
#define RX_TAIL 1024u
#define RX_ASK_MIN ((size_t)8 << 10)
/* FPDUs that one receive predicts behind the current one. */
#define RX_AHEAD 4u
#define RX_IOV 192u
/* Between two payloads: padding, CRC and a header. */
#define RX_GAP (3u + MPA_CRC_SIZE + OFF_TAGGED_PAYLOAD)
/* Behind the staging area there is room for mispredicted FPDUs, and the tail. */
#define RX_BUF (RX_STAGING + ((size_t)RX_AHEAD << 16) + RX_PAGE)

#define IW_LINGER_MS 1000

struct iw_domain {
	struct fab_domain fab;
	unsigned int depth;
	size_t max_ulpdu;
	atomic_uint startups;
};

struct iw_conn;
struct iw_listener;
TAILQ_HEAD(iw_half_queue, iw_conn);

/* PACE: half-open, and the request is not read yet. */
enum iw_timer_kind { IW_TIMER_STARTUP, IW_TIMER_LINGER, IW_TIMER_PACE };

struct iw_listener {
	/* Its timer runs while it pauses for lack of descriptors. */
	struct fab_ev_listener ev;
	struct fab_source src;

	/* Under ev.lock. */
	int fd;
	struct fab_poller **spread; /* NULL: connections stay with this poller */
	unsigned int nspread, turn;
	uint64_t warned_at;
	int short_of; /* errno of the shortage that delays new connections */
	uint64_t short_since, short_told;
	bool short_owes; /* the end of the shortage must be logged */
	struct iw_half_queue half;
};

/* Bits of fab_ev_conn.events. */
#define IW_EV_IN 0x1u
#define IW_EV_OUT 0x2u
#define IW_EV_HUP 0x4u /* a FIN, a reset or an error can be read */
#define IW_EV_STARTUP 0x8u
#define IW_EV_LINGER 0x10u

enum iw_state {
	IW_ST_IDLE, /* active, not started */
	IW_ST_CONNECTING, /* waits for TCP, or for room for the request */
	IW_ST_AWAIT_REPLY,
	IW_ST_REQUESTED, /* passive: to be accepted or rejected */
	IW_ST_REPLYING, /* passive: accepted, the reply is being sent */
	IW_ST_OPEN,
	IW_ST_CLOSING, /* orderly close by this side */
	IW_ST_TERMINATING, /* a Terminate is being sent */
	IW_ST_LINGER, /* FIN sent, waiting for the peer's */
	IW_ST_ENDING, /* iw_conn_end() was called */
	IW_ST_DEAD, /* all work flushed */
	IW_ST_REJECTED,
};

/* In fab_wr.priv: where in the stream the request ends. */
#define WR_END WR_OWN

/* An outbound RDMA Read. */
struct iw_orq {
	struct fab_wr *wr;
	uint32_t stag;
	size_t got;
	unsigned int sge;
	size_t off;
};

/* An inbound RDMA Read. */
struct iw_irq {
	uint32_t src_stag, sink_stag;
	uint64_t src_to, sink_to;
	uint32_t len, sent;
	/* The request's FPDU, which a Terminate quotes. */
	uint8_t hdr[OFF_RREQ_END];
};

struct iw_tx {
	struct wr_list sq; /* not yet framed, or not wholly */
	struct wr_list reads; /* beyond the read depth */
	struct wr_list framed; /* framed, not yet wholly in the socket */
	unsigned int sge; /* position in sq.head */
	size_t off, done;
	bool untagged_open, write_open,
		resp_open; /* messages with more FPDUs to come */
	bool turn; /* Read Responses are next */
	bool hold; /* responder before the first FPDU (RFC 5044 7.1.2) */
	uint32_t msn_send, msn_read;

	/* The current batch. Positions count octets of the stream. */
	struct iovec iov[TX_IOV];
	unsigned int niov, cur;
	uint64_t batch_start, built, sent;
	uint64_t frame_end[TX_FRAMES];
	uint32_t frame_stag[TX_FRAMES]; /* Read Response: its source STag, else 0 */
	unsigned int nframes;
	size_t scratch_used;
	uint8_t scratch[TX_FRAMES * TX_SCRATCH_FRAME];
};

enum rx_state { RX_HEADER, RX_PAYLOAD, RX_TRAILER };

struct iw_rx {
	uint8_t *buf; /* RX_BUF octets, received and not yet parsed */
	size_t rd, wr; /* parsed, and received, up to here */
	size_t ask; /* octets of the next receive into buf, adaptive */
	enum rx_state state;
	bool regular; /* the FPDU continues the one before and is as long */
	bool spilled; /* there was data behind RX_STAGING */
	/* The current FPDU. */
	uint8_t hdr[OFF_RREQ_END];
	unsigned int ulpdu, hdr_len, payload, placed, pad;
	unsigned int opcode;
	bool last;
	uint32_t crc;
	uint8_t *dest; /* of the payload, but of Read Responses */
	/* Untagged queues: next MSN; octets of the current Send. */
	uint32_t msn[DDP_QN_COUNT];
	uint32_t send_got;
	uint32_t send_op;
	bool write_open;
};

struct iw_conn {
	struct fab_ev_conn ev; /* its timer: enum iw_timer_kind */
	struct fab_source src;
	int fd;
	enum iw_state state;

	/* Poller thread, under the listener's lock. */
	bool moved; /* to a poller that does not watch it yet */
	struct iw_listener *listener; /* while half-open */
	TAILQ_ENTRY(iw_conn) half_link;

	/* The runner's from here on. */
	bool can_read, can_write, hup;
	bool fin_sent;
	bool same_machine; /* both ends are on one host */
	bool crc;
	uint64_t watched_since; /* ms; iw_silent_ms() watches this socket; 0: not yet */

	uint8_t mpa_in[MPA_FRAME_MAX], mpa_out[MPA_FRAME_MAX];
	size_t mpa_in_len, mpa_out_len, mpa_out_sent;
	uint8_t peer_rev;
	bool peer_enhanced, fall_back_ok;
	uint8_t mpa_rev; /* revision that we offer */
	bool rtr_write, rtr_read;
	uint16_t peer_ird, peer_ord;
	/* Active: needed again if revision 2 is refused. */
	uint8_t priv[FAB_MAX_PRIV];
	size_t priv_len;

	struct stag_table stags;
	struct iw_tx tx;
	struct iw_rx rx;
	struct wr_list rq; /* posted Receives */
	struct iw_orq *orq;
	unsigned int orq_head, orq_count, depth;
	struct iw_irq *irq; /* rings of @depth entries */
	unsigned int irq_head, irq_count;

	uint8_t term[TERM_FPDU_MAX];
	char reason_buf[96];
};

static inline struct iw_domain *iw_domain(struct fab_domain *d)
{
	return container_of(d, struct iw_domain, fab);
}

static inline struct iw_conn *iw_conn(struct fab_conn *c)
{
	return container_of(c, struct iw_conn, ev.fab);
}

static inline struct fab_ev_loop *iw_conn_poller(const struct iw_conn *c)
{
	return fab_ev_loop(c->ev.fab.poller);
}

static inline struct iw_domain *iw_conn_domain(const struct iw_conn *c)
{
	return iw_domain(c->ev.fab.poller->dom);
}

#define IW_CONN_EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static inline void iw_conn_schedule(struct iw_conn *c)
{
	fab_ev_conn_schedule(&c->ev.fab);
}

static inline void iw_conn_timer_set(struct iw_conn *c, enum iw_timer_kind kind)
{
	const struct fab_domain *d = c->ev.fab.poller->dom;

	fab_ev_conn_timer_set(&c->ev,
			      kind == IW_TIMER_LINGER ?
				      IW_LINGER_MS :
				      d->params.startup_timeout_ms,
			      kind);
}

/*
 * Ask for the end of the connection; the first reason stands. Nothing more is
 * sent, received or posted. conn.c does the rest, before the runner leaves the
 * provider or in its next fab_poll(). Context: the runner.
 */
static inline void iw_conn_end(struct iw_conn *c, int error, const char *reason)
{
	if (c->state == IW_ST_ENDING || c->state == IW_ST_DEAD)
		return;
	c->state = IW_ST_ENDING;
	fab_ev_conn_set_end(&c->ev, error, reason);
}

/* listener.c */
int iw_listen(struct fab_poller *p, const struct sockaddr *addr,
	      socklen_t addrlen, fab_request_fn fn, void *user,
	      struct fab_listener **l);
int iw_listener_spread(struct fab_listener *l, struct fab_poller *const *p,
		       unsigned int n);
void iw_listener_close(struct fab_listener *l);

/* mpa_startup.c: MPA on one connection; the runner */
int iw_connect(struct fab_conn *c, const struct sockaddr *addr,
	       socklen_t addrlen, const struct fab_conn_params *params);
int iw_accept(struct fab_conn *c, const struct fab_conn_params *params);
void iw_reject(struct fab_conn *c, const void *priv, size_t priv_len);
void iw_startup_progress(struct iw_conn *c);
void iw_startup_done(struct iw_conn *c);
/* Poller thread. Returns 1 when the request is complete and valid, 0, or
 * -errno. */
int iw_startup_request(struct iw_conn *c, struct mpa_frame *f);
/* Set what the parameters of @d say for a socket of @family. Return 0 or -errno. */
int iw_startup_socket_options(const struct fab_domain *d, int fd, int family);
int iw_socket_service_type(const struct fab_domain *d, int fd, int family);
/* Have the peer see a reset instead of a FIN, whoever closes the socket. */
void iw_reset_on_close(struct iw_conn *c, bool reset);

/* conn.c; the runner */
int iw_conn_alloc(struct fab_ev_loop *ev, struct iw_conn **c);
/* Source and timer callbacks once it is not half-open. */
int iw_conn_event(struct fab_ev_loop *ev, struct fab_source *src,
		  uint32_t events);
void iw_conn_expired(struct base_timer *t, unsigned int kind);
int iw_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **c);
void iw_mask(struct fab_conn *c, bool mask);
void iw_disconnect(struct fab_conn *c, bool abort);
void iw_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *),
			      void *user);
void iw_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void iw_trim(struct fab_conn *fc);
unsigned int iw_silent_ms(struct fab_conn *c);
int iw_poll(struct fab_conn *c, struct fab_wc *wc, int n);
int iw_post(struct fab_conn *c, struct fab_wr *chain);
int iw_post_recv(struct fab_conn *c, struct fab_wr *chain);
int iw_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset);
bool iw_unexpose(struct fab_conn *c, uint32_t handle, void *user);

/* fpdu_tx.c; the runner */
/* Send until the socket is full or *@budget is used up. */
void iw_tx_push(struct iw_conn *c, size_t *budget);
/* Returns true if nothing is framed or waiting. */
static inline bool iw_tx_idle(const struct iw_conn *c)
{
	const struct iw_tx *tx = &c->tx;

	return tx->cur == tx->niov && !tx->sq.head && !tx->reads.head &&
	       !c->irq_count;
}
/* A rule was broken by the peer or this side: send a Terminate, then end. @bad:
 * headers of the FPDU that broke it, or NULL. */
void iw_tx_terminate(struct iw_conn *c, unsigned int cause, const uint8_t *bad);

/* fpdu_rx.c; the runner */
void iw_rx_progress(struct iw_conn *c, size_t *budget);
/* Read and drop what the peer sends while this end terminates or lingers. */
void iw_rx_discard(struct iw_conn *c);
void iw_rx_trim(struct iw_conn *c);

/* ddp.c; the runner */
/* Validate the headers in rx.hdr and find the payload's destination. Returns 0
 * or the cause for a Terminate. */
unsigned int iw_ddp_check(struct iw_conn *c);
/* Returns true if the destination is still open to the peer. */
bool iw_ddp_still_open(const struct iw_conn *c);
/* Fill in at most @max pieces of @iov with the destination of @len octets of
 * payload, @skip octets behind those already placed. Returns the number of
 * pieces. */
unsigned int iw_ddp_dest(const struct iw_conn *c, struct iovec *iov,
			 unsigned int max, size_t skip, size_t len);
/* Returns how many octets of the message may follow this FPDU in memory that
 * the peer has not written yet. */
size_t iw_ddp_room(const struct iw_conn *c);
void iw_ddp_advance(struct iw_conn *c, size_t len);
/* The FPDU is complete and its CRC right. Returns 0 or a cause. */
unsigned int iw_ddp_deliver(struct iw_conn *c, const uint8_t *payload);

#endif /* RPCRDMA_IWARP_IW_H */
