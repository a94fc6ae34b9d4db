/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs - which data items of NFS are DDP-eligible, and where they stand
 *
 * The Upper-Layer Binding for version 2 (docs/protocol.md, H1 to H3), prefix ulb_:
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
 * @position of the unreduced Payload stream, behind its length word, which
 * stays in the stream. @present is false for the result of an operation that
 * failed or has no data arm: it keeps its place in the order, so that Write
 * chunks pair with operations [H2].
 */
struct ulb_item {
	uint32_t position;
	uint32_t length;
	bool present;
};

/*
 * Classes of operations, for statistics: X(name, help). The class of a COMPOUND
 * is the last in this list among those of its operations.
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

/* Returns the name in statistics; "other" for an unknown number. */
const char *ulb_class_name(unsigned int op_class);

/* What the head of an RPC Call says. */
struct ulb_call {
	uint32_t xid;
	uint32_t prog, vers, proc;
	uint32_t flavor; /* of the credential */
	uint32_t cred_len; /* of its body, in octets without roundup */
	uint32_t gss_proc, gss_service; /* RPCSEC_GSS only */
	bool ddp; /* reduction is allowed by the credential [H3] */
	bool nfs; /* a program and version this binding knows */
	bool readable; /* decoded to its end; otherwise nfs is false */
	/* Where the arguments begin; or how far the head could be read. */
	uint32_t body;
	/* The operations of a COMPOUND have been read as far as possible by
	 * ulb_take_reads(), ulb_classify() or ulb_scan_call(), and what follows
	 * is set. */
	bool classified;
	uint32_t minor;
	enum ulb_class op_class;
	bool ends_session; /* one of the operations read is a DESTROY_SESSION */
	/* One is not shown to the server, see ulb_find_withheld(). Nothing
	 * behind it counts. */
	bool withheld;
	/* A TEST_STATEID asks for state of another client, see
	 * ulb_find_withheld(). */
	bool foreign;
	/* An operation that is or may be executed could not be read. */
	bool unread;
	/* An operation must not be executed twice, or that is unknown. */
	bool once;
	/* SEQUENCE asks to keep a Reply with file data, see
	 * ulb_find_withheld(). */
	bool keeps_data;
	bool waits; /* 4.0: a LOCK asks to wait, see ulb_waiting_locks() */
	/* It ends or names state of this client, by Ganesha's number. With a
	 * SEQUENCE, that of the session in any case. */
	bool has_client;
	uint64_t client;
	bool sequence; /* it begins with a SEQUENCE ... */
	uint8_t session[16]; /* ... of this session */
};

/* The result of scanning a whole Call. */
struct ulb_scan {
	/* Eligible arguments, in stream order. */
	unsigned int nargs;
	struct ulb_item args[ULB_MAX_ITEMS];
	/* Expected eligible results, in operation order: the longest data of
	 * each (READ's count; READLINK: 4096), and where in the stream its
	 * operation begins. */
	unsigned int nresults;
	uint32_t results[ULB_MAX_ITEMS];
	uint32_t origins[ULB_MAX_ITEMS];
	/* An upper bound of the Reply without those data items; 0: unknown. */
	size_t reply_max;
};

/*
 * ulb_call_head - decode the head of a Call up to the verifier (RFC 5531, 9)
 *
 * @iov must have that much of the stream. Sets c->readable if it was decoded.
 */
void ulb_call_head(const struct iovec *iov, unsigned int niov,
		   struct ulb_call *c);

/* How a Call is denied (RFC 5531, 9). */
struct ulb_denial {
	const char *why; /* for the log */
	uint32_t auth_stat; /* AUTH_ERROR; 0: RPC_MISMATCH */
	bool malformed; /* violates the RFCs */
};
/*
 * ulb_deny - must a Call be denied before a server sees it?
 *
 * Returns true for another version of RPC, for a credential or verifier without
 * the form of RFC 5531, 8.2 and appendix A, or RFC 2203, 5, and for flavors
 * other than AUTH_NONE, AUTH_SYS and RPCSEC_GSS: AUTH_TLS (RFC 9289) is not for
 * RDMA. The token of a new context of RPCSEC_GSS must be within the Call.
 *
 * @iov: the whole Call. @handle: the length of this server's context handles;
 * 0: any. Returns false and leaves *@d alone also for what is no Call, or ends
 * before its verifier: ulb_call_head() cannot read it either.
 */
bool ulb_deny(const struct iovec *iov, unsigned int niov, uint32_t handle,
	      struct ulb_denial *d);

/*
 * ulb_classify - set c->op_class, unless it is known
 *
 * Reads no more of a COMPOUND than needed. If the body cannot be read, the part
 * that can be read counts.
 */
void ulb_classify(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c);

/*
 * Returns how many data item Read chunks a Responder accepts with this Call
 * [E3]: NFSv3 WRITE and SYMLINK 1, COMPOUND @compound_max, others 0; 0 if
 * c->ddp is false.
 */
unsigned int ulb_max_read_chunks(const struct ulb_call *c,
				 unsigned int compound_max);

/* A Read chunk of a Call. */
struct ulb_read {
	uint32_t position;
	uint32_t length;
};
/*
 * ulb_take_reads - does a Responder accept the Read chunks of a Call? [E3]
 *
 * @iov: the Call without what is in them; @c: its head, readable or not;
 * @reads: the first @n of @total, in order. They must not exceed the accepted
 * number, and each must be at the Position of an eligible argument (A.1), as
 * far as the Call can be read: beyond that the program refuses it. With @n 0
 * only the number counts. The head stays as it is if they are accepted.
 *
 * Returns false if not accepted, and sets *@most to how many are accepted. With
 * true, *@misfit says that the length of one is not that of its argument, with
 * or without roundup (4.5.3.1); nothing behind it was read.
 */
bool ulb_take_reads(const struct iovec *iov, unsigned int niov,
		    struct ulb_call *c, const struct ulb_read *reads,
		    unsigned int n, unsigned int total,
		    unsigned int compound_max, unsigned int *most,
		    bool *misfit);

/*
 * ulb_scan_call - find the eligible arguments and results of a whole, unreduced
 * Call
 *
 * Empty for unknown programs. A COMPOUND is scanned up to an operation that
 * this binding does not know; items behind that are not reduced, and
 * scan->reply_max is 0. Returns 0; or -EBADMSG with an empty scan: the Call
 * must be sent unreduced.
 */
int ulb_scan_call(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c, struct ulb_scan *scan);

/*
 * ulb_args_end - find the end of the arguments of a Call that may change
 * something
 *
 * @args: a stream with the arguments from octet @at on. Returns false if they
 * cannot be read to their end, or belong to another procedure.
 */
bool ulb_args_end(const struct iovec *args, unsigned int n, size_t at,
		  const struct ulb_call *c, size_t *end);

/*
 * A word that says how much an operation transfers, and may be reduced, as a
 * server may take or return less (RFC 1813, 3.3.6, 3.3.7 and 3.3.16; RFC 7530,
 * 16.23 to 16.25 and 16.36).
 */
enum ulb_bulk_kind {
	ULB_BULK_READ, /* count of an eligible result */
	ULB_BULK_LIST, /* count of what comes inline: READDIR, READ_PLUS */
	ULB_BULK_WRITE, /* length of the eligible argument that follows */
};

struct ulb_bulk {
	enum ulb_bulk_kind kind;
	uint32_t at; /* position of the word */
	uint32_t count; /* its value */
	uint32_t also; /* position of the same value again (NFSv3 WRITE), or 0 */
	unsigned int nth; /* READ: eligible results before it */
};

/*
 * ulb_scan_bulk - find the first @max of these words, in order
 *
 * The stream may end anywhere, also before the data of a WRITE. Nothing is
 * found if the credential does not allow a change. Returns how many there are,
 * which may exceed @max.
 */
unsigned int ulb_scan_bulk(const struct iovec *iov, unsigned int niov,
			   const struct ulb_call *c, struct ulb_bulk *bulk,
			   unsigned int max);

/*
 * ulb_scan_reply - find the eligible results in the Reply to @c
 *
 * @chunk: NULL for an unreduced Reply. Otherwise the octets returned in each of
 * @nchunk Write chunks, in order; UINT32_MAX for an empty chunk, whose item is
 * inline [H2]. Octets in chunks are not in @iov, but positions count as if they
 * were, with their roundup. Items beyond @nchunk are inline.
 *
 * Sets *@nitems (at most @max) and @items, one for each READ and READLINK in
 * order, present or not, with the lengths of the length words. Returns 0 or
 * -EBADMSG, also if a chunk's length is neither that of the item nor that
 * rounded up. The length of a chunk without an item in the Reply is ignored,
 * unless the Reply cannot be read that far. The data items themselves are
 * skipped, not read.
 */
int ulb_scan_reply(const struct ulb_call *c, const struct iovec *iov,
		   unsigned int niov, const uint32_t *chunk,
		   unsigned int nchunk, struct ulb_item *items,
		   unsigned int max, unsigned int *nitems);

/* Returns a name for logs and statistics, e.g. "NFSv3 READ". */
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

/* What the results of a COMPOUND say about sessions. */
struct ulb_session {
	bool sequence; /* a SEQUENCE succeeded */
	uint8_t of[ULB_SESSION_ID]; /* its session */
	uint32_t flags; /* sr_status_flags, and their position */
	uint32_t flags_at;
	enum ulb_session_event event;
	uint8_t id[ULB_SESSION_ID]; /* the session of the event */
	/* ca_maxrequestsize of a back channel just created; else 0. */
	uint32_t call_max;
	bool bound; /* the connection is bound to that session now */
	/* EXCHANGE_ID or SETCLIENTID: the server's number of the client. */
	bool named;
	uint64_t client;
	/* BIND_CONN_TO_SESSION: the direction wanted (0: unknown) and given,
	 * and the position of the latter. */
	uint32_t wanted, given, given_at;
};

/*
 * ulb_read_session - read a successful SEQUENCE, and EXCHANGE_ID (18.35),
 * CREATE_SESSION (18.36), BIND_CONN_TO_SESSION (18.34) or DESTROY_SESSION (18.37)
 * after it or alone; of NFSv4.0 SETCLIENTID (RFC 7530, 16.33)
 *
 * @c: the head of @call. @results: the encoded results from the COMPOUND's
 * status on, to which positions refer. Only the first two operations are read.
 * The destroyed session is in the Call alone, and unknown under RPCSEC_GSS
 * integrity or privacy. Returns 0 or -EBADMSG.
 */
int ulb_read_session(const struct ulb_call *c, const struct iovec *call,
		     unsigned int ncall, const struct iovec *results,
		     unsigned int nresults, struct ulb_session *s);

/*
 * ulb_client_owner - get the name that a client gives itself: co_ownerid of an
 * EXCHANGE_ID, or id of a SETCLIENTID, that begins a COMPOUND
 *
 * @args: a stream with the arguments of a COMPOUND from octet @at on. Sets @name
 * to its beginning, as printable ASCII: a question mark stands for any other
 * octet. Returns false if there is none.
 */
bool ulb_client_owner(const struct iovec *args, unsigned int n, size_t at,
		      char *name, size_t room);

/* A DESTROY_SESSION in a COMPOUND: its index, and the position of its session. */
struct ulb_stray {
	uint32_t index;
	size_t at;
};
/*
 * ulb_stray_end - find the first DESTROY_SESSION of a session that is neither
 * @bound nor that of the SEQUENCE before it
 *
 * @args: a stream with the arguments of a COMPOUND from octet @at on, read as
 * far as possible. Returns false if there is none.
 */
bool ulb_stray_end(const struct iovec *args, unsigned int n, size_t at,
		   bool (*bound)(void *ctx, const uint8_t id[ULB_SESSION_ID]),
		   void *ctx, struct ulb_stray *stray);
/* What a server is not shown of a COMPOUND. */
struct ulb_withheld {
	/* Position of the number of operations. */
	size_t count_at;
	/* The operations cannot be read to their end: refuse all. Otherwise
	 * refuse one: its index, number, position and status. */
	bool unread;
	uint32_t index, op, status;
	size_t at;
	/* Position of sa_cachethis, if that must be made false; else 0. */
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
 * ulb_waiting_locks - call @lock() for each LOCK of NFSv4.0 whose locktype
 * @type, at octet @at of @args, is READW_LT or WRITEW_LT; see ulb_stray_end()
 */
void ulb_waiting_locks(const struct iovec *args, unsigned int n, size_t at,
		       void (*lock)(void *ctx, size_t at, uint32_t type),
		       void *ctx);
/*
 * ulb_empty_read - returns true for a READ of NFSv3 with count 0
 *
 * Sets *@offset, and *@offset_at to its position, behind which is the count.
 */
bool ulb_empty_read(const struct iovec *args, unsigned int n, size_t at,
		    const struct ulb_call *c, size_t *offset_at,
		    uint64_t *offset);
/*
 * ulb_last_result - get number and status of the last operation of a failed
 * COMPOUND, which must be the one at @index
 *
 * @results: @len encoded octets from the COMPOUND's status on. Returns 0 or
 * -EBADMSG.
 */
int ulb_last_result(const struct iovec *results, unsigned int n, size_t len,
		    uint32_t index, uint32_t *op, uint32_t *status);

/* nfsstat4 of a CB_SEQUENCE that leaves its slot as it was (20.9.3) */
#define ULB_NFS4ERR_DELAY 10008u
/* ... and of one that the slot knows already */
#define ULB_NFS4ERR_RETRY_UNCACHED_REP 10068u

/*
 * ulb_read_callback - get the status of the CB_SEQUENCE that begins a
 * CB_COMPOUND, from its whole Reply. Returns 0 or -EBADMSG.
 */
int ulb_read_callback(const struct iovec *reply, unsigned int n,
		      uint32_t *status);

#endif /* RPCRDMA_NFS_H */
