/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth_script - an authenticator that does what a test says
 *
 * The client's token n, n from 0, is answered with the server's token n, until
 * each has sent script.rounds of them. Every octet of a token is checked, and
 * so is what both ends announced. A step can be held up, to see what happens
 * meanwhile.
 */
#ifndef RPCRDMA_AUTH_SCRIPT_H
#define RPCRDMA_AUTH_SCRIPT_H

#include <pthread.h>
#include <unistd.h>

#include "rt_raw.h"

#define SCRIPT_KIND 7

struct auth_script {
	unsigned int rounds;
	size_t len; /* of each token, 44 at least */
	bool unable; /* a client has no token to begin with */
	bool refuse; /* the last token of the peer is refused */
	size_t refusal; /* with a token of so many octets */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hold; /* steps wait */
	unsigned int inside; /* so many do */
	unsigned int exchanges, steps; /* begun and not ended; made */
	pthread_t ended_by; /* the thread that ended the last */
	char told[RT_AUTH_TEXT]; /* by the peer's refusal */
};

/* [0] the client's, [1] the server's; set rt_pair_auth and its contexts. */
extern struct auth_script auth_script[2];
void auth_script_reset(unsigned int rounds, size_t len);
/* While steps may still be made of what was begun before. */
void auth_script_rounds(struct auth_script *s, unsigned int rounds);
/* Hold up steps from now on; let all go on. */
void auth_script_hold(struct auth_script *s, bool hold);
/* Are so many steps being held up? */
bool auth_script_inside(struct auth_script *s, unsigned int n);
unsigned int auth_script_exchanges(struct auth_script *s);

/* Run until @cond holds, but not for ever: for a step that a thread makes. If
 * the clock is held (test_clock.h), it stands still meanwhile. */
#define AUTH_WAIT(pair, cond)                        \
	({                                           \
		unsigned int naps_ = 0;              \
		while (!(cond) && naps_++ < 60000) { \
			usleep(1000);                \
			rt_pair_run(pair);           \
		}                                    \
		!!(cond);                            \
	})

/* The client's or server's token @n as it stands in the messages. */
size_t auth_script_token(uint8_t *to, bool client, unsigned int n, size_t len,
			 const uint8_t announced[40]);

#endif /* RPCRDMA_AUTH_SCRIPT_H */
