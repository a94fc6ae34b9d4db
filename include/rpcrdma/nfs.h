/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs - which data items of NFS are DDP-eligible, and where they stand
 *
 * The Upper-Layer Binding for version 2 (docs/protocol.md, H1 to H3):
 *
 *   NFSv3        WRITE data and SYMLINK path (arguments),
 *                READ data and READLINK path (results)
 *   NFSv4.0-4.2  WRITE data and CREATE(NF4LNK) linkdata (arguments),
 *                READ data and READLINK link (results)
 *
 * and nothing else, in this or any other program; nothing at all under
 * RPCSEC_GSS integrity or privacy, or in its context establishment.
 *
 * Streams are passed as iovecs and are never changed. Everything here is a pure
 * function over bounded bytes: no allocation, no state, any thread; loops are
 * bounded by the input. A stream that ends early or contradicts itself gives
 * -EBADMSG, never a read out of bounds.
 *
 * The head of a Call is decoded once, by ulb_call_head(), and what it says stays
 * with whoever has the Call. All else that is asked of a Call takes that, goes on
 * where the arguments begin, and may be asked of less or more of the same stream.
 */
#ifndef RPCRDMA_NFS_H
#define RPCRDMA_NFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define ULB_MAX_ITEMS 16

#define ULB_PROG_NFS 100003

/*
 * One DDP-eligible data item: @length octets (without roundup) at octet
 * @position of the unreduced Payload stream (the octet after its length word,
 * which always stays in the stream). @present is false for the result of an
 * operation that failed or has no data arm: it still has its place in the
 * order, so that Write chunks pair with operations [H2].
 */
struct ulb_item {
	uint32_t position;
	uint32_t length;
	bool present;
};

/*
 * Classes of operations, for statistics: X(name, help). A COMPOUND is of the
 * last in this list of the classes of its operations.
 */
#define ULB_CLASSES(X)                                                      \
	X(other, "other programs, and what cannot be told")                 \
	X(null, "NULL, and contexts of RPCSEC_GSS")                         \
	X(protected, "COMPOUNDs under RPCSEC_GSS integrity or privacy")     \
	X(callback, "whatever a server asks a client")                      \
	X(session, "clients, sessions and leases")                          \
	X(lookup, "metadata read: GETATTR, LOOKUP, ACCESS, READLINK, ...")  \
	X(open, "OPEN, CLOSE, delegations, layouts")                        \
	X(lock, "LOCK, LOCKT, LOCKU")                                       \
	X(commit, "COMMIT")                                                 \
	X(change, "metadata changed: SETATTR, CREATE, REMOVE, RENAME, ...") \
	X(readdir, "READDIR, READDIRPLUS")                                  \
	X(read, "READ, READ_PLUS")                                          \
	X(write, "WRITE, and what a server writes itself: COPY, CLONE, ...")

enum ulb_class {
#define ULB_CLASS_ENUM(name, help) ULB_CLASS_##name,
	ULB_CLASSES(ULB_CLASS_ENUM)
#undef ULB_CLASS_ENUM
		ULB_NCLASSES
};

/* Its name in statistics; "other" of a number that is none. */
const char *ulb_class_name(unsigned int op_class);

/* What the head of an RPC Call says. */
struct ulb_call {
	uint32_t xid;
	uint32_t prog, vers, proc;
	uint32_t flavor; /* of the credential */
	uint32_t cred_len; /* likewise: octets of its body, without roundup */
	uint32_t gss_proc, gss_service; /* RPCSEC_GSS only */
	bool ddp; /* reduction is allowed by the credential [H3] */
	bool nfs; /* a program and version this binding knows */
	bool readable; /* it has been decoded to its end; else nfs is false */
	/* Where that is, and the arguments begin; or how far it could be read. */
	uint32_t body;
	/* The operations of a COMPOUND have been read as far as they can be, by
	 * whichever came first of ulb_take_reads(), ulb_classify() and
	 * ulb_scan_call(), so that what follows is set. */
	bool classified;
	uint32_t minor;
	enum ulb_class op_class;
	/* Likewise: among its operations, as far as they were read, is one */
	bool ends_session; /* DESTROY_SESSION */
	bool withheld; /* that a server is not shown: see ulb_find_withheld();
			  nothing behind it counts */
	/* TEST_STATEID asks for state of another client: see ulb_find_withheld(). */
	bool foreign;
	/* One that is executed, or might be, could not be read. */
	bool unread;
	/* One must not be executed twice; also true where that cannot be told. */
	bool once;
	/* Its SEQUENCE asks to keep a Reply with file data: see
	 * ulb_find_withheld(). */
	bool keeps_data;
	bool waits; /* 4.0: a LOCK asks to wait: see ulb_waiting_locks() */
	/* It ends or names state, which is this client's: as Ganesha numbers its
	 * clients. With a SEQUENCE, that of the session in any case. */
	bool has_client;
	uint64_t client;
	bool sequence; /* it begins with a SEQUENCE ... */
	uint8_t session[16]; /* ... of this session */
};

/* What a scan of the whole Call found. */
struct ulb_scan {
	/* Eligible arguments, in stream order. */
	unsigned int nargs;
	struct ulb_item args[ULB_MAX_ITEMS];
	/* Eligible results to expect, in operation order: the largest data
	 * each may return (READ's count; READLINK: 4096), and where in the
	 * stream its operation begins. */
	unsigned int nresults;
	uint32_t results[ULB_MAX_ITEMS];
	uint32_t origins[ULB_MAX_ITEMS];
	/* An upper bound for the Reply without those data items; 0: none can
	 * be told, use a generous one. */
	size_t reply_max;
};

/*
 * ulb_call_head - decode the head of a Call (RFC 5531, 9), as far as the
 * verifier. Enough of the stream for that must be in @iov. Could it be: as
 * c->readable says.
 */
void ulb_call_head(const struct iovec *iov, unsigned int niov,
		   struct ulb_call *c);

/* How a Call is denied (RFC 5531, 9). */
struct ulb_denial {
	const char *why; /* for a log */
	uint32_t auth_stat; /* AUTH_ERROR; 0: RPC_MISMATCH, as it is not version 2 */
	bool malformed; /* no client sends this that keeps to the RFCs */
};
/*
 * ulb_deny - must a Call be denied before a server sees it?
 *
 * Yes, if it is of another version of RPC, or unless its credential and verifier
 * have the form of RFC 5531, 8.2 and appendix A, or RFC 2203, 5; or are of a flavor
 * other than AUTH_NONE, AUTH_SYS and RPCSEC_GSS: what begins with AUTH_TLS (RFC 9289)
 * is not for RDMA. The token of a new context of RPCSEC_GSS must be within the Call.
 *
 * @iov: the whole Call. @handle: how many octets the handles have that this server
 * gives to contexts; 0: any. False and unchanged *@d also of what is no Call, or
 * ends before its verifier does: then ulb_call_head() cannot read it either.
 */
bool ulb_deny(const struct iovec *iov, unsigned int niov, uint32_t handle,
	      struct ulb_denial *d);

/*
 * ulb_classify - the class of the operation, unless it is known
 *
 * Of a COMPOUND no more is read than that takes. A body that cannot be read is
 * of the class of what can.
 */
void ulb_classify(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c);

/*
 * How many data item Read chunks a Responder takes with this Call [E3]:
 * NFSv3 WRITE and SYMLINK 1, other NFSv3 and other programs 0, NFSv4 COMPOUND
 * @compound_max; 0 where c->ddp is false.
 */
unsigned int ulb_max_read_chunks(const struct ulb_call *c,
				 unsigned int compound_max);

/* A Read chunk of a Call. */
struct ulb_read {
	uint32_t position;
	uint32_t length;
};
/*
 * ulb_take_reads - does a Responder take the Read chunks of a Call? [E3]
 *
 * @iov: the Call without what is in them; @c: its head, readable or not; @reads:
 * the first @n of @total, in order. They must not be more than are taken with this
 * Call, and each at the Position of an eligible argument (A.1). Only as far as the
 * Call can be read: beyond that, and if the head cannot be, it is the program that
 * refuses it. With an @n of 0 only their number is looked at. What is taken leaves
 * the head as it is.
 *
 * False: no; *@most: how many are taken of this Call as it is. True and
 * *@misfit: there is one whose length is not that of its argument (4.5.3.1),
 * with roundup or without, and nothing behind it has been looked at.
 */
bool ulb_take_reads(const struct iovec *iov, unsigned int niov,
		    struct ulb_call *c, const struct ulb_read *reads,
		    unsigned int n, unsigned int total,
		    unsigned int compound_max, unsigned int *most,
		    bool *misfit);

/*
 * ulb_scan_call - find the eligible arguments and results of a whole,
 * unreduced Call. Unknown programs give an empty scan. A COMPOUND with an
 * operation this binding does not know is scanned up to it; items after it
 * are not reduced, and scan->reply_max is 0.
 * 0; or -EBADMSG, and the scan is empty: nothing may be reduced and the Call goes
 * as it is.
 */
int ulb_scan_call(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c, struct ulb_scan *scan);

/*
 * ulb_args_end - where the arguments of a Call that may change something end
 *
 * @args: the stream that holds them, from octet @at on, and maybe more. False: they
 * cannot be read to their end, or are those of another procedure.
 */
bool ulb_args_end(const struct iovec *args, unsigned int n, size_t at,
		  const struct ulb_call *c, size_t *end);

/*
 * How much an operation brings or asks for: a word that may be made smaller, as
 * a server may take or return less than that (RFC 1813, 3.3.6, 3.3.7 and 3.3.16;
 * RFC 7530, 16.23 to 16.25 and 16.36).
 */
enum ulb_bulk_kind {
	ULB_BULK_READ, /* count of an eligible result */
	ULB_BULK_LIST, /* count of what comes in the stream: READDIR, READ_PLUS */
	ULB_BULK_WRITE, /* length of an eligible argument, which follows it */
};

struct ulb_bulk {
	enum ulb_bulk_kind kind;
	uint32_t at; /* where the word stands in the stream */
	uint32_t count; /* what it says */
	uint32_t also; /* where it is said once more (NFSv3 WRITE); or 0 */
	unsigned int nth; /* READ: eligible results before it */
};

/*
 * ulb_scan_bulk - what of this kind is in a Call, in order, at most @max
 *
 * The stream may end anywhere: what is in it is told, and of a WRITE at its end
 * the data need not be there. Nothing is told where the credential does not
 * allow a change. Returns how many there are, which may be more than @max.
 */
unsigned int ulb_scan_bulk(const struct iovec *iov, unsigned int niov,
			   const struct ulb_call *c, struct ulb_bulk *bulk,
			   unsigned int max);

/*
 * ulb_scan_reply - find the eligible results in the Reply to @c
 *
 * @chunk: NULL for an unreduced Reply. Otherwise the Reply has come through
 * @nchunk Write chunks: for each, in order, the octets returned in it;
 * UINT32_MAX stands for an empty chunk, whose item is inline [H2]. The octets
 * that are in chunks are not in @iov, but positions count as if they were,
 * with their roundup padding. Items beyond @nchunk are inline.
 *
 * Sets *@nitems (at most @max) and @items, one for every READ and READLINK of
 * the Reply in order, present or not; their lengths are those of the length
 * words. Returns 0 or -EBADMSG; a chunk whose length is neither that of its
 * item's length word nor that rounded up is -EBADMSG. The length of a chunk whose
 * item the Reply does not have is ignored, unless the Reply cannot be read so far
 * as to tell.
 *
 * The bytes of a data item itself are skipped, not read.
 */
int ulb_scan_reply(const struct ulb_call *c, const struct iovec *iov,
		   unsigned int niov, const uint32_t *chunk,
		   unsigned int nchunk, struct ulb_item *items,
		   unsigned int max, unsigned int *nitems);

/* Name of a procedure for logs and statistics, e.g. "NFSv3 READ". */
const char *ulb_proc_name(uint32_t prog, uint32_t vers, uint32_t proc);

/* ---- Sessions of NFSv4.1 (RFC 8881) ------------------------------------ */

#define ULB_SESSION_ID 16

/* channel_dir_from_client4 and channel_dir_from_server4 */
enum { ULB_DIR_FORE = 1, ULB_DIR_BACK, ULB_DIR_FORE_OR_BOTH };
#define ULB_DIR_BOTH ULB_DIR_FORE_OR_BOTH

/* sr_status_flags (18.46) */
#define ULB_SEQ_CB_PATH_DOWN_SESSION 0x00000200u
#define ULB_SEQ_BACKCHANNEL_FAULT 0x00000400u

enum ulb_session_event {
	ULB_SESSION_NONE,
	ULB_SESSION_BACK, /* the connection carries its back channel now */
	ULB_SESSION_ENDED,
};

/* What the results of a COMPOUND say of sessions. */
struct ulb_session {
	bool sequence; /* it has a SEQUENCE that succeeded */
	uint8_t of[ULB_SESSION_ID]; /* of this session */
	uint32_t flags; /* sr_status_flags, and where they stand */
	uint32_t flags_at;
	enum ulb_session_event event;
	uint8_t id[ULB_SESSION_ID]; /* to which that happened */
	/* ca_maxrequestsize of the back channel, if it was created; else 0. */
	uint32_t call_max;
	bool bound; /* the connection is bound to that one now */
	/* By BIND_CONN_TO_SESSION: the direction wanted (0: cannot be told)
	 * and given, and where the latter stands. */
	uint32_t wanted, given, given_at;
};

/*
 * ulb_read_session - the successful SEQUENCE, and CREATE_SESSION (18.36),
 * BIND_CONN_TO_SESSION (18.34) or DESTROY_SESSION (18.37) after it or alone
 *
 * @c: of the Call in @call; @results: the encoded results, from the COMPOUND's
 * status on, to which positions relate. No more is read than the first two
 * operations. What session was destroyed stands in the Call alone: that cannot be
 * told under RPCSEC_GSS integrity or privacy. 0 or -EBADMSG.
 */
int ulb_read_session(const struct ulb_call *c, const struct iovec *call,
		     unsigned int ncall, const struct iovec *results,
		     unsigned int nresults, struct ulb_session *s);

/* A DESTROY_SESSION among the operations of a COMPOUND: which one, and where its
 * session's identifier stands. */
struct ulb_stray {
	uint32_t index;
	size_t at;
};
/*
 * ulb_stray_end - the first DESTROY_SESSION of a session that is neither @bound
 * nor that of the SEQUENCE before it
 *
 * @args: the stream that holds the arguments of a COMPOUND, which begin at octet
 * @at. Operations are read as far as they can be. False: there is none.
 */
bool ulb_stray_end(const struct iovec *args, unsigned int n, size_t at,
		   bool (*bound)(void *ctx, const uint8_t id[ULB_SESSION_ID]),
		   void *ctx, struct ulb_stray *stray);
/* What a server is not shown of the operations of a COMPOUND. */
struct ulb_withheld {
	/* Where it stands how many there are. */
	size_t count_at;
	/* They cannot be read to their end: all are to be refused. Otherwise one of
	 * them: which, its number and where that stands, what is its status. */
	bool unread;
	uint32_t index, op, status;
	size_t at;
	/* Where sa_cachethis stands, if it is to be made false; else 0. */
	size_t cache_at;
};
/*
 * ulb_find_withheld - the first operation that a server is not shown; as
 * ulb_stray_end()
 *
 * NFS4ERR_NOTSUPP: GET_DIR_DELEGATION, READ_PLUS, LAYOUTERROR and LAYOUTSTATS.
 * NFS4ERR_RESOURCE (NFSv4.0): whichever comes second of one that creates (CREATE, OPEN
 * with OPEN4_CREATE) and one that returns file data (READ, READDIR): see withheld.h.
 * NFS4ERR_BAD_STATEID: one by which a COMPOUND ends or names state of another client
 * than its session's, or, without a session, of more than one client (CLOSE, DELEGRETURN,
 * LOCK; FREE_STATEID, RELEASE_LOCKOWNER; without a session TEST_STATEID). Not, in 4.0, of
 * clients of two instances of the server: it refuses one of them itself.
 * False: none, and all of them could be read. @withheld->cache_at is set either way.
 *
 * @foreign: is told of each stateid of another client that a TEST_STATEID before that
 * asks for, with a session: where the 12 octets stand that are behind its counter. They
 * may be changed then.
 */
bool ulb_find_withheld(const struct iovec *args, unsigned int n, size_t at,
		       void (*foreign)(void *ctx, size_t at), void *ctx,
		       struct ulb_withheld *withheld);
/*
 * ulb_waiting_locks - @lock() for each LOCK of NFSv4.0 whose locktype @type, at octet
 * @at of @args, is READW_LT or WRITEW_LT; as ulb_stray_end()
 */
void ulb_waiting_locks(const struct iovec *args, unsigned int n, size_t at,
		       void (*lock)(void *ctx, size_t at, uint32_t type),
		       void *ctx);
/*
 * ulb_empty_read - is it a READ of NFSv3 that asks for nothing? Then *@offset is
 * where from, and stands at octet *@offset_at, with the count behind it.
 */
bool ulb_empty_read(const struct iovec *args, unsigned int n, size_t at,
		    const struct ulb_call *c, size_t *offset_at,
		    uint64_t *offset);
/*
 * ulb_last_result - number and status of the operation that a COMPOUND has ended
 * with, if it has failed and was the one at @index
 *
 * @results: encoded, from the COMPOUND's status on, @len octets. 0 or -EBADMSG.
 */
int ulb_last_result(const struct iovec *results, unsigned int n, size_t len,
		    uint32_t index, uint32_t *op, uint32_t *status);

/* nfsstat4 of a CB_SEQUENCE that leaves its slot as it was (20.9.3) */
#define ULB_NFS4ERR_DELAY 10008u
/* ... and of one that the slot knows already */
#define ULB_NFS4ERR_RETRY_UNCACHED_REP 10068u

/*
 * ulb_read_callback - the status of the CB_SEQUENCE that comes first in a
 * CB_COMPOUND, from the whole Reply. 0; -EBADMSG if it is none, or not read.
 */
int ulb_read_callback(const struct iovec *reply, unsigned int n,
		      uint32_t *status);

#endif /* RPCRDMA_NFS_H */
