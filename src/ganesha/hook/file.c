/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/hook/file.h"

#include <dlfcn.h>
#include <string.h>

#include "ganesha/config/dialect.h"
#include "ganesha/config/fault.h"

const char *gr_file_path(void)
{
	char **path = dlsym(RTLD_DEFAULT, "nfs_config_path");

	return path ? *path : NULL;
}

void gr_file_parsed(struct gr_file *f, const char *path,
		    const struct gsh_config_errors *e)
{
	char *all, *rest = NULL;
	struct gr_text text;

	*f->syntax = '\0';
	f->syntax_ours = false;
	if (!e->fp || fflush(e->fp) || !e->diag_buf)
		return;
	all = strdup(e->diag_buf);
	for (char *m = all ? strtok_r(all, "\f", &rest) : NULL; m;
	     m = strtok_r(NULL, "\f", &rest)) {
		struct gr_location at;
		bool ours;

		if (!gr_location_parse(m, &at))
			continue;
		/* The parser has no name for an empty file. */
		if (path && !strcmp(at.path, "(null)"))
			snprintf(at.path, sizeof(at.path), "%s", path);
		/* The parser gives no line for a missing brace. */
		if (!at.line && gr_text_read(at.path, &text))
			at.line = text.brace_line;
		ours = gr_text_inside_rdma(at.path, at.line);
		if (*f->syntax && (f->syntax_ours || !ours))
			continue;
		f->syntax_ours = ours;
		snprintf(f->syntax, GR_SYNTAX_ROOM, at.line ? "%s:%u" : "%s",
			 at.path, at.line);
	}
	free(all);
	if (!*f->syntax && (e->scan || e->parse || e->resource))
		snprintf(f->syntax, GR_SYNTAX_ROOM, "%s", path ? path : "");
}

bool gr_file_is_lost(const struct gr_file *f, const struct gr_text *text,
		     bool dialect, char fault[GR_FAULT_ROOM])
{
	bool absent = f->config == GR_CONFIG_ABSENT;

	/* What is lost may have kept clients out. In the dialect any block may do so. */
	if (!*f->syntax || (absent ? !text->rdma : !dialect && !f->syntax_ours))
		return false;
	snprintf(fault, GR_FAULT_ROOM, "%ssyntax error at %s: correct it",
		 absent ? "no RDMA block could be read: " : "", f->syntax);
	return true;
}

void gr_file_text(const struct gsh *g, const char *path, struct gr_text *text)
{
	(void)gr_text_read(path, text);
	if (text->misspelled_line)
		gsh_log(g, GSH_WARN,
			"Config File (%s:%u): unknown block %s is ignored: did "
			"you mean %s?",
			path, text->misspelled_line, text->misspelled,
			strncasecmp(text->misspelled, "RDMA_", 5) ?
				"RDMA" :
				"RDMA_Debug");
}

/* Log which settings of the dialect are in use, and what to write instead. */
static void log_dialect(const struct gsh *g, const struct gr_config *cfg)
{
	char text[128];

	if (cfg->dialect_ignored)
		gsh_log(g, GSH_EVENT,
			"what NFS_Core_Param says of RDMA has no effect beside the RDMA block");
	if (!cfg->dialect)
		return;
	gr_dialect_block(cfg, text, sizeof(text));
	gsh_log(g, GSH_EVENT,
		"no RDMA block, but NFS_Core_Param has nfsrdma or rpcrdma among Protocols: RDMA is served as with this block: %s. If you write the block, RDMA clients need TCP among Transports, which then keeps none of them out",
		text);
	gr_dialect_versions(cfg->nfs_versions, text, sizeof(text));
	if (cfg->nfs_versions != GR_NFS_ALL)
		gsh_log(g, GSH_EVENT,
			"NFS_RDMA_Protocol_Versions: by RDMA, NFS is served in the versions %s only. The RDMA block has no such setting",
			text);
}

bool gr_file_start(struct gr_file *f, struct gr_server *s,
		   struct gsh_config *tree)
{
	struct gsh *g = f->gsh;
	const char *wrong = gsh_bind(g);
	char fault[GR_FAULT_ROOM];
	struct gr_text text;

	s->gsh = g;
	if (wrong) {
		if (g->log)
			gsh_log(g, GSH_CRIT, "%s. NFS is served without RDMA",
				wrong);
		else
			fprintf(stderr, "rpcrdma: %s\n", wrong);
		return false;
	}
	f->was_read = true;
	gr_tcp_address(g, tree, &s->bind);
	gr_recovery_root(g, tree, s->recovery_root);
	gr_file_text(g, gr_file_path(), &text);
	f->config = gr_config_load(g, tree, &s->cfg);
	/* The parser may have dropped Required, too. */
	if (*f->syntax && text.required)
		s->cfg.required = true;
	if (gr_file_is_lost(f, &text, s->cfg.dialect, fault)) {
		gr_server_fault(s, fault);
		return false;
	}
	switch (f->config) {
	case GR_CONFIG_ABSENT:
		gsh_log(g, GSH_EVENT,
			"no RDMA block in ganesha.conf: not serving RDMA%s",
			s->cfg.native_port ?
				". Ganesha does, as NFS_Core_Param says" :
				"");
		return false;
	case GR_CONFIG_BAD:
		snprintf(
			fault, sizeof(fault),
			s->cfg.dialect ?
				"what NFS_Core_Param says of RDMA cannot be used: %s: "
				"correct it (--check-config lists all faults) and "
				"start again" :
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
	log_dialect(g, &s->cfg);
	return s->cfg.enable;
}
