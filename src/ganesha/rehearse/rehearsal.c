/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rehearsal - let Ganesha start with a configuration, and touch nothing
 *
 * The packaged ganesha.nfsd has this library preloaded, in namespaces that
 * launch/rehearse.c has made. It interposes functions of Ganesha, ntirpc and the C library:
 *
 *   config_ParseFile        in the machine's network, for %url; from then on messages
 *                           go to standard error
 *   load_config_from_parse  read what the file says of state, credentials and logs, and
 *                           replace it; count exports
 *   register_fsal, dlopen, lookup_fsal
 *                           load an FSAL whose file systems are not of this machine, but
 *                           let FSAL_PSEUDO open its exports: the FSAL would take the
 *                           place of the running server
 *   getaddrinfo             in the machine's network
 *   svc_reg, rpcb_unset     do nothing, as the machine's rpcbind can be reached by its path;
 *                           check that it runs
 *   nfs_start               report when Ganesha is initialised, and end
 *
 * Context: Ganesha's main thread, but for print_message() and report_end().
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rpc/rpcb_clnt.h>

#include "compat/ganesha.h"
#include "ganesha/keywords/keywords.h"
#include "ganesha/hook/preload.h"

#define NFS_PROGRAM 100003

#define HOOK __attribute__((visibility("default")))
/* Declare @next, the function that would have been called without this library. */
#define NEXT(name)              \
	__typeof__(&name) next; \
	*(void **)&next = dlsym(RTLD_NEXT, #name)

/* Before the name of an FSAL that opens nothing: Ganesha makes the directories that lead
 * to other exports only in what begins with PSEUDO. */
#define CLOSED "PSEUDO/"
/* As launch/rehearse.c knows them. */
#define STATUS_SERIOUS 3
#define STATUS_NO_NFS 4

extern int *component_log_level;
int create_log_facility(const char *name,
			int (*log)(int headers, void *ctx, int level,
				   void *buffer, char *component,
				   char *message),
			int max_level, int headers, void *ctx);
int enable_log_facility(const char *name);
void nfs_init_wait(void);
struct gsh_config *config_ParseFile(char *path, struct gsh_config_errors *e);
int load_config_from_parse(struct gsh_config *tree,
			   struct gsh_config_block *block, void *param,
			   bool unique, struct gsh_config_errors *e);
int register_fsal(struct gsh_fsal_module *m, const char *name, uint32_t major,
		  uint32_t minor, uint8_t id);
struct gsh_fsal_module *lookup_fsal(const char *name);
void nfs_start(struct gsh_start_info *info);

static struct {
	int machine, own; /* network namespaces */
	char state[32]; /* the directory for what Ganesha writes */
	struct gsh_config_item *facility; /* in the block LOG */
	int (*commit_facility)(void *node, void *link, void *self,
			       struct gsh_config_errors *e);
	void *(*init_export)(void *link, void *self);
	int (*commit_export)(void *node, void *link, void *self,
			     struct gsh_config_errors *e);
	struct gsh_fsal_module *pseudo, *loading;
	struct gsh_config_errors
		*errors; /* found in the file, and told at the end */
	bool nfs; /* is served */
	int exports, served, unopened;
	char fsals[128]; /* of the @unopened exports */
	atomic_bool serious;
} rehearsal;

__attribute__((constructor)) static void read_environment(void)
{
	const char *told = getenv("RPCRDMA_REHEARSAL");
	int state;

	if (getenv(GR_ENV_PROBE))
		_exit(GR_PROBED);
	if (!told || sscanf(told, "%d:%d", &rehearsal.machine, &state) != 2)
		_exit(1);
	rehearsal.own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	snprintf(rehearsal.state, sizeof(rehearsal.state), "/proc/self/fd/%d",
		 state);
}

static void enter_network(int of)
{
	if (setns(of, CLONE_NEWNET))
		_exit(1);
}

/* ---- Messages ----------------------------------------------------------- */

/* Returns true for messages about our own blocks, those of a backend that is not used, and
 * tickets for reverse Calls, which cannot be had here (4.3 wants them without Kerberos). */
static bool is_no_fault(const char *message)
{
	return strstr(message, "Unknown block (RDMA") ||
	       strstr(message, "Unknown block (RADOS_KV") ||
	       !strncmp(message, "gssd_refresh", 12);
}

/* Print warnings, and faults of the file, some of which Ganesha logs as events. */
static int print_message(int headers, void *ctx, int level, void *buffer,
			 char *component, char *message)
{
	static const char *const names[] = { "",     "FATAL", "MAJ",
					     "CRIT", "WARN",  "EVENT" };
	bool of_file = !strncmp(message, "Config File", 11);

	if (level < GSH_FATAL || (level > GSH_WARN && !of_file) ||
	    is_no_fault(message))
		return 0;
	if (level != GSH_WARN)
		rehearsal.serious = true;
	return fprintf(stderr, "Ganesha: %s: %.*s\n", names[level],
		       (int)strcspn(message, "\n"), message);
}

/* Ganesha crashes before it has printed the faults of the file. */
static void print_errors(int signal)
{
	char *line, *rest = NULL;

	fflush(rehearsal.errors->fp);
	for (line = strtok_r(rehearsal.errors->diag_buf, "\f", &rest); line;
	     line = strtok_r(NULL, "\f", &rest))
		print_message(0, NULL, GSH_CRIT, NULL, NULL, line);
}

HOOK struct gsh_config *config_ParseFile(char *path,
					 struct gsh_config_errors *e)
{
	struct sigaction told = { .sa_handler = print_errors,
				  .sa_flags = (int)SA_RESETHAND };
	struct gsh_config *tree;
	NEXT(config_ParseFile);

	rehearsal.errors = e;
	sigaction(SIGSEGV, &told, NULL);
	sigaction(SIGABRT, &told, NULL);
	create_log_facility("REHEARSAL", print_message, GSH_EVENT, 0, NULL);
	enable_log_facility("REHEARSAL");
	enter_network(rehearsal.machine);
	tree = next(path, e);
	enter_network(rehearsal.own);
	return tree;
}

/* ---- Configuration ------------------------------------------------------- */

static const struct gsh_config_item *
find_item(const struct gsh_config_item *items, const char *name)
{
	while (strcasecmp(items->name, name))
		items++;
	return items;
}

/* Returns where @self, a structure that @items describe, has the value of the item @name. */
static void *value_of(const struct gsh_config_item *items, void *self,
		      const char *name)
{
	return (char *)self + find_item(items, name)->off;
}

/* The init of an EXPORT block. Without @link and @self there is one in the file. */
static void *count_export(void *link, void *self)
{
	if (!link && !self)
		rehearsal.exports++;
	return rehearsal.init_export(link, self);
}

static int commit_export(void *node, void *link, void *self,
			 struct gsh_config_errors *e)
{
	int errors = rehearsal.commit_export(node, link, self, e);

	rehearsal.served += !link && !errors;
	return errors;
}

/* Check and create a log facility, but do not enable it. FILE is the one of option -L. */
static int commit_facility(void *node, void *link, void *self,
			   struct gsh_config_errors *e)
{
	const struct gsh_config_item *items = rehearsal.facility->u.blk.params;
	int errors = rehearsal.commit_facility(node, link, self, e);

	*(uint32_t *)value_of(items, self, "enable") =
		find_item(items, "enable")->u.lst.def;
	if (!errors &&
	    !strcasecmp(*(char **)value_of(items, self, "name"), "FILE"))
		*(char **)value_of(items, self, "destination") =
			strdup("/dev/null");
	return errors;
}

/* Log all events, except for those of DBUS and NFS_CB, which do not work here. */
static void set_levels(const struct gsh_config_item *component)
{
	for (; component->name; component++)
		component_log_level[component->off / sizeof(int)] =
			strcmp(component->name, "DBUS") &&
					strcmp(component->name, "NFS_CB") ?
				GSH_EVENT :
				GSH_FATAL;
}

static void set_recovery(const struct gsh_config_item *items, void *nfs4)
{
	const struct gsh_config_token *t =
		find_item(items, "RecoveryBackend")->u.lst.tokens;

	while (strcmp(t->token, "fs"))
		t++;
	*(uint32_t *)value_of(items, nfs4, "RecoveryBackend") = t->value;
	*(char **)value_of(items, nfs4, "RecoveryRoot") = rehearsal.state;
}

HOOK int load_config_from_parse(struct gsh_config *tree,
				struct gsh_config_block *block, void *param,
				bool unique, struct gsh_config_errors *e)
{
	const struct gsh_config_item *items = block->desc.u.blk.params;
	const char *name = block->desc.name;
	bool log = !strcasecmp(name, "LOG");
	bool export = !strcasecmp(name, "EXPORT");
	int n;
	NEXT(load_config_from_parse);

	if (log) {
		/* Ganesha's description is writable. */
		rehearsal.facility =
			(struct gsh_config_item *)(uintptr_t)find_item(
				items, "Facility");
		rehearsal.commit_facility = rehearsal.facility->u.blk.commit;
		rehearsal.facility->u.blk.commit = commit_facility;
	} else if (export) {
		rehearsal.init_export = block->desc.u.blk.init;
		rehearsal.commit_export = block->desc.u.blk.commit;
		block->desc.u.blk.init = count_export;
		block->desc.u.blk.commit = commit_export;
	}
	block = (struct gsh_config_block *)(uintptr_t)gr_keywords_extend(block);
	n = next(tree, block, param, unique, e);
	if (log) {
		set_levels(find_item(items, "Components")->u.blk.params);
	} else if (!strcasecmp(name, "NFSv4")) {
		set_recovery(items, param);
	} else if (!strcasecmp(name, "NFS_KRB5")) {
		*(char **)value_of(items, param, "CCacheDir") = rehearsal.state;
		/* The default asks for a keytab, and does without. */
		if (!n)
			*(bool *)value_of(items, param, "Active_krb5") = false;
	}
	return n;
}

/* ---- FSALs --------------------------------------------------------------- */

static struct gsh_fsal_status create_export(struct gsh_fsal_module *m,
					    void *node,
					    struct gsh_config_errors *e,
					    const void *up)
{
	const char *name = m->name + strlen(CLOSED);
	char *fsals = rehearsal.fsals;
	size_t used = strlen(fsals);

	rehearsal.unopened++;
	if (!strstr(fsals, name))
		snprintf(fsals + used, sizeof(rehearsal.fsals) - used, "%s%s",
			 used ? ", " : "", name);
	return rehearsal.pseudo->create_export(m, node, e, up);
}

HOOK int register_fsal(struct gsh_fsal_module *m, const char *name,
		       uint32_t major, uint32_t minor, uint8_t id)
{
	static const char *const local[] = { "VFS", "XFS",  "LUSTRE",
					     "MEM", "NULL", "MDCACHE" };
	unsigned int i = 0;
	NEXT(register_fsal);

	while (i < 6 && strcmp(name, local[i]))
		i++;
	if (!strcmp(name, "PSEUDO"))
		rehearsal.pseudo = m;
	else if (i == 6)
		rehearsal.loading = m;
	return next(m, name, major, minor, id);
}

/* With RTLD_DEEPBIND an FSAL would not call register_fsal() above. Once it has been loaded it has
 * set its functions. */
HOOK void *dlopen(const char *file, int mode)
{
	struct gsh_fsal_module *m;
	void *library;
	NEXT(dlopen);

	library = next(file, mode & ~RTLD_DEEPBIND);
	m = rehearsal.loading;
	if (m) {
		m->create_export = create_export;
		if (asprintf(&m->name, CLOSED "%s", m->name) < 0)
			_exit(1);
	}
	rehearsal.loading = NULL;
	return library;
}

HOOK struct gsh_fsal_module *lookup_fsal(const char *name)
{
	char closed[64];
	struct gsh_fsal_module *m;
	NEXT(lookup_fsal);

	m = next(name);
	snprintf(closed, sizeof(closed), CLOSED "%s", name);
	return m ? m : next(closed);
}

/* ---- Network ------------------------------------------------------------- */

HOOK int getaddrinfo(const char *name, const char *service,
		     const struct addrinfo *hints, struct addrinfo **found)
{
	int error;
	NEXT(getaddrinfo);

	enter_network(rehearsal.machine);
	error = next(name, service, hints, found);
	enter_network(rehearsal.own);
	return error;
}

HOOK bool svc_reg(SVCXPRT *xprt, const rpcprog_t program,
		  const rpcvers_t version,
		  void (*dispatch)(struct svc_req *req),
		  const struct netconfig *netconfig)
{
	struct sockaddr_un rpcbind = { .sun_family = AF_UNIX,
				       .sun_path = "/run/rpcbind.sock" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool runs = !connect(fd, (struct sockaddr *)&rpcbind, sizeof(rpcbind));

	close(fd);
	if (program == NFS_PROGRAM && xprt->xp_type == XPRT_TCP_RENDEZVOUS)
		rehearsal.nfs = true;
	/* Ganesha serves NFSv4 without it. */
	return runs || (program == NFS_PROGRAM && version == 4);
}

HOOK bool rpcb_unset(const rpcprog_t program, const rpcvers_t version,
		     const struct netconfig *netconfig)
{
	return true;
}

/* ---- The end ------------------------------------------------------------- */

static void *report_end(void *unused)
{
	nfs_init_wait();
	printf("# %d of %d exports served.\n", rehearsal.served,
	       rehearsal.exports);
	if (rehearsal.unopened)
		printf("# Not rehearsed: what %d of them serve. FSAL %s was loaded, "
		       "but did not open it.\n",
		       rehearsal.unopened, rehearsal.fsals);
	fflush(stdout);
	if (!rehearsal.nfs)
		_exit(STATUS_NO_NFS);
	_exit(rehearsal.serious ? STATUS_SERIOUS : 0);
}

HOOK void nfs_start(struct gsh_start_info *info)
{
	pthread_t thread;
	NEXT(nfs_start);

	if (pthread_create(&thread, NULL, report_end, NULL))
		_exit(1);
	next(info);
}
