/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_options - the command line of rpcrdma-bench
 *
 * Threads: one.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfs_bench.h"

static const char usage[] =
	"usage: rpcrdma-bench --transport tcp|rdma --server ADDR:PORT [OPTION...]\n"
	"Load an NFSv3 server; one line of key=value for each measurement.\n"
	"\n"
	"  --transport KIND      tcp: record marking; rdma: RPC-over-RDMA version 2\n"
	"  --server ADDR:PORT    where Calls go (port 2049, with rdma 20049)\n"
	"  --mount ADDR:PORT     MOUNT over TCP, for the root's handle\n"
	"  --nfs ADDR:PORT       NFSv3 over TCP, to make the file\n"
	"  --path PATH           the export (/export)\n"
	"  --file NAME           the file in it (bench.data)\n"
	"  --handle HEX          the file's handle, instead of the four above\n"
	"  --tests LIST          of null, read4k, readseq, writeseq, write4k,\n"
	"                        mixed4k: two READs for each WRITE (the first four)\n"
	"  --depth LIST          Calls in flight (1,16,64)\n"
	"  --connections N       each with so many in flight (1)\n"
	"  --seconds S           for each measurement (5)\n"
	"  --calls N             so many for each, and not for so long\n"
	"  --rate N              so many a second, one at a time\n"
	"  --file-size OCTETS    (64M)\n"
	"  --block OCTETS        of sequential I/O, 4K to 2M (1M)\n"
	"  --server-pid PID      count its CPU time; may be repeated\n"
	"  --file-sync           WRITE with FILE_SYNC instead of UNSTABLE\n"
	"  --no-verify           do not read the file back and check it first\n"
	"  --no-fill             nor write it: it is there already\n"
	"  --provider NAME --credits N --recv-size OCTETS \n"
	"  --version-rdma 1|2|any --crc on|off|auto --extensions LIST\n"
	"  --busy-poll US        poll for so long before sleeping, by TCP, too (0)\n"
	"  --help\n";

enum opt {
	OPT_TRANSPORT = 256,
	OPT_SERVER,
	OPT_MOUNT,
	OPT_NFS,
	OPT_PATH,
	OPT_FILE,
	OPT_HANDLE,
	OPT_TESTS,
	OPT_DEPTH,
	OPT_CONNECTIONS,
	OPT_SECONDS,
	OPT_CALLS,
	OPT_RATE,
	OPT_FILE_SIZE,
	OPT_BLOCK,
	OPT_PID,
	OPT_SYNC,
	OPT_NO_VERIFY,
	OPT_NO_FILL,
	OPT_PROVIDER,
	OPT_RDMA,
	OPT_CREDITS,
	OPT_RECV,
	OPT_CRC,
	OPT_BUSY_POLL,
	OPT_EXTENSIONS,
	OPT_HELP,
};

static const struct option options[] = {
	{ "transport", required_argument, NULL, OPT_TRANSPORT },
	{ "server", required_argument, NULL, OPT_SERVER },
	{ "mount", required_argument, NULL, OPT_MOUNT },
	{ "nfs", required_argument, NULL, OPT_NFS },
	{ "path", required_argument, NULL, OPT_PATH },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "handle", required_argument, NULL, OPT_HANDLE },
	{ "tests", required_argument, NULL, OPT_TESTS },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "calls", required_argument, NULL, OPT_CALLS },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "file-size", required_argument, NULL, OPT_FILE_SIZE },
	{ "block", required_argument, NULL, OPT_BLOCK },
	{ "server-pid", required_argument, NULL, OPT_PID },
	{ "file-sync", no_argument, NULL, OPT_SYNC },
	{ "no-verify", no_argument, NULL, OPT_NO_VERIFY },
	{ "no-fill", no_argument, NULL, OPT_NO_FILL },
	{ "provider", required_argument, NULL, OPT_PROVIDER },
	{ "version-rdma", required_argument, NULL, OPT_RDMA },
	{ "credits", required_argument, NULL, OPT_CREDITS },
	{ "recv-size", required_argument, NULL, OPT_RECV },
	{ "crc", required_argument, NULL, OPT_CRC },
	{ "busy-poll", required_argument, NULL, OPT_BUSY_POLL },
	{ "extensions", required_argument, NULL, OPT_EXTENSIONS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static const char *take_handle(struct bench *b, const char *s)
{
	size_t n = strlen(s);

	if (!n || n % 2 || n > 2 * BENCH_FH_MAX ||
	    strspn(s, "0123456789abcdefABCDEF") != n)
		return "is not 1 to 64 octets in hexadecimal";
	for (size_t i = 0; i < n / 2; i++) {
		char two[3] = { s[2 * i], s[2 * i + 1], 0 };

		b->fh[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	b->fh_len = n / 2;
	return NULL;
}

static const char *take_tests(struct bench_options *o, char *s,
			      struct arg_err *err)
{
	static const char *const names[] = { "null",	 "read4k",  "readseq",
					     "writeseq", "write4k", "mixed4k",
					     NULL };
	unsigned int which;
	char *save = NULL;

	o->tests = 0;
	for (char *t = strtok_r(s, ",", &save); t;
	     t = strtok_r(NULL, ",", &save)) {
		const char *bad = arg_choice(t, names, &which, err);

		if (bad)
			return bad;
		o->tests |= 1u << which;
	}
	return o->tests ? NULL : "is empty";
}

static const char *take_depths(struct bench_options *o, char *s,
			       struct arg_err *err)
{
	char *save = NULL;
	uint64_t v;

	o->ndepths = 0;
	for (char *t = strtok_r(s, ",", &save); t;
	     t = strtok_r(NULL, ",", &save)) {
		const char *bad = arg_number(t, 1, 1024, &v, err);

		if (bad)
			return bad;
		if (o->ndepths == BENCH_DEPTHS)
			return "has more than 8 numbers";
		o->depth[o->ndepths++] = (unsigned int)v;
	}
	return o->ndepths ? NULL : "is empty";
}

static const char *set_number(struct bench_options *o, int opt,
			      struct arg_err *err)
{
	const char *bad = NULL;
	uint64_t v = 0;

	switch (opt) {
	case OPT_SECONDS:
		bad = arg_number(optarg, 1, 3600, &v, err);
		if (!bad)
			o->seconds = (double)v;
		break;
	case OPT_CONNECTIONS:
		bad = arg_number(optarg, 1, BENCH_CONNECTIONS, &v, err);
		if (!bad)
			o->connections = (unsigned int)v;
		break;
	case OPT_CALLS:
		bad = arg_number(optarg, 1, 1u << 30, &o->calls, err);
		break;
	case OPT_RATE:
		bad = arg_number(optarg, 1, 1000000, &o->rate, err);
		break;
	case OPT_FILE_SIZE:
		bad = arg_number(optarg, 65536, 1ull << 40, &o->file_size, err);
		break;
	case OPT_BLOCK:
		bad = arg_number(optarg, 4096, 2u << 20, &v, err);
		if (!bad && v % 4096)
			bad = "is not a multiple of 4K";
		if (!bad)
			o->block = (uint32_t)v;
		break;
	case OPT_PID:
		bad = arg_number(optarg, 1, INT32_MAX, &v, err);
		if (!bad && o->npids == BENCH_PIDS)
			bad = "is given more than 8 times";
		if (!bad)
			o->pid[o->npids++] = (pid_t)v;
		break;
	case OPT_CREDITS:
		bad = arg_number(optarg, 1, 16384, &v, err);
		if (!bad)
			o->config.credits = (unsigned int)v;
		break;
	case OPT_BUSY_POLL:
		bad = arg_number(optarg, 0, 1000, &v, err);
		if (!bad)
			o->config.busy_poll_us = (unsigned int)v;
		break;
	case OPT_RECV:
		bad = arg_number(optarg, 1024, 262144, &v, err);
		if (!bad)
			o->config.recv_size = (uint32_t)v;
		break;
	}
	return bad;
}

static const char *set_option(struct bench_options *o, struct bench *b, int opt,
			      struct arg_err *err)
{
	static const char *const kinds[] = { "tcp", "rdma", NULL };
	unsigned int kind;
	const char *bad = NULL;

	switch (opt) {
	case OPT_TRANSPORT:
		bad = arg_choice(optarg, kinds, &kind, err);
		if (!bad)
			o->rdma = kind;
		break;
	case OPT_SERVER:
		bad = arg_addr(optarg, o->rdma ? 20049 : 2049, &o->server, err);
		break;
	case OPT_MOUNT:
		bad = arg_addr(optarg, 0, &o->mount, err);
		break;
	case OPT_NFS:
		bad = arg_addr(optarg, 2049, &o->nfs, err);
		break;
	case OPT_PATH:
		o->path = optarg;
		break;
	case OPT_FILE:
		o->file = optarg;
		break;
	case OPT_HANDLE:
		bad = take_handle(b, optarg);
		break;
	case OPT_TESTS:
		bad = take_tests(o, optarg, err);
		break;
	case OPT_DEPTH:
		bad = take_depths(o, optarg, err);
		break;
	case OPT_SYNC:
		o->unstable = false;
		break;
	case OPT_NO_VERIFY:
		o->verify = false;
		break;
	case OPT_NO_FILL:
		o->fill = false;
		break;
	case OPT_RDMA:
		bad = arg_rdma_versions(optarg, &o->config.versions, err);
		break;
	case OPT_PROVIDER:
		bad = arg_provider(optarg, &o->provider, err);
		break;
	case OPT_CRC:
		bad = arg_crc(optarg, &o->crc, err);
		break;
	case OPT_EXTENSIONS:
		bad = arg_extensions(optarg, &o->config.extensions, err);
		break;
	default:
		bad = set_number(o, opt, err);
		break;
	}
	return bad;
}

static const char *finish(struct bench_options *o, const struct bench *b)
{
	if (!o->server.len)
		return "--server ADDR:PORT is needed";
	if (!o->nfs.len && !o->rdma)
		o->nfs = o->server;
	if (o->tests != TEST_NULL && !b->fh_len &&
	    (!o->mount.len || !o->nfs.len))
		return "--mount and --nfs, or --handle, are needed";
	if (o->file_size < o->block)
		return "--file-size is less than --block";
	return rt_config_check(&o->config);
}

bool bench_options(struct bench_options *o, struct bench *b, int argc,
		   char **argv, int *status)
{
	static const unsigned int depths[] = { 1, 16, 64 };
	struct arg_err err;
	const char *bad;
	int opt, index = 0;

	*status = 2;
	rt_config_defaults(&o->config);
	o->config.request_user_size = sizeof(struct bench_slot *);
	o->provider = "iwarp";
	o->path = "/export";
	o->file = "bench.data";
	o->crc = FAB_CRC_AUTO;
	o->verify = true;
	o->fill = true;
	o->unstable = true;
	o->tests = TEST_NULL | TEST_READ4K | TEST_READSEQ | TEST_WRITESEQ;
	o->ndepths = 3;
	memcpy(o->depth, depths, sizeof(depths));
	o->seconds = 5;
	o->connections = 1;
	o->block = 1u << 20;
	o->file_size = 64u << 20;
	while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			*status = 0;
			return false;
		}
		if (opt == '?')
			return false;
		bad = set_option(o, b, opt, &err);
		if (bad) {
			fprintf(stderr, "rpcrdma-bench: --%s: %s\n",
				options[index].name, bad);
			return false;
		}
	}
	bad = optind < argc ? "takes options only, see --help" : finish(o, b);
	if (bad)
		fprintf(stderr, "rpcrdma-bench: %s\n", bad);
	return !bad;
}
