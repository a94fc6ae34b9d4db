/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of options: what its lines are, and which files are none.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/conf.h"

static int read_text(struct conf *c, const char *text, size_t len)
{
	char path[] = "/tmp/unit-conf.XXXXXX";
	int fd = mkstemp(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
	close(fd);
	rc = conf_read(c, path);
	unlink(path);
	return rc;
}

static void expect(struct conf *c, unsigned int line, const char *name,
		   const char *value)
{
	CU_ASSERT_FATAL(conf_next(c));
	CU_ASSERT_EQUAL(c->line, line);
	CU_ASSERT_STRING_EQUAL(c->name, name);
	if (!value) {
		CU_ASSERT_PTR_NULL(c->value);
		return;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(c->value);
	CU_ASSERT_STRING_EQUAL(c->value, value);
}

static void test_lines(void)
{
	static const char text[] = "# first\n"
				   "a=1\n"
				   "\n"
				   "  b \t=  two words \r\n"
				   "   # c = 3\n"
				   "switch  \n"
				   "d=\n"
				   "e = x=y # not a comment\n"
				   " = 5\n"
				   "last = 6"; /* no end of line */
	struct conf c;

	CU_ASSERT_EQUAL_FATAL(read_text(&c, text, sizeof(text) - 1), 0);
	expect(&c, 2, "a", "1");
	expect(&c, 4, "b", "two words");
	expect(&c, 6, "switch", NULL);
	expect(&c, 7, "d", "");
	expect(&c, 8, "e", "x=y # not a comment");
	expect(&c, 9, "", "5");
	expect(&c, 10, "last", "6");
	CU_ASSERT_FALSE(conf_next(&c));
	CU_ASSERT_FALSE(conf_next(&c));
	conf_free(&c);
	CU_ASSERT_FALSE(conf_next(&c));
}

static void test_empty(void)
{
	struct conf c;

	CU_ASSERT_EQUAL_FATAL(read_text(&c, "", 0), 0);
	CU_ASSERT_FALSE(conf_next(&c));
	conf_free(&c);
}

static void test_none(void)
{
	char *big = malloc(CONF_MAX + 1);
	struct conf c;

	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big, 'x', CONF_MAX + 1);
	CU_ASSERT_EQUAL(read_text(&c, big, CONF_MAX + 1), EFBIG);
	CU_ASSERT_EQUAL_FATAL(read_text(&c, big, CONF_MAX), 0);
	CU_ASSERT_TRUE(conf_next(&c));
	CU_ASSERT_EQUAL(strlen(c.name), CONF_MAX);
	conf_free(&c);
	free(big);
	CU_ASSERT_EQUAL(read_text(&c, "a = 1\0b = 2\n", 12), EINVAL);
	CU_ASSERT_EQUAL(conf_read(&c, "/nowhere/at-all"), ENOENT);
	CU_ASSERT_EQUAL(conf_read(&c, "/"), EISDIR);
	CU_ASSERT_FALSE(conf_next(&c));
}

static const struct unit_test tests[] = {
	{ "lines", test_lines },
	{ "empty", test_empty },
	{ "none", test_none },
	{ 0 },
};

UNIT_MAIN("tools-conf", tests)
