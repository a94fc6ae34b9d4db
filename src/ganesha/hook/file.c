/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - ganesha.conf when the server starts, and for --check-config
 *
 * Both ask: would RDMA be served with it? The one does so then, the other tells
 * what it is about.
 */
#include "ganesha/hook/file.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include "ganesha/hook/check.h"
#include "ganesha/ds.h"
#include "ganesha/grace.h"
#include "ganesha/include.h"
#include "ganesha/logs.h"
#include "ganesha/ports.h"
#include "ganesha/syntax.h"

void gr_file_warn(void *ctx, const char *text)
{
	const struct gsh *g = ctx;

	gsh_log(g, GSH_WARN, "%s", text);
}

const char *gr_file_path(void)
{
	char **path = dlsym(RTLD_DEFAULT, "nfs_config_path");

	return path ? *path : NULL;
}

bool gr_file_look(const struct gsh_config_errors *e, char first[GR_SYNTAX_ROOM],
		  near_fn *tell, void *ctx)
{
	struct near_text text;

	*first = '\0';
	/* With a character that the parser does not know it ends, and nobody asks later
	 * what the text may mean. */
	if (e->scan)
		(void)near_look(gr_file_path(), tell, ctx, &text);
	return e->fp && !fflush(e->fp) && e->diag_buf &&
	       syntax_look(e->diag_buf, first, GR_SYNTAX_ROOM, tell, ctx);
}

/* What the parser cannot read it passes over, and sometimes the block that it is in;
 * and that may be what keeps others out. So RDMA is not served with such a block. */
static bool is_lost(const struct gr_file *f, const struct near_text *text,
		    char *fault)
{
	bool absent = f->config == GR_CONFIG_ABSENT;

	if (!*f->syntax || (absent ? !text->block : !f->syntax_ours))
		return false;
	snprintf(fault, GR_FAULT_ROOM, "%ssyntax error at %s: correct it",
		 absent ? "no RDMA block could be read: " : "", f->syntax);
	return true;
}

/* What Ganesha does not say before it starts, or at all. How many lines. */
static unsigned int tell_exports(const struct gr_file *f)
{
	const struct gr_exports *x = &f->exports;
	const struct gsh *g = f->gsh;
	const char *hidden = *f->syntax ? ", or a syntax error hides it" : "";

	if (*x->pathless && x->deadly)
		gsh_log(g, GSH_CRIT,
			"the EXPORT block at %s has no Path%s, which crashes "
			"Ganesha " GSH_VERSION " when it starts: give it one",
			x->pathless, hidden);
	else if (*x->pathless)
		gsh_log(g, GSH_WARN,
			"the EXPORT block at %s has no Path%s, which can crash "
			"Ganesha when it starts: give it one",
			x->pathless, hidden);
	if (x->twice >= 0)
		gsh_log(g, GSH_WARN,
			"Export_Id = %d is used twice: Ganesha serves only one "
			"of these exports",
			x->twice);
	if (*x->by_rdma)
		gsh_log(g, GSH_WARN,
			"the EXPORT block at %s has RDMA among its Transports, "
			"which Ganesha does not know: set Transports = TCP, "
			"which admits RDMA too",
			x->by_rdma);
	return (*x->pathless ? 1 : 0) + (x->twice >= 0 ? 1 : 0) +
	       (*x->by_rdma ? 1 : 0);
}

/* ---- Start ------------------------------------------------------------ */

bool gr_file_unreadable(const char *path, struct gsh_config_errors *e)
{
	struct gr_include at;
	struct stat st;

	if (!path)
		return false;
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		if (e->fp)
			fprintf(e->fp,
				"Config File (%s:0): is a directory: name a "
				"file in it\f",
				path);
	} else if (gr_include_folder(path, &at)) {
		if (e->fp)
			fprintf(e->fp,
				"Config File (%s:%u): %%include: %s is a "
				"directory: name a file in it, or write "
				"%%dir %s\f",
				at.file, at.line, at.folder, at.folder);
	} else {
		return false;
	}
	e->scan = true;
	return true;
}

bool gr_file_start(struct gr_file *f, struct gr_server *s,
		   struct gsh_config *tree)
{
	struct gsh *g = f->gsh;
	const char *wrong = gsh_bind(g);
	char fault[GR_FAULT_ROOM];
	struct near_text text;

	s->gsh = g;
	if (wrong) {
		if (g->log)
			gsh_log(g, GSH_CRIT,
				"%s: install the rpcrdma-ganesha of this "
				"Ganesha's release. NFS is served without RDMA",
				wrong);
		else
			fprintf(stderr, "rpcrdma: %s\n", wrong);
		return false;
	}
	f->was_read = true;
	gr_check_bind(g, tree, &s->bind);
	gr_exports_read(g, tree, &f->exports);
	(void)tell_exports(f);
	near_look(gr_file_path(), gr_file_warn, g, &text);
	f->config = gr_config_load(g, tree, &s->cfg);
	/* The item itself may be lost as well. */
	if (*f->syntax && text.required)
		s->cfg.required = true;
	if (is_lost(f, &text, fault)) {
		gr_server_fault(s, fault);
		return false;
	}
	switch (f->config) {
	case GR_CONFIG_ABSENT:
		gsh_log(g, GSH_EVENT,
			"no RDMA block in ganesha.conf: not serving RDMA");
		return false;
	case GR_CONFIG_BAD:
		snprintf(fault, sizeof(fault),
			 "the RDMA block of ganesha.conf cannot be used: %s: "
			 "correct it (--check-config lists all faults) and "
			 "start again",
			 *s->cfg.fault ? s->cfg.fault : "see Ganesha's log");
		gr_server_fault(s, fault);
		return false;
	case GR_CONFIG_GOOD:
		break;
	}
	if (!s->cfg.enable)
		gsh_log(g, GSH_EVENT,
			"Enable = false in the RDMA block: not serving RDMA");
	return s->cfg.enable;
}

/* ---- --check-config ----------------------------------------------------- */

void gr_file_complain(struct gr_file *f, char *msg, void *dest,
		      struct gsh_config_errors *e)
{
	f->complained++;
	f->log(msg, dest, e);
}

static void complain(void *ctx, const char *text)
{
	struct gr_file *f = ctx;

	f->complained++;
	fprintf(stderr, "%s\n", text);
}

/* What Ganesha would say of its own blocks; it starts nothing by that. */
static bool check_others(const struct gsh *g, gr_file_set_fn *set,
			 struct gsh_config *tree)
{
	struct gsh_start_info info = { 0 };
	struct gsh_config_errors e;
	int *level = g->log_level ? *g->log_level : NULL;
	int was = level ? level[GSH_INIT] : 0;
	bool good;

	if (!g->init_error_type(&e))
		return false;
	/* That they are right is not worth a line; and Ganesha 6 warns of some items of
	 * DIRECTORY_SERVICES however they are set. */
	if (level && was > GSH_CRIT)
		level[GSH_INIT] = GSH_CRIT;
	good = !set(tree, &info, &e);
	if (level)
		level[GSH_INIT] = was;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}

static enum rpcrdma_verdict check(struct gr_file *f, gr_file_set_fn *set,
				  gr_file_log_fn *log, struct gsh_config *tree,
				  const struct near_text *text, FILE *out)
{
	struct gsh *g = f->gsh;
	const char *wrong = gsh_bind(g);
	struct gr_ports ports = { .file = gr_file_path(),
				  .proc = "/proc",
				  .out = out,
				  .said = stderr };
	struct sockaddr_storage tcp;
	char fault[GR_FAULT_ROOM];
	struct gr_config cfg;
	unsigned int served, of;
	bool good, starts, logs, ds, rdma;

	if (wrong) {
		fprintf(stderr, "rpcrdma: %s\n", wrong);
		return RPCRDMA_NOT_SERVED;
	}
	f->log = g->config_errs_to_log;
	g->config_errs_to_log = log;
	logs = gr_logs_check(&f->logs, g, tree);
	if (!check_others(g, set, tree))
		return RPCRDMA_NO_SERVER;
	f->complained += gr_grace_check(g, tree, stderr);
	gr_exports_read(g, tree, &f->exports);
	f->exports.twice = -1; /* told with its place */
	f->complained += tell_exports(f);
	starts = gr_export_block_check(&f->export_block, g, tree,
				       gr_ports_nfs4(g, tree), &served);
	of = gr_config_blocks(g, tree, "EXPORT");
	if (served < of)
		fprintf(out, "# Ganesha would serve %u of %u exports.\n",
			served, of);
	ds = gr_ds_check(g, tree);
	if (!logs || !ds || !starts || f->exports.deadly)
		return RPCRDMA_NO_SERVER;
	f->config = gr_config_load(g, tree, &cfg);
	rdma = f->config == GR_CONFIG_GOOD && cfg.enable;
	if (is_lost(f, text, fault)) {
		fprintf(stderr, "rpcrdma: %s\n", fault);
		rdma = false;
	} else if (f->config == GR_CONFIG_ABSENT) {
		fputs("# No RDMA block: NFS is served over TCP alone.\n", out);
	} else if (f->config == GR_CONFIG_GOOD) {
		gr_config_print(out, &cfg);
	}
	/* One fault does not hide the other. */
	good = gr_check_tcp(g, tree, &tcp, stderr) && rdma;
	starts = gr_check_tcp_address(&tcp, stderr);
	ports.at = tcp;
	ports.socket = cfg.stats_socket;
	ports.rdma = rdma ? cfg.port : 0;
	f->complained += gr_ports_clash(g, tree, &ports);
	if (!gr_ports_check(g, tree, &ports))
		starts = false;
	if (rdma && !gr_check_machine(g, &cfg, gr_file_path(), &tcp, out,
				      stderr, &f->complained))
		good = false;
	if (!starts)
		return RPCRDMA_NO_SERVER;
	return good ? RPCRDMA_SERVED : RPCRDMA_NOT_SERVED;
}

enum rpcrdma_verdict gr_file_check(struct gr_file *f, gr_file_set_fn *set,
				   gr_file_log_fn *log, struct gsh_config *tree,
				   const char *path, FILE *out,
				   unsigned int *complaints)
{
	enum rpcrdma_verdict verdict;
	struct near_text text;

	f->complained = 0;
	near_look(path, complain, f, &text);
	verdict = check(f, set, log, tree, &text, out);
	*complaints = f->complained;
	return verdict;
}

unsigned int gr_file_items(struct gr_file *f, gr_file_set_fn *set,
			   gr_file_log_fn *log, struct gsh_config *tree)
{
	struct gsh *g = f->gsh;
	struct gsh_start_info info = { 0 };
	struct gsh_config_errors e;
	int *level = g->log_level ? *g->log_level : NULL;

	if (!g->init_error_type(&e))
		return 0;
	/* The check itself says what there is to say of them. */
	if (level)
		level[GSH_INIT] = GSH_FATAL;
	(void)set(tree, &info, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
	f->complained = 0;
	f->log = g->config_errs_to_log;
	g->config_errs_to_log = log;
	gr_export_block_items(&f->export_block, g, tree);
	return f->complained;
}
