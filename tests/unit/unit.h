/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unit - the main program of a CUnit test
 *
 * Each unit test defines a NULL-terminated table of tests and calls
 * UNIT_MAIN(). The program ends with CUnit's run summary and exit status 1 if
 * an assertion failed. With arguments, only tests of those names run.
 */
#ifndef RPCRDMA_UNIT_H
#define RPCRDMA_UNIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

/*
 * For what fills or reads memory of the test's own, octet by octet: a sanitizer finds
 * nothing there, and to watch each octet takes most of some tests' time.
 */
#define UNIT_UNWATCHED \
	__attribute__((no_sanitize("address", "thread", "undefined")))

struct unit_test {
	const char *name;
	void (*fn)(void);
};

static inline bool unit_wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static inline int unit_run(const char *suite, const struct unit_test *t,
			   int argc, char **argv)
{
	CU_pSuite s;
	unsigned int failed, ran;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	s = CU_add_suite(suite, NULL, NULL);
	for (; s && t->name; t++)
		if (unit_wanted(t->name, argc, argv))
			CU_add_test(s, t->name, t->fn);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	return failed || !ran;
}

#define UNIT_MAIN(suite, tests)                            \
	int main(int argc, char **argv)                    \
	{                                                  \
		return unit_run(suite, tests, argc, argv); \
	}

#endif /* RPCRDMA_UNIT_H */
