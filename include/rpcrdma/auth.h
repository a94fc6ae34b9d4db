/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication: what the user of the transport supplies
 *
 * The two ends of a version 2 connection can authenticate each other before the
 * first Call (5.2.6 [F5]). The transport carries tokens in both directions in
 * turn, beginning with the client's. An authenticator, which is set in struct
 * rt_params, makes and checks their contents.
 *
 * Threads: an exchange belongs to one connection. Its steps are called one at
 * a time by dedicated threads of the instance, so they may block, for example
 * to ask a KDC. start and end are called by any thread and must not block.
 */
#ifndef RPCRDMA_TRANSPORT_AUTH_H
#define RPCRDMA_TRANSPORT_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_auth_policy {
	RT_AUTH_NONE, /* takes no part; a peer's tokens are ignored */
	RT_AUTH_OPTIONAL, /* who takes part must succeed, others may stay */
	RT_AUTH_REQUIRED, /* no Call from, or to, whoever is not known;
			   * version 1, which has no such thing, is off */
};

/* The kind of a token that ends the exchange; others are the authenticator's
 * own. It may hold what the mechanism has to say about the reason. */
#define RT_AUTH_REFUSAL 0

#define RT_AUTH_TEXT 384 /* room for a name or a reason */
#define RT_AUTH_TOKEN_MAX 65536 /* octets of a token, either way */
#define RT_AUTH_TOKENS_MAX 16 /* from the peer */

enum rt_auth_status {
	RT_AUTH_MORE, /* the peer's next token is needed */
	RT_AUTH_DONE, /* text: who the peer is */
	RT_AUTH_FAILED, /* text: why; a token in out is sent as the refusal */
};

struct rt_auth_step {
	/* The peer's token; none (NULL) when a client begins. */
	uint32_t kind;
	const void *token;
	size_t len;
	/*
	 * Properties 1 to 5 of the client, then those of the server, as they
	 * stand in the messages: 40 octets, the same at both ends unless
	 * somebody has changed them on the way. NULL when a client begins.
	 */
	const void *announced;
	size_t announced_len;

	/* Set by the step: what goes to the peer, memory of malloc(). */
	bool send;
	uint32_t out_kind;
	void *out;
	size_t out_len;
	char text[RT_AUTH_TEXT];
};

struct rt_auth_ops {
	/* NULL: no memory. */
	void *(*start)(void *ctx, bool client);
	enum rt_auth_status (*step)(void *exchange, struct rt_auth_step *s);
	/* No step is running. Must not use @ctx: that may be gone. */
	void (*end)(void *exchange);
};

#endif /* RPCRDMA_TRANSPORT_AUTH_H */
