/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_call KIND - a server of the transport answers one Call of a raw peer: null,
 * read (a result by RDMA Write) or write (an argument by RDMA Read)
 *
 * Built with --coverage, so that tests/architecture/passed can tell which files it
 * went through. A Call of the same kind has gone before: nothing is counted that
 * happens once.
 */
#include <string.h>
#include <unistd.h>

#include <CUnit/CUnit.h>

#include "rt_raw.h"

void __gcov_reset(void);
void __gcov_dump(void);

#define ITEM 5000
#define HEAD 68 /* octets of rt_pair's Call before its data */

static bool one(struct rt_raw *r, const char *what, uint32_t xid)
{
	bool read = !strcmp(what, "read"), write = !strcmp(what, "write");
	struct wire_call_desc d = { 0 };
	struct wire_read_segment argument;
	struct wire_chunk_desc result;
	struct wire_segment seg;
	size_t n = rt_raw_payload(r->mem, xid, 8, read, ITEM, write ? ITEM : 0);

	if (write) {
		argument.position = HEAD;
		argument.target = rt_raw_expose(r, HEAD, ITEM, false);
		d.reads = &argument;
		d.nreads = 1;
		n = HEAD;
	} else if (read) {
		seg = rt_raw_expose(r, 16384, ITEM, true);
		result = (struct wire_chunk_desc){ &seg, 1 };
		d.writes = &result;
		d.nwrites = 1;
	}
	rt_raw_call(r, xid, &d, r->mem, n);
	return rt_raw_is_reply(r, xid);
}

static const char *kind;

static void test(void)
{
	static struct rt_raw r;
	bool ok;

	if (!rt_raw_client(&r, NULL) || !rt_raw_greet(&r) || !one(&r, kind, 1))
		_exit(1);
	__gcov_reset();
	ok = one(&r, kind, 2);
	__gcov_dump();
	/* What comes now is no part of it. */
	_exit(!ok);
}

int main(int argc, char **argv)
{
	kind = argc > 1 ? argv[1] : "";
	/* Within a test: what rt_raw asserts needs one. */
	if (CU_initialize_registry() ||
	    !CU_add_test(CU_add_suite("call", NULL, NULL), kind, test))
		return 1;
	CU_run_all_tests();
	return 1;
}
