/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random sequences of everything ntirpc can encode and decode, so that one
 * stream can be held against another. An item goes through any XDR with
 * item_xdr(), for x_op encode, decode or free.
 */
#ifndef RPCRDMA_NTIRPC_ITEMS_H
#define RPCRDMA_NTIRPC_ITEMS_H

#include <rpc/rpc.h>
#include <rpc/xdr_inline.h>

#include "ntirpc_util.h"

enum item_kind {
	ITEM_INT,
	ITEM_UINT,
	ITEM_LONG,
	ITEM_ULONG,
	ITEM_I32,
	ITEM_U32,
	ITEM_I16,
	ITEM_U16,
	ITEM_I8,
	ITEM_U8,
	ITEM_I64,
	ITEM_U64,
	ITEM_QUAD,
	ITEM_UQUAD,
	ITEM_FLOAT,
	ITEM_DOUBLE,
	ITEM_BOOL,
	ITEM_ENUM,
	ITEM_INLINE, /* four words by xdr_inline_encode/decode */
	ITEM_OPAQUE,
	ITEM_BYTES,
	ITEM_STRING,
	ITEM_ARRAY,
	ITEM_POINTER,
	ITEM_KINDS
};

#define ITEM_MAX 9000

struct item {
	enum item_kind kind;
	union {
		int i;
		u_int u;
		long l;
		u_long ul;
		int32_t i32;
		uint32_t u32;
		int16_t i16;
		uint16_t u16;
		int8_t i8;
		uint8_t u8;
		int64_t i64;
		uint64_t u64;
		quad_t q;
		u_quad_t uq;
		float f;
		double d;
		bool_t b;
		enum_t e;
		uint32_t word[4];
		uint64_t *ptr;
	} v;
	char *data; /* opaque, bytes, string, array */
	u_int len;
};

static inline void item_make(struct item *it, uint64_t *rnd, size_t largest)
{
	memset(it, 0, sizeof(*it));
	it->kind = (enum item_kind)util_below(rnd, ITEM_KINDS);
	it->v.u64 = util_random(rnd);
	switch (it->kind) {
	case ITEM_LONG: /* only 32 bits travel, and their sign by chance */
		it->v.l = (uint32_t)it->v.u64 >> 1;
		break;
	case ITEM_ULONG:
		it->v.ul = (uint32_t)it->v.u64 >> 1;
		break;
	case ITEM_FLOAT:
		it->v.f = (float)util_below(rnd, 1000000) / 7;
		break;
	case ITEM_DOUBLE:
		it->v.d = (double)util_below(rnd, 1000000) / 7;
		break;
	case ITEM_BOOL:
		it->v.b = it->v.u64 & 1;
		break;
	case ITEM_INLINE:
		for (int i = 0; i < 4; i++)
			it->v.word[i] = (uint32_t)util_random(rnd);
		break;
	case ITEM_POINTER:
		it->v.ptr = it->v.u64 & 1 ? malloc(sizeof(uint64_t)) : NULL;
		if (it->v.ptr)
			*it->v.ptr = util_random(rnd);
		break;
	case ITEM_OPAQUE:
	case ITEM_BYTES:
	case ITEM_STRING:
	case ITEM_ARRAY:
		it->len = (u_int)util_below(rnd, largest);
		it->data = malloc(((size_t)it->len + 1) * sizeof(uint32_t));
		for (u_int i = 0; i < it->len * sizeof(uint32_t); i++)
			it->data[i] = (char)(1 + util_below(rnd, 255));
		it->data[it->kind == ITEM_STRING ? it->len : 0] = 0;
		if (it->kind == ITEM_STRING && it->len)
			it->data[0] = 'x';
		break;
	default:
		break;
	}
}

static inline bool item_words(XDR *xdrs, struct item *it)
{
	int32_t *buf;

	if (xdrs->x_op == XDR_ENCODE) {
		buf = xdr_inline_encode(xdrs, sizeof(it->v.word));
		for (int i = 0; i < 4; i++) {
			if (buf)
				IXDR_PUT_U_INT32(buf, it->v.word[i]);
			else if (!XDR_PUTUINT32(xdrs, it->v.word[i]))
				return false;
		}
		return true;
	}
	buf = xdr_inline_decode(xdrs, sizeof(it->v.word));
	for (int i = 0; i < 4; i++) {
		if (buf)
			it->v.word[i] = IXDR_GET_U_INT32(buf);
		else if (!XDR_GETUINT32(xdrs, &it->v.word[i]))
			return false;
	}
	return true;
}

static inline bool item_xdr(XDR *xdrs, struct item *it)
{
	switch (it->kind) {
	case ITEM_INT:
		return xdr_int(xdrs, &it->v.i);
	case ITEM_UINT:
		return xdr_u_int(xdrs, &it->v.u);
	case ITEM_LONG:
		return xdr_long(xdrs, &it->v.l);
	case ITEM_ULONG:
		return xdr_u_long(xdrs, &it->v.ul);
	case ITEM_I32:
		return xdr_int32_t(xdrs, &it->v.i32);
	case ITEM_U32:
		return xdr_uint32_t(xdrs, &it->v.u32);
	case ITEM_I16:
		return xdr_int16_t(xdrs, &it->v.i16);
	case ITEM_U16:
		return xdr_uint16_t(xdrs, &it->v.u16);
	case ITEM_I8:
		return xdr_int8_t(xdrs, &it->v.i8);
	case ITEM_U8:
		return xdr_uint8_t(xdrs, &it->v.u8);
	case ITEM_I64:
		return xdr_int64_t(xdrs, &it->v.i64);
	case ITEM_U64:
		return xdr_uint64_t(xdrs, &it->v.u64);
	case ITEM_QUAD:
		return xdr_longlong_t(xdrs, &it->v.q);
	case ITEM_UQUAD:
		return xdr_u_longlong_t(xdrs, &it->v.uq);
	case ITEM_FLOAT:
		return xdr_float(xdrs, &it->v.f);
	case ITEM_DOUBLE:
		return xdr_double(xdrs, &it->v.d);
	case ITEM_BOOL:
		return xdr_bool(xdrs, &it->v.b);
	case ITEM_ENUM:
		return xdr_enum(xdrs, &it->v.e);
	case ITEM_INLINE:
		return item_words(xdrs, it);
	case ITEM_OPAQUE:
		return xdr_opaque(xdrs, it->data, it->len);
	case ITEM_BYTES:
		return xdr_bytes(xdrs, &it->data, &it->len, ITEM_MAX);
	case ITEM_STRING:
		return xdr_string(xdrs, &it->data, ITEM_MAX);
	case ITEM_ARRAY:
		return xdr_array(xdrs, &it->data, &it->len, ITEM_MAX,
				 sizeof(uint32_t), (xdrproc_t)xdr_u_int);
	case ITEM_POINTER:
		return xdr_pointer(xdrs, (void **)&it->v.ptr, sizeof(uint64_t),
				   (xdrproc_t)xdr_u_longlong_t);
	default:
		return false;
	}
}

/* An empty item of the same kind, to decode into. */
static inline struct item item_blank(const struct item *it)
{
	struct item blank = { .kind = it->kind };

	if (it->kind == ITEM_OPAQUE) {
		blank.len = it->len;
		blank.data = malloc((size_t)it->len + 1);
	}
	return blank;
}

static inline bool item_equal(const struct item *a, const struct item *b)
{
	switch (a->kind) {
	case ITEM_INT:
	case ITEM_UINT:
	case ITEM_I32:
	case ITEM_U32:
	case ITEM_FLOAT:
	case ITEM_BOOL:
	case ITEM_ENUM:
		return a->v.u32 == b->v.u32;
	case ITEM_I16:
	case ITEM_U16:
		return a->v.u16 == b->v.u16;
	case ITEM_I8:
	case ITEM_U8:
		return a->v.u8 == b->v.u8;
	case ITEM_INLINE:
		return !memcmp(a->v.word, b->v.word, sizeof(a->v.word));
	case ITEM_OPAQUE:
	case ITEM_BYTES:
		return a->len == b->len &&
		       (!a->len || !memcmp(a->data, b->data, a->len));
	case ITEM_ARRAY:
		return a->len == b->len &&
		       (!a->len ||
			!memcmp(a->data, b->data, a->len * sizeof(uint32_t)));
	case ITEM_STRING:
		return !strcmp(a->data, b->data);
	case ITEM_POINTER:
		return a->v.ptr && b->v.ptr ? *a->v.ptr == *b->v.ptr :
					      !a->v.ptr == !b->v.ptr;
	default:
		return a->v.u64 == b->v.u64;
	}
}

static inline void item_free(struct item *it)
{
	if (it->kind == ITEM_POINTER)
		free(it->v.ptr);
	free(it->data);
}

#endif /* RPCRDMA_NTIRPC_ITEMS_H */
