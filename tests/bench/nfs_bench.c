/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_bench - rpcrdma-bench: the order of the measurements
 *
 * Threads: one.
 */
#include "nfs_bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ4K 4096

static int bench_alloc(struct bench *b)
{
	size_t n = b->o.block + BENCH_PERIOD;

	for (unsigned int i = 0; i < b->o.ndepths; i++)
		if (b->o.depth[i] > b->nslots)
			b->nslots = b->o.depth[i];
	b->nslots *= b->o.connections;
	b->slots = calloc(b->nslots, sizeof(*b->slots));
	b->heads = malloc((size_t)b->nslots * BENCH_HEAD);
	b->pattern = malloc(n);
	if (!b->slots || !b->heads || !b->pattern)
		return -ENOMEM;
	for (size_t o = 0; o < n; o++)
		b->pattern[o] = (uint8_t)(7 * o + (o >> 8));
	for (unsigned int i = 0; i < b->nslots; i++) {
		b->slots[i].b = b;
		b->slots[i].index = i;
		b->slots[i].head = b->heads + (size_t)i * BENCH_HEAD;
	}
	b->xid = (uint32_t)(base_now_ns() >> 10);
	return 0;
}

/* In their order. */
static const struct bench_load loads[] = {
	{ TEST_NULL, "null", BENCH_NULL, READ4K, false, false },
	{ TEST_READ4K, "read4k", BENCH_READ, READ4K, true, false },
	{ TEST_READSEQ, "readseq", BENCH_READ, 0, false, false },
	{ TEST_WRITESEQ, "writeseq", BENCH_WRITE, 0, false, false },
	{ TEST_WRITE4K, "write4k", BENCH_WRITE, READ4K, true, false },
	{ TEST_MIXED4K, "mixed4k", BENCH_READ, READ4K, true, true },
};

static int measure_all(struct bench *b)
{
	const unsigned int reads = TEST_READ4K | TEST_READSEQ | TEST_MIXED4K;
	const struct bench_options *o = &b->o;
	int rc = 0;

	if (o->tests & reads) {
		if (o->fill)
			rc = bench_pass(b, BENCH_WRITE, true);
		if (!rc && o->verify)
			rc = bench_pass(b, BENCH_READ, true);
	}
	for (size_t n = 0; n < sizeof(loads) / sizeof(loads[0]); n++)
		for (unsigned int i = 0; i < o->ndepths && !rc; i++)
			if (o->tests & loads[n].test)
				rc = bench_measure(b, &loads[n], o->depth[i]);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	int status = 1, rc;

	if (!b)
		return 1;
	if (!bench_options(&b->o, b, argc, argv, &status))
		goto out;
	status = 1;
	signal(SIGPIPE, SIG_IGN);
	b->carrier = b->o.rdma ? &bench_rdma : &bench_tcp;
	rc = bench_alloc(b);
	if (!rc && b->o.tests != TEST_NULL)
		rc = bench_setup(b);
	if (!rc)
		rc = b->carrier->open(b);
	if (!rc)
		rc = measure_all(b);
	if (rc)
		fprintf(stderr, "rpcrdma-bench: %s\n",
			b->error ? b->error_text : strerror(-rc));
	else
		status = 0;
	b->carrier->close(b);
out:
	free(b->pattern);
	free(b->heads);
	free(b->slots);
	free(b);
	return status;
}
