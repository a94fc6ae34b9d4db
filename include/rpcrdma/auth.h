/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication: the interface of an authenticator
 *
 * The two ends of a version 2 connection can authenticate each other before the first
 * Call (5.2.6 [F5]). They send tokens in turn, beginning with the client, which the
 * transport carries and an authenticator (struct rt_params) makes and checks.
 *
 * Context: an exchange belongs to one connection. Dedicated threads of the instance run
 * its steps, one at a time, so they may block, for example to ask a KDC. Any thread calls
 * start and end, which must not block.
 */
#ifndef RPCRDMA_TRANSPORT_AUTH_H
#define RPCRDMA_TRANSPORT_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_auth_policy {
	RT_AUTH_NONE, /* this end takes no part; a peer's tokens are ignored */
	RT_AUTH_OPTIONAL, /* peers that take part must succeed; others are accepted */
	/* No Call to or from a peer that is not authenticated. Version 1, which has no
	 * host authentication, is disabled. */
	RT_AUTH_REQUIRED,
};

/* The kind of a token that refuses the peer, and may say why. Other kinds belong to the
 * authenticator. */
#define RT_AUTH_REFUSAL 0

#define RT_AUTH_TEXT 384 /* room for a name or a reason */
#define RT_AUTH_TOKEN_MAX 65536 /* octets of a token, either way */
#define RT_AUTH_TOKENS_MAX 16 /* from the peer */

enum rt_auth_status {
	RT_AUTH_MORE, /* the peer's next token is needed */
	RT_AUTH_DONE, /* the peer is authenticated; text has its name */
	RT_AUTH_FAILED, /* text has the reason; a token in out is sent as a refusal */
};

struct rt_auth_step {
	/* The peer's token; NULL when a client begins. */
	uint32_t kind;
	const void *token;
	size_t len;
	/*
	 * Properties 1 to 5 of the client, then those of the server, as in the messages:
	 * 40 octets, the same at both ends unless somebody has changed them on the way.
	 * NULL when a client begins.
	 */
	const void *announced;
	size_t announced_len;

	/* Set by the step: the token for the peer, allocated by malloc(). */
	bool send;
	uint32_t out_kind;
	void *out;
	size_t out_len;
	char text[RT_AUTH_TEXT];
};

struct rt_auth_ops {
	/* Returns a new exchange, or NULL if there is no memory. */
	void *(*start)(void *ctx, bool client);
	enum rt_auth_status (*step)(void *exchange, struct rt_auth_step *s);
	/* Free the exchange. No step is running. @ctx may not exist any more. */
	void (*end)(void *exchange);
};

#endif /* RPCRDMA_TRANSPORT_AUTH_H */
