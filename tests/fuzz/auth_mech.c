/* SPDX-License-Identifier: BSD-3-Clause */
#include "auth_mech.h"

#include <pthread.h>

#include "rt_pair.h"

#define PLANS 8

struct exchange {
	unsigned int connection;
	bool busy, held, over;
	unsigned int steps;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool client, hold;
	unsigned int connection, exchanges, held;
	struct mech_state state;
	uint8_t plan[PLANS];
	unsigned int nplans;
	/* What was sent of tokens and has not come to a step. */
	uint8_t *sent;
	size_t nsent, room;
	bool unknown;
} mech = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER };

static void *start(void *ctx, bool client)
{
	struct exchange *e = calloc(1, sizeof(*e));

	FUZZ_CHECK(e && ctx == &mech && client == mech.client);
	pthread_mutex_lock(&mech.lock);
	e->connection = mech.connection;
	mech.exchanges++;
	mech.state.starts++;
	FUZZ_CHECK(mech.state.starts == 1);
	pthread_mutex_unlock(&mech.lock);
	return e;
}

static void end(void *exchange)
{
	struct exchange *e = exchange;

	pthread_mutex_lock(&mech.lock);
	FUZZ_CHECK(!e->busy);
	mech.exchanges--;
	pthread_mutex_unlock(&mech.lock);
	free(e);
}

/* Is it what was sent? */
static void compare(const struct exchange *e, const struct rt_auth_step *s)
{
	size_t whole = 8 + s->len + (-s->len & 3);

	if (mech.unknown || e->connection != mech.connection)
		return;
	FUZZ_CHECK(whole <= mech.nsent);
	FUZZ_CHECK(fuzz_get32(mech.sent) == s->kind);
	FUZZ_CHECK(fuzz_get32(mech.sent + 4) == s->len);
	FUZZ_CHECK(!memcmp(mech.sent + 8, s->token, s->len));
	mech.nsent -= whole;
	memmove(mech.sent, mech.sent + whole, mech.nsent);
}

static void check_step(struct exchange *e, const struct rt_auth_step *s)
{
	FUZZ_CHECK(!e->busy && !e->over && !s->send && !s->out);
	/* A client begins by itself, and then only answers. */
	FUZZ_CHECK(!s->token == (mech.client && !e->steps));
	FUZZ_CHECK(!s->token == !s->announced);
	FUZZ_CHECK(!s->token || s->announced_len == 40);
	FUZZ_CHECK(s->len <= RT_AUTH_TOKEN_MAX);
	FUZZ_CHECK(e->steps++ <= RT_AUTH_TOKENS_MAX);
}

static void make_token(struct rt_auth_step *s, uint8_t plan)
{
	static const size_t lens[] = { 0, 4, 44, 940, 1000, 5000, 65536, 65537 };

	s->out_len = lens[plan >> 3 & 7];
	s->out = malloc(s->out_len + 1);
	FUZZ_CHECK(s->out);
	memset(s->out, plan, s->out_len);
	s->out_kind = 1 + (plan >> 6 & 1);
}

static enum rt_auth_status judge(struct exchange *e, struct rt_auth_step *s)
{
	uint8_t plan = mech.plan[0];

	if (mech.nplans > 1)
		memmove(mech.plan, mech.plan + 1, --mech.nplans);
	/* Failure; success, with a token or not; more, with a token. */
	switch (plan & 7) {
	case 0:
		if (plan & 0x80)
			make_token(s, plan);
		break;
	case 1:
	case 2:
	case 3:
		if (!s->token || s->kind == RT_AUTH_REFUSAL)
			break;
		if (plan & 1)
			make_token(s, plan);
		s->send = plan & 1;
		snprintf(s->text, sizeof(s->text), "host/%u", plan);
		return RT_AUTH_DONE;
	default:
		if (s->token && s->kind == RT_AUTH_REFUSAL)
			break;
		make_token(s, plan);
		s->send = true;
		return RT_AUTH_MORE;
	}
	snprintf(s->text, sizeof(s->text), "plan %u", plan);
	return RT_AUTH_FAILED;
}

static enum rt_auth_status step(void *exchange, struct rt_auth_step *s)
{
	struct exchange *e = exchange;
	enum rt_auth_status status;

	pthread_mutex_lock(&mech.lock);
	check_step(e, s);
	if (s->token) {
		compare(e, s);
		if (e->connection == mech.connection)
			mech.state.tokens++;
	}
	e->busy = true;
	e->held = mech.hold;
	mech.held += e->held;
	while (mech.hold)
		pthread_cond_wait(&mech.changed, &mech.lock);
	mech.held -= e->held;
	e->held = false;
	status = judge(e, s);
	e->over = status != RT_AUTH_MORE;
	if (status == RT_AUTH_DONE && s->out_len <= RT_AUTH_TOKEN_MAX &&
	    e->connection == mech.connection)
		mech.state.passed = true;
	e->busy = false;
	pthread_mutex_unlock(&mech.lock);
	return status;
}

static const struct rt_auth_ops ops = { start, step, end };

void mech_open(bool client)
{
	rt_pair_auth = &ops;
	rt_pair_auth_ctx[0] = rt_pair_auth_ctx[1] = &mech;
	mech.client = client;
	mech.hold = false;
	mech.nplans = 0;
	mech.plan[0] = 0;
}

void mech_close(void)
{
	FUZZ_CHECK(!mech.exchanges && !mech.held);
	free(mech.sent);
	mech.sent = NULL;
	mech.nsent = mech.room = 0;
}

void mech_begin(void)
{
	pthread_mutex_lock(&mech.lock);
	mech.connection++;
	mech.state = (struct mech_state){ 0 };
	mech.nsent = 0;
	mech.unknown = false;
	pthread_mutex_unlock(&mech.lock);
}

struct mech_state mech_state(void)
{
	struct mech_state s;

	pthread_mutex_lock(&mech.lock);
	s = mech.state;
	pthread_mutex_unlock(&mech.lock);
	return s;
}

void mech_plan(uint8_t plan)
{
	pthread_mutex_lock(&mech.lock);
	if (mech.nplans < PLANS)
		mech.plan[mech.nplans++] = plan;
	pthread_mutex_unlock(&mech.lock);
}

void mech_hold(bool hold)
{
	pthread_mutex_lock(&mech.lock);
	mech.hold = hold;
	pthread_cond_broadcast(&mech.changed);
	pthread_mutex_unlock(&mech.lock);
}

bool mech_holds(unsigned int steps)
{
	bool does;

	pthread_mutex_lock(&mech.lock);
	does = steps == (mech.hold ? mech.held : 0);
	pthread_mutex_unlock(&mech.lock);
	return does;
}

void mech_expect(const uint8_t *p, size_t n)
{
	pthread_mutex_lock(&mech.lock);
	if (mech.nsent + n > mech.room) {
		mech.room = (mech.nsent + n) * 2;
		mech.sent = realloc(mech.sent, mech.room);
		FUZZ_CHECK(mech.sent);
	}
	if (n)
		memcpy(mech.sent + mech.nsent, p, n);
	mech.nsent += n;
	pthread_mutex_unlock(&mech.lock);
}

void mech_expect_nothing(void)
{
	pthread_mutex_lock(&mech.lock);
	mech.unknown = true;
	pthread_mutex_unlock(&mech.lock);
}
