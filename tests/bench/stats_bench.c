/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_bench - what the statistics of one Call cost the server
 *
 * What is always on: the clock, the histograms of the stages, the class of the
 * operation and its counters, each as the server does it, on one thread with
 * warm caches. Prints nanoseconds as a table. With everything left out there
 * would be a Call without statistics.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rpcrdma/opclass.h"
#include "rpcrdma/nfs.h"

#define TIMES 2000000
#define ROUNDS 7

static struct rt_histogram stage[RT_NSTAGES];
static struct rt_classes classes;
static uint32_t stream[256];
static struct iovec iov = { .iov_base = stream };
static uint64_t sink; /* so that nothing is left out */

static void words(const uint32_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		stream[i] = htobe32(w[i]);
	iov.iov_len = n * 4;
}

/* A READ as Linux asks for it, but for the octets of handles. */
static void nfs3(void)
{
	static const uint32_t call[] = { 1, 0, 2,  100003, 3, 6, 1, 8, 0, 0,
					 0, 0, 16, 1,	   2, 3, 4, 0, 0, 4096 };

	words(call, sizeof(call) / 4);
}

static void nfs4(const uint32_t *ops, size_t n, uint32_t count)
{
	uint32_t call[256] = { 1, 0, 2, 100003, 4, 1,		1,
			       8, 0, 0, 0,	0, 0 /* tag */, 2 /* minor */ };

	call[14] = count;
	memcpy(call + 15, ops, n * 4);
	words(call, 15 + n);
}

/* SEQUENCE, PUTFH, READ */
static void nfs4_read(void)
{
	static const uint32_t ops[] = { 53, 1, 2, 3,  4, 1, 0, 0, 0, 22, 16,  1,
					2,  3, 4, 25, 1, 2, 3, 4, 0, 0,	 4096 };

	nfs4(ops, sizeof(ops) / 4, 3);
}

/* SEQUENCE, PUTFH, LOOKUP, GETFH, GETATTR */
static void nfs4_lookup(void)
{
	static const uint32_t ops[] = { 53, 1, 2, 3,  4, 1, 0,	0, 0, 22, 16, 1,
					2,  3, 4, 15, 4, 7, 10, 9, 2, 5,  6 };

	nfs4(ops, sizeof(ops) / 4, 5);
}

static void clock_only(uint64_t i)
{
	sink += base_now_ns();
}

/* dispatch, execute, write, send */
static void stages(uint64_t i)
{
	for (unsigned int s = 0; s < 4; s++)
		rt_histogram_add(&stage[s], (i * 977 + s * 5000) & 0xfffff);
}

static void counters(uint64_t i)
{
	rt_class_add(&classes.of[i % ULB_NCLASSES], 128, 0, 4224, 4096,
		     (i * 977) & 0xfffff);
}

static void classify(uint64_t i)
{
	struct ulb_call c;

	ulb_call_head(&iov, 1, &c);
	ulb_classify(&iov, 1, &c);
	sink += c.op_class;
}

/* The processor's own time: others use it, too. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static double measure(void (*what)(uint64_t))
{
	double best = 0;

	for (unsigned int r = 0; r < ROUNDS; r++) {
		uint64_t from = cpu_ns(), ns;

		for (uint64_t i = 0; i < TIMES; i++) {
			what(i);
			__asm__ volatile("" ::: "memory");
		}
		ns = cpu_ns() - from;
		if (!r || (double)ns / TIMES < best)
			best = (double)ns / TIMES;
	}
	return best;
}

int main(void)
{
	double now = measure(clock_only), four = measure(stages);
	double count = measure(counters), v3, read, lookup;

	nfs3();
	v3 = measure(classify);
	nfs4_read();
	read = measure(classify);
	nfs4_lookup();
	lookup = measure(classify);
	puts("| Statistics of a Call | ns |\n|---|--:|");
	printf("| the clock, 5 times | %.0f |\n", 5 * now);
	printf("| histograms of 4 stages | %.0f |\n", four);
	printf("| counters of its class | %.0f |\n", count);
	printf("| its class: NFSv3 READ | %.0f |\n", v3);
	printf("| its class: SEQUENCE, PUTFH, READ | %.0f |\n", read);
	printf("| its class: SEQUENCE, PUTFH, LOOKUP, GETFH, GETATTR | %.0f |\n",
	       lookup);
	printf("| all of it, for that last one | %.0f |\n",
	       5 * now + four + count + lookup);
	return sink == 1;
}
