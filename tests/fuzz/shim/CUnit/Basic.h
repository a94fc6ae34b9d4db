/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUnit's assertions as the helpers of the unit tests use them, for a fuzz
 * target: what does not hold ends the program.
 */
#ifndef RPCRDMA_FUZZ_CUNIT_H
#define RPCRDMA_FUZZ_CUNIT_H

#include "fuzz.h"

#define CU_ASSERT(c) FUZZ_CHECK(c)
#define CU_ASSERT_FATAL(c) FUZZ_CHECK(c)
#define CU_ASSERT_TRUE(c) FUZZ_CHECK(c)
#define CU_ASSERT_TRUE_FATAL(c) FUZZ_CHECK(c)
#define CU_ASSERT_FALSE(c) FUZZ_CHECK(!(c))
#define CU_ASSERT_FALSE_FATAL(c) FUZZ_CHECK(!(c))
#define CU_ASSERT_PTR_NOT_NULL_FATAL(p) FUZZ_CHECK(p)
#define CU_ASSERT_EQUAL(a, b) FUZZ_CHECK((a) == (b))
#define CU_ASSERT_EQUAL_FATAL(a, b) FUZZ_CHECK((a) == (b))

/* unit.h defines the main program of a test, which is not used here. */
typedef void *CU_pSuite;
enum { CUE_SUCCESS, CU_BRM_VERBOSE };
#define CU_initialize_registry() CUE_SUCCESS
#define CU_add_suite(name, a, b) ((void)(name), NULL)
#define CU_add_test(s, name, fn) ((void)(s), (void)(name), (void)(fn))
#define CU_basic_set_mode(m) ((void)(m))
#define CU_basic_run_tests() ((void)0)
#define CU_get_number_of_failures() 0u
#define CU_get_number_of_tests_failed() 0u
#define CU_get_number_of_tests_run() 0u
#define CU_cleanup_registry() ((void)0)

#endif /* RPCRDMA_FUZZ_CUNIT_H */
