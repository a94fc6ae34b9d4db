/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iw - the objects of the iwarp provider, for its own files
 *
 * Threads and owners
 *
 *   struct iw_conn has one owner at a time. A passive connection that has not
 *   come as far as its private data (half-open) belongs to the poller thread,
 *   under the lock of its listener; from the request callback on, as every
 *   active one from its creation, it belongs to the runner. Shared is only what
 *   events.h has of it.
 *
 * Lock order: listener, then what events.h has. Neither is held over a ready
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

/* One sendmsg: at most so many FPDUs, pieces and octets. */
#define TX_FRAMES 64u
#define TX_IOV 256u
#define TX_BATCH_BYTES ((size_t)5 << 18)
/* Header of the longest (Read Request), padding and CRC. */
#define TX_SCRATCH_FRAME 56u
/* What one fab_poll() or fab_post() may send and receive before it lets other
 * connections have their turn. */
#define IW_TURN_BYTES ((size_t)2 << 20)

#define RX_STAGING ((size_t)64 << 10)
#define RX_PAGE ((size_t)4 << 10)
/* From this payload on, it is received straight into its place. */
#define RX_DIRECT_MIN 2048u
/* Behind a payload received in place, ask for this much more: its trailer and
 * a following small message, but not for payload that would be copied. */
#define RX_TAIL 1024u
#define RX_ASK_MIN ((size_t)8 << 10)
/* One receive predicts so many FPDUs behind the one in hand. */
#define RX_AHEAD 4u
#define RX_IOV 192u
/* Between two payloads: padding, CRC and a header. */
#define RX_GAP (3u + MPA_CRC_SIZE + OFF_TAGGED_PAYLOAD)
/* What is predicted wrongly has room behind what staging takes, and the tail. */
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

/* What a connection waits for. */
/* IW_TIMER_PACE: half-open, and it is not yet heard. */
enum iw_timer_kind { IW_TIMER_STARTUP, IW_TIMER_LINGER, IW_TIMER_PACE };

struct iw_listener {
	/* Its timer: out of descriptors, until it fires. */
	struct fab_ev_listener ev;
	struct fab_source src;

	/* Under ev.lock. */
	int fd;
	struct fab_poller **spread; /* NULL: all stay here */
	unsigned int nspread, turn;
	uint64_t warned_at;
	int short_of; /* an errno: why new connections wait */
	uint64_t short_since, short_told;
	bool short_owes; /* its end is to be told */
	struct iw_half_queue half;
};

/* Bits of fab_ev_conn.events: what the poller saw. */
#define IW_EV_IN 0x1u
#define IW_EV_OUT 0x2u
#define IW_EV_HUP 0x4u /* a FIN, a reset or an error is there to be read */
#define IW_EV_STARTUP 0x8u
#define IW_EV_LINGER 0x10u

enum iw_state {
	IW_ST_IDLE, /* active, not started */
	IW_ST_CONNECTING, /* the request waits for TCP or for room */
	IW_ST_AWAIT_REPLY,
	IW_ST_REQUESTED, /* passive: accept or reject to come */
	IW_ST_REPLYING, /* passive: accepted, reply going out */
	IW_ST_OPEN,
	IW_ST_CLOSING, /* locally ended in order */
	IW_ST_TERMINATING, /* a Terminate is to go out */
	IW_ST_LINGER, /* our FIN is out; waiting for the peer's */
	IW_ST_ENDING, /* iw_conn_end() was called */
	IW_ST_DEAD, /* all work flushed */
	IW_ST_REJECTED,
};

/* In fab_wr.priv: position in the stream where it ends. */
#define WR_END WR_OWN

/* An outbound RDMA Read whose response is awaited. */
struct iw_orq {
	struct fab_wr *wr;
	uint32_t stag;
	size_t got;
	unsigned int sge;
	size_t off;
};

/* An inbound RDMA Read whose response is to be sent. */
struct iw_irq {
	uint32_t src_stag, sink_stag;
	uint64_t src_to, sink_to;
	uint32_t len, sent;
	/* The request's FPDU, for a Terminate that has to name it. */
	uint8_t hdr[OFF_RREQ_END];
};

struct iw_tx {
	struct wr_list sq; /* not yet all framed */
	struct wr_list reads; /* Reads waiting for depth */
	struct wr_list framed; /* framed, not yet all in the socket */
	unsigned int sge; /* cursor in sq.head */
	size_t off, done;
	bool untagged_open, write_open, resp_open; /* between FPDUs of one */
	bool turn; /* whose: the Read Responses' */
	bool hold; /* responder before the first FPDU (RFC 5044 7.1.2) */
	uint32_t msn_send, msn_read;

	/* The batch in the socket's hands. Positions count octets of the
	 * stream since the start of the batch-wise part. */
	struct iovec iov[TX_IOV];
	unsigned int niov, cur;
	uint64_t batch_start, built, sent;
	uint64_t frame_end[TX_FRAMES];
	uint32_t frame_stag[TX_FRAMES]; /* Read Response: its source, or 0 */
	unsigned int nframes;
	size_t scratch_used;
	uint8_t scratch[TX_FRAMES * TX_SCRATCH_FRAME];
};

enum rx_state { RX_HEADER, RX_PAYLOAD, RX_TRAILER };

struct iw_rx {
	uint8_t *buf; /* RX_BUF octets: received, not yet parsed */
	size_t rd, wr, ask;
	enum rx_state state;
	bool even; /* the FPDU in hand goes on as the one before it */
	bool spilled; /* something has been behind RX_STAGING */
	/* The FPDU in hand. */
	uint8_t hdr[OFF_RREQ_END];
	unsigned int ulpdu, hdr_len, payload, placed, pad;
	unsigned int opcode;
	bool last;
	uint32_t crc;
	uint8_t *dest; /* of the payload; a Read's comes from its sges */
	/* Untagged queues: next MSN; octets of the Send in progress. */
	uint32_t msn[DDP_QN_COUNT];
	uint32_t send_got;
	uint32_t send_op;
	bool write_open;
};

struct iw_conn {
	struct fab_ev_conn ev; /* its timer: of an iw_timer_kind */
	struct fab_source src;
	int fd;
	enum iw_state state;

	/* Poller thread, under the listener's lock. */
	bool moved; /* to a poller that does not watch it yet */
	struct iw_listener *listener; /* half-open */
	TAILQ_ENTRY(iw_conn) half_link;

	/* The runner's from here on. */
	bool can_read, can_write, hup;
	bool fin_sent;
	bool same_machine; /* as the peer, since MPA began */
	bool crc;

	uint8_t mpa_in[MPA_FRAME_MAX], mpa_out[MPA_FRAME_MAX];
	size_t mpa_in_len, mpa_out_len, mpa_out_sent;
	uint8_t peer_rev;
	bool peer_enhanced, fall_back_ok;
	uint8_t mpa_rev; /* that we ask for */
	bool rtr_write, rtr_read;
	uint16_t peer_ird, peer_ord;
	/* Active: kept for a second try with revision 1. */
	uint8_t priv[FAB_MAX_PRIV];
	size_t priv_len;

	struct stag_table stags;
	struct iw_tx tx;
	struct iw_rx rx;
	struct wr_list rq; /* posted Receives */
	struct iw_orq *orq; /* ring of depth entries */
	unsigned int orq_head, orq_count, depth;
	struct iw_irq *irq; /* ring of depth entries */
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

/* What epoll shall tell of a connection's socket. */
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
 * Ask for the end of the connection; the first reason stands. Nothing more is sent,
 * received or posted. conn.c does the rest, before the runner leaves the provider or in
 * its next fab_poll(). The runner calls it.
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

/* startup.c: MPA on one connection; the runner */
int iw_connect(struct fab_conn *c, const struct sockaddr *addr,
	       socklen_t addrlen, const struct fab_conn_params *params);
int iw_accept(struct fab_conn *c, const struct fab_conn_params *params);
void iw_reject(struct fab_conn *c, const void *priv, size_t priv_len);
void iw_startup_progress(struct iw_conn *c);
void iw_startup_done(struct iw_conn *c);
/* Poller thread: 1 when the request is there and good, 0, negative errno. */
int iw_startup_request(struct iw_conn *c, struct mpa_frame *f);
int iw_startup_socket_options(int fd);
/* Have the peer see a reset instead of a FIN when the socket is closed, whoever closes it. */
void iw_reset_on_close(struct iw_conn *c, bool reset);

/* conn.c; the runner */
int iw_conn_alloc(struct fab_ev_loop *ev, struct iw_conn **c);
/* What its source and its timer call when it is not half-open. */
int iw_conn_event(struct fab_ev_loop *ev, struct fab_source *src,
		  uint32_t events);
void iw_conn_expired(struct base_timer *t, unsigned int kind);
int iw_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **c);
void iw_mask(struct fab_conn *c, bool quiet);
void iw_disconnect(struct fab_conn *c, bool abort);
void iw_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *),
			      void *user);
void iw_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void iw_trim(struct fab_conn *fc);
int iw_poll(struct fab_conn *c, struct fab_wc *wc, int n);
int iw_post(struct fab_conn *c, struct fab_wr *chain);
int iw_post_recv(struct fab_conn *c, struct fab_wr *chain);
int iw_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset);
bool iw_unexpose(struct fab_conn *c, uint32_t handle, void *user);

/* tx.c; the runner */
/* Send what there is until the socket is full or *budget is used up. */
void iw_tx_push(struct iw_conn *c, size_t *budget);
/* Is nothing framed or waiting? */
static inline bool iw_tx_idle(const struct iw_conn *c)
{
	const struct iw_tx *tx = &c->tx;

	return tx->cur == tx->niov && !tx->sq.head && !tx->reads.head &&
	       !c->irq_count;
}
/* The peer or this side broke a rule: send a Terminate, then the end. @bad is
 * the FPDU's headers or NULL. */
void iw_tx_terminate(struct iw_conn *c, unsigned int cause, const uint8_t *bad);

/* rx.c; the runner */
void iw_rx_progress(struct iw_conn *c, size_t *budget);
void iw_rx_discard(struct iw_conn *c);
void iw_rx_trim(struct iw_conn *c);

/* deliver.c; the runner: what an FPDU may do, and doing it */
/* Check the headers in rx.hdr and find the payload's place. 0 or the cause
 * for a Terminate. */
unsigned int iw_ddp_check(struct iw_conn *c);
/* Is the place found still open to the peer? */
bool iw_ddp_still_open(const struct iw_conn *c);
/* Where @len octets of payload go that come @skip octets after what has been
 * placed, maybe in later FPDUs of the message; at most @max pieces. */
unsigned int iw_ddp_dest(const struct iw_conn *c, struct iovec *iov,
			 unsigned int max, size_t skip, size_t len);
/* So many octets of the same message, at most, may follow this FPDU, and have a
 * place where nothing is that the peer has written. */
size_t iw_ddp_room(const struct iw_conn *c);
void iw_ddp_advance(struct iw_conn *c, size_t len);
/* The FPDU is complete and its CRC good. 0 or a cause. */
unsigned int iw_ddp_deliver(struct iw_conn *c, const uint8_t *payload);

#endif /* RPCRDMA_IWARP_IW_H */
