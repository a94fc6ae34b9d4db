/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire - the octets of RPC-over-RDMA versions 2 and 1 and of RFC 8797 data
 * Prefix: wire_, and wire1_ for version 1.
 *
 * Pure functions over bounded byte ranges: no I/O, no allocation, no state.
 * Any thread may call anything here at any time.
 *
 * A decoder accepts any bytes of any length, never reads beyond them, and takes
 * time at most proportional to their length. Its results point into the message
 * ("views"), so the message must outlive them. The decoder validates lists
 * once; the iterators that walk them cannot fail.
 *
 * An encoder appends to a struct wire_enc and remembers if it ran out of room;
 * the caller checks once, at the end.
 *
 * Section numbers are those of draft-ietf-nfsv4-rpcrdma-version-two-07 unless
 * an RFC is named. References in brackets, such as [C5], are items of
 * docs/protocol.md, which says how the draft is read here.
 */
#ifndef RPCRDMA_WIRE_H
#define RPCRDMA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERS1 1
#define WIRE_VERS2 2

/* The shortest message that is looked at, 6.2.1 [C1]. */
#define WIRE_PREFIX_LEN 16
/* The largest first message of a client, 4.3. */
#define WIRE_FIRST_MESSAGE_MAX 1024
/* Both inline thresholds before properties are exchanged, 4.2.2. */
#define WIRE_DEFAULT_INLINE 4096
/* A Read segment in a list: discriminator, position, segment. */
#define WIRE_READ_LEN 24
#define WIRE_DEFAULT_SEGMENT_SIZE 1048576
#define WIRE_DEFAULT_SEGMENTS 16
/* Both inline thresholds of version 1 without private data, RFC 8166 3.3.3. */
#define WIRE1_DEFAULT_INLINE 1024
/* The shortest version 1 message but for errors, RFC 8166 4.5. */
#define WIRE1_HEADER_MIN 28

/* rdma_htype, 6.3. 0 to 3 are the version 1 procedures and invalid [C12]. */
enum wire_htype {
	RDMA2_ERROR = 4,
	RDMA2_GRANT = 5,
	RDMA2_CONNPROP_MIDDLE = 6,
	RDMA2_CONNPROP_FINAL = 7,
	RDMA2_CALL_EXTERNAL = 8,
	RDMA2_CALL_MIDDLE = 9,
	RDMA2_CALL_INLINE = 10,
	RDMA2_REPLY_EXTERNAL = 11,
	RDMA2_REPLY_MIDDLE = 12,
	RDMA2_REPLY_INLINE = 13,
};

/* rdma_proc of version 1, in the place of rdma_htype, RFC 8166 4.2.4. */
enum wire1_proc {
	RDMA1_MSG = 0,
	RDMA1_NOMSG = 1,
	RDMA1_MSGP = 2, /* no longer supported, RFC 8166 4.6 */
	RDMA1_DONE = 3, /* likewise */
	RDMA1_ERROR = 4,
};

/* rdma_err, section 7. */
enum wire_errcode {
	RDMA2_ERR_VERS = 1,
	RDMA2_ERR_BAD_XDR = 2,
	RDMA2_ERR_BAD_PROPVAL = 3,
	RDMA2_ERR_INVAL_HTYPE = 4,
	RDMA2_ERR_INVAL_CONT = 5,
	RDMA2_ERR_READ_CHUNKS = 6,
	RDMA2_ERR_WRITE_CHUNKS = 7,
	RDMA2_ERR_SEGMENTS = 8,
	RDMA2_ERR_WRITE_RESOURCE = 9,
	RDMA2_ERR_REPLY_RESOURCE = 10,
	RDMA2_ERR_VERS_MISMATCH = 11,
	RDMA2_ERR_SYSTEM = 100,
	/* ERR_CHUNK of version 1 is 2 on the wire, as BAD_XDR is; what it says
	 * is another thing, so it is kept apart. */
	RDMA1_ERR_CHUNK = 0x10002,
};

/* Property identifiers, 5.2. */
enum wire_propid {
	RDMA2_PROPID_SBSIZ = 1, /* Maximum Send Size, 5.2.1 */
	RDMA2_PROPID_RBSIZ = 2, /* Receive Buffer Size, 5.2.2 */
	RDMA2_PROPID_RSSIZ = 3, /* Maximum Segment Size, 5.2.3 */
	RDMA2_PROPID_RCSIZ = 4, /* Maximum Segment Count, 5.2.4 */
	RDMA2_PROPID_BRS = 5, /* Reverse-Direction Support, 5.2.5 */
	RDMA2_PROPID_HOSTAUTH = 6, /* Host Authentication Message, 5.2.6 */
};

enum wire_reverse {
	RDMA2_RVRSDIR_NONE = 0,
	RDMA2_RVRSDIR_SIMPLE = 1,
	RDMA2_RVRSDIR_CONT = 2,
	RDMA2_RVRSDIR_GENL = 3,
};

/* The four words that begin every message of every version, 6.2.1. */
struct wire_prefix {
	uint32_t xid;
	uint32_t vers;
	uint32_t credit;
	uint32_t htype;
};

/* struct rpcrdma2_segment */
struct wire_segment {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

/* struct rpcrdma2_read_segment */
struct wire_read_segment {
	uint32_t position;
	struct wire_segment target;
};

/*
 * A validated list inside a message. @count: read segments of a Read list,
 * chunks of a Write list, segments of a chunk. @segments: segments in all.
 * @bytes: sum of the segments' lengths.
 */
struct wire_list {
	const uint8_t *data;
	size_t len;
	uint32_t count;
	uint32_t segments;
	uint64_t bytes;
};

/* One property. @data points at @len octets (without roundup). */
struct wire_prop {
	uint32_t which;
	const uint8_t *data;
	uint32_t len;
};

/* The arms of rpcrdma2_hdr_error, 6.3.1 and section 7. */
struct wire_error {
	uint32_t code;
	uint32_t vers_low, vers_high; /* ERR_VERS */
	uint32_t max_chunks; /* READ_CHUNKS, WRITE_CHUNKS */
	uint32_t max_segments; /* SEGMENTS */
	uint32_t chunk_index; /* WRITE_RESOURCE, from 1; 0 unknown */
	uint32_t length_needed; /* WRITE_RESOURCE, REPLY_RESOURCE */
};

/* What a message is to the RPC layer. */
enum wire_role {
	WIRE_CONTROL = 0,
	WIRE_CALL,
	WIRE_REPLY,
};

/*
 * A decoded message. Only the fields of its header type are set; lists not
 * present in the type have count 0. @has_reply tells an absent Reply chunk
 * from an empty one. Version 1 messages use the same fields, their
 * Position-Zero Read chunk being the Call chunk.
 */
struct wire_msg {
	struct wire_prefix p;
	enum wire_role role;
	/* The payload is in a Call or Reply chunk. */
	bool external;
	struct wire_error error; /* ERROR */
	struct wire_list props; /* CONNPROP_*: count of properties */
	uint32_t inv_handle; /* CALL_EXTERNAL, CALL_INLINE */
	uint32_t remaining; /* *_MIDDLE */
	struct wire_list call; /* CALL_EXTERNAL: the Call chunk */
	struct wire_list reads; /* CALL_EXTERNAL, CALL_INLINE */
	struct wire_list writes; /* CALL_*, REPLY_*: (provisional) Write list */
	struct wire_list reply; /* the Reply chunk: count is its segments */
	bool has_reply;
	/* The Payload stream: begins with rdma_rpc_first_word [C5]. */
	const uint8_t *payload;
	size_t payload_len;
	size_t header_len;
	/* Octets after a header type that has no payload [C6]; ignored. */
	size_t surplus;
};

enum wire_status {
	WIRE_OK = 0,
	WIRE_SHORT, /* under 16 octets: drop in silence [C1] */
	WIRE_VERSION, /* rdma_vers is not 2: only .p is set */
	WIRE_BAD_HTYPE, /* answer RDMA2_ERR_INVAL_HTYPE */
	WIRE_BAD_XDR, /* answer RDMA2_ERR_BAD_XDR */
	WIRE_BAD_PROPVAL, /* answer RDMA2_ERR_BAD_PROPVAL */
	WIRE_BAD_ERROR, /* an unreadable or unknown ERROR: drop [E10] */
	WIRE_IGNORE, /* version 1: to be dropped without an answer */
};

/*
 * wire_prefix_decode - the first four words, whatever the version
 * Returns false if @len is under WIRE_PREFIX_LEN.
 */
bool wire_prefix_decode(const void *buf, size_t len, struct wire_prefix *p);

/*
 * wire_decode - decode and validate one version 2 message
 *
 * Checks what one message can show by itself: discriminators, list ends,
 * Position rules of 4.5.1 and [C7], [C8] (multiple of four, never decreasing,
 * not zero in rdma_reads, zero in rdma_call, no chunk inside the rounded
 * extent of the one before, the Call chunk not empty), at least four octets
 * of payload where the type has one [C5], property lengths [E2], and that the
 * first payload word of an INLINE that has no continuation before it equals
 * rdma_xid only if @check_xid is true (7.2; the caller knows whether a
 * sequence is in progress). For a MIDDLE likewise.
 *
 * A REPLY_EXTERNAL has exactly one Reply chunk (6.3.8). On anything but
 * WIRE_SHORT, m->p and m->role are valid; on WIRE_BAD_ERROR m->error.code is
 * the code or 0; without WIRE_OK all else is zero. Section 6.3, 8.
 */
enum wire_status wire_decode(const void *buf, size_t len, bool check_xid,
			     struct wire_msg *m);

/*
 * wire_error_decode - the body of an RDMA2_ERROR whatever its rdma_vers
 *
 * ERR_VERS and ERR_VERS_MISMATCH carry the version of the message that they
 * refuse, so wire_decode() may answer WIRE_VERSION to them [B1], [B3]. False
 * if the message is no error or an unreadable or unknown one [E10]; then
 * e->code is the code as far as it could be read, else 0.
 */
bool wire_error_decode(const void *buf, size_t len, struct wire_error *e);

/*
 * wire1_decode - decode and validate one version 1 message, RFC 8166 4
 *
 * The same for version 1. m->role comes from the RPC message's msg_type, and
 * without one in the header (RDMA_NOMSG) from the presence of a Read list or a
 * Reply chunk [G4]; RDMA_MSG with less than that of a payload is WIRE_IGNORE,
 * and so is RDMA_DONE. WIRE_BAD_HTYPE and WIRE_BAD_XDR are answered with
 * ERR_CHUNK unless m->role is WIRE_REPLY (RFC 8166 4.5); m->role is
 * WIRE_CONTROL if it cannot be told, as where the header breaks off.
 * A Read list has its segments in the order of their Positions. A Reply must
 * have no Read list, and a Reply chunk as used in RDMA_NOMSG only.
 */
enum wire_status wire1_decode(const void *buf, size_t len, struct wire_msg *m);

/* Iterators over validated lists. Zero a struct wire_iter to begin. */
struct wire_iter {
	size_t pos;
	uint32_t index;
};

/* Next Read segment of m->call or m->reads; false at the end. */
bool wire_read_next(const struct wire_list *l, struct wire_iter *it,
		    struct wire_read_segment *seg);
/* Next chunk of a Write list, as a list of segments; false at the end. */
bool wire_chunk_next(const struct wire_list *writes, struct wire_iter *it,
		     struct wire_list *chunk);
/* Next segment of a chunk (or of the Reply chunk); false at the end. */
bool wire_segment_next(const struct wire_list *chunk, struct wire_iter *it,
		       struct wire_segment *seg);
/* Next property; false at the end. */
bool wire_prop_next(const struct wire_list *props, struct wire_iter *it,
		    struct wire_prop *prop);
/*
 * The value of a uint32 property. A zero-length value stands for the default
 * (5.1 [F1]): then returns @dflt.
 */
uint32_t wire_prop_u32(const struct wire_prop *p, uint32_t dflt);
/* The inner octets of a HOSTAUTH value; false if it is zero-length, or no
 * opaque<>. */
bool wire_prop_opaque(const struct wire_prop *p, const uint8_t **data,
		      uint32_t *len);

/*
 * Encoding. wire_enc_init sets a buffer; every wire_put_* appends. After the
 * first that does not fit, nothing more is written and overflow stays set.
 */
struct wire_enc {
	uint8_t *buf;
	size_t size;
	size_t len;
	bool overflow;
};

void wire_enc_init(struct wire_enc *e, void *buf, size_t size);
void wire_put_u32(struct wire_enc *e, uint32_t v);
void wire_put_u64(struct wire_enc *e, uint64_t v);
/* Opaque octets without a length word, padded with zeros to four. */
void wire_put_octets(struct wire_enc *e, const void *data, size_t len);
void wire_put_prefix(struct wire_enc *e, const struct wire_prefix *p);
void wire_put_segment(struct wire_enc *e, const struct wire_segment *s);
/* One entry of a Read list, with the discriminator before it. */
void wire_put_read(struct wire_enc *e, const struct wire_read_segment *s);
/* The counted array of a Write or Reply chunk (no discriminator). */
void wire_put_chunk(struct wire_enc *e, const struct wire_segment *s,
		    uint32_t count);
/* Discriminator before an optional entry, or the end of a list (false). */
void wire_put_bool(struct wire_enc *e, bool more);

/*
 * Whole headers. Each writes prefix (rdma_vers 2, its own rdma_htype) and
 * body and returns the header's length in octets, or 0 if it does not fit.
 */
struct wire_chunk_desc {
	const struct wire_segment *seg;
	uint32_t count;
};

struct wire_call_desc {
	uint32_t inv_handle;
	const struct wire_read_segment *call; /* CALL_EXTERNAL only */
	uint32_t ncall;
	const struct wire_read_segment *reads;
	uint32_t nreads;
	const struct wire_chunk_desc *writes;
	uint32_t nwrites;
	const struct wire_chunk_desc *reply; /* NULL: none */
};

struct wire_reply_desc {
	const struct wire_chunk_desc *writes;
	uint32_t nwrites;
	/* May be NULL. Version 2 encodes it in REPLY_EXTERNAL only. */
	const struct wire_chunk_desc *reply;
};

size_t wire_encode_grant(void *buf, size_t size, uint32_t credit);
/*
 * @vers is what the offending message said: ERR_VERS and ERR_VERS_MISMATCH
 * echo it, all other codes pass 2. ERR_VERS is 28 octets [B1].
 */
size_t wire_encode_error(void *buf, size_t size, uint32_t xid, uint32_t vers,
			 uint32_t credit, const struct wire_error *err);
/* @props: @count values; data may be NULL where len is 0. */
size_t wire_encode_connprop(void *buf, size_t size, uint32_t xid,
			    uint32_t credit, bool final,
			    const struct wire_prop *props, uint32_t count);
size_t wire_encode_call(void *buf, size_t size, uint32_t xid, uint32_t credit,
			bool external, const struct wire_call_desc *d);
size_t wire_encode_reply(void *buf, size_t size, uint32_t xid, uint32_t credit,
			 bool external, const struct wire_reply_desc *d);
/* CALL_MIDDLE or REPLY_MIDDLE; @remaining as [D1]. */
size_t wire_encode_middle(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  bool reply, uint32_t remaining);

/* The length that wire_encode_call or _reply would return. */
size_t wire_call_len(bool external, const struct wire_call_desc *d);
size_t wire_reply_len(bool external, const struct wire_reply_desc *d);

/*
 * The same in version 1. External is RDMA_NOMSG: of a Call, its Call chunk
 * becomes the Position-Zero Read chunk. @d->inv_handle is not sent. An error
 * is ERR_VERS or, whatever else its code says, ERR_CHUNK.
 */
size_t wire1_encode_call(void *buf, size_t size, uint32_t xid, uint32_t credit,
			 bool external, const struct wire_call_desc *d);
size_t wire1_encode_reply(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  bool external, const struct wire_reply_desc *d);
size_t wire1_encode_error(void *buf, size_t size, uint32_t xid, uint32_t vers,
			  uint32_t credit, const struct wire_error *err);
size_t wire1_call_len(bool external, const struct wire_call_desc *d);
size_t wire1_reply_len(bool external, const struct wire_reply_desc *d);

/*
 * struct rpcrdma2_propsubset, 5.1 [F6]: bit N mod 32 of word N div 32, bit 0
 * the least significant.
 */
bool wire_subset_test(const uint8_t *words, uint32_t nwords, uint32_t bit);

/*
 * RFC 8797 CM private data: eight octets, "F6 AB 0E 18", version 1, flags,
 * send size, receive size.
 */
#define WIRE_CM_LEN 8
struct wire_cm_private {
	bool remote_invalidation; /* R */
	uint32_t send_size; /* octets, 1024 to 262144 */
	uint32_t recv_size;
};

/* Encode; sizes are rounded down to 1024s and clamped [P3]. */
void wire_cm_encode(uint8_t out[WIRE_CM_LEN], const struct wire_cm_private *p);
/* Search at any offset [P2]; false: absent or of another version. */
bool wire_cm_decode(const void *buf, size_t len, struct wire_cm_private *p);

/* Names for logs: never NULL; "?" for the unknown. */
const char *wire_htype_name(uint32_t htype);
const char *wire1_proc_name(uint32_t proc);
const char *wire_errcode_name(uint32_t code);
const char *wire_propid_name(uint32_t propid);
const char *wire_status_name(enum wire_status s);

#endif /* RPCRDMA_WIRE_H */
