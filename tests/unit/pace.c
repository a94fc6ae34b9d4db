/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pace of connections: what a host may have at once and afterwards, what
 * all that are not known may have together, and who is known.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/pace.h"
#include "unit.h"

/* Times are arguments: this is when a test begins. */
#define START 1000000

static struct base_pace p;
static struct base_known k;

static struct in6_addr host(uint32_t n)
{
	struct in6_addr a = IN6ADDR_ANY_INIT;

	n = htonl(n);
	a.s6_addr[10] = a.s6_addr[11] = 0xff;
	memcpy(a.s6_addr + 12, &n, sizeof(n));
	return a;
}

static void begin(uint64_t key)
{
	memset(&p, 0, sizeof(p));
	memset(&k, 0, sizeof(k));
	p.key = k.key = key;
}

/* How many of one host are taken at once at @now. */
static unsigned int at_once(uint32_t n, bool known, uint64_t now)
{
	struct in6_addr h = host(n);
	unsigned int count = 0;

	while (count < 20000 && !base_pace_turn(&p, &h, known, now)) {
		base_pace_take(&p, &h, known, now);
		count++;
	}
	return count;
}

static void one_host(void)
{
	struct in6_addr h = host(7);
	unsigned int n;

	begin(1);
	n = at_once(7, true, START);
	CU_ASSERT_EQUAL(n, BASE_PACE_BURST + 1);
	/* The next one's turn, and that of one behind it. */
	CU_ASSERT_EQUAL(base_pace_turn(&p, &h, true, START),
			START + BASE_PACE_MS);
	base_pace_take(&p, &h, true, START);
	CU_ASSERT_EQUAL(base_pace_turn(&p, &h, true, START),
			START + 2 * BASE_PACE_MS);
	CU_ASSERT_EQUAL(at_once(7, true, START + 2 * BASE_PACE_MS), 1);
	/* So many in a second. */
	for (n = 3; n < 203; n++)
		CU_ASSERT_EQUAL(at_once(7, true, START + n * BASE_PACE_MS), 1);
	/* It is never refused for the others, nor others for it. */
	CU_ASSERT_FALSE(base_pace_full(&p, true, START));
	CU_ASSERT_EQUAL(at_once(8, true, START), BASE_PACE_BURST + 1);
	/* After a while it has it all again, and no more than that. */
	CU_ASSERT_EQUAL(at_once(7, true, START + 3600000), BASE_PACE_BURST + 1);
}

/* As many new hosts as there are clients are taken as they come. */
static void many_hosts(void)
{
	unsigned int taken = 0;

	begin(2);
	for (uint32_t n = 0; n < BASE_PACE_NEW_BURST; n++) {
		struct in6_addr h = host(n);

		taken += !base_pace_turn(&p, &h, false, START);
		base_pace_take(&p, &h, false, START);
	}
	CU_ASSERT_EQUAL(taken, BASE_PACE_NEW_BURST);
	/* The limit of more than most servers have. */
	p.burst = 2 * BASE_PACE_NEW_BURST;
	for (uint32_t n = taken; !base_pace_full(&p, false, START); n++) {
		struct in6_addr h = host(n);

		taken += !base_pace_turn(&p, &h, false, START);
		base_pace_take(&p, &h, false, START);
	}
	CU_ASSERT_EQUAL(taken, 2 * BASE_PACE_NEW_BURST + 1);
}

/* 100000 of them come in ten seconds: what is taken, what waits, who else is
 * served, and how soon it is over. */
static void flood(void)
{
	unsigned int taken = 0, waited = 0, refused = 0, good = 0;
	const unsigned int later = 10000 / BASE_PACE_NEW_MS;
	struct in6_addr mine = host(5), h;
	uint64_t now, longest = 0, at;

	begin(3);
	base_known_put(&k, &mine);
	for (uint32_t n = 0; n < 100000; n++) {
		now = START + n / 10;
		h = host(1000 + n);
		if (base_pace_full(&p, false, now)) {
			refused++;
			continue;
		}
		at = base_pace_turn(&p, &h, false, now);
		if (at) {
			waited++;
			longest = at - now > longest ? at - now : longest;
		}
		base_pace_take(&p, &h, false, now);
		taken++;
		if (n % 1000)
			continue;
		good += !base_pace_turn(&p, &mine, true, now);
		base_pace_take(&p, &mine, true, now);
	}
	CU_ASSERT_TRUE(taken >= BASE_PACE_NEW_BURST + later - 1);
	CU_ASSERT_TRUE(taken <=
		       BASE_PACE_NEW_BURST + BASE_PACE_NEW_WAIT + later + 1);
	CU_ASSERT_EQUAL(refused, 100000 - taken);
	CU_ASSERT_TRUE(waited > 0);
	CU_ASSERT_TRUE(longest <= BASE_PACE_NEW_WAIT * BASE_PACE_NEW_MS + 1);
	CU_ASSERT_TRUE(good > 0);
	/* Refused ones have not used up what others may have later. */
	now = START + 10000 + (BASE_PACE_NEW_WAIT + 2) * BASE_PACE_NEW_MS;
	h = host(4);
	CU_ASSERT_FALSE(base_pace_full(&p, false, now));
	CU_ASSERT_EQUAL(base_pace_turn(&p, &h, false, now), 0);
}

/* Known: those that somebody has vouched for, and nobody by chance. */
static void known(void)
{
	unsigned int n = 0, kept = 0;
	struct in6_addr h;

	begin(4);
	h = host(0);
	CU_ASSERT_FALSE(base_known_has(&k, &h));
	for (uint32_t i = 0; i < 1000; i++) {
		h = host(i);
		base_known_put(&k, &h);
		CU_ASSERT_TRUE(base_known_has(&k, &h));
	}
	for (uint32_t i = 0; i < 1000; i++) {
		h = host(i);
		kept += base_known_has(&k, &h);
	}
	/* Some have taken another's place. */
	CU_ASSERT_TRUE(kept > 800);
	for (uint32_t i = 1000; i < 200000; i++) {
		h = host(i);
		n += base_known_has(&k, &h);
	}
	CU_ASSERT_EQUAL(n, 0);
}

/* Hosts are spread over the slots, by another key in another way. */
static void spread(void)
{
	unsigned int same = 0, both = 0;
	struct in6_addr a = host(1);

	for (uint32_t i = 2; i < 2002; i++) {
		struct in6_addr b = host(i);
		bool once;

		begin(5);
		for (int n = 0; n <= BASE_PACE_BURST; n++)
			base_pace_take(&p, &a, true, START);
		once = base_pace_turn(&p, &b, true, START);
		same += once;
		begin(6);
		for (int n = 0; n <= BASE_PACE_BURST; n++)
			base_pace_take(&p, &a, true, START);
		both += once && base_pace_turn(&p, &b, true, START);
	}
	/* 2000 / 256 of them, more or less; and hardly any twice. */
	CU_ASSERT_TRUE(same < 40);
	CU_ASSERT_TRUE(both < 4);
}

static const struct unit_test tests[] = {
	{ "one host", one_host }, { "many hosts", many_hosts },
	{ "flood", flood },	  { "known", known },
	{ "spread", spread },	  { NULL, NULL },
};

UNIT_MAIN("pace", tests)
