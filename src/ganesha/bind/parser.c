/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parser - parse a text, and check that Ganesha's parser works as compat/ganesha.h says
 *
 * For the check let it read a block with an item of each type that is used here, without one that has a
 * default, and blocks with faults. There are no syntax errors, because the parser logs
 * them, and there is no log yet.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ganesha/bind/block.h"

#define BLOCK "RPCRDMA_PARSER"
#define PATTERN 0xa5

/* An item with a handler: what that was given. */
struct word {
	char token[16], sign[4], file[64];
	int line, term;
};

/* What the block is read into. Guards keep their PATTERN. */
struct values {
	bool yes, guard_yes, absent, guard_absent;
	uint16_t u16, guard_u16;
	uint32_t u32, guard_u32;
	uint32_t token, guard_token;
	uint32_t list, guard_list;
	uint32_t def, guard_def;
	char *text, *guard_text, *path;
	struct word number, truth, lie;
};

static int store_word(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	const struct gsh_config_word *w = node;
	struct word *to = param;

	if (w->word != token || !item->name || e->errors)
		return 1;
	snprintf(to->token, sizeof(to->token), "%s", token);
	snprintf(to->sign, sizeof(to->sign), "%s", w->sign ? w->sign : "");
	snprintf(to->file, sizeof(to->file), "%s", w->node.filename);
	to->line = w->node.line;
	to->term = term;
	return 0;
}

static const struct gsh_config_token tokens[] = { { "First", 1 },
						  { "Second", 2 },
						  { "Third", 4 },
						  { NULL, 0 } };

#define AT(member) .off = offsetof(struct values, member)
#define WORD(nm, member)                                                    \
	{                                                                   \
		.name = (nm), .type = GSH_CONFIG_PROC,                      \
		.u.proc = { .init = gr_block_init, .handler = store_word }, \
		AT(member)                                                  \
	}

static const struct gsh_config_item items[] = {
	{ .name = "Yes", .type = GSH_CONFIG_BOOL, .u.b = false, AT(yes) },
	{ .name = "Absent", .type = GSH_CONFIG_BOOL, .u.b = true, AT(absent) },
	{ .name = "Word16",
	  .type = GSH_CONFIG_UINT16,
	  .u.u16 = { .min = 1, .max = 60000, .def = 5 },
	  AT(u16) },
	{ .name = "Word32",
	  .type = GSH_CONFIG_UINT32,
	  .u.u32 = { .max = UINT32_MAX, .def = 6, .zero_ok = true },
	  AT(u32) },
	{ .name = "Token",
	  .type = GSH_CONFIG_TOKEN,
	  .u.lst = { .def = 1, .tokens = tokens },
	  AT(token) },
	{ .name = "List",
	  .type = GSH_CONFIG_LIST,
	  .u.lst = { .def = 2,
		     .mask = UINT32_MAX,
		     .tokens = tokens,
		     .set_off = UINT32_MAX },
	  AT(list) },
	{ .name = "Text",
	  .type = GSH_CONFIG_STRING,
	  .u.str = { .maxsize = 100, .def = "a default" },
	  AT(text) },
	{ .name = "Path",
	  .type = GSH_CONFIG_PATH,
	  .u.str = { .maxsize = 100, .def = "/a/default" },
	  AT(path) },
	WORD("Number", number),
	WORD("Truth", truth),
	WORD("Lie", lie),
	{ .name = "Default",
	  .type = GSH_CONFIG_UINT32,
	  .u.u32 = { .min = 1, .max = 100000, .def = 70000 },
	  AT(def) },
	{ .name = NULL },
};

static const char good[] = BLOCK " {\n"
				 "	Yes = true;\n"
				 "	Word16 = 51966;\n"
				 "	Word32 = 4026531841;\n"
				 "	Token = Second;\n"
				 "	List = First, Third;\n"
				 "	Text = \"a text\";\n"
				 "	Path = \"/a/path\";\n"
				 "	Number = -77;\n"
				 "	Truth = true;\n"
				 "	Lie = false;\n"
				 "}\n";

enum gsh_parse_result gsh_parse_text(const struct gsh *g, const char *text,
				     struct gsh_parsed *p)
{
	struct gsh_config *(*parse_file)(char *path,
					 struct gsh_config_errors *e);
	enum gsh_parse_result res;

	*(void **)&parse_file = dlsym(RTLD_NEXT, "config_ParseFile");
	*(void **)&p->release = dlsym(RTLD_NEXT, "config_Free");
	p->fd = memfd_create("parser", MFD_CLOEXEC);
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->fd);
	if (!parse_file || !p->release ||
	    write(p->fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    !g->init_error_type(&p->e)) {
		close(p->fd);
		return GSH_PARSE_FAILED;
	}
	p->tree = parse_file(p->path, &p->e);
	/* After most syntax errors there are a tree, which lacks some, and no flag, but always a
	 * message. */
	if (p->tree && !fflush(p->e.fp) && !p->e.diag_buf_size)
		return GSH_PARSED;
	res = p->tree ? GSH_PARSE_SYNTAX : GSH_PARSE_FAILED;
	gsh_parse_end(p);
	return res;
}

void gsh_parse_end(struct gsh_parsed *p)
{
	if (p->tree)
		p->release(p->tree);
	close(p->fd);
	fclose(p->e.fp);
	free(p->e.diag_buf);
}

/* Read @text into @v. Returns how many blocks were read, or -1; and what has been wrong in @e,
 * whose file is closed. */
static int parse(const struct gsh *g, const char *text, char path[32],
		 struct values *v, struct gsh_config_errors *e)
{
	struct gsh_config_block block = gr_block(BLOCK, items, gr_block_accept);
	struct gsh_parsed p;
	int found;

	memset(v, PATTERN, sizeof(*v));
	v->list = 0; /* the parser only sets bits of it */
	if (gsh_parse_text(g, text, &p) != GSH_PARSED)
		return -1;
	memcpy(path, p.path, sizeof(p.path));
	found = g->load_config_from_parse(p.tree, &block, v, true, &p.e);
	gsh_parse_end(&p);
	*e = p.e;
	return found;
}

static bool is_word(const struct word *w, const char *token, const char *sign,
		    const char *path, int line)
{
	return !strcmp(w->token, token) && !strcmp(w->sign, sign) &&
	       !strcmp(w->file, path) && w->line == line;
}

/* Parse a block of known content. Returns what is read wrongly, or NULL. */
static const char *check_good(const struct gsh *g)
{
	struct gsh_config_errors e;
	struct values v, want;
	char path[32];

	if (parse(g, good, path, &v, &e) != 1 || e.errors || !gsh_harmless(&e))
		return "a block";
	memset(&want, PATTERN, sizeof(want));
	want.yes = true;
	want.absent = true;
	want.u16 = 51966;
	want.u32 = 4026531841;
	want.token = 2;
	want.list = 5;
	want.def = 70000;
	if (memcmp(&v, &want, offsetof(struct values, text)))
		return "a number";
	if (strcmp(v.text, "a text") || strcmp(v.path, "/a/path") ||
	    memcmp(&v.guard_text, &want.guard_text, sizeof(v.guard_text)))
		return "a text";
	free(v.text);
	free(v.path);
	if (!is_word(&v.number, "77", "-", path, 9) ||
	    !is_word(&v.truth, "true", "", path, 10) ||
	    !is_word(&v.lie, "false", "", path, 11) ||
	    v.truth.term != GSH_TERM_TRUE || v.lie.term != GSH_TERM_FALSE)
		return "a word";
	return NULL;
}

static const char *check_faults(const struct gsh *g)
{
	struct gsh_config_errors e = { 0 };
	struct values v;
	char path[32];

	(void)parse(g, BLOCK " { Word16 = 60001; }", path, &v, &e);
	if (!e.invalid || !e.errors || gsh_harmless(&e))
		return "a value out of range";
	(void)parse(g, BLOCK " { Nothing = 1; }", path, &v, &e);
	if (!e.bogus || e.invalid || !gsh_harmless(&e))
		return "an unknown name";
	return NULL;
}

const char *gsh_check_parser(struct gsh *g)
{
	const char *what = check_good(g);

	if (!what)
		what = check_faults(g);
	if (!what)
		return NULL;
	return gsh_unfit(g,
			 "the parser of this Ganesha reads %s otherwise than "
			 "that of Ganesha " GSH_VERSION
			 ", for which the library was built",
			 what);
}
