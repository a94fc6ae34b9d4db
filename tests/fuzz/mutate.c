/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutate - libFuzzer's mutator, with a grammar for what the targets read
 *
 * Random octets seldom get past the first field that has to be right. So every other
 * mutation derives octets from the grammar below: a whole input from MUTATE_START, or a
 * part from an item of MUTATE_PARTS, which takes the place of as much of the input or is
 * inserted. The others are libFuzzer's own.
 *
 * A rule is a list of alternatives of items, with | between them. An item is
 *
 *	#HEX;	a word			%HH	an octet
 *	x	the XID of this input	p	a Position in an XDR stream
 *	u	any word		s	a small word
 *	y	any octet		b	some octets, a multiple of 4
 *	<I	opaque<> of item I	+I	an array of some I, with its count
 *	*I	some I, each after a TRUE, and a FALSE	?I	I after a TRUE, or a FALSE
 *	&I	I after its length, an octet	@I	I after its length, two octets
 *	!I	I as a record, RFC 5531 11	~I	one to eight times I
 *
 * or the name of another rule. One item in 32 is not what the grammar says.
 */
#include "fuzz.h"

#define RUN_MAX 4096

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed);

static const char *const rules[128] = {
	/* Segments, Read segments, Call chunks, and other chunks. */
	['S'] = "uu#0;u|uuuu",
	['R'] = "pS|pS|pS|#0;S",
	['Z'] = "#0;S",
	['C'] = "+S",
	/* Version 2: what is behind rdma_htype. */
	['E'] = "#1;ss|#2;|#3;|#4;|#5;|#6;s|#7;s|#8;s|#9;su|#a;u|#b;|#64;|ub",
	['P'] = "#1;<u|#2;<u|#3;<u|#4;<s|#5;<s|#6;<T|s<b|#10000001;<b|u<b",
	['T'] = "<k|<b|u",
	['k'] = "#1;<b|#2;<b|#3;<b|uub",
	['D'] = "K|A|xs|xb",
	['d'] = "u*Z*R*C?C",
	['e'] = "u*R*C?CD",
	/* Version 1: likewise. */
	['h'] = "*R*C?CD",
	['i'] = "*R*C?C",
	/* Calls of NFS: credentials, verifier, procedures of version 3, operations. */
	['N'] = "b",
	['Y'] = "#0;#0;|#0;#0;|#1;<U|#6;<G",
	['U'] = "u<Nuu+u",
	['G'] = "#1;sus<N|#1;ss#1;<N",
	['V'] = "#0;#0;|#6;<N",
	['I'] = "#7;YV<Nuuus<N|#6;YV<Nuuu|#5;YV<N|#a;YV<N<N#0;#0;#0;#0;#0;#0;<N|"
		"#10;YV<Nuuuuu|#11;YV<Nuuuuuu|#0;YV|#1;YV<N|sYVb",
	['Q'] = "#16;<N|#18;|#35;uuuuuuus|#19;uuuuuuu|#26;uuuuuus<N|#1b;|#9;+u|"
		"#1a;uuuuuu+u|#f;<N|#a;|#20;|#1f;|#5;uuu|#6;#5;<N<N+u<N|"
		"#2c;uuuu|#29;uuuuss|#44;uuuuuuu|#2b;uuuuuuuuuu#0;uuuuuu#0;u+s|ub",
	['K'] = "x#0;#2;#186a3;#3;I|x#0;#2;#186a3;#4;#1;YV<Ns+Q|"
		"x#0;#2;#40000000;#1;#1;YV<Nss+Q|x#0;#2;uuuYVb",
	/* Replies: attributes, results of operations, results. */
	['w'] = "uuuuuuuuuuuuuuuuuuuuu",
	['r'] = "#16;#0;|#18;#0;|#35;#0;uuuuuuuuu|#19;#0;s<N|#1b;#0;<N|#26;#0;usuu|"
		"#9;#0;+u<N|#1a;#0;uu#0;s|#44;#0;s+m|#f;s|ub",
	['m'] = "#0;uu<N|#1;uuuu",
	['a'] = "#0;?wss<N|#0;?w<N|#0;?wuu#0;s|s?w|#0;<N+r|#0;<N+r|b",
	['A'] = "x#1;#0;V#0;a|x#1;#0;V#0;a|x#1;#0;Vsb|x#1;#1;#0;uu|x#1;#1;#1;s",
	/* Steps of the scripts for an RDMA peer, for host authentication, for TCP. */
	['J'] = "%10%00%00%04&E|%10%00%00%06&+P|%10%00%00%07&+P|%10%00%00%08&d|"
		"%10%00%00%09&D|%10%00%00%0a&e|%10%00%00%0b&f|%10%00%00%0c&D|"
		"%10%00%00%0d&g|%10%00%00%00&h|%10%00%00%01&i|yyyyyyyy|yyyy|%0b|%8b|%1c|%08",
	['f'] = "*C?C",
	['g'] = "*CD",
	['j'] = "%02&k|%12&k|%00yy|%10yyy|%03&k|yyyy|yy|%8b",
	['t'] = "%39@K|%39@K|%19@K|%b9y@K|%19@A|%09@M|%0a|%1ay|%3a|%0b|%8b|"
		"%04%00%00y%00%00%02&A|%04%00%00%02&A|%05yyyyyyyy|yyyy|J",
	['M'] = "!K|!A|b",
	/* Whole inputs. */
	['1'] = "%ff%00K|y%00K",
	['2'] = "%00D|%01yD",
	['3'] = "%02y~J|%03y~J|%06y~J|%07y~J|yy~J",
	['4'] = "yyy~j",
	['5'] = "%05y~t|%0dy~t|%07y~t|yy~t",
};

struct out {
	uint8_t octets[RUN_MAX];
	size_t len;
	uint32_t seed, xid, position;
};

static uint32_t below(struct out *o, uint32_t n)
{
	/* xorshift32 */
	o->seed ^= o->seed << 13;
	o->seed ^= o->seed >> 17;
	o->seed ^= o->seed << 5;
	return o->seed % n;
}

static void octet(struct out *o, uint32_t v)
{
	if (o->len < RUN_MAX)
		o->octets[o->len++] = (uint8_t)v;
}

static void word(struct out *o, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		octet(o, v >> shift);
}

/* Small, a length, next to a power of two or to 2^32, or any. */
static uint32_t any_word(struct out *o)
{
	uint32_t kind = below(o, 8);

	if (kind < 3)
		return below(o, 9);
	if (kind < 5)
		return 4 * below(o, 256);
	if (kind < 7)
		return (1u << below(o, 32)) - below(o, 5);
	return o->seed;
}

/* What was made since @at, behind its length or number of @n. */
static void measure(struct out *o, size_t at, uint32_t n)
{
	if (!below(o, 32))
		n += below(o, 2) ? 1 : any_word(o);
	if (at + 4 <= o->len)
		fuzz_put32(o->octets + at, n);
}

static const char *item(struct out *o, const char *p);

static void rule(struct out *o, unsigned char name)
{
	const char *p = rules[name];
	unsigned int n = 1;

	for (const char *q = p; *q; q++)
		n += *q == '|';
	for (n = below(o, n); n; p++)
		n -= *p == '|';
	while (*p && *p != '|')
		p = item(o, p);
}

/* Derive the item at @p. Returns what is behind it. */
static const char *item(struct out *o, const char *p)
{
	size_t at = o->len, n;
	const char *end = p + 1;
	uint32_t count = 0;
	bool wrong = !below(o, 32);

	switch (*p) {
	case '#':
		count = (uint32_t)strtoul(p + 1, (char **)&end, 16);
		word(o, wrong ? any_word(o) : count);
		return end + 1;
	case '%':
		sscanf(p + 1, "%2x", &count);
		octet(o, wrong ? below(o, 256) : count);
		return p + 3;
	case 'x':
		word(o, wrong ? any_word(o) : o->xid);
		return end;
	case 'p':
		o->position += 4 * below(o, 40);
		word(o, wrong ? any_word(o) : o->position);
		return end;
	case 'u':
		word(o, any_word(o));
		return end;
	case 's':
		word(o, wrong ? any_word(o) : below(o, 9));
		return end;
	case 'y':
		octet(o, below(o, 256));
		return end;
	case 'b':
		for (count = 4 * below(o, wrong ? 60 : 8); count; count--)
			octet(o, below(o, 2) ? below(o, 256) : 0);
		return end;
	case '<':
	case '!':
		word(o, 0);
		end = item(o, p + 1);
		n = o->len - at - 4;
		measure(o, at,
			*p == '!' ? 1u << 31 | (uint32_t)n : (uint32_t)n);
		return end;
	case '+':
		word(o, 0);
		for (count = 0; count < 9 && below(o, 3); count++)
			end = item(o, p + 1);
		measure(o, at, count);
		break;
	case '*':
		while (below(o, 5) < 2) {
			word(o, wrong ? any_word(o) : 1);
			end = item(o, p + 1);
		}
		word(o, 0);
		break;
	case '?':
		count = below(o, 2);
		word(o, count);
		if (count)
			end = item(o, p + 1);
		break;
	case '&':
	case '@':
		octet(o, 0);
		if (*p == '@')
			octet(o, 0);
		end = item(o, p + 1);
		n = o->len - at - 1 - (*p == '@');
		if (at < o->len)
			o->octets[at] = (uint8_t)(*p == '@' ? n >> 8 : n);
		if (*p == '@' && at + 1 < o->len)
			o->octets[at + 1] = (uint8_t)n;
		return end;
	case '~':
		for (count = 1 + below(o, 8); count; count--)
			end = item(o, p + 1);
		return end;
	default:
		rule(o, (unsigned char)*p);
		return end;
	}
	/* An item that was not derived has to be passed over all the same. */
	if (end == p + 1) {
		n = o->len;
		end = item(o, p + 1);
		o->len = n;
	}
	return end;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed)
{
	static const char parts[] = MUTATE_PARTS;
	static struct out o;
	size_t at, cut;

	o.seed = seed * 2654435761u | 1;
	if (below(&o, 2))
		return LLVMFuzzerMutate(data, size, max);
	o.len = 0;
	o.position = 0;
	o.xid = 1 + below(&o, 3) * 0x100;
	if (!size || !below(&o, 4)) {
		rule(&o, MUTATE_START[0]);
		if (o.len > max)
			o.len = max;
		memcpy(data, o.octets, o.len);
		return o.len;
	}
	item(&o, &parts[below(&o, sizeof(parts) - 1)]);
	/* Words are aligned to the end of an input: what precedes them is not. */
	at = size - 4 * below(&o, (uint32_t)size / 4 + 1);
	cut = below(&o, 2) ? o.len : 0;
	if (cut > size - at)
		cut = size - at;
	if (size - cut + o.len > max)
		return LLVMFuzzerMutate(data, size, max);
	memmove(data + at + o.len, data + at + cut, size - at - cut);
	memcpy(data + at, o.octets, o.len);
	return size - cut + o.len;
}
