/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcrdma-gss-client - NFS by libtirpc, with RPCSEC_GSS
 *
 *	rpcrdma-gss-client HOST PORT MOUNTPORT SECURITY VERSION DIR [TARGET [lost]]
 *
 * HOST:PORT is a gateway (or a server) with the directory DIR as /export;
 * SECURITY is sys, krb5, krb5i or krb5p, VERSION 3 or 4; TARGET the service,
 * nfs@HOST. Writes files of many sizes, compares them with what is in DIR, reads
 * them back and compares again: first by libtirpc, then by gss_rpc.h, which has
 * no limit of 64 KiB. Both check verifier and checksum of every Reply. Prints
 * what it did; the status tells if all was well.
 *
 * One thread. NFSv4 is 4.0, and WRITE and READ use the anonymous stateid (RFC
 * 7530, 9.1.4.3), so no state is needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/gss_rpc.h"

#define NFS 100003
#define MOUNT 100005
#define FH_MAX 128
#define IO_MAX (1u << 20)
#define LONGEST (3u * IO_MAX + 5)

enum {
	MNT3_MNT = 1,
	NFS3_LOOKUP = 3,
	NFS3_READ = 6,
	NFS3_WRITE = 7,
	NFS4_COMPOUND = 1,
	OP4_LOOKUP = 15,
	OP4_PUTROOTFH = 24,
	OP4_READ = 25,
	OP4_WRITE = 38,
};

static const struct timeval patience = { 60, 0 };
static const uint32_t sizes[] = {
	0,	1,	2,	    3,	    4,	     5,		 511,
	1000,	1023,	1024,	    1025,   3900,    4000,	 4095,
	4096,	4097,	8192,	    16383,  65535,   65536,	 65537,
	131071, 262144, IO_MAX - 1, IO_MAX, LONGEST, IO_MAX + 1, 77777
};

/* What one Call gives and gets; @data is to be written or has been read. */
struct io {
	unsigned int vers;
	const char *name;
	uint8_t fh[FH_MAX]; /* NFSv3: the directory's or the file's */
	uint32_t fh_len;
	uint64_t offset;
	uint8_t *data;
	uint32_t count;
	bool write;
	/* results */
	uint32_t status, done, eof;
};

static uint8_t pattern[LONGEST], back[LONGEST + 64];

static bool_t u32(XDR *x, uint32_t v)
{
	return xdr_u_int32_t(x, &v);
}

static bool_t get32(XDR *x, uint32_t *v)
{
	return xdr_u_int32_t(x, v);
}

static bool_t bytes(XDR *x, const void *p, uint32_t n)
{
	char *s = (char *)(uintptr_t)p;

	return xdr_bytes(x, &s, &n, n);
}

static bool_t skip(XDR *x, uint32_t words)
{
	uint32_t v;

	while (words--)
		if (!get32(x, &v))
			return false;
	return true;
}

static bool_t nothing(XDR *x, void *arg)
{
	return true;
}

/* A bool, and @words behind it if it is true. */
static bool_t skip_optional(XDR *x, uint32_t words)
{
	uint32_t follows;

	return get32(x, &follows) && (!follows || skip(x, words));
}

static bool_t get_bytes(XDR *x, uint8_t *to, uint32_t max, uint32_t *n)
{
	char *s = (char *)to;

	return xdr_bytes(x, &s, n, max);
}

/* ---- NFSv3, RFC 1813 ---------------------------------------------------- */

static bool_t mnt_args(XDR *x, void *arg)
{
	struct io *io = arg;

	return bytes(x, io->name, (uint32_t)strlen(io->name));
}

static bool_t mnt_results(XDR *x, void *arg)
{
	struct io *io = arg;
	uint32_t n;

	if (!get32(x, &io->status))
		return false;
	if (io->status)
		return true;
	return get_bytes(x, io->fh, sizeof(io->fh), &io->fh_len) &&
	       get32(x, &n) && skip(x, n);
}

static bool_t lookup3_args(XDR *x, void *arg)
{
	struct io *io = arg;

	return bytes(x, io->fh, io->fh_len) &&
	       bytes(x, io->name, (uint32_t)strlen(io->name));
}

static bool_t lookup3_results(XDR *x, void *arg)
{
	struct io *io = arg;

	if (!get32(x, &io->status))
		return false;
	if (io->status)
		return skip_optional(x, 21);
	return get_bytes(x, io->fh, sizeof(io->fh), &io->fh_len) &&
	       skip_optional(x, 21) && skip_optional(x, 21);
}

static bool_t io3_args(XDR *x, void *arg)
{
	struct io *io = arg;
	uint64_t offset = io->offset;

	if (!bytes(x, io->fh, io->fh_len) || !xdr_u_int64_t(x, &offset) ||
	    !u32(x, io->count))
		return false;
	return !io->write || (u32(x, 2) && bytes(x, io->data, io->count));
}

static bool_t read3_results(XDR *x, void *arg)
{
	struct io *io = arg;
	uint32_t n;

	if (!get32(x, &io->status) || !skip_optional(x, 21))
		return false;
	if (io->status)
		return true;
	return get32(x, &io->done) && get32(x, &io->eof) &&
	       get_bytes(x, io->data, io->count, &n) && n == io->done;
}

static bool_t write3_results(XDR *x, void *arg)
{
	struct io *io = arg;

	if (!get32(x, &io->status) || !skip_optional(x, 6) ||
	    !skip_optional(x, 21))
		return false;
	return io->status || (get32(x, &io->done) && skip(x, 3));
}

/* ---- NFSv4, RFC 7530 ---------------------------------------------------- */

static bool_t io4_args(XDR *x, void *arg)
{
	struct io *io = arg;
	uint64_t offset = io->offset;

	/* No tag, minor version 0, four operations. */
	return u32(x, 0) && u32(x, 0) && u32(x, 4) && u32(x, OP4_PUTROOTFH) &&
	       u32(x, OP4_LOOKUP) && bytes(x, "export", 6) &&
	       u32(x, OP4_LOOKUP) &&
	       bytes(x, io->name, (uint32_t)strlen(io->name)) &&
	       u32(x, io->write ? OP4_WRITE : OP4_READ) && u32(x, 0) &&
	       u32(x, 0) && u32(x, 0) && u32(x, 0) &&
	       xdr_u_int64_t(x, &offset) &&
	       (io->write ? u32(x, 2) && bytes(x, io->data, io->count) :
			    u32(x, io->count));
}

static bool_t io4_results(XDR *x, void *arg)
{
	struct io *io = arg;
	uint32_t tag, n, op, status, got;

	if (!get32(x, &io->status) || !get32(x, &tag) ||
	    !skip(x, (tag + 3) / 4) || !get32(x, &n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!get32(x, &op) || !get32(x, &status))
			return false;
		if (status || (op != OP4_READ && op != OP4_WRITE))
			continue;
		if (io->write ?
			    !get32(x, &io->done) || !skip(x, 3) :
			    !get32(x, &io->eof) ||
				    !get_bytes(x, io->data, io->count, &got))
			return false;
		if (!io->write)
			io->done = got;
	}
	return true;
}

/* ---- Calls -------------------------------------------------------------- */

/* One connection, by libtirpc or by hand. */
struct peer {
	CLIENT *library;
	struct gss_rpc *hand;
};

static bool call(const struct peer *p, uint32_t proc,
		 bool_t (*args)(XDR *, void *),
		 bool_t (*results)(XDR *, void *), struct io *io)
{
	enum clnt_stat stat;

	io->status = 0;
	io->done = 0;
	io->eof = 0;
	if (p->hand) {
		if (!gss_rpc_call(p->hand, proc, args, results, io))
			return false;
	} else {
		stat = clnt_call(p->library, proc, (xdrproc_t)args, (caddr_t)io,
				 (xdrproc_t)results, (caddr_t)io, patience);
		if (stat != RPC_SUCCESS) {
			clnt_perror(p->library, "call");
			return false;
		}
	}
	if (io->status) {
		fprintf(stderr, "%s: status %u\n", io->name, io->status);
		return false;
	}
	return true;
}

static bool transfer(const struct peer *c, struct io *io)
{
	if (io->vers == 4)
		return call(c, NFS4_COMPOUND, io4_args, io4_results, io);
	return io->write ? call(c, NFS3_WRITE, io3_args, write3_results, io) :
			   call(c, NFS3_READ, io3_args, read3_results, io);
}

/* @n octets by pieces of @span; short answers are gone on with. */
static bool all(const struct peer *c, struct io *io, uint8_t *data, uint32_t n,
		uint32_t span, bool write)
{
	uint32_t at = 0;

	io->write = write;
	do {
		io->offset = at;
		io->data = data + at;
		io->count = write && n - at < span ? n - at : span;
		if (!write && io->count > LONGEST + 32 - at)
			io->count = LONGEST + 32 - at;
		if (!transfer(c, io))
			return false;
		if (io->done > io->count || (!io->done && at < n)) {
			fprintf(stderr, "%s: %u of %u octets at %u\n", io->name,
				io->done, io->count, at);
			return false;
		}
		at += io->done;
	} while (at < n);
	return at == n;
}

static bool on_disk(const char *path, uint8_t *buf, uint32_t n, bool write)
{
	int fd = open(path, write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY,
		      0666);
	ssize_t got = -1;

	if (fd >= 0) {
		got = write ? pwrite(fd, buf, n, 0) :
			      pread(fd, buf, LONGEST + 1, 0);
		if (write && (fchmod(fd, 0666) || fsync(fd)))
			got = -1;
		close(fd);
	}
	if (got != (ssize_t)n)
		fprintf(stderr, "%s: %zd instead of %u octets\n", path, got, n);
	return got == (ssize_t)n;
}

static void fill(uint32_t n)
{
	static uint32_t seed = 20049;

	for (uint32_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		pattern[i] = (uint8_t)(seed >> 24);
	}
}

static bool one_file(const struct peer *c, const struct io *root,
		     const char *dir, uint32_t n, uint32_t span)
{
	struct io io = *root;
	char path[512], name[64];

	/* A name that no file of before had: the server may remember those. */
	snprintf(name, sizeof(name), "%d-%u-%u", (int)getpid(), n, span);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	io.name = name;
	if (!on_disk(path, pattern, 0, true))
		return false;
	if (io.vers == 3 &&
	    !call(c, NFS3_LOOKUP, lookup3_args, lookup3_results, &io))
		return false;
	fill(n);
	if (!all(c, &io, pattern, n, span, true) ||
	    !on_disk(path, back, n, false))
		return false;
	if (memcmp(pattern, back, n)) {
		fprintf(stderr, "%s: others than were written\n", name);
		return false;
	}
	memset(back, 0, sizeof(back));
	if (!all(c, &io, back, n, span, false))
		return false;
	if (memcmp(pattern, back, n)) {
		fprintf(stderr, "%s: others were read\n", name);
		return false;
	}
	return !unlink(path);
}

/* ---- What a server must not take ---------------------------------------- */

/*
 * What was changed on the way is not executed, and a sequence number once more
 * is dropped in silence (RFC 2203, 5.3.3.1). The first harms nothing that
 * follows. Nor does the second, or else @ends: Ganesha 6 ends the connection,
 * for an NFSv4 server drops no Call without that (RFC 7530, 3.1.1).
 */
static bool refused(const struct peer *c, const struct io *root,
		    const char *dir, bool protect, bool ends)
{
	struct io io = *root;
	char path[512], name[64];
	uint32_t seq;
	bool changed;

	snprintf(name, sizeof(name), "%d-refused", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	io.name = name;
	fill(5000);
	if (!on_disk(path, pattern, 0, true))
		return false;
	if (io.vers == 3 &&
	    !call(c, NFS3_LOOKUP, lookup3_args, lookup3_results, &io))
		return false;
	if (!all(c, &io, pattern, 5000, 5000, true))
		return false;
	if (protect) {
		pattern[7]++;
		gss_rpc_tamper(c->hand);
		changed = all(c, &io, pattern, 5000, 5000, true);
		pattern[7]--;
		if (changed) {
			fprintf(stderr, "tampered arguments were executed\n");
			return false;
		}
	}
	if (!all(c, &io, back, 5000, 5000, false))
		return false;
	/* Not the last one: ntirpc 6.3 takes that a second time. */
	seq = gss_rpc_seq(c->hand);
	gss_rpc_set_seq(c->hand, seq - 2);
	if (!gss_rpc_send(c->hand, 0, nothing, NULL))
		return false;
	gss_rpc_set_seq(c->hand, seq);
	if (ends) {
		if (!gss_rpc_ended(c->hand)) {
			fprintf(stderr, "the connection did not end\n");
			return false;
		}
		return on_disk(path, back, 5000, false) &&
		       !memcmp(pattern, back, 5000) && !unlink(path);
	}
	return all(c, &io, back, 5000, 5000, false) &&
	       !memcmp(pattern, back, 5000) && !unlink(path);
}

/* ---- The whole ---------------------------------------------------------- */

static int dial(const char *host, const char *port, struct sockaddr_in *sin)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons((uint16_t)atoi(port));
	if (fd >= 0 && inet_pton(AF_INET, host, &sin->sin_addr) == 1 &&
	    !connect(fd, (struct sockaddr *)sin, sizeof(*sin)))
		return fd;
	perror(host);
	if (fd >= 0)
		close(fd);
	return -1;
}

static CLIENT *client(const char *host, const char *port, rpcprog_t prog,
		      rpcvers_t vers)
{
	struct sockaddr_in sin;
	struct netbuf nb = { sizeof(sin), sizeof(sin), &sin };
	int fd = dial(host, port, &sin);
	CLIENT *c;

	if (fd < 0)
		return NULL;
	c = clnt_vc_create(fd, &nb, prog, vers, 0, 0);
	if (!c) {
		clnt_pcreateerror(host);
		close(fd);
		return NULL;
	}
	clnt_control(c, CLSET_FD_CLOSE, NULL);
	return c;
}

struct security {
	const char *name;
	rpc_gss_svc_t service; /* 0: AUTH_SYS */
};

static const struct security securities[] = {
	{ "sys", 0 },
	{ "krb5", RPCSEC_GSS_SVC_NONE },
	{ "krb5i", RPCSEC_GSS_SVC_INTEGRITY },
	{ "krb5p", RPCSEC_GSS_SVC_PRIVACY },
};

static AUTH *authentication(CLIENT *c, rpc_gss_svc_t service, char *target)
{
	static gss_OID_desc krb5 = { 9,
				     "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" };
	struct rpc_gss_sec sec = { .mech = &krb5,
				   .qop = GSS_C_QOP_DEFAULT,
				   .svc = service,
				   .req_flags = GSS_C_MUTUAL_FLAG };

	if (!service)
		return authunix_create_default();
	return authgss_create_default(c, target, &sec);
}

static bool root_handle(char **argv, struct io *io)
{
	struct peer m = { .library = client(argv[1], argv[3], MOUNT, 3) };
	bool ok;

	if (!m.library)
		return false;
	m.library->cl_auth = authunix_create_default();
	ok = call(&m, MNT3_MNT, mnt_args, mnt_results, io);
	auth_destroy(m.library->cl_auth);
	clnt_destroy(m.library);
	return ok;
}

static bool files(const struct peer *c, const struct io *root, const char *dir,
		  const uint32_t *span, size_t nspans, unsigned int *count)
{
	for (size_t s = 0; s < nspans; s++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			if (sizes[i] / span[s] > 70)
				continue;
			if (!one_file(c, root, dir, sizes[i], span[s]))
				return false;
			++*count;
		}
	}
	return true;
}

static bool by_library(char **argv, const struct io *io, rpc_gss_svc_t service,
		       char *target, unsigned int *count)
{
	/* More would not fit its buffer, which protection needs. */
	static const uint32_t span[] = { 30011, 4096 };
	struct peer c = { .library = client(argv[1], argv[2], NFS, io->vers) };
	bool ok = false;

	if (!c.library)
		return false;
	c.library->cl_auth = authentication(c.library, service, target);
	if (!c.library->cl_auth) {
		clnt_pcreateerror("no context");
		goto out;
	}
	ok = files(&c, io, argv[6], span, 2, count);
	auth_destroy(c.library->cl_auth);
out:
	clnt_destroy(c.library);
	return ok;
}

static bool by_hand(char **argv, const struct io *io, rpc_gss_svc_t service,
		    const char *target, unsigned int *count)
{
	static const uint32_t span[] = { IO_MAX, 65536, 262143 };
	struct sockaddr_in sin;
	bool ends = getenv("RPCRDMA_TEST_ENDS") != NULL;
	struct peer c = { 0 };
	int fd = dial(argv[1], argv[2], &sin);
	bool ok;

	if (fd < 0)
		return false;
	c.hand = gss_rpc_open(fd, NFS, io->vers, service, target);
	if (!c.hand)
		return false;
	ok = files(&c, io, argv[6], span, 3, count) &&
	     refused(&c, io, argv[6], service != RPCSEC_GSS_SVC_NONE, ends);
	gss_rpc_close(c.hand, ok && !ends);
	return ok;
}

/*
 * A Call is sent when a line has come by standard input, and its connection
 * must end then: what the server may have seen nobody else can send again.
 */
static bool lost(char **argv, const struct io *io, rpc_gss_svc_t service,
		 const char *target)
{
	struct sockaddr_in sin;
	struct gss_rpc *r;
	int fd = dial(argv[1], argv[2], &sin);
	char line[8];
	bool ended;

	if (fd < 0)
		return false;
	r = gss_rpc_open(fd, NFS, io->vers, service, target);
	if (!r)
		return false;
	puts("ready");
	fflush(stdout);
	ended = fgets(line, sizeof(line), stdin) &&
		gss_rpc_send(r, 0, nothing, NULL) && gss_rpc_ended(r);
	gss_rpc_close(r, false);
	return ended;
}

int main(int argc, char **argv)
{
	const struct security *sec = NULL;
	struct io io = { .name = "/export" };
	unsigned int count = 0;
	char target[256];

	if (argc < 7)
		return 2;
	for (size_t i = 0; i < sizeof(securities) / sizeof(*sec); i++)
		if (!strcmp(argv[4], securities[i].name))
			sec = &securities[i];
	if (!sec)
		return 2;
	io.vers = (unsigned int)atoi(argv[5]);
	snprintf(target, sizeof(target), "%s",
		 argc > 7 ? argv[7] : "nfs@localhost");
	if (argc > 8 && !strcmp(argv[8], "lost"))
		return !lost(argv, &io, sec->service, target);
	if ((io.vers == 3 && !root_handle(argv, &io)) ||
	    !by_library(argv, &io, sec->service, target, &count) ||
	    (sec->service && !by_hand(argv, &io, sec->service, target, &count)))
		return 1;
	printf("%u files\n", count);
	return 0;
}
