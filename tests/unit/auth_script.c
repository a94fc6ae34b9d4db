/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>

#include "auth_script.h"
#include "unit.h"

#define ANNOUNCED 40

struct auth_script auth_script[2];

struct exchange {
	struct auth_script *script;
	bool client;
	unsigned int in, out; /* tokens */
};

static void fill(uint8_t *to, bool client, unsigned int n, size_t len,
		 const uint8_t *announced)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(i * 7 + (i >> 8) + n * 31 + client);
	/* The client's first is made before it knows the server's. */
	if (announced)
		memcpy(to, announced, ANNOUNCED);
}

size_t auth_script_token(uint8_t *to, bool client, unsigned int n, size_t len,
			 const uint8_t announced[40])
{
	uint32_t head[2] = { htonl(SCRIPT_KIND), htonl((uint32_t)len) };

	memcpy(to, head, 8);
	fill(to + 8, client, n, len, announced);
	memset(to + 8 + len, 0, -len & 3);
	return 8 + len + (-len & 3);
}

static void *start(void *ctx, bool client)
{
	struct exchange *e = calloc(1, sizeof(*e));

	e->script = ctx;
	e->client = client;
	pthread_mutex_lock(&e->script->lock);
	e->script->exchanges++;
	pthread_mutex_unlock(&e->script->lock);
	return e;
}

static enum rt_auth_status failed(struct rt_auth_step *s, const char *why,
				  size_t len)
{
	snprintf(s->text, sizeof(s->text), "%s", why);
	if (len) {
		s->out = calloc(1, len);
		s->out_len = len;
	}
	return RT_AUTH_FAILED;
}

static bool right(struct exchange *e, const struct rt_auth_step *s)
{
	uint8_t *want = malloc(s->len + 1);
	bool ok;

	fill(want, !e->client, e->in, s->len,
	     e->client || e->in ? s->announced : NULL);
	ok = s->kind == SCRIPT_KIND && s->len == e->script->len &&
	     !memcmp(want, s->token, s->len);
	free(want);
	return ok;
}

static enum rt_auth_status judge(struct exchange *e, struct rt_auth_step *s)
{
	struct auth_script *x = e->script;
	unsigned int last;

	if (!s->token) {
		if (x->unable)
			return failed(s, "no key", 0);
	} else if (s->kind == RT_AUTH_REFUSAL) {
		snprintf(x->told, sizeof(x->told), "%zu", s->len);
		return failed(s, "refused by the peer", 0);
	} else {
		if (s->announced_len != ANNOUNCED || !right(e, s))
			return failed(s, "a wrong token", 0);
		last = e->in++;
		if (x->refuse && last + 1 == x->rounds)
			return failed(s, "not liked", x->refusal);
	}
	if (e->out < x->rounds) {
		s->send = true;
		s->out_kind = SCRIPT_KIND;
		s->out_len = x->len;
		s->out = malloc(x->len + 1);
		fill(s->out, e->client, e->out++, x->len, s->announced);
	}
	if (e->in < x->rounds)
		return RT_AUTH_MORE;
	snprintf(s->text, sizeof(s->text), "%s",
		 e->client ? "nfs/server" : "host/client");
	return RT_AUTH_DONE;
}

static enum rt_auth_status step(void *exchange, struct rt_auth_step *s)
{
	struct exchange *e = exchange;
	struct auth_script *x = e->script;
	enum rt_auth_status status;

	pthread_mutex_lock(&x->lock);
	x->inside++;
	pthread_cond_broadcast(&x->changed);
	while (x->hold)
		pthread_cond_wait(&x->changed, &x->lock);
	x->inside--;
	x->steps++;
	status = judge(e, s);
	pthread_mutex_unlock(&x->lock);
	return status;
}

static void end(void *exchange)
{
	struct exchange *e = exchange;

	pthread_mutex_lock(&e->script->lock);
	e->script->exchanges--;
	e->script->ended_by = pthread_self();
	pthread_mutex_unlock(&e->script->lock);
	free(e);
}

static const struct rt_auth_ops ops = { start, step, end };

void auth_script_reset(unsigned int rounds, size_t len)
{
	for (unsigned int i = 0; i < 2; i++) {
		auth_script[i] = (struct auth_script){
			.rounds = rounds,
			.len = len,
			.lock = PTHREAD_MUTEX_INITIALIZER,
			.changed = PTHREAD_COND_INITIALIZER,
		};
		rt_pair_auth_ctx[i] = &auth_script[i];
	}
	rt_pair_auth = &ops;
}

void auth_script_rounds(struct auth_script *s, unsigned int rounds)
{
	pthread_mutex_lock(&s->lock);
	s->rounds = rounds;
	pthread_mutex_unlock(&s->lock);
}

void auth_script_hold(struct auth_script *s, bool hold)
{
	pthread_mutex_lock(&s->lock);
	s->hold = hold;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

bool auth_script_inside(struct auth_script *s, unsigned int n)
{
	bool is;

	pthread_mutex_lock(&s->lock);
	is = s->inside == n;
	pthread_mutex_unlock(&s->lock);
	return is;
}

unsigned int auth_script_exchanges(struct auth_script *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->lock);
	n = s->exchanges;
	pthread_mutex_unlock(&s->lock);
	return n;
}
