/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rehearse - start the packaged Ganesha with a configuration, and see how far it gets
 *
 *   this process         waits, 20 s at most
 *     first process      of new mount, network and PID namespaces: makes them
 *                        ready, and waits; with its end the kernel ends all in them
 *       ganesha.nfsd     with librpcrdma-rehearsal.so, which is told in
 *                        RPCRDMA_REHEARSAL=NETWORK:STATE the descriptors of the
 *                        machine's network namespace and of a file system in memory
 */
#include "ganesha/launch/rehearse.h"

#include <netinet/in.h>
#include <net/if.h>
#include <linux/ipv6.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 20
/* Exit statuses of the first process, beside Ganesha's own and 128 + signal. */
#define SERIOUS 3 /* initialised; there were messages of CRIT or MAJ */
#define NO_NFS 4 /* initialised, but serves no NFS over TCP */
#define UNABLE 125

static enum rehearsed not_rehearsed(const char *why)
{
	fprintf(stderr, "Not rehearsed: %s. Only the RDMA block was checked.\n",
		why);
	return NOT_REHEARSED;
}

static void add_v4(int s, const struct sockaddr *address, unsigned int n)
{
	struct ifreq one = { .ifr_addr = *address };

	snprintf(one.ifr_name, sizeof(one.ifr_name), "lo:%u", n);
	ioctl(s, SIOCSIFADDR, &one);
	/* With a wider netmask, the whole network would be local. */
	((struct sockaddr_in *)&one.ifr_netmask)->sin_addr.s_addr =
		INADDR_BROADCAST;
	ioctl(s, SIOCSIFNETMASK, &one);
}

static void add_v6(struct sockaddr_in6 *address)
{
	struct in6_ifreq one = { address->sin6_addr, 128, 1 };
	int s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* The link does not exist here. */
	if (IN6_IS_ADDR_LINKLOCAL(&one.ifr6_addr))
		return;
	ioctl(s, SIOCSIFADDR, &one);
	/* It cannot be bound to at once. */
	for (unsigned int i = 0; i < 1000; i++) {
		if (!bind(s, (void *)address, sizeof(*address)))
			break;
		usleep(1000);
	}
	close(s);
}

/* Give the loopback interface of this network @all addresses of the machine, so that
 * Bind_Addr means there what it means here. */
static void add_addresses(const struct ifaddrs *all)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int n = 0;

	ioctl(s, SIOCSIFFLAGS, &up);
	for (; all; all = all->ifa_next) {
		if (all->ifa_addr && all->ifa_addr->sa_family == AF_INET)
			add_v4(s, all->ifa_addr, n++);
		if (all->ifa_addr && all->ifa_addr->sa_family == AF_INET6)
			add_v6((void *)all->ifa_addr);
	}
	close(s);
}

/* Programs may bind in network @to to addresses that it does not have, if they may in
 * @from. This process is in @to then. Returns false if it cannot be. */
static bool copy_nonlocal(int from, int to, const char *path)
{
	int in, out;
	char value;
	bool moved;

	moved = !setns(from, CLONE_NEWNET);
	in = open(path, O_RDONLY | O_CLOEXEC);
	moved = !setns(to, CLONE_NEWNET) && moved;
	out = open(path, O_WRONLY | O_CLOEXEC);
	/* Without IPv6 there is no such file. */
	if (in >= 0 && out >= 0 && read(in, &value, 1) == 1 &&
	    write(out, &value, 1) < 0)
		moved = false;
	close(in);
	close(out);
	return moved;
}

/* A file system in memory that is mounted nowhere. Returns its descriptor or -1. */
static int memory(void)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return fsmount(fs, 0, 0);
}

static void exec_program(const struct rehearsal *r, int network, int state)
{
	char told[32], pid_file[32];

	snprintf(told, sizeof(told), "%d:%d", network, state);
	snprintf(pid_file, sizeof(pid_file), "/proc/self/fd/%d",
		 memfd_create("pid", 0));
	setenv("RPCRDMA_REHEARSAL", told, 1);
	setenv("LD_PRELOAD", r->preload, 1);
	/* Sockets with a path can be reached from any network. */
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/proc/none", 1);
	setenv("BLKID_FILE", "/dev/null", 1);
	execl(r->program, r->program, "-F", "-L", "/dev/null", "-p", pid_file,
	      "-f", r->config, (char *)NULL);
}

/* The first process. Returns its exit status. */
static int run_first(const struct rehearsal *r, int network,
		     const struct ifaddrs *addresses)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int state, status;
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* No core file, and none by core_pattern's program: core(5). */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
	/* Not private, so that an unmount takes effect here, too. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return UNABLE;
	state = memory();
	/* The library looks up names in the machine's network. */
	if (state < 0 ||
	    !copy_nonlocal(network, own,
			   "/proc/sys/net/ipv4/ip_nonlocal_bind") ||
	    !copy_nonlocal(network, own, "/proc/sys/net/ipv6/ip_nonlocal_bind"))
		return UNABLE;
	add_addresses(addresses);
	child = fork();
	if (!child) {
		exec_program(r, network, state);
		_exit(UNABLE);
	}
	if (waitpid(child, &status, 0) < 0)
		return UNABLE;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

enum rehearsed rehearse(const struct rehearsal *r)
{
	int network = open("/proc/self/ns/net", O_RDONLY);
	struct pollfd end = { .fd = -1, .events = POLLIN };
	struct ifaddrs *addresses = NULL;
	pid_t child;
	int status;
	bool ended;

	if (geteuid())
		return not_rehearsed("only root can start Ganesha");
	(void)getifaddrs(&addresses);
	fflush(NULL);
	/* A fork() into new namespaces. */
	child = (pid_t)syscall(SYS_clone,
			       CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
				       CLONE_PIDFD | SIGCHLD,
			       NULL, &end.fd, NULL, NULL);
	if (!child)
		_exit(run_first(r, network, addresses));
	freeifaddrs(addresses);
	close(network);
	if (child < 0)
		return not_rehearsed("this process may not make namespaces");
	ended = poll(&end, 1, LIMIT_S * 1000) == 1;
	if (!ended)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(end.fd);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : UNABLE;
	if (ended && status == UNABLE)
		return not_rehearsed(
			"this process may not use namespaces as it must");
	if (!status || (status == SERIOUS && !r->strict))
		return REHEARSED;
	fprintf(stderr, "ganesha-rdma.nfsd: %s: ", r->config);
	if (!ended)
		fprintf(stderr,
			"the server was not initialised after %d s; "
			"it may take longer\n",
			LIMIT_S);
	else if (status == SERIOUS)
		fputs("refused because of --strict: correct what Ganesha says above\n",
		      stderr);
	else if (status == NO_NFS)
		fputs("Ganesha serves no NFS over TCP with it, and so no RDMA: "
		      "correct Protocols in NFS_Core_Param\n",
		      stderr);
	else if (status > 128)
		fprintf(stderr,
			"Ganesha crashes with it after the last line above: "
			"signal %d (%s)\n",
			status - 128, strsignal(status - 128));
	else
		fputs("the server would not start with it\n", stderr);
	return REHEARSAL_FAILED;
}
