/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ganesha's own ports: which are bound, as NFS_Core_Param is read by the parser of the
 * installed Ganesha, and who has one that is in use, as a /proc of ours and the real one
 * tell. integration/ganesha.test compares with the server.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "ganesha/config/config.h"
#include "ganesha/holder.h"
#include "ganesha/ports.h"
#include "parsed.h"

/* ---- Who has it --------------------------------------------------------- */

/* A folder that is like /proc, with tables and one process. */
static char proc[] = "/tmp/rpcrdma-ports-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void put_link(const char *name, const char *to)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	unlink(path);
	CU_ASSERT_EQUAL_FATAL(symlink(to, path), 0);
}

static void put_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
}

#define HEAD                                                                  \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when " \
	"retrnsmt   uid  timeout inode\n"
/* A row as the kernel of a little-endian machine has it. */
#define ROW(address, port, state, inode)                                \
	"   0: " address ":" port " 00000000:0000 " state               \
	" 00000000:00000000 00:00000000 00000000     0        0 " inode \
	" 1 0000000000000000 100 0 0 10 0\n"

static void make_proc(void)
{
	strcpy(proc, "/tmp/rpcrdma-ports-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	put_dir("self");
	put_dir("self/net");
	put_dir("77");
	put_dir("77/fd");
	put_link("77/exe", "/usr/bin/something");
	put_link("77/fd/0", "/dev/null");
	put_link("77/fd/9", "socket:[4711]");
	/* 2049 is 0801, 2050 is 0802. */
	put("self/net/tcp", HEAD ROW("0100007F", "0801", "0A", "4711")
				    ROW("0200007F", "0802", "01", "4711"));
	put("self/net/tcp6",
	    HEAD ROW("0000000000000000FFFF00000300007F", "0803", "0A", "4711") ROW(
		    "00000000000000000000000001000000", "0804", "0A",
		    "4712") "nonsense\n" ROW("00000000000000000000000000000000",
					     "0805", "0A", "4711"));
	put("self/net/udp", HEAD ROW("00000000", "0801", "07", "4711"));
}

static void remove_proc(void)
{
	static const char *const names[] = {
		"self/net/tcp", "self/net/tcp6", "self/net/udp",
		"self/net",	"self",		 "77/fd/0",
		"77/fd/9",	"77/fd",	 "77/exe",
		"77",
	};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, names[i]);
		CU_ASSERT_EQUAL(remove(path), 0);
	}
	CU_ASSERT_EQUAL(rmdir(proc), 0);
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(&ss, &in, sizeof(in));
	} else {
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, text, &in6.sin6_addr),
				      1);
		memcpy(&ss, &in6, sizeof(in6));
	}
	fab_addr_set_port(&ss, port);
	return ss;
}

static bool is_held(const char *text, uint16_t port, bool udp)
{
	struct sockaddr_storage at = address(text, port);
	struct gr_holder h;

	gr_holder_find(proc, &at, udp, &h);
	CU_ASSERT_EQUAL(h.pid, h.by == GR_HELD_PROCESS ? 77 : 0);
	CU_ASSERT_STRING_EQUAL(h.name,
			       h.by == GR_HELD_PROCESS ? "something" : "");
	return h.by == GR_HELD_PROCESS;
}

static void holders(void)
{
	struct sockaddr_storage at = address("::1", 2052);
	struct gr_holder h;

	make_proc();
	CU_ASSERT_TRUE(is_held("127.0.0.1", 2049, false));
	CU_ASSERT_TRUE(is_held("0.0.0.0", 2049, false));
	CU_ASSERT_TRUE(is_held("::", 2049, false));
	CU_ASSERT_TRUE(is_held("::ffff:127.0.0.1", 2049, false));
	/* Another address, another port, one that does not listen. */
	CU_ASSERT_FALSE(is_held("127.0.0.2", 2049, false));
	CU_ASSERT_FALSE(is_held("127.0.0.1", 2048, false));
	CU_ASSERT_FALSE(is_held("127.0.0.2", 2050, false));
	/* An IPv4 address that a socket of IPv6 has; all addresses of it. */
	CU_ASSERT_TRUE(is_held("127.0.0.3", 2051, false));
	CU_ASSERT_TRUE(is_held("192.0.2.7", 2053, false));
	CU_ASSERT_TRUE(is_held("2001:db8::1", 2053, false));
	/* UDP's own table; all IPv4 addresses. */
	CU_ASSERT_TRUE(is_held("192.0.2.7", 2049, true));
	CU_ASSERT_FALSE(is_held("192.0.2.7", 2051, true));
	/* One that no process has. */
	gr_holder_find(proc, &at, false, &h);
	CU_ASSERT_EQUAL(h.by, geteuid() ? GR_HELD_UNKNOWN : GR_HELD_KERNEL);
	/* Nothing can be read; and a socket's process has a program that is gone. */
	gr_holder_find("/nonexistent", &at, false, &h);
	CU_ASSERT_EQUAL(h.by, GR_HELD_UNKNOWN);
	put_link("77/exe", "gone");
	at = address("127.0.0.1", 2049);
	gr_holder_find(proc, &at, false, &h);
	CU_ASSERT_EQUAL(h.by, GR_HELD_PROCESS);
	CU_ASSERT_STRING_EQUAL(h.name, "?");
	remove_proc();
}

/* ---- What is bound ------------------------------------------------------ */

static char out_text[1024];

typedef bool asked_fn(const struct gsh *g, struct gsh_config *tree,
		      const struct gr_ports *p);

static asked_fn *asked;
static struct gr_ports *asked_of;

static bool ask(struct gsh_config *tree)
{
	struct gr_ports *p = asked_of;
	bool yes;

	out_text[0] = '\0';
	p->said = fmemopen(said, sizeof(said), "w");
	p->out = fmemopen(out_text, sizeof(out_text), "w");
	yes = asked(&gsh, tree, p);
	fclose(p->said);
	fclose(p->out);
	return yes;
}

/* What @fn says of these items of NFS_Core_Param, as the installed Ganesha reads them. */
static bool answer(asked_fn *fn, const char *items, struct gr_ports *p)
{
	char text[512];

	snprintf(text, sizeof(text), "NFS_Core_Param { %s }\n", items);
	asked = fn;
	asked_of = p;
	return parsed(text, ask);
}

/* Would a server with these start? */
static bool starts(const char *items, const char *at, const char *from)
{
	struct gr_ports p = { .file = "/nonexistent/ganesha.conf",
			      .socket = "/nonexistent/s",
			      .proc = from,
			      .at = address(at, 0) };

	return answer(gr_ports_check, items, &p);
}

static int bound(int type, uint16_t *port)
{
	struct sockaddr_storage at = address("127.0.0.1", *port);
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, type, 0);

	CU_ASSERT_FATAL(fd >= 0);
	if (bind(fd, (struct sockaddr *)&at, fab_addr_len(&at))) {
		close(fd);
		return -1;
	}
	CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = fab_addr_port(&at);
	return fd;
}

/* A socket of ours at a free port of the loopback, which is @port then. Free of the other
 * type as well: it may be that of a connection of another program. */
static int hold(int type, uint16_t *port)
{
	int other = type == SOCK_STREAM ? SOCK_DGRAM : SOCK_STREAM;
	int fd = -1, spare = -1;

	for (int i = 0; i < 100 && spare < 0; i++) {
		if (fd >= 0)
			close(fd);
		*port = 0;
		fd = bound(type, port);
		CU_ASSERT_FATAL(fd >= 0);
		spare = bound(other, port);
	}
	CU_ASSERT_FATAL(spare >= 0);
	close(spare);
	if (type == SOCK_STREAM)
		CU_ASSERT_EQUAL_FATAL(listen(fd, 1), 0);
	return fd;
}

/* Is it refused with @item at @port, and with nothing else? */
static bool is_refused(const char *more, const char *item, uint16_t port)
{
	static const char *const all[] = { "NFS_Port", "MNT_Port", "NLM_Port",
					   "Rquota_Port" };
	char items[256], line[128];
	size_t n = 0;
	bool good;

	for (size_t i = 0; i < 4; i++)
		n += (size_t)snprintf(items + n, sizeof(items) - n, "%s = %u; ",
				      all[i], strcmp(all[i], item) ? 0 : port);
	snprintf(items + n, sizeof(items) - n, "%s", more);
	good = starts(items, "127.0.0.1", "/proc");
	snprintf(line, sizeof(line), "NFS_Core_Param: %s = %u is in use over ",
		 item, port);
	CU_ASSERT_EQUAL(!good, *said != '\0');
	CU_ASSERT_EQUAL(!good, strstr(said, line) != NULL);
	if (!good) {
		snprintf(line, sizeof(line), ", process %d: stop",
			 (int)getpid());
		CU_ASSERT_PTR_NOT_NULL(strstr(said, line));
		CU_ASSERT_EQUAL(strchr(said, '\n'), said + strlen(said) - 1);
	}
	CU_ASSERT_STRING_EQUAL(out_text, "");
	return !good;
}

static void programs(void)
{
	uint16_t tcp, udp;
	int fd = hold(SOCK_STREAM, &tcp), ufd = hold(SOCK_DGRAM, &udp);

	CU_ASSERT_TRUE(is_refused("", "NFS_Port", tcp));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, " over TCP by "));
	CU_ASSERT_TRUE(is_refused("", "MNT_Port", tcp));
	CU_ASSERT_TRUE(is_refused("", "NLM_Port", tcp));
	CU_ASSERT_TRUE(is_refused("", "Rquota_Port", tcp));
	/* Not those that are off. */
	CU_ASSERT_TRUE(is_refused("Protocols = 4;", "NFS_Port", tcp));
	CU_ASSERT_FALSE(is_refused("Protocols = 4;", "MNT_Port", tcp));
	CU_ASSERT_FALSE(is_refused("Protocols = 4;", "NLM_Port", tcp));
	CU_ASSERT_TRUE(is_refused("Protocols = 4;", "Rquota_Port", tcp));
	CU_ASSERT_TRUE(is_refused("Protocols = 4, NFSv3;", "MNT_Port", tcp));
	CU_ASSERT_FALSE(is_refused("Enable_NLM = no;", "NLM_Port", tcp));
	CU_ASSERT_FALSE(is_refused("Enable_RQUOTA = no;", "Rquota_Port", tcp));
	/* UDP is bound, too. */
	CU_ASSERT_TRUE(is_refused("", "NFS_Port", udp));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, " over UDP by "));
	CU_ASSERT_FALSE(is_refused("Enable_UDP = false;", "NFS_Port", udp));
	CU_ASSERT_FALSE(is_refused("Enable_UDP = no;", "MNT_Port", udp));
	CU_ASSERT_FALSE(is_refused("Enable_UDP = off;", "MNT_Port", udp));
	CU_ASSERT_TRUE(is_refused("Enable_UDP = true;", "NLM_Port", udp));
	CU_ASSERT_FALSE(is_refused("Enable_UDP = mount;", "NFS_Port", udp));
	CU_ASSERT_TRUE(is_refused("Enable_UDP = mount;", "MNT_Port", udp));
	close(fd);
	close(ufd);
}

/* RDMA's own port among them, over TCP. */
static bool clashes(const char *items, uint16_t rdma)
{
	struct gr_ports p = { .rdma = rdma };
	bool clash = answer(gr_ports_clash, items, &p);

	CU_ASSERT_EQUAL(clash, *said != '\0');
	return clash;
}

static void clash(void)
{
	CU_ASSERT_FALSE(clashes("", 20049));
	CU_ASSERT_TRUE(clashes("MNT_Port = 20049;", 20049));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "MNT_Port = 20049 is the Port of"));
	CU_ASSERT_FALSE(clashes("MNT_Port = 20049; Protocols = 4;", 20049));
	CU_ASSERT_TRUE(clashes("NLM_Port = 7;", 7));
	CU_ASSERT_TRUE(clashes("", 875));
	CU_ASSERT_FALSE(clashes("Enable_RQUOTA = false;", 875));
	/* Of NFS_Port another one says so; any port is none. */
	CU_ASSERT_FALSE(clashes("NFS_Port = 20049;", 20049));
	CU_ASSERT_FALSE(clashes("MNT_Port = 0;", 0));
}

static void told(void)
{
	uint16_t tcp;
	int fd = hold(SOCK_STREAM, &tcp);
	char items[64];

	snprintf(items, sizeof(items),
		 "Protocols = 4; NFS_Port = %u; "
		 "Rquota_Port = 0;",
		 tcp);
	/* Of the address alone; the kernel; nobody knows. */
	CU_ASSERT_TRUE(starts(items, "127.0.0.2", "/proc"));
	CU_ASSERT_FALSE(starts(items, "0.0.0.0", "/proc"));
	CU_ASSERT_FALSE(starts(items, "::", "/proc"));
	CU_ASSERT_TRUE(starts(items, "127.0.0.1", "/nonexistent"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, "Ignore this if it is this server"));
	close(fd);
	CU_ASSERT_TRUE(starts(items, "127.0.0.1", "/proc"));
	CU_ASSERT_STRING_EQUAL(said, "");
	/* Two programs at one port: over UDP, too, both bind. */
	snprintf(items, sizeof(items), "NFS_Port = %u; MNT_Port = %u;", tcp,
		 tcp);
	CU_ASSERT_TRUE(starts(items, "127.0.0.1", "/proc"));
}

/* All ports are any; those of version 3 are there only with it. */
static bool serves(const char *more)
{
	char items[256];

	snprintf(items, sizeof(items),
		 "NFS_Port = 0; MNT_Port = 0; NLM_Port = 0; Rquota_Port = 0; "
		 "%s",
		 more);
	return starts(items, "127.0.0.1", "/proc");
}

static bool nfs4(const struct gsh *g, struct gsh_config *tree,
		 const struct gr_ports *p)
{
	return gr_ports_nfs4(g, tree);
}

static void version4(void)
{
	struct gr_ports p = { .said = NULL };

	CU_ASSERT_TRUE(answer(nfs4, "", &p));
	CU_ASSERT_TRUE(answer(nfs4, "Protocols = 3, 4;", &p));
	CU_ASSERT_TRUE(answer(nfs4, "Protocols = NFSv4;", &p));
	CU_ASSERT_FALSE(answer(nfs4, "Protocols = 3;", &p));
	CU_ASSERT_FALSE(answer(nfs4, "Protocols = 9P;", &p));
}

static void numbers(void)
{
	CU_ASSERT_TRUE(serves(""));
	CU_ASSERT_FALSE(serves("NFS_Program = 100005;"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, "NFS_Program and MNT_Program are both 100005"));
	CU_ASSERT_FALSE(serves("MNT_Program = 100003;"));
	CU_ASSERT_FALSE(serves("NFS_Program = 7; MNT_Program = 7;"));
	CU_ASSERT_TRUE(serves("NFS_Program = 100005; Protocols = 4;"));
	CU_ASSERT_TRUE(serves("NFS_Program = 100005; MNT_Program = 100003;"));
	CU_ASSERT_TRUE(serves("NFS_Program = 100021;"));
	/* Which Ganesha refuses by itself. */
	CU_ASSERT_TRUE(serves("MNT_Program = 0; NFS_Program = 100003;"));
}

/* A server with this file has it, or another. */
static void servers(void)
{
	char row[256], items[64];
	uint16_t tcp;
	int fd = hold(SOCK_STREAM, &tcp);

	make_proc();
	put_link("77/exe", "/usr/bin/ganesha-rdma.nfsd");
	snprintf(row, sizeof(row),
		 HEAD "   0: 0100007F:%04X 00000000:0000 0A "
		      "00000000:00000000 00:00000000 00000000 0 0 4711 1\n",
		 tcp);
	put("self/net/tcp", row);
	snprintf(items, sizeof(items),
		 "Protocols = 4; NFS_Port = %u; "
		 "Rquota_Port = 0;",
		 tcp);
	/* Of process 77 nobody can tell which file it has. */
	if (access("/proc/77/cmdline", F_OK)) {
		CU_ASSERT_TRUE(starts(items, "127.0.0.1", proc));
		CU_ASSERT_STRING_EQUAL(said, "");
		CU_ASSERT_PTR_NOT_NULL(strstr(
			out_text,
			"# The running server, process 77, has NFS_Port"));
	}
	put_link("77/fd/9", "socket:[1]");
	CU_ASSERT_EQUAL(starts(items, "127.0.0.1", proc), geteuid() != 0);
	if (!geteuid())
		CU_ASSERT_PTR_NOT_NULL(
			strstr(said, "perhaps the kernel's NFS server"));
	remove_proc();
	close(fd);
}

static const struct unit_test tests[] = {
	{ "who has it", holders }, { "programs", programs },
	{ "told", told },	   { "numbers", numbers },
	{ "version 4", version4 }, { "RDMA\'s", clash },
	{ "servers", servers },	   { NULL, NULL },
};

int main(int argc, char **argv)
{
	return unit_run("ganesha-ports", tests, argc, argv);
}
