/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode - an example for librpcrdma-wire: print headers of RPC-over-RDMA
 *
 *	cc decode.c $(pkg-config --cflags --libs rpcrdma-wire) -o decode
 *	./decode --make | ./decode
 *
 * Reads messages from standard input, one a line, in hexadecimal digits, and
 * prints what they say. With --make it prints some instead. Exit status 1 if a
 * message was none.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rpcrdma/wire.h>

#define MOST 4096

/* ---- Encode ----------------------------------------------------------- */

static void print_hex(const uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x", buf[i]);
	printf("\n");
}

static int make(void)
{
	const uint32_t xid = 0x1234;
	/* Values are in network byte order: 8192. */
	static const uint8_t size[] = { 0, 0, 0x20, 0 };
	const struct wire_prop props[] = {
		{ .which = RDMA2_PROPID_RBSIZ, .data = size, .len = 4 },
	};
	/* Where a READ's data are to go. */
	const struct wire_segment seg = { 0xabcd, 65536, 0x7000 };
	const struct wire_chunk_desc write = { &seg, 1 };
	const struct wire_call_desc call = {
		.inv_handle = seg.handle,
		.writes = &write,
		.nwrites = 1,
	};
	uint8_t buf[MOST];
	struct wire_enc rest;
	size_t len;

	len = wire_encode_connprop(buf, sizeof(buf), 1, 32, true, props, 1);
	print_hex(buf, len);

	/* The RPC message follows the header; its first word is the XID. */
	len = wire_encode_call(buf, sizeof(buf), xid, 32, false, &call);
	wire_enc_init(&rest, buf + len, sizeof(buf) - len);
	wire_put_u32(&rest, xid);
	wire_put_u32(&rest, 0); /* a Call; the rest is left out */
	if (!len || rest.overflow)
		return 1;
	print_hex(buf, len + rest.len);
	return 0;
}

/* ---- Decode ----------------------------------------------------------- */

static void print_segment(const char *what, const struct wire_segment *s)
{
	printf("  %s: handle %#" PRIx32 ", length %" PRIu32 ", offset %#" PRIx64
	       "\n",
	       what, s->handle, s->length, s->offset);
}

static void print_reads(const char *what, const struct wire_list *reads)
{
	struct wire_iter it = { 0 };
	struct wire_read_segment seg;

	while (wire_read_next(reads, &it, &seg)) {
		printf("  position %" PRIu32 "\n", seg.position);
		print_segment(what, &seg.target);
	}
}

static void print_chunk(const char *what, const struct wire_list *chunk)
{
	struct wire_iter it = { 0 };
	struct wire_segment seg;

	while (wire_segment_next(chunk, &it, &seg))
		print_segment(what, &seg);
}

static void print_lists(const struct wire_msg *m)
{
	struct wire_iter chunks = { 0 }, props = { 0 };
	struct wire_list chunk;
	struct wire_prop prop;

	print_reads("Call chunk", &m->call);
	print_reads("Read chunk", &m->reads);
	while (wire_chunk_next(&m->writes, &chunks, &chunk))
		print_chunk("Write chunk", &chunk);
	if (m->has_reply)
		print_chunk("Reply chunk", &m->reply);
	while (wire_prop_next(&m->props, &props, &prop)) {
		printf("  %s", wire_propid_name(prop.which));
		if (prop.len == 4)
			printf(": %" PRIu32, wire_prop_u32(&prop, 0));
		printf("\n");
	}
}

static bool decode(const uint8_t *buf, size_t len)
{
	enum wire_status status = WIRE_SHORT;
	struct wire_prefix p;
	struct wire_msg m;

	if (!wire_prefix_decode(buf, len, &p)) {
		printf("%s\n", wire_status_name(status));
		return false;
	}
	/* In the middle of a continued message, false instead of true. */
	status = p.vers == WIRE_VERS1 ? wire1_decode(buf, len, &m) :
					wire_decode(buf, len, true, &m);
	printf("XID %#" PRIx32 ", version %" PRIu32 ", credit %" PRIu32
	       ", %s: %s\n",
	       p.xid, p.vers, p.credit,
	       p.vers == WIRE_VERS1 ? wire1_proc_name(p.htype) :
				      wire_htype_name(p.htype),
	       wire_status_name(status));
	if (status != WIRE_OK)
		return false;
	print_lists(&m);
	if (m.payload_len)
		printf("  payload of %zu octets, behind a header of %zu\n",
		       m.payload_len, m.header_len);
	return true;
}

/* The octets of a line of hexadecimal digits: how many, 0 if it is none. */
static size_t from_hex(const char *line, uint8_t *buf, size_t size)
{
	size_t len = 0;
	unsigned int octet;

	for (; isxdigit((unsigned char)line[0]) && len < size; line += 2) {
		if (sscanf(line, "%2x", &octet) != 1 ||
		    !isxdigit((unsigned char)line[1]))
			return 0;
		buf[len++] = (uint8_t)octet;
	}
	return *line == '\0' || *line == '\n' ? len : 0;
}

int main(int argc, char **argv)
{
	static char line[2 * MOST + 2];
	static uint8_t buf[MOST];
	bool good = true;

	if (argc > 1 && !strcmp(argv[1], "--make"))
		return make();
	while (fgets(line, sizeof(line), stdin))
		good &= decode(buf, from_hex(line, buf, sizeof(buf)));
	return !good;
}
