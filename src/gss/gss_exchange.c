/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss_exchange - one exchange of tokens
 *
 * Called by one thread at a time, a thread of the transport's pool. Only the
 * client's credentials are shared by exchanges: client_lock of struct auth_gss
 * is held while they are used, since getting them may write their cache.
 *
 *   client                                  server
 *   GSS_Init_sec_context   --- kind 1 --->  GSS_Accept_sec_context
 *                          <-- kind 1 ----  (and back, as long as it takes)
 *   MIC of what was announced  kind 2 --->  verify: this is the client, now
 *   verify                 <-- kind 2 ----  MIC of the same by the server
 *
 * The client's MIC needs the key that the server has made for this context, so
 * a recorded exchange is of no use to anybody even where the replay cache has
 * been lost. Channel bindings with a text of our own keep tokens of other
 * protocols (RPCSEC_GSS, for one) from being used here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gss/gss_internal.h"

enum kind {
	KIND_REFUSAL = RT_AUTH_REFUSAL,
	KIND_CONTEXT = 1,
	KIND_MIC = 2,
};

#define ANNOUNCED 40
/* A server that refuses everything must not keep the KDC busy. */
#define FORGET_MS 10000
#define BOUND "RPC-over-RDMA version 2 host authentication"

struct exchange {
	struct auth_gss *g;
	bool client;
	gss_ctx_id_t ctx;
	gss_name_t peer;
	bool complete; /* of the context */
	bool over;
	char name[RT_AUTH_TEXT];
};

static void *exchange_start(void *ctx, bool client)
{
	struct exchange *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->g = ctx;
	e->client = client;
	e->ctx = GSS_C_NO_CONTEXT;
	e->peer = GSS_C_NO_NAME;
	return e;
}

static void exchange_end(void *exchange)
{
	struct exchange *e = exchange;
	OM_uint32 min;

	gss_delete_sec_context(&min, &e->ctx, GSS_C_NO_BUFFER);
	gss_release_name(&min, &e->peer);
	free(e);
}

static enum rt_auth_status step_failed(struct rt_auth_step *s, const char *why)
{
	snprintf(s->text, sizeof(s->text), "%s", why);
	return RT_AUTH_FAILED;
}

static enum rt_auth_status step_failed_gss(struct rt_auth_step *s,
					   const char *what, OM_uint32 maj,
					   OM_uint32 min)
{
	char text[RT_AUTH_TEXT];

	auth_gss_text(maj, min, text, sizeof(text));
	snprintf(s->text, sizeof(s->text), "%.100s: %.280s", what, text);
	return RT_AUTH_FAILED;
}

/* Send @b, in memory that the transport can free. */
static bool queue_token(struct rt_auth_step *s, enum kind kind, gss_buffer_t b)
{
	OM_uint32 min;

	s->out = malloc(b->length + 1);
	if (s->out) {
		memcpy(s->out, b->value, b->length);
		s->out_len = b->length;
		s->out_kind = kind;
		s->send = true;
	}
	gss_release_buffer(&min, b);
	return s->out;
}

/* ---- MICs: the peer is present now -------------------------------------- */

/* What the MIC of one end covers. */
struct covered {
	char text[48];
	uint8_t announced[ANNOUNCED];
};

static void cover(struct covered *v, bool client, const struct rt_auth_step *s)
{
	memset(v, 0, sizeof(*v));
	snprintf(v->text, sizeof(v->text), BOUND " %c", client ? 'C' : 'S');
	memcpy(v->announced, s->announced, ANNOUNCED);
}

static enum rt_auth_status send_mic(struct exchange *e, struct rt_auth_step *s,
				    enum rt_auth_status then)
{
	gss_buffer_desc mic = GSS_C_EMPTY_BUFFER, in;
	struct covered v;
	OM_uint32 maj, min;

	cover(&v, e->client, s);
	in = (gss_buffer_desc){ sizeof(v), &v };
	maj = gss_get_mic(&min, e->ctx, GSS_C_QOP_DEFAULT, &in, &mic);
	if (GSS_ERROR(maj))
		return step_failed_gss(s, "cannot make a MIC", maj, min);
	if (!queue_token(s, KIND_MIC, &mic))
		return step_failed(s, "no memory");
	return then;
}

static enum rt_auth_status take_mic(struct exchange *e, struct rt_auth_step *s)
{
	gss_buffer_desc mic = { s->len, (void *)(uintptr_t)s->token }, in;
	struct covered v;
	OM_uint32 maj, min;

	cover(&v, !e->client, s);
	in = (gss_buffer_desc){ sizeof(v), &v };
	maj = gss_verify_mic(&min, e->ctx, &in, &mic, NULL);
	if (maj != GSS_S_COMPLETE)
		return step_failed_gss(
			s,
			"the peer's MIC is wrong (a replayed token, "
			"or properties changed on the way)",
			maj, min);
	e->over = true;
	if (e->client) {
		snprintf(s->text, sizeof(s->text), "%s", e->name);
		return RT_AUTH_DONE;
	}
	if (send_mic(e, s, RT_AUTH_DONE) != RT_AUTH_DONE)
		return RT_AUTH_FAILED;
	snprintf(s->text, sizeof(s->text), "%s", e->name);
	return RT_AUTH_DONE;
}

/* ---- The context ------------------------------------------------------ */

static bool flags_ok(OM_uint32 flags)
{
	return flags & GSS_C_MUTUAL_FLAG && flags & GSS_C_INTEG_FLAG &&
	       !(flags & GSS_C_ANON_FLAG);
}

static void name_of(gss_name_t name, char *to, size_t size)
{
	gss_buffer_desc b = GSS_C_EMPTY_BUFFER;
	OM_uint32 maj, min;

	maj = gss_display_name(&min, name, &b, NULL);
	/* To others a name with a NUL is another name. */
	if (GSS_ERROR(maj) || !b.length || b.length >= size ||
	    memchr(b.value, 0, b.length))
		*to = 0;
	else
		snprintf(to, size, "%.*s", (int)b.length, (char *)b.value);
	gss_release_buffer(&min, &b);
}

/* Lock held. */
static bool may_forget(struct auth_gss *g)
{
	uint64_t now = base_now_ms();

	if (g->forgotten_ms && now - g->forgotten_ms < FORGET_MS)
		return false;
	g->forgotten_ms = now;
	return true;
}

static OM_uint32 init_context(struct exchange *e, gss_buffer_t in,
			      gss_buffer_t out, OM_uint32 *min,
			      OM_uint32 *flags)
{
	struct gss_channel_bindings_struct bound = {
		.application_data = { sizeof(BOUND) - 1,
				      (void *)(uintptr_t)BOUND },
	};
	gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
	OM_uint32 maj, other;

	pthread_mutex_lock(&e->g->client_lock);
	maj = auth_gss_credentials(e->g, &cred, min);
	if (!GSS_ERROR(maj))
		maj = gss_init_sec_context(min, cred, &e->ctx, e->g->server,
					   (gss_OID)(uintptr_t)gss_mech_krb5,
					   GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG,
					   0, &bound, in, NULL, out, flags,
					   NULL);
	gss_release_cred(&other, &cred);
	/* The server may have a new key. */
	if (GSS_ERROR(maj) && in && may_forget(e->g))
		auth_gss_forget(e->g);
	pthread_mutex_unlock(&e->g->client_lock);
	return maj;
}

static enum rt_auth_status client_context(struct exchange *e,
					  struct rt_auth_step *s)
{
	gss_buffer_desc in = { s->len, (void *)(uintptr_t)s->token };
	gss_buffer_desc out = GSS_C_EMPTY_BUFFER;
	OM_uint32 maj, min = 0, flags = 0;

	maj = init_context(e, s->token ? &in : GSS_C_NO_BUFFER, &out, &min,
			   &flags);
	if (GSS_ERROR(maj)) {
		OM_uint32 other;

		gss_release_buffer(&other, &out);
		return step_failed_gss(s,
				       s->token ? "the server's token" :
						  "no ticket for the server",
				       maj, min);
	}
	e->complete = maj == GSS_S_COMPLETE;
	if (e->complete != !out.length) {
		gss_release_buffer(&min, &out);
		return step_failed(
			s, "the exchange of tokens did not complete correctly");
	}
	if (!e->complete)
		return queue_token(s, KIND_CONTEXT, &out) ?
			       RT_AUTH_MORE :
			       step_failed(s, "no memory");
	if (!flags_ok(flags))
		return step_failed(s, "the server is not authenticated");
	maj = gss_inquire_context(&min, e->ctx, NULL, &e->peer, NULL, NULL,
				  NULL, NULL, NULL);
	if (GSS_ERROR(maj))
		return step_failed_gss(s, "the server's name", maj, min);
	name_of(e->peer, e->name, sizeof(e->name));
	if (!*e->name)
		return step_failed(s, "the server's name cannot be determined");
	return send_mic(e, s, RT_AUTH_MORE);
}

static enum rt_auth_status server_context(struct exchange *e,
					  struct rt_auth_step *s)
{
	struct gss_channel_bindings_struct bound = {
		.application_data = { sizeof(BOUND) - 1,
				      (void *)(uintptr_t)BOUND },
	};
	gss_buffer_desc in = { s->len, (void *)(uintptr_t)s->token };
	gss_buffer_desc out = GSS_C_EMPTY_BUFFER;
	OM_uint32 maj, min, flags = 0;
	gss_OID mech = GSS_C_NO_OID;

	gss_release_name(&min, &e->peer);
	maj = gss_accept_sec_context(&min, &e->ctx, e->g->cred, &in, &bound,
				     &e->peer, &mech, &out, &flags, NULL, NULL);
	/* Even with an error there may be a token for the client. */
	if (out.length && !queue_token(s, KIND_CONTEXT, &out))
		return step_failed(s, "no memory");
	if (GSS_ERROR(maj))
		return step_failed_gss(s, "the client's token is refused", maj,
				       min);
	if (maj & GSS_S_CONTINUE_NEEDED)
		return s->send ? RT_AUTH_MORE :
				 step_failed(s,
					     "the mechanism returned no token");
	if (!s->send || !flags_ok(flags) || !(flags & GSS_C_CHANNEL_BOUND_FLAG))
		return step_failed(s,
				   "the client's token is refused: it was not "
				   "made for host authentication");
	name_of(e->peer, e->name, sizeof(e->name));
	if (!*e->name)
		return step_failed(s, "the client's name cannot be determined");
	if (!auth_gss_allowed(e->g->allow, e->name)) {
		snprintf(s->text, sizeof(s->text),
			 "%.150s is not a host that may be a client (%.60s)",
			 e->name, e->g->allow);
		return RT_AUTH_FAILED;
	}
	e->complete = true;
	return RT_AUTH_MORE;
}

/* The peer has ended the exchange; its token may say why. */
static enum rt_auth_status peer_refused(struct exchange *e,
					struct rt_auth_step *s)
{
	if (e->client && !e->complete && s->len &&
	    client_context(e, s) == RT_AUTH_FAILED)
		return RT_AUTH_FAILED;
	return step_failed(s, "the reason is in its log");
}

static enum rt_auth_status exchange_step(void *exchange, struct rt_auth_step *s)
{
	struct exchange *e = exchange;

	if (!s->token)
		return client_context(e, s);
	if (s->kind == KIND_REFUSAL)
		return peer_refused(e, s);
	if (!e->over && e->complete && s->kind == KIND_MIC &&
	    s->announced_len == ANNOUNCED)
		return take_mic(e, s);
	if (!e->complete && s->kind == KIND_CONTEXT)
		return e->client ? client_context(e, s) : server_context(e, s);
	return step_failed(s, "a token of a kind that is not expected");
}

const struct rt_auth_ops auth_gss_ops = { exchange_start, exchange_step,
					  exchange_end };
