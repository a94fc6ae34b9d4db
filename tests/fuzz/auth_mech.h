/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth_mech - a mechanism of host authentication that does what an input says
 *
 * Each step gives what the plan says: more tokens, a name, or a failure. It
 * checks how it is called: one step at a time, no step after the last, each
 * exchange ended once; tokens within their limits; and each is the next one of
 * those that the peer has sent, as long as it has sent nothing but tokens.
 *
 * Threads: the target's, and those of the transport's pool, which make the
 * steps. A lock of its own, a leaf.
 */
#ifndef RPCRDMA_FUZZ_AUTH_MECH_H
#define RPCRDMA_FUZZ_AUTH_MECH_H

#include "fuzz.h"

struct mech_state {
	/* Since mech_begin(): exchanges, tokens of the peer that came to a
	 * step, and whether it got a name. */
	unsigned int starts, tokens;
	bool passed;
};

/* The instance under test is a client or a server. Sets rt_pair_auth. */
void mech_open(bool client);
/* Nothing may be left. */
void mech_close(void);
/* A new connection. */
void mech_begin(void);
struct mech_state mech_state(void);

/* What a step gives, from the next one on that has no plan yet. */
void mech_plan(uint8_t plan);
/* From now on steps wait; or all go on. */
void mech_hold(bool hold);
/* Are so many steps waiting? */
bool mech_holds(unsigned int steps);

/* These octets go to the instance, as the next of a token; from here on it
 * cannot be told what will come of them. */
void mech_expect(const uint8_t *p, size_t n);
void mech_expect_nothing(void);

#endif /* RPCRDMA_FUZZ_AUTH_MECH_H */
