/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What compat/ganesha.h says and no header of a package does, tried with the installed
 * libganesha_nfsd: the log, the end by a fatal message, and an FSAL. Its parser is in
 * ganesha_bind.c; D-Bus in stat.test, create_export in check.test, the structures of a
 * Call in decode.test.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compat/ganesha.h"
#include "unit.h"

/* It does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static void *lib;
static char log_path[] = "/tmp/rpcrdma-facts-XXXXXX";

static void *find(const char *name)
{
	void *symbol = dlsym(lib, name);

	CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
	return symbol;
}

static void started(void)
{
	void (*prereq_init)(const char *program, const char *host, int level,
			    const char *path, bool dump_trace,
			    unsigned long stack);
	int fd = mkstemp(log_path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	close(fd);
	lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_GLOBAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lib);
	*(void **)&prereq_init = find("nfs_prereq_init");
	prereq_init("facts", "host", GSH_EVENT, log_path, false, 1 << 20);
}

/* Returns true if a line of the log has @text. @rest, if not NULL, has room for 1024: the
 * line from there on. */
static bool logged(const char *text, char *rest)
{
	FILE *f = fopen(log_path, "r");
	const char *at = NULL;
	char line[1024];

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (!at && fgets(line, sizeof(line), f))
		at = strstr(line, text);
	fclose(f);
	if (at && rest)
		strcpy(rest, at);
	return at;
}

static void levels(void)
{
	static const struct {
		enum gsh_level level;
		const char *name;
	} all[] = {
		{ GSH_FATAL, "NIV_FATAL" },
		{ GSH_MAJ, "NIV_MAJ" },
		{ GSH_CRIT, "NIV_CRIT" },
		{ GSH_WARN, "NIV_WARN" },
		{ GSH_EVENT, "NIV_EVENT" },
		{ GSH_INFO, "NIV_INFO" },
		{ GSH_DEBUG, "NIV_DEBUG" },
		{ GSH_MID_DEBUG, "NIV_MID_DEBUG" },
		{ GSH_FULL_DEBUG, "NIV_FULL_DEBUG" },
	};
	int (*level_of)(const char *name);

	*(void **)&level_of = find("ReturnLevelAscii");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CU_ASSERT_EQUAL(level_of(all[i].name), (int)all[i].level);
}

static void component(void)
{
	int **level = find("component_log_level");
	gsh_log_fn *log;

	*(void **)&log = find("DisplayLogComponentLevel");
	CU_ASSERT_EQUAL((*level)[GSH_RPC], GSH_EVENT);
	log(GSH_RPC, __FILE__, __LINE__, __func__, GSH_CRIT, "number %d", 5);
	CU_ASSERT_TRUE(logged(COMPAT_RELEASE < 605 ? ":RPC :CRIT :number 5" :
						     ":XPRT :CRIT :number 5",
			      NULL));
}

static struct {
	int level;
	char message[64];
} got;

static int receive(int headers, void *private, int level, void *buffer,
		   char *name, char *message)
{
	CU_ASSERT_PTR_EQUAL(private, &got);
	got.level = level;
	snprintf(got.message, sizeof(got.message), "%s", message);
	return 0;
}

static void facility(void)
{
	int (*create)(const char *name,
		      int (*log)(int headers, void *private, int level,
				 void *buffer, char *component, char *message),
		      int max_level, int headers, void *private);
	int (*enable)(const char *name);
	gsh_log_fn *log;

	*(void **)&create = find("create_log_facility");
	*(void **)&enable = find("enable_log_facility");
	*(void **)&log = find("DisplayLogComponentLevel");
	CU_ASSERT_EQUAL(
		create("FACTS", receive, GSH_WARN, GSH_HEADERS_NONE, &got), 0);
	CU_ASSERT_EQUAL(enable("FACTS"), 0);
	log(GSH_RPC, __FILE__, __LINE__, __func__, GSH_WARN, "a warning");
	CU_ASSERT_EQUAL(got.level, GSH_WARN);
	CU_ASSERT_STRING_EQUAL(got.message, "a warning");
	log(GSH_RPC, __FILE__, __LINE__, __func__, GSH_EVENT, "an event");
	CU_ASSERT_STRING_EQUAL(got.message, "a warning");
}

/* A fatal message ends the process with status 2. */
static void fatal(void)
{
	int status = 0, null;
	gsh_log_fn *log;
	pid_t child;

	*(void **)&log = find("DisplayLogComponentLevel");
	child = fork();
	if (!child) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		log(GSH_RPC, __FILE__, __LINE__, __func__, GSH_FATAL, "fatal");
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_TRUE(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 2);
}

static bool is_ganeshas(const void *function)
{
	Dl_info one, two;

	return dladdr(function, &one) && dladdr(find("register_fsal"), &two) &&
	       one.dli_fbase == two.dli_fbase;
}

/* Ganesha fills in the name and the functions of an FSAL. */
static void fsal(void)
{
	union {
		struct gsh_fsal_module m;
		void *words[1024];
	} u = { .words = { NULL } };
	int (*register_fsal)(struct gsh_fsal_module * m, const char *name,
			     uint32_t major, uint32_t minor, uint8_t id);
	unsigned int major, minor;
	char line[1024];
	pid_t child;
	int res;

	*(void **)&register_fsal = find("register_fsal");
	/* The version of this interface is in no header either. With another none can be
	 * registered afterwards. */
	child = fork();
	if (!child)
		_exit(register_fsal(&u.m, "FACTS", 10000, 0, 200) ? 0 : 1);
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
	CU_ASSERT_TRUE_FATAL(logged("version mismatch core = ", line));
	CU_ASSERT_EQUAL_FATAL(sscanf(line, "version mismatch core = %u.%u",
				     &major, &minor),
			      2);
	res = register_fsal(&u.m, "FACTS", major, minor, 200);
	CU_ASSERT_EQUAL_FATAL(res, 0);
	CU_ASSERT_STRING_EQUAL(u.m.name, "FACTS");
	CU_ASSERT_TRUE(is_ganeshas(u.m.unload));
	CU_ASSERT_TRUE(is_ganeshas(u.m.configure[1 + COMPAT_FSAL_UPDATES]));
	CU_ASSERT_TRUE(is_ganeshas(*(void **)&u.m.create_export));
}

static void removed(void)
{
	CU_ASSERT_EQUAL(unlink(log_path), 0);
}

static const struct unit_test tests[] = {
	{ "started", started },	    { "levels", levels },
	{ "component", component }, { "facility", facility },
	{ "fatal", fatal },	    { "FSAL", fsal },
	{ "removed", removed },	    { NULL, NULL },
};

UNIT_MAIN("ganesha-facts", tests)
