/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parsed - ganesha.conf, as the parser of the installed Ganesha reads it
 *
 * What includes this is compiled with GANESHA_NFSD, its library.
 */
#ifndef RPCRDMA_UNIT_PARSED_H
#define RPCRDMA_UNIT_PARSED_H

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "ganesha/bind/gsh.h"
#include "unit.h"

/* Ganesha's parser does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static struct gsh gsh;
static void *parsed_lib;
static struct gsh_config *(*parsed_file)(const char *path,
					 struct gsh_config_errors *e);
static void (*parsed_free)(struct gsh_config *tree);
static char parsed_path[] = "/tmp/rpcrdma-parsed-XXXXXX";

/* What there was to say of it, a line each, and how many. */
static char said[16384];
static unsigned int said_n;
/* So many calls of gsh.init_error_type() find memory; negative: all. */
static int parsed_memory = -1;
static bool (*parsed_init)(struct gsh_config_errors *e);

static inline void parsed_say(char *msg, void *dest,
			      struct gsh_config_errors *e)
{
	size_t n = strlen(said);

	said_n++;
	snprintf(said + n, sizeof(said) - n, "%s\n", msg);
}

static inline bool parsed_errors(struct gsh_config_errors *e)
{
	if (!parsed_memory)
		return false;
	if (parsed_memory > 0)
		parsed_memory--;
	return parsed_init(e);
}

static inline void parsed_bind(void)
{
	if (parsed_lib)
		return;
	parsed_lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_GLOBAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(parsed_lib);
	*(void **)&parsed_file = dlsym(parsed_lib, "config_ParseFile");
	*(void **)&parsed_free = dlsym(parsed_lib, "config_Free");
	*(void **)&parsed_init = dlsym(parsed_lib, "init_error_type");
	*(void **)&gsh.report_config_errors =
		dlsym(parsed_lib, "report_config_errors");
	*(void **)&gsh.load_config_from_parse =
		dlsym(parsed_lib, "load_config_from_parse");
	gsh.init_error_type = parsed_errors;
	gsh.config_errs_to_log = parsed_say;
	CU_ASSERT_FATAL(parsed_file && parsed_free && parsed_init &&
			gsh.report_config_errors && gsh.load_config_from_parse);
}

/* What @look says of a file with @text; nothing has been said before. */
static inline bool parsed(const char *text, bool (*look)(struct gsh_config *))
{
	struct gsh_config_errors e;
	struct gsh_config *tree;
	bool res;
	int fd;

	parsed_bind();
	strcpy(parsed_path + sizeof(parsed_path) - 7, "XXXXXX");
	fd = mkstemp(parsed_path);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	CU_ASSERT_TRUE_FATAL(parsed_init(&e));
	tree = parsed_file(parsed_path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
	said[0] = '\0';
	said_n = 0;
	res = look(tree);
	parsed_free(tree);
	unlink(parsed_path);
	gsh.report_config_errors(&e, NULL, parsed_say);
	return res;
}

/* Line @line of the file has been named, with @text behind it. */
static inline bool said_at(unsigned int line, const char *text)
{
	char want[1024];

	snprintf(want, sizeof(want), "Config File (%s:%u): %s", parsed_path,
		 line, text);
	if (strstr(said, want))
		return true;
	printf("\nno \"%s\" in\n%s", want, said);
	return false;
}

#endif /* RPCRDMA_UNIT_PARSED_H */
