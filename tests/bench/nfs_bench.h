/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_bench - a load generator for NFSv3
 *
 * The same requests, at the same depth, over plain TCP (nfs_tcp.c) or over
 * RPC-over-RDMA (nfs_rdma.c). One thread does everything. Files hold the
 * pattern (7 * offset + (offset >> 8)) mod 256, so that what comes back can be
 * checked anywhere, and one buffer serves all WRITEs.
 */
#ifndef RPCRDMA_BENCH_NFS_H
#define RPCRDMA_BENCH_NFS_H

#include <sys/types.h>

#include "base/clock.h"
#include "tools/args.h"
#include "tools/latency.h"
#include "rpcargs.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"

#define BENCH_HEAD 512
#define BENCH_PERIOD 65536u
#define BENCH_FH_MAX 64
#define BENCH_DEPTHS 8
#define BENCH_PIDS 8
#define BENCH_CONNECTIONS 64

enum bench_kind {
	BENCH_NULL,
	BENCH_READ,
	BENCH_WRITE,
};

enum bench_test {
	TEST_NULL = 1 << 0,
	TEST_READ4K = 1 << 1,
	TEST_READSEQ = 1 << 2,
	TEST_WRITESEQ = 1 << 3,
	TEST_WRITE4K = 1 << 4,
	TEST_MIXED4K = 1 << 5, /* two READs for each WRITE */
};

struct bench_options {
	bool rdma;
	struct arg_addr server;
	struct arg_addr nfs, mount; /* TCP, for finding the file */
	const char *provider;
	const char *path, *file; /* export and name in it */
	struct rt_config config;
	bool fill, verify, unstable;
	enum fab_crc crc;
	unsigned int tests;
	unsigned int ndepths, depth[BENCH_DEPTHS]; /* of each connection */
	unsigned int connections;
	unsigned int npids;
	pid_t pid[BENCH_PIDS];
	double seconds;
	uint64_t calls; /* so many of each test; 0: for so long */
	uint64_t rate; /* Calls a second, one at a time; 0: as many as can be */
	uint32_t block; /* of sequential I/O */
	uint64_t file_size;
};

struct bench;

struct bench_slot {
	struct bench *b;
	unsigned int index;
	bool busy;
	uint32_t xid;
	enum bench_kind kind;
	uint64_t offset;
	uint32_t count;
	uint64_t start;
	uint8_t *head; /* BENCH_HEAD octets; the Call up to its data */
	size_t head_len;
	uint8_t *data; /* where READ's data is, once complete */
	void *priv; /* the carrier's */
};

/* How Calls travel. Each returns 0 or a negative errno. */
struct bench_carrier {
	const char *name;
	int (*open)(struct bench *b);
	/* Send slot->head and, for WRITE, the pattern. */
	int (*submit)(struct bench *b, struct bench_slot *s);
	/* Wait up to @ms; calls bench_done() for what has come. */
	int (*run)(struct bench *b, int ms);
	void (*close)(struct bench *b);
};

extern const struct bench_carrier bench_tcp, bench_rdma;

struct bench {
	struct bench_options o;
	const struct bench_carrier *carrier;
	void *priv; /* the carrier's */
	unsigned int nslots;
	struct bench_slot *slots;
	uint8_t *heads; /* nslots * BENCH_HEAD */
	uint8_t *pattern; /* block + BENCH_PERIOD octets */
	uint8_t fh[BENCH_FH_MAX];
	size_t fh_len;
	uint32_t xid;
	int error; /* the first; ends the run */
	char error_text[160];

	/* The measurement under way. */
	enum bench_kind kind;
	uint32_t count;
	bool random, checking, mixed;
	uint64_t next; /* block */
	uint64_t left; /* Calls, with o.calls */
	uint64_t gap; /* ns between the beginnings of two, with o.rate */
	uint64_t until; /* ns, no more Calls after; or blocks when checking */
	unsigned int busy;
	uint64_t ops, bytes, rnd;
	struct latency lat;
};

/* nfs_load.c */
void bench_fail(struct bench *b, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The Reply to @s: @p, @len are it up to a READ's data, whose @data_len octets
 * are at s->data.
 */
void bench_done(struct bench *b, struct bench_slot *s, const uint8_t *p,
		size_t len, size_t data_len);
struct bench_slot *bench_slot_of(struct bench *b, uint32_t xid);
/* Every block of the file once, written or read and checked. */
int bench_pass(struct bench *b, enum bench_kind kind, bool check);
struct bench_load {
	unsigned int test; /* enum bench_test */
	const char *name;
	enum bench_kind kind;
	uint32_t count; /* 0: of a block */
	bool random, mixed;
};
/* For b->o.seconds, or b->o.calls Calls, at @depth; prints one line. */
int bench_measure(struct bench *b, const struct bench_load *l,
		  unsigned int depth);

/* nfs_setup.c: find or make the file over TCP; fills fh. */
int bench_setup(struct bench *b);

/* nfs_options.c: false after a message, or after --help (*@status 0). */
bool bench_options(struct bench_options *o, struct bench *b, int argc,
		   char **argv, int *status);

#endif /* RPCRDMA_BENCH_NFS_H */
