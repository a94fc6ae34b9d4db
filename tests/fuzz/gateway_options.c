/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway_options - the gateway's configuration: a file of options, and the command
 * line
 *
 * The input is a list of options. Of each an octet says which it is, another what kind
 * of value it has: a number near a limit, a word that some option knows, an address,
 * any octets, or none.
 *
 * What must hold: settings that are accepted are those that the transport accepts; and
 * what can be said in both ways, in the file and on the command line, is taken or
 * refused alike, with the same result.
 */
#include <netdb.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "gateway/options.h"

#define OPTIONS 12
#define ROOM 8192

int __real_getaddrinfo(const char *name, const char *port,
		       const struct addrinfo *hints, struct addrinfo **res);
int __wrap_getaddrinfo(const char *name, const char *port,
		       const struct addrinfo *hints, struct addrinfo **res);

/* No name is looked up. */
int __wrap_getaddrinfo(const char *name, const char *port,
		       const struct addrinfo *hints, struct addrinfo **res)
{
	struct addrinfo h = *hints;

	h.ai_flags |= AI_NUMERICHOST;
	return __real_getaddrinfo(name, port, &h, res);
}

static const char *const names[] = {
	"server",
	"listen",
	"threads",
	"max-clients",
	"max-calls",
	"max-record",
	"max-memory",
	"retry-seconds",
	"reverse",
	"stats",
	"stats-file",
	"stats-socket",
	"quiet",
	"verbose",
	"debug",
	"provider",
	"version-rdma",
	"extensions",
	"credits",
	"recv-size",
	"crc",
	"service-type",
	"host-auth",
	"keytab",
	"principal",
	"reserved-ports",
	"host-auth-timeout",
	"server-principal",
	"send-size",
	"placement-size",
	"max-segment-size",
	"call-format",
	"chunks",
	"reduce-min",
	"no-invalidate",
	"config",
	"nonsense",
};
/* From here on not on the command line, where it is another thing. */
#define FILE_ONLY (sizeof(names) / sizeof(names[0]) - 2)

/* On the command line one that wants a value takes the next word. */
static bool stands_alone(const char *name)
{
	return !strcmp(name, "stats") || !strcmp(name, "quiet") ||
	       !strcmp(name, "verbose") || !strcmp(name, "reserved-ports") ||
	       !strcmp(name, "no-invalidate");
}

static const char *const words[] = {
	"none",
	"simple",
	"continued",
	"general",
	"auto",
	"special",
	"any",
	"1",
	"2",
	"xcharext",
	"rtrext",
	"optional",
	"required",
	"on",
	"off",
	"iwarp",
	"verbs",
	"xcharext,rtrext",
	"no-invalidate",
	"chunks=3",
	"send-size=8k",
	"reduce-min=",
	"call-format=special",
};

static const char *const addresses[] = {
	"127.0.0.1:2049", "[::1]:2049",	     "::1",
	"192.0.2.1",	  "0.0.0.0:0",	     "[::]:65535",
	"[::1",		  "192.0.2.1:65536", "1.2.3.4:",
	":2049",	  "[fe80::1%lo]:1",
};

static const uint64_t numbers[] = {
	0,	  1,	     2,		 16,	     64,
	1024,	  4096,	     16384,	 65536,	     262144,
	1u << 20, 16u << 20, 1ull << 32, 1ull << 40, UINT64_MAX,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void make_value(struct fuzz_in *in, char *out, size_t size)
{
	uint8_t kind = fuzz_u8(in), k = fuzz_u8(in);
	const uint8_t *p;
	size_t n;

	switch (kind % 5) {
	case 0:
		snprintf(out, size, kind & 0x40 ? "0x%lx%s" : "%lu%s",
			 (unsigned long)numbers[k % COUNT(numbers)] +
				 (kind & 0x80 ? fuzz_u8(in) - 128u : 0),
			 kind & 0x20 ? "k" : "");
		break;
	case 1:
		snprintf(out, size, "%s", words[k % COUNT(words)]);
		break;
	case 2:
		snprintf(out, size, "%s", addresses[k % COUNT(addresses)]);
		break;
	case 3:
		p = fuzz_take(in, k < size ? k : size - 1, &n);
		memcpy(out, p, n);
		out[n] = 0;
		break;
	default:
		memset(out, 'a' + k % 26, k);
		out[k] = 0;
		break;
	}
}

static int parse(struct gw_options *o, int argc, char **argv, int *status)
{
	FILE *said = stderr;
	int rc;

	/* What it says of each input is not for the fuzzer's log. */
	stderr = fopen("/dev/null", "w");
	FUZZ_CHECK(stderr);
	rc = gw_options_parse(o, argc, argv, status);
	fclose(stderr);
	stderr = said;
	if (rc)
		return rc;
	FUZZ_CHECK(!rt_config_check(&o->rdma.config));
	FUZZ_CHECK(o->rdma.server.n >= 1 && o->rdma.server.n <= ARG_ADDRS);
	FUZZ_CHECK(o->nlisten >= 1 && o->nlisten <= GW_MAX_LISTEN);
	FUZZ_CHECK(o->threads >= 1 && o->threads <= 64);
	FUZZ_CHECK(o->max_record >= 4096 && o->reduce_min);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void check_same(const struct gw_options *a, const struct gw_options *b)
{
	FUZZ_CHECK(a->nlisten == b->nlisten);
	FUZZ_CHECK(!memcmp(a->listen, b->listen, sizeof(a->listen)));
	FUZZ_CHECK(a->threads == b->threads && a->stats == b->stats);
	FUZZ_CHECK(a->max_clients == b->max_clients);
	FUZZ_CHECK(a->max_calls == b->max_calls);
	FUZZ_CHECK(a->max_record == b->max_record);
	FUZZ_CHECK(a->reduce_min == b->reduce_min);
	FUZZ_CHECK(a->retry_seconds == b->retry_seconds);
	FUZZ_CHECK(a->reserved_ports == b->reserved_ports);
	FUZZ_CHECK(a->log_level == b->log_level);
	FUZZ_CHECK(same_text(a->stats_socket, b->stats_socket));
	FUZZ_CHECK(same_text(a->stats_file, b->stats_file));
	FUZZ_CHECK(same_text(a->rdma.provider, b->rdma.provider));
	FUZZ_CHECK(!memcmp(&a->rdma.server, &b->rdma.server,
			   sizeof(a->rdma.server)));
	FUZZ_CHECK(a->rdma.domain.crc == b->rdma.domain.crc);
	FUZZ_CHECK(a->rdma.domain.service_type == b->rdma.domain.service_type);
	FUZZ_CHECK(a->rdma.config.credits == b->rdma.config.credits);
	FUZZ_CHECK(a->rdma.config.versions == b->rdma.config.versions);
	FUZZ_CHECK(a->rdma.config.extensions == b->rdma.config.extensions);
	FUZZ_CHECK(a->rdma.config.recv_size == b->rdma.config.recv_size);
	FUZZ_CHECK(a->rdma.config.max_memory == b->rdma.config.max_memory);
	FUZZ_CHECK(a->rdma.config.auth == b->rdma.config.auth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char file[ROOM], line[OPTIONS + 1][400];
	char path[64], config[] = "--config";
	char *argv[OPTIONS + 2] = { config },
			     *from_file[3] = { config, config, path };
	struct fuzz_in in = { data, size };
	struct gw_options a, b;
	int fd, argc = 1, status, status_b, rc, rc_b;
	bool both = true;
	size_t len = 0;

	while (in.left && argc <= OPTIONS) {
		unsigned int which = fuzz_u8(&in);
		bool has_value = !(fuzz_u8(&in) % 8 == 7);
		const char *name = names[which % COUNT(names)];
		char value[300] = "";

		if (has_value)
			make_value(&in, value, sizeof(value) - 40);
		both = both && which % COUNT(names) < FILE_ONLY &&
		       !strpbrk(value, " \t\r\f\v\n#") &&
		       (has_value ? *value : stands_alone(name));
		snprintf(line[argc], sizeof(line[argc]), "--%s%s%s", name,
			 has_value ? "=" : "", value);
		argv[argc] = line[argc];
		len += (size_t)snprintf(file + len, sizeof(file) - len,
					"%s%s%s\n", name,
					has_value ? " = " : "", value);
		argc++;
	}
	fd = memfd_create("options", 0);
	FUZZ_CHECK(fd >= 0 && write(fd, file, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = parse(&a, 3, from_file, &status);
	/* An empty list is another thing: no file. */
	if (both && argc > 1) {
		rc_b = parse(&b, argc, argv, &status_b);
		FUZZ_CHECK(!rc == !rc_b && (!rc || status == status_b));
		if (!rc)
			check_same(&a, &b);
		gw_options_free(&b);
	}
	gw_options_free(&a);
	close(fd);
	return 0;
}
