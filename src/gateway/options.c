/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the command line of rpcrdma-gateway
 *
 * Threads: none; called by main before there are any.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "gateway/call/outstanding.h"
#include "gateway/options.h"
#include "gateway/call/reverse.h"

static const char usage[] =
	"usage: rpcrdma-gateway --server ADDR[:PORT] [OPTION...]\n"
	"Accept RPC over TCP and forward it over RPC-over-RDMA version 2 or 1,\n"
	"one RDMA connection for each TCP connection.\n"
	"\n"
	"  --config FILE            options from FILE, one per line; then those that follow\n"
	"  --listen ADDR:PORT       TCP address, may be repeated (127.0.0.1:20050)\n"
	"  --server ADDR[:PORT]     RPC-over-RDMA server (port 20049), may be repeated:\n"
	"                           the next ones if it does not answer\n"
	"  --provider NAME          RDMA provider: iwarp or verbs (iwarp)\n"
	"  --threads N              worker threads, each with a poller (1)\n"
	"  --reserved-ports         accept only source ports below 1024, or Kerberos\n"
	"  --max-clients N          TCP connections at once (256)\n"
	"  --max-calls N            Calls outstanding for each client (128)\n"
	"  --max-record BYTES       longest record forwarded (2 MiB + 128 KiB)\n"
	"  --max-memory BYTES       registered memory (1 GiB)\n"
	"  --retry-seconds N        how long Calls wait for an unreachable server (60)\n"
	"\n"
	"  --version-rdma N         1, 2 or any, which begins with 2 and falls back (any)\n"
	"  --extensions LIST        of version 2, if the server supports them:\n"
	"                           none, xcharext, rtrext or xcharext,rtrext (none)\n"
	"  --credits N              credits given to the server (64)\n"
	"  --recv-size BYTES        Receive Buffer Size (4608)\n"
	"  --reverse LEVEL          reverse direction: none, simple, continued or\n"
	"                           general (continued)\n"
	"  --crc WHEN               iwarp: ask for CRC32c: on, off, or auto (auto: on\n"
	"                           unless both ends are on this machine)\n"
	"  --service-type N         type of service of the packets sent, 0 to 255\n"
	"  --busy-poll US           poll for so long before sleeping, 0 to 1000 (0)\n"
	"\n"
	"  --host-auth POLICY       authenticate both hosts with Kerberos before the\n"
	"                           first Call: none, optional or required (none)\n"
	"  --keytab FILE            ... with this host's key from FILE (Kerberos' default)\n"
	"  --principal NAME         ... which of the keys (the first)\n"
	"  --server-principal NAME  ... the server's (nfs@ its name)\n"
	"  --host-auth-timeout SECONDS  ... how long it may take (30)\n"
	"\n"
	"  --stats                  statistics as JSON on stdout at exit and on SIGUSR1\n"
	"  --stats-file PATH        the same to a file\n"
	"  --stats-socket PATH      a socket from which root can read them\n"
	"  --quiet, --verbose       log errors only; log everything\n"
	"  --debug NAME[=VALUE]     for tests: rpcrdma-gateway(8) has the names\n"
	"  --help, --version\n";

enum opt {
	OPT_CONFIG = 256,
	OPT_LISTEN,
	OPT_THREADS,
	OPT_RESERVED,
	OPT_MAX_CLIENTS,
	OPT_MAX_CALLS,
	OPT_MAX_RECORD,
	OPT_MAX_MEMORY,
	OPT_RETRY,
	OPT_SEND,
	OPT_PLACEMENT,
	OPT_SEGMENT,
	OPT_FORMAT,
	OPT_CHUNKS,
	OPT_REDUCE,
	OPT_REVERSE,
	OPT_NO_INV,
	OPT_STATS,
	OPT_STATS_FILE,
	OPT_STATS_SOCKET,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
	OPT_DEBUG,
};

static const struct option options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "reserved-ports", no_argument, NULL, OPT_RESERVED },
	{ "max-clients", required_argument, NULL, OPT_MAX_CLIENTS },
	{ "max-calls", required_argument, NULL, OPT_MAX_CALLS },
	{ "max-record", required_argument, NULL, OPT_MAX_RECORD },
	{ "max-memory", required_argument, NULL, OPT_MAX_MEMORY },
	{ "retry-seconds", required_argument, NULL, OPT_RETRY },
	{ "reverse", required_argument, NULL, OPT_REVERSE },
	{ "stats", no_argument, NULL, OPT_STATS },
	{ "stats-file", required_argument, NULL, OPT_STATS_FILE },
	{ "stats-socket", required_argument, NULL, OPT_STATS_SOCKET },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "debug", required_argument, NULL, OPT_DEBUG },
	RDMA_OPTIONS,
	/* Names of --debug, which version 0.1 had as options; the first is
	 * FIRST_DEBUG. */
	{ "send-size", required_argument, NULL, OPT_SEND },
	{ "placement-size", required_argument, NULL, OPT_PLACEMENT },
	{ "max-segment-size", required_argument, NULL, OPT_SEGMENT },
	{ "call-format", required_argument, NULL, OPT_FORMAT },
	{ "chunks", required_argument, NULL, OPT_CHUNKS },
	{ "reduce-min", required_argument, NULL, OPT_REDUCE },
	{ "no-invalidate", no_argument, NULL, OPT_NO_INV },
	{ 0 },
};

#define FIRST_DEBUG "send-size"

/* Is @l one of the names of --debug? */
static bool is_debug(const struct option *l)
{
	const struct option *first = options;

	while (strcmp(first->name, FIRST_DEBUG))
		first++;
	return l >= first;
}

/* Options that are one number: where it goes and what is allowed. */
struct number {
	enum opt opt;
	size_t at, size;
	uint64_t min, max;
};

#define NUMBER(opt, member, min, max)                                          \
	{                                                                      \
		(opt), offsetof(struct gw_options, member),                    \
			sizeof(((struct gw_options *)0)->member), (min), (max) \
	}

static const struct number numbers[] = {
	NUMBER(OPT_THREADS, threads, 1, 64),
	NUMBER(OPT_MAX_CLIENTS, max_clients, 1, 65536),
	NUMBER(OPT_MAX_CALLS, max_calls, 1, 16384),
	NUMBER(OPT_MAX_RECORD, max_record, 4096, FAB_POOL_MAX_BUF - 65536),
	NUMBER(OPT_MAX_MEMORY, rdma.config.max_memory, RT_MIN(max_memory),
	       RT_MAX(max_memory)),
	NUMBER(OPT_RETRY, retry_seconds, 0, 86400),
	NUMBER(OPT_SEND, rdma.config.send_size, RT_MIN(send_size),
	       RT_MAX(send_size)),
	NUMBER(OPT_PLACEMENT, rdma.config.placement_size, 0,
	       RT_MAX(placement_size)),
	NUMBER(OPT_SEGMENT, rdma.config.max_segment_size,
	       RT_MIN(max_segment_size), RT_MAX(max_segment_size)),
	NUMBER(OPT_CHUNKS, rdma.config.call_read_chunks, 1, RT_MAX_CHUNKS),
	NUMBER(OPT_REDUCE, reduce_min, 1, UINT32_MAX),
};

static const char *set_number(struct gw_options *o, const struct number *n,
			      struct arg_err *err)
{
	struct rt_config *c = &o->rdma.config;
	uint32_t v32;
	uint64_t v;
	const char *bad = arg_number(optarg, n->min, n->max, &v, err);

	if (bad)
		return bad;
	if (n->opt == OPT_PLACEMENT)
		c->no_placement = !v;
	/* Without any, the size is not looked at, but has to be one. */
	if (n->opt == OPT_PLACEMENT && !v)
		return NULL;
	v32 = (uint32_t)v;
	memcpy((char *)o + n->at, n->size == sizeof(v32) ? (void *)&v32 : &v,
	       n->size);
	if (n->opt == OPT_CHUNKS)
		c->call_write_chunks = c->call_read_chunks;
	return NULL;
}

/* Options with a value that is not a number. NULL or what is wrong. */
static const char *set_text(struct gw_options *o, int opt, struct arg_err *err)
{
	static const char *const formats[] = { "auto", "continued", "special",
					       NULL };
	static const char *const levels[] = { "none", "simple", "continued",
					      "general", NULL };
	unsigned int choice;
	const char *bad = NULL;

	switch (opt) {
	case OPT_LISTEN:
		if (o->nlisten == GW_MAX_LISTEN)
			return "given too often, 8 times at most";
		bad = arg_addr(optarg, 0, &o->listen[o->nlisten], err);
		if (!bad)
			o->nlisten++;
		break;
	case OPT_FORMAT:
		bad = arg_choice(optarg, formats, &choice, err);
		if (!bad)
			o->rdma.config.call_format =
				(enum rt_call_format)choice;
		break;
	case OPT_REVERSE:
		bad = arg_choice(optarg, levels, &choice, err);
		if (!bad)
			o->rdma.config.reverse = choice;
		break;
	case OPT_RESERVED:
		o->reserved_ports = true;
		break;
	case OPT_NO_INV:
		o->rdma.config.no_remote_invalidation = true;
		break;
	case OPT_STATS:
		o->stats = true;
		break;
	case OPT_STATS_FILE:
		o->stats_file = optarg;
		break;
	case OPT_STATS_SOCKET:
		if (strlen(optarg) >= 108)
			return "the path of a socket has 107 bytes at most";
		o->stats_socket = optarg;
		break;
	case OPT_QUIET:
		o->log_level = LOG_ERR;
		break;
	case OPT_VERBOSE:
		o->log_level = LOG_DEBUG;
		break;
	}
	return bad;
}

/* Those of the command line and those of a file do not add up: the later ones count. */
static const char *add_server(struct gw_options *o, struct arg_err *err)
{
	struct arg_addrs found;
	const char *bad = arg_addrs(optarg, RDMA_SERVER_PORT, &found, err);

	if (bad)
		return bad;
	if (o->servers_of_file != o->in_file) {
		o->nservers = 0;
		memset(&o->rdma.server, 0, sizeof(o->rdma.server));
	}
	o->servers_of_file = o->in_file;
	if (o->nservers == GW_MAX_SERVERS)
		return "given too often, 8 times at most";
	if (!arg_addrs_add(&o->rdma.server, &found))
		return "all servers together have more than 16 addresses";
	o->server[o->nservers++] = optarg;
	o->rdma.hostauth.server = o->server[0];
	return NULL;
}

static const char *set_option(struct gw_options *o, int opt,
			      struct arg_err *err)
{
	const char *bad;

	if (opt == RDMA_OPT_SERVER)
		return add_server(o, err);
	if (rdma_options_set(&o->rdma, opt, optarg, &bad, err))
		return bad;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].opt == (enum opt)opt)
			return set_number(o, &numbers[i], err);
	return set_text(o, opt, err);
}

/* --debug NAME or NAME=VALUE. */
static const char *set_debug(struct gw_options *o, const char *arg,
			     struct arg_err *err)
{
	size_t len = strcspn(arg, "=");
	const struct option *l = options;
	char text[ARG_ERR_LEN];
	const char *bad;

	while (l->name && (!is_debug(l) || strlen(l->name) != len ||
			   strncmp(l->name, arg, len)))
		l++;
	if (!l->name) {
		snprintf(
			err->text, sizeof(err->text),
			"'%.60s' is not a name that --debug takes, see rpcrdma-gateway(8)",
			arg);
		return err->text;
	}
	if (l->has_arg == required_argument && (!arg[len] || !arg[len + 1]))
		return "needs a value: name=value";
	if (l->has_arg == no_argument && arg[len])
		return "takes no value";
	optarg = (char *)(uintptr_t)(arg[len] ? arg + len + 1 : arg + len);
	bad = set_option(o, l->val, err);
	if (!bad)
		return NULL;
	snprintf(text, sizeof(text), "%s: %.200s", l->name, bad);
	memcpy(err->text, text, sizeof(text));
	return err->text;
}

/* It does what it did, but there is another way for it. */
static void tell_old(const struct option *l)
{
	fprintf(stderr,
		"rpcrdma-gateway: --%s is an option of version 0.1; it still works: remove it, or for a test write "
		"--debug %s%s\n",
		l->name, l->name,
		l->has_arg == required_argument ? "=VALUE" : "");
}

static bool ends_in_comment(const char *text)
{
	return strstr(text, " #") || strstr(text, "\t#");
}

/* The line of --config that stands in @c. NULL or what is wrong with it. */
static const char *set_line(struct gw_options *o, struct conf *c,
			    struct arg_err *err)
{
	const struct option *l = options;

	while (l->name && strcmp(l->name, c->name))
		l++;
	if (ends_in_comment(c->value ? c->value : c->name))
		return "a comment must be on a line of its own";
	if (!l->name && !c->value && strpbrk(c->name, " \t"))
		return "\"=\" is missing: name = value";
	if (!l->name || l->val == OPT_CONFIG || l->val == OPT_HELP ||
	    l->val == OPT_VERSION)
		return "there is no such option in a file";
	if (l->has_arg == required_argument && (!c->value || !*c->value))
		return "needs a value: name = value";
	if (l->has_arg == no_argument && c->value)
		return "takes no value";
	if (l->val == OPT_DEBUG)
		return set_debug(o, c->value, err);
	if (is_debug(l))
		tell_old(l);
	optarg = c->value;
	return set_option(o, l->val, err);
}

/* Another attempt helps, or it does not: a service manager wants to know. */
static int status_of(const struct arg_err *err)
{
	return err->unknown_name ? 1 : 2;
}

/* --config. False, and a line on stderr: it is not usable. */
static bool read_config(struct gw_options *o, const char *path, int *status)
{
	struct arg_err err = { 0 };
	const char *bad;
	int rc;

	if (o->conf.text) {
		fprintf(stderr, "rpcrdma-gateway: --config: given twice\n");
		return false;
	}
	o->conf_path = path;
	rc = conf_read(&o->conf, path);
	if (rc) {
		fprintf(stderr, "rpcrdma-gateway: --config %s: %s\n", path,
			strerror(rc));
		return false;
	}
	while (conf_next(&o->conf)) {
		o->in_file = true;
		bad = set_line(o, &o->conf, &err);
		o->in_file = false;
		if (bad) {
			fprintf(stderr, "rpcrdma-gateway: %s:%u: %s: %s\n",
				path, o->conf.line, o->conf.name, bad);
			*status = status_of(&err);
			return false;
		}
	}
	return true;
}

static const char *finish(struct gw_options *o, struct arg_err *err)
{
	struct rt_config *c = &o->rdma.config;
	const char *wrong;

	if (!o->rdma.server.n && !o->conf_path)
		return "--server ADDR[:PORT] is needed";
	if (!o->rdma.server.n) {
		snprintf(err->text, sizeof(err->text),
			 "--server ADDR[:PORT] is needed, or a line "
			 "\"server = ADDR[:PORT]\" in %.150s",
			 o->conf_path);
		return err->text;
	}
	if (!o->nlisten) {
		const char *bad =
			arg_addr("127.0.0.1:20050", 0, &o->listen[0], err);

		if (bad)
			return bad;
		o->nlisten = 1;
	}
	c->request_user_size = sizeof(struct gw_call);
	c->call_user_size = sizeof(struct gw_reverse);
	c->max_connections = MAX(c->max_connections, o->max_clients);
	c->max_message = MAX(c->max_message, o->max_record);
	if (c->auth != RT_AUTH_NONE && o->nservers > 1 &&
	    !o->rdma.hostauth.server_principal)
		return "several servers: --host-auth needs --server-principal, "
		       "which all of them have";
	wrong = hostauth_check(&o->rdma.hostauth, c->auth);
	return wrong ? wrong : rt_config_check(c);
}

int gw_options_parse(struct gw_options *o, int argc, char **argv, int *status)
{
	struct arg_err err = { 0 };
	const char *bad;
	int opt, index = 0;

	memset(o, 0, sizeof(*o));
	rdma_options_init(&o->rdma);
	o->rdma.config.reverse = RDMA2_RVRSDIR_CONT;
	/* What a server may ask for, xcharext. */
	o->rdma.config.busy_recv_size = 65536;
	o->threads = 1;
	o->max_clients = 256;
	o->max_calls = 128;
	o->max_record = (2u << 20) + (128u << 10);
	o->reduce_min = 1024;
	o->retry_seconds = 60;
	o->log_level = LOG_NOTICE;
	*status = 2;
	optind = 0;
	while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (opt == OPT_HELP || opt == OPT_VERSION) {
			fputs(opt == OPT_HELP ?
				      usage :
				      "rpcrdma-gateway " RPCRDMA_VERSION "\n",
			      stdout);
			*status = 0;
			return -1;
		}
		if (opt == '?') /* getopt has said what */
			return -1;
		if (opt == OPT_CONFIG) {
			if (!read_config(o, optarg, status))
				return -1;
			continue;
		}
		if (is_debug(&options[index]))
			tell_old(&options[index]);
		bad = opt == OPT_DEBUG ? set_debug(o, optarg, &err) :
					 set_option(o, opt, &err);
		if (bad) {
			fprintf(stderr, "rpcrdma-gateway: --%s: %s\n",
				options[index].name, bad);
			*status = status_of(&err);
			return -1;
		}
	}
	bad = optind < argc ? "takes options only, see --help" :
			      finish(o, &err);
	if (bad) {
		fprintf(stderr, "rpcrdma-gateway: %s\n", bad);
		return -1;
	}
	return 0;
}

void gw_options_free(struct gw_options *o)
{
	conf_free(&o->conf);
}
