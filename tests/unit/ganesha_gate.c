/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which Calls a gate keeps apart, which not, and that it is no trap.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <time.h>

#include "ganesha/gate.h"
#include "unit.h"

static struct gr_gates gates;

static const struct ulb_call other,
	ends = { .ends_state = true }, names = { .names_state = true },
	both = { .ends_state = true, .names_state = true };

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 *in6 = (void *)&ss;
	struct sockaddr_in *in = (void *)&ss;

	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		ss.ss_family = AF_INET6;
		in6->sin6_port = htons(port);
	} else {
		ss.ss_family = AF_INET;
		in->sin_port = htons(port);
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, text, &in->sin_addr),
				      1);
	}
	return ss;
}

static pthread_rwlock_t *gate_of(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = address(text, port);

	return gr_gate_of(&gates, &ss);
}

static void whose(void)
{
	unsigned int same = 0;
	char text[32];

	CU_ASSERT_PTR_EQUAL(gate_of("10.0.0.1", 7), gate_of("10.0.0.1", 900));
	CU_ASSERT_PTR_EQUAL(gate_of("fe80::1", 7), gate_of("fe80::1", 900));
	CU_ASSERT_PTR_NOT_EQUAL(gate_of("10.0.0.1", 7), gate_of("10.0.0.2", 7));
	CU_ASSERT_PTR_NOT_EQUAL(gate_of("fe80::1", 7), gate_of("fe80::2", 7));
	/* Many clients are spread over them. */
	for (unsigned int i = 0; i < 10 * GR_GATES; i++) {
		snprintf(text, sizeof(text), "10.1.%u.%u", i / 250, i % 250);
		same += gate_of(text, 1) == &gates.gate[0];
	}
	CU_ASSERT(same >= 5 && same <= 20);
}

/* Another worker, which tries to enter. */
struct worker {
	pthread_t thread;
	pthread_rwlock_t *gate, *entered;
	const struct ulb_call *head;
	atomic_bool done;
};

static void *enter(void *arg)
{
	struct worker *w = arg;

	w->entered = gr_gate_enter(w->gate, w->head);
	atomic_store(&w->done, true);
	gr_gate_leave(w->entered);
	return NULL;
}

static void start(struct worker *w, pthread_rwlock_t *gate,
		  const struct ulb_call *head)
{
	w->gate = gate;
	w->head = head;
	atomic_init(&w->done, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&w->thread, NULL, enter, w), 0);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

/* While a Call of @a is executed, does one of @b of the same client wait, and
 * enter then? */
static bool holds_up(const struct ulb_call *a, const struct ulb_call *b)
{
	pthread_rwlock_t *gate = gate_of("10.0.0.1", 1), *held;
	struct worker w;
	bool waited;

	/* Where we are held off the processor it is tired of waiting. */
	for (unsigned int i = 0; i < 100; i++) {
		held = gr_gate_enter(gate, a);
		start(&w, gate, b);
		nap();
		waited = !atomic_load(&w.done);
		gr_gate_leave(held);
		pthread_join(w.thread, NULL);
		if (!waited || w.entered)
			return waited;
	}
	return false;
}

/* ..., does one of @b enter? Were it to wait, it would come back without. */
static bool lets_by(const struct ulb_call *a, const struct ulb_call *b)
{
	pthread_rwlock_t *gate = gate_of("10.0.0.1", 1), *held;
	struct worker w;

	held = gr_gate_enter(gate, a);
	start(&w, gate, b);
	pthread_join(w.thread, NULL);
	gr_gate_leave(held);
	return w.entered == gate;
}

/* What has no gate to pass does so whatever is held. */
static bool is_free(const struct ulb_call *a)
{
	pthread_rwlock_t *gate = gate_of("10.0.0.1", 1), *held;
	bool entered;

	held = gr_gate_enter(gate, a);
	entered = gr_gate_enter(gate, &other);
	gr_gate_leave(held);
	return !entered;
}

static void kinds(void)
{
	CU_ASSERT(holds_up(&names, &ends));
	CU_ASSERT(holds_up(&ends, &names));
	CU_ASSERT(holds_up(&names, &names));
	CU_ASSERT(holds_up(&both, &ends));
	CU_ASSERT(holds_up(&ends, &both));
	CU_ASSERT(lets_by(&ends, &ends));
	CU_ASSERT(lets_by(&other, &names));
	CU_ASSERT(is_free(&names));
	CU_ASSERT(is_free(&ends));
	CU_ASSERT(is_free(&other));
}

static void clients(void)
{
	pthread_rwlock_t *one = gate_of("10.0.0.1", 1), *held;
	struct worker w;

	held = gr_gate_enter(one, &names);
	start(&w, gate_of("10.0.0.2", 1), &names);
	pthread_join(w.thread, NULL);
	CU_ASSERT_PTR_NOT_NULL(w.entered);
	gr_gate_leave(held);
}

/* A CLOSE that hangs: the other passes in the end, and gives nothing back. */
static void hangs(void)
{
	pthread_rwlock_t *gate = gate_of("10.0.0.1", 1), *held;
	struct worker w[4];

	held = gr_gate_enter(gate, &ends);
	CU_ASSERT_PTR_EQUAL(held, gate);
	for (unsigned int i = 0; i < 4; i++)
		start(&w[i], gate, &names);
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		CU_ASSERT_PTR_NULL(w[i].entered);
	}
	gr_gate_leave(held);
	CU_ASSERT(holds_up(&ends, &names));
}

static void opened(void)
{
	gr_gates_init(&gates);
}

static void closed(void)
{
	gr_gates_destroy(&gates);
}

static const struct unit_test tests[] = {
	{ "init", opened },
	{ "one for each client", whose },
	{ "kinds", kinds },
	{ "clients apart", clients },
	{ "a hanging CLOSE", hangs },
	{ "destroy", closed },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-gate", tests)
