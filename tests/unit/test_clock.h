/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_clock - the time that the code under test sees
 *
 * It is the machine's until a test holds it. Then it stands still but for what
 * the test lets pass, so that no test fails because a machine is slow, and what
 * a fuzz target does is repeatable.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_TEST_CLOCK_H
#define RPCRDMA_TEST_CLOCK_H

/* Hold it, at a time that is always the same; no more than once. */
void test_clock_hold(void);
/* Let it go. What began while it was held had better have ended. */
void test_clock_release(void);
/* While it is held. */
void test_clock_pass(unsigned int ms);
void test_clock_pass_us(unsigned int us);

#endif /* RPCRDMA_TEST_CLOCK_H */
