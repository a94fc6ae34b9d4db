/* SPDX-License-Identifier: BSD-3-Clause */
/* ping_options - the command line of rpcrdma-ping */
#include "tools/ping.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: rpcrdma-ping [OPTION...] ADDR[:PORT]\n"
	"       rpcrdma-ping --provider verbs --report\n"
	"Send NULL Calls over RPC-over-RDMA and report how long they take.\n"
	"\n"
	"  --server ADDR[:PORT]  the same as the argument (port 20049)\n"
	"  --provider NAME       RDMA provider: iwarp or verbs (iwarp)\n"
	"  --program N           RPC program (100003)\n"
	"  --version N           version of the RPC program (3 or, if the server lacks\n"
	"                        it, the newest version it offers)\n"
	"  --proc N              procedure, one without arguments (0)\n"
	"  --count N             Calls to send (5; 0: until interrupted)\n"
	"  --interval MS         between Calls (1000)\n"
	"  --timeout MS          for the connection and for each Call (5000)\n"
	"  --flood               send the next Call as soon as a Reply arrives\n"
	"  --depth N             with --flood: Calls in flight (1)\n"
	"  --version-rdma N      RPC-over-RDMA version: 1, 2 or any, which begins\n"
	"                        with 2 and falls back (any)\n"
	"  --extensions LIST     of version 2, if the server supports them:\n"
	"                        none, xcharext, rtrext or xcharext,rtrext (none)\n"
	"  --credits N           credits given to the server (64)\n"
	"  --recv-size BYTES     Receive Buffer Size (4608)\n"
	"  --crc WHEN            iwarp: ask for CRC32c: on, off, or auto (auto: on\n"
	"                        unless both ends are on this machine)\n"
	"  --service-type N      type of service of the packets sent, 0 to 255\n"
	"  --busy-poll US        poll for so long before sleeping, 0 to 1000 (0)\n"
	"  --host-auth POLICY    authenticate both hosts with Kerberos: none,\n"
	"                        optional or required (none)\n"
	"  --keytab FILE         ... with this host's key from FILE (Kerberos' default)\n"
	"  --principal NAME      ... which of the keys (the first)\n"
	"  --server-principal NAME  ... the server's (nfs@ its name)\n"
	"  --host-auth-timeout SECONDS  ... how long it may take (30)\n"
	"  --report              with --provider verbs: print what is known of the RDMA\n"
	"                        devices of this host; no server is called\n"
	"  --json                one JSON object instead of text\n"
	"  --quiet, --verbose    the summary only; also what happens on the connection\n"
	"  --help\n"
	"\n"
	"Exit status: 0 all answered, 1 some not, 2 usage, 3 no connection, 4 no RDMA\n"
	"device (--report), 5 refused by the server.\n";

enum opt {
	OPT_PROGRAM = 256,
	OPT_VERS,
	OPT_PROC,
	OPT_COUNT,
	OPT_INTERVAL,
	OPT_TIMEOUT,
	OPT_FLOOD,
	OPT_DEPTH,
	OPT_REPORT,
	OPT_JSON,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_HELP,
};

static const struct option options[] = {
	RDMA_OPTIONS,
	{ "program", required_argument, NULL, OPT_PROGRAM },
	{ "version", required_argument, NULL, OPT_VERS },
	{ "proc", required_argument, NULL, OPT_PROC },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "flood", no_argument, NULL, OPT_FLOOD },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "report", no_argument, NULL, OPT_REPORT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static const char *set_option(struct ping_options *o, int opt,
			      struct arg_err *err)
{
	const char *bad;

	if (rdma_options_set(&o->rdma, opt, optarg, &bad, err))
		return bad;
	switch (opt) {
	case OPT_PROGRAM:
		return arg_number32(optarg, 0, UINT32_MAX, &o->program, err);
	case OPT_VERS:
		o->version_given = true;
		return arg_number32(optarg, 0, UINT32_MAX, &o->version, err);
	case OPT_PROC:
		return arg_number32(optarg, 0, UINT32_MAX, &o->proc, err);
	case OPT_COUNT:
		return arg_number(optarg, 0, UINT64_MAX, &o->count, err);
	case OPT_INTERVAL:
		return arg_ms(optarg, 0, 3600000, &o->interval_ms, err);
	case OPT_TIMEOUT:
		return arg_ms(optarg, 1, 3600000, &o->timeout_ms, err);
	case OPT_FLOOD:
		o->flood = true;
		return NULL;
	case OPT_DEPTH:
		return arg_number32(optarg, 1, 4096, &o->depth, err);
	case OPT_REPORT:
		o->report = true;
		return NULL;
	case OPT_JSON:
		o->json = true;
		return NULL;
	case OPT_QUIET:
		o->quiet = true;
		return NULL;
	case OPT_VERBOSE:
		o->verbose = true;
		return NULL;
	}
	return NULL;
}

int ping_options(struct ping_options *o, int argc, char **argv)
{
	struct arg_err err;
	const char *bad;
	int opt, index = 0;

	rdma_options_init(&o->rdma);
	o->program = 100003;
	o->version = 3;
	o->count = 5;
	o->interval_ms = 1000;
	o->timeout_ms = 5000;
	o->depth = 0;
	/* With an argument it is the RPC program's version. */
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("rpcrdma-ping " RPCRDMA_VERSION);
		return EXIT_ALL;
	}
	while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return EXIT_ALL;
		}
		if (opt == '?')
			return EXIT_USAGE;
		bad = set_option(o, opt, &err);
		if (bad) {
			fprintf(stderr, "rpcrdma-ping: --%s: %s\n",
				options[index].name, bad);
			return EXIT_USAGE;
		}
	}
	bad = NULL;
	if (optind < argc && !o->rdma.server.n) {
		optarg = argv[optind++];
		bad = set_option(o, RDMA_OPT_SERVER, &err);
	}
	if (bad)
		;
	else if (optind < argc)
		bad = "takes one server, see --help";
	else if (o->report && strcmp(o->rdma.provider, "verbs"))
		bad = "--report is for --provider verbs";
	else if (o->report && (o->json || o->rdma.server.n))
		bad = "--report takes neither --json nor ADDR";
	else if (!o->rdma.server.n && !o->report)
		bad = "ADDR[:PORT] of the server is needed";
	else if (o->depth && !o->flood)
		bad = "--depth is for --flood";
	else
		bad = hostauth_check(&o->rdma.hostauth, o->rdma.config.auth);
	if (!bad)
		bad = rt_config_check(&o->rdma.config);
	if (bad) {
		fprintf(stderr, "rpcrdma-ping: %s\n", bad);
		return EXIT_USAGE;
	}
	if (!o->depth)
		o->depth = 1;
	return -1;
}
